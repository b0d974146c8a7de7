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
		{`{"msg":"a\nghp_` + strings.Repeat("a1", 18) + `"}`, `{"msg":"a\n[masked]"}`},
		{"\x1b[32mghp_" + strings.Repeat("a1", 18), "\x1b[32m[masked]"},
		{"SECRET_KEY = 'django-insecure-abcdef'", "SECRET_KEY = '[masked]'"},
		{"SECRET_KEY_BASE=0123456789abcdef0123456789", "SECRET_KEY_BASE=[masked]"},
		{"redis://:s3cr3tpw@redis:6379/0", "redis://:[masked]@redis:6379/0"},
		{"CELERY_URL=redis://:s3cr3tpw@redis:6379/0", "CELERY_URL=redis://:[masked]@redis:6379/0"},
		{`"SessionToken": "FwoGZXIvYXdzEBYaDGhlbGxvd29ybGQ"`, `"SessionToken": "[masked]"`},
		{`{\"refreshToken\":\"abcdef0123456789\"}`, `{\"refreshToken\":\"[masked]\"}`},
		{"export NPM_TOKEN=abcdefghijkl", "export NPM_TOKEN=[masked]"},
		{"+REFRESH_TOKEN=abcdef0123456789", "+REFRESH_TOKEN=[masked]"},
		{"DB_PASS=another-value", "DB_PASS=[masked]"},
		{`a\nMYSQL_PWD=another-value\nb`, `a\nMYSQL_PWD=[masked]\nb`},
		{"smtp_pass: hunter2hunter2", "smtp_pass: [masked]"},
		{"Server=db;Uid=sa;Pwd=hunter2hunter2;", "Server=db;Uid=sa;Pwd=[masked];"},
		{"https://hooks.slack.com/services/T0000/B0000/abcdefgh12345678", "https://hooks.slack.com/services/[masked]"},
		{`"private_key": "-----BEGIN PRIVATE KEY-----\nMIIEvAIBADANBg\n-----END PRIVATE KEY-----\n"`, `"private_key": "-----BEGIN PRIVATE KEY-----[masked]-----END PRIVATE KEY-----\n"`},
		{"-----BEGIN PRIVATE KEY----- MIIEvAIBADANBgkqhkiG9w0B … (1700 characters)", "-----BEGIN PRIVATE KEY----- [masked] … (1700 characters)"},
		{"test_token_expiry ... FAILED", "test_token_expiry ... FAILED"},
		{"the password is wrong", "the password is wrong"},
		{"https://example.com/a:b", "https://example.com/a:b"},
	} {
		if got := s.Mask(c.in); got != c.want {
			t.Errorf("Mask(%q)\n got %q\nwant %q", c.in, got, c.want)
		}
	}
	several := NewSecrets([]string{"MULTI_TOKEN=first-line-abc\nsecond-line-def", `QUOTED_TOKEN=blue"horse"9134`, "DB_PASS=hunter-long", "MYSQL_PWD=horse-long", "DB_PASSWORD_LIMIT=production"})
	for in, want := range map[string]string{
		"x second-line-def y": "x [masked] y", `{"a":"blue\"horse\"9134"}`: `{"a":"[masked]"}`, "hunter-long, horse-long": "[masked], [masked]", "in production": "in production",
	} {
		if got := several.Mask(in); got != want {
			t.Errorf("Mask(%q)\n got %q\nwant %q", in, got, want)
		}
	}
	var none *Secrets
	if got := none.Mask("ghp_x"); got != "ghp_x" {
		t.Errorf("a nil Secrets changed the text: %q", got)
	}
}

// What only sounds like a key stays: names of tests, program text, ids, hashes, counts.
func TestMaskLeaves(t *testing.T) {
	t.Parallel()
	s := NewSecrets([]string{"MAX_TOKENS=10000000", "TOKEN_MODE=production", "PWD=/home/user/project", "LONG_TOKEN_COUNT=20000000"})
	for _, text := range []string{
		"--- FAIL: TestLogin/token=expired_or_missing (0.00s)",
		"tests/test_auth.py::test_refresh[token=abc123def456] FAILED",
		"tests/test_auth.py::test_pass[two-passes-2of2] PASSED",
		"tokens = tokenize(source_text)", "token := nextTokenFrom(stream)", "for token = first; token != nil; token = token.next_sibling {",
		"secret := generateSecretKey(32)", "password = getpass.getpass()", `api_key = os.environ["API_KEY_FOR_IT"]`, "apiKey: process.env.OPENAI_API_KEY,",
		"const password = userPassword;", "login(password=user_password, token=self.token_value)", "self.secret = settings.SECRET_KEY", "password: Optional[str] = None",
		"self.auth_token = auth_token", "password: password", `"encryptionKey": "arn:aws:kms:us-west-2:123456789012:alias/aws/s3"`,
		"secret::SecretString", "passphrase => generateOne", "password=$DB_PASSWORD", "password=${DB_PASSWORD}", "password=%(password)s", "password: ********", "API_KEY=<your key>",
		"private_key: /etc/ssl/private/server.key", "private_key=~/.ssh/id_ed25519", "TOKEN=STRING_LITERAL", `{"type":"token","token":"identifier2"}`,
		"next_page_token=abcdef0123456789", `"nextToken": "abcdef0123456789"`, "max_tokens: 32000000", "max_token=32000000", "MAX_TOKEN=32000000",
		"first_pass: 1.2345678s", "second_pass: 123456789", "bypass=abc12345678", "lower_pass=optimization", "compass: north123456", "pass: 12345678",
		"token_id=0123456789abcdef", "commit 0123456789abcdef0123456789abcdef01234567", "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		"cache key: pages:0123456789abcdef", "primary_key=user_id_0123", "keyboard: abcdefgh12", "OLDPWD=/home/user/other", "PWD=C:/Users/me/project1",
		"session_id=123e4567-e89b-12d3-a456-426614174000", "tool_use_id: toolu_0123456789abcdef", "in production", "10000000 rows", "20000000 rows",
		"http://localhost:8080/a@b", "https://example.org:8443/x", `"://" + host + ":8080@"`, "git@github.com:owner/repo.git",
		"error: no -----BEGIN PRIVATE KEY----- found in the file a.pem", "begin = \"-----BEGIN PRIVATE KEY-----\"\nend = \"-----END PRIVATE KEY-----\"",
		"if s == \"-----BEGIN PRIVATE KEY-----\" {\n\treturn parse(s, \"-----END PRIVATE KEY-----\")\n}",
	} {
		if got := s.Mask(text); got != text {
			t.Errorf("Mask(%q)\n got %q", text, got)
		}
	}
}
