package shell

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/ndarray"
)

func TestElementJSON(t *testing.T) {
	native := binary.NativeEndian
	for _, tt := range []struct {
		dtype string
		b     []byte
		want  string
	}{
		{"|b1", []byte{0}, "false"},
		{"|b1", []byte{7}, "true"},
		{"|i1", []byte{0x80}, "-128"},
		{"<i8", native.AppendUint64(nil, 1<<53), "9007199254740992"},
		{"<i8", native.AppendUint64(nil, 1<<53+1), `"9007199254740993"`},
		{"<i8", native.AppendUint64(nil, 1<<63), `"-9223372036854775808"`},
		{"<u8", native.AppendUint64(nil, math.MaxUint64), `"18446744073709551615"`},
		{"<f2", native.AppendUint16(nil, 0x3c00), "1"},
		{"<f4", native.AppendUint32(nil, math.Float32bits(0.1)), "0.1"},
		{"<f8", native.AppendUint64(nil, math.Float64bits(1e300)), "1e+300"},
		{"<f8", native.AppendUint64(nil, math.Float64bits(math.Inf(-1))), `"-Infinity"`},
		{"<f4", native.AppendUint32(nil, 0x7fc00001), `"NaN"`},
		{"<c8", native.AppendUint32(native.AppendUint32(nil, math.Float32bits(1.5)), 0), "[1.5,0]"},
		{"|S4", []byte("ab\x00\x00"), `"ab"`},
		{"|S4", []byte("\"\n\x00\x00"), `"\"\n"`},
		{"|S2", []byte{0xff, 0xfe}, `{"base64":"//4="}`},
		{"<U2", native.AppendUint32(native.AppendUint32(nil, 'é'), 0), `"é"`},
		{"<U1", native.AppendUint32(nil, 0x110000), `{"base64":"AAARAA=="}`},
		{"|V3", []byte{1, 2, 255}, `{"base64":"AQL/"}`},
	} {
		d, err := ndarray.ParseDType(tt.dtype)
		require.NoError(t, err)
		got, err := json.Marshal(ElementJSON(d, tt.b))
		require.NoError(t, err)
		require.Equal(t, tt.want, string(got), "%s % x", tt.dtype, tt.b)
	}
}

// TestElementJSON_floats checks that every number in a JSON document is read back exactly.
func TestElementJSON_floats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := math.Float64frombits(rapid.Uint64().Draw(t, "bits"))
		b, err := json.Marshal(valueJSON(ndarray.Scalar(want)))
		require.NoError(t, err)
		var got any
		require.NoError(t, json.Unmarshal(b, &got))
		switch {
		case math.IsNaN(want):
			require.Equal(t, "NaN", got)
		case math.IsInf(want, 1):
			require.Equal(t, "Infinity", got)
		case math.IsInf(want, -1):
			require.Equal(t, "-Infinity", got)
		default:
			require.Equal(t, want, got)
		}
	})
}

func TestValueJSON(t *testing.T) {
	grid := ndarray.Vector[int16](1, 2, 3, 4, 5, 6)
	grid.Shape = []int64{2, 3}
	empty := ndarray.Vector[int8]()
	for _, tt := range []struct {
		value ndarray.Value
		want  string
	}{
		{grid, "[[1,2,3],[4,5,6]]"},
		{empty, "[]"},
		{ndarray.Text("m/s"), `"m/s"`},
		{ndarray.Value{DType: ndarray.DTypeOf[int8](), Null: true}, "null"},
	} {
		require.NoError(t, tt.value.Validate())
		got, err := json.Marshal(valueJSON(tt.value))
		require.NoError(t, err)
		require.Equal(t, tt.want, string(got))
	}
}

func TestShorten(t *testing.T) {
	require.Equal(t, "short", Shorten("short", 5))
	require.Equal(t, "lon…", Shorten("longer", 4))
	require.Equal(t, "äö…", Shorten("äöüß", 3))
}
