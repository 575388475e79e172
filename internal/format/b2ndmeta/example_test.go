// Examples for go doc.

package b2ndmeta_test

import (
	"fmt"

	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
)

// This example encodes and parses the metalayer of a matrix.
func ExampleMeta_Append() {
	m := b2ndmeta.Meta{Shape: []int64{1000, 300}, Chunks: []int32{100, 300}, Blocks: []int32{10, 300}, DType: "<f8"}
	if err := m.Check(); err != nil {
		fmt.Println(err)
		return
	}
	b := m.Append(nil)
	fmt.Printf("%d bytes: % x …\n", len(b), b[:12])

	again, err := b2ndmeta.Parse(b2ndmeta.Name, b)
	fmt.Println(again, err)
	// Output:
	// 53 bytes: 97 00 02 92 d3 00 00 00 00 00 00 03 …
	// shape [1000 300], chunks [100 300], blocks [10 300], dtype "<f8" <nil>
}

// This example rejects a chunk shape of 0, because C-Blosc2 would divide by it.
func ExampleMeta_Check() {
	m := b2ndmeta.Meta{Shape: []int64{10}, Chunks: []int32{0}, Blocks: []int32{0}, DType: "<f8"}
	fmt.Println(m.Check())
	// Output:
	// b2nd metalayer: chunkshape 0 at byte 14: got 0, want at least 1: corrupt
}
