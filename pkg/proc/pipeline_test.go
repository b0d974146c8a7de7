package proc

import "testing"

func TestLastOfPipeD10(t *testing.T) {
	t.Parallel()
	for shell, want := range map[string]string{
		"false | tail -1":                        "tail -1",
		"go test ./... 2>&1 | grep -v ok | head": "head",
		"cd x && make |& tee log":                "tee log",
		"(make | tail)":                          "tail",
		"{ make | tail; }":                       "tail",
		"time make | tail -n 3":                  "tail -n 3",
		"make | tail || true":                    "tail",
		"make | tail\n":                          "tail",
		"make | tail; exit 3":                    "",
		"a || b":                                 "",
		"echo 'a | b'":                           "",
		"echo \"a | b\" # | c":                   "",
		"grep 'x|y' f":                           "",
		"set -o pipefail; make | tail":           "",
		"set -euo pipefail\nmake | tail":         "",
		"make | tail &":                          "",
		"if a | b; then c; fi":                   "",
		"case $x in a|b) c;; esac":               "",
		"echo $(a | b)":                          "",
		"echo 'unclosed | x":                     "",
		"":                                       "",
	} {
		if got, ok := LastOfPipe(shell); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v; want %q", shell, got, ok, want)
		}
	}
}
