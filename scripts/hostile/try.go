// Execution of one case: the file is written, opened and read completely.

package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/h5"
	_ "github.com/hyperslab/hyperslab/h5/filter" // registered, so that the library runs them
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/internal/testkit/storeattack"
	"github.com/hyperslab/hyperslab/ndarray"
)

// mode is a way of opening a file.
type mode string

const (
	direct    mode = "direct"
	isolated  mode = "worker"
	unchecked mode = "unchecked"
	examined  mode = "examined"
	entries   mode = "entries"
	trusted   mode = "trusted"
)

var modes = []mode{direct, examined, entries, trusted, isolated, unchecked}

var titles = map[mode]string{
	direct:    "checked in Go, then read in the same process",
	isolated:  "checked and read in a worker",
	unchecked: "HDF5 read in a worker without a check",
	examined:  "verified and recovered in the same process (refused: damage)",
	entries:   "passed to every public function as untrusted, in the same process (refused: every call failed)",
	trusted:   "passed to every public function as trusted (library: the C library ended the process)",
}

// outcome is the result of a case.
type outcome string

const (
	refused   outcome = "refused"   // by the check
	failed    outcome = "error"     // of reading, after the check
	read      outcome = "read"      // at least one array, completely
	contained outcome = "contained" // the worker crashed, exceeded a limit or ran out of time
	wrong     outcome = "wrong"     // a valid file that reads differently than without a check, or an error without a sentinel
	crash     outcome = "crash"     // of the program
	hang      outcome = "hang"
	library   outcome = "library" // the C library crashed or did not end, in the mode trusted
	bloat     outcome = "bloat"   // memory above the limit
)

var outcomes = []outcome{refused, failed, read, contained, library, wrong, crash, hang, bloat}

// Maximum number of arrays that are read of a file, and of bytes of an array.
const (
	maxArrays = 6
	maxBytes  = 32 << 20
)

// fits reports whether a case is run in a mode.
func (x *item) fits(m mode) bool {
	switch {
	case m == direct:
		return true
	case m == entries:
		return !x.rare
	case x.rare:
		return x.both && m == isolated
	case x.seed.sort == "chunk":
		return m == isolated
	}
	return m != unchecked || x.seed.sort == "hdf5"
}

// run writes the files of the case to place and tries to read them.
func (x *item) run(ctx context.Context, m mode, place string) (outcome, string) {
	files := x.make()
	if x.seed.attack != nil {
		place = filepath.Join(place, "x"+x.seed.attack.Ext)
		for name, target := range x.seed.attack.Links {
			if err := errors.Join(os.MkdirAll(place, 0o700), os.Symlink(target, filepath.Join(place, name))); err != nil {
				return wrong, err.Error()
			}
		}
	}
	if x.seed.sort == "chunk" && m == direct {
		return decompress(files[""])
	}
	for name, b := range files {
		file := filepath.Join(place, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return wrong, err.Error()
		}
		if err := os.WriteFile(file, b, 0o600); err != nil {
			return wrong, err.Error()
		}
	}
	if x.how == "crafted" {
		if c := x.seed.crafts[x.n]; c.place != nil {
			path := filepath.Join(place, c.file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return wrong, err.Error()
			}
			if err := c.place(path); err != nil {
				return wrong, err.Error()
			}
		}
	}
	switch {
	case x.seed.sort == "chunk":
		return chunkInWorker(ctx, place)
	case m == unchecked:
		return inWorker(ctx, place)
	case m == entries || m == trusted:
		return everything(ctx, place, files, m == trusted)
	case m == examined:
		o, detail := examine(ctx, place)
		if o == read && x.seed.attack != nil {
			return wrong, "an attack is " + detail
		}
		return o, detail
	}
	u := hyperslab.Untrusted{InProcess: true, Memory: memory, CPU: wall, Wall: wall, MaxArray: 1 << 36, MaxChunk: 64 << 20, MaxMetadata: 16 << 20}
	if m == isolated {
		u.InProcess = false
	}
	if x.seed.attack != nil {
		return attack(ctx, place, u, x.seed.attack)
	}
	best, detail := refused, ""
	if x.seed.sort == "frame" && m == direct {
		best, detail = superChunk(place) // a frame that is not an array is still a super-chunk
	}
	for _, object := range objects(files) {
		location := place
		if object != "" {
			location += ":" + object
		}
		o, why := try(ctx, location, u)
		if o == read && x.how == "as it is" && !x.seed.crude {
			o, why = compare(ctx, location, why)
		}
		if rank[o] > rank[best] || detail == "" {
			best, detail = o, why
		}
	}
	return best, detail
}

// rank orders outcomes. For a file with several arrays the highest counts.
var rank = map[outcome]int{refused: 0, failed: 1, read: 2, contained: 3, wrong: 4}

// objects returns the arrays of a file. If there are none, it returns a name that does not exist.
func objects(files map[string][]byte) []string {
	if b, ok := files[""]; ok {
		if len(b) > 10 && string(b[2:10]) == "b2frame\x00" {
			return []string{""}
		}
		if b2store.IsZip(b) {
			return storeObjects(b)
		}
		f, err := h5file.Open(bytes.NewReader(b), int64(len(b)), nil)
		if err != nil {
			return []string{"/none"}
		}
		var list []string
		for e := range f.Walk() {
			if e.Object != nil && e.Object.Kind() == h5file.DatasetKind && !strings.Contains(e.Path, ":/") {
				if list = append(list, e.Path); len(list) == maxArrays {
					break
				}
			}
		}
		if list == nil {
			list = []string{"/none"}
		}
		return list
	}
	if _, ok := files[b2store.EmbedFile]; ok {
		list := []string{"/small"}
		for name := range files {
			if key, known := b2store.KeyOf(name); known && len(list) < maxArrays {
				list = append(list, key)
			}
		}
		return list
	}
	dirs, err := bcolztree.ParseRootDirs(files[bcolztree.RootDirsFile])
	if err != nil {
		return []string{""}
	}
	var list []string
	for _, name := range dirs.Names[:min(len(dirs.Names), maxArrays)] {
		list = append(list, "/"+name)
	}
	if list == nil {
		list = []string{""}
	}
	return list
}

// storeObjects returns the arrays of a store: the columns of its table, the embedded array, and
// those in files.
func storeObjects(b []byte) []string {
	list := []string{"/small", "/table", "/table/word"}
	members, err := b2store.ReadZip(bytes.NewReader(b), int64(len(b)), b2store.Limits{})
	if err != nil {
		return list
	}
	for _, m := range members {
		if key, known := b2store.KeyOf(m.Name); known && len(list) < 2*maxArrays {
			list = append(list, key)
		}
	}
	return list
}

// try opens an array and reads all of it.
func try(ctx context.Context, location string, u hyperslab.Untrusted) (outcome, string) {
	g, err := hyperslab.Open(ctx, location, &hyperslab.OpenOptions{Untrusted: &u})
	if err != nil {
		return classify(err, refused), err.Error()
	}
	defer g.Close()
	sum, err := digest(ctx, g)
	if err != nil {
		return classify(err, failed), err.Error()
	}
	if err := survey(ctx, g); classify(err, failed) == contained {
		return contained, err.Error()
	}
	return read, sum
}

// attack opens and reads the object of an attack, which must fail with its error.
func attack(ctx context.Context, place string, u hyperslab.Untrusted, x *storeattack.Attack) (outcome, string) {
	g, err := hyperslab.Open(ctx, place+":"+cmp.Or(x.Object, "/a"), &hyperslab.OpenOptions{Untrusted: &u})
	if err == nil {
		_, err = digest(ctx, g)
		err = errors.Join(err, g.Close())
	}
	switch {
	case err == nil:
		return wrong, "the attack was read"
	case errors.Is(err, x.Want):
		return refused, err.Error()
	case classify(err, failed) == contained:
		return contained, err.Error()
	}
	return wrong, fmt.Sprintf("got %v, want %v", err, x.Want)
}

// survey reads the storage information and the chunk map of an array. An error is not a failure,
// unless it is one of the worker.
func survey(ctx context.Context, a *ndarray.Array) error {
	_, err := a.Storage(ctx)
	n := 0
	for _, cerr := range a.StoredChunks(ctx) {
		if n++; cerr != nil || n == 100 {
			return errors.Join(err, cerr)
		}
	}
	return err
}

// classify returns contained for errors of a worker, and other for the rest. For other == refused
// it returns failed if the error is not one of the check.
func classify(err error, other outcome) outcome {
	for _, w := range []error{worker.ErrCrashed, worker.ErrLimit, worker.ErrTimeout} {
		if errors.Is(err, w) {
			return contained
		}
	}
	if other != refused {
		return other
	}
	// A worker's errors keep their sentinels.
	for _, w := range []error{format.ErrMagic, format.ErrVersion, format.ErrTruncated, format.ErrCorrupt, format.ErrLimit, format.ErrUnsupported, ndarray.ErrFormat} {
		if errors.Is(err, w) {
			return refused
		}
	}
	return failed // the check had accepted the file
}

// digest reads all of an array, or its beginning if it is large, and hashes it.
func digest(ctx context.Context, a *ndarray.Array) (string, error) {
	h := sha256.New()
	if !a.Meta().Null {
		if err := elements(ctx, a, window(a, maxBytes), h); err != nil {
			return "", err
		}
	}
	attrs, err := a.Attrs(ctx)
	if err != nil {
		return "", err
	}
	fmt.Fprint(h, attrs)
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

func elements(ctx context.Context, a *ndarray.Array, r ndarray.Region, h hash.Hash) error {
	if a.DType().Size == 0 {
		strs := make([]string, r.NumElems())
		if err := a.ReadStrings(ctx, strs, r); err != nil {
			return err
		}
		fmt.Fprintf(h, "%q", strs)
		return nil
	}
	n := r.NumElems() * int64(a.DType().Size)
	if n > maxBytes {
		return fmt.Errorf("%w: %d bytes for one element", format.ErrLimit, n)
	}
	b := make([]byte, n)
	if err := a.Read(ctx, b, r); err != nil {
		return err
	}
	h.Write(b)
	return nil
}

// compare reads a valid file again without a check.
func compare(ctx context.Context, location, want string) (outcome, string) {
	a, err := hyperslab.Open(ctx, location, nil)
	if err != nil {
		return wrong, "without a check: " + err.Error()
	}
	defer a.Close()
	got, err := digest(ctx, a)
	if err != nil {
		return wrong, "without a check: " + err.Error()
	}
	if got != want {
		return wrong, "other elements than without a check"
	}
	return read, got
}

// examine verifies a file, and recovers it to a new file, which must be valid.
func examine(ctx context.Context, place string) (outcome, string) {
	best, detail := read, "sound"
	o := hyperslab.VerifyOptions{Untrusted: true, Workers: 1, MaxChunk: 64 << 20, MaxMetadata: 16 << 20}
	r, err := hyperslab.Verify(ctx, place, &o)
	switch {
	case err != nil:
		best, detail = refused, err.Error()
	case r.NumFindings > 0:
		best, detail = refused, r.Findings[0].String()
	case r.NumUnchecked > 0:
		best, detail = failed, r.Unchecked[0].String()
	}
	if ctx.Err() != nil {
		return best, detail
	}
	unsupported := errors.Is(err, errors.ErrUnsupported)
	to := place + ".new"
	defer os.RemoveAll(to)
	if _, err := hyperslab.Recover(ctx, to, place, &hyperslab.RecoverOptions{MaxChunk: 64 << 20}); err != nil {
		return best, detail
	}
	r, err = hyperslab.Verify(ctx, to, &o)
	switch {
	case ctx.Err() != nil:
	case unsupported && errors.Is(err, errors.ErrUnsupported):
		// Recover copies metadata as it is, for example the name of an unknown serializer.
	case err != nil:
		return wrong, "recovered: " + err.Error()
	case r.NumFindings > 0:
		return wrong, "recovered: " + r.Findings[0].String()
	}
	return best, detail
}

// decompress decompresses a chunk in memory.
func decompress(b []byte) (outcome, string) {
	h, err := chunk.ParseHeader(b)
	if err != nil {
		return refused, err.Error()
	}
	d, err := cblosc.NewDecompressor(nil)
	if err != nil {
		return wrong, err.Error()
	}
	defer d.Close()
	if _, err = d.Decompress(make([]byte, min(max(h.NBytes, 0), maxBytes)), b); err != nil {
		if errors.Is(err, cblosc.ErrFormat) || errors.Is(err, errors.ErrUnsupported) {
			return refused, err.Error()
		}
		return failed, err.Error()
	}
	return read, ""
}

// superChunk reads up to 64 chunks of a frame, which need not be an array, and its metalayers.
func superChunk(place string) (_ outcome, detail string) {
	s, err := cblosc.OpenSChunk(place)
	if err != nil {
		return refused, err.Error()
	}
	defer s.Close()
	for _, err := range s.VLMeta().All() {
		if err != nil {
			return failed, err.Error()
		}
	}
	dst := make([]byte, min(s.ChunkSize(), maxBytes))
	for i := range min(s.NumChunks(), 64) {
		if _, err := s.DecompressChunk(dst, i); err != nil {
			return failed, err.Error()
		}
	}
	return read, "a super-chunk"
}

// bare is the service of a worker without checks. alone is the service of a worker that receives a
// chunk, which is not a file that can be opened.
const (
	bare  plainService = "hostile/unchecked"
	alone plainService = "hostile/chunk"
)

// plainService is a service of workers with one kind of request.
type plainService = worker.Service[struct{}, struct{}]

// verdict is the answer of a worker.
type verdict struct {
	Outcome outcome
	Detail  string
}

func init() {
	bare.Register(func(s *worker.Session, _ *struct{}) (worker.Handler[struct{}], error) { return walker{s}, nil })
	alone.Register(func(s *worker.Session, _ *struct{}) (worker.Handler[struct{}], error) { return decompressor{s}, nil })
}

type decompressor struct{ s *worker.Session }

// Call decompresses the chunk and answers with the outcome.
func (d decompressor) Call(*struct{}) (any, error) {
	b, err := io.ReadAll(io.NewSectionReader(d.s.Files[0], 0, math.MaxInt64))
	if err != nil {
		return nil, err
	}
	o, detail := decompress(b)
	return verdict{o, detail}, nil
}

type walker struct{ s *worker.Session }

// Call opens the file with libhdf5 and reads all datasets.
func (w walker) Call(*struct{}) (_ any, err error) {
	f, err := h5.Open(worker.FilePath(w.s.Files[0]), h5.ReadOnly)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for o, err := range f.Root().Visit() {
		if err != nil {
			return nil, err
		}
		if o.Kind == h5.DatasetObject {
			if err := whole(f, o.Path); err != nil {
				return nil, err
			}
		}
	}
	return verdict{Outcome: read}, nil
}

func whole(f *h5.File, path string) error {
	d, err := f.Root().OpenDataset(path)
	if err != nil {
		return err
	}
	defer d.Close()
	info, err := d.Info()
	if err != nil {
		return err
	}
	for a, err := range d.Attributes() {
		if err != nil {
			return err
		}
		if _, err := d.ReadAttribute(a.Name); err != nil {
			return err
		}
	}
	r := h5.Region{Start: make([]int64, len(info.Space.Dims)), Count: info.Space.Dims}
	n := int64(info.Datatype.Size)
	for _, k := range info.Space.Dims {
		if n *= k; n > maxBytes || n < 0 {
			return nil
		}
	}
	return d.ReadRegion(make([]byte, n), info.Datatype, r)
}

// inWorker runs walker in a worker.
func inWorker(ctx context.Context, place string) (outcome, string) {
	v, err := call(ctx, bare, place)
	if err != nil {
		return classify(err, failed), err.Error()
	}
	return v.Outcome, v.Detail
}

// chunkInWorker runs decompressor in a worker.
func chunkInWorker(ctx context.Context, place string) (o outcome, detail string) {
	v, err := call(ctx, alone, place)
	if err != nil {
		return classify(err, wrong), err.Error()
	}
	return v.Outcome, v.Detail
}

// call passes the file at place to a service.
func call(ctx context.Context, service plainService, place string) (v verdict, err error) {
	f, err := os.Open(place)
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	c, err := service.Client(worker.Config{Files: []*os.File{f}, Limits: worker.Limits{Memory: memory, CPU: wall, Wall: wall}}, struct{}{})
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	return v, c.Ask(ctx, new(struct{}), 1<<20, &v)
}
