package hyperslab_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
	"github.com/hyperslab/hyperslab/ndarray"
)

// The arrays of a soak test have soakRows × soakColumns elements 0, 1, 2, … in row-major order. A
// writer adds multiples of soakStep, so that an element modulo soakStep never changes.
const (
	soakRows, soakColumns, soakChunk = 96, 40, 7
	soakStep                         = 1 << 16
	soakUsers                        = 64 // goroutines on each handle
)

// soakPlace is an array that is read in every round.
type soakPlace struct {
	name, location string
	open           func(location string) (*ndarray.Array, error)
	writer         bool // one goroutine writes while the others read
	apart          bool // a worker reads
}

func soakPlaces(t *testing.T, dir string) (places []soakPlace) {
	trusted := func(location string) (*ndarray.Array, error) { return hyperslab.Open(bg, location, nil) }
	writable := func(location string) (*ndarray.Array, error) {
		return hyperslab.Open(bg, location, &hyperslab.OpenOptions{Write: true})
	}
	typed := func(location string) (*ndarray.Array, error) {
		return hyperslab.Open(bg, location, &hyperslab.OpenOptions{DType: new(ndarray.DTypeOf[int32]())})
	}
	library := func(location string) (*ndarray.Array, error) {
		return hyperslab.Open(bg, location, &hyperslab.OpenOptions{Library: true})
	}
	guarded := func(direct bool) func(string) (*ndarray.Array, error) {
		return func(location string) (*ndarray.Array, error) {
			g, err := hyperslab.Open(bg, location, &hyperslab.OpenOptions{Untrusted: &hyperslab.Untrusted{InProcess: direct}})
			if err != nil {
				return nil, err
			}
			return g, nil
		}
	}
	add := func(name, file string, open func(string) (*ndarray.Array, error), writer bool, opts *hyperslab.CreateOptions) {
		spec := filetest.Int32s(soakRows, soakColumns)
		spec.ChunkShape = []int64{soakChunk, soakColumns}
		filetest.Save(t, filetest.In(dir, file), spec, opts)
		places = append(places, soakPlace{name: name, location: filetest.In(dir, file), open: open, writer: writer})
	}
	add("b2nd", "a.b2nd", trusted, false, nil)
	add("b2nd by its library", "l.b2nd", library, false, nil)
	add("sparse b2nd", "s.b2nd", trusted, false, &hyperslab.CreateOptions{Sparse: true})
	add("Caterva", "a.cat", typed, false, &hyperslab.CreateOptions{Format: hyperslab.Caterva})
	add("bcolz", "a.bcolz", trusted, false, nil)
	add("HDF5", "a.h5:/x", trusted, false, nil)
	add("HDF5 by its library", "l.h5:/x", library, false, nil)
	add("guarded HDF5", "g.h5:/x", guarded(true), false, nil)
	add("guarded b2nd", "g.b2nd", guarded(true), false, nil)
	add("HDF5 in a worker", "w.h5:/x", guarded(false), false, nil)
	add("HDF5 with a writer", "rw.h5:/x", writable, true, nil)
	add("b2nd with a writer", "rw.b2nd", writable, true, nil)
	add("sparse b2nd with a writer", "rws.b2nd", writable, true, &hyperslab.CreateOptions{Sparse: true})
	add("Caterva with a writer", "rw.cat", func(location string) (*ndarray.Array, error) {
		return hyperslab.Open(bg, location, &hyperslab.OpenOptions{DType: new(ndarray.DTypeOf[int32]()), Write: true})
	}, true, &hyperslab.CreateOptions{Format: hyperslab.Caterva})
	add("bcolz with a writer", "rw.bcolz", writable, true, nil)
	add("b2nd with a durable writer", "rwd.b2nd", func(location string) (*ndarray.Array, error) {
		return hyperslab.Open(bg, location, &hyperslab.OpenOptions{Write: true, Durable: true})
	}, true, nil)
	for i := range places {
		places[i].apart = places[i].name == "HDF5 in a worker"
	}
	return places
}

// TestSoak checks for races and leaks. In each round 64 goroutines share one handle of each kind,
// and their contexts are cancelled at random times. Writers run concurrently with readers, arrays
// are opened and closed in quick succession, and signals arrive all the time. After each round no
// HDF5 id, worker, descriptor or child process may be left. The environment variable HYPERSLAB_SOAK
// contains the duration.
func TestSoak(t *testing.T) {
	var long time.Duration
	if s := os.Getenv("HYPERSLAB_SOAK"); s != "" {
		var err error
		long, err = time.ParseDuration(s)
		require.NoError(t, err)
	}
	dir := t.TempDir()
	places := soakPlaces(t, dir)
	frame := filetest.In(dir, "grows.b2frame")
	caught := signalsCaught(t)
	var first, last gauge
	var memory []int64
	began := time.Now()
	reads := int64(0)
	for round := 0; round < 2 || time.Since(began) < long; round++ {
		stop := pester(t)
		for _, p := range places {
			reads += soakHandle(t, p, uint64(round), long > 0)
		}
		soakGrowing(t, frame, uint64(round))
		soakStorm(t, places, uint64(round))
		stop()
		last = releasedUsage(t)
		if round == 0 {
			first = last
		}
		require.Equal(t, first.descriptors, last.descriptors, "round %d", round)
		if round%100 == 99 {
			t.Logf("round %d, after %v: %v, %d reads", round+1, time.Since(began).Round(time.Second), last, reads)
		}
		memory = append(memory, last.resident)
	}
	require.Equal(t, caught, signalsCaught(t), "signals that this process catches")
	t.Logf("%d rounds, %d reads in %v; %v after the first, %v after the last", len(memory), reads, time.Since(began).Round(time.Second), first, last)
	// The memory of a process stabilizes within some rounds. After that it must not grow.
	if n := len(memory); long > 0 && n >= 16 {
		early, late := middle(memory[n/4:n/2]), middle(memory[3*n/4:])
		require.LessOrEqual(t, late, early+early/10+(16<<20), "resident bytes, early and late")
	}
}

// soakHandle runs many goroutines on one handle. It returns the number of completed reads.
func soakHandle(t *testing.T, p soakPlace, seed uint64, long bool) int64 {
	t.Helper()
	_, err := worker.Left() // end idle workers of the previous array, because they could exit at any time
	require.NoError(t, err)
	started := children(t)
	a, err := p.open(p.location)
	require.NoError(t, err, p.name)
	rounds := 2
	if long {
		rounds = 16
	}
	var whole atomic.Int64
	var fault atomic.Value
	var all sync.WaitGroup
	for u := range soakUsers {
		all.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(u)))
			for range rounds {
				var err error
				if p.writer && u == 0 {
					err = soakWrite(a, r)
				} else if err = soakRead(a, r, u%2 == 1); err == nil {
					whole.Add(1)
				}
				if err != nil && !errors.Is(err, context.Canceled) {
					fault.Store(err)
					return
				}
			}
		})
	}
	all.Wait()
	if err, ok := fault.Load().(error); ok {
		require.NoError(t, err, p.name)
	}
	// The handle must still work after cancelled calls.
	require.NoError(t, soakRead(a, rand.New(rand.NewPCG(seed, soakUsers)), false), p.name)
	require.NoError(t, a.Close())
	if !p.apart {
		require.Equal(t, started, children(t), "%s: processes were started", p.name)
	}
	require.GreaterOrEqual(t, whole.Load(), int64((soakUsers/2-1)*rounds), p.name)
	return whole.Load()
}

func soakRegion(r *rand.Rand) ndarray.Region {
	g := ndarray.Region{Start: []int64{r.Int64N(soakRows), r.Int64N(soakColumns)}}
	g.Shape = []int64{1 + r.Int64N(soakRows-g.Start[0]), 1 + r.Int64N(soakColumns-g.Start[1])}
	return g
}

// soakRead reads a region and checks each element. If cancelled is set, its context is cancelled at
// a random time.
func soakRead(a *ndarray.Array, r *rand.Rand, cancelled bool) error {
	ctx := bg
	if cancelled {
		c, cancel := context.WithCancel(bg)
		timer := time.AfterFunc(time.Duration(r.Int64N(int64(300*time.Microsecond))), cancel)
		defer timer.Stop()
		defer cancel()
		ctx = c
	}
	g := soakRegion(r)
	dst := make([]byte, 4*g.NumElems())
	if err := a.Read(ctx, dst, g); err != nil {
		return err
	}
	for i := range g.Shape[0] {
		for j := range g.Shape[1] {
			got := int64(binary.NativeEndian.Uint32(dst[4*(i*g.Shape[1]+j):]))
			if want := (g.Start[0]+i)*soakColumns + g.Start[1] + j; got%soakStep != want {
				return fmt.Errorf("element %d, %d of %v is %d, want %d", i, j, g, got%soakStep, want)
			}
		}
	}
	return nil
}

// soakWrite writes the elements of a region, each plus the same multiple of soakStep.
func soakWrite(a *ndarray.Array, r *rand.Rand) error {
	g := soakRegion(r)
	step := soakStep * (1 + r.Int64N(100))
	src := make([]byte, 0, 4*g.NumElems())
	for i := range g.Shape[0] {
		for j := range g.Shape[1] {
			src = binary.NativeEndian.AppendUint32(src, uint32((g.Start[0]+i)*soakColumns+g.Start[1]+j+step))
		}
	}
	return a.Write(bg, src, g)
}

// soakGrowing appends durably to a frame while readers open it. Each reader must find a complete
// number of commits, never fewer than in its previous read.
func soakGrowing(t *testing.T, path string, seed uint64) {
	t.Helper()
	require.NoError(t, os.RemoveAll(path))
	const batch, commits = 3, 6
	chunk := func(i int64) []byte { return bytes.Repeat([]byte{byte(i), byte(seed)}, 500) }
	cp := cblosc.DefaultCParams()
	cp.TypeSize = 2
	w, err := frameio.Create(path, &frameio.Params{CParams: cp, ChunkSize: 1000, Workers: 2})
	require.NoError(t, err)
	_, err = w.Write(chunk(0))
	require.NoError(t, err)
	require.NoError(t, errors.Join(w.Commit(), w.Close()))
	var fault atomic.Value
	done := make(chan struct{})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			seen := int64(0)
			dst := make([]byte, 1000)
			for {
				f, err := frameio.Open(path, nil)
				if err == nil {
					n := f.NumChunks()
					if n < seen || n%batch != 1 {
						err = fmt.Errorf("%d chunks after %d", n, seen)
					}
					for i := seen; i < n && err == nil; i++ {
						if _, err = f.Decompress(dst, i); err == nil && !bytes.Equal(dst, chunk(i)) {
							err = fmt.Errorf("chunk %d of %d is another", i, n)
						}
					}
					seen = n
					err = errors.Join(err, f.Close())
				}
				if err != nil {
					fault.Store(err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for k := range int64(commits) {
		w, err := frameio.Append(path, &frameio.AppendOptions{Durable: true, Workers: 2})
		require.NoError(t, err)
		for i := range int64(batch) {
			_, err := w.Write(chunk(1 + k*batch + i))
			require.NoError(t, err)
		}
		require.NoError(t, errors.Join(w.Commit(), w.Close()))
	}
	close(done)
	all.Wait()
	if err, ok := fault.Load().(error); ok {
		require.NoError(t, err)
	}
}

// soakStorm opens, reads and closes arrays concurrently, chosen at random from those without a
// writer.
func soakStorm(t *testing.T, places []soakPlace, seed uint64) {
	t.Helper()
	places = slices.DeleteFunc(slices.Clone(places), func(p soakPlace) bool { return p.writer })
	var fault atomic.Value
	var all sync.WaitGroup
	for u := range 16 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(u)))
			for range 6 {
				p := places[r.IntN(len(places))]
				a, err := p.open(p.location)
				if err == nil {
					err = errors.Join(soakRead(a, r, false), a.Close())
				}
				if err != nil {
					fault.Store(fmt.Errorf("%s: %w", p.name, err))
					return
				}
			}
		})
	}
	all.Wait()
	if err, ok := fault.Load().(error); ok {
		require.NoError(t, err)
	}
}

// children returns the accumulated resource usage of the child processes that this process has
// waited for. The result changes whenever a child process has ended.
func children(t *testing.T) int64 {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u))
	return u.Minflt
}

// pester sends signals to this process until stop is called: SIGURG, which the Go runtime also
// sends, SIGUSR1, which has a handler, SIGPROF of a CPU profile, and SIGPIPE.
func pester(t *testing.T) (stop func()) {
	t.Helper()
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGUSR1)
	profiled := pprof.StartCPUProfile(io.Discard) == nil // false if the whole test is profiled
	read, broken, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, read.Close())
	end := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		tick := time.NewTicker(200 * time.Microsecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-end:
				return
			case <-tick.C:
				_ = syscall.Kill(os.Getpid(), []syscall.Signal{syscall.SIGURG, syscall.SIGUSR1}[i%2]) // a signal to its own process cannot fail
				if _, err := broken.Write([]byte{0}); !errors.Is(err, syscall.EPIPE) {
					t.Errorf("write into a pipe without a reader: %v", err)
				}
			case <-heard:
			}
		}
	})
	return func() {
		close(end)
		all.Wait()
		signal.Stop(heard)
		if profiled {
			pprof.StopCPUProfile()
		}
		if err := broken.Close(); err != nil {
			t.Error(err)
		}
	}
}

// gauge is the resource usage of the process.
type gauge struct {
	resident    int64 // bytes
	descriptors int
}

func (g gauge) String() string {
	return fmt.Sprintf("%d MiB, %d descriptors", g.resident>>20, g.descriptors)
}

// releasedUsage waits until the resources of a round are released, and returns the usage of the
// process.
func releasedUsage(t *testing.T) gauge {
	t.Helper()
	require.NoError(t, leak.Find(leak.Check{Name: "open HDF5 ids", Left: h5.OpenIDs}, leak.Check{Name: "worker processes", Left: worker.Left}))
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	require.NoError(t, err)
	for _, path := range tasks {
		if b, err := os.ReadFile(path); err == nil { // the thread may have ended
			require.Empty(t, string(b), "children, running or not waited for")
		}
	}
	debug.FreeOSMemory()
	fds, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return gauge{resident: status(t, "VmRSS:") << 10, descriptors: len(fds)}
}

// status returns a number of /proc/self/status.
func status(t *testing.T, key string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(statusWord(t, key), 10, 64)
	require.NoError(t, err)
	return n
}

func statusWord(t *testing.T, key string) string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(b), key)
	require.True(t, found, key)
	return strings.Fields(rest)[0]
}

// signalsCaught returns the masks of the signals that are handled and that are ignored. They change
// if a C library installs its own signal handlers.
func signalsCaught(t *testing.T) [2]string {
	return [2]string{statusWord(t, "SigCgt:"), statusWord(t, "SigIgn:")}
}

func middle(v []int64) int64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}
