// Files at URLs.

package filetest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/hyperslab/hyperslab/remote"
)

// Serve serves a directory over HTTP until the end of the test, and returns its URL. The test must
// have set remote.DefaultClient to one with AllowPrivate.
func Serve(t testing.TB, dir string) string {
	s := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(func() {
		remote.DefaultClient.CloseIdle()
		s.Close()
	})
	return s.URL
}
