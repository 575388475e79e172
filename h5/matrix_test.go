package h5_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// normalise converts a natural value to its JSON form: numbers stay numbers, complex numbers become
// pairs, compounds become objects, bytes become numbers, and references become the path of their
// target.
func normalise(t *testing.T, f *h5.File, v any) any {
	switch v := v.(type) {
	case h5value.Record:
		m := make(map[string]any)
		for _, field := range v {
			m[field.Name] = normalise(t, f, field.Value)
		}
		return m
	case h5.Ref:
		if v.IsNull() {
			return nil
		}
		to, err := f.Resolve(v)
		require.NoError(t, err)
		if to.Region {
			return []any{to.Path, float64(to.Selection.NumElems)}
		}
		return to.Path
	case h5value.EnumValue:
		return float64(v.Value)
	case complex64:
		return []any{float64(real(v)), float64(imag(v))}
	case complex128:
		return []any{real(v), imag(v)}
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Slice:
		s := make([]any, r.Len())
		for i := range s {
			s[i] = normalise(t, f, r.Index(i).Interface())
		}
		return s
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return float64(r.Int())
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return float64(r.Uint())
	case reflect.Float32, reflect.Float64:
		return r.Float()
	}
	return v
}

// normal is the Python version of normalise.
const normal = `
import h5py, json, numpy as np, sys
def normal(v, f, dt=None):
    if isinstance(v, np.ndarray):
        return [normal(x, f, dt) for x in v]
    if isinstance(v, np.void) and v.dtype.names:
        return {n: normal(v[n], f, v.dtype[n]) for n in v.dtype.names}
    if isinstance(v, np.void):
        return list(v.tobytes())
    if isinstance(v, h5py.RegionReference):
        return [f[v].name, int(h5py.h5r.get_region(v, f.id).get_select_npoints())] if v else None
    if isinstance(v, h5py.Reference):
        return f[v].name if v else None
    if isinstance(v, (bytes, np.bytes_)):
        return bytes(v).decode("utf-8").rstrip(" ")
    if isinstance(v, (np.datetime64, np.timedelta64)):
        return list(np.asarray(v).astype(dt).tobytes())
    if isinstance(v, (complex, np.complexfloating)):
        return [float(v.real), float(v.imag)]
    if isinstance(v, (bool, np.bool_)):
        return bool(v)
    if isinstance(v, np.generic):
        return v.item()
    return v
`

// matrixTypes returns the types of the matrix with three values of each.
func matrixTypes(t *testing.T, r *h5.Group) map[string]struct {
	dt     h5.Datatype
	values []any
} {
	object := func(name string) h5.Ref {
		ref, err := r.Reference(name, h5.ObjectReference)
		require.NoError(t, err)
		return ref
	}
	area, err := r.ReferenceRegion("target", h5.RegionReference, region([]int64{1}, []int64{3}))
	require.NoError(t, err)
	inner := h5.CompoundOf(h5.Member{Name: "x", Type: ptr(h5.IEEEFloat(4, h5.BigEndian))}, h5.Member{Name: "s", Type: ptr(h5.VariableString(h5.UTF8))})
	outer := h5.CompoundOf(
		h5.Member{Name: "id", Type: ptr(h5.Uint(2, h5.BigEndian))}, h5.Member{Name: "in", Type: &inner},
		h5.Member{Name: "fixed", Type: ptr(h5.FixedString(6, h5.NullPad, h5.UTF8))}, h5.Member{Name: "grid", Type: ptr(h5.ArrayOf(h5.Int(1, 0), 2, 2))},
		h5.Member{Name: "yes", Type: ptr(h5value.Bool())}, h5.Member{Name: "z", Type: ptr(h5value.ComplexCompound(h5.IEEEFloat(8, h5.LittleEndian)))},
		h5.Member{Name: "seq", Type: ptr(h5.SequenceOf(h5.Int(4, h5.LittleEndian)))})
	row := func(i int) h5value.Record {
		return h5value.Record{{Name: "id", Value: uint16(i)}, {Name: "in", Value: h5value.Record{{Name: "x", Value: float32(i) / 2}, {Name: "s", Value: fmt.Sprint("ä", i)}}}, {Name: "fixed", Value: "né"}, {Name: "grid", Value: [][]int8{{1, 2}, {3, int8(-i)}}},
			{Name: "yes", Value: i == 1}, {Name: "z", Value: complex(float64(i), -1)}, {Name: "seq", Value: make([]int32, i)}}
	}
	return map[string]struct {
		dt     h5.Datatype
		values []any
	}{
		"i8": {h5.Int(1, 0), []any{int8(-1), int8(0), int8(127)}}, "u16be": {h5.Uint(2, h5.BigEndian), []any{uint16(1), uint16(256), uint16(65535)}},
		"i32": {h5.Int(4, h5.LittleEndian), []any{int32(-1), int32(1 << 30), int32(3)}}, "i64be": {h5.Int(8, h5.BigEndian), []any{int64(-1), int64(1) << 52, int64(3)}},
		"f16": {h5.IEEEFloat(2, h5.LittleEndian), []any{float32(0.5), float32(-3), float32(65504)}}, "f32be": {h5.IEEEFloat(4, h5.BigEndian), []any{float32(0.5), float32(-3), float32(1e10)}},
		"f64":  {h5.IEEEFloat(8, h5.LittleEndian), []any{0.1, -3.0, 1e300}},
		"bool": {h5value.Bool(), []any{true, false, true}}, "complex": {h5value.ComplexCompound(h5.IEEEFloat(4, h5.LittleEndian)), []any{complex64(1 + 2i), complex64(0), complex64(-1i)}},
		"text": {h5.VariableString(h5.UTF8), []any{"a", "Grüße", ""}}, "ascii": {h5.VariableString(h5.ASCII), []any{"a", "bc", ""}},
		"nullpad": {h5.FixedString(7, h5.NullPad, h5.UTF8), []any{"a", "Grüße", ""}}, "nullterm": {h5.FixedString(8, h5.NullTerm, h5.ASCII), []any{"a", "seven77", ""}},
		"spacepad": {h5.FixedString(7, h5.SpacePad, h5.ASCII), []any{"a", "seven77", ""}},
		"enum":     {h5.EnumOf(h5.Int(2, h5.BigEndian), h5.Member{Name: "red", Value: -1}, h5.Member{Name: "blue", Value: 300}), []any{"red", "blue", "red"}},
		"opaque":   {h5.OpaqueOf(3, ""), []any{[]byte{1, 2, 3}, []byte{0, 0, 1}, []byte{255, 0, 0}}},
		"array":    {h5.ArrayOf(h5.Int(2, h5.BigEndian), 2, 3), []any{[][]int16{{1, 2, 3}, {4, 5, 6}}, [][]int16{{0, 0, 0}, {0, 0, -1}}, [][]int16{{7, 7, 7}, {7, 7, 7}}}},
		"vlen":     {h5.SequenceOf(h5.IEEEFloat(4, h5.LittleEndian)) /* h5py reads big-endian ones in the wrong order */, []any{[]float32{1, 2}, []float32{}, []float32{3}}},
		"ref":      {h5.ReferenceType(h5.ObjectReference), []any{object("target"), h5.Ref{Kind: h5.ObjectReference}, object("group")}},
		"region":   {h5.ReferenceType(h5.RegionReference), []any{area, h5.Ref{Kind: h5.RegionReference}, area}},
		"compound": {outer, []any{row(1), row(2), row(0)}},
	}
}

// pointing are the types of the matrix whose elements are stored outside the chunk. libhdf5 rejects
// them with filters that are not optional.
var pointing = map[string]bool{"text": true, "ascii": true, "vlen": true, "ref": true, "region": true, "compound": true}

// TestMatrix_ToH5py checks that h5py reads what this package writes, for type × layout × filter ×
// shape, as datasets and as attributes.
func TestMatrix_ToH5py(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	r := f.Root()
	written(t, f, "target", []int32{1, 2, 3, 4, 5})
	_, err = r.CreateGroup("group")
	require.NoError(t, err)
	level := 4
	layouts := map[string]*h5.DatasetOptions{
		"contiguous": nil, "compact": {Compact: true}, "chunked": {ChunkShape: []int64{2}}, "deflated": {ChunkShape: []int64{2}, Deflate: &level, Shuffle: true},
		"shuffled": {ChunkShape: []int64{3}, Shuffle: true}, "checked": {ChunkShape: []int64{1}, Fletcher32: true, Deflate: &level},
	}
	want := make(map[string]any)
	for name, tt := range matrixTypes(t, r) {
		normals := normalise(t, f, tt.values).([]any)
		if name == "enum" {
			normals = []any{-1.0, 300.0, -1.0}
		}
		for layout, o := range layouts {
			if layout == "checked" && pointing[name] {
				continue
			}
			d, err := r.CreateDataset(name+"/"+layout, tt.dt, h5.SimpleSpace(3), o)
			require.NoError(t, err)
			require.NoError(t, h5value.Write(d, tt.values, h5.All))
			want[name+"/"+layout] = normals
		}
		d, err := r.CreateDataset(name+"/scalar", tt.dt, h5.ScalarSpace(), nil)
		require.NoError(t, err)
		require.NoError(t, h5value.Write(d, tt.values[:1], h5.All))
		want[name+"/scalar"] = normals[0]
		d, err = r.CreateDataset(name+"/square", tt.dt, h5.SimpleSpace(2, 2), &h5.DatasetOptions{ChunkShape: []int64{1, 2}})
		require.NoError(t, err)
		require.NoError(t, h5value.Write(d, append(tt.values, tt.values[0]), h5.All))
		want[name+"/square"] = []any{normals[:2], []any{normals[2], normals[0]}}
		values, err := h5value.Encode(tt.dt, tt.values)
		require.NoError(t, err)
		require.NoError(t, d.WriteAttribute(h5.Attribute{Name: "three", Datatype: tt.dt, Space: h5.SimpleSpace(3), Values: values}))
		want[name+"/square@three"] = normals
		_, err = r.CreateDataset(name+"/null", tt.dt, h5.NullSpace(), nil)
		require.NoError(t, err)
		want[name+"/null"] = "empty"
	}
	require.NoError(t, f.Close())
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(python(t, normal+`
out = {}
with h5py.File(sys.argv[1]) as f:
    def each(name, d):
        if isinstance(d, h5py.Dataset) and "/" in name:
            v = "empty" if d.shape is None else normal(d[()], f)
            out[name] = v
            for a in d.attrs:
                out[name + "@" + a] = normal(d.attrs[a], f)
    f.visititems(each)
    for n in ["text/scalar", "ascii/scalar", "nullpad/contiguous"]:
        assert h5py.check_string_dtype(f[n].dtype) is not None, n
    assert f["text/contiguous"].asstr()[1] == "Grüße"
    assert h5py.check_enum_dtype(f["enum/scalar"].dtype) == {"red": -1, "blue": 300}
json.dump(out, sys.stdout)
`, path)), &got))
	for name, v := range want {
		require.Equal(t, v, got[name], name)
	}
	require.Len(t, got, len(want))
}

// TestMatrix_FromH5py checks that this package reads what h5py writes.
func TestMatrix_FromH5py(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	var want map[string]any
	require.NoError(t, json.Unmarshal([]byte(python(t, normal+`
out = {}
with h5py.File(sys.argv[1], "w") as f:
    t = f.create_dataset("target", data=np.arange(6))
    f.create_group("group")
    void = np.dtype([("id", ">u2"), ("in", [("x", "<f4"), ("s", h5py.string_dtype())]), ("fixed", "S6"), ("grid", "i1", (2, 2)), ("yes", "?"), ("z", "c16"), ("v", h5py.vlen_dtype("<i4")), ("u", h5py.string_dtype("utf-8", 8))])
    rows = np.zeros(3, void)
    for i in range(3):
        rows[i] = (i, (i / 2, "ä%d" % i), b"ab", [[1, 2], [3, -i]], i == 1, complex(i, -1), np.arange(i, dtype="<i4"), "né".encode())
    vlen = np.empty(3, object); vlen[:] = [np.array([1, 2], "<f4"), np.array([], "<f4"), np.array([3], "<f4")]
    types = {
        "compound": (rows, void), "vlen": (vlen, h5py.vlen_dtype(np.dtype("<f4"))),
        "text": (np.array(["a", "Grüße", ""], object), h5py.string_dtype()), "ascii": (np.array([b"a", b"bc", b""], object), h5py.string_dtype("ascii")),
        "fixed": (np.array([b"a", b"seven77", b""]), "S7"), "utf8": (np.array([s.encode() for s in ["a", "Grüße", ""]], h5py.string_dtype("utf-8", 7)), h5py.string_dtype("utf-8", 7)),
        "bool": (np.array([True, False, True]), "?"), "complex": (np.array([1+2j, 0, -1j]), ">c8"),
        "enum": (np.array([-1, 300, -1], ">i2"), h5py.enum_dtype({"red": -1, "blue": 300}, ">i2")),
        "opaque": (np.array([b"\1\2\3", b"\0\0\1", b"\xff\0\0"], "V3"), "V3"),
        "datetime": (np.array(["2026-11-21T13:00:00", "NaT", "1969-12-31"], "<M8[s]").astype(h5py.opaque_dtype("<M8[s]")), h5py.opaque_dtype("<M8[s]")),
        "timedelta": (np.array([1, -1, 0], ">m8[ns]").astype(h5py.opaque_dtype(">m8[ns]")), h5py.opaque_dtype(">m8[ns]")),
        "array": (np.arange(18).reshape(3, 2, 3), np.dtype((">i2", (2, 3)))),
        "ref": (np.array([t.ref, h5py.Reference(), f["group"].ref], h5py.ref_dtype), h5py.ref_dtype),
        "region": (np.array([t.regionref[1:4], h5py.RegionReference(), t.regionref[::2]], h5py.regionref_dtype), h5py.regionref_dtype),
    }
    for n in ["<i1", "<u1", "<i2", ">u2", "<u4", ">i4", "<i8", ">u8", "<f2", ">f2", "<f4", ">f4", "<f8", ">f8"]:
        types[n] = (np.array([1, 2, 100]), n)
    def keep(name, d):
        out[name] = normal(d[()], f, d.dtype)
    for n, (v, dt) in types.items():
        for layout, o in {"contiguous": {}, "chunked": {"chunks": (2,)}, "deflated": {"chunks": (2,), "compression": 4, "shuffle": True}, "shuffled": {"chunks": (3,), "shuffle": True}, "checked": {"chunks": (1,), "compression": 1, "fletcher32": True}}.items():
            if layout == "checked" and n in ["text", "ascii", "vlen", "ref", "region", "compound"]:
                continue
            d = f.create_dataset(n + "/" + layout, (3,), dt, **o)
            d[...] = v
            keep(d.name[1:], d)
        d = f.create_dataset(n + "/scalar", (), dt)
        d[()] = v[1]
        keep(d.name[1:], d)
        d = f.create_dataset(n + "/rows", (1, 3), dt)
        d[0] = v
        keep(d.name[1:], d)
        f.create_dataset(n + "/null", data=h5py.Empty(dt))
        if n == "array":
            continue # h5py makes no such attribute
        d.attrs.create("three", v, dtype=dt, shape=(3,))
        out[d.name[1:] + "@three"] = out[n + "/contiguous"]
json.dump(out, sys.stdout)
`, path)), &want))
	f, err := h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	defer f.Close()
	read := func(name string) (*h5.Dataset, h5.DatasetInfo, []any) {
		d, err := f.Root().OpenDataset(name)
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		v, err := h5value.ReadAll[any](d)
		require.NoError(t, err, name)
		return d, info, normalise(t, f, v).([]any)
	}
	for name, tag := range map[string]string{"datetime": "NUMPY:<M8[s]", "timedelta": "NUMPY:>m8[ns]"} {
		_, info, _ := read(name + "/contiguous")
		require.Equal(t, h5.Opaque, info.Datatype.Class)
		require.Equal(t, tag, info.Datatype.Tag)
	}
	for name, v := range want {
		if filepath.Base(name) == "rows@three" {
			d, err := f.Root().OpenDataset(filepath.Dir(name) + "/rows")
			require.NoError(t, err)
			values, err := h5value.ReadAttr[any](d, "three")
			require.NoError(t, err, name)
			require.Equal(t, v, normalise(t, f, values), name)
			continue
		}
		_, info, got := read(name)
		switch len(info.Space.Dims) {
		case 0:
			require.Equal(t, v, got[0], name)
		case 1:
			require.Equal(t, v, any(got), name)
		default:
			require.Equal(t, v, any([]any{got}), name)
		}
		_, info, got = read(filepath.Dir(name) + "/null")
		require.Equal(t, h5.Null, info.Space.Kind)
		require.Empty(t, got)
	}
}
