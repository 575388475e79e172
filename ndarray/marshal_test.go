package ndarray_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

// fromText parses a text by UnmarshalText.
func fromText[T any, P interface {
	*T
	UnmarshalText([]byte) error
}](text string) (v T, err error) {
	err = P(&v).UnmarshalText([]byte(text))
	return v, err
}

func TestDType_MarshalText(t *testing.T) {
	for _, text := range []string{"<f8", "|b1", "<U5", "<M8[ns]", "[('a', '<i4'), ('b', '<f8', (2,))]", "enum('<i4', {'RED': 0})", "string"} {
		d, err := fromText[ndarray.DType](text)
		require.NoError(t, err)
		b, err := d.MarshalText()
		require.NoError(t, err)
		require.Equal(t, text, string(b))
	}
	_, err := fromText[ndarray.DType]("<q9")
	require.ErrorIs(t, err, ndarray.ErrType)
	_, err = ndarray.DType{}.MarshalText()
	require.ErrorIs(t, err, ndarray.ErrType)
}

func TestSelection_MarshalText(t *testing.T) {
	for _, text := range []string{"[]", "[0, 10:20, ::-1, ..., None, [1, 5, 7]]", "[[True, False]]"} {
		s, err := fromText[ndarray.Selection](text)
		require.NoError(t, err)
		b, err := s.MarshalText()
		require.NoError(t, err)
		require.Equal(t, text, string(b))
	}
	_, err := fromText[ndarray.Selection]("[1:")
	require.ErrorIs(t, err, ndarray.ErrParam)
	for _, s := range []ndarray.Selection{ndarray.Points([]int64{1, 2}), ndarray.Where([]bool{true})} {
		_, err := s.MarshalText()
		require.ErrorIs(t, err, errors.ErrUnsupported)
	}
}

func TestRegion_UnmarshalText(t *testing.T) {
	for text, want := range map[string]ndarray.Region{
		"[]":         {},
		"":           {},
		"[0:2, 4:5]": {Start: []int64{0, 4}, Shape: []int64{2, 1}},
		" 7 : 7 ":    {Start: []int64{7}, Shape: []int64{0}},
		"[9223372036854775807:9223372036854775807]": {Start: []int64{1<<63 - 1}, Shape: []int64{0}},
	} {
		r, err := fromText[ndarray.Region](text)
		require.NoError(t, err)
		require.Equal(t, want, r, text)
		again, err := fromText[ndarray.Region](r.String())
		require.NoError(t, err)
		require.Equal(t, r, again)
	}
	for _, text := range []string{"[", "[1", "1:2]", "[1]", "[:2]", "[2:1]", "[-1:2]", "[1:2:1]", "[1:2,]", "[1:2,,3:4]", "[1:9223372036854775808]"} {
		_, err := fromText[ndarray.Region](text)
		require.ErrorIs(t, err, ndarray.ErrParam, text)
		require.ErrorContains(t, err, fmt.Sprintf("%q", text))
	}
}

func TestCompression_UnmarshalText(t *testing.T) {
	for text, want := range map[string]ndarray.Compression{
		"none":                   {Codec: "none"},
		"shuffle + zstd 5":       {Codec: "zstd", Level: 5, Filters: []string{"shuffle"}},
		"shuffle+fletcher32+lz4": {Codec: "lz4", Filters: []string{"shuffle", "fletcher32"}},
		"shuffle + none":         {Codec: "none", Filters: []string{"shuffle"}},
	} {
		c, err := fromText[ndarray.Compression](text)
		require.NoError(t, err)
		require.Equal(t, want, c, text)
		b, err := c.MarshalText()
		require.NoError(t, err)
		again, err := fromText[ndarray.Compression](string(b))
		require.NoError(t, err)
		require.Equal(t, c, again)
	}
	for _, text := range []string{"", "+", "zstd +", "zstd five", "zstd 5 6", "shuffle 4 + zstd"} {
		_, err := fromText[ndarray.Compression](text)
		require.ErrorIs(t, err, ndarray.ErrParam, text)
	}
}

// TestSpec_json writes and reads a specification as a configuration file does.
func TestSpec_json(t *testing.T) {
	d, err := ndarray.ParseDType("[('t', '<M8[s]'), ('v', '<f4')]")
	require.NoError(t, err)
	spec := ndarray.Spec{Shape: []int64{3}, DType: d, Compression: &ndarray.Compression{Codec: "lz4", Level: 1}}
	b, err := json.Marshal(spec)
	require.NoError(t, err)
	require.Contains(t, string(b), `"Compression":"lz4 1"`)
	var again ndarray.Spec
	require.NoError(t, json.Unmarshal(b, &again))
	require.Equal(t, spec, again)
}

func ExampleDType_UnmarshalText() {
	flags := flag.NewFlagSet("tool", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	var d ndarray.DType
	var s ndarray.Selection
	flags.TextVar(&d, "dtype", ndarray.DTypeOf[float32](), "element type")
	flags.TextVar(&s, "at", ndarray.Selection{}, "selection")
	fmt.Println(flags.Parse([]string{"-dtype", ">i2", "-at", "0, ::2"}), d, s)
	// Output: <nil> >i2 [0, ::2]
}
