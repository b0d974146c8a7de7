package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// content is a file of an archive.
type content struct {
	name string // with slashes
	run  bool   // may be executed
	data []byte
}

// epoch is the time of every file in an archive, so that the same files make the same archive. Zip knows none before.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// Page is what a release page offers, and where to put it.
type Page struct {
	Dir  string // gets the files
	Repo string // the project's address on GitHub or GitLab; without it there is no server.json
	Only string // the end of the names of the files to write; "" for all
}

// Dist writes an archive of the binary for each target, an .mcpb bundle for each system, SHA256SUMS, and, if the
// project's address is known, the server.json for the MCP registry. The binaries are those of bin/prebuilt; before the
// first release they are built.
func (p *Project) Dist(ctx context.Context, page Page) error {
	v, err := p.Version()
	if err != nil {
		return err
	}
	bin, err := p.binaries(ctx, v)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(page.Dir, 0o755); err != nil { //nolint:gosec // for everybody
		return err
	}
	var names []string
	write := func(name string, data func() ([]byte, error)) error {
		if !strings.HasSuffix(name, page.Only) {
			return nil
		}
		b, err := data()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		names = append(names, name)
		return os.WriteFile(filepath.Join(page.Dir, name), b, 0o644) //nolint:gosec // for everybody
	}
	for _, t := range AllTargets {
		if err := write(archiveName(v, t), func() ([]byte, error) { return p.archive(v, t, bin) }); err != nil {
			return err
		}
	}
	for _, system := range bundleSystems {
		if err := write(bundleName(v, system), func() ([]byte, error) { return p.bundle(system, bin) }); err != nil {
			return err
		}
	}
	if page.Repo != "" {
		if err := write("server.json", func() ([]byte, error) { return p.registryEntry(page, v) }); err != nil {
			return err
		}
	}
	return p.checksums(page.Dir, names)
}

// binaries returns the folder with all binaries of version v.
func (p *Project) binaries(ctx context.Context, v Version) (string, error) {
	r, err := p.Record()
	switch {
	case err == nil && r.Version != v:
		return "", fmt.Errorf("the binaries in %s are of %s, the plugin is %s: run `make release VERSION=…` first", prebuilt, r.Version, v)
	case err == nil:
		return p.path(prebuilt), p.Sums()
	case !errors.Is(err, os.ErrNotExist):
		return "", err
	}
	p.say("there are no binaries in %s: building them", prebuilt)
	dir := p.path("dist/bin")
	return dir, p.Build(ctx, dir, AllTargets)
}

func archiveFolder(v Version, t Target) string {
	return fmt.Sprintf("legwork-%s-%s-%s", v, t.OS, t.Arch)
}

func archiveName(v Version, t Target) string {
	if t.OS == "windows" {
		return archiveFolder(v, t) + ".zip"
	}
	return archiveFolder(v, t) + ".tar.gz"
}

// archive packs the binary of one target, as tar.gz or, for Windows, zip.
func (p *Project) archive(v Version, t Target, bin string) ([]byte, error) {
	folder := archiveFolder(v, t)
	files, err := p.files(folder, "LICENSE", "README.md")
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(filepath.Join(bin, t.File()))
	if err != nil {
		return nil, err
	}
	files = append(files, content{name: folder + "/legwork" + t.exe(), run: true, data: b})
	if t.OS == "windows" {
		return zipped(files)
	}
	return tarred(files)
}

// files reads files of the project, to be put into a folder of an archive.
func (p *Project) files(folder string, names ...string) ([]content, error) {
	var out []content
	for _, name := range names {
		b, err := os.ReadFile(p.path(name))
		if err != nil {
			return nil, err
		}
		out = append(out, content{name: path.Join(folder, name), data: b})
	}
	return out, nil
}

func (c content) mode() os.FileMode {
	if c.run {
		return 0o755
	}
	return 0o644
}

func tarred(files []content) ([]byte, error) {
	var buf bytes.Buffer
	z, _ := gzip.NewWriterLevel(&buf, gzip.BestCompression) // the level is a valid one
	w := tar.NewWriter(z)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: int64(f.mode()), Size: int64(len(f.data)), ModTime: epoch, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := errors.Join(w.Close(), z.Close())
	return buf.Bytes(), err
}

func zipped(files []content) ([]byte, error) {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: epoch}
		h.SetMode(f.mode())
		to, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return buf.Bytes(), err
}

// checksums writes the SHA256SUMS of the files called names.
func (p *Project) checksums(dir string, names []string) error {
	var sums strings.Builder
	for _, name := range names {
		sum, size, err := hashFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		p.say("%s  %5.1f MiB  %s", sum[:12], float64(size)/(1<<20), name)
		fmt.Fprintf(&sums, "%s  %s\n", sum, name)
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sums.String()), 0o644) //nolint:gosec // for everybody
}
