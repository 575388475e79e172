// Groups of similar failures, and reports on them for the authors of the tested program.

package crosscheck

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Group is a group of failures that have the same verdict and differ only in numbers.
type Group struct {
	First Result   // the first failure
	Cases []string // IDs of the cases, in the order of the report
	key   string
}

// varying matches the parts of a message that may differ in a group: numbers and paths.
var varying = regexp.MustCompile(`/[^ ,:'"]*/|(0x)?[0-9a-f]*[0-9][0-9a-f]*`)

// groupKey returns the key of the group of a failure.
func groupKey(x Result) string {
	text := x.Detail
	switch {
	case x.Verdict == WronglyAccepted:
		text = ""
	case x.Verdict == Wrong && x.Explanation != nil: // the position of the difference depends on the data
		text = x.Explanation.Rule
	}
	parts := strings.Split(x.Case, "/")
	directory := parts[0]
	if len(parts) > 2 && x.Verdict != WronglyAccepted {
		directory += "/" + parts[1]
	}
	return string(x.Direction) + " " + directory + " " + string(x.Verdict) + " " + varying.ReplaceAllString(text, "#")
}

// Groups returns the failures in groups, the largest first.
func (r *Report) Groups() []Group {
	at := make(map[string]int)
	var groups []Group
	for _, x := range r.Results {
		if x.Verdict == Pass {
			continue
		}
		key := groupKey(x)
		i, ok := at[key]
		if !ok {
			i = len(groups)
			at[key] = i
			groups = append(groups, Group{First: x, key: key})
		}
		groups[i].Cases = append(groups[i].Cases, x.Case)
	}
	slices.SortStableFunc(groups, func(a, b Group) int { return len(b.Cases) - len(a.Cases) })
	return groups
}

// WriteUpstream writes one Markdown page for each group of failures of a reader into out, which
// must not exist or must be empty, with the file that shows the failure. vectors and o are those of
// the Run that made the report; o must contain an adapter. It reduces the file: it asks the adapter
// to read smaller files, and keeps the smallest one that gives the same failure.
func (r *Report) WriteUpstream(ctx context.Context, vectors string, o RunOptions, out string) error {
	m, err := Load(vectors)
	if err != nil {
		return err
	}
	if o.Adapter == "" {
		return errors.New("crosscheck: a report needs an adapter")
	}
	if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 {
		return fmt.Errorf("crosscheck: %s: the directory is not empty", out)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("crosscheck: %w", err)
	}
	o.defaults()
	a, err := startAdapter(ctx, &o)
	if err != nil {
		return err
	}
	defer a.end()
	scratch, err := os.MkdirTemp("", "crosscheck-")
	if err != nil {
		return fmt.Errorf("crosscheck: %w", err)
	}
	defer os.RemoveAll(scratch)
	cases := make(map[string]Case, len(m.Cases))
	for _, c := range m.Cases {
		cases[c.ID] = c
	}
	n := 0
	for _, g := range r.Groups() {
		if g.First.Direction == Writing {
			continue // the file is the program's own
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		c, ok := smallest(cases, g.Cases)
		if !ok {
			return fmt.Errorf("crosscheck: %s: unknown case %q", vectors, g.First.Case)
		}
		f := finding{group: g, m: m, dir: vectors, vectors: vectors, c: c, original: c, like: cases[c.Params["base"]].Decoded}
		for _, x := range r.Results {
			if x.Case == c.ID && x.Direction == Reading {
				f.result = x
			}
		}
		if c.Must == Accept {
			f.like = c.Decoded
			reduce(ctx, a, &f, filepath.Join(scratch, fmt.Sprint(n)))
		}
		n++
		if err := f.write(a, out, n); err != nil {
			return err
		}
		os.RemoveAll(filepath.Join(scratch, fmt.Sprint(n-1)))
	}
	return ctx.Err()
}

// smallest returns the case with the smallest file.
func smallest(cases map[string]Case, ids []string) (Case, bool) {
	var best Case
	for _, id := range ids {
		c, ok := cases[id]
		if !ok {
			return c, false
		}
		if best.ID == "" || c.Bytes < best.Bytes {
			best = c
		}
	}
	return best, best.ID != ""
}

// finding is a group of failures with the file that shows it.
type finding struct {
	group    Group
	m        *Manifest
	dir      string   // directory of the file
	vectors  string   // directory of the vectors
	c        Case     // the file
	like     *Decoded // its elements, or those of the valid file from which it was made
	original Case     // the vector from which it was reduced
	result   Result
	steps    []string // of the reduction
}

// verdictTexts describe a failure in a title and in a sentence.
var verdictTexts = map[Verdict][2]string{
	Wrong:           {"wrong elements without an error", "returns other elements than the reference library, without an error"},
	Refused:         {"error for a valid file", "returns an error for a valid file, which the reference library reads"},
	WronglyAccepted: {"no error for an invalid file", "returns no error for a file that violates a rule of the format"},
	Crash:           {"abnormal end", "ends abnormally"},
	Hang:            {"no answer", "gives no answer within the time limit"},
}

// write writes the page and the file.
func (f *finding) write(a *adapter, out string, n int) error {
	name := fmt.Sprintf("%02d-%s-%s", n, dashed(string(f.result.Verdict)), f.c.Area)
	file := name + filepath.Ext(f.c.Path)
	if err := copyVector(filepath.Join(f.dir, filepath.FromSlash(f.c.Path)), filepath.Join(out, file)); err != nil {
		return fmt.Errorf("crosscheck: %w", err)
	}
	for _, beside := range f.c.Beside {
		if err := copyVector(filepath.Join(f.dir, filepath.Dir(filepath.FromSlash(f.c.Path)), beside), filepath.Join(out, beside)); err != nil {
			return fmt.Errorf("crosscheck: %w", err)
		}
	}
	b := &strings.Builder{}
	strs := verdictTexts[f.result.Verdict]
	fmt.Fprintf(b, "# %s %s: %s\n\n", a.name, a.version, strs[0])
	fmt.Fprintf(b, "%s %s %s. ", a.name, a.version, strs[1])
	if len(f.group.Cases) > 1 {
		fmt.Fprintf(b, "%d test vectors give the same failure; this page contains the smallest file.\n", len(f.group.Cases))
	} else {
		b.WriteString("One test vector gives this failure.\n")
	}
	fmt.Fprintf(b, "\n## File\n\n`%s`, %d bytes, SHA-256 `%s`", file, f.c.Bytes, f.c.SHA256)
	if f.c.Object != "" {
		fmt.Fprintf(b, ", object `%s`", f.c.Object)
	}
	b.WriteString(".\n\n")
	if f.c.Must == Refuse {
		if base := f.c.Params["base"]; base != "" {
			fmt.Fprintf(b, "It was made from the valid file of vector `%s`, which the program reads.\n\n", base)
		}
	} else if len(f.steps) > 0 {
		fmt.Fprintf(b, "It was reduced from vector `%s` (%d bytes): %s.\n\n", f.original.ID, f.original.Bytes, strings.Join(f.steps, ", "))
	} else {
		fmt.Fprintf(b, "It is vector `%s`; no smaller file gives the same failure.\n\n", f.original.ID)
	}
	if len(f.c.Params) > 0 {
		if len(f.steps) > 0 {
			b.WriteString("The vector was made with these parameters:\n\n")
		}
		b.WriteString("| property | value |\n|---|---|\n")
		for _, k := range slices.Sorted(maps.Keys(f.c.Params)) {
			fmt.Fprintf(b, "| %s | %s |\n", k, markdown(f.c.Params[k]))
		}
		for _, k := range slices.Sorted(maps.Keys(f.c.Metadata)) {
			if _, ok := f.c.Params[k]; ok {
				continue
			}
			v, err := json.Marshal(f.c.Metadata[k])
			if err != nil {
				return fmt.Errorf("crosscheck: %w", err)
			}
			fmt.Fprintf(b, "| %s | %s |\n", k, markdown(strings.Trim(string(v), `"`)))
		}
		b.WriteByte('\n')
	}
	if err := f.expected(b); err != nil {
		return err
	}
	f.rule(b)
	f.reproduce(b, a, file)
	if err := f.contents(b); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, name+".md"), []byte(b.String()), 0o644)
}

// expected writes the expected and the actual result.
func (f *finding) expected(b *strings.Builder) error {
	b.WriteString("## Expected and actual result\n\n")
	if f.c.Must == Refuse {
		fmt.Fprintf(b, "Expected: an error, because the file is invalid: %s.\n\nActual: %s.\n\n", markdown(f.c.Rule), map[bool]string{true: "no error", false: markdown(f.result.Detail)}[f.result.Verdict == WronglyAccepted])
		return nil
	}
	want, err := Decode(f.dir, f.c)
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "Expected: %d bytes", len(want))
	if f.c.Decoded.DType != "" {
		fmt.Fprintf(b, ", shape %v, dtype `%s`", f.c.Decoded.Shape, f.c.Decoded.DType)
	}
	fmt.Fprintf(b, ", SHA-256 `%s`. The first bytes are:\n\n    % x\n\n", hexSum(want), want[:min(len(want), 64)])
	switch x := f.result.Explanation; {
	case x != nil:
		fmt.Fprintf(b, "Actual: %d bytes, of which %d differ. At byte %d (element %d", x.GotSize, x.Differ, x.Offset, x.Element)
		if x.Index != nil {
			fmt.Fprintf(b, ", index %v", x.Index)
		}
		fmt.Fprintf(b, "):\n\n    actual   %s\n    expected %s\n\n", x.Got, x.Want)
		if x.Got == x.Want {
			b.WriteString("The result has another length.\n\n")
		}
	default:
		fmt.Fprintf(b, "Actual: %s\n\n", markdown(f.result.Detail))
	}
	return nil
}

// rule writes the rule of the specification.
func (f *finding) rule(b *strings.Builder) {
	fmt.Fprintf(b, "## Rule\n\n%s\n\n", markdown(f.c.Section))
	x := f.result.Explanation
	if x == nil {
		return
	}
	if x.Sentence != "" {
		fmt.Fprintf(b, "> %s\n\n", markdown(x.Sentence))
	}
	if x.Rule != "" {
		fmt.Fprintf(b, "This misread rule gives exactly the actual bytes: %s.\n\n", markdown(x.Rule))
	}
	if x.Stage != "" {
		fmt.Fprintf(b, "The first decoding step with another result is: %s.\n\n", markdown(x.Stage))
	}
	for _, h := range x.Header {
		fmt.Fprintf(b, "- `%s`\n", h)
	}
	if len(x.Header) > 0 {
		b.WriteByte('\n')
	}
}

// reproduce writes the commands and versions.
func (f *finding) reproduce(b *strings.Builder, a *adapter, file string) {
	b.WriteString("## Reproduce\n\n")
	if a.alone != "" {
		fmt.Fprintf(b, "    %s\n\n", aloneCommand(a.alone, file, f.c.Object))
	} else {
		dtype, item := "", "0"
		if f.like != nil {
			dtype, item = f.like.DType, fmt.Sprint(f.like.Item)
		}
		fmt.Fprintf(b, "Write this line, with tabs between its fields, to the adapter's standard input:\n\n    read\t%s\tresult\t%s\t%s\t%s\t%s\n\n", file, f.c.Area, f.c.Object, dtype, item)
	}
	fmt.Fprintf(b, "Versions: %s %s", a.name, a.version)
	for _, k := range slices.Sorted(maps.Keys(f.m.Versions)) {
		fmt.Fprintf(b, ", reference %s %s", k, f.m.Versions[k])
	}
	fmt.Fprintf(b, ".\n\nVectors with the same failure:\n\n")
	for i, id := range f.group.Cases {
		if i == 20 {
			fmt.Fprintf(b, "- and %d more\n", len(f.group.Cases)-i)
			break
		}
		fmt.Fprintf(b, "- `%s`\n", id)
	}
}

// aloneCommand fills in the command of an adapter. Inside quotes of a shell, names become strings
// in double quotes, which most languages have.
func aloneCommand(command, file, object string) string {
	double := func(s string) string { return `"` + s + `"` }
	quoted := double
	if !strings.Contains(command, "'") {
		quoted = quote
	}
	return strings.NewReplacer("{in}", quoted(file), "{object}", quoted(object)).Replace(command)
}

const (
	describedLines = 160     // most lines of annotation on a page
	encodedBytes   = 8 << 10 // most bytes of a file that is also part of the page
)

// contents writes the annotated structure of a small file, and the file in base64.
func (f *finding) contents(b *strings.Builder) error {
	path := filepath.Join(f.dir, filepath.FromSlash(f.c.Path))
	info, err := os.Stat(path)
	if err != nil || info.IsDir() || info.Size() > encodedBytes {
		return err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("crosscheck: %w", err)
	}
	root, err := annotate(path, f.c)
	if err != nil {
		return fmt.Errorf("crosscheck: %w", err)
	}
	var text bytes.Buffer
	if err := root.WriteText(&text); err != nil {
		return fmt.Errorf("crosscheck: %w", err)
	}
	if lines := strings.SplitAfter(text.String(), "\n"); len(lines) <= describedLines {
		b.WriteString("\n## Structure\n\nOffset and length in bytes, field, value and meaning:\n\n")
		for _, line := range lines {
			if line != "" {
				b.WriteString("    " + line)
			}
		}
	}
	b.WriteString("\n## Contents\n\nThe file in base64:\n\n")
	writeBase64(b, content)
	for _, name := range f.c.Beside {
		content, err := readBounded(filepath.Join(filepath.Dir(path), name), encodedBytes)
		if err != nil {
			return fmt.Errorf("crosscheck: %w", err)
		}
		fmt.Fprintf(b, "\nThe file `%s`, to which it refers, in base64:\n\n", name)
		writeBase64(b, content)
	}
	return nil
}

// writeBase64 writes bytes as an indented block.
func writeBase64(b *strings.Builder, content []byte) {
	encoded := base64.StdEncoding.EncodeToString(content)
	for len(encoded) > 0 {
		n := min(len(encoded), 96)
		b.WriteString("    " + encoded[:n] + "\n")
		encoded = encoded[n:]
	}
}

// markdown escapes a string for a line of Markdown, and removes the directories of the machine.
func markdown(s string) string {
	s = strings.NewReplacer("|", `\|`, "\n", " ", "<", `\<`, "*", `\*`, "_", `\_`).Replace(strings.ToValidUTF8(s, "?"))
	s = localPath.ReplaceAllString(s, "")
	if r := []rune(s); len(r) > 400 {
		s = string(r[:400]) + "…"
	}
	return s
}

// localPath matches the directories of an absolute path with at least two.
var localPath = regexp.MustCompile(`(/[^ ,:'"/()]+){2,}/`)

// copyVector copies a file, or a directory of files.
func copyVector(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.CopyFS(to, os.DirFS(from))
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	w, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, in)
	return errors.Join(err, w.Close())
}
