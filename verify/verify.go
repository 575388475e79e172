// What is asked, and what is found.

package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/hyperslab/hyperslab/format"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/worker"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/formats"
)

// Digests says what becomes of the sidecar, PATH.sha256: the SHA-256 digests of the
// file, or of each file of a directory, in the form that sha256sum writes and checks
// in the directory above.
type Digests int

// The ways.
const (
	NoDigests    Digests = iota // the sidecar is not looked at
	CheckDigests                // the sidecar must be there and be right
	WriteDigests                // the sidecar is written, or replaced, if no damage was found
)

// Options say how a file is verified. Nil, and zero fields, mean the defaults named
// here.
type Options struct {
	Format  formats.Format // what the file is, for one that is too damaged to tell; default: by content
	Workers int            // goroutines that decode; default GOMAXPROCS
	Digests Digests        // default NoDigests

	// Untrusted leaves out what C libraries do badly on crafted bytes: then codecs and
	// filters that are not safe on any bytes are not decoded, which Report.Unchecked
	// tells, and the reference library does not open the file.
	Untrusted bool
	// Isolated does the work in a worker process, and makes the crash of a library a
	// damage. Without worker.Init in main it is worker.ErrUnavailable.
	Isolated bool

	MaxChunk    int64         // bytes of a decoded chunk; what is beyond is not checked; default 512 MiB
	MaxMetadata int64         // bytes of one structure of metadata; default 64 MiB
	MaxDamages  int           // damages, and unchecked places, that are listed, each; default 1000
	Memory      int64         // bytes of memory of a worker; default 2 GiB
	Time        time.Duration // of one call of a worker, which decodes some chunks; default 120 s

	// Progress is told of the chunks that were looked at, and how many there are; nil
	// for nobody. It is called from one goroutine at a time.
	Progress func(Progress) `json:"-"`
}

// Progress is how much of a file was looked at.
type Progress struct {
	Chunks, TotalChunks       int64
	StoredBytes, DecodedBytes int64 // of these chunks
}

func (o *Options) filled() (Options, error) {
	var f Options
	if o != nil {
		f = *o
	}
	for _, x := range []struct {
		field *int64
		value int64
	}{{&f.MaxChunk, 512 << 20}, {&f.MaxMetadata, 64 << 20}, {&f.Memory, 2 << 30}} {
		if *x.field < 0 {
			return f, fmt.Errorf("%w: a limit of %d bytes", ndarray.ErrParam, *x.field)
		}
		if *x.field == 0 {
			*x.field = x.value
		}
	}
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

// Place is where something was found.
type Place struct {
	Object string  // path inside: a dataset, a column, an array of a directory; "" for the file as a whole
	What   string  // the structure: "chunk", "index", "object header", …
	File   string  // of a directory the file, from its root; "" for the file itself
	Offset int64   // bytes from the start of the file; -1 if there is no one place
	Chunk  int64   // number of the chunk in order of the index; -1 if it is about none
	Coords []int64 // first element of that chunk along each axis; nil if it is none of an array
	Err    error
}

// String tells all that is known.
func (p Place) String() string {
	var s strings.Builder
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

// Report is what was looked at and found.
type Report struct {
	Path   string
	Format formats.Format

	Arrays       int64 // arrays, or frames without one, that were looked at; groups are none
	Chunks       int64 // chunks, or pieces of contiguous elements, that were read and decoded
	DecodedBytes int64 // bytes of elements, decoded
	StoredBytes  int64 // bytes of what was read for them
	Checksums    int64 // chunks with a checksum that was compared, right or wrong
	Digests      int64 // digests of the sidecar that were written, or compared and right

	Damages      []Place // the first Options.MaxDamages
	NumDamages   int64   // all
	Unchecked    []Place // what could not be looked at, and why: the first Options.MaxDamages
	NumUnchecked int64   // all

	checked bool // Digests were compared

	Isolated bool         // a worker did the work
	Level    worker.Level // what held it
}

// The exit codes of a command that verifies; an error of File is 2.
const (
	ExitValid   = 0
	ExitDamaged = 1
	ExitPartly  = 3 // no damage was found, and not all could be looked at
)

// ExitCode is what a command ends with after the report.
func (r *Report) ExitCode() int {
	switch {
	case r.NumDamages > 0:
		return ExitDamaged
	case r.NumUnchecked > 0:
		return ExitPartly
	}
	return ExitValid
}

// ValuesVerified reports whether the file is valid and a checksum or digest confirmed every element.
// Elements without one that decode may still be wrong.
func (r *Report) ValuesVerified() bool {
	return r.ExitCode() == ExitValid && (r.Checksums >= r.Chunks || r.checked && r.Digests > 0)
}

// Err is the first damage as an error that wraps ndarray.ErrCorrupt; nil without any.
func (r *Report) Err() error {
	if r.NumDamages == 0 {
		return nil
	}
	return ndarray.Wrap("verify", r.Path, fmt.Errorf("%w: %d damages, the first: %v", ndarray.ErrCorrupt, r.NumDamages, r.Damages[0]))
}

// File verifies the file or directory path. Damage is no error: the report has it.
//
// It returns ndarray.ErrNotFound, ErrFormat for what is of no known format,
// ErrCorrupt for a sidecar that cannot be understood, the context's error, what
// reading the directory returns, or with Options.Isolated worker.ErrUnavailable,
// worker.ErrTimeout and worker.ErrLimit.
func File(ctx context.Context, path string, o *Options) (*Report, error) {
	r, err := file(ctx, path, o)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = ndarray.Mark(err, ndarray.ErrNotFound)
		}
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
	work := direct
	if opts.Isolated {
		work = isolated
	}
	r, err := work(ctx, path, opts)
	if err != nil {
		return nil, err
	}
	r.Path, r.checked = path, opts.Digests == CheckDigests
	if err := digests(ctx, path, opts, r); err != nil {
		return nil, err
	}
	for _, list := range [][]Place{r.Damages, r.Unchecked} {
		slices.SortStableFunc(list, func(a, b Place) int {
			return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Chunk, b.Chunk), cmp.Compare(a.Offset, b.Offset))
		})
	}
	return r, nil
}

// add notes a place, as damage or as unchecked by what its error says. What is
// neither, the context's end, comes back.
func (r *Report) add(p Place, most int) error {
	switch {
	case errors.Is(p.Err, context.Canceled), errors.Is(p.Err, context.DeadlineExceeded):
		return p.Err
	case errors.Is(p.Err, errors.ErrUnsupported), newer(p.Err), errors.Is(p.Err, format.ErrLimit),
		errors.Is(p.Err, ndarray.ErrType), errors.Is(p.Err, fs.ErrPermission), errors.Is(p.Err, h5.ErrNoFilter):
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

// newer reports whether err is about a version that there may be: zeros, and versions
// of what has only one since HDF5 1.8, are damage.
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
	for _, what := range []string{"superblock", "datatype", "data layout"} { // HDF5 2.0 has new ones
		if strings.HasPrefix(e.What, what) {
			return true
		}
	}
	return false
}
