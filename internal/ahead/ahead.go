// Reader, and its form for a part of a file.

package ahead

import (
	"context"
	"io"
)

// Reader is an io.ReaderAt that fetches ranges before they are read, for example *remote.Object.
// Each range is an offset and a length in bytes. The caller calls stop after the reads.
type Reader interface {
	io.ReaderAt
	Prefetch(ctx context.Context, ranges [][2]int64) (stop func())
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

// section is a part of a Reader.
type section struct {
	*io.SectionReader
	outer     Reader
	off, size int64
}

// Prefetch moves the ranges to their place in the outer reader.
func (s *section) Prefetch(ctx context.Context, ranges [][2]int64) (stop func()) {
	moved := make([][2]int64, 0, len(ranges))
	for _, r := range ranges {
		if r[0] >= 0 && r[0] < s.size {
			moved = append(moved, [2]int64{s.off + r[0], min(r[1], s.size-r[0])})
		}
	}
	return s.outer.Prefetch(ctx, moved)
}
