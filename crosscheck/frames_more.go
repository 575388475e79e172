// Frames that are not combinations of parameters: every special offset, and chunks that are stored
// in another order than that of the index.

package crosscheck

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hyperslab/hyperslab/cblosc"
)

// frameOf makes a frame in both storages, reads it back and adds it. It must contain the bytes that
// fill returns. If fill returns nil, it must contain n elements with any content.
func (e *emitter) frameOf(name, section string, size int, n int64, fill func(s *cblosc.SChunk) ([]byte, error)) error {
	for _, storage := range []string{"contiguous", "sparse"} {
		c := Case{
			ID: "frame/" + storage + "/" + name, Area: "frame", Must: Accept, Section: frameDocument + ": " + section,
			Params: map[string]string{"storage": storage, "frame": name, "typesize": fmt.Sprint(size)},
		}
		c.Path = c.ID + ".b2frame"
		path := filepath.Join(e.dir, filepath.FromSlash(c.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		p := cblosc.DefaultCParams()
		p.TypeSize = size
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
			return fmt.Errorf("%s: the reference decodes other bytes than it was given", c.ID)
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
