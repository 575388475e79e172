// What --memory promises: a job of which a single chunk would take more does not begin,
// and there are no more workers than it has room for.

package cli

import (
	"math"
	"runtime"

	"github.com/hyperslab/hyperslab/internal/ceil"
	"github.com/hyperslab/hyperslab/ndarray"
)

// chunkCopies is how often a chunk is in memory at worst while a worker reads it, or
// writes it: as it is stored, decoded, in the two buffers of the copy, and as it is
// encoded.
const chunkCopies = 6

// fit lowers the number of workers to those for whose chunks memory bytes are enough. If
// they are not for one, it is an error that names what would do; unless --memory was not
// given: then it gives way. The array need not be there yet.
func (j *jobFlags) fit(memory int64, address string, m ndarray.Meta) error {
	if m.ChunkShape == nil {
		return nil
	}
	size := int64(m.DType.Size)
	if m.DType.Kind == ndarray.String {
		size = textBytes
	}
	elements, ok := ndarray.Product(m.ChunkShape)
	need, enough := ndarray.Product([]int64{elements, size, chunkCopies})
	if !ok || !enough {
		need = math.MaxInt64
	}
	if need > memory && j.given {
		const mebi = 1 << 20
		return usagef("%s: a chunk of %s takes %s, and --memory %s has no room to read or write one; give at least --memory %dMiB, or leave it out",
			address, shapeText(m.ChunkShape), iecBytes(need/chunkCopies), j.memory, ceil.Div(need, mebi))
	}
	most := max(memory/max(need, 1), 1)
	if jobs := int64(j.jobs); jobs == 0 && int64(runtime.GOMAXPROCS(0)) > most || jobs > most {
		j.jobs = int(most)
	}
	return nil
}

// whole is what the elements of a part are stored in.
func (p *part) whole() ndarray.Meta { return p.stored().Meta() }

// stored is the array of which an array or a part of one is stored.
func (p *part) stored() *ndarray.Array {
	if p.source != nil {
		return p.source
	}
	return p.Array
}

// specMeta is what fit looks at, of an array that is to be made.
func specMeta(s ndarray.Spec) ndarray.Meta {
	return ndarray.Meta{ChunkShape: s.ChunkShape, DType: s.DType}
}
