// Frames without values, which hold the attributes of a group.

package b2nd

import (
	"encoding/binary"
	"errors"
	"io"
	"os"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/ndarray"
)

// CreateFrame creates a plain frame at path, which must not exist. Its metalayers are the
// attributes, stored like those of an array. Its values are the bytes of values; nil: none.
// chunkSize is the number of bytes of a chunk, also of those that python-blosc2 appends; 0: the
// default.
//
// It returns errors.ErrUnsupported for attributes that a frame cannot store, ndarray.ErrExists,
// ErrNotFound if the parent directory is missing, or the error of values.
func CreateFrame(path string, chunkSize int, values io.Reader, attrs []ndarray.Attr) error {
	return ndarray.Wrap("create", path, createFrame(path, chunkSize, values, attrs))
}

func createFrame(path string, chunkSize int, values io.Reader, attrs []ndarray.Attr) error {
	cp := cblosc.DefaultCParams()
	cp.TypeSize = 1
	p := frameio.Params{CParams: cp, ChunkSize: chunkSize}
	p.Meta, attrs = splitFixed(attrs)
	var err error
	if p.VLMeta, err = metalayersOf(attrs); err != nil {
		return err
	}
	w, err := frameio.Create(path, &p)
	if err != nil {
		return err
	}
	n := int64(0)
	if values != nil {
		n, err = io.Copy(w, values)
	}
	if err == nil {
		err = w.Commit()
	}
	if err := errors.Join(err, w.Close()); err != nil || chunkSize == 0 || n > 0 {
		return err
	}
	return setChunkSize(path, chunkSize)
}

// chunkSizeAt is the offset of the chunk size in a frame, a big-endian int32.
const chunkSizeAt = 58

// setChunkSize sets the chunk size of a frame without chunks. C-Blosc2 stores -1 there, and
// python-blosc2, which replaces the -1 itself, cannot append to such a frame.
func setChunkSize(path string, size int) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.WriteAt(binary.BigEndian.AppendUint32(nil, uint32(size)), chunkSizeAt)
	return err
}

// metalayersOf returns the metalayers of attributes, with the record.
func metalayersOf(attrs []ndarray.Attr) (layers []cblosc.Metalayer, err error) {
	s, err := cblosc.CreateSChunk(cblosc.Storage{Contiguous: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	vl, r := s.VLMeta(), &record{}
	for _, attr := range attrs {
		if err := r.put(vl, attr); err != nil {
			return nil, err
		}
	}
	if err := r.write(vl); err != nil {
		return nil, err
	}
	for l, err := range vl.All() {
		if err != nil {
			return nil, err
		}
		layers = append(layers, l)
	}
	return layers, nil
}
