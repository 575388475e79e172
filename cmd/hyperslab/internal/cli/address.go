// Addresses of arrays, and selections of parts of them, on the command line.

package cli

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// addressHelp ends the long help of each command that takes an address.
const addressHelp = `

An address is FILE:/path for an object inside an HDF5 file or a container, or FILE if
the file is one array.`

// sliceHelp follows addressHelp if the address may select a part of an array.
const sliceHelp = `
A selection after the path takes a part, as in NumPy: 'FILE:/path[0, 10:20, ::-1]';
quote it for the shell. 'FILE:/path[0:10].field' takes a field of structures.`

// twoArguments follows them if the command takes one address.
const twoArguments = `
FILE and /path may also be two arguments.`

// address joins FILE and /path if they are two arguments.
func address(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	return args[0] + ":/" + strings.TrimPrefix(args[1], "/")
}

// wholeFile returns a usage error for the address of an object in a file, for commands that take
// files.
func wholeFile(command, source string) error {
	loc, err := locate.Parse(source)
	if _, missing := os.Stat(loc.File); err != nil || loc.Object == "" || missing != nil {
		return err
	}
	return usagef("%s: %s works on whole files; give it %s alone", source, command, loc.File)
}

// splitSelection splits "FILE:/path[0, 10:20]" into the location and the text of the selection, or
// "" without one. The last pair of brackets is the selection, unless a file with the whole
// name exists. For an object whose name ends in a bracket, a selection such as "[...]" must follow.
// A field of structures may follow the selection, as in "FILE:/path[0:10].field", if the location
// names an existing file; cutField splits both.
func splitSelection(address string) (location, selection string) {
	if _, err := os.Stat(address); err == nil {
		return address, ""
	}
	if strings.HasSuffix(address, "]") {
		return splitBrackets(address, len(address))
	}
	end := strings.LastIndex(address, "].") + 1
	if end == 0 || strings.Contains(address[end:], "/") {
		return address, ""
	}
	location, selection = splitBrackets(address, end)
	if selection == "" {
		return address, ""
	}
	if loc, err := locate.Parse(location); err != nil || !remote.IsURL(loc.File) && !regularfile.Exists(loc.File) {
		return address, "" // a pattern, or a name with brackets
	}
	return location, selection
}

// splitBrackets splits an address before the brackets that end at end.
func splitBrackets(address string, end int) (location, selection string) {
	depth := 0
	for i := end - 1; i > 0; i-- {
		switch address[i] {
		case ']':
			depth++
		case '[':
			if depth--; depth == 0 {
				return address[:i], address[i:]
			}
		}
	}
	return address, ""
}

// part is an open array, or a view of one. Closing it closes both.
type part struct {
	*ndarray.Array
	source    *ndarray.Array // the array of the view; nil if the part is the whole array
	selection ndarray.Selection
	views     []*ndarray.Array // arrays that Array shows in another form, the first one first
	tree      *hyperslab.Tree  // the tree that opened the array; nil: it was opened alone
	file      string           // of the tree
}

// openNear opens another array, in the tree of the part if that is of the same file.
func (a *app) openNear(ctx context.Context, p *part, at locate.Location) (*ndarray.Array, error) {
	if p.tree != nil && p.file == at.File {
		return p.tree.Open(ctx, at.Object)
	}
	return a.openArray(ctx, at.String())
}

// openPart opens the array at an address with an optional selection.
func (a *app) openPart(ctx context.Context, address string) (*part, error) {
	return a.openPartAs(ctx, address, nil)
}

// openPartAs is openPart with a type for elements that are stored without one.
func (a *app) openPartAs(ctx context.Context, address string, d *ndarray.DType) (*part, error) {
	location, selection := splitSelection(address)
	return openSelected(address, selection, func() (*ndarray.Array, error) {
		o := a.openOptions()
		o.DType = d
		return a.open(ctx, location, *o)
	})
}

// openSelected opens an array with open, and the view of the selection of its address.
func openSelected(address, selection string, open func() (*ndarray.Array, error)) (*part, error) {
	text, field := cutField(selection)
	var s ndarray.Selection
	if text != "" {
		var err error
		if s, err = ndarray.ParseSelection(text); err != nil {
			return nil, usagef("%s: %w", address, err)
		}
	}
	arr, err := open()
	if err != nil {
		return nil, err
	}
	if text == "" {
		return &part{Array: arr}, nil
	}
	view, err := ndarray.View(arr, s)
	if err != nil {
		return nil, errors.Join(err, arr.Close())
	}
	p := &part{Array: view, source: arr, selection: s}
	if field != "" {
		shown, err := newFieldView(view, field)
		if err != nil {
			return nil, errors.Join(err, p.Close())
		}
		p.show(shown)
	}
	return p, nil
}

// openEither opens the file of an address once. If an array is there, it returns the array or its
// selected part, which closes the tree. If a group is there, p is nil and the caller closes the
// tree. A ctable is a group.
func (a *app) openEither(ctx context.Context, address string) (tree *hyperslab.Tree, p *part, err error) {
	whole, err := locate.Parse(address)
	if err != nil {
		return nil, nil, err
	}
	location, selection := splitSelection(address)
	in, err := locate.Parse(location)
	if err != nil {
		return nil, nil, err
	}
	mayBeGroup := whole.File == in.File // the name of a group can end like a selection
	if !mayBeGroup {
		whole = in
	}
	if tree, err = a.openTree(ctx, whole.String()); err != nil {
		return nil, nil, err
	}
	var unlisted error
	if mayBeGroup {
		group := false
		if group, unlisted = isGroup(ctx, tree, address); group {
			return tree, nil, nil
		}
	}
	if a.access.dtype != nil { // which is for Open
		if err := tree.Close(); err != nil {
			return nil, nil, err
		}
		p, err := a.openPart(ctx, address)
		return nil, p, err
	}
	if p, err = openFrom(ctx, tree, in, address, selection); err != nil {
		if unlisted != nil && selection == "" && errors.Is(err, ndarray.ErrParam) && !errors.Is(unlisted, ndarray.ErrParam) {
			err = unlisted // err is only that the name of an array in the file is missing
		}
		return nil, nil, errors.Join(err, tree.Close())
	}
	return tree, p, nil
}

// openFrom opens the array at a location in a tree, with the selection of its address. The part
// closes the tree.
func openFrom(ctx context.Context, tree *hyperslab.Tree, in locate.Location, address, selection string) (*part, error) {
	p, err := openSelected(address, selection, func() (*ndarray.Array, error) { return tree.Open(ctx, in.Object) })
	if err == nil {
		p.tree, p.file = tree, in.File
	}
	return p, err
}

// openInTree is openPart for a command that also opens other arrays of the file, with openNear.
func (a *app) openInTree(ctx context.Context, address string) (*part, error) {
	if a.access.dtype != nil { // which is for Open
		return a.openPart(ctx, address)
	}
	location, selection := splitSelection(address)
	in, err := locate.Parse(location)
	if err != nil {
		return nil, err
	}
	tree, err := a.openTree(ctx, location)
	if err != nil {
		return nil, err
	}
	p, err := openFrom(ctx, tree, in, address, selection)
	if err != nil {
		return nil, errors.Join(err, tree.Close())
	}
	return p, nil
}

// show replaces the array by one that shows it in another form.
func (p *part) show(shown *ndarray.Array) {
	p.views, p.Array = append(p.views, p.Array), shown
}

// Close closes the array.
func (p *part) Close() error {
	err := p.Array.Close()
	for _, view := range slices.Backward(p.views) {
		err = errors.Join(err, view.Close())
	}
	if p.source != nil {
		err = errors.Join(err, p.source.Close())
	}
	if p.tree != nil {
		err = errors.Join(err, p.tree.Close())
	}
	return err
}
