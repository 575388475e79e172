package locate

import (
	"fmt"
	"strings"

	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Location is the location of an array.
type Location struct {
	File   string // file or directory
	Object string // path inside the file, for example "/a/b"; "" if there is no path
}

// String returns the location in the form of Parse.
func (l Location) String() string {
	if l.Object == "" {
		return l.File
	}
	return l.File + ":" + l.Object
}

// Parse splits FILE:/path after the longest FILE that exists, so that file names may
// contain ":/". If no such file exists, it splits at the last ":/". There is no path if s does not
// contain ":/", or if s itself is an existing file.
//
// FILE may be a URL with the scheme http, https or s3. It is split at the first ":/" after the
// host. A URL that contains ":/" itself must encode it as "%3A/".
//
// It returns ndarray.ErrParam for an empty file name.
func Parse(s string) (Location, error) {
	l := Location{File: s}
	if at := splitAt(s); at >= 0 {
		l = Location{File: s[:at], Object: s[at+1:]}
	}
	if l.File == "" {
		return Location{}, ndarray.Wrap("parse location", s, fmt.Errorf("%w: no file name", ndarray.ErrParam))
	}
	return l, nil
}

// splitAt returns the index of the colon, or -1.
func splitAt(s string) int {
	if urlfile.IsURL(s) {
		host := strings.Index(s, "://") + len("://")
		if at := strings.Index(s[host:], ":/"); at >= 0 {
			return host + at
		}
		return -1
	}
	if regularfile.Exists(s) {
		return -1
	}
	last := strings.LastIndex(s, ":/")
	for at := last; at >= 0; at = strings.LastIndex(s[:at], ":/") {
		if regularfile.Exists(s[:at]) {
			return at
		}
	}
	return last
}
