// Sparse targets: workers write the chunk files, and Commit writes the index.

package plan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// mostChunks is the maximum number of chunks of a shard of a sparse target, because a receipt
// contains the size of each chunk.
const mostChunks = 100_000

// chunkFile is a chunk file of a part.
type chunkFile struct {
	chunk int64 // number in the part
	name  string
	size  int64
}

// stored returns the chunk files of a part. The writer numbers them in the order of their chunks.
func stored(chunks []int64) (files []chunkFile) {
	for i, size := range chunks {
		if size > 0 {
			files = append(files, chunkFile{int64(i), cframe.ChunkFile(cframe.Offset(len(files))), size})
		}
	}
	return files
}

// chunksOf returns the chunks of a sparse frame as they are in a receipt.
func chunksOf(path string) (chunks []int64, err error) {
	f, err := frameio.Open(path, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	chunks = make([]int64, f.NumChunks())
	files := f.ChunkFiles()
	for i := range chunks {
		if special := f.Special(int64(i)); special != cblosc.NotSpecial {
			chunks[i] = -int64(special)
		} else if chunks[i], err = f.StoredBytes(int64(i)); err != nil {
			return nil, err
		}
	}
	for _, file := range stored(chunks) {
		if files == nil || files[file.chunk] != file.name {
			return nil, fmt.Errorf("%w: chunk files of %s are not in the order of the chunks", ndarray.ErrCorrupt, path)
		}
	}
	return chunks, nil
}

// place is a chunk of the target.
type place struct {
	number, shard int64
}

// numbers returns the numbers of the chunks of a shard in the target, in row-major order.
func (p *Plan) numbers(shard int64) iter.Seq[int64] {
	last := p.Stages[len(p.Stages)-1]
	box := last.region(p.Source.Shape, shard)
	inside := Stage{Chunks: last.Chunks, Shard: last.Chunks}
	count := int64(1)
	for i, n := range box.Shape {
		count *= grid.DivUp(n, last.Chunks[i])
	}
	return func(yield func(int64) bool) {
		for k := range count {
			at := inside.region(box.Shape, k)
			number := int64(0)
			for i, n := range p.Source.Shape {
				number = number*grid.DivUp(n, last.Chunks[i]) + (box.Start[i]+at.Start[i])/last.Chunks[i]
			}
			if !yield(number) {
				return
			}
		}
	}
}

// placedChunks returns the chunks of the target in row-major order, each with its size or special
// kind in the receipt of its shard.
func (p *Plan) placedChunks(receipts map[int64]*receipt) iter.Seq2[place, int64] {
	last := p.Stages[len(p.Stages)-1]
	return func(yield func(place, int64) bool) {
		next := make([]int, last.Shards) // chunks of a shard are in row-major order too
		single := Stage{Chunks: last.Chunks, Shard: last.Chunks}
		count := int64(1)
		for i, n := range p.Source.Shape {
			count *= grid.DivUp(n, last.Chunks[i])
		}
		for n := range count {
			at := single.region(p.Source.Shape, n)
			shard := int64(0)
			for i, start := range at.Start {
				shard = shard*grid.DivUp(p.Source.Shape[i], last.Shard[i]) + start/last.Shard[i]
			}
			chunks := receipts[shard].Chunks
			size := -int64(cblosc.Zeros)
			if next[shard] < len(chunks) { // checked by receipts
				size = chunks[next[shard]]
			}
			next[shard]++
			if !yield(place{n, shard}, size) {
				return
			}
		}
	}
}

// storedChunks is placedChunks without special chunks.
func (p *Plan) storedChunks(receipts map[int64]*receipt) iter.Seq2[place, int64] {
	return func(yield func(place, int64) bool) {
		for c, size := range p.placedChunks(receipts) {
			if size > 0 && !yield(c, size) {
				return
			}
		}
	}
}

// counted returns ErrReceipt unless the receipt of a sparse target contains all chunks.
func (p *Plan) counted(r *receipt) error {
	want := int64(0)
	for range p.numbers(r.Shard) {
		want++
	}
	if n := int64(len(r.Chunks)); n != want {
		return fmt.Errorf("%w: chunks of shard %d: got %d, want %d", ErrReceipt, r.Shard, n, want)
	}
	return nil
}

// placer is implemented by the backend of a new sparse array.
type placer interface {
	PlaceChunk(ctx context.Context, n, number, size int64, special cblosc.Special) error
	Directory() string
}

// placeChunks writes the index of a sparse target. In a file system it also links the chunk files
// of the parts into the directory of the target, with the numbers that one process would give them.
// In an object store the number of a chunk file is that of its chunk, because the workers have
// stored it before the number of special chunks was known.
func (p *Plan) placeChunks(ctx context.Context, s store, receipts map[int64]*receipt, to ndarray.Backend) error {
	b, ok := ndarray.As[placer](to)
	if !ok {
		return fmt.Errorf("%w: a sparse target of format %s", errors.ErrUnsupported, p.Target.Format)
	}
	remote, uploaded := s.(*objects)
	var numbers map[int64]int64
	if uploaded {
		err := remote.chunksIntact(ctx, p, receipts)
		if err == nil {
			numbers, err = remote.renumber(ctx, p, receipts)
		}
		if err != nil {
			return err
		}
	}
	number := int64(0)
	next := make([]int64, p.Stages[len(p.Stages)-1].Shards) // chunk files of the parts
	for c, size := range p.placedChunks(receipts) {
		var err error
		switch {
		case size <= 0 && cblosc.Special(-size) == cblosc.Zeros && len(p.Target.Fill) == 0 && c.number > 0:
			// A new array consists of zeros. The first chunk is placed in any case, so that the
			// index is written as after a copy.
		case size <= 0:
			err = b.PlaceChunk(ctx, c.number, 0, 0, cblosc.Special(-size))
		case uploaded:
			at, ok := numbers[c.number]
			if !ok {
				at = c.number
			}
			err = b.PlaceChunk(ctx, c.number, at, size, cblosc.NotSpecial)
		default:
			from := filepath.Join(s.location(receipts[c.shard].Part), cframe.ChunkFile(cframe.Offset(next[c.shard])))
			next[c.shard]++
			if err = link(from, filepath.Join(b.Directory(), cframe.ChunkFile(cframe.Offset(number)))); err == nil {
				err = b.PlaceChunk(ctx, c.number, number, size, cblosc.NotSpecial)
			}
			number++
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// link creates a hard link, or copies the file if its file system has no hard links. It returns
// fs.ErrExist if the new name exists.
func link(from, to string) (err error) {
	err = os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if _, err = io.Copy(dst, src); err == nil {
		err = atomicfile.SyncFile(dst)
	}
	return errors.Join(err, dst.Close())
}
