// Blosc2 frames: codecs, filters and sizes of the header and of every chunk.

package scan

import (
	"io/fs"
	"sync"

	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// anyCodec allows every codec and filter, so that CheckPolicy reports structural errors only.
var anyCodec = sync.OnceValue(func() (p chunk.Policy) {
	for id := range 256 {
		p.Codecs, p.Filters = append(p.Codecs, chunk.Codec(id)), append(p.Filters, chunk.Filter(id))
	}
	return p
})

func (s *scanner) frameLimits() cframe.Limits {
	return cframe.Limits{Header: s.o.Metadata, Trailer: s.o.Metadata, Index: s.o.Metadata}
}

// sparse scans the sparse frame in the directory at of dir and returns its format.
func (s *scanner) sparse(dir *regularfile.Frozen, at string) (string, error) {
	sub, err := fs.Sub(dir, at)
	if err != nil {
		return "", err
	}
	entries, err := fs.ReadDir(sub, ".")
	if err != nil {
		return "blosc2", s.fail("", err)
	}
	stored := int64(0)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			stored += info.Size()
		}
	}
	f, err := cframe.ReadDirLimits(sub, s.frameLimits())
	return s.frame(f, err, stored)
}

// frame scans a frame of which stored bytes exist and returns its format. err is the error of its
// reader.
func (s *scanner) frame(f *cframe.Frame, err error, stored int64) (string, error) {
	if err != nil {
		return "blosc2", s.fail("", err)
	}
	kind := "blosc2"
	codecs := &seen{codecs: map[chunk.Codec]bool{}, filters: map[chunk.Filter]bool{}}
	codecs.codec(s, f.Codec())
	for _, id := range f.Filters {
		codecs.filter(s, id)
	}
	if f.NBytes > 0 {
		s.size("", uint64(f.NBytes), uint64(stored))
	}
	if f.ChunkSize > 0 {
		s.chunkSize("", uint64(f.ChunkSize))
	}
	for _, l := range f.Metalayers {
		if err := b2ndmeta.CheckStored(l.Name, l.Content); err != nil {
			s.add(ComputedValues, "", l.Offset, "%v", err)
		}
	}
	total := int64(0)
	for _, l := range f.Trailer.VLMetalayers {
		if h, err := chunk.ParseHeader(l.Content); err == nil { // CheckPolicy reports the error
			total += int64(max(h.NBytes, 0))
			codecs.header(s, h)
		}
	}
	if total > s.o.Metadata {
		s.add(Limit, "", -1, "the variable-length metalayers declare %d bytes: limit %d", total, s.o.Metadata)
	}
	embedding, err := s.embedding(f)
	if embedding {
		kind = "b2e"
	}
	if err != nil {
		return kind, err
	}
	m, ok, err := f.Array()
	switch {
	case err != nil:
		if err := s.fail("", err); err != nil {
			return kind, err
		}
	case ok && m.Caterva:
		kind = "caterva"
	case ok:
		kind = "b2nd"
	}
	if err := f.CheckPolicy(anyCodec()); err != nil {
		return kind, s.fail("", err) // the index is not safe to follow
	}
	offsets, err := f.Offsets(nil)
	if err != nil {
		return kind, s.fail("", err)
	}
	length := int64(0)
	for _, o := range offsets {
		if err := s.ctx.Err(); err != nil {
			return kind, err
		}
		if o.IsSpecial() {
			continue
		}
		h, err := f.ReadChunkHeader(o)
		if err != nil {
			break // CheckChunks reports the error
		}
		codecs.header(s, h)
		if f.ChunkSize <= 0 {
			s.chunkSize("", uint64(max(h.NBytes, 0)))
		}
		if length += int64(h.CBytes); length > stored || h.CBytes <= 0 {
			break // CheckChunks reports chunks that overlap
		}
	}
	return kind, s.fail("", f.CheckChunks(anyCodec(), nil))
}

// seen contains the codecs and filters that are already reported.
type seen struct {
	codecs  map[chunk.Codec]bool
	filters map[chunk.Filter]bool
}

// header reports the codec and the filters of a chunk.
func (n *seen) header(s *scanner, h chunk.Header) {
	if h.HasBlocks() {
		n.codec(s, h.Codec)
	}
	for _, id := range h.Filters {
		n.filter(s, id)
	}
}

func (n *seen) codec(s *scanner, id chunk.Codec) {
	if !id.Safe() && !n.codecs[id] {
		n.codecs[id] = true
		s.add(PluginCodec, "", -1, "codec %s: %s", id, available(chunk.Unchecked().AllowsCodec(id)))
	}
}

func (n *seen) filter(s *scanner, id chunk.Filter) {
	if !id.Safe() && !n.filters[id] {
		n.filters[id] = true
		s.add(PluginCodec, "", -1, "filter %s: %s", id, available(chunk.Unchecked().AllowsFilter(id)))
	}
}

func available(linked bool) string {
	if linked {
		return "available, without bounds checks"
	}
	return "not available"
}
