// Addresses of arrays, and selections of parts of them, on the command line.

package shell

import (
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/shellword"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// AddressHelp ends the long help of each command that takes an address.
const AddressHelp = `

An address is FILE:/path for an object inside an HDF5 file or a container, or FILE if
the file is one array.`

// SliceHelp follows addressHelp if the address may select a part of an array.
const SliceHelp = `
A selection after the path takes a part, as in NumPy: 'FILE:/path[0, 10:20, ::-1]';
quote it for the shell. 'FILE:/path[0:10].field' takes a field of structures.`

// TwoArguments follows them if the command takes one address.
const TwoArguments = `
FILE and /path may also be two arguments.`

// Address joins FILE and /path if they are two arguments.
func Address(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	return args[0] + ":/" + strings.TrimPrefix(args[1], "/")
}

// WholeFile returns a usage error for the address of an object in a file, for commands that take
// files.
func WholeFile(command, source string) error {
	loc, err := locate.Parse(source)
	if _, missing := os.Stat(loc.File); err != nil || loc.Object == "" || missing != nil {
		return err
	}
	return Usagef("%s: %s works on whole files; give it %s alone", source, command, loc.File)
}

// SplitSelection splits "FILE:/path[0, 10:20]" into the location and the text of the selection, or
// "" without one. The last pair of brackets is the selection, unless a file with the whole
// name exists. For an object whose name ends in a bracket, a selection such as "[...]" must follow.
// A field of structures may follow the selection, as in "FILE:/path[0:10].field", if the location
// names an existing file; cutField splits both.
func SplitSelection(address string) (location, selection string) {
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

// Part is an open array, or a view of one. Closing it closes both.
type Part struct {
	*ndarray.Array
	Source    *ndarray.Array // the array of the view; nil if the part is the whole array
	Selection ndarray.Selection
	views     []*ndarray.Array // arrays that Array shows in another form, the first one first
	Tree      *hyperslab.Tree  // the tree that opened the array; nil: it was opened alone
	file      string           // of the tree
}

// Selected returns the part of an array at a path of an open tree. The caller closes the array of
// the part, and not the part.
func Selected(arr *ndarray.Array, s ndarray.Selection, tree *hyperslab.Tree, file string) (*Part, error) {
	view, err := ndarray.View(arr, s)
	return &Part{Array: view, Source: arr, Selection: s, Tree: tree, file: file}, err
}

// OpenNear opens another array, in the tree of the part if that is of the same file.
func (a *App) OpenNear(ctx context.Context, p *Part, at locate.Location) (*ndarray.Array, error) {
	if p.Tree != nil && p.file == at.File {
		return p.Tree.Open(ctx, at.Object)
	}
	return a.OpenArray(ctx, at.String())
}

// OpenPart opens the array at an address with an optional selection.
func (a *App) OpenPart(ctx context.Context, address string) (*Part, error) {
	return a.OpenPartAs(ctx, address, nil)
}

// OpenPartAs is openPart with a type for elements that are stored without one.
func (a *App) OpenPartAs(ctx context.Context, address string, d *ndarray.DType) (*Part, error) {
	location, selection := SplitSelection(address)
	return openSelected(address, selection, func() (*ndarray.Array, error) {
		o := a.openOptions()
		o.DType = d
		return a.Open(ctx, location, *o)
	})
}

// openSelected opens an array with open, and the view of the selection of its address.
func openSelected(address, selection string, open func() (*ndarray.Array, error)) (*Part, error) {
	text, field := CutField(selection)
	var s ndarray.Selection
	if text != "" {
		var err error
		if s, err = ndarray.ParseSelection(text); err != nil {
			return nil, Hintf(selectionAdvice(address, text), "%s: %w", address, err)
		}
	}
	arr, err := open()
	if err != nil {
		return nil, err
	}
	if text == "" {
		return &Part{Array: arr}, nil
	}
	view, err := ndarray.View(arr, s)
	if err != nil {
		return nil, errors.Join(err, arr.Close())
	}
	p := &Part{Array: view, Source: arr, Selection: s}
	if field != "" {
		shown, err := newFieldView(view, field)
		if err != nil {
			return nil, errors.Join(err, p.Close())
		}
		p.Show(shown)
	}
	return p, nil
}

// named matches a selection that is the name of a field, and dashed one with a dash in place of a
// colon.
var named, dashed = regexp.MustCompile(`^\[\s*["']?(\pL[\pL\pN_]*)["']?\s*\]$`), regexp.MustCompile(`^\[\s*([0-9]+)-([0-9]+)\s*\]$`)

// selectionAdvice returns advice for a selection that cannot be parsed.
func selectionAdvice(address, text string) string {
	array := strings.TrimSuffix(address, text)
	if m := named.FindStringSubmatch(text); m != nil {
		return "a field of structures follows the selection: " + shellword.Quote(array+"[...]."+m[1])
	}
	if m := dashed.FindStringSubmatch(text); m != nil {
		return "did you mean " + shellword.Quote(array+"["+m[1]+":"+m[2]+"]") + "?"
	}
	return "a selection consists of integers and slices with a step other than 0, as in NumPy: 'FILE:/path[0, 10:20, ::-2]'"
}

// OpenEither opens the file of an address once. If an array is there, it returns the array or its
// selected part, which closes the tree. If a group is there, p is nil and the caller closes the
// tree. A ctable is a group.
func (a *App) OpenEither(ctx context.Context, address string) (tree *hyperslab.Tree, p *Part, err error) {
	whole, err := locate.Parse(address)
	if err != nil {
		return nil, nil, err
	}
	location, selection := SplitSelection(address)
	in, err := locate.Parse(location)
	if err != nil {
		return nil, nil, err
	}
	mayBeGroup := whole.File == in.File // the name of a group can end like a selection
	if !mayBeGroup {
		whole = in
	}
	if tree, err = a.OpenTree(ctx, whole.String()); err != nil {
		return nil, nil, err
	}
	var unlisted error
	if mayBeGroup {
		group := false
		if group, unlisted = IsGroup(ctx, tree, address); group {
			return tree, nil, nil
		}
	}
	if a.Access.Dtype != nil { // which is for Open
		if err := tree.Close(); err != nil {
			return nil, nil, err
		}
		p, err := a.OpenPart(ctx, address)
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
func openFrom(ctx context.Context, tree *hyperslab.Tree, in locate.Location, address, selection string) (*Part, error) {
	p, err := openSelected(address, selection, func() (*ndarray.Array, error) { return tree.Open(ctx, in.Object) })
	if err == nil {
		p.Tree, p.file = tree, in.File
	}
	return p, err
}

// OpenInTree is openPart for a command that also opens other arrays of the file, with openNear.
func (a *App) OpenInTree(ctx context.Context, address string) (*Part, error) {
	if a.Access.Dtype != nil { // which is for Open
		return a.OpenPart(ctx, address)
	}
	location, selection := SplitSelection(address)
	in, err := locate.Parse(location)
	if err != nil {
		return nil, err
	}
	tree, err := a.OpenTree(ctx, location)
	if err != nil {
		return nil, err
	}
	if in.Object == "" && tree.Format == hyperslab.HDF5 { // no array: Open returns the reason
		if err := tree.Close(); err != nil {
			return nil, err
		}
		return a.OpenPart(ctx, address)
	}
	p, err := openFrom(ctx, tree, in, address, selection)
	if err != nil {
		return nil, errors.Join(err, tree.Close())
	}
	return p, nil
}

// Show replaces the array by one that shows it in another form.
func (p *Part) Show(shown *ndarray.Array) {
	p.views, p.Array = append(p.views, p.Array), shown
}

// Close closes the array.
func (p *Part) Close() error {
	err := p.Array.Close()
	for _, view := range slices.Backward(p.views) {
		err = errors.Join(err, view.Close())
	}
	if p.Source != nil {
		err = errors.Join(err, p.Source.Close())
	}
	if p.Tree != nil {
		err = errors.Join(err, p.Tree.Close())
	}
	return err
}
