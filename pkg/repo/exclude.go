package repo

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"

	"legwork/pkg/fsx"
)

// Env is what a program that may call git in the tree gets in addition: our links to dependency folders are
// excluded for it. A rule such as "node_modules/" does not match a link, so `git add -A` would take it in;
// the shared info/exclude is the user's, and so is every file of configuration. Nil when there are no links.
func (t *Tree) Env(ctx context.Context) ([]string, error) {
	if len(t.meta.Links) == 0 {
		return nil, nil
	}
	var b bytes.Buffer
	b.Write(t.userExcludes(ctx))
	b.WriteString("\n")
	for _, rel := range t.meta.Links {
		b.WriteString("/" + escapePattern(rel) + "\n")
	}
	path := filepath.Join(t.Home, "exclude")
	if err := fsx.WriteFile(path, b.Bytes(), 0o600); err != nil {
		return nil, err
	}
	return []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.excludesFile", "GIT_CONFIG_VALUE_0=" + path}, nil
}

// userExcludes are the user's own global rules, which ours would replace.
func (t *Tree) userExcludes(ctx context.Context) []byte {
	path := ""
	if out, err := t.repo.git(ctx, t.Dir, nil, "config", "--type=path", "--get", "core.excludesFile"); err == nil {
		path = strings.TrimSpace(string(out))
	}
	if path == "" {
		config, err := os.UserConfigDir()
		if err != nil {
			return nil
		}
		path = filepath.Join(config, "git", "ignore")
	}
	rules, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return rules
}

// escapePattern takes a path for a rule that means just it.
func escapePattern(rel string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(rel)
}
