// Reads the structure of a directory of many files: its chunks by number, and its metadata files.

package shards

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/ndarray"
)

// tree is an array, or a table of arrays, in a directory.
type tree struct {
	fsys   fs.FS
	meta   []string // files that every shard has
	arrays []array
	sparse bool // a frame, whose index contains the names of its files
}

// array is a carray or a frame, which is divided by chunk numbers.
type array struct {
	column string // "": the tree itself
	dir    string // of a carray, from the root
	data   string // the directory of its chunk files; "": not bcolz
	chunks int64
	file   func(i int64) string // path from the root; "" for a chunk that has no file
	bcolz  *bcolztree.Array     // nil: a frame, or a column without its own metadata
}

// read reads the metadata of the tree in fsys, and the names of its files. It returns ErrFormat if
// fsys contains neither a bcolz tree nor a sparse frame.
func read(fsys fs.FS) (*tree, error) {
	t := &tree{fsys: fsys}
	kind, err := bcolztree.Detect(fsys, ".")
	if err != nil {
		return nil, err
	}
	switch kind {
	case bcolztree.ArrayTree:
		err = t.add("", ".")
	case bcolztree.TableTree:
		var table *bcolztree.Table
		if table, err = bcolztree.ReadTable(fsys, ".", nil); err == nil {
			for _, name := range table.Names {
				if err = t.add(name, name); err != nil {
					break
				}
			}
		}
	case bcolztree.NestedTree:
		err = t.nested("", ".")
	default:
		return t, t.readFrame()
	}
	if err != nil {
		return nil, errs.Mark(err, ndarray.ErrCorrupt)
	}
	return t, t.findMeta()
}

// add adds the carray in the directory dir.
func (t *tree) add(column, dir string) error {
	a, err := bcolztree.ReadArray(t.fsys, dir, nil)
	if err != nil {
		return err
	}
	if a.Storage.DType.Structured {
		return fmt.Errorf("%w: shards of an array of %s", errors.ErrUnsupported, a.Storage.DType.Text)
	}
	t.arrays = append(t.arrays, array{column, dir, path.Join(dir, bcolztree.DataDir), a.NumFiles(), func(i int64) string { return path.Join(dir, a.FileName(i)) }, a})
	return nil
}

// nested adds the columns of the nested ctable in dir, or the single column in dir.
func (t *tree) nested(column, dir string) error {
	kind, err := bcolztree.Detect(t.fsys, dir)
	switch {
	case err != nil:
		return err
	case kind == bcolztree.ArrayTree:
		return t.add(column, dir)
	case kind != bcolztree.NestedTree:
		return fmt.Errorf("%w: column %q is %s, want a carray or columns", ndarray.ErrCorrupt, column, kind)
	}
	whole, err := bcolztree.ReadArray(t.fsys, dir, nil)
	switch {
	case err == nil && dir == ".":
		return t.described(whole, "")
	case err == nil:
		return fmt.Errorf("%w: column %q is a nested ctable with a %s of its own", errors.ErrUnsupported, column, bcolztree.StorageFile)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	names, err := bcolztree.Components(t.fsys, dir)
	for _, name := range names {
		err = errors.Join(err, t.nested(path.Join(column, name), path.Join(dir, bcolztree.DataDir, name)))
	}
	return err
}

// described adds the columns that the root's metadata describes: the directories below data/
// without subdirectories.
func (t *tree) described(whole *bcolztree.Array, column string) error {
	data := path.Join(bcolztree.DataDir, column)
	entries, err := fs.ReadDir(t.fsys, data)
	if err != nil {
		return err
	}
	leaf := true
	for _, e := range entries {
		if e.IsDir() {
			leaf = false
			if err := t.described(whole, path.Join(column, e.Name())); err != nil {
				return err
			}
		}
	}
	if leaf {
		t.arrays = append(t.arrays, array{column, "", data, whole.NumFiles(), func(i int64) string { return path.Join(data, path.Base(whole.FileName(i))) }, nil})
	}
	return nil
}

// findMeta lists the files of a bcolz tree outside data directories, without temporary files.
func (t *tree) findMeta() error {
	var data []string
	for _, a := range t.arrays {
		data = append(data, a.data)
	}
	return fs.WalkDir(t.fsys, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case slices.Contains(data, name):
			return fs.SkipDir
		case e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".tmp-"):
			t.meta = append(t.meta, name)
		}
		return nil
	})
}

// readFrame reads the index of a sparse frame.
func (t *tree) readFrame() error {
	if _, err := fs.Stat(t.fsys, cframe.IndexFile); err != nil {
		return fmt.Errorf("%w: neither a bcolz tree nor a sparse frame: %w", ndarray.ErrFormat, err)
	}
	f, err := frameio.OpenFS(t.fsys, nil)
	if err != nil {
		return errs.Mark(err, ndarray.ErrCorrupt)
	}
	names := f.ChunkFiles()
	t.sparse, t.meta = true, []string{cframe.IndexFile}
	t.arrays = []array{{chunks: int64(len(names)), file: func(i int64) string { return names[i] }}}
	return f.Close()
}
