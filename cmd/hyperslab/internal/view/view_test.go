package view

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gdamore/tcell/v3/vt"
	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/picture"
	"github.com/hyperslab/hyperslab/ndarray"
)

// memory is a Source with arrays whose elements are their index.
type memory struct {
	members map[string][]Item
	listed  atomic.Int64 // calls of List
	slow    time.Duration
}

func newMemory() *memory {
	at := func(dir, name string, kind Kind, shape ...int64) Item {
		return Item{Path: path.Join(dir, name), Name: name, Kind: kind, Shape: shape, Label: fmt.Sprint(shape), Plot: true}
	}
	m := &memory{members: map[string][]Item{
		"/":    {at("/", "a", Group), at("/", "cube", Array, 12, 60, 80), at("/", "line", Array, 500), at("/", "scalar", Array)},
		"/a":   {at("/a", "b", Group), at("/a", "bad", Array, 3)},
		"/a/b": {at("/a/b", "deep", Array, 4, 4)},
	}}
	m.members["/"] = append(m.members["/"], Item{Path: "/evil\x1b]0;title\a", Name: "evil\x1b]0;title\a", Kind: Other, Facts: [][2]string{{"note", "\x1b[2J"}}})
	return m
}

func (m *memory) List(_ context.Context, path string, found func([]Item)) error {
	m.listed.Add(1)
	found(m.members[path])
	return nil
}

func (m *memory) Find(ctx context.Context, found func([]Item)) error {
	for _, dir := range []string{"/", "/a", "/a/b"} {
		found(m.members[dir])
	}
	return ctx.Err()
}

func (m *memory) Content(ctx context.Context, q *Request) (*Content, error) {
	select {
	case <-time.After(m.slow):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if q.Item.Name == "bad" {
		return nil, errors.New("the chunk at offset 17 is corrupt")
	}
	c := &Content{}
	switch q.Mode {
	case Info:
		c.Facts = append([][2]string{{"path", q.Item.Path}}, q.Item.Facts...)
	case Picture:
		grid := picture.NewGrid([]int64{2, 2}, 2, 2)
		grid.Add(ndarray.Whole([]int64{2, 2}), []float64{0, 1, 2, 3})
		grid.Finish()
		c.Picture = &picture.Picture{Kind: picture.Heatmap, Colors: q.Look.Colors, Shape: []int64{2, 2}, Axes: make([]picture.Axis, 2), Grid: grid, Low: 0, High: 3}
	default:
		rows, columns := int64(1), int64(1)
		if d := q.Slice.Row; d >= 0 {
			rows = min(int64(q.Rows), q.Item.Shape[d]-q.Top)
		}
		if d := q.Slice.Column; d >= 0 {
			columns = min(int64(q.Columns), q.Item.Shape[d]-q.Left)
		}
		for row := range rows {
			var line []string
			for column := range columns {
				at := append([]int64{}, q.Slice.At...)
				if d := q.Slice.Row; d >= 0 {
					at[d] = q.Top + row
				}
				if d := q.Slice.Column; d >= 0 {
					at[d] = q.Left + column
				}
				line = append(line, strings.ReplaceAll(strings.Trim(fmt.Sprint(at), "[]"), " ", "."))
			}
			c.Cells = append(c.Cells, line)
		}
	}
	return c, nil
}

func (m *memory) Command(q *Request) string {
	return fmt.Sprintf("command %d %s %v %v", q.Mode, q.Item.Path, q.Slice.At, q.Look)
}

// recorder is a terminal that keeps the bytes written to it.
type recorder struct {
	vt.MockTerm
	mu      sync.Mutex
	written strings.Builder
}

func (r *recorder) Write(b []byte) (int, error) {
	r.mu.Lock()
	r.written.Write(b)
	r.mu.Unlock()
	return r.MockTerm.Write(b)
}

// output returns the bytes that were written.
func (r *recorder) output() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.written.String()
}

// session is a viewer on an emulated terminal.
type session struct {
	t    *testing.T
	term *recorder
	w, h int
	done chan error
	over bool
}

func start(t *testing.T, source Source, w, h int) *session {
	t.Setenv("TERM", "xterm-256color")
	t.Setenv("NO_COLOR", "")
	s := &session{t: t, term: &recorder{MockTerm: vt.NewMockTerm(vt.MockOptSize{X: vt.Col(w), Y: vt.Row(h)}, vt.MockOptColors(256))}, w: w, h: h, done: make(chan error, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		s.done <- Run(ctx, Options{Title: "test", Source: source, Colors: true, Tty: s.term, Gradients: []string{"viridis", "gray"}, Escape: printable})
	}()
	t.Cleanup(func() {
		cancel()
		if !s.over {
			<-s.done
		}
	})
	return s
}

// screen returns the displayed text.
func (s *session) screen() string {
	var out strings.Builder
	for y := range s.h {
		for x := range s.w {
			c := s.term.GetCell(vt.Coord{X: vt.Col(x), Y: vt.Row(y)}).C
			if c == "" {
				c = " "
			}
			out.WriteString(c)
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// keys sends bytes as a terminal does.
func (s *session) keys(text string) { s.term.SendRaw([]byte(text)) }

// shows waits until the screen contains all of strs.
func (s *session) shows(strs ...string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		screen := s.screen()
		for _, text := range strs {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	}, 5*time.Second, 5*time.Millisecond, "%q\n%s", strs, printer{s})
}

// printer prints the screen when a test has failed.
type printer struct{ *session }

func (p printer) String() string { return p.screen() }

const (
	up, down, right, left = "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D"
	end, pageDown         = "\x1b[F", "\x1b[6~"
)

func TestRun(t *testing.T) {
	t.Run("tree", func(t *testing.T) {
		m := newMemory()
		s := start(t, m, 80, 24)
		s.shows("▸ a/", "cube", "line", "? keys  q quit", "command 2 /a []")
		require.EqualValues(t, 1, m.listed.Load())
		s.keys(right)
		s.shows("▾ a/", "  ▸ b/", "bad")
		s.keys(down + right)
		s.shows("▾ b/", "deep")
		require.EqualValues(t, 3, m.listed.Load())
		s.keys(left + left + left)
		s.shows("▸ a/")
		s.keys(right + down + down)
		s.shows("the chunk at offset 17 is corrupt")
		require.EqualValues(t, 3, m.listed.Load())
	})
	t.Run("table", func(t *testing.T) {
		s := start(t, newMemory(), 80, 24)
		s.shows("cube")
		s.keys(down)
		s.shows("[0, rows, columns]", "0.0.0", "0.1.1", "command 0 /cube [0 0 0]")
		s.keys("]]")
		s.shows("[2, rows, columns]", "2.1.1")
		s.keys("}")
		s.shows("[3, rows, columns]")
		s.keys("\tg-1,59,79\r")
		s.shows("[11, 59, 79] 11.59.79", "11.58.78")
		s.keys("g99,0,0\r")
		s.shows("index 99 is out of range: dimension 0 has 12 elements")
		s.keys("g5\r")
		s.shows("[11, 5, 79] 11.5.79")
		s.keys("i")
		s.shows("command 2 /cube")
		s.keys("v")
		s.shows("[11, 5, 79] 11.5.79")
		s.keys("t")
		s.shows("[11, columns, rows]", "command 0 /cube [11 5 79]")
		s.keys("x")
		s.shows("[rows, columns, 79]")
		s.keys(end)
		s.shows("[11, 5, 79]")
	})
	t.Run("one dimension", func(t *testing.T) {
		s := start(t, newMemory(), 80, 24)
		s.shows("line")
		s.keys(down + down + right)
		s.shows("command 0 /line [0]")
		s.keys(pageDown + down)
		s.shows("[17] 17")
		s.keys(end)
		s.shows("[499] 499", "498")
		s.keys(left + down)
		s.shows("scalar", "command 0 /scalar []")
	})
	t.Run("picture", func(t *testing.T) {
		s := start(t, newMemory(), 80, 24)
		s.shows("cube")
		s.keys(down + "p")
		s.shows("▀▀▀▀", "command 1 /cube")
		require.Contains(t, s.term.output(), "\x1b[38")
		s.keys("cL%")
		s.shows("{gray true true false}")
	})
	t.Run("search", func(t *testing.T) {
		s := start(t, newMemory(), 80, 24)
		s.shows("cube")
		s.keys("/DEE\r")
		s.shows("1 objects match", "/a/b/deep", "0.0", "Esc leaves")
		s.keys("\x1b")
		s.shows("▸ a/", "cube")
		s.keys("/a/b\r")
		s.shows("3 objects match")
	})
	t.Run("help", func(t *testing.T) {
		s := start(t, newMemory(), 80, 24)
		s.shows("cube")
		s.keys("?")
		s.shows("exchange rows and columns", "q Ctrl-C")
		s.keys("?")
		s.shows("cube")
	})
	t.Run("narrow terminal", func(t *testing.T) {
		s := start(t, newMemory(), 40, 12)
		s.shows("cube")
		s.keys(down + "\t")
		s.shows("/cube", "0.1.1")
	})
	t.Run("quit", func(t *testing.T) {
		s := start(t, newMemory(), 80, 24)
		s.shows("cube")
		s.keys("q")
		require.NoError(t, <-s.done)
		s.over = true
	})
}

// TestRun_control checks that control characters of names and values do not reach the terminal.
func TestRun_control(t *testing.T) {
	s := start(t, newMemory(), 80, 24)
	s.shows("cube")
	s.keys(end)
	s.shows("evil", "note  \uFFFD[2J")
	require.NotContains(t, s.term.output(), "\x1b]0;title")
	require.NotContains(t, s.term.output(), "\a")
	require.NotContains(t, s.term.GetTitle(), "title")
}

// TestRun_noColor checks that the viewer writes no colours without Options.Colors.
func TestRun_noColor(t *testing.T) {
	t.Setenv("TERM", "xterm-256color")
	term := &recorder{MockTerm: vt.NewMockTerm(vt.MockOptSize{X: 80, Y: 24})}
	s := &session{t: t, term: term, w: 80, h: 24, done: make(chan error, 1)}
	go func() {
		s.done <- Run(t.Context(), Options{Source: newMemory(), Tty: term, Gradients: []string{"gray"}, Escape: printable})
	}()
	s.shows("cube")
	s.keys(down + "p")
	s.shows("███", "░")
	s.keys("q")
	require.NoError(t, <-s.done)
	require.NotRegexp(t, `\x1b\[[0-9;]*[34]8[;:]`, term.output())
}

// TestRun_cancel checks that a slow read is cancelled by another key and by the end.
func TestRun_cancel(t *testing.T) {
	m := newMemory()
	m.slow = time.Hour
	s := start(t, m, 80, 24)
	s.shows("reading…")
	s.keys(down)
	s.shows("command 0 /cube", "reading…")
	s.keys("q")
	require.NoError(t, <-s.done)
	s.over = true
}

// TestRun_manyObjects moves through a group of 100,000 arrays.
func TestRun_manyObjects(t *testing.T) {
	m := newMemory()
	items := make([]Item, 100_000)
	for i := range items {
		name := fmt.Sprintf("d%06d", i)
		items[i] = Item{Path: "/" + name, Name: name, Kind: Array, Shape: []int64{3}}
	}
	m.members["/"] = items
	s := start(t, m, 80, 24)
	s.shows("d000000")
	s.keys(end)
	s.shows("d099999", "command 0 /d099999")
	s.keys("/d0512\r")
	s.shows("100 objects match", "/d051200")
}
