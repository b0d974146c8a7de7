package release

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/tidwall/gjson"
)

// checkout is this checkout, with its output thrown away.
func checkout() *Project { return &Project{Root: "../..", Out: io.Discard} }

// conform tells how a document differs from a format's description in testdata.
func conform(t *testing.T, schema string, doc []byte) error {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", schema))
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	var value any
	if err := errors.Join(json.Unmarshal(text, &s), json.Unmarshal(doc, &value)); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r.Validate(value)
}

// shipped makes a copy of what Dist reads, with short texts for binaries.
func shipped(t *testing.T) *Project {
	t.Helper()
	p := &Project{Root: t.TempDir(), Out: io.Discard}
	names := []string{manifest, icon, "LICENSE", "README.md", "bin/legwork", "server.json"}
	descriptions, err := filepath.Glob("../../pkg/mcpserver/descriptions/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range descriptions {
		names = append(names, "pkg/mcpserver/descriptions/"+filepath.Base(d))
	}
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		put(t, p, name, string(b))
	}
	var sums strings.Builder
	for _, target := range AllTargets {
		text := "the binary for " + target.String()
		sum := sha256.Sum256([]byte(text))
		put(t, p, prebuilt+"/"+target.File(), text)
		sums.WriteString(hex.EncodeToString(sum[:]) + "  " + target.File() + "\n")
	}
	v, err := p.Version()
	if err != nil {
		t.Fatal(err)
	}
	put(t, p, prebuilt+"/SHA256SUMS", sums.String())
	put(t, p, prebuilt+"/SOURCE", Record{v, strings.Repeat("a", 40), "go1.26.8", strings.Repeat("b", 64)}.String())
	return p
}

func put(t *testing.T, p *Project, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.path(name)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.path(name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func unzip(t *testing.T, path string) map[string]*zip.File {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { z.Close() })
	files := map[string]*zip.File{}
	for _, f := range z.File {
		files[f.Name] = f
	}
	return files
}

func read(t *testing.T, f *zip.File) []byte {
	t.Helper()
	r, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Every bundle has a manifest of the documented form, and what the manifest names is in the bundle.
func TestBundles(t *testing.T) {
	t.Parallel()
	p := shipped(t)
	dir := t.TempDir()
	if err := p.Dist(t.Context(), Page{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	v, _ := p.Version()
	for _, system := range bundleSystems {
		files := unzip(t, filepath.Join(dir, bundleName(v, system)))
		text := read(t, files["manifest.json"])
		if err := conform(t, "mcpb-0.3.json", text); err != nil {
			t.Errorf("%s: %v\n%s", system, err, text)
		}
		m := gjson.ParseBytes(text)
		if m.Get("version").Str != v.String() || m.Get("tools.#").Int() < 10 {
			t.Errorf("%s: version %s, %d tools", system, m.Get("version"), m.Get("tools.#").Int())
		}
		named := []string{m.Get("icon").Str, m.Get("server.entry_point").Str}
		for _, word := range append(m.Get("server.mcp_config.args").Array(), m.Get("server.mcp_config.command")) {
			if rest, ok := strings.CutPrefix(word.Str, "${__dirname}/"); ok {
				named = append(named, rest)
			}
		}
		for _, target := range AllTargets {
			if target.OS == system {
				named = append(named, prebuilt+"/"+target.File())
			}
		}
		for _, name := range named {
			if files[name] == nil {
				t.Errorf("%s: the bundle has no %s: %v", system, name, files)
			}
		}
		if f := files[m.Get("server.entry_point").Str]; f != nil && f.Mode()&0o111 == 0 {
			t.Errorf("%s: %s has no run bit", system, f.Name)
		}
	}
}

// The keys that the plugin asks for are asked for by the bundle too, and reach the same variables.
func TestBundleAsksForKeys(t *testing.T) {
	t.Parallel()
	p := checkout()
	m, err := p.bundleManifest("linux")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(p.path(manifest))
	if err != nil {
		t.Fatal(err)
	}
	for key, option := range gjson.GetBytes(text, "userConfig").Map() {
		if string(m.UserConfig[key]) != option.Raw {
			t.Errorf("%s: %s, the plugin has %s", key, m.UserConfig[key], option.Raw)
		}
	}
	for name, value := range m.Server.MCPConfig.Env {
		key := strings.TrimSuffix(strings.TrimPrefix(value, "${user_config."), "}")
		if m.UserConfig[key] == nil {
			t.Errorf("%s is %s, which nobody asks for", name, value)
		}
	}
}

// The manifest's check is one: a field that the format does not know, or one that is missing, is found.
func TestManifestCheckFails(t *testing.T) {
	t.Parallel()
	m, err := checkout().bundleManifest("linux")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []struct{ from, to string }{
		{`"display_name"`, `"displayName"`},
		{`"manifest_version":"0.3"`, `"manifest_version":"9"`},
		{`"platforms":["linux"]`, `"platforms":["debian"]`},
		{`"author":`, `"writer":`},
	} {
		bad := strings.Replace(string(text), change.from, change.to, 1)
		if bad == string(text) || conform(t, "mcpb-0.3.json", []byte(bad)) == nil {
			t.Errorf("%s for %s was not found", change.to, change.from)
		}
	}
}

func TestArchives(t *testing.T) {
	t.Parallel()
	p := shipped(t)
	dir, again := t.TempDir(), t.TempDir()
	for _, d := range []string{dir, again} {
		if err := p.Dist(t.Context(), Page{Dir: d}); err != nil {
			t.Fatal(err)
		}
	}
	v, _ := p.Version()
	for _, target := range AllTargets {
		folder := "legwork-" + v.String() + "-" + target.OS + "-" + target.Arch
		var mode os.FileMode
		var text string
		if target.OS == "windows" {
			f := unzip(t, filepath.Join(dir, folder+".zip"))[folder+"/legwork.exe"]
			mode, text = f.Mode(), string(read(t, f))
		} else {
			mode, text = untarred(t, filepath.Join(dir, folder+".tar.gz"), folder+"/legwork")
		}
		if mode&0o111 == 0 || text != "the binary for "+target.String() {
			t.Errorf("%s: %v, %q", target, mode, text)
		}
	}
	first, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(filepath.Join(again, "SHA256SUMS"))
	if err != nil || string(first) != string(second) {
		t.Errorf("the same files made other archives (%v): %s", err, cmp.Diff(string(first), string(second)))
	}
	if n := strings.Count(string(first), "\n"); n != len(AllTargets)+len(bundleSystems) {
		t.Errorf("%d checksums:\n%s", n, first)
	}
}

func untarred(t *testing.T, path, name string) (os.FileMode, string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err != nil {
			t.Fatalf("%s has no %s: %v", path, name, err)
		}
		if h.Name == name {
			b, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			return os.FileMode(h.Mode), string(b)
		}
	}
}

// server.json has the registry's form before and after a release fills it.
func TestRegistryEntry(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../server.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := conform(t, "server-2025-12-11.json", text); err != nil {
		t.Error(err)
	}
	p := shipped(t)
	v, _ := p.Version()
	for _, c := range []struct{ repo, name, address string }{
		{"https://github.com/some-one/legwork", "io.github.some-one/legwork", "https://github.com/some-one/legwork/releases/download/"},
		{"https://gitlab.com/team/tools.git", "io.gitlab.team/tools", "https://gitlab.com/team/tools/-/releases/download/"},
	} {
		dir := t.TempDir()
		if err := p.Dist(t.Context(), Page{Dir: dir, Repo: c.repo}); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, "server.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := conform(t, "server-2025-12-11.json", got); err != nil {
			t.Error(err)
		}
		entry := gjson.ParseBytes(got)
		if entry.Get("name").Str != c.name || entry.Get("version").Str != v.String() || strings.Contains(string(got), "OWNER") {
			t.Errorf("%s:\n%s", c.repo, got)
		}
		for _, pack := range entry.Get("packages").Array() {
			name, ok := strings.CutPrefix(pack.Get("identifier").Str, c.address+"v"+v.String()+"/")
			sum, _, err := hashFile(filepath.Join(dir, name))
			if !ok || err != nil || pack.Get("fileSha256").Str != sum {
				t.Errorf("%s: %v: %s is not the checksum of %q (%s)", c.repo, err, pack.Get("fileSha256"), name, sum)
			}
		}
	}
	if err := p.Dist(t.Context(), Page{Dir: t.TempDir(), Repo: "https://example.com/x/y"}); err == nil || !strings.Contains(err.Error(), "github.com") {
		t.Errorf("an address that the registry does not take: %v", err)
	}
}

// The plugin directory wants a square PNG of 512 to 2048 pixels.
func TestIcon(t *testing.T) {
	t.Parallel()
	f, err := os.Open("../../" + icon)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := png.DecodeConfig(f)
	if err != nil || c.Width != c.Height || c.Width < 512 || c.Width > 2048 {
		t.Errorf("%d by %d, %v", c.Width, c.Height, err)
	}
}

// Binaries of another version are never packed under this one's name.
func TestDistRefusesOldBinaries(t *testing.T) {
	t.Parallel()
	p := shipped(t)
	v, _ := p.Version()
	for _, f := range versionFiles {
		if f.name != "pkg/cli/serve.go" {
			if err := p.setVersion(f, Version{v[0] + 1}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := p.Dist(t.Context(), Page{Dir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), v.String()) {
		t.Errorf("%v", err)
	}
}

// The sums are checked before anything is packed: a changed, a missing and a foreign file are found.
func TestSums(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(p *Project){
		"checksum":        func(p *Project) { put(t, p, prebuilt+"/legwork-linux-arm64", "changed") },
		"no such file":    func(p *Project) { _ = os.Remove(p.path(prebuilt + "/legwork-darwin-arm64")) },
		"does not belong": func(p *Project) { put(t, p, prebuilt+"/notes.txt", "x") },
		"is no binary of ours": func(p *Project) {
			b, _ := os.ReadFile(p.path(prebuilt + "/SHA256SUMS"))
			put(t, p, prebuilt+"/SHA256SUMS", string(b)+strings.Repeat("0", 64)+"  other\n")
		},
	} {
		p := shipped(t)
		if err := p.Sums(); err != nil {
			t.Fatal(err)
		}
		spoil(p)
		if err := p.Sums(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The launchers, the makefile and this package build with the same flags for the same targets.
func TestFlagsAgree(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Makefile", "bin/legwork", "bin/legwork.cmd", "bench/perf/main.go"} {
		b, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(b), LinkFlags) {
			t.Errorf("%s does not build with %q", name, LinkFlags)
		}
	}
	launcher, err := os.ReadFile("../../bin/legwork")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(launcher), "\nsources='"+strings.Join(sources, " ")+"'") {
		t.Errorf("bin/legwork has another list of sources than %q", sources)
	}
}
