// Growth of the processor time of commands with the number of objects, references, attributes,
// chunks and other parts of a file.

package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// maxGrowth is the bar of these rows: processor time at 4n over processor time at n.
const maxGrowth = 5

// linearKind is something that a file can contain many times.
type linearKind struct {
	name  string // a function of peers/growth.py
	cp    string // the object that cp copies
	n     int
	store string // extension of the store that the HDF5 file is converted to; "": the HDF5 file is the input
	verbs []string
}

func linearKinds() []linearKind {
	array := []string{"info", "verify", "repack", "to-h5", "diff", "ddl", "cp", "recover"}
	objects := append([]string{"ls", "tree"}, array...)
	all := append([]string{"to-b2z", "index"}, objects...)
	attrs := append([]string{"attr"}, all...)
	store := []string{"ls", "tree", "info", "verify", "to-h5", "to-b2z", "diff"}
	return []linearKind{
		{"variables", "g", 500, "", all},
		{"references", "g", 1000, "", objects},
		{"attributes", "a", 2000, "", attrs},
		{"group_attributes", "g", 2000, "", attrs},
		{"links", "g", 5000, "", all},
		{"datasets", "g", 2000, "", all},
		{"depth", "g", 250, "", append([]string{"index"}, objects...)},
		{"depth", "g", 60, "", []string{"to-b2z"}}, // a container has at most 253 nested groups
		{"chunks", "a", 20_000, "", append([]string{"stats", "index", "chunks", "to-b2nd"}, array...)},
		{"sequences", "a", 20_000, "", array},
		{"columns", "a", 300, "", array},
		{"datasets", "g", 500, ".b2z", store},
		{"datasets", "g", 500, ".b2d", store},
	}
}

// linear returns a row for each command and each kind.
func (b *bench) linear() []spec {
	var s []spec
	for _, k := range linearKinds() {
		for _, verb := range k.verbs {
			name := fmt.Sprintf("linear/%s%s/%s", k.name, k.store, verb)
			s = append(s, spec{name, byParts, func(b *bench) (*row, error) { return b.linearRow(k, verb) }})
		}
	}
	return s
}

// linearRow runs a command on a file with n of a kind and on one with 4n, and the program of HDF5
// with the same purpose beside it.
func (b *bench) linearRow(k linearKind, verb string) (*row, error) {
	if b.quick {
		k.n /= 50
	}
	idle := b.silent("start", "", command, "version")
	r := &row{Processor: true, Start: idle.Name, Runs: 3, Ops: int64(k.n), X: verb, N: int64(k.n), Work: k.name + k.store, Tasks: []task{idle}}
	for i, n := range []int{k.n, 4 * k.n} {
		name := []string{atN, at4N}[i]
		file, err := b.linearFile(k, n)
		if err != nil {
			return nil, err
		}
		if file == "" { // Python is not installed
			r.Tasks = append(r.Tasks, task{Name: name, Command: []string{""}})
			continue
		}
		words, out := b.linearCommand(verb, file, k.cp, name)
		r.Tasks = append(r.Tasks, b.silent(name, out, words...))
		if words, out := b.linearPeer(verb, file, name); k.store == "" && words != nil {
			peer := b.silent(peerOf+name, out, words...)
			peer.Runs, peer.MayFail = 1, true // some take many seconds, and h5repack refuses some files
			r.Tasks = append(r.Tasks, peer)
		}
	}
	r.Compare = []compare{{atN, at4N, 1.0 / maxGrowth}}
	return r, nil
}

// Names of the tasks of these rows. The task of HDF5's program has the prefix peerOf.
const (
	atN    = "n"
	at4N   = "4n"
	peerOf = "peer, "
)

// tool returns the path of a program of HDF5.
func tool(name string) string { return filepath.Join(toolDirectory, name) }

var toolDirectory = filepath.Join("third_party", "build", "bin")

// linearPeer returns the words of HDF5's program with the purpose of a command, and the file that
// it writes, or nil if there is none.
func (b *bench) linearPeer(verb, file, name string) (words []any, out string) {
	switch verb {
	case "ls":
		return []any{tool("h5ls"), "-r", file}, ""
	case "ddl":
		return []any{tool("h5dump"), file}, ""
	case "diff":
		return []any{tool("h5diff"), "-q", file, file}, ""
	case "repack":
		out = b.outFile("linear-peer-" + name + ".h5")
		return []any{tool("h5repack"), file, out}, out
	}
	return nil, ""
}

// linearCommand returns the words of a command, and the file that it writes.
func (b *bench) linearCommand(verb, file, object, name string) (words []any, out string) {
	switch verb {
	case "ls":
		return []any{command, "ls", "-r", file}, ""
	case "stats", "chunks":
		return []any{command, verb, file + ":/" + object}, ""
	case "attr":
		return []any{command, "attr", "list", file + ":/" + object}, ""
	case "ddl":
		return []any{command, "dump", "--ddl", file}, ""
	case "diff":
		return []any{command, "diff", "-q", file, file}, ""
	case "repack":
		out = b.outFile("linear-" + name + ".h5")
		return []any{command, "repack", "--quiet", file, out}, out
	case "cp":
		out = b.outFile("linear-" + name + ".h5")
		return []any{command, "cp", file + ":/" + object, out + ":/"}, out
	case "index":
		out = b.outFile("linear-" + name + ".h5x")
		return []any{command, "index", file, "-o", out}, out
	case "recover":
		out = b.outFile("linear-recovered-" + name + filepath.Ext(file))
		return []any{command, "recover", "--quiet", file, out}, out
	case "to-b2nd":
		out = b.outFile("linear-" + name + ".b2nd")
		return []any{command, "convert", "--quiet", file + ":/" + object, out}, out
	case "to-h5", "to-b2z":
		out = b.outFile("linear-" + name + "." + verb[len("to-"):])
		return []any{command, "convert", "--quiet", "--exclude-unsupported", file, out}, out
	}
	return []any{command, verb, file}, ""
}

// linearFile returns a file with n of a kind, or "" if Python is not installed.
func (b *bench) linearFile(k linearKind, n int) (string, error) {
	if b.python == "" {
		return "", nil
	}
	file, err := b.made(fmt.Sprintf("linear-%s-%d.h5", k.name, n), func(path string) error {
		return output(exec.Command(b.python, filepath.Join("scripts", "bench", "peers", "growth.py"), k.name, fmt.Sprint(n), path))
	})
	if err != nil || k.store == "" {
		return file, err
	}
	return b.made(fmt.Sprintf("linear-%s-%d%s", k.name, n, k.store), func(path string) error {
		return output(exec.CommandContext(context.Background(), command, "convert", "--quiet", file, path))
	})
}

// netcdf runs a command on a netCDF-4 file of 1,000 variables on two dimensions, and the program of
// HDF5 with the same purpose. h5diff does not compare references, which dimension scales contain.
func (b *bench) netcdf(verb string) (*row, error) {
	k := linearKind{name: "netcdf", cp: "v0", n: 1000}
	if b.quick {
		k.n /= 50
	}
	file, err := b.linearFile(k, k.n)
	if err != nil || file == "" {
		return &row{Tasks: []task{{Name: "hyperslab " + verb, Command: []string{""}}}}, err
	}
	words, out := b.linearCommand(verb, file, k.cp, atN)
	peers := map[string]string{"ls": "ls", "repack": "repack", "diff": "diff", "to-h5": "repack", "ddl": "ddl"}
	theirs, theirOut := b.linearPeer(peers[verb], file, atN)
	peer, ours := filepath.Base(theirs[0].(string)), "hyperslab "+verb
	bar := map[string]float64{"ls": 1.0 / 5, "repack": 1 / 1.5}[verb]
	return &row{Processor: true, Runs: 3, Ops: int64(k.n), Work: fmt.Sprintf("%s of a netCDF-4 file of %d variables on two dimensions", verb, k.n),
		Tasks: []task{b.silent(peer, theirOut, theirs...), b.silent(ours, out, words...)}, Compare: []compare{{peer, ours, bar}}}, nil
}

// partsReport writes the table of the growth of processor time with the number of parts of a file.
func partsReport(p func(string, ...any), results []*result) {
	p("## %s\n\n", strings.ToUpper(byParts[:1])+byParts[1:])
	p("Processor time of a command on a file with n parts and on one with 4n, without the start of the command; a time below 5 ms counts as 5 ms. "+
		"The growth must be at most %d. Beside it: the growth of HDF5's program with the same purpose. Select these rows with `-rows ^linear`.\n\n", maxGrowth)
	p("| parts | n | command | at n | at 4n | growth | | at n, HDF5's | at 4n, HDF5's | growth, HDF5's | measured | load |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range results {
		one, four := r.timing(atN), r.timing(at4N)
		if r.Group != byParts || one == nil || four == nil {
			continue
		}
		x, y := r.processor(one), r.processor(four)
		met := "met"
		if y > maxGrowth*x {
			met = "**above**"
		}
		p("| %s | %d | %s | %s | %s | **%.1f** | %s |", r.Work, r.N, r.X, duration(x), duration(y), y/x, met)
		if one, four := r.timing(peerOf+atN), r.timing(peerOf+at4N); one != nil && four != nil {
			x, y := max(median(one.CPU), leastProcessor), max(median(four.CPU), leastProcessor)
			p(" %s | %s | %.1f |", duration(x), duration(y), y/x)
		} else {
			p(" %s | %s | |", skipped(r, peerOf+atN), skipped(r, peerOf+at4N))
		}
		p(" %s | %s |\n", r.Date.Format(time.DateOnly), r.Load)
	}
	p("\n")
}

// skipped returns the reason why a task has no time, or its time.
func skipped(r *result, name string) string {
	for _, t := range r.Timings {
		if t.Name == name && t.Skipped != "" {
			return t.Skipped
		}
		if t.Name == name {
			return duration(median(t.CPU))
		}
	}
	return ""
}

// output runs a program. The error contains what the program printed.
func output(c *exec.Cmd) error {
	if text, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w: %s", c.Args, err, text)
	}
	return nil
}
