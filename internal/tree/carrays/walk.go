// Listing of a directory.

package carrays

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
)

// hasGroup reports whether a nested ctable has columns in a group.
func hasGroup(t *bcolz.Table, group string) bool {
	return slices.ContainsFunc(t.Names, func(name string) bool { return strings.HasPrefix(name, group+"/") })
}

// Walk visits a carray, a column, or a ctable with its columns in their order.
func (d *directory) Walk(ctx context.Context, at string, o *tree.WalkOptions, visit tree.Visit) error {
	if err := d.s.Ready(ctx); err != nil {
		return err
	}
	w := &walk{ctx: ctx, visit: tree.Visitor(ctx, o, visit), source: d.s}
	object, opts := strings.Trim(at, "/"), d.options(nil)
	table, err := d.table(ctx, opts)
	switch {
	case errors.Is(err, ndarray.ErrFormat) && object == "":
		b, err := d.carray(ctx, opts)
		return w.array("/", b, err)
	case errors.Is(err, ndarray.ErrFormat):
		return isCarray(at)
	case err != nil:
		return err
	case slices.Contains(table.Names, object):
		b, err := table.Column(object)
		return w.array("/"+object, b, err)
	}
	if object != "" && !hasGroup(table, object) {
		return fmt.Errorf("%w: no column or group %s in %s", ndarray.ErrNotFound, at, d.s.Name)
	}
	return w.columns(table, object)
}

// walk is one walk.
type walk struct {
	ctx    context.Context
	visit  tree.Visit
	source *tree.Source
}

// columns visits a group of a ctable and its columns. The groups of a nested ctable below its root
// are the directories in the names of its columns.
func (w *walk) columns(table *bcolz.Table, root string) error {
	skipped := make(map[string]bool) // the listed groups, and whether their members are skipped
	list := func(group string) (bool, error) {
		if skip, known := skipped[group]; known {
			return skip, nil
		}
		e := tree.Entry{Path: "/" + group, Kind: tree.Group}
		if group == "" {
			e.Attrs = len(table.Attrs.List) + len(table.Attrs.Unsupported)
		}
		descend, err := w.visit(e)
		skipped[group] = !descend
		return !descend, err
	}
	if skip, err := list(root); skip || err != nil {
		return err
	}
	for _, name := range table.Names {
		below, inside := strings.CutPrefix("/"+name, strings.TrimSuffix("/"+root, "/")+"/")
		if !inside {
			continue
		}
		group, skip := root, false
		var err error
		for dirs := strings.Split(below, "/"); len(dirs) > 1 && !skip && err == nil; dirs = dirs[1:] {
			group = path.Join(group, dirs[0])
			skip, err = list(group)
		}
		if err == nil && !skip {
			err = w.column(table, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// column visits one column. A column that cannot be opened is an entry with an error.
func (w *walk) column(table *bcolz.Table, name string) error {
	b, err := table.Column(name)
	if err != nil {
		return w.visit.Leaf(tree.Entry{Path: "/" + name, Kind: tree.Array, Err: err})
	}
	return w.array("/"+name, b, nil)
}

// array visits one newly opened array. If ndarray does not have its element type, it is an entry
// with an error.
func (w *walk) array(at string, b ndarray.Backend, openErr error) error {
	if openErr != nil {
		if !errors.Is(openErr, ndarray.ErrType) {
			return openErr
		}
		return w.visit.Leaf(tree.Entry{Path: at, Kind: tree.Array, Err: openErr})
	}
	e, err := tree.Describe(w.ctx, at, b)
	if err != nil {
		return err
	}
	if w.source.Trust != nil || w.source.IsDir() && !w.source.Remote { // opened by files with relative names
		e.Meta.Path = path.Join(w.source.Name, e.Meta.Path)
	}
	return w.visit.Leaf(e)
}
