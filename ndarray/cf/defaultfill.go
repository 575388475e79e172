// Default fill values of netCDF.

package cf

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"github.com/hyperslab/hyperslab/internal/elements/numbers"
	"github.com/hyperslab/hyperslab/ndarray"
)

// file is a tree with what variables of the same tree need to know about it.
type file struct {
	Tree
	mu     sync.Mutex
	asked  bool
	netCDF bool
}

// propertiesAttr is the attribute of the root group of the netCDF-4 files of libnetcdf.
const propertiesAttr = "_NCProperties"

// isNetCDF reports whether libnetcdf wrote the file. A tree without a readable root group is no
// netCDF file.
func (f *file) isNetCDF(ctx context.Context) (bool, error) {
	if f == nil {
		return false, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asked {
		return f.netCDF, nil
	}
	attrs, err := f.GroupAttrs(ctx, "/")
	if err != nil && ctx.Err() != nil {
		return false, ctx.Err()
	}
	_, f.netCDF = attrs.Get(propertiesAttr)
	f.asked = true
	return f.netCDF, nil
}

// defaultFill returns the fill value that libnetcdf gives a variable without one, or false for a
// type that netCDF does not have.
func defaultFill(d ndarray.DType) (numbers.Number, bool) {
	signed := []int64{-127, -32767, 0, -2147483647, 0, 0, 0, -9223372036854775806}
	unsigned := []uint64{255, 65535, 0, 4294967295, 0, 0, 0, 18446744073709551614}
	switch {
	case d.Kind == ndarray.Int:
		return numbers.OfInt(signed[d.Size-1]), true
	case d.Kind == ndarray.Uint:
		return numbers.OfUint(unsigned[d.Size-1]), true
	case d.Kind == ndarray.Float && d.Size == 4, d.Kind == ndarray.Float && d.Size == 8:
		return numbers.OfFloat(math.Float64frombits(0x479e000000000000)), true // 9.9692099683868690e+36
	}
	return numbers.Number{}, false
}

// setDefaultFill adds the default fill value of netCDF to the missing values of a variable without
// _FillValue (NUG, appendix A; section 2.5.1), as netCDF4-python does. Elements of 1 byte need a
// fill value.
func (v *Variable) setDefaultFill(ctx context.Context, meta ndarray.Meta) error {
	p := v.packing
	n, ok := defaultFill(p.stored())
	if _, given := v.Attrs.Get("_FillValue"); given || !ok || p.unsigned { // netCDF4-python compares unsigned elements with the signed number
		return nil
	}
	word, _ := p.word(n)
	if !p.isFill(meta.Fill, word) {
		if p.element.Size == 1 && meta.Fill == nil {
			return nil
		}
		if netCDF, err := v.tree.isNetCDF(ctx); err != nil || !netCDF {
			return err
		}
	}
	if !slices.Contains(p.missing, word) {
		p.missing = append(p.missing, word)
		p.words = append(p.words, numberText(n, p.element.Kind)+" is missing (default fill value of netCDF)")
	}
	return nil
}

// isFill reports whether the fill value of an array is an element.
func (p *packing) isFill(fill []byte, word uint64) bool {
	if len(fill) != p.element.Size {
		return false
	}
	wide := make([]byte, 8)
	if err := ndarray.Convert(wide, p.wide(), fill, p.element, true); err != nil {
		return false
	}
	return binary.NativeEndian.Uint64(wide) == word
}
