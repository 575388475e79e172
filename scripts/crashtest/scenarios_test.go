// Scenarios: the writers of this module, with the old and the new content of their files.

package crashtest_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/tree/shards"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
)

// A scenario changes a directory from an old state to a new one.
type scenario struct {
	prepare func(dir string) error
	act     func(dir string) error
	// read returns the current values. It returns an error if this module and the reference library
	// read different values.
	read func(dir string) ([]int64, error)
	old  []int64 // nil: no old state
	new  []int64
}

var ctx = context.Background()

func counting(n int) []int64 {
	v := make([]int64, n)
	for i := range v {
		v[i] = int64(i)*7919 + 1
	}
	return v
}

func toBytes(v []int64) []byte {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, uint64(x))
	}
	return b
}

func fromBytes(b []byte) []int64 {
	v := make([]int64, len(b)/8)
	for i := range v {
		v[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return v
}

const few, many = 3 * 64, 9 * 64 // number of elements before and after

var scenarios = map[string]scenario{
	"append to a frame":                   frameScenario(false),
	"append to a frame of dead bytes":     appendToDead(),
	"compact a frame":                     compactScenario(),
	"append to a sparse frame":            frameScenario(true),
	"append to an array":                  rowsScenario(false),
	"append to a sparse array":            rowsScenario(true),
	"append to a carray":                  arrayScenario("a.bcolz", appendInPlace, nil),
	"append to a ctable":                  tableScenario(false),
	"append to a nested ctable":           tableScenario(true),
	"append to a carray, by a copy":       arrayScenario("a.bcolz", appendToCopy, nil),
	"append to an HDF5 dataset":           arrayScenario("a.h5:/x", appendToCopy, nil),
	"append to HDF5 datasets at once":     severalScenario(),
	"append to a b2nd file, by a copy":    arrayScenario("a.b2nd", appendToCopy, nil),
	"append to a b2nd file in place":      arrayScenario("a.b2nd", appendDurably, nil),
	"append to a sparse array in place":   arrayScenario("a.b2nd", appendDurably, &hyperslab.CreateOptions{Sparse: true}),
	"write to a b2nd file in place":       writeScenario(nil),
	"write to a sparse array in place":    writeScenario(&hyperslab.CreateOptions{Sparse: true}),
	"create over a b2nd file":             arrayScenario("a.b2nd", createAnew, nil),
	"create over a sparse array":          arrayScenario("a.b2nd", createAnew, &hyperslab.CreateOptions{Sparse: true}),
	"create over a carray":                arrayScenario("a.bcolz", createAnew, nil),
	"create over an HDF5 file":            arrayScenario("a.h5:/x", createAnew, nil),
	"create a Caterva file":               onlyNew(arrayScenario("a.cat", createAnew, &hyperslab.CreateOptions{Format: hyperslab.Caterva})),
	"create a b2nd file":                  onlyNew(arrayScenario("a.b2nd", createAnew, nil)),
	"create a sparse array":               onlyNew(arrayScenario("a.b2nd", createAnew, &hyperslab.CreateOptions{Sparse: true})),
	"create a carray":                     onlyNew(arrayScenario("a.bcolz", createAnew, nil)),
	"create a ctable":                     createTable(),
	"create a frame":                      createFrame(false),
	"create a sparse frame":               createFrame(true),
	"copy a tree to a directory":          copyTree("new", "new:/x"),
	"copy a tree to an HDF5 file":         copyTree("new.h5", "new.h5:/x"),
	"copy a tree to a ctable":             copyTree("new.bcolz", "new.bcolz:/x"),
	"split a carray":                      splitScenario(),
	"join shards":                         joinScenario(),
	"create an HDF5 file":                 onlyNew(arrayScenario("a.h5:/x", createAnew, nil)),
	"recover a b2nd file over an old one": recoverScenario("a.b2nd"),
	"recover an HDF5 file":                recoverScenario("a.h5:/x"),
	"recover a carray":                    recoverScenario("a.bcolz"),
	"write digests":                       digestScenario(),
}

func frameScenario(sparse bool) scenario {
	path := func(dir string) string { return filepath.Join(dir, "frame") }
	finish := func(w *frameio.Writer, v []int64) error {
		_, err := w.Write(toBytes(v))
		if err == nil {
			err = w.Commit()
		}
		return errors.Join(err, w.Close())
	}
	return scenario{
		prepare: func(dir string) error {
			cp := cblosc.DefaultCParams()
			cp.TypeSize = 8
			w, err := frameio.Create(path(dir), &frameio.Params{CParams: cp, ChunkSize: 512, Sparse: sparse, VLMeta: []cblosc.Metalayer{{Name: "v", Content: []byte("content")}}})
			if err != nil {
				return err
			}
			return finish(w, counting(few))
		},
		act: func(dir string) error {
			w, err := frameio.Append(path(dir), &frameio.AppendOptions{Durable: true})
			if err != nil {
				return err
			}
			return finish(w, counting(many)[few:])
		},
		read: func(dir string) ([]int64, error) { return readFrame(path(dir)) },
		old:  counting(few), new: counting(many),
	}
}

// deadFrame creates a frame whose unused bytes, two old trailers, exceed its used bytes.
func deadFrame(path string) error {
	cp := cblosc.DefaultCParams()
	cp.TypeSize = 8
	noise := make([]byte, 8192)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise) // never fails
	w, err := frameio.Create(path, &frameio.Params{CParams: cp, ChunkSize: 512, VLMeta: []cblosc.Metalayer{{Name: "v", Content: noise}}})
	for k := 0; err == nil; k++ {
		_, err = w.Write(toBytes(counting(few)[64*k : 64*(k+1)]))
		if err == nil {
			err = w.Commit()
		}
		err = errors.Join(err, w.Close())
		if err != nil || 64*(k+1) == few {
			break
		}
		w, err = frameio.Append(path, &frameio.AppendOptions{Durable: true})
	}
	return err
}

// appendToDead appends to a frame that Append compacts first.
func appendToDead() scenario {
	s := frameScenario(false)
	s.prepare = func(dir string) error { return deadFrame(filepath.Join(dir, "frame")) }
	return s
}

// compactScenario compacts a frame. Its values are those of the frame, followed by 1 if the frame
// has unused bytes.
func compactScenario() scenario {
	path := func(dir string) string { return filepath.Join(dir, "frame") }
	return scenario{
		prepare: func(dir string) error { return deadFrame(path(dir)) },
		act:     func(dir string) error { return frameio.Compact(path(dir)) },
		read: func(dir string) ([]int64, error) {
			v, err := readFrame(path(dir))
			if err != nil {
				return nil, err
			}
			info, err := os.Stat(path(dir))
			if err == nil && info.Size() > 16<<10 { // one trailer uses 8 KiB
				v = append(v, 1)
			}
			return v, err
		},
		old: append(counting(few), 1), new: counting(few),
	}
}

// createFrame creates a new frame.
func createFrame(sparse bool) scenario {
	s := onlyNew(frameScenario(sparse))
	s.act = func(dir string) error {
		cp := cblosc.DefaultCParams()
		cp.TypeSize = 8
		w, err := frameio.Create(filepath.Join(dir, "frame"), &frameio.Params{CParams: cp, ChunkSize: 512, Sparse: sparse})
		if err != nil {
			return err
		}
		_, err = w.Write(toBytes(counting(many)))
		if err == nil {
			err = w.Commit()
		}
		return errors.Join(err, w.Close())
	}
	return s
}

// readFrame reads all values of a frame with this module and C-Blosc2, and compares them.
func readFrame(path string) (v []int64, err error) {
	f, err := frameio.Open(path, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	ours := make([]byte, f.NBytes())
	if err := f.ReadAll(ctx, ours, 1); err != nil {
		return nil, err
	}
	s, err := cblosc.OpenSChunk(path)
	if err != nil {
		return nil, fmt.Errorf("c-blosc2: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	theirs := make([]byte, s.NBytes())
	for i := range s.NumChunks() {
		if _, err := s.DecompressChunk(theirs[int(i)*s.ChunkSize():], i); err != nil {
			return nil, fmt.Errorf("c-blosc2: %w", err)
		}
	}
	if !bytes.Equal(ours, theirs) {
		return nil, errors.New("c-blosc2 reads something else")
	}
	return fromBytes(ours), python.compare("blosc2", path, fromBytes(ours))
}

// rowsScenario appends whole chunks to a b2nd array with frameio.WriteArray.
func rowsScenario(sparse bool) scenario {
	s := arrayScenario("a.b2nd", nil, nil)
	if sparse {
		s = arrayScenario("a.b2nd", nil, &hyperslab.CreateOptions{Sparse: true})
	}
	s.act = func(dir string) error {
		w, err := frameio.WriteArray(filepath.Join(dir, "a.b2nd"), &frameio.ArrayOptions{Rows: many, Durable: true})
		if err != nil {
			return err
		}
		err = w.WriteRegion(ctx, toBytes(counting(many)[few:]), []int64{few}, []int64{many - few}, 2)
		if err == nil {
			err = w.Commit()
		}
		return errors.Join(err, w.Close())
	}
	return s
}

func spec(n int64) ndarray.Spec {
	return ndarray.Spec{Shape: []int64{n}, MaxShape: []int64{ndarray.Unlimited}, ChunkShape: []int64{64}, DType: ndarray.DTypeOf[int64]()}
}

func create(location string, v []int64, opts *hyperslab.CreateOptions) error {
	s := spec(int64(len(v)))
	if !strings.HasSuffix(location, ":/x") {
		s.MaxShape = nil
	}
	if filepath.Ext(location) == ".cat" {
		d, err := ndarray.ParseDType("V8") // Caterva does not store a dtype
		if err != nil {
			return err
		}
		s.DType = d
	}
	d, err := hyperslab.Create(ctx, location, s, opts)
	if err != nil {
		return err
	}
	if err = d.Write(ctx, toBytes(v), ndarray.Whole(d.Shape())); err == nil {
		err = d.Commit(ctx)
	}
	return errors.Join(err, d.Close())
}

func createAnew(location string, opts *hyperslab.CreateOptions) error {
	over := hyperslab.CreateOptions{Overwrite: true}
	if opts != nil {
		over.Sparse, over.Format = opts.Sparse, opts.Format
	}
	return create(location, counting(many), &over)
}

func appendInPlace(location string, _ *hyperslab.CreateOptions) (err error) {
	a, err := hyperslab.Open(ctx, location, &hyperslab.OpenOptions{Write: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	return ndarray.Append(ctx, a, 0, counting(many)[few:])
}

// appendDurably ignores opts, because they apply only to the creation.
func appendDurably(location string, _ *hyperslab.CreateOptions) (err error) {
	a, err := hyperslab.Open(ctx, location, &hyperslab.OpenOptions{Durable: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	return ndarray.Append(ctx, a, 0, counting(many)[few:])
}

// writeScenario replaces elements from the middle of one chunk to the middle of a later chunk.
func writeScenario(opts *hyperslab.CreateOptions) scenario {
	const from, n = 32, 80
	s := arrayScenario("a.b2nd", func(location string, _ *hyperslab.CreateOptions) (err error) {
		a, err := hyperslab.Open(ctx, location, &hyperslab.OpenOptions{Durable: true})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, a.Close()) }()
		return a.Write(ctx, toBytes(counting(many)[few:few+n]), ndarray.Region{Start: []int64{from}, Shape: []int64{n}})
	}, opts)
	s.new = counting(few)
	copy(s.new[from:], counting(many)[few:few+n])
	return s
}

func appendToCopy(location string, _ *hyperslab.CreateOptions) error {
	l, err := locate.Parse(location)
	if err != nil {
		return err
	}
	return hyperslab.Update(ctx, l.File, func(file string) error {
		return appendInPlace(locate.Location{File: file, Object: l.Object}.String(), nil)
	})
}

// arrayScenario creates one array with Create and changes it with act.
func arrayScenario(location string, act func(location string, opts *hyperslab.CreateOptions) error, opts *hyperslab.CreateOptions) scenario {
	return scenario{
		prepare: func(dir string) error { return create(dir+"/"+location, counting(few), opts) },
		act:     func(dir string) error { return act(dir+"/"+location, opts) },
		read:    func(dir string) ([]int64, error) { return readArray(dir + "/" + location) },
		old:     counting(few), new: counting(many),
	}
}

func onlyNew(s scenario) scenario {
	s.prepare, s.old = func(string) error { return nil }, nil
	return s
}

// readArray reads an array with this module and the library of the format, and compares the values.
func readArray(location string) (v []int64, err error) {
	a, err := hyperslab.Open(ctx, location, nil)
	if err != nil {
		return nil, err
	}
	ours := make([]byte, a.NBytes())
	if err := errors.Join(a.Read(ctx, ours, ndarray.Whole(a.Shape())), a.Close()); err != nil {
		return nil, err
	}
	l, err := locate.Parse(location)
	if err != nil {
		return nil, err
	}
	var theirs []byte
	switch filepath.Ext(l.File) {
	case ".bcolz":
		// A table has one column here.
		return fromBytes(ours), python.compare("bcolz", l.File, fromBytes(ours))
	case ".h5":
		f, err := h5.Open(l.File, h5.ReadOnly)
		if err != nil {
			return nil, fmt.Errorf("libhdf5: %w", err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		d, err := f.Root().OpenDataset("x")
		if err != nil {
			return nil, fmt.Errorf("libhdf5: %w", err)
		}
		defer func() { err = errors.Join(err, d.Close()) }()
		got, err := h5value.ReadAll[int64](d)
		if err != nil {
			return nil, fmt.Errorf("libhdf5: %w", err)
		}
		theirs = toBytes(got)
	default:
		b, err := cblosc.OpenArray(l.File + fileOf(l.Object))
		if err != nil {
			return nil, fmt.Errorf("c-blosc2: %w", err)
		}
		defer func() { err = errors.Join(err, b.Close()) }()
		theirs = make([]byte, len(ours))
		if err := b.ReadRegion(theirs, []int64{0}, b.Shape()); err != nil {
			return nil, fmt.Errorf("c-blosc2: %w", err)
		}
	}
	if !bytes.Equal(ours, theirs) {
		return nil, errors.New("the library reads something else")
	}
	switch filepath.Ext(l.File) {
	case ".h5":
		return fromBytes(ours), python.compare("h5py", l.File, fromBytes(ours))
	case ".cat": // python-blosc2 does not support Caterva
		return fromBytes(ours), nil
	}
	return fromBytes(ours), python.compare("blosc2", l.File+fileOf(l.Object), fromBytes(ours))
}

// fileOf returns the path of an array relative to its directory of arrays.
func fileOf(object string) string {
	if object == "" {
		return ""
	}
	return object + ".b2nd"
}

// tableScenario appends to a ctable with two columns that contain the same values. In a nested
// table the second column is a field of a nested struct.
func tableScenario(nested bool) scenario {
	d := ndarray.StructOf(false, ndarray.Field{Name: "a", Type: ndarray.DTypeOf[int64]()}, ndarray.Field{Name: "b", Type: ndarray.DTypeOf[int64]()})
	if nested {
		d = ndarray.StructOf(false, d.Fields[0], ndarray.Field{Name: "in", Type: ndarray.StructOf(false, d.Fields[1])})
	}
	path := func(dir string) string { return filepath.Join(dir, "t.bcolz") }
	rows := func(v []int64) []byte {
		var twice []int64
		for _, x := range v {
			twice = append(twice, x, x)
		}
		return toBytes(twice)
	}
	return scenario{
		prepare: func(dir string) error {
			s := spec(few)
			s.DType = d
			r, err := bcolz.CreateRecords(path(dir), s, &bcolz.CreateOptions{Nested: nested})
			if err != nil {
				return err
			}
			return errors.Join(r.(ndarray.RegionWriter).WriteRegion(ctx, rows(counting(few)), ndarray.Whole(s.Shape), 0), r.Close())
		},
		act: func(dir string) error {
			a, err := hyperslab.Open(ctx, path(dir), &hyperslab.OpenOptions{Write: true})
			if err != nil {
				return err
			}
			return errors.Join(a.Append(ctx, 0, rows(counting(many)[few:])), a.Close())
		},
		read: func(dir string) (v []int64, err error) {
			r, err := bcolz.OpenRecords(path(dir), nil)
			if err != nil {
				return nil, err
			}
			b := make([]byte, r.Meta().NumElems()*16)
			if err := errors.Join(r.ReadRegion(ctx, b, ndarray.Whole(r.Meta().Shape), 0), r.Close()); err != nil {
				return nil, err
			}
			both := fromBytes(b)
			for i := 0; i < len(both); i += 2 {
				if both[i] != both[i+1] {
					return nil, fmt.Errorf("row %d: the columns hold %d and %d", i/2, both[i], both[i+1])
				}
				v = append(v, both[i])
			}
			if nested {
				return v, nil // bcolz does not support nested tables
			}
			return v, python.compare("bcolz", path(dir), v, v)
		},
		old: counting(few), new: counting(many),
	}
}

// createTable creates a new ctable.
func createTable() scenario {
	s := onlyNew(tableScenario(false))
	s.act = func(dir string) error {
		v := make([]int64, 0, 2*many)
		for _, x := range counting(many) {
			v = append(v, x, x)
		}
		p := spec(many)
		p.DType = ndarray.StructOf(false, ndarray.Field{Name: "a", Type: p.DType}, ndarray.Field{Name: "b", Type: p.DType})
		d, err := hyperslab.Create(ctx, filepath.Join(dir, "t.bcolz"), p, nil)
		if err != nil {
			return err
		}
		if err = d.Write(ctx, toBytes(v), ndarray.Whole(d.Shape())); err == nil {
			err = d.Commit(ctx)
		}
		return errors.Join(err, d.Close())
	}
	return s
}

// copyTree copies a file with one array. location is the array in the new tree.
func copyTree(to, location string) scenario {
	return scenario{
		prepare: func(dir string) error {
			return errors.Join(os.Mkdir(dir+"/from", 0o777), create(dir+"/from/a.h5:/x", counting(many), nil))
		},
		act: func(dir string) error {
			src, err := hyperslab.OpenTree(ctx, dir+"/from/a.h5", nil)
			if err != nil {
				return err
			}
			defer src.Close()
			_, err = hyperslab.CopyTree(ctx, dir+"/"+to, src, &hyperslab.TreeOptions{Accept: func(hyperslab.Problem) bool { return true }})
			return err
		},
		read: func(dir string) ([]int64, error) { return readArray(dir + "/" + location) },
		new:  counting(many),
	}
}

// shardsOf returns two shards that together cover an array of more than two chunks.
func shardsOf(dir string) []shards.Shard {
	return []shards.Shard{{Dir: dir + "/s0", First: 0, End: 2}, {Dir: dir + "/s1", First: 2, End: shards.All}}
}

// splitScenario splits a carray into two shards. A shard that exists must be complete.
func splitScenario() scenario {
	return scenario{
		prepare: func(dir string) error {
			return errors.Join(os.Mkdir(dir+"/from", 0o777), create(dir+"/from/a.bcolz", counting(many), nil))
		},
		act: func(dir string) error {
			for _, s := range shardsOf(dir) { // remove shards of a killed process
				if err := os.RemoveAll(s.Dir); err != nil {
					return err
				}
			}
			return shards.Split(ctx, dir+"/from/a.bcolz", shardsOf(dir))
		},
		read: func(dir string) (all []int64, err error) {
			missing := false
			for _, s := range shardsOf(dir) {
				if _, err := os.Stat(s.Dir); err != nil {
					missing = true
					continue
				}
				a, err := hyperslab.Open(ctx, s.Dir, nil)
				if err != nil {
					return nil, err
				}
				from, to := s.First*64, min(s.End, many/64)*64
				v := make([]byte, 8*(to-from))
				if err := errors.Join(a.Read(ctx, v, ndarray.Region{Start: []int64{from}, Shape: []int64{to - from}}), a.Close()); err != nil {
					// Not wrapped, because a missing file is an error here.
					return nil, fmt.Errorf("%v: %v", s, err)
				}
				all = append(all, fromBytes(v)...)
			}
			if missing {
				return nil, os.ErrNotExist
			}
			return all, nil
		},
		new: counting(many),
	}
}

// joinScenario joins two shards into a carray.
func joinScenario() scenario {
	s := onlyNew(arrayScenario("a.bcolz", nil, nil))
	s.prepare = func(dir string) error {
		if err := splitScenario().prepare(dir); err != nil {
			return err
		}
		return shards.Split(ctx, dir+"/from/a.bcolz", shardsOf(dir+"/from"))
	}
	s.act = func(dir string) error { return shards.Join(ctx, dir+"/a.bcolz", shardsOf(dir+"/from")) }
	return s
}

// recoverScenario recovers one file and replaces another file with the result.
func recoverScenario(location string) scenario {
	s := arrayScenario(location, nil, nil)
	l, _ := locate.Parse(location)
	s.prepare = func(dir string) error {
		return errors.Join(create(dir+"/"+location, counting(few), nil), os.Mkdir(dir+"/from", 0o777), create(dir+"/from/"+location, counting(many), nil))
	}
	s.act = func(dir string) error {
		_, err := hyperslab.Recover(ctx, dir+"/"+l.File, dir+"/from/"+l.File, &hyperslab.RecoverOptions{Overwrite: true})
		return err
	}
	return s
}

// digestScenario writes a sidecar file with digests. The array is the same before and after it.
func digestScenario() scenario {
	s := arrayScenario("a.b2nd", nil, nil)
	s.act = func(dir string) error {
		_, err := hyperslab.Verify(ctx, dir+"/a.b2nd", &hyperslab.VerifyOptions{WriteDigests: true})
		return err
	}
	s.new = s.old
	s.read = func(dir string) ([]int64, error) {
		if _, err := os.Stat(dir + "/a.b2nd.sha256"); err == nil {
			r, err := hyperslab.Verify(ctx, dir+"/a.b2nd", &hyperslab.VerifyOptions{CheckDigests: true})
			if err != nil || r.NumFindings != 0 {
				return nil, fmt.Errorf("sidecar: %v %w", r, err)
			}
		}
		return readArray(dir + "/a.b2nd")
	}
	return s
}
