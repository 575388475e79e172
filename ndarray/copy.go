// Copy: all elements from one array to another, in parallel and in bounded
// memory.

package ndarray

import (
	"context"
	"fmt"
	"slices"
)

// CopyOptions say how Copy works; nil means the zero value.
type CopyOptions struct {
	Workers  int            // goroutines; 0 means GOMAXPROCS
	Memory   int64          // bytes of buffers, all workers together; 0 means DefaultMemory
	Progress func(Progress) // called after each unit, never twice at once; must return soon
}

// CopyStats say what Copy did.
type CopyStats struct {
	Bytes      int64 // bytes of elements copied, in memory
	Units      int64 // pieces they were copied in
	Workers    int   // goroutines that copied; fewer than asked for if there was no work or memory for more
	PeakBuffer int64 // bytes of all buffers of Copy together
}

// Copy writes all elements of src to dst, which must have the same shape and
// element type; the byte order in storage may differ. Attributes and fill value
// are not copied: a Spec gives them to a new array.
//
// The work is cut into units of whole chunks of dst, grown to cover whole chunks
// of src as far as memory allows, so that neither is worked on twice. Memory
// bounds the buffers of Copy; for each call that runs a backend needs as much as
// it takes to hold a chunk besides. A chunk of dst larger than Memory is written
// in parts, by one worker.
//
// The context is checked between units. Copy returns when all its goroutines
// have ended. After an error dst is written in part.
//
// It returns ErrShape or ErrType with both sides, ErrParam, the context's error,
// or what reading or writing returns.
func Copy(ctx context.Context, dst, src *Array, o *CopyOptions) (CopyStats, error) {
	if o == nil {
		o = &CopyOptions{}
	}
	if !slices.Equal(dst.meta.Shape, src.meta.Shape) || dst.meta.Null != src.meta.Null {
		return CopyStats{}, dst.wrap("copy to", fmt.Errorf("%w: %s, source %s is %s",
			ErrShape, shapeText(dst.meta), src.meta.Path, shapeText(src.meta)))
	}
	if !dst.meta.DType.EqualValues(src.meta.DType) {
		return CopyStats{}, dst.wrap("copy to", fmt.Errorf("%w: %v, source %s is %v",
			ErrType, dst.meta.DType, src.meta.Path, src.meta.DType))
	}
	p, err := newPlan(dst.meta, src.meta, o.Workers, o.Memory, 1)
	if err != nil {
		return CopyStats{}, dst.wrap("copy to", err)
	}
	err = p.run(ctx, 1, o.Progress, func(ctx context.Context, r Region, b [][]byte) error {
		if err := src.Read(ctx, b[0], r); err != nil {
			return err
		}
		return dst.Write(ctx, b[0], r)
	})
	if err != nil {
		return CopyStats{}, dst.wrap("copy to", err)
	}
	return CopyStats{
		Bytes: p.total, Units: p.count, Workers: p.workers, PeakBuffer: int64(p.workers) * p.unit,
	}, nil
}

func shapeText(m Meta) string {
	if m.Null {
		return "null"
	}
	return fmt.Sprint(m.Shape)
}
