// Reader: a sparse array in any file system, read without the library.

package b2nd

import (
	"context"
	"io/fs"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/format/cframe"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Reader is a sparse b2nd or Caterva array that is read through an fs.FS. It
// implements ndarray's Backend, AttrReader and StorageReporter.
type Reader struct {
	array  *frameio.Array
	meta   ndarray.Meta
	record *record
}

// OpenFS opens the sparse array whose directory is fsys: in an archive, or in several
// directories with some of the chunks each (package shards). Each chunk that is read
// is opened anew, on as many workers as the context allows.
//
// It returns the errors of Open, ErrReadOnly for o.Write and ErrParam for o.Library:
// the library knows no such files.
func OpenFS(fsys fs.FS, o *OpenOptions) (*Reader, error) {
	if o == nil {
		o = &OpenOptions{}
	}
	r, err := openFS(fsys, o)
	return r, ndarray.Wrap("open", cframe.IndexFile, err)
}

func openFS(fsys fs.FS, o *OpenOptions) (*Reader, error) {
	switch {
	case o.Write:
		return nil, ndarray.ErrReadOnly
	case o.Library:
		return nil, ndarray.ErrParam
	}
	f, err := frameio.OpenFS(fsys)
	if err != nil {
		return nil, translate(err)
	}
	r, err := newReader(f, o)
	if err != nil {
		_ = f.Close() // nothing was read from it that could be lost
		return nil, err
	}
	return r, nil
}

func newReader(f *frameio.Frame, o *OpenOptions) (*Reader, error) {
	a, err := f.Array()
	if err != nil {
		return nil, translate(err)
	}
	r := &Reader{array: a}
	if r.record, err = readRecord(frameLayers{f}); err != nil {
		return nil, err
	}
	h := f.Header()
	cp := &cblosc.CParams{Codec: cblosc.Codec(h.Codec()), Level: h.Level()}
	for i, id := range h.Filters {
		cp.Filters[i].ID = cblosc.FilterID(id)
	}
	if r.meta, err = metaOf("", a, cp, r.record, o); err != nil {
		return nil, err
	}
	r.meta.ReadOnly = true
	return r, nil
}

// Meta describes the array.
func (r *Reader) Meta() ndarray.Meta { return r.meta }

// ReadRegion reads elements, on as many workers as the context allows.
func (r *Reader) ReadRegion(ctx context.Context, dst []byte, region ndarray.Region) error {
	err := r.array.ReadRegion(ctx, dst, region.Start, region.Shape, ndarray.Workers(ctx))
	if err == nil {
		r.meta.DType.ToNative(dst)
	}
	return err
}

// Attrs reads all attributes, as those of a Backend.
func (r *Reader) Attrs(ctx context.Context) (ndarray.Attrs, error) {
	if err := ctx.Err(); err != nil {
		return ndarray.Attrs{}, err
	}
	return r.record.attributes(frameLayers{r.array.Frame()})
}

// Storage reports the compressed bytes of all chunks with their headers, as the frame
// counts them.
func (r *Reader) Storage(ctx context.Context) (ndarray.Storage, error) {
	f := r.array.Frame()
	return ndarray.Storage{StoredBytes: f.Header().CBytes, NumChunks: f.NumChunks()}, ctx.Err()
}

// Close frees the contexts.
func (r *Reader) Close() error { return r.array.Close() }

// frameLayers are the variable-length metalayers of a frame.
type frameLayers struct{ f *frameio.Frame }

func (l frameLayers) Names() ([]string, error) { return l.f.VLMetalayers(), nil }

func (l frameLayers) Get(name string) ([]byte, error) { return l.f.VLMetalayer(name) }
