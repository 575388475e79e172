// URLs of objects.

package remote

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/hyperslab/hyperslab/internal/location/urlfile"
)

// IsURL reports whether s begins with a scheme of this package: http, https or s3.
func IsURL(s string) bool { return urlfile.IsURL(s) }

// Redact returns s for messages: without credentials, query and fragment, each replaced by "...".
// Queries of presigned URLs contain credentials. A string that is not a URL is returned unchanged.
func Redact(s string) string { return urlfile.Redact(s) }

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
