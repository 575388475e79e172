// HTTP server with latency and a bandwidth limit.

package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// server serves the files of a directory. It delays each response by the latency of its link, and
// sends at most the rate of the link on all connections together.
type server struct {
	url      string
	requests atomic.Int64
	sent     atomic.Int64
	http     *http.Server

	mu   sync.Mutex
	link link
	free time.Time // when the line is free
}

func newServer(dir string) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{url: "http://" + l.Addr().String()}
	files := http.FileServer(http.Dir(dir))
	s.http = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		time.Sleep(s.current().latency)
		if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(path.Clean(r.URL.Path)))); err == nil {
			w.Header().Set("ETag", fmt.Sprintf(`"%x-%x"`, info.ModTime().UnixNano(), info.Size())) // as nginx and S3 do
		}
		if r.Method == http.MethodGet {
			w = &limited{w, s, r.Context()}
		}
		files.ServeHTTP(w, r)
	})}
	go func() { _ = s.http.Serve(l) }() // it returns after Close
	return s, nil
}

// use changes the link.
func (s *server) use(l link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.link = l
}

func (s *server) current() link {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.link
}

func (s *server) close() { _ = s.http.Close() }

// slack is the time that the line may catch up after a timer that fired late. Without it the server
// would send less than its rate.
const slack = 5 * time.Millisecond

// pass waits until n bytes have passed through the line.
func (s *server) pass(ctx context.Context, n int) error {
	s.mu.Lock()
	now := time.Now()
	if earliest := now.Add(-slack); s.free.Before(earliest) {
		s.free = earliest
	}
	s.free = s.free.Add(time.Duration(float64(n) / s.link.rate * 1e9))
	wait := s.free.Sub(now)
	s.mu.Unlock()
	s.sent.Add(int64(n))
	if wait <= 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// limited is a response through the line.
type limited struct {
	http.ResponseWriter
	s   *server
	ctx context.Context
}

// Write sends parts of 64 KiB, so that connections share the line.
func (w *limited) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		part := b[:min(len(b), 64<<10)]
		if err := w.s.pass(w.ctx, len(part)); err != nil {
			return n, err
		}
		m, err := w.ResponseWriter.Write(part)
		if n += m; err != nil {
			return n, err
		}
		b = b[m:]
	}
	return n, nil
}
