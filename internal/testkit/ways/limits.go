// Documented limits: the arrays that some ways do not read.

package ways

import (
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/ndarray"
)

// Limits are the documented limits of all ways.
var Limits = []Limit{
	{Ways: "*worker*", Reason: "elements in other files cannot be read in a sandbox (hyperslab.Untrusted)", Applies: outside},
	{Ways: "*untrusted*", Reason: "elements in other files must be allowed (hyperslab.Untrusted)", Applies: outside},
	{Ways: "ReaderAt+file*", Reason: "elements in other files must be allowed (hyperslab.Untrusted)", Applies: outside},
	{Ways: "ReaderAt*", Reason: "only frames in one file (hyperslab.OpenReaderAt)", Applies: sparse},
	{Ways: "TreeReaderAt*", Reason: "only formats that are one file (hyperslab.OpenTreeReaderAt)", Applies: directories},
	{Ways: "TreeReaderAt*", Reason: "elements in other files than that of the reader (hyperslab.OpenTreeReaderAt)", Applies: outside},
	{Ways: "TreeFS*", Reason: "elements in other files than that of the reader (hyperslab.OpenTreeFS)", Applies: outside},
	{Ways: "[aA]ppend*", Reason: "an HDF5 array whose maximum shape is its shape does not change its shape (ndarray.Array.Resize)", Applies: fixed},
	{Ways: "Write", Reason: "writes over masked chunks (docs/defects.md)", Applies: masked},
	{Ways: "[aA]ppend*", Reason: "writes over masked chunks (docs/defects.md)", Applies: masked},
	{Ways: "Write", Reason: "files larger than their addresses (docs/defects.md)", Applies: tiny},
	{Ways: "[aA]ppend*", Reason: "files larger than their addresses (docs/defects.md)", Applies: tiny},
	{Ways: "Write", Reason: "writes through lossy filters (docs/defects.md)", Applies: lossy},
	{Ways: "[aA]ppend*", Reason: "writes through lossy filters (docs/defects.md)", Applies: lossy},
	{Ways: "Write", Reason: "Delta after another filter (docs/defects.md)", Applies: lateDelta},
	{Ways: "[aA]ppend*", Reason: "Delta after another filter (docs/defects.md)", Applies: lateDelta},
	{Ways: "Create", Reason: "Delta after another filter (docs/defects.md)", Applies: lateDelta, Err: ndarray.ErrParam},
	{Ways: "Create", Reason: "filters with a parameter are read, not created (ndarray/b2nd)", Applies: parameters},
	{Ways: "CreateTree*", Reason: "n-bit and scale-offset are read, not created (ndarray/hdf5)", Applies: packed},
	{Ways: "convert to .bcolz", Reason: "bcolz ends the process when it reads an array without elements", Err: ErrCrashed, Applies: func(a *Array) bool { return len(a.Want) == 0 }},
	{Ways: "convert to .bcolz", Reason: "bcolz has no scalars, complex numbers, structures and sub-arrays (ndarray/bcolz)", Applies: func(a *Array) bool {
		return len(a.Shape) == 0 || strings.ContainsAny(a.DType, "[{c(V") || a.DType == "sub"
	}},
	{Ways: "convert to .npy", Reason: "NumPy loads no sub-arrays: hyperslab dump --npy writes them as axes (ndarray/npy)", Applies: func(a *Array) bool { return a.DType == "sub" }},
	{Ways: "convert*.h5", Reason: "n-bit and scale-offset are read, and written as another codec (hyperslab convert)", Applies: packed},
	{Ways: "*plan*", Reason: "a scalar has no chunks to divide (plan.New)", Applies: func(a *Array) bool { return len(a.Shape) == 0 }},
	{Ways: "*plan*", Reason: "arrays without elements have no shards (plan.New)", Applies: func(a *Array) bool { return len(a.Want) == 0 }},
	{Ways: "*plan*", Reason: "elements in other files cannot be compared with the plan (plan.New)", Applies: outside},
	{Ways: "repack --cloud", Reason: "a file with n-bit or scale-offset is not written again without --codec (hyperslab repack)", Applies: func(a *Array) bool {
		return slices.ContainsFunc(a.File.Arrays, packed)
	}},
	{Ways: "repack --cloud", Reason: "strings in files of other address sizes (docs/known-issues.md)", Applies: func(*Array) bool { return true }, Err: ErrForm},
	{Ways: "*Encode as NPY", Reason: ".npy has no null elements (hyperslab.Encode)", Applies: nullable},
	{Ways: "*Encode as NPY", Reason: ".npy has no elements of variable size (hyperslab.Encode)", Applies: (*Array).Cells},
	{Ways: "dump* --npy", Reason: ".npy has no null elements (hyperslab dump)", Applies: nullable},
	{Ways: "serve*, [bn][ip2][nyd]*", Reason: "the binary forms have no null elements (package serve)", Applies: nullable},
	{Ways: "serve*, [bC]2*", Reason: "python-blosc2 opens no structures and strings of variable length of a server (package serve)", Applies: func(a *Array) bool { return a.Cells() || strings.ContainsAny(a.DType, "[{") }},
	{Ways: "serve*, csv", Reason: "h5grove has no CSV of scalars and of other elements than numbers (package serve)", Applies: func(a *Array) bool {
		return len(a.Shape) == 0 || len(a.Want) == 0 || a.Cells() || a.Dims["dtype"] == "bits" || strings.ContainsAny(a.DType, "[{c(VM")
	}},
	{Ways: "kerchunk*", Reason: "arrays that Zarr cannot represent (hyperslab index)", Applies: notZarr},
	{Ways: "VirtualiZarr", Reason: "arrays that Zarr cannot represent (hyperslab index)", Applies: notZarr},
	{Ways: "dump* --npy", Reason: ".npy has no elements of variable size (hyperslab dump)", Applies: (*Array).Cells},
	{Ways: "convert*", Reason: "only HDF5 stores elements of variable size (hyperslab convert)", Applies: (*Array).Cells},
	{Ways: "serve*", Reason: "the elements are in another file and are not served (package serve)", Applies: outside},
	{Ways: "serve*, [bn][ip][ny]", Reason: "h5grove has no binary form of strings and bit fields (package serve)", Applies: func(a *Array) bool { return a.Cells() || a.Dims["dtype"] == "bits" }},
	{Ways: "convert URL*", Reason: "elements in other files than that of the URL (hyperslab.Open)", Applies: outside},
	{Ways: "URL*", Reason: "elements in other files than that of the URL (hyperslab.Open)", Applies: outside},
	{Ways: "S3*", Reason: "elements in other files than that of the URL (hyperslab.Open)", Applies: outside},
	{Ways: "URL*", Reason: "a .b2d is a directory, which HTTP cannot list (hyperslab.Open)", Applies: unlisted, Err: ndarray.ErrNotFound},
	{Ways: "S3*", Reason: "a .b2d is a directory, which HTTP cannot list (hyperslab.Open)", Applies: unlisted, Err: ndarray.ErrNotFound},
	{Ways: "URL+untrusted*", Reason: "an untrusted object is copied, which HTTP cannot do with a directory", Applies: directory, Err: ndarray.ErrNotFound},
	{Ways: "URL+worker*", Reason: "an untrusted object is copied, which HTTP cannot do with a directory", Applies: directory, Err: ndarray.ErrNotFound},
}

// tiny reports whether addresses have 2 bytes.
func tiny(a *Array) bool { return a.Dims["file"] == "earliest 2" }

// packed reports whether the filters contain n-bit or scale-offset.
func packed(a *Array) bool {
	return strings.Contains(a.Dims["filters"], "nbit") || strings.Contains(a.Dims["filters"], "scaleoffset")
}

// outside reports whether elements are in other files.
func outside(a *Array) bool { return a.Dims["index"] == "external" || a.Dims["index"] == "virtual" }

func unlisted(a *Array) bool { return strings.HasSuffix(a.File.Name, ".b2d") }

// fixed reports whether an HDF5 array cannot change its shape.
func fixed(a *Array) bool { return a.File.Format == "hdf5" && a.Dims["max"] == "current" }

// masked reports whether chunks may be stored without a filter whose output can have the same
// length: by the generator, or by szip.
func masked(a *Array) bool { return a.Dims["mask"] == "some" || a.Dims["filters"] == "szip" }

// lossy reports whether a filter can change elements.
func lossy(a *Array) bool {
	f := a.Dims["filters"]
	return f == "scaleoffset" && strings.HasPrefix(a.Dims["dtype"], "f") || strings.HasPrefix(f, "truncprec") && a.Dims["level"] != "0"
}

// lateDelta reports whether the filter Delta follows another one.
func lateDelta(a *Array) bool { return strings.HasSuffix(a.Dims["filters"], "+delta") }

// parameters reports whether a filter of a Blosc2 array has a parameter.
func parameters(a *Array) bool {
	f := a.Dims["filters"]
	return strings.Contains(f, "truncprec") || strings.Contains(f, "bytedelta")
}

func nullable(a *Array) bool { return len(a.Nulls) > 0 }

func sparse(a *Array) bool { return a.Dims["storage"] == "sparse" }

func directory(a *Array) bool {
	return sparse(a) || a.File.Format == "bcolz" || a.File.Format == "ctable"
}

// directories reports whether the file of an array is a directory.
func directories(a *Array) bool { return directory(a) || unlisted(a) }

// notZarr reports whether Zarr has no form of the elements, the filters or the masks of an array.
func notZarr(a *Array) bool {
	types := []string{"struct", "vlenint"}
	filters := []string{"bitshuffle", "blosc2", "lz4", "lzf", "nbit", "scaleoffset", "szip"}
	return outside(a) || a.Dims["mask"] == "some" || slices.Contains(types, a.Dims["dtype"]) || slices.Contains(filters, a.Dims["filters"])
}
