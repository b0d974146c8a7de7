package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"sync"
)

// tokenBook learns, per model, how many tokens each class of text makes, from
// the prompt counts that servers report. It is a least-squares fit that starts
// at priorWeights, so the first call already helps and a hundred do not
// overshoot. It is kept on disk, one small file a model.
type tokenBook struct {
	dir string
	log *slog.Logger

	mu     sync.Mutex
	models map[string]*tokenFit
	kept   map[string]bool // models written by this process
}

// tokenFit is what is known of one model's tokenizer.
type tokenFit struct {
	Model string                      `json:"model"`
	Calls int                         `json:"calls"`
	W     features                    `json:"tokens_per_class"`
	P     [nClasses][nClasses]float64 `json:"covariance"`
	Error float64                     `json:"error"` // running mean of |estimate/real - 1|

	// The plain ratio, for servers that count without a tokenizer (gateways
	// do), and its error.
	PerByte      float64 `json:"tokens_per_byte"`
	PerByteError float64 `json:"tokens_per_byte_error"`
}

// guess estimates by what has been the better guess so far: the classes, unless
// the plain ratio was clearly closer.
func (t *tokenFit) guess(x features) int {
	if t.Calls >= 3 && t.PerByteError < t.Error/2 {
		return int(x[cByte]*t.PerByte) + 1
	}
	return int(x.dot(t.W)) + 1
}

// priorSpread is how far a tokenizer's weights may lie from the prior, relative.
// They differ most in scripts beyond ASCII and in what a template adds.
var priorSpread = features{0.25, 1.2, 0.5, 1, 0.5, 0.25, 1, 0.5, 1.2, 1, 2.5, 0}

// The error that remains with the right weights, relative and per token, as
// measured over 360 files: less would learn the quirks of single texts, above
// all of short ones.
const (
	noise      = 0.05
	tokenNoise = 1.5
)

func newTokenFit(model string) *tokenFit {
	f := &tokenFit{Model: model, W: priorWeights, Error: 0.2}
	for i, w := range priorWeights {
		f.P[i][i] = square(priorSpread[i] * w)
	}
	return f
}

func square(x float64) float64 { return x * x }

// learn takes one observation: a prompt of these features made real tokens.
func (t *tokenFit) learn(x features, real int) {
	y := float64(real)
	guess := x.dot(t.W)
	share := 1 / float64(min(t.Calls+1, 8))
	t.Error += share * (math.Abs(guess/y-1) - t.Error)
	t.PerByteError += share * (math.Abs(t.PerByte*x[cByte]/y-1) - t.PerByteError)
	t.PerByte += share * (y/max(x[cByte], 1) - t.PerByte)
	t.Calls++
	var px features // P·x
	for i := range t.P {
		for j := range x {
			px[i] += t.P[i][j] * x[j]
		}
	}
	s := x.dot(px) + square(noise*y) + tokenNoise*y
	for i := range t.W {
		t.W[i] += px[i] / s * (y - guess)
		for j := range t.P[i] {
			t.P[i][j] -= px[i] * px[j] / s
		}
	}
	for i := range t.W {
		t.W[i] = max(t.W[i], 0.02*priorWeights[i]) // a class never makes negative tokens
		t.P[i][i] += square(0.01 * priorWeights[i])
	}
}

// doubt is the relative error to reckon with.
func (t *tokenFit) doubt() float64 {
	if t.Calls == 0 {
		return 0.25
	}
	return min(max(2*min(t.Error, t.PerByteError), 0.08), 0.4)
}

func (b *tokenBook) path(model string) string {
	sum := sha256.Sum256([]byte(model))
	return filepath.Join(b.dir, "tokens", fileSafe(model)+"-"+hex.EncodeToString(sum[:4])+".json")
}

// fit returns a copy of what is known of a model.
func (b *tokenBook) fit(model string) tokenFit {
	b.mu.Lock()
	defer b.mu.Unlock()
	return *b.load(model)
}

// load reads a model's file once. A broken file is forgotten: it is only experience.
func (b *tokenBook) load(model string) *tokenFit {
	if f := b.models[model]; f != nil {
		return f
	}
	f := newTokenFit(model)
	if data, err := os.ReadFile(b.path(model)); err == nil {
		var kept tokenFit
		if err := json.Unmarshal(data, &kept); err == nil && kept.sane() {
			f = &kept
		}
	}
	b.models[model] = f
	return f
}

func (t *tokenFit) sane() bool {
	for i, w := range t.W {
		if !(w > 0) && i != cByte || w > 50*priorWeights[i] || math.IsNaN(t.P[i][i]) || t.P[i][i] < 0 {
			return false
		}
	}
	return t.Calls > 0
}

// learn records one observation and keeps it.
func (b *tokenBook) learn(model string, x features, real int) {
	b.mu.Lock()
	f := b.load(model)
	f.learn(x, real)
	data, err := json.Marshal(f)
	// The first of every process too: a command line makes one call in each.
	often := f.Calls <= 20 || f.Calls%20 == 0 || !b.kept[model]
	if b.kept == nil {
		b.kept = map[string]bool{}
	}
	b.kept[model] = true
	b.mu.Unlock()
	if err == nil && often {
		err = b.keep(model, data)
	}
	if err != nil {
		b.log.Debug("token counts are not kept", "model", model, "error", err)
	}
}

// keep replaces the file in one step. Without a sync: after a crash it may be an
// old one, and a sync would cost every call milliseconds.
func (b *tokenBook) keep(model string, data []byte) error {
	path := b.path(model)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".tokens-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}
