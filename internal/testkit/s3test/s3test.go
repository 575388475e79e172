// Server and its environment.

package s3test

import (
	"bytes"
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// Server is a server with the bucket "data".
type Server struct {
	*httptest.Server
	memory *s3mem.Backend
	fake   http.Handler
	mu     sync.Mutex // held by conditional requests
}

// Start starts a server until the test ends, and sets the environment for it. wrap handles each
// request, usually by calling next, and may be nil.
func Start(t testing.TB, objects map[string][]byte, wrap func(w http.ResponseWriter, r *http.Request, next http.Handler)) *Server {
	t.Helper()
	memory := s3mem.New()
	if err := memory.CreateBucket("data"); err != nil {
		t.Fatal(err)
	}
	s := &Server{memory: memory, fake: gofakes3.New(memory, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()}
	for name, b := range objects {
		s.Put(t, name, b)
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if wrap != nil {
			wrap(w, r, http.HandlerFunc(s.serve))
		} else {
			s.serve(w, r)
		}
	}))
	t.Cleanup(s.Close)
	environment(t, s.URL, "token")
	return s
}

// environment sets the endpoint and the credentials of the program.
func environment(t testing.TB, url, token string) {
	empty := t.TempDir()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_S3": url, "AWS_ENDPOINT_URL": "", "AWS_PROFILE": "", "AWS_DEFAULT_PROFILE": "",
		"AWS_ACCESS_KEY_ID": "key", "AWS_ACCESS_KEY": "", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SECRET_KEY": "", "AWS_SESSION_TOKEN": token,
		"AWS_REGION": "eu-west-3", "AWS_CONFIG_FILE": filepath.Join(empty, "config"), "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(empty, "credentials"),
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_WEB_IDENTITY_TOKEN_FILE": "",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "", "AWS_CONTAINER_CREDENTIALS_FULL_URI": "",
	} {
		t.Setenv(name, value)
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("If-None-Match") == "*" {
		s.mu.Lock()
		defer s.mu.Unlock()
		head := httptest.NewRecorder()
		s.fake.ServeHTTP(head, httptest.NewRequest(http.MethodHead, r.URL.EscapedPath(), http.NoBody))
		if head.Code == http.StatusOK {
			w.WriteHeader(http.StatusPreconditionFailed)
			return
		}
	}
	s.fake.ServeHTTP(w, r)
}

// Put creates or replaces an object.
func (s *Server) Put(t testing.TB, key string, content []byte) {
	t.Helper()
	if _, err := s.memory.PutObject("data", key, map[string]string{}, bytes.NewReader(content), int64(len(content)), nil); err != nil {
		t.Fatal(err)
	}
}

// Delete removes an object.
func (s *Server) Delete(t testing.TB, key string) {
	t.Helper()
	if _, err := s.memory.DeleteObject("data", key); err != nil {
		t.Fatal(err)
	}
}

// Objects returns all objects of the bucket.
func (s *Server) Objects(t testing.TB) map[string][]byte {
	t.Helper()
	list, err := s.memory.ListBucket("data", nil, gofakes3.ListBucketPage{})
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string][]byte)
	for _, c := range list.Contents {
		o, err := s.memory.GetObject("data", c.Key, nil)
		if err != nil {
			t.Fatal(err)
		}
		if all[c.Key], err = io.ReadAll(o.Contents); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// Incomplete returns the number of uploads in parts that are not complete.
func (s *Server) Incomplete(t testing.TB) int {
	t.Helper()
	w := httptest.NewRecorder()
	s.fake.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/data?uploads", http.NoBody))
	var list struct {
		Upload []struct{ Key string }
	}
	if err := xml.Unmarshal(w.Body.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	return len(list.Upload)
}
