// Vectors that only the current libraries write: C-Blosc2 3 and HDF5 2.

package crosscheck

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
)

// Versions from which a library reads these vectors.
var (
	sinceHDF5   = map[string]string{"hdf5": "2.0.0"}
	sinceBlosc2 = map[string]string{"c-blosc2": "3.0.0"}
)

// smallFloat returns a floating-point type with an implied leading bit.
func smallFloat(size int, order h5.Order, exponent, mantissa uint8, bias uint64) h5.Datatype {
	bits := 8 * size
	return h5.Datatype{
		Class: h5.Float, Size: size, Order: order, Precision: bits,
		Layout: h5.FloatLayout{SignPos: bits - 1, ExpPos: int(mantissa), ExpSize: int(exponent), MantSize: int(mantissa), ExpBias: bias, Norm: h5.NormImplied},
	}
}

// complexOf returns the complex type of HDF5 2 with the given parts.
func complexOf(part h5.Datatype) h5.Datatype {
	return h5.Datatype{Class: h5.Complex, Size: 2 * part.Size, Order: part.Order, Base: &part}
}

// hdf5Current adds files in the format of HDF5 2: datatype messages of version 5, data layout
// messages of version 5, and the new types.
func (e *emitter) hdf5Current() error {
	const format = "v200"
	types := map[string]h5.Datatype{
		"int32-le": h5.Int(4, h5.LittleEndian), "float64-be": h5.IEEEFloat(8, h5.BigEndian),
		"float8-e4m3": smallFloat(1, h5.LittleEndian, 4, 3, 7), "float8-e5m2": smallFloat(1, h5.LittleEndian, 5, 2, 15),
		"bfloat16-le": smallFloat(2, h5.LittleEndian, 8, 7, 127), "bfloat16-be": smallFloat(2, h5.BigEndian, 8, 7, 127),
	}
	for _, size := range []int{4, 8} {
		for _, order := range []h5.Order{h5.LittleEndian, h5.BigEndian} {
			end := map[h5.Order]string{h5.LittleEndian: "le", h5.BigEndian: "be"}[order]
			types[fmt.Sprintf("complex%d-%s", 16*size, end)] = complexOf(h5.IEEEFloat(size, order))
		}
	}
	names := make([]string, 0, len(types))
	for name := range types {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, layout := range []string{"contiguous", "one chunk", "fixed", "extensible", "two unlimited"} {
			if layout != "contiguous" && layout != "one chunk" && !strings.HasPrefix(name, "int32") && !strings.HasPrefix(name, "complex128-le") {
				continue
			}
			dt := types[name]
			space := h5.SimpleSpace(6, 5)
			o := &h5.DatasetOptions{}
			if layout != "contiguous" {
				o.ChunkShape, o.Filters = []int64{4, 3}, []h5.Filter{h5.Shuffle(), h5.Deflate(6)}
			}
			switch layout {
			case "one chunk":
				o.ChunkShape = space.Dims
			case "extensible":
				space.MaxDims = []int64{h5.Unlimited, 5}
			case "two unlimited":
				space.MaxDims = []int64{h5.Unlimited, h5.Unlimited}
			}
			want := plainBytes(dt, int(space.NumElems()))
			c := Case{
				ID: "hdf5/current/" + name + "-" + dashed(layout), Object: "/d", Since: sinceHDF5, Params: map[string]string{"format": format, "type": name, "layout": layout},
				Section: "HDF5 File Format Specification 4.0: IV.A.2.d Datatype, IV.A.2.i Data Layout",
			}
			err := e.hdf5File(c, h5.LatestFormat, nil, want, func(f *h5.File) error {
				d, err := f.Root().CreateDataset("d", dt, space, o)
				if err != nil {
					return err
				}
				return errors.Join(d.WriteRegion(want, dt, space.All()), d.Close())
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// arraysCurrent adds arrays of 9 to 16 dimensions, which C-Blosc2 3 reads and writes.
func (e *emitter) arraysCurrent() error {
	for rank := 9; rank <= 16; rank++ {
		for i, shape := range []string{"whole", "prime", "zero"} {
			v := map[string]string{
				"rank": fmt.Sprint(rank), "shape": shape, "storage": []string{"contiguous", "sparse"}[(i+rank)%2], "block": []string{"chunk", "whole", "chunk"}[i],
				"dtype": []string{"<i2", "<f8", "|S5"}[(i+rank)%3], "filter": []string{"shuffle", "bitshuffle", "none"}[i], "codec": []string{"lz4", "blosclz", "zstd"}[i], "data": "ramp",
			}
			if err := e.array("b2nd", v, 100*rank+i); err != nil {
				return err
			}
			e.m.Cases[len(e.m.Cases)-1].Since = sinceBlosc2
		}
	}
	return nil
}
