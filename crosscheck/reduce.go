// Reduction of a vector to the smallest file that gives the same failure.

package crosscheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// maxTrials is the maximum number of files that a reduction writes.
const maxTrials = 80

// version is a file that a reduction writes: elements with their shape, and how they are stored.
type version struct {
	shape  []int64
	chunks []int64
	blocks []int32
	data   []byte
	item   int
	h5     *h5.DatasetInfo // of a dataset
}

// reduce replaces the file of f by a smaller one in dir as long as the adapter fails in the same
// way. It leaves a file as it is if it cannot write one like it.
func reduce(ctx context.Context, a *adapter, f *finding, dir string) {
	v, err := readVersion(f.dir, f.c)
	if err != nil {
		return // not a kind of file that can be made smaller
	}
	trials := 0
	try := func(next *version) bool {
		if trials == maxTrials || ctx.Err() != nil {
			return false
		}
		trials++
		to := filepath.Join(dir, fmt.Sprint(trials))
		c, err := writeVersion(to, f.original, next)
		if err != nil {
			os.RemoveAll(to)
			return false
		}
		result := filepath.Join(to, "result")
		res, asked, err := a.read(ctx, to, c, c.Decoded, result)
		os.RemoveAll(result)
		res.Case = f.original.ID // the group depends on it
		if err != nil || !asked || res.Verdict != f.result.Verdict || groupKey(res) != f.group.key {
			os.RemoveAll(to)
			return false
		}
		if f.dir != f.vectors {
			os.RemoveAll(f.dir)
		}
		f.c, f.dir, f.result = c, to, res
		return true
	}
	if !try(v) { // written again without a change
		return
	}
	for smaller := true; smaller; {
		smaller = false
		for _, next := range v.smaller() {
			if try(next) {
				v, smaller = next, true
				break
			}
		}
	}
	if f.c.Bytes >= f.original.Bytes && slices.Equal(f.c.Decoded.Shape, f.original.Decoded.Shape) {
		return
	}
	f.steps = append(f.steps, fmt.Sprintf("shape %v instead of %v", f.c.Decoded.Shape, f.original.Decoded.Shape))
	if v.h5 != nil && v.chunks != nil {
		f.steps = append(f.steps, fmt.Sprintf("chunks %v, %d filters", v.chunks, len(v.h5.Filters)))
	}
}

// readVersion reads the content of a vector.
func readVersion(dir string, c Case) (*version, error) {
	data, err := Decode(dir, c)
	if err != nil {
		return nil, err
	}
	v := &version{shape: slices.Clone(c.Decoded.Shape), data: data, item: c.Decoded.Item}
	path := filepath.Join(dir, filepath.FromSlash(c.Path))
	switch c.Area {
	case "chunk", "blosc1":
		return v, nil
	case "b2nd", "caterva":
		a, err := cblosc.OpenArrayWith(path, cblosc.OpenOptions{Allow: trusted})
		if err != nil {
			return nil, err
		}
		defer a.Close()
		for _, n := range a.ChunkShape() {
			v.chunks = append(v.chunks, int64(n))
		}
		v.blocks = a.Blocks()
		return v, nil
	case "hdf5":
		if c.Decoded.Item <= 0 || strings.Contains(c.Object, "@") || len(c.Beside) > 0 {
			break
		}
		f, err := openHDF5File(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		d, err := f.Root().OpenDataset(c.Object)
		if err != nil {
			return nil, err
		}
		defer d.Close()
		info, err := d.Info()
		if err != nil {
			return nil, err
		}
		if info.Layout == h5.Virtual || !info.Datatype.Plain() {
			break
		}
		v.h5, v.chunks = &info, slices.Clone(info.ChunkShape)
		return v, nil
	}
	return nil, errors.ErrUnsupported
}

// smaller returns the versions that are one step smaller, the largest step first.
func (v *version) smaller() []*version {
	var all []*version
	if v.h5 != nil {
		for i := range v.h5.Filters {
			next := v.clone()
			next.h5.Filters = slices.Delete(slices.Clone(v.h5.Filters), i, i+1)
			all = append(all, next)
		}
	}
	for i, n := range v.shape {
		if n == 1 && len(v.shape) > 1 && v.blocks == nil {
			all = append(all, v.without(i))
		}
		for _, to := range []int64{1, n / 2, n - 1} {
			if to >= 1 && to < n {
				all = append(all, v.cut(i, to))
			}
		}
	}
	for i := range v.chunks {
		if n := v.chunks[i]; n > 1 && v.blocks == nil {
			next := v.clone()
			next.chunks[i] = n / 2
			all = append(all, next)
		}
	}
	return all
}

func (v *version) clone() *version {
	next := *v
	next.shape, next.chunks, next.blocks = slices.Clone(v.shape), slices.Clone(v.chunks), slices.Clone(v.blocks)
	if v.h5 != nil {
		info := *v.h5
		info.Space.Dims, info.Space.MaxDims = slices.Clone(info.Space.Dims), slices.Clone(info.Space.MaxDims)
		next.h5 = &info
	}
	return &next
}

// without removes a dimension of length 1.
func (v *version) without(i int) *version {
	next := v.clone()
	next.shape = slices.Delete(next.shape, i, i+1)
	if next.chunks != nil {
		next.chunks = slices.Delete(next.chunks, i, i+1)
	}
	if next.h5 != nil && next.h5.Space.MaxDims != nil {
		next.h5.Space.MaxDims = slices.Delete(next.h5.Space.MaxDims, i, i+1)
	}
	return next
}

// cut keeps the first n elements of a dimension.
func (v *version) cut(i int, n int64) *version {
	next := v.clone()
	rows, inner := int64(1), int64(v.item)
	for _, m := range v.shape[:i] {
		rows *= m
	}
	for _, m := range v.shape[i+1:] {
		inner *= m
	}
	next.data = make([]byte, 0, rows*n*inner)
	for r := range rows {
		next.data = append(next.data, v.data[r*v.shape[i]*inner:][:n*inner]...)
	}
	next.shape[i] = n
	if next.h5 != nil && next.h5.Space.MaxDims != nil && next.h5.Space.MaxDims[i] == v.shape[i] {
		next.h5.Space.MaxDims[i] = n
	}
	if next.h5 != nil && next.chunks != nil && (next.h5.Space.MaxDims == nil || next.h5.Space.MaxDims[i] == n) {
		next.chunks[i] = min(next.chunks[i], n)
	}
	return next
}

// writeVersion writes a file like that of the case c, and returns its case.
func writeVersion(dir string, c Case, v *version) (Case, error) {
	c.Path, c.ID, c.Metadata = "reduced"+filepath.Ext(c.Path), "reduced", nil
	path := filepath.Join(dir, c.Path)
	err := os.MkdirAll(dir, 0o755)
	if err != nil {
		return c, err
	}
	switch c.Area {
	case "chunk", "blosc1":
		err = v.writeChunk(path, c)
	case "b2nd", "caterva":
		err = v.writeArray(path, c)
	case "hdf5":
		err = v.writeDataset(path, c)
	}
	if err != nil {
		return c, err
	}
	decoded := *c.Decoded
	decoded.Shape, decoded.Bytes, decoded.SHA256 = v.shape, int64(len(v.data)), hexSum(v.data)
	c.Decoded = &decoded
	if c.Bytes, c.SHA256, err = digest(path); err != nil {
		return c, err
	}
	got, err := Decode(dir, c)
	if err == nil && !bytes.Equal(got, v.data) {
		err = errors.New("the reference reads other elements")
	}
	return c, err
}

// writeChunk compresses the elements with the parameters of the case.
func (v *version) writeChunk(path string, c Case) error {
	if c.Params["codec"] == "" || c.Params["filters"] == "" || c.Params["typesize"] == "" || c.Params["dictionary"] != "" {
		return errors.ErrUnsupported
	}
	codec, err := cblosc.ParseCodec(c.Params["codec"])
	if err != nil {
		return err
	}
	if c.Area != "chunk" || c.Params["block"] == "" || c.Params["split"] == "" || c.Params["level"] == "" {
		return errors.ErrUnsupported
	}
	p, err := chunkParams(c.Params)
	if err != nil {
		return err
	}
	p.Codec = codec
	w, err := cblosc.NewCompressor(p)
	if err != nil {
		return err
	}
	defer w.Close()
	b := make([]byte, len(v.data)+4096)
	n, err := w.Compress(b, v.data)
	if err != nil {
		return err
	}
	if err := chunk.Check(b[:n]); err != nil {
		return err
	}
	return os.WriteFile(path, b[:n], 0o644)
}

// writeArray writes a b2nd or Caterva array with the codec and the filters of the case.
func (v *version) writeArray(path string, c Case) error {
	if c.Params["codec"] == "" || c.Params["filter"] == "" || c.Params["storage"] == "" {
		return errors.ErrUnsupported
	}
	codec, err := cblosc.ParseCodec(c.Params["codec"])
	if err != nil {
		return err
	}
	p := cblosc.DefaultCParams()
	p.Codec, p.TypeSize, p.Filters = codec, v.item, [cblosc.MaxFilters]cblosc.Filter{}
	copy(p.Filters[:], pipelineOf(c.Params["filter"]).filters)
	chunks := make([]int32, len(v.chunks))
	for i, n := range v.chunks {
		chunks[i] = int32(n)
	}
	return writeArray(c.Area, &cblosc.ArrayParams{
		Shape: v.shape, ChunkShape: chunks, Blocks: v.blocks, DType: c.Decoded.DType,
		Storage: cblosc.Storage{Path: path, Contiguous: c.Params["storage"] == "contiguous", CParams: p},
	}, v.data)
}

// writeDataset writes a dataset with the properties of the one that was read. It leaves out chunks
// that contain only the fill value.
func (v *version) writeDataset(path string, c Case) error {
	info := v.h5
	format, ok := c.Params["format"]
	low, known := hdf5Formats[format]
	if !ok || !known {
		return errors.ErrUnsupported
	}
	space := h5.Dataspace{Kind: info.Space.Kind, Dims: v.shape, MaxDims: info.Space.MaxDims}
	o := &h5.DatasetOptions{
		Compact: info.Layout == h5.Compact, Filters: info.Filters, FillTime: info.FillTime, Alloc: info.Alloc, PlainEdges: info.PlainEdges && len(info.Filters) > 0,
	}
	if info.Layout == h5.Chunked {
		o.ChunkShape = v.chunks
	}
	fill := make([]byte, v.item)
	if info.FillKind == h5.FillValue && info.Fill != nil {
		o.Fill, fill = info.Fill, info.Fill
	}
	return makeHDF5(path, low, nil, false, func(f *h5.File) error {
		d, err := f.Root().CreateDataset(strings.TrimPrefix(c.Object, "/"), info.Datatype, space, o)
		if err != nil {
			return err
		}
		step := v.shape
		if o.ChunkShape != nil {
			step = o.ChunkShape
		}
		return errors.Join(v.writeTiles(d, step, fill, info.Layout == h5.Chunked), d.Close())
	})
}

// writeTiles writes the elements chunk by chunk.
func (v *version) writeTiles(d *h5.Dataset, step []int64, fill []byte, sparse bool) error {
	if len(v.data) == 0 {
		return nil
	}
	dt := v.h5.Datatype
	if len(v.shape) == 0 {
		return d.WriteRegion(v.data, dt, h5.Region{Start: []int64{}, Count: []int64{}})
	}
	at := make([]int64, len(v.shape))
	for {
		region := h5.Region{Start: slices.Clone(at), Count: make([]int64, len(at))}
		for i := range at {
			region.Count[i] = min(step[i], v.shape[i]-at[i])
		}
		tile := v.tile(region)
		if !sparse || !bytes.Equal(tile, bytes.Repeat(fill, len(tile)/len(fill))) {
			if err := d.WriteRegion(tile, dt, region); err != nil {
				return err
			}
		}
		i := len(at) - 1
		for ; i >= 0; i-- {
			if at[i] += step[i]; at[i] < v.shape[i] {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return nil
		}
	}
}

// tile returns the elements of a region.
func (v *version) tile(r h5.Region) []byte {
	var out []byte
	in := make([]int64, len(r.Count))
	for {
		pos := int64(0)
		for i := range in {
			pos = pos*v.shape[i] + r.Start[i] + in[i]
		}
		out = append(out, v.data[pos*int64(v.item):][:v.item]...)
		i := len(in) - 1
		for ; i >= 0; i-- {
			if in[i]++; in[i] < r.Count[i] {
				break
			}
			in[i] = 0
		}
		if i < 0 {
			return out
		}
	}
}
