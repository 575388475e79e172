package serve_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/serve"
)

// TestHandler_statsIntegers checks that the statistics of integers are exact.
func TestHandler_statsIntegers(t *testing.T) {
	dir := t.TempDir()
	raw := func(words ...uint64) []byte {
		var b []byte
		for _, w := range words {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		return b
	}
	const large = 1<<62 + 1
	low, one := int64(-large), int64(-1)
	boolean := ndarray.DType{Kind: ndarray.Bool, Size: 1, Order: ndarray.NoOrder}
	s := newServer(t, dir, &serve.Options{Trusted: true})
	for name, c := range map[string]struct {
		d    ndarray.DType
		data []byte
		want string // strict_positive_min, positive_min, min, max, mean, std
	}{
		"signed":    {ndarray.DTypeOf[int64](), raw(large, uint64(low), 5), "[5,5,-4611686018427387905,4611686018427387905,1,3765425866358160384]"},
		"unsigned":  {ndarray.DTypeOf[uint64](), raw(math.MaxUint64, math.MaxUint64-2), "[18446744073709551613,18446744073709551613,18446744073709551613,18446744073709551615,18446744073709551614,1]"},
		"zero":      {ndarray.DTypeOf[uint64](), raw(0, math.MaxUint64), "[18446744073709551615,0,0,18446744073709551615,9223372036854775807,9223372036854775808]"},
		"negative":  {ndarray.DTypeOf[int64](), raw(uint64(one), uint64(one)), "[null,null,-1,-1,-1,0]"},
		"not above": {ndarray.DTypeOf[int64](), raw(uint64(one), 0), "[null,0,-1,0,0,0]"},
		"small":     {ndarray.DTypeOf[int8](), []byte{0xff, 3, 127, 0}, "[3,0,-1,127,32,54]"},
		"bool":      {boolean, []byte{0, 1, 1}, "[1,0,0,1,0,0]"},
		"float":     {ndarray.DTypeOf[float64](), raw(math.Float64bits(-1.5), math.Float64bits(2), math.Float64bits(math.Inf(1))), "[2.0,2.0,-1.5,2.0,0.25,1.75]"},
		"empty":     {ndarray.DTypeOf[int64](), nil, "[null,null,null,null,null,null]"},
	} {
		t.Run(name, func(t *testing.T) {
			n := int64(len(c.data) / c.d.Size)
			file := strings.ReplaceAll(name, " ", "")
			d, err := hyperslab.Create(bg, filepath.Join(dir, file+".b2nd"), ndarray.Spec{Shape: []int64{n}, DType: c.d}, nil)
			require.NoError(t, err)
			require.NoError(t, d.Write(bg, c.data, ndarray.Whole(d.Shape())))
			require.NoError(t, d.Commit(bg))
			require.NoError(t, d.Close())
			status, _, body := get(t, s, "/stats?file="+file+".b2nd&path=/"+file)
			require.Equal(t, 200, status, string(body))
			var doc struct {
				Strict              json.RawMessage `json:"strict_positive_min"`
				Positive            json.RawMessage `json:"positive_min"`
				Min, Max, Mean, Std json.RawMessage
			}
			require.NoError(t, json.Unmarshal(body, &doc))
			require.Equal(t, c.want, fmt.Sprintf("[%s,%s,%s,%s,%s,%s]", doc.Strict, doc.Positive, doc.Min, doc.Max, doc.Mean, doc.Std))
		})
	}
}
