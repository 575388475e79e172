// The tables of the results.

package main

import (
	"fmt"
	"runtime"
	"strings"
)

// names of the programs in the tables.
var names = map[string]string{
	"h5py": "h5py, fsspec", "h5py-blocks": "h5py, fsspec with blocks of 4 MiB", "blosc2": "python-blosc2", "blosc2-index": "python-blosc2, index",
	"h5coro": "h5coro", "kerchunk": "kerchunk references, zarr, obstore", "zarr": "Zarr v3, zarr, obstore",
}

// report returns the tables.
func (b *bench) report() string {
	var s strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&s, format, args...) }
	p("# Results of `make bench-remote`\n\nWritten by `make bench-remote`; not edited by hand. Array of %d MiB of uint16 in chunks of 64 x 64 x 64, %d processors. "+
		"Each row has the fastest of up to %d runs. Load is the machine's average before the row: more than 1 means that other programs used it, and that only requests, bytes and processor time are exact. "+
		"Peak contains the interpreter, its modules, and for full reads by Python the elements.\n", b.o.size>>20, runtime.GOMAXPROCS(0), b.o.runs)
	p("\n## Fastest\n\nWith an index, a program has the locations of the chunks before it begins: hyperslab with `--url-index`, python-blosc2 with its index, and kerchunk references. The others have the URL alone.\n")
	p("\n| link | task | index | fastest peer | its time | hyperslab | its time / ours | its processor time / ours | bytes / minimum |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, l := range b.o.links {
		for _, t := range tasks {
			b.best(p, l, t, false)
			b.best(p, l, t, true)
		}
	}
	for _, l := range b.o.links {
		p("\n## %v\n\n| task | program | seconds | of the minimum | requests | MB | processor seconds | peak MB | load |\n|---|---|---|---|---|---|---|---|---|\n", l)
		for _, r := range b.rows {
			if r.link != l {
				continue
			}
			least, _ := b.least(l, r.task)
			name := r.program
			if n, ok := names[name]; ok {
				name = n
			}
			p("| %s | %s | %.3f | %.1f | %d | %.2f | %.2f | %d | %s |\n", r.task.name, name, r.seconds, r.seconds/least, r.requests, float64(r.got)/1e6, r.cpu, r.peak/1e6, r.load)
		}
	}
	return s.String()
}

// prepared are the programs that get an index.
var prepared = map[string]bool{"hyperslab, index": true, "blosc2-index": true, "kerchunk": true}

// best writes the line of a task: hyperslab and the fastest peer, with or without an index.
func (b *bench) best(p func(string, ...any), l link, t task, index bool) {
	var own, peer *row
	for i := range b.rows {
		switch r := &b.rows[i]; {
		case r.link != l || r.task.name != t.name || prepared[r.program] != index:
		case names[r.program] == "":
			own = r
		case peer == nil || r.seconds < peer.seconds:
			peer = r
		}
	}
	if own == nil || peer == nil {
		return
	}
	_, bytes := b.least(l, t)
	known := "no"
	if index {
		known = "yes"
	}
	p("| %v | %s | %s | %s | %.3f s | %.3f s | %.2f | %.1f | %.1f |\n", l, t.name, known, names[peer.program], peer.seconds, own.seconds,
		peer.seconds/own.seconds, peer.cpu/max(own.cpu, 0.01), float64(own.got)/bytes)
}
