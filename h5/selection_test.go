package h5_test

import (
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// A picked models a selection of a shape as a list of flat indices in order.
type picked []int64

func flat(shape []int64, at []int64) int64 {
	n := int64(0)
	for i, c := range at {
		n = n*shape[i] + c
	}
	return n
}

func pickRegion(shape []int64, r h5.Region) picked {
	axes := make([][]int64, len(shape))
	for i := range shape {
		for c := range r.Count[i] {
			for b := range r.Block[i] {
				axes[i] = append(axes[i], r.Start[i]+c*r.Stride[i]+b)
			}
		}
	}
	out := picked{0}
	for i := range axes {
		var next picked
		for _, base := range out {
			for _, c := range axes[i] {
				next = append(next, base*shape[i]+c)
			}
		}
		out = next
	}
	return out
}

func drawRegion(t *rapid.T, shape []int64) h5.Region {
	var r h5.Region
	for _, n := range shape {
		block := rapid.Int64Range(1, 3).Draw(t, "block")
		stride := block + rapid.Int64Range(0, 2).Draw(t, "gap")
		start := rapid.Int64Range(0, n-block).Draw(t, "start")
		count := rapid.Int64Range(0, (n-start-block)/stride+1).Draw(t, "count")
		r.Start, r.Count = append(r.Start, start), append(r.Count, count)
		r.Stride, r.Block = append(r.Stride, stride), append(r.Block, block)
	}
	return r
}

// drawSelection returns a random combination of selections and its model.
func drawSelection(t *rapid.T, shape []int64, depth int) (h5.Selection, picked) {
	kind := rapid.IntRange(0, 3).Draw(t, "kind")
	if depth > 0 {
		kind = rapid.IntRange(0, 7).Draw(t, "kind")
	}
	switch kind {
	case 0:
		var every picked
		for i := range shape[0] * shape[1] {
			every = append(every, i)
		}
		return h5.All, every
	case 1:
		return h5.Nothing, nil
	case 2:
		r := drawRegion(t, shape)
		return r, pickRegion(shape, r)
	case 3:
		var boxes h5.Boxes
		var all picked
		for range rapid.IntRange(1, 3).Draw(t, "boxes") {
			r := drawRegion(t, shape)
			b := h5.Box{First: r.Start, Last: []int64{r.Start[0] + r.Block[0] - 1, r.Start[1] + r.Block[1] - 1}}
			boxes = append(boxes, b)
			all = append(all, pickRegion(shape, h5.Region{Start: r.Start, Count: []int64{1, 1}, Stride: r.Stride, Block: r.Block})...)
		}
		slices.Sort(all)
		return boxes, slices.Compact(all)
	}
	var operands []h5.Selection
	count := make(map[int64]int)
	var first, out picked
	n := rapid.IntRange(1, 3).Draw(t, "operands")
	for i := range n {
		s, p := drawSelection(t, shape, depth-1)
		operands = append(operands, s)
		for _, at := range p {
			count[at]++
		}
		if i == 0 {
			first = p
		}
	}
	for at := range shape[0] * shape[1] {
		c := count[at]
		if kind == 4 && c > 0 || kind == 5 && c == n || kind == 6 && c%2 == 1 || kind == 7 && c == 1 && slices.Contains(first, at) {
			out = append(out, at)
		}
	}
	switch kind {
	case 4:
		return h5.Union(operands...), out
	case 5:
		return h5.Intersection(operands...), out
	case 6:
		return h5.Exclusive(operands...), out
	default:
		return h5.Without(operands[0], operands[1:]...), out
	}
}

func TestSelectionsAgainstSets(t *testing.T) {
	shape := []int64{7, 8}
	space := h5.SimpleSpace(shape...)
	v := make([]int32, 56)
	for i := range v {
		v[i] = int32(i)
	}
	d := newDataset(t, h5.Int(4, h5.BigEndian), space, &h5.DatasetOptions{ChunkShape: []int64{3, 4}})
	require.NoError(t, h5value.Write(d, v, h5.All))
	rapid.Check(t, func(t *rapid.T) {
		s, want := drawSelection(t, shape, 3)
		info, err := space.Selected(s)
		require.NoError(t, err)
		require.Equal(t, int64(len(want)), info.NumElems)

		got := make([]int16, len(want))
		require.NoError(t, h5value.Read(d, got, s))
		for i, at := range want {
			require.Equal(t, int16(at), got[i])
		}
		// The simplified selection and its boxes must contain the same elements.
		require.NoError(t, h5value.Read(d, got, info.Selection))
		for i, at := range want {
			require.Equal(t, int16(at), got[i])
		}
		covered := make(map[int64]bool)
		for b, err := range space.Boxes(s) {
			require.NoError(t, err)
			for i := b.First[0]; i <= b.Last[0]; i++ {
				for j := b.First[1]; j <= b.Last[1]; j++ {
					at := flat(shape, []int64{i, j})
					require.False(t, covered[at], "boxes are disjoint")
					covered[at] = true
				}
			}
		}
		require.Len(t, covered, len(want))
		for _, at := range want {
			require.True(t, covered[at])
		}
		corner := []int64{rapid.Int64Range(0, 6).Draw(t, "row"), rapid.Int64Range(0, 7).Draw(t, "column")}
		meet, err := space.Intersects(s, h5.Box{First: corner, Last: corner})
		require.NoError(t, err)
		require.Equal(t, covered[flat(shape, corner)], meet)

		// Transfers through a window of another shape must use only its selected elements.
		if len(want) == 0 {
			return
		}
		buf := make([]int32, 3*int64(len(want)))
		w := h5.Window{Shape: []int64{int64(len(want)), 3}, Selection: h5.Region{Start: []int64{0, 1}, Count: []int64{int64(len(want)), 1}}}
		require.NoError(t, d.ReadWindow(bytesOf(buf), h5.Int(4, h5.NativeOrder), w, s))
		for i, at := range want {
			require.Equal(t, []int32{0, int32(at), 0}, buf[3*i:3*i+3])
		}
		floats := make([]float64, len(buf))
		f8 := h5.IEEEFloat(8, h5.NativeOrder)
		require.NoError(t, d.ReadWindow(bytesOf(floats), f8, w, s))
		require.Equal(t, float64(want[0]), floats[1])
		require.ErrorIs(t, d.WriteWindow(bytesOf(floats), f8, w, s), h5.ErrType, "the conversion may change numbers")
		require.NoError(t, d.WriteWindow(bytesOf(buf), h5.Int(4, h5.NativeOrder), w, s))
		all, err := h5value.ReadAll[int32](d)
		require.NoError(t, err)
		require.Equal(t, v, all)
	})
}

// bytesOf returns the memory of v.
func bytesOf[T int32 | float64](v []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), len(v)*int(unsafe.Sizeof(v[0])))
}

func TestSelection_pointOrder(t *testing.T) {
	d := newDataset(t, h5.Int(4, h5.LittleEndian), h5.SimpleSpace(3, 4), nil)
	points := h5.Points{{2, 3}, {0, 1}, {2, 3}, {1, 0}}
	require.NoError(t, h5value.Write(d, []int32{7, 8, 9}, h5.Points{{2, 3}, {0, 1}, {1, 0}}))
	got := make([]int32, 4)
	require.NoError(t, h5value.Read(d, got, points))
	require.Equal(t, []int32{7, 8, 7, 9}, got)
	info, err := h5.SimpleSpace(3, 4).Selected(points)
	require.NoError(t, err)
	require.Equal(t, h5.SelectionInfo{NumElems: 4, First: []int64{0, 0}, Last: []int64{2, 3}, Selection: points}, info)
}

// TestSelection_outside checks that an error of a selection outside the shape contains the
// dimension and both sizes.
func TestSelection_outside(t *testing.T) {
	d := newDataset(t, h5.Int(4, h5.LittleEndian), h5.SimpleSpace(3, 4), nil)
	deep := h5.Union(h5.All)
	for range 100 {
		deep = h5.Union(deep)
	}
	for name, tt := range map[string]struct {
		s    h5.Selection
		want error
		text string
	}{
		"a point":          {h5.Points{{0, 0}, {1, 4}}, h5.ErrRegion, "along axis 1 5 elements are needed, 4 are there"},
		"a negative point": {h5.Points{{0, -1}}, h5.ErrRegion, "[0 -1]"},
		"points of ranks":  {h5.Points{{0, 0}, {1}}, h5.ErrRegion, "1 coordinates"},
		"a region":         {h5.Region{Start: []int64{1, 0}, Count: []int64{3, 1}}, h5.ErrRegion, "along axis 0 4 elements are needed, 3 are there"},
		"a box":            {h5.Boxes{{[]int64{0, 0}, []int64{2, 4}}}, h5.ErrRegion, "axis 1"},
		"a crossed box":    {h5.Boxes{{[]int64{1, 0}, []int64{0, 0}}}, h5.ErrRegion, "box 0"},
		"another rank":     {h5.Points{{0}}, h5.ErrRegion, "shape [3 4]"},
		"inside":           {h5.Union(h5.All, region([]int64{0, 5}, []int64{1, 1})), h5.ErrRegion, "axis 1"},
		"ranks inside":     {h5.Union(region([]int64{0}, []int64{1}), region([]int64{0, 0}, []int64{1, 1})), h5.ErrParam, "dimensions"},
		"points inside":    {h5.Union(h5.All, h5.Points{{0, 0}}), h5.ErrParam, "only blocks"},
		"nothing combined": {h5.Union(), h5.ErrParam, "a combination of no selections"},
		"too deep":         {deep, h5.ErrParam, "deeper"},
		"nil":              {nil, h5.ErrParam, "nil"},
	} {
		err := d.ReadSelection(nil, h5.Int(4, h5.NativeOrder), tt.s)
		require.ErrorIs(t, err, tt.want, name)
		require.ErrorContains(t, err, tt.text, name)
		require.ErrorIs(t, d.WriteSelection(nil, h5.Int(4, h5.NativeOrder), tt.s), tt.want, name)
		if tt.s != nil {
			_, err = h5.SimpleSpace(3, 4).Selected(tt.s)
			require.ErrorIs(t, err, tt.want, name)
		}
	}
	require.ErrorIs(t, d.ReadSelection(make([]byte, 47), h5.Int(4, h5.NativeOrder), h5.All), h5.ErrSize)
	whole := h5.Window{Shape: []int64{2, 2}, Selection: h5.All}
	buf := make([]byte, 16)
	require.ErrorIs(t, d.ReadWindow(buf, h5.Int(4, h5.NativeOrder), whole, h5.All), h5.ErrSize)
	require.ErrorIs(t, d.ReadWindow(buf[:15], h5.Int(4, h5.NativeOrder), whole, h5.All), h5.ErrSize)
	whole.Selection = region([]int64{0, 0}, []int64{1, 3})
	err := d.ReadWindow(buf, h5.Int(4, h5.NativeOrder), whole, region([]int64{0, 0}, []int64{1, 3}))
	require.ErrorIs(t, err, h5.ErrRegion)
	require.ErrorContains(t, err, "the window has the shape [2 2]: along axis 1 3 elements are needed, 2 are there")
	whole.Selection = region([]int64{0}, []int64{1})
	require.ErrorIs(t, d.ReadWindow(buf, h5.Int(4, h5.NativeOrder), whole, region([]int64{0, 0}, []int64{1, 1})), h5.ErrRegion)
	whole.Selection = nil
	require.ErrorIs(t, d.ReadWindow(buf, h5.Int(4, h5.NativeOrder), whole, h5.All), h5.ErrParam)

	_, err = h5.SimpleSpace(3, 4).Intersects(h5.All, h5.Box{First: []int64{0}, Last: []int64{0}})
	require.ErrorIs(t, err, h5.ErrParam)
	_, err = h5.Dataspace{}.Selected(h5.All)
	require.ErrorIs(t, err, h5.ErrParam)
}

func TestSelection_compareAndProject(t *testing.T) {
	a, b := h5.SimpleSpace(4, 4), h5.SimpleSpace(10, 6)
	block := region([]int64{1, 1}, []int64{2, 3})
	same, err := h5.SameShape(a, block, b, region([]int64{8, 3}, []int64{2, 3}))
	require.NoError(t, err)
	require.True(t, same)
	same, err = h5.SameShape(a, block, b, region([]int64{0, 0}, []int64{3, 2}))
	require.NoError(t, err)
	require.False(t, same)
	// Rows 1 and 2 of a correspond to rows 8 and 9 of b. Project row 2.
	got, err := a.Project(block, b, region([]int64{8, 3}, []int64{2, 3}), region([]int64{2, 0}, []int64{1, 4}))
	require.NoError(t, err)
	require.Equal(t, int64(3), got.NumElems)
	require.Equal(t, []int64{9, 3}, got.First)
	require.Equal(t, []int64{9, 5}, got.Last)
	_, err = h5.SameShape(a, h5.Points{{9, 9}}, b, h5.All)
	require.ErrorIs(t, err, h5.ErrRegion)

	for space, want := range map[string]h5.SelectionInfo{"scalar": {NumElems: 1, Selection: h5.All}, "null": {Selection: h5.Nothing}} {
		s := h5.ScalarSpace()
		if space == "null" {
			s = h5.NullSpace()
		}
		info, err := s.Selected(h5.All)
		require.NoError(t, err)
		require.Equal(t, want, info)
	}
}

func ExampleUnion() {
	space := h5.SimpleSpace(4, 6)
	frame := h5.Without(h5.All, h5.Region{Start: []int64{1, 1}, Count: []int64{2, 4}})
	info, err := space.Selected(frame)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(info.NumElems, "elements")
	for box := range space.Boxes(frame) {
		fmt.Println(box.First, "to", box.Last)
	}
	// Output:
	// 16 elements
	// [0 0] to [0 5]
	// [1 0] to [2 0]
	// [1 5] to [2 5]
	// [3 0] to [3 5]
}

// TestSelection_windows transfers random regions of datasets of any rank to and from random regions
// of larger buffers. Elements outside the regions must not change.
func TestSelection_windows(t *testing.T) {
	f := newFile(t)
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(1, 4).Draw(t, "rank")
		shape, n := make([]int64, rank), int64(1)
		for i := range shape {
			shape[i] = rapid.Int64Range(3, 6).Draw(t, "dim")
			n *= shape[i]
		}
		v := make([]int32, n)
		for i := range v {
			v[i] = int32(i + 1)
		}
		chunks := slices.Repeat([]int64{2}, rank)
		d, err := f.Root().CreateDataset("d", h5.Int(4, h5.BigEndian), h5.SimpleSpace(shape...), &h5.DatasetOptions{ChunkShape: chunks})
		require.NoError(t, err)
		defer func() {
			require.NoError(t, d.Close())
			require.NoError(t, f.Root().Unlink("d"))
		}()
		require.NoError(t, h5value.Write(d, v, h5.All))
		from := drawRegion(t, shape)
		picks := pickRegion(shape, from)
		if len(picks) == 0 {
			return
		}
		// The buffer has the elements in one row with a stride, surrounded by others.
		capacity := []int64{2, 3*int64(len(picks)) + 1}
		line := h5.Region{Start: []int64{1, 1}, Count: []int64{1, int64(len(picks))}, Stride: []int64{1, 3}}
		buf, want := make([]int32, capacity[0]*capacity[1]), make([]int32, capacity[0]*capacity[1])
		for i, at := range picks {
			want[capacity[1]+1+3*int64(i)] = v[at]
		}
		w := h5.Window{Shape: capacity, Selection: line}
		require.NoError(t, d.ReadWindow(bytesOf(buf), h5.Int(4, h5.NativeOrder), w, from))
		require.Equal(t, want, buf)
		for i, at := range picks {
			v[at] = -v[at]
			buf[capacity[1]+1+3*int64(i)] = v[at]
		}
		require.NoError(t, d.WriteWindow(bytesOf(buf), h5.Int(4, h5.NativeOrder), w, from))
		got, err := h5value.ReadAll[int32](d)
		require.NoError(t, err)
		require.Equal(t, v, got)
	})
}
