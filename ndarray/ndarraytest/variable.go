// Elements of variable size: sequences, references, and structures and sub-arrays that contain them
// or strings.

package ndarraytest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/testkit/samples"
	"github.com/hyperslab/hyperslab/ndarray"
)

// testVariable checks that elements of random types of variable size read as they were written,
// whole and in part, or that Create rejects the type. The references are null, because no object
// exists in every file.
func testVariable(t *testing.T, f Factory) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawVariable(t, 2)
		spec := ndarray.Spec{Shape: []int64{4, 3}, ChunkShape: []int64{3, 2}, DType: d}
		a := f.create(t, spec)
		if a == nil {
			return
		}
		seed := rapid.IntRange(0, 99).Draw(t, "seed")
		want := make([]string, 12)
		for i := range want {
			want[i] = string(variable(d, seed+i))
		}
		require.NoError(t, a.WriteStrings(bg, want, ndarray.Whole(spec.Shape)), "%v", d)
		want[4], want[7] = string(variable(d, 300)), string(variable(d, 0))
		column := ndarray.Region{Start: []int64{1, 1}, Shape: []int64{2, 1}}
		require.NoError(t, a.WriteStrings(bg, []string{want[4], want[7]}, column), "%v", d)
		a = f.reopened(t, a)
		require.True(t, d.Equal(a.DType()), "got %v, want %v", a.DType(), d)
		got := make([]string, 12)
		require.NoError(t, a.ReadStrings(bg, got, ndarray.Whole(spec.Shape)))
		require.Equal(t, want, got, "%v", d)
		require.NoError(t, a.ReadStrings(bg, got[:2], column))
		require.Equal(t, []string{want[4], want[7]}, got[:2], "%v", d)
		for _, element := range got { // the parts are those of the type
			if d.Kind != ndarray.Reference {
				_, err := d.Split([]byte(element))
				require.NoError(t, err, "%v", d)
			}
		}
		require.NoError(t, a.Close())
	})
}

// drawVariable returns a random element type of variable size, nested up to depth more levels.
func drawVariable(t *rapid.T, depth int) ndarray.DType {
	text := ndarray.DType{Kind: ndarray.String, Order: ndarray.NoOrder, CharSet: ndarray.UTF8}
	reference := ndarray.DType{Kind: ndarray.Reference, Order: ndarray.NoOrder, Tag: "object"}
	if depth == 0 {
		return rapid.SampledFrom([]ndarray.DType{text, reference, sequence(samples.Parse("<i4"))}).Draw(t, "leaf")
	}
	fixed := func() ndarray.DType {
		return samples.Parse(rapid.SampledFrom([]string{"|i1", ">u2", "<i4", "<f8", ">f4", "|S3", "<c16", "enum('<i2', {'A': 1, 'B': 300})"}).Draw(t, "fixed"))
	}
	switch rapid.SampledFrom([]string{"sequence", "sequences of parts", "struct", "sub-array", "reference"}).Draw(t, "kind") {
	case "sequence":
		return sequence(fixed())
	case "sequences of parts":
		return sequence(drawVariable(t, depth-1))
	case "struct":
		fields := []ndarray.Field{{Name: "f0", Type: drawVariable(t, depth-1)}}
		for i := range rapid.IntRange(1, 3).Draw(t, "fields") {
			d := fixed()
			if rapid.Bool().Draw(t, "variable") {
				d = drawVariable(t, depth-1)
			}
			fields = append(fields, ndarray.Field{Name: fmt.Sprintf("f%d", i+1), Type: d})
		}
		return ndarray.StructOf(false, fields...)
	case "sub-array":
		return ndarray.SubArrayOf(drawVariable(t, depth-1), 2, 2)
	}
	return reference
}

func sequence(base ndarray.DType) ndarray.DType {
	return ndarray.DType{Kind: ndarray.VLen, Order: ndarray.NoOrder, Base: &base}
}

// variable returns element i of a type.
func variable(d ndarray.DType, i int) []byte {
	var parts []ndarray.DType
	switch d.Kind {
	case ndarray.String:
		return []byte(strings.Repeat("é", i%5))
	case ndarray.Reference:
		return nil
	case ndarray.VLen:
		for range i % 4 {
			parts = append(parts, *d.Base)
		}
	case ndarray.SubArray:
		for range 4 { // of drawVariable
			parts = append(parts, *d.Base)
		}
	case ndarray.Struct:
		for _, f := range d.Fields {
			parts = append(parts, f.Type)
		}
	default:
		return pattern(d, int64(i%3+1))[i%3*d.Size:]
	}
	elements := make([][]byte, len(parts))
	for k, p := range parts {
		elements[k] = variable(p, i+k)
	}
	b, err := d.Join(elements...)
	if err != nil {
		panic("ndarraytest: " + err.Error())
	}
	return b
}
