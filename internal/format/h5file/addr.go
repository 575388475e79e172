// Addresses inside a file.

package h5file

import (
	"math"
	"strconv"
)

// Addr is an address as stored in the file: bytes from the base address, which is the start of the
// superblock.
type Addr uint64

// Undefined is the undefined address (HADDR_UNDEF): the structure does not exist.
const Undefined Addr = math.MaxUint64

// Defined reports whether the address is not Undefined.
func (a Addr) Defined() bool { return a != Undefined }

// String returns the address in decimal, as h5dump and h5ls print it.
func (a Addr) String() string {
	if !a.Defined() {
		return "undefined"
	}
	return strconv.FormatUint(uint64(a), 10)
}

// addresses returns the addresses that b consists of, each of size bytes.
func addresses(b []byte, size int) (list []Addr) {
	for ; len(b) >= size; b = b[size:] {
		a := Addr(0)
		for i := range min(size, 8) {
			a |= Addr(b[i]) << (8 * i)
		}
		list = append(list, a)
	}
	return list
}
