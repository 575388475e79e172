// hyperslab chunks: list the chunks of an array with their offsets and sizes.

package inspect

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/tree/chunkmap"
	"github.com/hyperslab/hyperslab/ndarray"
)

// ChunksDoc is the document of chunks --json.
type ChunksDoc struct {
	Schema  string          `json:"schema"`
	Address string          `json:"address"`
	Format  string          `json:"format"`
	Shape   []shell.JSONInt `json:"shape"`
	Grid    []shell.JSONInt `json:"grid"`
	Chunk   []shell.JSONInt `json:"chunk_shape"`
	Total   shell.JSONInt   `json:"num_chunks"`
	Stored  shell.JSONInt   `json:"listed_chunks"`
	Chunks  []*ChunkDoc     `json:"chunks"`
}

// ChunkDoc is one chunk. Facts that its format does not record are null.
type ChunkDoc struct {
	Index   []shell.JSONInt  `json:"index"`
	Start   []shell.JSONInt  `json:"start"`
	Shape   []shell.JSONInt  `json:"shape"`
	File    *string          `json:"file"`
	Offset  *shell.JSONInt   `json:"offset"`
	Stored  shell.JSONInt    `json:"stored_bytes"`
	Bytes   shell.JSONInt    `json:"bytes"`
	Ratio   *shell.JSONFloat `json:"ratio"`
	Codec   *string          `json:"codec"`
	Special *string          `json:"special"`
	Mask    *int64           `json:"filter_mask"`
}

// chunksJob is one run of chunks.
type chunksJob struct {
	*shell.App

	count int
	json  bool
}

func newChunks(a *shell.App) *cobra.Command {
	j := &chunksJob{App: a}
	cmd := &cobra.Command{
		Use:   "chunks FILE[:/path]...",
		Short: "List the chunks of an array with location, bytes and ratio",
		Long: `chunks lists the stored chunks of an array: grid coordinates, offset in the file, stored
bytes and compression ratio. For Blosc2 and bcolz it also lists the codec of each chunk
and whether the chunk is a run of one value, and for HDF5 the filters that were skipped.
Chunks that were never written are not listed. No chunk is decoded, except those that
contain an embedded frame of python-blosc2, whose chunks have no offset.` + shell.AddressHelp + shell.TwoArguments,
		Example: `  hyperslab chunks etopo.h5:/ROSE
  hyperslab chunks rose.b2nd -n 20
  hyperslab chunks rose.b2nd --json`,
		Args:              shell.Arity(1, 2),
		ValidArgsFunction: shell.CompleteAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.Access.Metadata = true
			return j.run(cmd.Context(), shell.Address(args))
		},
	}
	cmd.Flags().IntVarP(&j.count, "count", "n", 0, "at most `N` chunks; 0 means all")
	shell.JSONFlag(cmd, &j.json)
	a.Each(cmd)
	(&shell.UntrustedFlags{}).Add(a, cmd)
	a.Paged(cmd)
	return cmd
}

func (j *chunksJob) run(ctx context.Context, address string) (err error) {
	if j.count < 0 {
		return shell.Usagef("-n %d: want 0 or more chunks", j.count)
	}
	var arr *ndarray.Array // nil if untrusted
	var m ndarray.Meta
	if j.Untrusted() {
		m, err = j.untrustedMeta(ctx, address)
	} else if arr, err = j.OpenArray(ctx, address); err == nil {
		defer func() { err = errors.Join(err, arr.Close()) }()
		m = arr.Meta()
	}
	if err != nil {
		return err
	}
	chunks, err := chunkmap.Open(address, arr, m)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, chunks.Close()) }()
	doc := ChunksDoc{
		Schema: shell.SchemaChunks, Address: address, Format: m.Format, Shape: shell.ShapeDoc(m), Chunk: shell.JSONShape(m.ChunkShape),
		Grid: shell.JSONShape(chunks.Grid.Counts), Total: shell.JSONInt(chunks.Grid.NumChunks()), Chunks: []*ChunkDoc{},
	}
	more := false
	if j.count == 0 {
		chunks.MaxUnstored = maxUnstored
	}
	for c, err := range chunks.All(ctx) {
		if errors.Is(err, chunkmap.ErrUnstored) {
			return shell.Usagef("%w; -n N lists the first N", err)
		}
		if err != nil {
			return err
		}
		if more = j.count > 0 && len(doc.Chunks) == j.count; more {
			break
		}
		doc.Chunks = append(doc.Chunks, newChunkDoc(&c, m.Format))
	}
	doc.Stored = shell.JSONInt(len(doc.Chunks))
	if j.json {
		return j.WriteJSON(j.Stdout, doc)
	}
	if err := doc.write(j.Stdout, j.Data); err != nil {
		return err
	}
	switch {
	case more:
		j.Note("%d of %s; -n 0 lists all", doc.Stored, term.Plural(int64(doc.Total), "chunk"))
	case doc.Stored < doc.Total:
		j.Note("%d of %s stored; the others were never written", doc.Stored, term.Plural(int64(doc.Total), "chunk"))
	}
	return nil
}

// untrustedMeta returns the metadata of the array at an address of an untrusted file. In a
// directory of arrays, too, its path is that of the file.
func (j *chunksJob) untrustedMeta(ctx context.Context, address string) (ndarray.Meta, error) {
	for e, err := range j.Walk(ctx, address, hyperslab.WalkOptions{NoSizes: true}) {
		switch {
		case err == nil && e.Kind != hyperslab.Array:
			err = shell.Usagef("%s is a %s; name an array", address, e.Kind)
		case describedElements(e): // its chunks can be listed
			return e.Meta, err
		}
		return e.Meta, errors.Join(err, e.Err)
	}
	return ndarray.Meta{}, fmt.Errorf("%s: %w", address, ndarray.ErrNotFound)
}

// maxUnstored is the maximum number of chunks without stored bytes that are listed unless the user
// asks for more.
const maxUnstored = 1 << 18

// newChunkDoc returns the document of a chunk of an array of that format.
func newChunkDoc(c *chunkmap.Chunk, format string) *ChunkDoc {
	d := &ChunkDoc{
		Index: shell.JSONShape(c.Index), Start: shell.JSONShape(c.Region.Start), Shape: shell.JSONShape(c.Region.Shape),
		File: shell.OrNull(c.File), Stored: shell.JSONInt(c.StoredBytes), Bytes: shell.JSONInt(c.Bytes),
		Ratio: shell.Ratio(c.Bytes, &ndarray.Storage{StoredBytes: c.StoredBytes}),
		Codec: shell.OrNull(c.Codec), Special: shell.OrNull(c.Special),
	}
	if c.Offset >= 0 {
		d.Offset = new(shell.JSONInt(c.Offset))
	}
	if format == "hdf5" {
		d.Mask = new(int64(c.SkippedFilter))
	}
	return d
}

func (d *ChunksDoc) write(w io.Writer, p term.Paint) error {
	t := &term.Table{Head: []string{"CHUNK", "ELEMENTS", "OFFSET", "STORED", "RATIO"}, Right: []bool{2: true, 3: true, 4: true}}
	blosc := d.Format != "hdf5"
	if blosc {
		t.Head = append(t.Head, "CODEC")
	} else {
		t.Head = append(t.Head, "FILTERS LEFT OUT")
	}
	files := false
	for _, c := range d.Chunks {
		files = files || c.File != nil
	}
	if files {
		t.Head = append(t.Head, "FILE")
	}
	for _, c := range d.Chunks {
		index, start, shape := plainInts(c.Index), plainInts(c.Start), plainInts(c.Shape)
		r := ndarray.Region{Start: start, Shape: shape}
		offset, ratio, last := "", "", cmpOr(c.Codec, c.Special)
		if c.Offset != nil {
			offset = fmt.Sprint(int64(*c.Offset))
		}
		if c.Ratio != nil {
			ratio = fmt.Sprintf("%.2fx", float64(*c.Ratio))
		}
		if c.Mask != nil && *c.Mask != 0 {
			last = fmt.Sprintf("%#x", *c.Mask)
		}
		row := []string{shell.IndexText(index), r.String(), offset, term.FormatBytes(int64(c.Stored)), ratio, last}
		if files && c.File != nil {
			row = append(row, term.Safe(*c.File))
		} else if files {
			row = append(row, "")
		}
		t.Add(row...)
	}
	out := bufio.NewWriter(w)
	return errors.Join(t.Write(out, p), out.Flush())
}

// cmpOr returns the first string that is not nil.
func cmpOr(strs ...*string) string {
	for _, s := range strs {
		if s != nil {
			return *s
		}
	}
	return ""
}

func plainInts(list []shell.JSONInt) []int64 {
	out := make([]int64, len(list))
	for i, n := range list {
		out[i] = int64(n)
	}
	return out
}
