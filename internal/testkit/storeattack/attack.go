// List of the attacks.

package storeattack

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"strings"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Attack is a hostile container.
type Attack struct {
	Name  string
	Ext   string            // extension of the container
	Files map[string][]byte // by path; "" is the container itself
	Links map[string]string // symbolic links of a directory, by path

	// Object is the key of an object that cannot be read. "": the container cannot be opened.
	Object string

	Want error // of opening the container, or of opening or reading Object
}

// maker builds attacks. Its first error ends the work of all methods.
type maker struct {
	list []Attack
	err  error
}

// All returns the attacks. golden is a valid .b2z with the member g/b.b2nd, which is an array.
func All(golden []byte) ([]Attack, error) {
	members, err := b2store.ReadZip(bytes.NewReader(golden), int64(len(golden)), b2store.Limits{})
	if err != nil {
		return nil, err
	}
	valid := make(map[string][]byte)
	for _, m := range members {
		valid[m.Name] = golden[m.Offset:][:m.Size]
	}
	array, embed := valid["g/b.b2nd"], valid[b2store.EmbedFile]
	if array == nil || embed == nil {
		return nil, fmt.Errorf("%w: a store without g/b.b2nd or %s", ndarray.ErrParam, b2store.EmbedFile)
	}
	m := &maker{}
	m.zips(array, embed)
	m.maps(array)
	m.frames(embed)
	m.tables(embed)
	m.links(valid)
	return m.list, m.err
}

func (m *maker) add(name, ext, object string, b []byte, want error) {
	m.list = append(m.list, Attack{Name: name, Ext: ext, Files: map[string][]byte{"": b}, Object: object, Want: want})
}

// member is a member of a ZIP file.
type member struct {
	name string
	data []byte
	edit func(h *zip.FileHeader)
}

// zip makes a ZIP file with stored members.
func (m *maker) zip(members ...member) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, x := range members {
		h := &zip.FileHeader{Name: x.name, CRC32: crc32.ChecksumIEEE(x.data), CompressedSize64: uint64(len(x.data)), UncompressedSize64: uint64(len(x.data))}
		if x.edit != nil {
			x.edit(h)
		}
		to, err := w.CreateRaw(h)
		if err == nil {
			_, err = to.Write(x.data)
		}
		m.err = errors.Join(m.err, err)
	}
	m.err = errors.Join(m.err, w.Close())
	return b.Bytes()
}

// entry returns the offset of the i-th entry of the central directory.
func entry(b []byte, i int) int {
	end := len(b) - 22
	at := int(binary.LittleEndian.Uint32(b[end+16:]))
	for range i {
		at += 46 + int(binary.LittleEndian.Uint16(b[at+28:])) + int(binary.LittleEndian.Uint16(b[at+30:]))
	}
	return at
}

// zips adds attacks by the structure of a ZIP file.
func (m *maker) zips(array, embed []byte) {
	le := binary.LittleEndian
	base := member{name: b2store.EmbedFile, data: embed}
	for name, path := range map[string]string{
		"parent directory":           "../a.b2nd",
		"parent directory in a path": "g/../../a.b2nd",
		"absolute path":              "/tmp/a.b2nd",
		"backslash":                  `..\a.b2nd`,
		"zero byte":                  "a.b2nd\x00.txt",
		"empty component":            "g//a.b2nd",
		"path of 300 directories":    strings.Repeat("g/", 300) + "a.b2nd",
		"name of 5000 bytes":         strings.Repeat("a", 5000) + ".b2nd",
		"name of another encoding":   "\xff.b2nd",
	} {
		m.add("member name: "+name, ".b2z", "", m.zip(base, member{name: path, data: array}), ndarray.ErrCorrupt)
	}
	a, b := member{name: "a.b2nd", data: array}, member{name: "b.b2nd", data: array}
	m.add("two members of a name", ".b2z", "", m.zip(base, a, a), ndarray.ErrCorrupt)
	m.add("two members of a key", ".b2z", "", m.zip(base, a, member{name: "a.b2f", data: array}), ndarray.ErrCorrupt)
	m.add("array with members", ".b2z", "", m.zip(base, a, member{name: "a/b.b2nd", data: array}), errors.ErrUnsupported)
	m.add("symbolic link in a ZIP file", ".b2z", "", m.zip(base, member{name: "a.b2nd", data: []byte("/etc/passwd"), edit: func(h *zip.FileHeader) {
		h.SetMode(fs.ModeSymlink | 0o777)
	}}), ndarray.ErrCorrupt)
	m.add("encrypted member", ".b2z", "", m.zip(base, member{name: "a.b2nd", data: array, edit: func(h *zip.FileHeader) { h.Flags |= 1 }}), errors.ErrUnsupported)
	m.add("compressed member", ".b2z", "", m.deflated(base, array), errors.ErrUnsupported)
	m.add("ZIP bomb", ".b2z", "", m.deflated(base, make([]byte, 64<<20)), errors.ErrUnsupported)

	patched := func(name string, want error, change func(b []byte)) {
		file := m.zip(base, a, b)
		change(file)
		m.add(name, ".b2z", "", file, want)
	}
	patched("two members with the same bytes", ndarray.ErrCorrupt, func(b []byte) {
		copy(b[entry(b, 2)+42:][:4], b[entry(b, 1)+42:][:4])
	})
	inner := m.zip(b)
	local := inner[:entry(inner, 0)]
	nested := m.zip(base, member{name: "a.b2nd", data: local}, b)
	le.PutUint32(nested[entry(nested, 2)+42:], uint32(bytes.Index(nested, local)))
	m.add("member inside another member", ".b2z", "", nested, ndarray.ErrCorrupt)
	patched("size beyond the file", ndarray.ErrCorrupt, func(b []byte) {
		le.PutUint32(b[entry(b, 2)+20:], 1<<30)
		le.PutUint32(b[entry(b, 2)+24:], 1<<30)
	})
	patched("size that includes the directory", ndarray.ErrCorrupt, func(b []byte) {
		n := uint32(len(b)) - le.Uint32(b[entry(b, 2)+42:]) - 36
		le.PutUint32(b[entry(b, 2)+20:], n)
		le.PutUint32(b[entry(b, 2)+24:], n)
	})
	patched("stored and original size differ", ndarray.ErrCorrupt, func(b []byte) { le.PutUint32(b[entry(b, 2)+24:], 1<<30) })
	patched("offset beyond the file", ndarray.ErrCorrupt, func(b []byte) { le.PutUint32(b[entry(b, 2)+42:], 1<<31) })
	patched("directory beyond the file", ndarray.ErrCorrupt, func(b []byte) { le.PutUint32(b[len(b)-6:], 1<<31) })
	patched("more members than entries", ndarray.ErrCorrupt, func(b []byte) { b[len(b)-12]++; b[len(b)-14]++ })
	wide := m.zip(base, member{name: "a.b2nd", data: array, edit: func(h *zip.FileHeader) {
		h.CompressedSize64, h.UncompressedSize64 = 1<<62, 1<<62
	}})
	m.add("size of 4 EiB", ".b2z", "", wide, ndarray.ErrCorrupt)
}

// deflated makes a ZIP file with a compressed member.
func (m *maker) deflated(base member, data []byte) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, x := range []member{base, {name: "a.b2nd", data: data}} {
		to, err := w.Create(x.name)
		if err == nil {
			_, err = io.Copy(to, bytes.NewReader(x.data))
		}
		m.err = errors.Join(m.err, err)
	}
	m.err = errors.Join(m.err, w.Close())
	return b.Bytes()
}

// frame makes a frame with variable-length metalayers, after fill has added chunks.
func (m *maker) frame(fill func(s *cblosc.SChunk) error, layers ...cblosc.Metalayer) []byte {
	cp := cblosc.DefaultCParams()
	cp.TypeSize = 1
	s, err := cblosc.CreateSChunk(cblosc.Storage{Contiguous: true, CParams: cp})
	if err != nil {
		m.err = errors.Join(m.err, err)
		return nil
	}
	if fill != nil {
		err = fill(s)
	}
	for _, l := range layers {
		err = errors.Join(err, s.VLMeta().Add(l.Name, l.Content))
	}
	b, errB := s.Bytes()
	m.err = errors.Join(m.err, err, errB, s.Close())
	return b
}

// embedding makes a frame that embeds other frames, with the given content of its map.
func (m *maker) embedding(values, content []byte, more ...cblosc.Metalayer) []byte {
	return m.frame(func(s *cblosc.SChunk) error {
		err := s.Meta().Add("b2embed", msgpack.Append(nil, msgpack.Map{{Key: "version", Value: int64(1)}}))
		if len(values) > 0 {
			err = errors.Join(err, s.AppendBuffer(values))
		}
		return err
	}, append(more, cblosc.Metalayer{Name: b2store.MapLayer, Content: content})...)
}

func pair(key string, value any) msgpack.Pair { return msgpack.Pair{Key: key, Value: value} }

// ranges returns the content of a map of embedded objects.
func ranges(pairs ...msgpack.Pair) []byte {
	return msgpack.Append(nil, msgpack.Map{pair("embed_map", msgpack.Map(pairs)), pair("current_offset", int64(0))})
}

func span(offset, n int64) msgpack.Map { return msgpack.Map{pair("offset", offset), pair("length", n)} }

// maps adds attacks by the map of embedded objects.
func (m *maker) maps(array []byte) {
	n := int64(len(array))
	valid := pair("/a", span(0, n))
	for name, content := range map[string][]byte{
		"range beyond the values":   ranges(pair("/a", span(1, n))),
		"range that overflows":      ranges(pair("/a", span(1<<62, 1<<62))),
		"negative offset":           ranges(pair("/a", span(-1, n))),
		"negative length":           ranges(pair("/a", span(0, -1))),
		"overlapping ranges":        ranges(valid, pair("/b", span(1, n-1))),
		"two ranges of a key":       ranges(pair("/a", span(0, 1)), pair("/a", span(1, 1))),
		"parent directory":          ranges(pair("/../a", span(0, n))),
		"relative key":              ranges(pair("a", span(0, n))),
		"root as an object":         ranges(pair("/", span(0, n))),
		"no range":                  ranges(pair("/a", int64(1))),
		"map of 2^32 - 1 keys":      {0xdf, 0xff, 0xff, 0xff, 0xff},
		"key of 2^32 - 1 bytes":     {0x81, 0xdb, 0xff, 0xff, 0xff, 0xff},
		"not MessagePack":           {0xc1},
		"key of 300 groups":         ranges(pair("/"+strings.Repeat("g/", 300)+"a", span(0, n))),
		"name of the parent of all": ranges(pair("/..", span(0, n))),
	} {
		m.add("embedded: "+name, ".b2e", "", m.embedding(array, content), ndarray.ErrCorrupt)
	}
	deep := bytes.Repeat([]byte("\x81\xa1k"), 100_000)
	m.add("embedded: map nested 100,000 deep", ".b2e", "", m.embedding(array, append(deep, 1)), format.ErrLimit)
	m.add("embedded: metalayer bomb", ".b2e", "", m.embedding(array, make([]byte, 65<<20)), format.ErrLimit)
	m.add("embedded: array with members", ".b2e", "", m.embedding(array, ranges(pair("/a", span(0, n)), pair("/a/b", span(n, 0)))), errors.ErrUnsupported)
	m.add("embedded: frame cut", ".b2e", "/a", m.embedding(array, ranges(pair("/a", span(0, n-1)))), ndarray.ErrCorrupt)
	m.add("embedded: no frame", ".b2e", "/a", m.embedding(array, ranges(pair("/a", span(1, n-1)))), ndarray.ErrCorrupt)
	m.add("embedded: reference to a server", ".b2e", "/a", m.embedding(array, ranges(pair("/a", msgpack.Map{
		pair("urlbase", "http://169.254.169.254/latest"), pair("path", "meta-data"),
	}))), errors.ErrUnsupported)
	remote := msgpack.Append(nil, msgpack.Map{pair("/r", msgpack.Map{pair("kind", "remote_store"), pair("url", "http://127.0.0.1:1/")})})
	m.add("registry: reference to a server", ".b2e", "/r", m.embedding(array, ranges(valid), cblosc.Metalayer{Name: b2store.Registry, Content: remote}), errors.ErrUnsupported)
	bad := msgpack.Append(nil, msgpack.Map{pair("/../r", msgpack.Map{pair("kind", "remote_store")})})
	m.add("registry: parent directory", ".b2e", "", m.embedding(array, ranges(valid), cblosc.Metalayer{Name: b2store.Registry, Content: bad}), ndarray.ErrCorrupt)
	huge := m.frame(func(s *cblosc.SChunk) error {
		return errors.Join(s.Meta().Add("b2embed", []byte{0x80}), s.Fill(1<<40, cblosc.Zeros, 1<<30))
	}, cblosc.Metalayer{Name: b2store.MapLayer, Content: ranges(pair("/a", span(0, 1<<40)))})
	m.add("embedded: frame of 1 TiB of zeros", ".b2e", "/a", huge, format.ErrLimit)
}

// frames adds attacks by the frames in a ZIP file.
func (m *maker) frames(embed []byte) {
	base := member{name: b2store.EmbedFile, data: embed}
	nested := append(bytes.Repeat([]byte{0x91}, 100_000), 1)
	objects := m.frame(func(s *cblosc.SChunk) error {
		layer := msgpack.Append(nil, msgpack.Map{pair("version", int64(1)), pair("serializer", "msgpack")})
		return errors.Join(s.Meta().Add("vlarray", layer), s.AppendBuffer(nested))
	})
	m.add("object nested 100,000 deep", ".b2z", "/a", m.zip(base, member{name: "a.b2f", data: objects}), format.ErrLimit)
	pickled := m.frame(func(s *cblosc.SChunk) error {
		layer := msgpack.Append(nil, msgpack.Map{pair("version", int64(1)), pair("serializer", "pickle")})
		return errors.Join(s.Meta().Add("vlarray", layer), s.AppendBuffer([]byte("cos\nsystem\n(S'true'\ntR.")))
	})
	m.add("pickled object", ".b2z", "/a", m.zip(base, member{name: "a.b2f", data: pickled}), errors.ErrUnsupported)
	m.add("member that is no frame", ".b2z", "/a", m.zip(base, member{name: "a.b2nd", data: []byte("no frame")}), ndarray.ErrCorrupt)
	m.add("no embed.b2e", ".b2z", "", m.zip(member{name: "a.b2nd", data: embed}), ndarray.ErrFormat)
	m.add("embed.b2e that is no frame", ".b2z", "", m.zip(member{name: b2store.EmbedFile, data: []byte("no frame")}), ndarray.ErrCorrupt)
	m.add("store inside a store", ".b2z", "", m.zip(member{name: b2store.EmbedFile, data: m.zip(base)}), ndarray.ErrCorrupt)
}

// array makes an array of one dimension of little-endian elements.
func (m *maker) array(dtype string, size int, data []byte) []byte {
	cp := cblosc.DefaultCParams()
	cp.TypeSize = size
	n := int32(len(data) / size)
	a, err := cblosc.CreateArrayFrom(&cblosc.ArrayParams{
		Shape: []int64{int64(n)}, ChunkShape: []int32{n}, Blocks: []int32{n}, DType: dtype, Storage: cblosc.Storage{Contiguous: true, CParams: cp},
	}, data)
	if err != nil {
		m.err = errors.Join(m.err, err)
		return nil
	}
	b, err := a.Bytes()
	m.err = errors.Join(m.err, err, a.Close())
	return b
}

// tables adds attacks by a CTable.
func (m *maker) tables(embed []byte) {
	base := member{name: b2store.EmbedFile, data: embed}
	meta := func(schema string) member {
		layer := func(name string, v any) cblosc.Metalayer {
			return cblosc.Metalayer{Name: name, Content: msgpack.Append(nil, v)}
		}
		return member{name: "t/_meta.b2f", data: m.frame(nil, layer("kind", "ctable"), layer("version", int64(1)), layer("schema", schema))}
	}
	schema := func(column, kind string) string {
		return fmt.Sprintf(`{"version": 1, "columns": [{"name": %q, "kind": %q}]}`, column, kind)
	}
	rows := member{name: "t/_valid_rows.b2nd", data: m.array("|b1", 1, []byte{1, 1})}
	words := []byte("words")
	text := func(offsets ...uint64) []byte {
		var b []byte
		for _, n := range offsets {
			b = binary.LittleEndian.AppendUint64(b, n)
		}
		return m.zip(base, rows, meta(schema("c", "utf8")), member{name: "t/_cols/c.b2nd", data: m.array("<i8", 8, b)}, member{name: "t/_cols/c.utf8.b2nd", data: m.array("|u1", 1, words)})
	}
	m.add("table: strings beyond their bytes", ".b2z", "/t/c", text(0, 2, 1<<40), ndarray.ErrCorrupt)
	m.add("table: strings of negative length", ".b2z", "/t/c", text(4, 2, 3), ndarray.ErrCorrupt)
	m.add("table: fewer strings than rows", ".b2z", "/t/c", text(0, 2), ndarray.ErrCorrupt)
	m.add("table: column without a file", ".b2z", "/t/c", m.zip(base, rows, meta(schema("c", "int64"))), ndarray.ErrCorrupt)
	m.add("table: no _valid_rows", ".b2z", "/t/c", m.zip(base, meta(schema("c", "int64")), member{name: "t/_cols/c.b2nd", data: m.array("<i8", 8, make([]byte, 16))}), ndarray.ErrCorrupt)
	m.add("table: column outside of the table", ".b2z", "/t/c", m.zip(base, rows, meta(schema("..", "int64"))), ndarray.ErrCorrupt)
	m.add("table: two columns of a name", ".b2z", "/t/c", m.zip(base, rows, meta(`{"version": 1, "columns": [{"name": "c", "kind": "bool"}, {"name": "c", "kind": "bool"}]}`)), ndarray.ErrCorrupt)
	m.add("table: schema nested 100,000 deep", ".b2z", "/t/c", m.zip(base, rows, meta(strings.Repeat("[", 100_000))), ndarray.ErrCorrupt)
	m.add("table: schema of a later version", ".b2z", "/t/c", m.zip(base, rows, meta(`{"version": 9, "columns": []}`)), errors.ErrUnsupported)
}

// links adds attacks by symbolic links in a directory.
func (m *maker) links(valid map[string][]byte) {
	for name, at := range map[string][2]string{
		"array outside of the store":     {"a.b2nd", "/etc/passwd"},
		"device":                         {"a.b2nd", "/dev/zero"},
		"array of the store":             {"a.b2nd", "g/b.b2nd"},
		"itself":                         {"a.b2nd", "a.b2nd"},
		"directory outside of the store": {"out", "/"},
		"directory above":                {"out", "../.."},
	} {
		m.list = append(m.list, Attack{Name: "symbolic link to: " + name, Ext: ".b2d", Files: valid, Links: map[string]string{at[0]: at[1]}, Want: ndarray.ErrCorrupt})
	}
}
