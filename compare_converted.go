// Differences between a tree and its conversion, and links that were rewritten for another place.

package hyperslab

import (
	"cmp"
	"errors"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/converted"
	"github.com/hyperslab/hyperslab/ndarray"
)

// leftOut reports whether a conversion leaves out the object that only the first tree has.
func (c *treeComparison) leftOut(d *Difference) bool {
	format := c.trees[1].Format
	if d.A.Kind == Array && errors.Is(d.A.Err, errors.ErrUnsupported) && c.trees[0].Format != format {
		return true
	}
	return converted.Lacks(string(format), string(d.A.Kind), d.A.Meta.DType)
}

// convertedGroup removes the differences of attributes of two groups that a conversion makes.
func (c *treeComparison) convertedGroup(d *Difference, list []ndarray.AttrDifference, a, b ndarray.Attrs) ([]ndarray.AttrDifference, error) {
	s := converted.Source{Attrs: a, Format: string(c.trees[0].Format)}
	if file := c.trees[0].file; file != nil {
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
