package check

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
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
	x, err := hyperslab.CheckCloud(ctx, source)
	if err != nil {
		return err
	}
	row.Bytes, row.Metadata, row.Requests = shell.JSONInt(x.Bytes), shell.JSONInt(x.MetadataBytes), shell.JSONInt(x.Requests)
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
func (row *CloudRow) array(a *hyperslab.CloudArray) {
	d := CloudArray{Path: a.Path, Shape: shell.JSONShape(a.Shape), Bytes: shell.JSONInt(a.Bytes), Stored: shell.JSONInt(a.StoredBytes)}
	if a.ChunkShape != nil {
		d.Chunk, d.Size, d.Chunks = shell.JSONShape(a.ChunkShape), new(shell.JSONInt(a.ChunkBytes)), new(shell.JSONInt(a.Chunks))
	}
	row.Arrays = append(row.Arrays, d)
}

// newCloudProblem describes a problem, with the option that fixes it.
func newCloudProblem(p hyperslab.CloudProblem) CloudProblem {
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
