// Filters that can change values.

package hdf5

import (
	"fmt"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
)

// scaleOffsetInt is the scale type of the filter scale-offset for integers (H5Z_SO_INT).
const scaleOffsetInt = 2

// lossyFilter returns the name of the first filter that can store other values than it is given, or
// "". size is the size of an element in bytes.
//
// Scale-offset is lossless for integers if libhdf5 chooses the number of bits, because it then
// stores the differences to the minimum in as many bits as the largest one needs. With a fixed
// number it drops the higher bits of the differences. N-bit stores all bits of the datatype. A
// filter that is not linked and optional is skipped. Other filters of plugins and of
// h5.RegisterFilter are not known to keep values.
func lossyFilter(filters []h5.Filter, size int) string {
	for _, f := range filters {
		if filter.Known(f.ID) || f.ID == h5.FilterNbit {
			continue
		}
		if f.ID == h5.FilterScaleOffset {
			if name := lossyScaleOffset(f.Values, size); name != "" {
				return name
			}
			continue
		}
		if can, err := h5.FilterAvailable(f.ID); err != nil || can.Encode {
			return filterName(f)
		}
	}
	return ""
}

func lossyScaleOffset(values []uint32, size int) string {
	name := preparers[h5.FilterScaleOffset]
	if len(values) < 2 {
		return name
	}
	if bits := values[1]; values[0] != scaleOffsetInt {
		return name + " of floats"
	} else if bits > 0 && int64(bits) < 8*int64(size) {
		return fmt.Sprintf("%s(%d bits)", name, bits)
	}
	return ""
}

func filterName(f h5.Filter) string {
	if name := codecs[f.ID]; name != "" {
		return name
	}
	if f.Name != "" {
		return fmt.Sprintf("%d (%s)", f.ID, f.Name)
	}
	return fmt.Sprint(f.ID)
}

// setLossy opens a dataset for writing again without a chunk cache if it has a lossy filter, so
// that reads return the elements as the filter stored them.
func (b *backend) setLossy(parent *h5.Group, name string, allow bool) error {
	b.allowLossy = allow
	if filter, _ := b.Lossy(); filter == "" || !allow {
		return nil
	}
	if err := b.dataset.Close(); err != nil {
		return err
	}
	d, err := parent.OpenDatasetWith(name, &h5.DatasetAccess{ChunkCache: &h5.ChunkCache{}})
	if err == nil {
		b.dataset = d
	}
	return err
}

// Lossy implements ndarray.LossyWriter.
func (b *backend) Lossy() (filter string, allowed bool) {
	return lossyFilter(b.filters, b.stored.Size), b.allowLossy
}

// Rewrites reports whether a smaller shape ends inside chunks, whose other elements libhdf5
// replaces by the fill value. A larger shape changes no chunk.
func (b *backend) Rewrites(shape []int64) bool {
	for i, c := range b.meta.ChunkShape {
		if shape[i] < b.meta.Shape[i] && shape[i]%c != 0 {
			return true
		}
	}
	return false
}
