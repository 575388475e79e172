// The calls of the packages below the root, in the modes "entries" and "trusted".

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/chunkio"
	"github.com/hyperslab/hyperslab/h5/ddl"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
	"github.com/hyperslab/hyperslab/ndarray/npy"
)

// bindings calls the packages that check bytes themselves, also for trusted files.
func (s *session) bindings() {
	s.chunk()
	s.frames()
	s.superChunks()
	base, name := os.DirFS(filepath.Dir(s.place)), filepath.Base(s.place)
	r, n := bytes.NewReader(s.content), int64(len(s.content))
	for what, open := range map[string]func() (ndarray.Backend, error){
		"b2nd.Open":         func() (ndarray.Backend, error) { return b2nd.Open(s.place, nil) },
		"b2nd.OpenFrame":    func() (ndarray.Backend, error) { return b2nd.OpenFrame(s.place, nil) },
		"b2nd.OpenFS":       func() (ndarray.Backend, error) { return b2nd.OpenFS(os.DirFS(s.place), nil) },
		"b2nd.OpenReaderAt": func() (ndarray.Backend, error) { return b2nd.OpenReaderAt(r, n, "x", nil) },
		"bcolz.Open":        func() (ndarray.Backend, error) { return bcolz.Open(s.place, nil) },
		"bcolz.OpenRecords": func() (ndarray.Backend, error) { return bcolz.OpenRecords(s.place, nil) },
		"bcolz.OpenFS":      func() (ndarray.Backend, error) { return bcolz.OpenFS(base, name, nil) },
		"npy.Open":          func() (ndarray.Backend, error) { return npy.Open(s.place, false) },
		"npy.OpenWith":      func() (ndarray.Backend, error) { return npy.OpenWith(s.place, nil) },
		"npy.OpenReaderAt":  func() (ndarray.Backend, error) { return npy.OpenReaderAt(r, n, "x") },
	} {
		b, err := open()
		s.backend(what, b, err)
	}
	for what, open := range map[string]func() (*bcolz.Table, error){
		"bcolz.OpenTable":   func() (*bcolz.Table, error) { return bcolz.OpenTable(s.place, nil) },
		"bcolz.OpenTableFS": func() (*bcolz.Table, error) { return bcolz.OpenTableFS(base, name, nil) },
	} {
		t, err := open()
		s.done(what, err)
		if err == nil {
			b, err := t.Records()
			s.backend("Table.Records", b, err)
			b, err = t.Column("a")
			s.backend("Table.Column", b, err)
		}
	}
	x, err := bcolz.OpenObjects(s.place, nil)
	s.done("bcolz.OpenObjects", err)
	if err == nil {
		_ = x.Attrs()
		for _, err := range limited(x.All()) {
			s.done("Objects.All", err)
		}
		s.done("Objects.Close", x.Close())
	}
}

// backend makes an array of a backend and calls its methods.
func (s *session) backend(name string, b ndarray.Backend, err error) {
	s.done(name, err)
	if err != nil {
		return
	}
	a, err := ndarray.New(b)
	if err != nil {
		err = errors.Join(err, b.Close())
	}
	s.close(name, a, err)
}

// chunk passes the bytes to the functions that take a chunk or the input of a filter.
func (s *session) chunk() {
	info, err := cblosc.Info(s.content)
	s.done("cblosc.Info", err)
	dst := make([]byte, min(max(info.NBytes, 4096), entryBytes))
	_, err = cblosc.LibraryReading(s.content)
	s.done("cblosc.LibraryReading", err)
	_, err = cblosc.VLBlocks(s.content)
	s.done("cblosc.VLBlocks", err)
	for _, caterva := range []bool{false, true} {
		_, _, _, _, err = cblosc.DecodeArrayMeta(s.content[:min(len(s.content), 4096)], caterva)
		s.done("cblosc.DecodeArrayMeta", err)
	}
	_, err = cblosc.GlobalDecompress(dst, s.content)
	s.done("cblosc.GlobalDecompress", err)
	_, err = cblosc.GlobalItems(dst, s.content, 0, 1)
	s.done("cblosc.GlobalItems", err)
	d, err := cblosc.NewDecompressor(nil)
	s.done("cblosc.NewDecompressor", err)
	if err != nil {
		return
	}
	_, err = d.Decompress(dst, s.content)
	s.done("Decompressor.Decompress", err)
	_, err = d.Items(dst, s.content, 1, 1)
	s.done("Decompressor.Items", err)
	_, err = d.VLBlock(s.content, 0)
	s.done("Decompressor.VLBlock", err)
	s.done("Decompressor.Close", d.Close())
	for _, id := range filter.Numbers() {
		for _, values := range [][]uint32{nil, {4, 1}, {2, 2, 4, 1024, 5, 1, 1}} {
			_, err := filter.Decode(id, values, dst[:4096], s.content[:min(len(s.content), 1<<16)])
			s.done(fmt.Sprint("filter.Decode ", id), err)
		}
	}
}

// frames reads a frame in Go.
func (s *session) frames() {
	l := &frameio.Limits{Header: entryBytes, Trailer: entryBytes, Index: entryBytes, Chunk: entryBytes}
	for what, open := range map[string]func() (*frameio.Frame, error){
		"frameio.Open":       func() (*frameio.Frame, error) { return frameio.Open(s.place, l) },
		"frameio.OpenMapped": func() (*frameio.Frame, error) { return frameio.OpenMapped(s.place, l) },
		"frameio.OpenFS":     func() (*frameio.Frame, error) { return frameio.OpenFS(os.DirFS(s.place), l) },
		"frameio.OpenReaderAt": func() (*frameio.Frame, error) {
			return frameio.OpenReaderAt(bytes.NewReader(s.content), int64(len(s.content)), l)
		},
	} {
		f, err := open()
		s.done(what, err)
		if err != nil {
			continue
		}
		for i := range min(f.NumChunks(), 8) {
			_, err := f.Chunk(nil, i)
			s.done("Frame.Chunk", err)
			_, err = f.Decompress(make([]byte, min(f.ChunkSize(), entryBytes)), i)
			s.done("Frame.Decompress", err)
			_, err = f.Items(make([]byte, max(f.TypeSize(), 1)), i, 0, 1)
			s.done("Frame.Items", err)
			_, err = f.StoredBytes(i)
			s.done("Frame.StoredBytes", err)
			_ = fmt.Sprint(f.Special(i), f.Repeated(i))
		}
		for _, name := range f.VLMetalayers() {
			_, err := f.VLMetalayer(name)
			s.done("Frame.VLMetalayer", err)
		}
		if n := f.NBytes(); n <= entryBytes {
			s.done("Frame.ReadAll", f.ReadAll(s.ctx, make([]byte, n), 2))
			_, err := f.ReadAt(make([]byte, min(n, 100)), n/2)
			if !errors.Is(err, io.EOF) {
				s.done("Frame.ReadAt", err)
			}
		}
		_, err = f.Array()
		s.done("Frame.Array", err)
		s.done("Frame.Close", f.Close())
	}
	a, err := frameio.OpenArray(s.place)
	s.done("frameio.OpenArray", err)
	if err == nil {
		start, one := first(a.Shape())
		dst := make([]byte, product(one)*int64(a.ItemSize()))
		s.done("frameio.Array.ReadRegion", a.ReadRegion(s.ctx, dst, start, one, 2))
		s.done("frameio.Array.Close", a.Close())
	}
}

// first is the region of the first element of an array, or an empty one.
func first(shape []int64) (start, count []int64) {
	start, count = make([]int64, len(shape)), make([]int64, len(shape))
	for i, n := range shape {
		count[i] = min(n, 1)
	}
	return start, count
}

func product(dims []int64) int64 {
	n := int64(1)
	for _, k := range dims {
		n *= k
	}
	return n
}

// superChunks opens a frame with C-Blosc2.
func (s *session) superChunks() {
	r, n := bytes.NewReader(s.content), int64(len(s.content))
	for what, open := range map[string]func() (*cblosc.SChunk, error){
		"cblosc.OpenSChunk":      func() (*cblosc.SChunk, error) { return cblosc.OpenSChunk(s.place) },
		"cblosc.OpenSChunkBytes": func() (*cblosc.SChunk, error) { return cblosc.OpenSChunkBytes(s.content) },
		"cblosc.OpenSChunkOn":    func() (*cblosc.SChunk, error) { return cblosc.OpenSChunkOn(r, n, cblosc.OpenOptions{}) },
		"cblosc.OpenSChunkWith": func() (*cblosc.SChunk, error) {
			return cblosc.OpenSChunkWith(s.place, cblosc.OpenOptions{ReadOnly: true})
		},
	} {
		c, err := open()
		s.done(what, err)
		if err == nil {
			s.superChunk(c)
			s.done("SChunk.Close", c.Close())
		}
	}
	for what, open := range map[string]func() (*cblosc.Array, error){
		"cblosc.OpenArray":      func() (*cblosc.Array, error) { return cblosc.OpenArray(s.place) },
		"cblosc.OpenArrayBytes": func() (*cblosc.Array, error) { return cblosc.OpenArrayBytes(s.content) },
		"cblosc.OpenArrayOn":    func() (*cblosc.Array, error) { return cblosc.OpenArrayOn(r, n, cblosc.OpenOptions{}) },
		"cblosc.OpenArrayWith": func() (*cblosc.Array, error) {
			return cblosc.OpenArrayWith(s.place, cblosc.OpenOptions{ReadOnly: true})
		},
	} {
		a, err := open()
		s.done(what, err)
		if err != nil {
			continue
		}
		start, one := first(a.Shape())
		index := make([][]int64, len(one))
		for i, n := range one {
			index[i] = make([]int64, n)
		}
		dst := make([]byte, product(one)*int64(a.ItemSize()))
		s.done("cblosc.Array.ReadRegion", a.ReadRegion(dst, start, one))
		s.done("cblosc.Array.ReadOrthogonal", a.ReadOrthogonal(dst, index))
		_, err = a.ChunksOf(start, one)
		s.done("cblosc.Array.ChunksOf", err)
		s.done("cblosc.Array.Close", a.Close())
	}
}

// superChunk calls the methods of a super-chunk that read.
func (s *session) superChunk(c *cblosc.SChunk) {
	for _, m := range []*cblosc.Metalayers{c.Meta(), c.VLMeta()} {
		_, err := m.Map()
		s.done("Metalayers.Map", err)
	}
	_, err := c.Offsets()
	s.done("SChunk.Offsets", err)
	_, err = c.CParams()
	s.done("SChunk.CParams", err)
	_, err = c.FrameLen()
	s.done("SChunk.FrameLen", err)
	dst := make([]byte, min(max(c.ChunkSize(), 0), entryBytes))
	for i := range min(c.NumChunks(), 8) {
		_, err := c.DecompressChunk(dst, i)
		s.done("SChunk.DecompressChunk", err)
		_, err = c.Chunk(i)
		s.done("SChunk.Chunk", err)
	}
	if c.NumItems() > 0 {
		s.done("SChunk.ReadItems", c.ReadItems(make([]byte, c.TypeSize()), c.NumItems()-1))
	}
}

// library calls the bindings of libhdf5, which read the file without a check. Only libhdf5 may end
// the process.
func (s *session) library() {
	_, err := h5.IsHDF5(s.place)
	s.done("h5.IsHDF5", err)
	for _, object := range s.objects {
		b, err := hdf5.Open(s.place, object, nil)
		s.backend("hdf5.Open", b, err)
	}
	for what, open := range map[string]func() (*h5.File, error){
		"h5.Open":      func() (*h5.File, error) { return h5.Open(s.place, h5.ReadOnly) },
		"h5.OpenWith":  func() (*h5.File, error) { return h5.OpenWith(s.place, nil) },
		"h5.OpenImage": func() (*h5.File, error) { return h5.OpenImage(s.content, h5.ReadOnly) },
		"h5.OpenReaderAt": func() (*h5.File, error) {
			return h5.OpenReaderAt(bytes.NewReader(s.content), int64(len(s.content)), nil)
		},
	} {
		f, err := open()
		s.done(what, err)
		if err == nil {
			s.file(f)
			s.done("File.Close", f.Close())
		}
	}
}

// file calls the functions that read an open HDF5 file.
func (s *session) file(f *h5.File) {
	_, err := f.Facts()
	s.done("File.Facts", err)
	_, err = f.Creation()
	s.done("File.Creation", err)
	_, err = f.FreeSections()
	s.done("File.FreeSections", err)
	for _, err := range limited(f.Root().Links()) {
		s.done("Group.Links", err)
	}
	_, err = hdf5.ReadAttrs(s.ctx, f.Root())
	s.done("hdf5.ReadAttrs", err)
	s.done("ddl.Write", ddl.Write(&limitedWriter{left: 1 << 20}, f, nil))
	for o, err := range limited(f.Root().Visit()) {
		if s.done("Group.Visit", err); err != nil || o.Kind != h5.DatasetObject {
			continue
		}
		d, err := f.Root().OpenDataset(o.Path)
		s.done("Group.OpenDataset", err)
		if err == nil {
			s.dataset(d, o.Path)
			s.done("Dataset.Close", d.Close())
		}
	}
}

// dataset reads a dataset in each way of the packages below h5.
func (s *session) dataset(d *h5.Dataset, path string) {
	info, err := d.Info()
	s.done("Dataset.Info", err)
	if err != nil {
		return
	}
	_, err = hdf5.Describe(d, path, nil)
	s.done("hdf5.Describe", err)
	_, err = hdf5.ReadAttrs(s.ctx, d)
	s.done("hdf5.ReadAttrs", err)
	for a, err := range limited(d.Attributes()) {
		s.done("Attributes", err)
		_, err = h5value.ReadAttr[string](d, a.Name)
		s.done("h5value.ReadAttr", err)
		x, err := d.ReadAttribute(a.Name)
		s.done("ReadAttribute", err)
		if err == nil {
			_, err = h5value.AttributeValues(&x)
			s.done("h5value.AttributeValues", err)
		}
		_, err = hdf5.ReferenceAttr(d, a.Name)
		s.done("hdf5.ReferenceAttr", err)
	}
	for _, err := range limited(d.StoredChunks()) {
		s.done("Dataset.StoredChunks", err)
	}
	_, err = chunkio.Fallback(d)
	s.done("chunkio.Fallback", err)
	n := int64(info.Datatype.Size)
	for _, k := range info.Space.Dims {
		if n *= k; n > entryBytes/16 || n < 0 {
			return
		}
	}
	_, err = chunkio.Read(s.ctx, d, make([]byte, n), info.Datatype, info.Space.All(), nil)
	s.done("chunkio.Read", err)
	_, _, err = chunkio.Stored(d, make([]int64, len(info.Space.Dims)), info.Space.Dims)
	s.done("chunkio.Stored", err)
	_, err = h5value.ReadAll[float64](d)
	s.done("h5value.ReadAll", err)
	_, err = h5value.ReadAll[string](d)
	s.done("h5value.ReadAll", err)
}

// limitedWriter fails after the given number of bytes.
type limitedWriter struct{ left int }

func (w *limitedWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, io.ErrUnexpectedEOF
	}
	return len(p), nil
}
