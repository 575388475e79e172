package h5file_test

import (
	"bytes"
	"fmt"
	"os"

	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// This example checks an untrusted file before libhdf5 opens it.
func ExampleFile_Check() {
	b := []byte(h5file.Signature + "\x02\x08\x08 not a file")
	f, err := h5file.Open(bytes.NewReader(b), int64(len(b)), nil)
	if err == nil {
		err = f.Check(h5file.Policy{})
	}
	fmt.Println(err)
	// Output:
	// hdf5: superblock at byte 16: got 22 bytes, want 48: truncated
}

// This example prints the structures of a file and the first error.
func ExampleDescribe() {
	b := []byte(h5file.Signature + "\x00\x00\x00\x00\x00\x08\x07\x00")
	if err := h5file.Describe(bytes.NewReader(b), int64(len(b))).WriteText(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 0         16  HDF5 file
	//          0         16    superblock
	//          0          8      signature                    894844460d0a1a0a
	//          8          1      version                      0
	//          9          1      version of free-space storage 0
	//         10          1      version of root group symbol table entry 0
	//         11          1      reserved
	//         12          1      version of shared header message format 0
	//         13          1      size of offsets              8
	//         14          1      size of lengths              7  ! got 7, want 2, 4 or 8: corrupt
}
