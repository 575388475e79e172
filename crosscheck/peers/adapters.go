// The peers, and the functions that read with them.

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"slices"
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

var background = context.Background()

var peers = []peer{
	{
		name: "format", about: "the packages format/* of this module, which read headers and indexes in plain Go. They accept or refuse a file, and the C library decodes the accepted files",
		asks: func(crosscheck.Case) bool { return true }, read: formatReads,
		version: func() string { return "this commit" },
	},
	{
		name: "scigolib", about: "github.com/scigolib/hdf5, in plain Go: Dataset.Read. It returns numbers as float64, so only numbers are tested, and compared as float64",
		asks: numeric, values: true, read: scigolibReads, version: func() string { return module("github.com/scigolib/hdf5") },
	},
	{name: "go-native-netcdf", about: "github.com/batchatco/go-native-netcdf: not tested, because the module proxy in use has no version of it", asks: none, read: unread, version: func() string { return "" }},
	gonum,
	{
		name: "klauspost", about: "github.com/klauspost/compress/zstd on the Zstandard streams of Blosc chunks; the C library reverses the filters",
		asks: zstdChunks, read: throughZstd(klauspostDecodes), version: func() string { return module("github.com/klauspost/compress") },
	},
	{
		name: "datadog", about: "github.com/DataDog/zstd, tested in the same way",
		asks: zstdChunks, read: throughZstd(datadogDecodes), version: func() string { return module("github.com/DataDog/zstd") },
	},
	{name: "h5py", about: "h5py with hdf5plugin: datasets and attributes with elements that NumPy supports", asks: numpy, version: nil},
	{name: "tables", about: "PyTables: datasets with elements that NumPy supports", asks: dataset, version: nil},
	{name: "pyfive", about: "pyfive, in plain Python: datasets with elements that NumPy supports", asks: dataset, version: nil},
	{name: "numcodecs", about: "the Blosc codec of numcodecs, which zarr uses: Blosc1 chunks", asks: in("blosc1"), version: nil},
	{name: "blosc2", about: "python-blosc2: chunks, frames, b2nd arrays", asks: in("chunk", "blosc1", "frame", "b2nd"), version: nil},
	{name: "bcolz", about: "bcolz-zipline: bcolz trees", asks: in("bcolz"), version: nil},
}

func none(crosscheck.Case) bool { return false }

func unread(string, crosscheck.Case) ([]byte, error) { return nil, errors.ErrUnsupported }

func in(areas ...string) func(crosscheck.Case) bool {
	return func(c crosscheck.Case) bool { return slices.Contains(areas, c.Area) }
}

// numpy reports whether an HDF5 case has elements of a NumPy dtype. Broken files with groups or
// strings as their base are excluded.
func numpy(c crosscheck.Case) bool {
	if c.Area != "hdf5" {
		return false
	}
	if c.Must == crosscheck.Refuse {
		return strings.HasPrefix(c.Params["base"], "hdf5/mask/") || strings.HasPrefix(c.Params["base"], "hdf5/index/") || strings.HasPrefix(c.Params["base"], "hdf5/file/") || strings.HasPrefix(c.Params["base"], "hdf5/elsewhere/")
	}
	return c.Decoded.DType != ""
}

func dataset(c crosscheck.Case) bool { return numpy(c) && !strings.Contains(c.Object, "@") }

func numeric(c crosscheck.Case) bool {
	return dataset(c) && (c.Must == crosscheck.Refuse || !strings.ContainsAny(c.Decoded.DType, "SbV"))
}

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
func formatReads(path string, c crosscheck.Case) ([]byte, error) {
	if err := formatAccepts(path, c); err != nil {
		return nil, err
	}
	if c.Must == crosscheck.Refuse {
		return nil, nil // accepted, which is wrong; the C library must not read the file
	}
	c.Path = "."
	return crosscheck.Decode(path, c)
}

func formatAccepts(path string, c crosscheck.Case) error {
	switch c.Area {
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
			return fmt.Errorf("%d bytes, the header says %d", len(b), h.CBytes)
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
		if c.Area == "frame" {
			return nil
		}
		_, ok, err := f.Array()
		if err == nil && !ok {
			err = errors.New("no metalayer of an array")
		}
		return err
	case "metalayer":
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := c.Params["name"]
		m, err := b2ndmeta.Parse(name, b)
		if err != nil {
			return err
		}
		return m.Check()
	case "bcolz":
		var a *bcolztree.Array
		var err error
		if c.Object == "" {
			a, err = bcolztree.ReadArray(os.DirFS(path), ".", nil)
		} else {
			var t *bcolztree.Table
			if t, err = bcolztree.ReadTable(os.DirFS(path), ".", nil); err == nil {
				a, err = t.Column(c.Object)
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

func scigolibReads(path string, c crosscheck.Case) ([]byte, error) {
	f, err := scigolib.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var found *scigolib.Dataset
	f.Walk(func(p string, o scigolib.Object) {
		if d, ok := o.(*scigolib.Dataset); ok && "/"+strings.Trim(p, "/") == c.Object {
			found = d
		}
	})
	if found == nil {
		return nil, fmt.Errorf("no dataset %s is listed", c.Object)
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

// zstdChunks reports whether a case is a valid chunk with Zstd streams.
func zstdChunks(c crosscheck.Case) bool {
	return (c.Area == "chunk" || c.Area == "blosc1") && c.Must == crosscheck.Accept && c.Params["codec"] == "zstd"
}

// throughZstd decodes each stream of a chunk with another decoder, replaces it by its uncompressed
// bytes, and lets the C library decode the result.
func throughZstd(decode func(stream, dictionary []byte, n int) ([]byte, error)) func(string, crosscheck.Case) ([]byte, error) {
	return func(path string, _ crosscheck.Case) ([]byte, error) {
		b, err := os.ReadFile(path)
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
