// Vectors of the containers of python-blosc2: ZIP files (.b2z), directories (.b2d), and frames that
// embed frames (.b2e). The reference library writes and reads the frames. The containers around
// them have the layout that python-blosc2 4 writes; package internal/blosc/stores reads them.

package crosscheck

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
)

const storeDocument = "python-blosc2: EmbedStore, DictStore and TreeStore"

// sincePythonBlosc2 is the first version of python-blosc2 that reads these containers.
var sincePythonBlosc2 = map[string]string{"python-blosc2": "4.0.0"}

// storeKinds are the kinds of containers, which are also the extensions.
var storeKinds = []string{detect.B2Z, detect.B2D, detect.B2E}

// storeObject is an object of a container: an array, or with a type size a plain frame.
type storeObject struct {
	key      string
	embedded bool // in the frame embed.b2e; in a .b2e every object is
	dtype    string
	shape    []int64
	typesize int
}

// storeVectors are the contents of the containers.
var storeVectors = []struct {
	name    string
	objects []storeObject
	attrs   []string // groups with attributes
	list    []string // groups whose members a reader must list
}{
	{"one-array", []storeObject{{key: "/a", dtype: "<f8", shape: []int64{30, 20}}}, nil, []string{"/"}},
	{"embedded", []storeObject{{key: "/a", embedded: true, dtype: "<i4", shape: []int64{10}}, {key: "/b", embedded: true, dtype: "|S5", shape: []int64{3, 4}}}, nil, []string{"/"}},
	{"mixed", []storeObject{
		{key: "/large", dtype: "<i2", shape: []int64{50, 40}}, {key: "/small", embedded: true, dtype: "<f4", shape: []int64{7}}, {key: "/g/small", embedded: true, dtype: "|u1", shape: []int64{2, 3, 4}},
	}, nil, []string{"/", "/g"}},
	{"groups", []storeObject{
		{key: "/c", dtype: "<f4", shape: []int64{5}}, {key: "/g/a", dtype: ">i4", shape: []int64{6, 2}}, {key: "/g/h/b", dtype: "<c16", shape: []int64{4}}, {key: "/z/y/x/w", dtype: "|b1", shape: []int64{9}},
	}, nil, []string{"/", "/g", "/z/y"}},
	{"frames", []storeObject{{key: "/f", typesize: 4, shape: []int64{700}}, {key: "/g/f", embedded: true, typesize: 1, shape: []int64{90}}}, nil, []string{"/"}},
	{"names", []storeObject{{key: "/größe/日本", dtype: "<i2", shape: []int64{8}}, {key: "/two words/a.b", dtype: "<i2", shape: []int64{8}}}, nil, []string{"/", "/two words"}},
	{"dtypes", []storeObject{
		{key: "/time", dtype: "<M8[ns]", shape: []int64{6}}, {key: "/record", dtype: "[('a', '<i4'), ('b', '<f8')]", shape: []int64{5}}, {key: "/text", embedded: true, dtype: "<U3", shape: []int64{4}},
	}, nil, nil},
	{"shapes", []storeObject{{key: "/scalar", dtype: "<f8", shape: []int64{}}, {key: "/empty", dtype: "<f4", shape: []int64{0, 3}}, {key: "/deep", embedded: true, dtype: "|u1", shape: []int64{2, 1, 2, 1, 2, 1}}}, nil, nil},
	{"attributes", []storeObject{{key: "/g/a", dtype: "<i4", shape: []int64{12}}}, []string{"/", "/g"}, []string{"/", "/g"}},
}

// storePart is a frame of a container.
type storePart struct {
	key, ext string
	content  []byte
}

func emitStores(ctx context.Context, e *emitter) error {
	for _, kind := range storeKinds {
		for i, v := range storeVectors {
			if err := ctx.Err(); err != nil {
				return err
			}
			if kind == detect.B2E && len(v.attrs) > 0 {
				continue // an EmbedStore has no attributes of groups
			}
			id := "store/" + kind + "/" + v.name
			files, embedded, want, err := storeParts(v.objects, kind, uint64(i))
			for _, group := range v.attrs {
				var b []byte
				if b, err = attributeFrame(group); err != nil {
					break
				}
				files = append(files, storePart{strings.TrimSuffix(group, "/") + "/" + b2store.GroupAttrs, b2store.FrameExt, b})
			}
			if err == nil {
				err = e.store(id+"."+kind, kind, files, embedded)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", id, err)
			}
			for _, o := range v.objects {
				if err := e.storeCase(id, kind, o.key, v.name, want[o.key]); err != nil {
					return err
				}
			}
			for _, group := range v.list {
				if err := e.storeCase(id, kind, group, v.name, nil); err != nil {
					return err
				}
			}
		}
	}
	if err := e.goldenStores(); err != nil {
		return err
	}
	return e.brokenStores()
}

// storeCase reads an object of a container and adds it. Its decoded bytes must equal want, unless
// want is nil.
func (e *emitter) storeCase(id, kind, object, content string, want []byte) error {
	c := Case{
		ID: id + strings.NewReplacer("/", "-", " ", "_").Replace(object), Area: "store", Path: id + "." + kind, Object: object, Must: Accept,
		Section: storeDocument, Since: sincePythonBlosc2, Params: map[string]string{"kind": kind, "content": content},
	}
	if object == "/" {
		c.ID = id + "-root"
	}
	w, err := decodeStore(e.at(c.Path), object)
	if err != nil {
		return fmt.Errorf("%s: %w", c.ID, err)
	}
	if want != nil && !bytes.Equal(w.data, want) {
		return fmt.Errorf("%s: the reference does not decode the original bytes", c.ID)
	}
	c.Decoded = decodedBytes(w.data, w.item)
	if w.shape != nil {
		c.Decoded.Shape, c.Decoded.DType = w.shape, w.dtype
	}
	c.Metadata = w.facts
	return e.add(c)
}

// storeParts makes the frames of objects, and returns them with the decoded bytes of each.
func storeParts(objects []storeObject, kind string, seed uint64) (files, embedded []storePart, want map[string][]byte, err error) {
	want = make(map[string][]byte)
	for i, o := range objects {
		n := 1
		for _, s := range o.shape {
			n *= int(s)
		}
		size := max(o.typesize, itemSizes[o.dtype])
		if size == 0 {
			return nil, nil, nil, fmt.Errorf("%s: no size of dtype %q", o.key, o.dtype)
		}
		data := ofType(series("ramp", seed+uint64(i), n*size, size), o.dtype)
		p := cblosc.DefaultCParams()
		p.TypeSize = size
		part := storePart{o.key, b2store.ArrayExt, nil}
		part.content, err = frameBytes(func(path string) error {
			storage := cblosc.Storage{Path: path, Contiguous: true, CParams: p}
			if o.typesize > 0 {
				return writeSChunk(storage, data, 64*size, nil, nil)
			}
			whole := make([]int64, len(o.shape))
			chunks, blocks := make([]int32, len(o.shape)), make([]int32, len(o.shape))
			for i, s := range o.shape {
				whole[i], chunks[i], blocks[i] = s, int32(max(s, 1)), int32(max((s+1)/2, 1))
			}
			return writeArray("b2nd", &cblosc.ArrayParams{Shape: whole, ChunkShape: chunks, Blocks: blocks, DType: o.dtype, Storage: storage}, data)
		})
		if err != nil {
			return nil, nil, nil, err
		}
		if o.typesize > 0 {
			part.ext = b2store.FrameExt
		}
		want[o.key] = data
		if o.embedded || kind == detect.B2E {
			embedded = append(embedded, part)
		} else {
			files = append(files, part)
		}
	}
	return files, embedded, want, nil
}

// attributeFrame returns the frame with the attributes of a group.
func attributeFrame(group string) ([]byte, error) {
	return frameBytes(func(path string) error {
		attrs := []cblosc.Metalayer{{Name: "unit", Content: msgpack.Append(nil, "m")}, {Name: "path", Content: msgpack.Append(nil, group)}}
		return writeSChunk(cblosc.Storage{Path: path, Contiguous: true, CParams: cblosc.DefaultCParams()}, nil, 0, nil, attrs)
	})
}

// frameBytes returns the content of a file that write creates.
func frameBytes(write func(path string) error) (b []byte, err error) {
	dir, err := os.MkdirTemp("", "crosscheck-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "frame.b2frame")
	if err := write(path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// writeSChunk writes a frame with metalayers and data in chunks of size bytes.
func writeSChunk(storage cblosc.Storage, data []byte, size int, meta, vlmeta []cblosc.Metalayer) error {
	s, err := cblosc.CreateSChunk(storage)
	if err != nil {
		return err
	}
	defer s.Close()
	for _, l := range meta {
		if err := s.Meta().Add(l.Name, l.Content); err != nil {
			return err
		}
	}
	for len(data) > 0 {
		n := min(size, len(data))
		if err := s.AppendBuffer(data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	for _, l := range vlmeta {
		if err := s.VLMeta().Add(l.Name, l.Content); err != nil {
			return err
		}
	}
	return nil
}

// embedFrame returns the frame that embeds other frames. change replaces the keys and ranges if it
// is not nil.
func embedFrame(kind string, embedded []storePart, change func(msgpack.Map) msgpack.Map) ([]byte, error) {
	layer := "b2tree"
	if kind == detect.B2E {
		layer = "b2embed"
	}
	var ranges msgpack.Map
	var values []byte
	for _, p := range embedded {
		ranges = append(ranges, msgpack.Pair{Key: p.key, Value: msgpack.Map{{Key: "offset", Value: int64(len(values))}, {Key: "length", Value: int64(len(p.content))}}})
		values = append(values, p.content...)
	}
	top := msgpack.Map{{Key: "embed_map", Value: ranges}, {Key: "current_offset", Value: int64(len(values))}}
	if change != nil {
		top = change(top)
	}
	p := cblosc.DefaultCParams()
	p.TypeSize = 1
	return frameBytes(func(path string) error {
		return writeSChunk(cblosc.Storage{Path: path, Contiguous: true, CParams: p}, values, 8192,
			[]cblosc.Metalayer{{Name: layer, Content: msgpack.Append(nil, msgpack.Map{{Key: "version", Value: int64(1)}})}},
			[]cblosc.Metalayer{{Name: b2store.MapLayer, Content: msgpack.Append(nil, top)}})
	})
}

// store writes a container.
func (e *emitter) store(path, kind string, files, embedded []storePart) error {
	embed, err := embedFrame(kind, embedded, nil)
	if err != nil {
		return err
	}
	name, err := e.place(path)
	if err != nil {
		return err
	}
	return writeStoreFiles(name, kind, storeFiles(files, embed))
}

// storeFiles returns the files of a container by their names.
func storeFiles(files []storePart, embed []byte) map[string][]byte {
	all := map[string][]byte{b2store.EmbedFile: embed}
	for _, p := range files {
		all[strings.TrimPrefix(p.key, "/")+p.ext] = p.content
	}
	return all
}

// writeStoreFiles writes the files of a container into a directory or a ZIP file, or the only one
// as a file.
func writeStoreFiles(path, kind string, files map[string][]byte) error {
	switch kind {
	case detect.B2E:
		return os.WriteFile(path, files[b2store.EmbedFile], 0o644)
	case detect.B2Z:
		b, err := zipStore(files, nil)
		if err != nil {
			return err
		}
		return os.WriteFile(path, b, 0o644)
	}
	for name, b := range files {
		to := filepath.Join(path, filepath.FromSlash(name))
		if err := makeBelow(filepath.Dir(path), filepath.Dir(to)); err != nil {
			return err
		}
		if err := os.WriteFile(to, b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// zipStore returns a ZIP file with stored members, without times. change modifies each header if it
// is not nil.
func zipStore(files map[string][]byte, change func(*zip.FileHeader)) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		b := files[name]
		h := &zip.FileHeader{Name: name, CRC32: crc32.ChecksumIEEE(b), CompressedSize64: uint64(len(b)), UncompressedSize64: uint64(len(b))}
		h.SetMode(0o644)
		if strings.ContainsFunc(name, func(r rune) bool { return r > 0x7F }) {
			h.Flags |= 1 << 11 // the name is UTF-8
		}
		if change != nil {
			change(h)
		}
		m, err := w.CreateRaw(h)
		if err != nil {
			return nil, err
		}
		if _, err := m.Write(b); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// storeKind returns the kind of the container at path.
func storeKind(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return detect.B2D, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head := make([]byte, detect.HeadSize)
	if n, err := f.Read(head); err == nil && b2store.IsZip(head[:n]) {
		return detect.B2Z, nil
	}
	return detect.B2E, nil
}

func openStore(path string) (*stores.Store, error) {
	kind, err := storeKind(path)
	if err != nil {
		return nil, err
	}
	return stores.Open(path, kind, stores.Options{})
}

// storedObject is an object of a container as the reference decodes it. shape is nil if it is not
// an array.
type storedObject struct {
	data  []byte
	shape []int64
	dtype string
	item  int
	facts map[string]any
}

// decodeStore reads an object of a container. The reference library decodes its frame.
func decodeStore(path, object string) (w *storedObject, err error) {
	s, err := openStore(path)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if names, group := s.Members(object); group {
		return listStore(s, object, names)
	}
	x, err := s.Object(object)
	if err != nil {
		return nil, err
	}
	err = withStored(s, x, func(frame string, array bool) error {
		if array {
			x, err := readWritten("b2nd", frame, "", "")
			if err != nil {
				return err
			}
			shape, dtype := x.facts["shape"].([]int64), x.facts["dtype"].(string)
			w = &storedObject{x.data, append([]int64{}, shape...), dtype, x.facts["itemsize"].(int), map[string]any{"kind": "array", "shape": shape, "dtype": dtype}}
			return nil
		}
		x, err := readWritten("frame", frame, "", "")
		if err != nil {
			return err
		}
		w = &storedObject{data: x.data, item: x.facts["typesize"].(int), facts: map[string]any{"kind": "frame", "typesize": x.facts["typesize"]}}
		return nil
	})
	return w, err
}

// listStore lists the members of a group, one per line in the order of names: the kind and the
// name, separated by a tab.
func listStore(s *stores.Store, group string, names []string) (*storedObject, error) {
	var b strings.Builder
	for _, name := range names {
		key := strings.TrimSuffix(group, "/") + "/" + name
		kind := "group"
		if _, is := s.Members(key); !is {
			x, err := s.Object(key)
			if err != nil {
				return nil, err
			}
			kind = "frame"
			if err := withStored(s, x, func(_ string, array bool) error {
				if array {
					kind = "array"
				}
				return nil
			}); err != nil {
				return nil, err
			}
		}
		fmt.Fprintf(&b, "%s\t%s\n", kind, name)
	}
	facts := map[string]any{"kind": "group"}
	if x := s.Attrs(group); x != nil {
		if err := withStored(s, x, func(frame string, _ bool) error {
			w, err := readWritten("frame", frame, "", "")
			if err == nil {
				facts["attrs"] = w.facts["vlmeta"]
			}
			return err
		}); err != nil {
			return nil, err
		}
	}
	return &storedObject{data: []byte(b.String()), item: 1, facts: facts}, nil
}

// withStored copies the frame of an object to a file of its own, and calls f with it.
func withStored(s *stores.Store, x *stores.Object, f func(frame string, array bool) error) (err error) {
	from, err := s.Frame(x)
	if err != nil {
		return err
	}
	b, err := io.ReadAll(io.NewSectionReader(from, 0, from.Size))
	if err := errors.Join(err, from.Close()); err != nil {
		return err
	}
	plain, err := cframe.Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return err
	}
	_, array, err := plain.Array()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "crosscheck-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "frame.b2frame")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		return err
	}
	return f(path, array)
}

// explainStore explains the difference in the frame of an object.
func explainStore(path string, c Case, got []byte) (x *Explanation, err error) {
	s, err := openStore(path)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if names, group := s.Members(c.Object); group {
		want, err := listStore(s, c.Object, names)
		if err != nil {
			return nil, err
		}
		x = difference(got, want.data, 1)
		x.Chunk, x.Block, x.Stage = -1, -1, "members of the group"
		x.Header = []string{fmt.Sprintf("group %s with %d members", c.Object, len(names))}
		return x, nil
	}
	o, err := s.Object(c.Object)
	if err != nil {
		return nil, err
	}
	err = withStored(s, o, func(frame string, array bool) error {
		if array {
			x, err = explainArray(frame, c, got)
		} else {
			x, err = explainFrame(frame, c, got)
		}
		return err
	})
	return x, err
}

// describeStore describes the frames of a container.
func describeStore(path string) (format.Field, error) {
	kind, err := storeKind(path)
	if err != nil {
		return format.Field{}, err
	}
	root := format.Field{Name: "store", Fields: []format.Field{{Name: "kind", Value: kind}}}
	s, err := stores.Open(path, kind, stores.Options{})
	if err != nil {
		part := format.Field{Name: "container", Complaint: err.Error()}
		if bad := (*format.Error)(nil); errors.As(err, &bad) {
			part.Name = bad.Format
		}
		root.Fields = append(root.Fields, part)
		return root, nil
	}
	defer s.Close()
	for _, m := range s.Files() {
		f, err := s.FrameOf(m)
		if err != nil {
			return format.Field{}, err
		}
		x := cframe.Describe(f, f.Size)
		x.Name, x.Value, x.Offset, x.Length = "file", m.Name, m.Offset, m.Size
		root.Fields = append(root.Fields, x)
		if err := f.Close(); err != nil {
			return format.Field{}, err
		}
	}
	for x := range s.All() {
		if x.Member.Name != "" {
			continue
		}
		o := format.Field{Name: "embedded object", Value: x.Key, Offset: x.Embedded.Offset, Length: x.Embedded.Length}
		f, err := s.Frame(x)
		if err != nil {
			o.Complaint = err.Error()
		} else {
			o.Fields = cframe.Describe(f, f.Size).Fields
			if err := f.Close(); err != nil {
				return format.Field{}, err
			}
		}
		root.Fields = append(root.Fields, o)
	}
	return root, nil
}
