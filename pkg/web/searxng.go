package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// SearXNG searches through one or more instances of SearXNG or searx. Instances
// are tried in order; one that failed is left alone for a minute while another
// answers.
type SearXNG struct {
	bases  []string
	client searchClient
	header func(base string) map[string]string
	now    func() time.Time

	mu   sync.Mutex
	rest map[string]time.Time // until when an instance is left alone
}

// NewSearXNG takes base URLs with or without a sub-path, a slash or "/search" at
// their end. Several may also be given in one string, separated by commas or
// white space. An address that is no http URL is an error.
func NewSearXNG(o SearchOptions, bases ...string) (*SearXNG, error) {
	s := &SearXNG{client: newSearchClient(o), header: o.HeadersFor, now: time.Now, rest: map[string]time.Time{}}
	for _, list := range bases {
		for _, base := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' }) {
			u, err := url.Parse(base)
			if err != nil || !usable(base) {
				return nil, fmt.Errorf("research.searxng_url %q is not an http address; use one like http://127.0.0.1:8888", base)
			}
			u.RawQuery, u.Fragment = "", ""
			u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/search")
			s.bases = append(s.bases, u.JoinPath("search").String())
		}
	}
	if len(s.bases) == 0 {
		return nil, errors.New("research.searxng_url is empty")
	}
	return s, nil
}

// Name is the provider's name in replies.
func (s *SearXNG) Name() string { return "searxng" }

// Search asks the instances until one answers. See [Searcher].
func (s *SearXNG) Search(ctx context.Context, q Query) (SearchAnswer, error) {
	var failed []error
	for _, base := range s.order() {
		answer, err := s.ask(ctx, base, q)
		if err == nil || ctx.Err() != nil {
			for _, f := range failed {
				answer.Failures = append(answer.Failures, EngineFailure{Engine: s.Name(), Reason: strings.TrimPrefix(f.Error(), s.Name()+": ")})
			}
			return answer, err
		}
		s.leaveAlone(base)
		failed = append(failed, err)
	}
	return SearchAnswer{}, errors.Join(failed...)
}

// order puts instances that failed lately last. None is left out: with all of
// them failing, trying is better than guessing.
func (s *SearXNG) order() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var fresh, resting []string
	for _, base := range s.bases {
		if s.now().Before(s.rest[base]) {
			resting = append(resting, base)
		} else {
			fresh = append(fresh, base)
		}
	}
	return append(fresh, resting...)
}

func (s *SearXNG) leaveAlone(base string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest[base] = s.now().Add(time.Minute)
}

// ask queries one instance. An answer that is empty because engines timed out
// is asked for once more: the first query after a pause finds them asleep.
func (s *SearXNG) ask(ctx context.Context, base string, q Query) (SearchAnswer, error) {
	answer, err := s.askOnce(ctx, base, q)
	if err == nil && len(answer.Hits) == 0 && timedOut(answer.Failures) && pause(ctx, time.Second) {
		answer, err = s.askOnce(ctx, base, q)
	}
	if err == nil && len(answer.Hits) == 0 && len(answer.Failures) > 0 {
		return answer, allEnginesFailed(s.Name(), answer.Failures)
	}
	return answer, err
}

func timedOut(failures []EngineFailure) bool {
	for _, f := range failures {
		if strings.Contains(strings.ToLower(f.Reason), "timeout") {
			return true
		}
	}
	return false
}

func (s *SearXNG) askOnce(ctx context.Context, base string, q Query) (SearchAnswer, error) {
	values := url.Values{"q": {clip(bangless(q.Text), 500)}, "format": {"json"}, "pageno": {"1"}}
	if q.Language != "" {
		values.Set("language", q.Language)
	}
	client := s.client
	if s.header != nil {
		client.headers = s.header(base)
	}
	reply, err := client.do(ctx, func(ctx context.Context) (*http.Request, error) {
		return http.NewRequestWithContext(ctx, http.MethodGet, base+"?"+values.Encode(), nil)
	})
	if err != nil {
		return SearchAnswer{}, &SearchError{
			Provider: s.Name(), Reason: "no answer from " + hostOf(base) + ": " + err.Error(),
			Advice: "is it running? research.searxng_url names it", Err: err,
		}
	}
	if err := searxngStatus(reply, hostOf(base)); err != nil {
		return SearchAnswer{}, err
	}
	return decodeSearXNG(reply.body, q.limit())
}

// bangless removes leading exclamation marks from the words of a query: "!!x"
// makes searx redirect to another site, "!x" picks an engine.
func bangless(q string) string {
	words := strings.Fields(q)
	for i, w := range words {
		words[i] = strings.TrimLeft(w, "!")
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

func hostOf(raw string) string {
	if u, err := url.Parse(raw); err == nil {
		return u.Host
	}
	return "the instance"
}

// searxngAdvice says which setting stands behind a status.
var searxngAdvice = map[int]string{
	http.StatusForbidden:        "JSON output is probably off: in its settings.yml set search.formats: [html, json] and restart it",
	http.StatusTooManyRequests:  "its limiter refuses programs: in its settings.yml set server.limiter: false, or put this machine into botdetection.ip_lists.pass_ip of limiter.toml",
	http.StatusUnauthorized:     "something in front of it wants a password: research.searxng_headers: {Authorization: Basic ...} sends one, to the host of the first address",
	http.StatusNotFound:         "is the path of research.searxng_url right? it should be the address of its start page",
	http.StatusFound:            "it redirects to another host, which is not followed: set research.searxng_url to the final address",
	http.StatusMovedPermanently: "it redirects to another host, which is not followed: set research.searxng_url to the final address",
}

// searxngStatus explains every answer that is not a JSON result.
func searxngStatus(reply searchReply, host string) error {
	if reply.status == http.StatusOK && reply.looksJSON() {
		return nil
	}
	e := &SearchError{Provider: "searxng", Status: reply.status, Advice: searxngAdvice[reply.status]}
	switch {
	case reply.status == http.StatusOK:
		e.Reason = fmt.Sprintf("%s answered %s instead of JSON (%q)", host, firstOf(reply.contentType, "an unknown type"), reply.firstWords())
		e.Advice = "is research.searxng_url the address of a SearXNG instance?"
	case reply.status >= 500:
		e.Reason = fmt.Sprintf("%s failed twice: %s", host, reply.firstWords())
		e.Advice = "its log says why"
	default:
		e.Reason = fmt.Sprintf("%s refused the search: %s", host, reply.firstWords())
	}
	if reply.retryAfter != "" {
		e.Reason += " (it asks to wait " + reply.retryAfter + ")"
	}
	return e
}

// searxngReply is what searx 1.x and current SearXNG have in common. Fields
// whose type differs between them are kept raw; number_of_results is wrong in
// one and gone in the other.
type searxngReply struct {
	Results []struct {
		URL           string          `json:"url"`
		Title         string          `json:"title"`
		Content       string          `json:"content"`
		Engine        string          `json:"engine"`
		Engines       json.RawMessage `json:"engines"`
		PublishedDate json.RawMessage `json:"publishedDate"`
		PubDate       json.RawMessage `json:"pubdate"`
	} `json:"results"`
	Unresponsive []json.RawMessage `json:"unresponsive_engines"`
	Error        string            `json:"error"`
}

func decodeSearXNG(body []byte, limit int) (SearchAnswer, error) {
	var reply searxngReply
	if err := json.Unmarshal(body, &reply); err != nil {
		return SearchAnswer{}, &SearchError{Provider: "searxng", Reason: "its answer could not be read: " + err.Error(), Err: err}
	}
	if reply.Error != "" {
		return SearchAnswer{}, &SearchError{Provider: "searxng", Reason: "it refused the query: " + reply.Error}
	}
	var answer SearchAnswer
	for _, r := range reply.Results {
		if !usable(r.URL) || len(answer.Hits) >= limit {
			continue
		}
		hit := Hit{URL: r.URL, Title: plain(r.Title), Snippet: plain(r.Content)}
		if json.Unmarshal(r.Engines, &hit.Engines) != nil && r.Engine != "" {
			hit.Engines = []string{r.Engine}
		}
		hit.Published = firstDate(rawText(r.PublishedDate), rawText(r.PubDate))
		answer.Hits = append(answer.Hits, hit)
	}
	for _, raw := range reply.Unresponsive {
		answer.Failures = append(answer.Failures, unresponsive(raw))
	}
	return answer, nil
}

// unresponsive reads ["engine", "reason"], and a bare "engine".
func unresponsive(raw json.RawMessage) EngineFailure {
	var pair []any
	if json.Unmarshal(raw, &pair) == nil && len(pair) > 0 {
		f := EngineFailure{Engine: fmt.Sprint(pair[0]), Reason: "no reason given"}
		if len(pair) > 1 && pair[1] != nil {
			f.Reason = fmt.Sprint(pair[1])
		}
		return f
	}
	return EngineFailure{Engine: strings.Trim(string(raw), `"`), Reason: "no reason given"}
}

func rawText(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // null and other types mean: not told
	return s
}
