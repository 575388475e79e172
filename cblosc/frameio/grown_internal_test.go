// Tests of appends that are interrupted at any write. They are internal tests because only this
// package can observe single writes.

package frameio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
)

// recorder is a file in memory that records every operation on it.
type recorder struct {
	mu  sync.Mutex
	b   []byte
	ops []op
}

// op is a write, a truncation, or, if neither field is set, a sync.
type op struct {
	write    []byte
	at       int64
	truncate bool
}

func (r *recorder) do(o op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops = append(r.ops, o)
	r.b = o.apply(r.b)
}

func (o op) apply(b []byte) []byte {
	switch {
	case o.write != nil:
		if grow := int(o.at) + len(o.write) - len(b); grow > 0 {
			b = append(b, make([]byte, grow)...)
		}
		copy(b[o.at:], o.write)
	case o.truncate:
		if grow := int(o.at) - len(b); grow > 0 {
			b = append(b, make([]byte, grow)...)
		}
		b = b[:o.at]
	}
	return b
}

func (r *recorder) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(r.b).ReadAt(p, off)
}

func (r *recorder) WriteAt(p []byte, off int64) (int, error) {
	r.do(op{write: bytes.Clone(p), at: off})
	return len(p), nil
}

func (r *recorder) Truncate(size int64) error { r.do(op{truncate: true, at: size}); return nil }
func (r *recorder) Sync() error               { r.do(op{}); return nil }
func (r *recorder) Close() error              { return nil }

var _ io.ReaderAt = (*recorder)(nil)

// counting returns n chunks of size bytes, filled with the square numbers as 64-bit integers.
func counting(n, size int) []byte {
	b := make([]byte, 0, n*size)
	for i := range n * size / 8 {
		b = binary.LittleEndian.AppendUint64(b, uint64(i*i))
	}
	return b
}

// readAll returns all values of the frame at path. It reads them with C-Blosc2 and requires that
// this package reads the same.
func readAll(t *testing.T, path string) []byte {
	t.Helper()
	s, err := cblosc.OpenSChunk(path)
	require.NoError(t, err)
	all := make([]byte, s.NBytes())
	for i := range s.NumChunks() {
		_, err := s.DecompressChunk(all[int(i)*s.ChunkSize():], i)
		require.NoError(t, err)
	}
	require.NoError(t, s.Close())
	f, err := Open(path, nil)
	require.NoError(t, err)
	ours := make([]byte, f.NBytes())
	require.NoError(t, f.ReadAll(t.Context(), ours, 1))
	require.NoError(t, f.Close())
	require.True(t, bytes.Equal(all, ours))
	return all
}

// newFile writes a frame in chunks of 4 KiB that contains all, and returns its path.
func newFile(t *testing.T, sparse bool, all []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "frame")
	w, err := Create(path, &Params{ChunkSize: 4096, Sparse: sparse, VLMeta: []cblosc.Metalayer{{Name: "v", Content: []byte("content")}}})
	require.NoError(t, err)
	_, err = w.Write(all)
	require.NoError(t, err)
	require.NoError(t, w.Commit())
	require.NoError(t, w.Close())
	return path
}

// TestAppend_durableStopped checks that an interrupted durable append leaves either the old or the
// new frame. The append stops after any write, in the middle of one, or with any single write since
// the last sync lost. The next append must succeed on the file that is left.
func TestAppend_durableStopped(t *testing.T) {
	for _, before := range []int{0, 3} {
		t.Run(fmt.Sprintf("%d chunks before", before), func(t *testing.T) {
			size := 4096
			all := counting(before+600, size)
			old := all[:before*size]
			path := newFile(t, false, old)
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			f, err := Open(path, nil)
			require.NoError(t, err)
			w, err := resume(f, &AppendOptions{ChunkSize: size, Workers: 2, Durable: true})
			require.NoError(t, err)
			rec := &recorder{b: bytes.Clone(b)}
			w.to, err = newGrownFile(rec, f.head, true)
			require.NoError(t, err)
			require.NoError(t, f.Close())
			_, err = w.Write(all[before*size:])
			require.NoError(t, err)
			require.NoError(t, w.Commit())
			require.NoError(t, w.Close())

			broken := filepath.Join(t.TempDir(), "frame")
			try := func(what string, b []byte, decided bool) {
				require.NoError(t, os.WriteFile(broken, b, 0o600))
				got := readAll(t, broken)
				if decided {
					require.True(t, bytes.Equal(all, got), "%s: not the new frame", what)
				} else {
					require.True(t, bytes.Equal(old, got), "%s: not the old frame", what)
				}
			}
			stops(t, b, rec.ops, try)

			// Take the last state before the header was written, and append again.
			state := bytes.Clone(b)
			for _, o := range rec.ops {
				if o.write != nil && o.at == 0 {
					break
				}
				state = o.apply(state)
			}
			require.NoError(t, os.WriteFile(broken, state, 0o600))
			w, err = Append(broken, &AppendOptions{ChunkSize: size, Durable: true})
			require.NoError(t, err)
			_, err = w.Write(all[before*size:])
			require.NoError(t, err)
			require.NoError(t, w.Commit())
			require.NoError(t, w.Close())
			require.True(t, bytes.Equal(all, readAll(t, broken)))
		})
	}
}

// stops calls try with every state that an interruption of ops can leave in a file with the content
// b: after each operation, in the middle of each write, and without any single write since the last
// sync. decided reports whether the header is written.
func stops(t *testing.T, b []byte, ops []op, try func(what string, state []byte, decided bool)) {
	decided, synced, head := false, -1, -1
	state := func(n, without int, half bool) []byte {
		s := bytes.Clone(b)
		for k, o := range ops[:n] {
			if k == without {
				continue
			}
			if half && k == n-1 {
				o.write = o.write[:len(o.write)/2]
			}
			s = o.apply(s)
		}
		return s
	}
	for k, o := range ops {
		header := o.write != nil && o.at == 0
		if o.write != nil && !header {
			try(fmt.Sprintf("half of write %d", k), state(k+1, -1, true), decided)
		}
		if header {
			decided, head = true, k
		}
		try(fmt.Sprintf("after %d", k), state(k+1, -1, false), decided)
		for lost := synced + 1; lost < k; lost++ {
			try(fmt.Sprintf("after %d without %d", k, lost), state(k+1, lost, false), decided && lost != head)
		}
		if o.write == nil && !o.truncate {
			synced = k
		}
	}
	require.True(t, decided)
}

// TestArray_durableStopped checks that a durable writer replaces chunks and appends rows of an
// array as one transaction. At whatever operation it is interrupted, both readers must see either
// all changes or none.
func TestArray_durableStopped(t *testing.T) {
	const rows, columns, chunkRows = 12, 30, 4
	cp := cblosc.DefaultCParams()
	cp.TypeSize = 8
	old := counting(rows*columns/8*8, 8)
	for _, grown := range []int64{0, 20} {
		t.Run(fmt.Sprintf("%d rows", max(rows, grown)), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "array")
			x, err := cblosc.CreateArray(&cblosc.ArrayParams{
				Storage: cblosc.Storage{Path: path, Contiguous: true, CParams: cp},
				Shape:   []int64{rows, columns}, ChunkShape: []int32{chunkRows, 16}, Blocks: []int32{2, 8}, DType: "<i8",
			})
			require.NoError(t, err)
			require.NoError(t, x.WriteRegion(old[:rows*columns*8], []int64{0, 0}, []int64{rows, columns}))
			require.NoError(t, x.Close())
			b, err := os.ReadFile(path)
			require.NoError(t, err)

			a, err := OpenArray(path)
			require.NoError(t, err)
			w, err := a.writer(&ArrayOptions{Rows: grown, Durable: true})
			require.NoError(t, err)
			rec := &recorder{b: bytes.Clone(b)}
			g := w.w.to.(*grownFile)
			require.NoError(t, g.f.Close())
			g.f, g.w = rec, rec
			// Write from the second row of chunks to the end in reverse order, so that chunks are
			// queued.
			total := max(rows, grown)
			want := append(bytes.Clone(old[:chunkRows*columns*8]), bytes.Repeat([]byte{7, 1, 0, 0, 0, 0, 0, 0}, int(total-chunkRows)*columns)...)
			for at := total - chunkRows; at > 0; at -= chunkRows {
				require.NoError(t, w.WriteRegion(t.Context(), want[at*columns*8:(at+chunkRows)*columns*8], []int64{at, 0}, []int64{chunkRows, columns}, 2))
			}
			require.NoError(t, w.Commit())
			require.NoError(t, w.Close())

			broken := filepath.Join(t.TempDir(), "array")
			stops(t, b, rec.ops, func(what string, state []byte, decided bool) {
				require.NoError(t, os.WriteFile(broken, state, 0o600))
				values, n := old[:rows*columns*8], int64(rows)
				if decided {
					values, n = want, total
				}
				got := make([]byte, len(values))
				library, err := cblosc.OpenArray(broken)
				require.NoError(t, err, what)
				require.Equal(t, []int64{n, columns}, library.Shape(), what)
				require.NoError(t, library.ReadRegion(got, []int64{0, 0}, []int64{n, columns}), what)
				require.NoError(t, library.Close())
				require.True(t, bytes.Equal(values, got), what)
				ours, err := OpenArray(broken)
				require.NoError(t, err, what)
				clear(got)
				require.NoError(t, ours.ReadRegion(t.Context(), got, []int64{0, 0}, []int64{n, columns}, 1), what)
				require.NoError(t, ours.Close())
				require.True(t, bytes.Equal(values, got), what)
			})
		})
	}
}

// TestSparseAppendStopped checks an append to a directory that is interrupted before the index is
// replaced. It must leave the old frame, and the next append must be able to overwrite the new
// files.
func TestSparseAppendStopped(t *testing.T) {
	const size = 4096
	all := counting(40, size)
	path := newFile(t, true, all[:3*size])
	f, err := Open(path, nil)
	require.NoError(t, err)
	w, err := resume(f, &AppendOptions{Durable: true})
	require.NoError(t, err)
	require.NoError(t, f.Close())
	to, err := openGrownDirectory(path, true)
	require.NoError(t, err)
	stopped := &stoppedTarget{target: to}
	w.to = stopped
	_, err = w.Write(all[3*size:])
	require.NoError(t, err)
	require.NoError(t, w.Commit())
	require.NoError(t, w.Close())
	require.True(t, bytes.Equal(all[:3*size], readAll(t, path)))
	require.FileExists(t, filepath.Join(path, nextIndex))

	w, err = Append(path, nil)
	require.NoError(t, err)
	_, err = w.Write(all[3*size:])
	require.NoError(t, err)
	require.NoError(t, w.Commit())
	require.NoError(t, w.Close())
	require.True(t, bytes.Equal(all, readAll(t, path)))
	require.NoFileExists(t, filepath.Join(path, nextIndex))
	require.NoError(t, to.root.Close())
}

// stoppedTarget never commits.
type stoppedTarget struct{ target }

func (*stoppedTarget) commit() error { return nil }

// TestAppend_restoreAfterError checks that an append whose commit fails restores the header and the
// bytes that it overwrote.
func TestAppend_restoreAfterError(t *testing.T) {
	path := newFile(t, false, counting(3, 4096))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	f, err := Open(path, nil)
	require.NoError(t, err)
	w, err := resume(f, new(AppendOptions))
	require.NoError(t, err)
	rec := &recorder{b: bytes.Clone(b)}
	g, err := newGrownFile(rec, f.head, false)
	require.NoError(t, err)
	w.to = &unsynced{g}
	require.NoError(t, f.Close())
	_, err = w.Write(counting(500, 4096))
	require.NoError(t, err)
	require.ErrorIs(t, w.Commit(), io.ErrShortWrite)
	require.False(t, bytes.Equal(b, rec.b))
	require.NoError(t, w.Close())
	require.True(t, bytes.Equal(b, rec.b))
}

// unsynced fails after all data is written.
type unsynced struct{ *grownFile }

func (*unsynced) commit() error { return io.ErrShortWrite }
