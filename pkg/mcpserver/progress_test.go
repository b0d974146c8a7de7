package mcpserver

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// G09: a call of 40 minutes speaks often enough for every client, never too often, and not without a token.
func TestProgressOfALongCallG09(t *testing.T) {
	t.Parallel()
	for _, token := range []any{"tok", nil} {
		synctest.Test(t, func(t *testing.T) {
			var sent bytes.Buffer
			r := startReporter(&output{w: &sent}, token, "delegate")
			r.say("attempt 1: the model writes")
			time.Sleep(20 * time.Minute)
			for range 20 * 60 * 50 { // a verb that talks 50 times a second
				r.say("attempt 2: the test runs")
				time.Sleep(20 * time.Millisecond)
			}
			r.end()
			quiet, busy := strings.Count(sent.String(), "attempt 1"), strings.Count(sent.String(), "attempt 2")
			switch {
			case token == nil && sent.Len() > 0:
				t.Errorf("without a token: %.200s", sent.String())
			case token == nil:
			case quiet < 80 || quiet > 90: // at least every 15 s
				t.Errorf("%d messages in 20 silent minutes", quiet)
			case busy < 1000 || busy > 2401: // at most two a second, and the one at the edge
				t.Errorf("%d messages in 20 busy minutes", busy)
			}
		})
	}
}
