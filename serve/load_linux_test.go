package serve_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/serve"
)

// Clients of the load test, and the limits of each of them.
const (
	loadClients  = 200
	loadSlow     = 40 // read 8 KiB at a time, with pauses
	loadTrickle  = 20 // read large responses below the minimum rate, in addition
	loadIdle     = 100
	loadRequests = 20000
	loadMemory   = 1 << 30 // bytes of the process and its workers, clients included
)

// TestHandler_load sends requests of all routes from 200 clients, slow and fast, for the time in
// HYPERSLAB_LOAD. No request may fail, and the memory must stay below a limit and must not grow.
// Other clients send nothing, or receive less than the minimum rate and lose their connections.
func TestHandler_load(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("HYPERSLAB_LOAD"))
	if err != nil {
		t.Skip("NOT TESTED: HYPERSLAB_LOAD is not set to a time; scripts/web-test.sh sets it")
	}
	require.LessOrEqual(t, length, 15*time.Minute)
	dir := t.TempDir()
	cube := numbers([]int64{32, 200, 300}, []int64{4, 100, 100})
	write(t, filepath.Join(dir, "cube.h5")+":/a/cube", cube, nil)
	write(t, filepath.Join(dir, "cube.b2nd"), cube, nil)
	write(t, filepath.Join(dir, "cube.bcolz"), numbers([]int64{32, 200, 300}, nil), nil)
	_, err = copyTree(filepath.Join(dir, "tree.b2z"), filepath.Join(dir, "cube.h5"), nil)
	require.NoError(t, err)
	s := newServer(t, dir, &serve.Options{})
	s.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = loadClients

	ctx, cancel := context.WithTimeout(bg, length)
	defer cancel()
	var mu sync.Mutex
	var latencies []time.Duration // until the first byte
	failed := map[string]int{}
	var bytes int64
	var clients sync.WaitGroup
	for range loadIdle {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", s.Listener.Addr().String())
		require.NoError(t, err)
		defer c.Close()
	}
	for range loadTrickle {
		clients.Go(func() { loadSlowly(ctx, s) })
	}
	for n := range loadClients {
		slow := n < loadSlow
		clients.Go(func() {
			random := rand.New(rand.NewPCG(uint64(n), 1))
			var mine []time.Duration
			for range loadRequests {
				if ctx.Err() != nil {
					break
				}
				first, read, err := loadRequest(ctx, s.Client(), s.URL+loadTarget(random), slow)
				if err != nil {
					if ctx.Err() == nil {
						mu.Lock()
						failed[err.Error()]++
						mu.Unlock()
					}
					continue
				}
				mine = append(mine, first)
				mu.Lock()
				bytes += read
				mu.Unlock()
				pause(ctx, time.Duration(10+random.IntN(60))*time.Millisecond)
			}
			mu.Lock()
			defer mu.Unlock()
			latencies = append(latencies, mine...)
		})
	}
	done := make(chan struct{})
	go func() { clients.Wait(); close(done) }()
	var memory []int64
	for running := true; running; {
		select {
		case <-done:
			running = false
		case <-time.After(time.Second):
			memory = append(memory, resident(t))
		}
	}
	require.NotEmpty(t, latencies)
	require.Greater(t, len(memory), 2)
	slices.Sort(latencies)
	at := func(p float64) time.Duration {
		return latencies[int(p*float64(len(latencies)-1))].Round(time.Microsecond)
	}
	half := len(memory) / 2
	before, after := slices.Max(memory[:half]), slices.Max(memory[half:])
	t.Logf("%d clients, %d of them slow, %v: %d requests, %d MB; first byte p50 %v, p99 %v, longest %v; memory at most %d MB, in the second half %d MB",
		loadClients, loadSlow, length, len(latencies), bytes>>20, at(0.5), at(0.99), at(1), before>>20, after>>20)
	require.Empty(t, failed)
	require.Less(t, max(before, after), int64(loadMemory))
	require.Less(t, float64(after), 1.3*float64(before)+64<<20, "the memory grows")
}

// loadSlowly requests large responses and receives 5 KiB per second of each.
func loadSlowly(ctx context.Context, s *httptest.Server) {
	for ctx.Err() == nil {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", s.Listener.Addr().String())
		if err != nil {
			return
		}
		_ = c.(*net.TCPConn).SetReadBuffer(4096)
		fmt.Fprintf(c, "GET /data?file=cube.h5&path=/a/cube&format=bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
		for b := make([]byte, 512); ctx.Err() == nil; pause(ctx, 100*time.Millisecond) {
			if _, err := c.Read(b); err != nil {
				break
			}
		}
		_ = c.Close() // the server may have closed it
	}
}

// loadTarget returns a random request.
func loadTarget(random *rand.Rand) string {
	file := [][2]string{{"cube.h5", "/a/cube"}, {"cube.b2nd", "/cube"}, {"cube.bcolz", "/cube"}, {"tree.b2z", "/a/cube"}}[random.IntN(4)]
	plane, row := random.IntN(32), random.IntN(190)
	object := "file=" + file[0] + "&path=" + file[1]
	c2 := "data/" + file[0] + file[1]
	targets := []string{
		"/meta?" + object, "/attr?" + object, "/paths?file=" + file[0] + "&path=/",
		fmt.Sprintf("/data?%s&format=bin&dtype=safe&selection=%d,:,:", object, plane),
		fmt.Sprintf("/data?%s&format=bin&dtype=safe&selection=%d,:,:", object, plane),
		fmt.Sprintf("/data?%s&selection=%d,%d:%d,:20", object, plane, row, row+10),
		fmt.Sprintf("/data?%s&format=npy&selection=%d,%d", object, plane, row),
		fmt.Sprintf("/view?%s&at0=%d&row=%d", object, plane, row),
		"/api/list/data", "/api/info/" + c2,
		fmt.Sprintf("/api/fetch/%s?slice_=%d,%d:%d", c2, plane, row, row+5),
	}
	if random.IntN(20) == 0 { // much work
		targets = []string{
			fmt.Sprintf("/picture?%s&selection=%d,:,:", object, plane), fmt.Sprintf("/stats?%s&selection=%d", object, plane),
			fmt.Sprintf("/data?%s&format=csv&selection=%d", object, plane), fmt.Sprintf("/api/chunk/%s?nchunk=%d", c2, random.IntN(2)),
		}
	}
	return targets[random.IntN(len(targets))]
}

// loadRequest sends a request, and returns the time until the first byte and the length of the
// body.
func loadRequest(ctx context.Context, c *http.Client, target string, slow bool) (first time.Duration, read int64, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return 0, 0, err
	}
	if strings.Contains(target, "/view?") {
		r.Header.Set("Accept", "text/html")
	}
	start := time.Now()
	resp, err := c.Do(r)
	if err != nil {
		return 0, 0, err
	}
	first = time.Since(start)
	b := make([]byte, 8<<10)
	for {
		n, err := resp.Body.Read(b)
		read += int64(n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, 0, errors.Join(err, resp.Body.Close())
		}
		if slow {
			pause(ctx, 20*time.Millisecond)
		}
	}
	if resp.StatusCode != http.StatusOK {
		_, rest, _ := strings.Cut(target, "//")
		err = fmt.Errorf("status %d for %s", resp.StatusCode, rest[strings.IndexByte(rest, '/'):])
	}
	return first, read, errors.Join(err, resp.Body.Close())
}

func pause(ctx context.Context, length time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(length):
	}
}

// resident returns the memory of this process and of its workers in bytes.
func resident(t *testing.T) (total int64) {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*/status")
	require.NoError(t, err)
	self := strconv.Itoa(os.Getpid())
	for _, name := range processes {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // the process has ended
		}
		fields := map[string]string{}
		for line := range strings.Lines(string(b)) {
			key, value, _ := strings.Cut(line, ":")
			fields[key] = strings.TrimSpace(value)
		}
		if fields["Pid"] == self || fields["PPid"] == self {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(fields["VmRSS"], " kB"), 10, 64)
			total += kib << 10
		}
	}
	return total
}
