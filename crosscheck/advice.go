// Advise, which applies the results of other readers with the vectors to any file.

package crosscheck

import (
	"cmp"
	_ "embed"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Advice lists the readers that were judged with vectors of a file's kind, and how each reads files
// with the features of this file.
type Advice struct {
	Schema  string    `json:"schema"`
	Path    string    `json:"path"`
	Area    string    `json:"area"`
	Objects int       `json:"objects"` // of the file; attributes count
	Readers []Advised `json:"readers"` // the most dangerous results first
}

// Advised is the result of one reader.
type Advised struct {
	Reader   string   `json:"reader"`
	Version  string   `json:"version"`
	Language string   `json:"language"`
	Verdict  Verdict  `json:"verdict"`            // of its worst object; Pass: it reads vectors with each pair of the features
	Possible bool     `json:"possible"`           // it passes other vectors with the same features, or few vectors have the combination
	Objects  int      `json:"objects"`            // with this result
	Object   string   `json:"object,omitempty"`   // the first of these objects
	Features []string `json:"features,omitempty"` // reason of the result: all vectors with them fail, or no passed one has them
	Vector   string   `json:"vector,omitempty"`   // ID of a vector that gives this verdict
	Kinds    []string `json:"kinds,omitempty"`    // kinds of HDF5 objects that the reader reads; others do not count
}

// unknown is the verdict of a reader for features that no passed vector has.
const unknown Verdict = "not known"

// adviceSchema is the version of the format of an Advice.
const adviceSchema = "hyperslab.crosscheck.advice/1"

//go:embed advice.txt
var adviceText string

// advisors contains the table of advice.txt by area.
var advisors = sync.OnceValues(func() (map[string]*advisor, error) { return parseAdvice(adviceText) })

// Advise scans a file or directory and returns the results of the readers that were judged with
// vectors that have its features. It needs no C library, no reader and no vector. area is one of
// Areas, or "" to detect it: chunks have no signature. Advise returns an error if the file cannot
// be scanned.
//
// A reader fails if the file has a combination of features with which it passes no vector, and
// every other feature of the failed vectors that may be the reason. Possible is set if it passes
// some vectors with the same features, or if the combination of two features may be a coincidence,
// because few vectors have it. The result is not known if no passed vector has a feature of the
// file, or two of its features together.
func Advise(path, area string) (*Advice, error) {
	tables, err := advisors()
	if err != nil {
		return nil, err
	}
	if area == "" {
		if area, err = areaOf(path); err != nil {
			return nil, fmt.Errorf("crosscheck: %s: %w", path, err)
		}
	}
	units, err := unitsOf(path, area)
	if err != nil {
		return nil, fmt.Errorf("crosscheck: %s: %w", path, err)
	}
	a := &Advice{Schema: adviceSchema, Path: path, Area: area, Objects: len(units), Readers: []Advised{}}
	if t := tables[area]; t != nil {
		a.Readers = t.advise(units)
	}
	return a, nil
}

// severity is the order of verdicts in an Advice.
var severity = []Verdict{Wrong, Crash, Hang, Refused, WronglyAccepted, unknown, Pass}

// rank orders results, the worst first. A certain result precedes an uncertain one.
func (r *Advised) rank() int {
	n := 2 * slices.Index(severity, r.Verdict)
	if r.Possible {
		n++
	}
	return n
}

// advisor is the table of one area. Vectors with the same features are one set.
type advisor struct {
	names   []string       // of the features
	number  map[string]int // index in names
	sets    []bitset       // for each feature the sets with it
	readers []judged
}

// judged is one reader of the table.
type judged struct {
	name, language, version string
	kinds                   []string // judged kinds of objects, by feature
	passed                  bitset   // sets with a passed vector
	causes                  []failure
}

// failure is a combination of features with which a reader fails.
type failure struct {
	verdict  Verdict
	possible bool
	vector   string
	shown    []int // reason: with these features the reader passes no vector
	required []int // shown, and other features of the failed vectors that may be the reason
}

// bitset is a set of small numbers.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) add(i int) { b[i/64] |= 1 << (i % 64) }

func (b bitset) has(i int) bool { return i/64 < len(b) && b[i/64]&(1<<(i%64)) != 0 }

// common counts the numbers in all of the sets.
func (b bitset) common(others ...bitset) (n int) {
	for i, w := range b {
		for _, o := range others {
			w &= o[i]
		}
		n += bits.OnesCount64(w)
	}
	return n
}

func (b bitset) String() string {
	var bytes []byte
	for _, w := range b {
		bytes = binary.LittleEndian.AppendUint64(bytes, w)
	}
	return base64.RawStdEncoding.EncodeToString(bytes)
}

func parseBitset(s string, words int) (bitset, error) {
	bytes, err := base64.RawStdEncoding.DecodeString(s)
	if err != nil || len(bytes) != 8*words {
		return nil, fmt.Errorf("bits: got %d bytes, want %d: %w", len(bytes), 8*words, cmp.Or(err, strconv.ErrSyntax))
	}
	b := make(bitset, words)
	for i := range b {
		b[i] = binary.LittleEndian.Uint64(bytes[8*i:])
	}
	return b, nil
}

// parseAdvice reads advice.txt. A line contains fields with " | " between them:
//
//	= AREA | number of sets
//	f FEATURE | sets with it
//	r READER | language | version | judged kinds | sets with a passed vector
//	c VERDICT | certain or possible | vector | numbers of features | numbers of other required features
func parseAdvice(text string) (map[string]*advisor, error) {
	all := make(map[string]*advisor)
	var at *advisor
	words := 0
	for n, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		f := strings.Split(line[min(len(line), 2):], " | ")
		var err error
		switch kind := line[0]; {
		case kind == '=' && len(f) == 2:
			at = &advisor{number: make(map[string]int)}
			all[f[0]] = at
			words, err = strconv.Atoi(f[1])
			words = (words + 63) / 64
		case kind == 'f' && len(f) == 2 && at != nil:
			at.number[f[0]] = len(at.names)
			at.names = append(at.names, f[0])
			var b bitset
			b, err = parseBitset(f[1], words)
			at.sets = append(at.sets, b)
		case kind == 'r' && len(f) == 5 && at != nil:
			r := judged{name: f[0], language: f[1], version: f[2], kinds: strings.FieldsFunc(f[3], func(c rune) bool { return c == ',' })}
			r.passed, err = parseBitset(f[4], words)
			at.readers = append(at.readers, r)
		case kind == 'c' && len(f) == 5 && at != nil && len(at.readers) > 0:
			c := failure{verdict: Verdict(f[0]), possible: f[1] == "possible", vector: f[2]}
			for _, word := range strings.Fields(f[3] + " " + f[4]) {
				i, bad := strconv.Atoi(word)
				if bad != nil || i < 0 || i >= len(at.names) {
					err = fmt.Errorf("feature: got %q, want less than %d", word, len(at.names))
				}
				c.required = append(c.required, i)
			}
			c.shown = c.required[:len(strings.Fields(f[3]))]
			r := &at.readers[len(at.readers)-1]
			r.causes = append(r.causes, c)
		default:
			err = fmt.Errorf("got %q", line)
		}
		if err != nil {
			return nil, fmt.Errorf("crosscheck: line %d of advice.txt: %w", n+1, err)
		}
	}
	return all, nil
}

// wholeFile is the kind of the unit of an HDF5 file with errors, for which every reader is judged.
const wholeFile = "file"

// unit is an object of a file with its features. Its kind is a feature, too.
type unit struct {
	object, kind string
	features     []string
	outer        features // those of the groups that lead to the object, but not of itself or the file
}

// scannedUnit is an object with the numbers of its features.
type scannedUnit struct {
	in, outer bitset
	numbers   []int
	other     string // a feature that no vector has
	results   []Advised
}

// advise returns the results of all readers.
func (t *advisor) advise(units []unit) []Advised {
	out := make([]Advised, len(t.readers))
	for i, r := range t.readers {
		out[i] = Advised{Reader: r.name, Version: r.version, Language: r.language, Verdict: Pass, Kinds: r.kinds}
	}
	seen := make(map[string]*scannedUnit)
	for _, u := range units {
		k := &scannedUnit{in: newBitset(len(t.names)), outer: newBitset(len(t.names))}
		for _, name := range u.features {
			if i, found := t.number[name]; found {
				k.in.add(i)
				k.numbers = append(k.numbers, i)
				if u.outer[name] {
					k.outer.add(i)
				}
			} else {
				k.other = name
			}
		}
		key := fmt.Sprint(u.kind, k.in, k.outer, k.other)
		if seen[key] == nil {
			for i := range t.readers {
				k.results = append(k.results, t.judge(&t.readers[i], u.kind, k))
			}
			seen[key] = k
		}
		for i, r := range seen[key].results {
			out[i].worsen(r, u.object)
		}
	}
	slices.SortStableFunc(out, func(a, b Advised) int { return a.rank() - b.rank() })
	return out
}

// worsen replaces the result by that of an object if it is worse, and counts the objects with it.
func (r *Advised) worsen(x Advised, object string) {
	switch {
	case x.Reader == "": // the reader was not judged with objects of this kind
	case x.rank() < r.rank():
		r.Verdict, r.Possible, r.Features, r.Vector, r.Object, r.Objects = x.Verdict, x.Possible, x.Features, x.Vector, object, 1
	case x.rank() == r.rank():
		r.Objects++
	}
}

// judge returns the result of a reader for an object. It is empty if the reader was not judged with
// objects of this kind.
func (t *advisor) judge(r *judged, kind string, x *scannedUnit) Advised {
	if len(r.kinds) > 0 && kind != wholeFile && !slices.Contains(r.kinds, kind) {
		return Advised{}
	}
	out := Advised{Reader: r.name, Verdict: Pass}
	missing := func(i int) bool { return !x.in.has(i) }
	for _, c := range r.causes {
		found := Advised{Reader: r.name, Verdict: c.verdict, Possible: c.possible, Vector: c.vector}
		switch {
		case slices.ContainsFunc(c.shown, missing), len(c.shown) == 0 && slices.ContainsFunc(c.required, missing):
			continue
		case slices.ContainsFunc(c.required, missing):
			found.Verdict, found.Possible = unknown, false
		}
		if found.rank() < out.rank() {
			out, out.Features = found, t.named(c.shown)
		}
	}
	if out.Verdict != Pass {
		return out
	}
	if x.other != "" {
		return Advised{Reader: r.name, Verdict: unknown, Features: []string{x.other}}
	}
	for a, i := range x.numbers {
		for _, k := range x.numbers[:a+1] {
			if x.outer.has(i) != x.outer.has(k) {
				continue // a form of a group does not change how a dataset in it is read
			}
			if t.sets[i].common(t.sets[k], r.passed) > 0 {
				continue
			}
			if out.Verdict == Pass || i == k {
				out.Verdict, out.Features = unknown, t.named(slices.Compact([]int{i, k}))
			}
			if i == k {
				return out
			}
		}
	}
	return out
}

func (t *advisor) named(features []int) []string {
	if len(features) == 0 {
		return nil
	}
	names := make([]string, len(features))
	for i, f := range features {
		names[i] = t.names[f]
	}
	return names
}
