// Recovery of bcolz trees. Valid chunk files are copied unchanged. Missing metadata are guessed
// from the chunk files.

package recovery

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/bits"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/blosc/blosc1"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/ndarray"
	array "github.com/hyperslab/hyperslab/ndarray/bcolz"
)

// tree is a carray or a ctable that is being recovered.
type tree struct {
	r    *Report
	most int64
	src  fs.FS
	dst  string
	pool *cblosc.Pool
	data []byte
	made int64 // number of chunk files of zeros that were written
}

func recoverTree(ctx context.Context, r *Report, o Options) (err error) {
	root, err := os.OpenRoot(r.Source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	t := &tree{r: r, most: o.MaxChunk, src: root.FS()}
	if t.pool, err = cblosc.NewPool(nil, nil); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.pool.Close()) }()
	t.dst = r.made
	return t.write(ctx)
}

func (t *tree) write(ctx context.Context) error {
	if err := os.Mkdir(t.dst, 0o777); err != nil {
		return err
	}
	columns, table, err := t.columns()
	if err != nil {
		return err
	}
	size, err := bytesOf(t.r.Source)
	if err != nil {
		return err
	}
	t.r.seen.begin(size, 0)
	if !table {
		if err := t.array(ctx, "."); err != nil {
			return err
		}
		if t.r.Arrays == 0 {
			return noData("carray")
		}
		return nil
	}
	var dirs bcolztree.RootDirs
	for _, name := range columns {
		before := t.r.Arrays
		if err := t.array(ctx, name); err != nil {
			return err
		}
		if t.r.Arrays > before {
			dirs.Names = append(dirs.Names, name)
		}
	}
	if len(dirs.Names) == 0 {
		return noData("column")
	}
	if err := t.attrs("."); err != nil {
		return err
	}
	if err := t.put(bcolztree.RootDirsFile, dirs.Append(nil)); err != nil {
		return err
	}
	return t.record(bcolztree.TableRecordFile, "", func() (io.Closer, error) { return array.OpenRecords(t.dst, nil) })
}

// columns returns the column names of a ctable, and whether the tree is a ctable.
func (t *tree) columns() (names []string, table bool, err error) {
	b, err := t.text(bcolztree.RootDirsFile)
	if err == nil {
		var d bcolztree.RootDirs
		if d, err = bcolztree.ParseRootDirs(b); err == nil {
			return d.Names, true, nil
		}
	}
	there, serr := fs.Stat(t.src, bcolztree.DataDir)
	if errors.Is(err, fs.ErrNotExist) && serr == nil && there.IsDir() {
		if _, err := fs.Stat(t.src, bcolztree.DataDir+"/"+bcolztree.DataDir); err != nil {
			return nil, false, nil
		}
	}
	var others []string
	entries, derr := fs.ReadDir(t.src, ".")
	if derr != nil {
		return nil, false, derr
	}
	for _, e := range entries {
		if _, err := fs.Stat(t.src, path.Join(e.Name(), bcolztree.DataDir)); err == nil {
			names = append(names, e.Name())
		} else if e.IsDir() && e.Name() != bcolztree.DataDir && e.Name() != path.Dir(bcolztree.StorageFile) {
			others = append(others, e.Name())
		}
	}
	if len(names) == 0 && serr == nil && there.IsDir() {
		t.r.note(Guessed, "", bcolztree.RootDirsFile, -1, "%v: a carray without this file", err)
		return nil, false, nil
	}
	if len(names) == 0 {
		return nil, false, noData("column")
	}
	for _, name := range others {
		t.r.LostObjects++
		t.r.note(Lost, "/"+name, "directory", -1, "no column, because it has no directory %s", bcolztree.DataDir)
	}
	t.r.note(Guessed, "", bcolztree.RootDirsFile, -1, "%v: the columns are the directories, in order of their names", err)
	return names, true, nil
}

// blosc is a decoded chunk file.
type blosc struct {
	raw []byte
	n   int64 // decoded bytes
	h   chunk.Header

	fixed string // the change of a header that contradicted the values; "" without one
}

// load reads a chunk file and decodes it.
func (t *tree) load(dir string, i int64) (b blosc, err error) {
	name := path.Join(dir, bcolztree.DataDir, fmt.Sprintf("__%d.blp", i))
	info, err := fs.Stat(t.src, name)
	if err != nil {
		return b, err
	}
	if !info.Mode().IsRegular() || info.Size() > t.most+1<<20 {
		return b, fmt.Errorf("%v of %d bytes", info.Mode().Type(), info.Size())
	}
	if b.raw, err = fs.ReadFile(t.src, name); err != nil {
		return b, err
	}
	head, err := bcolztree.ParseFileHeader(b.raw)
	if err != nil {
		return b, err
	}
	k := int64(0)
	for rest := b.raw[bcolztree.HeaderSize:]; len(rest) > 0 && k != head.NumChunks; k++ {
		if fixHeader(rest) {
			b.fixed = "the header of its chunk contradicted the values"
		}
		h, err := bcolztree.ParseChunkHeader(rest)
		if err == nil && (h.CBytes < int32(h.Size()) || int(h.CBytes) > len(rest)) {
			err = fmt.Errorf("a chunk of %d bytes, %d are left", h.CBytes, len(rest))
		}
		if err == nil {
			err = chunk.Check(rest[:h.CBytes])
		}
		if err != nil {
			return b, err
		}
		if int64(h.NBytes) > t.most {
			return b, fmt.Errorf("a chunk of %d bytes of values", h.NBytes)
		}
		if cap(t.data) < int(h.NBytes) {
			t.data = make([]byte, h.NBytes)
		}
		n, err := t.pool.Decompress(t.data[:h.NBytes], rest[:h.CBytes])
		if err == nil && n != int(h.NBytes) {
			err = fmt.Errorf("%d bytes of %d decoded", n, h.NBytes)
		}
		if err != nil {
			return b, err
		}
		if k == 0 {
			b.h = h
		}
		b.n += int64(h.NBytes)
		rest = rest[h.CBytes:]
	}
	if head.NumChunks > k { // the caller compares the number of values and so notices missing ones
		head.NumChunks = k
		b.raw, b.fixed = append(head.Append(nil), b.raw[bcolztree.HeaderSize:]...), "it has all its values and fewer chunks than its header declares"
	}
	if b.n == 0 {
		return b, errors.New("no chunk")
	}
	return b, nil
}

// fixHeader changes the fields of a Blosc1 header for which C-Blosc refuses a chunk although the
// values do not need them: the reserved flag, the version of the codec, and a block size above that
// of the chunk. It reports whether it changed one.
func fixHeader(b []byte) bool {
	h, err := chunk.ParseHeader(b)
	if err != nil || h.Extended {
		return false
	}
	before := [chunk.MinHeaderSize]byte(b)
	b[2] &^= chunk.FlagDelta
	if h.HasBlocks() {
		b[1] = 1
	}
	if h.NBytes > 0 && (h.BlockSize > h.NBytes || h.Stored() && h.BlockSize <= 0) {
		binary.LittleEndian.PutUint32(b[8:], uint32(h.NBytes))
	}
	return before != [chunk.MinHeaderSize]byte(b)
}

// numbers returns the numbers of the chunk files of an array, in ascending order.
func (t *tree) numbers(dir string) ([]int64, error) {
	entries, err := fs.ReadDir(t.src, path.Join(dir, bcolztree.DataDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []int64
	for _, e := range entries {
		digits, ok := strings.CutSuffix(strings.TrimPrefix(e.Name(), "__"), ".blp")
		if i, err := strconv.ParseInt(digits, 10, 32); ok && err == nil && fmt.Sprintf("__%d.blp", i) == e.Name() {
			list = append(list, i)
		}
	}
	slices.Sort(list)
	return list, err
}

// array recovers the carray in dir.
func (t *tree) array(ctx context.Context, dir string) error {
	object := ""
	if dir != "." {
		object = "/" + dir
	}
	lost := func(text string, args ...any) error {
		t.r.LostObjects++
		t.r.note(Lost, object, "array", -1, text, args...)
		return nil
	}
	numbers, err := t.numbers(dir)
	if err != nil {
		return err
	}
	var first blosc // the first chunk file that decodes
	for _, i := range numbers {
		if first, err = t.load(dir, i); err == nil {
			break
		}
	}
	whole := len(numbers) > 0 && err == nil
	storage, serr := t.storage(dir)
	sizes, zerr := t.sizes(dir)
	certainty := Unverified // bcolz has no checksums
	if cerr := storage.CParams.CheckCodec(); serr == nil && cerr != nil {
		t.r.note(Guessed, object, bcolztree.StorageFile, -1, "%v: the codec of the chunks", cerr)
		storage.CParams.Codec = codecName(first.h)
	}
	if serr != nil {
		if !whole {
			return lost("neither %s (%v) nor a chunk", bcolztree.StorageFile, serr)
		}
		storage = guessStorage(first, sizes)
		certainty = Guessed
		t.r.note(Guessed, object, bcolztree.StorageFile, -1, "%v: elements of %s, %d rows a chunk", serr, storage.DType.Text, storage.ChunkLen)
	}
	if zerr == nil {
		zerr = t.believable(storage, sizes, numbers)
	}
	if zerr != nil {
		if !whole && len(numbers) > 0 || storage.DType.Size == 0 {
			return lost("neither %s (%v) nor a chunk of elements of known size", bcolztree.SizesFile, zerr)
		}
		certainty = Guessed
		if sizes, err = t.guessSizes(dir, storage, numbers, first); err == nil {
			err = t.believable(storage, sizes, numbers)
		}
		if err != nil {
			return lost("%s (%v), and from the chunks: %v", bcolztree.SizesFile, zerr, err)
		}
		t.r.note(Guessed, object, bcolztree.SizesFile, -1, "%v: shape %v", zerr, sizes.Shape)
	}
	if err := os.MkdirAll(filepath.Join(t.dst, filepath.FromSlash(dir), "meta"), 0o777); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(t.dst, filepath.FromSlash(dir), bcolztree.DataDir), 0o777); err != nil {
		return err
	}
	if err := t.put(path.Join(dir, bcolztree.SizesFile), sizes.Append(nil)); err != nil {
		return err
	}
	if err := t.put(path.Join(dir, bcolztree.StorageFile), storage.Append(nil)); err != nil {
		return err
	}
	a, err := bcolztree.ReadArray(os.DirFS(t.dst), dir, nil)
	if err != nil {
		return errors.Join(lost("%v", err), os.RemoveAll(filepath.Join(t.dst, filepath.FromSlash(dir))), mkdirIf(dir, t.dst))
	}
	if err := t.fill(dir, object, storage); err != nil {
		return err
	}
	if row := a.RowBytes(); row >= 0 {
		hi, n := bits.Mul64(uint64(row), uint64(a.Rows()))
		if was := sizes.NBytes; hi == 0 && n <= math.MaxInt64 && int64(n) != was {
			certainty = Guessed
			sizes.NBytes = int64(n)
			t.r.note(Guessed, object, bcolztree.SizesFile, -1, "%d bytes, want %d, those of %d rows", was, n, a.Rows())
			if err := t.put(path.Join(dir, bcolztree.SizesFile), sizes.Append(nil)); err != nil {
				return err
			}
		}
	}
	if err := t.chunks(ctx, dir, object, a, certainty); err != nil {
		return err
	}
	t.r.Arrays++
	if err := t.attrs(dir); err != nil {
		return err
	}
	return t.record(path.Join(dir, bcolztree.RecordFile), object, func() (io.Closer, error) { return array.OpenFS(os.DirFS(t.dst), dir, nil) })
}

// fill replaces a fill value that does not fit the dtype with zeros, because the array would not
// open otherwise.
func (t *tree) fill(dir, object string, s bcolztree.Storage) error {
	b, err := array.OpenFS(os.DirFS(t.dst), dir, nil)
	if err == nil {
		return b.Close()
	}
	if !errors.Is(err, ndarray.ErrCorrupt) {
		return nil // ndarray does not support these elements, and has no fill value for them
	}
	t.r.note(Guessed, object, "fill value", -1, "zeros: %v", err)
	if s.Default, err = zero(s.DType); err != nil {
		return err
	}
	return t.put(path.Join(dir, bcolztree.StorageFile), s.Append(nil))
}

// zero returns a fill value of zero bytes, with one value for each field.
func zero(d bcolztree.DType) (bcolztree.Value, error) {
	if !d.Structured {
		if strings.IndexByte("SUV", d.Kind) >= 0 {
			return bcolztree.Text(""), nil
		}
		return bcolztree.Int(0), nil
	}
	whole, err := ndarray.ParseDType(d.Text)
	if err != nil {
		return bcolztree.Value{}, err
	}
	if most := 1 << 20; whole.Size > most {
		return bcolztree.Value{}, fmt.Errorf("%w: a fill value of %d bytes, at most %d", errors.ErrUnsupported, whole.Size, most)
	}
	return zeroOf(whole), nil
}

func zeroOf(d ndarray.DType) bcolztree.Value {
	switch d.Kind {
	case ndarray.Bytes, ndarray.Void, ndarray.Unicode:
		return bcolztree.Text("")
	case ndarray.Struct:
		v := bcolztree.Value{Kind: bcolztree.List}
		for _, f := range d.Fields {
			v.List = append(v.List, zeroOf(f.Type))
		}
		return v
	case ndarray.SubArray:
		v := zeroOf(*d.Base)
		for _, n := range slices.Backward(d.Dims) {
			v = bcolztree.Value{Kind: bcolztree.List, List: slices.Repeat([]bcolztree.Value{v}, int(n))}
		}
		return v
	}
	return bcolztree.Int(0)
}

// record copies the record file of package ndarray/bcolz, which the package writes in addition to
// bcolz's own files, if it is valid.
func (t *tree) record(name, object string, open func() (io.Closer, error)) error {
	b, err := t.text(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		if err := t.put(name, b); err != nil {
			return err
		}
		var read io.Closer
		if read, err = open(); err == nil {
			return read.Close()
		}
		if !errors.Is(err, ndarray.ErrCorrupt) {
			return nil // ndarray cannot open the array without the record either
		}
		if err := os.Remove(filepath.Join(t.dst, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	t.r.LostObjects++
	t.r.note(Lost, object, path.Base(name), -1, "exact types of attributes, and a fill value that bcolz cannot store: %v", err)
	return nil
}

// mkdirIf creates the root again after it was removed.
func mkdirIf(dir, root string) error {
	if dir == "." {
		return os.Mkdir(root, 0o777)
	}
	return nil
}

func (t *tree) storage(dir string) (s bcolztree.Storage, err error) {
	b, err := t.text(path.Join(dir, bcolztree.StorageFile))
	if err == nil {
		s, err = bcolztree.ParseStorage(b)
	}
	return s, err
}

func (t *tree) sizes(dir string) (s bcolztree.Sizes, err error) {
	b, err := t.text(path.Join(dir, bcolztree.SizesFile))
	if err == nil {
		s, err = bcolztree.ParseSizes(b)
	}
	return s, err
}

// text reads a metadata file. The file must be a regular file within the size limit. A pipe is
// refused because opening it would block until a writer opens it.
func (t *tree) text(name string) ([]byte, error) {
	info, err := fs.Stat(t.src, name)
	if err != nil {
		return nil, err
	}
	if most := bcolztree.DefaultLimits().Metadata; !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("%w: %v of %d bytes, want a regular file of at most %d", ndarray.ErrCorrupt, info.Mode().Type(), info.Size(), most)
	}
	return fs.ReadFile(t.src, name)
}

// codecName returns bcolz's name of the codec of a chunk, or of its default codec.
func codecName(h chunk.Header) string {
	if p := (bcolztree.CParams{Codec: h.Codec.String()}); p.CheckCodec() == nil {
		return p.Codec
	}
	return "blosclz"
}

// guessStorage guesses the dtype and the compression from a chunk. The element size also depends on
// the total size in bytes, if the sizes contain it.
func guessStorage(b blosc, sizes bcolztree.Sizes) bcolztree.Storage {
	size := max(int64(b.h.TypeSize), 1)
	elements := int64(1)
	for _, n := range sizes.Shape {
		elements *= max(n, 1)
	}
	// bcolz passes Blosc another type size for strings.
	if whole := sizes.NBytes / max(elements, 1); elements > 0 && sizes.NBytes > 0 && whole*elements == sizes.NBytes && whole%size == 0 && whole < math.MaxInt32 {
		size = whole
	}
	text := fmt.Sprintf("|S%d", size)
	fill := bcolztree.Text("")
	if size == 1 || size == 2 || size == 4 || size == 8 {
		text = fmt.Sprintf("uint%d", 8*size)
		fill = bcolztree.Int(0)
	}
	row := size
	for _, n := range sizes.Shape[min(1, len(sizes.Shape)):] {
		row *= max(n, 1)
	}
	d, _ := bcolztree.ParseDType(text)
	s := bcolztree.Storage{DType: d, ChunkLen: max(b.n/row, 1), ExpectedLen: max(b.n/row, 1), Default: fill}
	s.CParams = bcolztree.CParams{Level: 5, Codec: codecName(b.h)}
	switch {
	case slices.Contains(b.h.Filters[:], chunk.Shuffle):
		s.CParams.Shuffle = bcolztree.ByteShuffle
	case slices.Contains(b.h.Filters[:], chunk.BitShuffle):
		s.CParams.Shuffle = bcolztree.BitShuffle
	}
	return s
}

// maxMade is the maximum number of chunk files of zeros for a tree, unless the tree has more chunk
// files than that. Without it, corrupt sizes could demand any number of files.
const maxMade = 1 << 10

// believable returns an error if the sizes require too many chunk files in addition to the existing
// ones.
func (t *tree) believable(s bcolztree.Storage, z bcolztree.Sizes, numbers []int64) error {
	files := z.Shape[0]
	if s.DType.Kind != 'O' {
		files = (files-1)/s.ChunkLen + 1 // 0 rows give 1 file, which does no harm
	}
	there, _ := slices.BinarySearch(numbers, files)
	if missing := files - int64(there); missing > max(int64(there), maxMade-t.made) {
		return fmt.Errorf("%w: %d rows in %d chunk files, of which %d are there", ndarray.ErrCorrupt, z.Shape[0], files, there)
	}
	return nil
}

// guessSizes guesses the shape from the chunk files.
func (t *tree) guessSizes(dir string, s bcolztree.Storage, numbers []int64, first blosc) (bcolztree.Sizes, error) {
	z := bcolztree.Sizes{Shape: []int64{0}}
	if len(numbers) == 0 {
		return z, nil
	}
	chunk := first.n
	last := numbers[len(numbers)-1]
	end := chunk
	if b, err := t.load(dir, last); err == nil {
		end = b.n
		chunk = max(chunk, b.n)
	}
	rowBytes := s.DType.Size
	if last > 0 || len(numbers) > 1 {
		rowBytes = chunk / max(s.ChunkLen, 1)
	}
	if rowBytes < s.DType.Size || rowBytes%s.DType.Size != 0 || end%rowBytes != 0 || last > math.MaxInt32 {
		return z, fmt.Errorf("chunks of %d bytes, for %d rows of elements of %d", chunk, s.ChunkLen, s.DType.Size)
	}
	z.Shape[0] = last*s.ChunkLen + min(end/rowBytes, s.ChunkLen)
	if n := rowBytes / s.DType.Size; n > 1 {
		z.Shape = append(z.Shape, n)
	}
	z.NBytes = z.Shape[0] * rowBytes
	z.CBytes = z.NBytes
	return z, nil
}

// chunks copies the chunk files that decode, and writes zeros for the others.
func (t *tree) chunks(ctx context.Context, dir, object string, a *bcolztree.Array, c Certainty) error {
	if a.Rows() == 0 {
		return nil
	}
	for i := range a.NumFiles() {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := path.Join(dir, a.FileName(i))
		want := a.FileBytes(i)
		b, err := t.load(dir, i)
		t.r.seen.more(int64(len(b.raw)))
		last := i == a.NumFiles()-1
		most := want
		if last { // the last chunk file may be as long as the others
			most = max(want, a.RowBytes()*a.Storage.ChunkLen)
		}
		if err == nil && want >= 0 && (b.n < want || b.n > most) {
			err = fmt.Errorf("%d bytes of values, want %d", b.n, want)
		}
		if err == nil {
			if err := t.put(name, b.raw); err != nil {
				return err
			}
			t.r.Chunks++
			if b.fixed != "" {
				t.r.add(finding(Guessed, object, "chunk", i, -1, name+": "+b.fixed))
			}
			if c == Unverified && b.fixed == "" {
				t.r.Unverified++
			} else {
				t.r.Guessed++
			}
			continue
		}
		t.r.Lost++
		t.r.add(finding(Lost, object, "chunk", i, -1, fmt.Sprintf("%s: %v", name, err)))
		if want < 0 {
			return fmt.Errorf("%w: a lost chunk of elements whose size %s does not contain", errors.ErrUnsupported, bcolztree.StorageFile)
		}
		if want > t.most {
			return fmt.Errorf("%w: a lost chunk of %d bytes", ndarray.ErrCorrupt, want)
		}
		zeros, err := t.zeros(a, want)
		if err != nil {
			return err
		}
		if err := t.put(name, zeros); err != nil {
			return err
		}
		t.made++
	}
	return nil
}

// zeros returns a chunk file of zeros.
func (t *tree) zeros(a *bcolztree.Array, n int64) ([]byte, error) {
	b := bcolztree.FileHeader{Version: bcolztree.FileVersion, NumChunks: 1}.Append(nil)
	p := cblosc.DefaultCParams()
	p.TypeSize, p.Threads = int(min(max(a.Storage.DType.TypeSize(), 1), 255)), 1
	raw := make([]byte, cblosc.MaxCompressedSize(int(n)))
	k, err := blosc1.Exact(p, raw, make([]byte, n))
	return append(b, raw[:max(k, 0)]...), err
}

// attrs copies the attributes if they are valid. Otherwise it writes a file without attributes,
// because bcolz opens no array without the file.
func (t *tree) attrs(dir string) error {
	name := path.Join(dir, bcolztree.AttrsFile)
	b, err := t.text(name)
	var a bcolztree.Attrs
	if err == nil {
		if a, err = bcolztree.ParseAttrs(b); err == nil && a == nil {
			err = errors.New("an empty file")
		}
	}
	if err == nil {
		return t.put(name, b)
	}
	t.r.LostObjects++
	t.r.note(Lost, strings.TrimPrefix("/"+dir, "/."), "attributes", -1, "%v", err)
	return t.put(name, a.Append(nil))
}

func (t *tree) put(name string, b []byte) error {
	return os.WriteFile(filepath.Join(t.dst, filepath.FromSlash(name)), b, 0o666)
}
