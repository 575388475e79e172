// Checksums of the chunks of a frame (cframe.ChecksumLayer).

package frameio

import (
	"cmp"
	"fmt"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// HasChecksums reports whether the frame has a current checksum of each chunk, which
// Params.Checksums writes and Limits.Checksums compares. Checksums are stale, and not used, after
// another program has changed a chunk.
func (f *Frame) HasChecksums() bool { return f.head.HasChecksums() }

// checksums reads the checksums of a frame that has them, and compares those of the chunks that
// exist only in the index.
func (f *Frame) checksums() ([]uint32, error) {
	n := len(f.offsets)
	if n == 0 {
		return nil, nil // those of deleted chunks do not matter
	}
	want := int64(len(cframe.AppendChecksums(nil, nil)) + 4*n + 4) // binary of any length
	if size, _, err := f.VLMetalayerSize(cframe.ChecksumLayer); err != nil {
		return nil, err
	} else if size > want {
		return nil, invalid(&format.Error{
			Format: "blosc2 frame", What: "metalayer " + cframe.ChecksumLayer,
			Got: fmt.Sprintf("%d bytes", size), Want: fmt.Sprintf("at most %d", want), Err: format.ErrCorrupt,
		})
	}
	content, err := f.VLMetalayer(cframe.ChecksumLayer)
	if err != nil {
		return nil, err
	}
	all, err := cframe.ParseChecksums(content, n)
	if err != nil {
		return nil, invalid(err)
	}
	for i, o := range f.offsets {
		if got := o.Checksum(); o.IsSpecial() && got != all[i] {
			return nil, fmt.Errorf("chunk %d: %w", i, wrongSum(got, all[i]))
		}
	}
	return all, nil
}

// matches compares the bytes of stored chunk i with its checksum.
func (f *Frame) matches(i int64, raw []byte) error {
	if f.sums == nil {
		return nil
	}
	if got := cframe.Checksum(raw); got != f.sums[i] {
		return wrongSum(got, f.sums[i])
	}
	return nil
}

// unlike returns the error for an invalid header of stored chunk i: that of its checksum, if this
// differs too, because a changed header can look like an unsupported one.
func (f *Frame) unlike(i int64, raw []byte, h *chunk.Header, err error) error {
	return cmp.Or(f.matches(i, raw[:min(max(int(h.CBytes), 0), len(raw))]), err)
}

func wrongSum(got, want uint32) error {
	return corrupt("checksum", 0, fmt.Sprintf("%#08x", got), fmt.Sprintf("%#08x", want))
}

// sums are the checksums of the chunks that a Writer writes. The methods of nil do not do anything,
// because most frames have no checksums.
type sums struct{ of32 []uint32 }

// of returns the checksum of the stored chunk b, or of the chunk that exists only in the index if
// there are no bytes.
func (s *sums) of(b []byte, o cframe.Offset) uint32 {
	switch {
	case s == nil:
		return 0
	case o.IsSpecial():
		return o.Checksum()
	}
	return cframe.Checksum(b)
}

// add adds the checksum of the next chunk.
func (s *sums) add(sum uint32) {
	if s != nil {
		s.of32 = append(s.of32, sum)
	}
}

// set replaces the checksum of chunk i.
func (s *sums) set(i int64, b []byte, o cframe.Offset) {
	if s != nil {
		s.of32[i] = s.of(b, o)
	}
}

// layer returns the metalayer with the checksums. Chunks after the last one with a checksum exist
// only in the index.
func (s *sums) layer(offsets []cframe.Offset) (cblosc.Metalayer, error) {
	for _, o := range offsets[len(s.of32):] {
		s.of32 = append(s.of32, o.Checksum())
	}
	p := cblosc.DefaultCParams()
	p.Level = 0 // checksums are random bytes
	b, err := compressed(p, cframe.AppendChecksums(nil, s.of32))
	return cblosc.Metalayer{Name: cframe.ChecksumLayer, Content: b}, err
}

// sum sets the checksums of all chunks of a frame that has none.
func (f *Frame) sum(s *sums) error {
	var b []byte
	for i, o := range f.offsets {
		if !o.IsSpecial() {
			var err error
			if b, err = f.Chunk(b[:0], int64(i)); err != nil {
				return err
			}
		}
		s.add(s.of(b, o))
	}
	return nil
}
