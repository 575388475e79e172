package numberview

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

// The shortest digits of 0.1 are the same in float64 and float32.
func TestConversion_misfit(t *testing.T) {
	element := binary.NativeEndian.AppendUint64(nil, math.Float64bits(0.1))
	c := &Conversion{To: ndarray.DTypeOf[float32]()}
	require.EqualError(t, c.misfit(ndarray.DTypeOf[float64](), element),
		"value does not fit: got 0.1, want a value of <f4, whose nearest value is 0.10000000149011612")
}
