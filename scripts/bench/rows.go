// The rows: the documented performance, with its peers.

package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/h5"
)

// spec is a row whose data is not prepared yet.
type spec struct {
	name, group string
	row         func(*bench) (*row, error)
}

// Groups of rows. Each group is a table of the report.
const (
	promised = "promised"
	machine  = "the cores of this machine"
	byChunk  = "by size of a chunk"
	byNumber = "by number of chunks"
	byUsers  = "by goroutines on one handle"
	byParts  = "by number of parts of a file"
)

// words returns the arguments of a child.
func words(v ...any) []string {
	var out []string
	for _, w := range v {
		switch w := w.(type) {
		case []int64:
			for _, n := range w {
				out = append(out, strconv.FormatInt(n, 10))
			}
		default:
			out = append(out, fmt.Sprint(w))
		}
	}
	return out
}

// ours returns a task of this module.
func (b *bench) ours(name, kind string, v ...any) task {
	return task{Name: name, Command: append([]string{b.self, "task", kind}, words(v...)...)}
}

// writes marks an argument of the task as an output file.
func (t task) writes(path string) task {
	t.Writes = append(t.Writes, path)
	return t
}

// c returns a task in C.
func (b *bench) c(name, program string, v ...any) task {
	return task{Name: name, Command: append([]string{filepath.Join(b.peers, "peer-"+program)}, words(v...)...)}
}

// py returns a task in Python, which is skipped if the peers are not installed.
func (b *bench) py(name string, v ...any) task {
	if b.python == "" {
		return task{Name: name, Command: []string{""}}
	}
	return task{Name: name, Command: append([]string{b.python, filepath.Join("scripts", "bench", "peers", "peer.py")}, words(v...)...)}
}

// once returns a task that is a program with one run. out is its output file.
func (b *bench) once(name, out string, v ...any) task {
	t := task{Name: name, Once: true, Out: out}
	for _, w := range v {
		if path, ok := w.(string); ok && filepath.Dir(path) == toolDirectory {
			hdf5, _ := h5.Version()
			t.Version = "HDF5 " + hdf5
		}
	}
	if v[0] == "" {
		t.Command = []string{""}
	} else {
		t.Command = append([]string{filepath.Join(b.peers, "peer-run")}, words(v...)...)
	}
	return t
}

// workers returns the numbers of workers to measure: 1, 2 and all.
func (b *bench) workers() []int {
	w := []int{1, 2}
	if b.all > 2 {
		w = append(w, b.all)
	}
	return w
}

func named(workers int) string { return fmt.Sprintf("ours, %d", workers) }

// oneGoroutine is the name of the task with one goroutine, in rows with a shared handle.
const oneGoroutine = "ours, 1 goroutine"

// most returns the name of the task with all workers.
func (b *bench) most() string { return named(b.processes()) }

// processes returns the number of processes that use all cores, at least 2.
func (b *bench) processes() int { return max(2, b.all) }

func (b *bench) specs() []spec {
	s := []spec{}
	add := func(group, name string, f func(*bench) (*row, error)) { s = append(s, spec{name, group, f}) }
	if b.large {
		for _, to := range []string{"h5", "b2nd"} {
			add(promised, "copy/10GiB/"+to, func(b *bench) (*row, error) { return b.copyLarge(to) })
		}
		return s
	}
	// half halves the number of runs of a row, but not below 10, which the spread needs. It is for
	// rows that take many seconds, and for data without a bar.
	half := func(is bool, f func(*bench) (*row, error)) func(*bench) (*row, error) {
		return func(b *bench) (*row, error) {
			r, err := f(b)
			if err == nil && is {
				r.Runs = max(b.runs/2, min(b.runs, 10))
			}
			return r, err
		}
	}
	// each adds a row for every kind of data. Only real data have a bar. %s in the name stands for
	// the kind; without it the name of the row with real data does not contain the kind.
	each := func(name string, f func(b *bench, k kind) (*row, error)) {
		for _, k := range kinds {
			of := name
			switch {
			case strings.Contains(name, "%s"):
				of = fmt.Sprintf(name, k)
			case k != real:
				of += "/" + string(k)
			}
			add(promised, of, half(k != real, func(b *bench) (*row, error) {
				r, err := f(b, k)
				if err == nil && k != real {
					for i := range r.Compare {
						r.Compare[i].Bar = 0
					}
				}
				return r, err
			}))
		}
	}
	each("read/deflate/%s", func(b *bench, k kind) (*row, error) { return b.read(k, "deflate", 4.75, 2.5) })
	each("write/deflate/%s", (*bench).write)
	for _, codec := range []string{"lz4", "zstd"} {
		each("read/blosc2-"+codec+"/%s", func(b *bench, k kind) (*row, error) { return b.read(k, codec, 1.7, 1) })
	}
	for _, codec := range []string{"lz4", "zstd"} {
		each("slices/blosc2-"+codec, func(b *bench, k kind) (*row, error) { return b.slices(k, codec) })
	}
	each("slices/b2nd", (*bench).b2ndSlices)
	each("read/b2nd", (*bench).b2nd)
	for _, k := range kinds { // constant values need almost no compression
		bar := map[kind]float64{real: 25, constant: 50}[k]
		add(promised, fmt.Sprintf("append/20000/%s", k), half(k != real, func(b *bench) (*row, error) { return b.append(k, 20000, 4096, "1", bar) }))
	}
	add(promised, "append/20000/four-threads", half(true, func(b *bench) (*row, error) { return b.append(real, 20000, 4096, "", 25) }))
	each("random/4KiB", func(b *bench, k kind) (*row, error) { return b.random(k, 20000, 4096) })
	for _, size := range []int64{64 << 10, 1 << 20} {
		for _, codec := range []string{"lz4", "zstd"} {
			for _, way := range []string{"compress", "decompress"} {
				each(fmt.Sprintf("buffer/%s/%s/%dKiB", way, codec, size>>10), func(b *bench, k kind) (*row, error) { return b.buffer(k, way, codec, size) })
			}
		}
	}
	for _, codec := range []string{"lz4", "zstd"} {
		for _, way := range []string{"compress", "decompress"} {
			each(fmt.Sprintf("batch/%s/%s/4KiB", way, codec), func(b *bench, k kind) (*row, error) { return b.batch(k, way, codec) })
		}
	}
	for _, f := range []string{"deflate", "lz4"} {
		add(promised, "isolated/read-"+f, func(b *bench) (*row, error) { return b.isolatedRead(f) })
	}
	add(promised, "isolated/start", (*bench).isolatedStart)
	add(promised, "small/contiguous", (*bench).small)
	for _, verb := range []string{"ls", "diff", "repack", "ddl", "tree"} {
		add(promised, "objects/"+verb, func(b *bench) (*row, error) { return b.objects(verb) })
	}
	for _, verb := range []string{"ls", "diff", "repack", "to-h5", "ddl"} {
		add(promised, "netcdf/"+verb, func(b *bench) (*row, error) { return b.netcdf(verb) })
	}
	each("repack/hdf5", (*bench).repack)
	each("convert/hdf5-b2nd", (*bench).convert)
	for _, codec := range []string{"lz4", "zstd"} {
		add(promised, "checksum/b2nd-"+codec, func(b *bench) (*row, error) { return b.checksum(codec) })
	}
	for _, to := range []string{"h5", "b2nd"} {
		add(promised, "rechunk/"+to, half(true, func(b *bench) (*row, error) { return b.rechunk(to) }))
	}
	s = append(s, b.volumeSpecs()...)
	for _, codec := range []string{"lz4", "zstd"} {
		for _, way := range []string{"compress", "decompress"} {
			add(machine, "all/"+way+"/"+codec, func(b *bench) (*row, error) {
				r, err := b.batch(real, way, codec)
				return r.copies(fmt.Sprintf("%s buffers of 4 KiB with %s, in C", way, codec), b.processes()), err
			})
		}
	}
	add(machine, "all/read/deflate", func(b *bench) (*row, error) {
		r, err := b.chunkRead(1<<20, "")
		return r.copies("read a dataset with shuffle and deflate 4, in C", b.processes()), err
	})
	add(machine, "all/append/lz4", func(b *bench) (*row, error) {
		r, err := b.append(real, 2000, 4096, "1", 0)
		return r.copies("append 2000 chunks of 4096 bytes to a frame, in C", b.processes()), err
	})
	return append(append(s, b.linear()...), b.growth()...)
}

// copies returns a row that compares one process of r's peer with n concurrent processes. It
// measures the speedup of independent processes on the machine.
func (r *row) copies(work string, n int) *row {
	if r == nil {
		return nil
	}
	one, many := r.Tasks[0], r.Tasks[0]
	one.Name, many.Name, many.Copies = "one process", fmt.Sprint(n, " at once"), n
	return &row{Work: work, Bytes: r.Bytes, Ops: r.Ops, Tasks: []task{one, many}}
}

// command is the path of this module's command.
var command = filepath.Join("bin", "hyperslab")

// pairs replaces the peers of r by the programs of an earlier commit: each task of this module has
// a task with the same arguments beside it. The earlier programs must know the task.
func (b *bench) pairs(r *row) {
	programs := map[string]string{b.self: "bench", command: "hyperslab"}
	all := r.Tasks
	r.Tasks, r.Compare, r.Same, r.Note = nil, nil, nil, ""
	for _, t := range all {
		i := slices.IndexFunc(t.Command, func(w string) bool { return programs[w] != "" })
		if i < 0 {
			continue
		}
		earlier := t
		earlier.Name, earlier.Command = "before: "+t.Name, slices.Clone(t.Command)
		earlier.Command[i] = filepath.Join(b.before, programs[t.Command[i]])
		r.Tasks = append(r.Tasks, earlier, t)
		r.Compare = append(r.Compare, compare{earlier.Name, t.Name, 0.95}) // at most 5 % slower
	}
}

// scale compares all cores with one. The bar is 0.8 of their number; the values that are not real
// compress so fast that the memory limits them.
func (b *bench) scale(r *row) {
	has := func(name string) bool {
		return slices.ContainsFunc(r.Tasks, func(t task) bool { return t.Name == name })
	}
	if r.Group != promised || !has(named(1)) || !has(b.most()) {
		return
	}
	c := compare{named(1), b.most(), 0.8 * float64(b.all)}
	if strings.HasSuffix(r.Name, "/"+string(noise)) || strings.HasSuffix(r.Name, "/"+string(constant)) {
		c.Bar = 0
	}
	r.Compare = append(r.Compare, c)
}

// read reads a whole dataset. bar is the bar of all workers against H5Dread, and alone that of one.
func (b *bench) read(k kind, filters string, bar, alone float64) (*row, error) {
	n := b.bytes(k)
	file, err := b.hdf5File(k, n, filters, b.chunks())
	if err != nil {
		return nil, err
	}
	r := &row{Work: fmt.Sprintf("read a dataset of %s values compressed with %s, chunks of 1 MiB", k, filters), Bytes: n}
	if filters == "deflate" {
		r.Tasks = append(r.Tasks, b.c("H5Dread in C", "hdf5", "read", file, "d"))
		if k == real {
			r.Tasks = append(r.Tasks, b.py("h5py", "read", file, "d"), b.py("PyTables", "tables", file, "d"))
		}
		r.Compare = []compare{{"H5Dread in C", b.most(), bar}, {"H5Dread in C", named(1), alone}}
	} else {
		r.Tasks = append(r.Tasks, b.ours("H5Dread, our filter", "h5read", file, "d", 0), b.py("h5py, hdf5plugin", "read", file, "d"))
		r.Compare = []compare{{"H5Dread, our filter", b.most(), bar}, {"H5Dread, our filter", named(1), alone}, {"h5py, hdf5plugin", b.most(), 0}}
		r.Note = "hdf5plugin's filter decodes with C-Blosc2 too, on one thread. The gain over it, as over our own filter, is the share of the other cores."
	}
	for _, w := range b.workers() {
		r.Tasks = append(r.Tasks, b.ours(named(w), "h5read", file, "d", w))
	}
	return r, nil
}

func (b *bench) write(k kind) (*row, error) {
	raw, err := b.raw(k)
	if err != nil {
		return nil, err
	}
	n := b.bytes(k)
	shape, chunks := b.shape(n), b.chunks()
	r := &row{Work: fmt.Sprintf("write a dataset of %s values compressed with shuffle and deflate 4, chunks of 1 MiB", k), Bytes: n,
		Tasks:   []task{b.c("H5Dwrite in C", "hdf5", "write", raw, b.outFile("c.h5"), 4, len(shape), shape, chunks)},
		Compare: []compare{{"H5Dwrite in C", b.most(), 0}, {"H5Dwrite in C", named(1), 2.2}}}
	for _, w := range b.workers() {
		out := b.outFile(fmt.Sprintf("go%d.h5", w))
		r.Tasks = append(r.Tasks, b.ours(named(w), "h5write", raw, out, "deflate", w, shape, chunks).writes(out))
	}
	return r, nil
}

// isolatedRead checks and reads an untrusted dataset, in this process or in a worker.
func (b *bench) isolatedRead(filters string) (*row, error) {
	n := b.bytes(real)
	file, err := b.hdf5File(real, n, filters, b.chunks())
	if err != nil {
		return nil, err
	}
	const here, there = "in the same process", "in a worker"
	return &row{Work: "check and read an untrusted dataset of real values compressed with " + filters, Bytes: n,
		Tasks:   []task{b.ours(here, "guarded", file+":/d", "off"), b.ours(there, "guarded", file+":/d", "on")},
		Compare: []compare{{here, there, 0.8}}}, nil
}

// isolatedStart measures the time until a worker has opened a small file. The limit is 5 ms.
func (b *bench) isolatedStart() (*row, error) {
	const count = 40
	file, err := b.hdf5File(real, 1<<20, "deflate", b.chunks())
	if err != nil {
		return nil, err
	}
	const may, starts = "5 ms each", "a worker's start and end"
	return &row{Waits: true, Work: fmt.Sprintf("start %d workers, one after the other, that open a small file", count), Ops: count,
		Tasks: []task{b.ours(may, "wait", 5000*count), b.ours(starts, "workers", file+":/d", count, "on"),
			b.ours("the same without a worker", "workers", file+":/d", count, "off")},
		Compare: []compare{{may, starts, 1}}}, nil
}

// slices reads boxes that are smaller than a chunk of 4 MiB. The chunks do not fit into the
// library's cache.
func (b *bench) slices(k kind, filters string) (*row, error) {
	n := min(b.bytes(k), 128<<20)
	chunks := []int64{16, b.field.shape[1], b.field.shape[2]}
	file, err := b.hdf5File(k, n, filters, chunks)
	if err != nil {
		return nil, err
	}
	const count = 64
	box := []int64{2, b.field.shape[1] / 5, b.field.shape[2] / 5}
	peer, plugin := "H5Dread, our filter", "h5py, hdf5plugin"
	r := &row{Work: fmt.Sprintf("64 random boxes of %v out of chunks of %v of %s values compressed with %s", box, chunks, k, filters), Bytes: count * 4 * whole(box).NumElems(), Ops: count}
	r.Tasks = []task{b.ours(peer, "h5slices", file, "d", 0, 1, count, box), b.py(plugin, "slices", file, "d", count, box)}
	for _, w := range b.workers() {
		r.Tasks = append(r.Tasks, b.ours(named(w), "h5slices", file, "d", w, 1, count, box))
	}
	r.Compare = []compare{{peer, b.most(), 5}, {plugin, b.most(), 5}}
	return r, nil
}

// b2ndSlices reads boxes of a b2nd array with the library and with frameio.
func (b *bench) b2ndSlices(k kind) (*row, error) {
	file, err := b.b2ndOfDeflate(k)
	if err != nil {
		return nil, err
	}
	const count = 256
	box := []int64{2, b.field.shape[1] / 5, b.field.shape[2] / 5}
	r := &row{Work: fmt.Sprintf("256 random boxes of %v out of a b2nd array of %s values", box, k), Bytes: count * 4 * whole(box).NumElems(), Ops: count}
	r.Tasks = []task{b.ours("b2nd_get_slice_cbuffer", "b2ndslices", file, 0, 1, count, box), b.ours("ours, 1", "b2ndslices", file, 1, 1, count, box),
		b.ours("ours, 2 goroutines", "b2ndslices", file, 1, 2, count, box)}
	r.Compare = []compare{{"b2nd_get_slice_cbuffer", "ours, 1", 0}, {"ours, 1", "ours, 2 goroutines", 0}}
	return r, nil
}

func (b *bench) b2ndOfDeflate(k kind) (string, error) {
	n := b.bytes(k)
	source, err := b.hdf5File(k, n, "deflate", b.chunks())
	if err != nil {
		return "", err
	}
	return b.b2ndFile(k, source+":/d", n)
}

func (b *bench) b2nd(k kind) (*row, error) {
	file, err := b.b2ndOfDeflate(k)
	if err != nil {
		return nil, err
	}
	r := &row{Work: fmt.Sprintf("read a b2nd array of %s values (zstd 5)", k), Bytes: b.bytes(k), Tasks: []task{b.py("python-blosc2", "array", file)},
		Compare: []compare{{"python-blosc2", b.most(), 1.5}}}
	for _, w := range b.workers() {
		r.Tasks = append(r.Tasks, b.ours(named(w), "b2nd", file, w))
	}
	return r, nil
}

// append writes a new frame of n chunks, which are passed one by one. threads is BLOSC_NTHREADS of
// C-Blosc2, which compresses its index with these threads; "" keeps its default.
func (b *bench) append(k kind, n, size int64, threads string, bar float64) (*row, error) {
	n = min(n, b.bytes(k)/size)
	raw, err := b.raw(k)
	if err != nil {
		return nil, err
	}
	r := &row{Work: fmt.Sprintf("append %d chunks of %d bytes of %s values to a new frame", n, size, k), Bytes: n * size, Ops: n}
	peer := b.c("C-Blosc2", "blosc2", "append", raw, n*size, size, "lz4", 5, b.outFile("c.b2frame")).writes(b.outFile("c.b2frame"))
	r.Same = []string{b.outFile("go1.b2frame"), b.outFile("synced.b2frame")}
	if threads != "" {
		peer.Name, peer.Env = "C-Blosc2, BLOSC_NTHREADS="+threads, []string{"BLOSC_NTHREADS=" + threads}
		r.Same = append(r.Same, b.outFile("c.b2frame"))
		r.Note = "With BLOSC_NTHREADS=1 the library's bytes are always the same, and it is quicker than as it comes, with four threads for its index: append/20000/four-threads."
	}
	r.Tasks = []task{peer}
	add := func(name, file string, workers, synced int) {
		out := b.outFile(file + ".b2frame")
		r.Tasks = append(r.Tasks, b.ours(name, "append", raw, n*size, size, "lz4", 5, out, workers, synced).writes(out))
	}
	for _, w := range b.workers() {
		add(named(w), fmt.Sprintf("go%d", w), w, 0)
	}
	const synced = "ours, synced and renamed"
	add(synced, "synced", b.all, 1)
	r.Compare = []compare{{peer.Name, b.most(), bar}, {peer.Name, named(1), 0}, {peer.Name, synced, 0}}
	return r, nil
}

// random reads random chunks of a frame on disk.
func (b *bench) random(k kind, n, size int64) (*row, error) {
	n = min(n, b.bytes(k)/size)
	file, err := b.frame(k, n, size, cblosc.LZ4)
	if err != nil {
		return nil, err
	}
	const count = 50000 // enough that the start of the goroutines does not matter
	r := &row{Work: fmt.Sprintf("%d random chunks of %d bytes of %s values of a frame on disk, one handle", count, size, k), Bytes: count * size, Ops: count,
		Tasks: []task{b.c("blosc2_schunk_decompress_chunk", "blosc2", "random", file, count),
			b.ours(oneGoroutine, "random", file, count, 1), b.ours("ours, 2 goroutines", "random", file, count, 2)}}
	r.Compare = []compare{{r.Tasks[0].Name, r.Tasks[1].Name, 2.4}, {r.Tasks[1].Name, r.Tasks[2].Name, 1.8}}
	return r, nil
}

// rounds returns how often a run processes 4 MiB of buffers, so that it is long enough for the
// clock.
func (b *bench) rounds(way string) int64 {
	switch {
	case b.quick:
		return 1
	case way == "decompress":
		return 32
	}
	return 4
}

// buffer measures one call per buffer.
func (b *bench) buffer(k kind, way, codec string, size int64) (*row, error) {
	raw, err := b.raw(k)
	if err != nil {
		return nil, err
	}
	const bytes = 4 << 20
	rounds := b.rounds(way)
	r := &row{Work: fmt.Sprintf("%s buffers of %d KiB of %s values with %s, one call each", way, size>>10, k, codec), Bytes: rounds * bytes, Ops: rounds * bytes / size,
		Tasks: []task{b.c("a C loop", "blosc2", way, raw, bytes, size, codec, 5, rounds), b.ours("ours", way, way, raw, bytes, size, codec, 5, rounds, 0)}}
	r.Compare = []compare{{"a C loop", "ours", 0.95}}
	return r, nil
}

// batch measures one call for many small buffers.
func (b *bench) batch(k kind, way, codec string) (*row, error) {
	raw, err := b.raw(k)
	if err != nil {
		return nil, err
	}
	const bytes, size = 4 << 20, 4 << 10
	rounds := b.rounds(way)
	r := &row{Work: fmt.Sprintf("%s a batch of 4 KiB buffers of %s values with %s", way, k, codec), Bytes: rounds * bytes, Ops: rounds * bytes / size,
		Tasks: []task{b.c("a C loop", "blosc2", way, raw, bytes, size, codec, 5, rounds)}}
	for _, w := range b.workers() {
		t := b.ours(named(w), way, way, raw, bytes, size, codec, 5, rounds, w)
		if w > 1 {
			t.Env = []string{fmt.Sprintf("GOMAXPROCS=%d", w)}
		}
		r.Tasks = append(r.Tasks, t)
	}
	two := map[string]float64{"lz4": 1.4, "zstd": 1.6}[codec] // two processors of one core share its units
	r.Compare = []compare{{"a C loop", named(1), 0.95}, {"a C loop", named(2), two}}
	return r, nil
}

// small reads 10 elements at a time from a dataset without chunks.
func (b *bench) small() (*row, error) {
	const count, elements = 100_000, 10
	n := min(b.bytes(real), 64<<20)
	file, err := b.contiguousFile(n)
	if err != nil {
		return nil, err
	}
	const peer, binding, array = "H5Dread in a C loop", "ours, package h5", "ours, package ndarray"
	return &row{Work: fmt.Sprintf("%d reads of %d elements each at random places of a contiguous dataset", count, elements), Bytes: 4 * count * elements, Ops: count,
		Tasks: []task{b.c(peer, "hdf5", "small", file, "d", count, elements), b.ours(binding, "h5small", file, "d", count, elements),
			b.ours(array, "small", file+":/d", count, elements)},
		Compare: []compare{{peer, binding, 0.77}, {peer, array, 0.77}}}, nil // at most 1.3 times the peer's time
}

// manyObjects is the number of small datasets in the rows of files with many objects.
func (b *bench) manyObjects() int {
	if b.quick {
		return 300
	}
	return 30_000
}

// silent returns a task that is a program whose output is discarded.
func (b *bench) silent(name, out string, v ...any) task {
	return b.once(name, out, append([]any{"sh", "-c", `exec "$0" "$@" >/dev/null`}, v...)...)
}

// objects runs a command on a file with many small datasets, and the program of HDF5 with the same
// purpose. tree is compared with ls.
func (b *bench) objects(verb string) (*row, error) {
	n := b.manyObjects()
	file, err := b.objectsFile(n)
	if err != nil {
		return nil, err
	}
	out, theirs := b.outFile("objects.h5"), b.outFile("peer.h5")
	list := b.silent("hyperslab ls -r", "", command, "ls", "-r", file)
	r := &row{Processor: true, Ops: int64(n), Work: fmt.Sprintf("%s of a file with %d datasets of 40 bytes in groups of 100", verb, n)}
	switch verb {
	case "ls":
		r.Tasks = []task{b.silent("h5ls -r", "", tool("h5ls"), "-r", file), list}
	case "diff":
		copied, err := b.copyOf(file)
		if err != nil {
			return nil, err
		}
		r.Tasks = []task{b.silent("h5diff", "", tool("h5diff"), file, copied), b.silent("hyperslab diff", "", command, "diff", file, copied)}
	case "repack":
		r.Tasks = []task{b.silent("h5repack", theirs, tool("h5repack"), file, theirs), b.silent("hyperslab repack", out, command, "repack", file, out, "--quiet")}
	case "ddl":
		r.Tasks = []task{b.silent("h5dump", "", tool("h5dump"), file), b.silent("hyperslab dump --ddl", "", command, "dump", "--ddl", file)}
	case "tree":
		r.Tasks = []task{list, b.silent("hyperslab tree", "", command, "tree", file)}
	}
	r.Compare = []compare{{r.Tasks[0].Name, r.Tasks[1].Name, 0.83}} // at most 1.2 times the peer's time
	return r, nil
}

// bigBytes returns the size of the files of whole commands.
func (b *bench) bigBytes(k kind) int64 {
	if k == real {
		return b.big
	}
	return b.bytes(k)
}

func (b *bench) repack(k kind) (*row, error) {
	n := b.bigBytes(k)
	file, err := b.hdf5File(k, n, "deflate", b.chunks())
	if err != nil {
		return nil, err
	}
	peer, ours := b.outFile("h5repack.h5"), b.outFile("hyperslab.h5")
	r := &row{Work: fmt.Sprintf("repack an HDF5 file of %s values: shuffle and deflate 4 become shuffle and deflate 5", k), Bytes: 4 * whole(b.shape(n)).NumElems(), Tasks: []task{
		b.once("h5repack", peer, filepath.Join("third_party", "build", "bin", "h5repack"), "-f", "SHUF", "-f", "GZIP=5", file, peer),
		b.once("hyperslab repack", ours, command, "repack", file, ours, "--quiet", "--codec", "deflate", "--level", 5, "--shuffle", "byte"),
	}}
	r.Compare, r.Peak = []compare{{"h5repack", "hyperslab repack", 5}}, map[string]int64{"hyperslab repack": peak}
	return r, nil
}

func (b *bench) convert(k kind) (*row, error) {
	n := b.bigBytes(k)
	file, err := b.hdf5File(k, n, "deflate", b.chunks())
	if err != nil {
		return nil, err
	}
	peer, ours := b.outFile("script.b2nd"), b.outFile("hyperslab.b2nd")
	script := b.once("h5py and python-blosc2", peer, b.python, filepath.Join("scripts", "bench", "peers", "peer.py"), "convert", file, "d", peer)
	r := &row{Work: fmt.Sprintf("convert HDF5 of %s values (shuffle and deflate 4) to b2nd (shuffle and zstd 5)", k), Bytes: 4 * whole(b.shape(n)).NumElems(), Tasks: []task{script,
		b.once("hyperslab convert", ours, command, "convert", file+":/d", ours, "--quiet"),
	}}
	r.Note = "The script's library compresses on all cores as well, with the same codec at the same level: its processor time is longer than the time that passed."
	r.Compare, r.Peak = []compare{{script.Name, "hyperslab convert", 1.7}}, map[string]int64{"hyperslab convert": peak}
	return r, nil
}

// peak is the maximum memory of a copy, independent of the size of the arrays.
const peak = 256 << 20

// copyLarge copies 10 GiB of values between chunk shapes that do not match.
func (b *bench) copyLarge(to string) (*row, error) {
	const n = 10 << 30
	file, err := b.hdf5File(real, n, "lz4", b.chunks())
	if err != nil {
		return nil, err
	}
	out := b.outFile("large." + to)
	target := out
	if to == "h5" {
		target += ":/d"
	}
	from, other := b.chunks(), []int64{30, b.field.shape[1] / 3, b.field.shape[2] / 3}
	size := func(chunk []int64) float64 { return float64(4*whole(chunk).NumElems()) / (1 << 20) }
	name := "ours, all"
	r := &row{Runs: 1, Work: fmt.Sprintf("copy a dataset with Blosc2 (lz4) in chunks of %v (%.2f MiB) to chunks of %v (%.2f MiB)", from, size(from), other, size(other)), Bytes: 4 * whole(b.shape(n)).NumElems(),
		Peak: map[string]int64{name: peak}, Tasks: []task{b.once(name, out, b.self, "once", "copy", file+":/d", target, "lz4", b.all, other[0], other[1], other[2])}}
	return r, nil
}
