package runners

// parseParts reads the parts of one output, each by parse. A non-zero exit code or
// a signal is that of the whole command: no part is blamed for it that does not
// look bad itself. Where none does the last one keeps it, since a chain of
// commands stops at the one that fails.
func parseParts(parts []*Text, parse func(i int, t *Text) finding) []finding {
	out := make([]finding, len(parts))
	if len(parts) < 2 || !parts[0].ExitBad() {
		for i, part := range parts {
			out[i] = parse(i, part)
		}
		return out
	}
	last, bad := -1, false
	for i, part := range parts {
		out[i] = parse(i, part.unblamed())
		if out[i].Runner != "" {
			last = i
		}
		bad = bad || stateRank(out[i].State) >= stateRank(StateFailed)
	}
	if bad {
		return out
	}
	end := len(parts) - 1
	if f := parse(end, parts[end]); f.Runner != "" {
		out[end] = f
	} else if last >= 0 {
		out[last] = parse(last, parts[last])
	}
	return out
}

// unblamed is t without the exit code and the signal of the whole.
func (t *Text) unblamed() *Text {
	u := *t
	u.Hint.Exit, u.Hint.Signal, u.Hint.TimedOut = nil, "", false
	return &u
}
