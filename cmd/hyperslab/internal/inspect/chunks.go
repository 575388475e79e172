// hyperslab chunks: list the chunks of an array with their offsets and sizes.

package inspect

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5prefetch"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
	"github.com/hyperslab/hyperslab/remote"
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
	if m.Format == "objects" {
		return fmt.Errorf("%w: %s contains Python objects of variable size, and no grid divides them into chunks; hyperslab explain "+
			"lists the chunks of a frame", errors.ErrUnsupported, address)
	}
	var stored *shell.MemberFrame
	if m.Format != "hdf5" {
		if stored, err = j.MemberOf(address); err != nil {
			return err
		}
		if stored != nil {
			defer func() { err = errors.Join(err, stored.Close()) }()
		}
	}
	if m.ChunkShape == nil {
		return shell.Usagef("%s is not chunked: its elements lie in one piece", address)
	}
	grid, err := grid.New(m.Shape, m.ChunkShape)
	if err != nil {
		return err
	}
	doc := ChunksDoc{
		Schema: shell.SchemaChunks, Address: address, Format: m.Format, Shape: shell.ShapeDoc(m), Chunk: shell.JSONShape(m.ChunkShape),
		Grid: shell.JSONShape(grid.Counts), Total: shell.JSONInt(grid.NumChunks()), Chunks: []*ChunkDoc{},
	}
	add := func(c *ChunkDoc) error {
		if j.count > 0 && len(doc.Chunks) == j.count {
			return errEnough
		}
		doc.Chunks = append(doc.Chunks, c)
		return ctx.Err()
	}
	lister := chunkLister{app: j.App, meta: m, grid: grid, add: add, all: j.count == 0}
	if stored != nil {
		err = lister.member(stored)
	} else {
		err = lister.list(ctx, address, arr)
	}
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	doc.Stored = shell.JSONInt(len(doc.Chunks))
	if j.json {
		return j.WriteJSON(j.Stdout, doc)
	}
	if err := doc.write(j.Stdout, j.Data); err != nil {
		return err
	}
	switch {
	case err != nil:
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

// errEnough ends a listing.
var errEnough = errors.New("enough chunks")

// chunkLister lists the chunks of one array.
type chunkLister struct {
	app  *shell.App
	meta ndarray.Meta
	grid grid.Grid
	add  func(*ChunkDoc) error
	all  bool // the user did not limit the number of chunks
}

// maxUnstored is the maximum number of chunks without stored bytes that are listed unless the user
// asks for more. An index of 200 bytes can describe millions of such chunks, and each takes memory.
const maxUnstored = 1 << 18

// list lists the chunks of an array, which is nil in an untrusted file.
func (l *chunkLister) list(ctx context.Context, address string, arr *ndarray.Array) error {
	m := l.meta
	switch {
	case m.Format == "hdf5" && l.app.Untrusted():
		return l.plainHDF5(address)
	case m.Format == "hdf5":
		return l.hdf5(arr)
	case m.Format == "bcolz":
		return l.bcolz(ctx, m.Path, address)
	}
	file := m.Path
	if remote.IsURL(address) { // Path has no query
		loc, err := locate.Parse(address)
		if err != nil {
			return err
		}
		file = loc.File
	}
	return l.frame(file, arr)
}

// doc returns the fields of a chunk that follow from its index and its sizes.
func (l *chunkLister) doc(index []int64, stored, bytes int64) *ChunkDoc {
	r := l.grid.At(index)
	return &ChunkDoc{
		Index: shell.JSONShape(index), Start: shell.JSONShape(r.Start), Shape: shell.JSONShape(r.Shape), Stored: shell.JSONInt(stored),
		Bytes: shell.JSONInt(bytes),
		Ratio: shell.Ratio(bytes, &ndarray.Storage{StoredBytes: stored}),
	}
}

// hdf5 lists the chunks with libhdf5, which can read every index and follow external links.
func (l *chunkLister) hdf5(arr *ndarray.Array) error {
	b, ok := ndarray.As[hdf5.Backend](arr.Backend())
	if !ok {
		return fmt.Errorf("%w: chunks of an array of type %T", errors.ErrUnsupported, arr.Backend())
	}
	h5prefetch.Index(b.Dataset())
	for c, err := range b.Dataset().StoredChunks() {
		if err != nil {
			return err
		}
		if err := l.hdf5Chunk(c.Offset, c.Bytes, int64(c.Address), int64(c.FilterMask)); err != nil {
			return err
		}
	}
	return nil
}

// plainHDF5 reads the index of an untrusted file without libhdf5.
func (l *chunkLister) plainHDF5(address string) (err error) {
	e, err := openExplained(l.app, address, shell.AsHDF5)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	f, o, err := e.findObject()
	if err != nil {
		return err
	}
	for c, err := range o.Chunks() {
		if err != nil {
			return err
		}
		first := make([]int64, len(l.meta.ChunkShape))
		for i := range first {
			first[i] = int64(c.Offset[i])
		}
		if err := l.hdf5Chunk(first, int64(c.Size), int64(c.Addr)+f.UserBlock(), int64(c.Mask)); err != nil {
			return err
		}
	}
	return nil
}

// hdf5Chunk adds the chunk whose first element has the index first.
func (l *chunkLister) hdf5Chunk(first []int64, bytes, at, mask int64) error {
	index := make([]int64, len(first))
	for i, n := range first {
		if index[i] = n / l.meta.ChunkShape[i]; n < 0 || index[i] >= l.grid.Counts[i] {
			return nil // the array has shrunk, or the offset is 2^63 or more in a corrupt file
		}
	}
	if bytes <= 0 { // negative: 2^63 and more
		return fmt.Errorf("%w: index entry of the chunk at %d: stored size: got %d bytes, want at least 1", ndarray.ErrCorrupt, first,
			uint64(bytes))
	}
	full, _ := grid.Product(l.meta.ChunkShape)
	doc := l.doc(index, bytes, full*int64(l.meta.DType.Size))
	doc.Offset, doc.Mask = (*shell.JSONInt)(&at), &mask
	return l.add(doc)
}

// fileOf returns the open file of a frame that is read in Go. It is nil for any other array.
func fileOf(arr *ndarray.Array) *os.File {
	if arr == nil {
		return nil
	}
	if b, ok := ndarray.As[cframe.FileHolder](arr.Backend()); ok {
		return b.File()
	}
	return nil
}

// readIndex reads the index of a Blosc2 frame in one file.
func readIndex(f *os.File) (*cframe.Frame, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return cframe.Read(f, info.Size())
}

// frame lists the chunks of a Blosc2 frame, in one file or in a directory. arr is its array if that
// is open.
func (l *chunkLister) frame(file string, arr *ndarray.Array) (err error) {
	var frame *cframe.Frame
	sparse := false
	if remote.IsURL(file) {
		var done func() error
		if frame, sparse, done, err = frameAtURL(file); err == nil {
			defer func() { err = errors.Join(err, done()) }()
		}
	} else if f := fileOf(arr); f != nil {
		frame, err = readIndex(f)
	} else if sparse = shell.IsDirectory(file); sparse {
		frame, err = cframe.ReadDir(os.DirFS(file))
	} else {
		f, _, oerr := regularfile.Open(file)
		if oerr != nil {
			return oerr
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		frame, err = readIndex(f)
	}
	if err != nil {
		return err
	}
	return l.index(frame, file, func(doc *ChunkDoc, o cframe.Offset) {
		at := shell.JSONInt(0)
		if sparse {
			doc.File = shell.OrNull(cframe.ChunkFile(o))
		} else {
			at = shell.JSONInt(int64(o) + int64(frame.HeaderSize))
		}
		doc.Offset = &at
	})
}

// frameAtURL reads the index of the frame at a URL, which may be a directory.
func frameAtURL(url string) (frame *cframe.Frame, sparse bool, done func() error, err error) {
	o, err := remote.DefaultClient.Open(context.Background(), url)
	if err == nil {
		if frame, err = cframe.Read(o, o.Size()); err == nil {
			return frame, false, o.Close, nil
		}
		err = errors.Join(err, o.Close()) // a server may answer the request for a directory with a page
	}
	dir, derr := remote.DefaultClient.FS(context.Background(), url)
	if derr != nil {
		return nil, false, nil, err
	}
	if frame, derr = cframe.ReadDir(dir); derr != nil {
		return nil, false, nil, err
	}
	return frame, true, func() error { return nil }, nil
}

// member reads the index of a frame in a container. An embedded frame has no offsets in the file,
// because the values around it are compressed.
func (l *chunkLister) member(m *shell.MemberFrame) error {
	frame, err := cframe.Read(m, m.Size)
	if err != nil {
		return err
	}
	return l.index(frame, m.Name, func(doc *ChunkDoc, o cframe.Offset) {
		if m.Embedded {
			return
		}
		at := shell.JSONInt(m.At + int64(o) + int64(frame.HeaderSize))
		doc.File, doc.Offset = shell.OrNull(m.File), &at
	})
}

// index lists the chunks in the index of a frame. place sets the location of a stored chunk.
func (l *chunkLister) index(frame *cframe.Frame, name string, place func(doc *ChunkDoc, o cframe.Offset)) error {
	offsets, err := frame.Offsets(nil)
	if err != nil {
		return err
	}
	unstored := 0
	for n, o := range offsets {
		if int64(n) >= l.grid.NumChunks() {
			break
		}
		if o.IsSpecial() {
			if unstored++; l.all && unstored > maxUnstored {
				return shell.Usagef("%s has %d chunks, of which more than %d are not stored; -n N lists the first N", name, len(offsets),
					maxUnstored)
			}
		}
		index := l.grid.Index(int64(n))
		var doc *ChunkDoc
		if o.IsSpecial() {
			doc = l.doc(index, 0, int64(frame.ChunkSize))
			doc.Special = shell.OrNull(o.Special().String())
		} else {
			h, err := frame.ReadChunkHeader(o)
			if err != nil {
				return fmt.Errorf("chunk %d: %w", n, err)
			}
			doc = l.doc(index, int64(h.CBytes), int64(h.NBytes))
			describeChunk(doc, h)
			place(doc, o)
		}
		if err := l.add(doc); err != nil {
			return err
		}
	}
	return nil
}

// bcolz reads the headers in the chunk files of a carray.
func (l *chunkLister) bcolz(ctx context.Context, name, address string) error {
	tree := os.DirFS(name)
	if remote.IsURL(address) {
		loc, err := locate.Parse(address)
		if err != nil {
			return err
		}
		if tree, err = remote.DefaultClient.FS(ctx, loc.File+"/"+strings.Trim(loc.Object, "/")); err != nil {
			return err
		}
	}
	array, err := bcolztree.ReadArray(tree, ".", nil)
	if err != nil {
		return err
	}
	for n := range array.NumFiles() {
		chunks, err := array.ReadChunks(n)
		if err != nil {
			return err
		}
		name := array.FileName(n)
		at := shell.JSONInt(bcolztree.HeaderSize)
		for _, c := range chunks {
			doc := l.doc(l.grid.Index(n), int64(c.Header.CBytes), int64(c.Header.NBytes))
			describeChunk(doc, c.Header)
			here := at
			doc.File, doc.Offset = shell.OrNull(filepath.ToSlash(name)), &here
			at += shell.JSONInt(len(c.Data))
			if err := l.add(doc); err != nil {
				return err
			}
		}
	}
	return nil
}

// describeChunk adds the fields of the header of a Blosc chunk.
func describeChunk(doc *ChunkDoc, h chunk.Header) {
	switch {
	case h.Special != chunk.NotSpecial:
		doc.Special = shell.OrNull(h.Special.String())
	case h.Stored():
		doc.Codec = shell.OrNull("stored")
	default:
		doc.Codec = shell.OrNull(h.Codec.String())
	}
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
