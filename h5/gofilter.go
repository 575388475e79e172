// Filters written in Go, and plugins.

package h5

// #include "shim.h"
import "C"

import (
	"fmt"
	"os"
	"slices"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/cmem"
)

// GoFilter is a filter written in Go. Its functions run inside an operation, one call at a time,
// and must not use this package: such a call returns ErrReentrant. If a function returns an error
// or panics, the operation returns that error.
type GoFilter struct {
	ID   int    // 256 to 65535; the HDF Group registers the numbers below 32768
	Name string // stored in the files

	// Decode reverses Encode for one chunk. Encode is nil if the filter is read-only. values are
	// the filter values of the dataset. src is valid only during the call; the function may change
	// it and return it. The result must not be empty.
	Decode, Encode func(src []byte, values []uint32) ([]byte, error)

	// Prepare, if not nil, is called when a dataset is created, with its datatype, its chunk shape
	// in elements and the requested values. It returns the values to store, or an error if the
	// filter does not support the dataset.
	Prepare func(dt Datatype, chunk []int64, values []uint32) ([]uint32, error)
}

// firstGoFilter is H5Z_FILTER_RESERVED.
const firstGoFilter = 256

// A filterSlot is one of the slots for which the shim has C functions.
type filterSlot struct {
	filter *GoFilter      // nil: free
	name   unsafe.Pointer // C string, because libhdf5 does not copy the name
}

// goFilters are the registered filters, guarded by the library lock.
var goFilters [C.GOH5_FILTER_SLOTS]filterSlot

// RegisterFilter registers the filter for all files of the process (H5Zregister). It returns
// ErrExists if a filter with that number is registered, ErrParam for an invalid filter, or ErrSize
// if 32 filters are registered already.
func RegisterFilter(f GoFilter) error {
	const op = "register filter"
	fail := func(err error) error { return &Error{Op: op, Path: f.Name, Err: err} }
	if f.ID < firstGoFilter || f.ID > maxFilter || f.Decode == nil || f.Name == "" || hasNUL(f.Name) {
		return fail(fmt.Errorf("%w: filter %d %q", ErrParam, f.ID, f.Name))
	}
	name, err := cmem.String(f.Name)
	if err != nil {
		return fail(err)
	}
	if err := register(op, &f, name); err != nil {
		cmem.Free(name)
		return err
	}
	return nil
}

func register(op string, f *GoFilter, name unsafe.Pointer) error {
	lock()
	defer unlock()
	if err := readyLocked(op, f.Name); err != nil {
		return err
	}
	var cerr C.goh5_err_t
	var avail C.int32_t
	var flags C.uint32_t
	if rc := C.goh5_filter_info(&cerr, C.int32_t(f.ID), &avail, &flags); rc < 0 {
		return newError(op, f.Name, rc, &cerr)
	}
	if avail != 0 {
		return &Error{Op: op, Path: f.Name, Err: fmt.Errorf("%w: filter %d", ErrExists, f.ID)}
	}
	for slot := range goFilters {
		place := &goFilters[slot]
		if place.filter != nil {
			continue
		}
		truth := map[bool]C.int32_t{true: 1}
		rc := C.goh5_filter_register(&cerr, C.uint32_t(slot), C.int32_t(f.ID), (*C.char)(name), truth[f.Encode != nil], truth[f.Prepare != nil])
		if rc < 0 {
			return newError(op, f.Name, rc, &cerr)
		}
		place.filter, place.name = f, name
		lib.masks++
		return nil
	}
	return &Error{Op: op, Path: f.Name, Err: fmt.Errorf("%w: %d filters are registered", ErrSize, len(goFilters))}
}

// RegisterFilterClass registers a filter written in C (H5Zregister). class points to an
// H5Z_class2_t. libhdf5 keeps a pointer to the name of the class, so the name must stay valid. A
// filter with the same number is replaced. Registration through this function rather than directly
// lets this package run the filter when it checks stored chunks. It returns ErrSize for more than
// 64 filters.
func RegisterFilterClass(class unsafe.Pointer) error {
	const op = "register filter"
	if class == nil {
		return &Error{Op: op, Err: fmt.Errorf("%w: no class", ErrParam)}
	}
	lock()
	defer unlock()
	if err := readyLocked(op, ""); err != nil {
		return err
	}
	var cerr C.goh5_err_t
	if rc := C.goh5_filter_class(&cerr, class); rc < 0 {
		return newError(op, "", rc, &cerr)
	}
	lib.masks++
	return nil
}

// UnregisterFilter removes a filter registered by RegisterFilter (H5Zunregister). It returns
// ErrNotFound if there is no such filter, and a libhdf5 error while a dataset that uses it is open.
// It flushes every open file.
func UnregisterFilter(id int) error {
	const op = "unregister filter"
	lock()
	defer unlock()
	if err := readyLocked(op, ""); err != nil {
		return err
	}
	slot := slices.IndexFunc(goFilters[:], func(p filterSlot) bool { return p.filter != nil && p.filter.ID == id })
	if slot < 0 {
		return &Error{Op: op, Err: fmt.Errorf("%w: filter %d written in Go", ErrNotFound, id)}
	}
	var cerr C.goh5_err_t
	if rc := C.goh5_filter_unregister(&cerr, C.int32_t(id)); rc < 0 {
		return newError(op, goFilters[slot].filter.Name, rc, &cerr)
	}
	cmem.Free(goFilters[slot].name)
	goFilters[slot] = filterSlot{}
	lib.masks++
	return nil
}

// AllowPlugins allows libhdf5 to load filters from the shared objects in these directories only.
// Without directories libhdf5 loads no plugins, which is the default when the program starts
// (H5PLset_loading_state, H5PLappend, H5PLremove). Plugin code runs in this process.
func AllowPlugins(directories ...string) error {
	const op = "allow plugins"
	spec := appendInt(nil, int64(len(directories)))
	for _, directory := range directories {
		info, err := os.Stat(directory)
		if err == nil && !info.IsDir() || hasNUL(directory) {
			err = fmt.Errorf("%w: no directory", ErrParam)
		}
		if err != nil {
			return &Error{Op: op, Path: directory, Err: err}
		}
		spec = appendText(spec, directory)
	}
	lock()
	defer unlock()
	if err := readyLocked(op, ""); err != nil {
		return err
	}
	var cerr C.goh5_err_t
	if rc := C.goh5_plugins_set(&cerr, cBytes(spec), C.size_t(len(spec))); rc < 0 {
		return newError(op, "", rc, &cerr)
	}
	pluginsAllowed = pluginsAllowed || len(directories) > 0
	lib.masks++
	return nil
}

// PluginDirs returns the directories that plugins are loaded from. The result is empty if
// plugins are disabled (H5PLget_loading_state, H5PLsize, H5PLget).
func PluginDirs() ([]string, error) {
	const op = "list plugin directories"
	lock()
	defer unlock()
	if err := readyLocked(op, ""); err != nil {
		return nil, err
	}
	var cerr C.goh5_err_t
	var blob C.goh5_blob_t
	if rc := C.goh5_plugins(&cerr, &blob); rc < 0 {
		return nil, newError(op, "", rc, &cerr)
	}
	return takeBlob(&blob).stringList(), nil
}
