// How arrays are named on the command line.

package cli

import "strings"

// addressHelp ends the long help of each command that takes an address.
const addressHelp = `

An address is FILE:/path for an object inside an HDF5 file, or FILE where the file
is the array.`

// twoArguments goes on where the command takes one address.
const twoArguments = ` FILE and /path may also be two arguments.`

// address joins FILE and /path given as two arguments.
func address(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	return args[0] + ":/" + strings.TrimPrefix(args[1], "/")
}
