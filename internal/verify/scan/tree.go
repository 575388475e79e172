// bcolz trees: metadata and chunk files of a carray, or of each column of a ctable.

package scan

import (
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"path"

	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// tree scans the tree in the directory at of dir.
func (s *scanner) tree(dir *regularfile.Frozen, at string, kind bcolztree.Kind) error {
	l := bcolztree.Limits{Metadata: s.o.Metadata, Chunk: min(s.o.Chunk, bcolztree.DefaultLimits().Chunk)}
	codecs := &seen{codecs: map[chunk.Codec]bool{}, filters: map[chunk.Filter]bool{}}
	switch kind {
	case bcolztree.TableTree:
		t, err := bcolztree.ReadTable(dir, at, &l)
		if err != nil {
			return s.fail("", err)
		}
		for _, name := range t.Names {
			a, err := t.Column(name)
			if err := s.carray("/"+name, a, err, codecs); err != nil {
				return err
			}
		}
		return nil
	case bcolztree.NestedTree:
		names, err := bcolztree.Components(dir, at)
		if err != nil {
			return s.fail("", err)
		}
		for _, name := range names {
			below := path.Join(at, bcolztree.DataDir, name)
			kind, err := bcolztree.Detect(dir, below)
			if err == nil && kind != bcolztree.NotATree {
				err = s.tree(dir, below, kind)
			}
			if err := s.fail("/"+name, err); err != nil {
				return err
			}
		}
		return nil
	}
	a, err := bcolztree.ReadArray(dir, at, &l)
	return s.carray("", a, err, codecs)
}

// carray scans one array. err is the error of its reader.
func (s *scanner) carray(object string, a *bcolztree.Array, err error, codecs *seen) error {
	if err != nil {
		return s.fail(object, err)
	}
	if a.Storage.DType.Kind == 'O' {
		s.add(PickledObjects, object, -1, "%d pickled objects", a.Rows())
	}
	stored := uint64(0)
	for i := range a.NumFiles() {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		chunks, err := a.ReadChunks(i)
		if errors.Is(err, fs.ErrNotExist) {
			// Report one error, because the number of missing files is a number in a small file and
			// can be huge.
			err = &format.Error{Format: "bcolz", What: a.FileName(i), Got: "no such file", Want: fmt.Sprintf("%d chunk files", a.NumFiles()), Err: format.ErrTruncated}
			if err := s.fail(object, err); err != nil {
				return err
			}
			break
		}
		if err := s.fail(object, err); err != nil {
			return err
		}
		for _, c := range chunks {
			stored = add(stored, uint64(len(c.Data)))
			codecs.header(s, c.Header)
		}
	}
	if row := a.RowBytes(); row >= 0 {
		if hi, declared := bits.Mul64(uint64(row), uint64(a.Rows())); hi == 0 {
			s.size(object, declared, stored)
		}
	}
	return nil
}
