// Detection of changes by programs that do not take part in locks.

package regularfile

import (
	"io/fs"
	"os"
	"path/filepath"
)

// State identifies the content of a file or of all files of a directory by inodes, lengths and
// modification times.
type State struct {
	path  string
	files map[string]fs.FileInfo // by path
}

// Observe returns the state of a file or directory.
func Observe(path string) (*State, error) {
	s := &State{path, map[string]fs.FileInfo{}}
	if info, err := os.Lstat(path); err != nil || !info.IsDir() {
		s.files[path] = info
		return s, err
	}
	err := filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		s.files[name], err = d.Info()
		return err
	})
	return s, err
}

// Check returns ErrReplaced if a file was changed, added or removed after Observe.
func (s *State) Check() error {
	now, err := Observe(s.path)
	if err != nil {
		return err
	}
	same := len(now.files) == len(s.files)
	for name, info := range s.files {
		is := now.files[name]
		same = same && is != nil && (info.IsDir() && os.SameFile(info, is) || Same(info, is))
	}
	if !same {
		return &fs.PathError{Op: "replace", Path: s.path, Err: ErrReplaced}
	}
	return nil
}
