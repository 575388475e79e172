// Repacking of HDF5 files: everything is copied, datasets optionally with other chunks and
// compression.

package convert

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5copy"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5repack"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/tree/opened"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// repackHDF5 repacks an HDF5 file, and closes it.
func (j *fileRepack) repackHDF5(ctx context.Context, files *opened.Files) (err error) {
	left := []string{}
	r := &h5repack.Repack{
		File: j.Source, Target: j.to, Cloud: j.cloud.cloud, Compatible: j.cloud.compatible, AllowMissing: j.missing, ExternalDir: j.files.Dir,
		Exclude: j.pick.Excluded, Unreadable: j.pick.Unreadable(j.App, "repack", &left), Workers: j.job.Jobs, Memory: j.job.Limit,
	}
	if j.store.Given() || j.cloud.cloud {
		r.Spec = j.specHDF5
	}
	var unfit, removed []string
	var guess *forecast
	var was int64 // stored bytes of the datasets that would be rewritten
	if j.dryRun {
		guess = newForecast(j.job.Jobs, j.job.Limit)
	}
	r.Unfit = func(text string) { unfit = append(unfit, text) }
	r.Rewrites = func(path string, from hdf5.Description, spec ndarray.Spec) error {
		if err := j.job.FitBoth(j.Source+":"+path, from.Meta, j.Source+":"+path, spec); err != nil {
			return err
		}
		for _, f := range encodingLost(from.Meta, spec.Compression, hyperslab.HDF5) {
			removed = append(removed, path+": "+f.String())
		}
		if guess == nil {
			return nil
		}
		was += from.Storage.StoredBytes
		return guess.addAt(ctx, j.App, locate.Location{File: j.Source, Object: path}.String(), spec, hyperslab.HDF5)
	}
	defer func() { err = errors.Join(err, files.CloseFile(j.Source)) }()
	if r.Source, err = files.HDF5(ctx, j.Source); err != nil {
		return err
	}
	if err := r.Plan(ctx); err != nil {
		return err
	}
	j.Rewritten, j.Kept, j.Bytes = r.Rewritten, r.Kept, shell.JSONInt(r.Bytes)
	for _, text := range unfit {
		j.Note("%s copied without recompression: %s", j.Talk.Notice("hyperslab repack:"), term.Safe(text))
	}
	if err := j.accept(r.Problems); err != nil {
		return err
	}
	j.RepackRow.Lost = append(j.RepackRow.Lost, removed...)
	j.App.Lost("repack", removed)
	j.RepackRow.Unreadable = left
	if j.dryRun {
		j.expect(int64(*j.SourceBytes)-was, guess)
		return nil
	}
	m := term.NewMeter(j.job.Progress, j.Stderr, "repack", r.Bytes, time.Now).SetTarget(shell.MadeBytes(j.to, 0))
	defer m.Finish()
	r.Progress = m.Update
	err = shell.Written(ctx, j.to, j.force, func(file string) error { return r.Write(ctx, file) })
	j.RepackRow.Unreadable = left
	return err
}

// specHDF5 returns how a dataset must be stored. A chunk shape applies to datasets with as many
// dimensions.
func (j *fileRepack) specHDF5(_ string, m ndarray.Meta) (*ndarray.Spec, error) {
	store := j.store.forRank(len(m.Shape))
	spec, err := store.Spec(m, hyperslab.HDF5)
	if err != nil {
		return nil, err
	}
	if j.cloud.cloud && store.Chunks == "" {
		spec.ChunkShape = j.cloud.chunks(m)
	}
	return &spec, nil
}

// accept reports properties that cannot be kept, and returns an error if the flags do not allow it.
func (j *fileRepack) accept(problems []h5copy.Problem) error {
	var refused []string
	var flags []string
	for _, p := range problems {
		text := hyperslab.Problem{Path: p.Path, What: p.What, Err: p.Err}.String()
		j.RepackRow.Lost = append(j.RepackRow.Lost, text)
		flag, allowed := "--exclude-references", j.lose
		if p.Kind == h5copy.Missing {
			flag, allowed = "--allow-missing", j.missing
		}
		if !allowed {
			refused = append(refused, text)
			if !slices.Contains(flags, flag) {
				flags = append(flags, flag)
			}
		} else {
			j.Note("%s %s", j.Talk.Notice("hyperslab repack:"), term.Safe(text))
		}
	}
	if len(refused) > 0 {
		return fmt.Errorf("%s of %s cannot be kept; no file was written:\n  %s\n  to go on add %s",
			term.Plural(int64(len(refused)), "thing"), j.Source, strings.Join(refused, "\n  "), strings.Join(flags, " and "))
	}
	return nil
}
