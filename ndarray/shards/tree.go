// What a directory of many files holds: its chunks by number, and the rest.

package shards

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/format/bcolz"
	"github.com/hyperslab/hyperslab/format/cframe"
	"github.com/hyperslab/hyperslab/ndarray"
)

// tree is an array, or a table of some, in a directory.
type tree struct {
	fsys   fs.FS
	meta   []string // files that every shard has
	arrays []array
	sparse bool // a frame, whose files an index names
}

// array is what is cut by chunk numbers: a carray, or a frame.
type array struct {
	column string // "": the tree itself
	chunks int64
	file   func(i int64) string // from the root; "" for a chunk that is none
	bcolz  *bcolz.Array
}

// read looks at the metadata of the tree in fsys, and at the names of its files. It
// returns ErrFormat for anything else, and errors.ErrUnsupported for a nested ctable.
func read(fsys fs.FS) (*tree, error) {
	t := &tree{fsys: fsys}
	kind, err := bcolz.Detect(fsys, ".")
	if err != nil {
		return nil, err
	}
	switch kind {
	case bcolz.ArrayTree:
		err = t.add("", ".")
	case bcolz.TableTree:
		var table *bcolz.Table
		if table, err = bcolz.ReadTable(fsys, ".", nil); err == nil {
			for _, name := range table.Names {
				if err = t.add(name, name); err != nil {
					break
				}
			}
		}
	case bcolz.NestedTree:
		return nil, fmt.Errorf("%w: shards of a nested ctable", errors.ErrUnsupported)
	default:
		return t, t.readFrame()
	}
	if err != nil {
		return nil, ndarray.Mark(err, ndarray.ErrCorrupt)
	}
	return t, t.findMeta()
}

// add adds the carray in the directory dir.
func (t *tree) add(column, dir string) error {
	a, err := bcolz.ReadArray(t.fsys, dir, nil)
	if err != nil {
		return err
	}
	if a.Storage.DType.Structured {
		return fmt.Errorf("%w: shards of an array of %s", errors.ErrUnsupported, a.Storage.DType.Text)
	}
	t.arrays = append(t.arrays, array{column, a.NumFiles(), func(i int64) string { return path.Join(dir, a.FileName(i)) }, a})
	return nil
}

// findMeta lists the files of a bcolz tree that are not below a data directory, and are
// not being written.
func (t *tree) findMeta() error {
	var data []string
	for _, a := range t.arrays {
		data = append(data, path.Join(a.column, bcolz.DataDir))
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
	f, err := frameio.OpenFS(t.fsys)
	if err != nil {
		return ndarray.Mark(err, ndarray.ErrCorrupt)
	}
	names := f.ChunkFiles()
	t.sparse, t.meta = true, []string{cframe.IndexFile}
	t.arrays = []array{{"", int64(len(names)), func(i int64) string { return names[i] }, nil}}
	return f.Close()
}
