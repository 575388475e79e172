package detect

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/format/npy"
	"github.com/hyperslab/hyperslab/ndarray"
)

// The formats; see Format of package hyperslab.
const (
	B2ND      = "b2nd"
	HDF5      = "hdf5"
	Bcolz     = "bcolz"
	Caterva   = "caterva"
	Directory = "directory"

	B2Z = "b2z" // a ZIP file of frames
	B2D = "b2d" // a directory of frames with the file embed.b2e
	B2E = "b2e" // a frame that embeds frames

	NPY = "npy"

	Objects = "objects" // Meta.Format of an array of Python objects, whose elements are JSON
)

// IsStore reports whether a format is a container of python-blosc2.
func IsStore(f string) bool { return f == B2Z || f == B2D || f == B2E }

const (
	// ArrayExt is the extension of an array in a directory of arrays.
	ArrayExt = ".b2nd"
	// DigestsExt follows the name of a file in that of its digests.
	DigestsExt = ".sha256"
	// DoneFile is the file in a directory of targets with the sources that commands have finished.
	DoneFile = ".hyperslab-done"
	// GroupFile is the file with the attributes of a group, in a directory of arrays.
	GroupFile = "__group__" + ArrayExt
)

var extensions = map[string]string{
	".b2nd": B2ND, ".caterva": Caterva, ".bcolz": Bcolz, ".h5": HDF5, ".hdf5": HDF5, ".he5": HDF5, ".nc": HDF5,
	".b2z": B2Z, ".b2d": B2D, ".b2e": B2E, ".npy": NPY,
}

// Name returns the format of new files of that name, in upper or lower case.
func Name(file string) (f string, ok bool) {
	f, ok = extensions[strings.ToLower(filepath.Ext(file))]
	return f, ok
}

// Content returns the format of a file or directory. It returns fs.ErrNotExist, or
// ndarray.ErrFormat for an unknown format.
func Content(file string) (is string, err error) {
	f, is, err := OpenContent(file)
	if f != nil {
		err = errors.Join(err, f.Close())
	}
	return is, err
}

// OpenContent opens a file for reading and returns its format like Content. The file is that with
// the header for a sparse frame. It is nil for another directory and after an error.
func OpenContent(file string) (f *os.File, is string, err error) {
	if inside := filepath.Join(file, cframe.IndexFile); regularfile.Exists(inside) {
		f, err = openIndex(inside)
		is = B2ND
	} else {
		f, is, err = Open(file)
	}
	if err != nil || f == nil {
		return nil, is, err
	}
	if info, err := f.Stat(); err == nil {
		is = WithCaterva(is, f, info.Size())
	}
	return f, is, nil
}

// WithCaterva returns the format is of r, which has size bytes, or Caterva for a frame with a
// Caterva array.
func WithCaterva(is string, r io.ReaderAt, size int64) string {
	if is == B2ND && isCaterva(r, size) {
		return Caterva
	}
	return is
}

// isCaterva reports whether the frame in r, which has size bytes, contains a Caterva array. If it
// has both metalayers, b2nd takes precedence, as in C-Blosc2.
func isCaterva(r io.ReaderAt, size int64) bool {
	h, err := cframe.ReadHeader(r, size, cframe.DefaultLimits())
	if err != nil {
		return false
	}
	_, isB2nd := h.Metalayer(b2ndmeta.Name)
	_, is := h.Metalayer(b2ndmeta.CatervaName)
	return is && !isB2nd
}

// IsObjects reports whether the frame in r, which has size bytes, contains Python objects: an
// ObjectArray, BatchArray or ListArray.
func IsObjects(r io.ReaderAt, size int64) bool {
	h, err := cframe.ReadHeader(r, size, cframe.DefaultLimits())
	if err != nil {
		return false
	}
	_, is := h.Metalayer(b2store.ObjectLayer)
	_, batch := h.Metalayer(b2store.BatchLayer)
	return is || batch
}

// Opener is Content without Caterva: a frame is B2ND, because the same package opens both.
func Opener(file string) (string, error) {
	f, is, err := Open(file)
	if f != nil {
		err = errors.Join(err, f.Close())
	}
	return is, err
}

// Open opens a file for reading and returns its format like Opener. The file is nil for a directory
// and after an error.
func Open(file string) (*os.File, string, error) {
	info, err := os.Stat(file)
	for err == nil && info.IsDir() {
		is, failed := directory(file)
		if failed == nil {
			return nil, is, nil
		}
		before := info
		if info, err = os.Stat(file); err == nil && os.SameFile(before, info) {
			return nil, "", failed
		}
		// A writer replaced the directory and removed the old one meanwhile.
	}
	if err != nil {
		return nil, "", err
	}
	return open(file)
}

// open opens a regular file and returns its format.
func open(file string) (*os.File, string, error) {
	f, info, err := regularfile.Open(file)
	if err != nil {
		return nil, "", err
	}
	is, err := Reader(f, info.Size(), file)
	if err != nil {
		return nil, "", errors.Join(err, f.Close())
	}
	return f, is, nil
}

// directory returns the format of a directory. Unlike Dir it reads the header of a sparse frame.
func directory(dir string) (string, error) {
	index := filepath.Join(dir, cframe.IndexFile)
	if !regularfile.Exists(index) {
		return Dir(dir)
	}
	f, err := openIndex(index)
	if err != nil {
		return "", err
	}
	return B2ND, f.Close()
}

// openIndex opens the file of a sparse frame that contains its header and index.
func openIndex(index string) (*os.File, error) {
	f, is, err := open(index)
	if err != nil {
		return nil, err
	}
	switch is {
	case B2ND:
		return f, nil
	case B2E:
		err = fmt.Errorf("%w: a sparse frame that embeds frames", errors.ErrUnsupported)
	default:
		err = fmt.Errorf("%w: %s is no Blosc2 frame", ndarray.ErrFormat, index)
	}
	return nil, errors.Join(err, f.Close())
}

// frameMagic follows two bytes of MessagePack at the start of a frame.
const frameMagic = "b2frame\x00"

// HeadSize is the number of bytes that IsFrame needs.
const HeadSize = 2 + len(frameMagic)

// IsFrame reports whether a file with these first bytes is a Blosc2 frame.
func IsFrame(head []byte) bool {
	return len(head) >= HeadSize && string(head[2:HeadSize]) == frameMagic
}

// Reader returns the format of a file of size bytes: B2ND, B2E, B2Z, NPY or HDF5. A ZIP file whose
// directory cannot be read is B2Z if its name has that extension. Reader uses no C library.
func Reader(r io.ReaderAt, size int64, name string) (string, error) {
	head := make([]byte, HeadSize)
	n, err := r.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	head = head[:n]
	if IsFrame(head) {
		if h, err := cframe.ReadHeader(r, size, cframe.DefaultLimits()); err == nil {
			for _, m := range h.Metalayers {
				if b2store.IsEmbedLayer(m.Name) {
					return B2E, nil
				}
			}
		}
		return B2ND, nil
	}
	if len(head) >= len(npy.Magic) && string(head[:len(npy.Magic)]) == npy.Magic {
		return NPY, nil
	}
	if b2store.IsZip(head) {
		is, err := b2store.IsStore(r, size)
		if is || strings.EqualFold(filepath.Ext(name), "."+B2Z) {
			return B2Z, nil
		}
		if err != nil {
			return "", err
		}
	}
	if _, err := h5file.Open(r, size, nil); !errors.Is(err, format.ErrMagic) { // only its superblock matters here
		return HDF5, nil
	}
	if len(head) == 0 {
		return "", fmt.Errorf("%w: the file is empty", ndarray.ErrFormat)
	}
	return "", fmt.Errorf("%w: neither a Blosc2 frame nor an HDF5 file (begins with % x)", ndarray.ErrFormat, head)
}

// Dir returns the format of a directory. It reads no file except those of bcolz.
func Dir(dir string) (string, error) { return FS(regularfile.Dir(dir), ".") }

// FS is Dir for the directory dir of a file system.
func FS(fsys fs.FS, dir string) (string, error) {
	exists := func(name string) bool {
		_, err := fs.Stat(fsys, path.Join(dir, name))
		return err == nil
	}
	if exists(cframe.IndexFile) {
		return B2ND, nil
	}
	kind, err := bcolztree.Detect(fsys, dir)
	if err != nil {
		return "", err
	}
	if kind != bcolztree.NotATree {
		return Bcolz, nil
	}
	if exists(b2store.EmbedFile) {
		return B2D, nil
	}
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.HasSuffix(e.Name(), ArrayExt) }) {
		return Directory, nil
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if kind, err := bcolztree.Detect(fsys, path.Join(dir, e.Name())); err == nil && kind != bcolztree.NotATree {
			return Directory, nil
		}
	}
	return "", fmt.Errorf("%w: a directory without chunks.b2frame or embed.b2e (Blosc2), meta/storage or __rootdirs__ (bcolz), and without arrays in it", ndarray.ErrFormat)
}

const (
	frameExt       = ".b2f"       // of the members of a .b2d that are no arrays, as __vlmeta__
	referencesFile = ".zmetadata" // of kerchunk references in Parquet
)

// Foreign returns the relative name of a file in a directory that belongs to no array and no
// container, or "". The files of an array or a container are not listed: they all belong to it. The
// files of kerchunk references in Parquet count as those of an array.
func Foreign(dir string) (name string, err error) {
	references := regularfile.Exists(filepath.Join(dir, referencesFile))
	belongs := func(path, base string) bool {
		switch ext := filepath.Ext(path); {
		case ext == ArrayExt, ext == frameExt:
			return true
		case strings.HasPrefix(base, ".") && strings.Contains(base, ".tmp-"): // of a killed writer
			return true
		case base == DoneFile:
			return true
		case base == referencesFile, ext == ".parq":
			return references
		default:
			return ext == DigestsExt && regularfile.Exists(strings.TrimSuffix(path, ext))
		}
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if is, err := Dir(path); err == nil && is != Directory {
				return fs.SkipDir
			}
			return nil
		}
		if belongs(path, d.Name()) {
			return nil
		}
		if name, err = filepath.Rel(dir, path); err != nil {
			return err
		}
		return fs.SkipAll
	})
	return name, err
}
