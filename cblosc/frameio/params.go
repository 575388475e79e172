// Parameters of a Writer.

package frameio

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// defaultChunkSize is the default of Params.ChunkSize and AppendOptions.ChunkSize. It is rounded
// down to whole elements, but not below one element.
const defaultChunkSize = 1 << 20

// Params are the parameters of a Writer. A nil *Params means Params{}.
type Params struct {
	CParams   *cblosc.CParams    // nil: cblosc.DefaultCParams(); Threads must be 1, or 0 for 1
	ChunkSize int                // bytes of the values of a chunk: a multiple of CParams.TypeSize; 0: 1 MiB, in whole elements
	Meta      []cblosc.Metalayer // fixed metalayers, at most 16
	VLMeta    []cblosc.Metalayer // variable-length metalayers, at most 16, compressed as the library does
	Checksums bool               // a checksum of each chunk, in a variable-length metalayer (Limits.Checksums)
	Sparse    bool               // a directory with one file for each chunk, instead of one file
	Overwrite bool               // Create may replace an existing file or directory
	Workers   int                // maximum number of goroutines that compress; 0: GOMAXPROCS
	Allow     cblosc.Allow       // codecs and filters allowed in WriteChunk in addition to those that are safe on any bytes
}

// validate reports every invalid field. Each error wraps cblosc.ErrParam, cblosc.ErrLimit or
// cblosc.ErrExists.
func (p *Params) validate() error {
	p = p.filled()
	cp := p.CParams
	var errs []error
	bad := func(sentinel error, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: "+format, append([]any{sentinel}, args...)...))
	}
	if err := cp.Validate(); err != nil {
		errs = append(errs, err)
	} else if p.ChunkSize < 1 || p.ChunkSize%cp.TypeSize != 0 {
		bad(cblosc.ErrParam, "ChunkSize = %d, want a positive multiple of the type size %d", p.ChunkSize, cp.TypeSize)
	}
	if p.ChunkSize > chunk.MaxNBytes {
		bad(cblosc.ErrLimit, "ChunkSize = %d, at most %d", p.ChunkSize, chunk.MaxNBytes)
	}
	if cp.Threads > 1 {
		// Compressed bytes would differ from run to run.
		bad(cblosc.ErrParam, "Threads = %d, want 1: chunks are compressed in parallel, blocks are not", cp.Threads)
	}
	if p.Workers < 0 {
		bad(cblosc.ErrParam, "Workers = %d, want ≥ 0", p.Workers)
	}
	if p.Checksums && len(p.VLMeta) == cblosc.MaxVLMetalayers {
		bad(cblosc.ErrLimit, "VLMeta: %d metalayers and that of Checksums, at most %d", len(p.VLMeta), cblosc.MaxVLMetalayers)
	}
	for field, layers := range map[string][]cblosc.Metalayer{"Meta": p.Meta, "VLMeta": p.VLMeta} {
		if len(layers) > cblosc.MaxMetalayers {
			bad(cblosc.ErrLimit, "%s: %d metalayers, at most %d", field, len(layers), cblosc.MaxMetalayers)
		}
		for i, l := range layers {
			switch {
			case l.Name == "" || strings.IndexByte(l.Name, 0) >= 0 || field == "VLMeta" && l.Name == cframe.ChecksumLayer:
				bad(cblosc.ErrParam, "%s[%d]: name %q", field, i, l.Name)
			case len(l.Name) > cblosc.MaxMetalayerName:
				bad(cblosc.ErrLimit, "%s[%d]: a name of %d bytes, at most %d", field, i, len(l.Name), cblosc.MaxMetalayerName)
			case len(l.Content) > chunk.MaxNBytes:
				bad(cblosc.ErrLimit, "%s[%d]: %d bytes, at most %d", field, i, len(l.Content), chunk.MaxNBytes)
			case slices.ContainsFunc(layers[:i], func(o cblosc.Metalayer) bool { return o.Name == l.Name }):
				bad(cblosc.ErrExists, "%s[%d]: metalayer %q", field, i, l.Name)
			}
		}
	}
	return errors.Join(errs...)
}

// filled returns a copy of p with the defaults of CParams and ChunkSize.
func (p *Params) filled() *Params {
	var q Params
	if p != nil {
		q = *p
	}
	q.CParams = q.CParams.WithDefaults()
	if size := q.CParams.TypeSize; q.ChunkSize == 0 && size > 0 {
		q.ChunkSize = max(defaultChunkSize/size, 1) * size
	}
	return &q
}

func (p *Params) workers() int {
	if p.Workers > 0 {
		return p.Workers
	}
	return runtime.GOMAXPROCS(0)
}
