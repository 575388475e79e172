// Connections: refused addresses, redirects and proxies.

package remote

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"syscall"
	"time"
)

// refusedPrefixes are ranges that netip does not classify and that do not belong to the public
// Internet, and addresses that clouds use for services of the machine itself. Of IPv6 only the
// ranges in globalIPv6 are public.
var refusedPrefixes = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),        // this network
	netip.MustParsePrefix("100.64.0.0/10"),    // shared address space of carriers
	netip.MustParsePrefix("168.63.129.16/32"), // metadata of Azure
	netip.MustParsePrefix("192.0.0.0/24"),     // protocol assignments
	netip.MustParsePrefix("192.88.99.0/24"),   // relays of 6to4
	netip.MustParsePrefix("198.18.0.0/15"),    // benchmarks
	netip.MustParsePrefix("240.0.0.0/4"),      // reserved, and broadcast
	netip.MustParsePrefix("192.0.2.0/24"),     // documentation
	netip.MustParsePrefix("198.51.100.0/24"),  // documentation
	netip.MustParsePrefix("203.0.113.0/24"),   // documentation
	netip.MustParsePrefix("2001::/23"),        // protocol assignments, and Teredo, which contains an IPv4 address
	netip.MustParsePrefix("2001:db8::/32"),    // documentation
	netip.MustParsePrefix("3fff::/20"),        // documentation
}

var globalIPv6 = netip.MustParsePrefix("2000::/3") // global unicast

// Prefixes of IPv6 addresses that contain the IPv4 address that is reached.
var (
	nat64   = netip.MustParsePrefix("64:ff9b::/96")
	sixToIV = netip.MustParsePrefix("2002::/16")
)

// private reports whether an address is not one of the public Internet.
func private(a netip.Addr) bool {
	a = a.Unmap()
	if a.Is6() {
		b := a.As16()
		switch {
		case nat64.Contains(a):
			return private(netip.AddrFrom4([4]byte(b[12:16])))
		case sixToIV.Contains(a):
			return private(netip.AddrFrom4([4]byte(b[2:6])))
		case !globalIPv6.Contains(a.WithZone("")):
			return true // also IPv4 addresses in other forms, for example ::127.0.0.1
		}
	}
	if !a.IsValid() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() {
		return true
	}
	for _, p := range refusedPrefixes {
		if p.Contains(a.WithZone("")) {
			return true
		}
	}
	return false
}

// checkAddress is called with each address immediately before a connection to it.
func checkAddress(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: address %s", ErrRefused, address)
	}
	if private(to.Addr()) {
		return fmt.Errorf("%w %s", ErrPrivate, to.Addr())
	}
	return nil
}

// maxRedirects is the maximum number of redirects of one request.
const maxRedirects = 5

// newHTTP returns a client. Private addresses are refused unless allowPrivate is set.
func newHTTP(o *Options, allowPrivate bool) *http.Client {
	t := o.Transport
	if t == nil {
		t = newTransport(o, allowPrivate)
	}
	return &http.Client{Transport: t, Jar: o.cookies(), CheckRedirect: func(r *http.Request, via []*http.Request) error {
		last := via[len(via)-1].URL
		switch {
		case len(via) > maxRedirects:
			return fmt.Errorf("%w: more than %d redirects", ErrRefused, maxRedirects)
		case r.URL.Scheme != "http" && r.URL.Scheme != "https":
			return fmt.Errorf("%w: redirect to the scheme %q", ErrRefused, r.URL.Scheme)
		case last.Scheme == "https" && r.URL.Scheme == "http":
			return fmt.Errorf("%w: redirect from https to http", ErrRefused)
		case r.URL.User != nil:
			return fmt.Errorf("%w: redirect to a URL with credentials", ErrRefused)
		}
		r.Header.Del("Referer") // it contains the query of the URL before
		return o.redirected(r, via[0].URL)
	}}
}

// newTransport returns the transport of a client without Options.Transport.
func newTransport(o *Options, allowPrivate bool) *http.Transport {
	plain := &net.Dialer{Timeout: o.Timeout, KeepAlive: 30 * time.Second}
	guarded := &net.Dialer{Timeout: o.Timeout, KeepAlive: 30 * time.Second, Control: checkAddress}
	var proxies sync.Map // host:port of the proxies in use, which the user's environment names
	return &http.Transport{
		Proxy: func(r *http.Request) (*url.URL, error) {
			p, err := http.ProxyFromEnvironment(r)
			if p == nil || err != nil {
				return p, err
			}
			// The proxy resolves the name, so that only a literal address can be checked here.
			if a, err := netip.ParseAddr(r.URL.Hostname()); err == nil && !allowPrivate && private(a) {
				return nil, fmt.Errorf("%w %s", ErrPrivate, a)
			}
			proxies.Store(dialled(p), true)
			return p, nil
		},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if _, isProxy := proxies.Load(address); isProxy || allowPrivate {
				return plain.DialContext(ctx, network, address)
			}
			return guarded.DialContext(ctx, network, address)
		},
		DisableCompression:     true, // ranges count stored bytes
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    o.Parallel + shortParallel,
		IdleConnTimeout:        30 * time.Second,
		TLSHandshakeTimeout:    o.Timeout,
		ResponseHeaderTimeout:  o.Timeout,
		MaxResponseHeaderBytes: 256 << 10,
	}
}

// dialled returns the address that a transport dials for a proxy.
func dialled(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}
