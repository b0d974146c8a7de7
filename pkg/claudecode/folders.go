package claudecode

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"legwork/pkg/fsx"
)

// ToolResults is the folder in which Claude Code keeps the long results of a session, and whose files
// its model may read without a prompt. It follows from the session's transcript; "" when transcript is
// not the path of one.
func ToolResults(transcript string) string {
	name, ok := strings.CutSuffix(filepath.Base(transcript), ".jsonl")
	if !ok || name == "" || !filepath.IsAbs(transcript) {
		return ""
	}
	return filepath.Join(filepath.Dir(transcript), name, "tool-results")
}

// Publish gives the model a file to read: a hard link in the session's folder, or a copy of at most
// maxPublish bytes where linking is not possible. It returns the path there; "" when the session has no
// folder. A name that exists already is taken for the same file, so names must follow from the content.
func Publish(transcript, path, name string) (string, error) {
	to, exists, err := place(transcript, name)
	if err != nil || to == "" || exists {
		return to, err
	}
	if err := os.Link(path, to); err == nil {
		return to, nil
	}
	st, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if st.Size() > maxPublish {
		return "", fmt.Errorf("%s: %d bytes are too many for a copy, and a link is not possible", path, st.Size())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return to, fsx.WriteFile(to, data, 0o600)
}

// PublishText writes a text for the model to read into the session's folder and returns its path; ""
// when the session has no folder. See Publish for the name.
func PublishText(transcript, text, name string) (string, error) {
	to, exists, err := place(transcript, name)
	if err != nil || to == "" || exists {
		return to, err
	}
	return to, fsx.WriteFile(to, []byte(text), 0o600)
}

// maxPublish bounds a copy; a link costs nothing.
const maxPublish = 64 << 20

// place makes the session's folder and tells whether the name is taken in it.
func place(transcript, name string) (path string, exists bool, err error) {
	dir := ToolResults(transcript)
	if dir == "" {
		return "", false, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", false, err
	}
	path = filepath.Join(dir, name)
	st, err := os.Lstat(path)
	return path, err == nil && st.Mode().IsRegular(), nil
}
