package histories

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestMain also runs the writers that are killed: the arguments are "step" and a JSON document.
func TestMain(m *testing.M) {
	worker.Init()
	if len(os.Args) > 2 && os.Args[1] == "step" {
		var s step
		err := json.Unmarshal([]byte(os.Args[2]), &s)
		if err == nil {
			fmt.Println("begin")
			err = s.run(context.Background())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println("done")
		return
	}
	leak.Main(m, leak.Check{Name: "open HDF5 ids", Left: h5.OpenIDs}, leak.Check{Name: "worker processes", Left: worker.Left})
}

// target is a kind of file.
type target struct {
	name, file string
	options    hyperslab.CreateOptions
	durable    bool // OpenOptions.Durable is possible
	plain      bool // neither attributes nor dtype
	fixed      bool // neither changes of shape nor attributes
}

var targets = []target{
	{"b2nd", "a.b2nd", hyperslab.CreateOptions{}, true, false, false},
	{"sparse b2nd", "a.dir", hyperslab.CreateOptions{Format: hyperslab.B2ND, Sparse: true}, true, false, false},
	{"Caterva", "a.caterva", hyperslab.CreateOptions{Format: hyperslab.Caterva}, true, true, false},
	{"carray", "a.bcolz", hyperslab.CreateOptions{Format: hyperslab.Bcolz}, false, false, false},
	{"HDF5", "a.h5:/g/x", hyperslab.CreateOptions{}, false, false, false},
	{"npy", "a.npy", hyperslab.CreateOptions{}, false, true, true},
}

// ways to open a file for a change.
const (
	inPlace = "in place"
	durably = "durable"
	byCopy  = "by a copy"
)

// step is a change of an array. It travels to a process that is killed.
type step struct {
	Location string
	Way      string
	Typed    bool // the file does not contain the dtype
	Op       string
	At, N    int64
	Region   ndarray.Region
	Values   []int32
	Name     string
	Text     string
}

func (s *step) options() *hyperslab.OpenOptions {
	o := &hyperslab.OpenOptions{Write: s.Way != durably, Durable: s.Way == durably}
	if s.Typed {
		o.DType = new(ndarray.DTypeOf[int32]())
	}
	return o
}

// run makes the change in its way.
func (s *step) run(ctx context.Context) error {
	if s.Way != byCopy {
		return s.in(ctx, s.Location)
	}
	file, object, _ := strings.Cut(s.Location, ":")
	return hyperslab.Update(ctx, file, func(file string) error {
		if object != "" {
			file += ":" + object
		}
		return s.in(ctx, file)
	})
}

func (s *step) in(ctx context.Context, location string) (err error) {
	a, err := hyperslab.Open(ctx, location, s.options())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	switch s.Op {
	case "write":
		return ndarray.Write(ctx, a, s.Values, s.Region)
	case "append":
		return ndarray.Append(ctx, a, 0, s.Values)
	case "insert":
		return a.Insert(ctx, 0, s.At, raw(s.Values))
	case "delete":
		return a.Delete(ctx, 0, s.At, s.N)
	case "resize":
		shape := a.Shape()
		shape[0] = s.N
		return a.Resize(ctx, shape)
	case "set":
		return a.SetAttr(ctx, ndarray.Attr{Name: s.Name, Value: s.value()})
	case "unset":
		return a.DeleteAttr(ctx, s.Name)
	}
	return fmt.Errorf("%w: step %s", errors.ErrUnsupported, s.Op)
}

// value is the value of an attribute: a string, a number or a vector.
func (s *step) value() ndarray.Value {
	switch {
	case s.Text != "":
		return ndarray.Text(s.Text)
	case s.N > 1:
		return ndarray.Vector(make([]int64, s.N)...)
	}
	return ndarray.Scalar(s.At)
}

// apply makes the change in the model.
func (s *step) apply(m *model) {
	switch s.Op {
	case "write":
		m.write(s.Region, s.Values)
	case "append":
		m.append(s.Values)
	case "insert":
		m.insert(s.At, s.Values)
	case "delete":
		m.remove(s.At, s.N)
	case "resize":
		m.resize(s.N)
	case "set":
		m.attrs[s.Name] = s.value()
	case "unset":
		delete(m.attrs, s.Name)
	}
}

func raw(v []int32) []byte {
	var b bytes.Buffer
	for _, x := range v {
		b.Write([]byte{byte(x), byte(x >> 8), byte(x >> 16), byte(x >> 24)})
	}
	return b.Bytes()
}

// machine is one history.
type machine struct {
	t        *rapid.T
	dir      string
	files    int
	target   *target
	location string
	model    *model
}

// create begins with a new array of random kind, shape, chunks and compression.
func (m *machine) create(kind *target, from *model) {
	t := m.t
	m.files++
	dir := filepath.Join(m.dir, fmt.Sprint(m.files))
	require.NoError(t, os.Mkdir(dir, 0o777))
	m.target, m.location = kind, filepath.Join(dir, kind.file)
	spec := ndarray.Spec{Shape: from.shape, DType: ndarray.DTypeOf[int32]()}
	if !kind.fixed {
		for i, n := range from.shape {
			chunk := rapid.Int64Range(1, 12).Draw(t, "chunk")
			if kind.name == "carray" && i > 0 {
				chunk = n // chunks are rows
			}
			spec.ChunkShape = append(spec.ChunkShape, max(chunk, 1))
		}
		if kind.name != "Caterva" {
			spec.MaxShape = append([]int64{ndarray.Unlimited}, from.shape[1:]...)
		}
		if rapid.Bool().Draw(t, "compressed") {
			codec := "zstd"
			if kind.name == "HDF5" {
				codec = "deflate"
			}
			spec.Compression = &ndarray.Compression{Codec: codec, Level: 3, Filters: []string{"shuffle"}}
		}
	}
	if kind.plain {
		from.attrs = map[string]ndarray.Value{}
	}
	for name, v := range from.attrs {
		spec.Attrs = append(spec.Attrs, ndarray.Attr{Name: name, Value: v})
	}
	o := kind.options
	d, err := hyperslab.Create(t.Context(), m.location, spec, &o)
	require.NoError(t, err, "%s %+v", kind.name, spec)
	defer func() { require.NoError(t, d.Close()) }()
	if len(from.values) > 0 {
		require.NoError(t, ndarray.Write(t.Context(), d.Array, from.values, ndarray.Whole(from.shape)))
	}
	require.NoError(t, d.Commit(t.Context()))
	m.model = from
}

// step draws the common part of a change.
func (m *machine) step(op string) step {
	ways := []string{inPlace, byCopy}
	if m.target.durable {
		ways = append(ways, durably)
	}
	return step{Location: m.location, Typed: m.target.plain && !m.target.fixed, Op: op, Way: rapid.SampledFrom(ways).Draw(m.t, "way")}
}

// change makes a change. One that the format does not support must not change anything.
func (m *machine) change(s step) {
	switch err := s.run(m.t.Context()); {
	case err == nil:
		s.apply(m.model)
	case !errors.Is(err, errors.ErrUnsupported):
		m.t.Fatalf("%s %s of %s: %v", s.Op, s.Way, m.target.name, err)
	}
}

func (m *machine) region() ndarray.Region {
	r := ndarray.Region{}
	for _, n := range m.model.shape {
		from := rapid.Int64Range(0, n).Draw(m.t, "start")
		r.Start = append(r.Start, from)
		r.Shape = append(r.Shape, rapid.Int64Range(0, n-from).Draw(m.t, "count"))
	}
	return r
}

func (m *machine) rows(most int64) []int32 {
	n := rapid.Int64Range(0, most).Draw(m.t, "rows") * m.model.row()
	return rapid.SliceOfN(rapid.Int32Range(-3, 3), int(n), int(n)).Draw(m.t, "values")
}

// attribute draws a set or a removal of an attribute.
func (m *machine) attribute() (s step, ok bool) {
	s = m.step("set")
	s.Name = rapid.SampledFrom([]string{"a", "units", "é"}).Draw(m.t, "name")
	if _, present := m.model.attrs[s.Name]; present && rapid.Bool().Draw(m.t, "unset") {
		s.Op = "unset"
		return s, true
	}
	s.Text = rapid.SampledFrom([]string{"", "", "m", strings.Repeat("x", 5000)}).Draw(m.t, "text")
	s.At, s.N = rapid.Int64Range(-2, 2).Draw(m.t, "number"), rapid.SampledFrom([]int64{1, 1, 2, 1000}).Draw(m.t, "length")
	return s, !m.target.plain
}

// random draws a change of elements or shape.
func (m *machine) random() step {
	s := m.step(rapid.SampledFrom([]string{"write", "append", "append", "resize", "insert", "delete"}).Draw(m.t, "op"))
	switch s.Op {
	case "write":
		s.Region = m.region()
		n := int(s.Region.NumElems())
		s.Values = rapid.SliceOfN(rapid.Int32Range(-3, 3), n, n).Draw(m.t, "values")
	case "append":
		s.Values = m.rows(30)
	case "resize":
		s.N = rapid.Int64Range(0, 60).Draw(m.t, "length")
	case "insert":
		s.At = rapid.Int64Range(0, m.model.shape[0]).Draw(m.t, "at")
		s.Values = m.rows(10)
	case "delete":
		s.At = rapid.Int64Range(0, m.model.shape[0]).Draw(m.t, "at")
		s.N = rapid.Int64Range(0, m.model.shape[0]-s.At).Draw(m.t, "count")
	}
	return s
}

// killed makes a change in a process that is killed. Changes in place are excluded, because they
// can leave a corrupt file.
func (m *machine) killed() {
	s := m.random()
	if s.Way == inPlace {
		s.Way = byCopy
	}
	doc, err := json.Marshal(s)
	require.NoError(m.t, err)
	cmd := testenv.Self("step", string(doc))
	var problem bytes.Buffer
	cmd.Stderr = &problem
	out, err := cmd.StdoutPipe()
	require.NoError(m.t, err)
	require.NoError(m.t, cmd.Start())
	lines := bufio.NewScanner(out)
	lines.Scan() // it begins
	wait := time.AfterFunc(time.Duration(rapid.IntRange(0, 8000).Draw(m.t, "microseconds"))*time.Microsecond, func() { _ = cmd.Process.Kill() })
	done := lines.Scan() && lines.Text() == "done"
	wait.Stop()
	ended := cmd.Wait()
	changed := m.model.clone()
	s.apply(changed)
	switch {
	case done:
		m.model = changed
	case ended != nil && problem.Len() > 0:
		require.Contains(m.t, problem.String(), errors.ErrUnsupported.Error(), "%+v", s)
	default: // it may have been killed before or after the change
		if m.content(m.open(nil)) != "" {
			m.model = changed
		}
	}
}

// open opens the array for reading.
func (m *machine) open(o *hyperslab.OpenOptions) *ndarray.Array {
	if o == nil {
		o = &hyperslab.OpenOptions{}
	}
	if m.target.plain && !m.target.fixed {
		o.DType = new(ndarray.DTypeOf[int32]())
	}
	a, err := hyperslab.Open(m.t.Context(), m.location, o)
	require.NoError(m.t, err, m.location)
	return a
}

// content compares everything with the model and closes the array.
func (m *machine) content(a *ndarray.Array) string {
	defer func() { require.NoError(m.t, a.Close()) }()
	values, err := ndarray.ReadAll[int32](m.t.Context(), a)
	require.NoError(m.t, err)
	list, err := a.Attrs(m.t.Context())
	require.NoError(m.t, err)
	attrs := map[string]ndarray.Value{}
	for _, x := range list.List {
		attrs[x.Name] = x.Value
	}
	return m.model.differs(a.Shape(), values, attrs)
}

// check reads the array in one way and compares it with the model.
func (m *machine) check(way string) {
	t := m.t
	switch way {
	case "whole":
		require.Empty(t, m.content(m.open(nil)))
	case "library":
		require.Empty(t, m.content(m.open(&hyperslab.OpenOptions{Library: true})))
	case "region":
		a, r := m.open(nil), m.region()
		dst := bytes.Repeat([]byte{0xAA}, int(r.NumElems())*4)
		require.NoError(t, errors.Join(a.Read(t.Context(), dst, r), a.Close()))
		require.True(t, bytes.Equal(raw(m.model.read(r)), dst), "region %v", r)
	case "untrusted":
		require.Empty(t, m.content(m.open(&hyperslab.OpenOptions{Untrusted: &hyperslab.Untrusted{InProcess: true}})))
	case "another process":
		require.Empty(t, m.content(m.open(&hyperslab.OpenOptions{Untrusted: &hyperslab.Untrusted{}})))
	case "verify":
		file, _, _ := strings.Cut(m.location, ":")
		report, err := hyperslab.Verify(t.Context(), file, nil)
		require.NoError(t, err)
		require.Empty(t, report.Findings)
	}
}

// TestHistories runs random sequences.
func TestHistories(t *testing.T) {
	ways := []string{"whole", "whole", "region", "region", "untrusted", "library", "verify", "another process"}
	rapid.Check(t, func(rt *rapid.T) {
		m := &machine{t: rt, dir: t.TempDir()}
		defer func() { require.NoError(t, os.RemoveAll(m.dir)) }()
		kind := func() *target { return &targets[rapid.IntRange(0, len(targets)-1).Draw(rt, "kind")] }
		shape := []int64{rapid.Int64Range(0, 40).Draw(rt, "length")}
		if rapid.Bool().Draw(rt, "plane") {
			shape = append(shape, rapid.Int64Range(1, 7).Draw(rt, "width"))
		}
		m.create(kind(), &model{shape: shape, values: make([]int32, shape[0]*(&model{shape: shape}).row()), attrs: map[string]ndarray.Value{}})
		change := func(*rapid.T) {
			if m.target.fixed { // only elements
				s := m.step("write")
				s.Region = m.region()
				n := int(s.Region.NumElems())
				s.Values = rapid.SliceOfN(rapid.Int32Range(-3, 3), n, n).Draw(rt, "values")
				m.change(s)
				return
			}
			m.change(m.random())
		}
		rt.Repeat(map[string]func(*rapid.T){
			"":       func(*rapid.T) { m.check(rapid.SampledFrom(ways).Draw(rt, "read")) },
			"change": change,
			"again":  change,
			"attribute": func(*rapid.T) {
				if s, ok := m.attribute(); ok {
					m.change(s)
				}
			},
			"killed": func(*rapid.T) {
				if !m.target.fixed {
					m.killed()
				}
			},
			"copy": func(*rapid.T) { // also a rewrite with other chunks, and the removal of the old file
				from := filepath.Dir(strings.SplitN(m.location, ":", 2)[0])
				m.create(kind(), m.model)
				require.NoError(rt, os.RemoveAll(from))
			},
		})
	})
}
