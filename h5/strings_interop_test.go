// Tests of strings of every kind, exchanged with h5py.

package h5_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// stringKinds returns every string type: three paddings and variable length, in both character
// sets.
func stringKinds() map[string]h5.Datatype {
	kinds := map[string]h5.Datatype{}
	for set, cs := range map[string]h5.CharSet{"ascii": h5.ASCII, "utf-8": h5.UTF8} {
		kinds[set+" variable"] = h5.VariableString(cs)
		for name, pad := range map[string]h5.StringPad{"null-terminated": h5.NullTerm, "null-padded": h5.NullPad, "space-padded": h5.SpacePad} {
			kinds[set+" "+name] = h5.FixedString(9, pad, cs)
		}
	}
	return kinds
}

func wordsOf(dt h5.Datatype) []string {
	if dt.CharSet == h5.UTF8 {
		return []string{"Grüße", "", "日本"}
	}
	return []string{"two word", "", "x"}
}

// TestStrings_toH5py checks that h5py and this package read strings of this package: scalars and
// arrays, in datasets, attributes, members of structs, and elements of arrays and sequences in
// structs.
func TestStrings_toH5py(t *testing.T) {
	type row struct {
		Text string    `h5:"text"`
		Pair [2]string `h5:"pair"`
		Many []string  `h5:"many"`
	}
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	r := f.Root()
	want := map[string]any{}
	for name, dt := range stringKinds() {
		words := wordsOf(dt)
		strs := make([]any, len(words))
		for i, w := range words {
			strs[i] = w
		}
		d := writtenAs(t, f, name+"/array", dt, words)
		s, err := r.CreateDataset(name+"/scalar", dt, h5.ScalarSpace(), nil)
		require.NoError(t, err)
		require.NoError(t, h5value.Write(s, words[:1], h5.All))
		one, err := h5value.Encode(dt, words[:1])
		require.NoError(t, err)
		all, err := h5value.Encode(dt, words)
		require.NoError(t, err)
		require.NoError(t, d.WriteAttribute(h5.Attribute{Name: "one", Datatype: dt, Space: h5.ScalarSpace(), Values: one}))
		require.NoError(t, d.WriteAttribute(h5.Attribute{Name: "all", Datatype: dt, Space: h5.SimpleSpace(int64(len(words))), Values: all}))
		c := h5.CompoundOf(h5.Member{Name: "text", Type: &dt}, h5.Member{Name: "pair", Type: ptr(h5.ArrayOf(dt, 2))}, h5.Member{Name: "many", Type: ptr(h5.SequenceOf(dt))})
		rows := []row{{words[0], [2]string{words[1], words[0]}, words}, {words[1], [2]string{}, []string{}}}
		rd := writtenAs(t, f, name+"/rows", c, rows)
		values, err := h5value.Encode(c, rows)
		require.NoError(t, err)
		require.NoError(t, rd.WriteAttribute(h5.Attribute{Name: "rows", Datatype: c, Space: h5.SimpleSpace(2), Values: values}))
		for _, got := range [][]row{must(h5value.ReadAll[row](rd))(t), must(h5value.ReadAttr[row](rd, "rows"))(t)} {
			require.Equal(t, rows, got, name)
		}
		require.Equal(t, words, must(h5value.ReadAll[string](d))(t), name)
		require.Equal(t, words, must(h5value.ReadAttr[string](d, "all"))(t), name)
		require.Equal(t, words[:1], must(h5value.ReadAttr[string](d, "one"))(t), name)
		require.Equal(t, words[:1], must(h5value.ReadAll[string](s))(t), name)
		want[name] = []any{[]any{dt.CharSet == h5.UTF8, dt.Variable}, strs, strs[0], strs[0], strs, []any{strs[0], strs[1]}}
	}
	require.NoError(t, f.Close())
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(python(t, `
import h5py, json, numpy as np, sys
def text(v):
    if isinstance(v, np.ndarray):
        return [text(x) for x in v]
    if isinstance(v, bytes):
        v = v.decode("utf-8")
    assert isinstance(v, str), type(v)
    return v.rstrip(" ")
out = {}
with h5py.File(sys.argv[1]) as f:
    for name, g in f.items():
        d = g["array"]
        info = h5py.check_string_dtype(d.dtype)
        if info.length is None: # where h5py itself gives str
            assert type(d.attrs["one"]) is str and all(type(s) is str for s in d.attrs["all"])
        arr = d.asstr()[:]
        assert all(type(s) is str for s in arr) and type(g["scalar"].asstr()[()]) is str
        out[name] = [[info.encoding == "utf-8", info.length is None], text(arr), text(g["scalar"].asstr()[()]),
                     text(d.attrs["one"]), text(d.attrs["all"]), text(g["rows"].fields("text")[:])]
json.dump(out, sys.stdout)
`, path)), &got))
	require.Equal(t, want, got)
}

// must returns the value of a call and requires that the call succeeded.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

// TestStrings_fromH5py checks that strings written by h5py are read as Go strings, with every
// padding of h5py's low-level interface.
func TestStrings_fromH5py(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	python(t, `
import h5py, numpy as np, sys
from h5py import h5t, h5s, h5d, h5a
with h5py.File(sys.argv[1], "w") as f:
    for cset, words in [("ascii", ["two word", "", "x"]), ("utf-8", ["Grüße", "", "日本"])]:
        dt = h5py.string_dtype(cset)
        d = f.create_dataset(cset + " variable", data=np.array(words, object), dtype=dt)
        d.attrs.create("one", words[0], dtype=dt)
        d.attrs.create("all", np.array(words, object), dtype=dt)
        f.create_dataset(cset + " variable row", data=np.array([(w, w.encode()) for w in words], [("text", dt), ("fixed", h5py.string_dtype(cset, 9))]))
        raw = np.array([w.encode() for w in words], "S9")
        for pad in [h5t.STR_NULLTERM, h5t.STR_NULLPAD, h5t.STR_SPACEPAD]:
            t = h5t.C_S1.copy(); t.set_size(9); t.set_strpad(pad); t.set_cset(h5t.CSET_UTF8 if cset == "utf-8" else h5t.CSET_ASCII)
            name = "%s %d" % (cset, pad)
            d = h5d.create(f.id, name.encode(), t, h5s.create_simple((3,)))
            m = h5t.C_S1.copy(); m.set_size(9); m.set_strpad(h5t.STR_NULLPAD); m.set_cset(t.get_cset())
            d.write(h5s.ALL, h5s.ALL, raw, m)
            h5a.create(d, b"all", t, h5s.create_simple((3,))).write(raw, m)
            h5a.create(d, b"one", t, h5s.create(h5s.SCALAR)).write(raw[:1].reshape(()), m)
`, path)
	f, err := h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	defer f.Close()
	open := func(name string) *h5.Dataset { return must(f.Root().OpenDataset(name))(t) }
	for set, words := range map[string][]string{"ascii": {"two word", "", "x"}, "utf-8": {"Grüße", "", "日本"}} {
		for _, kind := range []string{"variable", "0", "1", "2"} {
			name := fmt.Sprint(set, " ", kind)
			d := open(name)
			dt := must(d.Datatype())(t)
			require.Equal(t, set == "utf-8", dt.CharSet == h5.UTF8, name)
			require.Equal(t, kind == "variable", dt.Variable, name)
			require.Equal(t, words, must(h5value.ReadAll[string](d))(t), name)
			require.Equal(t, words, must(readStrings(d, region([]int64{0}, []int64{3})))(t), name)
			require.Equal(t, words, must(h5value.ReadAttr[string](d, "all"))(t), name)
			require.Equal(t, words[:1], must(h5value.ReadAttr[string](d, "one"))(t), name)
			require.Equal(t, words[0], must(h5value.ReadAll[any](d))(t)[0], name)
		}
		type row struct {
			Text  string `h5:"text"`
			Fixed string `h5:"fixed"`
		}
		rows := must(h5value.ReadAll[row](open(set + " variable row")))(t)
		for i, w := range words {
			require.Equal(t, row{w, w}, rows[i])
		}
	}
}
