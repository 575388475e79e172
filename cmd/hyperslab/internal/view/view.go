// The event loop: keys and results change the state, and the screen is drawn again.

package view

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/gdamore/tcell/v3"

	"github.com/hyperslab/hyperslab/internal/picture"
)

// Options are the options of Run.
type Options struct {
	Title  string // of the file
	Source Source
	Colors bool // draw pictures in colours, unless the terminal has none

	Tty tcell.Tty

	// Escape replaces control characters of a path.
	Escape func(path string) string

	// Raw shows stored elements until the user changes it.
	Raw bool

	// Gradients are the names of the colours of pictures.
	Gradients []string
}

// delay is the time without a key after which the displayed part is read.
const delay = 60 * time.Millisecond

// maxItems is the maximum number of members of a group, and of matches of a search, that are kept.
const maxItems = 1 << 20

// viewer is the state of the viewer. Only the goroutine of Run uses it.
type viewer struct {
	Options
	ctx    context.Context
	jobs   sync.WaitGroup
	posted chan func()
	failed chan any // the value of a panic in a job
	wanted chan job

	tree    *tree
	focus   int // focusTree or focusContent
	mode    Mode
	look    Look
	slice   Slice
	slider  int   // the dimension that [ and ] change
	top     int64 // first row of the table
	left    int64 // first column of the table
	fact    int64 // first line of the information
	columns int   // columns of the table that fit
	size    area  // of the part of the screen for the content
	shown   *Item // whose slice is set

	last    job      // the last request
	content *Content // its result, nil before it arrives
	problem string
	reading bool
	due     time.Time // when the content is requested; zero: not

	prompt  rune // 0, '/' or 'g'
	input   []rune
	message string
	help    bool

	treeRows int // lines of the tree

	pattern    string
	found      []Item // nil: the tree is displayed
	foundAt    int
	foundTop   int
	searching  bool
	searches   int // number of searches, to recognise results of earlier ones
	stopSearch context.CancelFunc

	quit bool
}

const (
	focusTree = iota
	focusContent
)

// Run shows the file until the user leaves or ctx is cancelled.
func Run(ctx context.Context, o Options) error {
	var opts []tcell.TerminfoScreenOption
	switch {
	case !o.Colors:
		opts = append(opts, tcell.OptColors(0))
	case os.Getenv("NO_COLOR") != "": // --color always has priority
		opts = append(opts, tcell.OptColors(256))
	}
	screen, err := tcell.NewTerminfoScreenFromTty(o.Tty, opts...)
	if err != nil {
		return err
	}
	if err := screen.Init(); err != nil {
		return err
	}
	v := &viewer{
		Options: o, posted: make(chan func(), 16), failed: make(chan any, 1), wanted: make(chan job, 1),
		tree: newTree(), look: Look{Colors: o.Gradients[0], Raw: o.Raw},
	}
	inner, cancel := context.WithCancel(ctx)
	v.ctx = inner
	v.start(v.read)
	err = v.loop(screen)
	screen.Fini()
	cancel()
	v.jobs.Wait()
	select {
	case p := <-v.failed:
		panic(p)
	default:
	}
	return err
}

// start runs a job. A panic in it ends the viewer, after the terminal is restored.
func (v *viewer) start(job func()) {
	v.jobs.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				select {
				case v.failed <- p:
				default:
				}
			}
		}()
		job()
	})
}

// post runs f in the goroutine of Run.
func (v *viewer) post(f func()) {
	select {
	case v.posted <- f:
	case <-v.ctx.Done():
	}
}

func (v *viewer) loop(screen tcell.Screen) error {
	v.list(v.tree.root)
	v.tree.root.listed = true
	for !v.quit {
		v.draw(screen)
		screen.Show()
		var timer <-chan time.Time
		if !v.due.IsZero() {
			timer = time.After(time.Until(v.due))
		}
		select {
		case ev, ok := <-screen.EventQ():
			if !ok {
				return nil
			}
			v.event(screen, ev)
		case f := <-v.posted:
			f()
		case <-timer:
			v.ask()
		case p := <-v.failed:
			v.failed <- p
			return nil
		case <-v.ctx.Done():
			return context.Cause(v.ctx)
		}
		for more := true; more && !v.quit; { // draw once for several events
			select {
			case ev, ok := <-screen.EventQ():
				if more = ok; ok {
					v.event(screen, ev)
				}
			case f := <-v.posted:
				f()
			default:
				more = false
			}
		}
	}
	return nil
}

func (v *viewer) event(screen tcell.Screen, ev tcell.Event) {
	switch ev := ev.(type) {
	case *tcell.EventResize:
		screen.Sync()
		v.changed()
	case *tcell.EventKey:
		if ev.Pressed() {
			v.message = ""
			v.key(screen, ev)
		}
	}
}

// list lists the members of a group.
func (v *viewer) list(n *node) {
	n.listing = true
	v.start(func() {
		err := v.Source.List(v.ctx, n.path(), func(items []Item) {
			v.post(func() {
				if len(n.children)+len(items) > maxItems {
					n.err = fmt.Sprintf("only the first %d members are listed", maxItems)
					items = items[:maxItems-len(n.children)]
				}
				n.add(items)
				v.tree.refresh()
				v.follow()
			})
		})
		v.post(func() {
			n.listing = false
			if err != nil && v.ctx.Err() == nil {
				n.err = err.Error()
				v.message = n.err
			}
		})
	})
}

func (n *node) path() string {
	if n.item.Path == "" {
		return "/"
	}
	return n.item.Path
}

// search lists the objects that match the pattern.
func (v *viewer) search(pattern string) {
	v.leaveSearch()
	if pattern == "" {
		return
	}
	ctx, cancel := context.WithCancel(v.ctx)
	v.pattern, v.found, v.foundAt, v.foundTop, v.searching, v.stopSearch = pattern, []Item{}, 0, 0, true, cancel
	v.searches++
	this := v.searches
	v.start(func() {
		defer cancel()
		err := v.Source.Find(ctx, func(items []Item) {
			var kept []Item
			for _, it := range items {
				if matches(&it, pattern) {
					kept = append(kept, it)
				}
			}
			if kept != nil {
				v.post(func() {
					if v.found != nil && v.searches == this {
						v.found = append(v.found, kept[:min(len(kept), maxItems-len(v.found))]...)
						v.follow()
					}
				})
			}
		})
		v.post(func() {
			if v.found != nil && v.searches == this {
				v.searching = false
				if err != nil {
					v.message = err.Error()
				}
			}
		})
	})
}

// leaveSearch displays the tree again.
func (v *viewer) leaveSearch() {
	if v.stopSearch != nil {
		v.stopSearch()
	}
	v.found, v.pattern, v.searching, v.stopSearch = nil, "", false, nil
}

// item returns the item at the cursor, or nil without one.
func (v *viewer) item() *Item {
	if v.found != nil {
		if v.foundAt < len(v.found) {
			return &v.found[v.foundAt]
		}
		return nil
	}
	if n := v.tree.current(); n != nil {
		return &n.item
	}
	return nil
}

// follow displays the item at the cursor.
func (v *viewer) follow() {
	it := v.item()
	if it == nil || v.shown != nil && v.shown.Path == it.Path {
		return
	}
	copied := *it
	v.shown = &copied
	v.slice, v.slider, v.top, v.left, v.fact = newSlice(it.Shape), 0, 0, 0, 0
	v.content, v.problem = nil, ""
	v.changed()
}

// changed requests the displayed part after a short time without another change.
func (v *viewer) changed() {
	if v.shown != nil {
		v.due = time.Now().Add(delay)
	}
}

// displayed returns the mode in which the item is displayed. Only arrays have values, and only
// numbers have pictures.
func (v *viewer) displayed() Mode {
	switch it := v.shown; {
	case it == nil || it.Kind != Array:
		return Info
	case v.mode == Picture && (!it.Plot || len(it.Shape) == 0 || empty(it.Shape)):
		return Values
	}
	return v.mode
}

func empty(shape []int64) bool {
	for _, n := range shape {
		if n == 0 {
			return true
		}
	}
	return false
}

// want returns the request for the displayed part.
func (v *viewer) want() *Request {
	q := &Request{Item: *v.shown, Mode: v.displayed(), Slice: v.slice.clone(), Look: v.look, Top: v.top, Left: v.left}
	width, height := v.size.w, v.size.h
	switch q.Mode {
	case Values:
		q.Rows, q.Columns = height-2, max(width/3, 1)
	case Picture:
		q.Rows, q.Columns = 2*(height-picture.BelowCells-1), width-picture.BesideCells-1 // below the title
	default:
		q.Rows, q.Columns = height, width
	}
	return q
}

// job is a request and its context.
type job struct {
	*Request
	ctx    context.Context
	cancel context.CancelFunc
}

// ask sends a request to the reader. It replaces and cancels the one before.
func (v *viewer) ask() {
	v.due = time.Time{}
	q := v.want()
	if q.Rows < 1 || q.Columns < 1 {
		return
	}
	if v.last.cancel != nil {
		v.last.cancel()
	}
	ctx, cancel := context.WithCancel(v.ctx)
	v.last, v.reading = job{q, ctx, cancel}, true
	select {
	case <-v.wanted:
	default:
	}
	v.wanted <- v.last
}

// read reads the displayed parts, one after the other.
func (v *viewer) read() {
	for {
		select {
		case <-v.ctx.Done():
			return
		case j := <-v.wanted:
			c, err := v.Source.Content(j.ctx, j.Request)
			v.post(func() {
				if v.last.Request != j.Request {
					return
				}
				v.reading, v.content, v.problem = false, c, ""
				if err != nil {
					v.content, v.problem = nil, err.Error()
				}
			})
			j.cancel()
		}
	}
}
