package b2nd_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

// plainFrame writes data to a frame that is not an array, as SChunk of python-blosc2 does.
func plainFrame(t *testing.T, path string, contiguous bool, typesize, chunk int, data []byte) {
	t.Helper()
	p := cblosc.DefaultCParams()
	p.TypeSize = typesize
	s, err := cblosc.CreateSChunk(cblosc.Storage{Path: path, Contiguous: contiguous, CParams: p})
	require.NoError(t, err)
	for len(data) > 0 {
		n := min(chunk, len(data))
		err := s.AppendBuffer(data[:n])
		require.NoError(t, err)
		data = data[n:]
	}
	require.NoError(t, s.VLMeta().Add("unit", []byte{0xa1, 'K'}))
	require.NoError(t, s.Close())
}

// TestOpenFrame checks that a frame that is not an array is read as a one-dimensional array.
func TestOpenFrame(t *testing.T) {
	dir := t.TempDir()
	data := make([]byte, 4*1003)
	for i := range data {
		data[i] = byte(i * 7)
	}
	i4 := ndarray.DTypeOf[int32]()
	for _, contiguous := range []bool{true, false} {
		path := filepath.Join(dir, map[bool]string{true: "x.b2frame", false: "sparse"}[contiguous])
		plainFrame(t, path, contiguous, 4, 400, data)
		for _, given := range []*ndarray.DType{nil, &i4} {
			b, err := b2nd.OpenFrame(path, &b2nd.OpenOptions{DType: given})
			require.NoError(t, err)
			a, err := ndarray.New(b)
			require.NoError(t, err)
			require.Equal(t, "frame", a.Meta().Format)
			require.Equal(t, []int64{1003}, a.Shape())
			require.Equal(t, []int64{100}, a.Meta().ChunkShape)
			require.Equal(t, map[bool]string{true: "|V4", false: "<i4"}[given == nil], a.DType().String())
			for _, r := range []ndarray.Region{ndarray.Whole([]int64{1003}), {Start: []int64{99}, Shape: []int64{2}}, {Start: []int64{350}, Shape: []int64{653}}} {
				got := make([]byte, r.NumElems()*4)
				require.NoError(t, a.Read(bg, got, r))
				require.Equal(t, data[r.Start[0]*4:(r.Start[0]+r.Shape[0])*4], got)
			}
			attrs, err := a.Attrs(bg)
			require.NoError(t, err)
			unit, ok := attrs.Get("unit")
			require.True(t, ok)
			require.True(t, unit.Equal(ndarray.Text("K")))
			s, err := a.Storage(bg)
			require.NoError(t, err)
			require.EqualValues(t, 11, s.NumChunks)
			require.ErrorIs(t, a.Write(bg, data[:4], ndarray.Region{Start: []int64{0}, Shape: []int64{1}}), ndarray.ErrReadOnly)
			require.NoError(t, a.Close())
		}
	}
	f8 := ndarray.DTypeOf[float64]()
	_, err := b2nd.OpenFrame(filepath.Join(dir, "x.b2frame"), &b2nd.OpenOptions{DType: &f8})
	require.ErrorIs(t, err, ndarray.ErrType)
	_, err = b2nd.OpenFrame(filepath.Join(dir, "x.b2frame"), &b2nd.OpenOptions{Write: true})
	require.ErrorIs(t, err, ndarray.ErrReadOnly)
	_, err = b2nd.OpenFrame(filepath.Join(dir, "none"), nil)
	require.ErrorIs(t, err, ndarray.ErrNotFound)
	p := cblosc.DefaultCParams()
	p.TypeSize = 4
	w, err := frameio.Create(filepath.Join(dir, "odd"), &frameio.Params{CParams: p, ChunkSize: 8})
	require.NoError(t, err)
	_, err = w.Write(data[:7])
	require.NoError(t, err)
	require.NoError(t, w.Commit())
	_, err = b2nd.OpenFrame(filepath.Join(dir, "odd"), nil)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorContains(t, err, "7 bytes in elements of 4")
	b, err := b2nd.Create(filepath.Join(dir, "array"), ndarray.Spec{Shape: []int64{3}, DType: i4}, nil)
	require.NoError(t, err)
	require.NoError(t, b.Close())
	_, err = b2nd.OpenFrame(filepath.Join(dir, "array"), nil)
	require.ErrorIs(t, err, ndarray.ErrFormat)
	r, err := b2nd.OpenFS(os.DirFS(filepath.Join(dir, "sparse")), nil)
	require.NoError(t, err)
	require.Equal(t, "frame", r.Meta().Format)
	require.NoError(t, r.Close())
}
