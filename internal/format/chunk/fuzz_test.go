// Fuzz tests: any input must be handled without a panic and with bounded work, and the three views
// must agree.

package chunk_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

func FuzzChunk(f *testing.F) {
	for _, b := range golden(f) {
		f.Add(b)
	}
	f.Add([]byte{})
	f.Add(vlChunk([]int{1, 0}, "ab", "c"))
	f.Fuzz(func(t *testing.T, b []byte) {
		tree := chunk.Describe(b)
		err := chunk.Check(b)
		if found := complaints(tree); (err != nil) != (len(found) > 0) {
			t.Fatalf("Check: %v; Describe: %q", err, found)
		}
		fields := 0
		for _, c := range tree.Walk() {
			fields++
			if c.Offset < 0 || c.Length < 0 || c.Offset+c.Length > int64(max(len(b), chunk.ExtendedHeaderSize)) {
				t.Fatalf("field %s at %d, %d bytes, of %d", c.Name, c.Offset, c.Length, len(b))
			}
		}
		if fields > 64+2*len(b) {
			t.Fatalf("%d fields for %d bytes", fields, len(b))
		}
		c, err := chunk.Parse(b)
		if err != nil {
			var e *format.Error
			require.ErrorAs(t, err, &e)
			return
		}
		streams := 0
		for _, b := range c.Blocks {
			streams += len(b.Streams)
		}
		if streams > len(b) {
			t.Fatalf("%d streams in %d bytes", streams, len(b))
		}
		if c.NBytes <= 1<<20 {
			if err := c.Decode(make([]byte, c.NBytes)); err != nil {
				var e *format.Error
				require.ErrorAs(t, err, &e)
			}
		}
	})
}
