package shim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// ask sends what body makes until the server answers with something other than a reason to wait or to leave a field
// out, and plays the answer into p. body is made anew after each lesson.
func (x *exchange) ask(ctx context.Context, body func() string, p *repairer) *failure {
	deadline := time.Now().Add(x.s.opt.LoadWait)
	for lessonsLeft := 12; ; {
		x.rec.Asks++
		fail := x.once(ctx, body(), p)
		if fail == nil || p.started || ctx.Err() != nil {
			return x.gone(ctx, fail)
		}
		switch {
		case fail.class == classLoading && time.Now().Before(deadline):
			x.n.add("waited for the server to load")
			if !sleep(ctx, time.Second) {
				return x.gone(ctx, fail)
			}
		case lessonsLeft > 0 && x.s.study(ctx, fail, x):
			lessonsLeft--
			x.splice()
		default:
			return x.final(*fail)
		}
		p.reset(x.req)
	}
}

// gone turns any failure after the client left into that.
func (x *exchange) gone(ctx context.Context, fail *failure) *failure {
	if fail == nil || ctx.Err() == nil {
		return fail
	}
	f := failure{class: classTransport, status: 499, kind: "api_error", message: "the client left; the server's work was cancelled"}
	return &f
}

// final gives a failure its last form.
func (x *exchange) final(f failure) *failure {
	switch f.class {
	case classOverflow:
		raw := f.raw
		f = overflow(max(f.tokens, x.req.tokens), orZero(f.window, x.s.target.Window))
		f.raw = raw
	case classGrammar:
		f.message += likelyTool(f.raw, x.req)
	case classBadCall:
		// A retry may bring a call that parses. A third one of the same prompt will not.
		if x.s.strikes.hit(x.req.body) >= 3 {
			f.status, f.kind, f.retryAfter = http.StatusBadRequest, "invalid_request_error", 0
			f.message = "the model's tool call could not be parsed three times: " + f.message
		}
	}
	return &f
}

// likelyTool names the tool a grammar error is about: the one it mentions, else the one with the oddest schema.
func likelyTool(message string, r *request) string {
	for _, t := range r.tools {
		if t.name != "" && containsWord(message, t.name) {
			return fmt.Sprintf(" (tool %s; it can be dropped for this job)", t.name)
		}
	}
	best, worst := "", 0
	for _, t := range r.tools {
		odd := 0
		for _, k := range []string{`"$ref"`, `"pattern"`, `"anyOf"`, `"oneOf"`, `"allOf"`, `"not"`, `"format"`, `"patternProperties"`, `"if"`, `"minLength"`, `"maxLength"`, `"propertyNames"`} {
			odd += strings.Count(t.schema, k)
		}
		if odd > worst {
			best, worst = t.name, odd
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (most likely tool %s; it can be dropped for this job)", best)
}

// once sends body one time.
func (x *exchange) once(ctx context.Context, body string, p *repairer) *failure {
	path, wire := "/messages", body
	chat := x.viaChat || x.s.route() == RouteChat
	if chat {
		path, wire = "/chat/completions", x.s.toChat(body, &x.n)
	} else if x.s.target.Kind == Anthropic {
		path += "?beta=true"
	}
	x.sent = wire
	c, err := x.s.up.post(ctx, path, wire, x.header, x.s.learned.has(lessonLocalHost))
	if err != nil {
		f := transportFailure(err, x.s.target.BaseURL)
		return &f
	}
	defer c.cancel(errGone)
	if c.resp.StatusCode != http.StatusOK {
		f := classify(c.resp.StatusCode, c.resp.Header, readLimited(c.body))
		return &f
	}
	if err = x.play(c, chat, p); err == nil {
		c.drain()
		return nil
	}
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	if errors.Is(err, errCut) {
		g := failure{class: classTransport, message: errCut.Error()}.shaped()
		return &g
	}
	g := transportFailure(err, x.s.target.BaseURL)
	return &g
}

// play reads the answer in whichever of the four forms it came.
func (x *exchange) play(c *flight, chat bool, p *repairer) error {
	if isStream(c.resp) {
		h := func(typ, data string) *failure {
			c.body.limit = x.s.opt.Idle // the answer has begun
			return p.handle(typ, data)
		}
		if chat {
			return readChatStream(c.body, x.req, h)
		}
		return readStream(c.body, h)
	}
	data, err := io.ReadAll(io.LimitReader(c.body, maxAnswer+1))
	if err != nil {
		return err
	}
	msg := string(data)
	if len(data) > maxAnswer || checkJSON(msg) != nil {
		return errCut
	}
	if gjson.Get(msg, "error").Exists() && gjson.Get(msg, "type").Str != "message" {
		f := classify(http.StatusInternalServerError, nil, msg)
		return &f
	}
	if chat {
		return playChat(msg, x.req, p.handle)
	}
	x.untouched = strings.TrimSpace(msg)
	return playMessage(msg, p.handle)
}

func readLimited(r io.Reader) string {
	data, _ := io.ReadAll(io.LimitReader(r, maxErrorBody)) // what came of an error body is enough
	return string(data)
}

// sleep waits, or reports false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
