// Verify and its report.

package hyperslab

import (
	"context"
	"fmt"
	"time"

	"github.com/hyperslab/hyperslab/internal/verify"
	"github.com/hyperslab/hyperslab/ndarray"
)

// VerifyOptions are the options of Verify. Nil and zero fields mean the defaults named here.
type VerifyOptions struct {
	Format  Format // format of a file that is too corrupt to detect it; default: by content
	Workers int    // number of goroutines that decode; default GOMAXPROCS

	// CheckDigests compares the sidecar PATH.sha256, which must exist. It contains the SHA-256
	// digest of the file, or of each file of a directory, in the format of sha256sum; to check it
	// with sha256sum, run the command in the parent directory. WriteDigests writes or replaces the
	// sidecar if no errors were found.
	CheckDigests, WriteDigests bool

	// Untrusted skips the steps in which C libraries are unsafe on crafted bytes. Chunks of codecs
	// and filters without bounds checks are not decoded but listed in VerifyReport.Unchecked. The
	// reference library does not open the file. External files and sources of virtual datasets are
	// not opened, and are also listed there.
	Untrusted bool
	// Isolated runs the verification in a worker process and reports the crash of a library as an
	// error of the file. Verify returns ErrUnavailable if main does not call Init.
	Isolated bool

	MaxChunk    int64         // maximum bytes of a decoded chunk; longer chunks are not checked; default 512 MiB
	MaxMetadata int64         // maximum bytes of one metadata structure; default 64 MiB
	MaxFindings int           // maximum length of VerifyReport.Findings, and of Unchecked; default 1000
	Memory      int64         // memory limit of a worker in bytes; default 2 GiB
	Time        time.Duration // time limit of one call of a worker, which decodes some chunks; default 120 s

	Unlocked func(file string, err error) // as in OpenOptions

	// Member is called with the report of each file and each array below a directory, one after
	// the other. An error ends Verify. It may be nil.
	Member func(r *VerifyReport) error

	// Progress is called with the number of checked chunks, their total number, and their decoded
	// and stored bytes. It may be nil. It is called from one goroutine at a time.
	Progress func(ndarray.Progress)
}

// Finding is an error in a file, or a part that could not be checked.
type Finding struct {
	Object string  // path inside the file: a dataset, a column, an array of a directory; "" for the file as a whole
	What   string  // the structure: "chunk", "index", "object header", "attribute x", …
	File   string  // file inside a directory, relative to its root, or another file of an HDF5 file; "" for the file itself
	Offset int64   // bytes from the start of the file; -1 if there is no single offset
	Chunk  int64   // number of the chunk in index order; -1 if the finding is not about a chunk
	Coords []int64 // first element of that chunk, one index per dimension; nil if unknown

	// Certainty of the recovered data, from Recover: "certain" if a checksum or redundant structure
	// confirms it, "unverified" if it is valid but no checksum confirms the values, "guessed" if it
	// is likely, inferred from the remaining data, and "lost" if it is not in the new file, where
	// lost elements are fill values. It is "" from Verify.
	Certainty string
	Err       error
}

// String returns the finding in one line.
func (f Finding) String() string { return verify.Finding(f).String() }

// VerifyReport is the result of Verify.
type VerifyReport struct {
	Path   string
	Format Format

	Arrays       int64 // checked arrays, or frames without an array; groups do not count
	Chunks       int64 // chunks, or pieces of contiguous elements, that were read and decoded
	DecodedBytes int64 // bytes of decoded elements
	StoredBytes  int64 // bytes read for these elements
	Checksums    int64 // chunks with a checksum that was compared, whether it matched or not
	Digests      int64 // digests of the sidecar that were written, or compared and equal

	Findings     []Finding // errors; at most VerifyOptions.MaxFindings
	NumFindings  int64     // number of all errors
	Unchecked    []Finding // parts that could not be checked, with the reason; at most VerifyOptions.MaxFindings
	NumUnchecked int64     // number of all unchecked parts

	// ValuesVerified reports whether the file is valid and a checksum or digest confirmed every
	// element. Elements without one that decode may still be wrong.
	ValuesVerified bool

	Isolated bool   // a worker did the work
	Level    string // isolation of the worker, as Sandbox describes it
}

// Verify checks a whole file or directory for corruption: a Blosc2 frame, contiguous or sparse, a
// bcolz tree, an HDF5 file, a container of python-blosc2, a .npy file, or a directory. Corruption
// is not an error of Verify; it is listed in the report.
//
// Of a directory it checks each file and each array at any depth. The findings of the report name
// the member in Object, for example "run1/x.h5:/temperature". Files of unknown formats, symbolic
// links, and files that cannot be read are listed in VerifyReport.Unchecked.
//
// It checks the structure with readers that validate every field. It decodes every chunk, in
// parallel. It compares the checksums that the format has: Fletcher-32, the checksums of HDF5
// metadata, and those inside the streams of codecs. Finally libhdf5 or C-Blosc2 opens the objects
// in the file. It also reads the external files of an HDF5 file, and verifies the source files of
// virtual datasets. Of a container of python-blosc2 it also decodes all Python objects, and
// compares the columns of each table with its rows. For elements without a checksum, Verify can
// write a sidecar of SHA-256 digests beside the file and compare it later (VerifyOptions.Digests).
//
// Each goroutine needs the size of the longest chunk, stored and decoded. An HDF5 file needs about
// 100 bytes more for each chunk. The file should not be written during the verification.
//
// It returns ndarray.ErrNotFound, ndarray.ErrFormat if the format is unknown, ndarray.ErrCorrupt if
// the sidecar is invalid, the context's error, or errors of reading the directory. With
// VerifyOptions.Isolated it may also return ErrUnavailable, ErrLimit and ErrCrashed.
func Verify(ctx context.Context, path string, o *VerifyOptions) (*VerifyReport, error) {
	x := orZero(o)
	digests := verify.NoDigests
	switch {
	case x.CheckDigests && x.WriteDigests:
		return nil, ndarray.Wrap("verify", path, fmt.Errorf("%w: CheckDigests and WriteDigests", ndarray.ErrParam))
	case x.CheckDigests:
		digests = verify.CheckDigests
	case x.WriteDigests:
		digests = verify.WriteDigests
	}
	opts := verify.Options{
		Format: string(x.Format), Workers: x.Workers, Digests: digests, Untrusted: x.Untrusted, Isolated: x.Isolated,
		MaxChunk: x.MaxChunk, MaxMetadata: x.MaxMetadata, MaxDamages: x.MaxFindings, Memory: x.Memory, Time: x.Time,
		Unlocked: x.Unlocked, Values: true,
	}
	if x.Progress != nil {
		opts.Progress = func(p verify.Progress) {
			x.Progress(ndarray.Progress{DoneUnits: p.Chunks, TotalUnits: p.TotalChunks, DoneBytes: p.DecodedBytes, StoredBytes: p.StoredBytes})
		}
	}
	if x.Member != nil {
		opts.Member = func(r *verify.Report) error { return x.Member(verifyReport(r)) }
	}
	r, err := verify.File(ctx, path, &opts)
	if err != nil {
		return nil, err
	}
	return verifyReport(r), nil
}

func verifyReport(r *verify.Report) *VerifyReport {
	out := &VerifyReport{
		Path: r.Path, Format: Format(r.Format),
		Arrays: r.Arrays, Chunks: r.Chunks, DecodedBytes: r.DecodedBytes, StoredBytes: r.StoredBytes, Checksums: r.Checksums, Digests: r.Digests,
		Findings: findings(r.Damages), NumFindings: r.NumDamages, Unchecked: findings(r.Unchecked), NumUnchecked: r.NumUnchecked,
		ValuesVerified: r.ValuesVerified(), Isolated: r.Isolated,
	}
	if r.Isolated {
		out.Level = r.Level.String()
	}
	return out
}

func findings(places []verify.Finding) []Finding {
	list := make([]Finding, len(places))
	for i, p := range places {
		list[i] = Finding(p)
	}
	return list
}
