// Options, rules and findings, and the choice of the reader.

package scan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/format/npy"
)

// Level is the severity of a finding, in the terms of SARIF 2.1.0.
type Level string

// The levels.
const (
	Note    Level = "note"
	Warning Level = "warning"
	Error   Level = "error"
)

// Rule is one kind of finding.
type Rule struct {
	ID    string
	Level Level
	Text  string // a sentence that describes the findings
}

// The rules.
var (
	ExternalLink    = Rule{"external-link", Warning, "An HDF5 external link leads to an object in another file."}
	UserLink        = Rule{"user-link", Warning, "An HDF5 link has a user-defined type. The code of a plug-in follows it."}
	SoftLink        = Rule{"soft-link", Warning, "An HDF5 soft link leads through an external or user-defined link."}
	ExternalStorage = Rule{"external-storage", Warning, "The elements of an HDF5 dataset are in other files."}
	VirtualSource   = Rule{"virtual-source", Warning, "A virtual HDF5 dataset has a source in another file."}
	Reference       = Rule{"external-reference", Warning, "An HDF5 reference leads to an object in another file."}
	FileMember      = Rule{"file-member", Warning, "The file is one member of an HDF5 file that consists of several files."}
	ComputedValues  = Rule{"computed-values", Warning, "The values of a Blosc2 array are computed or fetched from elsewhere when python-blosc2 opens it."}
	PickledObjects  = Rule{"pickled-objects", Error, "A bcolz array contains Python pickles, which can run any code when bcolz reads them."}
	IrregularFile   = Rule{"irregular-file", Warning, "A directory contains a symbolic link, a named pipe, a socket or a device."}
	PluginFilter    = Rule{"plugin-filter", Warning, "An HDF5 dataset needs a filter that libhdf5 has only as a plug-in."}
	PluginCodec     = Rule{"plugin-codec", Warning, "Blosc data needs a codec or filter without bounds checks, or one that C-Blosc2 has only as a plug-in."}
	Limit           = Rule{"limit", Warning, "A declared size exceeds a limit."}
	Expansion       = Rule{"expansion", Warning, "The declared size of an array is many times the bytes that are stored for it."}
	Structure       = Rule{"structure", Error, "A structure contradicts the format."}
	NotExamined     = Rule{"not-examined", Warning, "A part of the file could not be examined."}
)

// Rules returns all rules.
func Rules() []Rule {
	return []Rule{
		ExternalLink, UserLink, SoftLink, ExternalStorage, VirtualSource, Reference, FileMember, ComputedValues, PickledObjects,
		IrregularFile, PluginFilter, PluginCodec, Limit, Expansion, Structure, NotExamined,
	}
}

// Options are the limits of a scan.
type Options struct {
	Array    int64 // maximum bytes of the elements of one array, as its shape declares
	Chunk    int64 // maximum bytes of a decoded chunk
	Metadata int64 // maximum bytes of one structure of metadata
	Ratio    int64 // maximum ratio of declared to stored bytes of an array
	Findings int   // maximum number of findings that are kept

	// Exclude contains IDs of rules whose findings are ignored.
	Exclude map[string]bool
	// KnownFilter reports whether the program can decode an HDF5 filter.
	KnownFilter func(id int) bool
}

// smallestExpansion is the number of declared bytes below which no ratio is reported, because an
// array of this size is harmless at any ratio.
const smallestExpansion = 64 << 20

// Finding is one result of a scan.
type Finding struct {
	Rule   Rule
	Level  Level  // the level of the rule, except that a filter that the program can decode is a Note
	Object string // path inside the file; "" for the file as a whole
	File   string // path from the root of a scanned directory; "" otherwise
	Offset int64  // bytes from the start of the file; -1 if unknown
	Text   string
}

// Report is the result of the scan of one file.
type Report struct {
	Format   string    // hdf5, b2nd, caterva, blosc2, b2z, b2d, b2e, bcolz or directory
	Findings []Finding // the first Options.Findings
	Count    int64     // all findings
	Worst    Level     // the highest level of all findings; "" without findings
}

// ErrFormat is the error for a file of an unknown format.
var ErrFormat = errs.New("unknown format")

// File scans the file or directory name.
func File(ctx context.Context, name string, o Options) (*Report, error) {
	s := &scanner{ctx: ctx, o: o, report: &Report{}}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		err = s.directory(name)
	} else {
		err = s.open(name)
	}
	if err != nil {
		return nil, err
	}
	return s.report, nil
}

// scanner is the scan of one file or directory.
type scanner struct {
	ctx    context.Context
	o      Options
	report *Report
	file   string // in a directory, the file or subdirectory that is being scanned
	within string // in a ZIP file, the member that is being scanned, and its offset
	base   int64
}

// add adds a finding.
func (s *scanner) add(r Rule, object string, offset int64, text string, args ...any) {
	s.addLevel(r, r.Level, object, offset, text, args...)
}

func (s *scanner) addLevel(r Rule, l Level, object string, offset int64, text string, args ...any) {
	if s.o.Exclude[r.ID] {
		return
	}
	if l == Error || l == Warning && s.report.Worst != Error || s.report.Worst == "" {
		s.report.Worst = l
	}
	if offset >= 0 {
		offset += s.base
	}
	object = s.within + object
	if s.report.Count++; len(s.report.Findings) < s.o.Findings {
		s.report.Findings = append(s.report.Findings, Finding{r, l, object, s.file, offset, fmt.Sprintf(text, args...)})
	}
}

// fail adds an error of a reader as a finding. It returns only errors of the context.
func (s *scanner) fail(object string, err error) error {
	if err == nil || s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	offset := int64(-1)
	if e, ok := errors.AsType[*format.Error](err); ok {
		offset = e.Offset
	}
	s.add(ruleOf(err), object, offset, "%v", err)
	return nil
}

// ruleOf returns the rule for an error of a reader.
func ruleOf(err error) Rule {
	switch {
	case errors.Is(err, format.ErrLimit):
		return Limit
	case newer(err), errors.Is(err, fs.ErrPermission), errors.Is(err, format.ErrUnsupported) && !errors.Is(err, format.ErrVersion):
		return NotExamined
	}
	return Structure
}

// newer reports an unknown version of a structure that gets new versions. An unknown version of any
// other structure is corrupt.
func newer(err error) bool {
	e, ok := errors.AsType[*format.Error](err)
	return ok && errors.Is(err, format.ErrVersion) && e.Got != "0" && (e.Format != "hdf5" || slices.ContainsFunc(
		[]string{"superblock", "datatype", "data layout"}, func(s string) bool { return strings.HasPrefix(e.What, s) }))
}

// size checks the declared bytes of an array against the limits; stored are the bytes that the
// file has for it.
func (s *scanner) size(object string, declared, stored uint64) {
	if declared > uint64(s.o.Array) {
		s.add(Limit, object, -1, "the array declares %d bytes of elements: limit %d", declared, s.o.Array)
	}
	if declared >= smallestExpansion && declared/uint64(s.o.Ratio) > max(stored, 1) {
		s.add(Expansion, object, -1, "the array declares %d bytes of elements and stores %d: limit of the ratio %d", declared, stored, s.o.Ratio)
	}
}

// chunkSize checks the declared bytes of a chunk.
func (s *scanner) chunkSize(object string, declared uint64) {
	if declared > uint64(s.o.Chunk) {
		s.add(Limit, object, -1, "a chunk declares %d bytes: limit %d", declared, s.o.Chunk)
	}
}

// open scans a file that the caller named.
func (s *scanner) open(name string) (err error) {
	f, info, err := regularfile.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	s.report.Format, err = s.regular(f, info.Size(), name)
	return err
}

// regular scans a file and returns its format.
func (s *scanner) regular(r io.ReaderAt, size int64, name string) (string, error) {
	head := make([]byte, min(size, 10))
	if _, err := r.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if len(head) == 10 && string(head[2:]) == "b2frame\x00" {
		f, err := cframe.ReadLimits(r, size, s.frameLimits())
		return s.frame(f, err, size)
	}
	if b2store.IsZip(head) {
		is, err := b2store.IsStore(r, size)
		if is || strings.EqualFold(path.Ext(name), ".b2z") {
			return "b2z", s.zip(r, size)
		}
		if err != nil {
			return "", err
		}
	}
	if strings.HasPrefix(string(head), npy.Magic) {
		return "npy", s.npy(r, size)
	}
	limits := h5file.DefaultLimits()
	limits.Structure = s.o.Metadata
	f, err := h5file.Open(r, size, &limits)
	switch {
	case errors.Is(err, format.ErrMagic):
		return "", fmt.Errorf("%w: neither an HDF5 file nor a Blosc2 frame nor .b2z nor .npy", ErrFormat)
	case err != nil:
		return "hdf5", s.fail("", err)
	}
	return "hdf5", s.hdf5(f, r, size)
}

// npy scans a file of NumPy, whose header is its only structure.
func (s *scanner) npy(r io.ReaderAt, size int64) error {
	a, err := npy.Open(r, size)
	if err != nil {
		return s.fail("", err)
	}
	s.size("", uint64(a.NumBytes()), uint64(size-a.Offset))
	return nil
}

// directory scans a sparse frame, a bcolz tree, or a directory of such files.
func (s *scanner) directory(name string) (err error) {
	dir, err := regularfile.Freeze(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	if err := s.irregular(dir); err != nil {
		return err
	}
	s.report.Format = "directory"
	if _, err := dir.Lstat(b2store.EmbedFile); err == nil {
		s.report.Format = "b2d"
	}
	known, err := s.below(dir, ".")
	if err == nil && !known {
		err = fmt.Errorf("%w: the directory contains no array", ErrFormat)
	}
	return err
}

// below scans the directory at of dir and reports whether it contains an array.
func (s *scanner) below(dir *regularfile.Frozen, at string) (known bool, err error) {
	if err := s.ctx.Err(); err != nil {
		return false, err
	}
	s.file = ""
	if at != "." {
		s.file = at
	}
	defer func() { s.file = "" }()
	_, err = dir.Lstat(path.Join(at, cframe.IndexFile))
	sparse := err == nil
	kind := bcolztree.NotATree
	if !sparse {
		if kind, err = bcolztree.Detect(dir, at); err != nil {
			return true, s.fail("", err)
		}
	}
	if found := "bcolz"; sparse || kind != bcolztree.NotATree {
		if sparse {
			found, err = s.sparse(dir, at)
		} else {
			err = s.tree(dir, at, kind)
		}
		if at == "." {
			s.report.Format = found
		}
		return true, err
	}
	entries, err := dir.ReadDir(at)
	if err != nil {
		return true, s.fail("", err)
	}
	for _, e := range entries {
		name, found := path.Join(at, e.Name()), false
		switch {
		case e.IsDir():
			found, err = s.below(dir, name)
		case e.Type().IsRegular():
			found, err = s.member(dir, name)
		}
		if err != nil {
			return false, err
		}
		known = known || found
	}
	return known, nil
}

// member scans a file of a directory and reports whether its format is known.
func (s *scanner) member(dir *regularfile.Frozen, name string) (known bool, err error) {
	s.file = name
	defer func() { s.file = "" }()
	f, err := dir.Open(name)
	if err != nil {
		return true, s.fail("", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return true, err
	}
	_, err = s.regular(f.(io.ReaderAt), info.Size(), name)
	if errors.Is(err, ErrFormat) {
		return false, nil
	}
	return true, err
}

// irregular reports the entries of a directory that are neither files nor directories.
func (s *scanner) irregular(dir *regularfile.Frozen) error {
	return fs.WalkDir(dir, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return s.fail("", err)
		case e.Type() == fs.ModeSymlink:
			where := "a target in the directory"
			if _, err := dir.Stat(name); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) {
				where = "no file"
			} else if err != nil {
				where = "a target outside the directory"
			}
			s.add(IrregularFile, "", -1, "%s: a symbolic link to %s", name, where)
		case !e.IsDir() && !e.Type().IsRegular():
			s.add(IrregularFile, "", -1, "%s: got %s, want a regular file", name, e.Type())
		}
		return s.ctx.Err()
	})
}
