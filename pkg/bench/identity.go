package bench

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"legwork/pkg/llm"
)

// Identify names a served model, where it is, and what server it is; file, when given, is the model's file,
// from which the name, the quantisation and the hash are taken.
func Identify(ctx context.Context, models *llm.Registry, name, file string) (Contestant, error) {
	if c, ok, err := Scripted(name); ok {
		return c, err
	}
	choice, err := models.Choose(ctx, llm.Want{Tool: "delegate", Model: name})
	if err != nil {
		return Contestant{}, err
	}
	c := Contestant{served: choice.Model, Identity: Identity{
		Model: publicID(choice.Model), Backend: string(choice.Backend), Window: choice.Window, Slots: choice.Slots, Quant: quantOf(choice.Model),
	}}
	all, err := models.Probe(ctx)
	if err != nil {
		return c, err
	}
	for _, e := range all {
		if e.Name != choice.Endpoint {
			continue
		}
		c.Endpoint = e.BaseURL
		for _, m := range e.Models {
			if m.ID == choice.Model && m.Quant != "" {
				c.Quant = toldQuant(m.Quant)
			}
		}
	}
	c.Server = serverVersion(ctx, models, choice)
	if file != "" {
		if err := c.readFile(file); err != nil {
			return c, fmt.Errorf("%s: %w", file, err)
		}
	}
	return c, nil
}

// publicID is a model's id without the folders of the machine it lies on: llama-server's is the path of its file.
func publicID(id string) string {
	if filepath.IsAbs(id) || strings.Contains(id, `:\`) {
		return id[strings.LastIndexAny(id, `/\`)+1:]
	}
	return id
}

// readFile takes what a model's file says of itself.
func (c *Contestant) readFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	c.ModelSHA = hex.EncodeToString(h.Sum(nil))
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	meta, err := readGGUF(f)
	if err != nil {
		return nil //nolint:nilerr // another format: the hash is all there is
	}
	c.ModelName = meta.name
	if meta.quant != "" {
		c.Quant = meta.quant
	}
	return nil
}

// quantOf reads a quantisation off a model's name or file name.
func quantOf(name string) string {
	m := regexp.MustCompile(`(?i)(?:^|[-_.:/])((?:I?Q[1-8](?:_[0-9KSMLXN]+)*)|BF16|F(?:P)?(?:16|32|8)|MXFP4|AWQ|GPTQ(?:-INT[48])?|INT[48])(?:$|[-_.:/])`).FindStringSubmatch(filepath.Base(name))
	if m == nil {
		return ""
	}
	return strings.ToUpper(m[1])
}

// toldQuant is a server's word for a quantisation in the usual one: llama-server says "Q4_K - Medium".
func toldQuant(s string) string {
	for word, letter := range map[string]string{" - Small": "_S", " - Medium": "_M", " - Large": "_L"} {
		s = strings.Replace(s, word, letter, 1)
	}
	return s
}

// serverVersion asks the server what it is, without generating anything; "" when it does not tell.
func serverVersion(ctx context.Context, models *llm.Registry, c llm.Choice) string {
	at, ok := models.Target(c.Endpoint)
	if !ok {
		return ""
	}
	route, field := "", ""
	switch c.Backend {
	case llm.LlamaCpp:
		route, field = "/props", "build_info"
	case llm.Ollama:
		route, field = "/api/version", "version"
	case llm.VLLM:
		route, field = "/version", "version"
	default:
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.Root+route, http.NoBody)
	if err != nil {
		return ""
	}
	req.Header, req.Host = at.Header, at.Host
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	if err != nil || resp.StatusCode != http.StatusOK {
		return ""
	}
	return gjson.GetBytes(body, field).String()
}

// System is the machine of the bench in a few words.
func System() string {
	return fmt.Sprintf("%s/%s, %d cores", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
}
