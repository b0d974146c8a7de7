package clean

import (
	"encoding/json"
	"strings"
	"testing"
)

// What is kept as JSON must still be JSON, and only what is secret may change.
func TestMaskJSON(t *testing.T) {
	t.Parallel()
	s := NewSecrets([]string{"DEPLOY_TOKEN=blue-horse-9134-xyz", "ODD_TOKEN=a\"b\\c\nsecond-line"})
	hub := "ghp_" + strings.Repeat("a1", 18)
	for in, want := range map[string]string{
		`{"type":"user","text":"DEPLOY_TOKEN=blue-horse-9134-xyz\n"}`:               `{"type":"user","text":"DEPLOY_TOKEN=[masked]\n"}`,
		`{"a": ["x\n` + hub + `"], "session_id": "123e4567-e89b", "n": 12345678.0}`: `{"a": ["x\n[masked]"], "session_id": "123e4567-e89b", "n": 12345678.0}`,
		`{"password":"hunter2hunter2","password_hint":"hunter2hunter2 or so"}`:      `{"password":"[masked]","password_hint":"hunter2hunter2 or so"}`,
		`{"c":"password=\"abcdefgh12\" <&>"}`:                                       `{"c":"password=\"[masked]\" <&>"}`,
		`{"c":"a\"b\\c\nsecond-line"}`:                                              `{"c":"[masked]"}`,
		`{"c":"{\"c\":\"blue-horse-9134-xyz\\\\\"}"}`:                               `{"c":"{\"c\":\"[masked]\\\\\"}"}`,
		`{"token":["abcdef0123456789"],"usage":{"input_tokens":12345678}}`:          `{"token":["abcdef0123456789"],"usage":{"input_tokens":12345678}}`,
		`{"c":"<b>\u00e4 & \ud83d"}`:                                                `{"c":"<b>\u00e4 & \ud83d"}`,
		`not json: ` + hub:                                                          `not json: [masked]`,
		``:                                                                          ``,
	} {
		if got := string(MaskJSON([]byte(in), s.Mask)); got != want {
			t.Errorf("MaskJSON(%s)\n got %s\nwant %s", in, got, want)
		}
	}
}

func FuzzMaskJSON(f *testing.F) {
	f.Add(`{"password":"hunter2hunter2\\","b":["-----BEGIN PRIVATE KEY-----\nMIIE\n"]}`)
	s := NewSecrets([]string{"DEPLOY_TOKEN=blue-horse-9134-xyz"})
	f.Fuzz(func(t *testing.T, doc string) {
		if json.Valid([]byte(doc)) && !json.Valid(MaskJSON([]byte(doc), s.Mask)) {
			t.Errorf("no JSON any more: %s", MaskJSON([]byte(doc), s.Mask))
		}
	})
}
