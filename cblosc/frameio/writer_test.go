package frameio_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// byWriter writes j to path with a Writer that has the given number of workers.
func (j *job) byWriter(t tester, path string, workers int) {
	t.Helper()
	w, err := frameio.Create(path, &frameio.Params{CParams: &j.CParams, ChunkSize: j.ChunkSize, Meta: j.Meta, VLMeta: j.VLMeta, Sparse: !j.Contiguous, Workers: workers})
	require.NoError(t, err)
	j.to(t, w)
}

// to writes the chunks of j to w and commits them.
func (j *job) to(t tester, w *frameio.Writer) {
	t.Helper()
	for _, p := range j.Chunks {
		if v := p.values(); v != nil {
			n, err := w.Write(v)
			require.NoError(t, err)
			require.Equal(t, len(v), n)
			continue
		}
		b, err := p.chunk(&j.CParams)
		require.NoError(t, err)
		require.NoError(t, w.WriteChunk(b))
	}
	require.NoError(t, w.Commit())
	require.NoError(t, w.Close())
}

// requireSame compares two frames byte for byte. For directories it compares all files.
func requireSame(t tester, want, got string, contiguous bool) {
	t.Helper()
	if contiguous {
		requireSameFile(t, want, got)
		return
	}
	expected, err := os.ReadDir(want)
	require.NoError(t, err)
	actual, err := os.ReadDir(got)
	require.NoError(t, err)
	require.Equal(t, len(expected), len(actual), "files")
	for i, e := range expected {
		require.Equal(t, e.Name(), actual[i].Name())
		requireSameFile(t, filepath.Join(want, e.Name()), filepath.Join(got, e.Name()))
	}
}

func requireSameFile(t tester, want, got string) {
	t.Helper()
	a, err := os.ReadFile(want)
	require.NoError(t, err)
	b, err := os.ReadFile(got)
	require.NoError(t, err)
	if bytes.Equal(a, b) {
		return
	}
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	require.Fail(t, "files differ", "%s has %d bytes, %s %d; first at byte %d: %x, %x", want, len(a), got, len(b), i,
		a[i:min(i+16, len(a))], b[i:min(i+16, len(b))])
}

// drawPieces returns random chunks with elements of size bytes.
func drawPieces(t *rapid.T, size, chunkSize, most int, short bool) (pieces []piece) {
	n := rapid.IntRange(0, most).Draw(t, "chunks")
	for i := range n {
		p := piece{Kind: pieceKind(rapid.IntRange(0, int(numKinds)-1).Draw(t, "kind")), Bytes: chunkSize, Seed: uint64(i)}
		if p.Kind == specialNaNs && size != 4 && size != 8 {
			p.Kind = rising
		}
		if short && i == n-1 && rapid.Bool().Draw(t, "short") {
			p.Bytes = size * rapid.IntRange(1, chunkSize/size).Draw(t, "items of the last")
		}
		pieces = append(pieces, p)
	}
	return pieces
}

// TestWriter_againstLibrary checks that frames of any kind have the same bytes as those of
// C-Blosc2.
func TestWriter_againstLibrary(t *testing.T) {
	library := startPeer(t)
	rapid.Check(t, func(t *rapid.T) {
		dir := temp(t)
		size := itemSizes.Draw(t, "item size")
		j := &job{Path: filepath.Join(dir, "library"), Contiguous: rapid.Bool().Draw(t, "contiguous"), CParams: *drawCParams(t, size)}
		j.CParams.Split = rapid.SampledFrom([]cblosc.SplitMode{cblosc.SplitAlways, cblosc.SplitNever, cblosc.SplitAuto, cblosc.SplitForwardCompat}).Draw(t, "split")
		if rapid.IntRange(0, 3).Draw(t, "blocks") == 0 {
			j.CParams.BlockSize = size * rapid.IntRange(1, 5000).Draw(t, "items of a block")
		}
		most := rapid.SampledFrom([]int{50, 3000, 40000}).Draw(t, "most items")
		j.ChunkSize = size * rapid.IntRange(1, most).Draw(t, "items of a chunk")
		j.ChunkSize = min(j.ChunkSize, 400_000/size*size)
		j.Chunks = drawPieces(t, size, j.ChunkSize, 12, true)
		for i := range rapid.IntRange(0, 3).Draw(t, "metalayers") {
			j.Meta = append(j.Meta, cblosc.Metalayer{Name: fmt.Sprintf("m%d", i), Content: testutil.Noise(rapid.IntRange(0, 300).Draw(t, "bytes"), uint64(i))})
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "variable-length metalayers") {
			j.VLMeta = append(j.VLMeta, cblosc.Metalayer{Name: fmt.Sprintf("vl%d", i), Content: testutil.Ramp(rapid.IntRange(0, 30000).Draw(t, "bytes"), uint64(i))})
		}
		library.write(t, j)
		got := filepath.Join(dir, "writer")
		j.byWriter(t, got, rapid.IntRange(1, 4).Draw(t, "workers"))
		requireSame(t, j.Path, got, j.Contiguous)
	})
}

// TestWriter_shortChunk checks that a short last chunk gets the block size of the first chunk. The
// context of C-Blosc2 keeps the block size that it chose for the first chunk, so a worker that
// compresses only the short chunk must not choose another one.
func TestWriter_shortChunk(t *testing.T) {
	library := startPeer(t)
	for _, level := range []int{0, 1} {
		for _, kind := range []pieceKind{rising, zeros} {
			dir := t.TempDir()
			j := &job{Path: filepath.Join(dir, "library"), Contiguous: true, CParams: *cblosc.DefaultCParams(), ChunkSize: 80_000,
				Chunks: []piece{{kind, 80_000, 1}, {rising, 80_000, 2}, {rising, 24_000, 3}}}
			j.CParams.Level = level
			j.CParams.Filters = [cblosc.MaxFilters]cblosc.Filter{}
			library.write(t, j)
			for workers := range 3 {
				got := filepath.Join(dir, fmt.Sprint(workers))
				j.byWriter(t, got, workers+1)
				requireSame(t, j.Path, got, true)
			}
			f := openFrame(t, j.Path)
			b, err := f.Chunk(nil, 2)
			require.NoError(t, err)
			kept, err := cblosc.Info(b)
			require.NoError(t, err)
			alone, err := cblosc.Info(chunkOf(t, &j.CParams, testutil.Ramp(24_000, 3)))
			require.NoError(t, err)
			require.Less(t, kept.BlockSize, alone.BlockSize)
		}
	}
}

// TestManyChunks checks frames with many chunks, including special chunks. One file for each chunk
// takes minutes on a disk, so only "make files" writes large sparse frames. It sets
// HYPERSLAB_FRAMEIO_FILES.
func TestManyChunks(t *testing.T) {
	library := startPeer(t)
	for _, contiguous := range []bool{true, false} {
		counts := []int{1, 2, 17, 2048, 2049}
		if testenv.All() {
			counts = append(counts, 5000, 20_000)
		}
		if !contiguous {
			counts = []int{1, 2, 17, 2300}
			if n, err := strconv.Atoi(os.Getenv("HYPERSLAB_FRAMEIO_FILES")); err == nil {
				counts = append(counts, n)
			}
		}
		for _, n := range counts {
			t.Run(fmt.Sprintf("contiguous=%v/%d", contiguous, n), func(t *testing.T) {
				dir := t.TempDir()
				j := &job{Path: filepath.Join(dir, "library"), Contiguous: contiguous, CParams: *cblosc.DefaultCParams(), ChunkSize: 512}
				for i := range n {
					p := piece{Kind: rising, Bytes: j.ChunkSize, Seed: uint64(i)}
					switch {
					case i%7 == 3:
						p.Kind = random
					case i%50 == 49:
						p.Kind = zeros + pieceKind(i/50)%(numKinds-zeros)
					}
					j.Chunks = append(j.Chunks, p)
				}
				j.Chunks[n-1] = piece{Kind: rising, Bytes: 256, Seed: 1}
				library.write(t, j)
				got := filepath.Join(dir, "writer")
				j.byWriter(t, got, 3)
				requireSame(t, j.Path, got, contiguous)
			})
		}
	}
}

// TestWriter_metalayers checks 16 metalayers of both kinds with names of the maximum length.
func TestWriter_metalayers(t *testing.T) {
	library := startPeer(t)
	for _, contiguous := range []bool{true, false} {
		dir := t.TempDir()
		j := &job{Path: filepath.Join(dir, "library"), Contiguous: contiguous, CParams: *cblosc.DefaultCParams(), ChunkSize: 800,
			Chunks: []piece{{rising, 800, 1}}}
		for i := range cblosc.MaxMetalayers {
			name := fmt.Sprintf("%02d%029d", i, 0)
			j.Meta = append(j.Meta, cblosc.Metalayer{Name: name, Content: testutil.Noise(i*100, 1)})
			j.VLMeta = append(j.VLMeta, cblosc.Metalayer{Name: name, Content: testutil.Ramp(i*1000, 2)})
		}
		library.write(t, j)
		got := filepath.Join(dir, "writer")
		j.byWriter(t, got, 1)
		requireSame(t, j.Path, got, contiguous)
	}
}

// TestWriter_anyLength checks that the frame depends neither on the lengths of the Write calls nor
// on the number of workers.
func TestWriter_anyLength(t *testing.T) {
	all := testutil.Ramp(3_000_000, 5)
	p := &frameio.Params{ChunkSize: 4096}
	write := func(t tester, workers int, lengths func(left int) int) []byte {
		p := *p
		p.Workers = workers
		var to memory
		w, err := frameio.NewWriter(&to, &p)
		require.NoError(t, err)
		for rest := all; len(rest) > 0; {
			n := min(lengths(len(rest)), len(rest))
			k, err := w.Write(rest[:n])
			require.NoError(t, err)
			require.Equal(t, n, k)
			rest = rest[n:]
		}
		require.NoError(t, w.Commit())
		require.NoError(t, w.Close())
		return to.b
	}
	want := write(t, 1, func(left int) int { return left })
	f, err := frameio.OpenReaderAt(bytes.NewReader(want), int64(len(want)), nil)
	require.NoError(t, err)
	closing(t, f)
	got := make([]byte, len(all))
	require.NoError(t, f.ReadAll(t.Context(), got, 0))
	require.True(t, bytes.Equal(all, got))
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.SampledFrom([]int{70_000, 4_000_000}).Draw(t, "most")
		b := write(t, rapid.IntRange(1, 3).Draw(t, "workers"), func(int) int { return rapid.IntRange(1, most).Draw(t, "bytes") })
		require.True(t, bytes.Equal(want, b))
	})
}

// memory is an io.WriterAt.
type memory struct {
	mu sync.Mutex
	b  []byte
}

func (m *memory) WriteAt(p []byte, off int64) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if grow := int(off) + len(p) - len(m.b); grow > 0 {
		m.b = append(m.b, make([]byte, grow)...)
	}
	return copy(m.b[off:], p), nil
}

// TestWriter_CommitClose checks that no file appears without Commit, and that an existing file is
// not changed.
func TestWriter_CommitClose(t *testing.T) {
	for _, sparse := range []bool{false, true} {
		t.Run(fmt.Sprintf("sparse=%v", sparse), func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "frame")
			p := &frameio.Params{ChunkSize: 80, Sparse: sparse}
			names := func() (names []string) {
				entries, err := os.ReadDir(dir)
				require.NoError(t, err)
				for _, e := range entries {
					names = append(names, e.Name())
				}
				return names
			}
			w, err := frameio.Create(path, p)
			require.NoError(t, err)
			_, err = w.Write(testutil.Ramp(200, 1))
			require.NoError(t, err)
			require.NoError(t, w.Close())
			require.Empty(t, names())
			require.ErrorIs(t, w.Close(), cblosc.ErrClosed)
			require.ErrorIs(t, w.Commit(), cblosc.ErrClosed)
			_, err = w.Write(nil)
			require.ErrorIs(t, err, cblosc.ErrClosed)
			require.ErrorIs(t, w.WriteChunk(nil), cblosc.ErrClosed)

			w, err = frameio.Create(path, p)
			require.NoError(t, err)
			late, err := frameio.Create(path, p)
			require.NoError(t, err)
			_, err = w.Write(testutil.Ramp(200, 2))
			require.NoError(t, err)
			require.NoError(t, w.Commit())
			require.ErrorIs(t, w.Commit(), cblosc.ErrClosed)
			require.NoError(t, w.Close())
			err = late.Commit()
			require.ErrorIs(t, err, cblosc.ErrExists)
			require.ErrorIs(t, err, fs.ErrExist)
			require.ErrorIs(t, late.Commit(), cblosc.ErrBroken)
			require.NoError(t, late.Close())
			require.Equal(t, []string{"frame"}, names())

			_, err = frameio.Create(path, p)
			require.ErrorIs(t, err, cblosc.ErrExists)
			over := *p
			over.Overwrite = true
			w, err = frameio.Create(path, &over)
			require.NoError(t, err)
			_, err = w.Write(testutil.Ramp(80, 3))
			require.NoError(t, err)
			if sparse && runtime.GOOS == "windows" {
				require.ErrorIs(t, w.Commit(), errors.ErrUnsupported, "exchange two directories")
				require.NoError(t, w.Close())
				require.Equal(t, []string{"frame"}, names())
				return
			}
			require.NoError(t, w.Commit())
			require.NoError(t, w.Close())
			f := openFrame(t, path)
			dst := make([]byte, 80)
			require.NoError(t, f.ReadAll(t.Context(), dst, 1))
			require.Equal(t, testutil.Ramp(80, 3), dst)
			require.Equal(t, []string{"frame"}, names())
		})
	}
}

func TestCreateRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "frame")
	layer := func(names ...string) (l []cblosc.Metalayer) {
		for _, n := range names {
			l = append(l, cblosc.Metalayer{Name: n})
		}
		return l
	}
	threads := cblosc.DefaultCParams()
	threads.Threads = 2
	level := cblosc.DefaultCParams()
	level.Level = 10
	for _, c := range []struct {
		name string
		p    *frameio.Params
		want error
	}{
		{"negative chunk size", &frameio.Params{ChunkSize: -8}, cblosc.ErrParam},
		{"parts of elements", &frameio.Params{ChunkSize: 12}, cblosc.ErrParam},
		{"large chunks", &frameio.Params{ChunkSize: 1 << 31}, cblosc.ErrLimit},
		{"workers", &frameio.Params{ChunkSize: 8, Workers: -1}, cblosc.ErrParam},
		{"threads", &frameio.Params{ChunkSize: 8, CParams: threads}, cblosc.ErrParam},
		{"level", &frameio.Params{ChunkSize: 8, CParams: level}, cblosc.ErrParam},
		{"empty name", &frameio.Params{ChunkSize: 8, Meta: layer("")}, cblosc.ErrParam},
		{"zero byte", &frameio.Params{ChunkSize: 8, VLMeta: layer("a\x00")}, cblosc.ErrParam},
		{"long name", &frameio.Params{ChunkSize: 8, VLMeta: layer("0123456789012345678901234567890_")}, cblosc.ErrLimit},
		{"twice", &frameio.Params{ChunkSize: 8, Meta: layer("a", "b", "a")}, cblosc.ErrExists},
		{"17", &frameio.Params{ChunkSize: 8, Meta: layer("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b", "c", "d", "e", "f", "g")}, cblosc.ErrLimit},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := frameio.Create(path, c.p)
			require.ErrorIs(t, err, c.want)
			_, err = frameio.NewWriter(&memory{}, c.p)
			require.ErrorIs(t, err, c.want)
		})
	}
	_, err := frameio.NewWriter(&memory{}, &frameio.Params{ChunkSize: 8, Sparse: true})
	require.ErrorIs(t, err, cblosc.ErrParam)
	_, err = frameio.Create(filepath.Join(path, "below", "nothing"), &frameio.Params{ChunkSize: 8})
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoFileExists(t, path)
}

func TestWriteChunkRefuses(t *testing.T) {
	cp := cblosc.DefaultCParams()
	p := &frameio.Params{CParams: cp, ChunkSize: 80}
	w, err := frameio.NewWriter(&memory{}, p)
	require.NoError(t, err)
	closing(t, w)
	good := chunkOf(t, cp, testutil.Ramp(80, 1))
	require.ErrorIs(t, w.WriteChunk(good[:20]), cblosc.ErrFormat)
	require.ErrorIs(t, w.WriteChunk(append(bytes.Clone(good), 0)), cblosc.ErrFormat)
	require.ErrorIs(t, w.WriteChunk(chunkOf(t, cp, testutil.Ramp(88, 1))), cblosc.ErrSize)
	require.ErrorIs(t, w.WriteChunk(chunkOf(t, cp, testutil.Ramp(12, 1))), cblosc.ErrSize)
	require.ErrorIs(t, w.WriteChunk(chunkOf(t, cp, nil)), cblosc.ErrSize)
	four := cblosc.DefaultCParams()
	four.TypeSize = 4
	value, err := cblosc.SpecialChunk(four, cblosc.Repeated, 80, []byte("abcd"))
	require.NoError(t, err)
	require.ErrorIs(t, w.WriteChunk(value), cblosc.ErrSize)
	codec := bytes.Clone(good)
	codec[2] = codec[2]&0x1F | 6<<5
	codec[0x16] = 37
	require.ErrorIs(t, w.WriteChunk(codec), errors.ErrUnsupported)
	_, err = w.Write(make([]byte, 90))
	require.NoError(t, err)
	err = w.WriteChunk(good)
	require.ErrorIs(t, err, cblosc.ErrSize)
	require.ErrorContains(t, err, "10 bytes of the one before, which has 80")
	_, err = w.Write(make([]byte, 70))
	require.NoError(t, err)
	require.NoError(t, w.WriteChunk(good))
	require.NoError(t, w.WriteChunk(chunkOf(t, cp, testutil.Ramp(40, 1))))
	require.ErrorIs(t, w.WriteChunk(good), cblosc.ErrSize)
	n, err := w.Write(make([]byte, 8))
	require.Zero(t, n)
	require.ErrorIs(t, err, cblosc.ErrSize)
	require.NoError(t, w.Commit(), "a refused call leaves no object")
}

// TestRepeatLast checks that repeating the last chunk n times has the same result as writing it n
// times.
func TestRepeatLast(t *testing.T) {
	cp := cblosc.DefaultCParams()
	cp.TypeSize = 4
	for _, sparse := range []bool{false, true} {
		for _, kind := range []cblosc.Special{cblosc.Zeros, cblosc.NaNs, cblosc.Uninit} {
			raw, err := cblosc.SpecialChunk(cp, kind, 80, nil)
			require.NoError(t, err)
			dir := t.TempDir()
			write := func(name string, more func(w *frameio.Writer)) map[string]string {
				path := filepath.Join(dir, name)
				w, err := frameio.Create(path, &frameio.Params{CParams: cp, ChunkSize: 80, Sparse: sparse})
				require.NoError(t, err)
				_, err = w.Write(testutil.Ramp(160, 1))
				require.NoError(t, err)
				require.NoError(t, w.WriteChunk(raw))
				more(w)
				_, err = w.Write(testutil.Ramp(100, 2))
				require.NoError(t, err)
				require.NoError(t, w.Commit())
				require.NoError(t, w.Close())
				files := map[string]string{}
				require.NoError(t, filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
					if err == nil && !d.IsDir() {
						b, rerr := os.ReadFile(p)
						files[strings.TrimPrefix(p, path)], err = string(b), rerr
					}
					return err
				}))
				return files
			}
			want := write("one by one", func(w *frameio.Writer) {
				for range 3000 {
					require.NoError(t, w.WriteChunk(raw))
				}
			})
			require.Equal(t, want, write("at once", func(w *frameio.Writer) {
				require.NoError(t, w.RepeatLast(2999))
				require.NoError(t, w.RepeatLast(0))
				require.NoError(t, w.RepeatLast(1))
			}))
		}
	}
}

func TestRepeatLastRefuses(t *testing.T) {
	cp := cblosc.DefaultCParams()
	w, err := frameio.NewWriter(&memory{}, &frameio.Params{CParams: cp, ChunkSize: 80})
	require.NoError(t, err)
	closing(t, w)
	require.ErrorIs(t, w.RepeatLast(1), cblosc.ErrParam, "no chunk")
	require.NoError(t, w.WriteChunk(chunkOf(t, cp, testutil.Ramp(80, 1))))
	require.ErrorIs(t, w.RepeatLast(1), cblosc.ErrParam, "a stored one")
	zeros, err := cblosc.SpecialChunk(cp, cblosc.Zeros, 80, nil)
	require.NoError(t, err)
	require.NoError(t, w.WriteChunk(zeros))
	require.ErrorIs(t, w.RepeatLast(-1), cblosc.ErrParam)
	require.ErrorIs(t, w.RepeatLast(math.MaxInt), cblosc.ErrLimit)
	_, err = w.Write(make([]byte, 8))
	require.NoError(t, err)
	require.ErrorIs(t, w.RepeatLast(1), cblosc.ErrParam, "values that wait")
	_, err = w.Write(make([]byte, 72))
	require.NoError(t, err)
	short, err := cblosc.SpecialChunk(cp, cblosc.Zeros, 40, nil)
	require.NoError(t, err)
	require.NoError(t, w.WriteChunk(short))
	require.ErrorIs(t, w.RepeatLast(1), cblosc.ErrParam, "a short one")
	require.NoError(t, w.Commit(), "a refused call leaves no object")
	require.ErrorIs(t, w.RepeatLast(1), cblosc.ErrClosed)
}

// TestWriterBroken checks that a write error makes all further calls of the Writer fail.
func TestWriterBroken(t *testing.T) {
	full := errors.New("full")
	to := &failing{left: 5000, err: full}
	w, err := frameio.NewWriter(to, &frameio.Params{ChunkSize: 4096, Workers: 2})
	require.NoError(t, err)
	_, err = w.Write(testutil.Noise(4_000_000, 1))
	require.ErrorIs(t, err, full)
	var e *frameio.Error
	require.ErrorAs(t, err, &e)
	_, err = w.Write(nil)
	require.ErrorIs(t, err, cblosc.ErrBroken)
	require.ErrorIs(t, w.WriteChunk(nil), cblosc.ErrBroken)
	require.ErrorIs(t, w.Commit(), cblosc.ErrBroken)
	require.NoError(t, w.Close())
}

// failing accepts left bytes, then returns err.
type failing struct {
	left int64
	err  error
}

func (f *failing) WriteAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.left {
		return 0, f.err
	}
	return len(p), nil
}
