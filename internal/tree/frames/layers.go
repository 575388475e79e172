// Metalayers of frames.

package frames

import (
	"errors"
	"io"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/tree"
)

// Layers adds the metalayers of the frame in r, which has size bytes, to m.
func Layers(r io.ReaderAt, size int64, m *tree.Metadata) (err error) {
	f, err := frameio.OpenReaderAt(r, size, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for _, l := range f.Header().Meta {
		m.Fixed = append(m.Fixed, tree.NamedBytes{Name: l.Name, Content: l.Content})
	}
	for _, name := range f.VLMetalayers() {
		content, stored, err := f.VLMetalayerSize(name)
		if err == nil {
			err = format.CheckLayer(name, content, stored)
		}
		if err != nil {
			return err
		}
		b, err := f.VLMetalayer(name)
		if err != nil {
			return err
		}
		m.Variable = append(m.Variable, tree.NamedBytes{Name: name, Content: b})
	}
	return nil
}

// layersAt adds the metalayers of the frame at a path, which C-Blosc2 reads.
func layersAt(file string, m *tree.Metadata) (err error) {
	s, err := cblosc.OpenSChunk(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, side := range []struct {
		from *cblosc.Metalayers
		to   *[]tree.NamedBytes
	}{{s.Meta(), &m.Fixed}, {s.VLMeta(), &m.Variable}} {
		names, err := side.from.Names()
		if err != nil {
			return err
		}
		for _, name := range names {
			content, stored, err := side.from.Size(name)
			if err == nil {
				err = format.CheckLayer(name, content, stored)
			}
			if err != nil {
				return err
			}
		}
		for x, err := range side.from.All() {
			if err != nil {
				return err
			}
			*side.to = append(*side.to, tree.NamedBytes{Name: x.Name, Content: x.Content})
		}
	}
	return nil
}
