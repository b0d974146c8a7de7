package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// The addresses of the paid providers.
const (
	braveURL  = "https://api.search.brave.com/res/v1/web/search"
	tavilyURL = "https://api.tavily.com/search"
)

// Brave searches through the Brave Search API.
type Brave struct {
	key, endpoint string
	client        searchClient
}

// NewBrave takes the subscription key (research.brave_api_key). endpoint is ""
// for the public one.
func NewBrave(key, endpoint string, o SearchOptions) *Brave {
	return &Brave{key: key, endpoint: firstOf(endpoint, braveURL), client: newSearchClient(o)}
}

// Name is the provider's name in replies.
func (b *Brave) Name() string { return "brave" }

// Search asks for up to 20 results, the most that the API gives at once.
func (b *Brave) Search(ctx context.Context, q Query) (SearchAnswer, error) {
	values := url.Values{"q": {clip(q.Text, 400)}, "count": {strconv.Itoa(min(q.limit(), 20))}, "text_decorations": {"false"}}
	if lang, _, _ := strings.Cut(q.Language, "-"); lang != "" {
		values.Set("search_lang", lang)
	}
	reply, err := b.client.do(ctx, func(ctx context.Context) (*http.Request, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.endpoint+"?"+values.Encode(), nil)
		if err == nil {
			req.Header.Set("X-Subscription-Token", b.key)
		}
		return req, err
	})
	if err := apiStatus(b.Name(), "research.brave_api_key", reply, err); err != nil {
		return SearchAnswer{}, err
	}
	var body struct {
		Web struct {
			Results []struct {
				URL         string   `json:"url"`
				Title       string   `json:"title"`
				Description string   `json:"description"`
				Extra       []string `json:"extra_snippets"`
				PageAge     string   `json:"page_age"`
			} `json:"results"`
		} `json:"web"`
	}
	if err := json.Unmarshal(reply.body, &body); err != nil {
		return SearchAnswer{}, unreadable(b.Name(), err)
	}
	var answer SearchAnswer
	for _, r := range body.Web.Results {
		if usable(r.URL) {
			answer.Hits = append(answer.Hits, Hit{
				URL: r.URL, Title: plain(r.Title), Engines: []string{b.Name()}, Published: firstDate(r.PageAge),
				Snippet: plain(strings.Join(append([]string{r.Description}, r.Extra...), " ")),
			})
		}
	}
	return answer, nil
}

// Tavily searches through the Tavily API.
type Tavily struct {
	key, endpoint string
	client        searchClient
}

// NewTavily takes the key (research.tavily_api_key). endpoint is "" for the
// public one.
func NewTavily(key, endpoint string, o SearchOptions) *Tavily {
	return &Tavily{key: key, endpoint: firstOf(endpoint, tavilyURL), client: newSearchClient(o)}
}

// Name is the provider's name in replies.
func (t *Tavily) Name() string { return "tavily" }

// Search asks for results only: the answer and the page texts that the service
// offers are not used, since every page is read and checked here.
func (t *Tavily) Search(ctx context.Context, q Query) (SearchAnswer, error) {
	request, err := json.Marshal(map[string]any{
		"query": clip(q.Text, 400), "max_results": min(q.limit(), 20), "search_depth": "basic",
		"include_answer": false, "include_raw_content": false,
	})
	if err != nil {
		return SearchAnswer{}, err
	}
	reply, err := t.client.do(ctx, func(ctx context.Context) (*http.Request, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.endpoint, bytes.NewReader(request))
		if err == nil {
			req.Header.Set("Authorization", "Bearer "+t.key)
			req.Header.Set("Content-Type", "application/json")
		}
		return req, err
	})
	if err := apiStatus(t.Name(), "research.tavily_api_key", reply, err); err != nil {
		return SearchAnswer{}, err
	}
	var body struct {
		Results []struct {
			URL       string `json:"url"`
			Title     string `json:"title"`
			Content   string `json:"content"`
			Published string `json:"published_date"`
		} `json:"results"`
	}
	if err := json.Unmarshal(reply.body, &body); err != nil {
		return SearchAnswer{}, unreadable(t.Name(), err)
	}
	var answer SearchAnswer
	for _, r := range body.Results {
		if usable(r.URL) {
			answer.Hits = append(answer.Hits, Hit{
				URL: r.URL, Title: plain(r.Title), Snippet: plain(r.Content),
				Engines: []string{t.Name()}, Published: firstDate(r.Published),
			})
		}
	}
	return answer, nil
}

// apiStatus explains a failed call of a paid provider. The key never appears.
func apiStatus(provider, setting string, reply searchReply, err error) error {
	if err != nil {
		return &SearchError{Provider: provider, Reason: "no answer: " + err.Error(), Err: err}
	}
	e := &SearchError{Provider: provider, Status: reply.status}
	switch reply.status {
	case http.StatusOK:
		if reply.looksJSON() {
			return nil
		}
		e.Reason = fmt.Sprintf("answered %s instead of JSON (%q)", firstOf(reply.contentType, "an unknown type"), reply.firstWords())
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity:
		e.Reason, e.Advice = "the key was refused", "check "+setting
	case http.StatusTooManyRequests, 432, 433, http.StatusPaymentRequired:
		e.Reason, e.Advice = "the plan's limit is reached", "wait, or use another provider"
		if reply.retryAfter != "" {
			e.Advice = "it asks to wait " + reply.retryAfter + " s"
		}
	default:
		e.Reason = "failed: " + reply.firstWords()
	}
	return e
}

func unreadable(provider string, err error) error {
	return &SearchError{Provider: provider, Reason: "its answer could not be read: " + err.Error(), Err: err}
}

// clip cuts a string to at most n bytes at a rune boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
