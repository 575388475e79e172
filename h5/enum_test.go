package h5_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// TestEnum_UnnamedValues checks that an enumeration can contain any number, with or without a name,
// in both byte orders, alone or inside other types, in datasets and in attributes. A transfer in
// another byte order is refused, because libhdf5 would convert the names.
func TestEnum_UnnamedValues(t *testing.T) {
	f := newFile(t)
	values := []int16{-1, 300, 7, 0, -32768, 32767, -2, 258}
	for name, order := range map[string]binary.AppendByteOrder{"big": binary.BigEndian, "little": binary.LittleEndian} {
		stored := h5.BigEndian
		if name == "little" {
			stored = h5.LittleEndian
		}
		color := h5.EnumOf(h5.Int(2, stored), h5.Member{Name: "red", Value: -1}, h5.Member{Name: "blue", Value: 300})
		pair := h5.CompoundOf(h5.Member{Name: "one", Type: &color}, h5.Member{Name: "n", Type: new(h5.Int(2, stored))})
		for kind, dt := range map[string]h5.Datatype{"enum": color, "array": h5.ArrayOf(color, 2), "pair": pair} {
			var native, want []byte
			for _, v := range values {
				native = binary.NativeEndian.AppendUint16(native, uint16(v))
				want = order.AppendUint16(want, uint16(v))
			}
			n := int64(len(native) / dt.Size)
			all := region([]int64{0}, []int64{n})
			d, err := f.Root().CreateDataset(name+kind, dt, h5.SimpleSpace(n), nil)
			require.NoError(t, err)
			require.NoError(t, d.WriteRegion(want, dt, all))
			got := make([]byte, len(native))
			require.NoError(t, d.ReadRegion(got, dt, all))
			require.Equal(t, want, got, "%s %s as stored", name, kind)
			if stored != h5.NativeOrder {
				require.ErrorIs(t, d.WriteRegion(native, dt.Native(), all), h5.ErrType, "%s %s", name, kind)
				require.ErrorIs(t, d.ReadRegion(got, dt.Native(), all), h5.ErrType, "%s %s", name, kind)
			}

			// Read to a part of a buffer and write from it.
			half := h5.Window{Shape: []int64{n, 2}, Selection: region([]int64{0, 1}, []int64{n, 1})}
			wide := make([]byte, 2*len(native))
			require.NoError(t, d.ReadWindow(wide, dt, half, all))
			require.NoError(t, d.WriteRegion(make([]byte, len(native)), dt, all))
			require.NoError(t, d.WriteWindow(wide, dt, half, all))
			require.NoError(t, d.ReadRegion(got, dt, all))
			require.Equal(t, want, got, "%s %s through a window", name, kind)

			require.NoError(t, d.WriteAttribute(h5.Attribute{Name: "a", Datatype: dt, Space: h5.SimpleSpace(n), Data: want}))
			a, err := d.ReadAttribute("a")
			require.NoError(t, err)
			require.Equal(t, want, a.Data, "attribute of %s %s", name, kind)
		}
		d, err := f.Root().OpenDataset(name + "enum")
		require.NoError(t, err)
		numbers, err := h5value.ReadAll[int16](d)
		require.NoError(t, err)
		require.Equal(t, values, numbers)
		numbers, err = h5value.ReadAttr[int16](d, "a")
		require.NoError(t, err)
		require.Equal(t, values, numbers)
	}
}
