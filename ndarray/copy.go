// Copy copies all elements from one array to another, in parallel and in bounded memory.

package ndarray

import (
	"bytes"
	"context"
	"fmt"
	"slices"
)

// CopyOptions are the options of Copy. nil means the zero value.
type CopyOptions struct {
	Workers  int            // goroutines; 0 means GOMAXPROCS
	Memory   int64          // bytes of buffers, all workers together; 0 means 128 MiB
	Progress func(Progress) // called after each unit, never concurrently; must return soon
	TempDir  string         // for a copy in two stages; "" means os.TempDir()
	Decode   bool           // decode and encode every chunk, also if it could be copied without recompression
}

// CopyStats are the statistics of a Copy.
type CopyStats struct {
	Bytes      int64 // bytes of elements copied, in memory
	Units      int64 // pieces they were copied in
	Workers    int   // goroutines that copied; fewer than requested if there was not enough work or memory
	PeakBuffer int64 // bytes of all buffers of Copy together
	Passed     int64 // units copied without recompression; units that neither array stores are skipped
	Stages     int   // 2 if the elements went through a temporary file, else 1; 0 if there are none
}

// Copy writes all elements of src to dst, which must have the same shape and element type. The byte
// order in storage may differ. Attributes and fill value are not copied; the Spec of a new array
// contains them.
//
// If both arrays have the same chunk shape, element type and compression, and their backends
// support it, chunks are copied without recompression. The level and the codec version of the
// source then stay. If both arrays have the same fill value, chunks that src does not store are not
// stored in dst.
//
// Otherwise the work is divided into units of whole chunks of dst. Units grow to cover whole chunks
// of src as far as memory allows, so that no chunk is encoded or decoded twice. If each chunk of
// src would still be decoded many times, the elements first go, decoded, to a temporary file in
// chunks that suit both sides. That file takes at most NBytes of disk; zeros take no space. Memory
// bounds the buffers of Copy. In addition, each running call of a backend needs the memory of one
// chunk.
//
// The output is deterministic: it does not depend on the number of workers or on scheduling. If a
// backend can order its writes, chunks are written to the file in row-major order of the grid.
// Chunks that are ready too early wait in memory (an eighth of Memory, at most 32 MiB), and
// otherwise in a temporary file. A backend that cannot order writes is written by one worker.
//
// A chunk of dst larger than Memory is written in parts, by one worker. Elements of variable size
// count as 64 bytes each, whatever their length.
//
// The context is checked between units. Copy returns when all its goroutines have ended. After an
// error dst is partly written. The temporary file is deleted in all cases.
//
// It returns ErrShape or ErrType with both sides, ErrParam, the context's error, or an error of a
// read or write.
func Copy(ctx context.Context, dst, src *Array, o *CopyOptions) (CopyStats, error) {
	if o == nil {
		o = &CopyOptions{}
	}
	if !slices.Equal(dst.m().Shape, src.m().Shape) || dst.m().Null != src.m().Null {
		return CopyStats{}, dst.wrap("copy to", fmt.Errorf("%w: %s, source %s is %s",
			ErrShape, shapeText(*dst.m()), src.m().Path, shapeText(*src.m())))
	}
	if !dst.m().DType.EqualValues(src.m().DType) {
		return CopyStats{}, dst.wrap("copy to", fmt.Errorf("%w: %v, source %s is %v",
			ErrType, dst.m().DType, src.m().Path, src.m().DType))
	}
	stats, err := copyAll(ctx, dst, src, o)
	if err != nil {
		return CopyStats{}, dst.wrap("copy to", err)
	}
	return stats, nil
}

func copyAll(ctx context.Context, dst, src *Array, options *CopyOptions) (_ CopyStats, err error) {
	if !dst.m().ReadOnly {
		if _, err := dst.lossy(); err != nil {
			return CopyStats{}, err
		}
	}
	way, err := passingOf(ctx, dst, src, options)
	if err != nil {
		return CopyStats{}, err
	}
	same, err := sameAlready(ctx, dst, src)
	if err != nil {
		return CopyStats{}, err
	}
	in, err := inOrder(ctx, dst, options.Workers, options.Memory, options.TempDir)
	if err != nil {
		return CopyStats{}, err
	}
	defer in.end(&err)
	own := *options
	o := &own
	o.Workers, o.Memory = in.workers, in.memory
	if way != nil {
		return copyChunks(ctx, dst, src, way, in, o)
	}
	p, err := newPlan(*dst.m(), *src.m(), o.Workers, o.Memory, 1)
	if err != nil {
		return CopyStats{}, err
	}
	if p.uniform = same; same != nil && dst.m().Format != "hdf5" {
		// The first unit is written in any case, so that the index of a frame does not depend on
		// how the source stores the same elements.
		p.uniform = func(r Region) bool {
			return slices.ContainsFunc(r.Start, func(n int64) bool { return n > 0 }) && same(r)
		}
	}
	if whole := Whole(src.m().Shape); p.decodes > tooOften && !(same != nil && same(whole)) && dst.m().DType.Size != 0 {
		read, err := readPlan(*src.m(), o)
		if err != nil {
			return CopyStats{}, err
		}
		if p.decodes > tooOften*read.decodes {
			return copyTwice(ctx, dst, src, read, in, o)
		}
	}
	if err := in.shape(&p); err != nil {
		return CopyStats{}, err
	}
	p.once = func(_ context.Context, r Region) error { return in.skip(r) }
	return copyUnits(ctx, dst, src, p, o.Progress)
}

// sameAlready returns a function that reports, almost without reading, whether all elements of a
// region are already the same in dst and src: those of a new array are its fill value, and chunks
// of the source that are not stored have a fill value too. It is nil unless all elements of dst are
// known to be equal. It must be called before dst is written.
func sameAlready(ctx context.Context, dst, src *Array) (func(r Region) bool, error) {
	size := dst.m().DType.Size
	if size == 0 || src.m().NumElems() == 0 || dst.m().ReadOnly || !dst.m().DType.Equal(src.m().DType) {
		return nil, nil
	}
	from, err := src.Uniform(ctx)
	if err != nil || from == nil {
		return nil, err
	}
	to, err := dst.Uniform(ctx)
	if err != nil || to == nil || !to(Whole(dst.m().Shape)) {
		return nil, err
	}
	all := make([]byte, size)
	if err := dst.ReadRegion(ctx, all, Whole(dst.m().Shape).first(), 1); err != nil {
		return nil, ctx.Err() // libhdf5 does not read a new dataset without a fill value
	}
	return func(r Region) bool {
		one := make([]byte, size)
		return from(r) && src.ReadRegion(ctx, one, r.first(), 1) == nil && bytes.Equal(one, all)
	}, nil
}

// passingOf returns the passing for copying chunks without recompression, or nil if there is none.
func passingOf(ctx context.Context, dst, src *Array, o *CopyOptions) (*passing, error) {
	_, memory, err := limits(o.Workers, o.Memory)
	if err != nil || o.Decode {
		return nil, err
	}
	return newPassing(ctx, dst, src, memory)
}

// copyUnits copies the units of p as decoded elements.
func copyUnits(ctx context.Context, dst, src *Array, p plan, progress func(Progress)) (CopyStats, error) {
	buffers := 1
	if dst.m().DType.Size == 0 {
		buffers = 0
	}
	p.sources = []*Array{src}
	err := p.run(ctx, buffers, progress, func(ctx context.Context, _ int64, r Region, b [][]byte) error {
		if buffers == 0 {
			return copyStrings(ctx, dst, src, r)
		}
		if err := src.ReadRegion(ctx, b[0], r, p.each); err != nil {
			return err
		}
		return dst.write(ctx, b[0], r, p.each)
	})
	return CopyStats{
		Bytes: p.total, Units: p.count, Workers: p.workers, PeakBuffer: int64(p.workers) * p.unit, Stages: int(min(p.count, 1)),
	}, err
}

func copyStrings(ctx context.Context, dst, src *Array, r Region) error {
	strs := make([]string, r.NumElems())
	if err := src.ReadStrings(ctx, strs, r); err != nil {
		return err
	}
	return dst.WriteStrings(ctx, strs, r)
}

func shapeText(m Meta) string {
	if m.Null {
		return "null"
	}
	return fmt.Sprint(m.Shape)
}
