package check

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5cloud"
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
	XArray   *CloudXArray   `json:"xarray"`
	Error    *string        `json:"error"`
}

// CloudXArray is the estimated cost of reads by xarray.
type CloudXArray struct {
	Now      CloudCost `json:"now"`
	Repacked CloudCost `json:"repacked"`
}

// CloudCost is the cost of a reader for one file.
type CloudCost struct {
	OpenRequests shell.JSONInt   `json:"open_requests"`
	OpenSeconds  shell.JSONFloat `json:"open_seconds"`
	ReadRequests shell.JSONInt   `json:"read_requests"`
	ReadSeconds  shell.JSONFloat `json:"read_seconds"`
}

// newCloudCost rounds the seconds to milliseconds.
func newCloudCost(c h5cloud.Cost) CloudCost {
	round := func(r h5cloud.Reads) shell.JSONFloat { return shell.JSONFloat(math.Round(1000*r.Seconds()) / 1000) }
	return CloudCost{shell.JSONInt(c.Open.Requests), round(c.Open), shell.JSONInt(c.All.Requests), round(c.All)}
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
		err = errors.Join(err, j.WriteDocument(j.Stdout, doc))
	}
	if found {
		return &shell.ExitError{Code: shell.ExitDiffers, Err: err}
	}
	return err
}

// examine fills the row.
func (row *CloudRow) examine(ctx context.Context, source string) error {
	x, err := h5cloud.ExamineFile(ctx, source)
	if err != nil {
		return err
	}
	row.Bytes, row.Metadata, row.Requests = shell.JSONInt(x.Size), shell.JSONInt(x.Metadata.Bytes), shell.JSONInt(x.Metadata.Requests)
	row.XArray = &CloudXArray{newCloudCost(x.Now), newCloudCost(x.Repacked)}
	if x.PageSize > 0 {
		row.Page = new(shell.JSONInt(x.PageSize))
	}
	for i := range x.Arrays {
		row.array(&x.Arrays[i])
	}
	for _, p := range x.Problems {
		row.Problems = append(row.Problems, newCloudProblem(p))
	}
	return nil
}

// array adds a dataset.
func (row *CloudRow) array(a *h5cloud.Array) {
	d := CloudArray{Path: a.Path, Shape: shell.JSONShape(a.Shape), Bytes: shell.JSONInt(a.Bytes), Stored: shell.JSONInt(a.StoredBytes)}
	if a.ChunkShape != nil {
		d.Chunk, d.Size, d.Chunks = shell.JSONShape(a.ChunkShape), new(shell.JSONInt(a.ChunkBytes)), new(shell.JSONInt(a.Chunks))
	}
	row.Arrays = append(row.Arrays, d)
}

// newCloudProblem describes a problem, with the option that fixes it.
func newCloudProblem(p h5cloud.Problem) CloudProblem {
	if p.Object == "" {
		return CloudProblem{Problem: fmt.Sprintf("metadata: got %d requests, want at most %d", p.Got, p.Most), Fix: "hyperslab repack --cloud"}
	}
	d := CloudProblem{Object: &p.Object, Fix: "hyperslab repack --cloud, with --access SHAPE for the shape of a typical read"}
	want := "at most " + term.FormatBytes(p.Most)
	if p.Got < p.Least {
		want = "at least " + term.FormatBytes(p.Least)
	}
	d.Problem = fmt.Sprintf("chunks of %s: want %s", term.FormatBytes(p.Got), want)
	return d
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
	if x := row.XArray; err == nil {
		_, err = fmt.Fprintf(a.Stdout, "  xarray over HTTP, about, at 30 ms and 125 MB/s: to open %s, %v s; all elements %s, %v s\n"+
			"  after repack --cloud: to open %s, %v s; all elements %s, %v s\n",
			term.Plural(int64(x.Now.OpenRequests), "request"), x.Now.OpenSeconds, term.Plural(int64(x.Now.ReadRequests), "request"), x.Now.ReadSeconds,
			term.Plural(int64(x.Repacked.OpenRequests), "request"), x.Repacked.OpenSeconds, term.Plural(int64(x.Repacked.ReadRequests), "request"), x.Repacked.ReadSeconds)
	}
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
