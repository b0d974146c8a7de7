package config

import "log/slog"

// Secret is a value that is never shown: every way of printing or encoding it gives "(set)", or "" when empty.
type Secret string

const masked = "(set)"

// Reveal returns the value itself, for the one place that sends it.
func (s Secret) Reveal() string { return string(s) }

// String implements [fmt.Stringer] with the masked form.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return masked
}

// GoString implements [fmt.GoStringer] with the masked form, for %#v.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// MarshalText implements [encoding.TextMarshaler] with the masked form; JSON and YAML encoders use it too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue implements [slog.LogValuer] with the masked form.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
