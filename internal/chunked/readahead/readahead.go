// Reader, its form for a part of a file, and the regions and ranges of reads.

package readahead

import (
	"context"
	"io"
	"iter"
	"slices"
)

// Ranges yields offsets and lengths in bytes.
type Ranges = iter.Seq2[int64, int64]

// Regions yields the start and the shape of regions in the order in which they will be read. The
// yielded slices are valid until the next pair.
type Regions = iter.Seq2[[]int64, []int64]

// Bounds returns the first element of the bounding box of regions, and the element after its last
// one. It returns nil if there are no regions, or if their ranks differ.
func Bounds(regions Regions) (start, end []int64) {
	for at, shape := range regions {
		if start == nil {
			start, end = slices.Clone(at), slices.Clone(at)
		}
		if len(at) != len(start) {
			return nil, nil
		}
		for i := range at {
			start[i], end[i] = min(start[i], at[i]), max(end[i], at[i]+shape[i])
		}
	}
	return start, end
}

// Reader is an io.ReaderAt that fetches ranges before they are read, for example *remote.Object.
// The caller calls stop after the reads.
type Reader interface {
	io.ReaderAt
	Prefetch(ctx context.Context, ranges iter.Seq2[int64, int64]) (stop func())
}

// Indexed is implemented by Readers that can have an index of the metadata of a file.
type Indexed interface {
	Reader
	// Indexed reports whether an index contains the metadata, so that reads of it need no request.
	Indexed() bool
}

// List yields the ranges of a list.
func List(ranges [][2]int64) Ranges {
	return func(yield func(off, n int64) bool) {
		for _, r := range ranges {
			if !yield(r[0], r[1]) {
				return
			}
		}
	}
}

// Of returns r as a Reader, or nil if it cannot fetch ranges before they are read.
func Of(r io.ReaderAt) Reader {
	switch r := r.(type) {
	case Reader:
		return r
	case *io.SectionReader:
		outer, off, size := r.Outer()
		if x := Of(outer); x != nil {
			return &section{r, x, off, size}
		}
	}
	return nil
}

// SmallFile is the maximum size in bytes of a file that is read as a whole.
const SmallFile = 8 << 20

// section is a part of a Reader.
type section struct {
	*io.SectionReader
	outer     Reader
	off, size int64
}

// Prefetch moves the ranges to their place in the outer reader.
func (s *section) Prefetch(ctx context.Context, ranges iter.Seq2[int64, int64]) (stop func()) {
	return s.outer.Prefetch(ctx, func(yield func(off, n int64) bool) {
		for off, n := range ranges {
			if off >= 0 && off < s.size && !yield(s.off+off, min(n, s.size-off)) {
				return
			}
		}
	})
}
