package shim

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
)

// routeState is the way out in use: the target's, or what was found.
type routeState struct{ found atomic.Value }

// route is the way out in force; RouteAuto until findRoute has asked.
func (s *Shim) route() Route {
	if s.learned.has(lessonChat) && s.target.Route != RouteNative {
		return RouteChat
	}
	if s.target.Route != RouteAuto {
		return s.target.Route
	}
	if r, ok := s.found.found.Load().(Route); ok {
		return r
	}
	return RouteAuto
}

// findRoute asks a server of unknown abilities once whether it has /v1/messages: an empty body is an error there, but
// another one than "no such path".
func (s *Shim) findRoute(ctx context.Context) error {
	if s.route() != RouteAuto {
		return nil
	}
	short, cancel := context.WithTimeout(ctx, countLimit)
	defer cancel()
	c, err := s.up.post(short, "/messages", "{}", http.Header{}, s.learned.has(lessonLocalHost))
	if err != nil {
		if short.Err() != nil && ctx.Err() == nil {
			return nil // too busy to say; asked again with the next request
		}
		return err
	}
	status, body := c.resp.StatusCode, readLimited(c.body)
	c.cancel(nil)
	f := classify(status, nil, body)
	switch f.class {
	case classLoading, classBusy:
		return nil // asked again with the next request; the native way is tried meanwhile
	case classNoRoute:
		s.found.found.Store(RouteChat)
	default:
		s.found.found.Store(RouteNative)
	}
	s.log.Info("way out chosen", "endpoint", s.target.Name, "route", s.route(), "probe_status", status)
	return nil
}

// study reads a refusal for something that can be done without, and reports whether the request is worth sending
// again in another form.
func (s *Shim) study(ctx context.Context, f *failure, x *exchange) bool {
	switch f.class {
	case classNoRoute:
		if s.target.Route == RouteAuto && s.route() != RouteChat {
			return s.teach(ctx, lessonChat, &x.n)
		}
		return false
	case classImages:
		return s.teach(ctx, lessonTextOnly, &x.n)
	case classAlternate:
		return s.teach(ctx, lessonAlternate, &x.n)
	case classAuth:
		// Ollama checks the Host header and says nothing.
		if s.target.Kind == Ollama && f.upstream == http.StatusForbidden && f.raw == "" {
			return s.teach(ctx, lessonLocalHost, &x.n)
		}
		return false
	case classMaxTokens:
		return x.lowerMax(f)
	case classOverflow:
		return x.leaveRoom(f)
	}
	if f.upstream != http.StatusBadRequest && f.upstream != http.StatusUnprocessableEntity && f.upstream != http.StatusInternalServerError {
		return false
	}
	if strings.Contains(f.raw, "max_completion_tokens") && strings.Contains(f.raw, "max_tokens") && s.route() == RouteChat {
		return s.teach(ctx, lessonNewMax, &x.n)
	}
	if f.upstream == http.StatusInternalServerError {
		return false
	}
	if field := refusedField(f.raw, x.sent, s.learned.has); field != "" {
		return s.teach(ctx, field, &x.n)
	}
	return false
}

// lowerMax takes the window from an error about max_tokens and clamps to it.
func (x *exchange) lowerMax(f *failure) bool {
	if f.window <= 0 || x.req.maxTokens == 0 || x.window > 0 {
		return false
	}
	x.window = f.window
	x.n.addf("the server's window is %d", f.window)
	return true
}

// leaveRoom takes the size of the prompt from an error about prompt and answer together: when the prompt alone fits, it
// was only the answer that asked for too much.
func (x *exchange) leaveRoom(f *failure) bool {
	if x.req.exact || x.req.maxTokens == 0 || f.tokens <= 0 || f.tokens+minAnswer > f.window {
		return false
	}
	x.window, x.req.tokens, x.req.exact = f.window, f.tokens, true
	x.n.addf("the server counts %d tokens in a window of %d", f.tokens, f.window)
	return true
}

// teach remembers a lesson and says so; it reports whether the lesson was new.
func (s *Shim) teach(ctx context.Context, word string, n *notes) bool {
	isNew, err := s.learned.learn(ctx, word)
	if err != nil {
		s.log.Warn("lesson not saved", "lesson", word, "err", err)
	}
	if isNew {
		n.add("learned: the server refuses " + describeLesson(word))
		s.log.Info("learned a refusal", "endpoint", s.target.Name, "what", describeLesson(word))
	}
	return isNew
}

func describeLesson(word string) string {
	switch word {
	case lessonTextOnly:
		return "images"
	case lessonAlternate:
		return "user turns in a row"
	case lessonNoCount:
		return "count_tokens"
	case lessonChat:
		return "/v1/messages"
	case lessonNewMax:
		return "max_tokens (wants max_completion_tokens)"
	case lessonLocalHost:
		return fmt.Sprintf("host names other than %s", "localhost")
	default:
		return word
	}
}
