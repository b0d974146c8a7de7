package llmtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// GGUF describes a tiny model (qwen3 architecture, about 160 KB) that real
// servers load in a moment. One byte of prompt is one token.
type GGUF struct {
	Name string
	// Script is what the model says, as pieces; each follows the one before, the
	// last one ends the answer. It begins after a newline, with which the chat
	// template ends. No piece may occur twice. Nil: random babble without an end.
	Script  []string
	Context int // the window in its metadata; 0: 32768
}

// Scripts for a plain answer and for a call of the tool "pick".
var (
	HelloScript = []string{"\n", "Hello", " from", " the", " local", " model", ".", "<|im_end|>"}
	ToolScript  = []string{"\n", "<tool_call>", "\n\n", `{"`, "name", `":"`, "pick", `","`, "arguments", `":{"`, "a", `":`, "true", "}}", "</tool_call>", "<|im_end|>"}
)

// GGUFTemplate is the chat template inside the models. It wants the system
// message first, as the stricter ones do.
const GGUFTemplate = `{%- if tools or (messages and messages[0].role == 'system') -%}
<|im_start|>system
{% if messages and messages[0].role == 'system' %}{{ messages[0].content }}
{% endif %}
{%- if tools %}Tools:
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}Reply with <tool_call>
{"name": ..., "arguments": {...}}
</tool_call>
{% endif %}<|im_end|>
{% endif %}
{%- for message in messages -%}
{%- if message.role == 'system' -%}
{%- if not loop.first %}{{ raise_exception('System message must be at the beginning.') }}{% endif -%}
{%- elif message.role == 'user' -%}
<|im_start|>user
{{ message.content }}<|im_end|>
{% elif message.role == 'assistant' -%}
<|im_start|>assistant
{{ message.content or '' }}
{%- for tc in (message.tool_calls or []) %}
<tool_call>
{"name": "{{ tc.function.name }}", "arguments": {{ tc.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% elif message.role == 'tool' -%}
<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% else -%}
{{ raise_exception('Unexpected message role.') }}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
<|im_start|>assistant
{% endif -%}
`

// OllamaTemplate is the same for Ollama, which does not read the one inside.
const OllamaTemplate = `{{- if or .System .Tools }}<|im_start|>system
{{ .System }}
{{- range .Tools }}
{{ . }}
{{- end }}<|im_end|>
{{ end }}
{{- range .Messages }}
{{- if ne .Role "system" }}<|im_start|>{{ .Role }}
{{ .Content }}{{ range .ToolCalls }}<tool_call>
{"name": "{{ .Function.Name }}", "arguments": {{ .Function.Arguments }}}
</tool_call>{{ end }}<|im_end|>
{{ end }}
{{- end }}<|im_start|>assistant
`

// WriteGGUF writes a model into dir and returns its path.
func WriteGGUF(t testing.TB, dir string, g GGUF) string {
	t.Helper()
	if g.Context == 0 {
		g.Context = 32768
	}
	data, err := g.encode()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, g.Name+".gguf")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Sizes of the model. Two layers make the babble wander, one is enough to follow a script.
const (
	embd    = 64
	heads   = 2
	ffn     = 2 * embd
	ggAlign = 32
)

// vocabulary is GPT-2's byte alphabet, the control tokens and the script's words.
type vocabulary struct {
	tokens []string
	types  []int32
	ids    map[string]int
}

// Token types of the format.
const (
	normalToken  = 1
	controlToken = 3
	userToken    = 4
)

func (v *vocabulary) put(s string, kind int32) {
	if _, ok := v.ids[s]; !ok {
		v.ids[s] = len(v.tokens)
		v.tokens = append(v.tokens, s)
		v.types = append(v.types, kind)
	}
}

func newVocabulary(script []string) *vocabulary {
	v := &vocabulary{ids: map[string]int{}}
	for b := range 256 {
		v.put(string(byteRune(byte(b))), normalToken)
	}
	v.put("ĠĠ", normalToken) // the one merge a tokenizer must have
	for _, s := range []string{"<|endoftext|>", "<|im_start|>", "<|im_end|>"} {
		v.put(s, controlToken)
	}
	for _, s := range []string{"<tool_call>", "</tool_call>"} {
		v.put(s, userToken)
	}
	for _, s := range script {
		v.put(pieceToken(s), normalToken)
	}
	return v
}

// byteRune is the character by which GPT-2's vocabulary writes a byte.
func byteRune(b byte) rune {
	extra := rune(256)
	for c := range 256 {
		r := rune(c)
		if r < 33 || r > 126 && r < 161 || r == 173 {
			r = extra
			extra++
		}
		if byte(c) == b {
			return r
		}
	}
	return 0
}

// pieceToken writes a piece of script as the vocabulary does.
func pieceToken(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteRune(byteRune(s[i]))
	}
	return b.String()
}

type tensor struct {
	name string
	dims []int // row length first
	half bool  // f16
	data []float32
}

func (g GGUF) encode() ([]byte, error) {
	v := newVocabulary(g.Script)
	tensors, err := g.tensors(v)
	if err != nil {
		return nil, err
	}
	var w ggufWriter
	w.WriteString("GGUF")
	w.num(uint32(3))
	w.num(uint64(len(tensors)))
	meta := g.metadata(v)
	w.num(uint64(len(meta)))
	for _, m := range meta {
		w.meta(m.key, m.value)
	}
	offset := 0
	for _, t := range tensors {
		w.str(t.name)
		w.num(uint32(len(t.dims)))
		for _, d := range t.dims {
			w.num(uint64(d))
		}
		w.num(map[bool]uint32{false: 0, true: 1}[t.half])
		w.num(uint64(offset))
		offset += (t.size() + ggAlign - 1) / ggAlign * ggAlign
	}
	w.align()
	for _, t := range tensors {
		for _, x := range t.data {
			if t.half {
				w.num(float16(x))
			} else {
				w.num(math.Float32bits(x))
			}
		}
		w.align()
	}
	return w.Bytes(), nil
}

func (t tensor) size() int {
	if t.half {
		return 2 * len(t.data)
	}
	return 4 * len(t.data)
}

type metaEntry struct {
	key   string
	value any
}

func (g GGUF) metadata(v *vocabulary) []metaEntry {
	return []metaEntry{
		{"general.architecture", "qwen3"},
		{"general.name", g.Name},
		{"general.file_type", uint32(1)},
		{"general.quantization_version", uint32(2)},
		{"general.size_label", "tiny"},
		{"qwen3.context_length", uint32(g.Context)},
		{"qwen3.embedding_length", uint32(embd)},
		{"qwen3.block_count", uint32(g.layers())},
		{"qwen3.feed_forward_length", uint32(ffn)},
		{"qwen3.attention.head_count", uint32(heads)},
		{"qwen3.attention.head_count_kv", uint32(heads)},
		{"qwen3.attention.key_length", uint32(embd / heads)},
		{"qwen3.attention.value_length", uint32(embd / heads)},
		{"qwen3.vocab_size", uint32(len(v.tokens))},
		{"qwen3.attention.layer_norm_rms_epsilon", float32(1e-6)},
		{"qwen3.rope.freq_base", float32(1e6)},
		{"qwen3.rope.dimension_count", uint32(embd / heads)},
		{"tokenizer.ggml.model", "gpt2"},
		{"tokenizer.ggml.pre", "gpt-2"},
		{"tokenizer.ggml.tokens", v.tokens},
		{"tokenizer.ggml.token_type", v.types},
		{"tokenizer.ggml.merges", []string{"Ġ Ġ"}},
		{"tokenizer.ggml.eos_token_id", uint32(v.ids["<|im_end|>"])},
		{"tokenizer.ggml.padding_token_id", uint32(v.ids["<|endoftext|>"])},
		{"tokenizer.ggml.bos_token_id", uint32(v.ids["<|endoftext|>"])},
		{"tokenizer.ggml.add_bos_token", false},
		{"tokenizer.chat_template", GGUFTemplate},
	}
}

func (g GGUF) layers() int {
	if g.Script == nil {
		return 2
	}
	return 1
}

// tensors of a scripted model: attention and feed-forward add nothing, so what
// leaves the last layer is the last token's embedding, and the output matrix
// names each token's successor.
func (g GGUF) tensors(v *vocabulary) ([]tensor, error) {
	rng := rand.New(rand.NewPCG(7, 7)) //nolint:gosec // weights, the same every time
	random := func(n int, scale float64) []float32 {
		d := make([]float32, n)
		for i := range d {
			d[i] = float32(rng.NormFloat64() * scale)
		}
		return d
	}
	mixing := random
	if g.Script != nil {
		mixing = func(n int, _ float64) []float32 { return make([]float32, n) }
	}
	ones := func(n int) []float32 { return slices.Repeat([]float32{1}, n) }
	n := len(v.tokens)
	emb := random(n*embd, 0.5)
	out := []tensor{{"token_embd.weight", []int{embd, n}, true, emb}, {"output_norm.weight", []int{embd}, false, ones(embd)}}
	if g.Script != nil {
		next, err := successors(g.Script, v, emb)
		if err != nil {
			return nil, err
		}
		out = append(out, tensor{"output.weight", []int{embd, n}, true, next})
	}
	scale := 1 / math.Sqrt(embd)
	for l := range g.layers() {
		p := fmt.Sprintf("blk.%d.", l)
		head := embd / heads
		out = append(out,
			tensor{p + "attn_norm.weight", []int{embd}, false, ones(embd)},
			tensor{p + "attn_q.weight", []int{embd, embd}, true, random(embd*embd, scale)},
			tensor{p + "attn_k.weight", []int{embd, embd}, true, random(embd*embd, scale)},
			tensor{p + "attn_v.weight", []int{embd, embd}, true, random(embd*embd, scale)},
			tensor{p + "attn_output.weight", []int{embd, embd}, true, mixing(embd*embd, scale)},
			tensor{p + "attn_q_norm.weight", []int{head}, false, ones(head)},
			tensor{p + "attn_k_norm.weight", []int{head}, false, ones(head)},
			tensor{p + "ffn_norm.weight", []int{embd}, false, ones(embd)},
			tensor{p + "ffn_gate.weight", []int{embd, ffn}, true, random(ffn*embd, scale)},
			tensor{p + "ffn_up.weight", []int{embd, ffn}, true, random(ffn*embd, scale)},
			tensor{p + "ffn_down.weight", []int{ffn, embd}, true, mixing(ffn*embd, scale)})
	}
	return out, nil
}

func successors(script []string, v *vocabulary, emb []float32) ([]float32, error) {
	out := make([]float32, len(emb))
	seen := map[string]bool{}
	for i := range len(script) - 1 {
		if seen[script[i]] {
			return nil, fmt.Errorf("llmtest: the piece %q occurs twice in the script", script[i])
		}
		seen[script[i]] = true
		from, to := v.ids[pieceToken(script[i])], v.ids[pieceToken(script[i+1])]
		row, sum := emb[from*embd:(from+1)*embd], 0.0
		for _, x := range row {
			sum += float64(x) * float64(x)
		}
		rms := math.Sqrt(sum/embd) + 1e-9
		for j, x := range row {
			out[to*embd+j] += float32(float64(x) / rms)
		}
	}
	return out, nil
}

// ggufWriter writes the format's little-endian values.
type ggufWriter struct{ bytes.Buffer }

func (w *ggufWriter) num(v any) {
	if err := binary.Write(w, binary.LittleEndian, v); err != nil {
		panic(err) // only values of fixed size are passed
	}
}

func (w *ggufWriter) str(s string) {
	w.num(uint64(len(s)))
	w.WriteString(s)
}

func (w *ggufWriter) align() {
	for w.Len()%ggAlign != 0 {
		w.WriteByte(0)
	}
}

// Type numbers of the format.
const (
	ggU32, ggI32, ggF32, ggBool, ggString, ggArray uint32 = 4, 5, 6, 7, 8, 9
)

func (w *ggufWriter) meta(key string, value any) {
	w.str(key)
	switch v := value.(type) {
	case uint32:
		w.num(ggU32)
		w.num(v)
	case float32:
		w.num(ggF32)
		w.num(math.Float32bits(v))
	case bool:
		w.num(ggBool)
		w.num(v)
	case string:
		w.num(ggString)
		w.str(v)
	case []string:
		w.num(ggArray)
		w.num(ggString)
		w.num(uint64(len(v)))
		for _, s := range v {
			w.str(s)
		}
	case []int32:
		w.num(ggArray)
		w.num(ggI32)
		w.num(uint64(len(v)))
		w.num(v)
	default:
		panic(fmt.Sprintf("llmtest: no GGUF type for %T", value))
	}
}

func float16(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b>>16) & 0x8000
	exp := int32(b>>23&0xff) - 127 + 15
	switch {
	case exp <= 0:
		return sign
	case exp >= 31:
		return sign | 0x7c00
	}
	return sign | uint16(exp)<<10 | uint16(b>>13&0x3ff)
}
