// Plans of repairs for a file: planning, checking, applying and reversing.

package recovery

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/ndarray"
)

// maxChanges is the maximum number of changes of a plan.
const maxChanges = 10_000

// Plan is a list of changes after which libhdf5 reads a file.
type Plan struct {
	Size    int64    // bytes of the file
	Digest  string   // SHA-256 of the file, in hexadecimal
	Result  string   // SHA-256 of the file with the changes
	Changes []Change // sorted by offset, without overlap
}

// ExitCode returns the exit code of a command that plans or repairs.
func (p *Plan) ExitCode() int {
	for _, c := range p.Changes {
		if c.Certainty != Certain {
			return ExitPartly
		}
	}
	return ExitWhole
}

// PlanRepair finds the smallest change after which libhdf5 reads the HDF5 file src. It only reads
// the file. It uses the fields MaxChunk, Isolated, Memory and Time of the options.
//
// PlanRepair returns:
//
//   - ndarray.ErrNotFound if src does not exist
//   - ndarray.ErrFormat if the format is unknown
//   - ndarray.ErrCorrupt if the file remains invalid with every change that it tries
//   - errors.ErrUnsupported if src is not an HDF5 file
//   - the context's error
//
// With Options.Isolated it may also return the errors of package worker.
func PlanRepair(ctx context.Context, src string, o *Options) (*Plan, error) {
	opts, err := o.complete()
	if err == nil {
		err = ctx.Err()
	}
	var p *Plan
	switch {
	case err != nil:
	case opts.Isolated:
		p, err = planIsolated(ctx, src, opts)
	default:
		p, err = planFile(ctx, src, src, opts)
	}
	if err != nil {
		return nil, ndarray.Wrap("repair", src, err)
	}
	return p, nil
}

// planIsolated plans in a worker.
func planIsolated(ctx context.Context, src string, o Options) (_ *Plan, err error) {
	f, _, err := regularfile.Open(src)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	a, err := call(ctx, f, "", src, o)
	if err != nil {
		return nil, err
	}
	if a.Plan == nil {
		return nil, fmt.Errorf("%w: no plan", worker.ErrProtocol)
	}
	return a.Plan, a.Plan.check()
}

// planFile plans the repair of the file at the path src. It uses name to detect the format.
func planFile(ctx context.Context, src, name string, o Options) (_ *Plan, err error) {
	f, info, err := regularfile.Open(src)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	kind := o.Format
	if kind == "" {
		if kind, err = content(f, info, src, name); err != nil {
			return nil, err
		}
	}
	if kind != detect.HDF5 {
		return nil, fmt.Errorf("%w: repair of %s: want an HDF5 file", errors.ErrUnsupported, kind)
	}
	p := &planner{patched: patched{in: f}, size: info.Size(), most: o.MaxChunk, guess: true}
	if err := p.plan(ctx); err != nil {
		return nil, err
	}
	if len(p.changes) > maxChanges {
		return nil, fmt.Errorf("%w: changes: got %d, want at most %d", format.ErrLimit, len(p.changes), maxChanges)
	}
	if h, err := h5file.Open(f, info.Size(), nil); err == nil && h.Driver() != nil {
		return nil, fmt.Errorf("%w: repair of a member of a file in several parts (driver %q)", errors.ErrUnsupported, h.Driver().ID)
	}
	if err := readable(&p.patched, p.size, o.MaxChunk); err != nil {
		return nil, fmt.Errorf("%w: no change of single fields makes the file valid: %w", ndarray.ErrCorrupt, err)
	}
	plan := &Plan{Size: p.size, Changes: p.changes}
	plan.Digest, plan.Result, err = digests(ctx, io.Discard, f, p.size, p.changes)
	return plan, err
}

// readable returns an error unless a file is valid and libhdf5 opens all of its objects.
func readable(in io.ReaderAt, size, most int64) (err error) {
	s := &source{seen: &passes{}, most: most, in: in, size: size}
	defer func() { err = errors.Join(err, s.library.close()) }()
	if err := s.check(false); err != nil {
		return err
	}
	f, err := h5.OpenReaderAt(in, size, nil)
	if err != nil {
		return err
	}
	return openAll(f)
}

// digests writes a file with changes to w, and returns the SHA-256 of the file without and with
// them.
func digests(ctx context.Context, w io.Writer, in io.ReaderAt, size int64, changes []Change) (before, after string, err error) {
	had, now := sha256.New(), sha256.New()
	plain := io.TeeReader(io.NewSectionReader(in, 0, size), had)
	if _, err := io.Copy(io.Discard, &withContext{ctx, plain, &passes{}}); err != nil {
		return "", "", err
	}
	made := io.NewSectionReader(&patched{in, changes}, 0, size)
	if _, err := io.Copy(io.MultiWriter(w, now), &withContext{ctx, made, &passes{}}); err != nil {
		return "", "", err
	}
	return hex.EncodeToString(had.Sum(nil)), hex.EncodeToString(now.Sum(nil)), nil
}

// check returns ndarray.ErrParam if the plan is not consistent.
func (p *Plan) check() error {
	bad := func(what string, got, want any) error {
		return fmt.Errorf("%w: plan: %s: got %v, want %v", ndarray.ErrParam, what, got, want)
	}
	for _, d := range []string{p.Digest, p.Result} {
		if b, err := hex.DecodeString(d); err != nil || len(b) != sha256.Size {
			return bad("digest", fmt.Sprintf("%q", d), "a SHA-256 in hexadecimal")
		}
	}
	end := int64(0)
	for i, c := range p.Changes {
		n := int64(len(c.New))
		switch {
		case n == 0 || len(c.Old) != len(c.New):
			return bad(fmt.Sprintf("change %d", i), fmt.Sprintf("%d and %d bytes", len(c.Old), n), "the same number, at least 1")
		case c.Offset < end || c.Offset > p.Size-n:
			return bad(fmt.Sprintf("offset of change %d", i), c.Offset, fmt.Sprintf("%d to %d", end, p.Size-n))
		}
		end = c.Offset + n
	}
	return nil
}

// Reverse returns the plan that restores the file.
func (p *Plan) Reverse() *Plan {
	r := &Plan{Size: p.Size, Digest: p.Result, Result: p.Digest}
	for _, c := range p.Changes {
		c.Old, c.New = c.New, c.Old
		c.Reason = "reversed: " + c.Reason
		r.Changes = append(r.Changes, c)
	}
	return r
}

// Apply writes a copy of src with the changes to dst, completely or not at all. src is only read.
// Neither path may be inside the other.
//
// Apply returns:
//
//   - ndarray.ErrParam if the plan is not consistent, or if the size, the bytes at a change or the
//     digest of src differ from those of the plan
//   - ndarray.ErrNotFound if src does not exist
//   - ndarray.ErrExists if dst exists and overwrite is false
//   - the context's error and errors of the lock
func (p *Plan) Apply(ctx context.Context, dst, src string, overwrite bool, lock *filelock.Lock) error {
	if err := p.apply(ctx, dst, src, atomicfile.Options{Overwrite: overwrite, Lock: lock}); err != nil {
		return ndarray.Wrap("repair", src, err)
	}
	return nil
}

func (p *Plan) apply(ctx context.Context, dst, src string, o atomicfile.Options) (err error) {
	if err := errors.Join(p.check(), ctx.Err()); err != nil {
		return err
	}
	if err := target(dst, src, o.Overwrite); err != nil {
		return err
	}
	in, info, err := regularfile.Open(src)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	if err := p.matches(in, info.Size()); err != nil {
		return err
	}
	out, err := atomicfile.Create(ctx, dst, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Abort()) }() // a no-op after Commit
	f, err := os.OpenFile(out.Path(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	before, after, err := digests(ctx, f, in, p.Size, p.Changes)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if before != p.Digest || after != p.Result {
		return fmt.Errorf("%w: plan: SHA-256 of the file and of the result: got %s and %s, want %s and %s", ndarray.ErrParam, before, after, p.Digest, p.Result)
	}
	return out.Commit()
}

// matches returns an error if the size of a file, or its bytes at a change, differ from the plan.
func (p *Plan) matches(in io.ReaderAt, size int64) error {
	if size != p.Size {
		return fmt.Errorf("%w: plan: size of the file: got %d, want %d", ndarray.ErrParam, size, p.Size)
	}
	for _, c := range p.Changes {
		b := make([]byte, len(c.Old))
		if _, err := in.ReadAt(b, c.Offset); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if !bytes.Equal(b, c.Old) {
			return fmt.Errorf("%w: plan: bytes at offset %d: got %x, want %x", ndarray.ErrParam, c.Offset, b, c.Old)
		}
	}
	return nil
}
