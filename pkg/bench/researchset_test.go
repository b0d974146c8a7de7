package bench

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"legwork/pkg/config"
	"legwork/pkg/llm"
	"legwork/pkg/llm/llmtest"
)

var researchDir = filepath.Join("..", "..", "bench", "research")

func researchGround(t *testing.T) Ground {
	t.Helper()
	dir := t.TempDir()
	cfg, err := CheckConfig(dir, &config.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return Ground{Config: cfg, StateDir: dir}
}

// The planted citations: hardly any false one stands, hardly any true one is lost.
func TestResearchSetChecks(t *testing.T) {
	t.Parallel()
	rep, err := ResearchSet(t.Context(), researchGround(t), researchDir, ResearchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	precision, recall := rep.Precision()
	if len(rep.Checked) < 50 || precision < 80 || recall < 90 {
		t.Errorf("%d checked, precision %.0f, recall %.0f", len(rep.Checked), precision, recall)
	}
	var out strings.Builder
	if err := rep.Write(&out, true); err != nil || !strings.Contains(out.String(), "precision: a citation that stands is true") {
		t.Errorf("%v %s", err, out.String())
	}
}

// The sets whose statements are rephrased freely, and whose false ones differ by little.
func TestResearchSetsChecked(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"set-1", "set-2", "set-3", "set-4"} {
		rep, err := ResearchSet(t.Context(), researchGround(t), filepath.Join(researchDir, name), ResearchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		precision, recall := rep.Precision()
		if len(rep.Checked) < 120 || precision < 67 || recall < 75 {
			t.Errorf("%s: %d checked, precision %.0f, recall %.0f", name, len(rep.Checked), precision, recall)
		}
	}
}

// A scripted server in the model's place: right and wrongly cited answers are told apart, the log is gone on with.
func TestResearchSetAsks(t *testing.T) {
	t.Parallel()
	g := researchGround(t)
	asked := 0
	server := llmtest.NewLlamaServer(t, llmtest.Config{Answer: func(c llmtest.Call) llmtest.Reply {
		asked++
		if strings.Contains(c.Last(), "How many cars does the Marit carry?") {
			return llmtest.Reply{Text: "The car ferry carries 28 cars [" + pageNumbers(c.Last())["saltholm-ferry"] + "]."}
		}
		return llmtest.Reply{Text: "The pages do not say this."}
	}})
	g.Models = llm.New(llm.Settings{Endpoints: []llm.Endpoint{{Name: "s", BaseURL: server.URL}}}, llm.Options{StateDir: g.StateDir})
	log := filepath.Join(t.TempDir(), "log.jsonl")
	rep, err := ResearchSet(t.Context(), g, researchDir, ResearchOptions{Ask: true, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	for _, r := range rep.Asked {
		if !r.Right {
			continue
		}
		right++
		if r.Facts != 1 || r.Cited != 1 || r.Stands != 1 || r.True != 1 {
			t.Errorf("%+v", r)
		}
	}
	if len(rep.Asked) < 20 || right != 1 {
		t.Errorf("%d asked, %d right", len(rep.Asked), right)
	}
	before := asked
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(log, b[:len(b)-10], 0o600); err != nil { // killed while writing
		t.Fatal(err)
	}
	if _, err := ResearchSet(t.Context(), g, researchDir, ResearchOptions{Ask: true, Log: log}); err != nil || asked == before || asked > before+4 {
		t.Errorf("%d questions again, %v", asked-before, err)
	}
}

func TestServePagesOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.html": "<p>a</p>", "secret.txt": "s"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := servePages(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for path, want := range map[string]int{"/a.html": 200, "/secret.txt": 404, "/../a.html": 404, "/": 404} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.host+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
	if !strings.HasPrefix(s.host, "127.0.0.1:") {
		t.Error(s.host)
	}
}
