// Trees of bcolz: the metadata of a carray, or of each column of a ctable, then each
// chunk file.

package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/bits"
	"os"
	"path"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/format"
	"github.com/hyperslab/hyperslab/format/bcolz"
	"github.com/hyperslab/hyperslab/internal/regular"
	"github.com/hyperslab/hyperslab/ndarray"
	array "github.com/hyperslab/hyperslab/ndarray/bcolz"
)

// treeUnit is a carray. Its tasks are its chunk files.
type treeUnit struct {
	dir  string // from the root, "." for it
	tree *bcolz.Array
	pool *cblosc.Pool // the job's
	most int64
}

// bcolz checks the tree in dir and adds its chunk files as tasks.
func (j *job) bcolz(dir string) error {
	root, err := regular.OpenRoot(dir)
	if err != nil {
		return err
	}
	j.append(&treeRoot{root})
	fsys := root.FS()
	bad := func(dir, what string, err error) error {
		if err == nil {
			return nil
		}
		return j.note(Place{Object: column(dir), What: what, Offset: -1, Chunk: -1, Err: err})
	}
	kind, err := bcolz.Detect(fsys, ".")
	if err != nil {
		return err
	}
	l := bcolz.Limits{Metadata: j.opts.MaxMetadata, Chunk: min(j.opts.MaxChunk, bcolz.DefaultLimits().Chunk)}
	if kind != bcolz.TableTree {
		a, err := bcolz.ReadArray(fsys, ".", &l)
		if err != nil {
			return bad(".", "metadata", err)
		}
		if err := bad(".", bcolz.SizesFile, j.tree(".", a)); err != nil {
			return err
		}
		return bad(".", array.RecordFile, record(array.OpenFS(fsys, ".", nil)))
	}
	t, err := bcolz.ReadTable(fsys, ".", &l)
	if err != nil {
		return bad(".", "metadata", err)
	}
	rows := int64(-1)
	for _, name := range t.Names {
		a, err := t.Column(name)
		if err != nil {
			if err := bad(name, "metadata", err); err != nil {
				return err
			}
			continue
		}
		if err := bad(name, bcolz.SizesFile, j.tree(name, a)); err != nil {
			return err
		}
		if err := bad(name, array.RecordFile, record(array.OpenFS(fsys, name, nil))); err != nil {
			return err
		}
		if rows < 0 {
			rows = a.Rows()
		}
		if a.Rows() != rows {
			err := &format.Error{Format: bcolz.SizesFile, What: "shape", Got: fmt.Sprintf("%d rows", a.Rows()), Want: fmt.Sprintf("%d, as in the first column", rows), Err: format.ErrCorrupt}
			if err := bad(name, bcolz.SizesFile, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// record is the error of a carray that ndarray does not open although its metadata are
// sound: what it notes beside them is not.
func record(a io.Closer, err error) error {
	switch {
	case err == nil:
		return a.Close()
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, ndarray.ErrType):
		return nil // objects, which are verified all the same
	}
	return err
}

// tree adds a carray and returns what is wrong with its sizes.
func (j *job) tree(dir string, a *bcolz.Array) error {
	j.report.Arrays++
	j.append(&treeUnit{dir: dir, tree: a, pool: j.pool, most: j.opts.MaxChunk})
	if row := a.RowBytes(); row >= 0 {
		hi, want := bits.Mul64(uint64(row), uint64(a.Rows()))
		if hi != 0 || uint64(a.Sizes.NBytes) != want {
			return &format.Error{Format: bcolz.SizesFile, What: "nbytes", Got: fmt.Sprint(a.Sizes.NBytes), Want: fmt.Sprintf("%d, those of %d rows", want, a.Rows()), Err: format.ErrCorrupt}
		}
	}
	return nil
}

// column is the object of a directory of a tree.
func column(dir string) string {
	if dir == "." {
		return ""
	}
	return "/" + dir
}

func (u *treeUnit) tasks() int64 {
	if u.tree.Rows() == 0 {
		return 0
	}
	return u.tree.NumFiles()
}

func (u *treeUnit) place(i int64) Place {
	at := make([]int64, len(u.tree.Sizes.Shape))
	at[0] = i * u.tree.Storage.ChunkLen
	return Place{Object: column(u.dir), What: "chunk", File: path.Join(u.dir, u.tree.FileName(i)), Offset: 0, Chunk: i, Coords: at}
}

func (u *treeUnit) check(_ context.Context, i int64, s *scratch) (r result, err error) {
	chunks, err := u.tree.ReadChunks(i)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", format.ErrTruncated, err) // of a tree that is there
	}
	if err != nil {
		return r, err
	}
	for _, c := range chunks {
		n := int64(c.Header.NBytes)
		if n > u.most {
			return r, &format.Error{Format: "blosc chunk", What: "nbytes", Offset: 4, Got: fmt.Sprint(n), Want: fmt.Sprintf("at most %d", u.most), Err: format.ErrLimit}
		}
		got, err := u.pool.Decompress(room(&s.data, n), c.Data)
		if err == nil && int64(got) != n {
			err = &format.Error{Format: "blosc chunk", What: "values", Got: fmt.Sprint(got), Want: fmt.Sprint(n), Err: format.ErrCorrupt}
		}
		if err != nil {
			return r, err
		}
		r.decoded += n
		r.stored += int64(len(c.Data))
	}
	return r, nil
}

func (u *treeUnit) close() error { return nil }

// treeRoot keeps the directory of a tree open as long as its columns are read.
type treeRoot struct{ root *os.Root }

func (u *treeRoot) tasks() int64 { return 0 }
func (u *treeRoot) place(int64) Place {
	return Place{Offset: -1, Chunk: -1}
}

func (u *treeRoot) check(context.Context, int64, *scratch) (result, error) {
	return result{}, nil
}
func (u *treeRoot) close() error { return u.root.Close() }
