// Tests of metalayers with any content in copies of an array.
package b2nd_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

// foreign lists metalayers that other programs write.
var foreign = []cblosc.Metalayer{
	{Name: "trailing zeros", Content: []byte("\xc4\x04ab\x00\x00")},
	{Name: "no bytes", Content: []byte("\xc4\x00")},
	{Name: "tuple", Content: []byte("\x93\xa9__tuple__\x01\x02")},
	{Name: "long form", Content: []byte("\xd3\x00\x00\x00\x00\x00\x00\x00\x01")},
	{Name: "map", Content: []byte("\x82\xa1a\x01\xa1b\x92\xc0\xa1x")},
	{Name: "nil", Content: []byte("\xc0")},
	{Name: "mixed list", Content: []byte("\x93\x01\xa1x\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00")},
	{Name: "extension", Content: []byte("\xc7\x03\x2eabc")},
	{Name: "no MessagePack", Content: []byte("\xc1 anything")},
	{Name: "both", Content: []byte("\x01")},
}

func TestCreate_rawAttributes(t *testing.T) {
	for _, sparse := range []bool{false, true} {
		dir := t.TempDir()
		from, to := filepath.Join(dir, "from.b2nd"), filepath.Join(dir, "to.b2nd")
		fixed := []cblosc.Metalayer{{Name: "both", Content: []byte("\xa5fixed")}, {Name: "fixed", Content: []byte("\x81\xa1k\xc0")}}
		a, err := cblosc.CreateArray(&cblosc.ArrayParams{
			Shape: []int64{4}, ChunkShape: []int32{2}, Blocks: []int32{2}, DType: "<f8", Meta: fixed,
			Storage: cblosc.Storage{Path: from, Contiguous: !sparse},
		})
		require.NoError(t, err)
		for _, l := range foreign {
			require.NoError(t, a.SChunk().VLMeta().Add(l.Name, l.Content))
		}
		require.NoError(t, a.Close())

		src := open(t, from, nil)
		attrs, err := src.Attrs(bg)
		require.NoError(t, err)
		spec := src.Meta().Spec()
		spec.Attrs = attrs.List
		for _, u := range attrs.Unsupported {
			raw, ok := u.Stored()
			require.True(t, ok, u.Name)
			spec.Attrs = append(spec.Attrs, raw)
		}
		b, err := b2nd.Create(to, spec, &b2nd.CreateOptions{Sparse: sparse})
		require.NoError(t, err)
		require.NoError(t, b.Close())

		c := low(t, to)
		got, err := c.SChunk().VLMeta().Map()
		require.NoError(t, err)
		want := map[string][]byte{}
		for _, l := range foreign {
			want[l.Name] = l.Content
		}
		require.Equal(t, want, got, "no record is needed either")
		got, err = c.SChunk().Meta().Map()
		require.NoError(t, err)
		delete(got, "b2nd")
		require.Equal(t, map[string][]byte{"both": fixed[0].Content, "fixed": fixed[1].Content}, got)
		require.NoError(t, c.Close())
	}
}

func TestBackend_SetAttr_rawAttribute(t *testing.T) {
	path := create(t, nil)
	a := low(t, path)
	require.NoError(t, a.SChunk().VLMeta().Add("n", []byte("\xd3\x00\x00\x00\x00\x00\x00\x00\x01")))
	require.NoError(t, a.Close())
	b, err := b2nd.Open(path, &b2nd.OpenOptions{Write: true})
	require.NoError(t, err)
	arr, err := ndarray.New(b)
	require.NoError(t, err)
	defer func() { require.NoError(t, arr.Close()) }()
	attrs, err := arr.Attrs(bg)
	require.NoError(t, err)
	require.Len(t, attrs.List, 1)
	changed := attrs.List[0]
	changed.Value = ndarray.Scalar(int64(2))
	require.NoError(t, arr.SetAttr(bg, changed))
	v, err := arr.Attr(bg, "n")
	require.NoError(t, err)
	require.True(t, v.Equal(ndarray.Scalar(int64(2))), "a changed value replaces the bytes it was read from")
	require.ErrorIs(t, arr.SetAttr(bg, ndarray.Attr{Name: "m"}), ndarray.ErrType)
	require.ErrorIs(t, arr.SetAttr(bg, ndarray.Attr{Raw: []byte("\xc0")}), ndarray.ErrParam)
	require.NoError(t, arr.SetAttr(bg, ndarray.Attr{Name: "m", Raw: []byte("\xc0")}))
	attrs, err = arr.Attrs(bg)
	require.NoError(t, err)
	require.Len(t, attrs.Unsupported, 1, "None has no Value")
	require.Equal(t, []byte("\xc0"), attrs.Unsupported[0].Raw)
}

func TestCreate_sixteenRawAttributes(t *testing.T) {
	spec := ndarray.Spec{Shape: []int64{1}, DType: dtype(t, "<i4")}
	for i := range 16 {
		spec.Attrs = append(spec.Attrs, ndarray.Attr{Name: string(rune('a' + i)), Raw: []byte("\x80")})
	}
	dir := t.TempDir()
	b, err := b2nd.Create(filepath.Join(dir, "a.b2nd"), spec, nil)
	require.NoError(t, err)
	require.NoError(t, b.Close())
	spec.MaxShape = []int64{ndarray.Unlimited} // requires the record
	_, err = b2nd.Create(filepath.Join(dir, "b.b2nd"), spec, nil)
	require.ErrorContains(t, err, "16 metalayers")
}
