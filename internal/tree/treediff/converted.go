// Differences that a conversion makes, and links that were rewritten for another directory.

package treediff

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/converted"
	"github.com/hyperslab/hyperslab/internal/tree/h5tree"
	"github.com/hyperslab/hyperslab/ndarray"
)

// convertedGroup removes the differences of attributes of two groups that a conversion makes.
func (c *comparison) convertedGroup(d *Difference, list []ndarray.AttrDifference, a, b ndarray.Attrs) ([]ndarray.AttrDifference, error) {
	s := converted.Source{Attrs: a, Format: c.trees[0].Format}
	if file := c.trees[0].HDF5(); file != nil {
		o, done, err := h5tree.ObjectAt(file, d.A.Path)
		if err != nil {
			return nil, err
		}
		defer done() // it was only read
		s.Object = o
	}
	return converted.Attrs(list, s, converted.Target{Attrs: b, Format: c.trees[1].Format}), nil
}

// sameTarget reports whether two external links with relative file names lead to the same object.
// repack and cp rewrite such a name if the new file is in another directory.
func (c *comparison) sameTarget(d *Difference) bool {
	object := func(e *tree.Entry) (string, bool) { return strings.CutPrefix(e.Target, e.TargetFile+":") }
	x, ok := object(d.A)
	y, also := object(d.B)
	if !ok || !also || d.A.TargetFile == "" || cmp.Or(x, "/") != cmp.Or(y, "/") {
		return false
	}
	file := func(i int, name string) string {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(c.trees[i].Location.File), name)
		}
		if whole, err := filepath.Abs(name); err == nil {
			return whole
		}
		return name
	}
	return file(0, d.A.TargetFile) == file(1, d.B.TargetFile)
}
