// hyperslab index --kerchunk: the locations of chunks for readers of Zarr.

package publish

import (
	"context"
	"errors"
	"strings"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/hdf5/kerchunk"
	"github.com/hyperslab/hyperslab/remote"
)

// references writes kerchunk references of files.
func (j *indexJob) references(ctx context.Context, files []string) error {
	if err := shell.OneOf("--kerchunk", j.kerchunk, string(kerchunk.JSON), string(kerchunk.Parquet)); err != nil {
		return err
	}
	if j.combine != "" && j.url != "" {
		if err := checkDirectory(strings.TrimSuffix(j.url, "/") + "/"); err != nil {
			return err
		}
	}
	for _, file := range files {
		if j.url == "" && remote.Redact(file) != file {
			return shell.Usagef("%s: the references would contain the query of the URL, which may be secret: --url URL is written instead",
				remote.Redact(file))
		}
	}
	o := kerchunk.FileOptions{
		Options: kerchunk.Options{Format: kerchunk.Format(j.kerchunk), Combine: j.combine, Exclude: j.pick.Excluded}, URL: j.url, Overwrite: j.force,
	}
	left := 0
	if j.pick.Skip {
		o.Skip = func(file, path string, err error) {
			left++
			d := shell.LeftOutDoc{File: file, Path: path, Reason: err.Error()}
			if filter, ok := errors.AsType[*kerchunk.NoCodec](err); ok {
				d.Filter = &filter.Filter
			}
			*j.leftOut = append(*j.leftOut, d)
			j.Note("%s left out: %s", j.Talk.Notice("hyperslab index:"), term.Safe(file+":"+path+": "+d.Reason))
		}
	}
	_, err := kerchunk.WriteFiles(ctx, j.out, files, o)
	if err == nil && left > 0 {
		return &shell.ExitError{Code: shell.ExitPartly}
	}
	return err
}
