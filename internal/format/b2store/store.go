// Files of a store, their keys, and the map of embedded objects.

package b2store

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
)

// Names with a meaning in a store.
const (
	EmbedFile  = "embed.b2e"        // the frame with the embedded objects
	MapLayer   = "estore_metadata"  // its variable-length metalayer with their keys
	Registry   = "_object_registry" // its variable-length metalayer with objects of several files
	GroupAttrs = "__vlmeta__"       // the object with the attributes of a group
	TableMeta  = "_meta"            // the object that marks a table
)

// Fixed metalayers of an object array, of a batch array, and of a list array, which is one of both.
const (
	ObjectLayer = "vlarray"
	BatchLayer  = "batcharray"
	ListLayer   = "listarray"
)

// Fixed metalayers of a frame that embeds other frames.
var layers = []string{"b2embed", "b2dict", "b2tree"}

// IsEmbedLayer reports whether a fixed metalayer marks a frame that embeds other frames.
func IsEmbedLayer(name string) bool { return slices.Contains(layers, name) }

// Extensions of objects.
const (
	ArrayExt = ".b2nd" // an array
	FrameExt = ".b2f"  // a plain frame, or an object array
	BatchExt = ".b2b"  // a batch array or a list array
)

// MaxDepth is the maximum number of components of a key, and MaxKey its maximum length in bytes.
const (
	MaxDepth = 256
	MaxKey   = 4096
)

// Limits bound what is read. A zero field means the default.
type Limits struct {
	Directory int64 // bytes of the central directory of a ZIP file; default 64 MiB
	Objects   int   // objects and groups; default 1,048,576
}

func (l Limits) filled() Limits {
	if l.Directory == 0 {
		l.Directory = format.MaxMetadata
	}
	if l.Objects == 0 {
		l.Objects = 1 << 20
	}
	return l
}

// Member is a file in a store.
type Member struct {
	Name   string // path, with slashes
	Offset int64  // of its first byte in a ZIP file; 0 in a directory
	Size   int64
	CRC    uint32 // CRC-32 in a ZIP file
}

// checkPath returns an error unless a path is relative and clean, and short enough for a key.
func checkPath(name string) error {
	switch {
	case !fs.ValidPath(name) || name == "." || strings.Contains(name, "\x00") || leadsUp(name):
		return errors.New(`a path that is empty, absolute or has an empty component, "." or ".."`)
	case len(name) > MaxKey || strings.Count(name, "/") >= MaxDepth:
		return fmt.Errorf("a path of %d bytes and %d components, at most %d and %d", len(name), 1+strings.Count(name, "/"), MaxKey, MaxDepth)
	}
	return nil
}

// leadsUp reports whether a path leads to a parent on a system where a backslash separates names.
// On such a system no name contains one. Elsewhere python-blosc2 writes it in names of indexes.
func leadsUp(name string) bool {
	if runtime.GOOS == "windows" {
		return strings.Contains(name, `\`)
	}
	return slices.Contains(strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '\\' }), "..")
}

// sorted sorts members by name and returns an error for two of the same name.
func sorted(formatName string, members []Member) ([]Member, error) {
	slices.SortFunc(members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(members); i++ {
		if members[i].Name == members[i-1].Name {
			return nil, &format.Error{Format: formatName, What: fmt.Sprintf("member %.60q", members[i].Name), Offset: members[i].Offset, Got: "two members of that name", Want: "one", Err: format.ErrCorrupt}
		}
	}
	return members, nil
}

// ReadDir lists the files below the root of fsys, sorted by name. fsys must not follow symbolic
// links out of its root, for example os.Root.FS.
//
// It returns format.ErrCorrupt for a symbolic link or another file that is not regular,
// format.ErrLimit, or the error of fsys.
func ReadDir(fsys fs.FS, l Limits) ([]Member, error) {
	l = l.filled()
	var members []Member
	seen := 0
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		bad := func(got, want string, err error) error {
			return &format.Error{Format: "b2d directory", What: fmt.Sprintf("file %.60q", name), Got: got, Want: want, Err: err}
		}
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		}
		if seen++; seen > l.Objects {
			return bad("more files", fmt.Sprintf("at most %d", l.Objects), format.ErrLimit)
		}
		if err := checkPath(name); err != nil { // the names of a directory are valid
			return bad(err.Error(), "a shorter path", format.ErrLimit)
		}
		if d.IsDir() {
			return nil
		}
		if !d.Type().IsRegular() {
			return bad(d.Type().String(), "a regular file", format.ErrCorrupt)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		members = append(members, Member{Name: name, Size: info.Size()})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return sorted("b2d directory", members)
}

// nameMax is the maximum number of bytes of a file name.
const nameMax = 255

// reserved are the characters that no new key contains: those that python-blosc2 refuses, and those
// that Windows does not allow in the name of a file.
var reserved = func() string {
	if runtime.GOOS == "windows" {
		return "\x00\n\r\t\\:"
	}
	return "\x00\n\r\t\\"
}()

// CheckKey returns errors.ErrUnsupported for a path that cannot be the key of an object or a group.
// python-blosc2 stores a key as the path of a file, without escapes.
func CheckKey(key string) error {
	if len(key) > MaxKey || strings.Count(key, "/") > MaxDepth-2 {
		return fmt.Errorf("%w: path %.40q of %d bytes and %d groups, at most %d and %d", errors.ErrUnsupported, key, len(key), strings.Count(key, "/")-1, MaxKey, MaxDepth-3)
	}
	for name := range strings.SplitSeq(strings.TrimPrefix(key, "/"), "/") {
		switch {
		case len(name)+len(ArrayExt) > nameMax:
			return fmt.Errorf("%w: name %.40q of %d bytes, at most %d", errors.ErrUnsupported, name, len(name), nameMax-len(ArrayExt))
		case !utf8.ValidString(name) || strings.ContainsAny(name, reserved):
			return fmt.Errorf("%w: name %.40q, which is not the name of a file or contains a character of %q", errors.ErrUnsupported, name, reserved)
		case strings.HasSuffix(name, ":"):
			return fmt.Errorf("%w: name %.40q, which ends in a colon, as the file of an address does", errors.ErrUnsupported, name)
		case name == GroupAttrs || name == TableMeta || strings.Trim(name, ".") == "":
			return fmt.Errorf("%w: name %q, which has a meaning in a store", errors.ErrUnsupported, name)
		}
	}
	return nil
}

// KeyOf returns the key of a file, and whether its extension is that of an object. A file of
// another extension is an object only if it is a frame.
func KeyOf(name string) (key string, known bool) {
	ext := path.Ext(name)
	if base := path.Base(name); strings.TrimLeft(strings.TrimSuffix(base, ext), ".") == "" {
		ext = "" // as in Python, dots at the beginning do not begin an extension
	}
	return "/" + strings.TrimSuffix(name, ext), ext == ArrayExt || ext == FrameExt || ext == BatchExt
}

// Embedded is an object inside the values of a frame.
type Embedded struct {
	Key            string
	Offset, Length int64
	Remote         string // URL of an object on a server, which is not in the frame; "" if it is
}

// ParseMap parses the content of the metalayer MapLayer of a frame with values of size bytes. The
// objects are sorted by key.
//
// It returns format.ErrCorrupt for content of another form, ranges beyond the values, objects that
// overlap, and invalid keys, format.ErrLimit, or the errors of msgpack.Parse.
func ParseMap(content []byte, size int64, l Limits) ([]Embedded, error) {
	l = l.filled()
	bad := func(what, got, want string, err error) error {
		return &format.Error{Format: "b2e map", What: what, Got: got, Want: want, Err: err}
	}
	v, err := msgpack.Parse(content)
	if err != nil {
		return nil, err
	}
	top, _ := v.(msgpack.Map)
	inner, _ := top.Get("embed_map")
	keys, ok := inner.(msgpack.Map)
	switch {
	case !ok:
		return nil, bad("embed_map", fmt.Sprintf("%T", inner), "a map", format.ErrCorrupt)
	case !hasKey(top, "current_offset"): // python-blosc2 opens no store without it
		return nil, bad("current_offset", "no such key", "the end of the last object", format.ErrCorrupt)
	case len(keys) > l.Objects:
		return nil, bad("embed_map", fmt.Sprintf("%d keys", len(keys)), fmt.Sprintf("at most %d", l.Objects), format.ErrLimit)
	}
	out := make([]Embedded, 0, len(keys))
	for _, p := range keys {
		key, ok1 := p.Key.(string)
		at, ok2 := p.Value.(msgpack.Map)
		what := fmt.Sprintf("key %.60q", key)
		if !ok1 || !ok2 || !strings.HasPrefix(key, "/") || checkPath(key[1:]) != nil {
			return nil, bad(what, fmt.Sprintf("%T: %T", p.Key, p.Value), "a path that begins with / and names a range", format.ErrCorrupt)
		}
		e := Embedded{Key: key}
		if base, remote := at.Get("urlbase"); remote && base != nil {
			target, _ := at.Get("path")
			e.Remote = fmt.Sprint(base, " ", target)
			out = append(out, e)
			continue
		}
		offset, _ := at.Get("offset")
		length, _ := at.Get("length")
		e.Offset, ok1 = offset.(int64)
		e.Length, ok2 = length.(int64)
		if !ok1 || !ok2 || e.Offset < 0 || e.Length < 0 || e.Offset > size || e.Length > size-e.Offset {
			return nil, bad(what, fmt.Sprintf("%v bytes at %v", length, offset), fmt.Sprintf("a range of the %d bytes of values", size), format.ErrCorrupt)
		}
		out = append(out, e)
	}
	if err := apart(out, bad); err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b Embedded) int { return strings.Compare(a.Key, b.Key) })
	for i := 1; i < len(out); i++ {
		if out[i].Key == out[i-1].Key {
			return nil, bad(fmt.Sprintf("key %.60q", out[i].Key), "two objects of that key", "one", format.ErrCorrupt)
		}
	}
	return out, nil
}

func hasKey(m msgpack.Map, key string) bool {
	_, found := m.Get(key)
	return found
}

// apart returns an error if two objects overlap.
func apart(all []Embedded, bad func(what, got, want string, err error) error) error {
	all = slices.DeleteFunc(slices.Clone(all), func(e Embedded) bool { return e.Remote != "" })
	slices.SortFunc(all, func(a, b Embedded) int {
		if a.Offset != b.Offset {
			return int(min(max(a.Offset-b.Offset, -1), 1))
		}
		return int(min(max(a.Length-b.Length, -1), 1))
	})
	for i := 1; i < len(all); i++ {
		if end := all[i-1].Offset + all[i-1].Length; all[i].Offset < end {
			return bad(fmt.Sprintf("key %.60q", all[i].Key), fmt.Sprintf("its offset %d", all[i].Offset), fmt.Sprintf("at least %d, the end of %.60q", end, all[i-1].Key), format.ErrCorrupt)
		}
	}
	return nil
}

// ParseRegistry parses the content of the metalayer Registry: the kinds of objects by key, for
// example "ctable" or "remote_store".
func ParseRegistry(content []byte) (map[string]string, error) {
	v, err := msgpack.Parse(content)
	if err != nil {
		return nil, err
	}
	m, ok := v.(msgpack.Map)
	if !ok && v != nil {
		return nil, &format.Error{Format: "b2e registry", What: Registry, Got: fmt.Sprintf("%T", v), Want: "a map", Err: format.ErrCorrupt}
	}
	out := make(map[string]string, len(m))
	for _, p := range m {
		key, ok1 := p.Key.(string)
		info, ok2 := p.Value.(msgpack.Map)
		kind, _ := info.Get("kind")
		name, ok3 := kind.(string)
		if !ok1 || !ok2 || !ok3 || !strings.HasPrefix(key, "/") || key != "/" && checkPath(key[1:]) != nil {
			return nil, &format.Error{Format: "b2e registry", What: fmt.Sprintf("key %.60q", key), Got: fmt.Sprintf("%T of kind %T", p.Value, kind), Want: "a map with a kind", Err: format.ErrCorrupt}
		}
		out[key] = name
	}
	return out, nil
}
