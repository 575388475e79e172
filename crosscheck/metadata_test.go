package crosscheck

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// TestMetadata_readers checks that the reference libraries and the packages in plain Go report the
// metadata of the manifest for each vector.
func TestMetadata_readers(t *testing.T) {
	t.Parallel()
	dir, m := Corpus(t)
	compared := make(map[string]int)
	for _, c := range sampled(m, Areas()...) {
		if c.Must == Refuse {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(c.Path))
		for reader, report := range map[string]func(string, Case) (map[string]any, error){"the reference": referenceReports, "format": plainReports} {
			facts, err := report(path, c)
			require.NoError(t, err, "%s: %s", c.ID, reader)
			for name, value := range facts {
				if strings.HasPrefix(c.ID, "frame/golden/") && strings.HasSuffix(name, "meta") {
					continue // the manifest does not contain the metalayers of arrays of objects
				}
				require.Contains(t, c.Metadata, name, "%s: %s reports it", c.ID, reader)
				require.Equal(t, fmt.Sprint(c.Metadata[name]), fmt.Sprint(value), "%s: %s, as %s reports it", c.ID, name, reader)
				compared[reader+" "+c.Area+" "+name]++
			}
		}
	}
	if sampling() {
		return // a sample need not contain every property
	}
	for area, names := range map[string]string{
		"chunk": "version typesize nbytes blocksize cbytes codec filters special", "blosc1": "version typesize nbytes blocksize cbytes codec filters special",
		"frame": "chunks chunksize typesize meta vlmeta", "b2nd": "shape chunks blocks dtype itemsize", "caterva": "shape chunks blocks dtype itemsize",
		"hdf5": "dataspace layout chunks index filters fill kind links storage comment changed",
	} {
		for _, name := range strings.Fields(names) {
			require.Positive(t, compared["the reference "+area+" "+name], "%s %s", area, name)
			require.Positive(t, compared["format "+area+" "+name], "%s %s", area, name)
		}
	}
	for _, name := range strings.Fields("shape dtype chunklen expectedlen cname clevel shuffle files names attrs") {
		require.Positive(t, compared["format bcolz "+name], name) // TestInterop_python compares them with the reference
	}
}

// referenceReports returns the metadata that the C libraries report.
func referenceReports(path string, c Case) (map[string]any, error) {
	switch c.Area {
	case "chunk", "blosc1":
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		i, err := cblosc.Info(b)
		if err != nil {
			return nil, err
		}
		var filters []any
		for k, f := range i.Filters {
			if f.ID != 0 {
				filters = append(filters, map[string]any{"slot": k, "id": int(f.ID), "meta": int(f.Meta)})
			}
		}
		facts := map[string]any{
			"version": i.Version, "typesize": i.TypeSize, "nbytes": i.NBytes, "blocksize": i.BlockSize, "cbytes": i.CBytes,
			"codec": i.Codec.String(), "filters": filters, "special": i.Special.String(),
		}
		if blocks, err := cblosc.VLBlocks(b); err == nil {
			facts["blocks"] = blocks
			delete(facts, "blocksize")
		}
		return facts, nil
	case "hdf5":
		x, err := decodeHDF5(path, c.Object)
		if err != nil {
			return nil, err
		}
		return x.metadata, nil
	case "frame", "b2nd", "caterva", "store":
		w, err := readWritten(c.Area, path, c.Object, "")
		if err != nil {
			return nil, err
		}
		return w.facts, nil
	}
	return nil, nil // the metadata of a metalayer is its decoded form
}

// plainReports returns the metadata that the packages in plain Go report.
func plainReports(path string, c Case) (map[string]any, error) {
	switch c.Area {
	case "chunk", "blosc1":
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		h, err := chunk.ParseHeader(b)
		if err != nil {
			return nil, err
		}
		var filters []any
		for k, f := range h.Filters {
			if f != chunk.NoFilter {
				filters = append(filters, map[string]any{"slot": k, "id": int(f), "meta": int(h.FiltersMeta[k])})
			}
		}
		facts := map[string]any{
			"version": h.Version, "flags": h.Flags, "typesize": h.TypeSize, "nbytes": h.NBytes, "blocksize": h.BlockSize, "cbytes": h.CBytes,
			"codec": h.Codec, "filters": filters, "special": h.Special,
		}
		if h.VLBlocks() {
			facts["blocks"] = h.BlockSize
			delete(facts, "blocksize")
		}
		return facts, nil
	case "frame", "b2nd", "caterva":
		return frameReports(path, c.Area)
	case "bcolz":
		return bcolzReports(path, c.Object)
	case "hdf5":
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		f, err := h5file.Open(bytes.NewReader(b), int64(len(b)), nil)
		if err != nil {
			return nil, err
		}
		return hdf5Reports(f, c.Object)
	}
	return nil, nil
}

func frameReports(path, area string) (map[string]any, error) {
	var f *cframe.Frame
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		f, err = cframe.ReadDir(os.DirFS(path))
	} else {
		var b []byte
		if b, err = os.ReadFile(path); err == nil {
			f, err = cframe.Read(bytes.NewReader(b), int64(len(b)))
		}
	}
	if err != nil {
		return nil, err
	}
	if area != "frame" {
		a, ok, err := f.Array()
		if err != nil || !ok || a.Caterva != (area == b2ndmeta.CatervaName) {
			return nil, fmt.Errorf("no array of %s: %w", area, err)
		}
		return map[string]any{"shape": a.Shape, "chunks": a.Chunks, "blocks": a.Blocks, "dtype": a.DType, "itemsize": f.TypeSize}, nil
	}
	d, err := cblosc.NewDecompressor(nil)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	meta, vlmeta := make(map[string]string), make(map[string]string)
	for _, l := range f.Metalayers {
		meta[l.Name] = hex.EncodeToString(l.Content)
	}
	for _, l := range f.Trailer.VLMetalayers {
		h, err := chunk.ParseHeader(l.Content)
		if err != nil {
			return nil, err
		}
		b := make([]byte, h.NBytes)
		if _, err := d.Decompress(b, l.Content); err != nil {
			return nil, err
		}
		vlmeta[l.Name] = hex.EncodeToString(b)
	}
	facts := map[string]any{"chunks": f.NumChunks(), "typesize": f.TypeSize, "nbytes": f.NBytes, "codec": f.Codec(), "meta": meta, "vlmeta": vlmeta}
	if f.NumChunks() > 0 { // C-Blosc2 stores the chunk size with the first chunk
		facts["chunksize"] = f.ChunkSize
	}
	return facts, nil
}

func bcolzReports(path, column string) (map[string]any, error) {
	fsys := os.DirFS(path)
	facts := make(map[string]any)
	var a *bcolztree.Array
	var err error
	if column == "" {
		a, err = bcolztree.ReadArray(fsys, ".", nil)
	} else {
		var t *bcolztree.Table
		if t, err = bcolztree.ReadTable(fsys, ".", nil); err == nil {
			facts["names"] = t.Names
			a, err = t.Column(column)
		}
	}
	if err != nil {
		return nil, err
	}
	s := a.Storage
	facts["shape"], facts["dtype"], facts["chunklen"], facts["expectedlen"] = a.Sizes.Shape, s.DType.Text, s.ChunkLen, s.ExpectedLen
	facts["cname"], facts["clevel"], facts["shuffle"], facts["files"] = s.CParams.Codec, s.CParams.Level, int(s.CParams.Shuffle), a.NumFiles()
	if len(a.Attrs) > 0 {
		attrs := make(map[string]string)
		for _, x := range a.Attrs {
			attrs[x.Name] = string(x.Value.Append(nil))
		}
		facts["attrs"] = attrs
	}
	return facts, nil
}

// hdf5Reports returns the metadata that package h5file reports for an object or an attribute.
func hdf5Reports(f *h5file.File, object string) (map[string]any, error) {
	name, attribute, ok := strings.Cut(object, "@")
	var o *h5file.Object
	for e, err := range f.Walk() {
		if err != nil {
			return nil, err
		}
		if e.Path == name && e.Object != nil {
			o = e.Object
		}
	}
	if o == nil {
		return nil, fmt.Errorf("no object %s", name)
	}
	if ok {
		for a, err := range o.Attributes() {
			if err != nil {
				return nil, err
			}
			if a.Name == attribute {
				return map[string]any{"dataspace": spaceText(a.Space)}, nil
			}
		}
		return nil, fmt.Errorf("no attribute %s", attribute)
	}
	facts := make(map[string]any)
	if m := o.Message(h5file.CommentType); m != nil {
		facts["comment"] = m.Body.(*h5file.Comment).Text
	}
	if o.Times != nil && o.Times.Change != 0 {
		facts["accessed"], facts["modified"], facts["changed"], facts["born"] = o.Times.Access, o.Times.Modification, o.Times.Change, o.Times.Birth
	}
	switch o.Kind() {
	case h5file.GroupKind:
		links := 0
		for _, err := range o.Links() {
			if err != nil {
				return nil, err
			}
			links++
		}
		facts["kind"], facts["links"], facts["storage"] = "group", links, "symbol table"
		if m := o.Message(h5file.LinkInfoType); m != nil {
			facts["storage"] = "compact"
			if m.Body.(*h5file.LinkInfo).Heap != h5file.Undefined {
				facts["storage"] = "dense"
			}
		}
	case h5file.DatasetKind:
		l, space := o.Layout(), o.Dataspace()
		facts["dataspace"], facts["layout"] = spaceText(space), l.Class
		if l.Class == h5file.Chunked {
			facts["chunks"], facts["index"] = l.Dims[:len(space.Dims)], l.Index
		}
		if p := o.Pipeline(); p != nil && len(p.Filters) > 0 {
			var ids []int
			for _, x := range p.Filters {
				ids = append(ids, int(x.ID))
			}
			facts["filters"] = ids
		}
		if v := o.FillValue(); v != nil && len(v.Value) > 0 && !o.Datatype().InHeap() {
			facts["fill"] = hex.EncodeToString(v.Value)
		}
	default:
		facts["kind"] = "datatype"
	}
	return facts, nil
}

// spaceText returns the DDL of a dataspace.
func spaceText(s *h5file.Dataspace) string {
	switch s.Class {
	case h5file.ScalarSpace:
		return "SCALAR"
	case h5file.NullSpace:
		return "NULL"
	}
	list := func(dims []uint64) string {
		words := make([]string, len(dims))
		for i, d := range dims {
			words[i] = fmt.Sprint(d)
			if d == h5file.Unlimited {
				words[i] = "H5S_UNLIMITED"
			}
		}
		return "( " + strings.Join(words, ", ") + " )"
	}
	most := s.MaxDims
	if most == nil {
		most = s.Dims
	}
	return "SIMPLE { " + list(s.Dims) + " / " + list(most) + " }"
}
