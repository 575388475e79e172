// Annotation of trees and files, byte range by byte range.

package bcolztree

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// MaxDescribed is the number of chunk files of an array that Describe reads. Further files are
// counted in one field.
const MaxDescribed = 1024

// Describe annotates the carray or ctable in the directory dir of fsys. The tree has one field for
// each file with its parts, and for a ctable one field for each column. The root and the columns
// have no bytes, and offsets below a file count from its start. Describe annotates only the headers
// of a chunk file; DescribeFile annotates the rest. It attaches complaints to all errors of
// ReadArray, ReadTable and ReadChunks, to sizes that contradict each other, and to chunk files left
// over from a longer array. It never fails.
func Describe(fsys fs.FS, dir string) format.Field {
	t := newTree(fsys, dir, nil)
	kind, err := Detect(fsys, dir)
	switch {
	case err != nil:
		return format.Field{Name: dir, Complaint: err.Error()}
	case kind == TableTree:
		return t.describeTable()
	case kind == ArrayTree:
		return t.describeArray()
	case kind == NestedTree:
		return t.describeNested()
	}
	return format.Field{Name: dir, Complaint: "neither " + RootDirsFile + " nor " + StorageFile + " is there"}
}

func (t tree) describeTable() format.Field {
	root := format.Field{Name: t.dir, Value: "ctable"}
	root.Fields = append(root.Fields, t.describeMetadata(RootDirsFile, func(file string, b []byte) error {
		_, err := parseRootDirs(file, b)
		return err
	}), t.describeAttrs())
	table, err := ReadTable(t.fsys, t.dir, nil)
	if err != nil {
		return root // the field of the file has the complaint
	}
	root.Meaning = strconv.Itoa(len(table.Names)) + " columns"
	rows := int64(-1)
	for i, name := range table.Names {
		column := newTree(t.fsys, t.path(name), nil).describeArray()
		if a, err := table.Column(name); err == nil {
			if i == 0 {
				rows = a.Rows()
			}
			if rows >= 0 && a.Rows() != rows {
				column.Complaint = fmt.Sprintf("%d rows, the first column has %d", a.Rows(), rows)
			}
		}
		root.Fields = append(root.Fields, column)
	}
	return root
}

// describeNested annotates the metadata of the whole nested ctable, and the components that have
// their own metadata. The chunk files of the others cannot be read without parsing the structured
// dtype.
func (t tree) describeNested() format.Field {
	root := format.Field{Name: t.dir, Value: NestedTree.String()}
	if is, _ := isFile(t.fsys, t.path(StorageFile)); is {
		root.Fields = append(root.Fields, t.describeMeta()...)
	}
	root.Fields = append(root.Fields, t.describeAttrs())
	root.Fields = append(root.Fields, t.describeOthers()...)
	names, err := Components(t.fsys, t.dir)
	root.Complain(err)
	for _, name := range names {
		component := Describe(t.fsys, t.path(path.Join(DataDir, name)))
		if kind, err := Detect(t.fsys, component.Name); err == nil && kind == NotATree {
			component.Complaint, component.Value = "", "chunk files described by "+t.path(StorageFile)
		}
		root.Fields = append(root.Fields, component)
	}
	return root
}

// describeMeta annotates the two files that every array has.
func (t tree) describeMeta() []format.Field {
	return []format.Field{
		t.describeMetadata(SizesFile, func(file string, b []byte) error {
			_, err := parseSizes(file, b)
			return err
		}),
		t.describeMetadata(StorageFile, func(file string, b []byte) error {
			_, err := parseStorage(file, b)
			return err
		}),
	}
}

// describeOthers lists the files in meta/ that bcolz does not define.
func (t tree) describeOthers() []format.Field {
	names, err := OtherMeta(t.fsys, t.dir)
	if err != nil {
		return []format.Field{{Name: path.Dir(StorageFile), Complaint: err.Error()}}
	}
	var out []format.Field
	for _, name := range names {
		f := format.Field{Name: name, Meaning: "not bcolz's own, kept"}
		if info, err := fs.Stat(t.fsys, t.path(name)); err == nil {
			f.Length = info.Size()
		}
		out = append(out, f)
	}
	return out
}

func (t tree) describeArray() format.Field {
	root := format.Field{Name: t.dir, Value: "carray"}
	root.Fields = append(append(root.Fields, t.describeMeta()...), t.describeAttrs())
	root.Fields = append(root.Fields, t.describeOthers()...)
	a, err := ReadArray(t.fsys, t.dir, nil)
	if err != nil {
		if !hasComplaint(root) {
			root.Complaint = err.Error()
		}
		return root
	}
	root.Meaning = fmt.Sprintf("shape %v of %s, chunks of %d rows", a.Sizes.Shape, a.Storage.DType.Text, a.Storage.ChunkLen)
	if row := a.RowBytes(); row >= 0 && a.Sizes.NBytes != a.Rows()*row {
		root.Fields[0].Complaint = fmt.Sprintf("nbytes is %d, the shape makes it %d", a.Sizes.NBytes, a.Rows()*row)
	}
	n := a.NumFiles()
	for i := range min(n, MaxDescribed) {
		root.Fields = append(root.Fields, a.describeFile(i))
	}
	if n > MaxDescribed {
		root.Fields = append(root.Fields, format.Field{Name: "more chunk files", Value: strconv.FormatInt(n-MaxDescribed, 10)})
	}
	root.Fields = append(root.Fields, a.leftOver()...)
	return root
}

func hasComplaint(f format.Field) bool {
	for range f.Complaints() {
		return true
	}
	return false
}

// leftOver returns a field for each chunk file after the end of the array.
func (a *Array) leftOver() []format.Field {
	entries, err := fs.ReadDir(a.tree.fsys, a.tree.path(a.tree.data))
	if errors.Is(err, fs.ErrNotExist) {
		// Version control omits empty directories, and web servers have no lists. If the directory
		// is missing, each chunk file has a complaint.
		return nil
	}
	if err != nil {
		return []format.Field{{Name: a.tree.data, Complaint: err.Error()}}
	}
	var out []format.Field
	for _, e := range entries {
		digits, isChunk := strings.CutPrefix(e.Name(), "__")
		digits, hasEnd := strings.CutSuffix(digits, ".blp")
		i, err := strconv.ParseInt(digits, 10, 64)
		if isChunk && hasEnd && err == nil && i >= a.NumFiles() && len(out) < MaxDescribed {
			out = append(out, format.Field{Name: path.Join(a.tree.data, e.Name()), Complaint: "left over from a longer array, not read"})
		}
	}
	return out
}

// describeMetadata annotates one JSON file.
func (t tree) describeMetadata(file string, check func(file string, b []byte) error) format.Field {
	b, err := t.metadata(file)
	if err != nil {
		return format.Field{Name: file, Length: int64(min(len(b), 1<<10)), Complaint: format.Complaint(err)}
	}
	f := format.Field{Name: file, Length: int64(len(b))}
	if v, err := parseJSON(file, b); err == nil {
		f.Fields = v.fields()
	}
	f.Complain(check(file, b))
	return f
}

func (t tree) describeAttrs() format.Field {
	if _, err := fs.Stat(t.fsys, t.path(AttrsFile)); errors.Is(err, fs.ErrNotExist) {
		return format.Field{Name: AttrsFile, Meaning: "not there, no attributes"}
	}
	return t.describeMetadata(AttrsFile, func(file string, b []byte) error {
		_, err := parseAttrs(file, b)
		return err
	})
}

// meanings of the members of meta/sizes and meta/storage.
var meanings = map[string]string{
	"shape":       "rows, then the shape of a row",
	"nbytes":      "bytes of the elements",
	"cbytes":      "bytes in memory, the last chunk as if full and not compressed",
	"dtype":       "element type",
	"clevel":      "level of compression",
	"shuffle":     "0 no shuffle, 1 of bytes, 2 of bits",
	"cname":       "codec",
	"quantize":    "decimal digits kept of floats, 0 for all",
	"chunklen":    "rows of a full chunk",
	"expectedlen": "rows the chunk length was chosen for",
	"dflt":        "element that new rows are filled with",
	"names":       "columns",
	"dirs":        "directories of old files, ignored",
}

// fields returns the members of an object and of the objects in it.
func (v Value) fields() []format.Field {
	var out []format.Field
	for _, m := range v.Members {
		f := format.Field{Name: m.Name, Offset: m.Value.Offset, Length: m.Value.Length, Meaning: meanings[m.Name]}
		if m.Value.Kind == Object {
			f.Fields = m.Value.fields()
		} else {
			f.Value = string(m.Value.Append(nil))
		}
		out = append(out, f)
	}
	return out
}

// describeFile annotates the headers of one chunk file.
func (a *Array) describeFile(i int64) format.Field {
	name := a.FileName(i)
	f := format.Field{Name: name}
	info, err := fs.Stat(a.tree.fsys, a.tree.path(name))
	if err != nil {
		f.Complaint = err.Error()
		return f
	}
	f.Length = info.Size()
	chunks, err := a.ReadChunks(i)
	if err != nil {
		f.Complain(err)
		return f
	}
	at := int64(HeaderSize)
	f.Fields = append(f.Fields, format.Field{Name: "header", Length: at, Value: strconv.Itoa(len(chunks)) + " chunks"})
	for _, c := range chunks[:min(len(chunks), MaxDescribed)] {
		f.Fields = append(f.Fields, format.Field{
			Name: "chunk", Offset: at, Length: int64(len(c.Data)),
			Value:  fmt.Sprintf("%d bytes of rows", c.Header.NBytes),
			Fields: []format.Field{chunk.DescribeHeader(c.Data).Moved(at)},
		})
		at += int64(len(c.Data))
	}
	return f
}

// DescribeFile annotates a whole chunk file: its header, and each Blosc chunk as chunk.Describe
// does. It never fails.
func DescribeFile(b []byte) format.Field {
	f := format.Field{Name: "chunk file", Length: int64(len(b))}
	h, err := ParseFileHeader(b)
	if err == nil || !errors.Is(err, format.ErrTruncated) {
		head := format.Field{Name: "header", Length: HeaderSize, Fields: []format.Field{
			{Name: "magic", Length: 4, Value: strconv.Quote(string(b[:4]))},
			{Name: "version", Offset: 4, Length: 1, Value: strconv.Itoa(int(b[4]))},
			{Name: "reserved", Offset: 5, Length: 3, Value: fmt.Sprintf("%x", b[5:8])},
			{Name: "nchunks", Offset: 8, Length: 8, Value: strconv.FormatInt(h.NumChunks, 10)},
		}}
		if h.NumChunks == -1 {
			head.Fields[3].Meaning = "as many as there are"
		}
		f.Fields = append(f.Fields, head)
	}
	if err != nil {
		f.Complain(err)
		return f
	}
	at := int64(HeaderSize)
	for n := int64(0); n != h.NumChunks && (h.NumChunks >= 0 || at < int64(len(b))); n++ {
		if n == MaxDescribed {
			f.Fields = append(f.Fields, format.Field{Name: "more chunks", Offset: at, Length: int64(len(b)) - at})
			return f
		}
		c := chunk.Describe(b[at:])
		if head, err := chunk.ParseHeader(b[at:]); err == nil && int64(head.CBytes) < int64(len(b))-at {
			// More chunks may follow, so bytes after the chunk are no error.
			c = chunk.Describe(b[at : at+max(int64(head.CBytes), chunk.MinHeaderSize)])
		}
		f.Fields = append(f.Fields, c.Moved(at))
		if len(b[at:]) >= chunk.MinHeaderSize { // chunk.Describe reports a shorter one
			if _, err := ParseChunkHeader(b[at:]); err != nil {
				f.Fields[len(f.Fields)-1].Complaint = format.Complaint(err)
				return f
			}
		}
		if c.Length < chunk.MinHeaderSize {
			return f
		}
		at += c.Length
	}
	if rest := int64(len(b)) - at; rest > 0 {
		f.Fields = append(f.Fields, format.Field{Name: "rest", Offset: at, Length: rest, Meaning: "ignored"})
	}
	return f
}
