// Frames without values, which hold the attributes of a group.

package b2nd

import (
	"encoding/binary"
	"errors"
	"os"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/ndarray"
)

// CreateFrame creates a plain frame without values at path, which must not exist. Its metalayers
// are the attributes, stored like those of an array. chunkSize is the size in bytes of the chunks
// that python-blosc2 appends, or 0 if it appends none.
//
// It returns errors.ErrUnsupported for attributes that a frame cannot store, ndarray.ErrExists, or
// ErrNotFound if the parent directory is missing.
func CreateFrame(path string, chunkSize int, attrs []ndarray.Attr) error {
	return ndarray.Wrap("create", path, createFrame(path, chunkSize, attrs))
}

func createFrame(path string, chunkSize int, attrs []ndarray.Attr) error {
	cp := cblosc.DefaultCParams()
	cp.TypeSize = 1
	p := frameio.Params{CParams: cp}
	p.Meta, attrs = splitFixed(attrs)
	var err error
	if p.VLMeta, err = metalayersOf(attrs); err != nil {
		return err
	}
	w, err := frameio.Create(path, &p)
	if err != nil {
		return translate(err)
	}
	if err := errors.Join(w.Commit(), w.Close()); err != nil || chunkSize == 0 {
		return translate(err)
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
		return nil, translate(err)
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
			return nil, translate(err)
		}
		layers = append(layers, l)
	}
	return layers, nil
}
