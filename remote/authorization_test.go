package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// seen records the requests of a server.
type seen struct {
	mu   sync.Mutex
	list []*http.Request
}

func (s *seen) add(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, r)
}

// readAll opens the object at a URL and reads its first 100 bytes.
func readAll(t *testing.T, o *Options, url string) error {
	c := NewClient(o)
	defer c.CloseIdle()
	x, err := c.Open(t.Context(), url)
	if err != nil {
		return err
	}
	_, err = x.ReadAt(make([]byte, 100), 0)
	return errors.Join(err, x.Close())
}

func TestOptions_Header(t *testing.T) {
	var here, there seen
	other := serve(t, content(1000))
	other.wrap = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		there.add(r)
		next.ServeHTTP(w, r)
	}
	s := serve(t, content(1000))
	s.wrap = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		here.add(r)
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, other.URL, http.StatusFound)
			return
		}
		next.ServeHTTP(w, r)
	}
	o := &Options{AllowPrivate: true, Header: http.Header{"x-key": {"secret"}, "User-Agent": {"mine"}, "Range": {"bytes=5-6"}}}
	require.NoError(t, readAll(t, o, s.URL))
	require.NoError(t, readAll(t, o, s.URL+"/moved"))
	require.NotEmpty(t, here.list)
	require.NotEmpty(t, there.list)
	for _, r := range here.list {
		require.Equal(t, []string{"secret"}, r.Header["X-Key"])
		require.Equal(t, "mine", r.UserAgent())
		require.NotEqual(t, "bytes=5-6", r.Header.Get("Range"))
	}
	for _, r := range there.list {
		require.Empty(t, r.Header["X-Key"])
	}
}

// TestOptions_Authorization reads from a server that sends readers without a session to a login
// server, as that of NASA Earthdata does.
func TestOptions_Authorization(t *testing.T) {
	var login *httptest.Server
	var at, atLogin seen
	s := serve(t, content(1000))
	s.wrap = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		at.add(r)
		if r.URL.Path == "/session" {
			http.SetCookie(w, &http.Cookie{Name: "session", Value: "1", Path: "/"})
			http.Redirect(w, r, "/file", http.StatusFound)
			return
		}
		if c, err := r.Cookie("session"); err != nil || c.Value != "1" {
			http.Redirect(w, r, login.URL+"/login", http.StatusFound)
			return
		}
		next.ServeHTTP(w, r)
	}
	login = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		atLogin.add(r)
		if r.Header.Get("Authorization") != "Basic me" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		http.Redirect(w, r, s.URL+"/session", http.StatusFound)
	}))
	t.Cleanup(login.Close)

	require.ErrorIs(t, readAll(t, &Options{AllowPrivate: true}, s.URL+"/file"), fs.ErrPermission)

	at.list, atLogin.list = nil, nil
	there, err := url.Parse(login.URL)
	require.NoError(t, err)
	authorization := func(_ context.Context, u *url.URL) (string, error) {
		if u.Host == there.Host {
			return "Basic me", nil
		}
		return "", nil
	}
	require.NoError(t, readAll(t, &Options{AllowPrivate: true, Authorization: authorization}, s.URL+"/file"))
	require.Len(t, atLogin.list, 1)
	for _, r := range at.list {
		require.Empty(t, r.Header.Get("Authorization"))
	}

	t.Run("token", func(t *testing.T) {
		var n int
		var tokens seen
		s := serve(t, content(5<<20))
		s.wrap = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			tokens.add(r)
			next.ServeHTTP(w, r)
		}
		var mu sync.Mutex
		require.NoError(t, readAll(t, &Options{AllowPrivate: true, Authorization: func(context.Context, *url.URL) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			n++
			return fmt.Sprintf("Bearer %d", n), nil
		}}, s.URL))
		require.Equal(t, "Bearer 1", tokens.list[0].Header.Get("Authorization"))
	})
	t.Run("error", func(t *testing.T) {
		expired := errors.New("expired")
		err := readAll(t, &Options{AllowPrivate: true, Retries: -1, Authorization: func(context.Context, *url.URL) (string, error) { return "", expired }}, s.URL)
		require.ErrorIs(t, err, expired)
	})
}

// trip is a transport.
type trip func(r *http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestOptions_Transport(t *testing.T) {
	s := serve(t, content(1000))
	var requests seen
	o := &Options{Transport: trip(func(r *http.Request) (*http.Response, error) {
		requests.add(r)
		return http.DefaultTransport.RoundTrip(r)
	})}
	require.NoError(t, readAll(t, o, s.URL))
	require.NotEmpty(t, requests.list)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

func TestNetrc(t *testing.T) {
	const text = `# a comment
machine data.example.org login me password "a b\"c" account 7
machine Two.example.org
	user you
	password p#1
macdef init
	cd /pub
	machine lost.example.org login x password y

machine data.example.org login late password late
machine 127.0.0.1 login local password l
machine only.example.org login name
default login anonymous password guest
`
	file := filepath.Join(t.TempDir(), "netrc")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	authorization, err := Netrc(file)
	require.NoError(t, err)
	for _, c := range []struct{ url, want string }{
		{"https://data.example.org/a", "Basic bWU6YSBiImM="},
		{"https://DATA.example.org:8443/a", "Basic bWU6YSBiImM="},
		{"http://data.example.org/a", ""},
		{"https://two.example.org", "Basic eW91OnAjMQ=="},
		{"http://127.0.0.1:80/", "Basic bG9jYWw6bA=="},
		{"https://only.example.org", "Basic bmFtZTo="},
		{"https://lost.example.org", ""},
		{"https://other.example.org", ""},
		{"https://example.org", ""},
	} {
		u, err := url.Parse(c.url)
		require.NoError(t, err)
		got, err := authorization(t.Context(), u)
		require.NoError(t, err)
		require.Equal(t, c.want, got, c.url)
	}
	t.Run("python", func(t *testing.T) {
		out := testutil.Python(t, nil, "-c", `
import netrc, sys
for host, (user, _, password) in sorted(netrc.netrc(sys.argv[1]).hosts.items()):
    print(host.lower(), user, password)`, file)
		// Python uses the last entry of a host, and curl and git use the first.
		require.Equal(t, []string{
			"127.0.0.1 local l", "two.example.org you p#1", "data.example.org late late", "default anonymous guest", "only.example.org name",
		}, strings.Split(out, "\n"))
	})
	t.Run("errors", func(t *testing.T) {
		_, err := Netrc(filepath.Join(t.TempDir(), "absent"))
		require.ErrorIs(t, err, fs.ErrNotExist)
		for bad, want := range map[string]string{
			"machine":                          "line 1: machine without a value",
			"machine a login":                  "line 1: login without a value",
			"machine a\nlogin b\nsecret c":     "line 3: got an unknown word",
			"login b password c":               "line 1: got an unknown word",
			"machine a\nlogin b:secret":        "line 2: a colon in a user name",
			"machine a login b password \"sec": "",
		} {
			file := filepath.Join(t.TempDir(), "bad")
			require.NoError(t, os.WriteFile(file, []byte(bad), 0o600))
			_, err := Netrc(file)
			if want == "" {
				require.NoError(t, err)
				continue
			}
			require.ErrorContains(t, err, want)
			require.NotContains(t, err.Error(), "secret")
		}
	})
	t.Run("home", func(t *testing.T) {
		t.Setenv("NETRC", filepath.Join(t.TempDir(), "absent"))
		authorization, err := Netrc("")
		require.NoError(t, err)
		got, err := authorization(t.Context(), &url.URL{Scheme: "https", Host: "data.example.org"})
		require.NoError(t, err)
		require.Empty(t, got)
		t.Setenv("NETRC", file)
		authorization, err = Netrc("")
		require.NoError(t, err)
		got, err = authorization(t.Context(), &url.URL{Scheme: "https", Host: "data.example.org"})
		require.NoError(t, err)
		require.NotEmpty(t, got)
	})
}
