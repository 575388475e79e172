// hyperslab repack of containers of python-blosc2.

package convert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
)

// repackStore rewrites the arrays of a container. Python objects, plain frames and tables are
// copied byte for byte, and without storage flags so is the container.
func (a *app) repackStore(ctx context.Context, row *RepackRow, to string, memory int64, force bool, o *repackFlags) error {
	format := hyperslab.Format(row.Format)
	if f, known := shell.NamedFormat(row.Target); known && f != format {
		return shell.Usagef("%s is of format %s, and the name %s has another; hyperslab convert changes formats", row.Source, format, row.Target)
	}
	if o.store.Sparse {
		return shell.Usagef("--sparse is for one array; %s contains many", row.Source)
	}
	if !o.store.Given() {
		for e, err := range a.Walk(ctx, row.Source, hyperslab.WalkOptions{NoSizes: true}) {
			if err != nil {
				return err
			}
			if e.Kind == hyperslab.Array {
				row.Kept++
			}
		}
		return a.repackCopy(ctx, row, to, force, o)
	}
	if a.Untrusted() {
		return fmt.Errorf("%w: %s: other storage for an untrusted container, because a worker passes Python objects as text and not as frames; hyperslab convert --untrusted writes them as strings", errors.ErrUnsupported, row.Source)
	}
	opts := &hyperslab.TreeOptions{
		Format: format, DryRun: o.dryRun, Overwrite: force, SkipUnreadable: o.pick.Skip, Workers: o.job.Jobs, Memory: memory,
		Exclude: o.pick.Excluded,
	}
	var guess *forecast
	if o.dryRun {
		guess = newForecast(o.job.Jobs, memory)
	}
	opts.Adjust = func(at string, m ndarray.Meta, spec *ndarray.Spec, workers *int) error {
		if m.Null || len(m.Shape) == 0 || m.NumElems() == 0 { // not chunked
			return nil
		}
		flags := o.store.forRank(len(m.Shape))
		changed, err := flags.Spec(m, hyperslab.B2ND)
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		if flags.Blocks == "" && changed.BlockShape == nil && flags.Chunks == "" {
			changed.BlockShape = m.BlockShape
		}
		if storedSo(m, changed) {
			return nil
		}
		*spec = changed
		row.Rewritten++
		row.Bytes += shell.JSONInt(m.NumElems() * int64(m.DType.Size))
		address, job := locate.Location{File: row.Source, Object: at}.String(), o.job
		err = cmp.Or(job.Fit(memory, address, m), job.Fit(memory, to+":"+at, shell.SpecMeta(*spec)))
		*workers = job.Jobs
		if err == nil && guess != nil {
			err = guess.addAt(ctx, a, address, *spec, hyperslab.B2ND)
		}
		return err
	}
	var m *term.Meter
	opts.Progress = func(p ndarray.Progress) {
		if m == nil {
			m = term.NewMeter(o.job.Progress, a.Stderr, "repack", p.TotalBytes, time.Now).SetTarget(shell.MadeBytes(to, 0))
		}
		m.Update(p.DoneBytes)
	}
	tree, err := a.OpenTree(ctx, row.Source)
	if err != nil {
		return err
	}
	stats, err := hyperslab.CopyTree(ctx, to, tree, opts)
	err = errors.Join(err, tree.Close())
	if m != nil {
		m.Finish()
	}
	if len(stats.Refused) > 0 {
		return fmt.Errorf("%w: %s of %s cannot be kept; no file was written:\n  %s", errors.ErrUnsupported, term.Plural(int64(len(stats.Refused)), "thing"), row.Source, problemLines(stats.Refused))
	}
	if err != nil {
		return err
	}
	row.Kept = stats.Arrays - row.Rewritten
	for _, p := range stats.Changes {
		row.Lost = append(row.Lost, p.String())
		a.Note("%s not kept: %s", a.Talk.Notice("hyperslab repack:"), term.Safe(p.String()))
	}
	for _, p := range stats.Unreadable {
		row.Unreadable = append(row.Unreadable, p.String())
		a.Note("%s cannot be read, left out: %s", a.Talk.Failure("hyperslab repack:"), term.Safe(p.String()))
	}
	if o.dryRun {
		row.expect(0, guess)
	}
	return nil
}
