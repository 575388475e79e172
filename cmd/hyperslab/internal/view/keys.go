// Keys.

package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gdamore/tcell/v3"
)

// keysHelp lists the keys. It fits 80x24.
var keysHelp = [][2]string{
	{"↑ ↓ PgUp PgDn", "move in the tree or in the table"},
	{"Home End", "go to the first or the last row"},
	{"→ Enter", "open a group, or move to the content"},
	{"←", "close a group, or move back to the tree"},
	{"Tab", "move between tree and content"},
	{"v p i", "values, picture, information with attributes"},
	{"g", "go to an index, for example 3, 0, -1"},
	{"d", "select the next dimension of the slice"},
	{"[ ] { }", "change its index by 1, or by a tenth of the dimension"},
	{"x", "display the selected dimension instead of the rows"},
	{"t", "exchange rows and columns"},
	{"c L %", "next colours, logarithms, range between percentiles 1 and 99"},
	{"r", "stored elements, or values by the CF conventions"},
	{"/", "search names, or paths if the text has a slash"},
	{"Esc", "leave the search or this help"},
	{"q Ctrl-C", "quit"},
}

// key changes the state after a key.
func (v *viewer) key(screen tcell.Screen, ev *tcell.EventKey) {
	switch {
	case ev.Key() == tcell.KeyCtrlC:
		v.quit = true
	case ev.Key() == tcell.KeyCtrlL:
		screen.Sync()
	case v.prompt != 0:
		v.promptKey(ev)
	case v.help:
		v.help = false
	case ev.Key() == tcell.KeyRune:
		v.letter(ev.Str())
	default:
		v.arrow(ev.Key())
	}
}

// letter handles a printable key.
func (v *viewer) letter(s string) {
	switch s {
	case "q":
		v.quit = true
	case "?":
		v.help = true
	case "v", "p", "i":
		v.mode = map[string]Mode{"v": Values, "p": Picture, "i": Info}[s]
		v.content = nil
		if v.shown != nil && v.mode != Info && v.displayed() != v.mode {
			v.message = "this object has no " + map[Mode]string{Values: "values", Picture: "picture"}[v.mode]
		}
		v.changed()
	case "/":
		v.prompt, v.input = '/', nil
	case "g":
		if v.isArray() && len(v.slice.At) > 0 {
			v.prompt, v.input = 'g', nil
		}
	case "d":
		if fixed := v.fixed(); len(fixed) > 0 {
			v.slider = fixed[(slices.Index(fixed, v.slider)+1)%len(fixed)]
		}
	case "[", "]", "{", "}":
		v.slide(s)
	case "x":
		if v.isArray() && slices.Contains(v.fixed(), v.slider) {
			v.slice.Row, v.slider = v.slider, v.slice.Row
			v.reset()
		}
	case "t":
		if v.isArray() && v.slice.Column >= 0 {
			v.slice.Row, v.slice.Column = v.slice.Column, v.slice.Row
			v.reset()
		}
	case "j":
		v.arrow(tcell.KeyDown)
	case "k":
		v.arrow(tcell.KeyUp)
	case "h":
		v.arrow(tcell.KeyLeft)
	case "l":
		v.arrow(tcell.KeyRight)
	default:
		v.lookKey(s)
	}
}

// lookKey handles a key that changes how values are drawn.
func (v *viewer) lookKey(s string) {
	switch s {
	case "c":
		i := slices.Index(v.Gradients, v.look.Colors)
		v.look.Colors = v.Gradients[(i+1)%len(v.Gradients)]
		v.changed()
	case "L":
		v.look.Log = !v.look.Log
		v.changed()
	case "%":
		v.look.Clip = !v.look.Clip
		v.changed()
	case "r":
		v.look.Raw = !v.look.Raw
		v.changed()
	}
}

func (v *viewer) isArray() bool {
	return v.shown != nil && v.shown.Kind == Array && !empty(v.shown.Shape)
}

// reset displays the plane from the cursor on, after other dimensions were chosen.
func (v *viewer) reset() {
	v.content = nil
	v.scroll()
	v.changed()
}

// fixed returns the dimensions that are not displayed.
func (v *viewer) fixed() (out []int) {
	for i := range v.slice.At {
		if i != v.slice.Row && i != v.slice.Column {
			out = append(out, i)
		}
	}
	return out
}

// slide changes the index of the selected dimension.
func (v *viewer) slide(key string) {
	fixed := v.fixed()
	if !v.isArray() || len(fixed) == 0 {
		return
	}
	if !slices.Contains(fixed, v.slider) {
		v.slider = fixed[0]
	}
	n := v.shown.Shape[v.slider]
	by := map[string]int64{"[": -1, "]": 1, "{": -max(n/10, 1), "}": max(n/10, 1)}[key]
	v.slice.At[v.slider] = min(max(v.slice.At[v.slider]+by, 0), n-1)
	v.changed()
}

// arrow handles a key that moves.
func (v *viewer) arrow(k tcell.Key) {
	switch k {
	case tcell.KeyTab, tcell.KeyBacktab:
		v.focus = focusContent - v.focus
	case tcell.KeyEscape:
		if v.found != nil {
			v.leaveSearch()
			v.follow()
		} else {
			v.focus = focusTree
		}
	default:
		if v.focus == focusTree {
			v.treeKey(k)
		} else {
			v.contentKey(k)
		}
	}
}

// moved returns the row after a key that moves by rows.
func moved(k tcell.Key, at, n, page int64) int64 {
	switch k {
	case tcell.KeyUp:
		at--
	case tcell.KeyDown:
		at++
	case tcell.KeyPgUp:
		at -= page
	case tcell.KeyPgDn:
		at += page
	case tcell.KeyHome:
		at = 0
	case tcell.KeyEnd:
		at = n - 1
	}
	return max(min(at, n-1), 0)
}

func (v *viewer) treeKey(k tcell.Key) {
	page := int64(max(v.treeRows-1, 1))
	if v.found != nil {
		v.foundAt = int(moved(k, int64(v.foundAt), int64(len(v.found)), page))
		if k == tcell.KeyEnter || k == tcell.KeyRight {
			v.focus = focusContent
		}
		v.follow()
		return
	}
	n := v.tree.current()
	if n == nil {
		return
	}
	switch k {
	case tcell.KeyEnter, tcell.KeyRight:
		switch {
		case n.item.Kind != Group:
			v.focus = focusContent
		case !n.open:
			v.open(n)
		case k == tcell.KeyEnter:
			n.open = false
		case len(n.children) > 0:
			v.tree.cursor++
		}
		v.tree.refresh()
	case tcell.KeyLeft:
		if n.open {
			n.open = false
		} else if n.parent != v.tree.root {
			v.tree.cursor = slices.Index(v.tree.rows, n.parent)
		}
		v.tree.refresh()
	default:
		v.tree.cursor = int(moved(k, int64(v.tree.cursor), int64(len(v.tree.rows)), page))
	}
	v.follow()
}

// open displays the members of a group.
func (v *viewer) open(n *node) {
	n.open = true
	if !n.listed {
		n.listed = true
		v.list(n)
	}
}

func (v *viewer) contentKey(k tcell.Key) {
	if v.displayed() != Values || !v.isArray() || v.slice.Row < 0 {
		switch k {
		case tcell.KeyLeft:
			v.focus = focusTree
		case tcell.KeyUp, tcell.KeyDown, tcell.KeyPgUp, tcell.KeyPgDn, tcell.KeyHome, tcell.KeyEnd:
			if v.displayed() == Info && v.content != nil {
				v.fact = moved(k, v.fact, int64(len(v.content.Facts)), int64(max(v.size.h-1, 1)))
			}
		}
		return
	}
	at, shape := v.slice.At, v.shown.Shape
	row, column := v.slice.Row, v.slice.Column
	switch k {
	case tcell.KeyRight:
		if column >= 0 {
			at[column] = min(at[column]+1, shape[column]-1)
		}
	case tcell.KeyLeft:
		if column < 0 || at[column] == 0 {
			v.focus = focusTree
			return
		}
		at[column]--
	default:
		at[row] = moved(k, at[row], shape[row], int64(max(v.size.h-3, 1)))
	}
	v.scroll()
}

// scroll moves the window of the table so that it contains the cursor.
func (v *viewer) scroll() {
	if v.slice.Row < 0 {
		return
	}
	top, left := v.top, v.left
	rows := int64(max(v.size.h-2, 1))
	v.top = min(max(v.top, v.slice.At[v.slice.Row]-rows+1), v.slice.At[v.slice.Row])
	if c := v.slice.Column; c >= 0 {
		v.left = min(max(v.left, v.slice.At[c]-int64(max(v.columns, 1))+1), v.slice.At[c])
	} else {
		v.left = 0
	}
	if v.top != top || v.left != left {
		v.changed()
	}
}

// promptKey handles a key in the line for input.
func (v *viewer) promptKey(ev *tcell.EventKey) {
	switch ev.Key() {
	case tcell.KeyEscape:
		v.prompt = 0
	case tcell.KeyBackspace, tcell.KeyBackspace2:
		if len(v.input) == 0 {
			v.prompt = 0
		} else {
			v.input = v.input[:len(v.input)-1]
		}
	case tcell.KeyEnter:
		text := string(v.input)
		if v.prompt == '/' {
			v.focus = focusTree
			v.search(text)
		} else if err := v.goTo(text); err != nil {
			v.message = err.Error()
		}
		v.prompt = 0
	case tcell.KeyRune:
		if len(v.input) < 200 {
			v.input = append(v.input, []rune(printable(ev.Str()))...)
		}
	}
}

// goTo moves the cursor to an index such as "3, 0, -1". Dimensions from the left that are missing
// keep their index if the text has fewer numbers: one number is the row.
func (v *viewer) goTo(text string) error {
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '[' || r == ']' })
	shape := v.shown.Shape
	dims := make([]int, 0, len(shape))
	switch {
	case len(parts) == len(shape):
		for i := range shape {
			dims = append(dims, i)
		}
	case len(parts) == 1:
		dims = append(dims, v.slice.Row)
	case len(parts) == 2 && v.slice.Column >= 0:
		dims = append(dims, v.slice.Row, v.slice.Column)
	default:
		return fmt.Errorf("index %s has %d numbers, want %d", text, len(parts), len(shape))
	}
	at := slices.Clone(v.slice.At)
	for i, d := range dims {
		n, err := strconv.ParseInt(parts[i], 10, 64)
		if err != nil {
			return fmt.Errorf("index %s: %q is not an integer", text, parts[i])
		}
		if n < -shape[d] || n >= shape[d] {
			return fmt.Errorf("index %d is out of range: dimension %d has %d elements", n, d, shape[d])
		}
		if at[d] = n; n < 0 {
			at[d] += shape[d]
		}
	}
	v.slice.At = at
	v.scroll()
	v.changed()
	return nil
}
