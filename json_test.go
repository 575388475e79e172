package hyperslab_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

// documented returns the keys in the tables of a heading of schemas.md.
func documented(t *testing.T, heading string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("cmd/hyperslab/internal/cli/schemas.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n"+heading+"\n")
	require.True(t, found, heading)
	section, _, _ = strings.Cut(section, "\n#")
	keys := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?`) \\|").FindAllStringSubmatch(section, -1) {
		for _, key := range regexp.MustCompile("`([a-z0-9_]+)`").FindAllStringSubmatch(row[1], -1) {
			keys[key[1]] = true
		}
	}
	require.NotEmpty(t, keys)
	return keys
}

// requireKeys checks that a document has the documented keys, except those that are absent, and
// returns it.
func requireKeys(t *testing.T, document any, heading string, absent ...string) map[string]any {
	t.Helper()
	var got map[string]any
	b, err := json.Marshal(document)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &got), "%s", b)
	want := documented(t, heading)
	for _, key := range absent {
		require.True(t, want[key], "%s is documented", key)
		delete(want, key)
	}
	for key := range got {
		require.True(t, want[key], "%s: %s is not documented", b, key)
	}
	require.Len(t, got, len(want), "%s", b)
	return got
}

// roundTrip returns a value of the same type from the JSON of a value.
func roundTrip[T any](t *testing.T, v T) (out T) {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &out), "%s", b)
	return out
}

// texts replaces the errors of findings by those of their texts.
func texts(list []hyperslab.Finding) (out []hyperslab.Finding) {
	out = []hyperslab.Finding{}
	for _, f := range list {
		f.Err = errors.New(f.Err.Error())
		out = append(out, f)
	}
	return out
}

func TestVerifyReport_MarshalJSON(t *testing.T) {
	ctx := context.Background()
	file := filepath.Join(t.TempDir(), "x.b2nd")
	d, err := hyperslab.Create(ctx, file, ndarray.Spec{Shape: []int64{4096}, ChunkShape: []int64{1024}, DType: ndarray.DTypeOf[int32]()}, nil)
	require.NoError(t, err)
	values := make([]int32, 4096)
	for i := range values {
		values[i] = int32(i * i * 7919)
	}
	require.NoError(t, ndarray.Write(ctx, d.Array, values, ndarray.Whole(d.Shape())))
	require.NoError(t, d.Commit(ctx))
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, b[:len(b)*2/3], 0o600))
	r, err := hyperslab.Verify(ctx, file, nil)
	require.NoError(t, err)
	require.NotEmpty(t, r.Findings)
	got := requireKeys(t, r, "### verified file", "verdict", "error")
	first, ok := got["findings"].([]any)[0].(map[string]any)
	require.True(t, ok)
	require.Equal(t, r.Findings[0].Err.Error(), first["error"])
	requireKeys(t, first, "### place")
	causes := 0
	for _, f := range r.Findings {
		if !f.Consequence {
			causes++
		}
	}
	require.Len(t, got["findings"], causes)
	again := roundTrip(t, *r)
	r.Findings, r.Unchecked = texts(r.Findings), texts(r.Unchecked)
	require.Equal(t, *r, again)
	require.Equal(t, r.Findings[0], roundTrip(t, r.Findings[0]))

	x, err := hyperslab.Recover(ctx, filepath.Join(t.TempDir(), "y.b2nd"), file, nil)
	require.NoError(t, err)
	got = requireKeys(t, x, "## hyperslab.recover/2", "schema", "seconds")
	require.NotEmpty(t, x.Findings)
	first, ok = got["findings"].([]any)[0].(map[string]any)
	require.True(t, ok)
	require.Equal(t, x.Findings[0].Err.Error(), first["text"])
	require.Equal(t, x.Findings[0].Certainty, first["certainty"])
	recovered := roundTrip(t, *x)
	x.Findings = texts(x.Findings)
	require.Equal(t, *x, recovered)
}

func TestFinding_MarshalJSON(t *testing.T) {
	consequences := []hyperslab.Finding{
		{Object: "/x", What: "index", Offset: 7, Chunk: -1, Err: errors.New("a")},
		{Object: "/x", What: "chunk", Offset: -1, Chunk: 3, Coords: []int64{30, 0}, Consequence: true, Err: errors.New("b")},
		{Object: "/x", What: "chunk", Offset: -1, Chunk: 4, Consequence: true, Err: errors.New("c")},
		{What: "trailer", Offset: 0, Chunk: 0, File: "f", Err: errors.New("d")},
	}
	report := hyperslab.VerifyReport{Path: "a\xff", Format: hyperslab.B2ND, Findings: consequences, Unchecked: []hyperslab.Finding{}, Isolated: true, Level: "full"}
	b, err := json.Marshal(report)
	require.NoError(t, err)
	require.Contains(t, string(b), `"path":"a\\xff"`)
	require.Contains(t, string(b), `"findings":[{"object":"/x","structure":"index","file":null,"offset":7,"chunk":null,"index":null,"error":"a","consequences":[{"object":"/x","structure":"chunk","file":null,"offset":null,"chunk":3,"index":[30,0],"error":"b","consequences":[]}`)
	again := roundTrip(t, report)
	require.Equal(t, consequences, again.Findings)
	require.Equal(t, consequences[1], roundTrip(t, consequences[1]))
	require.Equal(t, "full", again.Level)
	require.Error(t, json.Unmarshal([]byte(`{"findings":7}`), &report))
}

func TestRepairChange_UnmarshalJSON(t *testing.T) {
	plan := hyperslab.RepairPlan{Size: 9, Digest: "aa", Result: "bb", Changes: []hyperslab.RepairChange{
		{Offset: 3, Old: []byte{1, 2}, New: []byte{3, 255}, Structure: "superblock", Reason: "end of file", Certain: true},
	}}
	require.Equal(t, plan, roundTrip(t, plan))
	got := requireKeys(t, plan, "## hyperslab.repair/1", "schema", "source", "target", "seconds")
	change, ok := got["changes"].([]any)[0].(map[string]any)
	require.True(t, ok)
	require.Equal(t, "03ff", change["new"])
	requireKeys(t, change, "### change")
	var c hyperslab.RepairChange
	require.ErrorIs(t, json.Unmarshal([]byte(`{"offset":1,"length":2,"old":"00","new":"0011"}`), &c), ndarray.ErrParam)
	require.Error(t, json.Unmarshal([]byte(`{"offset":1,"length":1,"old":"0x","new":"00"}`), &c))
}

func TestCompareReport_json(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	var trees [2]*hyperslab.Tree
	for i, name := range []string{"a.h5", "b.h5"} {
		for _, object := range []string{"x", name[:1]} {
			d, err := hyperslab.Create(ctx, filepath.Join(dir, name)+":/"+object, ndarray.Spec{Shape: []int64{3}, DType: ndarray.DTypeOf[int32]()}, nil)
			require.NoError(t, err)
			require.NoError(t, ndarray.Write(ctx, d.Array, []int32{1, 2, int32(i)}, ndarray.Whole(d.Shape())))
			require.NoError(t, d.Commit(ctx))
		}
		var err error
		trees[i], err = hyperslab.OpenTree(ctx, filepath.Join(dir, name), nil)
		require.NoError(t, err)
	}
	defer func() { require.NoError(t, errors.Join(trees[0].Close(), trees[1].Close())) }()
	r, err := hyperslab.Compare(ctx, trees[0], trees[1], nil)
	require.NoError(t, err)
	got := requireKeys(t, r, "## hyperslab.difftree/1", "schema", "a", "b", "same", "seconds")
	kinds := map[string][2]any{}
	for _, x := range got["different"].([]any) {
		object, ok := x.(map[string]any)
		require.True(t, ok)
		kinds[object["path"].(string)] = [2]any{object["a"], object["b"]}
		if object["path"] == "/x" {
			array := requireKeys(t, object["array"], "## hyperslab.diff/1", "schema", "a", "b", "excluded_attributes", "encoding_a", "encoding_b", "seconds")
			require.Equal(t, []any{map[string]any{"index": []any{2.0}, "a": "0", "b": "1"}}, array["first"])
		}
	}
	require.Equal(t, map[string][2]any{"/a": {"array", nil}, "/b": {nil, "array"}, "/x": {"array", "array"}}, kinds)

	stats, err := hyperslab.CopyTree(ctx, filepath.Join(dir, "out.bcolz"), trees[0], &hyperslab.TreeOptions{DryRun: true})
	require.NoError(t, err)
	stats.Lost = []hyperslab.Problem{{Path: "/x", What: "link", Err: errors.New("no links")}}
	require.Equal(t, stats.Lost, roundTrip(t, stats).Lost)
	b, err := json.Marshal(stats)
	require.NoError(t, err)
	require.Contains(t, string(b), `"arrays":2,`)
	require.Contains(t, string(b), `"lost":[{"name":"/x","type":"link","reason":"no links"}]`)
}

func TestMarshalAttrs(t *testing.T) {
	b, err := hyperslab.MarshalAttrs(ndarray.Attrs{
		List: []ndarray.Attr{
			{Name: "units", Value: ndarray.Text("m")}, {Name: "big", Value: ndarray.Vector(int64(1), 1<<60)},
			{Name: "none", Value: ndarray.Value{DType: ndarray.DTypeOf[float32](), Null: true}},
		},
		Unsupported: []ndarray.UnsupportedAttr{{Name: "odd", Type: "opaque", Reason: "no type"}},
	})
	require.NoError(t, err)
	require.JSONEq(t, `{"attributes": [{"name": "units", "dtype": "string", "shape": [], "value": "m"},
		{"name": "big", "dtype": "<i8", "shape": [2], "value": [1, "1152921504606846976"]},
		{"name": "none", "dtype": "<f4", "shape": null, "value": null}],
		"unsupported_attributes": [{"name": "odd", "type": "opaque", "reason": "no type"}]}`, string(b))
	_, err = hyperslab.MarshalAttrs(ndarray.Attrs{List: []ndarray.Attr{{Name: "bad"}}})
	require.ErrorContains(t, err, `attribute "bad"`)
}
