package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"legwork/pkg/fsx"

	"gopkg.in/yaml.v3"
)

// trustList maps the real path of a project file to the SHA-256 of the content the user agreed to.
type trustList map[string]string

// readTrust reads the list. A list that cannot be read trusts nothing.
func readTrust(lay layout) trustList {
	list, err := loadTrust(lay)
	if err != nil {
		return trustList{}
	}
	return list
}

func loadTrust(lay layout) (trustList, error) {
	list := trustList{}
	if lay.home == "" {
		return list, nil
	}
	data, err := readRegular(lay.trustStore())
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	if err != nil {
		return nil, err
	}
	var doc struct {
		Files map[string]string `yaml:"files"`
	}
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, yamlError(lay.trustStore(), data, err)
	}
	maps.Copy(list, doc.Files)
	return list, nil
}

func (t trustList) covers(src *source) bool {
	key, err := trustKey(src.path)
	return err == nil && t[key] != "" && t[key] == digest(src.data)
}

func trustKey(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	return filepath.Abs(real)
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Trust lets the project files, as they are now, set everything. A file that changes loses it; moving or copying
// the project loses it too. The returned files list, in Ignored, what had been held back.
func Trust(ctx context.Context, opts Options) ([]ProjectFile, error) {
	lay, err := newLayout(opts)
	if err != nil {
		return nil, err
	}
	if lay.userErr != nil {
		return nil, fmt.Errorf("nowhere to keep the trust: %w", lay.userErr)
	}
	lay.named = "" // a file named on the command line is trusted by that
	layers, err := readLayers(lay)
	if err != nil {
		return nil, err
	}
	// The bytes that were looked at are the bytes that get trusted, not what is on disk a moment later.
	files := merge(lay, layers).Project.Files
	if len(files) == 0 {
		return nil, fmt.Errorf("nothing to trust: %s has neither %s nor %s", lay.root, projectName, projectSide)
	}
	err = changeTrust(ctx, lay, func(list trustList) error {
		for _, l := range layers {
			if l.project == nil {
				continue
			}
			key, err := trustKey(l.path)
			if err != nil {
				return err
			}
			list[key] = digest(l.data)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range files {
		files[i].Trusted = true
	}
	return files, nil
}

// Revoke takes the trust of the project's files back and reports whether there was any.
func Revoke(ctx context.Context, opts Options) (bool, error) {
	lay, err := newLayout(opts)
	if err != nil {
		return false, err
	}
	if lay.userErr != nil {
		return false, nil
	}
	had := false
	err = changeTrust(ctx, lay, func(list trustList) error {
		root, err := trustKey(lay.root)
		if err != nil {
			return err
		}
		for _, name := range []string{filepath.Join(root, projectName), lay.sidecar(), filepath.Join(root, projectSide), filepath.Join(lay.dir, modelsName)} {
			key, err := trustKey(name)
			if err != nil {
				key = name // the file is gone; its entry may still be there
			}
			if _, ok := list[key]; ok {
				had = true
				delete(list, key)
			}
		}
		return nil
	})
	return had, err
}

// changeTrust edits the list under the lock of all configuration writes.
func changeTrust(ctx context.Context, lay layout, edit func(trustList) error) error {
	unlock, err := lockWrites(ctx, lay)
	if err != nil {
		return err
	}
	defer unlock()
	return editTrust(lay, edit)
}

// editTrust is changeTrust for callers that hold the lock.
func editTrust(lay layout, edit func(trustList) error) error {
	list, err := loadTrust(lay)
	if err != nil {
		return fmt.Errorf("reading the list of trusted files: %w", err)
	}
	if err := edit(list); err != nil {
		return err
	}
	keys := make([]string, 0, len(list))
	for k := range list {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	files := &yaml.Node{Kind: yaml.MappingNode}
	for _, k := range keys {
		files.Content = append(files.Content, text(k), text(list[k]))
	}
	doc := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{text("files"), files}}
	doc.HeadComment = "# Written by legwork trust: project files that may set everything, by content."
	return writeYAML(lay.trustStore(), doc)
}

// lockWrites serialises all writers of configuration on this machine. The lock lies in the state directory, so
// that nothing is left in a project.
func lockWrites(ctx context.Context, lay layout) (unlock func(), err error) {
	state, err := lay.env.stateHome()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, fmt.Errorf("making the state directory: %w", err)
	}
	l, err := fsx.Lock(ctx, filepath.Join(state, "config.lock"))
	if err != nil {
		return nil, fmt.Errorf("waiting for another legwork that writes settings: %w", err)
	}
	return func() { _ = l.Unlock() }, nil
}
