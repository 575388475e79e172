// hyperslab append: add the elements of arrays after those of another.

package convert

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
)

// appendJob is one run of append.
type appendJob struct {
	*shell.App

	job  shell.JobFlags
	edit editFlags
	axis int

	allowLossy bool
	changed    *shell.JSONInt // elements that lossy filters changed; nil unless allowLossy is set
}

func newAppend(a *shell.App) *cobra.Command {
	j := &appendJob{App: a}
	cmd := &cobra.Command{
		Use:   "append TARGET SOURCE...",
		Short: "Append the elements of arrays to another array",
		Long: `append extends an array along one axis with the elements of other arrays, in the given
order. The sources may have any format. They must have the element type of the array and
the same shape except along that axis. An HDF5 dataset must have a maximum shape that
allows it to grow. A Caterva array stores no element type, which --dtype specifies.

If a filter of the array can change values, for example scale-offset of HDF5 or TruncPrec
of Blosc2, append fails before it writes. --allow-lossy appends the elements and reports
how many the filter changed, including elements of the array in the same chunks.` + editHelp + shell.AddressHelp,
		Example: `  hyperslab append waves.b2nd changed.b2nd
  hyperslab append waves.b2nd waves.h5:/waves changed.b2nd --axis 0 --in-place`,
		Args:              shell.Arity(2, -1),
		ValidArgsFunction: shell.CompleteAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			return j.run(cmd.Context(), args[0], args[1:])
		},
	}
	cmd.Flags().IntVar(&j.axis, "axis", 0, "`AXIS` that grows, counted from 0")
	cmd.Flags().BoolVar(&j.allowLossy, "allow-lossy", false, "append although a filter can change values, and report how many it changed")
	j.job.Add(cmd, "no progress and no summary")
	j.edit.add(a, cmd)
	shell.AddDType(a, cmd)
	a.DoneWith(cmd, func(d *shell.DoneDoc) { d.LossyChanges = j.changed })
	return cmd
}

func (j *appendJob) run(ctx context.Context, target string, sources []string) (err error) {
	memory, err := j.job.Check()
	if err != nil {
		return err
	}
	start := time.Now()
	loc, err := locate.Parse(target)
	if err != nil {
		return err
	}
	if err := j.edit.hold(ctx, loc.File); err != nil {
		return err
	}
	var from []*ndarray.Array
	defer func() {
		for _, src := range from {
			err = errors.Join(err, src.Close())
		}
	}()
	for _, source := range sources {
		if j.edit.inPlace && shell.SameFile(source, loc.File) {
			return shell.Usagef("%s is in the file that changes; without --in-place that is possible", source)
		}
		src, err := j.Open(ctx, source, hyperslab.OpenOptions{Checksums: true})
		if err != nil {
			return err
		}
		from = append(from, src)
	}
	fit := func(address string, m ndarray.Meta) error { return j.job.Fit(memory, address, m) }
	into, bytes, err := j.appendable(ctx, target, from, fit)
	if err != nil {
		return err
	}
	for i, src := range from {
		if err := fit(sources[i], src.Meta()); err != nil {
			return err
		}
	}
	if j.edit.dryRun {
		text, err := forecastAppend(ctx, from, into, j.job.Jobs, memory)
		if err != nil {
			return err
		}
		j.Note("would append %s along axis %d of %s%s", term.FormatBytes(bytes), j.axis, term.Safe(target), text)
		return j.edit.plan(loc.File)
	}
	var shape []int64
	err = j.edit.edit(ctx, loc.File, func(file string) (err error) {
		dst, err := j.Open(ctx, locate.Location{File: file, Object: loc.Object}.String(),
			hyperslab.OpenOptions{Write: true, AllowLossy: j.allowLossy})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, dst.Close()) }()
		if err := j.checkLossy(target, dst); err != nil { // before the array grows
			return err
		}
		m := j.edit.meter(bytes)
		if !j.edit.inPlace { // in place, the growth of the file does not show how much was written
			m.SetTarget(growing(file))
		}
		defer m.Finish()
		done := int64(0)
		for _, src := range from {
			err := j.appendArray(ctx, dst, src, func(n int64) { done += n; m.Update(done) })
			if err != nil {
				return err
			}
		}
		shape = dst.Shape()
		if j.allowLossy {
			j.changed = new(shell.JSONInt(dst.LossyChanges()))
		}
		return nil
	})
	if err == nil && j.changed != nil && *j.changed > 0 {
		j.Note("%s: elements that the lossy filter changed: %d", term.Safe(target), *j.changed)
	}
	if err == nil && !j.job.Quiet {
		j.Note("%s: %s, %s in %v", term.Safe(target), term.FormatShape(shape), term.FormatBytes(bytes),
			time.Since(start).Round(time.Millisecond))
	}
	return err
}

// checkLossy returns errors.ErrUnsupported if a filter of the target can change values, unless that
// is allowed.
func (j *appendJob) checkLossy(target string, dst *ndarray.Array) error {
	if b, ok := ndarray.As[ndarray.LossyWriter](dst.Backend()); ok && !j.allowLossy {
		if filter, _ := b.Lossy(); filter != "" {
			return ndarray.Wrap("append to", target, fmt.Errorf("%w %s, which can change elements", shell.ErrLossy, filter))
		}
	}
	return nil
}

// forecastAppend returns, for example, ": about 44.8 KiB in 12ms", or "" if a sample cannot be
// stored as the target is.
func forecastAppend(ctx context.Context, from []*ndarray.Array, into ndarray.Meta, jobs int, memory int64) (string, error) {
	f := newForecast(jobs, memory)
	for _, src := range from {
		if err := f.add(ctx, src, into.Spec(), hyperslab.Format(into.Format)); errors.Is(err, errors.ErrUnsupported) {
			return "", nil // a filter that a new dataset cannot have
		} else if err != nil {
			return "", err
		}
	}
	if f.sampled == 0 {
		return "", nil
	}
	stored, took := f.total()
	return ": " + estimateText(shell.JSONInt(stored), shell.Seconds(took)), nil
}

// appendable checks all sources against the target before it is changed. It returns the target's
// metadata and the bytes of the sources.
func (j *appendJob) appendable(ctx context.Context, target string, from []*ndarray.Array,
	fit func(string, ndarray.Meta) error) (m ndarray.Meta, bytes int64, err error) {
	axis := j.axis
	dst, err := j.Open(ctx, target, hyperslab.OpenOptions{})
	if err != nil {
		return m, 0, err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	shape := dst.Shape()
	m = dst.Meta()
	if axis < 0 || axis >= len(shape) {
		return m, 0, shell.Usagef("--axis %d: %s is %s, its axes are counted from 0", axis, target, shell.MetaShape(dst.Meta()))
	}
	if err := fit(target, dst.Meta()); err != nil {
		return m, 0, err
	}
	if err := j.checkLossy(target, dst); err != nil {
		return m, 0, err
	}
	length := shape[axis]
	for _, src := range from {
		own := src.Shape()
		if !src.DType().EqualValues(dst.DType()) {
			return m, 0, shell.Usagef("%w: %s is %v, %s is %v", ndarray.ErrType, src.Meta().Path, src.DType(), target, dst.DType())
		}
		if len(own) != len(shape) || !slices.Equal(own[:axis], shape[:axis]) || !slices.Equal(own[axis+1:], shape[axis+1:]) {
			return m, 0, shell.Usagef("%w: %s is %s, %s is %s: only axis %d may differ",
				ndarray.ErrShape, src.Meta().Path, shell.MetaShape(src.Meta()), target, shell.MetaShape(dst.Meta()), axis)
		}
		length += own[axis]
		bytes += shell.AllBytes(src)
	}
	if m.MaxShape == nil && m.Format == string(hyperslab.HDF5) {
		return m, 0, shell.Usagef("%w: %s cannot grow, its shape is fixed; hyperslab repack --grow %d makes one that can", ndarray.ErrShape,
			target, axis)
	}
	if m.MaxShape != nil && m.MaxShape[axis] != ndarray.Unlimited && length > m.MaxShape[axis] {
		return m, 0, shell.Usagef("%w: axis %d of %s would become %d long, its maximum is %d", ndarray.ErrShape, axis, target, length,
			m.MaxShape[axis])
	}
	return m, bytes, nil
}

// appendArray extends dst by src, piece by piece.
func (j *appendJob) appendArray(ctx context.Context, dst, src *ndarray.Array, moved func(bytes int64)) error {
	axis, memory := j.axis, j.job.Limit
	shape := dst.Shape()
	at := shape[axis]
	shape[axis] += src.Shape()[axis]
	if err := dst.Resize(ctx, shape); err != nil {
		return err
	}
	place := func(r ndarray.Region) ndarray.Region {
		r.Start = slices.Clone(r.Start)
		r.Start[axis] += at
		return r
	}
	if src.DType().Size > 0 {
		pieces := shell.Pieces{Shape: src.Shape(), Chunk: src.Meta().ChunkShape, Size: src.DType().Size, Memory: memory}
		return pieces.Copy(ctx, src, func(r ndarray.Region, b []byte) error {
			moved(int64(len(b)))
			return dst.Write(ctx, b, place(r))
		})
	}
	for box := range grid.Cut(grid.Whole(src.Shape()), nil, max(memory/shell.TextBytes, 1)) {
		r := ndarray.Region(box)
		strs := make([]string, r.NumElems())
		if err := src.ReadStrings(ctx, strs, r); err != nil {
			return err
		}
		if err := dst.WriteStrings(ctx, strs, place(r)); err != nil {
			return err
		}
		moved(r.NumElems() * shell.TextBytes)
	}
	return nil
}
