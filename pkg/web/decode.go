package web

import (
	"bytes"
	"io"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// DecodeText turns a body into UTF-8. contentType is the header's value, "" when
// there is none.
//
// The library looks at the first 1024 bytes only: a UTF-8 page without a meta
// element whose first accent comes later would become windows-1252. So a body
// that is valid UTF-8 as a whole stays what it is unless someone says otherwise.
func DecodeText(body []byte, contentType string) []byte {
	encoding, name, certain := charset.DetermineEncoding(body, contentType)
	if name != "utf-8" && !certain && utf8.Valid(body) {
		return clean(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
	}
	if name != "utf-8" {
		if decoded, err := encoding.NewDecoder().Bytes(body); err == nil {
			body = decoded
		}
	}
	return clean(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
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
