// Superblocks of HDF5 files before libhdf5 opens them.

package guard

import (
	"errors"
	"io"

	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// Superblock is the start of a superblock, at the offset where libhdf5 finds it.
type Superblock struct {
	Version     uint8
	AddressSize uint8 // size of an address in bytes
}

// FindSuperblock searches for the superblock at the offsets where libhdf5 does
// (H5FD_locate_signature). ok is false if there is none.
func FindSuperblock(r io.ReaderAt, size int64) (s Superblock, ok bool, err error) {
	var b [16]byte
	for base := int64(0); base >= 0 && base <= size-int64(len(b)); base = max(512, 2*base) {
		if n, err := r.ReadAt(b[:], base); n < len(b) {
			return s, false, err
		}
		if string(b[:8]) != h5file.Signature {
			continue
		}
		s = Superblock{Version: b[8], AddressSize: b[9]}
		if s.Version < 2 {
			s.AddressSize = b[13]
		}
		return s, true, nil
	}
	return s, false, nil
}

// watched is a reader that records its first error, because a file that cannot be read was not
// checked, even if h5file.Open reports another error.
type watched struct {
	io.ReaderAt
	err error
}

func (w *watched) ReadAt(b []byte, at int64) (int, error) {
	n, err := w.ReaderAt.ReadAt(b, at)
	if n < len(b) && w.err == nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}

// Unclosed reports whether libhdf5 would truncate the file when it opens it for writing, because
// its writer did not close it, and the size to which it would truncate it. It returns errors of the
// reader, but not those of the content, which libhdf5 reports.
func Unclosed(r io.ReaderAt, size int64) (end int64, unclosed bool, err error) {
	w := watched{ReaderAt: r}
	f, err := h5file.Open(&w, size, nil)
	if w.err != nil {
		return 0, false, w.err
	}
	if err != nil {
		return 0, false, nil //nolint:nilerr // libhdf5 reports the error
	}
	if super := f.Superblock(); super.Version >= 3 && super.Flags&(h5file.WriteAccess|h5file.SWMRWrite) != 0 {
		return 0, false, nil // libhdf5 checks the flags of the writer and refuses the file itself (H5F_open)
	}
	end, unclosed = f.Unclosed()
	return end, unclosed, nil
}

// DriverInfo is the driver information of a file of several members.
type DriverInfo = h5file.DriverInfo

// Driver returns the driver information of the HDF5 file whose first member is r, or nil if it has
// none or is invalid.
func Driver(r io.ReaderAt, size int64) *DriverInfo {
	f, err := h5file.Open(r, size, nil)
	if err != nil {
		return nil
	}
	return f.Driver()
}
