// hyperslab chunks: list the chunks of an array with their offsets and sizes.

package cli

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

// chunksDoc is the document of chunks --json.
type chunksDoc struct {
	Schema  string      `json:"schema"`
	Address string      `json:"address"`
	Format  string      `json:"format"`
	Shape   []jsonInt   `json:"shape"`
	Grid    []jsonInt   `json:"grid"`
	Chunk   []jsonInt   `json:"chunk_shape"`
	Total   jsonInt     `json:"num_chunks"`
	Stored  jsonInt     `json:"listed_chunks"`
	Chunks  []*chunkDoc `json:"chunks"`
}

// chunkDoc is one chunk. Facts that its format does not record are null.
type chunkDoc struct {
	Index   []jsonInt  `json:"index"`
	Start   []jsonInt  `json:"start"`
	Shape   []jsonInt  `json:"shape"`
	File    *string    `json:"file"`
	Offset  *jsonInt   `json:"offset"`
	Stored  jsonInt    `json:"stored_bytes"`
	Bytes   jsonInt    `json:"bytes"`
	Ratio   *jsonFloat `json:"ratio"`
	Codec   *string    `json:"codec"`
	Special *string    `json:"special"`
	Mask    *int64     `json:"filter_mask"`
}

type chunksFlags struct {
	count int
	json  bool
}

func (a *app) chunksCommand() *cobra.Command {
	var o chunksFlags
	cmd := &cobra.Command{
		Use:   "chunks FILE[:/path]...",
		Short: "List the chunks of an array with location, bytes and ratio",
		Long: `chunks lists the stored chunks of an array: grid coordinates, offset in the file, stored
bytes and compression ratio. For Blosc2 and bcolz it also lists the codec of each chunk
and whether the chunk is a run of one value, and for HDF5 the filters that were skipped.
Chunks that were never written are not listed. No chunk is decoded, except those that
contain an embedded frame of python-blosc2, whose chunks have no offset.` + addressHelp + twoArguments,
		Example: `  hyperslab chunks etopo.h5:/ROSE
  hyperslab chunks rose.b2nd -n 20
  hyperslab chunks rose.b2nd --json`,
		Args:              arity(1, 2),
		ValidArgsFunction: completeAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.access.metadata = true
			return a.chunks(cmd.Context(), address(args), &o)
		},
	}
	cmd.Flags().IntVarP(&o.count, "count", "n", 0, "at most `N` chunks; 0 means all")
	jsonFlag(cmd, &o.json)
	a.each(cmd)
	(&untrustedFlags{}).add(a, cmd)
	a.paged(cmd)
	return cmd
}

func (a *app) chunks(ctx context.Context, address string, o *chunksFlags) (err error) {
	if o.count < 0 {
		return usagef("-n %d: want 0 or more chunks", o.count)
	}
	var arr *ndarray.Array // nil if untrusted
	var m ndarray.Meta
	if a.untrusted() {
		m, err = a.untrustedMeta(ctx, address)
	} else if arr, err = a.openArray(ctx, address); err == nil {
		defer func() { err = errors.Join(err, arr.Close()) }()
		m = arr.Meta()
	}
	if err != nil {
		return err
	}
	if m.Format == "objects" {
		return fmt.Errorf("%w: %s contains Python objects of variable size, and no grid divides them into chunks; hyperslab explain lists the chunks of a frame", errors.ErrUnsupported, address)
	}
	var stored *memberFrame
	if m.Format != "hdf5" {
		if stored, err = a.memberOf(address); err != nil {
			return err
		}
		if stored != nil {
			defer func() { err = errors.Join(err, stored.Close()) }()
		}
	}
	if m.ChunkShape == nil {
		return usagef("%s is not chunked: its elements lie in one piece", address)
	}
	grid, err := grid.New(m.Shape, m.ChunkShape)
	if err != nil {
		return err
	}
	doc := chunksDoc{
		Schema: schemaChunks, Address: address, Format: m.Format, Shape: shapeDoc(m), Chunk: jsonShape(m.ChunkShape),
		Grid: jsonShape(grid.Counts), Total: jsonInt(grid.NumChunks()), Chunks: []*chunkDoc{},
	}
	add := func(c *chunkDoc) error {
		if o.count > 0 && len(doc.Chunks) == o.count {
			return errEnough
		}
		doc.Chunks = append(doc.Chunks, c)
		return ctx.Err()
	}
	lister := chunkLister{app: a, meta: m, grid: grid, add: add, all: o.count == 0}
	switch {
	case stored != nil:
		err = lister.member(stored)
	case m.Format == "hdf5" && a.untrusted():
		err = lister.plainHDF5(address)
	case m.Format == "hdf5":
		err = lister.hdf5(arr)
	case m.Format == "bcolz":
		err = lister.bcolz(ctx, m.Path, address)
	default:
		file := m.Path
		if remote.IsURL(address) { // Path has no query
			loc, lerr := locate.Parse(address)
			if lerr != nil {
				return lerr
			}
			file = loc.File
		}
		err = lister.frame(file, arr)
	}
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	doc.Stored = jsonInt(len(doc.Chunks))
	if o.json {
		return a.writeJSON(a.stdout, doc)
	}
	if err := doc.write(a.stdout, a.data); err != nil {
		return err
	}
	switch {
	case err != nil:
		a.note("%d of %s; -n 0 lists all", doc.Stored, term.Plural(int64(doc.Total), "chunk"))
	case doc.Stored < doc.Total:
		a.note("%d of %s stored; the others were never written", doc.Stored, term.Plural(int64(doc.Total), "chunk"))
	}
	return nil
}

// untrustedMeta returns the metadata of the array at an address of an untrusted file. In a
// directory of arrays, too, its path is that of the file.
func (a *app) untrustedMeta(ctx context.Context, address string) (ndarray.Meta, error) {
	for e, err := range a.walk(ctx, address, hyperslab.WalkOptions{NoSizes: true}) {
		switch {
		case err == nil && e.Kind != hyperslab.Array:
			err = usagef("%s is a %s; name an array", address, e.Kind)
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
	app  *app
	meta ndarray.Meta
	grid grid.Grid
	add  func(*chunkDoc) error
	all  bool // the user did not limit the number of chunks
}

// maxUnstored is the maximum number of chunks without stored bytes that are listed unless the user
// asks for more. An index of 200 bytes can describe millions of such chunks, and each takes memory.
const maxUnstored = 1 << 18

// doc returns the fields of a chunk that follow from its index and its sizes.
func (l *chunkLister) doc(index []int64, stored, bytes int64) *chunkDoc {
	r := l.grid.At(index)
	return &chunkDoc{
		Index: jsonShape(index), Start: jsonShape(r.Start), Shape: jsonShape(r.Shape), Stored: jsonInt(stored), Bytes: jsonInt(bytes),
		Ratio: ratio(bytes, &ndarray.Storage{StoredBytes: stored}),
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
	e, err := l.app.openExplained(address, asHDF5)
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
		return fmt.Errorf("%w: index entry of the chunk at %d: stored size: got %d bytes, want at least 1", ndarray.ErrCorrupt, first, uint64(bytes))
	}
	full, _ := grid.Product(l.meta.ChunkShape)
	doc := l.doc(index, bytes, full*int64(l.meta.DType.Size))
	doc.Offset, doc.Mask = (*jsonInt)(&at), &mask
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
	} else if sparse = isDirectory(file); sparse {
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
	return l.index(frame, file, func(doc *chunkDoc, o cframe.Offset) {
		at := jsonInt(0)
		if sparse {
			doc.File = orNull(cframe.ChunkFile(o))
		} else {
			at = jsonInt(int64(o) + int64(frame.HeaderSize))
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
func (l *chunkLister) member(m *memberFrame) error {
	frame, err := cframe.Read(m, m.Size)
	if err != nil {
		return err
	}
	return l.index(frame, m.name, func(doc *chunkDoc, o cframe.Offset) {
		if m.embedded {
			return
		}
		at := jsonInt(m.at + int64(o) + int64(frame.HeaderSize))
		doc.File, doc.Offset = orNull(m.file), &at
	})
}

// index lists the chunks in the index of a frame. place sets the location of a stored chunk.
func (l *chunkLister) index(frame *cframe.Frame, name string, place func(doc *chunkDoc, o cframe.Offset)) error {
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
				return usagef("%s has %d chunks, of which more than %d are not stored; -n N lists the first N", name, len(offsets), maxUnstored)
			}
		}
		index := l.grid.Index(int64(n))
		var doc *chunkDoc
		if o.IsSpecial() {
			doc = l.doc(index, 0, int64(frame.ChunkSize))
			doc.Special = orNull(o.Special().String())
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
		at := jsonInt(bcolztree.HeaderSize)
		for _, c := range chunks {
			doc := l.doc(l.grid.Index(n), int64(c.Header.CBytes), int64(c.Header.NBytes))
			describeChunk(doc, c.Header)
			here := at
			doc.File, doc.Offset = orNull(filepath.ToSlash(name)), &here
			at += jsonInt(len(c.Data))
			if err := l.add(doc); err != nil {
				return err
			}
		}
	}
	return nil
}

// describeChunk adds the fields of the header of a Blosc chunk.
func describeChunk(doc *chunkDoc, h chunk.Header) {
	switch {
	case h.Special != chunk.NotSpecial:
		doc.Special = orNull(h.Special.String())
	case h.Stored():
		doc.Codec = orNull("stored")
	default:
		doc.Codec = orNull(h.Codec.String())
	}
}

func (d *chunksDoc) write(w io.Writer, p term.Paint) error {
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
		row := []string{indexText(index), r.String(), offset, term.FormatBytes(int64(c.Stored)), ratio, last}
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

func plainInts(list []jsonInt) []int64 {
	out := make([]int64, len(list))
	for i, n := range list {
		out[i] = int64(n)
	}
	return out
}
