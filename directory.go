// Directories of arrays: a tree in the file system.
//
// A group is a directory, and an array NAME is the file NAME.b2nd in it. The attributes of a group
// are those of its null array __group__.b2nd. CopyTree writes that file in every group, and
// listings omit it. In names, bytes that are special in file systems are written as %XX: control
// characters, % and \ and :, a dot at the beginning, an underscore before another one at the
// beginning, and the dot of a group's name that ends in ".b2nd".
//
// Directories made by other programs are trees too if they contain a file or a sparse frame
// NAME.b2nd, or a directory NAME of bcolz: a carray is the array NAME, and a ctable is the group
// NAME of its columns. Other files in them are listed with the kind Other.

package hyperslab

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

const (
	groupFile = detect.GroupFile // the file with the attributes of a group; it is not listed as an array
	arrayExt  = detect.ArrayExt
	nameMax   = 255 // maximum bytes of a file name
)

// fileName returns the file name of a group or an array.
func fileName(name string, group bool) (string, error) {
	var b strings.Builder
	dot := -1
	if group && strings.HasSuffix(name, arrayExt) {
		dot = len(name) - len(arrayExt)
	}
	for i := range len(name) {
		c := name[i]
		if c < ' ' || c == 0x7f || strings.IndexByte(`%/\:`, c) >= 0 || i == 0 && c == '.' || i == dot ||
			i == 0 && strings.HasPrefix(name, "__") {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	if !group {
		b.WriteString(arrayExt)
	}
	if b.Len() > nameMax || name == "" {
		return "", fmt.Errorf("%w: name %.40q of %d bytes in a directory, at most %d", errors.ErrUnsupported, name, len(name), nameMax)
	}
	return b.String(), nil
}

// entryName is the inverse of fileName. A name that fileName does not write is returned unchanged.
func entryName(file string) string {
	if name, err := url.PathUnescape(file); err == nil && !strings.Contains(name, "/") {
		return name
	}
	return file
}

// child finds a member of a directory by its name.
func child(dir, name string, group bool) (string, error) {
	file, err := fileName(name, group)
	if err == nil && regularfile.Exists(filepath.Join(dir, file)) {
		return filepath.Join(dir, file), nil
	}
	if !group {
		name += arrayExt
	}
	if name != filepath.Base(name) || strings.HasPrefix(name, ".") || !regularfile.Exists(filepath.Join(dir, name)) {
		return "", fmt.Errorf("%w: no %s in %s", ndarray.ErrNotFound, name, dir)
	}
	return filepath.Join(dir, name), nil
}

// bcolzIn returns the location in the bcolz array or table that contains the object at a path of a
// directory tree. ok is false if the path leads through none.
func bcolzIn(l locate.Location) (in locate.Location, ok bool) {
	object := strings.Trim(l.Object, "/")
	if object == "" {
		return l, false
	}
	dir, parts := l.File, strings.Split(object, "/")
	for i, name := range parts {
		if i == len(parts)-1 {
			if _, err := child(dir, name, false); err == nil {
				return l, false // the file NAME.b2nd hides the directory NAME
			}
		}
		var err error
		if dir, err = child(dir, name, true); err != nil {
			return l, false
		}
		if isBcolz(dir) {
			return locate.Location{File: dir, Object: strings.Join(parts[i+1:], "/")}, true
		}
	}
	return l, false
}

// isBcolz reports whether a directory is an array or a table of bcolz.
func isBcolz(dir string) bool {
	is, err := detect.Dir(dir)
	return err == nil && is == detect.Bcolz
}

// placed returns the location and the format of the bcolz array or table that contains the object
// at a location of a directory tree, or the location and the format unchanged. An untrusted array
// or table is checked. The caller calls done after the last use.
func (w *walker) placed(l locate.Location, f Format) (_ locate.Location, _ Format, done func() error, err error) {
	nothing := func() error { return nil }
	if f != Directory {
		return l, f, nothing, nil
	}
	in, ok := bcolzIn(l)
	if !ok || w.suspect == nil {
		if ok {
			f = Bcolz
		}
		return in, f, nothing, nil
	}
	s, err := w.suspect.inside(in.File)
	if err != nil {
		return l, f, nil, err
	}
	if err := errors.Join(s.check(w.ctx), s.thaw()); err != nil {
		return l, f, nil, errors.Join(err, s.close())
	}
	return locate.Location{File: worker.FilePath(s.file), Object: in.Object}, Bcolz, s.close, nil
}

// bcolzMember lists a bcolz array or table of a directory tree, from one of its paths on. at is the
// path of the array or table in the tree. If it cannot be opened, it is an entry with an error.
func (w *walker) bcolzMember(l locate.Location, at string) error {
	inside := locate.Location{File: l.File, Object: strings.Trim(at, "/") + "/" + l.Object}
	dir, _ := bcolzIn(inside)
	in, _, done, err := w.placed(inside, Directory)
	moved := func(e Entry) Entry {
		e.Path = at + strings.TrimSuffix(e.Path, "/")
		if below, ok := strings.CutPrefix(e.Meta.Path, in.File); ok { // of an untrusted file: a descriptor
			e.Meta.Path = dir.File + below
		}
		return e
	}
	sub := *w
	sub.yield = func(e Entry, err error) bool { return w.yield(moved(e), err) }
	if w.skip != nil {
		sub.skip = func(e Entry) bool { return w.skip(moved(e)) }
	}
	if err == nil {
		err = errors.Join(sub.bcolz(in), done())
	}
	if err == nil || errors.Is(err, errStop) || sub.count > w.count || w.ctx.Err() != nil {
		w.count = sub.count
		return err
	}
	return w.emit(Entry{Path: at, Kind: Array, Err: err})
}

// arrayFile returns the file of the array at a path of a directory tree.
func arrayFile(l locate.Location) (string, error) {
	dir := l.File
	parts := strings.Split(strings.Trim(l.Object, "/"), "/")
	for _, name := range parts[:len(parts)-1] {
		var err error
		if dir, err = child(dir, name, true); err != nil {
			return "", err
		}
	}
	return child(dir, parts[len(parts)-1], false)
}

// directory lists a directory of arrays, from one of its paths on.
func (w *walker) directory(l locate.Location) error {
	object := strings.Trim(l.Object, "/")
	if object == "" {
		return w.members(l.File, l.File, "/")
	}
	if file, err := arrayFile(l); err == nil {
		return w.member(file, "/"+object)
	}
	if in, ok := bcolzIn(l); ok {
		at := strings.TrimSuffix(strings.TrimSuffix("/"+object, in.Object), "/")
		return w.bcolzMember(locate.Location{File: l.File, Object: in.Object}, at)
	}
	dir := l.File
	for name := range strings.SplitSeq(object, "/") {
		var err error
		if dir, err = child(dir, name, true); err != nil {
			return err
		}
	}
	return w.members(l.File, dir, "/"+object)
}

// member lists an array of a directory. An array that cannot be opened is an entry with an error.
func (w *walker) member(file, at string) error {
	n := w.count
	err := w.frame(file, at)
	if err == nil || errors.Is(err, errStop) || w.count > n || w.ctx.Err() != nil {
		return err
	}
	return w.emit(Entry{Path: at, Kind: Array, Err: err})
}

// members lists a group of the directory tree root, whose directory is dir, and its members.
func (w *walker) members(root, dir, at string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	e := Entry{Path: at, Kind: Group}
	attrs, err := w.directoryAttrs(dir)
	e.Attrs, e.Err = len(attrs.List)+len(attrs.Unsupported), err
	if stop, err := w.prune(e); stop || err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(entryName(a.Name()), entryName(b.Name())) })
	for _, x := range entries {
		path, name := filepath.Join(dir, x.Name()), x.Name()
		under := strings.TrimSuffix(at, "/") + "/"
		info, err := os.Stat(path)
		switch {
		case x.Type()&os.ModeSymlink != 0: // listed but not followed, because it may lead to a cycle
			var target string
			if target, err = os.Readlink(path); err == nil {
				err = w.emit(Entry{Path: under + entryName(strings.TrimSuffix(name, arrayExt)), Kind: Link, LinkKind: "symbolic", Target: target})
			}
		case err == nil && name == groupFile:
			continue
		case err == nil && strings.HasSuffix(name, arrayExt):
			err = w.member(path, under+entryName(strings.TrimSuffix(name, arrayExt)))
		case err == nil && info.IsDir() && isBcolz(path):
			err = w.bcolzMember(locate.Location{File: root}, under+entryName(name))
		case err == nil && info.IsDir():
			err = w.members(root, path, under+entryName(name))
		default:
			err = w.emit(Entry{Path: under + entryName(name), Kind: Other, Err: err})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// directoryAttrs reads the attributes of a group of a directory tree.
func (w *walker) directoryAttrs(dir string) (attrs ndarray.Attrs, err error) {
	name := filepath.Join(dir, groupFile)
	if !regularfile.Exists(name) {
		return attrs, nil
	}
	file, done, err := w.reach(name)
	if err != nil {
		return attrs, err
	}
	defer func() { err = errors.Join(err, done()) }()
	b, err := b2nd.Open(file, nil)
	if err != nil {
		return attrs, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	return attrsOf(w.ctx, b)
}
