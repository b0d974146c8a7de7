package web

import (
	"bytes"
	"io"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"

	"legwork/pkg/web/charset"
)

// DecodeText turns a body into UTF-8. contentType is the header's value, "" when
// there is none.
//
// A body that is valid UTF-8 as a whole stays what it is unless its server or a
// byte-order mark says otherwise: authors copy meta elements.
func DecodeText(body []byte, contentType string) []byte {
	name, certain := charsetOf(body, contentType)
	if certain || !utf8.Valid(body) {
		body = charset.Decode(name, body)
	}
	return clean(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
}

// charsetOf is the set that a text is written in, in the order of HTML's rules:
// a byte-order mark, the header, a meta element, a guess. The first two are
// certain.
func charsetOf(body []byte, contentType string) (name string, certain bool) {
	switch {
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return "utf-8", true
	case bytes.HasPrefix(body, []byte("\xfe\xff")):
		return "utf-16be", true
	case bytes.HasPrefix(body, []byte("\xff\xfe")):
		return "utf-16le", true
	}
	if _, params, err := mime.ParseMediaType(contentType); err == nil {
		if name := charset.Lookup(params["charset"]); name != "" {
			return name, true
		}
	}
	head := body[:min(len(body), prescan)]
	if name := metaCharset(head); name != "" {
		return name, false
	}
	if startsUTF8(head) {
		return "utf-8", false // one bad byte further on does not make it something else
	}
	return "windows-1252", false
}

// startsUTF8 says that a text has characters beyond ASCII and all are UTF-8, the
// last one perhaps cut off.
func startsUTF8(head []byte) bool {
	for i := len(head) - 1; i >= max(0, len(head)-utf8.UTFMax); i-- {
		if utf8.RuneStart(head[i]) {
			if !utf8.FullRune(head[i:]) {
				head = head[:i]
			}
			break
		}
	}
	ascii := !bytes.ContainsFunc(head, func(r rune) bool { return r >= utf8.RuneSelf })
	return !ascii && utf8.Valid(head)
}

// prescan is how far into a page a meta element with its character set may
// stand, in bytes.
const prescan = 1024

// metaCharset is what the first meta element that names a known set names.
func metaCharset(head []byte) string {
	z := html.NewTokenizer(bytes.NewReader(head))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return ""
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		if tag := z.Token(); tag.Data == "meta" {
			if name := charset.Lookup(declared(tag.Attr)); strings.HasPrefix(name, "utf-16") {
				return "utf-8" // it was read as ASCII, so it cannot be true
			} else if name != "" {
				return name
			}
		}
	}
}

// declared is the label of a character set in the attributes of a meta element.
func declared(attrs []html.Attribute) string {
	var label, content string
	pragma := false
	for _, a := range attrs {
		switch a.Key {
		case "charset":
			label = a.Val
		case "content":
			content = a.Val
		case "http-equiv":
			pragma = strings.EqualFold(strings.TrimSpace(a.Val), "content-type")
		}
	}
	if label == "" && pragma {
		label = inContent(content)
	}
	return label
}

// inContent is the label in `text/html; charset=label`, which may be quoted.
func inContent(content string) string {
	const space = " \t\n\f\r"
	content = strings.ToLower(content)
	for {
		_, rest, ok := strings.Cut(content, "charset")
		if !ok {
			return ""
		}
		content = rest
		value, ok := strings.CutPrefix(strings.TrimLeft(rest, space), "=")
		if !ok {
			continue
		}
		value = strings.TrimLeft(value, space)
		if value == "" {
			return ""
		}
		if q := value[:1]; q == `"` || q == "'" {
			label, _, closed := strings.Cut(value[1:], q)
			if !closed {
				return ""
			}
			return label
		}
		if i := strings.IndexAny(value, ";"+space); i >= 0 {
			value = value[:i]
		}
		return value
	}
}

// clean makes the text valid and drops NUL, which ends strings elsewhere.
func clean(text []byte) []byte {
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	if bytes.IndexByte(text, 0) >= 0 {
		text = bytes.ReplaceAll(text, []byte{0}, nil)
	}
	return text
}

// utf8Already serves XML decoders: the text has been turned into UTF-8 before,
// whatever its declaration still says.
func utf8Already(_ string, input io.Reader) (io.Reader, error) { return input, nil }
