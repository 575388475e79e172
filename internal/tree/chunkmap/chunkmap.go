package chunkmap

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5prefetch"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/opened"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// Chunk is a chunk of an array. hyperslab.Chunk documents the fields.
type Chunk struct {
	Index         []int64
	Region        ndarray.Region
	File          string
	Offset        int64
	StoredBytes   int64
	Bytes         int64
	Codec         string
	Special       string
	SkippedFilter uint32
}

// ErrUnstored means that an array has more chunks without stored bytes than Map.MaxUnstored. It
// matches errors.ErrUnsupported.
var ErrUnstored = errs.New("too many chunks that are not stored", errors.ErrUnsupported)

// Map lists the chunks of one array.
type Map struct {
	Location string
	Meta     ndarray.Meta
	Grid     grid.Grid

	// MaxUnstored is the largest number of chunks without stored bytes that All yields before it
	// ends with ErrUnstored; 0 means no limit. An index of 200 bytes can describe millions of them.
	MaxUnstored int

	array  *ndarray.Array // nil for an untrusted file
	member *Member        // nil unless the array is in a container
}

// Open returns the map of an array at a location, which must stay open until the map is closed. arr
// is nil for an array of an untrusted file, whose chunks are listed without a C library.
func Open(location string, arr *ndarray.Array, m ndarray.Meta) (*Map, error) {
	if m.Format == "objects" {
		return nil, fmt.Errorf("%w: %s contains Python objects of variable size, and no grid divides them into chunks; hyperslab explain "+
			"lists the chunks of a frame", errors.ErrUnsupported, location)
	}
	x := &Map{Location: location, Meta: m, array: arr}
	var err error
	if m.Format != "hdf5" {
		if x.member, err = MemberOf(location, arr == nil); err != nil {
			return nil, err
		}
	}
	if m.ChunkShape == nil {
		err = errs.Mark(fmt.Errorf("%s is not chunked: its elements lie in one piece", urlfile.Redact(location)), ndarray.ErrParam)
	} else {
		x.Grid, err = grid.New(m.Shape, m.ChunkShape)
	}
	if err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

// Close closes the frame of an array in a container.
func (x *Map) Close() error {
	if x.member == nil {
		return nil
	}
	return x.member.Close()
}

// lister yields the chunks of a map.
type lister struct {
	*Map
	yield func(Chunk) error
}

// errEnough ends a listing whose caller needs no more chunks.
var errEnough = errors.New("enough chunks")

// All yields the stored chunks in the order of the index. Chunks that were never written are left
// out, except those of a frame that are a run of one value. An error ends the list.
func (x *Map) All(ctx context.Context) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		l := lister{x, func(c Chunk) error {
			if !yield(c, nil) {
				return errEnough
			}
			return ctx.Err()
		}}
		if err := l.list(ctx); err != nil && !errors.Is(err, errEnough) {
			yield(Chunk{}, err)
		}
	}
}

func (l *lister) list(ctx context.Context) error {
	m := l.Meta
	switch {
	case l.member != nil:
		return l.inContainer()
	case m.Format == "hdf5" && l.array == nil:
		return l.plainHDF5()
	case m.Format == "hdf5":
		return l.hdf5()
	case m.Format == "bcolz":
		return l.bcolz(ctx, m.Path)
	}
	file := m.Path
	if urlfile.IsURL(l.Location) { // Path has no query
		loc, err := locate.Parse(l.Location)
		if err != nil {
			return err
		}
		file = loc.File
	}
	return l.frame(ctx, file)
}

// at returns the fields of a chunk that follow from its index and its sizes.
func (l *lister) at(index []int64, stored, bytes int64) Chunk {
	box := l.Grid.At(index)
	return Chunk{Index: index, Region: ndarray.Region{Start: box.Start, Shape: box.Shape}, Offset: -1, StoredBytes: stored, Bytes: bytes}
}

// hdf5 lists the chunks with libhdf5, which can read every index and follow external links.
func (l *lister) hdf5() error {
	b, ok := ndarray.As[hdf5.Backend](l.array.Backend())
	if !ok {
		return fmt.Errorf("%w: chunks of an array of type %T", errors.ErrUnsupported, l.array.Backend())
	}
	h5prefetch.Index(b.Dataset())
	for c, err := range b.Dataset().StoredChunks() {
		if err != nil {
			return err
		}
		if err := l.hdf5Chunk(c.Offset, c.Bytes, int64(c.Address), c.FilterMask); err != nil {
			return err
		}
	}
	return nil
}

// plainHDF5 reads the index of an untrusted file without libhdf5.
func (l *lister) plainHDF5() (err error) {
	loc, err := locate.Parse(l.Location)
	if err != nil {
		return err
	}
	src, info, err := regularfile.Open(loc.File)
	if err != nil {
		return ndarray.Wrap("open", loc.File, err)
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	f, err := h5file.Open(src, info.Size(), nil)
	if err != nil {
		return err
	}
	o, err := FindHDF5(f, loc)
	if err != nil {
		return err
	}
	for c, err := range o.Chunks() {
		if err != nil {
			return err
		}
		first := make([]int64, len(l.Meta.ChunkShape))
		for i := range first {
			first[i] = int64(c.Offset[i])
		}
		if err := l.hdf5Chunk(first, int64(c.Size), int64(c.Addr)+f.UserBlock(), c.Mask); err != nil {
			return err
		}
	}
	return nil
}

// FindHDF5 finds the object of an HDF5 file at a location, along hard links.
func FindHDF5(f *h5file.File, loc locate.Location) (*h5file.Object, error) {
	want := "/" + strings.Trim(loc.Object, "/")
	for entry, err := range f.Walk() {
		if err != nil && entry.Object == nil {
			continue // another object, which is corrupt; the walk continues
		}
		if entry.Path == want && entry.Object != nil {
			return entry.Object, nil
		}
	}
	return nil, ndarray.Wrap("look up", urlfile.Redact(loc.File)+":"+want,
		fmt.Errorf("%w: no hard link leads to such an object", ndarray.ErrNotFound))
}

// hdf5Chunk adds the chunk whose first element has the index first.
func (l *lister) hdf5Chunk(first []int64, bytes, at int64, mask uint32) error {
	index := make([]int64, len(first))
	for i, n := range first {
		if index[i] = n / l.Meta.ChunkShape[i]; n < 0 || index[i] >= l.Grid.Counts[i] {
			return nil // the array has shrunk, or the offset is 2^63 or more in a corrupt file
		}
	}
	if bytes <= 0 { // negative: 2^63 and more
		return fmt.Errorf("%w: index entry of the chunk at %d: stored size: got %d bytes, want at least 1", ndarray.ErrCorrupt, first,
			uint64(bytes))
	}
	full, _ := grid.Product(l.Meta.ChunkShape)
	c := l.at(index, bytes, full*int64(l.Meta.DType.Size))
	c.Offset, c.SkippedFilter = at, mask
	return l.yield(c)
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

// frame lists the chunks of a Blosc2 frame, in one file or in a directory.
func (l *lister) frame(ctx context.Context, file string) (err error) {
	var frame *cframe.Frame
	sparse := false
	if urlfile.IsURL(file) {
		var done func() error
		if frame, sparse, done, err = frameAtURL(ctx, file); err == nil {
			defer func() { err = errors.Join(err, done()) }()
		}
	} else if f := fileOf(l.array); f != nil {
		frame, err = readIndex(f)
	} else if info, serr := os.Stat(file); serr == nil && info.IsDir() {
		sparse = true
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
	return l.index(frame, func(c *Chunk, o cframe.Offset) {
		c.Offset = 0
		if sparse {
			c.File = cframe.ChunkFile(o)
		} else {
			c.Offset = int64(o) + int64(frame.HeaderSize)
		}
	})
}

// frameAtURL reads the index of the frame at a URL, which may be a directory.
func frameAtURL(ctx context.Context, url string) (frame *cframe.Frame, sparse bool, done func() error, err error) {
	o, err := urlfile.Get().Open(ctx, url)
	if err == nil {
		if frame, err = cframe.Read(o, o.Size()); err == nil {
			return frame, false, o.Close, nil
		}
		err = errors.Join(err, o.Close()) // a server may answer the request for a directory with a page
	}
	dir, derr := urlfile.Get().FS(ctx, url)
	if derr != nil {
		return nil, false, nil, err
	}
	if frame, derr = cframe.ReadDir(dir); derr != nil {
		return nil, false, nil, err
	}
	return frame, true, func() error { return nil }, nil
}

// inContainer lists the chunks of a frame in a container. An embedded frame has no offsets in the
// file, because the values around it are compressed.
func (l *lister) inContainer() error {
	m := l.member
	frame, err := cframe.Read(m, m.Size)
	if err != nil {
		return err
	}
	return l.index(frame, func(c *Chunk, o cframe.Offset) {
		if !m.Embedded {
			c.File, c.Offset = m.File, m.At+int64(o)+int64(frame.HeaderSize)
		}
	})
}

// index lists the chunks in the index of a frame. place sets the location of a stored chunk.
func (l *lister) index(frame *cframe.Frame, place func(c *Chunk, o cframe.Offset)) error {
	offsets, err := frame.Offsets(nil)
	if err != nil {
		return err
	}
	unstored := 0
	for n, o := range offsets {
		if int64(n) >= l.Grid.NumChunks() {
			break
		}
		index := l.Grid.Index(int64(n))
		var c Chunk
		if o.IsSpecial() {
			if unstored++; l.MaxUnstored > 0 && unstored > l.MaxUnstored {
				return errs.Mark(fmt.Errorf("%s has %d chunks, of which more than %d are not stored", urlfile.Redact(l.Location), len(offsets),
					l.MaxUnstored), ErrUnstored)
			}
			c = l.at(index, 0, int64(frame.ChunkSize))
			c.Special = o.Special().String()
		} else {
			h, err := frame.ReadChunkHeader(o)
			if err != nil {
				return fmt.Errorf("chunk %d: %w", n, err)
			}
			c = l.at(index, int64(h.CBytes), int64(h.NBytes))
			c.describe(h)
			place(&c, o)
		}
		if err := l.yield(c); err != nil {
			return err
		}
	}
	return nil
}

// bcolz reads the headers in the chunk files of a carray.
func (l *lister) bcolz(ctx context.Context, name string) error {
	files := os.DirFS(name)
	if urlfile.IsURL(l.Location) {
		loc, err := locate.Parse(l.Location)
		if err != nil {
			return err
		}
		if files, err = urlfile.Get().FS(ctx, loc.File+"/"+strings.Trim(loc.Object, "/")); err != nil {
			return err
		}
	}
	array, err := bcolztree.ReadArray(files, ".", nil)
	if err != nil {
		return err
	}
	for n := range array.NumFiles() {
		chunks, err := array.ReadChunks(n)
		if err != nil {
			return err
		}
		at := int64(bcolztree.HeaderSize)
		for _, stored := range chunks {
			c := l.at(l.Grid.Index(n), int64(stored.Header.CBytes), int64(stored.Header.NBytes))
			c.describe(stored.Header)
			c.File, c.Offset = filepath.ToSlash(array.FileName(n)), at
			at += int64(len(stored.Data))
			if err := l.yield(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// describe adds the fields of the header of a Blosc chunk.
func (c *Chunk) describe(h chunk.Header) {
	switch {
	case h.Special != chunk.NotSpecial:
		c.Special = h.Special.String()
	case h.Stored():
		c.Codec = "stored"
	default:
		c.Codec = h.Codec.String()
	}
}

// List opens the array at a location and yields its chunks: hyperslab.Chunks documents it.
func List(ctx context.Context, location string, o *opened.Options) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		going := true
		err := withMap(ctx, location, o, func(x *Map) error {
			for c, err := range x.All(ctx) {
				if err != nil {
					return err
				}
				if going = yield(c, nil); !going {
					return nil
				}
			}
			return nil
		})
		if err != nil && going {
			yield(Chunk{}, ndarray.Wrap("list chunks of", urlfile.Redact(location), err))
		}
	}
}

// withMap calls use with the map of the array at a location.
func withMap(ctx context.Context, location string, o *opened.Options, use func(x *Map) error) (err error) {
	var arr *ndarray.Array
	var m ndarray.Meta
	if o.Untrusted != nil {
		m, err = untrustedMeta(ctx, location, o)
	} else {
		trusted := *o
		trusted.Metadata = true
		if arr, err = opened.Array(ctx, location, &trusted); err == nil {
			defer func() { err = errors.Join(err, arr.Close()) }()
			m = arr.Meta()
		}
	}
	if err != nil {
		return err
	}
	x, err := Open(location, arr, m)
	if err != nil {
		return err
	}
	return errors.Join(use(x), x.Close())
}

// untrustedMeta returns the metadata of the array at a location of an untrusted file.
func untrustedMeta(ctx context.Context, location string, o *opened.Options) (ndarray.Meta, error) {
	for e, err := range opened.List(ctx, location, o, opened.WalkOptions{NoSizes: true}) {
		switch {
		case err == nil && e.Kind != tree.Array:
			err = fmt.Errorf("%w: got a %s, want an array", ndarray.ErrParam, e.Kind)
		case err == nil && !(listed(e.Err) && e.Meta.Format != "" && e.Meta.DType.Kind != 0):
			err = e.Err
		}
		return e.Meta, err
	}
	return ndarray.Meta{}, ndarray.ErrNotFound
}

// listed reports whether the chunks of an array with the error of its entry can be listed.
func listed(err error) bool {
	return err == nil || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, ndarray.ErrType)
}
