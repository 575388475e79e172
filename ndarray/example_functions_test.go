package ndarray_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

// matrix returns an array of int32 in memory with 3 rows and 4 columns: 0, 1, …, 11. Examples with
// files open their arrays with hyperslab.Open instead.
func matrix() *ndarray.Array {
	b, err := mem.New(ndarray.Spec{
		Shape: []int64{3, 4}, MaxShape: []int64{ndarray.Unlimited, 4}, ChunkShape: []int64{2, 2}, DType: ndarray.DTypeOf[int32](),
	})
	if err != nil {
		log.Fatal(err)
	}
	a, err := ndarray.New(b)
	if err != nil {
		log.Fatal(err)
	}
	values := []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	if err := ndarray.Write(context.Background(), a, values, ndarray.Whole(a.Shape())); err != nil {
		log.Fatal(err)
	}
	return a
}

// show prints the elements of a selection of matrix.
func show(items ...ndarray.Index) {
	a := matrix()
	defer a.Close()
	fmt.Println(ndarray.Take[int32](context.Background(), a, ndarray.Select(items...)))
}

func ExampleAll() {
	show(ndarray.All(), ndarray.At(1)) // NumPy: [:, 1]
	// Output: [1 5 9] <nil>
}

func ExampleAt() {
	show(ndarray.At(-1)) // NumPy: [-1]
	// Output: [8 9 10 11] <nil>
}

func ExampleEllipsis() {
	show(ndarray.Ellipsis(), ndarray.At(0)) // NumPy: [..., 0]
	// Output: [0 4 8] <nil>
}

func ExampleFrom() {
	show(ndarray.At(0), ndarray.From(2)) // NumPy: [0, 2:]
	// Output: [2 3] <nil>
}

func ExampleList() {
	show(ndarray.List(2, 0), ndarray.At(3)) // NumPy: [[2, 0], 3]
	// Output: [11 3] <nil>
}

func ExampleMask() {
	show(ndarray.At(1), ndarray.Mask(true, false, false, true)) // NumPy: [1, [True, False, False, True]]
	// Output: [4 7] <nil>
}

func ExampleNewAxis() {
	a := matrix()
	defer a.Close()
	s := ndarray.Select(ndarray.NewAxis(), ndarray.At(0)) // NumPy: [None, 0]
	fmt.Println(s.Shape(a.Shape()))
	// Output: [1 4] <nil>
}

func ExampleSpan() {
	show(ndarray.Span(0, 2), ndarray.Span(1, 3)) // NumPy: [0:2, 1:3]
	// Output: [1 2 5 6] <nil>
}

func ExampleSelect() {
	s := ndarray.Select(ndarray.Span(0, 3), ndarray.At(1))
	fmt.Println(s)
	fmt.Println(s.Shape([]int64{3, 4}))
	// Output:
	// [0:3, 1]
	// [3] <nil>
}

func ExamplePoints() {
	a := matrix()
	defer a.Close()
	s := ndarray.Points([]int64{0, 0}, []int64{2, 3})
	fmt.Println(ndarray.Take[int32](context.Background(), a, s))
	// Output: [0 11] <nil>
}

func ExampleWhere() {
	ctx := context.Background()
	a := matrix()
	defer a.Close()
	values, err := ndarray.ReadAll[int32](ctx, a)
	if err != nil {
		log.Fatal(err)
	}
	mask := make([]bool, len(values))
	for i, v := range values {
		mask[i] = v%5 == 0
	}
	fmt.Println(ndarray.Take[int32](ctx, a, ndarray.Where(mask)))
	// Output: [0 5 10] <nil>
}

func ExampleParseSelection() {
	s, err := ndarray.ParseSelection("[1, ::-2]")
	if err != nil {
		log.Fatal(err)
	}
	a := matrix()
	defer a.Close()
	fmt.Println(ndarray.Take[int32](context.Background(), a, s))
	// Output: [7 5] <nil>
}

func ExampleTake() {
	a := matrix()
	defer a.Close()
	column := ndarray.Select(ndarray.All(), ndarray.At(2))
	fmt.Println(ndarray.Take[int32](context.Background(), a, column))
	// Output: [2 6 10] <nil>
}

func ExamplePut() {
	ctx := context.Background()
	a := matrix()
	defer a.Close()
	if err := ndarray.Put(ctx, a, []int32{-1, -2, -3}, ndarray.Select(ndarray.All(), ndarray.At(0))); err != nil {
		log.Fatal(err)
	}
	fmt.Println(ndarray.ReadAll[int32](ctx, a))
	// Output: [-1 1 2 3 -2 5 6 7 -3 9 10 11] <nil>
}

func ExampleReadAll() {
	a := matrix()
	defer a.Close()
	fmt.Println(ndarray.ReadAll[int32](context.Background(), a))
	// Output: [0 1 2 3 4 5 6 7 8 9 10 11] <nil>
}

func ExampleWrite() {
	ctx := context.Background()
	a := matrix()
	defer a.Close()
	row := ndarray.Region{Start: []int64{1, 0}, Shape: []int64{1, 4}}
	if err := ndarray.Write(ctx, a, []int32{7, 7, 7, 7}, row); err != nil {
		log.Fatal(err)
	}
	fmt.Println(ndarray.ReadAll[int32](ctx, a))
	// Output: [0 1 2 3 7 7 7 7 8 9 10 11] <nil>
}

// WriteAs converts exactly. A value that the element type cannot represent is an error.
func ExampleWriteAs() {
	ctx := context.Background()
	a := matrix()
	defer a.Close()
	corner := ndarray.Region{Start: []int64{0, 0}, Shape: []int64{1, 2}}
	fmt.Println(ndarray.WriteAs(ctx, a, []float64{3, 4}, corner))
	err := ndarray.WriteAs(ctx, a, []float64{3, 4.5}, corner)
	fmt.Println(errors.Is(err, ndarray.ErrValue))
	// Output:
	// <nil>
	// true
}

// TakeAs converts the elements of any selection, here those of two rows in two columns.
func ExampleTakeAs() {
	a := matrix()
	defer a.Close()
	s := ndarray.Select(ndarray.List(2, 0), ndarray.List(3, 1))
	fmt.Println(ndarray.TakeAs[float64](context.Background(), a, s))
	// Output: [11 9 3 1] <nil>
}

func ExampleAppend() {
	ctx := context.Background()
	a := matrix()
	defer a.Close()
	if err := ndarray.Append(ctx, a, 0, []int32{12, 13, 14, 15}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.Shape())
	// Output: [4 4]
}

func ExampleRows() {
	a := matrix()
	defer a.Close()
	for rows, err := range ndarray.Rows[float32](context.Background(), a, 2) {
		fmt.Println(rows, err)
	}
	// Output:
	// [[0 1 2 3] [4 5 6 7]] <nil>
	// [[8 9 10 11]] <nil>
}

// event is a record of the examples.
type event struct {
	ID   int32     `nd:"id"`
	When time.Time `nd:"when,unix[ms]"`
}

// events returns an empty array of events in memory.
func events() *ndarray.Array {
	d, err := ndarray.DTypeFor[event]()
	if err != nil {
		log.Fatal(err)
	}
	b, err := mem.New(ndarray.Spec{Shape: []int64{0}, MaxShape: []int64{ndarray.Unlimited}, ChunkShape: []int64{100}, DType: d})
	if err != nil {
		log.Fatal(err)
	}
	a, err := ndarray.New(b)
	if err != nil {
		log.Fatal(err)
	}
	return a
}

func ExampleRecords() {
	ctx := context.Background()
	a := events()
	defer a.Close()
	if err := ndarray.Append(ctx, a, 0, []event{{1, time.UnixMilli(1e12)}, {2, time.Time{}}}); err != nil {
		log.Fatal(err)
	}
	for x, err := range ndarray.Records[event](ctx, a) {
		fmt.Println(x.ID, x.When, err)
	}
	// Output:
	// 1 2001-09-09 01:46:40 +0000 UTC <nil>
	// 2 0001-01-01 00:00:00 +0000 UTC <nil>
}

func ExampleNewRecordWriter() {
	a := events()
	defer a.Close()
	w, err := ndarray.NewRecordWriter[event](context.Background(), a, &ndarray.RecordWriterOptions{Interval: time.Second})
	if err != nil {
		log.Fatal(err)
	}
	for i := range int32(250) {
		if err := w.Append(event{ID: i, When: time.Unix(int64(i), 0)}); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(a.Shape(), "in whole chunks")
	fmt.Println(w.Close(), a.Shape())
	// Output:
	// [200] in whole chunks
	// <nil> [250]
}

func ExampleRecordWriter_Append() {
	a := events()
	defer a.Close()
	w, err := ndarray.NewRecordWriter[event](context.Background(), a, &ndarray.RecordWriterOptions{Count: 2})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()
	err = w.Append(event{ID: 1}, event{ID: 2}, event{ID: 3})
	fmt.Println(a.Shape(), err)
	// Output: [3] <nil>
}

func ExampleRecordWriter_Flush() {
	a := events()
	defer a.Close()
	w, err := ndarray.NewRecordWriter[event](context.Background(), a, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()
	if err := w.Append(event{ID: 1}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.Shape())
	fmt.Println(w.Flush(), a.Shape())
	// Output:
	// [0]
	// <nil> [1]
}

func ExampleRecordWriter_Close() {
	a := events()
	defer a.Close()
	w, err := ndarray.NewRecordWriter[event](context.Background(), a, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := w.Append(event{ID: 1}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(w.Close(), a.Shape())
	// Output: <nil> [1]
}

func ExampleAttrsFor() {
	attrs, err := ndarray.AttrsFor[event]()
	fmt.Println(attrs[0].Name, attrs[0].Value, err)
	// Output: FIELD_1_ATTR_units "milliseconds since 1970-01-01" <nil>
}

func ExampleWhole() {
	fmt.Println(ndarray.Whole([]int64{3, 4}))
	// Output: [0:3, 0:4]
}

func ExampleSummarize() {
	a := matrix()
	defer a.Close()
	s, err := ndarray.Summarize(context.Background(), a, nil)
	fmt.Println(s.Count, s.Min, s.Max, s.Mean, err)
	// Output: 12 0 11 5.5 <nil>
}

func ExampleCountBins() {
	a := matrix()
	defer a.Close()
	h, err := ndarray.CountBins(context.Background(), a, 0, 8, 2, nil)
	fmt.Println(h.Bins, h.Below, h.Above, err)
	// Output: [4 5] 0 3 <nil>
}

// Each calls the function from several goroutines, once for each part of the array.
func ExampleEach() {
	a := matrix()
	defer a.Close()
	var elements atomic.Int64
	err := ndarray.Each(context.Background(), a, nil, func(_ context.Context, r ndarray.Region, _ []byte) error {
		elements.Add(r.NumElems())
		return nil
	})
	fmt.Println(elements.Load(), err)
	// Output: 12 <nil>
}

// Map writes a function of the elements of one array to another, here their complement.
func ExampleMap() {
	ctx := context.Background()
	src, dst := matrix(), matrix()
	defer src.Close()
	defer dst.Close()
	err := ndarray.Map(ctx, dst, src, nil, func(_ context.Context, _ ndarray.Region, out, in []byte) error {
		for i := range in {
			out[i] = ^in[i]
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ndarray.ReadAll[int32](ctx, dst))
	// Output: [-1 -2 -3 -4 -5 -6 -7 -8 -9 -10 -11 -12] <nil>
}

func ExampleSetReadMemory() {
	previous := ndarray.SetReadMemory(64 << 20)
	defer ndarray.SetReadMemory(previous)
	fmt.Println(previous>>20, "MiB before")
	// Output: 256 MiB before
}

func ExampleDTypeOf() {
	fmt.Println(ndarray.DTypeOf[uint16]().Size, ndarray.DTypeOf[complex128]().Size)
	// Output: 2 16
}

func ExampleDTypeFor() {
	type sample struct {
		Time  int64   `nd:"time"`
		Value float32 `nd:"value"`
	}
	d, err := ndarray.DTypeFor[sample]()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Size, d.Fields[0].Name, d.Fields[1].Name)
	// Output: 16 time value
}

func ExampleParseDType() {
	d, err := ndarray.ParseDType(">f8")
	fmt.Println(d.Kind, d.Size, d, err)
	// Output: float 8 >f8 <nil>
}

func ExampleStructOf() {
	d := ndarray.StructOf(false,
		ndarray.Field{Name: "x", Type: ndarray.DTypeOf[int8]()},
		ndarray.Field{Name: "y", Type: ndarray.DTypeOf[float64]()})
	fmt.Println(d.Size, d.Fields[1].Offset)
	// Output: 9 1
}

func ExampleSubArrayOf() {
	d := ndarray.SubArrayOf(ndarray.DTypeOf[float32](), 2, 3)
	fmt.Println(d.Size)
	// Output: 24
}

func ExampleEnumOf() {
	d := ndarray.EnumOf(ndarray.DTypeOf[int8](), ndarray.Member{Name: "OFF", Value: 0}, ndarray.Member{Name: "ON", Value: 1})
	fmt.Println(ndarray.FormatElement(d, []byte{1}))
	// Output: ON
}

func ExampleFormatElement() {
	fmt.Println(ndarray.FormatElement(ndarray.DTypeOf[uint8](), []byte{200}))
	// Output: 200
}

// Convert works on bytes in native order. Here the types have one byte.
func ExampleConvert() {
	src, dst := []byte{1, 200}, make([]byte, 2)
	err := ndarray.Convert(dst, ndarray.DTypeOf[int8](), src, ndarray.DTypeOf[uint8](), false)
	fmt.Println(dst[0], errors.Is(err, ndarray.ErrValue))
	// Output: 1 true
}

func ExampleScalar() {
	v := ndarray.Scalar(2.5)
	fmt.Println(v, v.Shape)
	// Output: 2.5 []
}

func ExampleText() {
	fmt.Println(ndarray.Text("degrees"))
	// Output: "degrees"
}

func ExampleVector() {
	v := ndarray.Vector[int16](1, 2, 3)
	fmt.Println(v, v.Shape)
	// Output: [1 2 3] [3]
}

func ExampleValuesOf() {
	fmt.Println(ndarray.ValuesOf[int16](ndarray.Vector[int16](1, 2, 3)))
	_, err := ndarray.ValuesOf[int32](ndarray.Vector[int16](1, 2, 3))
	fmt.Println(errors.Is(err, ndarray.ErrType))
	// Output:
	// [1 2 3] <nil>
	// true
}

func ExampleCompareAttrs() {
	x := ndarray.Attrs{List: []ndarray.Attr{{Name: "units", Value: ndarray.Text("m")}}}
	y := ndarray.Attrs{List: []ndarray.Attr{{Name: "units", Value: ndarray.Text("km")}}}
	for _, d := range ndarray.CompareAttrs(x, y, nil) {
		fmt.Println(d.Name, d.A, d.B)
	}
	// Output: units string "m" string "km"
}

func ExampleWrap() {
	err := ndarray.Wrap("open", "x.h5:/a", ndarray.ErrNotFound)
	var e *ndarray.Error
	fmt.Println(errors.As(err, &e), e.Op, e.Path)
	// Output: true open x.h5:/a
}

// New makes an Array of any type that implements Backend, here of arrays in memory.
func ExampleNew() {
	b, err := mem.New(ndarray.Spec{Shape: []int64{2}, DType: ndarray.DTypeOf[bool]()})
	if err != nil {
		log.Fatal(err)
	}
	a, err := ndarray.New(b)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	fmt.Println(ndarray.ReadAll[bool](context.Background(), a))
	// Output: [false false] <nil>
}

// Reads of an array use at most two goroutines to decode its chunks.
func ExampleArray_SetWorkers() {
	b, err := mem.New(ndarray.Spec{Shape: []int64{2}, DType: ndarray.DTypeOf[bool]()})
	if err != nil {
		log.Fatal(err)
	}
	a, err := ndarray.New(b)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	a.SetWorkers(2)
	fmt.Println(ndarray.ReadAll[bool](context.Background(), a))
	// Output: [false false] <nil>
}

func ExampleArray_SetLogger() {
	ctx := context.Background()
	a := matrix()
	defer a.Close()
	noTimes := func(_ []string, x slog.Attr) slog.Attr {
		if x.Key == slog.TimeKey || x.Key == "duration" {
			return slog.Attr{}
		}
		return x
	}
	a.SetLogger(slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: noTimes})))
	_, _ = ndarray.ReadAll[int32](ctx, a)
	// Output:
	// level=DEBUG msg=read array="" bytes=48
	// level=DEBUG msg=close array=""
}

func ExampleAs() {
	b, err := mem.New(ndarray.Spec{Shape: []int64{2, 3}, DType: ndarray.DTypeOf[int16]()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	_, writes := ndarray.As[ndarray.RegionWriter](b)
	_, measures := ndarray.As[ndarray.ChunkMeasurer](b)
	fmt.Println(writes, measures)
	// Output: true true
}

// The array in memory has no nulls. Columns of tables of python-blosc2 can have some.
func ExampleCountNulls() {
	a := matrix()
	defer a.Close()
	fmt.Println(ndarray.CountNulls(context.Background(), a))
	// Output: 0 <nil>
}

// DropNulls removes the null elements of a region that was read.
func ExampleDropNulls() {
	a := matrix()
	defer a.Close()
	b, err := ndarray.DropNulls(context.Background(), a, ndarray.Whole(a.Shape()), make([]byte, 48))
	fmt.Println(len(b), err)
	// Output: 48 <nil>
}
