// Verification of bcolz trees: the metadata of a carray, or of each column of a ctable, then each
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
	"slices"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
	array "github.com/hyperslab/hyperslab/ndarray/bcolz"
)

// treeUnit is a carray. Its tasks are its existing chunk files.
type treeUnit struct {
	dir   string // relative to the root; "." for the root itself
	tree  *bcolztree.Array
	files []int64      // numbers of the existing chunk files, in ascending order
	pool  *cblosc.Pool // owned by the job
	most  int64
}

// bcolz checks the tree in dir and adds its chunk files as tasks.
func (j *job) bcolz(ctx context.Context, dir string) error {
	root, err := regularfile.OpenRoot(dir)
	if err != nil {
		return err
	}
	j.append(&treeRoot{root})
	fsys := root.FS()
	bad := func(dir, what string, err error) error {
		if err == nil {
			return nil
		}
		return j.note(Finding{Object: column(dir), What: what, Offset: -1, Chunk: -1, Err: err})
	}
	kind, err := bcolztree.Detect(fsys, ".")
	if err != nil {
		return err
	}
	l := bcolztree.Limits{Metadata: j.opts.MaxMetadata, Chunk: min(j.opts.MaxChunk, bcolztree.DefaultLimits().Chunk)}
	if kind != bcolztree.TableTree {
		a, err := bcolztree.ReadArray(fsys, ".", &l)
		if err != nil {
			return bad(".", "metadata", err)
		}
		if err := j.tree(ctx, fsys, ".", a); err != nil {
			return err
		}
		return j.treeFiles(fsys, ".", a, kind)
	}
	_, err = j.table(ctx, fsys, ".", &l, 0)
	return err
}

// mostNested is the maximum depth of nested tables that are verified.
const mostNested = 32

// table checks a ctable and adds the chunk files of its columns as tasks. It returns the number of
// rows, -1 if they are unknown. A column can be a ctable itself.
func (j *job) table(ctx context.Context, fsys fs.FS, dir string, l *bcolztree.Limits, depth int) (int64, error) {
	bad := func(dir, what string, err error) error {
		if err == nil {
			return nil
		}
		return j.note(Finding{Object: column(dir), What: what, Offset: -1, Chunk: -1, Err: err})
	}
	t, err := bcolztree.ReadTable(fsys, dir, l)
	if err == nil && depth > mostNested {
		err = fmt.Errorf("%w: tables nested deeper than %d", errors.ErrUnsupported, mostNested)
	}
	if err != nil {
		return -1, bad(dir, "metadata", err)
	}
	if err := bad(dir, bcolztree.AttrsFile, attributes(t.Attrs, bcolztree.TableTree)); err != nil {
		return -1, err
	}
	rows := int64(-1)
	for _, name := range t.Names {
		at := path.Join(dir, name)
		has, err := j.tableColumn(ctx, fsys, t, at, name, l, depth, bad)
		if err != nil {
			return -1, err
		}
		if rows < 0 {
			rows = has
		}
		if has >= 0 && has != rows {
			err := &format.Error{Format: bcolztree.SizesFile, What: "shape", Got: fmt.Sprintf("%d rows", has), Want: fmt.Sprintf("%d, as in the first column", rows), Err: format.ErrCorrupt}
			if err := bad(at, bcolztree.SizesFile, err); err != nil {
				return -1, err
			}
		}
	}
	return rows, nil
}

// tableColumn checks one column and returns its number of rows, -1 if they are unknown.
func (j *job) tableColumn(ctx context.Context, fsys fs.FS, t *bcolztree.Table, at, name string, l *bcolztree.Limits, depth int, bad func(dir, what string, err error) error) (int64, error) {
	kind, err := bcolztree.Detect(fsys, at)
	if err == nil && kind == bcolztree.TableTree {
		return j.table(ctx, fsys, at, l, depth+1)
	}
	a, err := t.Column(name)
	if err != nil {
		return -1, bad(at, "metadata", err)
	}
	if err := j.tree(ctx, fsys, at, a); err != nil {
		return -1, err
	}
	return a.Rows(), j.treeFiles(fsys, at, a, kind)
}

// treeFiles checks the metadata files of a carray for errors that ReadArray ignores.
func (j *job) treeFiles(fsys fs.FS, dir string, a *bcolztree.Array, kind bcolztree.Kind) error {
	for _, c := range []struct {
		file string
		err  error
	}{
		{bcolztree.AttrsFile, attributes(a.Attrs, kind)},
		{bcolztree.StorageFile, a.Storage.CParams.CheckCodec()},
		{bcolztree.SizesFile, sizes(a)},
		{bcolztree.RecordFile, record(array.OpenFS(fsys, dir, nil))},
	} {
		if c.err == nil {
			continue
		}
		if err := j.note(Finding{Object: column(dir), What: c.file, Offset: -1, Chunk: -1, Err: c.err}); err != nil {
			return err
		}
	}
	return nil
}

// attributes returns an error if a tree of a kind that bcolz opens has no file of attributes, or an
// empty one, because bcolz does not open it. The other kinds need none.
func attributes(attrs bcolztree.Attrs, kind bcolztree.Kind) error {
	if attrs != nil || kind == bcolztree.NestedTree {
		return nil
	}
	return &format.Error{Format: bcolztree.AttrsFile, What: "file", Got: "no file or an empty one", Want: "a JSON object", Err: format.ErrCorrupt}
}

// record returns the error of a carray that ndarray cannot open although its metadata are valid.
// For example, the record file of package ndarray/bcolz may be invalid.
func record(a io.Closer, err error) error {
	switch {
	case err == nil:
		return a.Close()
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, ndarray.ErrType):
		return nil // object arrays: verified without ndarray
	}
	return err
}

// tree adds a carray. Missing chunk files are reported at once and are no tasks, because a size
// file of some bytes can claim any number of them.
func (j *job) tree(ctx context.Context, fsys fs.FS, dir string, a *bcolztree.Array) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j.report.Arrays++
	u := &treeUnit{dir: dir, tree: a, pool: j.pool, most: j.opts.MaxChunk}
	end := int64(0)
	if a.Rows() > 0 {
		end = a.NumFiles()
	}
	if end > 0 {
		data := path.Dir(path.Join(dir, a.FileName(0)))
		list, err := fs.ReadDir(fsys, data)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return j.note(Finding{Object: column(dir), What: "chunks", File: data, Offset: -1, Chunk: -1, Err: err})
		}
		u.files = numbers(list, end)
	}
	j.append(u)
	next := int64(0)
	for _, i := range append(slices.Clone(u.files), end) {
		if err := j.missing(u, next, i); err != nil {
			return err
		}
		next = i + 1
	}
	return nil
}

// numbers returns the numbers of the chunk files in a directory that are below end, in ascending
// order.
func numbers(list []fs.DirEntry, end int64) []int64 {
	var out []int64
	for _, e := range list {
		s, ok := strings.CutSuffix(e.Name(), ".blp")
		s, is := strings.CutPrefix(s, "__")
		if i, err := strconv.ParseInt(s, 10, 64); ok && is && err == nil && i >= 0 && i < end && strconv.FormatInt(i, 10) == s {
			out = append(out, i)
		}
	}
	slices.Sort(out)
	return out
}

// missing reports the chunk files from first to end as missing. It lists at most MaxDamages of them
// and counts the rest.
func (j *job) missing(u *treeUnit, first, end int64) error {
	for i := first; i < end; i++ {
		if len(j.report.Damages) >= j.opts.MaxDamages {
			j.report.NumDamages = min(j.report.NumDamages+min(end-i, maxCount), maxCount)
			break
		}
		p := u.at(i)
		p.Err = fmt.Errorf("%w: %w", format.ErrTruncated, &fs.PathError{Op: "open", Path: p.File, Err: fs.ErrNotExist})
		if err := j.note(p); err != nil {
			return err
		}
	}
	return nil
}

// maxCount limits counts of missing files so that sums of them do not overflow.
const maxCount = 1 << 60

// sizes returns an error if the byte count in the sizes file contradicts the shape and the dtype.
func sizes(a *bcolztree.Array) error {
	if row := a.RowBytes(); row >= 0 {
		hi, want := bits.Mul64(uint64(row), uint64(a.Rows()))
		if hi != 0 || uint64(a.Sizes.NBytes) != want {
			return &format.Error{Format: bcolztree.SizesFile, What: "nbytes", Got: fmt.Sprint(a.Sizes.NBytes), Want: fmt.Sprintf("%d, those of %d rows", want, a.Rows()), Err: format.ErrCorrupt}
		}
	}
	return nil
}

// column returns the object path of a directory in a tree.
func column(dir string) string {
	if dir == "." {
		return ""
	}
	return "/" + dir
}

func (u *treeUnit) tasks() int64 { return int64(len(u.files)) }

func (u *treeUnit) need() int64 {
	n, ok := grid.Product([]int64{u.tree.Storage.ChunkLen, u.tree.Storage.DType.TypeSize()})
	if !ok {
		n = u.most
	}
	return 2 * min(n, u.most)
}

func (u *treeUnit) place(i int64) Finding { return u.at(u.files[i]) }

// at returns the location of chunk file i.
func (u *treeUnit) at(i int64) Finding {
	at := make([]int64, len(u.tree.Sizes.Shape))
	at[0] = i * u.tree.Storage.ChunkLen
	return Finding{Object: column(u.dir), What: "chunk", File: path.Join(u.dir, u.tree.FileName(i)), Offset: 0, Chunk: i, Coords: at}
}

func (u *treeUnit) check(_ context.Context, i int64, s *scratch) (r result, err error) {
	chunks, err := u.tree.ReadChunks(u.files[i])
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", format.ErrTruncated, err) // the directory listing contained it
	}
	if err != nil {
		return r, err
	}
	for _, c := range chunks {
		n := int64(c.Header.NBytes)
		if n > u.most {
			return r, &format.Error{Format: "blosc chunk", What: "nbytes", Offset: 4, Got: fmt.Sprint(n), Want: fmt.Sprintf("at most %d", u.most), Err: format.ErrLimit}
		}
		got, err := u.pool.Decompress(sized(&s.data, n), c.Data)
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

// treeRoot keeps the directory of a tree open until all columns are read.
type treeRoot struct{ root *os.Root }

func (u *treeRoot) tasks() int64 { return 0 }
func (u *treeRoot) need() int64  { return 0 }
func (u *treeRoot) place(int64) Finding {
	return Finding{Offset: -1, Chunk: -1}
}

func (u *treeRoot) check(context.Context, int64, *scratch) (result, error) {
	return result{}, nil
}
func (u *treeRoot) close() error { return u.root.Close() }
