// info --storage: the bytes of each kind of structure in a file, and the free bytes.

package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/format/npy"
	"github.com/hyperslab/hyperslab/ndarray"
)

// StorageDoc is the document of info --storage --json.
type StorageDoc struct {
	Schema string         `json:"schema"`
	File   string         `json:"file"`
	Format string         `json:"format"`
	Bytes  shell.JSONInt  `json:"bytes"`
	Free   shell.JSONInt  `json:"free_bytes"`
	Known  *shell.JSONInt `json:"free_listed_bytes"`
	Kinds  []StorageRow   `json:"kinds"`
}

// StorageRow is the size of one kind of structure.
type StorageRow struct {
	Kind    string        `json:"kind"`
	Pieces  shell.JSONInt `json:"pieces"`
	Bytes   shell.JSONInt `json:"bytes"`
	Meaning string        `json:"meaning"`
}

// add counts one structure of a kind.
func (d *StorageDoc) add(kind, meaning string, bytes int64) {
	for i := range d.Kinds {
		if d.Kinds[i].Kind == kind {
			d.Kinds[i].Pieces++
			d.Kinds[i].Bytes += shell.JSONInt(bytes)
			return
		}
	}
	d.Kinds = append(d.Kinds, StorageRow{kind, 1, shell.JSONInt(bytes), meaning})
}

// used returns the bytes of all structures.
func (d *StorageDoc) used() (n int64) {
	for _, k := range d.Kinds {
		n += int64(k.Bytes)
	}
	return n
}

// gatherStorage analyses the whole file or directory without C libraries.
func gatherStorage(file string) (_ *StorageDoc, err error) {
	f, format, err := detect.OpenContent(file)
	if err != nil {
		return nil, ndarray.Wrap("look at", file, err)
	}
	if f != nil {
		defer func() { err = errors.Join(err, f.Close()) }()
	}
	d := &StorageDoc{Schema: shell.SchemaStorage, File: file, Format: format, Kinds: []StorageRow{}}
	info, err := os.Stat(file)
	switch {
	case err != nil:
	case info.IsDir():
		err = d.directory(file)
	case format == detect.HDF5:
		err = d.hdf5(f, info.Size())
	case format == detect.NPY:
		err = d.npy(f, info.Size())
	default:
		err = d.frame(f, info.Size())
	}
	return d, err
}

// allocation is a memory type of the file driver (H5FD_mem_t). Files with paged or persistent free
// space have separate free-space managers for the types (File Space Info message). meaning lists
// the structures that libhdf5 allocates with the type (H5FDpublic.h).
type allocation struct{ kind, meaning string }

var allocations = map[string]allocation{
	"superblock": {"super", "superblock and driver information"},
	"btree":      {"btree", "B-trees and symbol table nodes"},
	"draw":       {"draw", "raw data: chunks and contiguous elements"},
	"gheap":      {"gheap", "global heap: strings and sequences of variable length, references"},
	"lheap":      {"lheap", "local heap: names, fractal heap blocks, data blocks of chunk indexes"},
	"ohdr":       {"ohdr", "object headers, and headers of heaps and chunk indexes"},
}

// Span is the range of a structure and its memory type.
type Span struct {
	From, End int64
	Kind      string
}

// hdf5 adds up the structures of a file by memory type.
func (d *StorageDoc) hdf5(r io.ReaderAt, size int64) error {
	f, err := h5file.Open(r, size, nil)
	if err != nil {
		return err
	}
	if n := f.UserBlock(); n > 0 {
		d.add("user block", "before the HDF5 file, not examined", n)
	}
	listed, tracked := int64(0), f.FileSpace() != nil
	var spans []Span
	err = h5file.Structures(r, size, func(s format.Field) {
		spans = append(spans, Span{s.Offset, s.Offset + s.Length, h5file.AllocationType(s.Name)})
		if !tracked {
			return
		}
		for path, part := range s.Walk() {
			var n int64
			if strings.HasSuffix(path, "total space tracked") {
				if _, err := fmt.Sscan(part.Value, &n); err == nil {
					listed += n
				}
			}
		}
	})
	if err != nil {
		return err
	}
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(b.End, a.End)) })
	end := int64(0) // end of the previous structures; bytes that two structures claim count once
	for i, s := range spans {
		if i > 0 && s.End <= end { // inside another one
			continue
		}
		n := s.End - max(s.From, end)
		end = max(end, s.End)
		if a, ok := allocations[s.Kind]; ok {
			d.add(a.kind, a.meaning, n)
		} else {
			d.add("other", "structures of no allocation type", n)
		}
	}
	d.Known = (*shell.JSONInt)(&listed)
	seen := make(map[h5file.Addr]bool)
	for e, err := range f.Walk() {
		if err != nil {
			return err
		}
		if e.Object == nil || seen[e.Object.Addr] { // a link that leads out of the file, or a second name
			continue
		}
		seen[e.Object.Addr] = true
		if err := d.elements(e.Object, size); err != nil {
			return err
		}
	}
	d.Bytes, d.Free = shell.JSONInt(size), shell.JSONInt(max(size-d.used(), 0))
	return nil
}

// elements adds the stored elements of an object of an HDF5 file.
func (d *StorageDoc) elements(o *h5file.Object, size int64) error {
	layout, draw := o.Layout(), allocations["draw"]
	if layout == nil || o.ExternalFiles() != nil {
		return nil
	}
	if layout.Class == h5file.Contiguous && layout.Addr.Defined() && layout.Size > 0 {
		d.add(draw.kind, draw.meaning, int64(layout.Size))
	}
	if layout.Class != h5file.Chunked {
		return nil
	}
	for c, err := range o.Chunks() {
		if err == nil && c.Size > uint64(size) {
			err = fmt.Errorf("%w: index entry of the chunk at %d: stored size: got %d bytes, want at most %d, the size of the file",
				ndarray.ErrCorrupt, c.Offset, c.Size, size)
		}
		if err != nil {
			return err
		}
		d.add(draw.kind, draw.meaning, int64(c.Size))
	}
	return nil
}

// frame adds up the parts of a contiguous frame. The free bytes between chunks are those of
// replaced or removed chunks.
func (d *StorageDoc) frame(r io.ReaderAt, size int64) error {
	f, err := cframe.Read(r, size)
	if err != nil {
		return err
	}
	d.add("header", "description of the frame, and metalayers", int64(f.HeaderSize))
	offsets, err := f.Offsets(nil)
	if err != nil {
		return err
	}
	seen := make(map[cframe.Offset]bool)
	for _, o := range offsets {
		if o.IsSpecial() || seen[o] {
			continue
		}
		seen[o] = true
		h, err := f.ReadChunkHeader(o)
		if err != nil {
			return err
		}
		d.add("chunks", "compressed elements; chunks of one value take no space", int64(h.CBytes))
	}
	after := cframe.Describe(r, size)
	for _, part := range after.Fields {
		switch part.Name {
		case "index":
			d.add("index", "where the chunks are", part.Length)
		case "trailer":
			d.add("trailer", "variable-length metalayers, fingerprint", part.Length)
		}
	}
	d.Bytes, d.Free = shell.JSONInt(size), shell.JSONInt(max(size-d.used(), 0))
	return nil
}

// npy shows the two parts of a .npy file.
func (d *StorageDoc) npy(r io.ReaderAt, size int64) error {
	a, err := npy.Open(r, size)
	if err != nil {
		return err
	}
	d.add("header", "shape and dtype", a.Offset)
	d.add("elements", "in one piece", a.NumBytes())
	d.Bytes, d.Free = shell.JSONInt(size), shell.JSONInt(size-d.used())
	return nil
}

// directory adds up the files of a sparse frame, a bcolz tree or a directory of arrays.
func (d *StorageDoc) directory(name string) error {
	err := filepath.WalkDir(name, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		switch base := filepath.Base(path); {
		case strings.HasSuffix(base, ".b2nd"):
			d.add("arrays", "files of one array each", info.Size())
		case base == cframe.IndexFile:
			d.add("index", "header, index and trailer of a sparse frame", info.Size())
		case strings.HasSuffix(base, ".chunk"), strings.HasSuffix(base, ".blp"):
			d.add("chunks", "compressed elements, a file for each chunk", info.Size())
		default:
			d.add("metadata", "other files", info.Size())
		}
		return nil
	})
	d.Bytes = shell.JSONInt(d.used())
	return err
}

func (d *StorageDoc) write(w io.Writer, p term.Paint) error {
	t := term.Table{Head: []string{"KIND", "PIECES", "BYTES", "", "OF"}, Right: []bool{false, true, true, true}}
	percent := func(n shell.JSONInt) string { return fmt.Sprintf("%.1f%%", 100*float64(n)/float64(max(d.Bytes, 1))) }
	for _, k := range d.Kinds {
		t.Add(k.Kind, fmt.Sprint(k.Pieces), term.FormatBytes(int64(k.Bytes)), percent(k.Bytes), k.Meaning)
	}
	free := "space of no structure"
	if d.Known != nil && *d.Known > 0 {
		free += fmt.Sprintf("; of it %s listed as free in the file", term.FormatBytes(int64(*d.Known)))
	}
	if d.Free > 0 && d.Format != string(hyperslab.Directory) {
		free += "; hyperslab repack gives it back"
	}
	t.Add("free", "", term.FormatBytes(int64(d.Free)), percent(d.Free), free)
	t.Add("file", "", term.FormatBytes(int64(d.Bytes)), "", cmp.Or(term.Safe(d.File)))
	return t.Write(w, p)
}
