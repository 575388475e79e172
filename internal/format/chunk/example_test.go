// Examples for go doc.

package chunk_test

import (
	"fmt"
	"log"
	"os"

	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// This example prints the description of each stream of a chunk.
func ExampleDescribe() {
	b, err := os.ReadFile("../testdata/chunk/byte-run.bin")
	if err != nil {
		log.Fatal(err)
	}
	for path, f := range chunk.Describe(b).Walk() {
		if f.Offset >= 36 && f.Fields == nil {
			fmt.Println(f.Offset, f.Length, path, "=", f.Value, f.Meaning)
		}
	}
	// Output:
	// 36 5 chunk/blocks/block 0/stream 0 = 1000 bytes in 1 a run of byte 0x09
	// 41 4 chunk/blocks/block 0/stream 1 = 1000 bytes in 0 run of zeros
	// 45 4 chunk/blocks/block 0/stream 2 = 1000 bytes in 0 run of zeros
	// 49 4 chunk/blocks/block 0/stream 3 = 1000 bytes in 0 run of zeros
}

// This example rejects a header whose codec needs a plug-in, before C-Blosc2 reads it.
func ExampleHeader_Check() {
	b, err := os.ReadFile("../testdata/chunk/zstd.bin")
	if err != nil {
		log.Fatal(err)
	}
	b[0x02] = b[0x02]&0x1F | byte(chunk.FormatUser)<<5
	b[0x16] = byte(chunk.Grok)

	h, err := chunk.ParseHeader(b)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(h.Check())
	// Output:
	// blosc chunk: udcodec at byte 22: got grok (37), want an available codec: one without plug-in that checks its input, or one that is allowed: unsupported operation
}
