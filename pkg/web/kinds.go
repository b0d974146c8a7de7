package web

import (
	"bytes"
	"net/url"
	"path"
	"strings"
)

// binaryPrefixes are media types that hold no text, with what to call them.
var binaryPrefixes = []struct{ prefix, name string }{
	{"image/svg", ""},
	{"image/", "an image"},
	{"audio/", "audio"},
	{"video/", "video"},
	{"font/", "a font"},
	{"application/zip", "an archive"},
	{"application/gzip", "an archive"},
	{"application/x-gzip", "an archive"},
	{"application/x-tar", "an archive"},
	{"application/x-7z", "an archive"},
	{"application/x-rar", "an archive"},
	{"application/x-bzip", "an archive"},
	{"application/x-xz", "an archive"},
	{"application/java-archive", "an archive"},
	{"application/vnd.debian", "a package"},
	{"application/x-rpm", "a package"},
	{"application/x-msdownload", "a program"},
	{"application/x-executable", "a program"},
	{"application/wasm", "a program"},
	{"application/vnd.openxmlformats", "an office document"},
	{"application/msword", "an office document"},
	{"application/vnd.ms-", "an office document"},
	{"application/epub", "an e-book"},
}

// binaryType names what a media type is when it is no text, "" otherwise.
// application/octet-stream says nothing and is judged by its bytes.
func binaryType(media string) string {
	for _, b := range binaryPrefixes {
		if strings.HasPrefix(media, b.prefix) {
			return b.name
		}
	}
	return ""
}

// looksBinary judges the first bytes. Text that the server calls text may hold a
// stray NUL; UTF-16 is full of them and starts with a byte order mark.
func looksBinary(media string, head []byte) bool {
	if bytes.HasPrefix(head, []byte{0xFF, 0xFE}) || bytes.HasPrefix(head, []byte{0xFE, 0xFF}) {
		return false
	}
	zeros := bytes.Count(head, []byte{0})
	if strings.HasPrefix(media, "text/") {
		return zeros*50 > len(head)
	}
	return zeros > 0
}

func isPDF(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(head, "\xef\xbb\xbf \r\n\t"), []byte("%PDF-"))
}

// Kind is how the bytes of a page were read.
type Kind string

// The kinds.
const (
	KindHTML Kind = "html"
	KindText Kind = "text" // plain text, Markdown, source files
	KindJSON Kind = "json"
	KindFeed Kind = "feed"
	KindPDF  Kind = "pdf"
)

// kindOf decides by media type, then by the first bytes. A server that calls a
// source file text/html or sends HTML as text/plain is believed only as far as
// its bytes agree.
func kindOf(media string, text []byte) Kind {
	head := bytes.ToLower(bytes.TrimSpace(text[:min(1024, len(text))]))
	switch {
	case strings.HasSuffix(media, "json"):
		return KindJSON
	case media == "application/xhtml+xml":
		return KindHTML
	case strings.Contains(media, "rss") || strings.Contains(media, "atom"):
		return KindFeed
	case strings.HasSuffix(media, "xml"):
		return xmlKind(head)
	case media == "text/html":
		if !bytes.Contains(head, []byte("<")) && !bytes.Contains(text, []byte("</")) {
			return KindText
		}
		return KindHTML
	case media == "" || media == "application/octet-stream":
		return sniffKind(head)
	case media == "text/plain" && (bytes.HasPrefix(head, []byte("<!doctype html")) || bytes.HasPrefix(head, []byte("<html"))):
		return KindHTML
	}
	return KindText
}

func sniffKind(head []byte) Kind {
	switch {
	case bytes.HasPrefix(head, []byte("<?xml")):
		return xmlKind(head)
	case bytes.HasPrefix(head, []byte("<!doctype html")), bytes.HasPrefix(head, []byte("<html")), bytes.HasPrefix(head, []byte("<head")),
		bytes.HasPrefix(head, []byte("<body")), bytes.HasPrefix(head, []byte("<!--")):
		return KindHTML
	case bytes.HasPrefix(head, []byte("{")), bytes.HasPrefix(head, []byte("[")):
		return KindJSON // pretty-printed only if it is
	}
	return KindText
}

func xmlKind(head []byte) Kind {
	switch {
	case bytes.Contains(head, []byte("<rss")), bytes.Contains(head, []byte("<feed")), bytes.Contains(head, []byte("<rdf:rdf")):
		return KindFeed
	case bytes.Contains(head, []byte("<html")):
		return KindHTML
	}
	return KindText
}

// blobPaths are how code hosts name the page around a file and the file itself.
// The page shows the text through scripts, often without its line breaks.
var blobPaths = []struct{ host, blob, raw, rawHost string }{
	{"github.com", "/blob/", "/", "raw.githubusercontent.com"},
	{"gitlab.com", "/-/blob/", "/-/raw/", ""},
	{"codeberg.org", "/src/branch/", "/raw/branch/", ""},
	{"bitbucket.org", "/src/", "/raw/", ""},
	{"gitea.com", "/src/branch/", "/raw/branch/", ""},
}

// rawFile turns the address of a file's page at a code host into the file's own.
// Rendered kinds (notebooks) and folders are left alone.
func rawFile(u *url.URL) *url.URL {
	for _, b := range blobPaths {
		if u.Host != b.host || !strings.Contains(u.Path, b.blob) || path.Ext(u.Path) == ".ipynb" || path.Ext(u.Path) == "" {
			continue
		}
		file := *u
		file.Path = strings.Replace(u.Path, b.blob, b.raw, 1)
		file.RawPath, file.RawQuery = "", ""
		if b.rawHost != "" {
			file.Host = b.rawHost
		}
		return &file
	}
	return u
}
