// Checks of requests before any file is opened, and headers of responses.

package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// contentPolicy is the Content-Security-Policy of all responses. The viewer h5web needs
// unsafe-eval, because one of its libraries makes functions at run time.
const contentPolicy = "default-src 'self'; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; " +
	"img-src 'self' data: blob:; connect-src 'self' blob:; form-action 'self'; " +
	"object-src " + forbidden + "; base-uri " + forbidden + "; frame-ancestors " + forbidden

const forbidden = "'none'"

// secure sets the headers of all responses.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
}

// maxQuery is the maximum length of the query of a request in bytes.
const maxQuery = 64 << 10

// admit checks host, origin and token of a request.
func (h *Handler) admit(r *http.Request) error {
	if len(r.URL.RawQuery) > maxQuery {
		return fail(http.StatusRequestURITooLong, "a query of %d bytes, at most %d", len(r.URL.RawQuery), maxQuery)
	}
	if !h.knownHost(r.Host) {
		return fail(http.StatusMisdirectedRequest, "Permission denied: unknown host name %q; the option Hosts must contain it", r.Host)
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || u.Host != r.Host {
			return fail(http.StatusForbidden, "Permission denied: a request from the origin %q", origin)
		}
	}
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		return fail(http.StatusForbidden, "Permission denied: a request from another site")
	}
	if h.options.Token != "" && !h.authorized(r) {
		return fail(http.StatusUnauthorized, "Permission denied: the token is missing or wrong")
	}
	return nil
}

// knownHost reports whether the server answers requests for a host. A name that an attacker
// controls can resolve to this machine; an IP address cannot be redirected.
func (h *Handler) knownHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	if host == "localhost" {
		return true
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return slices.ContainsFunc(h.options.Hosts, func(x string) bool { return strings.EqualFold(x, host) })
}

// cookieName returns the name of the cookie with the token. Cookies of one host are shared by all
// ports, so each token has its own name.
func cookieName(token string) string {
	sum := sha256.Sum256([]byte(token))
	return "hyperslab_" + hex.EncodeToString(sum[:4])
}

// authorized reports whether a request contains the token.
func (h *Handler) authorized(r *http.Request) bool {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && h.isToken(token) {
		return true
	}
	if c, err := r.Cookie(h.cookie); err == nil && h.isToken(c.Value) {
		return true
	}
	return h.isToken(r.URL.Query().Get("token"))
}

func (h *Handler) isToken(s string) bool {
	return subtle.ConstantTimeCompare([]byte(s), []byte(h.options.Token)) == 1
}

// welcome sets the cookie for a browser that comes with the token in the address, and sends it to
// the same address without the token.
func (h *Handler) welcome(w http.ResponseWriter, r *http.Request) bool {
	v := r.URL.Query()
	if h.options.Token == "" || !v.Has("token") || !wantsPage(r) {
		return false
	}
	v.Del("token")
	http.SetCookie(w, &http.Cookie{Name: h.cookie, Value: h.options.Token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil})
	to := "./" + strings.TrimPrefix(r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:], "/")
	if len(v) > 0 {
		to += "?" + v.Encode()
	}
	w.Header().Set("Location", to)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusSeeOther)
	return true
}

// wantsPage reports whether the client is a browser that shows a page.
func wantsPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

// writer limits the time of each write and of a whole response, so that a client that does not read
// or reads slowly releases its memory, and counts for the log.
type writer struct {
	http.ResponseWriter
	timeout time.Duration
	start   time.Time // of the first write
	status  int
	bytes   int64
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *writer) WriteHeader(status int) {
	if w.status == 0 {
		w.status, w.start = status, time.Now()
		_ = w.limit(0) // a Write reports the error
		w.ResponseWriter.WriteHeader(status)
	}
}

// writeAtOnce is the number of bytes that must be written within the time limit, and leastRate the
// number of bytes per second over the whole response, after the time limit.
const (
	writeAtOnce = 32 << 10
	leastRate   = 64 << 10
)

// limit sets the deadline for the next n bytes.
func (w *writer) limit(n int) error {
	whole := w.start.Add(w.timeout + time.Duration((w.bytes+int64(n))/leastRate)*time.Second)
	next := time.Now().Add(w.timeout)
	if next.After(whole) {
		next = whole
	}
	err := http.NewResponseController(w.ResponseWriter).SetWriteDeadline(next)
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// Write implements http.ResponseWriter.
func (w *writer) Write(b []byte) (n int, err error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	for {
		part := b[:min(len(b), writeAtOnce)]
		if err := w.limit(len(part)); err != nil {
			return n, err
		}
		m, err := w.ResponseWriter.Write(part)
		n += m
		w.bytes += int64(m)
		if b = b[m:]; err != nil || len(b) == 0 {
			return n, err
		}
	}
}
