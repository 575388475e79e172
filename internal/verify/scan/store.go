// Scan of containers of python-blosc2.

package scan

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

func (s *scanner) storeLimits() b2store.Limits { return b2store.Limits{Directory: s.o.Metadata} }

// zip scans a container in a ZIP file: its structure, and each of its frames.
func (s *scanner) zip(r io.ReaderAt, size int64) error {
	members, err := b2store.ReadZip(r, size, s.storeLimits())
	if err != nil {
		return s.fail("", err)
	}
	embedded, keys := false, make(map[string]bool)
	for _, m := range members {
		embedded = embedded || m.Name == b2store.EmbedFile
		key, known := b2store.KeyOf(m.Name)
		if !known && m.Name != b2store.EmbedFile {
			continue // no object
		}
		if keys[key] {
			s.add(Structure, key, m.Offset, "a second file of the key: %s", m.Name)
		}
		keys[key] = true
		s.within, s.base = "/"+m.Name, m.Offset
		f, err := cframe.ReadLimits(io.NewSectionReader(r, m.Offset, m.Size), m.Size, s.frameLimits())
		_, err = s.frame(f, err, m.Size)
		s.within, s.base = "", 0
		if err != nil {
			return err
		}
	}
	if !embedded {
		s.add(Structure, "", -1, "no member %s", b2store.EmbedFile)
	}
	return nil
}

// embedding scans the map of a frame that embeds others, and reports whether it is one. References
// to servers are findings. The embedded frames are compressed and are not examined, and neither is
// a map that is compressed with a codec other than blosclz or zstd.
func (s *scanner) embedding(f *cframe.Frame) (is bool, err error) {
	for _, l := range f.Metalayers {
		is = is || b2store.IsEmbedLayer(l.Name)
	}
	if !is {
		return false, nil
	}
	if content, ok, err := s.layer(f, b2store.Registry); err != nil {
		return true, err
	} else if ok {
		kinds, err := b2store.ParseRegistry(content)
		if err != nil {
			return true, s.fail("", err)
		}
		for key, kind := range kinds {
			if kind == "remote_store" {
				s.add(ComputedValues, key, -1, "a reference to a store on a server")
			}
		}
	}
	content, ok, err := s.layer(f, b2store.MapLayer)
	if !ok || err != nil {
		return true, err
	}
	all, err := b2store.ParseMap(content, max(f.NBytes, 0), s.storeLimits())
	if err != nil {
		return true, s.fail("", err)
	}
	frames, bytes := 0, int64(0)
	for _, x := range all {
		if x.Remote != "" {
			s.add(ComputedValues, x.Key, -1, "a reference to an array on the server %s", x.Remote)
			continue
		}
		frames++
		bytes += x.Length
	}
	if frames > 0 {
		s.addLevel(NotExamined, Note, "", -1, "%d embedded frames of %d bytes: they are inside of compressed chunks", frames, bytes)
	}
	return true, nil
}

// layer decodes a variable-length metalayer in Go, and reports whether it was decoded.
func (s *scanner) layer(f *cframe.Frame, name string) ([]byte, bool, error) {
	b, has := f.Trailer.VLMetalayer(name)
	if !has {
		return nil, false, nil
	}
	h, err := chunk.ParseHeader(b)
	if n := int64(h.NBytes); err == nil && (n > s.o.Metadata || n > math.MaxInt32) {
		err = &format.Error{Format: "blosc2 frame", What: "metalayer " + name, Got: length(uint64(n)), Want: "at most " + length(uint64(s.o.Metadata)), Err: format.ErrLimit}
	}
	if err != nil {
		return nil, false, s.fail("", err)
	}
	dst := make([]byte, h.NBytes)
	c, err := chunk.Parse(b)
	if err == nil {
		err = c.DecodeZstd(dst, zstdStream)
	}
	if errors.Is(err, format.ErrUnsupported) { // for example a metalayer in lz4
		s.addLevel(NotExamined, Note, "", -1, "metalayer %s: %v", name, err)
		return nil, false, nil
	}
	if err != nil {
		return nil, false, s.fail("", err)
	}
	return dst, true, nil
}

// maxWindow is the maximum window of a Zstandard stream. A window takes no memory, because the
// decoder refers to dst.
const maxWindow = 128 << 20

// zstdStream decodes a Zstandard stream to exactly len(dst) bytes. It takes memory in proportion to
// dst, because the decoder fails when dst is full.
func zstdStream(dst, stream []byte) error {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(uint64(max(len(dst), maxWindow))), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return err
	}
	defer z.Close()
	got, err := z.DecodeAll(stream, dst[:0:len(dst)])
	if err == nil && len(got) != len(dst) {
		err = fmt.Errorf("%d bytes", len(got))
	}
	return err
}
