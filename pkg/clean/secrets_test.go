package clean

import (
	"strings"
	"testing"
)

// D14: keys land in answers, transcripts and dumps.
func TestMask(t *testing.T) {
	t.Parallel()
	s := NewSecrets([]string{"DEPLOY_TOKEN=blue-horse-9134", "SHORT_TOKEN=abc", "SSH_KEY=/home/u/.ssh/id", "HOME=/home/user-long-name"}, "given-by-settings")
	for _, c := range []struct{ in, want string }{
		{"login with blue-horse-9134 ok", "login with [masked] ok"},
		{"abc stays, /home/u/.ssh/id stays", "abc stays, /home/u/.ssh/id stays"},
		{"x given-by-settings y", "x [masked] y"},
		{"id AKIAABCDEFGHIJKLMNOP.", "id [masked]."},
		{"git: ghp_" + strings.Repeat("a1", 18), "git: [masked]"},
		{`{"api_key": "0123456789abcdef"}`, `{"api_key": "[masked]"}`},
		{"password=hunter2hunter2&x=1", "password=[masked]&x=1"},
		{"Authorization: Bearer abc.def-123456", "Authorization: Bearer [masked]"},
		{"postgres://app:s3cr3tpw@db/x", "postgres://app:[masked]@db/x"},
		{"-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nnext", "-----BEGIN RSA PRIVATE KEY-----[masked]-----END RSA PRIVATE KEY-----\nnext"},
		{"test_token_expiry ... FAILED", "test_token_expiry ... FAILED"},
		{"the password is wrong", "the password is wrong"},
		{"https://example.com/a:b", "https://example.com/a:b"},
	} {
		if got := s.Mask(c.in); got != c.want {
			t.Errorf("Mask(%q)\n got %q\nwant %q", c.in, got, c.want)
		}
	}
	var none *Secrets
	if got := none.Mask("ghp_x"); got != "ghp_x" {
		t.Errorf("a nil Secrets changed the text: %q", got)
	}
}
