// Split and Join of arrays that are directories.

package hyperslab

import (
	"context"
	"io/fs"

	"github.com/hyperslab/hyperslab/internal/shards"
)

// Shard is one part of an array that is a directory of many files: a bcolz tree or a sparse Blosc2
// frame. A shard is a directory with all the metadata of the array and some of its chunks, or, for
// a ctable, some of its columns.
type Shard struct {
	Dir string // its directory

	// First and End are the range of chunks in the shard, by number in row-major order; End is
	// exclusive, and math.MaxInt64 is after every chunk. For a carray, and for every column of a
	// ctable, they are chunk files; for a frame, chunks.
	First, End int64

	Columns []string // the columns of a ctable in the shard; nil: all
}

func internalShards(parts []Shard) []shards.Shard {
	list := make([]shards.Shard, len(parts))
	for i, p := range parts {
		list[i] = shards.Shard(p)
	}
	return list
}

// Split divides a bcolz tree or a sparse Blosc2 frame into shards. It decodes no chunk. Sources
// must not change during the call. Each shard is created completely or not at all.
//
// It returns ndarray.ErrParam for shards that overlap or leave a chunk out, ErrFormat for another
// source, and ErrExists if the directory of a shard exists.
func Split(ctx context.Context, src string, parts []Shard) error {
	return shards.Split(ctx, src, internalShards(parts))
}

// Join makes one directory of the shards of an array, with the same bytes as the array. Each shard
// may also be a complete array of which Join takes the range of chunks, so that several processes
// can write one array.
//
// It returns ndarray.ErrParam for shards that overlap or leave a chunk out, ErrCorrupt for a chunk
// that is missing in its shard, and ErrExists if dst exists.
func Join(ctx context.Context, dst string, parts []Shard) error {
	return shards.Join(ctx, dst, internalShards(parts))
}

// JoinFS returns one file system over the roots of several shards, for shards that stay on their
// disks or machines. bcolz.OpenFS, bcolz.OpenTableFS and b2nd.OpenFS can read through it.
func JoinFS(roots ...fs.FS) fs.FS { return shards.FS(roots...) }
