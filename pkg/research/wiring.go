package research

import (
	"errors"
	"log/slog"

	"legwork/pkg/config"
	"legwork/pkg/web"
)

// Providers makes the search providers that the settings name, in the order
// SearXNG, Brave, Tavily. None is no error: then only given URLs can be read.
func Providers(c config.Research) ([]web.Searcher, error) {
	var out []web.Searcher
	if c.SearxngURL != "" {
		s, err := web.NewSearXNG(web.SearchOptions{HeadersFor: c.SearchHeaders}, c.SearxngURL)
		if err != nil {
			return nil, errors.Join(ErrRequest, err)
		}
		out = append(out, s)
	}
	if c.BraveAPIKey != "" {
		out = append(out, web.NewBrave(c.BraveAPIKey.Reveal(), "", web.SearchOptions{}))
	}
	if c.TavilyAPIKey != "" {
		out = append(out, web.NewTavily(c.TavilyAPIKey.Reveal(), "", web.SearchOptions{}))
	}
	return out, nil
}

// NewFetcher makes the fetcher that the settings describe. cacheDir keeps pages
// between runs, "" keeps none. It should live as long as the process: see
// [web.Fetcher].
func NewFetcher(c config.Research, cacheDir string, logger *slog.Logger) (*web.Fetcher, error) {
	f, err := web.NewFetcher(web.FetchOptions{
		AllowHosts: c.AllowHosts, IgnoreRobots: !c.Robots, PageTimeout: c.PageTimeout, CacheDir: cacheDir, Logger: logger,
	})
	if err != nil {
		return nil, errors.Join(ErrRequest, err)
	}
	return f, nil
}
