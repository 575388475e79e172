// Options and Report of a verification.

package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5parts"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Digests selects the use of the sidecar, PATH.sha256. A sidecar contains the SHA-256 digest of the
// file, or of each file of a directory, in the format of sha256sum. To check it with sha256sum, run
// the command in the parent directory.
type Digests int

// Uses of the sidecar.
const (
	NoDigests    Digests = iota // the sidecar is ignored
	CheckDigests                // the sidecar must exist and match
	WriteDigests                // the sidecar is written, or replaced, if no errors were found
)

// Set describes the members of an HDF5 file to a worker.
type Set struct {
	Members []h5parts.Member
	Apart   bool
}

// Options are the options of File. Nil and zero fields mean the defaults named here.
type Options struct {
	Format  string  // format of a file that is too corrupt to detect it; default: by content
	Workers int     // number of goroutines that decode; default GOMAXPROCS
	Digests Digests // default NoDigests

	// Untrusted skips the steps in which C libraries are unsafe on crafted bytes. Chunks of codecs
	// and filters without bounds checks are not decoded but listed in Report.Unchecked. The
	// reference library does not open the file. External files and sources of virtual datasets are
	// not opened, and are also listed there.
	Untrusted bool
	// Isolated runs the verification in a worker process and reports the crash of a library as an
	// error of the file. File returns worker.ErrUnavailable if main does not call worker.Init.
	Isolated bool

	// Set are the members of a set of HDF5 files, because a worker cannot open them. File sets it.
	Set *Set

	MaxChunk    int64         // maximum bytes of a decoded chunk; longer chunks are not checked; default 512 MiB
	MaxMetadata int64         // maximum bytes of one metadata structure; default 64 MiB
	MaxDamages  int           // maximum length of Report.Damages, and of Report.Unchecked; default 1000
	Memory      int64         // memory limit of a worker in bytes; default 2 GiB
	Time        time.Duration // time limit of one call of a worker, which decodes some chunks; default 120 s

	// Unlocked is called if the file is read without a lock because its file system refuses locks.
	// It may be nil.
	Unlocked func(file string, err error) `json:"-"`

	// Values also checks the values of tables, strings and Python objects. It is done before
	// digests are written, because a file with errors gets none.
	Values bool `json:"-"`

	// Member is called with the report of each member of a directory. It may be nil.
	Member func(r *Report) error `json:"-"`

	// Progress is called with the number of checked chunks and their total number. It may be nil.
	// It is called from one goroutine at a time.
	Progress func(Progress) `json:"-"`
}

// Progress is the number of chunks and bytes that File has checked so far.
type Progress struct {
	Chunks, TotalChunks       int64
	StoredBytes, DecodedBytes int64 // of the checked chunks
}

func (o *Options) filled() (Options, error) {
	var f Options
	if o != nil {
		f = *o
	}
	l, err := format.Limits{Chunk: f.MaxChunk, Metadata: f.MaxMetadata, Memory: f.Memory}.Filled()
	if err != nil {
		return f, err
	}
	f.MaxChunk, f.MaxMetadata, f.Memory = l.Chunk, l.Metadata, l.Memory
	if f.Workers < 0 || f.MaxDamages < 0 || f.Time < 0 || f.Digests < NoDigests || f.Digests > WriteDigests {
		return f, fmt.Errorf("%w: %d workers, %d damages, %v, digests %d", ndarray.ErrParam, f.Workers, f.MaxDamages, f.Time, f.Digests)
	}
	if f.MaxDamages == 0 {
		f.MaxDamages = 1000
	}
	if f.Time == 0 {
		f.Time = 120 * time.Second
	}
	return f, nil
}

// Finding is an error in a file, or a part that could not be checked. It has the fields of
// hyperslab.Finding.
type Finding struct {
	Object string  // path inside the file: a dataset, a column, an array of a directory; "" for the file as a whole
	What   string  // the structure: "chunk", "index", "object header", …
	File   string  // file inside a directory, relative to its root, or another file of an HDF5 file; "" for the file itself
	Offset int64   // bytes from the start of the file; -1 if there is no single offset
	Chunk  int64   // number of the chunk in index order; -1 if the location is not a chunk
	Coords []int64 // first element of that chunk, one index per dimension; nil without an array

	// Consequence reports whether this error follows from the last one before it in Report.Damages
	// that follows from none.
	Consequence bool

	Certainty string // of recovered data, from package recovery; "" from File
	Err       error
}

// String returns the finding in one line.
func (p Finding) String() string {
	var s strings.Builder
	if p.Certainty != "" {
		s.WriteString(p.Certainty + ": ")
	}
	if p.Object != "" {
		s.WriteString(p.Object + ": ")
	}
	s.WriteString(p.What)
	if p.Chunk >= 0 {
		fmt.Fprintf(&s, " %d", p.Chunk)
	}
	if p.Coords != nil {
		fmt.Fprintf(&s, " at %v", p.Coords)
	}
	if p.File != "" {
		s.WriteString(" in " + p.File)
	}
	if p.Offset >= 0 {
		fmt.Fprintf(&s, " (offset %d)", p.Offset)
	}
	fmt.Fprintf(&s, ": %v", p.Err)
	return s.String()
}

// Report is the result of a verification.
type Report struct {
	Path   string
	Format string

	Arrays       int64 // checked arrays, or frames without an array; groups do not count
	Chunks       int64 // chunks, or pieces of contiguous elements, that were checked, valid or not
	DecodedBytes int64 // bytes of decoded elements
	StoredBytes  int64 // bytes read for these elements
	Checksums    int64 // chunks with a checksum that was compared, whether it matched or not
	Digests      int64 // digests of the sidecar that were written, or compared and equal

	Damages      []Finding // errors; at most Options.MaxDamages
	NumDamages   int64     // number of all errors
	Unchecked    []Finding // parts that could not be checked, with the reason; at most Options.MaxDamages
	NumUnchecked int64     // number of all unchecked parts

	checked bool // the sidecar was compared

	Isolated bool         // a worker did the work
	Level    worker.Level // confinement of the worker
}

// Exit codes of a command that verifies. It must exit with 2 if File returned an error.
const (
	ExitValid   = 0
	ExitCorrupt = 1
	ExitPartly  = 3 // no errors were found, but parts could not be checked
)

// ExitCode returns the exit code of a command that verifies.
func (r *Report) ExitCode() int {
	switch {
	case r.NumDamages > 0:
		return ExitCorrupt
	case r.NumUnchecked > 0:
		return ExitPartly
	}
	return ExitValid
}

// ValuesVerified reports whether the file is valid and a checksum or digest confirmed every
// element. Elements without one that decode may still be wrong.
func (r *Report) ValuesVerified() bool {
	return r.ExitCode() == ExitValid && (r.Checksums >= r.Chunks || r.checked && r.Digests > 0)
}

// Err returns an error that wraps ndarray.ErrCorrupt and contains the first error of the report;
// nil if there is no error.
func (r *Report) Err() error {
	if r.NumDamages == 0 {
		return nil
	}
	return ndarray.Wrap("verify", r.Path, fmt.Errorf("%w: %d damages, the first: %v", ndarray.ErrCorrupt, r.NumDamages, r.Damages[0]))
}

// File verifies the file or directory path. Corruption is not an error of File: it is listed in the
// Report.
//
// File returns ndarray.ErrNotFound, ndarray.ErrFormat if the format is unknown, ndarray.ErrCorrupt
// if the sidecar is invalid, the context's error, or errors of reading the directory. With
// Options.Isolated it may also return worker.ErrUnavailable, worker.ErrTimeout and worker.ErrLimit.
func File(ctx context.Context, path string, o *Options) (*Report, error) {
	r, err := file(ctx, path, o)
	if err != nil {
		return nil, ndarray.Wrap("verify", path, err)
	}
	return r, nil
}

func file(ctx context.Context, path string, o *Options) (*Report, error) {
	opts, err := o.filled()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r, err := all(ctx, path, opts)
	if err != nil {
		return nil, err
	}
	r.Path, r.checked = path, opts.Digests == CheckDigests
	if err := digests(ctx, path, opts, r); err != nil {
		return nil, err
	}
	fold(r.Damages)
	slices.SortStableFunc(r.Unchecked, byPlace)
	return r, nil
}

// all verifies a file, or all members of a directory.
func all(ctx context.Context, path string, o Options) (*Report, error) {
	if (o.Format == "" || o.Format == detect.Directory) && isDirectory(path) {
		return directory(ctx, path, o, fileSet{})
	}
	r, err := examine(ctx, path, o, fileSet{})
	if err == nil && o.Values {
		err = checkValues(ctx, path, r, &o)
	}
	return r, err
}

// examine verifies a file and the other files that contain its elements, which it adds to seen.
func examine(ctx context.Context, path string, o Options, seen fileSet) (*Report, error) {
	work := direct
	if o.Isolated {
		work = isolated
	}
	r, err := work(ctx, path, o)
	if err != nil {
		return nil, err
	}
	seen.add(path)
	if r.Format == detect.HDF5 {
		seen.addSet(path)
	}
	return r, others(ctx, path, o, r, seen)
}

// count adds the counts of another report.
func (r *Report) count(n *Report) {
	r.Arrays += n.Arrays
	r.Chunks += n.Chunks
	r.DecodedBytes += n.DecodedBytes
	r.StoredBytes += n.StoredBytes
	r.Checksums += n.Checksums
	r.NumDamages += n.NumDamages
	r.NumUnchecked += n.NumUnchecked
}

// add adds a location to Damages or to Unchecked, depending on its error. It returns the context's
// errors.
func (r *Report) Add(p Finding, most int) error {
	switch {
	case errors.Is(p.Err, context.Canceled), errors.Is(p.Err, context.DeadlineExceeded):
		return p.Err
	case unsupported(p.Err), errors.Is(p.Err, format.ErrLimit), errors.Is(p.Err, ndarray.ErrType), errors.Is(p.Err, fs.ErrPermission):
		if r.NumUnchecked++; len(r.Unchecked) < most {
			r.Unchecked = append(r.Unchecked, p)
		}
	default:
		if r.NumDamages++; len(r.Damages) < most {
			r.Damages = append(r.Damages, p)
		}
	}
	return nil
}

// unsupported reports whether err is about valid content that this module does not read.
func unsupported(err error) bool {
	if errors.Is(err, format.ErrVersion) {
		return newer(err)
	}
	return errors.Is(err, errors.ErrUnsupported)
}

// newer reports whether err is about a version that a newer library may have written. Version 0,
// and unknown versions of structures that have had one version since HDF5 1.8, are corruption.
func newer(err error) bool {
	if !errors.Is(err, format.ErrVersion) {
		return false
	}
	e, ok := errors.AsType[*format.Error](err)
	switch {
	case !ok:
		return true
	case e.Got == "0":
		return false
	case e.Format != "hdf5":
		return true
	}
	for _, what := range []string{"superblock", "datatype", "data layout"} { // HDF5 2.0 adds versions of these
		if strings.HasPrefix(e.What, what) {
			return true
		}
	}
	return false
}
