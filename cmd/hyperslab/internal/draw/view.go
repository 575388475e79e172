// hyperslab view: show a file on the terminal.

package draw

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gdamore/tcell/v3"
	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/inspect"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/view"
	"github.com/hyperslab/hyperslab/internal/elements/encode"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/shellword"
	"github.com/hyperslab/hyperslab/internal/picture"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/cf"
)

// viewJob is one run of view.
type viewJob struct {
	*shell.App

	raw bool
}

func newView(a *shell.App) *cobra.Command {
	j := &viewJob{App: a}
	cmd := &cobra.Command{
		Use:   "view FILE[:/path]",
		Short: "Show a file on the terminal: tree, attributes, tables and pictures",
		Long: `view shows a file on the terminal: the tree of its objects at the left, and at the right
the values, a picture or the attributes of the object at the cursor. The line below is
the command that prints the same part.

Arrow keys move, Tab changes between tree and content, / searches names, g goes to an
index, and ? lists all keys. The slice of an array with more than two dimensions moves
with [ and ]. Groups are listed when they are opened.

Values are those of the CF conventions, as with dump --unpack, and pictures are those of
plot; r and --raw show the stored elements. Pictures are half blocks in colour, and
shades if the terminal has no colours or with NO_COLOR or --color never. A plane with
more than 16 million elements is drawn from every n-th element along each dimension.` + shell.AddressHelp + shell.TwoArguments,
		Example: `  hyperslab view etopo.h5
  hyperslab view tree.h5:/run1
  hyperslab view --untrusted download.h5`,
		Args:              shell.Arity(1, 2),
		ValidArgsFunction: shell.CompleteAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			return j.run(cmd.Context(), shell.Address(args))
		},
	}
	shell.RawFlag(cmd, &j.raw, "show")
	(&shell.FilesFlags{}).Add(a, cmd)
	(&shell.UntrustedFlags{}).Add(a, cmd)
	shell.AddDType(a, cmd)
	return cmd
}

func (j *viewJob) run(ctx context.Context, address string) (err error) {
	loc, err := locate.Parse(address)
	if err != nil {
		return err
	}
	if !term.IsTerminal(j.Stdout) {
		return shell.Usagef("view needs a terminal; ls, dump and plot write the same to files and pipes")
	}
	base := "/" + strings.Trim(loc.Object, "/")
	tree, err := j.OpenTree(ctx, locate.Location{File: loc.File}.String())
	if err != nil {
		return err
	}
	s := &viewSource{a: j.App, file: loc.File, base: base, tree: tree}
	defer func() { err = errors.Join(err, s.close()) }()
	e, err := s.entry(ctx, base) // before the screen is cleared
	if err != nil {
		return err
	}
	format := string(tree.Format)
	if base == "/" { // Caterva is a format of arrays only
		format = cmp.Or(e.Meta.Format, format)
	}
	tty, err := tcell.NewDevTty()
	if err != nil {
		return fmt.Errorf("opening the terminal: %w", err)
	}
	var later lockedBuffer // diagnostics would disturb the screen
	stderr := j.Stderr
	j.Stderr = &later
	defer func() {
		j.Stderr = stderr
		_, failed := later.WriteTo(stderr)
		err = errors.Join(err, failed)
	}()
	colors := bool(j.Data)
	return view.Run(ctx, view.Options{
		Title: fmt.Sprintf("%s (%s)", term.Safe(address), format), Source: s, Colors: colors, Tty: tty, Raw: j.raw,
		Gradients: picture.GradientNames, Escape: term.Safe,
	})
}

// lockedBuffer is a buffer for diagnostics of several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// WriteTo implements io.WriterTo.
func (l *lockedBuffer) WriteTo(w io.Writer) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.WriteTo(w)
}

// Limits of the viewer.
const (
	viewBytes    = 16 << 20 // of the elements of a table
	viewElements = 16 << 20 // of a picture
	viewElement  = 64 << 10 // bytes of an element that is displayed
	viewClip     = 1        // percentiles that are clipped at each end
	viewText     = 1 << 10  // characters of a displayed value
	viewBatch    = 500      // objects of a batch
	viewPause    = 50 * time.Millisecond
)

// viewSource is the file for package view.
type viewSource struct {
	a          *shell.App
	file, base string
	tree       *hyperslab.Tree
	walks      sync.Mutex // an untrusted tree supports one walk at a time
	unpacked   sync.Map   // by path: whether attributes change the values of the table

	open struct { // the array that was displayed last
		path string
		arr  *ndarray.Array
	}
}

func (s *viewSource) close() error {
	var err error
	if s.open.arr != nil {
		err = s.open.arr.Close()
	}
	return errors.Join(err, s.tree.Close())
}

func (s *viewSource) address(path string) string {
	if path == "/" {
		return locate.Location{File: s.file}.String()
	}
	return locate.Location{File: s.file, Object: path}.String()
}

// walk calls f for the object at a path and the objects below it. If flat is set, it skips the
// objects below members.
func (s *viewSource) walk(ctx context.Context, path string, flat bool, f func(hyperslab.Entry) error) error {
	entries := s.a.Walk(ctx, s.address(path),
		hyperslab.WalkOptions{NoSizes: true, Prune: func(e hyperslab.Entry) bool { return flat && e.Path != path }})
	if s.a.Untrusted() { // the tree has checked the file once
		s.walks.Lock()
		defer s.walks.Unlock()
		above := func(e hyperslab.Entry) bool { return e.Path == "/" || strings.HasPrefix(path+"/", e.Path+"/") }
		inside := func(e hyperslab.Entry) bool { return path == "/" || strings.HasPrefix(e.Path+"/", path+"/") }
		entries = func(yield func(hyperslab.Entry, error) bool) {
			prune := func(e hyperslab.Entry) bool { return !above(e) && (flat || !inside(e)) }
			for e, err := range s.tree.Walk(ctx, &hyperslab.WalkOptions{NoSizes: true, Prune: prune}) {
				if (err != nil || inside(e)) && !yield(e, err) {
					return
				}
			}
		}
	}
	for e, err := range entries {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = f(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// errFound ends a walk.
var errFound = errors.New("found")

// entry returns the object at a path.
func (s *viewSource) entry(ctx context.Context, path string) (found hyperslab.Entry, err error) {
	err = s.walk(ctx, path, true, func(e hyperslab.Entry) error {
		found = e
		return errFound
	})
	if errors.Is(err, errFound) {
		return found, nil
	}
	return found, cmp.Or(err, error(ndarray.Wrap("open", s.address(path), ndarray.ErrNotFound)))
}

// List implements view.Source.
func (s *viewSource) List(ctx context.Context, path string, found func([]view.Item)) error {
	if path == "/" {
		path = s.base
	}
	return s.batches(ctx, path, true, found)
}

// Find implements view.Source.
func (s *viewSource) Find(ctx context.Context, found func([]view.Item)) error {
	return s.batches(ctx, s.base, false, found)
}

// batches calls found with the objects below a path, some at a time. The object at the path is
// among them if it is no group.
func (s *viewSource) batches(ctx context.Context, base string, flat bool, found func([]view.Item)) error {
	var items []view.Item
	last := time.Now()
	err := s.walk(ctx, base, flat, func(e hyperslab.Entry) error {
		if e.Path == base && e.Kind == hyperslab.Group {
			if e.Err != nil && !inspect.Unsupported(e) {
				return e.Err
			}
			return nil
		}
		items = append(items, newViewItem(e, base))
		if len(items) >= viewBatch || time.Since(last) > viewPause {
			found(items)
			items, last = nil, time.Now()
		}
		return nil
	})
	if items != nil {
		found(items)
	}
	return safeError(err)
}

// safeError returns an error whose text has no control characters.
func safeError(err error) error {
	if err == nil {
		return nil
	}
	return &shownError{err}
}

type shownError struct{ error }

func (e *shownError) Error() string {
	return term.SafeLines(strings.TrimPrefix(e.error.Error(), "ndarray: "))
}
func (e *shownError) Unwrap() error { return e.error }

// newViewItem describes an object of the group at base.
func newViewItem(e hyperslab.Entry, base string) view.Item {
	it := view.Item{Path: e.Path, Name: term.Safe(strings.TrimPrefix(strings.TrimPrefix(e.Path, base), "/"))}
	switch {
	case e.Path == base:
		it.Name = term.Safe(path.Base(e.Path))
	case e.Kind == hyperslab.Group:
		it.Kind = view.Group
	}
	switch e.Kind {
	case hyperslab.Group:
	case hyperslab.Array:
		it.Label = inspect.ArrayLabel(e)
		if e.Err == nil && !e.Meta.Null {
			it.Kind, it.Shape, it.Plot, it.Image = view.Array, e.Meta.Shape, picture.Drawable(e.Meta.DType), picture.IsImage(e.Meta)
		} else if e.Err == nil {
			it.Facts = append(it.Facts, [2]string{"shape", "null"})
		}
	case hyperslab.Link:
		it.Label = "→ " + term.Safe(cmp.Or(e.Target, "?"))
		it.Facts = append(it.Facts, [2]string{"link", e.LinkKind}, [2]string{"target", term.Safe(e.Target)})
	case hyperslab.Type:
		it.Label = "type"
		it.Facts = append(it.Facts, [2]string{"type", term.Safe(e.Type)})
	default:
		it.Label = string(e.Kind)
	}
	if e.Err != nil {
		it.Facts = append(it.Facts, [2]string{"problem", term.Safe(e.Err.Error())})
	}
	return it
}

// Content implements view.Source.
func (s *viewSource) Content(ctx context.Context, q *view.Request) (*view.Content, error) {
	c, err := s.content(ctx, q)
	return c, safeError(err)
}

func (s *viewSource) content(ctx context.Context, q *view.Request) (*view.Content, error) {
	if q.Item.Kind != view.Array {
		return s.other(ctx, q)
	}
	arr, err := s.array(ctx, q.Item.Path)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(arr.Shape(), q.Item.Shape) {
		return nil, fmt.Errorf("%w: %s has the shape %v, and had %v when it was listed", ndarray.ErrShape, q.Item.Path, arr.Shape(),
			q.Item.Shape)
	}
	switch q.Mode {
	case view.Values:
		return s.table(ctx, arr, q)
	case view.Picture:
		return s.viewPicture(ctx, arr, q)
	}
	f, err := inspect.NewFacts(ctx, s.address(q.Item.Path), arr)
	if err == nil {
		err = f.Broken
	}
	if err != nil {
		return nil, err
	}
	return &view.Content{Facts: append(pairs(f.Table()), pairs(inspect.AttrsTable(f.Attrs))...)}, nil
}

// other describes a group, or an object that is no array.
func (s *viewSource) other(ctx context.Context, q *view.Request) (*view.Content, error) {
	c := &view.Content{Facts: [][2]string{{"path", term.Safe(q.Item.Path)}}}
	if q.Item.Kind != view.Group {
		c.Facts = append(c.Facts, q.Item.Facts...)
		return c, nil
	}
	attrs, err := s.tree.GroupAttrs(ctx, q.Item.Path)
	if err != nil {
		return nil, err
	}
	c.Facts = append(c.Facts, [2]string{"attributes", fmt.Sprint(len(attrs.List) + len(attrs.Unsupported))})
	c.Facts = append(c.Facts, pairs(inspect.AttrsTable(attrs))...)
	return c, nil
}

// pairs returns the rows of a table with two or three columns.
func pairs(t *term.Table) (out [][2]string) {
	for _, row := range t.Rows {
		cells := row.Cells(nil)
		out = append(out, [2]string{cells[0], strings.Join(cells[1:], "  ")})
	}
	return out
}

// array returns the array at a path. It stays open until another one is displayed.
func (s *viewSource) array(ctx context.Context, path string) (*ndarray.Array, error) {
	if s.open.arr != nil && s.open.path == path {
		return s.open.arr, nil
	}
	if s.open.arr != nil {
		err := s.open.arr.Close()
		s.open.arr = nil
		if err != nil {
			return nil, err
		}
	}
	arr, err := s.tree.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	s.open.path, s.open.arr = path, arr
	return arr, nil
}

// table reads the elements of a table.
func (s *viewSource) table(ctx context.Context, arr *ndarray.Array, q *view.Request) (_ *view.Content, err error) {
	v, err := cf.New(ctx, arr, s.tree, q.Item.Path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	c := &view.Content{}
	if !q.Look.Raw {
		for _, w := range v.Warnings() {
			c.Warnings = append(c.Warnings, term.Safe(w.Error()))
		}
	}
	c.Cells, err = s.viewCells(ctx, v, q)
	return c, err
}

// viewCells reads the elements of a table, by row: dates, unpacked numbers, or stored elements.
func (s *viewSource) viewCells(ctx context.Context, v *cf.Variable, q *view.Request) (_ [][]string, err error) {
	values, err := s.values(v, q)
	if err != nil {
		return nil, err
	}
	if values != v.Array {
		defer func() { err = errors.Join(err, values.Close()) }()
	}
	m := values.Meta()
	if m.NumElems() == 0 {
		return nil, nil
	}
	size := int64(max(m.DType.Size, 1))
	if size > viewBytes {
		return nil, fmt.Errorf("%w: an element of %d bytes, the limit is %d", hyperslab.ErrLimit, size, viewBytes)
	}
	r, rows, columns := tableRegion(q, m.Shape, size)
	e := &encode.Batch{Dtype: m.DType, JSON: m.Format == detect.Objects, N: int(rows * columns)}
	if err := e.Read(ctx, values, encode.Formatted(values), r); err != nil {
		return nil, err
	}
	out := make([][]string, rows)
	for i := range out {
		out[i] = make([]string, columns)
		for k := range out[i] {
			at := i*int(columns) + k
			if q.Slice.Column >= 0 && q.Slice.Column < q.Slice.Row {
				at = k*int(rows) + i
			}
			if e.Strings == nil && size > viewElement {
				out[i][k] = term.Plural(size, "byte")
			} else {
				out[i][k] = shell.Shorten(term.Safe(e.Text(at)), viewText)
			}
		}
	}
	return out, nil
}

// values returns the array of the values of a table: v.Array with stored elements.
func (s *viewSource) values(v *cf.Variable, q *view.Request) (*ndarray.Array, error) {
	o := &cf.ValueOptions{Dates: true}
	applied := !q.Look.Raw && v.Describe(o) != ""
	s.unpacked.Store(q.Item.Path, applied)
	if !applied {
		return v.Array, nil
	}
	values, err := v.Values(o)
	if errors.Is(err, errors.ErrUnsupported) { // no dates, for a reason that is a warning
		values, err = v.Values(nil)
	}
	return values, err
}

// tableRegion returns the displayed elements of a table.
func tableRegion(q *view.Request, shape []int64, size int64) (r ndarray.Region, rows, columns int64) {
	r = ndarray.Region{Start: slices.Clone(q.Slice.At), Shape: slices.Repeat([]int64{1}, len(q.Slice.At))}
	rows, columns = 1, 1
	if row := q.Slice.Row; row >= 0 {
		rows = min(int64(q.Rows), shape[row]-q.Top)
		if column := q.Slice.Column; column >= 0 {
			columns = max(min(int64(q.Columns), shape[column]-q.Left, viewBytes/size), 1)
			r.Start[column], r.Shape[column] = q.Left, columns
		}
		rows = max(min(rows, viewBytes/size/columns), 1)
		r.Start[row], r.Shape[row] = q.Top, rows
	}
	return r, rows, columns
}

// viewPicture draws the displayed plane, or every n-th element of a large one.
func (s *viewSource) viewPicture(ctx context.Context, arr *ndarray.Array, q *view.Request) (_ *view.Content, err error) {
	where := pictureOf(q)
	selection, err := ndarray.ParseSelection(where)
	if err != nil {
		return nil, err
	}
	part, err := shell.Selected(arr, selection, s.tree, s.file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, part.Array.Close()) }()
	in, err := s.a.Drawn(ctx, part, s.address(q.Item.Path)+where)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	c := &view.Content{}
	o := &picture.Options{Look: lookOf(q), Warn: func(path string, problem error) {
		c.Warnings = append(c.Warnings, term.Safe(path+": "+problem.Error()))
	}}
	c.Picture, err = picture.Draw(ctx, in, o)
	return c, err
}

// lookOf returns the look of the picture of a request.
func lookOf(q *view.Request) picture.Look {
	l := picture.Look{Colors: q.Look.Colors, Log: q.Look.Log, Raw: q.Look.Raw, Transpose: q.Slice.Column >= 0 && q.Slice.Column < q.Slice.Row}
	if q.Look.Clip {
		l.Clip = picture.Clip{Low: viewClip, High: 100 - viewClip}
	}
	return l
}

// pictureOf returns the selection of the picture of a request. An image has its channels.
func pictureOf(q *view.Request) string {
	rank := len(q.Item.Shape)
	parts := make([]string, rank)
	shown := []int{q.Slice.Row, q.Slice.Column}
	if q.Item.Image && min(q.Slice.Row, q.Slice.Column) == rank-2 {
		shown = []int{rank - 3, rank - 2, rank - 1}
	}
	shape := []int64{}
	for i, n := range q.Item.Shape {
		parts[i] = fmt.Sprint(q.Slice.At[i])
		if slices.Contains(shown, i) && (rank-1 != i || len(shown) < 3) {
			shape = append(shape, n)
		}
	}
	all := ":"
	if step := picture.Step(shape, viewElements); step > 1 {
		all = fmt.Sprint("::", step)
	}
	for i := range parts {
		if slices.Contains(shown, i) {
			if parts[i] = all; len(shown) == 3 && i == rank-1 {
				parts[i] = ":"
			}
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// Command implements view.Source.
func (s *viewSource) Command(q *view.Request) string {
	where, line := s.address(q.Item.Path), ""
	switch {
	case q.Item.Kind == view.Group:
		line = "hyperslab ls " + shellword.Quote(where)
	case q.Item.Kind == view.Array && q.Mode == view.Values:
		line = "hyperslab dump " + shellword.Quote(where+tableOf(q))
		if applied, known := s.unpacked.Load(q.Item.Path); known && applied.(bool) && !q.Look.Raw {
			line += " --unpack"
		}
	case q.Item.Kind == view.Array && q.Mode == view.Picture:
		l := lookOf(q)
		line = picture.Command(where, pictureOf(q), &l)
	default:
		line = "hyperslab info " + shellword.Quote(where)
	}
	if s.a.Untrusted() {
		line += " --untrusted"
	}
	return line
}

// tableOf returns the selection of the table of a request.
func tableOf(q *view.Request) string {
	if len(q.Slice.At) == 0 {
		return ""
	}
	parts := make([]string, len(q.Slice.At))
	for i, at := range q.Slice.At {
		switch i {
		case q.Slice.Row:
			parts[i] = fmt.Sprintf("%d:%d", q.Top, min(q.Top+int64(q.Rows), q.Item.Shape[i]))
		case q.Slice.Column:
			parts[i] = fmt.Sprintf("%d:%d", q.Left, min(q.Left+int64(q.Columns), q.Item.Shape[i]))
		default:
			parts[i] = fmt.Sprint(at)
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
