// Locations: FILE, or FILE:/path inside it.

package formats

import (
	"fmt"
	"os"
	"strings"

	"github.com/hyperslab/hyperslab/ndarray"
)

// Location is where an array is.
type Location struct {
	File   string // file or directory
	Object string // path inside the file, "/a/b"; "" if none is named
}

// String is the form that ParseLocation reads.
func (l Location) String() string {
	if l.Object == "" {
		return l.File
	}
	return l.File + ":" + l.Object
}

// ParseLocation splits FILE:/path behind the longest FILE that exists, so that
// file names with ":/" in them work; if none exists, at the last ":/". Without
// ":/", or if all of s is a file that exists, there is no path.
//
// It returns ndarray.ErrParam for an empty file name.
func ParseLocation(s string) (Location, error) {
	l := Location{File: s}
	if at := splitAt(s); at >= 0 {
		l = Location{File: s[:at], Object: s[at+1:]}
	}
	if l.File == "" {
		return Location{}, ndarray.Wrap("parse location", s, fmt.Errorf("%w: no file name", ndarray.ErrParam))
	}
	return l, nil
}

// splitAt finds the colon, or -1.
func splitAt(s string) int {
	if exists(s) {
		return -1
	}
	last := strings.LastIndex(s, ":/")
	for at := last; at >= 0; at = strings.LastIndex(s[:at], ":/") {
		if exists(s[:at]) {
			return at
		}
	}
	return last
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
