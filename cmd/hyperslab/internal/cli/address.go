// Addresses of arrays, and selections of parts of them, on the command line.

package cli

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

// addressHelp ends the long help of each command that takes an address.
const addressHelp = `

An address is FILE:/path for an object inside an HDF5 file, or FILE where the file
is the array.`

// sliceHelp follows addressHelp if the address may select a part of an array.
const sliceHelp = ` A selection after the path takes a part, as in NumPy:
'FILE:/path[0, 10:20, ::-1]'; quote it for the shell.`

// twoArguments follows them if the command takes one address.
const twoArguments = ` FILE and /path may also be two arguments.`

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
	loc, err := hyperslab.ParseLocation(source)
	if _, missing := os.Stat(loc.File); err != nil || loc.Object == "" || missing != nil {
		return err
	}
	return usagef("%s: %s works on whole files; give it %s alone", source, command, loc.File)
}

// splitSelection splits "FILE:/path[0, 10:20]" into the location and the text of the selection, or
// "" without one. The last pair of brackets is the selection, unless a file with the whole
// name exists. For an object whose name ends in a bracket, a selection such as "[...]" must follow.
func splitSelection(address string) (location, selection string) {
	if !strings.HasSuffix(address, "]") {
		return address, ""
	}
	if _, err := os.Stat(address); err == nil {
		return address, ""
	}
	depth := 0
	for i := len(address) - 1; i > 0; i-- {
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
	texts     *ndarray.Array // the array that Array shows with another type of strings, or nil
	selection ndarray.Selection
}

// openPart opens the array at an address with an optional selection.
func (a *app) openPart(ctx context.Context, address string) (*part, error) {
	return a.openPartAs(ctx, address, nil)
}

// openPartAs is openPart with a type for elements that are stored without one.
func (a *app) openPartAs(ctx context.Context, address string, d *ndarray.DType) (*part, error) {
	location, text := splitSelection(address)
	var s ndarray.Selection
	if text != "" {
		var err error
		if s, err = ndarray.ParseSelection(text); err != nil {
			return nil, usagef("%s: %w", address, err)
		}
	}
	o := a.openOptions()
	o.DType = d
	arr, err := hyperslab.Open(ctx, location, o)
	if err != nil || text == "" {
		return &part{Array: arr}, err
	}
	view, err := ndarray.View(arr, s)
	if err != nil {
		return nil, errors.Join(err, arr.Close())
	}
	return &part{Array: view, source: arr, selection: s}, nil
}

// Close closes the array.
func (p *part) Close() error {
	err := p.Array.Close()
	if p.texts != nil {
		err = errors.Join(err, p.texts.Close())
	}
	if p.source != nil {
		err = errors.Join(err, p.source.Close())
	}
	return err
}
