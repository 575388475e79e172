// HDF5 files that one operation detects, reads several times, and closes before it writes them.

package opened

import (
	"context"
	"errors"
	"os"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5walk"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/ndarray"
)

// mostFiles is the number of files from which on Limit closes them.
const mostFiles = 64

// Files keeps HDF5 files open for reading. The zero value is empty.
type Files struct {
	Unlocked func(file string, err error) // as in OpenOptions of package hyperslab

	open map[string]*openFile // by name
}

type openFile struct {
	detected *os.File // of a file that libhdf5 has not opened
	file     *h5.File
}

// Format returns the format of a file, and keeps an HDF5 file open.
func (s *Files) Format(name string) (string, error) {
	if s.open[name] != nil {
		return detect.HDF5, nil
	}
	if urlfile.IsURL(name) {
		return Sniff(name)
	}
	f, is, err := detect.OpenContent(name)
	if err != nil {
		return "", ndarray.Wrap("look at", name, err)
	}
	if is == detect.HDF5 {
		s.keep(name, &openFile{detected: f})
		return is, nil
	}
	_ = f.Close() // nil for a directory
	return is, nil
}

func (s *Files) keep(name string, f *openFile) {
	if s.open == nil {
		s.open = make(map[string]*openFile)
	}
	s.open[name] = f
}

// HDF5 returns the open HDF5 file of a name, which may be a URL. It stays open until CloseFile,
// Limit or Close.
func (s *Files) HDF5(ctx context.Context, name string) (*h5.File, error) {
	was := s.open[name]
	if was == nil {
		was = &openFile{}
	}
	if was.file != nil {
		return was.file, nil
	}
	delete(s.open, name)
	f, err := OpenHDF5(ctx, name, was.detected, s.Unlocked)
	if err != nil {
		return nil, err
	}
	s.keep(name, &openFile{file: f})
	return f, nil
}

// OpenHDF5 opens an HDF5 file or a URL for reading, and takes detected: the same file, or nil.
// unlocked is as in OpenOptions of package hyperslab.
func OpenHDF5(ctx context.Context, name string, detected *os.File, unlocked func(file string, err error)) (*h5.File, error) {
	if urlfile.IsURL(name) {
		o, err := urlfile.Get().Open(ctx, name)
		if err != nil {
			return nil, err
		}
		f, err := h5.OpenReaderAt(o, o.Size(), &h5.ReaderOptions{BlockSize: 512, Blocks: 256, Concurrent: true, Close: o.Close})
		if err != nil {
			err = errors.Join(err, o.Close())
		}
		return f, err
	}
	f, err := h5walk.Open(name, detected)
	if err != nil {
		return nil, err
	}
	if why := f.Unlocked(); why != nil && unlocked != nil {
		unlocked(name, why)
	}
	return f, nil
}

// CloseFile closes a file, which may be written then.
func (s *Files) CloseFile(name string) error {
	f := s.open[name]
	delete(s.open, name)
	switch {
	case f == nil:
		return nil
	case f.file != nil:
		return f.file.Close()
	}
	return f.detected.Close()
}

// Limit closes all files if there are many. It may be called while none is in use.
func (s *Files) Limit() error {
	if len(s.open) < mostFiles {
		return nil
	}
	return s.Close()
}

// Close closes all files.
func (s *Files) Close() (err error) {
	for name := range s.open {
		err = errors.Join(err, s.CloseFile(name))
	}
	return err
}
