package crosscheck

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format"
)

// A reader that misreads a field reads from a file what the reference reads from a copy of the
// file in which the field has the misread value. The mutated readers of these tests are therefore
// the reference and such copies.

//go:embed testdata/misreadings.txt
var unneededText string

// misreading is one plausible mistake in reading the fields of a rule.
type misreading struct {
	rule   int
	name   string
	change func(v uint64) uint64
	vector []Case // vectors that exercise the rule, one per file, the smallest first
	parts  []partName
	number bool   // one of the fields is a number
	next   int    // index of the next vector
	tried  int    // vectors in which it changes bytes
	killed string // ID of the vector that tells the mistake; ""
}

// fieldAreas are the areas whose annotated fields have offsets in one file.
var fieldAreas = []string{"chunk", "blosc1", "frame", "b2nd", "caterva", "metalayer", "hdf5"}

// misreadingsOf returns the plausible misreadings of a rule about valid files.
func misreadingsOf(i int, r *formatRule, vectors []Case) (all []misreading) {
	add := func(name string, parts []partName, change func(uint64) uint64) {
		all = append(all, misreading{rule: i, name: name, change: change, vector: vectors, parts: parts})
	}
	for _, c := range r.conditions {
		field := c.parts[0].name
		switch c.operator {
		case "":
			add(field+" is ignored", c.parts, func(uint64) uint64 { return 0 })
			add(field+" is read in the other byte order", c.parts, nil)
		case "=", "~":
			add(field+" is read as the next value", c.parts, func(v uint64) uint64 { return v + 1 })
			add(field+" is read as the value before", c.parts, func(v uint64) uint64 { return v - 1 })
		case ">":
			bits := 8
			for c.number >= 1<<bits && bits < 32 {
				bits *= 2
			}
			if c.number < 1<<7-1 {
				add(fmt.Sprintf("%s above %d is ignored", field, c.number), c.parts, func(uint64) uint64 { return c.number })
			} else {
				add(fmt.Sprintf("%s is read in %d bits", field, bits), c.parts, func(v uint64) uint64 { return v & (1<<bits - 1) })
			}
		case "&":
			add(fmt.Sprintf("%s, bits %#x are ignored", field, c.number), c.parts, func(v uint64) uint64 { return v &^ c.number })
		case "!&":
			add(fmt.Sprintf("%s, bits %#x are taken for set", field, c.number), c.parts, func(v uint64) uint64 { return v | c.number })
		}
	}
	return all
}

// fieldBytes returns the bytes of a number in a file and whether they are big-endian: numbers in
// frames and metalayers are in MessagePack, with a byte for their type. It returns nil for others.
func fieldBytes(b []byte, f *format.Field, area string) (number []byte, big bool) {
	if f.Length < 1 || f.Length > 9 || f.Offset < 0 || f.Offset+f.Length > int64(len(b)) {
		return nil, false
	}
	number = b[f.Offset : f.Offset+f.Length]
	if area == "hdf5" || area == "chunk" || area == "blosc1" {
		return number, false
	}
	if len(number) == 1 {
		return number, true
	}
	if strings.IndexByte("\xcc\xcd\xce\xcf\xd0\xd1\xd2\xd3", number[0]) >= 0 {
		return number[1:], true
	}
	return number, false // of a chunk in the frame
}

// mutate returns a copy of a file in which the misread fields have the misread values. It returns
// nil if nothing changes.
func (m *misreading) mutate(b []byte, root format.Field, r *formatRule, area string) []byte {
	out := bytes.Clone(b)
	var walk func(parent string, f format.Field, above []format.Field)
	walk = func(parent string, f format.Field, above []format.Field) {
		above = append(above, f)
		name := ruleName(f)
		a := annotated{parent: parent, field: &f, parts: make([]part, len(f.Fields))}
		for i, p := range f.Fields {
			a.parts[i] = part{ruleName(p), p}
		}
		if slices.ContainsFunc(r.in, func(s structure) bool {
			prefix, any := strings.CutSuffix(s.name, "*")
			return (name == s.name || any && strings.HasPrefix(name, prefix)) && r.holds(s, a)
		}) {
			for _, want := range m.parts {
				seen := 0
				for _, p := range a.parts {
					if p.name != want.name {
						continue
					}
					if seen++; want.nth > 0 && seen != want.nth || len(p.Fields) > 0 {
						continue
					}
					if m.changeField(out, &p.Field, area) {
						holdChecksums(out, b, above)
					}
				}
			}
		}
		for _, p := range f.Fields {
			if len(p.Fields) > 0 {
				walk(name, p, above)
			}
		}
	}
	walk("", root, nil)
	if bytes.Equal(out, b) {
		return nil
	}
	return out
}

// changeField misreads one field, and reports whether its bytes change.
func (m *misreading) changeField(b []byte, f *format.Field, area string) bool {
	if _, err := strconv.ParseUint(f.Value, 0, 64); err != nil && f.Value != "undefined" {
		return false // not a number
	}
	number, big := fieldBytes(b, f, area)
	if number == nil {
		return false
	}
	m.number = true
	before := bytes.Clone(number)
	if m.change == nil {
		slices.Reverse(number)
		return !bytes.Equal(before, number)
	}
	var whole [8]byte
	if big {
		copy(whole[8-len(number):], number)
		slices.Reverse(whole[:])
	} else {
		copy(whole[:], number)
	}
	binary.LittleEndian.PutUint64(whole[:], m.change(binary.LittleEndian.Uint64(whole[:])))
	copy(number, whole[:])
	if big {
		for i := range number {
			number[i] = whole[len(number)-1-i]
		}
	}
	return !bytes.Equal(before, number)
}

// ReadMutated is the child process of TestMisreadings. For each line of the list, it prints the
// number of the line, and then the digest of everything that the reference reads from the file.
func ReadMutated(list string) int {
	b, err := os.ReadFile(list)
	if err != nil {
		return 3
	}
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		f := strings.Split(line, "\t")
		fmt.Println("at", f[0])
		fmt.Println("read", f[0], digestOf(f[1], f[2], f[3], f[4]))
	}
	return 0
}

// digestOf returns the digest of the decoded bytes, the numbers and the metadata of an object, or
// "error".
func digestOf(path, area, object, name string) string {
	w, err := readWritten(area, path, object, name)
	if err != nil {
		return "error"
	}
	facts := w.facts
	if area == "hdf5" {
		x, err := decodeHDF5(path, object)
		if err != nil {
			return "error"
		}
		facts = x.metadata
		numbers, _, err := hdf5Numbers(path, object)
		if err != nil {
			return "error"
		}
		w.data = append(w.data, numbers...)
	}
	text, err := json.Marshal(facts)
	if err != nil {
		return "error"
	}
	return hexSum(append(text, w.data...))
}

// readMutated reads the files of a list in child processes and returns the digests of lines.
// A line without a digest crashed its process or did not end.
func readMutated(t *testing.T, scratch string, lines []string) []string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	got := make([]string, len(lines))
	for at := 0; at < len(lines); {
		list := filepath.Join(scratch, "list")
		var b strings.Builder
		for i, line := range lines[at:] {
			fmt.Fprintf(&b, "%d\t%s\n", at+i, line)
		}
		require.NoError(t, os.WriteFile(list, []byte(b.String()), 0o644))
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Env = append(os.Environ(), "CROSSCHECK_TEST_READER=mutated", "CROSSCHECK_TEST_LIST="+list)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		watch := time.AfterFunc(misreadTime, func() { _ = cmd.Process.Kill() })
		last := at
		output := bufio.NewScanner(out)
		for output.Scan() {
			watch.Reset(misreadTime)
			var k int
			word, digest := "", ""
			fmt.Sscan(output.Text(), &word, &k, &digest)
			last = k
			if word == "read" {
				got[k] = digest
			}
		}
		watch.Stop()
		if cmd.Wait() == nil {
			break
		}
		if got[last] == "" {
			got[last] = "crash"
		}
		at = last + 1
	}
	return got
}

// exceptions are misreadings that no reader of elements can make visible, by document and a
// pattern of the rule or the misreading, with the reason.
type exception struct {
	structure, text, reason string
	used                    bool
}

func parseExceptions(t *testing.T) (all []*exception) {
	for _, line := range strings.Split(unneededText, "\n") {
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		f := strings.Split(line, " | ")
		require.Len(t, f, 3, line)
		all = append(all, &exception{f[0], f[1], f[2], false})
	}
	return all
}

// matches reports whether an exception is about a misreading of a rule.
func (e *exception) matches(r *formatRule, m *misreading) bool {
	in := e.structure == "any" || slices.ContainsFunc(r.in, func(s structure) bool { return s.name == e.structure })
	return in && (e.text == "*" || m.name == e.text || strings.HasPrefix(m.name, e.text+" ") || strings.HasPrefix(m.name, e.text+","))
}

// misreadTime is the time after which the reader of a mutated file hangs.
const misreadTime = 5 * time.Second

// misreadRounds is the number of vectors on which a misreading is tried, the smallest first.
const misreadRounds = 12

// TestMisreadings checks that the vectors discriminate: for each rule and each plausible misreading
// of its fields, at least one vector gives another result. It compares misreadings.md with the
// result.
func TestMisreadings(t *testing.T) {
	t.Parallel()
	dir, m := Corpus(t)
	x, err := newRuleIndex(rulesText)
	require.NoError(t, err)
	vectors := exercisedBy(t, x, m)
	objects := make(map[string][]Case)
	for _, c := range m.Cases {
		if c.Must == Accept {
			objects[c.Path] = append(objects[c.Path], c)
		}
	}
	rules := x.rules
	all := plausible(rules, vectors, fieldAreas)
	if sampling() {
		all = slices.DeleteFunc(all, func(m *misreading) bool { return m.rule%23 != 0 })
	}
	scratch := t.TempDir()
	besides(t, dir, scratch, m.Cases)
	for round := range misreadRounds {
		misreadRound(t, dir, scratch, rules, objects, all, round)
	}
	// A number that is 0 in every vector does not discriminate. Other changes without an effect on
	// the bytes are no mistakes, for example the other order of one byte.
	all = slices.DeleteFunc(all, func(x *misreading) bool {
		return x.tried == 0 && !(x.number && strings.HasSuffix(x.name, " is ignored"))
	})
	unneeded := parseExceptions(t)
	text, left, measure := misreadingTable(rules, all, unneeded)
	t.Logf("%d misreadings: %.1f %% of the visible ones killed", len(all), measure)
	require.GreaterOrEqual(t, measure, 98.0, "%v", left)
	if sampling() {
		return
	}
	for _, e := range unneeded {
		assert.True(t, e.used, "no misreading is left for the exception %q, %q", e.structure, e.text)
	}
	const name = "misreadings.md"
	if *updateRules {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, string(want), text, "run HYPERSLAB_ALL=1 go test ./crosscheck -run 'TestMisreadings$' -update-rules")
}

// misreadingTable returns misreadings.md, the misreadings that no vector detects and no reason
// excepts, and the percentage of the others.
func misreadingTable(rules []formatRule, all []*misreading, unneeded []*exception) (text string, left []string, measure float64) {
	var b, without strings.Builder
	document := ""
	excepted, killed := 0, 0
	for _, x := range all {
		r := &rules[x.rule]
		if r.document != document {
			document = r.document
			fmt.Fprintf(&b, "\n## %s\n\n| rule | misreading | vector |\n|---|---|---|\n", document)
		}
		found := "`" + x.killed + "`"
		if x.killed != "" {
			killed++
		} else if i := slices.IndexFunc(unneeded, func(e *exception) bool { return e.matches(r, x) }); i >= 0 {
			excepted++
			unneeded[i].used = true
			found = "not visible: " + unneeded[i].reason
		} else {
			found = "none"
			left = append(left, r.text+": "+x.name)
			fmt.Fprintf(&without, "| %s | %s | %s |\n", r.document, r.text, x.name)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", strings.ReplaceAll(r.text, "|", "\\|"), x.name, found)
	}
	var head strings.Builder
	fmt.Fprintf(&head, "# Misreadings that the vectors of crosscheck detect\n\n"+
		"This page is for people who want to know which mistakes of a reader the vectors detect. `HYPERSLAB_ALL=1 go test ./crosscheck -run 'TestMisreadings$' -update-rules` writes it, and the same test compares it.\n\n"+
		"[coverage.md](coverage.md) lists the rules. A misreading is a plausible mistake in a field of a rule: the field is ignored, read in the other byte order, in too few bits, as the next value or the one before, or without a flag. "+
		"A reader with such a mistake reads from a file what the reference library reads from a copy of the file with the misread value, so these copies are the mutated readers. "+
		"A vector detects the mistake if the result differs: the bytes, the numbers, the metadata, or an error. A misreading is not visible if the reference library returns the same for every value, because only a writer uses the field; testdata/misreadings.txt contains the reasons. "+
		"Mistakes in the steps between the fields, for example filters, checksums and the order of chunks, are tables in the code of this package, with a test for each.\n\n"+
		"| misreadings | detected | not visible | without a vector | detected, of the visible |\n|---|---|---|---|---|\n")
	measure = 100 * float64(killed) / float64(max(len(all)-excepted, 1))
	fmt.Fprintf(&head, "| %d | %d | %d | %d | %.1f %% |\n\n", len(all), killed, excepted, len(left), measure)
	fmt.Fprintf(&head, "## Misreadings without a vector\n\n| document | rule | misreading |\n|---|---|---|\n%s", without.String())
	return head.String() + b.String(), left, measure
}

// plausible returns the misreadings that change at least one vector.
func plausible(rules []formatRule, vectors [][]Case, areas []string) (all []*misreading) {
	for i := range rules {
		r := &rules[i]
		if r.excluded != "" || r.refused {
			continue
		}
		var in []Case
		for _, c := range vectors[i] {
			if slices.Contains(areas, c.Area) && !strings.HasSuffix(c.Path, ".b2d") {
				in = append(in, c)
			}
		}
		slices.SortStableFunc(in, func(a, b Case) int { return int(a.Bytes - b.Bytes) })
		for _, x := range misreadingsOf(i, r, in) {
			all = append(all, &x)
		}
	}
	return all
}

// besides copies the files that vectors refer to.
func besides(t *testing.T, dir, scratch string, cases []Case) {
	t.Helper()
	names := make(map[string]string)
	for _, c := range cases {
		for _, name := range c.Beside {
			names[name] = filepath.Join(dir, filepath.Dir(filepath.FromSlash(c.Path)), name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		b, err := os.ReadFile(names[name])
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(scratch, name), b, 0o644))
	}
}

// nextMutation returns the next vector that a misreading changes and its copy with the misread
// fields, or nil if the misreading is detected, or there is no such vector.
func (m *misreading) nextMutation(t *testing.T, dir string, r *formatRule) (c Case, changed []byte) {
	t.Helper()
	for ; m.killed == "" && m.next < len(m.vector); m.next++ {
		c = m.vector[m.next]
		path := filepath.Join(dir, filepath.FromSlash(c.Path))
		if info, err := os.Stat(path); err != nil || info.IsDir() {
			continue
		}
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		if changed = m.mutate(b, described(t, c), r, c.Area); changed != nil {
			m.next++
			return c, changed
		}
	}
	return c, nil
}

// misreadRound tries each misreading that is left on its next vector.
func misreadRound(t *testing.T, dir, scratch string, rules []formatRule, objects map[string][]Case, all []*misreading, round int) {
	t.Helper()
	type asked struct {
		x *misreading
		c Case
	}
	var lines []string
	var about []asked
	for _, x := range all {
		c, changed := x.nextMutation(t, dir, &rules[x.rule])
		if changed == nil {
			continue
		}
		x.tried++
		name := filepath.Join(scratch, fmt.Sprintf("%d-%d%s", round, len(lines), filepath.Ext(c.Path)))
		require.NoError(t, os.WriteFile(name, changed, 0o644))
		for _, o := range objects[c.Path][:min(len(objects[c.Path]), 8)] {
			lines = append(lines, strings.Join([]string{name, o.Area, o.Object, o.Params["name"]}, "\t"))
			about = append(about, asked{x, o})
		}
	}
	right := make(map[string]string)
	for i, digest := range readMutated(t, scratch, lines) {
		c := about[i].c
		if right[c.ID] == "" {
			right[c.ID] = digestOf(filepath.Join(dir, filepath.FromSlash(c.Path)), c.Area, c.Object, c.Params["name"])
			require.NotEqual(t, "error", right[c.ID], c.ID)
		}
		if digest != right[c.ID] && about[i].x.killed == "" {
			about[i].x.killed = c.ID
		}
	}
}
