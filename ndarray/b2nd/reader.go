// Reading frames without C-Blosc2: sparse arrays in any file system, and plain frames, which
// are not arrays and are read as one dimension of elements.

package b2nd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/chunked/readahead"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

var (
	_ ndarray.StoredTyper    = (*backend)(nil)
	_ ndarray.StoredTyper    = (*reader)(nil)
	_ ndarray.MetadataReader = (*reader)(nil)
)

// reader is a frame open for reading. It implements AttrReader, StorageReporter, ChunkMeasurer,
// UniformTeller and StringReader of ndarray.
type reader struct {
	frame  *frameio.Frame
	array  *frameio.Array // nil: a plain frame
	meta   ndarray.Meta
	record *record

	unreadable error // reason why no element can be read; nil unless OpenOptions.Metadata is set

	objects *objects // nil unless the elements are Python objects; frame is nil then
	close   func() error
}

// OpenReaderAt opens the contiguous frame at the beginning of r, which has size bytes, for example
// a member of an archive. name is Meta.Path. Calls read r concurrently, and Close does not close
// it. A frame that is not an array is read as by OpenFrame. The errors are those of OpenFS and of
// r.
//
// The elements of an ObjectArray, a BatchArray and a ListArray of python-blosc2 are strings: one
// JSON value for each object, batch or list.
func OpenReaderAt(r io.ReaderAt, size int64, name string, o *OpenOptions) (ndarray.Backend, error) {
	b, err := openReaderAt(r, size, name, o)
	if err != nil {
		return nil, ndarray.Wrap("open", name, err)
	}
	return b, nil
}

func openReaderAt(r io.ReaderAt, size int64, name string, o *OpenOptions) (*reader, error) {
	if !detect.IsObjects(r, size) {
		return openReader(name, o, func() (*frameio.Frame, error) { return frameio.OpenReaderAt(r, size, o.limits()) })
	}
	x, err := openObjects(r, size)
	if err != nil {
		return nil, err
	}
	return &reader{meta: x.meta(name), record: &record{}, objects: x}, nil
}

// Unreadable returns the reason why no element can be read, or nil.
func (r *reader) Unreadable() error { return r.unreadable }

// StoredDType returns the element type as stored in the file, or "" for Caterva and plain frames.
func (r *reader) StoredDType() string {
	if r.array == nil {
		return ""
	}
	return r.array.DType()
}

// OpenFS opens the sparse frame with directory fsys, for example in an archive, or in several
// directories with some of the chunks each (OpenOptions.Shards of package hyperslab). It opens the
// file of a chunk for each read, on at most the number of workers of the call. A frame that is not
// an array is read as by OpenFrame.
//
// It returns the errors of Open, ErrReadOnly for o.Write, and ErrParam for o.Library, because
// C-Blosc2 cannot read an fs.FS.
func OpenFS(fsys fs.FS, o *OpenOptions) (ndarray.Backend, error) {
	r, err := openReader("", o, func() (*frameio.Frame, error) { return frameio.OpenFS(fsys, o.limits()) })
	if err != nil {
		return nil, ndarray.Wrap("open", cframe.IndexFile, err)
	}
	return r, nil
}

// OpenFrame opens a plain frame, a file or a sparse directory, as an array with one dimension. Its
// elements are the frame's values, opaque and of the frame's type size unless o.DType gives their
// type. The chunks are the frame's.
//
// It returns the errors of OpenFS, ErrFormat for a b2nd or Caterva array, and errors.ErrUnsupported
// if the values are not a whole number of elements.
func OpenFrame(path string, o *OpenOptions) (ndarray.Backend, error) {
	r, err := openFrame(path, o)
	if err != nil {
		return nil, ndarray.Wrap("open", path, err)
	}
	return r, nil
}

func openFrame(path string, o *OpenOptions) (*reader, error) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		f, info, err := regularfile.Open(path)
		if err != nil {
			return nil, err
		}
		if detect.IsObjects(f, info.Size()) {
			r, err := openReaderAt(f, info.Size(), path, o)
			if err != nil {
				return nil, errors.Join(err, f.Close())
			}
			r.close = f.Close
			return r, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	r, err := openReader(path, o, func() (*frameio.Frame, error) { return frameio.Open(path, o.limits()) })
	if err != nil {
		return nil, err
	}
	if r.array != nil {
		return nil, errors.Join(fmt.Errorf("%w: a frame with an array in it", ndarray.ErrFormat), r.Close())
	}
	return r, nil
}

func openReader(path string, o *OpenOptions, open func() (*frameio.Frame, error)) (*reader, error) {
	if o == nil {
		o = &OpenOptions{}
	}
	switch {
	case o.Write:
		return nil, fmt.Errorf("%w: this frame is read-only", ndarray.ErrReadOnly)
	case o.Library:
		return nil, fmt.Errorf("%w: this frame is not read by the library", ndarray.ErrParam)
	}
	f, err := open()
	if err != nil {
		return nil, notFrame(err)
	}
	r := &reader{frame: f}
	if err := r.load(path, o); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

// load reads the metadata of the frame.
func (r *reader) load(path string, o *OpenOptions) (err error) {
	if r.record, err = readRecord(frameLayers{r.frame}); err != nil {
		return err
	}
	h := r.frame.Header()
	cp := &h.CParams
	_, isB2nd := h.Metalayer(b2ndmeta.Name)
	_, isCaterva := h.Metalayer(b2ndmeta.CatervaName)
	if o.Metadata {
		r.unreadable = checkPipeline(cp)
	}
	if isB2nd || isCaterva {
		if missing := checkStored(fixedLayers{h}); missing != nil && !o.Metadata {
			return missing
		} else if missing != nil {
			r.unreadable = missing
		}
		if r.array, err = r.frame.Array(); err != nil {
			return err
		}
		r.meta, err = metaOf(path, r.array, cp, r.record, o)
	} else {
		if r.meta, err = plainMeta(path, r.frame, cp, o); err == nil {
			err = r.packed(o)
		}
	}
	r.meta.ReadOnly = true
	if err == nil && r.frame.HasChecksums() {
		r.meta.Compression = withChecksum(r.meta.Compression)
	}
	return err
}

// plainMeta returns the Meta of a frame that is not an array.
func plainMeta(path string, f *frameio.Frame, cp *cblosc.CParams, o *OpenOptions) (ndarray.Meta, error) {
	size := f.TypeSize()
	d := ndarray.DType{Kind: ndarray.Void, Size: size, Order: ndarray.NoOrder}
	if o.DType != nil {
		d = *o.DType
		if err := d.Validate(); err != nil {
			return ndarray.Meta{}, err
		}
		if d.Size != size {
			return ndarray.Meta{}, fmt.Errorf("%w: element type %v of %d bytes, elements of %d", ndarray.ErrType, d, d.Size, size)
		}
	}
	if f.NBytes()%int64(size) != 0 {
		return ndarray.Meta{}, fmt.Errorf("%w: %d bytes in elements of %d", errors.ErrUnsupported, f.NBytes(), size)
	}
	m := ndarray.Meta{Format: "frame", Path: path, Shape: []int64{f.NBytes() / int64(size)}, DType: d, Compression: compression(cp)}
	if n := f.ChunkSize(); n >= size && n%size == 0 {
		m.ChunkShape = []int64{int64(n / size)}
	}
	return m, nil
}

// Meta describes the array.
func (r *reader) Meta() ndarray.Meta { return r.meta }

// ReadRegion reads elements. An array is read by at most the given number of workers.
func (r *reader) ReadRegion(ctx context.Context, dst []byte, region ndarray.Region, workers int) error {
	if err := r.read(ctx, dst, region, workers); err != nil {
		return err
	}
	r.meta.DType.ToNative(dst)
	return nil
}

// Prefetch begins to fetch the chunks of regions of a remote file.
func (r *reader) Prefetch(ctx context.Context, regions readahead.Regions) (stop func()) {
	if r.array == nil || r.unreadable != nil {
		return func() {}
	}
	return r.array.Prefetch(ctx, regions)
}

// ReadStrings reads Python objects as JSON.
func (r *reader) ReadStrings(ctx context.Context, dst []string, region ndarray.Region) error {
	if r.objects == nil {
		return fmt.Errorf("%w: strings in an array of %v", errors.ErrUnsupported, r.meta.DType)
	}
	return r.objects.read(ctx, dst, region.Start[0])
}

func (r *reader) read(ctx context.Context, dst []byte, region ndarray.Region, workers int) error {
	if r.unreadable != nil {
		return r.unreadable
	}
	if r.objects != nil {
		return fmt.Errorf("%w: bytes of an array of strings", errors.ErrUnsupported)
	}
	if r.array != nil {
		return r.array.ReadRegion(ctx, dst, region.Start, region.Shape, workers)
	}
	size := int64(r.meta.DType.Size)
	if len(r.meta.Shape) != 1 {
		return r.readRows(ctx, dst, region)
	}
	for box := range grid.Slabs(r.meta.ChunkShape, r.meta.DType.Size, grid.Box(region)) {
		s := ndarray.Region(box)
		if err := ctx.Err(); err != nil {
			return err
		}
		n := s.Shape[0] * size
		if _, err := r.frame.ReadAt(dst[:n], s.Start[0]*size); err != nil {
			return err
		}
		dst = dst[n:]
	}
	return ctx.Err()
}

// Attrs reads all attributes, like Attrs of a backend.
func (r *reader) Attrs(ctx context.Context) (ndarray.Attrs, error) {
	if err := ctx.Err(); err != nil {
		return ndarray.Attrs{}, err
	}
	if r.objects != nil {
		return r.record.attributes(objectLayers{r.objects}, noLayers{})
	}
	return r.record.attributes(attrLayers{frameLayers{r.frame}}, fixedLayers{r.frame.Header()})
}

// Storage reports the compressed bytes of all chunks with their headers, as recorded in the frame.
func (r *reader) Storage(ctx context.Context) (ndarray.Storage, error) {
	if r.objects != nil {
		return ndarray.Storage{StoredBytes: r.objects.head.CBytes, NumChunks: int64(len(r.objects.offsets))}, ctx.Err()
	}
	return ndarray.Storage{StoredBytes: r.frame.Header().CBytes, NumChunks: r.frame.NumChunks()}, ctx.Err()
}

// ChunkBytes reads a chunk's header.
func (r *reader) ChunkBytes(ctx context.Context, n int64) (int64, error) {
	if r.objects != nil {
		return 0, fmt.Errorf("%w: chunks of objects", errors.ErrUnsupported)
	}
	bytes, err := r.frame.StoredBytes(n)
	return bytes, errors.Join(err, ctx.Err())
}

// Uniform uses chunks that the frame stores only as an entry in its index or as one repeated value.
func (r *reader) Uniform(ctx context.Context, _ ndarray.Region) (func(r ndarray.Region) bool, error) {
	if r.objects != nil || r.unreadable != nil {
		return nil, ctx.Err()
	}
	uniform, err := uniformIn(r.frame, &r.meta)
	return uniform, errors.Join(err, ctx.Err())
}

// Close frees the decompression contexts and closes the file.
func (r *reader) Close() (err error) {
	if r.objects != nil {
		err = r.objects.d.Close()
	} else {
		err = r.frame.Close()
	}
	if r.close != nil {
		err = errors.Join(err, r.close())
	}
	return err
}

// frameLayers are the variable-length metalayers of a frame.
type frameLayers struct{ f *frameio.Frame }

func (l frameLayers) Names() ([]string, error) { return l.f.VLMetalayers(), nil }

// attrLayers are the variable-length metalayers that are attributes.
type attrLayers struct{ frameLayers }

func (l attrLayers) Names() ([]string, error) {
	return slices.DeleteFunc(slices.Clone(l.f.VLMetalayers()), func(name string) bool { return name == packLayer }), nil
}

func (l frameLayers) Get(name string) ([]byte, error) { return l.f.VLMetalayer(name) }

func (l frameLayers) Size(name string) (int64, int64, error) { return l.f.VLMetalayerSize(name) }

// fixedLayers are the fixed metalayers of a frame.
type fixedLayers struct{ h *frameio.Header }

func (l fixedLayers) Names() ([]string, error) {
	names := make([]string, len(l.h.Meta))
	for i, m := range l.h.Meta {
		names[i] = m.Name
	}
	return names, nil
}

func (l fixedLayers) Get(name string) ([]byte, error) {
	content, _ := l.h.Metalayer(name) // found, because the name is from Names
	return content, nil
}

func (l fixedLayers) Size(name string) (int64, int64, error) {
	content, _ := l.h.Metalayer(name)
	return int64(len(content)), int64(len(content)), nil
}
