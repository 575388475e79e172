// Frames that are not combinations of parameters: every special offset, and chunks that are stored
// in another order than that of the index.

package crosscheck

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// frameOf makes a frame in both storages, reads it back and adds it. It must contain the bytes that
// fill returns. If fill returns nil, it must contain n elements with any content.
func (e *emitter) frameOf(name, section string, size int, n int64, fill func(s *cblosc.SChunk) ([]byte, error)) error {
	p := cblosc.DefaultCParams()
	p.TypeSize = size
	return e.frameWith(name, section, p, n, fill)
}

// frameWith does the same with other parameters of compression.
func (e *emitter) frameWith(name, section string, p *cblosc.CParams, n int64, fill func(s *cblosc.SChunk) ([]byte, error)) error {
	size := p.TypeSize
	for _, storage := range []string{"contiguous", "sparse"} {
		c := Case{
			ID: "frame/" + storage + "/" + name, Area: "frame", Must: Accept, Section: frameDocument + ": " + section,
			Params: map[string]string{"storage": storage, "frame": name, "typesize": fmt.Sprint(size)},
		}
		c.Path = c.ID + ".b2frame"
		path, err := e.place(c.Path)
		if err != nil {
			return err
		}
		s, err := cblosc.CreateSChunk(cblosc.Storage{Path: path, Contiguous: storage == "contiguous", CParams: p})
		if err != nil {
			return fmt.Errorf("%s: %w", c.ID, err)
		}
		want, err := fill(s)
		c.Metadata = map[string]any{"chunks": s.NumChunks(), "chunksize": s.ChunkSize(), "typesize": size, "nbytes": s.NBytes(), "codec": p.Codec.String(), "meta": map[string]any{}, "vlmeta": map[string]any{}}
		if err := errors.Join(err, s.Close()); err != nil {
			return fmt.Errorf("%s: %w", c.ID, err)
		}
		got, err := decodeFrame(path)
		if err != nil {
			return fmt.Errorf("%s: %w", c.ID, err)
		}
		if want != nil && !bytes.Equal(got, want) || int64(len(got)) != n*int64(size) {
			return fmt.Errorf("%s: the reference does not decode the original bytes", c.ID)
		}
		c.Decoded = decodedBytes(got, size)
		if want == nil {
			c.Decoded.SHA256 = ""
		}
		if err := e.add(c); err != nil {
			return err
		}
	}
	return nil
}

// filledFrames adds every special offset, alone and between stored chunks.
func (e *emitter) filledFrames() error {
	const section = "Chunks: special offsets"
	nan4, nan8 := []byte{0, 0, 0xC0, 0x7F}, []byte{0, 0, 0, 0, 0, 0, 0xF8, 0x7F}
	for _, x := range []struct {
		name  string
		kind  cblosc.Special
		size  int
		value []byte // nil: the contents are unspecified
	}{
		{"special-zeros", cblosc.Zeros, 3, []byte{0, 0, 0}},
		{"special-nan-f4", cblosc.NaNs, 4, nan4},
		{"special-nan-f8", cblosc.NaNs, 8, nan8},
		{"special-uninit", cblosc.Uninit, 4, nil},
	} {
		const items = 5*100 + 7
		err := e.frameOf(x.name, section, x.size, items, func(s *cblosc.SChunk) ([]byte, error) {
			if err := s.Fill(items, x.kind, 100*x.size); err != nil || x.value == nil {
				return nil, err
			}
			return bytes.Repeat(x.value, items), nil
		})
		if err != nil {
			return err
		}
	}
	return e.frameOf("special-mixed", section, 4, 6*100+7, func(s *cblosc.SChunk) ([]byte, error) {
		var all []byte
		p, err := s.CParams()
		for i, kind := range []cblosc.Special{cblosc.NotSpecial, cblosc.NaNs, cblosc.NotSpecial, cblosc.Zeros, cblosc.Repeated, cblosc.NotSpecial, cblosc.NaNs} {
			n := 400
			if i == 6 {
				n = 28
			}
			if err != nil {
				return nil, err
			}
			var value, b []byte
			switch kind {
			case cblosc.NotSpecial:
				value = series("text", uint64(i), n, 4)
				err = s.AppendBuffer(value)
				all = append(all, value...)
				continue
			case cblosc.NaNs:
				value = nan4
			case cblosc.Zeros:
				value = make([]byte, 4)
			case cblosc.Repeated:
				value = []byte{1, 2, 3, 4}
			}
			all = append(all, bytes.Repeat(value, n/4)...)
			if kind != cblosc.Repeated {
				value = nil
			}
			if b, err = cblosc.SpecialChunk(p, kind, n, value); err == nil {
				err = s.AppendChunk(b)
			}
		}
		return all, err
	})
}

// changedFrames adds frames whose chunks were reordered, replaced, inserted and deleted.
func (e *emitter) changedFrames() error {
	const size, length = 4, 480
	data := func(i int) []byte { return series([]string{"text", "ramp", "random"}[i%3], uint64(i), length, size) }
	packed := func(s *cblosc.SChunk, i int) ([]byte, error) {
		p, err := s.CParams()
		if err != nil {
			return nil, err
		}
		b, _, err := compress(p, data(i))
		return b, err
	}
	for _, x := range []struct {
		name   string
		change func(s *cblosc.SChunk) error
		order  []int // the resulting chunks
	}{
		{"reordered", func(s *cblosc.SChunk) error { return s.Reorder([]int64{3, 0, 4, 1, 2}) }, []int{3, 0, 4, 1, 2}},
		{"updated", func(s *cblosc.SChunk) error {
			b, err := packed(s, 7)
			if err != nil {
				return err
			}
			return s.UpdateChunk(1, b)
		}, []int{0, 7, 2, 3, 4}},
		{"inserted", func(s *cblosc.SChunk) error {
			b, err := packed(s, 8)
			if err != nil {
				return err
			}
			return s.InsertChunk(2, b)
		}, []int{0, 1, 8, 2, 3, 4}},
		{"deleted", func(s *cblosc.SChunk) error { return s.DeleteChunk(1) }, []int{0, 2, 3, 4}},
	} {
		err := e.frameOf(x.name, "Chunks: the index", size, int64(len(x.order)*length/size), func(s *cblosc.SChunk) ([]byte, error) {
			for i := range 5 {
				if err := s.AppendBuffer(data(i)); err != nil {
					return nil, err
				}
			}
			var want []byte
			for _, i := range x.order {
				want = append(want, data(i)...)
			}
			return want, x.change(s)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// parameterFrames adds frames with the codecs, levels, split modes and filters that the other
// frames do not have in their headers.
func (e *emitter) parameterFrames() error {
	filters := func(f ...cblosc.Filter) (all [cblosc.MaxFilters]cblosc.Filter) {
		copy(all[cblosc.MaxFilters-len(f):], f)
		return all
	}
	for _, x := range []struct {
		name string
		edit func(p *cblosc.CParams)
	}{
		{"codec-zlib", func(p *cblosc.CParams) { p.Codec, p.Level = cblosc.Zlib, 9 }},
		{"codec-lz4hc", func(p *cblosc.CParams) { p.Codec, p.Level = cblosc.LZ4HC, 1 }},
		{"level-0", func(p *cblosc.CParams) { p.Level = 0 }},
		{"split-always", func(p *cblosc.CParams) { p.Split = cblosc.SplitAlways }},
		{"split-never", func(p *cblosc.CParams) { p.Split = cblosc.SplitNever }},
		{"split-auto", func(p *cblosc.CParams) { p.Split = cblosc.SplitAuto }},
		{"filter-bitshuffle", func(p *cblosc.CParams) { p.Filters = filters(cblosc.Filter{ID: cblosc.BitShuffle}) }},
		{"filter-delta", func(p *cblosc.CParams) {
			p.Filters = filters(cblosc.Filter{ID: cblosc.Delta}, cblosc.Filter{ID: cblosc.Shuffle})
		}},
		{"filter-truncate", func(p *cblosc.CParams) {
			p.Filters = filters(cblosc.Filter{ID: cblosc.TruncPrec, Meta: 23}, cblosc.Filter{ID: cblosc.Shuffle})
		}},
	} {
		p := cblosc.DefaultCParams()
		p.TypeSize = 4
		x.edit(p)
		err := e.frameWith(x.name, "Header: codec_flags, other_flags, filters", p, 307, func(s *cblosc.SChunk) ([]byte, error) {
			var all []byte
			for i, n := range []int{400, 400, 400, 28} {
				b := series("constant", uint64(i), n, 4) // whole numbers as float32, which lose no bits
				for k := 0; k < n; k += 4 {
					binary.LittleEndian.PutUint32(b[k:], math.Float32bits(float32(i*n+k)))
				}
				all = append(all, b...)
				if err := s.AppendBuffer(b); err != nil {
					return nil, err
				}
			}
			return all, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// goldenFrames adds frames of format 3, which python-blosc2 writes: chunks of variable length, and
// blocks of variable length. golden/MANIFEST.md lists the programs that wrote them.
func (e *emitter) goldenFrames() error {
	for _, name := range []string{"variable-chunks", "variable-blocks"} {
		b, err := golden.ReadFile("golden/" + name + ".b2frame")
		if err != nil {
			return err
		}
		c := Case{
			ID: "frame/golden/" + name, Area: "frame", Must: Accept, Since: sinceBlosc2, Section: frameDocument + ": Header, general_flags; format 3",
			Params: map[string]string{"golden": name},
		}
		path, err := e.place(c.ID + ".b2frame")
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			return err
		}
		f := openVariable(path)
		if f == nil {
			return fmt.Errorf("%s: no frame of variable lengths", c.ID)
		}
		data, err := f.decode()
		c.Metadata = map[string]any{"chunks": f.NumChunks(), "chunksize": 0, "typesize": int(f.TypeSize), "nbytes": len(data), "codec": f.Codec().String()}
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("%s: %w", c.ID, err)
		}
		c.Decoded = decodedBytes(data, int(f.TypeSize))
		if err := e.file(c, ".b2frame", b); err != nil {
			return err
		}
	}
	return nil
}

// variableFrame is a contiguous frame of format 3.
type variableFrame struct {
	*cframe.Frame
	*os.File
}

// openVariable opens a frame whose chunks or blocks have variable lengths, or returns nil. The
// reference library decodes its chunks, but package cblosc has no access to them as a super-chunk.
func openVariable(path string) *variableFrame {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	info, err := file.Stat()
	if err == nil && info.Mode().IsRegular() {
		var f *cframe.Frame
		if f, err = cframe.Read(file, info.Size()); err == nil && f.VariableChunks() {
			return &variableFrame{f, file}
		}
	}
	file.Close() // nothing was written
	return nil
}

// decode returns the decoded bytes of all chunks.
func (f *variableFrame) decode() ([]byte, error) {
	d, err := cblosc.NewDecompressor(nil)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	offsets, err := f.Offsets(nil)
	if err != nil {
		return nil, err
	}
	var all []byte
	for i, o := range offsets {
		b, err := f.ReadChunk(o)
		if err != nil {
			return nil, fmt.Errorf("chunk %d: %w", i, err)
		}
		h, err := chunk.ParseHeader(b)
		if err != nil {
			return nil, fmt.Errorf("chunk %d: %w", i, err)
		}
		data, err := decodeChunk(d, &h, b)
		if err != nil {
			return nil, fmt.Errorf("chunk %d: %w", i, err)
		}
		all = append(all, data...)
	}
	return all, nil
}
