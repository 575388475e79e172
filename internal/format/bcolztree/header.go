// Header of a chunk file: the 16 bytes before its Blosc chunks.

package bcolztree

import (
	"encoding/binary"
	"strconv"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/format"
)

// HeaderSize is the number of bytes of a chunk file's header.
const HeaderSize = 16

// Magic is the first four bytes of a chunk file.
const Magic = "blpk"

// FileVersion is the only version of chunk files.
const FileVersion = 1

// Sentinels of the files of a tree. The format of a file is known from its name, so another magic
// number is corruption.
var (
	errMagic   = errs.New("not this format", format.ErrMagic, format.ErrCorrupt)
	errVersion = errs.New("unknown format version", format.ErrVersion, format.ErrUnsupported)
	errLimit   = errs.New("limit exceeded", format.ErrLimit, format.ErrUnsupported)
)

// FileHeader is the header of a chunk file (DISK_FORMAT_v1.rst, The superchunk
// layout).
type FileHeader struct {
	Version   uint8 // offset 0x04; the three reserved bytes after it are ignored
	NumChunks int64 // offset 0x08: Blosc chunks in the file; bcolz writes 1; -1: all chunks up to the end of the file
}

// ParseFileHeader reads the header at the start of b, which may be longer. The
// error is format.ErrTruncated, format.ErrMagic, format.ErrVersion, or
// format.ErrCorrupt for a count below -1.
func ParseFileHeader(b []byte) (FileHeader, error) { return parseFileHeader("chunk file", b) }

func parseFileHeader(file string, b []byte) (FileHeader, error) {
	if len(b) < HeaderSize {
		return FileHeader{}, bad(file, "header", 0, strconv.Itoa(len(b))+" bytes", "at least "+strconv.Itoa(HeaderSize), format.ErrTruncated)
	}
	h := FileHeader{Version: b[4], NumChunks: int64(binary.LittleEndian.Uint64(b[8:]))}
	switch {
	case string(b[:4]) != Magic:
		return h, bad(file, "magic", 0, strconv.Quote(string(b[:4])), strconv.Quote(Magic), errMagic)
	case h.Version != FileVersion:
		return h, bad(file, "version", 4, strconv.Itoa(int(h.Version)), strconv.Itoa(FileVersion), errVersion)
	case h.NumChunks < -1:
		return h, bad(file, "nchunks", 8, strconv.FormatInt(h.NumChunks, 10), "-1 or more", format.ErrCorrupt)
	}
	return h, nil
}

// Append appends the header to dst and returns the extended slice.
func (h FileHeader) Append(dst []byte) []byte {
	dst = append(append(dst, Magic...), h.Version, 0, 0, 0)
	return binary.LittleEndian.AppendUint64(dst, uint64(h.NumChunks))
}

// bad returns the error of one field of a file.
func bad(file, what string, offset int64, got, want string, err error) *format.Error {
	return &format.Error{Format: "bcolz " + file, What: what, Offset: offset, Got: got, Want: want, Err: err}
}
