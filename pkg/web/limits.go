package web

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// hostLimits holds how many requests to a host may run at once, and until when
// a host asked to be left alone.
type hostLimits struct {
	perHost int
	mu      sync.Mutex
	slots   map[string]chan struct{}
	rest    map[string]time.Time
}

func newHostLimits(perHost int) *hostLimits {
	return &hostLimits{perHost: perHost, slots: map[string]chan struct{}{}, rest: map[string]time.Time{}}
}

// acquire waits for a place at a host. The release is to be called once.
func (h *hostLimits) acquire(ctx context.Context, host string) (release func(), err error) {
	h.mu.Lock()
	slot := h.slots[host]
	if slot == nil {
		slot = make(chan struct{}, h.perHost)
		h.slots[host] = slot
	}
	h.mu.Unlock()
	select {
	case slot <- struct{}{}:
		return func() { <-slot }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// restUntil is when the host may be asked again; zero when it may be now.
func (h *hostLimits) restUntil(host string) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rest[host]
}

func (h *hostLimits) leaveAlone(host string, d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rest[host] = time.Now().Add(d)
}

// retryAfter reads the header, which is a number of seconds or a date.
func retryAfter(header http.Header) time.Duration {
	value := strings.TrimSpace(header.Get("Retry-After"))
	if seconds, err := strconv.Atoi(value); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, 86400)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
