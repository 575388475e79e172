// Recover and its report.

package hyperslab

import (
	"context"
	"time"

	"github.com/hyperslab/hyperslab/internal/recovery"
)

// RecoverOptions are the options of Recover. Nil and zero fields mean the defaults.
type RecoverOptions struct {
	Format      Format // format of a file that is too corrupt to detect it; default: by content
	Overwrite   bool   // replace an existing destination
	Lock        *Lock  // the lock of an existing destination, which the caller holds; nil: Recover takes it
	MaxChunk    int64  // maximum bytes of a decoded chunk; longer chunks count as corrupt; default 512 MiB
	MaxFindings int    // maximum length of RecoverReport.Findings; default 1000

	// Progress is called with the processed bytes of the corrupt file and their total. The total
	// may grow, because some formats and some errors need more passes. Progress may be nil. It is
	// called from one goroutine at a time.
	Progress func(done, total int64)

	// Isolated runs the recovery in a worker process that can only access the corrupt file and the
	// new one. Recover returns ErrUnavailable if main does not call Init or the
	// system has no sandbox.
	Isolated bool
	Memory   int64         // memory limit of the worker in bytes; default 2 GiB
	Time     time.Duration // time limit of the worker; default 2 minutes plus 1 second for each MiB of the corrupt file
}

// RecoverReport is the result of Recover.
type RecoverReport struct {
	Source, Destination string
	Format              Format

	Arrays      int64 // arrays in the new file
	Chunks      int64 // chunks in the new file with elements of the old one
	Certain     int64 // of these, chunks whose values and location a checksum or redundant structure confirms
	Unverified  int64 // of these, chunks that decode in a valid location, without a checksum of the values
	Guessed     int64 // of these, chunks whose values or location are only likely
	Lost        int64 // chunks whose elements are now fill values
	LostObjects int64 // arrays and attributes that are not in the new file

	Findings    []Finding // errors in the file and their effects; at most RecoverOptions.MaxFindings
	NumFindings int64     // number of all findings

	Complete bool // everything is in the new file, certain or unverified
}

// Recover writes the recoverable contents of the corrupt file src to a new file dst of the same
// format. dst is created completely or not at all. src is only read, and neither libhdf5 nor
// C-Blosc2 opens it. Neither path may be inside the other. Recover verifies the new file before it
// renames the file to dst. HDF5 objects that are invalid in the new file are left out and counted
// as lost.
//
// In a Blosc2 frame, the header, the index, the trailer and any chunk may be missing; without an
// index the chunks keep their order in the file. In a bcolz tree, any file may be missing. In an
// HDF5 file, any structure may be corrupt: objects that can still be reached keep their names, and
// other datasets are found by a search of the whole file and put into /lost+found.
//
// Recover returns:
//
//   - ndarray.ErrNotFound if src does not exist
//   - ndarray.ErrFormat if the format is unknown
//   - ndarray.ErrCorrupt if no data can be recovered
//   - ndarray.ErrExists if dst exists and RecoverOptions.Overwrite is false
//   - ndarray.ErrParam if dst is src or one is inside the other
//   - errors.ErrUnsupported if this module cannot write the contents
//   - the context's error
//
// With RecoverOptions.Isolated it may also return ErrUnavailable, ErrLimit and
// ErrCrashed.
func Recover(ctx context.Context, dst, src string, o *RecoverOptions) (*RecoverReport, error) {
	x := orZero(o)
	r, err := recovery.Recover(ctx, dst, src, &recovery.Options{
		Format: string(x.Format), Overwrite: x.Overwrite, Lock: x.Lock, MaxChunk: x.MaxChunk, MaxFindings: x.MaxFindings, Progress: x.Progress,
		Isolated: x.Isolated, Memory: x.Memory, Time: x.Time,
	})
	if err != nil {
		return nil, err
	}
	out := &RecoverReport{
		Source: r.Source, Destination: r.Destination, Format: Format(r.Format),
		Arrays: r.Arrays, Chunks: r.Chunks, Certain: r.Certain, Unverified: r.Unverified, Guessed: r.Guessed, Lost: r.Lost, LostObjects: r.LostObjects,
		Findings: findings(r.Findings), NumFindings: r.NumFindings, Complete: r.ExitCode() == recovery.ExitWhole,
	}
	return out, nil
}
