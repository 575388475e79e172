// Verification of directories: each file and each array below the directory is verified by itself,
// so that any number of them needs few descriptors, and none hides another.

package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5parts"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/ndarray"
)

// fileSet is a set of files. The key makes the search short.
type fileSet map[fileKey][]fs.FileInfo

type fileKey struct{ size, modified int64 }

func keyOf(x fs.FileInfo) fileKey { return fileKey{x.Size(), x.ModTime().UnixNano()} }

func (s fileSet) has(x fs.FileInfo) bool {
	for _, y := range s[keyOf(x)] {
		if os.SameFile(x, y) {
			return true
		}
	}
	return false
}

// add adds the file at path if it exists.
func (s fileSet) add(path string) {
	if x, err := os.Stat(path); err == nil {
		s[keyOf(x)] = append(s[keyOf(x)], x)
	}
}

// addSet adds all members of the HDF5 file at path.
func (s fileSet) addSet(path string) {
	f, err := h5parts.Open(path)
	if err != nil {
		return // examine has reported the error
	}
	for _, m := range f.Members()[min(1, len(f.Members())):] {
		s.add(m.Path)
	}
	f.Close() // it was only read
}

// A member is a file or an array below a directory.
type member struct {
	path string
	name string // relative to the directory, with slashes
	is   string // format, "" if it is unknown
	err  error  // reason why the format is unknown, or why the member cannot be opened
}

// isDirectory reports whether path is a directory that is no array and no container.
func isDirectory(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	is, err := detect.Dir(path)
	return is == detect.Directory || errors.Is(err, ndarray.ErrFormat)
}

// members lists the files and arrays below dir, without sidecars of digests.
func members(ctx context.Context, dir string) (list []member, err error) {
	err = filepath.WalkDir(dir+"/.", func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		rel, relErr := filepath.Rel(dir, path)
		if relErr != nil || rel == "." {
			return errors.Join(relErr, err)
		}
		m := member{path: path, name: filepath.ToSlash(rel), err: err}
		switch {
		case err != nil: // of reading a directory
		case d.IsDir():
			if m.is, m.err = detect.Content(path); m.is == detect.Directory || errors.Is(m.err, ndarray.ErrFormat) {
				return nil
			}
		case d.Type() == fs.ModeSymlink:
			m.err = fmt.Errorf("%w: a symbolic link, which may lead out of the directory", errors.ErrUnsupported)
		case !d.Type().IsRegular() && strings.HasSuffix(path, detect.ArrayExt):
			m.err = fmt.Errorf("%w: %v in the place of an array", ndarray.ErrCorrupt, d.Type())
		case !d.Type().IsRegular():
			m.err = fmt.Errorf("%w: %v, not a regular file", errors.ErrUnsupported, d.Type())
		case strings.HasSuffix(path, SidecarExt) && exists(strings.TrimSuffix(path, SidecarExt)), d.Name() == detect.DoneFile:
			return nil
		default:
			m.is, m.err = detect.Content(path)
		}
		list = append(list, m)
		if d != nil && d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	return list, err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// directory verifies all files and arrays below dir. It returns ndarray.ErrFormat if none of them
// has a known format.
func directory(ctx context.Context, dir string, o Options, seen fileSet) (*Report, error) {
	list, err := members(ctx, dir)
	if err != nil {
		return nil, err
	}
	r := &Report{Format: detect.Directory, Isolated: o.Isolated}
	known := false
	// A file without a format may be a part of another one: a member of a set of HDF5 files, or
	// elements in an external file. Therefore these files come last.
	for _, first := range []bool{true, false} {
		for _, m := range list {
			if (m.is != "") != first {
				continue
			}
			x, err := m.verify(ctx, o, r, seen)
			if err != nil {
				return nil, err
			}
			known = known || first || x != nil && x.NumDamages > 0
			if x != nil {
				if err := r.addMember(m, x, o); err != nil {
					return nil, err
				}
			}
		}
	}
	if !known {
		_, err := detect.Dir(dir)
		return nil, cmp.Or(err, fmt.Errorf("%w: a directory without arrays", ndarray.ErrFormat))
	}
	return r, nil
}

// verify returns the report of a member, or nil if it was verified as a part of another one.
func (m *member) verify(ctx context.Context, o Options, total *Report, seen fileSet) (*Report, error) {
	if info, err := os.Lstat(m.path); err == nil && seen.has(info) {
		return nil, nil
	}
	if m.is == "" {
		x := &Report{}
		return x, x.Add(Finding{What: "file", Offset: -1, Chunk: -1, Err: m.reason()}, o.MaxDamages)
	}
	o.Format, o.Digests = m.is, NoDigests
	if report := o.Progress; report != nil {
		before := *total
		o.Progress = func(p Progress) {
			report(Progress{before.Chunks + p.Chunks, before.Chunks + p.TotalChunks, before.StoredBytes + p.StoredBytes, before.DecodedBytes + p.DecodedBytes})
		}
	}
	x, err := examine(ctx, m.path, o, seen)
	switch {
	case err == nil && o.Values:
		return x, checkValues(ctx, m.path, x, &o)
	case err == nil:
		return x, nil
	case ctx.Err() != nil, errors.Is(err, worker.ErrUnavailable):
		return nil, err
	}
	// The error belongs to this member.
	x = &Report{Format: m.is}
	if !isContent(err) && !errors.Is(err, ndarray.ErrFormat) {
		err = errs.Mark(err, errors.ErrUnsupported)
	}
	return x, x.Add(Finding{What: "file", Offset: -1, Chunk: -1, Err: err}, o.MaxDamages)
}

// reason returns the error for a member without a format: corruption if its name has the extension
// of a format with a signature.
func (m *member) reason() error {
	if !errors.Is(m.err, ndarray.ErrFormat) {
		return m.err
	}
	if is, known := detect.Name(m.name); known && !netCDFClassic(m.path) {
		return &format.Error{Format: is, What: "file", Got: m.err.Error(), Want: "the signature of the format", Err: format.ErrCorrupt}
	}
	return errs.Mark(m.err, errors.ErrUnsupported)
}

// netCDFClassic reports whether a file is in one of the formats of netCDF before version 4, which
// have the extension of HDF5 files too.
func netCDFClassic(path string) bool {
	f, info, err := regularfile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 3)
	n, _ := f.ReadAt(head, 0) // a short file is not in this format
	return info.Size() > 0 && string(head[:n]) == "CDF"
}

// addMember adds the report of a member.
func (r *Report) addMember(m member, x *Report, o Options) error {
	fold(x.Damages)
	if filepath.Base(m.path) == detect.GroupFile {
		x.Arrays = 0 // the attributes of a group
	}
	if x.Isolated {
		r.Level = x.Level
	}
	r.merge(x, o.MaxDamages, func(p *Finding) {
		if p.Object == "" {
			p.Object = m.name
		} else {
			p.Object = m.name + ":/" + strings.TrimPrefix(p.Object, "/")
		}
	})
	if o.Member == nil {
		return nil
	}
	x.Path = m.path
	return o.Member(x)
}

// merge adds another report. rename changes the locations in it.
func (r *Report) merge(x *Report, most int, rename func(p *Finding)) {
	r.count(x)
	add := func(to, from []Finding) []Finding {
		for _, p := range from[:min(len(from), max(most-len(to), 0))] {
			rename(&p)
			to = append(to, p)
		}
		return to
	}
	r.Damages, r.Unchecked = add(r.Damages, x.Damages), add(r.Unchecked, x.Unchecked)
}
