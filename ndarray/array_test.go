package ndarray_test

import (
	"context"
	"errors"
	"io/fs"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

// readOnlyStore is a minimal backend: it can only read and close.
type readOnlyStore struct {
	meta   ndarray.Meta
	err    error
	closed atomic.Int32
	calls  atomic.Int32
}

func (s *readOnlyStore) Meta() ndarray.Meta { return s.meta }

func (s *readOnlyStore) ReadRegion(context.Context, []byte, ndarray.Region, int) error {
	s.calls.Add(1)
	return s.err
}

func (s *readOnlyStore) Close() error {
	s.closed.Add(1)
	return s.err
}

func bareMeta() ndarray.Meta {
	return ndarray.Meta{Format: "bare", Path: "x.bare", Shape: []int64{2}, DType: ndarray.DTypeOf[int16]()}
}

func TestArray_unsupported(t *testing.T) {
	s := &readOnlyStore{meta: bareMeta()}
	a, err := ndarray.New(s)
	require.NoError(t, err)
	ctx := t.Context()
	_, attrsErr := a.Attrs(ctx)
	_, storageErr := a.Storage(ctx)
	for op, err := range map[string]error{
		"write":  a.Write(ctx, make([]byte, 4), ndarray.Whole(a.Shape())),
		"attrs":  attrsErr,
		"set":    a.SetAttr(ctx, ndarray.Attr{Name: "a", Value: ndarray.Scalar(true)}),
		"delete": a.DeleteAttr(ctx, "a"),
		"size":   storageErr,
	} {
		require.ErrorIs(t, err, errors.ErrUnsupported, op)
		require.ErrorContains(t, err, "x.bare", op)
		require.ErrorContains(t, err, "bare", op)
	}
	require.NoError(t, a.Close())
}

func TestArray_backendErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	s := &readOnlyStore{meta: bareMeta(), err: broken}
	a, err := ndarray.New(s)
	require.NoError(t, err)
	err = a.Read(t.Context(), make([]byte, 4), ndarray.Whole(a.Shape()))
	require.ErrorIs(t, err, broken)
	var e *ndarray.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "read", e.Op)
	require.Equal(t, "x.bare", e.Path)
	require.Equal(t, "ndarray: read x.bare: disk on fire", err.Error())
	require.ErrorIs(t, a.Close(), broken)
	require.ErrorIs(t, a.Close(), ndarray.ErrClosed)
	require.Equal(t, int32(1), s.closed.Load())
}

func TestArray_emptyRegions(t *testing.T) {
	s := &readOnlyStore{meta: bareMeta(), err: errors.New("called")}
	a, err := ndarray.New(s)
	require.NoError(t, err)
	require.NoError(t, a.Read(t.Context(), nil, ndarray.Region{Start: []int64{2}, Shape: []int64{0}}))
	require.Zero(t, s.calls.Load())
}

func TestArray_sizeErrors(t *testing.T) {
	a := fromSlice(t, []int64{4}, nil, []int32{1, 2, 3, 4})
	err := a.Read(t.Context(), make([]byte, 8), ndarray.Whole(a.Shape()))
	require.ErrorIs(t, err, ndarray.ErrSize)
	require.ErrorContains(t, err, "8 bytes")
	require.ErrorContains(t, err, "needs 16")
}

func TestArray_AttrString(t *testing.T) {
	a := newMem(t, ndarray.Spec{Shape: []int64{6, 4}, ChunkShape: []int64{4, 3}, DType: ndarray.DTypeOf[uint8](),
		Attrs: []ndarray.Attr{{Name: "n", Value: ndarray.Vector(1.5, 2)}}})
	require.Equal(t, "mem: |u1 [6 4] in chunks of [4 3]", a.String())
	v, err := a.Attr(t.Context(), "n")
	require.NoError(t, err)
	n, err := ndarray.ValuesOf[float64](v)
	require.NoError(t, err)
	require.Equal(t, []float64{1.5, 2}, n)
	_, err = a.Attr(t.Context(), "none")
	require.ErrorIs(t, err, ndarray.ErrNotFound)
	require.ErrorContains(t, err, `"none"`)
	require.Equal(t, "mem: |u1 null", newMem(t, ndarray.Spec{Null: true, DType: ndarray.DTypeOf[uint8]()}).String())
	require.NoError(t, a.Close())
	_, err = a.Attr(t.Context(), "n")
	require.ErrorIs(t, err, ndarray.ErrClosed)

	bare, err := ndarray.New(&readOnlyStore{meta: bareMeta()})
	require.NoError(t, err)
	require.Equal(t, "bare x.bare: <i2 [2]", bare.String())
	_, err = bare.Attr(t.Context(), "n")
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

func TestNew_invalidBackends(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*ndarray.Meta)
		want error
	}{
		"no type":          {func(m *ndarray.Meta) { m.DType = ndarray.DType{} }, ndarray.ErrType},
		"negative":         {func(m *ndarray.Meta) { m.Shape = []int64{-1} }, ndarray.ErrShape},
		"overflow":         {func(m *ndarray.Meta) { m.Shape = []int64{1 << 62, 1 << 62} }, ndarray.ErrShape},
		"chunk rank":       {func(m *ndarray.Meta) { m.ChunkShape = []int64{1, 1} }, ndarray.ErrShape},
		"fill size":        {func(m *ndarray.Meta) { m.Fill = []byte{1} }, ndarray.ErrSize},
		"variable strings": {func(m *ndarray.Meta) { m.DType = ndarray.Text("").DType }, errors.ErrUnsupported},
	} {
		s := &readOnlyStore{meta: bareMeta()}
		c.edit(&s.meta)
		_, err := ndarray.New(s)
		require.ErrorIs(t, err, c.want, name)
		require.Zero(t, s.closed.Load(), "%s: the backend is still the caller's", name)
	}
}

func TestArray_metaCopy(t *testing.T) {
	a := fromSlice(t, []int64{4}, []int64{2}, []int32{1, 2, 3, 4})
	m := a.Meta()
	m.Shape[0], m.ChunkShape[0] = 100, 100
	a.Shape()[0] = 100
	require.Equal(t, []int64{4}, a.Shape())
	require.Equal(t, []int64{2}, a.Meta().ChunkShape)
}

func TestErrors_standardSentinels(t *testing.T) {
	require.ErrorIs(t, ndarray.Wrap("open", "x", ndarray.ErrNotFound), fs.ErrNotExist)
	require.ErrorIs(t, ndarray.Wrap("create", "x", ndarray.ErrExists), fs.ErrExist)
	require.NoError(t, ndarray.Wrap("open", "x", nil))
	inner := ndarray.Wrap("read", "y", ndarray.ErrCorrupt)
	require.Equal(t, inner, ndarray.Wrap("copy", "x", inner), "an error with a path is left as it is")
}

func TestSpec_allProblems(t *testing.T) {
	s := ndarray.Spec{
		Shape: []int64{2, 3}, MaxShape: []int64{1, 3}, ChunkShape: []int64{0, 1}, DType: ndarray.DTypeOf[int32](),
		Fill:  []byte{1, 2},
		Attrs: []ndarray.Attr{{Name: "a", Value: ndarray.Scalar(true)}, {Name: "a", Value: ndarray.Scalar(true)}},
	}
	err := s.Validate()
	require.ErrorContains(t, err, "axis 0: largest length 1, length 2")
	require.ErrorContains(t, err, "axis 0: chunk length 0")
	require.ErrorContains(t, err, "fill value of 2 bytes, element of 4")
	require.ErrorContains(t, err, `duplicate attribute "a"`)
}

func TestSpecBlocks(t *testing.T) {
	for _, c := range []struct {
		chunk, block []int64
		ok           bool
	}{
		{[]int64{2, 3}, []int64{2, 1}, true},
		{[]int64{2, 3}, []int64{2, 4}, false},
		{[]int64{2, 3}, []int64{2, 0}, false},
		{[]int64{2, 3}, []int64{2}, false},
		{nil, []int64{2, 3}, false},
		{[]int64{1 << 40, 1 << 40}, nil, false},
	} {
		s := ndarray.Spec{Shape: []int64{9, 9}, ChunkShape: c.chunk, BlockShape: c.block, DType: ndarray.DTypeOf[int32]()}
		if c.ok {
			require.NoError(t, s.Validate())
		} else {
			require.ErrorIs(t, s.Validate(), ndarray.ErrShape, "%+v", c)
		}
	}
}

func TestMeta_spec(t *testing.T) {
	spec := ndarray.Spec{
		Shape: []int64{3, 2}, MaxShape: []int64{ndarray.Unlimited, 2}, ChunkShape: []int64{2, 2}, BlockShape: []int64{1, 2},
		DType: dtype(t, ">i2"), Fill: []byte{1, 2}, Compression: &ndarray.Compression{Codec: "zstd", Level: 5, Filters: []string{"shuffle"}},
	}
	a := newMem(t, spec)
	require.Equal(t, spec, a.Meta().Spec())
	again, err := mem.New(a.Meta().Spec())
	require.NoError(t, err)
	require.Equal(t, a.Meta(), again.Meta())
	require.Equal(t, "shuffle + zstd 5", a.Meta().Compression.String())
	require.Equal(t, "none", (*ndarray.Compression)(nil).String())
	require.Equal(t, "fletcher32 + none", (&ndarray.Compression{Codec: "none", Filters: []string{"fletcher32"}}).String())
}
