package clean

import (
	"bytes"
	"encoding/json"
	"strings"
)

// MaskJSON applies mask to every string of a JSON text and leaves all else as it is, byte for byte, so that what was
// JSON before still is: mask sees the strings without their escapes, and a value beside its name. Text that
// is no JSON is masked as text.
func MaskJSON(doc []byte, mask func(string) string) []byte {
	if !json.Valid(doc) {
		return []byte(mask(string(doc)))
	}
	var out bytes.Buffer
	name := ""
	for i := 0; i < len(doc); {
		switch doc[i] {
		case '"':
			end := stringEnd(doc, i)
			isName := bytes.HasPrefix(bytes.TrimLeft(doc[end:], " \t\r\n"), []byte(":"))
			out.Write(maskString(doc[i:end], name, mask))
			if name = ""; isName {
				name = string(doc[i+1 : end-1])
			}
			i = end
			continue
		case ',', '{', '[', '}', ']':
			name = ""
		}
		out.WriteByte(doc[i])
		i++
	}
	return out.Bytes()
}

// stringEnd is behind the closing quote of the string that begins at i.
func stringEnd(doc []byte, i int) int {
	for i++; doc[i] != '"'; i++ {
		if doc[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// maskString masks a JSON string, quotes included, that is the value of name ("" for none).
func maskString(quoted []byte, name string, mask func(string) string) []byte {
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return quoted
	}
	masked := mask(text)
	// Of a value in words nobody can say where a secret in it ends.
	if masked == text && name != "" && text != "" && !strings.ContainsAny(text, " \t\r\n\"") {
		before := `"` + name + `":"`
		if beside := mask(before + text + `"`); beside != before+text+`"` && strings.HasPrefix(beside, before) {
			masked = strings.TrimSuffix(strings.TrimPrefix(beside, before), `"`)
		}
	}
	if masked == text {
		return quoted
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(masked) != nil {
		return []byte(`"` + Masked + `"`)
	}
	return bytes.TrimRight(out.Bytes(), "\n")
}
