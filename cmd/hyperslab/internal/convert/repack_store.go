// hyperslab repack of containers of python-blosc2.

package convert

import (
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
func (j *fileRepack) repackStore(ctx context.Context) error {
	format := hyperslab.Format(j.Format)
	if f, known := shell.NamedFormat(j.Target); known && f != format {
		return shell.Usagef("%s is of format %s, and the name %s has another; hyperslab convert changes formats", j.Source, format,
			j.Target)
	}
	if j.store.Sparse {
		return shell.Usagef("--sparse is for one array; %s contains many", j.Source)
	}
	if !j.store.Given() {
		for e, err := range j.Walk(ctx, j.Source, hyperslab.WalkOptions{NoSizes: true}) {
			if err != nil {
				return err
			}
			if e.Kind == hyperslab.Array {
				j.Kept++
			}
		}
		return j.repackCopy(ctx)
	}
	if j.Untrusted() {
		return fmt.Errorf("%w: %s: other storage for an untrusted container, because a worker passes Python objects as text and not as "+
			"frames; hyperslab convert --untrusted writes them as strings", errors.ErrUnsupported, j.Source)
	}
	var guess *forecast
	if j.dryRun {
		guess = newForecast(j.job.Jobs, j.job.Limit)
	}
	opts := &hyperslab.TreeOptions{
		Format: format, DryRun: j.dryRun, Overwrite: j.force, SkipUnreadable: j.pick.Skip, Workers: j.job.Jobs, Memory: j.job.Limit,
		Exclude: j.pick.Excluded,
		Adjust: func(at string, m ndarray.Meta, spec *ndarray.Spec, workers *int) error {
			rewritten, err := j.adjust(at, m, spec, workers)
			if rewritten && guess != nil && err == nil {
				err = guess.addAt(ctx, j.App, locate.Location{File: j.Source, Object: at}.String(), *spec, hyperslab.B2ND)
			}
			return err
		},
	}
	var m *term.Meter
	opts.Progress = func(p ndarray.Progress) {
		if m == nil {
			m = term.NewMeter(j.job.Progress, j.Stderr, "repack", p.TotalBytes, time.Now).SetTarget(shell.MadeBytes(j.to, 0))
		}
		m.Update(p.DoneBytes)
	}
	tree, err := j.OpenTree(ctx, j.Source)
	if err != nil {
		return err
	}
	stats, err := hyperslab.CopyTree(ctx, j.to, tree, opts)
	err = errors.Join(err, tree.Close())
	if m != nil {
		m.Finish()
	}
	if len(stats.Refused) > 0 {
		return fmt.Errorf("%w: %s of %s cannot be kept; no file was written:\n  %s", errors.ErrUnsupported,
			term.Plural(int64(len(stats.Refused)), "thing"), j.Source, problemLines(stats.Refused))
	}
	if err != nil {
		return err
	}
	j.Kept = stats.Arrays - j.Rewritten
	for _, p := range stats.Changes {
		j.RepackRow.Lost = append(j.RepackRow.Lost, p.String())
	}
	j.App.Lost("repack", j.RepackRow.Lost)
	j.RepackRow.Unreadable = j.App.Unreadable("repack", stats.Unreadable)
	if j.dryRun {
		j.expect(0, guess)
	}
	return nil
}

// adjust sets how an array of a container is stored, and the number of workers that its chunks
// allow. It reports whether the storage of the array changes.
func (j *fileRepack) adjust(at string, m ndarray.Meta, spec *ndarray.Spec, workers *int) (rewritten bool, err error) {
	if m.Null || len(m.Shape) == 0 || m.NumElems() == 0 { // not chunked
		return false, nil
	}
	flags := j.store.forRank(len(m.Shape))
	changed, err := flags.Spec(m, hyperslab.B2ND)
	if err != nil {
		return false, fmt.Errorf("%s: %w", at, err)
	}
	if flags.Blocks == "" && changed.BlockShape == nil && flags.Chunks == "" {
		changed.BlockShape = m.BlockShape
	}
	if storedSo(m, changed) {
		return false, nil
	}
	*spec = changed
	j.Rewritten++
	j.Bytes += shell.JSONInt(m.NumElems() * int64(m.DType.Size))
	job := j.job // a copy, because the number of workers is for this array
	err = job.FitBoth(locate.Location{File: j.Source, Object: at}.String(), m, j.to+":"+at, *spec)
	*workers = job.Jobs
	return true, err
}
