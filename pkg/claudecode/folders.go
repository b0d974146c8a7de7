package claudecode

import (
	"os"
	"path/filepath"
	"strings"
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
// folder.
func Publish(transcript, path, name string) (string, error) {
	dir := ToolResults(transcript)
	if dir == "" {
		return "", nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	to := filepath.Join(dir, name)
	if _, err := os.Lstat(to); err == nil {
		return to, nil
	}
	if err := os.Link(path, to); err == nil {
		return to, nil
	}
	return to, copyFile(path, to)
}

// maxPublish bounds a copy; a link costs nothing.
const maxPublish = 64 << 20

func copyFile(from, to string) error {
	st, err := os.Stat(from)
	if err != nil {
		return err
	}
	if st.Size() > maxPublish {
		return &os.PathError{Op: "copy", Path: from, Err: os.ErrInvalid}
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o600)
}

// PublishText writes a text for the model to read into the session's folder and returns its path; ""
// when the session has no folder.
func PublishText(transcript, text, name string) (string, error) {
	dir := ToolResults(transcript)
	if dir == "" {
		return "", nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	return path, os.WriteFile(path, []byte(text), 0o600)
}
