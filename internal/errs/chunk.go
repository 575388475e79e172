package errs

import "fmt"

// CutChunk explains the error of a chunk of HDF5 at the edge of its dataset that contains only the
// n bytes of the elements inside the dataset.
func CutChunk(err error, n int64) error {
	return fmt.Errorf("%w; the chunk has only the %d bytes of the elements inside the dataset: HDF5 before 2.2 reads it, HDF5 2.2 refuses it", err, n)
}
