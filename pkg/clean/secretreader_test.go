package clean

import (
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
)

// D14: keys that are split between reads, and blocks over many lines.
func TestSecretsReader(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQCRynznd38gLsbw\n", 3)
	text := "before\nkey AKIAIOSFODNN7EXAMPLE used\n-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n" + body +
		"VjSUB2emm5WqGmQH6/8i1w==\n-----END RSA PRIVATE KEY-----\nvalue my-own-value-42 shown\n" +
		"if s == \"-----BEGIN PRIVATE KEY-----\" {\n\treturn parseTheWholeFile(name, mode)\n}\n" +
		strings.Repeat("x", 2*maskBlock) + "\nlast, without an end"
	want := "before\nkey [masked] used\n-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n" + strings.Repeat("[masked]\n", 4) +
		"-----END RSA PRIVATE KEY-----\nvalue [masked] shown\n" +
		"if s == \"-----BEGIN PRIVATE KEY-----\" {\n\treturn parseTheWholeFile(name, mode)\n}\n" +
		strings.Repeat("x", 2*maskBlock) + "\nlast, without an end"
	s := NewSecrets([]string{"DEPLOY_TOKEN=my-own-value-42"})
	for name, r := range map[string]io.Reader{
		"whole": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text)), "late error": iotest.DataErrReader(strings.NewReader(text)),
	} {
		got, err := io.ReadAll(s.Reader(r))
		if err != nil || string(got) != want {
			t.Errorf("%s: %v\n%.900s", name, err, got)
		}
	}
	if got, err := io.ReadAll((*Secrets)(nil).Reader(strings.NewReader(text))); err != nil || string(got) != text {
		t.Errorf("nil: %v", err)
	}
	broken := io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(io.ErrUnexpectedEOF))
	if got, err := io.ReadAll(s.Reader(broken)); err == nil || string(got) != "a\nb" {
		t.Errorf("a read error is lost: %q, %v", got, err)
	}
}

// Keys that a program shows with something before every line.
func TestSecretsReaderShownKeys(t *testing.T) {
	t.Parallel()
	body := []string{
		"MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQCRynznd38gLsbw", "VjSUB2emm5WqGmQH6/8i1wAQEFAASCBKYwggSiAgEAAoIBAQCRynznd38gLsbwAB", "Qk1f6/8i1w==",
	}
	key := append(append([]string{"-----BEGIN RSA PRIVATE KEY-----"}, body...), "-----END RSA PRIVATE KEY-----")
	var s Secrets
	for name, head := range map[string]func(i int) string{
		"diff":                func(int) string { return "-" },
		"grep -n -A":          func(i int) string { return strconv.Itoa(i+1) + map[bool]string{true: ":", false: "-"}[i == 0] },
		"grep -n -A, files":   func(i int) string { return "conf/my-key.pem" + map[bool]string{true: ":1:", false: "-2-"}[i == 0] },
		"cat -n":              func(i int) string { return "     " + strconv.Itoa(i+1) + "\t" },
		"a numbered file":     func(i int) string { return "     " + strconv.Itoa(i+1) + "→" },
		"quoted in a message": func(int) string { return "> " },
		"compose file":        func(int) string { return "      " },
	} {
		text := "before it\n"
		for i, line := range key {
			text += head(i) + line + "\n"
		}
		text += "+x := parse(it)\n"
		got, err := io.ReadAll(s.Reader(strings.NewReader(text)))
		if err != nil {
			t.Fatal(err)
		}
		for way, out := range map[string]string{"Reader": string(got), "Mask": s.Mask(text)} {
			for _, secret := range body {
				if strings.Contains(out, secret) {
					t.Errorf("%s, %s: a line of the key is left:\n%s", name, way, out)
				}
			}
			if !strings.HasPrefix(out, "before it\n") || !strings.HasSuffix(out, "+x := parse(it)\n") {
				t.Errorf("%s, %s: what stands around it:\n%s", name, way, out)
			}
		}
	}
}

func BenchmarkSecretsReader(b *testing.B) {
	text := strings.Repeat("2026-11-29T10:00:00Z INFO worker 12 finished task 9981 in 12 ms with status ok\n", 100_000)
	s := NewSecrets([]string{"DEPLOY_TOKEN=my-own-value-42"})
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		_, _ = io.Copy(io.Discard, s.Reader(strings.NewReader(text)))
	}
}

// Every word is found at every place, odd and even, first and last.
func TestSigns(t *testing.T) {
	t.Parallel()
	words := append([]string{"abcdefgh", "0123456789", "s3cr3t-value"}, strongHints...)
	for _, w := range words {
		var g signs
		for _, o := range words {
			g.add(o)
		}
		for before := range 9 {
			for after := range 4 {
				text := strings.Repeat("?", before) + w + strings.Repeat("?", after)
				if !g.in([]byte(text)) {
					t.Errorf("%q is not found in %q", w, text)
				}
				if g.in([]byte(strings.Replace(text, w, w[:len(w)-1]+"?", 1))) {
					t.Errorf("%q is found in half", w)
				}
			}
		}
	}
}

// However a text arrives, the same comes out, line for line.
func FuzzSecretsReader(f *testing.F) {
	f.Add("key AKIAIOSFODNN7EXAMPLE\n-----BEGIN PRIVATE KEY-----\nMIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSi\n-----END PRIVATE KEY-----\nend", byte(3))
	f.Add("a\n\nghp_", byte(1))
	s := NewSecrets([]string{"DEPLOY_TOKEN=my-own-value-42"})
	f.Fuzz(func(t *testing.T, text string, size byte) {
		whole, err := io.ReadAll(s.Reader(strings.NewReader(text)))
		if err != nil {
			t.Fatal(err)
		}
		pieces, err := io.ReadAll(s.Reader(&chunked{text, int(size)%7 + 1}))
		if err != nil || string(pieces) != string(whole) {
			t.Errorf("%v: in pieces %q, whole %q", err, pieces, whole)
		}
		if strings.Count(text, "\n") != strings.Count(string(whole), "\n") {
			t.Errorf("lines got lost: %q", whole)
		}
	})
}

// chunked gives n bytes at a time.
type chunked struct {
	rest string
	n    int
}

func (c *chunked) Read(p []byte) (int, error) {
	if c.rest == "" {
		return 0, io.EOF
	}
	n := copy(p, c.rest[:min(c.n, len(c.rest))])
	c.rest = c.rest[n:]
	return n, nil
}
