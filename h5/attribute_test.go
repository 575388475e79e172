package h5_test

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

func natives[T any](t testing.TB, v ...T) []byte {
	t.Helper()
	b, err := binary.Append(nil, binary.NativeEndian, v)
	require.NoError(t, err)
	return b
}

func bigEndian[T any](t testing.TB, v ...T) []byte {
	t.Helper()
	b, err := binary.Append(nil, binary.BigEndian, v)
	require.NoError(t, err)
	return b
}

func someAttributes(t testing.TB) []h5.Attribute {
	return []h5.Attribute{
		{Name: "array", Datatype: h5.IEEEFloat(8, h5.BigEndian), Space: h5.SimpleSpace(2, 2), Data: bigEndian(t, 1.5, math.Pi, 0.0, math.Inf(1))},
		{Name: "bool", Datatype: h5value.Bool(), Space: h5.ScalarSpace(), Data: []byte{1}},
		{Name: "empty text", Datatype: h5.VariableString(h5.UTF8), Space: h5.ScalarSpace(), Strings: []string{""}},
		{Name: "fixed", Datatype: h5.FixedString(4, h5.NullPad, h5.ASCII), Space: h5.ScalarSpace(), Data: []byte("ab\x00\x00")},
		{Name: "large", Datatype: h5.Uint(1, h5.LittleEndian), Space: h5.SimpleSpace(60000), Data: make([]byte, 60000)},
		{Name: "null", Datatype: h5.Int(4, h5.LittleEndian), Space: h5.NullSpace(), Data: []byte{}},
		{Name: "null text", Datatype: h5.VariableString(h5.UTF8), Space: h5.NullSpace(), Strings: []string{}},
		{Name: "scalar", Datatype: h5.Int(2, h5.BigEndian), Space: h5.ScalarSpace(), Data: bigEndian(t, int16(-258))},
		{Name: "text", Datatype: h5.VariableString(h5.ASCII), Space: h5.ScalarSpace(), Strings: []string{"hello"}},
		{Name: "texts", Datatype: h5.VariableString(h5.UTF8), Space: h5.SimpleSpace(3), Strings: []string{"a", "Grüße", ""}},
		{Name: "Δt", Datatype: h5.IEEEFloat(4, h5.LittleEndian), Space: h5.SimpleSpace(1), Data: natives(t, float32(0.1))},
	}
}

func TestAttributes(t *testing.T) {
	f := newFile(t)
	g, err := f.Root().CreateGroup("g")
	require.NoError(t, err)
	d, err := g.CreateDataset("d", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(3), nil)
	require.NoError(t, err)
	type carrier interface {
		WriteAttribute(h5.Attribute) error
		ReadAttribute(string) (h5.Attribute, error)
		DeleteAttribute(string) error
	}
	for name, o := range map[string]carrier{"root": f.Root(), "group": g, "dataset": d} {
		t.Run(name, func(t *testing.T) {
			for range 2 { // create, then replace
				for _, a := range someAttributes(t) {
					require.NoError(t, o.WriteAttribute(a), a.Name)
				}
			}
			for _, want := range someAttributes(t) {
				got, err := o.ReadAttribute(want.Name)
				require.NoError(t, err)
				require.True(t, got.Datatype.Equal(want.Datatype), "%v", got.Datatype)
				require.True(t, got.Space.Equal(want.Space), "%v", got.Space)
				require.Equal(t, want.Data, got.Data, want.Name)
				require.Equal(t, want.Strings, got.Strings, want.Name)
			}
		})
	}
	var names []string
	for a, err := range d.Attributes() {
		require.NoError(t, err)
		want := someAttributes(t)[len(names)]
		require.Equal(t, want.Name, a.Name)
		require.True(t, a.Datatype.Equal(want.Datatype))
		require.True(t, a.Space.Equal(want.Space))
		names = append(names, a.Name)
	}
	require.Len(t, names, len(someAttributes(t)))
	info, err := g.ObjectInfo("d")
	require.NoError(t, err)
	require.Equal(t, len(names), info.NumAttrs)
	for range d.Attributes() {
		break // ending the loop early must leave nothing open
	}
	for _, n := range names {
		require.NoError(t, d.DeleteAttribute(n))
	}
	for a := range d.Attributes() {
		t.Fatalf("%q is still there", a.Name)
	}
}

func TestAttribute_fixedStrings(t *testing.T) {
	r := newFile(t).Root()
	a := h5.Attribute{Name: "a", Datatype: h5.FixedString(3, h5.SpacePad, h5.ASCII), Space: h5.SimpleSpace(2), Strings: []string{"x", "yz"}}
	require.NoError(t, r.WriteAttribute(a))
	got, err := r.ReadAttribute("a")
	require.NoError(t, err)
	require.Equal(t, "x  yz ", string(got.Data))
	a.Strings[0] = "wxyz"
	require.ErrorIs(t, r.WriteAttribute(a), h5.ErrSize)
	got, err = r.ReadAttribute("a")
	require.NoError(t, err)
	require.Equal(t, "x  yz ", string(got.Data), "a failure keeps what was there")
}

func TestAttribute_invalid(t *testing.T) {
	r := newFile(t).Root()
	i4 := h5.Int(4, h5.LittleEndian)
	ref := h5.Datatype{Class: h5.Reference, Size: 8, Ref: h5.ObjectReference}
	for _, tt := range []struct {
		name string
		a    h5.Attribute
		want error
	}{
		{"short data", h5.Attribute{Name: "a", Datatype: i4, Space: h5.SimpleSpace(2), Data: make([]byte, 7)}, h5.ErrSize},
		{"no data", h5.Attribute{Name: "a", Datatype: i4, Space: h5.ScalarSpace()}, h5.ErrSize},
		{"strings for a number", h5.Attribute{Name: "a", Datatype: i4, Space: h5.ScalarSpace(), Data: make([]byte, 4), Strings: []string{"x"}}, h5.ErrSize},
		{"data for strings", h5.Attribute{Name: "a", Datatype: h5.VariableString(h5.UTF8), Space: h5.ScalarSpace(), Data: make([]byte, 4)}, h5.ErrSize},
		{"too few strings", h5.Attribute{Name: "a", Datatype: h5.VariableString(h5.UTF8), Space: h5.SimpleSpace(2), Strings: []string{"x"}}, h5.ErrSize},
		{"zero byte", h5.Attribute{Name: "a", Datatype: h5.VariableString(h5.UTF8), Space: h5.ScalarSpace(), Strings: []string{"a\x00"}}, h5.ErrParam},
		{"no name", h5.Attribute{Datatype: i4, Space: h5.ScalarSpace(), Data: make([]byte, 4)}, h5.ErrParam},
		{"no space", h5.Attribute{Name: "a", Datatype: i4, Data: make([]byte, 4)}, h5.ErrParam},
		{"no type", h5.Attribute{Name: "a", Space: h5.ScalarSpace()}, h5.ErrType},
		{"reference", h5.Attribute{Name: "a", Datatype: ref, Space: h5.ScalarSpace(), Data: make([]byte, 8)}, h5.ErrType},
	} {
		require.ErrorIs(t, r.WriteAttribute(tt.a), tt.want, tt.name)
	}
	for a := range r.Attributes() {
		t.Fatalf("%q was made", a.Name)
	}
}

// TestAttribute_precision checks that integers with unused bits are written and read as stored.
func TestAttribute_precision(t *testing.T) {
	r := newFile(t).Root()
	bits17 := h5.Int(4, h5.BigEndian)
	bits17.Precision, bits17.Offset = 17, 3
	a := h5.Attribute{Name: "a", Datatype: bits17, Space: h5.SimpleSpace(2), Data: bigEndian(t, int32(0x80000), int32(0x7FFF8))}
	require.NoError(t, r.WriteAttribute(a))
	got, err := r.ReadAttribute("a")
	require.NoError(t, err)
	require.True(t, got.Datatype.Equal(bits17), "%v", got.Datatype)
	require.Equal(t, a.Data, got.Data)
	numbers, err := h5value.ReadAttr[int32](r, "a")
	require.NoError(t, err)
	require.Equal(t, []int32{-65536, 65535}, numbers)
}

// TestAttribute_fieldOrder checks that fields are written in their order for any offsets, although
// libhdf5 sorts the fields of a converted attribute by offset.
func TestAttribute_fieldOrder(t *testing.T) {
	r := newFile(t).Root()
	i2, i4 := h5.Int(2, h5.BigEndian), h5.Int(4, h5.BigEndian)
	inner := h5.Datatype{Class: h5.Compound, Size: 6, Members: []h5.Member{{Name: "b", Offset: 2, Type: &i4}, {Name: "a", Offset: 0, Type: &i2}}}
	outer := h5.Datatype{Class: h5.Compound, Size: 10, Members: []h5.Member{{Name: "y", Offset: 4, Type: &inner}, {Name: "x", Offset: 0, Type: &i4}}}
	a := h5.Attribute{Name: "a", Datatype: outer, Space: h5.ScalarSpace(), Data: slices.Concat(bigEndian(t, int32(1)), bigEndian(t, int16(2)), bigEndian(t, int32(3)))}
	for range 2 { // create, then replace
		require.NoError(t, r.WriteAttribute(a))
		for range 2 {
			got, err := r.ReadAttribute("a")
			require.NoError(t, err)
			require.True(t, outer.Equal(got.Datatype), "%v", got.Datatype)
			require.Equal(t, a.Data, got.Data)
		}
	}
}

func TestLargeAttribute(t *testing.T) {
	f, err := h5.Create(t.TempDir()+"/x.h5", &h5.CreateOptions{Low: h5.V18, High: h5.LatestFormat})
	require.NoError(t, err)
	defer f.Close()
	words := []string{strings.Repeat("long ", 50_000)}
	a := h5.Attribute{Name: "a", Datatype: h5.Uint(1, h5.LittleEndian), Space: h5.SimpleSpace(200_000), Data: make([]byte, 200_000)}
	a.Data[199_999] = 7
	require.NoError(t, f.Root().WriteAttribute(a), "more than an object header takes")
	got, err := f.Root().ReadAttribute("a")
	require.NoError(t, err)
	require.Equal(t, a.Data, got.Data)
	text := h5.Attribute{Name: "t", Datatype: h5.VariableString(h5.UTF8), Space: h5.SimpleSpace(1), Strings: words}
	require.NoError(t, f.Root().WriteAttribute(text))
	got, err = f.Root().ReadAttribute("t")
	require.NoError(t, err)
	require.Equal(t, words, got.Strings)
}
