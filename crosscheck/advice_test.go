package crosscheck

import (
	_ "embed"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

//go:embed verdicts.txt
var verdictsText string

// verdictLetters are the letters of verdicts.txt.
var verdictLetters = map[byte]Verdict{'.': Pass, 'r': Refused, 'w': Wrong, 'a': WronglyAccepted, 'c': Crash, 'h': Hang}

// readVerdicts returns the readers of verdicts.txt, with the verdicts of each by vector.
func readVerdicts(t *testing.T) (readers []judged, verdicts []map[string]Verdict) {
	for line := range strings.Lines(verdictsText) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		switch len(f) {
		case 3:
			readers = append(readers, judged{name: f[0], language: f[1], version: f[2]})
			verdicts = append(verdicts, make(map[string]Verdict))
		case 2:
			require.Len(t, f[1], len(readers), line)
			for i := range readers {
				if f[1][i] != '-' {
					require.Contains(t, verdictLetters, f[1][i], line)
					verdicts[i][f[0]] = verdictLetters[f[1][i]]
				}
			}
		default:
			require.True(t, strings.HasPrefix(line, "# "), line)
		}
	}
	return readers, verdicts
}

// unitsByPath contains the units of the vectors in Corpus.
var unitsByPath sync.Map

// unitOf returns the object of a case.
func unitOf(t *testing.T, c Case) unit {
	t.Helper()
	dir, _ := Corpus(t)
	name := filepath.Join(dir, filepath.FromSlash(c.Path))
	found, is := unitsByPath.Load(c.Path)
	if !is {
		units, err := unitsOf(name, c.Area)
		require.NoError(t, err, c.ID)
		byObject := make(map[string]unit)
		for _, u := range units {
			if u.kind == wholeFile {
				u.object = wholeFile
			}
			byObject[u.object] = u
		}
		if c.Area == "hdf5" {
			hardLinks(t, name, byObject)
		}
		found = byObject
		unitsByPath.Store(c.Path, byObject)
	}
	units := found.(map[string]unit)
	object := c.Object
	if c.Area != "hdf5" {
		object = ""
	}
	if whole, is := units[wholeFile]; is && c.Must == Refuse {
		return whole
	}
	u, is := units[object]
	require.True(t, is, "%s: no object %s in %v", c.ID, c.Object, slices.Sorted(maps.Keys(units)))
	return u
}

// hardLinks adds the other paths of objects with several hard links.
func hardLinks(t *testing.T, name string, units map[string]unit) {
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(t, err)
	h, err := h5file.Open(f, info.Size(), nil)
	if err != nil {
		return
	}
	first := make(map[h5file.Addr]string)
	links := make(map[string]h5file.Addr)
	for e := range h.Walk() {
		if e.Object == nil {
			continue
		}
		first[e.Object.Addr] = e.Path
		for l, err := range e.Object.Links() {
			if err == nil && l.Kind == h5file.HardLink {
				links[path.Join(e.Path, l.Name)] = l.Target
			}
		}
	}
	for link, to := range links {
		for object, u := range maps.Clone(units) {
			if rest, is := strings.CutPrefix(object, first[to]); is && first[to] != "" && (rest == "" || rest[0] == '/' || rest[0] == '@') {
				if _, is := units[link+rest]; !is {
					units[link+rest] = u
				}
			}
		}
	}
}

// learn returns the part of advice.txt about an area, made of verdicts.txt and the vectors.
func learn(t *testing.T, area string) string {
	_, m := Corpus(t)
	readers, verdicts := readVerdicts(t)
	l := newLesson(t, inAreas(m, area))
	var b, results strings.Builder
	for i, r := range readers {
		l.reader(&results, r, verdicts[i])
	}
	if results.Len() == 0 {
		return ""
	}
	fmt.Fprintf(&b, "= %s | %d\n", area, l.n)
	for i, name := range l.names {
		fmt.Fprintf(&b, "f %s | %v\n", name, l.sets[i])
	}
	return b.String() + results.String()
}

// lesson contains the features and sets of the vectors of one area.
type lesson struct {
	advisor
	n     int               // sets
	set   map[string]int    // of each vector
	kind  map[string]string // of each vector
	cases []Case
}

func newLesson(t *testing.T, cases []Case) *lesson {
	l := &lesson{set: make(map[string]int), kind: make(map[string]string), cases: cases}
	sets := make(map[string]int)
	var members [][]string
	all := make(map[string]bool)
	for _, c := range cases {
		u := unitOf(t, c)
		key := strings.Join(u.features, "\n")
		if _, is := sets[key]; !is {
			sets[key] = len(members)
			members = append(members, u.features)
		}
		l.set[c.ID], l.kind[c.ID] = sets[key], u.kind
		for _, f := range u.features {
			all[f] = true
		}
	}
	l.n, l.names = len(members), slices.Sorted(maps.Keys(all))
	l.number = make(map[string]int)
	for i, name := range l.names {
		l.number[name] = i
		l.sets = append(l.sets, newBitset(l.n))
	}
	for k, features := range members {
		for _, f := range features {
			l.sets[l.number[f]].add(k)
		}
	}
	return l
}

// reader writes the lines of one reader, if it was judged with vectors of the area.
func (l *lesson) reader(b *strings.Builder, r judged, verdicts map[string]Verdict) {
	read, passed, kinds := newBitset(l.n), newBitset(l.n), make(map[string]bool) // read: valid and passed
	failed, judged := map[Must]map[Verdict]bitset{Accept: {}, Refuse: {}}, false
	for _, c := range l.cases {
		v, is := verdicts[c.ID]
		if !is {
			continue
		}
		k := l.set[c.ID]
		judged = true
		if v == Pass {
			passed.add(k)
			if c.Must == Accept {
				read.add(k)
				if c.Area == "hdf5" {
					kinds[l.kind[c.ID]] = true
				}
			}
			continue
		}
		if failed[c.Must][v] == nil {
			failed[c.Must][v] = newBitset(l.n)
		}
		failed[c.Must][v].add(k)
	}
	if !judged {
		return
	}
	fmt.Fprintf(b, "r %s | %s | %s | %s | %v\n", r.name, r.language, r.version, strings.Join(slices.Sorted(maps.Keys(kinds)), ","), read)
	for _, must := range []Must{Accept, Refuse} {
		right := read
		if must == Refuse {
			right = passed
		}
		for _, v := range severity {
			if failed[must][v] != nil {
				l.causes(b, v, failed[must][v], right, verdicts)
			}
		}
	}
}

// causes writes the features that explain the failures, and then combinations of two: the one that
// explains most of the remaining failures first, and of these the one that the fewest other vectors
// have. A failure that none explains, because the reader passes vectors with the same features, is
// its own explanation.
func (l *lesson) causes(b *strings.Builder, v Verdict, failed, passed bitset, verdicts map[string]Verdict) {
	left := slices.Clone(failed)
	for single := true; ; {
		best, most, least := []int(nil), 0, 0
		better := func(n, all int, features ...int) {
			if n > most || n == most && all < least {
				best, most, least = features, n, all
			}
		}
		for i, in := range l.sets {
			n := in.common(left)
			if n == 0 || n < most {
				continue
			}
			if single {
				if in.common(passed) == 0 {
					better(n, in.common(), i)
				}
				continue
			}
			for k := range i {
				if n := in.common(l.sets[k], left); n > 0 && n >= most && in.common(l.sets[k], passed) == 0 {
					better(n, in.common(l.sets[k])+1, k, i)
				}
			}
		}
		if most == 0 && single {
			single = false
			continue
		}
		if most == 0 {
			break
		}
		in := l.all(best)
		sure := "certain"
		if len(best) > 1 && in.common(failed) < fewVectors {
			sure = "possible"
		}
		fmt.Fprintf(b, "c %s | %s | %s | %s | %s\n", v, sure, l.vector(v, in, verdicts), numbers(best), numbers(l.suspects(best, in, failed, passed)))
		for i := range left {
			left[i] &^= in[i]
		}
	}
	for k := range l.n {
		if !left.has(k) {
			continue
		}
		one := newBitset(l.n)
		one.add(k)
		var features []int
		for i := range l.names {
			if l.sets[i].has(k) {
				features = append(features, i)
			}
		}
		fmt.Fprintf(b, "c %s | possible | %s |  | %s\n", v, l.vector(v, one, verdicts), numbers(features))
	}
}

// all returns the sets that have all of the features.
func (l *lesson) all(features []int) bitset {
	in := slices.Clone(l.sets[features[0]])
	for _, f := range features[1:] {
		for i := range in {
			in[i] &= l.sets[f][i]
		}
	}
	return in
}

// fewVectors is the number of failed vectors below which a combination of two features may be a
// coincidence.
const fewVectors = 5

// suspects returns the other features that may be the reason of the failed vectors in some sets:
// all of these have them, and either the reader passes no vector with such a feature, or, next to
// a combination, at most half of all vectors have it.
func (l *lesson) suspects(best []int, in, failed, passed bitset) (others []int) {
	all := in.common(failed)
	for i, with := range l.sets {
		if slices.Contains(best, i) || with.common(in, failed) < all {
			continue
		}
		if with.common(passed) == 0 || len(best) > 1 && 2*with.common() <= l.n {
			others = append(others, i)
		}
	}
	return others
}

func numbers(v []int) string { return strings.Trim(fmt.Sprint(v), "[]") }

// vector returns the smallest vector of some sets with a verdict.
func (l *lesson) vector(v Verdict, in bitset, verdicts map[string]Verdict) (id string) {
	size := int64(0)
	for _, c := range l.cases {
		if in.has(l.set[c.ID]) && verdicts[c.ID] == v && (id == "" || c.Bytes < size) {
			id, size = c.ID, c.Bytes
		}
	}
	return id
}

// TestAdvise_table compares advice.txt with verdicts.txt and the vectors. A sample has the areas
// with few vectors.
func TestAdvise_table(t *testing.T) {
	t.Parallel()
	const name = "advice.txt"
	text := "# Results of other readers for Advise, written by go test ./crosscheck -run 'TestAdvise_table$' -update-rules from verdicts.txt and the features of the vectors. parseAdvice describes the lines.\n"
	for _, area := range Areas() {
		if sampling() && !*updateRules && area == "hdf5" {
			continue
		}
		part := learn(t, area)
		text += part
		require.True(t, *updateRules || strings.Contains(adviceText, part), "%s: run HYPERSLAB_ALL=1 go test ./crosscheck -run 'TestAdvise_table$' -update-rules", area)
	}
	if *updateRules {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
}

// TestParseAdvice_invalid checks the errors of the table.
func TestParseAdvice_invalid(t *testing.T) {
	for text, problem := range map[string]string{
		"x":                     "line 1",
		"f a | AAAAAAAAAAA":     "line 1",
		"= chunk | 1\nf a | AA": "line 2",
		"= chunk | 1\nf a | AAAAAAAAAAA\nr x | y | z |  | AAAAAAAAAAA\nc wrong | certain | v | 0 | 1": "line 4",
	} {
		_, err := parseAdvice(text)
		require.ErrorContains(t, err, problem, text)
	}
}

// TestAdvise checks that Advise names each reader that fails on a vector when it scans the file of
// the vector.
func TestAdvise(t *testing.T) {
	t.Parallel()
	dir, m := Corpus(t)
	readers, verdicts := readVerdicts(t)
	checked := 0
	advice := make(map[string]*Advice)
	for _, c := range m.Cases {
		if advice[c.Path] == nil {
			a, err := Advise(filepath.Join(dir, filepath.FromSlash(c.Path)), c.Area)
			require.NoError(t, err, c.ID)
			advice[c.Path] = a
		}
		for i, r := range readers {
			v, is := verdicts[i][c.ID]
			if !is || v == Pass {
				continue
			}
			k := slices.IndexFunc(advice[c.Path].Readers, func(x Advised) bool { return x.Reader == r.name })
			require.GreaterOrEqual(t, k, 0, "%s: %s", c.ID, r.name)
			x := advice[c.Path].Readers[k]
			if kind := unitOf(t, c).kind; c.Area == "hdf5" && kind != wholeFile && !slices.Contains(x.Kinds, kind) {
				continue // the reader reads no object of this kind
			}
			require.NotContains(t, []Verdict{Pass, unknown}, x.Verdict, "%s: %s fails, %+v", c.ID, r.name, x)
			require.NotEmpty(t, x.Vector)
			require.Equal(t, c.Area == "hdf5", x.Object != "", x)
			checked++
		}
	}
	require.Greater(t, checked, 2000)
	// The other direction is not certain, because one object of a file stands for all. It must hold
	// for most files of which a reader passes every vector.
	clean, named := 0, 0
	cases := make(map[string][]Case)
	for _, c := range m.Cases {
		cases[c.Path] = append(cases[c.Path], c)
	}
	for path, a := range advice {
		for i, r := range readers {
			k := slices.IndexFunc(a.Readers, func(x Advised) bool { return x.Reader == r.name })
			passed := 0
			for _, c := range cases[path] {
				if v, is := verdicts[i][c.ID]; is && passed >= 0 {
					if passed++; v != Pass || c.Must == Refuse {
						passed = -1
					}
				}
			}
			if k >= 0 && passed > 0 {
				clean++
				if x := a.Readers[k]; x.Verdict != Pass && x.Verdict != unknown && !x.Possible {
					named++
				}
			}
		}
	}
	t.Logf("%d of %d files and readers without a failure are named", named, clean)
	require.Less(t, 100*named, clean)
}
