// One file system over several roots.

package shards

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// FS returns the file system with the files of all roots. If several roots have a file of the same
// name, such as the metadata of shards, the first root's file is used; directories are merged. FS
// is safe for concurrent use if the roots are.
func FS(roots ...fs.FS) fs.FS { return union(slices.Clone(roots)) }

type union []fs.FS

// first calls f with one root after the other, until f returns anything except fs.ErrNotExist.
func (u union) first(op, name string, f func(root fs.FS) error) error {
	if !fs.ValidPath(name) {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	for _, root := range u {
		if err := f(root); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

// Open opens a file, or a directory whose entries are those of all roots.
func (u union) Open(name string) (file fs.File, err error) {
	info, err := u.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		entries, err := u.ReadDir(name)
		return &directory{info: info, entries: entries}, err
	}
	err = u.first("open", name, func(root fs.FS) (err error) {
		file, err = root.Open(name)
		return err
	})
	return file, err
}

// Stat returns the file info, without opening the file if the root supports that.
func (u union) Stat(name string) (info fs.FileInfo, err error) {
	err = u.first("stat", name, func(root fs.FS) (err error) {
		info, err = fs.Stat(root, name)
		return err
	})
	return info, err
}

// ReadDir merges a directory of all roots, sorted by name.
func (u union) ReadDir(name string) ([]fs.DirEntry, error) {
	var all []fs.DirEntry
	found := false
	for _, root := range u {
		entries, err := fs.ReadDir(root, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = true
		all = append(all, entries...)
	}
	if !found {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	byName := func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) }
	slices.SortStableFunc(all, byName) // stable: entries of the first root stay first
	return slices.CompactFunc(all, func(a, b fs.DirEntry) bool { return a.Name() == b.Name() }), nil
}

// directory is an open directory.
type directory struct {
	info    fs.FileInfo
	entries []fs.DirEntry
	at      int
}

func (f *directory) Stat() (fs.FileInfo, error) { return f.info, nil }

func (f *directory) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.info.Name(), Err: errors.New("is a directory")}
}

func (f *directory) Close() error { return nil }

// ReadDir returns the next n entries, or all remaining ones if n <= 0 (fs.ReadDirFile).
func (f *directory) ReadDir(n int) ([]fs.DirEntry, error) {
	rest := f.entries[f.at:]
	if n > 0 {
		if len(rest) == 0 {
			return nil, io.EOF
		}
		rest = rest[:min(n, len(rest))]
	}
	f.at += len(rest)
	return slices.Clone(rest), nil
}
