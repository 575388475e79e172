// The peers that are Go packages, and the functions that read with them.

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strings"

	datadog "github.com/DataDog/zstd"
	"github.com/klauspost/compress/zstd"
	scigolib "github.com/scigolib/hdf5"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/crosscheck"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// goPeer is a peer that is a Go package. The program serves as its own adapter.
type goPeer struct {
	name    string
	version func() string
	asks    func(in request) bool
	form    string // form of the results: "" for stored elements
	read    func(in request) ([]byte, error)
}

// request is a request to read a file.
type request struct {
	path, area, object, dtype string
	item                      int
}

var goPeers = []goPeer{
	{"format", func() string { return "this commit" }, func(request) bool { return true }, "", formatReads},
	{"scigolib", moduleVersion("github.com/scigolib/hdf5"), numeric, "float64", scigolibReads},
	gonum,
	{"klauspost", moduleVersion("github.com/klauspost/compress"), zstdChunk, "", throughZstd(klauspostDecodes)},
	{"datadog", moduleVersion("github.com/DataDog/zstd"), zstdChunk, "", throughZstd(datadogDecodes)},
}

// dataset reports whether a request is for a dataset with elements of a NumPy dtype.
func dataset(in request) bool {
	return in.area == "hdf5" && in.dtype != "" && !strings.Contains(in.object, "@")
}

func numeric(in request) bool { return dataset(in) && strings.ContainsAny(in.dtype[1:2], "iuf") }

func moduleVersion(path string) func() string { return func() string { return module(path) } }

// module returns the version of a module that this program was built with.
func module(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, d := range info.Deps {
		if d.Path == path {
			return d.Version
		}
	}
	return ""
}

// formatReads checks a file with the Go packages before the C library decodes it.
func formatReads(in request) ([]byte, error) {
	if err := formatAccepts(in); err != nil {
		return nil, err
	}
	return crosscheck.Decode(in.path, crosscheck.Case{ID: "the file", Area: in.area, Object: in.object, Path: ".", Params: map[string]string{"name": in.object}})
}

func formatAccepts(in request) error {
	path := in.path
	switch in.area {
	case "chunk", "blosc1":
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		h, err := chunk.ParseHeader(b)
		if err != nil {
			return err
		}
		if int(h.CBytes) != len(b) {
			return fmt.Errorf("size of the chunk: got %d bytes, want %d as in the header", len(b), h.CBytes)
		}
		return chunk.Check(b)
	case "frame", "b2nd", "caterva":
		f, err := openFrame(path)
		if err != nil {
			return err
		}
		policy := chunk.Policy{
			Codecs:  []chunk.Codec{chunk.Codec(cblosc.NDLZ), chunk.Codec(cblosc.ZFPAccuracy), chunk.Codec(cblosc.ZFPPrecision), chunk.Codec(cblosc.ZFPRate)},
			Filters: []chunk.Filter{chunk.Filter(cblosc.NDCell), chunk.Filter(cblosc.NDMean)},
		}
		if err := f.CheckPolicy(policy); err != nil {
			return err
		}
		if err := f.CheckChunks(policy, chunk.Decode); err != nil {
			return err
		}
		if in.area == "frame" {
			return nil
		}
		_, ok, err := f.Array()
		if err == nil && !ok {
			err = errors.New("no metalayer of an array")
		}
		return err
	case "store":
		return nil // crosscheck.Decode lists the container with package internal/blosc/stores
	case "metalayer":
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := in.object
		m, err := b2ndmeta.Parse(name, b)
		if err != nil {
			return err
		}
		return m.Check()
	case "bcolz":
		var a *bcolztree.Array
		var err error
		if in.object == "" {
			a, err = bcolztree.ReadArray(os.DirFS(path), ".", nil)
		} else {
			var t *bcolztree.Table
			if t, err = bcolztree.ReadTable(os.DirFS(path), ".", nil); err == nil {
				a, err = t.Column(in.object)
			}
		}
		if err != nil {
			return err
		}
		for i := range a.NumFiles() {
			if _, err := a.ReadChunks(i); err != nil {
				return err
			}
		}
		return nil
	case "hdf5":
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := h5file.Open(bytes.NewReader(b), int64(len(b)), nil)
		if err != nil {
			return err
		}
		return f.Check(h5file.Policy{
			ExternalLinks: true, UserLinks: true, ExternalFiles: true, VirtualSources: true,
			Filters: []h5file.FilterID{307, 32000, 32001, 32004, 32008, 32015, 32026},
		})
	}
	return errors.ErrUnsupported
}

func openFrame(path string) (*cframe.Frame, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return cframe.ReadDir(os.DirFS(path))
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return cframe.Read(bytes.NewReader(b), int64(len(b)))
}

func scigolibReads(in request) ([]byte, error) {
	f, err := scigolib.Open(in.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var found *scigolib.Dataset
	f.Walk(func(p string, o scigolib.Object) {
		if d, ok := o.(*scigolib.Dataset); ok && "/"+strings.Trim(p, "/") == in.object {
			found = d
		}
	})
	if found == nil {
		return nil, fmt.Errorf("no dataset %s is listed", in.object)
	}
	v, err := found.Read()
	if err != nil {
		return nil, err
	}
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b, nil
}

// zstdChunk reports whether a request is for a valid chunk that has Zstd streams.
func zstdChunk(in request) bool {
	if in.area != "chunk" && in.area != "blosc1" {
		return false
	}
	b, err := os.ReadFile(in.path)
	if err != nil {
		return false
	}
	c, err := chunk.Parse(b)
	return err == nil && c.Codec == chunk.Zstd && chunk.Check(b) == nil && int(c.CBytes) == len(b)
}

// throughZstd decodes each stream of a chunk with another decoder, replaces it by its uncompressed
// bytes, and lets the C library decode the result.
func throughZstd(decode func(stream, dictionary []byte, n int) ([]byte, error)) func(request) ([]byte, error) {
	return func(in request) ([]byte, error) {
		b, err := os.ReadFile(in.path)
		if err != nil {
			return nil, err
		}
		c, err := chunk.Parse(b)
		if err != nil {
			return nil, err
		}
		d, err := cblosc.NewDecompressor(nil)
		if err != nil {
			return nil, err
		}
		defer d.Close()
		out := make([]byte, c.NBytes)
		if len(c.Blocks) == 0 {
			_, err := d.Decompress(out, b)
			return out, err
		}
		plain := bytes.Clone(b[:c.Blocks[0].Offset])
		if c.Extended {
			plain[0x1F] &^= chunk.Flag2Dict
		}
		plain = plain[:c.Size()+4*len(c.Blocks)]
		for i, block := range c.Blocks {
			binary.LittleEndian.PutUint32(plain[c.Size()+4*i:], uint32(len(plain)))
			for _, s := range block.Streams {
				stored := b[s.Offset : s.Offset+s.CLength()]
				if s.Kind == chunk.Compressed {
					if stored, err = decode(stored, c.Dict, int(s.Length)); err != nil {
						return nil, fmt.Errorf("block %d: %w", i, err)
					}
					if len(stored) != int(s.Length) {
						return nil, fmt.Errorf("block %d: %d bytes, want %d", i, len(stored), s.Length)
					}
					plain = binary.LittleEndian.AppendUint32(plain, uint32(s.Length))
				} else {
					plain = binary.LittleEndian.AppendUint32(plain, uint32(s.CSize))
					if s.Kind == chunk.ByteRun {
						stored = b[s.Offset : s.Offset+1]
					}
				}
				plain = append(plain, stored...)
			}
		}
		binary.LittleEndian.PutUint32(plain[12:], uint32(len(plain)))
		_, err = d.Decompress(out, plain)
		return out, err
	}
}

func klauspostDecodes(stream, dictionary []byte, n int) ([]byte, error) {
	o := []zstd.DOption{zstd.WithDecoderConcurrency(1)}
	if dictionary != nil {
		o = append(o, zstd.WithDecoderDicts(dictionary))
	}
	d, err := zstd.NewReader(nil, o...)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.DecodeAll(stream, make([]byte, 0, n))
}

func datadogDecodes(stream, dictionary []byte, n int) ([]byte, error) {
	if dictionary == nil {
		return datadog.Decompress(make([]byte, n), stream)
	}
	p, err := datadog.NewBulkProcessor(dictionary, datadog.DefaultCompression)
	if err != nil {
		return nil, err
	}
	return p.Decompress(make([]byte, n), stream)
}
