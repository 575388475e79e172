// Addresses inside a file.

package hdf5

import (
	"math"
	"strconv"
)

// Addr is an address as the file stores it: bytes from the base address, which is
// where the superblock begins.
type Addr uint64

// Undefined is the address of what does not exist.
const Undefined Addr = math.MaxUint64

// Defined reports whether there is an address.
func (a Addr) Defined() bool { return a != Undefined }

// String shows the address in decimal, as h5dump and h5ls do.
func (a Addr) String() string {
	if !a.Defined() {
		return "undefined"
	}
	return strconv.FormatUint(uint64(a), 10)
}
