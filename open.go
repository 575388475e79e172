// Formats, and Open, which detects them by content.

package hyperslab

import (
	"context"
	"log/slog"

	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/opened"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Format is a storage format.
type Format string

// The formats that files can have.
const (
	B2ND  Format = detect.B2ND // a Blosc2 frame, in one file or a sparse directory, also if it contains no array
	HDF5  Format = detect.HDF5
	Bcolz Format = detect.Bcolz // a directory: a carray, or a ctable with its columns

	Caterva   Format = detect.Caterva   // a Blosc2 frame of the ancestor of b2nd, which stores no element type
	Directory Format = detect.Directory // directory of b2nd files, bcolz directories and subdirectories

	// The containers of python-blosc2: DictStore and TreeStore in a ZIP file or a directory, and
	// EmbedStore, a frame that embeds other frames.
	B2Z Format = detect.B2Z
	B2D Format = detect.B2D
	B2E Format = detect.B2E

	NPY Format = detect.NPY // the .npy format of NumPy
)

// OpenOptions are the options of Open, OpenReaderAt and OpenTree. Nil means the zero value.
type OpenOptions struct {
	// DType is the type of the elements of a b2nd or Caterva array, which must have its size. It is
	// for Caterva, which stores no type, and for types that ndarray does not have. Nil: the stored
	// type. Only Open uses it.
	DType *ndarray.DType

	// Metadata also opens a Blosc2 array whose elements cannot be read, because the file does not
	// contain them or because their codec or filter is not available. Reads then return
	// errors.ErrUnsupported. It is for reading only, and has no effect with Untrusted.
	Metadata bool

	// Write opens the array for writing, in place. A program that is killed while it writes can
	// leave the file corrupt; Create with Commit, and Update, do not have this risk.
	Write bool

	// Lock is the lock of the file, which the caller holds (LockFile). Nil: with Write, Open locks
	// the file until Close.
	Lock *Lock

	// Durable is Write for a b2nd or Caterva array. It also makes every write of elements, and
	// ndarray.Append along the first axis, atomic, even if the program or the machine stops; see
	// b2nd.OpenOptions. Use Update for other formats and other changes.
	Durable bool

	// AllowLossy allows writes through filters that can change values: in HDF5, scale-offset of
	// floats or with a fixed number of bits, and filters that this module does not have; in b2nd,
	// TruncPrec, IntTrunc, NDMean and ZFP; in bcolz, quantization. Otherwise such writes return
	// errors.ErrUnsupported. ndarray.Array.LossyChanges then counts the changed elements.
	AllowLossy bool

	// Checksums compares each chunk of a b2nd array that is read with its checksum, if the array
	// has current ones: if the last filter of Compression is "crc32c". A wrong one gives
	// ndarray.ErrCorrupt with the number of the chunk and both values. Chunks are then read whole,
	// also if a read needs some of their blocks. It does not go with Library. With Untrusted, and
	// with Write, checksums are always compared; those of HDF5 are too.
	Checksums bool

	// Library uses the C library of b2nd and HDF5 for all elements, one call at a time, instead of
	// workers; for comparison.
	Library bool

	// ExternalDir is the directory of external files with relative names; "": the working
	// directory. Only HDF5 has external files.
	ExternalDir string

	// Missing accepts that sources of a virtual dataset or external files are missing: their
	// elements are read as fill value, and Missing is called for each. Nil: reading such a dataset
	// returns ndarray.ErrNotFound.
	Missing func(error)

	// Unlocked is called for each HDF5 file that is opened without a lock because its file system
	// refuses locks. Another program can then change the file while it is read. It may be nil.
	Unlocked func(file string, err error)

	// Logger receives a record of the opening and of each read and write of the array, or of the
	// arrays of the tree; see ndarray.Array.SetLogger. Nil: no records.
	Logger *slog.Logger

	// Shards are directories with the other parts of a bcolz array or a sparse b2nd array, which
	// `hyperslab cp --split` writes. The location is the first part. They do not go with Write,
	// Durable and Library, and only Open uses them.
	Shards []string

	// Untrusted is set for a file from an untrusted source. The file is checked in Go before a C
	// library reads it, and a worker process reads it unless InProcess is set. It does not go with
	// Write, Durable, Library, ExternalDir, Missing and Shards. Nil: the file is trusted.
	Untrusted *Untrusted
}

// internal returns the options for package opened.
func (o *OpenOptions) internal() *opened.Options {
	x := orZero(o)
	return &opened.Options{
		ArrayOptions: tree.ArrayOptions{
			DType: x.DType, Metadata: x.Metadata, Write: x.Write, Lock: x.Lock, Durable: x.Durable, AllowLossy: x.AllowLossy,
			Library: x.Library, Checksums: x.Checksums, ExternalDir: x.ExternalDir, Missing: x.Missing, Unlocked: x.Unlocked,
		},
		Shards: x.Shards, Untrusted: x.Untrusted.internal(), Logger: x.Logger,
	}
}

// Sniff detects the format of a file, directory or URL by its content. A Blosc2 frame is B2ND
// unless its header identifies it as Caterva.
//
// It returns ndarray.ErrNotFound, or ErrFormat for an unknown format.
func Sniff(file string) (Format, error) {
	f, err := opened.Sniff(file)
	return Format(f), err
}

// Open opens an array, read-only unless OpenOptions.Write is set. It detects the format by content:
//
//   - a b2nd or Caterva array in a Blosc2 frame, contiguous or sparse
//   - a plain Blosc2 frame, as a read-only array with one dimension
//   - a dataset of an HDF5 file, FILE:/path
//   - a bcolz carray, a column of a ctable, DIRECTORY:/column, or a ctable as an array of
//     structures
//   - a .npy file of NumPy
//   - an array of a directory of arrays, DIRECTORY:/path
//   - an array of a container of python-blosc2 (.b2z, .b2d, .b2e), FILE:/path, for reading
//
// FILE may be a URL with the scheme http, https or s3, for reading, in a program that imports
// package remote. In other programs it returns errors.ErrUnsupported, so that they contain no HTTP
// client. Except .b2d and directories of arrays all formats can be read. remote.DefaultClient makes
// the requests and limits them. The file is read in this process, with the checks of a local file.
// If o.Untrusted is set, the file is first copied to a temporary file, and Untrusted.MaxCopy bounds
// the copy.
//
// It returns ndarray.ErrNotFound, ErrFormat for any other content, ErrCorrupt, ErrParam for a path
// that the format does not allow or for a missing path, or ErrType and errors.ErrUnsupported for
// element types that ndarray does not have.
//
// For an untrusted file it also returns ErrCorrupt for content that is unsafe for a library,
// ErrLimit for content that exceeds a bound of Untrusted, errors.ErrUnsupported for features that
// Untrusted does not allow, and the errors of package worker. The methods of the array
// return the same errors. Of an HDF5 file all metadata is checked; of a Blosc2 frame header, index,
// metalayers and all chunk headers; of a bcolz tree the metadata, and chunks when they are read.
// The array is read from the file that was checked, even if another file gets its name in the
// meantime.
func Open(ctx context.Context, location string, o *OpenOptions) (*ndarray.Array, error) {
	return opened.Array(ctx, location, o.internal())
}

// orZero returns the value of o, or the zero value if o is nil.
func orZero[T any](o *T) T {
	if o == nil {
		return *new(T)
	}
	return *o
}
