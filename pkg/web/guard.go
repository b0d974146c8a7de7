package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrRefused marks an address that pages may not be fetched from.
var ErrRefused = errors.New("address refused")

// specialRanges are globally routable by their bits and still not the internet:
// addresses of this host, shared or reserved ranges, documentation, and the
// ranges that carry an IPv4 address inside and so could reach a private one.
var specialRanges = []string{
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
	"203.0.113.0/24", "240.0.0.0/4", "::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32",
	"2002::/16", "3fff::/20", "5f00::/16", "fec0::/10",
}

// guard decides which addresses may be dialled.
type guard struct {
	special  []netip.Prefix
	allow    map[string]bool // exact host:port
	resolver *net.Resolver   // nil: the system's
}

// newGuard takes exceptions as host:port; a host alone means ports 80 and 443.
func newGuard(allow []string, resolver *net.Resolver) (*guard, error) {
	g := &guard{allow: map[string]bool{}, resolver: resolver}
	for _, r := range specialRanges {
		g.special = append(g.special, netip.MustParsePrefix(r))
	}
	for _, entry := range allow {
		entry = strings.ToLower(strings.TrimSpace(entry))
		host, port, err := net.SplitHostPort(entry)
		switch {
		case entry == "" || strings.ContainsAny(entry, "/*@ "):
			return nil, fmt.Errorf("research.allow_hosts: %q is not a host or host:port", entry)
		case err == nil:
			if _, err := strconv.ParseUint(port, 10, 16); err != nil || host == "" {
				return nil, fmt.Errorf("research.allow_hosts: %q is not a host:port", entry)
			}
			g.allow[net.JoinHostPort(host, port)] = true
		default:
			host = strings.Trim(entry, "[]")
			g.allow[net.JoinHostPort(host, "80")] = true
			g.allow[net.JoinHostPort(host, "443")] = true
		}
	}
	return g, nil
}

// allowed reports whether a host:port is an exception of the user.
func (g *guard) allowed(hostport string) bool { return g.allow[strings.ToLower(hostport)] }

// public reports whether an address belongs to the internet at large.
func (g *guard) public(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	if !addr.IsGlobalUnicast() || addr.IsPrivate() {
		return false
	}
	for _, p := range g.special {
		if p.Contains(addr) {
			return false
		}
	}
	return true
}

// dialContext dials hostport. The check runs in Control, after resolution and
// for every single address tried: neither a name that resolves differently the
// second time nor a redirect gets around it.
func (g *guard) dialContext(ctx context.Context, network, hostport string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: 10 * time.Second, Resolver: g.resolver}
	if !g.allowed(hostport) {
		dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(address)
			if err != nil || !g.public(ap.Addr()) {
				return fmt.Errorf("%w: %s leads to %s, which is not a public address; research.allow_hosts: [%s] permits it",
					ErrRefused, hostport, address, hostport)
			}
			return nil
		}
	}
	return dialer.DialContext(ctx, network, hostport)
}

// checkURL refuses what is not worth a connection. It is no protection by
// itself; dialContext is.
func (g *guard) checkURL(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%w: only http and https are fetched, not %q", ErrRefused, u.Scheme)
	}
	if u.Hostname() == "" {
		return fmt.Errorf("%w: no host in the address", ErrRefused)
	}
	hostport := hostPort(u)
	if g.allowed(hostport) {
		return nil
	}
	// Ports below 1024 belong to other services, some of which obey what looks
	// like a request.
	if port, err := strconv.Atoi(u.Port()); u.Port() != "" && (err != nil || port < 1024 && port != 80 && port != 443 || servicePorts[port]) {
		return fmt.Errorf("%w: port %s is not used for pages; research.allow_hosts: [%s] permits it", ErrRefused, u.Port(), hostport)
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil && !g.public(addr) {
		return fmt.Errorf("%w: %s is not a public address; research.allow_hosts: [%s] permits it", ErrRefused, u.Hostname(), hostport)
	}
	return nil
}

// servicePorts are ports above 1023 of services that a stray HTTP request can
// harm; browsers refuse most of them as well.
var servicePorts = map[int]bool{
	1719: true, 1720: true, 1723: true, 2049: true, 2375: true, 3306: true, 3659: true, 4045: true, 5060: true, 5061: true, 5432: true,
	6000: true, 6379: true, 6566: true, 6665: true, 6666: true, 6667: true, 6668: true, 6669: true, 6697: true, 11211: true, 27017: true,
}

// hostPort is the host:port that a URL is dialled at.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "80"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	return strings.ToLower(net.JoinHostPort(u.Hostname(), port))
}
