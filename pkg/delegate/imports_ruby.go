package delegate

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"legwork/pkg/proc"
)

// commonRuby saves a start of the interpreter for what everybody requires.
func commonRuby() []string {
	return strings.Fields(`abbrev base64 benchmark bigdecimal bigdecimal/util bundler/setup cgi csv date delegate digest digest/md5 digest/sha1 digest/sha2 English erb
		etc fileutils find forwardable io/console json logger matrix monitor net/http observer open-uri open3 openssl optparse ostruct pathname pp prime pstore
		psych random/formatter rbconfig ripper securerandom set shellwords singleton socket stringio strscan tempfile time timeout tmpdir tsort uri weakref yaml zlib`)
}

// missingRuby goes by what the interpreter, the gems and the repository have; with a Gemfile, by what that locks.
func (c *call) missingRuby(ctx context.Context, rel, code string, files map[string]string) string {
	var ask []string
	for _, m := range regexp.MustCompile(`(?m)^[ \t]*(require|require_relative)[ (]+['"]([^'"\n]+)['"]\)?[ \t]*$`).FindAllStringSubmatch(code, -1) {
		name := strings.TrimSuffix(m[2], ".rb")
		switch {
		case m[1] == "require_relative" || strings.HasPrefix(name, "."):
			if !c.rubyFile(path.Join(path.Dir(rel), name), files) {
				return m[2]
			}
		case strings.Contains(name, "#{") || path.IsAbs(name) || slices.Contains(commonRuby(), name) || slices.Contains(ask, name):
		case slices.ContainsFunc([]string{"lib", ".", "src", "app", c.dir, path.Join(c.dir, "lib"), path.Dir(rel)}, func(dir string) bool { return c.rubyFile(path.Join(dir, name), files) }):
		default:
			ask = append(ask, name)
		}
	}
	if len(ask) == 0 {
		return ""
	}
	// Without the repository's Gemfile: what is installed but not locked fails in the gate, with its own words.
	const script = "ARGV.each { |n| found = begin; Gem::Specification.find_by_path(n) || $LOAD_PATH.resolve_feature_path(n); rescue StandardError, LoadError; true; end; puts n unless found }"
	out := &tailText{}
	exit, err := c.Children.Run(ctx, proc.Spec{Argv: append([]string{"ruby", "-rrubygems", "-e", script}, ask...), Dir: c.gate.dir, Env: c.env(), Stdout: out, Timeout: 20 * time.Second})
	if err != nil || !exit.OK() {
		return "" // no interpreter to ask; the gate will tell
	}
	return strings.TrimSpace(firstLine(out.String()))
}

// rubyFile says that a path without its extension is a file of the tree, a folder's native library, or a target.
func (c *call) rubyFile(stem string, files map[string]string) bool {
	for _, try := range []string{stem + ".rb", stem + ".so", stem + ".bundle"} {
		if _, ok := files[try]; ok || exists(c.tree.Path(try)) {
			return true
		}
	}
	return false
}
