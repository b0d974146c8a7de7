package web

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	robotsTTL     = time.Hour
	robotsTimeout = 5 * time.Second
	maxRobots     = 512 << 10 // RFC 9309 asks for at least 500 KiB
	robotsToken   = "legwork"
)

// robotsCache keeps the rules of each host for an hour.
type robotsCache struct {
	mu    sync.Mutex
	hosts map[string]*robotsEntry
}

type robotsEntry struct {
	once  sync.Mutex // held while the file is fetched, so that it is fetched once
	until time.Time
	rules robotsRules
}

func newRobotsCache() *robotsCache { return &robotsCache{hosts: map[string]*robotsEntry{}} }

// mayFetch asks the host's robots.txt, fetching it when needed.
func (f *Fetcher) mayFetch(ctx context.Context, u *url.URL) bool {
	key := u.Scheme + "://" + hostPort(u)
	f.robots.mu.Lock()
	entry := f.robots.hosts[key]
	if entry == nil {
		entry = &robotsEntry{}
		f.robots.hosts[key] = entry
	}
	f.robots.mu.Unlock()

	entry.once.Lock()
	defer entry.once.Unlock()
	if time.Now().After(entry.until) {
		rules, certain := f.fetchRobots(ctx, u)
		entry.rules, entry.until = rules, time.Now().Add(robotsTTL)
		if !certain {
			entry.until = time.Time{}
		}
	}
	return entry.rules.allow(u)
}

// fetchRobots reads the rules. No file (4xx) means that all is allowed, a broken
// server (5xx) that nothing is, as RFC 9309 has it. Without any answer the page
// itself will tell what is wrong, so it is not held back here.
func (f *Fetcher) fetchRobots(ctx context.Context, page *url.URL) (rules robotsRules, certain bool) {
	ctx, cancel := context.WithTimeout(ctx, robotsTimeout)
	defer cancel()
	u := &url.URL{Scheme: page.Scheme, Host: page.Host, Path: "/robots.txt"}
	for range maxRedirects + 1 {
		status, next, body, err := f.robotsHop(ctx, u)
		switch {
		case err != nil:
			return robotsRules{}, false
		case next != nil && f.guard.checkURL(next) == nil && (f.guard.allowed(hostPort(page)) || !f.guard.allowed(hostPort(next))):
			u = next
		case status >= 500:
			return robotsRules{lines: []robotsRule{{pattern: "/"}}}, false
		case status != http.StatusOK:
			return robotsRules{}, true
		default:
			return parseRobots(body), true
		}
	}
	return robotsRules{}, true
}

func (f *Fetcher) robotsHop(ctx context.Context, u *url.URL) (status int, next *url.URL, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return 0, nil, nil, err
	}
	req.Header.Set("User-Agent", f.options.UserAgent)
	resp, err := f.client.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if isRedirect(resp.StatusCode) {
		next, err = resp.Location()
		return resp.StatusCode, next, nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return resp.StatusCode, nil, nil, nil
	}
	reader, err := decoded(resp)
	if err != nil {
		return 0, nil, nil, err
	}
	body, err = io.ReadAll(io.LimitReader(reader, maxRobots))
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, nil, nil, err
	}
	return resp.StatusCode, nil, body, nil
}

// robotsRules are the rules for us. The zero value allows everything.
type robotsRules struct{ lines []robotsRule }

type robotsRule struct {
	pattern string
	allow   bool
}

// parseRobots keeps the rules of the group that names us, else of "*".
func parseRobots(body []byte) robotsRules {
	var ours, all robotsRules
	named := false // some group names us
	toUs, toAll := false, false
	inAgents := false // the last line was a User-agent line
	scanner := bufio.NewScanner(bytes.NewReader(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))))
	scanner.Buffer(nil, maxRobots)
	for scanner.Scan() {
		line, _, _ := strings.Cut(scanner.Text(), "#")
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "user-agent":
			if !inAgents {
				toUs, toAll = false, false
			}
			inAgents = true
			agent, _, _ := strings.Cut(strings.ToLower(value), "/")
			if agent == robotsToken {
				toUs, named = true, true
			}
			toAll = toAll || agent == "*"
		case "allow", "disallow":
			inAgents = false
			if value == "" {
				continue
			}
			rule := robotsRule{pattern: value, allow: strings.EqualFold(strings.TrimSpace(key), "allow")}
			if toUs {
				ours.lines = append(ours.lines, rule)
			}
			if toAll {
				all.lines = append(all.lines, rule)
			}
		}
	}
	if named {
		return ours
	}
	return all
}

// allow applies the longest matching rule; of two equally long ones the
// permission wins.
func (r robotsRules) allow(u *url.URL) bool {
	target := u.EscapedPath()
	if target == "" {
		target = "/"
	}
	if u.RawQuery != "" {
		target += "?" + u.RawQuery
	}
	best, verdict := -1, true
	for _, rule := range r.lines {
		n := len(rule.pattern)
		if n > best || n == best && rule.allow {
			if robotsMatch(rule.pattern, target) {
				best, verdict = n, rule.allow
			}
		}
	}
	return verdict
}

// robotsMatch matches a prefix in which * stands for anything and a final $ for
// the end. It never backtracks further than the last star.
func robotsMatch(pattern, target string) bool {
	pattern, anchored := strings.CutSuffix(pattern, "$")
	parts := strings.Split(pattern, "*")
	if !strings.HasPrefix(target, parts[0]) {
		return false
	}
	rest := target[len(parts[0]):]
	for i, part := range parts[1:] {
		if anchored && i == len(parts)-2 {
			return strings.HasSuffix(rest, part)
		}
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return !anchored || rest == ""
}
