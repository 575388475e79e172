// The operations whose allocations fail: creation, changes, reads and closing of files.

package crashtest_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/ddl"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/ndarray"
)

// oomOperation is an operation on files in a directory. It compares what it read with the values
// that were written, and returns errOOMValue if they differ.
type oomOperation struct {
	name    string
	prepare func(dir string) error
	act     func(dir string) error
}

var oomOperations = []oomOperation{
	{"create an HDF5 file", nil, createHDF5},
	{"read an HDF5 file", createHDF5, readHDF5},
	{"change an HDF5 file", createHDF5, changeHDF5},
	{"list an HDF5 file", createHDF5, listHDF5},
	{"read an HDF5 file in memory", createHDF5, imageHDF5},
	{"read an HDF5 array", createHDF5, func(dir string) error { return readRows(filepath.Join(dir, "a.h5:/g/x")) }},
	{"create a b2nd file", nil, func(dir string) error { return createArray(dir, true) }},
	{"create a sparse b2nd directory", nil, func(dir string) error { return createArray(dir, false) }},
	{"read a b2nd file", func(dir string) error { return createArray(dir, true) }, readLibraryArray},
	{"read a sparse b2nd directory", func(dir string) error { return createArray(dir, false) }, readLibraryArray},
	{"read a b2nd array", func(dir string) error { return createArray(dir, true) }, func(dir string) error { return readRows(filepath.Join(dir, "a.b2nd")) }},
	{"change a b2nd file", func(dir string) error { return createArray(dir, true) }, changeArray},
	{"change a super-chunk", nil, changeSChunk},
	{"compress and decompress", nil, compressChunks},
}

func firstError(steps ...func() error) error {
	for _, s := range steps {
		if err := s(); err != nil {
			return err
		}
	}
	return nil
}

func same(got, want []int64) error {
	if !slices.Equal(got, want) {
		return fmt.Errorf("%w: got %v, want %v", errOOMValue, got[:min(len(got), 8)], want[:min(len(want), 8)])
	}
	return nil
}

var int64Type = h5.Int(8, h5.LittleEndian)

func createHDF5(dir string) (err error) {
	f, err := h5.Create(filepath.Join(dir, "a.h5"), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	g, err := f.Root().CreateGroup("g")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	level := 3
	space := h5.SimpleSpace(many)
	space.MaxDims = []int64{h5.Unlimited}
	d, err := g.CreateDataset("x", int64Type, space, &h5.DatasetOptions{ChunkShape: []int64{100}, Deflate: &level, Shuffle: true, Fletcher32: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return firstError(
		func() error { return h5value.Write(d, counting(many), h5.SimpleSpace(many).All()) },
		func() error { return h5value.WriteAttr(d, "text", []string{"one", "two"}) },
		func() error { return h5value.WriteAttr(g, "number", []float64{1}) },
		func() error { return writeStrings(g) },
	)
}

func writeStrings(g *h5.Group) (err error) {
	s, err := g.CreateDataset("s", h5.VariableString(h5.UTF8), h5.SimpleSpace(3), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return h5value.Write(s, []string{"a", "bc", "def"}, h5.SimpleSpace(3).All())
}

func readHDF5(dir string) (err error) {
	f, err := h5.Open(filepath.Join(dir, "a.h5"), h5.ReadOnly)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return readGroup(f)
}

func readGroup(f *h5.File) (err error) {
	d, err := f.Root().OpenDataset("g/x")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	b := make([]byte, 8*many)
	if err := d.ReadRegion(b, int64Type, h5.SimpleSpace(many).All()); err != nil {
		return err
	}
	if err := same(fromBytes(b), counting(many)); err != nil {
		return err
	}
	for _, err := range d.StoredChunks() {
		if err != nil {
			return err
		}
	}
	text, err := h5value.ReadAttr[string](d, "text")
	if err != nil {
		return err
	}
	if !slices.Equal(text, []string{"one", "two"}) {
		return fmt.Errorf("%w: attribute %q", errOOMValue, text)
	}
	s, err := f.Root().OpenDataset("g/s")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	strs, err := h5value.ReadAll[string](s)
	if err == nil && !slices.Equal(strs, []string{"a", "bc", "def"}) {
		err = fmt.Errorf("%w: strings %q", errOOMValue, strs)
	}
	return err
}

func imageHDF5(dir string) (err error) {
	b, err := os.ReadFile(filepath.Join(dir, "a.h5"))
	if err != nil {
		return err
	}
	f, err := h5.OpenImage(b, h5.ReadOnly)
	if err != nil {
		return err
	}
	err = errors.Join(readGroup(f), f.Close())
	if err != nil {
		return err
	}
	if f, err = h5.OpenReaderAt(bytes.NewReader(b), int64(len(b)), nil); err != nil {
		return err
	}
	return errors.Join(readGroup(f), f.Close())
}

func listHDF5(dir string) (err error) {
	f, err := h5.Open(filepath.Join(dir, "a.h5"), h5.ReadOnly)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var names []string
	for o, err := range f.Root().Visit() {
		if err != nil {
			return err
		}
		names = append(names, o.Path)
	}
	if len(names) != 4 {
		return fmt.Errorf("%w: objects %q", errOOMValue, names)
	}
	return ddl.Write(io.Discard, f, nil)
}

func changeHDF5(dir string) (err error) {
	f, err := h5.Open(filepath.Join(dir, "a.h5"), h5.ReadWrite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	d, err := f.Root().OpenDataset("g/x")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return firstError(
		func() error { return d.Resize(many + 100) },
		func() error {
			return h5value.Write(d, counting(100), h5.Region{Start: []int64{many}, Count: []int64{100}})
		},
		func() error { return d.DeleteAttribute("text") },
		func() error { return f.Root().CopyObject("g", f.Root(), "h", nil) },
		func() error { return f.Root().Unlink("g/s") },
		f.Flush,
	)
}

func readRows(location string) error {
	a, err := hyperslab.Open(ctx, location, nil)
	if err != nil {
		return err
	}
	a.SetWorkers(1)
	v, err := ndarray.ReadAll[int64](ctx, a)
	if err == nil {
		_, err = a.Attrs(ctx)
	}
	if err = errors.Join(err, a.Close()); err != nil {
		return err
	}
	return same(v, counting(many))
}

func arrayStorage(dir string, contiguous bool) cblosc.Storage {
	cp := cblosc.DefaultCParams()
	cp.TypeSize = 8
	return cblosc.Storage{Path: filepath.Join(dir, "a.b2nd"), Contiguous: contiguous, CParams: cp}
}

func createArray(dir string, contiguous bool) (err error) {
	a, err := cblosc.CreateArray(&cblosc.ArrayParams{
		Shape: []int64{many}, ChunkShape: []int32{100}, Blocks: []int32{20}, DType: "<i8", Storage: arrayStorage(dir, contiguous),
		Meta: []cblosc.Metalayer{{Name: "m", Content: []byte("abc")}},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if err := a.WriteRegion(toBytes(counting(many)), []int64{0}, []int64{many}); err != nil {
		return err
	}
	return a.SChunk().VLMeta().Add("v", []byte("a value of variable length"))
}

func readLibraryArray(dir string) (err error) {
	a, err := cblosc.OpenArray(filepath.Join(dir, "a.b2nd"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	b := make([]byte, 8*many)
	if err := a.ReadAll(b); err != nil {
		return err
	}
	if err := same(fromBytes(b), counting(many)); err != nil {
		return err
	}
	if err := a.ReadSteps(b[:16], []int64{10}, []int64{2}, []int64{50}); err != nil {
		return err
	}
	v, err := a.SChunk().VLMeta().Get("v")
	if err == nil && string(v) != "a value of variable length" {
		err = fmt.Errorf("%w: metalayer %q", errOOMValue, v)
	}
	return err
}

func changeArray(dir string) (err error) {
	a, err := cblosc.OpenArray(filepath.Join(dir, "a.b2nd"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	return firstError(
		func() error { return a.Append(0, toBytes(counting(50))) },
		func() error { return a.Resize([]int64{many + 200}) },
		func() error { return a.Insert(0, 100, toBytes(counting(100))) },
		func() error { return a.Delete(0, 0, 100) },
		func() error { return a.SChunk().VLMeta().Update("v", []byte("another value")) },
	)
}

func changeSChunk(dir string) (err error) {
	s, err := cblosc.CreateSChunk(arrayStorage(dir, true))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	data := toBytes(counting(100))
	err = firstError(
		func() error { return s.AppendBuffer(data) },
		func() error { return s.AppendBuffer(data) },
		func() error {
			c, err := s.Chunk(0)
			if err != nil {
				return err
			}
			return errors.Join(s.InsertChunk(1, c), s.UpdateChunk(0, c))
		},
		func() error { return s.DeleteChunk(0) },
	)
	if err != nil {
		return err
	}
	dst := make([]byte, len(data))
	for i := range s.NumChunks() {
		if _, err := s.DecompressChunk(dst, i); err != nil {
			return err
		}
		if err := same(fromBytes(dst), counting(100)); err != nil {
			return err
		}
	}
	_, err = s.Offsets()
	return err
}

func compressChunks(string) error {
	data := toBytes(counting(2000))
	for _, codec := range cblosc.Codecs() {
		cp := cblosc.DefaultCParams()
		cp.Codec, cp.TypeSize, cp.BlockSize = codec, 8, 4096
		c, err := cblosc.NewCompressor(cp)
		if err != nil {
			return err
		}
		b := make([]byte, cblosc.MaxCompressedSize(len(data)))
		n, err := c.Compress(b, data)
		if err = errors.Join(err, c.Close()); err != nil {
			return err
		}
		d, err := cblosc.NewDecompressor(nil)
		if err != nil {
			return err
		}
		got := make([]byte, len(data))
		_, err = d.Decompress(got, b[:n])
		if err = errors.Join(err, d.Close()); err != nil {
			return err
		}
		if !bytes.Equal(got, data) {
			return fmt.Errorf("%w: codec %v", errOOMValue, codec)
		}
	}
	return nil
}
