package shell

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestJSONNumbers(t *testing.T) {
	for _, tt := range []struct {
		in   any
		want string
	}{
		{JSONInt(0), "0"},
		{JSONInt(1 << 53), "9007199254740992"},
		{JSONInt(1<<53 + 1), `"9007199254740993"`},
		{JSONInt(-1 << 53), "-9007199254740992"},
		{JSONInt(math.MinInt64), `"-9223372036854775808"`},
		{JSONFloat(0.1), "0.1"},
		{JSONFloat(math.NaN()), `"NaN"`},
		{JSONFloat(math.Inf(1)), `"Infinity"`},
		{JSONFloat(math.Inf(-1)), `"-Infinity"`},
		{JSONFloat(math.MaxFloat64), "1.7976931348623157e+308"},
		{JSONShape(nil), "null"},
		{JSONShape([]int64{}), "[]"},
		{JSONShape([]int64{2, -1}), "[2,-1]"},
	} {
		got, err := json.Marshal(tt.in)
		require.NoError(t, err)
		require.Equal(t, tt.want, string(got))
	}
}

func TestWriteJSON_layout(t *testing.T) {
	type inner struct {
		Name  string `json:"name"`
		Shape []int  `json:"shape"`
	}
	var out strings.Builder
	require.NoError(t, writeJSON(&out, struct {
		Schema string  `json:"schema"`
		Empty  []int   `json:"empty"`
		None   any     `json:"none"`
		List   []inner `json:"list"`
		Grid   [][]int `json:"grid"`
	}{"x/1", []int{}, nil, []inner{{`<&> "quoted, [text]" \`, []int{1, 2}}, {"b", nil}}, [][]int{{1, 2}, {3, 4}}}, "", false))
	require.Equal(t, `{
  "schema": "x/1",
  "empty": [],
  "none": null,
  "list": [
    {
      "name": "<&> \"quoted, [text]\" \\",
      "shape": [1, 2]
    },
    {
      "name": "b",
      "shape": null
    }
  ],
  "grid": [
    [1, 2],
    [3, 4]
  ]
}
`, out.String())
}

// TestWriteJSON_document checks that the layout of any document adds only white space.
func TestWriteJSON_document(t *testing.T) {
	var doc func(depth int) *rapid.Generator[any]
	doc = func(depth int) *rapid.Generator[any] {
		scalar := rapid.OneOf(
			rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Float64Range(-1e9, 1e9).AsAny(), rapid.String().AsAny())
		if depth == 0 {
			return scalar
		}
		return rapid.OneOf(scalar,
			rapid.SliceOfN(doc(depth-1), 0, 4).AsAny(),
			rapid.MapOfN(rapid.String(), doc(depth-1), 0, 4).AsAny())
	}
	rapid.Check(t, func(t *rapid.T) {
		in := doc(3).Draw(t, "document")
		var out bytes.Buffer
		require.NoError(t, writeJSON(&out, in, "", false))
		want, err := json.Marshal(in)
		require.NoError(t, err)
		require.JSONEq(t, string(want), out.String())
		require.Equal(t, 1, strings.Count(out.String()[out.Len()-1:], "\n"))
	})
}
