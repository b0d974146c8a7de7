package llm

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// ErrNoServer is matched by a [*NoModelError] when no endpoint is up.
var ErrNoServer = errors.New("no model server is up")

// ErrSchema marks a [CompleteRequest.Schema] that is no JSON schema.
var ErrSchema = errors.New("schema: it is not a valid JSON schema")

// NoModelError says that no model can be named for a call, and what would help.
type NoModelError struct {
	Wanted    string           // what was asked for, empty: nothing in particular
	Unknown   string           // the endpoint asked for, when there is none of that name
	Ambiguous []string         // several models match
	Endpoints []EndpointStatus // what was probed
	Advice    string           // what to start or to set, ready to show
}

func (e *NoModelError) Error() string {
	var b strings.Builder
	switch {
	case e.Unknown != "":
		fmt.Fprintf(&b, "there is no endpoint %q", e.Unknown)
	case len(e.Ambiguous) > 0 && e.Wanted == "":
		b.WriteString("several models are served and none is set as default: " + strings.Join(e.Ambiguous, ", "))
	case len(e.Ambiguous) > 0:
		fmt.Fprintf(&b, "model %q matches several: %s", e.Wanted, strings.Join(e.Ambiguous, ", "))
	case !e.anyUp():
		b.WriteString(ErrNoServer.Error())
		if e.Wanted != "" {
			fmt.Fprintf(&b, " (wanted model %q)", e.Wanted)
		}
	case e.Wanted == "":
		b.WriteString("no chat model is served")
	default:
		fmt.Fprintf(&b, "model %q is not served", e.Wanted)
	}
	if e.Advice != "" {
		b.WriteString("; " + e.Advice)
	}
	return b.String()
}

// Is matches ErrNoServer when no endpoint is up.
func (e *NoModelError) Is(target error) bool {
	return target == ErrNoServer && e.Unknown == "" && !e.anyUp()
}

func (e *NoModelError) anyUp() bool {
	for _, s := range e.Endpoints {
		if s.State == Up || s.State == Sleeping || s.State == Loading {
			return true
		}
	}
	return false
}

// TransportError says that the exchange with the server failed: refused,
// dropped, a 5xx, or something that is no answer of a model server. It is never
// the model's failure.
type TransportError struct {
	Endpoint string
	Status   int    // HTTP status, 0: none came
	Message  string // what the server said, shortened, without secrets
	Err      error  // the cause, may be nil
}

func (e *TransportError) Error() string {
	s := "endpoint " + e.Endpoint + ": "
	if e.Status != 0 {
		s += fmt.Sprintf("HTTP %d: ", e.Status)
	}
	if e.Message != "" {
		return s + e.Message
	}
	if e.Err != nil {
		return s + e.Err.Error()
	}
	return s + "no answer"
}

func (e *TransportError) Unwrap() error { return e.Err }

// RequestError says that the server understood us and refused (a 4xx).
type RequestError struct {
	Endpoint string
	Status   int
	Message  string
}

func (e *RequestError) Error() string {
	s := fmt.Sprintf("endpoint %s refused the request (HTTP %d): %s", e.Endpoint, e.Status, e.Message)
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		s += "; check its api_key and headers"
	case http.StatusNotFound:
		s += "; list_models shows what is served now"
	}
	return s
}

// TimeoutError says which limit ended a call. Partial is the text received until then.
type TimeoutError struct {
	Endpoint string
	Limit    string        // "first byte", "idle", "deadline"
	After    time.Duration //
	Partial  string
}

func (e *TimeoutError) Error() string {
	s := fmt.Sprintf("endpoint %s: timed out: ", e.Endpoint)
	after := e.After.Round(time.Second / 10)
	switch e.Limit {
	case "first byte":
		return s + fmt.Sprintf("nothing came for %s (llm.first_byte_timeout)", after)
	case "idle":
		return s + fmt.Sprintf("the answer stopped for %s (llm.idle_timeout)", after)
	}
	return s + fmt.Sprintf("the call's deadline passed after %s", after)
}

// Timeout marks it for net.Error-style checks.
func (e *TimeoutError) Timeout() bool { return true }

// OverflowError says that prompt and answer do not fit the window. Nothing was generated.
type OverflowError struct {
	Endpoint string
	Model    string
	Prompt   int  // tokens
	Exact    bool // counted by the server
	Window   int
}

func (e *OverflowError) Error() string {
	about := "about "
	if e.Exact {
		about = ""
	}
	if e.Prompt == 0 {
		return fmt.Sprintf("the prompt does not fit the window of %s on %s (%d tokens)", e.Model, e.Endpoint, e.Window)
	}
	return fmt.Sprintf("the prompt is too long for %s on %s: %s%d tokens, window %d", e.Model, e.Endpoint, about, e.Prompt, e.Window)
}
