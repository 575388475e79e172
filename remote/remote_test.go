package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/chunked/readahead"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// content returns n random bytes.
func content(n int) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// server is an HTTP server of one object. If wrap is set, it handles the requests.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	body     []byte
	tag      string
	wrap     func(w http.ResponseWriter, r *http.Request, next http.Handler)
	requests atomic.Int64
	most     atomic.Int64 // maximum number of requests at the same time
	now      atomic.Int64
}

func serve(t *testing.T, body []byte) *server {
	s := &server{body: body, tag: `"v1"`}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		s.most.Store(max(s.most.Load(), s.now.Add(1)))
		defer s.now.Add(-1)
		s.mu.Lock()
		body, tag, wrap := s.body, s.tag, s.wrap
		s.mu.Unlock()
		next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if tag != "" {
				w.Header().Set("ETag", tag)
			}
			http.ServeContent(w, r, "", time.Unix(1e9, 0), bytes.NewReader(body))
		})
		if wrap != nil {
			wrap(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// set changes the server under its lock, so that it is safe between requests.
func (s *server) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// local returns a client that can access a server on this machine.
func local(t *testing.T, change ...func(*Options)) *Client {
	o := &Options{AllowPrivate: true, Timeout: 5 * time.Second}
	for _, f := range change {
		f(o)
	}
	c := NewClient(o)
	t.Cleanup(c.CloseIdle)
	return c
}

func open(t *testing.T, c *Client, url string) *Object {
	t.Helper()
	o, err := c.Open(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, o.Close()) })
	return o
}

func TestObject_ReadAt(t *testing.T) {
	body := content(5<<20 + 123)
	s := serve(t, body)
	c := local(t)
	o := open(t, c, s.URL+"/x")
	require.Equal(t, int64(len(body)), o.Size())
	require.Equal(t, `"v1"`, o.ETag())
	require.Equal(t, int64(1), o.count.stats().Requests)
	for _, r := range [][2]int{{0, 10}, {65530, 20}, {len(body) - 7, 7}, {1 << 20, 3 << 20}, {0, len(body)}, {200_000, 0}} {
		p := make([]byte, r[1])
		n, err := o.ReadAt(p, int64(r[0]))
		require.NoError(t, err)
		require.Equal(t, r[1], n)
		require.True(t, bytes.Equal(body[r[0]:r[0]+r[1]], p), r)
	}
	t.Run("end of the object", func(t *testing.T) {
		p := make([]byte, 10)
		n, err := o.ReadAt(p, int64(len(body))-4)
		require.Equal(t, 4, n)
		require.Equal(t, io.EOF, err)
		_, err = o.ReadAt(p, int64(len(body)))
		require.Equal(t, io.EOF, err)
		_, err = o.ReadAt(p, -1)
		require.Error(t, err)
	})
	t.Run("second handle without requests", func(t *testing.T) {
		before := s.requests.Load()
		o := open(t, c, s.URL+"/x")
		all, err := io.ReadAll(io.NewSectionReader(o, 0, o.Size()))
		require.NoError(t, err)
		require.True(t, bytes.Equal(body, all))
		require.Equal(t, before, s.requests.Load())
		require.Positive(t, o.count.stats().Hits)
	})
	t.Run("sequential read", func(t *testing.T) {
		c := local(t)
		o := open(t, c, s.URL+"/x")
		before := s.requests.Load()
		all, err := io.ReadAll(io.NewSectionReader(o, 0, o.Size()))
		require.NoError(t, err)
		require.True(t, bytes.Equal(body, all))
		require.Less(t, s.requests.Load()-before, int64(10))
		require.Equal(t, int64(len(body)), o.count.stats().Bytes) // each byte once
	})
	t.Run("empty object", func(t *testing.T) {
		o := open(t, local(t), serve(t, nil).URL)
		require.Zero(t, o.Size())
		_, err := o.ReadAt(make([]byte, 1), 0)
		require.Equal(t, io.EOF, err)
	})
	t.Run("object of one request", func(t *testing.T) {
		o := open(t, local(t), serve(t, content(100)).URL)
		require.Equal(t, int64(100), o.Size())
	})
}

func TestObject_ReadAt_concurrent(t *testing.T) {
	body := content(4 << 20)
	s := serve(t, body)
	c := local(t, func(o *Options) { o.Cache = 1 })
	var all sync.WaitGroup
	for g := range 16 {
		all.Go(func() {
			o, err := c.Open(context.Background(), s.URL)
			if err != nil {
				t.Error(err)
				return
			}
			defer o.Close()
			r := rand.New(rand.NewPCG(2, uint64(g)))
			p := make([]byte, 300_000)
			for range 20 {
				at := r.Int64N(int64(len(body) - len(p)))
				if _, err := o.ReadAt(p, at); err != nil || !bytes.Equal(p, body[at:at+int64(len(p))]) {
					t.Error("wrong bytes", at, err)
				}
			}
		})
	}
	all.Wait()
	require.Less(t, s.requests.Load(), int64(100)) // 320 reads of 5 blocks each
}

func TestObject_Prefetch(t *testing.T) {
	body := content(40 << 20)
	s := serve(t, body)
	s.wrap = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		time.Sleep(20 * time.Millisecond)
		next.ServeHTTP(w, r)
	}
	t.Run("parallel and merged", func(t *testing.T) {
		c := local(t)
		o := open(t, c, s.URL)
		before := s.requests.Load()
		var ranges [][2]int64
		for at := int64(1 << 20); at < 40<<20; at += 4 << 20 { // 10 pairs of neighboring ranges
			ranges = append(ranges, [2]int64{at, 100_000}, [2]int64{at + 110_000, 50_000})
		}
		stop := o.Prefetch(t.Context(), readahead.List(ranges))
		for _, r := range ranges {
			p := make([]byte, r[1])
			_, err := o.ReadAt(p, r[0])
			require.NoError(t, err)
			require.True(t, bytes.Equal(p, body[r[0]:r[0]+r[1]]))
		}
		stop()
		require.Equal(t, int64(10), s.requests.Load()-before)
		require.Greater(t, s.most.Load(), int64(4))
	})
	t.Run("bounded by the cache", func(t *testing.T) {
		c := local(t, func(o *Options) { o.Cache = 16 << 20 })
		o := open(t, c, s.URL+"/other")
		stop := o.Prefetch(t.Context(), readahead.List([][2]int64{{0, int64(len(body))}}))
		time.Sleep(300 * time.Millisecond)
		require.LessOrEqual(t, o.count.stats().Bytes, int64(4<<20+firstRead))
		all, err := io.ReadAll(io.NewSectionReader(o, 0, o.Size()))
		require.NoError(t, err)
		require.True(t, bytes.Equal(body, all))
		stop()
		c.cache.mu.Lock()
		defer c.cache.mu.Unlock()
		require.LessOrEqual(t, c.cache.bytes, int64(16<<20))
	})
	t.Run("at most Parallel requests", func(t *testing.T) {
		s.most.Store(0)
		c := local(t, func(o *Options) { o.Parallel = 3 })
		o := open(t, c, s.URL+"/third")
		p := make([]byte, len(body))
		_, err := o.ReadAt(p, 0)
		require.NoError(t, err)
		require.True(t, bytes.Equal(body, p))
		require.LessOrEqual(t, s.most.Load(), int64(3))
	})
}

func TestClient_Open_errors(t *testing.T) {
	s := serve(t, content(100))
	answer := func(f http.HandlerFunc) string {
		s := httptest.NewServer(f)
		t.Cleanup(s.Close)
		return s.URL + "/x?secret=1"
	}
	large := serve(t, content(2<<20)).URL
	for name, x := range map[string]struct {
		url  string
		want error
	}{
		"missing object":    {answer(http.NotFound), fs.ErrNotExist},
		"no permission":     {answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }), fs.ErrPermission},
		"server error":      {answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(501) }), ErrResponse},
		"no range requests": {answer(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1<<20)) }), ErrResponse},
		"wrong range":       {answer(ranged("bytes 5-104/1000", 100)), ErrResponse},
		"invalid range":     {answer(ranged("bytes 0-99/99", 100)), ErrResponse},
		"encoded content": {answer(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(make([]byte, 9))
		}), ErrResponse},
		"redirect to a file":        {answer(redirect("file:///etc/passwd")), ErrRefused},
		"endless redirects":         {answer(redirect("/x")), ErrRefused},
		"redirect with credentials": {answer(redirect("http://user:secret@localhost/")), ErrRefused},
		"size above the limit":      {large, ErrLimit},
		"credentials":               {strings.Replace(s.URL, "://", "://user:secret@", 1), ErrRefused},
		"scheme":                    {"file:///etc/passwd", ErrRefused},
		"no host":                   {"http:///x", ErrRefused},
		"invalid URL":               {"http://secret\x7f@[::1/x", ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			c := local(t, func(o *Options) { o.MaxSize, o.Retries = 1<<20, -1 })
			_, err := c.Open(t.Context(), x.url)
			require.ErrorIs(t, err, x.want)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

// ranged returns a handler that sends n bytes with the given Content-Range header.
func ranged(text string, n int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Range", text)
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(make([]byte, n))
	}
}

func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	}
}

func TestClient_Open_private(t *testing.T) {
	s := serve(t, content(100))
	port := s.URL[strings.LastIndex(s.URL, ":"):]
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "127.1"} {
		t.Run(host, func(t *testing.T) {
			c := NewClient(&Options{Retries: -1})
			_, err := c.Open(t.Context(), "http://"+host+port)
			if host == "127.1" { // some resolvers do not support this form
				require.Error(t, err)
				return
			}
			require.ErrorIs(t, err, ErrRefused)
		})
	}
	require.Zero(t, s.requests.Load())
	for _, x := range []string{"10.1.2.3", "192.168.0.1", "172.16.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "::1", "::", "fe80::1", "fd00::1", "64:ff9b::7f00:1", "2002:7f00:1::", "224.0.0.1", "255.255.255.255",
		"::127.0.0.1", "::ffff:0:127.0.0.1", "::ffff:0:8.8.8.8", "::8.8.8.8", "64:ff9b:1::101:101", "168.63.129.16", "::ffff:168.63.129.16", "2002:a83f:8110::", "64:ff9b::a83f:8110",
		"192.88.99.1", "2001::1", "2001:10::1", "2001:db8::1", "3fff::1", "5f00::1", "100::1", "fec0::1", "fe80::1%eth0", "ff02::1", "fd00:ec2::254", "100.100.100.200", "192.0.0.192"} {
		require.True(t, private(netip.MustParseAddr(x)), x)
	}
	for _, x := range []string{"1.1.1.1", "52.216.1.1", "2606:4700::1111", "2001:4860:4860::8888", "2400:cb00::1", "64:ff9b::101:101", "2002:101:101::", "168.63.129.17"} {
		require.False(t, private(netip.MustParseAddr(x)), x)
	}
}

// TestClient_Open_proxy runs itself with a proxy in the environment, which net/http reads once.
func TestClient_Open_proxy(t *testing.T) {
	body := content(1 << 20)
	if os.Getenv("HYPERSLAB_TEST_PROXY") != "" {
		c := NewClient(nil)
		defer c.CloseIdle()
		o := open(t, c, "http://data.example/x")
		got := make([]byte, len(body))
		_, err := o.ReadAt(got, 0)
		require.NoError(t, err)
		require.True(t, bytes.Equal(body, got))
		_, err = c.Open(t.Context(), "http://10.1.2.3/x")
		require.ErrorIs(t, err, ErrRefused)
		return
	}
	var hosts sync.Map
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hosts.Store(r.URL.Host, true)
		http.ServeContent(w, r, "x", time.Unix(1, 0), bytes.NewReader(body))
	}))
	defer proxy.Close()
	cmd := testenv.Self("-test.run=^TestClient_Open_proxy$", "-test.count=1")
	cmd.Env = append(os.Environ(), "HYPERSLAB_TEST_PROXY=1", "HTTP_PROXY="+proxy.URL, "http_proxy=", "NO_PROXY=", "no_proxy=")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	_, asked := hosts.Load("data.example")
	require.True(t, asked)
	_, asked = hosts.Load("10.1.2.3")
	require.False(t, asked)
}

func TestObject_ReadAt_faults(t *testing.T) {
	body := content(2 << 20)
	at := int64(1 << 20) // outside the first request
	read := func(o *Object) error {
		p := make([]byte, 200_000)
		_, err := o.ReadAt(p, at)
		if err == nil && !bytes.Equal(p, body[at:at+200_000]) {
			return errors.New("wrong bytes")
		}
		return err
	}
	t.Run("transient errors", func(t *testing.T) {
		for name, fault := range map[string]http.HandlerFunc{
			"status 503": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) },
			"truncated body": func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("ETag", `"v1"`)
				w.Header().Set("Content-Range", fmt.Sprintf("%s/%d", strings.Replace(r.Header.Get("Range"), "=", " ", 1), len(body)))
				var first, last int
				_, _ = fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &first, &last)
				w.Header().Set("Content-Length", strconv.Itoa(last+1-first))
				w.WriteHeader(http.StatusPartialContent)
				_, _ = w.Write(body[first : first+10_000])
				panic(http.ErrAbortHandler)
			},
			"closed connection": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		} {
			t.Run(name, func(t *testing.T) {
				s := serve(t, body)
				o := open(t, local(t), s.URL)
				left := 2
				s.set(func() {
					s.wrap = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
						if left--; left >= 0 {
							fault(w, r)
							return
						}
						next.ServeHTTP(w, r)
					}
				})
				require.NoError(t, read(o))
				require.Positive(t, o.count.stats().Retries) // net/http repeats some requests itself
			})
			t.Run("always "+name, func(t *testing.T) {
				s := serve(t, body)
				o := open(t, local(t, func(o *Options) { o.Retries = 1 }), s.URL)
				s.set(func() { s.wrap = func(w http.ResponseWriter, r *http.Request, _ http.Handler) { fault(w, r) } })
				require.Error(t, read(o))
				require.Equal(t, int64(1), o.count.stats().Retries)
			})
		}
	})
	t.Run("slow body", func(t *testing.T) {
		s := serve(t, body)
		o := open(t, local(t, func(o *Options) { o.Timeout, o.Retries = 100*time.Millisecond, -1 }), s.URL)
		s.set(func() {
			s.wrap = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				next.ServeHTTP(&slow{w}, r)
			}
		})
		require.ErrorIs(t, read(o), errTimeout)
	})
	t.Run("no answer", func(t *testing.T) {
		s := serve(t, body)
		o := open(t, local(t, func(o *Options) { o.Timeout, o.Retries = 100*time.Millisecond, -1 }), s.URL)
		s.set(func() {
			s.wrap = func(_ http.ResponseWriter, r *http.Request, _ http.Handler) { <-r.Context().Done() }
		})
		require.Error(t, read(o))
	})
	for name, change := range map[string]func(*server){
		"changed ETag":   func(s *server) { s.tag = `"v2"` },
		"weak ETag":      func(s *server) { s.tag = `W/"v2"` },
		"removed ETag":   func(s *server) { s.tag = "" },
		"changed size":   func(s *server) { s.body = s.body[:len(s.body)-1] },
		"shorter object": func(s *server) { s.body = s.body[:10] },
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, body)
			c := local(t)
			o := open(t, c, s.URL)
			s.set(func() { change(s) })
			require.ErrorIs(t, read(o), ErrChanged)
			_, err := o.ReadAt(make([]byte, 1), 0) // also for blocks in the cache
			require.ErrorIs(t, err, ErrChanged)
			again := open(t, c, s.URL) // the new version
			require.Equal(t, int64(len(s.body)), again.Size())
		})
	}
	t.Run("deleted object", func(t *testing.T) {
		s := serve(t, body)
		o := open(t, local(t), s.URL)
		s.set(func() { s.wrap = func(w http.ResponseWriter, r *http.Request, _ http.Handler) { http.NotFound(w, r) } })
		require.ErrorIs(t, read(o), fs.ErrNotExist)
	})
	t.Run("wrong range", func(t *testing.T) {
		s := serve(t, body)
		o := open(t, local(t), s.URL)
		s.set(func() {
			s.wrap = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				r.Header.Set("Range", "bytes=7-262150")
				next.ServeHTTP(w, r)
			}
		})
		require.ErrorIs(t, read(o), ErrResponse)
	})
	t.Run("limit of requests", func(t *testing.T) {
		s := serve(t, body)
		o := open(t, local(t, func(o *Options) { o.MaxRequests = 1 }), s.URL)
		require.ErrorIs(t, read(o), ErrLimit)
	})
	t.Run("limit of bytes", func(t *testing.T) {
		s := serve(t, body)
		o := open(t, local(t, func(o *Options) { o.MaxBytes = firstRead + 1000 }), s.URL)
		require.ErrorIs(t, read(o), ErrLimit)
	})
	t.Run("limit of bytes in one packet", func(t *testing.T) {
		s := serve(t, body)
		o := open(t, local(t, func(o *Options) { o.MaxBytes = firstRead + 2 }), s.URL)
		for _, test := range []struct {
			n    int
			want error
		}{{2, nil}, {3, ErrLimit}} {
			o.count.bytes.Store(firstRead)
			whole := bytes.NewReader(make([]byte, test.n))
			_, err := io.ReadFull(&counted{t.Context(), whole, o}, make([]byte, test.n))
			require.ErrorIs(t, err, test.want)
		}
	})
	t.Run("closed handle", func(t *testing.T) {
		s := serve(t, body)
		o := open(t, local(t), s.URL)
		s.set(func() {
			s.wrap = func(_ http.ResponseWriter, r *http.Request, _ http.Handler) { <-r.Context().Done() }
		})
		go func() { time.Sleep(50 * time.Millisecond); _ = o.Close() }()
		require.ErrorIs(t, read(o), ErrClosed)
		require.ErrorIs(t, read(o), ErrClosed)
	})
}

// slow writes one byte and then waits.
type slow struct{ http.ResponseWriter }

func (w *slow) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p[:1])
	w.ResponseWriter.(http.Flusher).Flush()
	time.Sleep(150 * time.Millisecond)
	return n, err
}

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"file.h5":                        "file.h5",
		"https://h/x.h5":                 "https://h/x.h5",
		"https://u:p@h:1/x.h5:/a/b":      "https://...@h:1/x.h5:/a/b",
		"https://h/x.h5?sig=secret":      "https://h/x.h5?...",
		"https://h/x.h5?sig=secret:/a?b": "https://h/x.h5?...:/a?b",
		"s3://b/k":                       "s3://b/k",
	} {
		require.Equal(t, want, Redact(in), in)
	}
}

func TestClient_FS(t *testing.T) {
	s := httptest.NewServer(http.FileServerFS(mapFS{"d/a b": content(100_000)}.fs()))
	defer s.Close()
	c := local(t)
	f, err := c.FS(t.Context(), s.URL+"/d/")
	require.NoError(t, err)
	got, err := fs.ReadFile(f, "a b")
	require.NoError(t, err)
	require.True(t, bytes.Equal(content(100_000), got))
	_, err = fs.Stat(f, "none")
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = f.Open("../x")
	require.ErrorIs(t, err, fs.ErrInvalid)
}

// mapFS contains files by name.
type mapFS map[string][]byte

func (m mapFS) fs() fs.FS {
	f := fstest.MapFS{}
	for name, b := range m {
		f[name] = &fstest.MapFile{Data: b, ModTime: time.Unix(1e9, 0)}
	}
	return f
}
