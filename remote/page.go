// Responses without the object: web pages, expired signatures and throttling.

package remote

import (
	"fmt"
	"html"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hyperslab/hyperslab/internal/errs"
)

// pageError is a web page that a server sent instead of an object.
type pageError struct {
	bytes int64  // -1: unknown
	host  string // of the page, after redirects
	title string // "": none
	login bool
}

func (e *pageError) Error() string {
	kind, size, from, title := "web page", "", "", ""
	if e.login {
		kind = "login page"
	}
	if e.bytes >= 0 {
		size = fmt.Sprintf(" of %d bytes", e.bytes)
	}
	if e.host != "" {
		from = " from " + e.host
	}
	if e.title != "" {
		title = fmt.Sprintf(" with the title %q", e.title)
	}
	return fmt.Sprintf("%v: the server sent a %s%s%s%s instead of the object", ErrResponse, kind, size, from, title)
}

// Is matches the sentinels of a page. A page that asks for no login has an unknown format, because
// it may list a directory.
func (e *pageError) Is(target error) bool {
	return target == ErrResponse || e.login && target == fs.ErrPermission || !e.login && target == errs.ErrFormat
}

const maxPage = 64 << 10 // bytes of a page that are examined

var (
	pageTitle = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title`)
	loginWord = regexp.MustCompile(`(?i)type\s*=\s*["']?password|\b(sign|log) ?in\b|\blogin\b|\bsso\b`)
)

// page returns a *pageError if a complete response, instead of a range, is a web page. It reads the
// beginning of the body, and returns the whole body otherwise.
func page(h *http.Response, body io.Reader) (io.Reader, error) {
	kind, _, err := mime.ParseMediaType(h.Header.Get("Content-Type"))
	if err != nil || h.StatusCode != http.StatusOK || kind != "text/html" && kind != "application/xhtml+xml" {
		return body, nil
	}
	text, _ := io.ReadAll(io.LimitReader(body, maxPage)) // the type is known without the rest
	start := strings.TrimLeft(strings.TrimPrefix(string(text), "\ufeff"), " \t\r\n")
	if !strings.HasPrefix(start, "<") { // data with a wrong type
		return io.MultiReader(strings.NewReader(string(text)), body), nil
	}
	e := &pageError{bytes: h.ContentLength, login: loginWord.MatchString(start)}
	if h.Request != nil && h.Request.URL != nil {
		e.host = h.Request.URL.Host
	}
	if m := pageTitle.FindStringSubmatch(start); m != nil {
		title := []rune(strings.Join(strings.Fields(html.UnescapeString(m[1])), " "))
		e.title = string(title[:min(len(title), 80)])
	}
	return nil, e
}

// expiry returns the time until which the signature in a URL is valid.
func expiry(u *url.URL) (time.Time, bool) {
	q := u.Query()
	for _, prefix := range []string{"X-Amz-", "X-Goog-"} {
		from, err1 := time.Parse("20060102T150405Z", q.Get(prefix+"Date"))
		seconds, err2 := strconv.ParseInt(q.Get(prefix+"Expires"), 10, 32)
		if err1 == nil && err2 == nil {
			return from.Add(time.Duration(seconds) * time.Second), true
		}
	}
	if seconds, err := strconv.ParseInt(q.Get("Expires"), 10, 64); err == nil && q.Has("Signature") {
		return time.Unix(seconds, 0).UTC(), true
	}
	if at, err := time.Parse(time.RFC3339, q.Get("se")); err == nil && q.Has("sig") { // Azure
		return at, true
	}
	return time.Time{}, false
}

// expired explains a refusal by a signature that has expired, or returns "". text is the beginning
// of the body.
func expired(h *http.Response, text string) string {
	switch h.StatusCode {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden:
	default:
		return ""
	}
	if h.Request != nil && h.Request.URL != nil {
		if at, ok := expiry(h.Request.URL); ok && time.Now().After(at) {
			return "the signature of the URL expired at " + at.Format(time.RFC3339)
		}
	}
	for _, sign := range []string{"<Code>ExpiredToken", "Request has expired", "Signature not valid in the specified time frame"} {
		if strings.Contains(text, sign) {
			return "the signature or the token has expired"
		}
	}
	return ""
}

// retryAfter returns the time that a server asks to wait, or 0.
func retryAfter(h *http.Response) time.Duration {
	text := h.Header.Get("Retry-After")
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil && seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}
