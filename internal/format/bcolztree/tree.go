// Reading of whole trees: a carray with its chunk files, a ctable with its columns.

package bcolztree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// Limits limits the memory that a tree may require.
type Limits struct {
	Metadata int64 // maximum bytes of one metadata file
	Chunk    int64 // maximum bytes of the rows of one full chunk
}

// DefaultLimits returns 16 MiB per metadata file, and the largest chunk that C-Blosc2 decompresses,
// 2 GiB minus 33 bytes.
func DefaultLimits() Limits { return Limits{Metadata: 16 << 20, Chunk: chunk.MaxNBytes} }

// Kind is the kind of tree in a directory.
type Kind int

// The kinds.
const (
	NotATree Kind = iota
	ArrayTree
	TableTree
	NestedTree // the specification's form of a ctable, with columns under data/; bcolz itself never wrote it
)

// String returns bcolz's name of the kind.
func (k Kind) String() string {
	switch k {
	case NotATree:
		return "no tree of bcolz"
	case ArrayTree:
		return "carray"
	case TableTree:
		return "ctable"
	case NestedTree:
		return "nested ctable"
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}

// maxNesting is the maximum depth at which Detect searches for the first column of a nested ctable.
const maxNesting = 32

// Detect returns the kind of tree in the directory dir of fsys. A ctable has __rootdirs__. A nested
// ctable has directories in data/, and meta/storage in dir or in the first of these directories. A
// carray has meta/storage and no directories in data/. Detect reads no file contents. The error is
// that of the fs.FS.
func Detect(fsys fs.FS, dir string) (Kind, error) { return detect(fsys, dir, maxNesting) }

func detect(fsys fs.FS, dir string, depth int) (Kind, error) {
	if is, err := isFile(fsys, path.Join(dir, RootDirsFile)); is || err != nil {
		return TableTree, err
	}
	described, err := isFile(fsys, path.Join(dir, StorageFile))
	if err != nil {
		return NotATree, err
	}
	kind := NotATree
	if described {
		kind = ArrayTree
	}
	// An array with rows has this file, so that large directories need not be listed.
	if has, err := isFile(fsys, path.Join(dir, DataDir, chunkName(0))); has || err != nil {
		return kind, err
	}
	names, err := Components(fsys, dir)
	if err != nil || len(names) == 0 || depth == 0 {
		return kind, err
	}
	if !described {
		if first, err := detect(fsys, path.Join(dir, DataDir, names[0]), depth-1); first == NotATree || err != nil {
			return NotATree, err
		}
	}
	return NestedTree, nil
}

// isFile reports whether name is a regular file.
func isFile(fsys fs.FS, name string) (bool, error) {
	info, err := fs.Stat(fsys, name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	return err == nil && info.Mode().IsRegular(), err
}

// Components returns the sorted names of the directories in data/ of the directory dir of fsys. It
// ignores symbolic links. It returns nil if data/ does not exist.
func Components(fsys fs.FS, dir string) ([]string, error) {
	entries, err := fs.ReadDir(fsys, path.Join(dir, DataDir))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		chunk := strings.HasPrefix(e.Name(), "__") && strings.HasSuffix(e.Name(), ".blp")
		if e.IsDir() && isElement(e.Name()) && !chunk {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// Array is the metadata of a carray. It is immutable.
type Array struct {
	Sizes   Sizes
	Storage Storage
	Attrs   Attrs // nil without a file, or with an empty one

	tree tree
}

// Table is the metadata of a ctable. It is immutable.
type Table struct {
	Names []string // columns in their order
	Attrs Attrs    // nil without a file, or with an empty one

	tree tree
}

// tree is a directory of a file system.
type tree struct {
	fsys   fs.FS
	dir    string
	data   string // directory of the chunk files, relative to dir: DataDir or a directory below it
	limits Limits
}

func newTree(fsys fs.FS, dir string, l *Limits) tree {
	if l == nil {
		d := DefaultLimits()
		l = &d
	}
	return tree{fsys, dir, DataDir, *l}
}

// path returns the name of a file of the tree.
func (t tree) path(file string) string { return path.Join(t.dir, file) }

// open opens a file and returns its length in bytes. The file must be regular, because opening a
// pipe would block until a writer opens it. The length is that of the open file, because another
// process may have replaced the file since fs.Stat. A missing file is corruption of the tree.
func (t tree) open(name string) (_ fs.File, _ int64, err error) {
	defer func() { err = format.Part(err) }()
	info, err := fs.Stat(t.fsys, name)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, bad(name, "file", 0, info.Mode().Type().String(), "a regular file", format.ErrCorrupt)
	}
	f, err := t.fsys.Open(name)
	if err != nil {
		return nil, 0, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = bad(name, "file", 0, info.Mode().Type().String(), "a regular file", format.ErrCorrupt)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// metadata reads one metadata file whole.
func (t tree) metadata(file string) (_ []byte, err error) {
	name := t.path(file)
	f, _, err := t.open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b, err := io.ReadAll(io.LimitReader(f, t.limits.Metadata+1))
	if err == nil && int64(len(b)) > t.limits.Metadata {
		err = bad(name, "file", 0, "more than the limit", strconv.FormatInt(t.limits.Metadata, 10)+" bytes", errLimit)
	}
	return b, err
}

// attrs reads __attrs__, which may be missing.
func (t tree) attrs() (Attrs, error) {
	b, err := t.metadata(AttrsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseAttrs(t.path(AttrsFile), b)
}

// ReadArray reads the metadata of the carray in the directory dir of fsys, which is "." for the
// root. nil limits mean DefaultLimits. ReadArray reads no chunk files.
//
// The error is a *format.Error of the Parse functions, a *format.Error with format.ErrLimit for
// full chunks above the limit, or an error of the fs.FS. A missing file is fs.ErrNotExist.
func ReadArray(fsys fs.FS, dir string, l *Limits) (*Array, error) {
	a := &Array{tree: newTree(fsys, dir, l)}
	b, err := a.tree.metadata(StorageFile)
	if err != nil {
		return nil, err
	}
	if a.Storage, err = parseStorage(a.tree.path(StorageFile), b); err != nil {
		return nil, err
	}
	if b, err = a.tree.metadata(SizesFile); err != nil {
		return nil, err
	}
	if a.Sizes, err = parseSizes(a.tree.path(SizesFile), b); err != nil {
		return nil, err
	}
	if err := a.checkSizes(); err != nil {
		return nil, err
	}
	if a.Attrs, err = a.tree.attrs(); err != nil {
		return nil, err
	}
	return a, nil
}

// checkSizes returns an error for a shape whose size overflows, or chunks above the limit.
func (a *Array) checkSizes() error {
	itoa := func(n int64) string { return strconv.FormatInt(n, 10) }
	row := a.Storage.DType.Size
	for _, n := range a.Sizes.Shape[1:] {
		if row > 0 && n > math.MaxInt64/row {
			return bad(a.tree.path(SizesFile), "shape", 0, fmt.Sprint(a.Sizes.Shape), "rows of fewer than 2^63 bytes", errLimit)
		}
		row *= n
	}
	if row > 0 && a.Storage.ChunkLen > a.tree.limits.Chunk/row {
		return bad(a.tree.path(StorageFile), "chunklen", 0,
			fmt.Sprintf("%d rows of %d bytes", a.Storage.ChunkLen, row), "at most "+itoa(a.tree.limits.Chunk)+" bytes", errLimit)
	}
	if row > 0 && a.Rows() > math.MaxInt64/row {
		return bad(a.tree.path(SizesFile), "shape", 0, fmt.Sprint(a.Sizes.Shape), "fewer than 2^63 bytes", errLimit)
	}
	return nil
}

// Rows returns the length of the first dimension.
func (a *Array) Rows() int64 { return a.Sizes.Shape[0] }

// WithRows returns a copy of the array with n rows. Writers that resize an array use it.
func (a *Array) WithRows(n int64) *Array {
	b := *a
	b.Sizes.Shape = slices.Clone(a.Sizes.Shape)
	b.Sizes.Shape[0] = n
	return &b
}

// WithItemSize returns a copy of the array with elements of n bytes. It is for callers that parse a
// structured dtype, because this package does not. The error is format.ErrLimit if the chunks or
// the array become too large.
func (a *Array) WithItemSize(n int64) (*Array, error) {
	b := *a
	b.Storage.DType.Size = n
	return &b, b.checkSizes()
}

// Component returns one column of a nested ctable that has a single meta/ (DISK_FORMAT_v1.rst, The
// data layout). names is the path of its chunk directory below data/, d is the dtype of its
// elements, and row is the shape of its rows. The caller gets these values from the structured
// dtype.
//
// The error is format.ErrLimit for chunks or an array that are too large, and format.ErrCorrupt for
// names that are not single path elements.
func (a *Array) Component(names []string, d DType, row []int64) (*Array, error) {
	b := *a
	for _, n := range names {
		if !isElement(n) {
			return nil, bad(a.tree.path(StorageFile), "dtype", 0, strconv.Quote(n), "the name of a directory in "+DataDir, format.ErrCorrupt)
		}
		b.tree.data += "/" + n
	}
	b.Storage.DType, b.Attrs = d, nil
	b.Sizes.Shape = append(slices.Clone(a.Sizes.Shape), row...)
	return &b, b.checkSizes()
}

// RowBytes returns the number of bytes of one row. It is -1 for objects and structured types,
// because the files do not contain their size.
func (a *Array) RowBytes() int64 {
	n := a.Storage.DType.Size
	if n == 0 {
		return -1
	}
	for _, m := range a.Sizes.Shape[1:] {
		n *= m
	}
	return n
}

// NumFiles returns the number of chunk files that belong to the array. The directory may contain
// more files, left over from a longer array. In an object array each object is one file.
func (a *Array) NumFiles() int64 {
	if a.Storage.DType.Kind == 'O' {
		return a.Rows()
	}
	n := a.Rows() / a.Storage.ChunkLen
	if a.Rows()%a.Storage.ChunkLen > 0 {
		n++
	}
	return n
}

// FileName returns the path of the i-th chunk file relative to the root of the tree, for example
// "data/__0.blp". The last file is bcolz's leftover chunk unless it is full.
func (a *Array) FileName(i int64) string {
	return a.tree.data + "/" + chunkName(i)
}

func chunkName(i int64) string { return "__" + strconv.FormatInt(i, 10) + ".blp" }

// FileBytes returns the number of decompressed bytes of the rows in the i-th chunk file. It is -1
// if RowBytes is -1.
func (a *Array) FileBytes(i int64) int64 {
	row := a.RowBytes()
	if row < 0 {
		return -1
	}
	return min(a.Rows()-i*a.Storage.ChunkLen, a.Storage.ChunkLen) * row
}

// Chunk is one Blosc chunk of a chunk file.
type Chunk struct {
	Header chunk.Header
	Data   []byte // the chunk, header included
}

// ReadChunks reads the Blosc chunks of the i-th chunk file. Their decompressed bytes, one after the
// other, are the rows of the file. bcolz writes one chunk per file. The format allows several, or
// -1 for all chunks up to the end of the file. Like bcolz, ReadChunks ignores bytes after the last
// chunk.
//
// The chunks are Blosc1: version 1 or 2 with a header of 16 bytes, which is checked with
// chunk.Header.Check. Together they must have FileBytes(i) decompressed bytes, which limits the
// memory together with the file length. Only the last file may have more, up to a full chunk. The
// caller must ignore the values after the last row, as bcolz does.
//
// The error is a *format.Error with the name of the file, or an error of the fs.FS. ReadChunks
// panics if i is not below NumFiles.
func (a *Array) ReadChunks(i int64) ([]Chunk, error) {
	return a.ReadChunksInto(i, func(n int) []byte { return make([]byte, n) })
}

// ReadChunksInto is ReadChunks with a function that returns the buffer, of n bytes, for the data of
// each chunk. It is called only for bytes that the file has.
func (a *Array) ReadChunksInto(i int64, buffer func(n int) []byte) (_ []Chunk, err error) {
	if i < 0 || i >= a.NumFiles() {
		panic(fmt.Sprintf("bcolz: chunk file %d of %d", i, a.NumFiles()))
	}
	name := a.tree.path(a.FileName(i))
	f, size, err := a.tree.open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return a.readChunks(i, &file{name: name, r: f, size: size, buffer: buffer})
}

func (a *Array) readChunks(i int64, f *file) ([]Chunk, error) {
	b, err := f.next("header", nil, HeaderSize)
	if err != nil {
		return nil, err
	}
	h, err := parseFileHeader(f.name, b)
	if err != nil {
		return nil, err
	}
	want, most := a.FileBytes(i), a.tree.limits.Chunk
	if want >= 0 {
		most = want
		if i == a.NumFiles()-1 {
			most = a.Storage.ChunkLen * a.RowBytes()
		}
	}
	var chunks []Chunk
	var total int64
	for n := int64(0); n != h.NumChunks && (h.NumChunks >= 0 || f.at < f.size); n++ {
		c, err := f.chunk()
		if err != nil {
			return nil, err
		}
		if total += int64(c.Header.NBytes); total > most {
			return nil, bad(f.name, "nbytes", f.at-int64(len(c.Data)), strconv.FormatInt(total, 10)+" bytes of rows",
				"at most "+strconv.FormatInt(most, 10), format.ErrCorrupt)
		}
		chunks = append(chunks, c)
	}
	if total < want {
		return nil, bad(f.name, "nbytes", HeaderSize, strconv.FormatInt(total, 10)+" bytes of rows", strconv.FormatInt(want, 10), format.ErrCorrupt)
	}
	return chunks, nil
}

// file is a chunk file that is read sequentially.
type file struct {
	name     string
	r        io.Reader
	size, at int64 // bytes
	buffer   func(n int) []byte
}

// next reads n bytes and returns them after a copy of head. It allocates no memory for bytes after
// the end of the file.
func (f *file) next(what string, head []byte, n int64) ([]byte, error) {
	if n > f.size-f.at {
		return nil, bad(f.name, what, f.at, strconv.FormatInt(f.size-f.at, 10)+" bytes", strconv.FormatInt(n, 10), format.ErrTruncated)
	}
	b := f.buffer(len(head) + int(n))
	k, err := io.ReadFull(f.r, b[copy(b, head):])
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		// The file was truncated after its size was read.
		return nil, bad(f.name, what, f.at, strconv.Itoa(k)+" bytes", strconv.FormatInt(n, 10), format.ErrTruncated)
	}
	f.at += int64(k)
	return b, err
}

// chunk reads one Blosc chunk.
func (f *file) chunk() (Chunk, error) {
	start := f.at
	head, err := f.next("chunk header", nil, chunk.MinHeaderSize)
	if err != nil {
		return Chunk{}, err
	}
	h, err := ParseChunkHeader(head)
	if err != nil {
		return Chunk{}, f.locate(err, start)
	}
	data, err := f.next("chunk", head, int64(h.CBytes)-chunk.MinHeaderSize)
	return Chunk{Header: h, Data: data}, err
}

// locate adds the file name and the offset in the file to an error of a chunk.
func (f *file) locate(err error, start int64) error {
	var e *format.Error
	if !errors.As(err, &e) {
		return err
	}
	moved := *e
	moved.Format, moved.Offset = "bcolz "+f.name, e.Offset+start
	return &moved
}

// ParseChunkHeader reads the header of a Blosc1 chunk at the start of b. It returns the first error
// for which C-Blosc 1 refuses the chunk or C-Blosc2 must not read it.
func ParseChunkHeader(b []byte) (chunk.Header, error) {
	// The flags of an extended header are invalid in Blosc1. They are checked here because
	// ParseHeader would require 16 more bytes.
	const extended = chunk.FlagShuffle | chunk.FlagBitShuffle
	if len(b) < chunk.MinHeaderSize {
		return chunk.ParseHeader(b) // returns the error
	}
	if v := b[0]; v != 1 && v != 2 {
		return chunk.Header{}, bad("chunk", "version", 0, strconv.Itoa(int(v)), "1 or 2, Blosc1", errVersion)
	}
	if b[2]&extended == extended {
		return chunk.Header{}, bad("chunk", "flags", 2, fmt.Sprintf("%#02x, both shuffles", b[2]), "one of them in Blosc1", format.ErrCorrupt)
	}
	h, err := chunk.ParseHeader(b)
	if err != nil {
		return h, err
	}
	switch {
	case h.Flags&chunk.FlagDelta != 0:
		return h, bad("chunk", "flags", 2, fmt.Sprintf("%#02x, with the reserved bit 3", b[2]), "0 in that bit in Blosc1", format.ErrCorrupt)
	case h.HasBlocks() && h.VersionLZ != 1:
		return h, bad("chunk", "versionlz", 1, strconv.Itoa(int(h.VersionLZ)), "1", errVersion)
	case h.NBytes > 0 && h.BlockSize > h.NBytes:
		return h, bad("chunk", "blocksize", 8, strconv.Itoa(int(h.BlockSize)), "at most nbytes "+strconv.Itoa(int(h.NBytes))+" in Blosc1", format.ErrCorrupt)
	}
	return h, h.Check()
}

// ReadTable reads the metadata of the ctable in the directory dir of fsys, which is "." for the
// root. nil limits mean DefaultLimits. ReadTable does not read the columns.
func ReadTable(fsys fs.FS, dir string, l *Limits) (*Table, error) {
	t := &Table{tree: newTree(fsys, dir, l)}
	b, err := t.tree.metadata(RootDirsFile)
	if err != nil {
		return nil, err
	}
	d, err := parseRootDirs(t.tree.path(RootDirsFile), b)
	if err != nil {
		return nil, err
	}
	t.Names = d.Names
	if t.Attrs, err = t.tree.attrs(); err != nil {
		return nil, err
	}
	return t, nil
}

// Column reads the metadata of one column. The error is fs.ErrNotExist if name is not in Names, or
// an error of ReadArray.
func (t *Table) Column(name string) (*Array, error) {
	if !slices.Contains(t.Names, name) {
		return nil, &fs.PathError{Op: "open column", Path: t.tree.path(name), Err: fs.ErrNotExist}
	}
	return ReadArray(t.tree.fsys, t.tree.path(name), &t.tree.limits)
}

// isElement reports whether name is a single path element, so that it stays inside its directory.
func isElement(name string) bool {
	return fs.ValidPath(name) && name != "." && !strings.ContainsAny(name, "/\\\x00")
}

// OtherMeta returns the paths, relative to the directory dir of fsys, of the regular files in meta/
// that bcolz does not define, for example "meta/index". The format allows any number of them
// (DISK_FORMAT_v1.rst, The meta files). A program that copies the tree should copy them.
func OtherMeta(fsys fs.FS, dir string) ([]string, error) {
	directory := path.Dir(StorageFile)
	entries, err := fs.ReadDir(fsys, path.Join(dir, directory))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if name := path.Join(directory, e.Name()); e.Type().IsRegular() && name != SizesFile && name != StorageFile {
			names = append(names, name)
		}
	}
	return names, err
}

// NewArray returns an array with this metadata in the root of fsys, for writers. The caller must
// have made the checks of ReadArray.
func NewArray(fsys fs.FS, sizes Sizes, storage Storage) *Array {
	return &Array{Sizes: sizes, Storage: storage, tree: newTree(fsys, ".", nil)}
}

// ReadAttrs reads the attributes of any kind of tree in the directory dir of fsys. The result is
// nil without a file, or with an empty one. nil limits mean DefaultLimits.
func ReadAttrs(fsys fs.FS, dir string, l *Limits) (Attrs, error) {
	return newTree(fsys, dir, l).attrs()
}
