// Tests of commands that read URLs.

package cli_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

func TestRun_url(t *testing.T) {
	dir := t.TempDir()
	b, err := os.ReadFile("../../../../testdata/etopo120.h5")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "e.h5"), b, 0o600))
	create[int32](t, dir+"/a.b2nd", ndarray.Spec{Shape: []int64{3}}, []int32{1, 2, 3})
	for _, args := range [][]string{{dir + "/e.h5", dir + "/e.b2z"}, {dir + "/e.h5", dir + "/e.b2e"}, {dir + "/a.b2nd", dir + "/dir.b2nd", "--sparse"}, {dir + "/a.b2nd", dir + "/a.bcolz"}} {
		_, stderr, code := run(append([]string{"convert", "--exclude-unsupported"}, args...)...)
		require.Zero(t, code, stderr)
	}
	s := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer s.Close()
	out := t.TempDir()
	for _, args := range [][]string{
		{"ls", "-r", "@/e.h5"}, {"ls", "@/a.b2nd"}, {"tree", "@/e.h5"}, {"info", "@/e.h5:/ROSE"}, {"info", "@/a.b2nd"}, {"info", "--storage", "@/e.h5"},
		{"dump", "@/e.h5:/ROSE[0, 0:3]"}, {"dump", "@/a.b2nd"}, {"dump", "--untrusted", "@/a.b2nd"}, {"dump", "--ddl", "--header", "@/e.h5"},
		{"stats", "@/e.h5:/ROSE"}, {"chunks", "@/a.b2nd"}, {"chunks", "@/e.h5:/ROSE"}, {"explain", "-L", "1", "@/e.h5"},
		{"chunks", "@/dir.b2nd"}, {"chunks", "@/e.b2z:/ROSE"}, {"chunks", "@/e.b2e:/ROSE"}, {"explain", "@/e.b2z:/ROSE"}, {"explain", "@/e.b2e:/ROSE"}, {"explain", "@/a.b2nd"}, {"explain", "@/e.b2e"},
		{"explain", "@/dir.b2nd"}, {"explain", "@/dir.b2nd", "--as", "frame"}, {"explain", "@/dir.b2nd/chunks.b2frame"}, {"explain", "@/dir.b2nd/00000000.chunk"},
		{"explain", "@/a.bcolz"}, {"chunks", "@/a.bcolz"}, {"info", "@/a.bcolz"}, {"explain", "@/none.b2nd"},
		{"verify", "@/e.h5"}, {"verify", "@/a.b2nd"}, {"scan", "@/e.h5"}, {"attr", "list", "@/e.h5:/ROSE"}, {"plot", "@/e.h5:/ROSE"},
		{"diff", "@/e.h5", dir + "/e.h5"}, {"diff", "@/a.b2nd", dir + "/a.b2nd"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			at := func(base string) []string {
				list := append([]string{}, args...)
				for i := range list {
					list[i] = strings.ReplaceAll(list[i], "@", base)
				}
				return append(list, "--allow-private")
			}
			want, _, code := run(at(dir)...)
			got, stderr, gotCode := run(at(s.URL)...)
			require.Equal(t, code, gotCode, stderr)
			// Normalize spaces and lines, because the widths of tables depend on the length of the
			// location.
			shape := func(text, base string) string {
				return strings.Join(strings.Fields(strings.ReplaceAll(strings.ReplaceAll(text, base, "@"), "─", "")), " ")
			}
			require.Equal(t, shape(want, dir), shape(got, s.URL))
		})
	}
	for _, args := range [][]string{{"convert", s.URL + "/e.h5:/ETOPO120X", out + "/x.b2nd"}, {"convert", s.URL + "/e.h5", out + "/tree.h5"}, {"repack", s.URL + "/e.h5", out + "/r.h5"}, {"cp", s.URL + "/e.h5:/ETOPO120X", out + "/c.h5:/x"}} {
		t.Run("output of "+args[0], func(t *testing.T) {
			_, stderr, code := run(append(args, "--allow-private", "--io-stats")...)
			require.Zero(t, code, stderr)
			require.Contains(t, stderr, " io: ")
			file, _, _ := strings.Cut(args[2], ":")
			_, stderr, code = run("verify", file)
			require.Zero(t, code, stderr)
		})
	}
	for _, args := range [][]string{{"verify", "@/dir.b2nd"}, {"info", "--storage", "@/dir.b2nd"}, {"scan", "@/a.bcolz"}, {"repack", "@/a.bcolz", out + "/r.bcolz"}} {
		t.Run("local copy of a directory by "+args[0], func(t *testing.T) {
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "@", s.URL)
			}
			_, stderr, code := run(append(args, "--allow-private")...)
			require.Equal(t, 2, code)
			require.Contains(t, stderr, "unsupported operation")
			require.Contains(t, stderr, "HTTP cannot list its files")
		})
	}
	t.Run("object without validators", func(t *testing.T) {
		plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, err := os.ReadFile(filepath.Join(dir, r.URL.Path))
			if err != nil {
				http.NotFound(w, r)
				return
			}
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
		}))
		defer plain.Close()
		for _, args := range [][]string{{"ls", "-r", "@/e.h5"}, {"stats", "@/e.h5:/ROSE"}, {"diff", "@/e.h5", "@/e.h5"}, {"index", "@/e.h5", "-o", out + "/e.index"}, {"verify", "@/e.h5"}, {"dump", "@/dir.b2nd"}, {"convert", "@/e.h5", out + "/unverified.h5"}} {
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "@", plain.URL)
			}
			_, stderr, code := run(append(args, "--allow-private", "--io-stats")...)
			require.Zero(t, code, stderr)
			require.Equal(t, 1, strings.Count(stderr, "warning: "), stderr)
			require.Contains(t, stderr, "changes of the object cannot be detected: the server sends neither an ETag nor a modification time")
			if args[0] != "index" { // which has a client of its own
				require.Contains(t, stderr, ", 1 objects whose changes cannot be detected")
			}
		}
	})
	t.Run("private address", func(t *testing.T) {
		_, stderr, code := run("ls", s.URL+"/e.h5")
		require.Equal(t, 2, code)
		require.Contains(t, stderr, "private address 127.0.0.1")
		require.Contains(t, stderr, "--allow-private")
	})
	t.Run("credentials", func(t *testing.T) {
		_, stderr, code := run("ls", "https://user:secret@localhost/e.h5?sig=secret")
		require.Equal(t, 2, code)
		require.NotContains(t, stderr, "secret")
	})
	t.Run("target", func(t *testing.T) {
		_, _, code := run("convert", dir+"/a.b2nd", s.URL+"/new.b2nd", "--allow-private")
		require.Equal(t, 2, code)
	})
}

// TestRun_netrc reads from a server that asks for a password.
func TestRun_netrc(t *testing.T) {
	dir := t.TempDir()
	create[int32](t, dir+"/a.b2nd", ndarray.Spec{Shape: []int64{3}}, []int32{1, 2, 3})
	files := http.FileServer(http.Dir(dir))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, ok := r.BasicAuth(); !ok || user != "me" || password != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		files.ServeHTTP(w, r)
	}))
	defer s.Close()
	netrc := filepath.Join(t.TempDir(), "netrc")
	t.Setenv("NETRC", netrc)
	dump := func() (stdout, stderr string, code int) { return run("dump", "--allow-private", s.URL+"/a.b2nd") }
	_, stderr, code := dump()
	require.NotZero(t, code)
	require.Contains(t, stderr, "status 401")
	require.NoError(t, os.WriteFile(netrc, []byte("machine 127.0.0.1 login me password secret\n"), 0o600))
	stdout, stderr, code := dump()
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "1 2 3")
	require.NoError(t, os.WriteFile(netrc, []byte("machine 127.0.0.1 login me passwort secret\n"), 0o600))
	_, stderr, code = dump()
	require.NotZero(t, code)
	require.Contains(t, stderr, "netrc: line 1")
	require.NotContains(t, stderr, "secret")
	_, stderr, code = run("dump", dir+"/a.b2nd")
	require.Zero(t, code, stderr)
}
