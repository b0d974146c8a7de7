package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func binarySizes(l *lab) ([]row, error) {
	var rows []row
	for _, target := range []string{"linux/amd64", "linux/arm64", "darwin/arm64", "darwin/amd64", "windows/amd64"} {
		goos, arch, _ := strings.Cut(target, "/")
		path := filepath.Join(l.dir, "sized")
		if err := l.build(path, "GOOS="+goos, "GOARCH="+arch); err != nil {
			return nil, err
		}
		st, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{what: target, how: "stripped, -trimpath", limit: 15, got: float64(st.Size()) / (1 << 20), unit: "MiB"})
	}
	return rows, nil
}

// bigOutput runs a command that prints 500 MB through the binary and looks at memory and truth.
func bigOutput(l *lab) ([]row, error) {
	const lines = 500 << 20
	script := fmt.Sprintf("yes 'this line is printed again and again, number after number' | head -c %d; echo; echo the very last line; exit 3", lines)
	cmd := exec.Command(l.bin, "--json", "--quiet", "offload", "--command", script, "what is the last line?") //nolint:noctx // ends by itself
	cmd.Env, cmd.Dir, cmd.Stderr = append(l.env(), "LEGWORK_LOCAL_SERVERS=none"), l.dir, os.Stderr
	out, peak, err := output(cmd)
	if err != nil {
		return nil, err
	}
	var res struct {
		Ran  struct{ Exit int } `json:"ran"`
		Path string             `json:"path"`
	}
	if err := json.Unmarshal(out, &res); err != nil {
		return nil, err
	}
	kept, err := tail(res.Path)
	if err != nil {
		return nil, err
	}
	last := 0.0
	if strings.HasSuffix(kept, "the very last line\n") && strings.Contains(string(out), "the very last line") {
		last = 1
	}
	return []row{
		{what: "peak RSS", how: "`yes … | head -c 500M` through offload", limit: 100, got: peak, unit: "MiB"},
		{what: "last line kept and shown", how: "1 = yes", limit: 1, got: last, atLeast: true},
		{what: "exit code", how: "the command ends with 3", limit: 3, got: float64(res.Ran.Exit)},
	}, nil
}

// tail is the end of a file.
func tail(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "", err
	}
	b := make([]byte, min(st.Size(), 4<<10))
	_, err = f.ReadAt(b, st.Size()-int64(len(b)))
	return string(b), err
}
