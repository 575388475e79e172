// Files of the family driver: the members as one reader.

package h5parts

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/regular"
)

// File is a file, or the members of a family.
type File struct {
	files []*os.File
	step  int64 // bytes of each member except the last; 0 for a file that is no family
}

// Join returns the file of the given members in their order, which it then owns. step is the size
// of a member, which Step returns.
func Join(files []*os.File, step int64) *File { return &File{files, step} }

// Step returns the size of the members if f is the first member of a family, or 0.
func Step(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	x, err := h5file.Open(f, info.Size(), nil)
	if err != nil || x.Driver() == nil || x.Driver().ID != "NCSAfami" || x.Driver().MemberSize != uint64(info.Size()) {
		return 0, nil // not a family, or corrupt
	}
	return info.Size(), nil
}

// Open opens a file, and the other members if it is the first member of a family: the last number
// in its name, which consists of zeros, is replaced by 1, 2 and so on. It returns the errors of
// regular.Open.
func Open(path string) (_ *File, err error) {
	first, _, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	f := &File{files: []*os.File{first}}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	if f.step, err = Step(first); err != nil || f.step == 0 {
		return f, err
	}
	before, digits, after := number(path)
	for i := 1; digits > 0; i++ {
		next, _, err := regular.Open(fmt.Sprintf("%s%0*d%s", before, digits, i, after))
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, err
		}
		f.files = append(f.files, next)
	}
	return f, nil
}

// number divides a path at the last number that consists of zeros.
func number(path string) (before string, digits int, after string) {
	end := strings.LastIndexByte(path, '0') + 1
	for start := end; start > 0; start-- {
		if c := path[start-1]; c != '0' {
			if c >= '1' && c <= '9' {
				return path, 0, ""
			}
			return path[:start], end - start, path[end:]
		}
	}
	return "", end, path[end:]
}

// Files returns the open members. The File still owns them.
func (f *File) Files() []*os.File { return f.files }

// Step returns the size of a member, or 0 for a file that is no family.
func (f *File) Step() int64 { return f.step }

// Size returns the number of bytes of all members.
func (f *File) Size() (int64, error) {
	last := len(f.files) - 1
	info, err := f.files[last].Stat()
	if err != nil {
		return 0, err
	}
	return int64(last)*f.step + info.Size(), nil
}

// ReadAt implements io.ReaderAt.
func (f *File) ReadAt(b []byte, off int64) (n int, err error) {
	if f.step == 0 {
		return f.files[0].ReadAt(b, off)
	}
	if off < 0 {
		return 0, fmt.Errorf("%w: offset %d", fs.ErrInvalid, off)
	}
	for n < len(b) {
		i, at := off/f.step, off%f.step
		if i >= int64(len(f.files)) {
			return n, io.EOF
		}
		k, err := f.files[i].ReadAt(b[n:n+int(min(int64(len(b)-n), f.step-at))], at)
		n += k
		off += int64(k)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// Close closes all members.
func (f *File) Close() error {
	var err error
	for _, x := range f.files {
		err = errors.Join(err, x.Close())
	}
	return err
}
