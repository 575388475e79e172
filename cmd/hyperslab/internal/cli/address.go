// How arrays and parts of them are named on the command line.

package cli

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/formats"
)

// addressHelp ends the long help of each command that takes an address.
const addressHelp = `

An address is FILE:/path for an object inside an HDF5 file, or FILE where the file
is the array.`

// sliceHelp follows addressHelp where the address may name a part of an array.
const sliceHelp = ` A selection behind it takes a part, in NumPy's words:
'FILE:/path[0, 10:20, ::-1]'; quote it for the shell.`

// twoArguments goes on where the command takes one address.
const twoArguments = ` FILE and /path may also be two arguments.`

// address joins FILE and /path given as two arguments.
func address(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	return args[0] + ":/" + strings.TrimPrefix(args[1], "/")
}

// wholeFile refuses the address of an object in a file, for a command that takes files.
func wholeFile(command, source string) error {
	loc, err := formats.ParseLocation(source)
	if _, missing := os.Stat(loc.File); err != nil || loc.Object == "" || missing != nil {
		return err
	}
	return usagef("%s: %s works on whole files; give it %s alone", source, command, loc.File)
}

// splitSelection parts "FILE:/path[0, 10:20]" into the location and the text of the
// selection, "" if there is none. The last pair of brackets is the selection, unless
// the whole is the name of a file; an object whose name ends in a bracket takes a
// selection, if need be "[...]", behind it.
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

// part is an open array, or a view of one; closing it closes both.
type part struct {
	*ndarray.Array
	source    *ndarray.Array // under the view; nil if all of the array is meant
	selection ndarray.Selection
}

// openPart opens what an address with an optional selection names.
func openPart(ctx context.Context, address string, opts ...formats.Option) (*part, error) {
	location, text := splitSelection(address)
	var s ndarray.Selection
	if text != "" {
		var err error
		if s, err = ndarray.ParseSelection(text); err != nil {
			return nil, usagef("%s: %w", address, err)
		}
	}
	arr, err := openArray(ctx, location, opts...)
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
	if p.source != nil {
		err = errors.Join(err, p.source.Close())
	}
	return err
}
