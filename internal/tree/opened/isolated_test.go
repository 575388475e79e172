package opened_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
	"github.com/hyperslab/hyperslab/ndarray/ndarraytest"
)

// TestIsolatedConformance runs the backend conformance tests with arrays that are read in a worker.
func TestIsolatedConformance(t *testing.T) {
	dir, n := t.TempDir(), 0
	file := func() string { return filepath.Join(dir, fmt.Sprintf("%d.h5", n)) }
	cannot := func(d ndarray.DType) (why string) {
		d.MapParts(func(p ndarray.DType) ndarray.DType {
			if p.Kind == ndarray.Unicode || slices.ContainsFunc(p.Fields, func(f ndarray.Field) bool { return f.Title != "" }) {
				why = "HDF5 has neither code points nor titles"
			}
			return p
		})
		return why
	}
	ndarraytest.TestBackend(t, ndarraytest.Factory{
		Create: func(_ ndarraytest.TB, spec ndarray.Spec) (ndarray.Backend, error) {
			n++
			b, err := hdf5.Create(file(), "x", spec, nil)
			if err != nil {
				return nil, err
			}
			return b, nil
		},
		Reopen: func(ndarraytest.TB) (ndarray.Backend, error) {
			a, err := hyperslab.Open(bg, file()+":/x", &hyperslab.OpenOptions{Untrusted: new(hyperslab.Untrusted)})
			if err != nil {
				return nil, err
			}
			return a.Backend(), nil
		},
		DearReopen: true,
		Cannot:     func(spec ndarray.Spec) string { return cannot(spec.DType) },
		CannotAttr: func(a ndarray.Attr) string {
			if err := hdf5.CheckAttr(a); err != nil {
				return err.Error()
			}
			return ""
		},
	})
}

// TestIsolatedLargeChunks checks that reads in a worker and in the process return the same elements
// if chunks are larger than the window, if boxes lie inside chunks and if elements arrive in
// several pieces.
func TestIsolatedLargeChunks(t *testing.T) {
	for _, name := range []string{"a.b2nd", "a.h5:/x"} {
		location := filetest.In(t.TempDir(), name)
		spec := ndarray.Spec{
			Shape: []int64{20, 1 << 10, 250}, ChunkShape: []int64{17, 1 << 10, 248}, DType: ndarray.DTypeOf[int32](),
			Compression: &ndarray.Compression{Codec: "none"},
		}
		filetest.Save(t, location, spec, nil)
		direct, err := hyperslab.Open(bg, location, nil)
		require.NoError(t, err)
		g, err := hyperslab.Open(bg, location, &hyperslab.OpenOptions{Untrusted: new(hyperslab.Untrusted)})
		require.NoError(t, err)
		level := filetest.RequireSandbox(t, g)
		require.Contains(t, level, "rlimits")
		t.Log("isolation: ", level)
		for _, r := range []ndarray.Region{
			ndarray.Whole(spec.Shape),
			{Start: []int64{10, 5, 230}, Shape: []int64{10, 1000, 20}},
			{Start: []int64{7, 0, 0}, Shape: []int64{1, 1 << 10, 250}},
			{Start: []int64{19, 1023, 249}, Shape: []int64{1, 1, 1}},
		} {
			want, got := make([]byte, r.NumElems()*4), make([]byte, r.NumElems()*4)
			require.NoError(t, direct.Read(bg, want, r))
			require.NoError(t, g.Read(bg, got, r))
			require.True(t, bytes.Equal(want, got), "%v", r)
		}
		want, err := direct.Storage(bg)
		require.NoError(t, err)
		have, err := g.Storage(bg)
		require.NotEmpty(t, have.Isolation)
		have.Isolation = ""
		require.NoError(t, err)
		require.Equal(t, want, have)
		require.NoError(t, direct.Close())
		require.NoError(t, g.Close())
	}
}

// TestIsolated_manyPieces checks that reads in a worker and in the process return the same elements
// if a read has more boxes than the window has slots, with any number of goroutines.
func TestIsolated_manyPieces(t *testing.T) {
	for _, name := range []string{"a.b2nd", "a.h5:/x"} {
		location := filetest.In(t.TempDir(), name)
		spec := ndarray.Spec{
			Shape: []int64{300, 1 << 15}, ChunkShape: []int64{7, 1 << 15}, DType: ndarray.DTypeOf[int32](),
			Compression: &ndarray.Compression{Codec: "none"},
		}
		filetest.Save(t, location, spec, nil)
		direct, err := hyperslab.Open(bg, location, nil)
		require.NoError(t, err)
		g, err := hyperslab.Open(bg, location, &hyperslab.OpenOptions{Untrusted: new(hyperslab.Untrusted)})
		require.NoError(t, err)
		filetest.RequireSandbox(t, g)
		for _, r := range []ndarray.Region{
			ndarray.Whole(spec.Shape),
			{Start: []int64{3, 100}, Shape: []int64{290, 1<<15 - 333}},
			{Start: []int64{13, 0}, Shape: []int64{40, 1 << 15}},
		} {
			want := make([]byte, r.NumElems()*4)
			require.NoError(t, direct.Read(bg, want, r))
			for _, workers := range []int{0, 1, 2, 3, 100} {
				got := make([]byte, len(want))
				require.NoError(t, g.ReadRegion(bg, got, r, workers))
				require.True(t, bytes.Equal(want, got), "%v by %d", r, workers)
			}
		}
		require.NoError(t, direct.Close())
		require.NoError(t, g.Close())
	}
}

// TestIsolatedLimits checks that a call that exceeds a limit of its worker returns an error and
// that the next call starts a new worker. A cancelled read must also return an error.
func TestIsolatedLimits(t *testing.T) {
	location := filetest.In(t.TempDir(), "a.b2nd")
	d, err := hyperslab.Create(bg, location, ndarray.Spec{Shape: []int64{256, 1 << 18}, ChunkShape: []int64{256, 1 << 18}, BlockShape: []int64{1, 1 << 16}, DType: ndarray.DTypeOf[int32]()}, nil)
	require.NoError(t, err)
	require.NoError(t, d.Commit(bg))
	g, err := hyperslab.Open(bg, location, &hyperslab.OpenOptions{Untrusted: &hyperslab.Untrusted{Memory: 160 << 20, FullIsolation: true}})
	if errors.Is(err, worker.ErrUnavailable) {
		t.Skip("this system does not isolate in full")
	}
	require.NoError(t, err)
	defer func() { require.NoError(t, g.Close()) }()
	whole := ndarray.Whole(g.Shape())
	dst := make([]byte, g.NBytes())
	err = g.Read(bg, dst, whole)
	require.Error(t, err, "a chunk of 256 MiB in a process with 160 MiB")
	t.Log(err)
	ctx, cancel := context.WithTimeout(bg, time.Millisecond)
	defer cancel()
	require.Error(t, g.Read(ctx, dst, whole))
	_, err = g.Attrs(bg)
	require.NoError(t, err, "a fresh worker answers")
}

// BenchmarkUntrustedRead compares reads in a worker with reads in the process, on 350 MB of data.
func BenchmarkUntrustedRead(b *testing.B) {
	dir := b.TempDir()
	shape := []int64{3500, 25000}
	spec := ndarray.Spec{Shape: shape, DType: ndarray.DTypeOf[float32]()}
	row := make([]float32, shape[1])
	for _, name := range []string{"deflate.h5:/x", "zstd.b2nd"} {
		location := filetest.In(dir, name)
		d, err := hyperslab.Create(bg, location, spec, nil)
		require.NoError(b, err)
		rnd := rand.New(rand.NewPCG(1, 2))
		block := make([]float32, 0, 500*len(row))
		for i := range shape[0] {
			for j := range row {
				row[j] = float32(int(1000*float32(i+int64(j))/3)) + float32(rnd.IntN(8))
			}
			if block = append(block, row...); len(block) == cap(block) {
				require.NoError(b, ndarray.Write(bg, d.Array, block, ndarray.Region{Start: []int64{i + 1 - 500, 0}, Shape: []int64{500, shape[1]}}))
				block = block[:0]
			}
		}
		require.NoError(b, d.Commit(bg))
		dst := make([]byte, 4*shape[0]*shape[1])
		for _, how := range []struct {
			name   string
			direct bool
		}{{"direct", true}, {"isolated", false}} {
			b.Run(name[:4]+"/"+how.name, func(b *testing.B) {
				g, err := hyperslab.Open(bg, location, &hyperslab.OpenOptions{Untrusted: &hyperslab.Untrusted{InProcess: how.direct}})
				require.NoError(b, err)
				defer g.Close()
				b.SetBytes(int64(len(dst)))
				for b.Loop() {
					require.NoError(b, g.Read(bg, dst, ndarray.Whole(shape)))
				}
			})
		}
		b.Run(name[:4]+"/open", func(b *testing.B) {
			for b.Loop() {
				g, err := hyperslab.Open(bg, location, &hyperslab.OpenOptions{Untrusted: new(hyperslab.Untrusted)})
				require.NoError(b, err)
				require.NoError(b, g.Close())
			}
		})
		_ = os.Remove(location)
	}
}
