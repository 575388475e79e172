// Names of the files of a directory of arrays.

package directories

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/ndarray"
)

// groupFile is the file with the attributes of a group; it is not listed as an array.
const groupFile = detect.GroupFile

// groupSpec returns the Spec of the null array with the attributes of a group.
func groupSpec(attrs []ndarray.Attr) ndarray.Spec {
	return ndarray.Spec{Null: true, DType: ndarray.DTypeOf[uint8](), Attrs: attrs}
}

const nameMax = 255 // maximum bytes of a file name

// fileName returns the file name of a group or an array.
func fileName(name string, group bool) (string, error) {
	var b strings.Builder
	dot := -1
	if group && strings.HasSuffix(name, detect.ArrayExt) {
		dot = len(name) - len(detect.ArrayExt)
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
		b.WriteString(detect.ArrayExt)
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

// exists reports whether a path leads to a file or a directory.
func exists(files fs.FS, name string) bool {
	_, err := fs.Stat(files, name)
	return err == nil
}

// child finds a member of a directory by its name.
func child(files fs.FS, dir, name string, group bool) (string, error) {
	file, err := fileName(name, group)
	if err == nil && exists(files, path.Join(dir, file)) {
		return path.Join(dir, file), nil
	}
	if !group {
		name += detect.ArrayExt
	}
	if name != filepath.Base(name) || strings.HasPrefix(name, ".") || !exists(files, path.Join(dir, name)) {
		return "", fmt.Errorf("%w: no %s in %s", ndarray.ErrNotFound, name, shown(files, dir))
	}
	return path.Join(dir, name), nil
}

// shown returns a directory in messages.
func shown(files fs.FS, dir string) string {
	if d, ok := files.(regularfile.Dir); ok {
		return d.Path(dir)
	}
	return dir
}

// groupDir returns the directory of a group.
func groupDir(files fs.FS, at string) (dir string, err error) {
	dir = "."
	for name := range strings.SplitSeq(strings.Trim(at, "/"), "/") {
		if name == "" {
			continue
		}
		if dir, err = child(files, dir, name, true); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// inBcolz returns the directory of bcolz that contains the object at a path of a directory of
// arrays, and the path in it. ok is false if the path leads through no such array.
func inBcolz(files fs.FS, at string) (in, rest string, ok bool) {
	at = strings.Trim(at, "/")
	if at == "" {
		return "", "", false
	}
	dir, parts := ".", strings.Split(at, "/")
	for i, name := range parts {
		if i == len(parts)-1 {
			if _, err := child(files, dir, name, false); err == nil {
				return "", "", false // the file NAME.b2nd hides the directory NAME
			}
		}
		var err error
		if dir, err = child(files, dir, name, true); err != nil {
			return "", "", false
		}
		if isBcolz(files, dir) {
			return dir, strings.Join(parts[i+1:], "/"), true
		}
	}
	return "", "", false
}

// isBcolz reports whether a directory contains a carray or a ctable.
func isBcolz(files fs.FS, dir string) bool {
	is, err := detect.FS(files, dir)
	return err == nil && is == detect.Bcolz
}

// arrayFile returns the file of the array at a path of a directory of arrays.
func arrayFile(files fs.FS, at string) (string, error) {
	dir, parts := ".", strings.Split(strings.Trim(at, "/"), "/")
	for _, name := range parts[:len(parts)-1] {
		var err error
		if dir, err = child(files, dir, name, true); err != nil {
			return "", err
		}
	}
	return child(files, dir, parts[len(parts)-1], false)
}

// find returns the file or the directory of bcolz with the array at a path, its format, and the
// path in it.
func find(files fs.FS, at string) (file, format, rest string, err error) {
	if in, rest, ok := inBcolz(files, at); ok {
		return in, detect.Bcolz, rest, nil
	}
	file, err = arrayFile(files, at)
	return file, detect.B2ND, "", err
}
