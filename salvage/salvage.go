// What is asked, and what came of it.

package salvage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hyperslab/hyperslab/format"
	"github.com/hyperslab/hyperslab/internal/atomicfile"
	"github.com/hyperslab/hyperslab/internal/regular"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/formats"
	"github.com/hyperslab/hyperslab/verify"
)

// Options say how a file is recovered. Nil, and zero fields, mean the defaults.
type Options struct {
	Format      formats.Format // what the file was, if that cannot be told any more; default: by content
	Overwrite   bool           // replace what is at the destination
	MaxChunk    int64          // bytes of a decoded chunk; what claims more is damaged; default 512 MiB
	MaxFindings int            // findings that are listed; default 1000

	// Progress is told how many bytes of the damaged file were gone through, of how many:
	// some formats need a second pass, and damage further ones, so that total may grow. Nil
	// is for nobody. It is called from one goroutine at a time.
	Progress func(done, total int64) `json:"-"`

	// Isolated does the work in a worker process that can reach nothing but the damaged
	// file and the new one. Without worker.Init in main, or where the system has no
	// sandbox, it is worker.ErrUnavailable.
	Isolated bool
	Memory   int64         // bytes of memory of the worker; default 2 GiB
	Time     time.Duration // of the worker; default two minutes and a second for each MiB of the damaged file
}

// Certainty says how sure something is.
type Certainty string

// The certainties.
const (
	Certain    Certainty = "certain"    // a checksum or redundant structure confirms it
	Unverified Certainty = "unverified" // valid, but no checksum confirms the values
	Guessed    Certainty = "guessed"    // likely, from what is left
	Lost       Certainty = "lost"       // not in the new file; elements are fill values there
)

// Finding is something about the file that is not as it should be, and what became
// of it.
type Finding struct {
	Certainty Certainty
	Object    string // path inside: a dataset, a column; "" for the file as a whole
	What      string // "index", "chunk", "attribute x", …
	Chunk     int64  // number of the chunk; -1 if it is about none
	Offset    int64  // bytes from the start of the damaged file; -1 if there is no one place
	Text      string
}

// String tells all of it in a line.
func (f Finding) String() string {
	s := string(f.Certainty) + ": "
	if f.Object != "" {
		s += f.Object + ": "
	}
	s += f.What
	if f.Chunk >= 0 {
		s += fmt.Sprintf(" %d", f.Chunk)
	}
	if f.Offset >= 0 {
		s += fmt.Sprintf(" (offset %d)", f.Offset)
	}
	return s + ": " + f.Text
}

// Report is what was recovered.
type Report struct {
	Source, Destination string
	Format              formats.Format

	Arrays      int64 // in the new file
	Chunks      int64 // in the new file with elements of the old one
	Certain     int64 // of these, those whose values and place a checksum or redundant structure confirms
	Unverified  int64 // of these, those that decode in a valid place, without a checksum of the values
	Guessed     int64 // of these, those whose values or place are only likely
	Lost        int64 // chunks whose elements are fill values now
	LostObjects int64 // arrays and attributes that are not in the new file
	Findings    []Finding
	NumFindings int64  // all; Findings has the first Options.MaxFindings
	partly      bool   // a finding is guessed or lost
	made        string // path of the new file until it is verified
	most        int
	seen        *passes
	work        int64 // bytes read and decoded: of a frame those of chunks, of an HDF5 file those read
}

// The exit codes of a command that recovers; an error of Recover is 2.
const (
	ExitWhole  = 0 // all there was is in the new file: certain, or unverified for lack of checksums
	ExitPartly = 3 // something is guessed or lost
)

// ExitCode is what a command ends with after the report.
func (r *Report) ExitCode() int {
	if r.Guessed+r.Lost+r.LostObjects > 0 || r.partly {
		return ExitPartly
	}
	return ExitWhole
}

func (r *Report) add(f Finding) {
	if f.Certainty == Guessed || f.Certainty == Lost {
		r.partly = true
	}
	if r.NumFindings++; len(r.Findings) < r.most {
		r.Findings = append(r.Findings, f)
	}
}

// note adds a finding that is about no chunk.
func (r *Report) note(c Certainty, object, what string, offset int64, text string, args ...any) {
	r.add(Finding{c, object, what, -1, offset, fmt.Sprintf(text, args...)})
}

// Recover makes dst of what can be recovered of src. Both are paths; dst appears whole
// or not at all, and is of the format of src. src is only read; neither path may lie in
// the other. The new file is verified (package verify) before it gets its name. HDF5 objects
// that are not valid in it are left out and counted as lost.
//
// It returns ndarray.ErrNotFound, ErrFormat for what is of no known format,
// ErrCorrupt if nothing can be recovered, ErrExists if dst is there, without
// Options.Overwrite, ErrParam if dst is src or one lies in the other, the context's error,
// or errors.ErrUnsupported for what this module cannot write; with Options.Isolated also
// what package worker lists.
func Recover(ctx context.Context, dst, src string, o *Options) (*Report, error) {
	r, err := recoverFile(ctx, dst, src, o)
	if err != nil {
		switch {
		case errors.Is(err, fs.ErrExist):
			err = ndarray.Mark(err, ndarray.ErrExists)
		case errors.Is(err, fs.ErrNotExist):
			err = ndarray.Mark(err, ndarray.ErrNotFound)
		case errors.Is(err, regular.ErrNot):
			err = ndarray.Mark(err, ndarray.ErrFormat)
		}
		return nil, ndarray.Wrap("recover", src, err)
	}
	return r, nil
}

func recoverFile(ctx context.Context, dst, src string, o *Options) (*Report, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.MaxChunk < 0 || opts.MaxFindings < 0 || opts.Memory < 0 || opts.Time < 0 {
		return nil, fmt.Errorf("%w: a chunk of %d bytes, %d findings, %d bytes of memory, %v", ndarray.ErrParam, opts.MaxChunk, opts.MaxFindings, opts.Memory, opts.Time)
	}
	if opts.MaxChunk == 0 {
		opts.MaxChunk = 512 << 20
	}
	if opts.MaxFindings == 0 {
		opts.MaxFindings = 1000
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	info, err := os.Stat(src)
	if err != nil {
		return nil, err
	}
	if err := apart(dst, src); err != nil {
		return nil, err
	}
	if there, err := os.Stat(dst); err == nil {
		if os.SameFile(info, there) {
			return nil, fmt.Errorf("%w: the new file would be the old one", ndarray.ErrParam)
		}
		if !opts.Overwrite {
			return nil, fmt.Errorf("%w: %s", ndarray.ErrExists, dst)
		}
	}
	if opts.Isolated {
		return isolated(ctx, dst, src, opts)
	}
	return recoverAs(ctx, dst, src, src, opts)
}

// recoverAs recovers the file at the path src, which is called name.
func recoverAs(ctx context.Context, dst, src, name string, opts Options) (_ *Report, err error) {
	info, err := os.Stat(src)
	if err != nil {
		return nil, err
	}
	f := opts.Format
	if f == "" {
		if f, err = formats.Sniff(src); err != nil {
			if e, ok := errors.AsType[*ndarray.Error](err); ok {
				err = e.Err
			}
			if f = byName(name, src, info.IsDir()); f == "" {
				return nil, err
			}
		}
	}
	out, err := atomicfile.Create(dst, atomicfile.Options{Overwrite: opts.Overwrite})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, out.Abort()) }() // after Commit it does nothing
	var without omitted
	for {
		r := &Report{Source: src, Destination: dst, Format: f, most: opts.MaxFindings, seen: &passes{tell: opts.Progress}, made: out.Path()}
		switch {
		case f == formats.B2ND || f == formats.Caterva:
			err = recoverFrame(ctx, r, opts, info.IsDir())
		case f == formats.Bcolz && info.IsDir():
			err = recoverTree(ctx, r, opts)
		case f == formats.HDF5 && !info.IsDir():
			err = recoverHDF5(ctx, r, opts, without)
		default:
			err = fmt.Errorf("%w: recovering %s", errors.ErrUnsupported, f)
		}
		if err != nil {
			return nil, err
		}
		found, err := verifyFile(ctx, r.made, &verify.Options{Format: f, MaxChunk: opts.MaxChunk})
		if err != nil {
			return nil, err
		}
		if found.NumDamages == 0 {
			r.seen.over()
			return r, out.Commit()
		}
		if f != formats.HDF5 || !without.add(found) {
			return nil, fmt.Errorf("%w: the new file is not valid: %v", ndarray.ErrCorrupt, found.Damages[0])
		}
		if err := os.Remove(r.made); err != nil {
			return nil, err
		}
	}
}

// verifyFile verifies the new file. Tests replace it.
var verifyFile = verify.File

// omitted are the parts of a damaged HDF5 file that make the new one invalid. The zero value
// omits nothing.
type omitted struct {
	rewrite bool             // the file is not copied as a whole
	objects map[string]error // paths of objects, with the reason
}

// add adds the objects that a verification of the new file found to be invalid. It returns false
// if that changes nothing.
func (o *omitted) add(r *verify.Report) bool {
	if !o.rewrite {
		o.rewrite, o.objects = true, map[string]error{}
		return true
	}
	before := len(o.objects)
	for _, p := range r.Damages {
		if p.Object != "" && p.Object != "/" && o.objects[p.Object] == nil {
			o.objects[p.Object] = p.Err
		}
	}
	return len(o.objects) > before
}

// apart makes sure that neither of two paths lies in the other: what is put in the place
// of a directory takes all that is in it away.
func apart(dst, src string) error {
	from, err := filepath.EvalSymlinks(src)
	if err == nil {
		from, err = filepath.Abs(from)
	}
	if err != nil {
		return err
	}
	dst, err = filepath.Abs(dst)
	if err != nil {
		return err
	}
	to, err := filepath.EvalSymlinks(filepath.Dir(dst)) // a link at dst itself is replaced
	if err != nil {
		return err
	}
	to = filepath.Join(to, filepath.Base(dst))
	const sep = string(filepath.Separator)
	if strings.HasPrefix(to+sep, from+sep) || strings.HasPrefix(from+sep, to+sep) {
		return fmt.Errorf("%w: the new file would be the old one, or one of the two in the other", ndarray.ErrParam)
	}
	return nil
}

// byName is the format that the name tells, or, of the directory at path, what is in it.
func byName(name, path string, dir bool) formats.Format {
	f, _ := formats.ForName(name)
	if filepath.Ext(name) == ".b2frame" || filepath.Ext(name) == ".cat" {
		f = formats.B2ND
	}
	if !dir {
		return f
	}
	if names, err := filepath.Glob(filepath.Join(path, "*.chunk")); err == nil && len(names) > 0 {
		return formats.B2ND
	}
	for _, pattern := range []string{"data/__*.blp", "*/data/__*.blp"} {
		if names, err := filepath.Glob(filepath.Join(path, pattern)); err == nil && len(names) > 0 {
			return formats.Bcolz
		}
	}
	return ""
}

// nothing is the error for a file of which nothing is left.
func nothing(what string) error {
	return fmt.Errorf("%w: %w: no %s can be recovered", ndarray.ErrCorrupt, format.ErrCorrupt, what)
}

// noRoom reports whether an error is of the new file, for which there is no room: what
// the old one has cannot be lost by that. No reading of the old one fails so.
func noRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
