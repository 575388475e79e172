// Split and Join, which divide and join arrays.

package shards

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/ndarray"
)

// All is an End after every chunk.
const All = math.MaxInt64

// Shard is one part of an array.
type Shard struct {
	Dir string // its directory

	// First and End are the range of chunks in the shard, by number in row-major order; End is
	// exclusive. For a carray, and for every column of a ctable, they are chunk files; for a frame,
	// chunks.
	First, End int64

	Columns []string // the columns of a ctable in the shard; nil: all
}

func (s Shard) String() string {
	if s.Columns != nil {
		return fmt.Sprintf("chunks %d to %d of %q in %s", s.First, s.End, s.Columns, s.Dir)
	}
	return fmt.Sprintf("chunks %d to %d in %s", s.First, s.End, s.Dir)
}

func (s Shard) has(column string, i int64) bool {
	return i >= s.First && i < s.End && (s.Columns == nil || slices.Contains(s.Columns, column))
}

// owners returns the shard of each chunk of an array. It returns ErrParam unless each chunk is in
// exactly one shard.
func owners(a array, shards []Shard) ([]int, error) {
	out := make([]int, a.chunks)
	for i := range out {
		out[i] = -1
		for k, s := range shards {
			if !s.has(a.column, int64(i)) {
				continue
			}
			if out[i] >= 0 {
				return nil, fmt.Errorf("%w: chunk %d%s is in two shards: %v; %v", ndarray.ErrParam, i, of(a), shards[out[i]], s)
			}
			out[i] = k
		}
		if out[i] < 0 {
			return nil, fmt.Errorf("%w: chunk %d%s of %d is in no shard", ndarray.ErrParam, i, of(a), a.chunks)
		}
	}
	return out, nil
}

func of(a array) string {
	if a.column == "" {
		return ""
	}
	return fmt.Sprintf(" of column %q", a.column)
}

// check returns an error for invalid shards.
func check(shards []Shard, t *tree) error {
	if len(shards) == 0 {
		return fmt.Errorf("%w: no shards", ndarray.ErrParam)
	}
	for _, s := range shards {
		if s.First < 0 || s.End < s.First {
			return fmt.Errorf("%w: %v", ndarray.ErrParam, s)
		}
		for _, c := range s.Columns {
			if !slices.ContainsFunc(t.arrays, func(a array) bool { return a.column == c && c != "" }) {
				return fmt.Errorf("%w: column %q", ndarray.ErrNotFound, c)
			}
		}
	}
	return nil
}

// Split copies the array in the directory src to shards, whose directories must not exist. Every
// shard gets the metadata, and every chunk goes to its one shard. Chunk files of bcolz after the
// end of the array, left over from a longer one, are not copied. An incomplete array
// (bcolztree.CreateOptions.Skeleton) may have missing chunks; a nested ctable must be complete.
//
// It returns ErrParam unless each chunk is in exactly one shard, ErrFormat for anything except a
// bcolz tree or a sparse frame, ErrExists, ErrCorrupt for a missing chunk, or the context's error.
// After an error each shard is complete or does not exist.
func Split(ctx context.Context, src string, shards []Shard) error {
	return ndarray.Wrap("split", src, split(ctx, src, shards))
}

func split(ctx context.Context, src string, shards []Shard) (err error) {
	root, err := regularfile.OpenRoot(src)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	t, err := read(root.FS())
	if err != nil {
		return err
	}
	if err := check(shards, t); err != nil {
		return err
	}
	files := make([][]string, len(shards))
	for _, a := range t.arrays {
		owner, err := owners(a, shards)
		if err != nil {
			return err
		}
		for i, k := range owner {
			name := a.file(int64(i))
			if name == "" {
				continue // the chunk has only an index entry
			}
			if _, err := fs.Stat(t.fsys, name); errors.Is(err, fs.ErrNotExist) && a.skeleton() {
				continue
			}
			files[k] = append(files[k], name)
		}
	}
	for k, s := range shards {
		if err := create(ctx, s.Dir, func(dir *os.Root) error {
			if err := t.directories(dir); err != nil {
				return err
			}
			return copyAll(ctx, dir, t.fsys, append(slices.Clone(t.meta), files[k]...))
		}); err != nil {
			return err
		}
	}
	return nil
}

// skeleton reports whether the metadata is that of an array that was never completed. Its sizes
// then do not include full chunks.
func (a array) skeleton() bool {
	if a.bcolz == nil || a.bcolz.RowBytes() < 0 {
		return false
	}
	return a.bcolz.Sizes.CBytes == a.bcolz.Storage.ChunkLen*a.bcolz.RowBytes()
}

// directories creates the directories that a bcolz tree needs even without chunks.
func (t *tree) directories(dir *os.Root) error {
	for _, a := range t.arrays {
		if a.data != "" {
			if err := dir.MkdirAll(filepath.FromSlash(a.data), 0o777); err != nil {
				return err
			}
		}
	}
	return nil
}

// Join makes one array of shards, in the directory dst, which must not exist. The metadata of all
// shards must be the same. The exception is frames that were written separately and have different
// indexes; Join then builds a new index for the stored chunks. The metadata is the first shard's.
// For an array that several processes have filled, Join computes the sizes again.
//
// It returns the errors of Split, and ErrParam for shards of different arrays.
func Join(ctx context.Context, dst string, shards []Shard) error {
	return ndarray.Wrap("join", dst, join(ctx, dst, shards))
}

func join(ctx context.Context, dst string, shards []Shard) (err error) {
	var trees []*tree
	for _, s := range shards {
		root, err := regularfile.OpenRoot(s.Dir)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, root.Close()) }()
		t, err := read(root.FS())
		if err != nil {
			return fmt.Errorf("%s: %w", s.Dir, err)
		}
		trees = append(trees, t)
	}
	if len(trees) == 0 {
		return check(shards, nil)
	}
	first := trees[0]
	if err := check(shards, first); err != nil {
		return err
	}
	same := true
	for k, t := range trees[1:] {
		differs, err := first.differs(t)
		if err != nil {
			return err
		}
		if differs != "" && !(first.sparse && t.sparse) {
			return fmt.Errorf("%w: %s differs between %s and %s", ndarray.ErrParam, differs, shards[0].Dir, shards[k+1].Dir)
		}
		same = same && differs == ""
	}
	if !same {
		return joinFrames(ctx, dst, shards)
	}
	owned := make([][]int, len(first.arrays))
	for i, a := range first.arrays {
		if owned[i], err = owners(a, shards); err != nil {
			return err
		}
	}
	return create(ctx, dst, func(dir *os.Root) error {
		if err := first.directories(dir); err != nil {
			return err
		}
		if err := copyAll(ctx, dir, first.fsys, first.meta); err != nil {
			return err
		}
		for k, a := range first.arrays {
			for i, owner := range owned[k] {
				name := a.file(int64(i))
				if name == "" {
					continue
				}
				if err := copyAll(ctx, dir, trees[owner].fsys, []string{name}); err != nil {
					return fmt.Errorf("%v: %w", shards[owner], err)
				}
			}
			if err := a.count(dir); err != nil {
				return err
			}
		}
		return nil
	})
}

// differs returns the first metadata file that differs between the two trees, or "".
func (t *tree) differs(other *tree) (string, error) {
	if t.sparse != other.sparse {
		return "format", nil
	}
	if !slices.Equal(t.meta, other.meta) {
		for _, name := range t.meta {
			if !slices.Contains(other.meta, name) {
				return name, nil
			}
		}
		return other.meta[slices.IndexFunc(other.meta, func(n string) bool { return !slices.Contains(t.meta, n) })], nil
	}
	for _, name := range t.meta {
		a, err := fs.ReadFile(t.fsys, name)
		if err != nil {
			return "", err
		}
		b, err := fs.ReadFile(other.fsys, name)
		if err != nil {
			return "", err
		}
		if !bytes.Equal(a, b) {
			return name, nil
		}
	}
	return "", nil
}

// count writes the sizes of an array whose chunks were written separately, as bcolz counts them:
// the compressed bytes of the full chunks, plus one uncompressed chunk.
func (a array) count(dir *os.Root) error {
	if a.bcolz == nil || !a.skeleton() {
		return nil
	}
	s := a.bcolz.Sizes
	row := a.bcolz.RowBytes()
	s.CBytes = a.bcolz.Storage.ChunkLen * row
	if row > 0 {
		for i := range a.bcolz.Rows() / a.bcolz.Storage.ChunkLen {
			info, err := dir.Stat(a.file(i))
			if err != nil {
				return err
			}
			s.CBytes += info.Size() - bcolztree.HeaderSize
		}
	}
	return dir.WriteFile(filepath.Join(filepath.FromSlash(a.dir), bcolztree.SizesFile), s.Append(nil), 0o666)
}

// joinFrames copies each chunk from the frame of its shard and writes a new index.
func joinFrames(ctx context.Context, dst string, shards []Shard) (err error) {
	var frames []*frameio.Frame
	defer func() {
		for _, f := range frames {
			err = errors.Join(err, f.Close())
		}
	}()
	for _, s := range shards {
		f, err := frameio.Open(s.Dir, &frameio.Limits{Checksums: true})
		if err != nil {
			return errs.Mark(err, ndarray.ErrCorrupt)
		}
		frames = append(frames, f)
		if what := otherFrame(frames[0], f); what != "" {
			return fmt.Errorf("%w: %s of the frames in %s and %s", ndarray.ErrParam, what, shards[0].Dir, s.Dir)
		}
	}
	owner, err := owners(array{chunks: frames[0].NumChunks()}, shards)
	if err != nil {
		return err
	}
	w, err := frameio.CreateLike(dst, frames[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	var chunk []byte
	for i, k := range owner {
		if err := ctx.Err(); err != nil {
			return err
		}
		if chunk, err = frames[k].Chunk(chunk[:0], int64(i)); err != nil {
			return fmt.Errorf("%v: %w", shards[k], errs.Mark(err, ndarray.ErrCorrupt))
		}
		if err := w.WriteChunk(chunk); err != nil {
			return err
		}
	}
	return w.Commit()
}

// otherFrame returns the difference between two frames that makes it invalid to mix their chunks,
// or "".
func otherFrame(a, b *frameio.Frame) string {
	x, y := a.Header(), b.Header()
	switch {
	case a.NBytes() != b.NBytes():
		return fmt.Sprintf("different lengths, %d and %d bytes,", a.NBytes(), b.NBytes())
	case a.ChunkSize() != b.ChunkSize():
		return fmt.Sprintf("different chunks, of %d and %d bytes,", a.ChunkSize(), b.ChunkSize())
	case a.TypeSize() != b.TypeSize():
		return fmt.Sprintf("different elements, of %d and %d bytes,", a.TypeSize(), b.TypeSize())
	case len(x.Meta) != len(y.Meta):
		return "different metalayers"
	}
	for i, l := range x.Meta {
		if m := y.Meta[i]; l.Name != m.Name || !bytes.Equal(l.Content, m.Content) {
			return fmt.Sprintf("different metalayers %q", l.Name)
		}
	}
	return ""
}

// create creates a directory and fills it with f. The directory appears completely or not at all.
func create(ctx context.Context, dir string, f func(dir *os.Root) error) (err error) {
	out, err := atomicfile.Create(ctx, dir, atomicfile.Options{})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, out.Abort())
		}
	}()
	if err := os.Mkdir(out.Path(), 0o777); err != nil {
		return err
	}
	root, err := os.OpenRoot(out.Path())
	if err != nil {
		return err
	}
	if err := errors.Join(f(root), root.Close()); err != nil {
		return err
	}
	return out.Commit()
}

// copyAll copies files and creates their directories.
func copyAll(ctx context.Context, dir *os.Root, src fs.FS, names []string) error {
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := copyFile(dir, src, name); errors.Is(err, fs.ErrNotExist) {
			return errs.Mark(err, ndarray.ErrCorrupt)
		} else if err != nil {
			return err
		}
	}
	return nil
}

func copyFile(dir *os.Root, src fs.FS, name string) (err error) {
	from, err := src.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if err := dir.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	to, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}
