// Tests of the limits for slow, idle and trickling clients.

package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	memory "github.com/hyperslab/hyperslab/internal/chunked/budget"
	"github.com/hyperslab/hyperslab/ndarray"
)

const testToken = "a token of this test"

// served starts a server for one array of 4 Mi elements of 8 bytes, and returns its address.
func served(t *testing.T, o *Options, most int) (h *Handler, address string) {
	t.Helper()
	dir := t.TempDir()
	spec := ndarray.Spec{Shape: []int64{4 << 20}, ChunkShape: []int64{1 << 18}, DType: ndarray.DTypeOf[float64]()}
	d, err := hyperslab.Create(t.Context(), filepath.Join(dir, "a.b2nd"), spec, nil)
	require.NoError(t, err)
	require.NoError(t, d.Commit(t.Context()))
	require.NoError(t, d.Close())
	o.Token = testToken
	h, err = New(dir, o)
	require.NoError(t, err)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.serve(ctx, l, newConnections(most, most)) }()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		require.NoError(t, h.Close())
	})
	return h, l.Addr().String()
}

// dial opens a connection with a small buffer and sends a request, unless selection is "".
func dial(t *testing.T, address, token, selection string) net.Conn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() }) // the server may have closed it
	require.NoError(t, c.(*net.TCPConn).SetReadBuffer(4096))
	if selection != "" {
		_, err = fmt.Fprintf(c, "GET /data?file=a.b2nd&path=/a&format=bin&selection=%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", selection, token)
		require.NoError(t, err)
	}
	return c
}

// status reads the head of a response.
func status(t *testing.T, c net.Conn) int {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	return r.StatusCode
}

// TestHandler_slowReaders requests a small response while 64 clients have requested large ones that
// they do not read. Other large requests must wait, and the small one must not.
func TestHandler_slowReaders(t *testing.T) {
	for name, cache := range map[string]int64{"cached": 64 << 20, "not cached": 1} {
		t.Run(name, func(t *testing.T) {
			h, address := served(t, &Options{MaxBytes: 32 << 20, Memory: 96 << 20, Cache: cache}, 512)
			whole := 4 << 20
			if cache > 1 {
				whole = 512 << 10 // a response of 4 MiB, which the cache keeps
			}
			for i := range 64 {
				dial(t, address, testToken, fmt.Sprintf("%d:%d", i, whole))
			}
			require.Eventually(t, func() bool { return cache > 1 || h.memory.waiting.Load() > 0 }, 30*time.Second, time.Millisecond)
			longest := time.Duration(0)
			for range 8 {
				start := time.Now()
				require.Equal(t, 200, status(t, dial(t, address, testToken, "0:10")))
				longest = max(longest, time.Since(start))
			}
			t.Logf("at most %v for a small request", longest)
			h.cache.mu.Lock()
			defer h.cache.mu.Unlock()
			require.LessOrEqual(t, h.cache.used, h.options.Memory/4)
		})
	}
}

// askFor requests a selection of the array of served.
func askFor(t *testing.T, h *Handler, selection string) {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/data?file=a.b2nd&path=/a&format=bin&selection="+selection, nil)
	r.Header.Set("Authorization", "Bearer "+testToken)
	h.ServeHTTP(w, r)
	require.Equal(t, 200, w.Code, w.Body)
}

// TestHandler_cacheMemory checks that cached responses are part of the memory: a request takes it
// back, and a response that is sent and cached is counted once.
func TestHandler_cacheMemory(t *testing.T) {
	h, _ := served(t, &Options{MaxBytes: 8 << 20, Memory: 16 << 20}, 4)
	free := func() int64 {
		n := int64(0)
		for step := h.memory.common; step > 0; step /= 2 {
			for h.memory.large.TryAcquire(step) {
				n += step
			}
		}
		h.memory.large.Release(n)
		return n
	}
	const body = 8 * 100 << 10
	for i := range 3 {
		askFor(t, h, fmt.Sprintf("%d:%d", i, i+100<<10))
	}
	require.EqualValues(t, h.memory.common-3*body, free(), "three responses are cached")
	askFor(t, h, "0:102400")
	require.EqualValues(t, h.memory.common-3*body, free(), "one of them was sent again")
	s, err := h.memory.take(t.Context(), h.memory.common)
	require.NoError(t, err)
	require.Zero(t, h.cache.used, "a request needed their memory")
	s.release()
	require.Equal(t, h.memory.common, free())
}

// TestHandler_processMemory checks that responses and decoded chunks count in the memory of the
// process, that a read which waits gets their place, and that Close returns all of it.
func TestHandler_processMemory(t *testing.T) {
	const chunk = 8 << 18
	previous := memory.SetLimit(6 * chunk)
	defer memory.SetLimit(previous)
	before, _ := memory.Held()
	held := func() int64 {
		now, _ := memory.Held()
		return now - before
	}
	h, _ := served(t, &Options{MaxBytes: 8 << 20, Memory: 16 << 20, Untrusted: hyperslab.Untrusted{InProcess: true}}, 4)
	const body = 8 * 100 << 10
	askFor(t, h, "0:102400")
	require.EqualValues(t, body+chunk, held(), "a cached response and the chunk of its elements")
	askFor(t, h, "1:102401")
	require.EqualValues(t, 2*body+chunk, held(), "another response from the same chunk")
	read, err := memory.Acquire(t.Context(), 6*chunk)
	require.NoError(t, err)
	require.EqualValues(t, 6*chunk, held(), "the read has their place")
	askFor(t, h, "2:102402")
	require.EqualValues(t, 6*chunk+body, held(), "a response does not wait, and the chunk is not cached")
	read.Release()
	require.NoError(t, h.Close())
	require.Zero(t, held())
}

// A trickle is a client that takes each write as long as the server allows.
type trickle struct {
	http.ResponseWriter
	pause    time.Duration
	deadline time.Time
}

func (w *trickle) SetWriteDeadline(t time.Time) error { w.deadline = t; return nil }

var errLate = errors.New("deadline exceeded")

func (w *trickle) Write(b []byte) (int, error) {
	time.Sleep(min(w.pause, time.Until(w.deadline)))
	if !time.Now().Before(w.deadline) {
		return 0, errLate
	}
	return len(b), nil
}

// TestWriter_rate checks that a client cannot extend its time by receiving a little.
func TestWriter_rate(t *testing.T) {
	for _, tc := range []struct {
		name     string
		pause    time.Duration // for 32 KiB
		complete bool
		most     time.Duration
	}{
		{"fast", time.Millisecond, true, time.Second},
		{"64 KiB per second", 500 * time.Millisecond, true, 129 * time.Second},
		{"trickle", 59 * time.Second, false, 61 * time.Second},
		{"no reading", time.Hour, false, 61 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &writer{ResponseWriter: &trickle{ResponseWriter: httptest.NewRecorder(), pause: tc.pause}, timeout: time.Minute}
				start := time.Now()
				_, err := w.Write(make([]byte, 8<<20))
				require.Equal(t, tc.complete, err == nil, "%v", err)
				require.LessOrEqual(t, time.Since(start), tc.most)
			})
		})
	}
}

// TestHandler_Serve_connections checks that connections that send no request, or none with a token,
// do not stop the server.
func TestHandler_Serve_connections(t *testing.T) {
	const most = 16
	_, address := served(t, &Options{}, most)
	t.Run("without a request", func(t *testing.T) {
		for range 4 * most {
			dial(t, address, "", "")
		}
		require.Equal(t, 200, status(t, dial(t, address, testToken, "0:10")))
	})
	t.Run("part of a request", func(t *testing.T) {
		for range 4 * most {
			_, err := io.WriteString(dial(t, address, "", ""), "GET /data?")
			require.NoError(t, err)
		}
		require.Equal(t, 200, status(t, dial(t, address, testToken, "0:10")))
	})
	t.Run("without a token", func(t *testing.T) {
		for range 4 * most {
			require.Equal(t, 401, status(t, dial(t, address, "another", "0:10")))
		}
		require.Equal(t, 200, status(t, dial(t, address, testToken, "0:10")))
	})
	t.Run("idle", func(t *testing.T) {
		for range 4 * most {
			require.Equal(t, 200, status(t, dial(t, address, testToken, "0:10")))
		}
	})
}

// otherConn is a connection of a client on another machine.
type otherConn struct {
	net.Conn
	from   string
	closed bool
}

func (c *otherConn) RemoteAddr() net.Addr {
	a, _ := net.ResolveTCPAddr("tcp", c.from)
	return a
}
func (c *otherConn) Close() error { c.closed = true; return nil }

// TestConnections_add checks the limit for one client, and that connections with an admitted
// request stay open.
func TestConnections_add(t *testing.T) {
	c := newConnections(8, 3)
	open := func(from string) *otherConn {
		x := &otherConn{from: from}
		require.True(t, c.add(x))
		return x
	}
	serve := func(x *otherConn) { c.admitted(x.from) }
	var first []*otherConn
	for i := range 3 {
		first = append(first, open("192.0.2.1:"+strconv.Itoa(1000+i)))
	}
	other := open("192.0.2.2:1000")
	open("192.0.2.1:2000")
	require.True(t, first[0].closed, "the oldest one of the client")
	require.False(t, other.closed)

	serve(first[1])
	serve(first[2])
	fourth := open("192.0.2.1:2001") // replaces the one at port 2000
	serve(fourth)
	require.False(t, c.add(&otherConn{from: "192.0.2.1:2002"}), "all connections of the client send responses")
	require.False(t, first[1].closed || first[2].closed || fourth.closed)

	c.changed(first[1], http.StateIdle)
	open("192.0.2.1:2003")
	require.True(t, first[1].closed)
	for i := range 8 { // a proxy on this machine has no limit of its own
		serve(open("127.0.0.1:" + strconv.Itoa(3000+i)))
		if len(c.open) == 8 {
			break
		}
	}
	wait := make(chan bool)
	for range 2 { // the connections of 192.0.2.2 and port 2003, which have no requests
		open("127.0.0.1:4000")
	}
	require.True(t, other.closed)
	for conn := range c.open {
		serve(conn.(*otherConn))
	}
	go func() { wait <- c.add(&otherConn{from: "127.0.0.1:5000"}) }()
	select {
	case <-wait:
		t.Fatal("a connection above the limit")
	case <-time.After(10 * time.Millisecond):
	}
	c.changed(fourth, http.StateClosed)
	require.True(t, <-wait)
	c.close()
	require.False(t, c.add(&otherConn{from: "127.0.0.1:5001"}), "the listener is closed")
}
