// Containers of python-blosc2 that violate one rule, and containers that python-blosc2 wrote.

package crosscheck

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
)

// storeBreakage is a rule and a change of the files of a valid container that violates it. object
// is the object to read.
type storeBreakage struct {
	name, kind, rule, object string
	files                    func(files map[string][]byte) // changes the files
	keys                     func(msgpack.Map) msgpack.Map // changes the keys of the embedded objects
	header                   func(*zip.FileHeader)         // changes the headers of the ZIP file
	content                  func(content []byte) []byte   // changes the ZIP file
}

// change returns a function that changes the content of one file.
func change(name string, f func([]byte) []byte) func(map[string][]byte) {
	return func(files map[string][]byte) { files[name] = f(bytes.Clone(files[name])) }
}

// ranged returns a function that replaces a number in the range of the first embedded object.
func ranged(field string, value any) func(msgpack.Map) msgpack.Map {
	return func(top msgpack.Map) msgpack.Map {
		at := top[0].Value.(msgpack.Map)[0].Value.(msgpack.Map)
		for i := range at {
			if at[i].Key == field {
				at[i].Value = value
			}
		}
		return top
	}
}

// storeBreakages are based on containers with the file array /a and the embedded array /b. In a
// .b2e both arrays are embedded.
var storeBreakages = []storeBreakage{
	{name: "embed-missing", kind: detect.B2D, rule: "missing file embed.b2e", object: "/b", files: func(f map[string][]byte) { delete(f, b2store.EmbedFile) }},
	{name: "embed-missing", kind: detect.B2Z, rule: "missing file embed.b2e", object: "/b", files: func(f map[string][]byte) { delete(f, b2store.EmbedFile) }},
	{name: "embed-empty", kind: detect.B2D, rule: "empty file embed.b2e", object: "/b", files: change(b2store.EmbedFile, cut(0))},
	{name: "embed-magic", kind: detect.B2E, rule: "wrong magic number", object: "/b", files: change(b2store.EmbedFile, func(b []byte) []byte { b[frameMagic] ^= 0x20; return b })},
	{name: "embed-cut", kind: detect.B2E, rule: "truncated frame", object: "/b", files: change(b2store.EmbedFile, func(b []byte) []byte { return b[:len(b)/2] })},
	{name: "embed-cut", kind: detect.B2Z, rule: "truncated frame embed.b2e", object: "/b", files: change(b2store.EmbedFile, func(b []byte) []byte { return b[:len(b)/2] })},
	{name: "array-empty", kind: detect.B2D, rule: "empty file of an array", object: "/a", files: change("a.b2nd", cut(0))},
	{name: "array-cut", kind: detect.B2D, rule: "truncated file of an array", object: "/a", files: change("a.b2nd", func(b []byte) []byte { return b[:len(b)/2] })},
	{name: "array-cut", kind: detect.B2Z, rule: "truncated member with an array", object: "/a", files: change("a.b2nd", func(b []byte) []byte { return b[:len(b)/2] })},
	{name: "map-missing", kind: detect.B2E, rule: "no map of embedded objects", object: "/b", keys: func(msgpack.Map) msgpack.Map { return nil }},
	{name: "map-no-map", kind: detect.B2E, rule: "keys of embedded objects that are not a map", object: "/b", keys: func(top msgpack.Map) msgpack.Map { top[0].Value = int64(7); return top }},
	{name: "offset-beyond", kind: detect.B2E, rule: "offset of an embedded object after the end of the values", object: "/b", keys: ranged("offset", int64(1<<40))},
	{name: "offset-negative", kind: detect.B2E, rule: "negative offset of an embedded object", object: "/b", keys: ranged("offset", int64(-1))},
	{name: "offset-string", kind: detect.B2E, rule: "offset of an embedded object that is a string", object: "/b", keys: ranged("offset", "0")},
	{name: "offset-inside", kind: detect.B2E, rule: "offset inside an embedded frame", object: "/b", keys: ranged("offset", int64(5))},
	{name: "length-beyond", kind: detect.B2E, rule: "length of an embedded object after the end of the values", object: "/b", keys: ranged("length", int64(1<<40))},
	{name: "length-short", kind: detect.B2Z, rule: "length of an embedded object less than its frame", object: "/b", keys: ranged("length", int64(40))},
	{name: "zip-compressed", kind: detect.B2Z, rule: "compressed member of the ZIP file", object: "/a", header: func(h *zip.FileHeader) { h.Method = zip.Deflate }},
	{name: "zip-no-directory", kind: detect.B2Z, rule: "ZIP file without a central directory", object: "/a", content: func(b []byte) []byte { return b[:bytes.LastIndex(b, []byte("PK\x05\x06"))] }},
	{name: "zip-cut", kind: detect.B2Z, rule: "truncated ZIP file", object: "/a", content: func(b []byte) []byte { return b[:len(b)/2] }},
	{name: "zip-offset", kind: detect.B2Z, rule: "offset of a member after the end of the ZIP file", object: "/a", content: func(b []byte) []byte {
		at := bytes.Index(b, []byte("PK\x01\x02"))
		return setInt(at+42, 1<<30)(b)
	}},
	{name: "zip-empty", kind: detect.B2Z, rule: "empty file", object: "/a", content: cut(0)},
}

// brokenStores adds containers that the reader refuses.
func (e *emitter) brokenStores() error {
	for _, kind := range storeKinds {
		objects := []storeObject{{key: "/a", dtype: "<i4", shape: []int64{40, 25}}, {key: "/b", embedded: true, dtype: "<f8", shape: []int64{30}}}
		if kind == detect.B2E {
			objects[0], objects[1] = objects[1], objects[0]
		}
		files, embedded, want, err := storeParts(objects, kind, 11)
		if err != nil {
			return err
		}
		base := "store/" + kind + "/base"
		if err := e.store(base+"."+kind, kind, files, embedded); err != nil {
			return err
		}
		for _, key := range []string{"/a", "/b"} {
			if err := e.storeCase(base, kind, key, "base", want[key]); err != nil {
				return err
			}
		}
		for _, br := range storeBreakages {
			if br.kind != kind {
				continue
			}
			if err := e.brokenStore(br, base, files, embedded); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *emitter) brokenStore(br storeBreakage, base string, files, embedded []storePart) error {
	id := "store/refuse/" + br.kind + "-" + br.name
	c := Case{
		ID: id, Area: "store", Path: id + "." + br.kind, Object: br.object, Must: Refuse, Rule: br.rule, Section: storeDocument, Since: sincePythonBlosc2,
		Params: map[string]string{"kind": br.kind, "base": base + strings.ReplaceAll(br.object, "/", "-")},
	}
	embed, err := embedFrame(br.kind, embedded, br.keys)
	if err != nil {
		return err
	}
	all := storeFiles(files, embed)
	if br.files != nil {
		br.files(all)
	}
	path, err := e.place(c.Path)
	if err == nil {
		err = writeStoreFiles(path, br.kind, all)
	}
	if err != nil {
		return err
	}
	if br.kind == detect.B2Z && (br.header != nil || br.content != nil) {
		b, err := zipStore(all, br.header)
		if err != nil {
			return err
		}
		if br.content != nil {
			b = br.content(b)
		}
		if err := os.WriteFile(e.at(c.Path), b, 0o644); err != nil {
			return err
		}
	}
	if _, err := decodeStore(e.at(c.Path), c.Object); err == nil {
		return fmt.Errorf("%s: the reader accepts it", c.ID)
	}
	return e.add(c)
}

// goldenStores adds containers that python-blosc2 wrote. golden/gen.py contains the program. The
// directory has the files of the ZIP file.
func (e *emitter) goldenStores() error {
	large, small := make([]byte, 0, 4*600), make([]byte, 0, 8*12)
	for i := range 600 {
		large = append(large, byte(i), byte(i>>8), 0, 0)
	}
	for i := range 12 {
		small = append(small, byte(i), 0, 0, 0, 0, 0, 0, 0)
	}
	want := map[string][]byte{"/large": large, "/g/small": small}
	tree, err := golden.ReadFile("golden/tree.b2z")
	if err != nil {
		return err
	}
	z, err := zip.NewReader(bytes.NewReader(tree), int64(len(tree)))
	if err != nil {
		return err
	}
	files := make(map[string][]byte)
	for _, m := range z.File {
		r, err := m.Open()
		if err != nil {
			return err
		}
		if files[m.Name], err = io.ReadAll(r); err != nil {
			return err
		}
		if err := r.Close(); err != nil {
			return err
		}
	}
	embed, err := golden.ReadFile("golden/embed.b2e")
	if err != nil {
		return err
	}
	for _, kind := range storeKinds {
		id := "store/golden/" + kind
		path, err := e.place(id + "." + kind)
		if err != nil {
			return err
		}
		switch kind {
		case detect.B2D:
			err = writeStoreFiles(path, kind, files)
		case detect.B2Z:
			err = os.WriteFile(path, tree, 0o644)
		default:
			err = os.WriteFile(path, embed, 0o644)
		}
		if err != nil {
			return err
		}
		for _, object := range []string{"/large", "/g/small", "/", "/g"} {
			if err := e.storeCase(id, kind, object, "golden", want[object]); err != nil {
				return err
			}
		}
	}
	return nil
}
