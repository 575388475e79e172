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
	{Ways: "Append", Reason: "HDF5 arrays grow up to their maximum shape, and compact ones not (ndarray.Array.Resize)", Applies: func(a *Array) bool { return a.File.Format == "hdf5" }},
	{Ways: "Write", Reason: "libhdf5 does not update the filter mask of a chunk that keeps its length (ndarray/hdf5)", Applies: masked},
	{Ways: "Append", Reason: "libhdf5 does not update the filter mask of a chunk that keeps its length (ndarray/hdf5)", Applies: masked},
	{Ways: "Write", Reason: "lossy filters change other elements of a chunk (ndarray/hdf5)", Applies: lossy},
	{Ways: "Append", Reason: "lossy filters change other elements of a chunk (ndarray/hdf5)", Applies: lossy},
	{Ways: "Write", Reason: "pipelines that C-Blosc2 stores wrong are refused (docs/defects.md)", Applies: pipelines},
	{Ways: "Append", Reason: "pipelines that C-Blosc2 stores wrong are refused (docs/defects.md)", Applies: pipelines},
	{Ways: "Create", Reason: "filters that C-Blosc2 applies only for special elements (ndarray/b2nd)", Applies: pipelines},
	{Ways: "Create", Reason: "delta must be the first filter (ndarray/b2nd)", Applies: pipelines, Err: ndarray.ErrParam},
	{Ways: "convert to .bcolz", Reason: "bcolz ends the process when it reads an array without elements", Err: ErrCrashed, Applies: func(a *Array) bool { return len(a.Want) == 0 }},
	{Ways: "convert to .bcolz", Reason: "bcolz has no scalars, complex numbers and structures (ndarray/bcolz)", Applies: func(a *Array) bool {
		return len(a.Shape) == 0 || strings.ContainsAny(a.DType, "[{c(V")
	}},
	{Ways: "*plan*", Reason: "a scalar has no chunks to divide (plan.New)", Applies: func(a *Array) bool { return len(a.Shape) == 0 }},
	{Ways: "*plan*", Reason: "arrays without elements have no shards (plan.New)", Applies: func(a *Array) bool { return len(a.Want) == 0 }},
	{Ways: "*plan*", Reason: "elements in other files cannot be compared with the plan (plan.New)", Applies: outside},
	{Ways: "repack*", Reason: "filters that can be read but not written are replaced with --codec only (hyperslab repack)", Applies: pipelines},
	{Ways: "repack --cloud", Reason: "filters that can be read but not written are replaced with --codec only (hyperslab repack)", Applies: func(a *Array) bool {
		return slices.ContainsFunc(a.File.Arrays, lossy)
	}},
	{Ways: "dump* --npy", Reason: ".npy has no null elements (hyperslab dump)", Applies: nullable},
	{Ways: "serve*, [bn][ip2][nyd]*", Reason: "the binary forms have no null elements (package serve)", Applies: nullable},
	{Ways: "serve*, b2nd", Reason: "python-blosc2 opens no structures and strings of variable length of a server (package serve)", Applies: func(a *Array) bool { return a.Cells() || strings.ContainsAny(a.DType, "[{") }},
	{Ways: "serve*, csv", Reason: "h5grove has no CSV of scalars and of other elements than numbers (package serve)", Applies: func(a *Array) bool {
		return len(a.Shape) == 0 || len(a.Want) == 0 || a.Cells() || strings.ContainsAny(a.DType, "[{c(VM")
	}},
	{Ways: "kerchunk", Reason: "arrays that Zarr cannot represent (hyperslab index)", Applies: func(*Array) bool { return true }},
	{Ways: "dump* --npy", Reason: ".npy has no elements of variable size (hyperslab dump)", Applies: (*Array).Cells},
	{Ways: "convert*", Reason: "only HDF5 stores elements of variable size (hyperslab convert)", Applies: (*Array).Cells},
	{Ways: "serve*", Reason: "the elements are in another file and are not served (package serve)", Applies: outside},
	{Ways: "serve*, [bn][ip][ny]", Reason: "h5grove has no binary form of strings and bit fields (package serve)", Applies: func(a *Array) bool { return a.Cells() || a.Dims["dtype"] == "bits" }},
	{Ways: "URL*", Reason: "elements in other files than that of the URL (hyperslab.Open)", Applies: outside},
	{Ways: "S3*", Reason: "elements in other files than that of the URL (hyperslab.Open)", Applies: outside},
	{Ways: "URL*", Reason: "a .b2d is a directory, which HTTP cannot list (hyperslab.Open)", Applies: unlisted, Err: ndarray.ErrNotFound},
	{Ways: "S3*", Reason: "a .b2d is a directory, which HTTP cannot list (hyperslab.Open)", Applies: unlisted, Err: ndarray.ErrNotFound},
	{Ways: "URL+untrusted*", Reason: "an untrusted object is copied, which HTTP cannot do with a directory", Applies: directory, Err: ndarray.ErrNotFound},
	{Ways: "URL+worker*", Reason: "an untrusted object is copied, which HTTP cannot do with a directory", Applies: directory, Err: ndarray.ErrNotFound},
}

// outside reports whether elements are in other files.
func outside(a *Array) bool { return a.Dims["index"] == "external" || a.Dims["index"] == "virtual" }

func unlisted(a *Array) bool { return strings.HasSuffix(a.File.Name, ".b2d") }

// masked reports whether chunks may be stored without a filter: by the generator, or because an
// optional filter did not shorten them.
func masked(a *Array) bool { return a.File.Format == "hdf5" && a.Dims["filters"] != "none" }

func lossy(a *Array) bool { return a.Dims["filters"] == "scaleoffset" }

func pipelines(a *Array) bool {
	f := a.Dims["filters"]
	return strings.Contains(f, "trunc") || strings.Contains(f, "bytedelta") || strings.Contains(f, "+delta")
}

func nullable(a *Array) bool { return len(a.Nulls) > 0 }

func sparse(a *Array) bool { return a.Dims["storage"] == "sparse" }

func directory(a *Array) bool {
	return sparse(a) || a.File.Format == "bcolz" || a.File.Format == "ctable"
}
