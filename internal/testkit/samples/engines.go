// Tests that the worker engine and the C library of a format read and write the same elements.

package samples

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

var bg = context.Background()

// Engines describes a format that can be read and written either by workers or only by its C
// library.
type Engines struct {
	// Create and Open open the array in the file or directory path for writing.
	Create func(path string, spec ndarray.Spec, library bool) (ndarray.Backend, error)
	Open   func(path string, library bool) (ndarray.Backend, error)
	// Draw adds properties of the format, such as blocks and compression, to a spec with chunks.
	Draw func(t *rapid.T, spec *ndarray.Spec)
}

// CheckEngines checks that workers and the C library read each other's writes, in new and in opened
// files.
func CheckEngines(t *testing.T, e Engines) {
	rapid.Check(t, func(t *rapid.T) {
		spec := e.spec(t)
		dir, err := os.MkdirTemp("", "engines")
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
		paths := [2]string{filepath.Join(dir, "workers"), filepath.Join(dir, "library")}
		var arrays [2]*ndarray.Array
		opened := func(b ndarray.Backend, err error) *ndarray.Array {
			require.NoError(t, err)
			a, err := ndarray.New(b)
			require.NoError(t, err)
			return a
		}
		for k := range arrays {
			arrays[k] = opened(e.Create(paths[k], spec, k == 1))
		}
		for range rapid.IntRange(0, 6).Draw(t, "steps") {
			r := drawPart(t, spec)
			b := make([]byte, int(r.NumElems())*spec.DType.Size)
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0: // compare
				other := make([]byte, len(b))
				require.NoError(t, arrays[0].Read(bg, b, r))
				require.NoError(t, arrays[1].Read(bg, other, r))
				require.Equal(t, other, b)
			case 1: // open again, each with a random engine
				for k, a := range arrays {
					require.NoError(t, a.Close())
					arrays[k] = opened(e.Open(paths[k], rapid.Bool().Draw(t, "library")))
				}
			case 2: // set an attribute in between
				for _, a := range arrays {
					require.NoError(t, a.SetAttr(bg, ndarray.Attr{Name: "n", Value: ndarray.Scalar(int64(len(b)))}))
				}
			default:
				for i := range b {
					b[i] = byte(i*i) & 0x3f
				}
				for _, a := range arrays {
					require.NoError(t, a.Write(bg, b, r))
				}
			}
		}
		for _, a := range arrays {
			require.NoError(t, a.Close())
		}
		var all [2][]byte
		for k := range all { // each engine reads the array that the other one wrote
			a := opened(e.Open(paths[k], k == 0))
			all[k] = make([]byte, a.NBytes())
			require.NoError(t, a.Read(bg, all[k], ndarray.Whole(spec.Shape)))
			require.NoError(t, a.Close())
		}
		require.Equal(t, all[0], all[1])
	})
}

// spec returns the random Spec of an array of at most 4096 elements.
func (e Engines) spec(t *rapid.T) ndarray.Spec {
	var s ndarray.Spec
	for range rapid.IntRange(0, 3).Draw(t, "rank") {
		n := rapid.Int64Range(1, 16).Draw(t, "length")
		s.Shape = append(s.Shape, n)
		s.ChunkShape = append(s.ChunkShape, rapid.Int64Range(max(1, n/4), n).Draw(t, "chunk"))
	}
	s.DType = Parse(rapid.SampledFrom([]string{"<i4", ">f8", "|u1", "|S5", "<c16"}).Draw(t, "dtype"))
	if rapid.Bool().Draw(t, "fill") {
		s.Fill = bytes.Repeat([]byte{7}, s.DType.Size)
	}
	e.Draw(t, &s)
	return s
}

// drawPart returns a random region that is not empty, often one of whole chunks.
func drawPart(t *rapid.T, s ndarray.Spec) ndarray.Region {
	r := ndarray.Whole(s.Shape)
	aligned := rapid.Bool().Draw(t, "aligned")
	for i, n := range s.Shape {
		from := rapid.Int64Range(0, n-1).Draw(t, "from")
		to := rapid.Int64Range(from, n-1).Draw(t, "to") + 1
		if c := s.ChunkShape[i]; aligned {
			from, to = from/c*c, grid.RoundUp(to, c, n)
		}
		r.Start[i], r.Shape[i] = from, to-from
	}
	return r
}
