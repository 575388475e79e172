// Copies of super-chunks, and frames written to files, moved and deleted.

package cblosc

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/guard"
)

// Copy creates a super-chunk with the same data and metalayers (blosc2_schunk_copy). It does not
// overwrite existing files.
//
// If st.CParams is nil, the copy keeps the parameters and the chunks are copied without
// recompression. Otherwise every chunk is compressed again. A new TypeSize must divide the size of
// each chunk.
//
// It returns errors.ErrUnsupported for the super-chunk of an Array, for compressing a last chunk
// again that is shorter than the others, and for compressing chunks again with three and more
// filters; ErrParam, ErrExists, the errors of reading, or an
// *Error from the library.
func (s *SChunk) Copy(st Storage) (*SChunk, error) {
	const op = "copy"
	params, err := s.CParams()
	if err != nil {
		return nil, err
	}
	same := st.CParams == nil
	if same {
		st.CParams = params
	}
	if st.DParams == nil {
		st.DParams = DefaultDParams()
		st.DParams.Allow = s.allow
	}
	st.CParams, st.DParams = st.CParams.WithDefaults(), st.DParams.filled()
	path, err := st.place()
	if err != nil {
		return nil, refused(op, st.Path, err)
	}
	if err := s.h.lock(op); err != nil {
		return nil, err
	}
	defer s.h.mu.Unlock()
	err = s.checkStored(0, int64(s.facts.nchunks))
	switch size, whole := st.CParams.TypeSize, s.facts.nbytes; {
	case err != nil:
	case !same && !params.sameChunks(st.CParams) && st.CParams.overwrites():
		err = st.CParams.checkRecompression()
	case s.array:
		err = fmt.Errorf("%w: the super-chunk of an array is copied by Array.Copy", errors.ErrUnsupported)
	case int(whole)%size != 0 || whole > 0 && int(s.facts.chunksize)%size != 0:
		err = fmt.Errorf("%w: TypeSize = %d, want one that divides chunks of %d bytes and all %d bytes", ErrParam, size, s.facts.chunksize, whole)
	case !same && whole > 0 && whole%C.int64_t(s.facts.chunksize) != 0:
		// The library would compress a short last chunk as if it had the full length.
		err = fmt.Errorf("%w: compressing a last chunk of %d bytes again, the others have %d", errors.ErrUnsupported, whole%C.int64_t(s.facts.chunksize), s.facts.chunksize)
	}
	if err != nil {
		return nil, refused(op, s.path, err)
	}
	k := st.hooks()
	cp, where := st.CParams.toC(), st.where(k)
	d := &SChunk{path: path, allow: st.allow(), framed: st.Contiguous || path != "", whole: st.Contiguous, mapping: st.Mapping,
		entire: s.entire || st.CParams.usesDelta()}
	var cerr C.goblosc2_err_t
	var c *C.goblosc2_handle_t
	if C.goblosc2_schunk_copy(&cerr, s.h.c, cPath(path), &where, &cp, &c, &d.facts) < 0 {
		return nil, s.h.hooks.explain(k.abandon(failed(op, path, &cerr)))
	}
	d.h = ownHooked(c, "SChunk", path, k)
	return d, nil
}

// Save writes the super-chunk to a new file as a contiguous frame (blosc2_schunk_to_file).
//
// It returns ErrParam for an empty path, ErrExists, fs.ErrNotExist if the parent directory is
// missing, the errors of reading, or an *Error from the library. A failure in the library may leave
// an incomplete file.
func (s *SChunk) Save(path string) error {
	const op = "save"
	st := Storage{Path: path, Contiguous: true}
	path, err := st.place()
	if err == nil && path == "" {
		err = fmt.Errorf("%w: no path", ErrParam)
	}
	if err != nil {
		return refused(op, st.Path, err)
	}
	if !s.buffered() {
		// The library would make a copy with its own parameters.
		d, err := s.Copy(st)
		if err != nil {
			return err
		}
		return d.Close()
	}
	if err := s.h.lock(op); err != nil {
		return err
	}
	defer s.h.mu.Unlock()
	var cerr C.goblosc2_err_t
	if C.goblosc2_schunk_to_file(&cerr, s.h.c, cString(path)) < 0 {
		return s.h.hooks.explain(failed(op, path, &cerr))
	}
	return nil
}

// buffered reports whether the super-chunk is a contiguous frame in memory.
func (s *SChunk) buffered() bool { return s.framed && s.path == "" && !s.onMedium() }

// onMedium reports whether the super-chunk is on storage written in Go.
func (s *SChunk) onMedium() bool { return s.h.hooks != nil && s.h.hooks.medium != nil }

// AppendToFile writes the super-chunk as a contiguous frame after the current content of the file
// (blosc2_schunk_append_file). It returns the start of the frame in bytes, the Offset for opening
// it. The file is created if it does not exist.
func (s *SChunk) AppendToFile(path string) (int64, error) {
	const op = "append to file"
	if err := checkPath(path); err != nil {
		return 0, refused(op, path, err)
	}
	if !s.buffered() {
		b, err := s.Bytes()
		if err != nil {
			return 0, err
		}
		d, err := openSChunkBytes(op, b, s.allow, nil)
		if err != nil {
			return 0, err
		}
		offset, err := d.AppendToFile(path)
		return offset, errors.Join(err, d.Close())
	}
	if err := s.h.lock(op); err != nil {
		return 0, err
	}
	defer s.h.mu.Unlock()
	var cerr C.goblosc2_err_t
	offset := C.goblosc2_schunk_append_file(&cerr, s.h.c, cString(path))
	if offset < 0 {
		return 0, s.h.hooks.explain(failed(op, path, &cerr))
	}
	return int64(offset), nil
}

// Rename changes the path of a file or a sparse directory (blosc2_rename_urlpath). It must not be
// open, and an existing file is not overwritten.
//
// It returns ErrFormat if there is no frame at from, ErrExists, fs.ErrNotExist, or an *Error from
// the library.
func Rename(from, to string) error {
	const op = "rename"
	st := Storage{Path: to}
	to, err := st.place()
	if err == nil && to == "" {
		err = fmt.Errorf("%w: no path", ErrParam)
	}
	if err != nil {
		return refused(op, st.Path, err)
	}
	if err := isFrame(from); err != nil {
		return refused(op, from, err)
	}
	var cerr C.goblosc2_err_t
	if C.goblosc2_rename(&cerr, cString(from), cString(to)) < 0 {
		return failed(op, from, &cerr)
	}
	return nil
}

// Remove deletes a file or a sparse directory (blosc2_remove_urlpath, blosc2_remove_dir). It must
// not be open.
//
// The library deletes any file or directory; Remove deletes frames only. It returns ErrFormat for a
// file that is not a frame and for a directory that holds other files than those of a frame,
// fs.ErrNotExist, or an *Error from the library.
func Remove(path string) error {
	const op = "remove"
	if err := isFrame(path); err != nil {
		return refused(op, path, err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return refused(op, path, err)
	}
	var cerr C.goblosc2_err_t
	if C.goblosc2_remove(&cerr, cString(path), cBool(info.IsDir())) < 0 {
		return failed(op, path, &cerr)
	}
	return nil
}

// isFrame verifies that path is a file that starts with a frame, or a directory that holds only the
// files of a sparse frame.
func isFrame(path string) error {
	if err := checkPath(path); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	index := path
	if info.IsDir() {
		index = filepath.Join(path, guard.IndexFile)
		list, err := os.ReadDir(path)
		if err != nil {
			return err
		}
		for _, e := range list {
			if name := e.Name(); e.IsDir() || !guard.IsFrameFile(name) {
				return fmt.Errorf("%w: %s is not a file of a sparse frame", errs.ErrInvalidKind, name)
			}
		}
	} else if err := regularfile.Check(path, info); err != nil { // also a link to a regular file
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	f, found, err := regularfile.Open(index)
	switch {
	case errors.Is(err, fs.ErrNotExist) && info.IsDir():
		return fmt.Errorf("a directory without %s: %w", guard.IndexFile, errs.ErrInvalidKind)
	case errors.Is(err, regularfile.ErrNot):
		return fmt.Errorf("%w: %w", ErrFormat, err)
	case err != nil:
		return err
	}
	defer f.Close()
	if err := guard.IsFrame(f, found.Size()); err != nil {
		return invalid(err)
	}
	return nil
}
