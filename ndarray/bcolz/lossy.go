// Quantized arrays, whose writes change values.

package bcolz

import (
	"fmt"

	"github.com/hyperslab/hyperslab/ndarray"
)

// Lossy implements ndarray.LossyWriter. CreateOptions.Quantize of a new array is not refused.
func (b *backend) Lossy() (filter string, allowed bool) {
	digits := b.tree.Storage.CParams.Quantize
	if digits == 0 || b.meta.DType.Kind != ndarray.Float || b.fresh != nil || b.skeleton {
		return "", true
	}
	return fmt.Sprintf("quantize(%d digits)", digits), b.allowLossy
}

// Rewrites returns false: quantization does not change elements that it has rounded before.
func (b *backend) Rewrites([]int64) bool { return false }

// Lossy implements ndarray.LossyWriter for the columns.
func (r *records) Lossy() (filter string, allowed bool) {
	for _, c := range r.columns {
		if filter, allowed = c.Lossy(); filter != "" {
			return filter, allowed
		}
	}
	return "", true
}

// Rewrites returns false, like Rewrites of backend.
func (r *records) Rewrites([]int64) bool { return false }
