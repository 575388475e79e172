package shell

import (
	"github.com/hyperslab/hyperslab/internal/elements/encode"
	"github.com/hyperslab/hyperslab/ndarray"
)

// AllBytes returns the bytes of all elements. Elements of variable size count with textBytes each.
func AllBytes(arr *ndarray.Array) int64 {
	if arr.DType().Size == 0 {
		return arr.NumElems() * TextBytes
	}
	return arr.NBytes()
}

// TextBytes is the number of bytes that --memory assumes for an element of variable size, as in
// ndarray.Copy.
const TextBytes = encode.TextBytes
