// URLs of objects.

package remote

import (
	"fmt"
	"net/url"
	"strings"
)

// IsURL reports whether s begins with a scheme of this package: http, https or s3.
func IsURL(s string) bool {
	scheme, _, found := strings.Cut(s, "://")
	switch strings.ToLower(scheme) {
	case "http", "https", "s3":
		return found
	}
	return false
}

// Redact returns s for messages: without credentials, query and fragment, each replaced by "...".
// Queries of presigned URLs contain credentials. A string that is not a URL is returned unchanged.
func Redact(s string) string {
	if !IsURL(s) {
		return s
	}
	scheme, rest, _ := strings.Cut(s, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	host, path := rest[:end], rest[end:]
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = "..." + host[at:]
	}
	// A path of an object may follow the query, and is kept.
	if q := strings.IndexAny(path, "?#"); q >= 0 {
		object := ""
		if at := strings.Index(path[q:], ":/"); at >= 0 {
			object = path[q+at:]
		}
		path = path[:q+1] + "..." + object
	}
	return scheme + "://" + host + path
}

// parse checks a URL. The error contains no part of it that may be secret.
func parse(s string) (*url.URL, error) {
	if !IsURL(s) {
		return nil, fmt.Errorf("%w: scheme: want http, https or s3", ErrRefused)
	}
	u, err := url.Parse(s)
	if err != nil {
		return nil, fmt.Errorf("%w: invalid URL", ErrRefused) // the error of url.Parse contains the URL
	}
	u.Scheme = strings.ToLower(u.Scheme)
	switch {
	case u.User != nil:
		return nil, fmt.Errorf("%w: credentials in the URL", ErrRefused)
	case u.Hostname() == "":
		return nil, fmt.Errorf("%w: URL without a host", ErrRefused)
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}
