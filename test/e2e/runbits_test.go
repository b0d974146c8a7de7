package e2e_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"legwork/test/e2e/backend"
	"legwork/test/e2e/claude"
)

// H03: archives and some file systems lose the run bits of all files, the launcher's too. The plugin names sh as its
// command, so the first session has the server all the same.
func TestNoRunBitsH03(t *testing.T) {
	t.Parallel()
	c := claude.New(t)
	dir := plugin(t)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chmod(path, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	install(t, c, dir)
	b := backend.New(t, backend.Turn{Tools: []backend.Tool{call("configure", map[string]any{})}})
	ev := c.Print(b.URL, "show the settings", allow("configure"))
	checkServer(t, ev.Init())
	if results := b.Results(); !ev.OK() || len(results) != 1 || results[0].Error {
		t.Errorf("%+v\n%+v", ev.Run, results)
	}
}
