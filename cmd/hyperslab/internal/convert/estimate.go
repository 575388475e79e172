package convert

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/ndarray"
)

// BenchRow is the result for one way of storing the sample.
type BenchRow struct {
	Codec      string          `json:"codec"`
	Level      int             `json:"level"`
	Filters    []string        `json:"filters"`
	Chunks     []shell.JSONInt `json:"chunks"`
	Stored     shell.JSONInt   `json:"stored_bytes"`
	Ratio      shell.JSONFloat `json:"ratio"`
	Compress   shell.JSONFloat `json:"compress_mb_per_s"`
	Decompress shell.JSONFloat `json:"decompress_mb_per_s"`
}

// Shuffle returns the value of --shuffle for the filters.
func (r *BenchRow) Shuffle() string {
	switch {
	case slices.Contains(r.Filters, "shuffle"):
		return "byte"
	case slices.Contains(r.Filters, "bitshuffle"), strings.HasPrefix(r.Codec, "bitshuffle/"):
		return "bit"
	}
	return "none"
}

// estimate measures a small sample of src and returns the estimated stored bytes and duration of a
// conversion. ok is false if an array cannot be measured.
func (f *forecast) estimate(ctx context.Context, src *ndarray.Array, spec ndarray.Spec,
	format hyperslab.Format) (stored int64, took time.Duration, ok bool, err error) {
	m := src.Meta()
	if m.DType.Size == 0 || src.NBytes() == 0 || len(m.Shape) == 0 || m.Path == shell.Stdio ||
		format != hyperslab.B2ND && format != hyperslab.HDF5 {
		return 0, 0, false, nil
	}
	t, err := NewTrial(ctx, src, TrialOptions{Format: format, Bytes: estimateBytes, Jobs: f.jobs, Memory: f.memory})
	if err != nil {
		return 0, 0, false, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	way := t.Spec
	way.Compression = spec.Compression
	way.ChunkShape = slices.Clone(spec.ChunkShape)
	for axis := range way.ChunkShape {
		way.ChunkShape[axis] = min(way.ChunkShape[axis], max(way.Shape[axis], 1))
	}
	r, err := t.Run(ctx, way, 0)
	if err != nil {
		return 0, 0, false, err
	}
	whole := float64(src.NBytes())
	stored = int64(whole / float64(len(t.Data)) * float64(r.Stored))
	took = time.Duration(whole / float64(r.Compress) * float64(time.Microsecond))
	return stored, took, true, nil
}

// estimateBytes is the size of the sample of an estimate.
const estimateBytes = 8 << 20
