// The version, the filters and the memory of libhdf5.

package h5

// #include "shim.h"
// #cgo noescape goh5_filter_info
// #cgo nocallback goh5_filter_info
import "C"

import "fmt"

// The numbers of libhdf5's built-in filters (H5Z_FILTER_…).
const (
	FilterDeflate     = 1
	FilterShuffle     = 2
	FilterFletcher32  = 3
	FilterSzip        = 4
	FilterNbit        = 5
	FilterScaleOffset = 6
)

// Version returns the version of the linked libhdf5 (H5get_libversion), for example "2.2.0".
func Version() (string, error) {
	lock()
	defer unlock()
	if err := readyLocked("look up version", ""); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d.%d.%d", lib.version[0], lib.version[1], lib.version[2]), nil
}

// FilterAvailability contains the directions that a filter supports in this process.
type FilterAvailability struct {
	Decode, Encode bool
}

// FilterAvailable returns the directions that the filter with that number supports in this process
// (H5Zfilter_avail, H5Zget_filter_info).
func FilterAvailable(id int) (FilterAvailability, error) {
	const op = "look up filter"
	if id < 0 || id > C.H5Z_FILTER_MAX {
		return FilterAvailability{}, &Error{Op: op, Err: fmt.Errorf("%w: filter %d", ErrParam, id)}
	}
	lock()
	defer unlock()
	if err := readyLocked(op, ""); err != nil {
		return FilterAvailability{}, err
	}
	var cerr C.goh5_err_t
	var avail C.int32_t
	var flags C.uint32_t
	if rc := C.goh5_filter_info(&cerr, C.int32_t(id), &avail, &flags); rc < 0 {
		return FilterAvailability{}, newError(op, "", rc, &cerr)
	}
	return FilterAvailability{
		Decode: avail != 0 && flags&C.H5Z_FILTER_CONFIG_DECODE_ENABLED != 0,
		Encode: avail != 0 && flags&C.H5Z_FILTER_CONFIG_ENCODE_ENABLED != 0,
	}, nil
}

// Memory is the memory in libhdf5's free lists, in bytes, by kind of list.
type Memory struct{ Regular, Array, Block, Factory int64 }

// KeptMemory returns the memory that libhdf5 keeps for later use (H5get_free_list_sizes).
func KeptMemory() (Memory, error) {
	const op = "inspect memory"
	lock()
	defer unlock()
	if err := readyLocked(op, ""); err != nil {
		return Memory{}, err
	}
	var cerr C.goh5_err_t
	var out [4]C.uint64_t
	if rc := C.goh5_memory(&cerr, &out[0]); rc < 0 {
		return Memory{}, newError(op, "", rc, &cerr)
	}
	return Memory{int64(out[0]), int64(out[1]), int64(out[2]), int64(out[3])}, nil
}

// ReleaseMemory frees the memory that libhdf5 keeps for later use (H5garbage_collect).
func ReleaseMemory() error {
	const op = "release memory"
	lock()
	defer unlock()
	if err := readyLocked(op, ""); err != nil {
		return err
	}
	var cerr C.goh5_err_t
	if rc := C.goh5_collect(&cerr); rc < 0 {
		return newError(op, "", rc, &cerr)
	}
	return nil
}
