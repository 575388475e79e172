package cblosc_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// memory is a Medium whose reads and writes can be made to fail.
type memory struct {
	mu            sync.Mutex
	b             []byte
	reads, writes func() error // nil: all calls succeed
}

func (m *memory) ReadAt(p []byte, off int64) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reads != nil {
		if err := m.reads(); err != nil {
			return 0, err
		}
	}
	if off >= int64(len(m.b)) {
		return 0, io.EOF
	}
	n := copy(p, m.b[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (m *memory) WriteAt(p []byte, off int64) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.writes != nil {
		if err := m.writes(); err != nil {
			return 0, err
		}
	}
	if end := off + int64(len(p)); end > int64(len(m.b)) {
		m.b = append(m.b, make([]byte, end-int64(len(m.b)))...)
	}
	return copy(m.b[off:], p), nil
}

func (m *memory) Truncate(n int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.b = m.b[:n]
	return nil
}

// changeAll applies every operation that changes a frame to a super-chunk, and returns its data.
func changeAll(t tester, s *cblosc.SChunk) []byte {
	t.Helper()
	require.NoError(t, s.Meta().Add("fixed", []byte("12345")))
	for i := range 6 {
		require.NoError(t, s.AppendBuffer(testutil.Ramp(4000, uint64(i))))
	}
	require.NoError(t, s.WriteItems(testutil.Noise(800, 1), 30))
	require.NoError(t, s.UpdateChunk(3, compress(t, nil, testutil.Noise(4000, 4))))
	require.NoError(t, s.DeleteChunk(1))
	require.NoError(t, s.Reorder([]int64{4, 3, 2, 1, 0}))
	require.NoError(t, s.VLMeta().Add("long", testutil.Ramp(500, 1)))
	require.NoError(t, s.VLMeta().Update("long", testutil.Ramp(50, 1)))
	require.NoError(t, s.Meta().Update("fixed", []byte("54321")))
	return dataOf(t, s)
}

func dataOf(t tester, s *cblosc.SChunk) []byte {
	t.Helper()
	b := make([]byte, s.NBytes())
	require.NoError(t, s.ReadItems(b, 0))
	return b
}

// TestMedium_againstFile checks that a medium receives the same bytes as a file and can be opened
// in the same way.
func TestMedium_againstFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	onFile, err := cblosc.CreateSChunk(cblosc.Storage{Path: path, Contiguous: true})
	require.NoError(t, err)
	m := &memory{b: []byte("what was there before is overwritten")}
	onMedium, err := cblosc.CreateSChunk(cblosc.Storage{Medium: m, Contiguous: true})
	require.NoError(t, err)
	require.Equal(t, changeAll(t, onFile), changeAll(t, onMedium))
	want := dataOf(t, onMedium)
	require.NoError(t, onFile.Close())
	require.NoError(t, onMedium.Close())
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, file, m.b)

	m.b = append([]byte("in front"), m.b...)
	for name, r := range map[string]io.ReaderAt{"medium": m, "reader": bytes.NewReader(m.b)} {
		s, err := cblosc.OpenSChunkOn(r, int64(len(m.b)), cblosc.OpenOptions{Offset: 8})
		require.NoError(t, err, name)
		require.Equal(t, want, dataOf(t, s), name)
		require.ErrorIs(t, s.AppendBuffer(make([]byte, 4000)), cblosc.ErrReadOnly)
		long, err := s.VLMeta().Get("long")
		require.NoError(t, err)
		require.Equal(t, testutil.Ramp(50, 1), long)
		require.NoError(t, s.Close())
	}
	m.b = m.b[8:]
	s, err := cblosc.OpenSChunkOn(m, int64(len(m.b)), cblosc.OpenOptions{})
	require.NoError(t, err)
	require.NoError(t, s.AppendBuffer(testutil.Ramp(4000, 9)))
	require.Equal(t, append(want, testutil.Ramp(4000, 9)...), dataOf(t, s))
	copied, err := s.Copy(cblosc.Storage{Medium: new(memory), Contiguous: true})
	require.NoError(t, err)
	require.Equal(t, dataOf(t, s), dataOf(t, copied))
	saved := filepath.Join(t.TempDir(), "saved")
	require.NoError(t, s.Save(saved))
	require.NoError(t, copied.Close())
	require.NoError(t, s.Close())
	s, err = cblosc.OpenSChunk(saved)
	require.NoError(t, err)
	require.Equal(t, append(want, testutil.Ramp(4000, 9)...), dataOf(t, s))
	require.NoError(t, s.Close())
}

func TestArray_Medium(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "x"))
	require.NoError(t, err)
	closing(t, f)
	for name, m := range map[string]cblosc.Medium{"memory": new(memory), "file": f} {
		a, data := matrix(t, cblosc.ArrayParams{Shape: []int64{50, 7}, ChunkShape: []int32{20, 4}, Blocks: []int32{10, 3}, DType: "<i4",
			Storage: cblosc.Storage{CParams: cparams(4), Medium: m, Contiguous: true}})
		requireData(t, data, a)
		require.NoError(t, a.Append(0, data[:28*5]), name)
		require.NoError(t, a.Resize([]int64{52, 7}), name)
		n, err := a.SChunk().FrameLen()
		require.NoError(t, err)
		require.NoError(t, a.Close())
		a, err = cblosc.OpenArrayOn(m, n, cblosc.OpenOptions{})
		require.NoError(t, err, name)
		requireData(t, append(bytes.Clone(data), data[:28*2]...), a)
		squeezed, err := a.ExpandDims([]int{0}, cblosc.Layout{Storage: cblosc.Storage{Medium: new(memory), Contiguous: true}})
		require.NoError(t, err)
		requireData(t, append(bytes.Clone(data), data[:28*2]...), squeezed)
		require.NoError(t, squeezed.Close())
		require.NoError(t, a.Close())
	}
}

// TestMediumFails checks that an error or panic of a medium is returned by the call, also where
// C-Blosc2 ignores it.
func TestMediumFails(t *testing.T) {
	fails := map[string]func() error{
		"error": func() error { return fmt.Errorf("disk: %w", errTest) },
		"panic": func() error { panic(errTest) },
	}
	create := func() (*memory, *cblosc.SChunk) {
		m := new(memory)
		s, err := cblosc.CreateSChunk(cblosc.Storage{Medium: m, Contiguous: true})
		require.NoError(t, err)
		require.NoError(t, s.AppendBuffer(testutil.Ramp(4000, 1)))
		require.NoError(t, s.VLMeta().Add("x", []byte("y")))
		return m, s
	}
	for name, fail := range fails {
		m, s := create()
		m.reads = fail
		require.ErrorIs(t, s.ReadItems(make([]byte, 80), 0), errTest, name)
		_, err := s.Chunk(0)
		require.ErrorIs(t, err, errTest, name)
		m.reads = nil
		require.Equal(t, testutil.Ramp(4000, 1), dataOf(t, s), "reads fail without consequences")
		require.NoError(t, s.Close())
		m.reads = fail
		_, err = cblosc.OpenSChunkOn(m, int64(len(m.b)), cblosc.OpenOptions{})
		require.ErrorIs(t, err, errTest, name)
		require.NotErrorIs(t, err, cblosc.ErrFormat, name)
		m.reads = nil
		s, err = cblosc.OpenSChunkOn(m, int64(len(m.b)), cblosc.OpenOptions{})
		require.NoError(t, err)
		m.reads = fail
		require.ErrorIs(t, s.ReadItems(make([]byte, 80), 0), errTest, name)
		require.NoError(t, s.Close())

		for what, change := range map[string]func(s *cblosc.SChunk) error{
			"append": func(s *cblosc.SChunk) error { return s.AppendBuffer(testutil.Ramp(4000, 1)) },
			"update": func(s *cblosc.SChunk) error { return s.WriteItems(testutil.Noise(80, 1), 0) },
			"delete": func(s *cblosc.SChunk) error { return s.DeleteChunk(0) },
			"vlmeta": func(s *cblosc.SChunk) error { return s.VLMeta().Update("x", testutil.Noise(80, 1)) },
		} {
			m, s := create()
			m.writes = fail
			err := change(s)
			require.ErrorIs(t, err, errTest, "%s %s", name, what)
			if name == "panic" {
				require.ErrorAs(t, err, new(*cblosc.PanicError))
			}
			m.writes = nil
			require.ErrorIs(t, change(s), cblosc.ErrBroken, "%s %s", name, what)
			require.NoError(t, s.Close())
		}
		m = &memory{writes: fail}
		_, err = cblosc.CreateSChunk(cblosc.Storage{Medium: m, Contiguous: true})
		require.ErrorIs(t, err, errTest, name)
	}
	_, err := cblosc.OpenSChunkOn(bytes.NewReader([]byte("no frame")), 8, cblosc.OpenOptions{})
	require.ErrorIs(t, err, cblosc.ErrFormat)
	_, err = cblosc.OpenSChunkOn(nil, 8, cblosc.OpenOptions{})
	require.ErrorIs(t, err, cblosc.ErrParam)
	_, err = cblosc.OpenArrayOn(new(memory), -1, cblosc.OpenOptions{})
	require.ErrorIs(t, err, cblosc.ErrParam)
	_, err = cblosc.OpenSChunkOn(new(memory), 0, cblosc.OpenOptions{Map: cblosc.MapRead})
	require.ErrorIs(t, err, cblosc.ErrParam)
	for _, st := range []cblosc.Storage{{Medium: new(memory)}, {Medium: new(memory), Contiguous: true, Path: "x"}} {
		_, err = cblosc.CreateSChunk(st)
		require.ErrorIs(t, err, cblosc.ErrParam)
	}
	_, err = cblosc.OpenSChunk("")
	require.ErrorIs(t, err, cblosc.ErrParam)
	_, err = cblosc.OpenArray("")
	require.ErrorIs(t, err, cblosc.ErrParam)
}

// TestMedium_goroutines checks many media at the same time, and many goroutines on one medium.
func TestMedium_goroutines(t *testing.T) {
	var wg sync.WaitGroup
	shared := new(memory)
	p := cparams(4)
	p.Threads = 2
	s, err := cblosc.CreateSChunk(cblosc.Storage{Medium: shared, Contiguous: true, CParams: p})
	require.NoError(t, err)
	want := changeAll(t, s)
	errs := make(chan error, 128)
	for g := range 64 {
		wg.Go(func() {
			for range 5 {
				got := make([]byte, len(want))
				err := s.ReadItems(got, 0)
				if err == nil && !bytes.Equal(want, got) {
					err = errors.New("other data")
				}
				if err != nil {
					errs <- err
					return
				}
			}
			own, err := cblosc.CreateSChunk(cblosc.Storage{Medium: new(memory), Contiguous: true})
			for i := range 5 {
				if err == nil {
					err = own.AppendBuffer(testutil.Ramp(4000, uint64(g*10+i)))
				}
			}
			if err == nil {
				err = own.Close()
			}
			if err != nil {
				errs <- err
			}
		})
	}
	wg.Wait()
	require.NoError(t, s.Close())
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
}

// failing is a reader whose reads fail after the first left ones.
type failing struct {
	io.ReaderAt
	left int
}

func (f *failing) ReadAt(p []byte, off int64) (int, error) {
	if f.left--; f.left < 0 {
		return 0, syscall.EIO
	}
	return f.ReaderAt.ReadAt(p, off)
}

// TestMedium_readErrors checks that any failing read during opening is reported by this package.
// C-Blosc2 dereferences a null pointer in that case.
func TestMedium_readErrors(t *testing.T) {
	a, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: []int64{64}, ChunkShape: []int32{16}, Blocks: []int32{8}, Storage: cblosc.Storage{Contiguous: true, CParams: cparams(8)}})
	require.NoError(t, err)
	require.NoError(t, a.SChunk().VLMeta().Add("long", testutil.Ramp(300, 1)))
	b, err := a.Bytes()
	require.NoError(t, err)
	require.NoError(t, a.Close())
	for _, open := range []func(r io.ReaderAt) (io.Closer, error){
		func(r io.ReaderAt) (io.Closer, error) {
			return cblosc.OpenSChunkOn(r, int64(len(b)), cblosc.OpenOptions{})
		},
		func(r io.ReaderAt) (io.Closer, error) {
			return cblosc.OpenArrayOn(r, int64(len(b)), cblosc.OpenOptions{})
		},
	} {
		for reads := 0; ; reads++ {
			require.Less(t, reads, 100)
			c, err := open(&failing{bytes.NewReader(b), reads})
			if err == nil {
				require.Greater(t, reads, 3)
				require.NoError(t, c.Close())
				break
			}
			require.ErrorIs(t, err, syscall.EIO, "%d reads", reads)
		}
	}
}
