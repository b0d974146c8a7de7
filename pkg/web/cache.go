package web

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"legwork/pkg/fsx"
)

const (
	freshFor      = 10 * time.Minute // without a word of the server
	freshMost     = 24 * time.Hour   // however long the server says
	cacheAge      = 7 * 24 * time.Hour
	maxCacheBytes = 200 << 20
)

// pageCache keeps bodies on disk with their validators. Every error means "not
// cached": a cache may be slow or gone, never wrong or fatal.
type pageCache struct {
	dir   string
	sweep sync.Once
}

// cachedPage is what a file of the cache holds: this as one line of JSON, then
// the body, compressed together.
type cachedPage struct {
	URL          string    `json:"url"`
	ContentType  string    `json:"content_type"`
	ETag         string    `json:"etag"`
	LastModified string    `json:"last_modified"`
	Stored       time.Time `json:"stored"`
	FreshUntil   time.Time `json:"fresh_until"`

	text []byte
	path string
}

func newPageCache(dir string) *pageCache {
	if dir == "" {
		return nil
	}
	return &pageCache{dir: dir}
}

func (c *pageCache) file(u *url.URL) string {
	sum := sha256.Sum256([]byte(u.String()))
	return filepath.Join(c.dir, hex.EncodeToString(sum[:16])+".page")
}

// load returns what is known of a page, nil when nothing is.
func (c *pageCache) load(u *url.URL) *cachedPage {
	if c == nil {
		return nil
	}
	path := c.file(u)
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	unzip, err := gzip.NewReader(file)
	if err != nil {
		return nil
	}
	reader := bufio.NewReader(io.LimitReader(unzip, 2*maxTextBytes))
	head, err := reader.ReadBytes('\n')
	if err != nil {
		return nil
	}
	page := &cachedPage{path: path}
	if json.Unmarshal(head, page) != nil || page.URL != u.String() || time.Since(page.Stored) > cacheAge {
		return nil
	}
	if page.text, err = io.ReadAll(reader); err != nil {
		return nil // a torn file fails its checksum
	}
	return page
}

func (p *cachedPage) fresh(now time.Time) bool { return p != nil && now.Before(p.FreshUntil) }

// body is the stored page in the shape of a response.
func (p *cachedPage) body() *response {
	u, err := url.Parse(p.URL)
	if err != nil {
		u = &url.URL{} // cannot be: it equals the address it was loaded for
	}
	return &response{url: u, status: http.StatusOK, contentType: p.ContentType, text: p.text, fetched: p.Stored, cached: true}
}

// setValidators asks for the page only if it changed.
func (p *cachedPage) setValidators(h http.Header) {
	if p == nil {
		return
	}
	if p.ETag != "" {
		h.Set("If-None-Match", p.ETag)
	}
	if p.LastModified != "" {
		h.Set("If-Modified-Since", p.LastModified)
	}
}

// store keeps a complete text.
func (c *pageCache) store(u *url.URL, h http.Header, got *response) {
	if c == nil || got.pdf != nil || got.cut != "" || got.status != http.StatusOK {
		return
	}
	lifetime, keep := freshness(h)
	if !keep {
		return
	}
	c.write(&cachedPage{
		URL: u.String(), ContentType: got.contentType, ETag: h.Get("ETag"), LastModified: h.Get("Last-Modified"),
		Stored: got.fetched, FreshUntil: got.fetched.Add(lifetime), text: got.text, path: c.file(u),
	})
}

// touch makes a page fresh again that the server says has not changed.
func (c *pageCache) touch(p *cachedPage, h http.Header) {
	lifetime, keep := freshness(h)
	if c == nil || !keep {
		return
	}
	p.Stored = time.Now()
	p.FreshUntil = p.Stored.Add(lifetime)
	c.write(p)
}

func (c *pageCache) write(p *cachedPage) {
	head, err := json.Marshal(p)
	if err != nil {
		return
	}
	var buf bytes.Buffer
	zip := gzip.NewWriter(&buf)
	_, headErr := zip.Write(append(head, '\n'))
	_, textErr := zip.Write(p.text)
	if errors.Join(headErr, textErr, zip.Close(), os.MkdirAll(c.dir, 0o700)) != nil {
		return
	}
	_ = fsx.WriteFile(p.path, buf.Bytes(), 0o600) // not cached, then
	c.sweep.Do(c.removeOld)
}

// freshness reads Cache-Control. keep is false when the page may not be stored.
func freshness(h http.Header) (lifetime time.Duration, keep bool) {
	lifetime = freshFor
	for directive := range strings.SplitSeq(strings.ToLower(h.Get("Cache-Control")), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch name {
		case "no-store", "private":
			return 0, false
		case "no-cache":
			lifetime = 0
		case "max-age":
			if seconds, err := strconv.Atoi(strings.Trim(value, `"`)); err == nil && lifetime > 0 {
				lifetime = min(time.Duration(min(seconds, 1<<30))*time.Second, freshMost)
			}
		}
	}
	return lifetime, true
}

// removeOld keeps the folder below its size: too old goes first, then oldest.
func (c *pageCache) removeOld() {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	var infos []fs.FileInfo
	total := int64(0)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), ".page") {
			infos = append(infos, info)
			total += info.Size()
		}
	}
	sortByAge(infos)
	for _, info := range infos {
		if total <= maxCacheBytes && time.Since(info.ModTime()) < cacheAge {
			continue
		}
		if os.Remove(filepath.Join(c.dir, info.Name())) == nil {
			total -= info.Size()
		}
	}
}

func sortByAge(infos []fs.FileInfo) {
	sort.SliceStable(infos, func(i, j int) bool { return infos[i].ModTime().Before(infos[j].ModTime()) })
}
