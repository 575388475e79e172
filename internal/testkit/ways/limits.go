// Documented limits: the arrays that some ways do not read.

package ways

import (
	"strings"

	"github.com/hyperslab/hyperslab/ndarray"
)

// Limits are the documented limits of all ways.
var Limits = []Limit{
	{Ways: "*worker*", Reason: "elements in other files cannot be read in a sandbox (hyperslab.Untrusted)", Applies: outside},
	{Ways: "*untrusted*", Reason: "elements in other files must be allowed (hyperslab.Untrusted)", Applies: outside},
	{Ways: "ReaderAt+file*", Reason: "elements in other files must be allowed (hyperslab.Untrusted)", Applies: outside},
	{Ways: "ReaderAt*", Reason: "only frames in one file (hyperslab.OpenReaderAt)", Applies: sparse},
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

func sparse(a *Array) bool { return a.Dims["storage"] == "sparse" }

func directory(a *Array) bool {
	return sparse(a) || a.File.Format == "bcolz" || a.File.Format == "ctable"
}
