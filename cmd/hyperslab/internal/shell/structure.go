package shell

import (
	"fmt"
	"io"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Structures that explain supports, the values of --as.
const (
	AsChunk = "chunk"
	AsFrame = "frame"
	AsHDF5  = "hdf5"
	AsBcolz = "bcolz"
)

// beginsFrame reports whether head is the beginning of a Blosc2 frame: MessagePack with the magic
// as its first string.
func beginsFrame(head []byte) bool { return len(head) >= 10 && string(head[2:10]) == "b2frame\x00" }

// SniffStructure determines the kind by the first bytes. HDF5 files may have a user block, whose
// size is a power of two. A chunk has no magic, so its header must be valid and its length that of
// the file.
func SniffStructure(r io.ReaderAt, size int64) (string, error) {
	head := make([]byte, min(size, 32))
	if _, err := io.ReadFull(io.NewSectionReader(r, 0, size), head); err != nil {
		return "", err
	}
	if beginsFrame(head) {
		return AsFrame, nil
	}
	if strings.HasPrefix(string(head), bcolztree.Magic) {
		return AsBcolz, nil
	}
	magic := make([]byte, len(h5file.Signature))
	for at := int64(0); at+int64(len(magic)) <= size; at = max(2*at, 512) {
		if _, err := r.ReadAt(magic, at); err != nil {
			return "", err
		}
		if string(magic) == h5file.Signature {
			return AsHDF5, nil
		}
	}
	if h, err := chunk.ParseHeader(head); err == nil && h.Check() == nil && int64(h.CBytes) == size {
		return AsChunk, nil
	}
	if len(head) == 0 {
		return "", fmt.Errorf("%w: the file is empty", ndarray.ErrFormat)
	}
	return "", fmt.Errorf("%w: neither a Blosc chunk or frame, a bcolz chunk file, nor HDF5 (begins with % x); --as KIND "+
		"explains it anyway",
		ndarray.ErrFormat, head[:min(len(head), 10)])
}
