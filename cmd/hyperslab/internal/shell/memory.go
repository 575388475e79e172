// The limit of --memory: a job does not begin if a single chunk needs more, and the number of
// workers is limited to those whose chunks fit.

package shell

import (
	"cmp"
	"math"
	"runtime"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// ChunkCopies is the maximum number of copies of a chunk in memory while a worker reads or writes
// it: stored, decoded, in the two buffers of the copy, and encoded.
const ChunkCopies = 6

// Fit lowers the number of workers so that their chunks fit into memory bytes. If one chunk does
// not fit, fit returns an error with a sufficient value, unless --memory was not given. In that
// case the chunk gets more memory. The array need not exist yet.
func (j *JobFlags) Fit(memory int64, address string, m ndarray.Meta) error {
	if m.ChunkShape == nil {
		return nil
	}
	size := int64(m.DType.Size)
	if m.DType.Size == 0 {
		size = TextBytes
	}
	elements, ok := grid.Product(m.ChunkShape)
	need, enough := grid.Product([]int64{elements, size, ChunkCopies})
	if !ok || !enough {
		need = math.MaxInt64
	}
	if need > memory && j.Given {
		const mebi = 1 << 20
		return Usagef("%s: a chunk of %s takes %s, and --memory %s is too small to read or write one; give at least --memory %dMiB, or "+
			"leave it out",
			address, term.FormatShape(m.ChunkShape), term.FormatBytes(need/ChunkCopies), j.Memory, grid.DivUp(need, mebi))
	}
	most := max(memory/max(need, 1), 1)
	if jobs := int64(j.Jobs); jobs == 0 && int64(runtime.GOMAXPROCS(0)) > most || jobs > most {
		j.Jobs = int(most)
	}
	return nil
}

// FitBoth is Fit for an array and for the array that spec describes and that is written from it,
// with the limit of --memory.
func (j *JobFlags) FitBoth(source string, m ndarray.Meta, target string, spec ndarray.Spec) error {
	return cmp.Or(j.Fit(j.Limit, source, m), j.Fit(j.Limit, target, SpecMeta(spec)))
}

// Whole returns the metadata of the stored array that contains the part.
func (p *Part) Whole() ndarray.Meta { return p.Stored().Meta() }

// Stored returns the stored array that contains the part.
func (p *Part) Stored() *ndarray.Array {
	if p.Source != nil {
		return p.Source
	}
	if len(p.views) > 0 {
		return p.views[0]
	}
	return p.Array
}

// SpecMeta returns the metadata that fit needs of an array that is to be created.
func SpecMeta(s ndarray.Spec) ndarray.Meta {
	return ndarray.Meta{ChunkShape: s.ChunkShape, DType: s.DType}
}
