// Filters that the Go standard library can decode: deflate, shuffle, fletcher32. They occur in
// chunks and in filtered heaps.

package h5file

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/hyperslab/hyperslab/internal/format"
)

// Decode decodes the filters of a pipeline, except those whose bit is set in mask. b are the stored
// bytes, and size is the maximum length of the result. Decode supports deflate, shuffle and
// fletcher32. Other filters return format.ErrUnsupported.
func (l *Pipeline) Decode(mask uint32, b []byte, size uint64) ([]byte, error) {
	for i := len(l.Filters) - 1; i >= 0; i-- {
		if mask>>i&1 != 0 {
			continue
		}
		var err error
		switch f := l.Filters[i]; f.ID {
		case Deflate:
			b, err = inflate(b, size+4)
		case Shuffle:
			b = unshuffle(b, f.Values)
		case Fletcher32:
			b, err = checkFletcher(b)
		default:
			err = &format.Error{Format: formatName, What: "filter " + f.ID.String(), Got: "no code for it here", Want: "deflate, shuffle or fletcher32", Err: format.ErrUnsupported}
		}
		if err != nil {
			return nil, err
		}
	}
	if uint64(len(b)) > size {
		b = b[:size]
	}
	return b, nil
}

// decode is Decode within the work limit of an operation.
func (r *reader) decode(l *Pipeline, mask uint32, b []byte, size uint64) ([]byte, error) {
	if size > uint64(r.f.limits.Structure) || int64(size) > r.left {
		return nil, &format.Error{Format: formatName, What: "filtered block", Got: fmt.Sprintf("%d bytes", size), Want: fmt.Sprintf("at most %d", min(r.left, r.f.limits.Structure)), Err: format.ErrLimit}
	}
	r.left -= int64(size)
	return l.Decode(mask, b, size)
}

// inflate decompresses at most `most` bytes and refuses longer data.
func inflate(b []byte, most uint64) ([]byte, error) {
	fail := func(err error) error {
		return &format.Error{Format: formatName, What: "deflate", Got: err.Error(), Want: "a zlib stream", Err: format.ErrCorrupt}
	}
	z, err := zlib.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fail(err)
	}
	var out bytes.Buffer
	n, err := io.Copy(&out, io.LimitReader(z, format.Size(most)+1))
	if err != nil {
		return nil, fail(err)
	}
	if uint64(n) > most {
		return nil, fail(errors.New("more bytes than there should be"))
	}
	return out.Bytes(), nil
}

// unshuffle reverses the shuffle filter. Bytes after the last whole element are copied.
func unshuffle(b []byte, values []uint32) []byte {
	if len(values) < 1 || values[0] < 2 || uint64(values[0]) > uint64(len(b)) {
		return b
	}
	size := int(values[0])
	n := len(b) / size
	out := make([]byte, len(b))
	for i := range size {
		for j := range n {
			out[j*size+i] = b[i*n+j]
		}
	}
	copy(out[n*size:], b[n*size:])
	return out
}

// checkFletcher checks and removes the checksum at the end. HDF5 1.6.2 and earlier wrote it with
// its bytes swapped in pairs, and libhdf5 accepts both.
func checkFletcher(b []byte) ([]byte, error) {
	fail := func(got, want string) error {
		return &format.Error{Format: formatName, What: "fletcher32", Got: got, Want: want, Err: format.ErrCorrupt}
	}
	if len(b) < 4 {
		return nil, fail(fmt.Sprintf("%d bytes", len(b)), "at least 4")
	}
	data := b[:len(b)-4]
	got, want := le32(b[len(data):]), fletcher32(data)
	if old := want>>8&0x00FF00FF | want<<8&0xFF00FF00; got != want && got != old {
		return nil, fail(fmt.Sprintf("%#08x", got), fmt.Sprintf("%#08x", want))
	}
	return data, nil
}

// fletcher32 returns the checksum of the filter (H5_checksum_fletcher32). It sums big-endian pairs
// of bytes in ones' complement, with the last pair padded. A sum of 65535 is not reduced to 0.
func fletcher32(b []byte) uint32 {
	var sum1, sum2 uint32
	add := func(pair uint32) {
		sum1 += pair
		sum1 = sum1&0xFFFF + sum1>>16
		sum2 += sum1
		sum2 = sum2&0xFFFF + sum2>>16
	}
	for i := 0; i+1 < len(b); i += 2 {
		add(uint32(binary.BigEndian.Uint16(b[i:])))
	}
	if len(b)%2 == 1 {
		add(uint32(b[len(b)-1]) << 8)
	}
	return sum2<<16 | sum1
}
