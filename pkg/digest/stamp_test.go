package digest

import "testing"

func TestStampEnd(t *testing.T) {
	t.Parallel()
	for line, rest := range map[string]string{
		"2025-03-04 10:11:12.345 INFO x":        " INFO x",
		"2025-03-04T10:11:12Z 5 ms":             " 5 ms",
		"Jul  3 17:37:47 host x":                " host x",
		"[07.26 17:23:51] WeChat.exe":           " WeChat.exe",
		"[12/Apr/2025:06:00:01 +0000] GET":      " GET",
		"03-17 16:16:02.898  1702 D x":          "  1702 D x",
		"2026-11-29 17:44:31.032 UTC [2] x":     " [2] x",
		"1117838570 2005.06.03 R02 x":           " R02 x",
		"[Thu Dec 04 04:47:44 2005] [notice] x": " [notice] x",
		"5 errors in 3 s":                       "5 errors in 3 s",
		"read 9,500 bytes":                      "read 9,500 bytes",
		"":                                      "",
	} {
		if got := line[stampEnd([]byte(line)):]; got != rest {
			t.Errorf("%q leaves %q, want %q", line, got, rest)
		}
	}
}
