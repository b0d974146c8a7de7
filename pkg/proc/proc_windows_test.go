package proc

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
)

func TestWindows(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	exit, err := Run(t.Context(), Spec{Shell: `echo "a b" & exit 7`, Stdout: &out, Stderr: &out})
	if err != nil || exit.Code != 7 || !strings.Contains(out.String(), `"a b"`) {
		t.Errorf("%+v, %v, %q", exit, err, out.String())
	}
	if exit, err := Run(t.Context(), Spec{Argv: []string{"no-such-program-here"}}); err != nil || exit.Code != 127 {
		t.Errorf("%+v, %v", exit, err)
	}
}

func TestWindowsTimeoutKillsTheTreeB07(t *testing.T) {
	t.Parallel()
	began := time.Now()
	exit, err := Run(t.Context(), Spec{Shell: "ping -n 600 127.0.0.1", Timeout: time.Second, Grace: 200 * time.Millisecond})
	if err != nil || !exit.TimedOut || time.Since(began) > time.Minute {
		t.Errorf("%+v, %v", exit, err)
	}
}

func TestWindowsCancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	p, err := Start(ctx, Spec{Shell: "ping -n 600 127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	if !Alive(p.Identity()) {
		t.Error("it does not live")
	}
	cancel(ErrShutdown)
	if exit := p.Wait(); !exit.Cancelled || Alive(p.Identity()) {
		t.Errorf("%+v", exit)
	}
}
