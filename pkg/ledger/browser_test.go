//go:build unix

package ledger

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// browser is a headless Chromium, driven by its own protocol over a pair of pipes.
type browser struct {
	t       *testing.T
	to      *os.File
	answers chan message
	session string
	last    int

	mu     sync.Mutex
	events []message
}

type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// browserWait is generous: a browser starts slowly beside other work.
const browserWait = 90 * time.Second

func findBrowser() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "headless_shell"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if path := "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; runtime.GOOS == "darwin" {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

func startBrowser(t *testing.T) *browser {
	t.Helper()
	path := findBrowser()
	if path == "" {
		t.Skip("the page can be looked at with Chromium or Chrome only, and neither is installed (Debian: apt install chromium)")
	}
	in, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
		"--disable-background-networking", "--disable-component-update", "--user-data-dir="+home, "--remote-debugging-pipe")
	cmd.ExtraFiles = []*os.File{in, out}
	cmd.Env = append(os.Environ(), "HOME="+home)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	out.Close()
	b := &browser{t: t, to: to, answers: make(chan message, 100)}
	go b.read(from)
	t.Cleanup(func() {
		b.call("Browser.close", nil)
		to.Close()
		_ = cmd.Wait()
		from.Close()
		if t.Failed() {
			t.Logf("the browser said: %.1000s", stderr.String())
		}
	})
	return b
}

func (b *browser) read(from *os.File) {
	defer close(b.answers)
	r := bufio.NewReader(from)
	for {
		raw, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(bytes.TrimRight(raw, "\x00"), &m) != nil {
			continue
		}
		if m.ID != 0 {
			b.answers <- m
			continue
		}
		b.mu.Lock()
		b.events = append(b.events, m)
		b.mu.Unlock()
	}
}

// call sends one command and returns its result.
func (b *browser) call(method string, params map[string]any) json.RawMessage {
	b.t.Helper()
	b.last++
	msg := map[string]any{"id": b.last, "method": method, "params": params}
	if params == nil {
		msg["params"] = map[string]any{}
	}
	if b.session != "" && !strings.HasPrefix(method, "Browser.") {
		msg["sessionId"] = b.session
	}
	raw, err := json.Marshal(msg)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(raw, 0)); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	limit := time.After(browserWait)
	for {
		select {
		case m, ok := <-b.answers:
			switch {
			case !ok && method == "Browser.close":
				return nil
			case !ok:
				b.t.Fatalf("%s: the browser is gone", method)
			case m.ID != b.last:
				continue
			case m.Error != nil:
				b.t.Fatalf("%s: %s", method, m.Error.Message)
			}
			return m.Result
		case <-limit:
			b.t.Fatalf("%s: no answer", method)
		}
	}
}

// eval is the value of an expression in the page.
func (b *browser) eval(expression string, to any) {
	b.t.Helper()
	var r struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception json.RawMessage `json:"exceptionDetails"`
	}
	raw := b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true})
	if err := json.Unmarshal(raw, &r); err != nil || r.Exception != nil {
		b.t.Fatalf("%s: %v %s", expression, err, r.Exception)
	}
	if err := json.Unmarshal(r.Result.Value, to); err != nil {
		b.t.Fatalf("%s: %v in %s", expression, err, raw)
	}
}

// open shows a file at a size and in a scheme and waits until it is drawn.
func (b *browser) open(path string, width int, scheme string) {
	b.t.Helper()
	if b.session == "" {
		var target struct{ TargetID, SessionID string }
		b.unmarshal(b.call("Target.createTarget", map[string]any{"url": "about:blank"}), &target)
		b.unmarshal(b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}), &target)
		b.session = target.SessionID
		for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
			b.call(domain+".enable", nil)
		}
	}
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false})
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}})
	b.call("Page.navigate", map[string]any{"url": "file://" + filepath.ToSlash(path)})
	var ready bool
	for limit := time.Now().Add(browserWait); !ready && time.Now().Before(limit); {
		b.eval(`document.readyState === "complete" && location.protocol === "file:"`, &ready)
	}
	if !ready {
		b.t.Fatal("the page was not loaded")
	}
}

func (b *browser) unmarshal(raw json.RawMessage, to any) {
	b.t.Helper()
	if err := json.Unmarshal(raw, to); err != nil {
		b.t.Fatal(err)
	}
}

// picture is what the whole page looks like.
func (b *browser) picture() image.Image {
	b.t.Helper()
	var shot struct{ Data string }
	b.unmarshal(b.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}), &shot)
	raw, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		b.t.Fatal(err)
	}
	if dir := os.Getenv("LEGWORK_TEST_PICTURES"); dir != "" { // for those who want to look themselves
		name := fmt.Sprintf("page-%d-%d.png", img.Bounds().Dx(), b.last)
		if err := os.WriteFile(filepath.Join(dir, name), raw, 0o600); err != nil {
			b.t.Error(err)
		}
	}
	return img
}

// box is where an element is drawn, in the picture's pixels.
type box struct{ X, Y, W, H float64 }

func (b *browser) boxes(selector string) []box {
	b.t.Helper()
	var all []box
	b.eval(fmt.Sprintf(`[...document.querySelectorAll(%q)].map(e => { const r = e.getBoundingClientRect(); return {X: r.x + scrollX, Y: r.y + scrollY, W: r.width, H: r.height} })`, selector), &all)
	return all
}

// colors counts the colours within a box.
func colors(img image.Image, at box) map[color.Color]int {
	n := map[color.Color]int{}
	for y := int(at.Y); y < int(at.Y+at.H); y++ {
		for x := int(at.X); x < int(at.X+at.W); x++ {
			if (image.Point{x, y}).In(img.Bounds()) {
				n[img.At(x, y)]++
			}
		}
	}
	return n
}

// The rendered page, narrow and wide, light and dark: nothing sticks out, every chart is drawn, texts do not cover
// each other, the schemes differ, nothing is reported and nothing is fetched.
func TestPageInBrowser(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	path := filepath.Join(t.TempDir(), "report page.html")
	if err := os.WriteFile(path, []byte(testPage(t, randomLedger(t, 5, 400))), 0o600); err != nil {
		t.Fatal(err)
	}
	ground := map[string]color.Color{}
	for _, width := range []int{360, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			b.open(path, width, scheme)
			ground[scheme] = b.check(width, scheme)
		}
	}
	if ground["light"] == ground["dark"] {
		t.Errorf("both schemes have the ground %v", ground["dark"])
	}
	b.silent()
	b.named()
}

// check looks at one rendering and returns the colour of its ground.
func (b *browser) check(width int, scheme string) color.Color {
	b.t.Helper()
	where := fmt.Sprintf("%d pixels, %s", width, scheme)
	var scroll int
	b.eval(`document.documentElement.scrollWidth`, &scroll)
	if scroll > width {
		b.t.Errorf("%s: the page is %d pixels wide", where, scroll)
	}
	img := b.picture()
	for _, id := range []string{"days", "tools", "outcomes"} {
		chart := b.boxes("#chart-" + id)
		if len(chart) != 1 || chart[0].W < 250 || chart[0].H < 60 || chart[0].X < 0 || chart[0].X+chart[0].W > float64(width) {
			b.t.Fatalf("%s: chart %s is at %v", where, id, chart)
		}
		marks := b.boxes("#chart-" + id + " rect")
		if len(marks) < 4 {
			b.t.Errorf("%s: chart %s has %d marks", where, id, len(marks))
		}
		seen := colors(img, chart[0])
		if len(seen) < 5 {
			b.t.Errorf("%s: chart %s shows %d colours", where, id, len(seen))
		}
		for _, m := range marks {
			if m.X < chart[0].X-1 || m.X+m.W > chart[0].X+chart[0].W+1 || m.Y < chart[0].Y-1 || m.Y+m.H > chart[0].Y+chart[0].H+1 {
				b.t.Errorf("%s: a mark of chart %s sticks out: %v of %v", where, id, m, chart[0])
			}
			if inner := colors(img, box{m.X + m.W/2, m.Y + m.H/2, 1, 1}); m.W >= 3 && m.H >= 3 && inner[img.At(1, 1)] > 0 {
				b.t.Errorf("%s: a mark of chart %s is not drawn: %v", where, id, m)
			}
		}
		texts := b.boxes("#chart-" + id + " text")
		for i, x := range texts {
			for _, y := range texts[:i] {
				if x.X < y.X+y.W && y.X < x.X+x.W && x.Y+2 < y.Y+y.H && y.Y+2 < x.Y+x.H {
					b.t.Errorf("%s: texts of chart %s cover each other: %v and %v", where, id, x, y)
				}
			}
		}
	}
	return img.At(1, 1)
}

// silent checks that nothing was reported and nothing but the file was asked for.
func (b *browser) silent() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		switch e.Method {
		case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded":
			b.t.Errorf("the page reports: %s", e.Params)
		case "Network.requestWillBeSent":
			var p struct{ Request struct{ URL string } }
			if err := json.Unmarshal(e.Params, &p); err != nil || !strings.HasPrefix(p.Request.URL, "file://") && !strings.HasPrefix(p.Request.URL, "data:") {
				b.t.Errorf("the page asks for %s", p.Request.URL)
			}
		}
	}
}

// named checks what a screen reader is told: each chart is an image with a name and a description.
func (b *browser) named() {
	b.t.Helper()
	var tree struct {
		Nodes []struct {
			Role, Name struct{ Value string }
		}
	}
	b.call("Accessibility.enable", nil)
	b.unmarshal(b.call("Accessibility.getFullAXTree", nil), &tree)
	n := map[string]int{}
	for _, node := range tree.Nodes {
		role := strings.ToLower(node.Role.Value)
		if role == "image" || role == "img" || role == "table" {
			if strings.TrimSpace(node.Name.Value) == "" {
				b.t.Errorf("a nameless %s", role)
			}
		}
		n[strings.TrimSuffix(role, "age")]++
	}
	if n["im"]+n["img"] != 3 || n["table"] < 6 || n["rowheader"] == 0 || n["columnheader"] == 0 {
		b.t.Errorf("roles: %v", n)
	}
}
