// Growth of the processor time of commands with the number of objects, references, attributes,
// chunks and other parts of a file.

package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
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
	all := []string{"ls", "info", "verify", "repack", "to-h5", "to-b2z", "diff", "ddl", "cp"}
	arrays := []string{"info", "verify", "repack", "to-h5", "diff", "ddl", "cp"}
	store := []string{"ls", "info", "verify", "to-h5", "to-b2z", "diff"}
	return []linearKind{
		{"variables", "g", 500, "", all},
		{"references", "g", 1000, "", []string{"ls", "info", "verify", "repack", "to-h5", "diff", "ddl", "cp"}},
		{"attributes", "a", 2000, "", all},
		{"group_attributes", "g", 2000, "", all},
		{"links", "g", 5000, "", all},
		{"datasets", "g", 2000, "", all},
		{"depth", "g", 250, "", slices.DeleteFunc(slices.Clone(all), func(v string) bool { return v == "to-b2z" })},
		{"depth", "g", 60, "", []string{"to-b2z"}}, // a container has at most 253 nested groups
		{"chunks", "a", 20_000, "", append([]string{"stats"}, arrays...)},
		{"sequences", "a", 20_000, "", arrays},
		{"columns", "a", 300, "", arrays},
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
			s = append(s, spec{name, promised, func(b *bench) (*row, error) { return b.linearRow(k, verb) }})
		}
	}
	return s
}

// linearRow runs a command on a file with n of a kind and on one with 4n.
func (b *bench) linearRow(k linearKind, verb string) (*row, error) {
	if b.quick {
		k.n /= 50
	}
	idle := b.silent("start", "", command, "version")
	r := &row{Processor: true, Start: idle.Name, Runs: 3, Ops: int64(k.n), Work: fmt.Sprintf("%s with n = %d %s and with 4n", verb, k.n, k.name),
		Tasks: []task{idle}}
	for i, n := range []int{k.n, 4 * k.n} {
		name := []string{"n", "4n"}[i]
		file, err := b.linearFile(k, n)
		if err != nil {
			return nil, err
		}
		t := task{Name: name, Command: []string{""}} // Python is not installed
		if file != "" {
			words, out := b.linearCommand(verb, file, k.cp, name)
			t = b.silent(name, out, words...)
		}
		r.Tasks = append(r.Tasks, t)
	}
	r.Compare = []compare{{"n", "4n", 1.0 / maxGrowth}}
	return r, nil
}

// linearCommand returns the words of a command, and the file that it writes.
func (b *bench) linearCommand(verb, file, object, name string) (words []any, out string) {
	switch verb {
	case "ls":
		return []any{command, "ls", "-r", file}, ""
	case "stats":
		return []any{command, "stats", file + ":/" + object}, ""
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

// output runs a program. The error contains what the program printed.
func output(c *exec.Cmd) error {
	if text, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w: %s", c.Args, err, text)
	}
	return nil
}
