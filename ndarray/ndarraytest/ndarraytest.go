// Conformance suite for backends: TestBackend, with one test for each guarantee.

package ndarraytest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/testkit/samples"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Factory creates arrays of the backend under test.
type Factory struct {
	// Create makes a new, writable array.
	Create func(t TB, spec ndarray.Spec) (ndarray.Backend, error)
	// Reopen opens the array that Create made last, after it was closed, read-only. It is nil for a
	// backend that stores nothing on disk.
	Reopen func(t TB) (ndarray.Backend, error)
	// Cannot returns the reason why the backend cannot store an array, or "" if it can. For a spec
	// that the backend cannot store, Create must return errors.ErrUnsupported. nil: the backend can
	// store every array.
	Cannot func(spec ndarray.Spec) string
	// CannotAttr is the same for one attribute. nil: the backend can store every attribute.
	CannotAttr func(a ndarray.Attr) string
	// FirstAxisOnly means that arrays grow and shrink only along the first axis.
	FirstAxisOnly bool
	// DearReopen must be set if Reopen is slow. The suite then tests each element type with one
	// layout, instead of every pair.
	DearReopen bool
	// Adapt changes the chunk and block shapes of a valid spec to shapes that the backend supports.
	// nil: the backend supports all shapes.
	Adapt func(spec *ndarray.Spec)
}

// adapted returns the spec with a grid that the backend supports.
func (f Factory) adapted(spec ndarray.Spec) ndarray.Spec {
	if f.Adapt != nil && spec.Validate() == nil {
		spec.ChunkShape, spec.BlockShape = slices.Clone(spec.ChunkShape), slices.Clone(spec.BlockShape)
		f.Adapt(&spec)
	}
	return spec
}

// TB is the common interface of tests and rapid's property tests.
type TB interface {
	require.TestingT
	Helper()
	Logf(format string, args ...any)
}

// TestBackend runs the suite.
func TestBackend(t *testing.T, f Factory) {
	t.Run("dtypes", func(t *testing.T) { testMatrix(t, f) })
	t.Run("fill", func(t *testing.T) { testFill(t, f) })
	t.Run("reused destination", func(t *testing.T) { testReused(t, f) })
	t.Run("random regions", func(t *testing.T) { testRandomRegions(t, f) })
	t.Run("selections", func(t *testing.T) { testSelections(t, f) })
	t.Run("resize", func(t *testing.T) { testResize(t, f) })
	t.Run("wrong resize", func(t *testing.T) { testWrongResize(t, f) })
	t.Run("wrong access", func(t *testing.T) { testWrongAccess(t, f) })
	t.Run("closed", func(t *testing.T) { testClosed(t, f) })
	t.Run("cancelled", func(t *testing.T) { testCancelled(t, f) })
	t.Run("cancelled midway", func(t *testing.T) { testCancelledMidway(t, f) })
	t.Run("workers", func(t *testing.T) { testWorkers(t, f) })
	t.Run("concurrent reads", func(t *testing.T) { testConcurrentReads(t, f) })
	t.Run("concurrent writes", func(t *testing.T) { testConcurrentWrites(t, f) })
	t.Run("close during reads", func(t *testing.T) { testCloseDuringReads(t, f) })
	t.Run("strings", func(t *testing.T) { testStrings(t, f) })
	t.Run("elements of variable size", func(t *testing.T) { testVariable(t, f) })
	t.Run("attributes", func(t *testing.T) { testAttributes(t, f) })
	t.Run("storage", func(t *testing.T) { testStorage(t, f) })
	t.Run("uniform", func(t *testing.T) { testUniform(t, f) })
	t.Run("invalid specs", func(t *testing.T) { testInvalidSpecs(t, f) })
	t.Run("meta", func(t *testing.T) { testMeta(t, f) })
	if f.Reopen != nil {
		t.Run("read-only", func(t *testing.T) { testReadOnly(t, f) })
	}
}

var bg = context.Background()

// create creates the array of spec. If the backend cannot store it, create checks the error and
// returns nil.
func (f Factory) create(t TB, spec ndarray.Spec) *ndarray.Array {
	t.Helper()
	spec = f.adapted(spec)
	b, err := f.Create(t, spec)
	if f.Cannot != nil {
		if why := f.Cannot(spec); why != "" {
			require.ErrorIs(t, err, errors.ErrUnsupported, "%s: %+v", why, spec)
			return nil
		}
	}
	require.NoError(t, err, "%+v", spec)
	a, err := ndarray.New(b)
	require.NoError(t, err, "%+v", spec)
	return a
}

// reopened closes a and opens it again, if the backend stores arrays on disk.
func (f Factory) reopened(t TB, a *ndarray.Array) *ndarray.Array {
	t.Helper()
	if f.Reopen == nil {
		return a
	}
	require.NoError(t, a.Close())
	b, err := f.Reopen(t)
	require.NoError(t, err)
	a, err = ndarray.New(b)
	require.NoError(t, err)
	return a
}

// pattern returns n elements of pseudo-random bytes.
func pattern(d ndarray.DType, n int64) []byte { return samples.Pattern(d, n) }

// testMatrix checks that a whole array of every element type in every layout reads as it was
// written, both immediately and after it is opened again.
func testMatrix(t *testing.T, f Factory) {
	for i, d := range samples.DTypes() {
		for j, l := range samples.Layouts() {
			if f.DearReopen && i%len(samples.Layouts()) != j {
				continue
			}
			spec := ndarray.Spec{Shape: l.Shape, ChunkShape: l.ChunkShape, DType: d}
			a := f.create(t, spec)
			if a == nil {
				continue
			}
			name := fmt.Sprintf("%v %v chunks %v", d, l.Shape, l.ChunkShape)
			require.True(t, d.Equal(a.DType()), "%s: got %v", name, a.DType())
			want := pattern(d, a.NumElems())
			whole := ndarray.Whole(l.Shape)
			require.NoError(t, a.Write(bg, want, whole), name)
			got := dirty(len(want))
			require.NoError(t, a.Read(bg, got, whole), name)
			require.Equal(t, want, got, name)

			a = f.reopened(t, a)
			require.True(t, d.Equal(a.DType()), "%s: got %v after opening", name, a.DType())
			require.Equal(t, l.Shape, a.Shape(), name)
			got = dirty(len(want))
			require.NoError(t, a.Read(bg, got, whole), name)
			require.Equal(t, want, got, "%s after opening", name)
			testChunks(t, a, want, name)
			require.NoError(t, a.Close())
		}
	}
}

// testChunks checks that the chunks contain every element once, in row-major order of chunks, and
// have the same elements as the whole array.
func testChunks(t *testing.T, a *ndarray.Array, all []byte, name string) {
	m := newModel(a.Shape(), a.DType().Size, all)
	var n int64
	for r := range a.ChunkRegions() {
		got := dirty(r.NumElems() * int64(a.DType().Size))
		require.NoError(t, a.Read(bg, got, r), "%s %v", name, r)
		require.Equal(t, m.read(r), got, "%s %v", name, r)
		n += r.NumElems()
	}
	require.Equal(t, a.NumElems(), n, name)
}

// testFill checks that elements that were never written read as the fill value, or as zero bytes.
func testFill(t *testing.T, f Factory) {
	for _, d := range samples.DTypes() {
		for _, fill := range [][]byte{nil, pattern(d, 1)} {
			spec := ndarray.Spec{Shape: []int64{5, 4}, ChunkShape: []int64{2, 3}, DType: d, Fill: fill}
			a := f.create(t, spec)
			if a == nil {
				continue
			}
			one := fill
			if one == nil {
				one = make([]byte, d.Size)
			}
			m := newModel(spec.Shape, d.Size, bytes.Repeat(one, 20))
			part := ndarray.Region{Start: []int64{1, 1}, Shape: []int64{2, 1}}
			src := pattern(d, 2)
			require.NoError(t, a.Write(bg, src, part), "%v", d)
			m.write(part, src)
			for range 2 {
				got := dirty(len(m.data))
				require.NoError(t, a.Read(bg, got, ndarray.Whole(spec.Shape)), "%v", d)
				require.Equal(t, m.data, got, "%v fill %x", d, fill)
				if fill != nil {
					require.Equal(t, fill, a.Meta().Fill, "%v", d)
				}
				a = f.reopened(t, a)
			}
			require.NoError(t, a.Close())
		}
	}
}

// testReused checks that a read defines every byte of its destination, which contains the elements
// of the arrays that were read before. Of every second array, only the last element was written.
func testReused(t *testing.T, f Factory) {
	buffer := []byte{}
	for _, d := range samples.DTypes() {
		for i, l := range slices.Concat(samples.Layouts(), samples.Layouts()) {
			a := f.create(t, ndarray.Spec{Shape: l.Shape, ChunkShape: l.ChunkShape, DType: d})
			if a == nil {
				continue
			}
			written := ndarray.Whole(l.Shape)
			for axis, n := range l.Shape {
				if i%2 == 1 && n > 0 {
					written.Start[axis], written.Shape[axis] = n-1, 1
				}
			}
			src := pattern(d, written.NumElems())
			require.NoError(t, a.Write(bg, src, written))
			m := newModel(l.Shape, d.Size, nil)
			m.write(written, src)
			for range 2 {
				if n := len(m.data); cap(buffer) < n {
					buffer = dirty(n)
				} else {
					buffer = buffer[:n]
				}
				require.NoError(t, a.Read(bg, buffer, ndarray.Whole(l.Shape)))
				require.Equal(t, m.data, buffer, "%v %v chunks %v", d, l.Shape, l.ChunkShape)
				if f.DearReopen {
					break
				}
				a = f.reopened(t, a)
			}
			require.NoError(t, a.Close())
		}
	}
}

// testRandomRegions checks that any sequence of region writes and reads matches the model.
func testRandomRegions(t *testing.T, f Factory) {
	dtypes := samples.DTypes()
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(dtypes).Draw(t, "dtype")
		shape := rapid.SliceOfN(rapid.Int64Range(0, 9), 0, 4).Draw(t, "shape")
		var chunk []int64
		if rapid.Bool().Draw(t, "chunked") && len(shape) > 0 {
			for range shape {
				chunk = append(chunk, rapid.Int64Range(1, 10).Draw(t, "chunk"))
			}
		}
		a := f.create(t, ndarray.Spec{Shape: shape, ChunkShape: chunk, DType: d})
		if a == nil {
			return
		}
		m := newModel(shape, d.Size, nil)
		n := rapid.IntRange(1, 8).Draw(t, "steps")
		for i := range n {
			r := drawRegion(t, shape)
			if rapid.Bool().Draw(t, "write") {
				src := pattern(d, r.NumElems())
				if len(src) > 0 && d.Kind != ndarray.Bool && d.Kind != ndarray.Bytes {
					src[0] = byte(i)
				}
				keep := bytes.Clone(src)
				require.NoError(t, a.Write(bg, src, r))
				require.Equal(t, keep, src, "the source of a write was changed")
				m.write(r, src)
				clear(src) // the backend must not have kept src
			}
			got := dirty(r.NumElems() * int64(d.Size))
			require.NoError(t, a.Read(bg, got, r))
			require.Equal(t, m.read(r), got, "%v", r)
		}
		a = f.reopened(t, a)
		got := dirty(len(m.data))
		require.NoError(t, a.Read(bg, got, ndarray.Whole(shape)))
		require.Equal(t, m.data, got, "after opening")
		require.NoError(t, a.Close())
	})
}

func drawRegion(t *rapid.T, shape []int64) ndarray.Region {
	r := ndarray.Region{Start: make([]int64, len(shape)), Shape: make([]int64, len(shape))}
	for i, n := range shape {
		r.Start[i] = rapid.Int64Range(0, n).Draw(t, "start")
		r.Shape[i] = rapid.Int64Range(0, n-r.Start[i]).Draw(t, "length")
	}
	return r
}

func int32s() ndarray.Spec {
	d, _ := ndarray.ParseDType("<i4")
	return ndarray.Spec{Shape: []int64{6, 5}, ChunkShape: []int64{4, 2}, DType: d}
}

// testWrongAccess checks that regions outside the array and buffers of the wrong size return an
// error and change nothing.
func testWrongAccess(t *testing.T, f Factory) {
	a := f.create(t, int32s())
	want := pattern(a.DType(), 30)
	require.NoError(t, a.Write(bg, want, ndarray.Whole(a.Shape())))
	for _, c := range []struct {
		start, shape []int64
		bytes        int
		want         error
	}{
		{[]int64{0, 0}, []int64{6, 5}, 119, ndarray.ErrSize},
		{[]int64{0, 0}, []int64{6, 5}, 124, ndarray.ErrSize},
		{[]int64{0, 0}, []int64{0, 5}, 4, ndarray.ErrSize},
		{[]int64{0, 0}, []int64{7, 5}, 140, ndarray.ErrRegion},
		{[]int64{6, 0}, []int64{1, 1}, 4, ndarray.ErrRegion},
		{[]int64{-1, 0}, []int64{1, 1}, 4, ndarray.ErrRegion},
		{[]int64{0, 0}, []int64{-1, 1}, 4, ndarray.ErrRegion},
		{[]int64{1 << 62, 0}, []int64{1 << 62, 1}, 4, ndarray.ErrRegion},
		{[]int64{0}, []int64{1}, 4, ndarray.ErrRegion},
		{[]int64{0, 0, 0}, []int64{1, 1, 1}, 4, ndarray.ErrRegion},
		{nil, nil, 4, ndarray.ErrRegion},
	} {
		r := ndarray.Region{Start: c.start, Shape: c.shape}
		require.ErrorIs(t, a.Read(bg, make([]byte, c.bytes), r), c.want, "read %v", r)
		require.ErrorIs(t, a.Write(bg, make([]byte, c.bytes), r), c.want, "write %v", r)
	}
	got := dirty(len(want))
	require.NoError(t, a.Read(bg, got, ndarray.Whole(a.Shape())))
	require.Equal(t, want, got)
	require.NoError(t, a.Close())
}

// testClosed checks that every call after Close returns ErrClosed, also Close itself.
func testClosed(t *testing.T, f Factory) {
	a := f.create(t, int32s())
	require.NoError(t, a.Close())
	b := make([]byte, 120)
	require.ErrorIs(t, a.Read(bg, b, ndarray.Whole(a.Shape())), ndarray.ErrClosed)
	require.ErrorIs(t, a.Write(bg, b, ndarray.Whole(a.Shape())), ndarray.ErrClosed)
	_, err := a.Attrs(bg)
	require.ErrorIs(t, err, ndarray.ErrClosed)
	require.ErrorIs(t, a.SetAttr(bg, ndarray.Attr{Name: "a", Value: ndarray.Text("b")}), ndarray.ErrClosed)
	require.ErrorIs(t, a.DeleteAttr(bg, "a"), ndarray.ErrClosed)
	_, err = a.Storage(bg)
	require.ErrorIs(t, err, ndarray.ErrClosed)
	require.ErrorIs(t, a.Close(), ndarray.ErrClosed)
	require.Equal(t, int64(30), a.NumElems())
}

// testCancelled checks that every call returns the error of a cancelled context and changes
// nothing.
func testCancelled(t *testing.T, f Factory) {
	a := f.create(t, int32s())
	ctx, cancel := context.WithCancel(bg)
	cancel()
	b := bytes.Repeat([]byte{1}, 120)
	require.ErrorIs(t, a.Read(ctx, b, ndarray.Whole(a.Shape())), context.Canceled)
	require.ErrorIs(t, a.Write(ctx, b, ndarray.Whole(a.Shape())), context.Canceled)
	require.NoError(t, a.Read(bg, b, ndarray.Whole(a.Shape())))
	require.Equal(t, make([]byte, 120), b)
	require.NoError(t, a.Close())
}

// testConcurrentReads checks that reads of any regions may run at the same time.
func testConcurrentReads(t *testing.T, f Factory) {
	a := f.create(t, int32s())
	m := newModel(a.Shape(), 4, pattern(a.DType(), 30))
	require.NoError(t, a.Write(bg, m.data, ndarray.Whole(a.Shape())))
	a = f.reopened(t, a)
	regions := slices.Collect(a.ChunkRegions())
	regions = append(regions, ndarray.Whole(a.Shape()), ndarray.Region{Start: []int64{1, 1}, Shape: []int64{4, 3}})
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			for i := range 8 {
				r := regions[(g+i)%len(regions)]
				got := dirty(r.NumElems() * 4)
				if err := a.Read(bg, got, r); err != nil {
					t.Errorf("read %v: %v", r, err)
				} else if want := m.read(r); !bytes.Equal(want, got) {
					t.Errorf("read %v: got %x, want %x", r, got, want)
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, a.Close())
}

// testConcurrentWrites checks that writes of different chunks may run at the same time.
func testConcurrentWrites(t *testing.T, f Factory) {
	spec := int32s()
	spec.Shape = []int64{40, 30}
	a := f.create(t, spec)
	m := newModel(spec.Shape, 4, pattern(spec.DType, 1200))
	var wg sync.WaitGroup
	for r := range a.ChunkRegions() {
		wg.Go(func() {
			if err := a.Write(bg, m.read(r), r); err != nil {
				t.Errorf("write %v: %v", r, err)
			}
		})
	}
	wg.Wait()
	got := dirty(len(m.data))
	require.NoError(t, a.Read(bg, got, ndarray.Whole(spec.Shape)))
	require.Equal(t, m.data, got)
	require.NoError(t, a.Close())
}

// testCloseDuringReads checks that Close waits for reads. Each read must be correct or return
// ErrClosed.
func testCloseDuringReads(t *testing.T, f Factory) {
	a := f.create(t, int32s())
	want := pattern(a.DType(), 30)
	require.NoError(t, a.Write(bg, want, ndarray.Whole(a.Shape())))
	var started, wg sync.WaitGroup
	started.Add(4)
	for range 4 {
		wg.Go(func() {
			got := dirty(len(want))
			for i := 0; ; i++ {
				err := a.Read(bg, got, ndarray.Whole(a.Shape()))
				if i == 0 {
					started.Done()
				}
				if errors.Is(err, ndarray.ErrClosed) {
					return
				}
				if err != nil || !bytes.Equal(want, got) {
					t.Errorf("read beside close: %v", err)
					return
				}
			}
		})
	}
	started.Wait()
	require.NoError(t, a.Close())
	wg.Wait()
}

// testStrings checks that strings of any length are stored, or that Create rejects the type.
func testStrings(t *testing.T, f Factory) {
	for _, cs := range []ndarray.CharSet{ndarray.ASCII, ndarray.UTF8} {
		spec := ndarray.Spec{Shape: []int64{4, 3}, ChunkShape: []int64{3, 2}, DType: ndarray.DType{Kind: ndarray.String, Order: ndarray.NoOrder, CharSet: cs}}
		a := f.create(t, spec)
		if a == nil {
			return
		}
		want := make([]string, 12)
		whole := ndarray.Whole(spec.Shape)
		got := make([]string, 12)
		require.NoError(t, a.ReadStrings(bg, got, whole))
		require.Equal(t, want, got, "never written")
		for i := range want {
			want[i] = strings.Repeat("héé"[:1+i%5], i*i)
		}
		require.NoError(t, a.WriteStrings(bg, want, whole))
		want[4], want[7] = "new", ""
		column := ndarray.Region{Start: []int64{1, 1}, Shape: []int64{2, 1}}
		require.NoError(t, ndarray.Write(bg, a, []string{"new", ""}, column))
		a = f.reopened(t, a)
		require.True(t, spec.DType.Equal(a.DType()))
		all, err := ndarray.ReadAll[string](bg, a)
		require.NoError(t, err)
		require.Equal(t, want, all)
		got = make([]string, 2)
		require.NoError(t, ndarray.Read(bg, a, got, column))
		require.Equal(t, []string{"new", ""}, got)

		require.ErrorIs(t, a.ReadStrings(bg, got, whole), ndarray.ErrSize)
		require.ErrorIs(t, a.ReadStrings(bg, got, ndarray.Region{Start: []int64{3, 0}, Shape: []int64{2, 1}}), ndarray.ErrRegion)
		require.ErrorIs(t, a.Read(bg, make([]byte, 192), whole), ndarray.ErrType)
		require.NoError(t, a.Close())
		require.ErrorIs(t, a.ReadStrings(bg, all, whole), ndarray.ErrClosed)
	}
	a := f.create(t, int32s())
	require.ErrorIs(t, a.ReadStrings(bg, make([]string, 30), ndarray.Whole(a.Shape())), ndarray.ErrType)
	require.ErrorIs(t, a.WriteStrings(bg, make([]string, 30), ndarray.Whole(a.Shape())), ndarray.ErrType)
	require.NoError(t, a.Close())
}

// testInvalidSpecs checks that Create rejects invalid specs.
func testInvalidSpecs(t *testing.T, f Factory) {
	for _, c := range []struct {
		name string
		edit func(*ndarray.Spec)
		want error
	}{
		{"no dtype", func(s *ndarray.Spec) { s.DType = ndarray.DType{} }, ndarray.ErrType},
		{"negative length", func(s *ndarray.Spec) { s.Shape[0] = -1 }, ndarray.ErrShape},
		{"chunk of no elements", func(s *ndarray.Spec) { s.ChunkShape[1] = 0 }, ndarray.ErrShape},
		{"chunk rank", func(s *ndarray.Spec) { s.ChunkShape = []int64{1} }, ndarray.ErrShape},
		{"overflow", func(s *ndarray.Spec) { s.Shape = []int64{1 << 40, 1 << 40} }, ndarray.ErrShape},
		{"maximum shape too small", func(s *ndarray.Spec) { s.MaxShape = []int64{5, 5} }, ndarray.ErrShape},
		{"33 axes", func(s *ndarray.Spec) {
			s.Shape = slices.Repeat([]int64{1}, 33)
			s.ChunkShape = nil
		}, ndarray.ErrShape},
		{"axis names", func(s *ndarray.Spec) { s.AxisNames = []string{"x"} }, ndarray.ErrShape},
		{"axis name with a zero byte", func(s *ndarray.Spec) { s.AxisNames = []string{"x", "a\x00"} }, ndarray.ErrParam},
		{"comment with a zero byte", func(s *ndarray.Spec) { s.Comment = "a\x00" }, ndarray.ErrParam},
		{"short fill value", func(s *ndarray.Spec) { s.Fill = []byte{1} }, ndarray.ErrSize},
		{"attribute without name", func(s *ndarray.Spec) { s.Attrs = []ndarray.Attr{{Value: ndarray.Text("x")}} }, ndarray.ErrParam},
	} {
		spec := int32s()
		c.edit(&spec)
		_, err := f.Create(t, spec)
		require.ErrorIs(t, err, c.want, c.name)
	}
}

// testMeta checks that Meta matches the spec.
func testMeta(t *testing.T, f Factory) {
	for _, edit := range []func(*ndarray.Spec){
		func(*ndarray.Spec) {},
		func(s *ndarray.Spec) { s.ChunkShape = []int64{6, 5} },
		func(s *ndarray.Spec) { s.MaxShape = []int64{ndarray.Unlimited, 5} },
		func(s *ndarray.Spec) { s.MaxShape = []int64{10, 20} },
		func(s *ndarray.Spec) { s.AxisNames = []string{"time", "Länge"} },
		func(s *ndarray.Spec) { s.AxisNames = []string{"", "x"} },
		func(s *ndarray.Spec) { s.Comment = "of the first days, für dich" },
		func(s *ndarray.Spec) { *s = ndarray.Spec{Null: true, DType: s.DType} },
	} {
		spec := int32s()
		edit(&spec)
		spec = f.adapted(spec)
		a := f.create(t, spec)
		if a == nil {
			continue
		}
		for range 2 {
			m := a.Meta()
			require.NotEmpty(t, m.Format)
			require.Equal(t, spec.Null, m.Null)
			require.Equal(t, spec.Comment, m.Comment)
			require.Len(t, a.Shape(), len(spec.Shape))
			if !spec.Null {
				require.Equal(t, spec.Shape, m.Shape)
				require.Equal(t, spec.MaxShape, m.MaxShape)
				require.Equal(t, spec.ChunkShape, m.ChunkShape)
				require.Equal(t, spec.AxisNames, m.AxisNames)
			}
			if m.Null {
				require.Zero(t, a.NumElems())
				require.ErrorIs(t, a.Read(bg, nil, ndarray.Region{}), ndarray.ErrRegion)
			}
			a = f.reopened(t, a)
		}
		require.NoError(t, a.Close())
	}
}

// testStorage checks that Storage reports bytes and the grid's chunks, and that the sum of
// StoredChunks equals it.
func testStorage(t *testing.T, f Factory) {
	a := f.create(t, int32s())
	require.NoError(t, a.Write(bg, pattern(a.DType(), 30), ndarray.Whole(a.Shape())))
	for range 2 {
		s, err := a.Storage(bg)
		require.NoError(t, err)
		require.Positive(t, s.StoredBytes)
		spec := f.adapted(int32s())
		if spec.ChunkShape == nil { // the elements are one piece
			require.Zero(t, s.NumChunks)
			a = f.reopened(t, a)
			continue
		}
		chunks := int64(1)
		for i, n := range spec.Shape {
			chunks *= grid.DivUp(n, spec.ChunkShape[i])
		}
		require.Equal(t, chunks, s.NumChunks)
		var sum int64
		var regions []ndarray.Region
		for c, err := range a.StoredChunks(bg) {
			require.NoError(t, err)
			require.Positive(t, c.StoredBytes, "%v", c.Region)
			sum += c.StoredBytes
			regions = append(regions, c.Region)
		}
		require.Equal(t, s.StoredBytes, sum)
		require.Equal(t, slices.Collect(a.ChunkRegions()), regions)
		a = f.reopened(t, a)
	}
	require.NoError(t, a.Close())
	for _, err := range a.StoredChunks(bg) {
		require.ErrorIs(t, err, ndarray.ErrClosed)
	}
}

// testReadOnly checks that an array opened for reading can be read, and rejects every change.
func testReadOnly(t *testing.T, f Factory) {
	spec := int32s()
	if unit := (ndarray.Attr{Name: "unit", Value: ndarray.Text("K")}); f.CannotAttr == nil || f.CannotAttr(unit) == "" {
		spec.Attrs = []ndarray.Attr{unit}
	}
	a := f.create(t, spec)
	want := pattern(spec.DType, 30)
	require.NoError(t, a.Write(bg, want, ndarray.Whole(spec.Shape)))
	a = f.reopened(t, a)
	require.True(t, a.Meta().ReadOnly)
	require.ErrorIs(t, a.Write(bg, want, ndarray.Whole(spec.Shape)), ndarray.ErrReadOnly)
	if spec.Attrs != nil {
		require.ErrorIs(t, a.SetAttr(bg, ndarray.Attr{Name: "a", Value: ndarray.Text("b")}), ndarray.ErrReadOnly)
		require.ErrorIs(t, a.DeleteAttr(bg, "unit"), ndarray.ErrReadOnly)
	}
	got := dirty(len(want))
	require.NoError(t, a.Read(bg, got, ndarray.Whole(spec.Shape)))
	require.Equal(t, want, got)
	requireAttrs(t, a, spec.Attrs)
	require.NoError(t, a.Close())
}
