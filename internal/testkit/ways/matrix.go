// The matrix: each way on each array, and the report.

package ways

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hyperslab/hyperslab/ndarray"
)

// Read fills dst with the elements of a region of an array: Array.Size bytes for each element, in
// row-major order and native byte order, or cells.
type Read func(ctx context.Context, a *Array, r ndarray.Region, dst []byte) error

// Way is one way to obtain elements.
type Way struct {
	Name string
	// Start prepares for the arrays of a file and returns the function that reads them. The matrix
	// calls stop after the last array. stop may be nil.
	Start func(ctx context.Context, f *File) (read Read, stop func() error, err error)
	// After reports whether the larger array of the file is read first with the same Read.
	After bool
	// Slow is set if the way needs much time for a file. See part.
	Slow bool
	// Whole is set if the way can only read all elements.
	Whole bool
	// Text is set if the form shows NaN without its bits.
	Text bool
	// Finite is set if the form shows infinities as NaN.
	Finite bool
	// Formats are the formats of the files that the way is for; nil: all.
	Formats []string
}

// part returns n if the way reads one of n files in a sample of the set. Each way reads other
// files.
func (w *Way) part() int {
	if w.Slow {
		return 8
	}
	return 2
}

// Stateless returns a Start for a way that prepares nothing.
func Stateless(read Read) func(context.Context, *File) (Read, func() error, error) {
	return func(context.Context, *File) (Read, func() error, error) { return read, nil, nil }
}

// Limit is a documented limit: ways that return errors.ErrUnsupported for some arrays.
type Limit struct {
	Ways    string // a pattern of path.Match for the names of ways
	Reason  string
	Applies func(a *Array) bool
	Err     error // nil: errors.ErrUnsupported
}

// Fault is a wrong result.
type Fault struct {
	Way    string
	Array  *Array
	Region ndarray.Region
	Got    string // the first different element, or the error
	Want   string
}

func (f Fault) String() string {
	return fmt.Sprintf("%s: %s%v: got %s, want %s (%s shape %v chunks %v %v)", f.Way, f.Array, f.Region, f.Got, f.Want,
		f.Array.DType, f.Array.Shape, f.Array.Chunks, dims(f.Array.Dims))
}

// Report is the result of a run.
type Report struct {
	Reads  map[string]int            // by way: regions that were read and equal the reference
	Skips  map[string]map[string]int // by way and reason of a limit
	Faults []Fault
	mu     sync.Mutex
}

func (r *Report) add(way string, reads int, skips map[string]int, faults []Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Reads[way] += reads
	for reason, n := range skips {
		if r.Skips[way] == nil {
			r.Skips[way] = make(map[string]int)
		}
		r.Skips[way][reason] += n
	}
	r.Faults = append(r.Faults, faults...)
}

// Select returns the ways whose names match the regular expression in HYPERSLAB_WAYS, or all ways
// if the variable is not set.
func Select(ways []Way) []Way {
	pattern := regexp.MustCompile(os.Getenv("HYPERSLAB_WAYS"))
	return slices.DeleteFunc(slices.Clone(ways), func(w Way) bool { return !pattern.MatchString(w.Name) })
}

// Run reads all arrays of the set in each way. It compares all elements of the destinations.
func (s *Set) Run(ctx context.Context, ways []Way, limits []Limit) *Report {
	report := &Report{Reads: make(map[string]int), Skips: make(map[string]map[string]int)}
	work := make(chan int)
	var group sync.WaitGroup
	for range cmp.Or(s.Workers, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for n := range work {
				w := ways[n]
				run := &run{report: report, limits: limits, way: w}
				for i, f := range s.Files {
					if s.Sample && (i+n)%w.part() != 0 {
						continue
					}
					if w.Formats == nil || slices.Contains(w.Formats, f.Format) {
						run.file(ctx, f)
					}
				}
			}
		})
	}
	for n := range ways {
		work <- n
	}
	close(work)
	group.Wait()
	order := make(map[string]int)
	for i, w := range ways {
		order[w.Name] = i
	}
	slices.SortStableFunc(report.Faults, func(a, b Fault) int { return cmp.Compare(order[a.Way], order[b.Way]) })
	return report
}

// run is one way.
type run struct {
	report *Report
	limits []Limit
	way    Way
	memory []byte // of all destinations, reused from one array to the next
}

const dirty = 0xAA

// destination returns n bytes with old content.
func (r *run) destination(n int) []byte {
	if cap(r.memory) < n {
		r.memory = make([]byte, n)
	}
	dst := r.memory[:n]
	for i := range dst {
		dst[i] = dirty
	}
	return dst
}

func (r *run) file(ctx context.Context, f *File) {
	skips := make(map[string]int)
	var faults []Fault
	reads := 0
	fail := func(a *Array, region ndarray.Region, err error) {
		if reason, ok := r.limit(a, err); ok {
			skips[reason]++
			return
		}
		faults = append(faults, Fault{r.way.Name, a, region, err.Error(), "the values of the reference library"})
	}
	read, stop, err := r.start(ctx, f)
	if err != nil {
		for _, a := range f.Arrays {
			fail(a, ndarray.Whole(a.Shape), err)
		}
		r.report.add(r.way.Name, 0, skips, faults)
		return
	}
	for _, a := range f.Arrays {
		for _, region := range a.regions(r.way.Whole) {
			want := r.canonical(ctx, a, a.region(region))
			dst := r.destination(len(want))
			if err := guard(func() error { return read(ctx, a, region, dst) }); errors.Is(err, ErrForm) {
				skips[ErrForm.Error()]++
			} else if err != nil {
				fail(a, region, err)
				if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, ndarray.ErrNotFound) {
					break // once is enough
				}
			} else if fault, ok := a.compare(a.withoutNulls(r.canonical(ctx, a, dst), region), a.withoutNulls(want, region)); ok {
				fault.Way, fault.Region = r.way.Name, region
				faults = append(faults, fault)
			} else {
				reads++
			}
		}
	}
	if stop != nil {
		if err := guard(stop); err != nil {
			fail(f.Arrays[0], ndarray.Whole(f.Arrays[0].Shape), fmt.Errorf("close: %w", err))
		}
	}
	r.report.add(r.way.Name, reads, skips, faults)
}

// canonical returns the elements with default NaNs if the form of the way shows no others.
func (r *run) canonical(ctx context.Context, a *Array, b []byte) []byte {
	if !r.way.Text || a.Cells() {
		return b
	}
	if d, err := a.ElementType(ctx); err == nil {
		return Canonical(d.Native(), b, r.way.Finite)
	}
	return b
}

// start calls Start of the way and reads the larger array.
func (r *run) start(ctx context.Context, f *File) (read Read, stop func() error, err error) {
	err = guard(func() (err error) {
		read, stop, err = r.way.Start(ctx, f)
		if err == nil && r.way.After && f.Large != "" {
			err = f.readLarge(ctx, read, r)
			if err != nil && stop != nil {
				err = errors.Join(err, stop())
			}
		}
		return err
	})
	return read, stop, err
}

// largeWord is each element of the larger array of a file.
const largeWord = 0x77

func (f *File) readLarge(ctx context.Context, read Read, r *run) error {
	n := int64(300_000)
	if f.Dims["file"] == "earliest 2" {
		n = 4096
	}
	large := &Array{File: f, Path: f.Large, DType: "int32", Shape: []int64{n}, Size: 4}
	dst := r.destination(int(n * 4))
	if err := read(ctx, large, ndarray.Whole(large.Shape), dst); err != nil {
		return fmt.Errorf("the larger array: %w", err)
	}
	if i := bytes.IndexFunc(dst, func(c rune) bool { return c != largeWord }); i >= 0 {
		return fmt.Errorf("the larger array: byte %d: got %#x, want %#x", i, dst[i], largeWord)
	}
	return nil
}

// guard returns a panic as an error.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}

// limit returns the reason of the limit that explains the error for an array.
func (r *run) limit(a *Array, problem error) (reason string, ok bool) {
	for _, l := range r.limits {
		if l.Err == nil {
			l.Err = errors.ErrUnsupported
		}
		if matched, err := path.Match(l.Ways, r.way.Name); err == nil && matched && errors.Is(problem, l.Err) && l.Applies(a) {
			return l.Reason, true
		}
	}
	return "", false
}

// regions returns the regions that are read: all elements, the first and the last chunk, which may
// extend beyond the edge of the array, a box across chunks, and the last element.
func (a *Array) regions(whole bool) []ndarray.Region {
	all := ndarray.Whole(a.Shape)
	if whole || all.NumElems() <= 1 {
		return []ndarray.Region{all}
	}
	chunks := a.Chunks
	if len(chunks) != len(a.Shape) {
		chunks = nil
		for _, n := range a.Shape {
			chunks = append(chunks, max(1, n/2))
		}
	}
	rank := len(a.Shape)
	box := func(f func(i int) (start, end int64)) ndarray.Region {
		r := ndarray.Region{Start: make([]int64, rank), Shape: make([]int64, rank)}
		for i := range rank {
			start, end := f(i)
			r.Start[i], r.Shape[i] = start, end-start
		}
		return r
	}
	random := rand.New(rand.NewPCG(uint64(len(a.Want)), uint64(rank)))
	out := []ndarray.Region{ // small ones first: after many elements a remote array reads its whole index
		box(func(i int) (int64, int64) { return (a.Shape[i] - 1) / chunks[i] * chunks[i], a.Shape[i] }),
		box(func(i int) (int64, int64) { return 0, min(chunks[i], a.Shape[i]) }),
		box(func(i int) (int64, int64) {
			start := random.Int64N(a.Shape[i])
			return start, start + 1 + random.Int64N(a.Shape[i]-start)
		}),
		box(func(i int) (int64, int64) { return a.Shape[i] - 1, a.Shape[i] }),
		all,
	}
	return slices.CompactFunc(out, func(x, y ndarray.Region) bool { return x.String() == y.String() })
}

// region returns the elements of a region that the reference library read.
func (a *Array) region(r ndarray.Region) []byte {
	out := make([]byte, 0, r.NumElems()*int64(a.Size))
	a.visit(r, func(element int64) { out = append(out, a.Want[element*int64(a.Size):(element+1)*int64(a.Size)]...) })
	return out
}

// Fill fills dst with the elements of a region that the reference library read. It is for ways that
// compare the elements themselves.
func (a *Array) Fill(r ndarray.Region, dst []byte) { copy(dst, a.region(r)) }

// visit calls f with the indexes of the elements of a region.
func (a *Array) visit(r ndarray.Region, f func(element int64)) {
	if r.NumElems() == 0 {
		return
	}
	at := slices.Clone(r.Start)
	for {
		n := int64(0)
		for i, x := range at {
			n = n*a.Shape[i] + x
		}
		f(n)
		i := len(at) - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < r.Start[i]+r.Shape[i] {
				break
			}
			at[i] = r.Start[i]
		}
		if i < 0 {
			return
		}
	}
}

// compare returns the first element that differs.
func (a *Array) compare(got, want []byte) (Fault, bool) {
	if a.hasPadding() {
		got, want = a.withoutPadding(got), a.withoutPadding(want)
	}
	if a.Dims["padding"] == "space" {
		got, want = a.withoutSpaces(got), a.withoutSpaces(want)
	}
	if bytes.Equal(got, want) {
		return Fault{}, false
	}
	first, count := -1, 0
	for i := 0; i < len(want); i += a.Size {
		if !bytes.Equal(got[i:i+a.Size], want[i:i+a.Size]) {
			if count++; first < 0 {
				first = i
			}
		}
	}
	show := func(b []byte) string { return fmt.Sprintf("%x", b[first:min(first+a.Size, first+24)]) }
	return Fault{Array: a, Got: fmt.Sprintf("%s at element %d (%d of %d differ)", show(got), first/a.Size, count, len(want)/a.Size), Want: show(want)}, true
}

// byArray lists the first fault of each array with the ways that have faults there.
func (r *Report) byArray(most int) string {
	var out strings.Builder
	first := make(map[*Array]Fault)
	ways := make(map[*Array][]string)
	var order []*Array
	for _, f := range r.Faults {
		if _, ok := first[f.Array]; !ok {
			first[f.Array] = f
			order = append(order, f.Array)
		}
		if !slices.Contains(ways[f.Array], f.Way) {
			ways[f.Array] = append(ways[f.Array], f.Way)
		}
	}
	for i, a := range order {
		if i == most {
			fmt.Fprintf(&out, "%d more arrays\n", len(order)-most)
			break
		}
		fmt.Fprintf(&out, "%v\n    in %d ways: %s\n", first[a], len(ways[a]), strings.Join(ways[a], "; "))
	}
	return out.String()
}

// Table returns the number of results of each way, and the first fault of at most so many arrays.
func (r *Report) Table(most int) string {
	var out strings.Builder
	faults := make(map[string][]Fault)
	for _, f := range r.Faults {
		faults[f.Way] = append(faults[f.Way], f)
	}
	names := make(map[string]bool)
	for name := range r.Reads {
		names[name] = true
	}
	for name := range faults {
		names[name] = true
	}
	var sorted []string
	for name := range names {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	fmt.Fprintf(&out, "%-44s %7s %7s %7s\n", "way", "equal", "skipped", "faults")
	for _, name := range sorted {
		skipped := 0
		for _, n := range r.Skips[name] {
			skipped += n
		}
		fmt.Fprintf(&out, "%-44s %7d %7d %7d\n", name, r.Reads[name], skipped, len(faults[name]))
	}
	out.WriteString(r.byArray(most))
	return out.String()
}

// Require fails the test if there are faults, and logs the skips.
func (r *Report) Require(t testing.TB) {
	t.Helper()
	reasons := make(map[string]int)
	for _, skips := range r.Skips {
		for reason, n := range skips {
			reasons[reason] += n
		}
	}
	for reason, n := range reasons {
		t.Logf("skipped: %d: %s", n, reason)
	}
	if len(r.Faults) > 0 {
		t.Errorf("%d results differ from the reference libraries:\n%s", len(r.Faults), r.Table(200))
	}
}

// hasPadding reports whether an element has bytes outside of its fields. h5py leaves them
// undefined.
func (a *Array) hasPadding() bool { return a.Dims["dtype"] == "padded" }

// withoutPadding returns the elements with defined bytes between the fields: zero, or 0xAA where
// a read left the old content of the destination.
func (a *Array) withoutPadding(b []byte) []byte {
	out := slices.Clone(b)
	for i := range out {
		if at := i % 20; at != 1 && (at < 8 || at >= 16) {
			out[i] = 0
		}
	}
	return out
}

// withoutSpaces returns strings with null bytes for the spaces at their end.
func (a *Array) withoutSpaces(b []byte) []byte {
	out := slices.Clone(b)
	for i := 0; i < len(out); i += a.Size {
		clear(out[i+len(bytes.TrimRight(out[i:i+a.Size], " \x00")) : i+a.Size])
	}
	return out
}

// withoutNulls returns the elements of a region with zero bytes for null elements, whose values no
// library defines.
func (a *Array) withoutNulls(b []byte, r ndarray.Region) []byte {
	out := slices.Clone(b)
	for i, null := range a.nullsIn(r) {
		if null {
			clear(out[i*a.Size : (i+1)*a.Size])
		}
	}
	return out
}

// nullsIn reports for each element of a region whether it is null. It is nil for an array without
// nulls.
func (a *Array) nullsIn(r ndarray.Region) (marks []bool) {
	if len(a.Nulls) > 0 {
		a.visit(r, func(element int64) { marks = append(marks, slices.Contains(a.Nulls, element)) })
	}
	return marks
}

// values returns the elements of the reference library without null elements.
func (a *Array) values() []byte {
	marks := a.nullsIn(ndarray.Whole(a.Shape))
	if marks == nil {
		return a.Want
	}
	var out []byte
	for i, null := range marks {
		if !null {
			out = append(out, a.Want[i*a.Size:(i+1)*a.Size]...)
		}
	}
	return out
}
