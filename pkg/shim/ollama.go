package shim

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"
)

// loadLimit bounds the loading of a model for the check of its window.
const loadLimit = 10 * time.Minute

// EnsureWindow makes sure that an Ollama target really has a window of want tokens, and returns the target to use with
// the window in force. Ollama takes num_ctx neither on /v1/messages nor on /v1/chat/completions, loads a model with a
// default of 4096 on small machines, and cuts a longer prompt in silence; a warm-up with num_ctx does not last, because
// the next request on /v1 loads the model again with the default. What lasts is a variant of the model with the
// parameter set: it is made once, shares the model's data, and is used by later jobs too.
//
// Other kinds of server are returned as they are. It fails with *WindowError when the model cannot have MinWindow.
func EnsureWindow(ctx context.Context, t Target, want int, opt Options) (Target, error) {
	if t.Kind != Ollama {
		return t, nil
	}
	opt.defaults()
	t.Window = 0 // what the caller knows is the model's maximum or a guess
	if err := t.check(); err != nil {
		return t, err
	}
	ctx, cancel := context.WithTimeout(ctx, loadLimit)
	defer cancel()
	o := ollama{newUpstream(t, opt)}
	defer o.up.client.CloseIdleConnections()
	limit, err := o.maximum(ctx, t.Model)
	if err != nil {
		return t, err
	}
	if limit > 0 {
		want = min(want, limit)
	}
	if want < MinWindow {
		return t, &WindowError{Model: t.Model, Window: want, Fix: "take a model with a longer context"}
	}
	if have, err := o.loaded(ctx, t.Model); err == nil && have >= want {
		t.Window = have
		return t, nil
	}
	variant := variantName(t.Model, want)
	if err := o.create(ctx, t.Model, variant, want); err != nil {
		return t, err
	}
	have, err := o.load(ctx, variant)
	if err != nil {
		return t, err
	}
	if have < MinWindow {
		return t, &WindowError{Model: variant, Window: have, Fix: fmt.Sprintf("num_ctx %d was asked for; set OLLAMA_CONTEXT_LENGTH=%d for the server", want, want)}
	}
	opt.Log.Info("window set with a variant of the model", "model", t.Model, "variant", variant, "window", have)
	t.Model, t.Window = variant, have
	return t, nil
}

// ollama talks to the server's own API.
type ollama struct{ up *upstream }

func (o ollama) ask(ctx context.Context, method, path, body string) (string, error) {
	status, answer, err := o.up.small(ctx, method, path, body)
	if err != nil {
		f := transportFailure(err, o.up.target.BaseURL)
		return "", errors.New(f.message)
	}
	if status != http.StatusOK {
		return "", fmt.Errorf("ollama %s: %d %s", path, status, clip(errorText(answer), 300))
	}
	return answer, nil
}

// maximum is the model's own longest context, 0 when it does not say.
func (o ollama) maximum(ctx context.Context, model string) (int, error) {
	answer, err := o.ask(ctx, http.MethodPost, "/api/show", `{"model":`+quote(model)+`}`)
	if err != nil {
		return 0, err
	}
	limit := 0
	info := get(answer, "model_info")
	for m := range members(info) {
		if strings.HasSuffix(m.key, ".context_length") {
			limit = int(gjson.Parse(info[m.valAt:m.end]).Int())
		}
	}
	return limit, nil
}

// loaded is the window a model is loaded with now, 0 when it is not.
func (o ollama) loaded(ctx context.Context, model string) (int, error) {
	answer, err := o.ask(ctx, http.MethodGet, "/api/ps", "")
	if err != nil {
		return 0, err
	}
	for _, m := range gjson.Get(answer, "models").Array() {
		for _, key := range []string{"name", "model"} {
			if name := m.Get(key).Str; name == model || name == model+":latest" {
				return int(m.Get("context_length").Int()), nil
			}
		}
	}
	return 0, nil
}

// load loads a model and returns the window it got.
func (o ollama) load(ctx context.Context, model string) (int, error) {
	if _, err := o.ask(ctx, http.MethodPost, "/api/chat", `{"model":`+quote(model)+`,"messages":[],"stream":false}`); err != nil {
		return 0, err
	}
	return o.loaded(ctx, model)
}

func (o ollama) create(ctx context.Context, from, name string, window int) error {
	answer, err := o.ask(ctx, http.MethodPost, "/api/create",
		fmt.Sprintf(`{"model":%s,"from":%s,"parameters":{"num_ctx":%d},"stream":false}`, quote(name), quote(from), window))
	if err != nil {
		return err
	}
	if s := gjson.Get(answer, "status").Str; s != "success" {
		return fmt.Errorf("ollama could not make a variant of %s: %s", from, clip(errorText(answer), 300))
	}
	return nil
}

var nameRunes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-z0-9._-]+`) })

// variantName names a variant after its model and window, so that it is found again.
func variantName(model string, window int) string {
	return fmt.Sprintf("legwork/%s:ctx%d", strings.Trim(nameRunes().ReplaceAllString(strings.ToLower(model), "-"), "-._"), window)
}
