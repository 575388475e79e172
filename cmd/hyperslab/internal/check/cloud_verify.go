package check

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/convert"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// CloudDoc is the document of verify --cloud --json.
type CloudDoc struct {
	Schema  string          `json:"schema"`
	Files   []CloudRow      `json:"files"`
	Seconds shell.JSONFloat `json:"seconds"`
}

// CloudRow is the layout of one file.
type CloudRow struct {
	Path     string         `json:"path"`
	Bytes    shell.JSONInt  `json:"bytes"`
	Page     *shell.JSONInt `json:"page_bytes"`
	Metadata shell.JSONInt  `json:"metadata_bytes"`
	Requests shell.JSONInt  `json:"metadata_requests"`
	Arrays   []CloudArray   `json:"arrays"`
	Problems []CloudProblem `json:"problems"`
	Error    *string        `json:"error"`
}

// CloudArray is the layout of one array.
type CloudArray struct {
	Path   string          `json:"path"`
	Shape  []shell.JSONInt `json:"shape"`
	Chunk  []shell.JSONInt `json:"chunk_shape"`
	Bytes  shell.JSONInt   `json:"bytes"`
	Size   *shell.JSONInt  `json:"chunk_bytes"`
	Chunks *shell.JSONInt  `json:"stored_chunks"`
	Stored shell.JSONInt   `json:"stored_bytes"`
}

// CloudProblem is a problem of a layout, and the option that fixes it.
type CloudProblem struct {
	Object  *string `json:"object"`
	Problem string  `json:"problem"`
	Fix     string  `json:"fix"`
}

// verifyCloud reports the layout of files. It reads metadata only.
func (j *verifyJob) verifyCloud(cmd *cobra.Command, args []string) error {
	for _, f := range []string{"digests", "format", "untrusted", "force", "memory", "jobs"} {
		if cmd.Flags().Changed(f) {
			return shell.Usagef("--cloud reports the layout and checks no values; --%s does not apply", f)
		}
	}
	start, found := time.Now(), false
	doc := CloudDoc{Schema: shell.SchemaCloud, Files: []CloudRow{}}
	err := j.Batch(cmd, args, &j.batch, true, func(source string) error {
		if err := shell.WholeFile("verify", source); err != nil {
			return err
		}
		row := CloudRow{Path: remote.Redact(source), Arrays: []CloudArray{}, Problems: []CloudProblem{}}
		err := row.examine(cmd.Context(), source)
		if err != nil {
			err = ndarray.Wrap("verify", row.Path, err)
			row.Error = shell.OrNull(err.Error())
		}
		found = found || len(row.Problems) > 0
		doc.Files = append(doc.Files, row)
		if err == nil && !j.json {
			err = row.write(j.App, j)
		}
		return err
	})
	if j.json && len(doc.Files) > 0 {
		doc.Seconds = shell.Seconds(time.Since(start))
		err = errors.Join(err, shell.WriteJSON(j.Stdout, doc))
	}
	if found {
		return &shell.ExitError{Code: shell.ExitDiffers, Err: err}
	}
	return err
}

// examine fills the row.
func (row *CloudRow) examine(ctx context.Context, source string) (err error) {
	var r shell.SourceFile
	var size int64
	if remote.IsURL(source) {
		o, err := remote.DefaultClient.Open(ctx, source)
		if err != nil {
			return err
		}
		r, size = o, o.Size()
	} else {
		f, info, err := regularfile.Open(source)
		if err != nil {
			return err
		}
		r, size = f, info.Size()
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	f, err := h5file.Open(r, size, nil)
	if errors.Is(err, format.ErrMagic) {
		return fmt.Errorf("%w: --cloud examines HDF5 files", errs.Mark(err, ndarray.ErrFormat))
	} else if err != nil {
		return err
	}
	if s := f.FileSpace(); s != nil && s.Strategy == h5file.Paged {
		n := shell.JSONInt(s.PageSize)
		row.Page = &n
	}
	row.Bytes = shell.JSONInt(size)
	l, err := convert.MetadataOf(r, size)
	if err != nil {
		return err
	}
	row.Metadata, row.Requests = shell.JSONInt(l.Bytes), shell.JSONInt(l.Requests)
	if l.Requests > convert.MostCloudOpening {
		row.Problems = append(row.Problems, CloudProblem{
			Problem: fmt.Sprintf("metadata: got %d requests, want at most %d", l.Requests, convert.MostCloudOpening),
			Fix:     "hyperslab repack --cloud",
		})
	}
	seen := make(map[h5file.Addr]bool)
	for e, err := range f.Walk() {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case e.Object == nil || seen[e.Object.Addr] || e.Object.Layout() == nil || e.Object.Dataspace() == nil ||
			e.Object.Datatype() == nil:
			continue
		}
		seen[e.Object.Addr] = true
		if err := row.array(e.Path, e.Object); err != nil {
			return err
		}
	}
	return nil
}

// array adds a dataset.
func (row *CloudRow) array(path string, o *h5file.Object) error {
	layout, space := o.Layout(), o.Dataspace()
	n, ok := space.Elements()
	each := int64(o.Datatype().Size)
	if !ok || each > 0 && n > uint64(math.MaxInt64/each) {
		return nil // corrupt, which verify without --cloud reports
	}
	d := CloudArray{Path: path, Shape: jsonSizes(space.Dims), Bytes: shell.JSONInt(int64(n) * each)}
	switch layout.Class {
	case h5file.Contiguous:
		d.Stored = shell.JSONInt(layout.Size)
	case h5file.Compact:
		d.Stored = shell.JSONInt(len(layout.Data))
	case h5file.Chunked:
		whole, ok := layout.ChunkBytes()
		if !ok || len(layout.Dims) == 0 || whole > math.MaxInt64 {
			return nil
		}
		size, count := shell.JSONInt(whole), shell.JSONInt(0)
		for c, err := range o.Chunks() {
			if err != nil {
				return err
			}
			count++
			d.Stored += shell.JSONInt(c.Size)
		}
		d.Chunk, d.Size, d.Chunks = jsonSizes(layout.Dims[:len(layout.Dims)-1]), &size, &count
		text := ""
		switch {
		case int64(size) > convert.MostCloudChunk:
			text = fmt.Sprintf("chunks of %s: want at most %s", term.FormatBytes(int64(size)), term.FormatBytes(convert.MostCloudChunk))
		case int64(size) < convert.LeastCloudChunk && d.Bytes > convert.LeastCloudChunk:
			text = fmt.Sprintf("chunks of %s: want at least %s", term.FormatBytes(int64(size)), term.FormatBytes(convert.LeastCloudChunk))
		}
		if text != "" {
			row.Problems = append(row.Problems, CloudProblem{Object: &d.Path, Problem: text,
				Fix: "hyperslab repack --cloud, with --access SHAPE for the shape of a typical read"})
		}
	}
	row.Arrays = append(row.Arrays, d)
	return nil
}

// jsonSizes converts dimensions.
func jsonSizes(dims []uint64) []shell.JSONInt {
	list := make([]shell.JSONInt, len(dims))
	for i, n := range dims {
		list[i] = shell.JSONInt(min(n, math.MaxInt64))
	}
	return list
}

// write writes the row for users.
func (row *CloudRow) write(a *shell.App, o *verifyJob) error {
	if o.job.Quiet && len(row.Problems) == 0 {
		return nil
	}
	space := "no paged file space"
	if row.Page != nil {
		space = "pages of " + term.FormatBytes(int64(*row.Page))
	}
	_, err := fmt.Fprintf(a.Stdout, "%s: %s, %s, metadata %s in %s\n", term.Safe(row.Path), term.Plural(int64(len(row.Arrays)), "array"),
		space,
		term.FormatBytes(int64(row.Metadata)), term.Plural(int64(row.Requests), "request"))
	for i, p := range row.Problems {
		if i == o.most && o.most > 0 {
			_, err = fmt.Fprintf(a.Stdout, "  and %d more; -n 0 lists all\n", len(row.Problems)-i)
			break
		}
		at := ""
		if p.Object != nil {
			at = term.Safe(*p.Object) + ": "
		}
		if err == nil {
			_, err = fmt.Fprintf(a.Stdout, "  %s%s\n    fix: %s\n", at, p.Problem, p.Fix)
		}
	}
	return err
}
