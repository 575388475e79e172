// Layout of HDF5 files in object stores: verify --cloud reports it, and repack --cloud writes it.

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// Sizes that suit reads over a network, in bytes.
const (
	leastCloudChunk  = 2 << 20
	mostCloudChunk   = 16 << 20
	leastCloudPage   = 64 << 10
	mostCloudPage    = 16 << 20
	cloudFirst       = 512 << 10 // of the request that opens a file
	cloudRequest     = 4 << 20   // of another request
	cloudGap         = 256 << 10 // between two structures that one request reads
	mostCloudOpening = 3         // requests for all metadata of a good layout
	cloudPerDataset  = 256       // metadata of a new chunk index
)

// cloudDoc is the document of verify --cloud --json.
type cloudDoc struct {
	Schema  string     `json:"schema"`
	Files   []cloudRow `json:"files"`
	Seconds jsonFloat  `json:"seconds"`
}

// cloudRow is the layout of one file.
type cloudRow struct {
	Path     string         `json:"path"`
	Bytes    jsonInt        `json:"bytes"`
	Page     *jsonInt       `json:"page_bytes"`
	Metadata jsonInt        `json:"metadata_bytes"`
	Requests jsonInt        `json:"metadata_requests"`
	Arrays   []cloudArray   `json:"arrays"`
	Problems []cloudProblem `json:"problems"`
	Error    *string        `json:"error"`
}

// cloudArray is the layout of one array.
type cloudArray struct {
	Path   string    `json:"path"`
	Shape  []jsonInt `json:"shape"`
	Chunk  []jsonInt `json:"chunk_shape"`
	Bytes  jsonInt   `json:"bytes"`
	Size   *jsonInt  `json:"chunk_bytes"`
	Chunks *jsonInt  `json:"stored_chunks"`
	Stored jsonInt   `json:"stored_bytes"`
}

// cloudProblem is a problem of a layout, and the option that fixes it.
type cloudProblem struct {
	Object  *string `json:"object"`
	Problem string  `json:"problem"`
	Fix     string  `json:"fix"`
}

// verifyCloud reports the layout of files. It reads metadata only.
func (a *app) verifyCloud(cmd *cobra.Command, args []string, o *verifyFlags) error {
	for _, f := range []string{"digests", "format", "untrusted", "force", "memory", "jobs"} {
		if cmd.Flags().Changed(f) {
			return usagef("--cloud reports the layout and checks no values; --%s does not apply", f)
		}
	}
	start, found := time.Now(), false
	doc := cloudDoc{Schema: schemaCloud, Files: []cloudRow{}}
	err := a.batch(cmd, args, &o.batch, true, func(source string) error {
		if err := wholeFile("verify", source); err != nil {
			return err
		}
		row := cloudRow{Path: remote.Redact(source), Arrays: []cloudArray{}, Problems: []cloudProblem{}}
		err := row.examine(cmd.Context(), source)
		if err != nil {
			err = ndarray.Wrap("verify", row.Path, err)
			row.Error = orNull(err.Error())
		}
		found = found || len(row.Problems) > 0
		doc.Files = append(doc.Files, row)
		if err == nil && !o.json {
			err = row.write(a, o)
		}
		return err
	})
	if o.json && len(doc.Files) > 0 {
		doc.Seconds = seconds(time.Since(start))
		err = errors.Join(err, writeJSON(a.stdout, doc))
	}
	if found {
		return &exitError{code: exitDiffers, err: err}
	}
	return err
}

// examine fills the row.
func (row *cloudRow) examine(ctx context.Context, source string) (err error) {
	var r sourceFile
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
		n := jsonInt(s.PageSize)
		row.Page = &n
	}
	row.Bytes = jsonInt(size)
	l, err := metadataOf(r, size)
	if err != nil {
		return err
	}
	row.Metadata, row.Requests = jsonInt(l.bytes), jsonInt(l.requests)
	if l.requests > mostCloudOpening {
		row.Problems = append(row.Problems, cloudProblem{
			Problem: fmt.Sprintf("metadata: got %d requests, want at most %d", l.requests, mostCloudOpening), Fix: "hyperslab repack --cloud",
		})
	}
	seen := make(map[h5file.Addr]bool)
	for e, err := range f.Walk() {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case e.Object == nil || seen[e.Object.Addr] || e.Object.Layout() == nil || e.Object.Dataspace() == nil || e.Object.Datatype() == nil:
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
func (row *cloudRow) array(path string, o *h5file.Object) error {
	layout, space := o.Layout(), o.Dataspace()
	n, ok := space.Elements()
	each := int64(o.Datatype().Size)
	if !ok || each > 0 && n > uint64(math.MaxInt64/each) {
		return nil // corrupt, which verify without --cloud reports
	}
	d := cloudArray{Path: path, Shape: jsonSizes(space.Dims), Bytes: jsonInt(int64(n) * each)}
	switch layout.Class {
	case h5file.Contiguous:
		d.Stored = jsonInt(layout.Size)
	case h5file.Compact:
		d.Stored = jsonInt(len(layout.Data))
	case h5file.Chunked:
		whole, ok := layout.ChunkBytes()
		if !ok || len(layout.Dims) == 0 || whole > math.MaxInt64 {
			return nil
		}
		size, count := jsonInt(whole), jsonInt(0)
		for c, err := range o.Chunks() {
			if err != nil {
				return err
			}
			count++
			d.Stored += jsonInt(c.Size)
		}
		d.Chunk, d.Size, d.Chunks = jsonSizes(layout.Dims[:len(layout.Dims)-1]), &size, &count
		text := ""
		switch {
		case int64(size) > mostCloudChunk:
			text = fmt.Sprintf("chunks of %s: want at most %s", term.FormatBytes(int64(size)), term.FormatBytes(mostCloudChunk))
		case int64(size) < leastCloudChunk && d.Bytes > leastCloudChunk:
			text = fmt.Sprintf("chunks of %s: want at least %s", term.FormatBytes(int64(size)), term.FormatBytes(leastCloudChunk))
		}
		if text != "" {
			row.Problems = append(row.Problems, cloudProblem{Object: &d.Path, Problem: text, Fix: "hyperslab repack --cloud, with --access SHAPE for the shape of a typical read"})
		}
	}
	row.Arrays = append(row.Arrays, d)
	return nil
}

// jsonSizes converts dimensions.
func jsonSizes(dims []uint64) []jsonInt {
	list := make([]jsonInt, len(dims))
	for i, n := range dims {
		list[i] = jsonInt(min(n, math.MaxInt64))
	}
	return list
}

// write writes the row for users.
func (row *cloudRow) write(a *app, o *verifyFlags) error {
	if o.job.quiet && len(row.Problems) == 0 {
		return nil
	}
	space := "no paged file space"
	if row.Page != nil {
		space = "pages of " + term.FormatBytes(int64(*row.Page))
	}
	_, err := fmt.Fprintf(a.stdout, "%s: %s, %s, metadata %s in %s\n", term.Safe(row.Path), term.Plural(int64(len(row.Arrays)), "array"), space,
		term.FormatBytes(int64(row.Metadata)), term.Plural(int64(row.Requests), "request"))
	for i, p := range row.Problems {
		if i == o.most && o.most > 0 {
			_, err = fmt.Fprintf(a.stdout, "  and %d more; -n 0 lists all\n", len(row.Problems)-i)
			break
		}
		at := ""
		if p.Object != nil {
			at = term.Safe(*p.Object) + ": "
		}
		if err == nil {
			_, err = fmt.Fprintf(a.stdout, "  %s%s\n    fix: %s\n", at, p.Problem, p.Fix)
		}
	}
	return err
}

// metadataLayout are the bytes of the metadata of a file, and the requests that read them.
type metadataLayout struct {
	bytes    int64
	index    int64 // of chunk indexes, and of the B-trees of groups
	requests int
}

// chunkIndexes are the beginnings of the names of their structures in internal/format/h5file.
var chunkIndexes = []string{"v1 B-tree", "v2 B-tree", "fixed array", "extensible array"}

// metadataOf examines all structures of a file except elements. Global heaps contain elements.
func metadataOf(r sourceFile, size int64) (l metadataLayout, err error) {
	var spans []span
	err = h5file.Structures(r, size, func(s format.Field) {
		if kind := kindOf(s.Name); kind != "gheap" && s.Length > 0 && s.Offset >= 0 {
			spans = append(spans, span{s.Offset, s.Offset + s.Length, kind})
			if slices.ContainsFunc(chunkIndexes, func(name string) bool { return strings.HasPrefix(s.Name, name) }) {
				l.index += s.Length
			}
		}
	})
	if err != nil {
		return l, err
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	start, end, counted := int64(0), min(cloudFirst, size), int64(0)
	l.requests = 1
	for _, s := range spans {
		if s.end > counted {
			l.bytes += s.end - max(s.from, counted)
			counted = s.end
		}
		if s.end <= end {
			continue
		}
		if s.from-end > cloudGap || s.end-start > cloudRequest {
			start = max(s.from, end)
			l.requests += int(grid.DivUp(s.end-start, cloudRequest))
		}
		end = s.end
	}
	return l, nil
}

// cloudFlags are the options of repack for object stores.
type cloudFlags struct {
	cloud  bool
	access string
}

func (o *cloudFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.cloud, "cloud", false, "layout of HDF5 for object stores: paged file space, metadata first, chunks of 2 MiB to 16 MiB")
	f.StringVar(&o.access, "access", "", "with --cloud: `SHAPE` of a typical read in elements, for example 1,*,* (* is the whole dimension); for arrays with as many dimensions")
}

// check checks the flags.
func (o *cloudFlags) check(chunks string) error {
	_, err := parseAccess(o.access)
	switch {
	case o.access != "" && !o.cloud:
		return usagef("--access %s: it chooses the chunks of --cloud", o.access)
	case o.access != "" && chunks != "":
		return usagef("--access and --chunks: both choose the shape of chunks")
	case err != nil:
		return usagef("--access: %w", err)
	}
	return nil
}

// parseAccess parses the shape of a read. An asterisk is 0, the whole dimension.
func parseAccess(s string) ([]int64, error) {
	if s == "" {
		return nil, nil
	}
	parts := strings.Split(s, ",")
	shape := make([]int64, len(parts))
	for i, part := range parts {
		if strings.TrimSpace(part) == "*" {
			continue
		}
		n, err := term.ParseShape(part)
		if err != nil || len(n) != 1 {
			return nil, fmt.Errorf("%q is not a shape of a read; write elements or * along each dimension, for example 1,*,*", s)
		}
		shape[i] = n[0]
	}
	return shape, nil
}

// chunks returns the shape of the chunks of an array: the access pattern, or the chunks so far,
// enlarged or divided to between 2 MiB and 16 MiB. It returns nil for a small array that is not
// chunked.
func (o *cloudFlags) chunks(m ndarray.Meta) []int64 {
	access, _ := parseAccess(o.access) // checked
	size := float64(m.DType.Size)
	bytes := func(shape []int64) float64 {
		n := size
		for _, d := range shape {
			n *= float64(d)
		}
		return n
	}
	chunk := slices.Clone(m.Shape)
	switch {
	case m.ChunkShape == nil && bytes(m.Shape) < leastCloudChunk:
		return nil
	case len(access) == len(chunk):
		for i, n := range access {
			if n > 0 {
				chunk[i] = min(chunk[i], n)
			}
		}
	case m.ChunkShape != nil:
		for i, n := range m.ChunkShape {
			chunk[i] = min(chunk[i], n)
		}
	}
	for bytes(chunk) > mostCloudChunk { // divide the longest dimension
		at := 0
		for i, n := range chunk {
			if n > chunk[at] {
				at = i
			}
		}
		if chunk[at] == 1 {
			break
		}
		chunk[at] = grid.DivUp(chunk[at], 2)
	}
	for bytes(chunk) < leastCloudChunk { // enlarge the dimension with the most chunks
		at, most := 0, int64(1)
		for i, n := range chunk {
			if count := grid.DivUp(m.Shape[i], n); count > most {
				at, most = i, count
			}
		}
		if most == 1 {
			break
		}
		chunk[at] = min(2*chunk[at], m.Shape[at])
	}
	return chunk
}

// createCloud creates the file of repack --cloud. A page has space for all metadata, because the
// first page of a file contains metadata alone.
func (r *repacker) createCloud(file string) (*h5.File, error) {
	creation, err := r.src.Creation()
	if err != nil {
		return nil, err
	}
	src, err := os.Open(r.file)
	if err != nil {
		return nil, err
	}
	info, err := src.Stat()
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	l, err := metadataOf(src, info.Size())
	if err := errors.Join(err, src.Close()); err != nil {
		return nil, err
	}
	need := max(l.bytes-l.index, 0)
	if all := int64(r.kept + r.rewritten); all > 0 { // the others get new indexes
		need += l.index / all * int64(r.kept)
	}
	need += need/4 + int64(r.rewritten)*cloudPerDataset
	creation.OffsetSize, creation.LengthSize = max(creation.OffsetSize, 8), max(creation.LengthSize, 8) // a page can be longer than 64 KiB
	creation.Space = h5.FileSpace{Strategy: h5.Paged, PageSize: cloudPage(need)}
	if creation.UserBlock > 0 { // pages begin after it, at multiples of their size
		creation.UserBlock = max(creation.UserBlock, creation.Space.PageSize)
	}
	dst, err := h5.Create(file, &h5.CreateOptions{Low: h5.V110, Creation: &creation})
	return dst, err
}

// cloudPage returns the size of a page for n bytes of metadata: a power of two.
func cloudPage(n int64) int64 {
	return min(max(int64(1)<<bits.Len64(uint64(max(n, 1)-1)), leastCloudPage), mostCloudPage)
}
