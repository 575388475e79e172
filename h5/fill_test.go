package h5_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// filled creates a dataset of two unwritten elements with the fill value v. It requires that the
// elements and the description contain v, also after the file is closed and opened again.
func filled[T any](t *testing.T, v T, o h5.DatasetOptions) *h5.Dataset {
	t.Helper()
	dt, err := h5value.DatatypeFor[T]()
	require.NoError(t, err)
	return filledAs(t, dt, v, o)
}

func filledAs[T any](t *testing.T, dt h5.Datatype, v T, o h5.DatasetOptions) *h5.Dataset {
	t.Helper()
	var err error
	o.FillValues, err = h5value.Encode(dt, []T{v})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "fill.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("d", dt, growing([]int64{2}, h5.Unlimited), &o)
	require.NoError(t, err)
	requireFilled(t, d, v, 2)
	require.NoError(t, f.Close())
	f, err = h5.Open(path, h5.ReadWrite)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	d, err = f.Root().OpenDataset("d")
	require.NoError(t, err)
	requireFilled(t, d, v, 2)
	require.NoError(t, d.Resize(3))
	require.NoError(t, h5value.Write(d, []T{v}, region([]int64{0}, []int64{1})))
	requireFilled(t, d, v, 3)
	return d
}

func requireFilled[T any](t *testing.T, d *h5.Dataset, v T, n int) {
	t.Helper()
	info, err := d.Info()
	require.NoError(t, err)
	require.Equal(t, h5.FillValue, info.FillKind)
	if info.Datatype.Plain() {
		require.NotEmpty(t, info.Fill)
		require.Zero(t, info.FillValues.N)
	} else {
		require.Empty(t, info.Fill)
		require.Equal(t, 1, info.FillValues.N)
		one, err := h5value.Decode[T](info.FillValues)
		require.NoError(t, err)
		require.Equal(t, []T{v}, one)
	}
	got, err := h5value.ReadAll[T](d)
	require.NoError(t, err)
	require.Len(t, got, n)
	for _, x := range got {
		require.Equal(t, v, x)
	}
}

// TestFill_types checks that fill values can contain strings and sequences, alone and in other
// types.
func TestFill_types(t *testing.T) {
	chunked := h5.DatasetOptions{ChunkShape: []int64{2}}
	level := 6
	t.Run("strings", func(t *testing.T) {
		for _, text := range []string{"", "nothing here", "für alle: ∅"} {
			filled(t, text, chunked)
		}
		filled(t, "packed", h5.DatasetOptions{ChunkShape: []int64{2}, Deflate: &level, Alloc: h5.AllocEarly, FillTime: h5.FillOnAlloc})
	})
	t.Run("sequences", func(t *testing.T) {
		filled(t, []int32{1, 2, 3}, chunked)
		filled(t, [][]string{{"a", ""}, {"bcd"}}, chunked)
		filled(t, [2]string{"x", "yz"}, chunked)
	})
	t.Run("structs", func(t *testing.T) {
		filled(t, someStations()[0], chunked)
	})
	t.Run("references", func(t *testing.T) {
		f := newFile(t)
		_, err := f.Root().CreateGroup("g")
		require.NoError(t, err)
		ref, err := f.Root().Reference("g", h5.ObjectReference)
		require.NoError(t, err)
		for _, r := range []h5.Ref{ref, {Kind: h5.ObjectReference}} {
			filledAs(t, h5.ReferenceType(h5.ObjectReference), r, chunked)
		}
	})
	t.Run("numbers", func(t *testing.T) {
		filled(t, 7.5, chunked)
		filledAs(t, h5.Int(4, h5.BigEndian), int32(-2), chunked)
	})
}

func TestFill_invalid(t *testing.T) {
	r := newFile(t).Root()
	text := h5.VariableString(h5.UTF8)
	values := func(dt h5.Datatype, v ...string) h5.Values {
		out, err := h5value.Encode(dt, v)
		require.NoError(t, err)
		return out
	}
	for name, tt := range map[string]struct {
		o    h5.DatasetOptions
		want error
	}{
		"bytes":      {h5.DatasetOptions{Fill: make([]byte, 8)}, h5.ErrType},
		"two":        {h5.DatasetOptions{FillValues: values(text, "a", "b")}, h5.ErrSize},
		"none":       {h5.DatasetOptions{FillValues: values(text)}, h5.ErrSize},
		"other type": {h5.DatasetOptions{FillValues: values(h5.VariableString(h5.ASCII), "a")}, h5.ErrType},
		"and bytes":  {h5.DatasetOptions{FillValues: values(text, "a"), Fill: make([]byte, 8)}, h5.ErrType},
		"and none":   {h5.DatasetOptions{FillValues: values(text, "a"), NoFill: true}, h5.ErrParam},
	} {
		_, err := r.CreateDataset("x", text, h5.SimpleSpace(2), &tt.o)
		require.ErrorIs(t, err, tt.want, name)
	}

	// These fill values must be refused, because libhdf5 would convert them in a buffer that is too
	// small.
	standard := h5.ReferenceType(h5.StandardReference)
	noRef := []h5.Ref{{Kind: h5.StandardReference}}
	for name, fill := range map[string]func() (h5.Values, error){
		"reference": func() (h5.Values, error) { return h5value.Encode(standard, noRef) },
		"inside": func() (h5.Values, error) {
			c := h5.CompoundOf(h5.Member{Name: "refs", Type: &h5.Datatype{Class: h5.Sequence, Size: 16, Base: &standard}})
			return h5value.Encode(c, []inner{{noRef}})
		},
	} {
		v, err := fill()
		require.NoError(t, err)
		_, err = r.CreateDataset(name, v.Datatype, h5.SimpleSpace(2), &h5.DatasetOptions{FillValues: v})
		require.ErrorIs(t, err, h5.ErrType, name)
	}
	creation := h5.DefaultFileCreation()
	creation.OffsetSize = 4
	f, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), &h5.CreateOptions{Creation: &creation, High: h5.LatestFormat})
	require.NoError(t, err)
	defer f.Close()
	_, err = f.Root().CreateDataset("d", text, h5.SimpleSpace(2), &h5.DatasetOptions{FillValues: values(text, "a")})
	require.ErrorIs(t, err, h5.ErrType)
	require.ErrorContains(t, err, "8 bytes, here 4")
}

// TestFill_refused checks fill values written by another program for which H5Dget_create_plist
// would write 64 bytes to a buffer of 18 bytes. libhdf5 refuses to open the dataset.
func TestFill_refused(t *testing.T) {
	for name, tt := range map[string]struct {
		addresses, size int
		message         string // of the datatype
	}{
		"standard reference":      {8, 18, "\x47\x12\x00\x00\x12\x00\x00\x00"},
		"object, short addresses": {4, 4, "\x17\x00\x00\x00\x04\x00\x00\x00"},
	} {
		creation := h5.DefaultFileCreation()
		creation.OffsetSize = tt.addresses
		path := filepath.Join(t.TempDir(), "x.h5")
		f, err := h5.Create(path, &h5.CreateOptions{Creation: &creation, High: h5.LatestFormat})
		require.NoError(t, err)
		opaque := h5.OpaqueOf(tt.size, "of eight")
		_, err = f.Root().CreateDataset("d", opaque, h5.SimpleSpace(2), &h5.DatasetOptions{Fill: make([]byte, tt.size)})
		require.NoError(t, err)
		require.NoError(t, f.Close())
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		at := bytes.Index(b, []byte("of eight")) - 8
		require.Positive(t, at)
		clear(b[at : at+16])
		copy(b[at:], tt.message)
		require.NoError(t, os.WriteFile(path, b, 0o644))

		f, err = h5.Open(path, h5.ReadOnly)
		require.NoError(t, err)
		_, err = f.Root().OpenDataset("d")
		require.ErrorContains(t, err, "fill value size doesn't match dataset's datatype size", name)
		require.NoError(t, f.Close())
	}
}

type inner struct {
	Refs []h5.Ref `h5:"refs"`
}

// TestFill_h5py checks that h5py uses the fill values of this package, and this package those of
// h5py.
func TestFill_h5py(t *testing.T) {
	dir := t.TempDir()
	ours, theirs := filepath.Join(dir, "ours.h5"), filepath.Join(dir, "theirs.h5")
	f, err := h5.Create(ours, nil)
	require.NoError(t, err)
	text := h5.VariableString(h5.UTF8)
	fill, err := h5value.Encode(text, []string{"grün"})
	require.NoError(t, err)
	_, err = f.Root().CreateDataset("d", text, h5.SimpleSpace(3), &h5.DatasetOptions{FillValues: fill})
	require.NoError(t, err)
	require.NoError(t, f.Close())
	python(t, `
import sys, h5py
with h5py.File(sys.argv[1]) as f:
    d = f["d"]
    assert [x.decode() for x in d[()]] == ["grün"] * 3, d[()]
    assert d.fillvalue in (b"gr\xc3\xbcn", "grün"), d.fillvalue
with h5py.File(sys.argv[2], "w") as f:
    f.create_dataset("d", (2,), dtype=h5py.string_dtype(), fillvalue="blå")
    f.create_dataset("plain", (2,), dtype=h5py.string_dtype())
`, ours, theirs)
	f, err = h5.Open(theirs, h5.ReadOnly)
	require.NoError(t, err)
	defer f.Close()
	d, err := f.Root().OpenDataset("d")
	require.NoError(t, err)
	requireFilled(t, d, "blå", 2)
}
