package web

import (
	"cmp"
	"net/url"
	"path"
	"slices"
	"strings"
)

// trackingParams are query parameters that name a campaign, not a page.
var trackingParams = map[string]bool{
	"fbclid": true, "gclid": true, "dclid": true, "msclkid": true, "yclid": true, "igshid": true, "mc_cid": true, "mc_eid": true,
	"ref_src": true, "ref_url": true, "_hsenc": true, "_hsmi": true, "vero_id": true, "wickedid": true, "oly_enc_id": true, "spm": true,
}

// Canonical reduces a URL to what identifies a page: scheme and "www." aside,
// host in lower case, default port, fragment, tracking parameters and trailing
// slash dropped, parameters sorted. Two URLs with the same Canonical are one
// source. A string that is no URL is returned unchanged.
func Canonical(raw string) string {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || u.Host == "" {
		return raw
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	host = strings.TrimPrefix(host, "www.")
	if p := u.Port(); p != "" && p != "80" && p != "443" {
		host += ":" + p
	}
	query := u.Query()
	for key := range query {
		if trackingParams[strings.ToLower(key)] || strings.HasPrefix(strings.ToLower(key), "utm_") {
			delete(query, key)
		}
	}
	p := u.EscapedPath()
	if p != "" {
		p = path.Clean("/" + p)
	}
	for _, index := range []string{"/index.html", "/index.htm", "/index.php"} {
		p = strings.TrimSuffix(p, index)
	}
	canonical := host + strings.TrimSuffix(p, "/")
	if len(query) > 0 {
		canonical += "?" + query.Encode()
	}
	return canonical
}

// rankConstant damps the first ranks in the fusion; 60 is the usual value of
// reciprocal rank fusion.
const rankConstant = 60

// Fuse merges the answers of several searches by reciprocal rank: a page that
// several queries or engines found comes before one that a single list put
// first. Pages with the same [Canonical] are merged; the longest snippet stays.
func Fuse(lists ...[]Hit) []Hit {
	type entry struct {
		hit   Hit
		score float64
		first int
	}
	byPage := map[string]*entry{}
	var order []*entry
	for _, list := range lists {
		seen := map[string]bool{} // a list counts a page once, at its best rank
		for rank, hit := range list {
			key := Canonical(hit.URL)
			e := byPage[key]
			if e == nil {
				e = &entry{hit: hit, first: len(order)}
				e.hit.Engines = slices.Clone(hit.Engines)
				byPage[key] = e
				order = append(order, e)
			}
			if !seen[key] {
				e.score += 1 / float64(rankConstant+rank+1)
				seen[key] = true
			}
			mergeHit(&e.hit, hit)
		}
	}
	slices.SortStableFunc(order, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.first, b.first))
	})
	fused := make([]Hit, len(order))
	for i, e := range order {
		fused[i] = e.hit
	}
	return fused
}

func mergeHit(into *Hit, from Hit) {
	if len(from.Snippet) > len(into.Snippet) {
		into.Snippet = from.Snippet
	}
	if into.Title == "" {
		into.Title = from.Title
	}
	if into.Published.IsZero() {
		into.Published = from.Published
	}
	// https is preferred: the same page, and nobody on the way can change it.
	if strings.HasPrefix(from.URL, "https:") && strings.HasPrefix(into.URL, "http:") {
		into.URL = from.URL
	}
	for _, e := range from.Engines {
		if !slices.Contains(into.Engines, e) {
			into.Engines = append(into.Engines, e)
		}
	}
}
