// Options and Report of a recovery.

package recovery

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

	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/verify"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Options are the options of Recover. Nil and zero fields mean the defaults.
type Options struct {
	Format      string         // format of a file that is too corrupt to detect it; default: by content
	Overwrite   bool           // replace an existing destination
	Lock        *filelock.Lock `json:"-"` // of an existing destination, from the caller; nil: Recover takes it
	MaxChunk    int64          // maximum bytes of a decoded chunk; longer chunks count as corrupt; default 512 MiB
	MaxFindings int            // maximum length of Report.Findings; default 1000

	// Progress is called with the processed bytes of the corrupt file and their total. The total
	// may grow, because some formats and some errors need more passes. Progress may be nil. It is
	// called from one goroutine at a time.
	Progress func(done, total int64) `json:"-"`

	// Isolated runs the recovery in a worker process that can only access the corrupt file and the
	// new one. Recover returns worker.ErrUnavailable if main does not call worker.Init or the
	// system has no sandbox.
	Isolated bool
	Memory   int64         // memory limit of the worker in bytes; default 2 GiB
	Time     time.Duration // time limit of the worker; default 2 minutes plus 1 second for each MiB of the corrupt file
}

// Certainty is the certainty of recovered data.
type Certainty = string

// The certainties.
const (
	Certain    Certainty = "certain"    // a checksum or redundant structure confirms it
	Unverified Certainty = "unverified" // valid, but no checksum confirms the values
	Guessed    Certainty = "guessed"    // likely, inferred from the remaining data
	Lost       Certainty = "lost"       // not in the new file; lost elements are fill values
)

// Finding is an error in the file, and its effect on the recovery.
type Finding = verify.Finding

// finding returns a Finding. chunk and offset are -1 if it is not about a chunk, or about no single
// offset of the corrupt file.
func finding(c Certainty, object, what string, chunk, offset int64, text string) Finding {
	return Finding{Certainty: c, Object: object, What: what, Chunk: chunk, Offset: offset, Err: errors.New(text)}
}

// Report is the result of a recovery.
type Report struct {
	Source, Destination string
	Format              string

	Arrays      int64 // arrays in the new file
	Chunks      int64 // chunks in the new file with elements of the old one
	Certain     int64 // of these, chunks whose values and location a checksum or redundant structure confirms
	Unverified  int64 // of these, chunks that decode in a valid location, without a checksum of the values
	Guessed     int64 // of these, chunks whose values or location are only likely
	Lost        int64 // chunks whose elements are now fill values
	LostObjects int64 // arrays and attributes that are not in the new file
	Findings    []Finding
	NumFindings int64    // number of all findings; Findings contains the first Options.MaxFindings
	partly      bool     // a finding is guessed or lost
	made        string   // path of the new file until it is verified
	file        *os.File // the source; nil for a directory
	size        int64    // of file
	most        int
	seen        *passes
	work        int64 // bytes read and decoded: the chunks of a frame, or all reads of an HDF5 file
}

// Exit codes of a command that recovers. It must exit with 2 if Recover returned an error.
const (
	ExitWhole  = 0 // everything is in the new file: certain, or unverified for lack of checksums
	ExitPartly = 3 // something is guessed or lost
)

// ExitCode returns the exit code of a command that recovers.
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

// note adds a finding that is not about a chunk.
func (r *Report) note(c Certainty, object, what string, offset int64, text string, args ...any) {
	r.add(finding(c, object, what, -1, offset, fmt.Sprintf(text, args...)))
}

// Recover recovers the contents of src into dst. Both are paths, and dst has the format of src. dst
// is created completely or not at all. src is only read. Neither path may be inside the other.
// Recover verifies the new file (package verify) before it renames the file to dst. HDF5 objects
// that are invalid in the new file are left out and counted as lost.
//
// Recover returns:
//
//   - ndarray.ErrNotFound if src does not exist
//   - ndarray.ErrFormat if the format is unknown
//   - ndarray.ErrCorrupt if no data can be recovered
//   - ndarray.ErrExists if dst exists and Options.Overwrite is false
//   - ndarray.ErrParam if dst is src or one is inside the other
//   - errors.ErrUnsupported if this module cannot write the contents
//   - the context's error
//
// With Options.Isolated it may also return the errors of package worker.
func Recover(ctx context.Context, dst, src string, o *Options) (*Report, error) {
	r, err := recoverFile(ctx, dst, src, o)
	if err != nil {
		return nil, ndarray.Wrap("recover", src, err)
	}
	return r, nil
}

func recoverFile(ctx context.Context, dst, src string, o *Options) (*Report, error) {
	opts, err := o.complete()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	if err := target(dst, src, opts.Overwrite); err != nil {
		return nil, err
	}
	if opts.Isolated {
		return isolated(ctx, dst, src, opts)
	}
	return recoverAs(ctx, dst, src, src, opts)
}

// complete returns the options with their defaults.
func (o *Options) complete() (Options, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	l, err := format.Limits{Chunk: opts.MaxChunk, Memory: opts.Memory}.Filled()
	if err != nil {
		return opts, err
	}
	opts.MaxChunk, opts.Memory = l.Chunk, l.Memory
	if opts.MaxFindings < 0 || opts.Time < 0 {
		return opts, fmt.Errorf("%w: %d findings, %v", ndarray.ErrParam, opts.MaxFindings, opts.Time)
	}
	if opts.MaxFindings == 0 {
		opts.MaxFindings = 1000
	}
	return opts, nil
}

// target returns an error if dst cannot become the new file of src.
func target(dst, src string, overwrite bool) error {
	info, err := os.Stat(src)
	if err != nil {
		return err
	}
	if err := apart(dst, src); err != nil {
		return err
	}
	if there, err := os.Stat(dst); err == nil {
		if os.SameFile(info, there) {
			return fmt.Errorf("%w: the new file would be the old one", ndarray.ErrParam)
		}
		if !overwrite {
			return fmt.Errorf("%w: %s", ndarray.ErrExists, dst)
		}
	}
	return nil
}

// recoverAs recovers the file at the path src. It uses name to detect the format by extension.
func recoverAs(ctx context.Context, dst, src, name string, opts Options) (_ *Report, err error) {
	info, err := os.Stat(src)
	if err != nil {
		return nil, err
	}
	var file *os.File // nil for a directory
	if !info.IsDir() {
		if file, info, err = regularfile.Open(src); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
	}
	f := opts.Format
	if f == "" {
		if f, err = content(file, info, src, name); err != nil {
			return nil, err
		}
		if detect.IsStore(f) {
			return nil, fmt.Errorf("%w: recovery of a container (%s), because its frames are recovered one by one", errors.ErrUnsupported, f)
		}
	}
	out, err := atomicfile.Create(ctx, dst, atomicfile.Options{Overwrite: opts.Overwrite, Lock: opts.Lock})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, out.Abort()) }() // a no-op after Commit
	var without omitted
	for {
		r := &Report{Source: src, Destination: dst, Format: f, most: opts.MaxFindings, seen: &passes{tell: opts.Progress}, made: out.Path(), file: file, size: info.Size()}
		switch {
		case f == detect.B2ND || f == detect.Caterva:
			err = recoverFrame(ctx, r, opts, info.IsDir())
		case f == detect.Bcolz && info.IsDir():
			err = recoverTree(ctx, r, opts)
		case f == detect.HDF5 && !info.IsDir():
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
		if f != detect.HDF5 || !without.add(found) {
			return nil, fmt.Errorf("%w: the new file is not valid: %v", ndarray.ErrCorrupt, found.Damages[0])
		}
		if err := os.Remove(r.made); err != nil {
			return nil, err
		}
	}
}

// content returns the format of a file or directory: by its content, or by name if the content is
// corrupt.
func content(file *os.File, info fs.FileInfo, src, name string) (f string, err error) {
	if file == nil {
		f, err = detect.Content(src)
	} else if f, err = detect.Reader(file, info.Size(), src); err == nil {
		f = detect.WithCaterva(f, file, info.Size())
	}
	if err != nil || f == detect.Directory && isTable(src) {
		if is := byName(name, src, file == nil); is != "" {
			return is, nil
		}
	}
	return f, err
}

// isTable reports whether a directory of arrays may be a ctable without its __rootdirs__: it
// contains only arrays of bcolz.
func isTable(dir string) bool {
	other, err := filepath.Glob(filepath.Join(dir, "*"+detect.ArrayExt))
	return err == nil && len(other) == 0
}

// verifyFile verifies the new file. Tests replace it.
var verifyFile = verify.File

// omitted contains the parts of a corrupt HDF5 file that would make the new file invalid. The zero
// value is empty.
type omitted struct {
	rewrite bool             // the file is not copied as a whole
	objects map[string]error // paths of objects, with the reason
}

// add adds the objects that a verification of the new file found to be invalid. It returns false if
// it has added no object.
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

// apart returns an error if one path is inside the other, because replacing a directory deletes
// everything in it.
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
	to, err := filepath.EvalSymlinks(filepath.Dir(dst)) // a symbolic link at dst itself is replaced
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

// byName returns the format by the extension of name, or for a directory by the files in path.
func byName(name, path string, dir bool) string {
	f, _ := detect.Name(name)
	if filepath.Ext(name) == ".b2frame" || filepath.Ext(name) == ".cat" {
		f = detect.B2ND
	}
	if !dir {
		return f
	}
	if names, err := filepath.Glob(filepath.Join(path, "*.chunk")); err == nil && len(names) > 0 {
		return detect.B2ND
	}
	for _, pattern := range []string{"data/__*.blp", "*/data/__*.blp"} {
		if names, err := filepath.Glob(filepath.Join(path, pattern)); err == nil && len(names) > 0 {
			return detect.Bcolz
		}
	}
	return ""
}

// noData returns the error for a file without recoverable contents.
func noData(what string) error {
	return fmt.Errorf("%w: no %s can be recovered", ndarray.ErrCorrupt, what)
}

// noSpace reports whether err means that there is no space for the new file. Such an error must not
// be counted as a loss. Reading the old file never returns these errors.
func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
