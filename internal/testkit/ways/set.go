// The set of files: its specification, and the values that the reference libraries read.

package ways

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hyperslab/hyperslab/internal/testkit/pairwise"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

//go:embed generate.py reference.py
var scripts embed.FS

// Cell is the number of bytes of an element of variable size in the matrix: a length of 2 bytes in
// little-endian order, and the content of the element.
const Cell = 40

// Array is an array of the set with the values of the reference library.
type Array struct {
	File   *File
	Path   string // in the file; "/" if the file is the array
	Dims   map[string]string
	DType  string // of NumPy; "cells" for elements of variable size
	Shape  []int64
	Chunks []int64 // nil if the array has no chunks
	Size   int     // bytes of an element
	Nulls  []int64 // indexes of the null elements of a column
	Want   []byte  // all elements, row-major and in native byte order

	elements atomic.Pointer[ndarray.DType] // of ElementType
}

// String names the array with its dimensions.
func (a *Array) String() string { return a.File.Name + ":" + a.Path }

// Cells reports whether the elements have variable size.
func (a *Array) Cells() bool { return a.DType == "cells" }

// File is a file or directory of the set.
type File struct {
	Name   string // relative to the directory of the set, with slashes
	Format string
	Dims   map[string]string
	Arrays []*Array
	Large  string // path of the larger array that is read first in a tree; "" without one
	set    *Set
}

// Path returns the path of the file.
func (f *File) Path() string { return filepath.Join(f.set.Dir, filepath.FromSlash(f.Name)) }

// Location returns the location of an array for hyperslab.Open.
func (a *Array) Location() string {
	if a.Path == "/" {
		return a.File.Path()
	}
	return a.File.Path() + ":" + a.Path
}

// Set is the set of files.
type Set struct {
	Dir     string
	Files   []*File
	Sample  bool // slow ways read every fourth file
	Workers int  // ways that run at the same time; 0 means GOMAXPROCS
}

// arraySpec and fileSpec are the specification for generate.py.
type arraySpec struct {
	Path string `json:"path"`
	Seed int    `json:"seed"`
	Dims dims   `json:"dims"`
}

type fileSpec struct {
	Name   string      `json:"name"`
	Format string      `json:"format"`
	Dims   dims        `json:"dims"`
	Arrays []arraySpec `json:"arrays"`
	large  string
}

// rows returns the dimensions of the arrays of an area: every pair of values, or for a sample every
// value.
func (a area) rows(sample bool) (out []dims) {
	rows, _, _ := pairwise.Choose(a.parameters, a.rules())
	if sample {
		rows = eachValue(rows)
	}
	for _, row := range rows {
		out = append(out, a.dims(row))
	}
	return out
}

// eachValue returns some of the rows, which contain every value that the rows contain.
func eachValue(rows [][]int) (out [][]int) {
	seen := make(map[[2]int]bool)
	for {
		best, most := -1, 0
		for i, row := range rows {
			n := 0
			for p, v := range row {
				if !seen[[2]int{p, v}] {
					n++
				}
			}
			if n > most {
				best, most = i, n
			}
		}
		if best < 0 {
			return out
		}
		for p, v := range rows[best] {
			seen[[2]int{p, v}] = true
		}
		out = append(out, rows[best])
	}
}

var extensions = map[string]string{"b2nd": ".b2nd", "frame": ".b2frame", "caterva": ".caterva", "bcolz": ".bcolz", "npy": ".npy"}

// specify returns the specification of the set.
func specify(sample bool) (files []fileSpec) {
	seed := 0
	next := func(path string, v dims) arraySpec {
		seed++
		return arraySpec{path, seed, v}
	}
	for _, area := range areas {
		rows := area.rows(sample)
		if area.format == "hdf5" {
			rows = append(rows, chunkRows(sample)...)
			files = append(files, hdf5Files(rows, next)...)
			continue
		}
		for i, v := range rows {
			name := fmt.Sprintf("%s/%03d%s", area.format, i, extensions[area.format])
			files = append(files, fileSpec{Name: name, Format: area.format, Dims: v, Arrays: []arraySpec{next("/", v)}})
		}
		if area.format == "b2nd" {
			files = append(files, containers(rows, next)...)
		}
	}
	for i, kind := range []string{"random", "special"} {
		v := dims{"chunks": []string{"1", "130"}[i], "values": kind}
		f := fileSpec{Name: fmt.Sprintf("ctable/%d.bcolz", i), Format: "ctable", Dims: v}
		for c := range 5 {
			f.Arrays = append(f.Arrays, arraySpec{fmt.Sprintf("/c%d", c), 900 + i, v})
		}
		files = append(files, f)
	}
	return append(files, tables()...)
}

// chunkRows are arrays of one dimension and of two with each index and numbers of chunks around the
// 128 entries from which on a URL is read by the nodes of the index, and an array without fill
// value of which some chunks were never written.
func chunkRows(sample bool) (rows []dims) {
	indexes := map[string][2]string{"v1 B-tree": {"old", "current"}, "fixed array": {"new", "larger"}, "extensible array": {"new", "one"}, "v2 B-tree": {"new", "two"}}
	for _, index := range slices.Sorted(maps.Keys(indexes)) {
		for i, count := range []string{"130", "127", "128", "129", "200"} {
			if sample && i > 0 {
				break
			}
			for _, rank := range []string{"1", "2"} {
				if index == "v2 B-tree" && rank == "1" {
					continue
				}
				add := dims{
					"rank": rank, "dtype": "f4", "index": index, "filters": "deflate", "chunks": count, "filltime": "if set", "fill": "default",
					"stored": "all", "alloc": "incremental", "mask": "none", "max": indexes[index][1], "extent": "edge", "values": "random",
					"order": "little", "file": "earliest 8", "format": indexes[index][0],
				}
				rows = append(rows, add)
				if count == "130" {
					part := maps.Clone(add)
					part["stored"], part["filltime"] = "part", "never"
					rows = append(rows, part)
				}
			}
		}
	}
	return rows
}

// hdf5Files puts the arrays into files: those with the same file dimension together.
func hdf5Files(rows []dims, next func(string, dims) arraySpec) (files []fileSpec) {
	open := make(map[string]int)
	for i, v := range rows {
		kind, most := v["file"], 30
		if kind == "earliest 2" {
			most = 2 // of 64 KiB
		}
		key := kind
		if v["index"] == "external" || v["index"] == "virtual" {
			key += " outside" // a file with such arrays is refused as a whole unless they are allowed
		}
		at, ok := open[key]
		if !ok || len(files[at].Arrays) == most {
			at = len(files)
			open[key] = at
			name := fmt.Sprintf("hdf5/%03d-%s.h5", at, strings.ReplaceAll(key, " ", "-"))
			files = append(files, fileSpec{Name: name, Format: "hdf5", Dims: dims{"file": kind}, large: "/a_large"})
		}
		files[at].Arrays = append(files[at].Arrays, next(fmt.Sprintf("/x%03d", i), v))
	}
	return files
}

// containers puts some arrays of b2nd into containers of python-blosc2.
func containers(rows []dims, next func(string, dims) arraySpec) (files []fileSpec) {
	var inside []dims
	for _, v := range rows {
		if v["storage"] == "contiguous" && v["rank"] != "0" && v["dtype"] != "padded" && v["dtype"] != "wide" {
			inside = append(inside, v)
		}
	}
	for k, name := range []string{"store/embedded.b2z", "store/external.b2z", "store/embedded.b2d", "store/external.b2d", "store/frame.b2e"} {
		_, extension, _ := strings.Cut(name, ".")
		f := fileSpec{Name: name, Format: extension, Dims: dims{"members": strings.TrimSuffix(filepath.Base(name), "."+extension)}, large: "/a_large"}
		for i := k; i < len(inside) && len(f.Arrays) < 24; i += 5 {
			f.Arrays = append(f.Arrays, next(fmt.Sprintf("/x%03d", i), inside[i]))
		}
		files = append(files, f)
	}
	return files
}

// tables returns the tables of python-blosc2.
func tables() (files []fileSpec) {
	for i, nulls := range []string{"none", "mask", "sentinel"} {
		for _, extension := range []string{"b2z", "b2d"} {
			v := dims{"nulls": nulls, "rows": "40"}
			f := fileSpec{Name: "table/table-" + nulls + "." + extension, Format: "table", Dims: v}
			for _, column := range []string{"b", "i", "k", "f", "s", "u"} {
				if column != "b" || nulls != "sentinel" {
					f.Arrays = append(f.Arrays, arraySpec{"/" + column, 950 + i, v})
				}
			}
			files = append(files, f)
		}
	}
	return files
}

// record is a line of the output of generate.py.
type record struct {
	File   string  `json:"file"`
	Path   string  `json:"path"`
	DType  string  `json:"dtype"`
	Shape  []int64 `json:"shape"`
	Chunks []int64 `json:"chunks"`
	Size   int     `json:"size"`
	Nulls  []int64 `json:"nulls"`
	Offset int64   `json:"offset"`
	Bytes  int64   `json:"bytes"`
	CRC    uint32  `json:"crc"`
}

// modules are the Python modules that generate.py imports.
var modules = []string{"h5py", "hdf5plugin", "blosc2", "caterva", "bcolz", "numpy"}

// Generate writes the set to a new directory. Without all it is a sample with each value of each
// dimension; with all it has each pair of values. It skips the test if Python or a module is
// missing.
func Generate(t testing.TB, all bool) *Set {
	t.Helper()
	python := testenv.Python(t, modules...)
	dir := testenv.Scratch(t)
	specs := specify(!all)
	code := t.TempDir()
	for _, name := range []string{"generate.py", "reference.py"} {
		if err := writeScript(code, name); err != nil {
			t.Fatal(err)
		}
	}
	in, err := json.Marshal(specs)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, filepath.Join(code, "generate.py"), dir)
	cmd.Stdin = bytes.NewReader(in)
	var diagnostics bytes.Buffer
	cmd.Stderr = &diagnostics
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("generate.py: %v\n%s", err, &diagnostics)
	}
	s, err := load(dir, specs, out)
	if err != nil {
		t.Fatal(err)
	}
	s.Sample = !all
	return s
}

func writeScript(dir, name string) error {
	b, err := scripts.ReadFile(name)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), b, 0o644)
}

// load joins the specification with the records of generate.py and the values.
func load(dir string, specs []fileSpec, records []byte) (*Set, error) {
	values, err := os.ReadFile(filepath.Join(dir, "values.bin"))
	if err != nil {
		return nil, err
	}
	s := &Set{Dir: dir}
	lines := json.NewDecoder(bytes.NewReader(records))
	for _, spec := range specs {
		f := &File{Name: spec.Name, Format: spec.Format, Dims: spec.Dims, Large: spec.large, set: s}
		for _, a := range spec.Arrays {
			var r record
			if err := lines.Decode(&r); err != nil {
				return nil, fmt.Errorf("manifest: %w", err)
			}
			want := values[r.Offset : r.Offset+r.Bytes : r.Offset+r.Bytes]
			if r.File != spec.Name || r.Path != a.Path || crc32.ChecksumIEEE(want) != r.CRC {
				return nil, fmt.Errorf("manifest: got %s:%s, want %s:%s with the same values", r.File, r.Path, spec.Name, a.Path)
			}
			if r.Shape == nil {
				r.Shape = []int64{}
			}
			f.Arrays = append(f.Arrays, &Array{
				File: f, Path: a.Path, Dims: a.Dims, DType: r.DType, Shape: r.Shape, Chunks: r.Chunks, Size: r.Size, Nulls: r.Nulls, Want: want,
			})
		}
		s.Files = append(s.Files, f)
	}
	return s, nil
}

// Reference reads arrays with the reference libraries in a child process.
type Reference struct {
	t      testing.TB
	python string
	script string
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	mu     sync.Mutex // held by a request
}

// NewReference returns a reader that ends with the test.
func NewReference(t testing.TB, python string) *Reference {
	t.Helper()
	code := t.TempDir()
	if err := writeScript(code, "reference.py"); err != nil {
		t.Fatal(err)
	}
	r := &Reference{t: t, python: python, script: filepath.Join(code, "reference.py")}
	t.Cleanup(r.stop)
	return r
}

func (r *Reference) stop() {
	if r.cmd != nil {
		_ = r.in.Close()
		_ = r.cmd.Wait()
		r.cmd = nil
	}
}

func (r *Reference) start() (err error) {
	r.cmd = exec.Command(r.python, r.script)
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	r.out = bufio.NewReaderSize(out, 1<<20)
	return r.cmd.Start()
}

// ErrCrashed means that the reference library ended its process.
var ErrCrashed = errors.New("the reference library ended its process")

// answer is a line of reference.py.
type answer struct {
	Error  string   `json:"error"`
	Bytes  int64    `json:"bytes"`
	Shape  []int64  `json:"shape"`
	DType  string   `json:"dtype"`
	Chunks []int64  `json:"chunks"`
	Size   int      `json:"size"`
	Names  []string `json:"names"`
	raw    []byte
}

// ask sends a request and returns the answer. It returns ErrCrashed if the child process ended.
func (r *Reference) ask(format, path, name string) (*answer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cmd == nil {
		if err := r.start(); err != nil {
			return nil, err
		}
	}
	q, err := json.Marshal(map[string]string{"format": format, "path": path, "name": name})
	if err != nil {
		return nil, err
	}
	a := &answer{}
	_, err = r.in.Write(append(q, '\n'))
	var line []byte
	if err == nil {
		line, err = r.out.ReadBytes('\n')
	}
	if err == nil {
		err = json.Unmarshal(line, a)
	}
	if err == nil {
		a.raw = make([]byte, a.Bytes)
		_, err = io.ReadFull(r.out, a.raw)
	}
	if err != nil {
		r.stop()
		return nil, fmt.Errorf("%w: %w", ErrCrashed, err)
	}
	if a.Error != "" {
		return nil, fmt.Errorf("reference: %s", a.Error)
	}
	return a, nil
}

// Values returns the elements of an array as the reference library for a format reads them.
func (r *Reference) Values(format, path, name string) (values []byte, shape []int64, err error) {
	a, err := r.ask(format, path, name)
	if err != nil {
		return nil, nil, err
	}
	return a.raw, slices.Clone(a.Shape), nil
}

// Fill fills dst with the elements of an array, as Values returns them.
func (r *Reference) Fill(format, path, name string, dst []byte) error {
	values, _, err := r.Values(format, path, name)
	if err != nil {
		return err
	}
	if len(values) != len(dst) {
		return fmt.Errorf("elements: got %d bytes, want %d", len(values), len(dst))
	}
	copy(dst, values)
	return nil
}
