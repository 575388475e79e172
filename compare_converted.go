// Differences between a tree and its conversion, and links that were rewritten for another place.

package hyperslab

import (
	"cmp"
	"errors"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/tree/containers"
	"github.com/hyperslab/hyperslab/internal/tree/converted"
	"github.com/hyperslab/hyperslab/ndarray"
)

// leftOut reports whether a conversion leaves out the object that only the first tree has: CopyTree
// cannot read it or the format of the second tree cannot store it.
func (c *treeComparison) leftOut(d *Difference) bool {
	target := c.targetOf()
	if d.A.Kind == Array && errors.Is(d.A.Err, errors.ErrUnsupported) && c.trees[0].Format != target.format {
		return true
	}
	if target.target == nil || target.format == HDF5 {
		return false
	}
	table := target.options.Table
	columns := target.format == Bcolz || table
	switch inGroup := strings.Contains(strings.Trim(d.Path, "/"), "/"); {
	case d.A.Kind == Group:
		return target.format == B2E || columns
	case d.A.Kind != Array, columns && inGroup, errors.Is(target.target.checkName(d.Path, false), errors.ErrUnsupported):
		return true
	}
	spec := d.A.Meta.Spec()
	spec.Compression, spec.ChunkShape, spec.BlockShape = nil, nil, nil
	if converted.IsText(spec.DType) && !table { // strings of the smallest fixed size
		spec.DType, spec.Fill = ndarray.DType{Kind: ndarray.Bytes, Size: 1, Order: ndarray.NoOrder}, nil
	}
	return errors.Is(target.target.check(d.Path, spec, target.rows()), errors.ErrUnsupported)
}

// targetOf returns a copy to the format of the second tree, for its checks. Its first array is the
// first one of the tree, in the order of paths, that has rows. It has no target if the second tree
// is a file of one array.
func (c *treeComparison) targetOf() *treeCopy {
	if c.target != nil {
		return c.target
	}
	root := c.entries[1]["/"]
	t := &treeCopy{source: copySource{c.trees[0]}, destination: &destination{format: c.trees[1].Format}}
	t.options = &TreeOptions{Table: root != nil && root.Type == containers.Table && detect.IsStore(string(t.format))}
	first := ""
	for path, e := range c.entries[1] {
		if e != nil && e.Kind == Array && len(e.Meta.Shape) > 0 && (first == "" || path < first) {
			spec := e.Meta.Spec()
			first, t.arrays = path, []*treeItem{{spec: &spec}}
		}
	}
	t.target, _ = newTarget(t, t.format, t.options.Table)
	c.target = t
	return t
}

// convertedGroup removes the differences of attributes of two groups that a conversion makes.
func (c *treeComparison) convertedGroup(d *Difference, list []ndarray.AttrDifference, a, b ndarray.Attrs) ([]ndarray.AttrDifference, error) {
	s := converted.Source{Attrs: a, Format: string(c.trees[0].Format)}
	if file := c.trees[0].hdf5(); file != nil {
		o, done, err := objectAt(file, d.A.Path)
		if err != nil {
			return nil, err
		}
		defer done() // it was only read
		s.Object = o
	}
	return converted.Attrs(list, s, converted.Target{Attrs: b, Format: string(c.trees[1].Format)}), nil
}

// sameTarget reports whether two external links with relative file names lead to the same object.
// repack and cp rewrite such a name if the new file is in another directory.
func (c *treeComparison) sameTarget(d *Difference) bool {
	object := func(e *Entry) (string, bool) { return strings.CutPrefix(e.Target, e.TargetFile+":") }
	x, ok := object(d.A)
	y, also := object(d.B)
	if !ok || !also || d.A.TargetFile == "" || cmp.Or(x, "/") != cmp.Or(y, "/") {
		return false
	}
	file := func(i int, name string) string {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(c.trees[i].location.File), name)
		}
		if whole, err := filepath.Abs(name); err == nil {
			return whole
		}
		return name
	}
	return file(0, d.A.TargetFile) == file(1, d.B.TargetFile)
}

// objectAt opens the object at a path, and returns a function that closes it. The root group stays
// open with its file.
func objectAt(f *h5.File, path string) (o h5.Object, done func() error, err error) {
	if strings.Trim(path, "/") == "" {
		return f.Root(), func() error { return nil }, nil
	}
	if o, err = f.Root().OpenObject(path); err != nil {
		return nil, nil, err
	}
	return o, o.Close, nil
}
