package web

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// response is what one hop brought: a place to go on to, or a body.
type response struct {
	url         *url.URL
	location    *url.URL // redirect
	status      int
	contentType string // as the header says, with parameters
	fetched     time.Time
	text        []byte    // decoded, at most maxTextBytes
	pdf         *tempFile // instead of text
	cut         string    // why the text ends early, "" when it does not
	cached      bool
}

// discard removes the temporary file.
func (r *response) discard() {
	if r.pdf != nil {
		r.pdf.remove()
	}
}

// hop makes one request, waiting for the host's slot and for its Retry-After.
func (f *Fetcher) hop(ctx context.Context, u *url.URL, cached *cachedPage) (*response, error) {
	release, err := f.hosts.acquire(ctx, u.Host)
	if err != nil {
		return nil, fail(FailTimeout, err, "other requests to %s took all the time", u.Host)
	}
	defer release()
	if wait := time.Until(f.hosts.restUntil(u.Host)); wait > 0 {
		if wait > maxWait || !pause(ctx, wait) {
			return nil, &FetchError{
				Kind: FailStatus, Status: http.StatusTooManyRequests, RetryAfter: wait,
				Reason: fmt.Sprintf("%s asked to be left alone for %s more", u.Host, wait.Round(time.Second)),
			}
		}
	}
	for attempt := 0; ; attempt++ {
		got, err := f.request(ctx, u, cached)
		var failed *FetchError
		if attempt > 0 || !errors.As(err, &failed) || !worthRetry(failed) {
			return got, err
		}
		wait := max(failed.RetryAfter, 300*time.Millisecond)
		if failed.RetryAfter > 0 {
			f.hosts.leaveAlone(u.Host, failed.RetryAfter)
		}
		if deadline, ok := ctx.Deadline(); wait > maxWait || ok && time.Until(deadline) < wait || !pause(ctx, wait) {
			return got, err
		}
	}
}

// worthRetry names the answers that may be different a moment later.
func worthRetry(e *FetchError) bool {
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return e.Kind == FailStatus && e.RetryAfter > 0
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	}
	return false
}

func (f *Fetcher) request(ctx context.Context, u *url.URL, cached *cachedPage) (*response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fail(FailRefused, err, "not a web address: %s", u.Redacted())
	}
	req.Header.Set("User-Agent", f.options.UserAgent)
	req.Header.Set("Accept", "text/html, application/xhtml+xml, text/markdown, text/plain;q=0.9, application/json;q=0.9, application/pdf;q=0.8, */*;q=0.5")
	req.Header.Set("Accept-Language", "en-US, en;q=0.9, *;q=0.5")
	req.Header.Set("Accept-Encoding", "gzip")
	cached.setValidators(req.Header)
	resp, err := f.client.Do(req)
	if err != nil {
		return nil, dialFailure(err, u)
	}
	defer func() { _ = resp.Body.Close() }()

	switch {
	case resp.StatusCode == http.StatusNotModified && cached != nil:
		f.cache.touch(cached, resp.Header)
		return cached.body(), nil
	case isRedirect(resp.StatusCode):
		next, err := resp.Location()
		if err != nil {
			return nil, fail(FailRedirects, err, "a redirect (status %d) without a usable address", resp.StatusCode)
		}
		next.User, next.Fragment = nil, ""
		return &response{location: next}, nil
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return nil, statusFailure(resp, u)
	}
	got := &response{url: u, status: resp.StatusCode, contentType: resp.Header.Get("Content-Type"), fetched: time.Now()}
	if err := got.readBody(ctx, resp); err != nil {
		return nil, err
	}
	f.cache.store(u, resp.Header, got)
	return got, nil
}

func isRedirect(status int) bool {
	switch status {
	case 301, 302, 303, 307, 308:
		return true
	}
	return false
}

// dialFailure explains why there was no answer.
func dialFailure(err error, u *url.URL) *FetchError {
	err = withoutURL(err)
	switch {
	case errors.Is(err, ErrRefused):
		return fail(FailRefused, err, "%s", innermost(err))
	case errors.Is(err, context.DeadlineExceeded), os.IsTimeout(err):
		return fail(FailTimeout, err, "no answer from %s in time", u.Host)
	}
	return fail(FailUnreachable, err, "could not reach %s: %s", u.Host, err)
}

// innermost is the guard's own sentence without the dialler's prefix.
func innermost(err error) string {
	text := err.Error()
	if i := strings.Index(text, ErrRefused.Error()); i >= 0 {
		return text[i:]
	}
	return text
}

// statusFailure reads a little of an error page: it tells a wall from a gap.
func statusFailure(resp *http.Response, u *url.URL) *FetchError {
	e := &FetchError{Kind: FailStatus, Status: resp.StatusCode, RetryAfter: retryAfter(resp.Header)}
	e.Reason = fmt.Sprintf("%s answered %d %s", u.Host, resp.StatusCode, http.StatusText(resp.StatusCode))
	if e.RetryAfter > 0 {
		e.Reason += fmt.Sprintf(" and asks to wait %s", e.RetryAfter.Round(time.Second))
	}
	body, err := decoded(resp)
	if err != nil {
		return e
	}
	head, _ := io.ReadAll(io.LimitReader(body, 64<<10)) // what could be read is enough
	doc := tokensOnly(DecodeText(head, resp.Header.Get("Content-Type")))
	if wall := wallReason(doc.Title, doc.Markdown, doc.Words); wall != "" {
		e.Kind, e.Reason = FailWall, fmt.Sprintf("%s (status %d)", wall, resp.StatusCode)
	}
	return e
}

// decoded undoes the content encoding. Anything but gzip and deflate was not
// asked for and cannot be read.
func decoded(resp *http.Response) (io.Reader, error) {
	switch encoding := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
		return resp.Body, nil
	case "gzip", "x-gzip":
		counted := &countingReader{r: resp.Body}
		z, err := gzip.NewReader(counted)
		if err != nil {
			return nil, fail(FailUnreadable, err, "its gzip encoding is broken")
		}
		return &ratioReader{z: z, raw: counted}, nil
	case "deflate":
		counted := &countingReader{r: resp.Body}
		z, err := zlib.NewReader(counted)
		if err != nil {
			return nil, fail(FailUnreadable, err, "its deflate encoding is broken")
		}
		return &ratioReader{z: z, raw: counted}, nil
	default:
		return nil, fail(FailUnreadable, nil, "it is encoded as %s, which was not asked for", encoding)
	}
}

// maxRatio is how much smaller than its text a compressed page may be. Pages
// reach 30, tables of zeros 200; a bomb comes near the format's 1032.
const maxRatio = 400

var errBomb = errors.New("compressed beyond reason")

// ratioReader ends a stream that unpacks to far more than any text would.
type ratioReader struct {
	z       io.Reader
	raw     *countingReader
	decoded int64
}

func (r *ratioReader) Read(p []byte) (int, error) {
	n, err := r.z.Read(p)
	r.decoded += int64(n)
	if r.decoded > 1<<20 && r.decoded > maxRatio*r.raw.n {
		return n, errBomb
	}
	return n, err
}

type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// readBody reads what the type promises, and nothing of what cannot be read.
func (r *response) readBody(ctx context.Context, resp *http.Response) error {
	media, _, _ := mime.ParseMediaType(r.contentType)
	if what := binaryType(media); what != "" {
		return fail(FailUnreadable, nil, "it is %s, not text", what)
	}
	body, err := decoded(resp)
	if err != nil {
		return err
	}
	buffered := bufio.NewReaderSize(body, 32<<10)
	head, peekErr := buffered.Peek(1024)
	if len(head) == 0 {
		if peekErr != nil && !errors.Is(peekErr, io.EOF) {
			return r.interrupted(ctx, peekErr)
		}
		return fail(FailUnreadable, nil, "the page is empty")
	}
	if isPDF(head) {
		return r.savePDF(ctx, buffered)
	}
	if looksBinary(media, head) {
		return fail(FailUnreadable, nil, "it is binary data (%s), not text", firstOf(media, "of unknown type"))
	}
	return r.readText(ctx, buffered)
}

func (r *response) readText(ctx context.Context, body io.Reader) error {
	var text bytes.Buffer
	_, err := io.CopyN(&text, body, maxTextBytes)
	r.text = text.Bytes()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		r.cut = fmt.Sprintf("only the first %d MiB were read", maxTextBytes>>20)
		return nil
	case errors.Is(err, errBomb):
		return fail(FailBomb, err, "its compressed data unpacks to more than %d times its size; not read", maxRatio)
	}
	// What arrived before a cut or the deadline is still a text.
	if len(r.text) < 512 {
		return r.interrupted(ctx, err)
	}
	r.cut = "the connection broke off; what had arrived was read"
	if ctx.Err() != nil {
		r.cut = "the time was up; what had arrived was read"
	}
	return nil
}

// interrupted tells the deadline from a broken connection.
func (r *response) interrupted(ctx context.Context, err error) *FetchError {
	switch {
	case errors.Is(err, errBomb):
		return fail(FailBomb, err, "its compressed data unpacks to more than %d times its size; not read", maxRatio)
	case ctx.Err() != nil:
		return fail(FailTimeout, err, "the time was up after %d bytes", len(r.text))
	}
	return fail(FailUnreachable, err, "the connection broke off after %d bytes", len(r.text))
}
