package llm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"legwork/pkg/llm/llmtest"
)

// TestMain lets the test binary play another process of legwork, see TestSlotsAcrossProcesses.
func TestMain(m *testing.M) {
	if dir := os.Getenv("LLM_TEST_HOLD_SLOT"); dir != "" {
		holdSlot(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// holdSlot takes a slot and says so, then keeps it until its input ends.
func holdSlot(dir string) {
	_, err := newSlotTable(dir).acquire(context.Background(), "srv", 1, func(ahead int) { fmt.Println("waiting", ahead) })
	fmt.Println("held", err)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
}

// Must hold: 32 calls at once on 4 slots all finish, never more than 4 in
// flight, in the order in which they came.
func TestSlots32On4(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var order []string
	s := llmtest.NewVLLM(t, llmtest.Config{Slots: 100, Answer: func(c llmtest.Call) llmtest.Reply {
		mu.Lock()
		order = append(order, c.Last())
		mu.Unlock()
		return llmtest.Reply{Text: "one two three", PieceDelay: 3 * time.Millisecond}
	}})
	r := registry(t, Endpoint{Name: "gpu", BaseURL: s.URL, Concurrency: 4})
	c := choose(t, r, Want{})
	var wg sync.WaitGroup
	var said []string
	for i := range 32 {
		queued := make(chan struct{})
		once := sync.OnceFunc(func() { close(queued) })
		wg.Go(func() {
			_, err := r.Chat(t.Context(), Request{Choice: c, Messages: say(fmt.Sprintf("%02d", i)), OnProgress: func(p Progress) {
				if p.Phase == PhaseWaiting {
					mu.Lock()
					said = append(said, p.Text)
					mu.Unlock()
				}
				once()
			}})
			if err != nil {
				t.Error(err)
			}
		})
		<-queued // so that the order of arrival is known
	}
	wg.Wait()
	if p := s.Peak(); p > 4 {
		t.Errorf("%d in flight, limit 4", p)
	}
	if len(order) != 32 {
		t.Fatalf("%d calls, want 32", len(order))
	}
	// Those that run together may reach the server in any order.
	for at, who := range order {
		var n int
		if _, err := fmt.Sscanf(who, "%d", &n); err != nil || n-at > 4 || at-n > 4 {
			t.Errorf("call %s came %d. of all: %v", who, at, order)
			break
		}
	}
	if text := strings.Join(said, "\n"); !strings.Contains(text, "waiting for a slot on gpu, 2 ahead") {
		t.Errorf("waiting is not told: %s", text)
	}
}

func TestSlotsLeaveNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	table := newSlotTable(dir)
	a, err := table.acquire(t.Context(), "srv", 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	gave := make(chan error, 1)
	go func() {
		_, err := table.acquire(ctx, "srv", 1, func(int) { cancel() })
		gave <- err
	}()
	if err := <-gave; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if all, others := table.held("srv"); all != 1 || others != 0 {
		t.Errorf("held %d, %d", all, others)
	}
	a.release()
	a.release()
	if left, _ := filepath.Glob(filepath.Join(dir, "slots", "srv", "*.ticket")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Another process holds the slot: we wait, say so, and get it when that process
// ends without a word.
func TestSlotsAcrossProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start := func() (*exec.Cmd, *bufio.Scanner) {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), "LLM_TEST_HOLD_SLOT="+dir)
		if _, err := cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, bufio.NewScanner(out)
	}
	end := func(c *exec.Cmd) { _ = c.Process.Kill(); _ = c.Wait() }
	first, out := start()
	defer end(first)
	if !out.Scan() || out.Text() != "held <nil>" {
		t.Fatalf("first: %q", out.Text())
	}
	second, out2 := start()
	defer end(second)
	if !out2.Scan() || out2.Text() != "waiting 0" {
		t.Fatalf("second: %q", out2.Text())
	}
	table := newSlotTable(dir)
	if all, others := table.held("srv"); all != 2 || others != 2 {
		t.Errorf("held %d, of others %d", all, others)
	}
	got := make(chan *ticket)
	told := make(chan int, 10)
	go func() {
		tk, err := table.acquire(t.Context(), "srv", 1, func(n int) { told <- n })
		if err != nil {
			t.Error(err)
		}
		got <- tk
	}()
	if n := <-told; n != 1 {
		t.Errorf("%d ahead, want 1", n)
	}
	end(second) // the one before us gives up
	if n := <-told; n != 0 {
		t.Errorf("%d ahead, want 0", n)
	}
	end(first)
	(<-got).release()
	if all, _ := table.held("srv"); all != 0 {
		t.Errorf("%d held at the end", all)
	}
}

// Endpoints named differently in two projects are one server.
func TestSlotsBelongToTheServer(t *testing.T) {
	t.Parallel()
	a, b, c := newServer(Endpoint{Name: "x", BaseURL: "http://h:1/v1/"}), newServer(Endpoint{Name: "y", BaseURL: "h:1"}), newServer(Endpoint{Name: "x", BaseURL: "h:2"})
	if a.key != b.key || a.key == c.key {
		t.Errorf("%s %s %s", a.key, b.key, c.key)
	}
	if k := newServer(Endpoint{BaseURL: "http://user:pass@h:1/../x"}).key; strings.Contains(k, "pass") || strings.ContainsAny(k, "/\\") {
		t.Errorf("key %q", k)
	}
}

// A proxy holds a slot with Acquire; Chat then waits for it.
func TestAcquire(t *testing.T) {
	t.Parallel()
	s := llmtest.NewLlamaServer(t, llmtest.Config{Slots: 1})
	r := registry(t, ep("e", s))
	c := choose(t, r, Want{})
	release, err := r.Acquire(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan Progress, 10)
	done := make(chan error, 1)
	go func() {
		_, err := r.Chat(t.Context(), Request{Choice: c, Messages: say("x"), OnProgress: func(p Progress) { waiting <- p }})
		done <- err
	}()
	if p := <-waiting; p.Phase != PhaseWaiting || p.Text != "waiting for a slot on e, next in line" {
		t.Errorf("%+v", p)
	}
	release()
	release()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := r.Acquire(t.Context(), Choice{Endpoint: "nope"}, nil); err == nil || !strings.Contains(err.Error(), "known: e") {
		t.Errorf("%v", err)
	}
}

func BenchmarkSlot(b *testing.B) {
	table := newSlotTable(b.TempDir())
	for b.Loop() {
		t, err := table.acquire(b.Context(), "srv", 4, nil)
		if err != nil {
			b.Fatal(err)
		}
		t.release()
	}
}
