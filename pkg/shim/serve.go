package shim

import (
	"fmt"
	"net/http"
	"strconv"
)

// serveCount answers /v1/messages/count_tokens for every server: with its own count, else with the best estimate. The
// client uses the number to decide whether a large tool result is shown at all.
func (s *Shim) serveCount(w http.ResponseWriter, r *http.Request) {
	x := s.exchange(r, "/v1/messages/count_tokens")
	out := newSSESink(w, s.opt.Full)
	defer func() { x.close(out) }()
	if fail := x.read(w, r); fail != nil {
		x.refuse(out, *fail)
		return
	}
	ctx := r.Context()
	if err := s.findRoute(ctx); err != nil {
		x.n.add("server not reachable, estimated")
	}
	x.splice()
	tokens, exact, fail := s.count(ctx, x.req, x.header, &x.n)
	if fail != nil {
		tokens = fail.tokens // above the window; the client only wants a number
	}
	if !exact {
		x.n.add("estimated")
	}
	x.req.tokens, x.req.exact = tokens, exact
	out.json(http.StatusOK, `{"input_tokens":`+strconv.Itoa(max(tokens, 1))+`}`)
}

// serveModels lists the one model there is.
func (s *Shim) serveModels(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	id := quote(orElse(s.target.Model, "local"))
	_, _ = fmt.Fprintf(w, `{"data":[{"type":"model","id":%s,"display_name":%s,"created_at":"1970-01-01T00:00:00Z"}],"has_more":false}`, id, id)
}
