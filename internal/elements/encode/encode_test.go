package encode_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/elements/encode"
	"github.com/hyperslab/hyperslab/internal/elements/jsonform"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

// counted is an array whose element i has the value i, at any size.
type counted struct{ meta ndarray.Meta }

func (c *counted) Meta() ndarray.Meta { return c.meta }
func (c *counted) Close() error       { return nil }

func (c *counted) ReadRegion(_ context.Context, dst []byte, r ndarray.Region, _ int) error {
	first := int64(0)
	for i, n := range c.meta.Shape {
		first = first*n + r.Start[i]
	}
	for i := range dst {
		dst[i] = byte(first + int64(i))
	}
	return nil
}

func bytesOf(t require.TestingT, shape, chunk []int64) *ndarray.Array {
	a, err := ndarray.New(&counted{ndarray.Meta{Path: "counted", Shape: shape, ChunkShape: chunk, DType: ndarray.DTypeOf[uint8]()}})
	require.NoError(t, err)
	return a
}

func output(t require.TestingT, a *ndarray.Array, o encode.Options) string {
	var out bytes.Buffer
	e, err := encode.New(context.Background(), a, &o)
	require.NoError(t, err)
	n, err := e.WriteTo(&out)
	require.NoError(t, err)
	require.Equal(t, int64(out.Len()), n)
	return out.String()
}

func TestNew_shapes(t *testing.T) {
	for _, c := range []struct {
		shape                         []int64
		document, compact, lines, csv string
	}{
		{nil, "0", "0", "0\n", "x\n0\n"},
		{[]int64{0}, "[]", "[]", "", "x\n"},
		{[]int64{2}, "[0, 1]", "[0,1]", "0\n1\n", "x\n0\n1\n"},
		{[]int64{2, 2}, "[\n    [0, 1],\n    [2, 3]\n  ]", "[[0,1],[2,3]]", "[0, 1]\n[2, 3]\n", "column0,column1\n0,1\n2,3\n"},
		{[]int64{2, 0}, "[[], []]", "[[],[]]", "[]\n[]\n", "\"\"\n"},
		{[]int64{0, 2}, "[]", "[]", "", "column0,column1\n"},
		{[]int64{2, 2, 0}, "[[[], []], [[], []]]", "[[[],[]],[[],[]]]", "[[], []]\n[[], []]\n", "\"\"\n"},
		{[]int64{1, 2, 1}, "[\n    [\n      [0],\n      [1]\n    ]\n  ]", "[[[0],[1]]]", "[[0], [1]]\n", "column0\n0\n1\n"},
	} {
		t.Run(fmt.Sprint(c.shape), func(t *testing.T) {
			a := bytesOf(t, c.shape, nil)
			require.Equal(t, c.document, output(t, a, encode.Options{Format: encode.JSON, Depth: 1}))
			require.Equal(t, c.compact, output(t, a, encode.Options{Format: encode.JSON}))
			require.Equal(t, c.lines, output(t, a, encode.Options{Format: encode.Lines}))
			require.Equal(t, c.csv, output(t, a, encode.Options{Format: encode.CSV, Table: encode.Table{Name: "x"}}))
		})
	}
}

// TestNew_closed encodes closed arrays, also without elements.
func TestNew_closed(t *testing.T) {
	text := ndarray.Text("").DType
	for _, spec := range []ndarray.Spec{
		{Shape: []int64{0}, DType: ndarray.DTypeOf[int16]()}, {Shape: []int64{3, 0}, DType: ndarray.DTypeOf[int16]()},
		{Shape: []int64{2}, DType: ndarray.DTypeOf[int16]()}, {Shape: []int64{0}, DType: text}, {Null: true, DType: ndarray.DTypeOf[int16]()},
	} {
		for _, format := range []string{encode.JSON, encode.Lines, encode.CSV, encode.NPY, encode.Raw} {
			if (spec.Null || spec.DType.Size == 0) && (format == encode.NPY || format == encode.Raw) {
				continue
			}
			t.Run(fmt.Sprint(spec.DType, spec.Shape, format), func(t *testing.T) {
				b, err := mem.New(spec)
				require.NoError(t, err)
				a, err := ndarray.New(b)
				require.NoError(t, err)
				o := encode.Options{Format: format}
				output(t, a, o)
				require.NoError(t, a.Close())
				e, err := encode.New(t.Context(), a, &o)
				if err == nil {
					_, err = e.WriteTo(io.Discard)
				}
				require.ErrorIs(t, err, ndarray.ErrClosed)
			})
		}
	}
}

// TestEncoder compares the two ways to read an encoder, and the values of all formats, with blocks
// of few elements.
func TestEncoder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(0, 3).Draw(t, "rank")
		shape := rapid.SliceOfN(rapid.Int64Range(1, 7), rank, rank).Draw(t, "shape")
		chunk := rapid.SliceOfN(rapid.Int64Range(1, 7), rank, rank).Draw(t, "chunk")
		a := bytesOf(t, shape, chunk)
		format := rapid.SampledFrom([]string{encode.JSON, encode.Lines, encode.CSV, encode.NPY, encode.Raw}).Draw(t, "format")
		o := encode.Options{Format: format, Limit: rapid.Int64Range(1, 20).Draw(t, "limit"), Table: encode.Table{NoHeader: true}}
		progress := int64(0)
		o.Progress = func(n int64) { progress = n }
		text := output(t, a, o)
		require.Equal(t, a.NBytes(), progress)
		e, err := encode.New(context.Background(), a, &o)
		require.NoError(t, err)
		read, err := io.ReadAll(iotest.OneByteReader(e))
		require.NoError(t, err)
		require.Equal(t, text, string(read))
		want := make([]byte, a.NBytes())
		for i := range want {
			want[i] = byte(i)
		}
		if format == encode.Raw || format == encode.NPY {
			require.Equal(t, string(want), text[len(text)-len(want):])
			return
		}
		var numbers []byte
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("[], \n", r) }) {
			var n byte
			require.NoError(t, json.Unmarshal([]byte(word), &n))
			numbers = append(numbers, n)
		}
		require.Equal(t, want, numbers)
	})
}

// TestNew_cells compares cells with those of encoding/csv.
func TestNew_cells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cells := rapid.SliceOfN(rapid.StringOf(rapid.SampledFrom([]rune("aZ09.-+:_ \",\\;\t\r\né"))), 1, 4).Draw(t, "cells")
		b, err := mem.New(ndarray.Spec{Shape: []int64{1, int64(len(cells))}, DType: ndarray.DType{Kind: ndarray.String, Order: ndarray.NoOrder, CharSet: ndarray.UTF8}})
		require.NoError(t, err)
		a, err := ndarray.New(b)
		require.NoError(t, err)
		defer func() { require.NoError(t, a.Close()) }()
		require.NoError(t, a.WriteStrings(context.Background(), cells, ndarray.Whole(a.Shape())))
		var want strings.Builder
		w := csv.NewWriter(&want)
		require.NoError(t, w.Write(cells))
		w.Flush()
		line := want.String()
		if line == "\n" {
			line = "\"\"\n"
		}
		require.Equal(t, line, output(t, a, encode.Options{Format: encode.CSV, Table: encode.Table{NoHeader: true}}))
	})
}

// TestEncoder_memory: the memory does not depend on the length of the last axis.
func TestEncoder_memory(t *testing.T) {
	a := bytesOf(t, []int64{2, 100_000_000}, []int64{1, 1 << 20})
	for _, o := range []encode.Options{{Format: encode.CSV}, {Format: encode.JSON, Depth: 1}, {Format: encode.Lines}, {Format: encode.NPY}} {
		t.Run(o.Format, func(t *testing.T) {
			e, err := encode.New(context.Background(), a, &o)
			require.NoError(t, err)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			n, err := io.CopyN(io.Discard, e, 20<<20)
			require.NoError(t, err)
			require.Equal(t, int64(20<<20), n)
			runtime.GC()
			runtime.ReadMemStats(&after)
			require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(40<<20))
			runtime.KeepAlive(e)
		})
	}
}

// failing fails after some bytes.
type failing struct{ left int }

func (f *failing) Write(b []byte) (int, error) {
	n := min(len(b), f.left)
	if f.left -= n; n < len(b) {
		return n, errors.ErrUnsupported
	}
	return n, nil
}

func TestEncoder_errors(t *testing.T) {
	a := bytesOf(t, []int64{300_000}, nil)
	t.Run("writer", func(t *testing.T) {
		e, err := encode.New(context.Background(), a, &encode.Options{Format: encode.CSV})
		require.NoError(t, err)
		n, err := e.WriteTo(&failing{100_000})
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.Equal(t, int64(100_000), n)
		rest, err := io.ReadAll(e)
		require.NoError(t, err)
		require.Len(t, output(t, a, encode.Options{Format: encode.CSV}), 100_000+len(rest), "the rest is still there")
	})
	t.Run("context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		e, err := encode.New(ctx, a, &encode.Options{Format: encode.Lines})
		require.NoError(t, err)
		_, err = io.CopyN(io.Discard, e, 10)
		require.NoError(t, err)
		cancel()
		_, err = io.Copy(io.Discard, e)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "encode counted")
	})
	t.Run("closed array", func(t *testing.T) {
		b, err := mem.New(ndarray.Spec{Shape: []int64{2}, DType: ndarray.DTypeOf[int32]()})
		require.NoError(t, err)
		closed, err := ndarray.New(b)
		require.NoError(t, err)
		e, err := encode.New(context.Background(), closed, &encode.Options{Format: encode.JSON})
		require.NoError(t, err)
		require.NoError(t, closed.Close())
		for range 2 {
			_, err = e.WriteTo(io.Discard)
			require.ErrorIs(t, err, ndarray.ErrClosed)
		}
	})
}

func TestOf(t *testing.T) {
	b := &encode.Batch{Dtype: ndarray.DTypeOf[uint8](), Data: []byte{1, 2, 3, 4}, Nulls: []bool{false, true, false, false}, N: 4}
	for format, want := range map[string]string{encode.JSON: "[[1,null],[3,4]]", encode.CSV: "1,\n3,4\n"} {
		out, err := io.ReadAll(encode.Of(context.Background(), []int64{2, 2}, b, &encode.Options{
			Format: format, Form: jsonform.H5grove, Table: encode.Table{Quoted: true},
		}))
		require.NoError(t, err)
		require.Equal(t, want, string(out))
	}
}
