package web

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
)

// R03: every spelling of an address that is not the internet's.
func TestGuardAddresses(t *testing.T) {
	t.Parallel()
	g, err := newGuard(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	refused := strings.FieldsSeq(`0.0.0.0 0.1.2.3 127.0.0.1 127.255.255.254 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254
		100.64.0.1 192.0.0.8 192.0.2.1 192.88.99.1 198.18.0.1 198.51.100.7 203.0.113.9 224.0.0.1 240.0.0.1 255.255.255.255
		:: ::1 ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:0.0.0.0 ::ffff:10.0.0.1 ::ffff:a9fe:a9fe ::127.0.0.1 ::7f00:1 fc00::1 fd00:ec2::254 fe80::1 fe80::1%lo
		fec0::1 ff02::1 64:ff9b::7f00:1 64:ff9b:1::1 100::1 2001::1 2001:db8::1 2002:7f00:1:: 3fff::1 5f00::1`)
	for s := range refused {
		if g.public(netip.MustParseAddr(s)) {
			t.Errorf("%s is taken for a public address", s)
		}
	}
	for s := range strings.FieldsSeq("1.1.1.1 93.184.215.14 172.32.0.1 100.128.0.1 2606:4700::1111 2a00:1450::1 ::ffff:8.8.8.8") {
		if !g.public(netip.MustParseAddr(s)) {
			t.Errorf("%s is refused", s)
		}
	}
}

func TestGuardURLs(t *testing.T) {
	t.Parallel()
	f, err := NewFetcher(FetchOptions{IgnoreRobots: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	for raw := range strings.FieldsSeq(`http://127.0.0.1/ http://localhost/ http://[::1]/ http://0.0.0.0/ http://[::]/ http://[::ffff:127.0.0.1]/ http://[::ffff:7f00:1]/
		http://[::ffff:a9fe:a9fe]/ http://169.254.169.254/ http://10.1.2.3/ http://[fc00::1]/ http://[fe80::1]/ http://[64:ff9b::7f00:1]/
		file:///etc/passwd ftp://example.org/ gopher://example.org/ javascript:alert(1) http:/// http://1.1.1.1:22/ http://1.1.1.1:6379/ http://1.1.1.1:25/`) {
		_, err := f.Fetch(t.Context(), raw)
		var failed *FetchError
		if !errors.As(err, &failed) || failed.Kind != FailRefused {
			t.Errorf("%s: %v", raw, err)
		}
	}
	// Spellings that only some resolvers know must not connect either.
	for raw := range strings.FieldsSeq("http://127.1/ http://0x7f.1/ http://2130706433/ http://0177.0.0.1/") {
		if page, err := f.Fetch(t.Context(), raw); err == nil {
			t.Errorf("%s was read: %q", raw, page.Text)
		}
	}
}

func TestAllowHosts(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "<html><body>"+prose)
	}))
	t.Cleanup(server.Close)
	host := server.Listener.Addr().String()
	if _, err := reader(t, server, nil).Fetch(t.Context(), server.URL); err != nil {
		t.Errorf("the exception is not used: %v", err)
	}
	other := reader(t, server, func(o *FetchOptions) { o.AllowHosts = []string{"127.0.0.1:1"} })
	_, err := other.Fetch(t.Context(), server.URL)
	if err == nil || !strings.Contains(err.Error(), "research.allow_hosts: ["+host+"]") {
		t.Errorf("the message must name the setting: %v", err)
	}
	for _, bad := range []string{"http://x", "*.example.org", "x:y", ":80", "a b", ""} {
		if _, err := NewFetcher(FetchOptions{AllowHosts: []string{bad}}); err == nil {
			t.Errorf("exception %q was accepted", bad)
		}
	}
}

// R03: a public name may not redirect into an exception, and a name that
// resolves to something else the second time is judged at the second time.
func TestRebinding(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		_, _ = io.WriteString(w, "<html><body>secret "+prose)
	}))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, answers := range [][]string{
		{"127.0.0.1"},
		{"93.184.215.14", "127.0.0.1", "127.0.0.1", "127.0.0.1"},
		{"0.0.0.0"},
		{"169.254.169.254"},
	} {
		resolver := fakeDNS(t, answers)
		f, err := NewFetcher(FetchOptions{resolver: resolver, IgnoreRobots: true, PageTimeout: 1500_000_000})
		if err != nil {
			t.Fatal(err)
		}
		// The first look-up is the attacker's harmless answer; the fetch makes the next one.
		if len(answers) > 1 {
			_, _ = resolver.LookupHost(t.Context(), "rebind.example.org")
		}
		_, err = f.Fetch(t.Context(), "http://rebind.example.org:"+port+"/")
		f.Close()
		var failed *FetchError
		if !errors.As(err, &failed) || failed.Kind != FailRefused {
			t.Errorf("%v: %v", answers, err)
		}
	}
	if reached.Load() > 0 {
		t.Error("the private server was reached")
	}
}

// fakeDNS answers A questions with the given addresses in turn, the last one for
// ever, and everything else with nothing.
func fakeDNS(t *testing.T, answers []string) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		turn := 0
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			reply, isA := dnsReply(buf[:n], answers[min(turn, len(answers)-1)])
			if isA {
				turn++
			}
			_, _ = conn.WriteTo(reply, from)
		}
	}()
	t.Cleanup(func() { _ = conn.Close(); <-done })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// dnsReply answers a query with one address if it asks for an A record.
func dnsReply(query []byte, address string) (reply []byte, isA bool) {
	end := 12
	for query[end] != 0 {
		end += int(query[end]) + 1
	}
	question := query[12 : end+5]
	isA = binary.BigEndian.Uint16(query[end+1:]) == 1
	reply = append(reply, query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0)
	reply = append(reply, question...)
	if isA {
		reply[7] = 1
		reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
		reply = append(reply, netip.MustParseAddr(address).AsSlice()...)
	}
	return reply, isA
}
