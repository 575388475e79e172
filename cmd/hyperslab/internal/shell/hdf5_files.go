// HDF5 files that a command detects, reads several times, and closes before it writes them.

package shell

import (
	"errors"
	"os"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// HDF5Files keeps files open that a command reads several times.
type HDF5Files struct {
	app  *App
	open map[string]*hdf5File // by name
}

type hdf5File struct {
	detected *os.File // of a file that libhdf5 has not opened
	file     *h5.File
}

// HDF5Files returns an empty set of open HDF5 files.
func (a *App) HDF5Files() *HDF5Files { return &HDF5Files{app: a, open: map[string]*hdf5File{}} }

// Format returns the format of a file, and keeps an HDF5 file open.
func (s *HDF5Files) Format(name string) (hyperslab.Format, error) {
	if s.open[name] != nil {
		return hyperslab.HDF5, nil
	}
	if remote.IsURL(name) {
		return hyperslab.Sniff(name)
	}
	f, is, err := detect.OpenContent(name)
	if err != nil {
		return "", ndarray.Wrap("look at", name, err)
	}
	if is == detect.HDF5 {
		s.open[name] = &hdf5File{detected: f}
	} else {
		_ = f.Close()
	}
	return hyperslab.Format(is), nil
}

// File returns an open HDF5 file. It stays open until close or Close.
func (s *HDF5Files) File(name string) (*h5.File, error) {
	was := s.open[name]
	if was != nil && was.file != nil {
		return was.file, nil
	}
	var f *h5.File
	var err error
	if was != nil {
		f, err = s.app.openLocalHDF5(name, was.detected)
	} else {
		f, err = s.app.OpenHDF5(name)
	}
	if err != nil {
		delete(s.open, name)
		return nil, err
	}
	s.open[name] = &hdf5File{file: f}
	return f, nil
}

// CloseFile closes a file, which may be written then.
func (s *HDF5Files) CloseFile(name string) error {
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
func (s *HDF5Files) Limit() error {
	if len(s.open) < 64 {
		return nil
	}
	return s.Close()
}

// Close closes all files.
func (s *HDF5Files) Close() (err error) {
	for name := range s.open {
		err = errors.Join(err, s.CloseFile(name))
	}
	return err
}
