// Sources of readers and file systems of a program.

package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/hyperslab/hyperslab/internal/files/archive"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/files/strict"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Reader returns the Source of size bytes that r reads. name is the name of the file in messages.
// The bytes of a trusted Source are read from r when they are needed, by several goroutines. Those
// of an untrusted one are copied into memory, so that the checked bytes are the ones that are read;
// an *os.File of that size is opened again instead. The caller closes r: after the Source, or after
// this call if the Source is untrusted.
func Reader(ctx context.Context, r io.ReaderAt, size int64, name string, trust *Trust) (*Source, error) {
	x, err := strict.ReaderAt(r, size, nil)
	if err != nil {
		return nil, err
	}
	if trust == nil {
		return contentOf(x, name, nil)
	}
	f, err := reopened(r, size)
	if f == nil && err == nil {
		f, err = inMemory(ctx, x, trust.Limits.Copy)
	}
	if err != nil {
		return nil, err
	}
	return Checked(f, name, trust)
}

// reopened opens a regular file of size bytes again. It returns nil for another reader.
func reopened(r io.ReaderAt, size int64) (*os.File, error) {
	f, ok := r.(*os.File)
	if !ok {
		return nil, nil
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() != size {
		return nil, err
	}
	return os.OpenFile(worker.FilePath(f), os.O_RDONLY, 0)
}

// inMemory returns a file with the bytes of r, which are at most most.
func inMemory(ctx context.Context, r *strict.Reader, most int64) (*os.File, error) {
	if err := urlfile.CheckSize(r.Size(), most); err != nil {
		return nil, err
	}
	return regularfile.Memory(func(f *os.File) error {
		_, err := io.Copy(f, urlfile.Reader(ctx, io.NewSectionReader(r, 0, r.Size())))
		return err
	})
}

// contentOf returns the Source of a reader, which it closes.
func contentOf(r *strict.Reader, name string, trust *Trust) (*Source, error) {
	s := &Source{Name: name, File: r, Size: r.Size(), Trust: trust}
	s.found, s.err = detect.Reader(r, s.Size, name)
	return s.known()
}

// known returns the Source unless it cannot be read. A driver may know more formats than package
// detect.
func (s *Source) known() (*Source, error) {
	if s.err != nil && !errors.Is(s.err, ndarray.ErrFormat) {
		return nil, errors.Join(s.err, s.Close())
	}
	return s, nil
}

// FS returns the Source of the file or the directory with a name in a file system. Files that are
// no io.ReaderAt are read into memory when they are opened, at most the default of
// format.Limits.Copy.
//
// The bytes of an untrusted Source are copied as by Reader, a directory with all files below it. If
// fsys opens an *os.File, for example that of os.DirFS, it is used as it is.
func FS(ctx context.Context, fsys fs.FS, name string, trust *Trust) (*Source, error) {
	if fsys == nil || !fs.ValidPath(name) {
		return nil, fmt.Errorf("%w: a name in a file system: got %q, want one that fs.ValidPath accepts", ndarray.ErrParam, name)
	}
	limits, err := format.Limits{}.Filled()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	if trust != nil {
		limits = trust.Limits
	}
	files := strict.Files(fsys, limits.Copy)
	if trust == nil {
		return within(files, name, name, nil)
	}
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	if x, ok := strict.Unwrap(f).(*os.File); ok {
		return Checked(x, name, trust)
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		return archived(ctx, files, name, trust, f.Close())
	}
	var s *Source
	if err == nil {
		s, err = Reader(ctx, f.(*strict.File), info.Size(), name, trust)
	}
	if err = errors.Join(err, f.Close()); err != nil && s != nil {
		err = errors.Join(err, s.Close())
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// within returns the Source of the file or the directory at a path of a file system whose files are
// strict.
func within(files fs.FS, at, name string, trust *Trust) (*Source, error) {
	f, err := files.Open(at)
	if err != nil {
		return nil, err
	}
	if x, ok := f.(*strict.File); ok {
		return contentOf(x.Reader, name, trust)
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	dir, err := fs.Sub(files, at)
	if err != nil {
		return nil, err
	}
	s := &Source{Name: name, Trust: trust, dir: func(context.Context) (fs.FS, error) { return dir, nil }}
	s.found, s.err = detect.FS(dir, ".")
	return s.known()
}

// archived returns the Source of a copy of the directory at a path of a file system.
func archived(ctx context.Context, files fs.FS, name string, trust *Trust, err error) (*Source, error) {
	if err != nil {
		return nil, err
	}
	dir, err := fs.Sub(files, name)
	if err != nil {
		return nil, err
	}
	f, err := regularfile.Memory(func(f *os.File) error { return archive.Write(cancelled{ctx, f}, dir, trust.Limits.Copy) })
	if err != nil {
		return nil, err
	}
	s, err := Archived(f, name, trust)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return s, nil
}

// cancelled is a writer that ends with a context.
type cancelled struct {
	ctx context.Context
	w   io.Writer
}

func (c cancelled) Write(p []byte) (int, error) {
	if err := context.Cause(c.ctx); err != nil {
		return 0, err
	}
	return c.w.Write(p)
}

// Archived returns the Source of the untrusted directory in an archive. After an error the file
// belongs to the caller.
func Archived(f *os.File, name string, trust *Trust) (*Source, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	dir, err := archive.Open(f, info.Size())
	if err != nil {
		return nil, err
	}
	files := strict.Files(dir, trust.Limits.Copy)
	s := &Source{Name: name, OS: f, Trust: trust, dir: func(context.Context) (fs.FS, error) { return files, nil }}
	if s.found, s.err = detect.FS(files, "."); s.err != nil && !errors.Is(s.err, ndarray.ErrFormat) {
		return nil, s.err
	}
	return s, nil
}

// IsArchive reports whether the Source is a directory in an archive, whose file is OS.
func (s *Source) IsArchive() bool { return s.File == nil && s.OS != nil && s.Path == "" }

// Files returns the files of a directory of arrays, which may change. Each of them is checked when
// it is opened.
func (s *Source) Files(ctx context.Context) (fs.FS, error) {
	if s.Path != "" {
		return regularfile.Dir(s.Path), nil
	}
	return s.FS(ctx)
}

// Member opens the file or the directory at a path below a directory. Unless it is trusted and in a
// directory of the system, its format is not checked.
func (s *Source) Member(ctx context.Context, at, format string) (*Source, error) {
	switch {
	case s.Path == "":
		files, err := s.FS(ctx)
		if err != nil {
			return nil, err
		}
		return within(files, at, path.Join(s.Name, at), s.Trust)
	case s.Trust == nil:
		return ByPath(regularfile.Dir(s.Path).Path(at), format), nil
	}
	return s.Inside(at)
}
