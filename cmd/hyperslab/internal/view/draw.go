// The layout of the screen: a title, the tree at the left, the content at the right, the command
// line of the content, and a line for input and messages.

package view

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gdamore/tcell/v3"
)

// narrow is the width below which only the tree or only the content is displayed.
const narrow = 56

// maxCell is the maximum number of characters of an element in a table.
const maxCell = 24

var (
	plain   = tcell.StyleDefault
	bold    = tcell.StyleDefault.Bold(true)
	faint   = tcell.StyleDefault.Dim(true)
	reverse = tcell.StyleDefault.Reverse(true)
	marked  = tcell.StyleDefault.Underline(true).Bold(true) // the cursor of the part without the focus
)

func (v *viewer) draw(s tcell.Screen) {
	s.Clear()
	s.HideCursor()
	w, h := s.Size()
	whole := area{s, 0, 0, w, h}
	if w < 20 || h < 6 {
		whole.text(0, "the terminal is too small", plain)
		return
	}
	title := whole.row(0)
	title.fill(reverse)
	right := " ? keys  q quit "
	title.w = w - len(right)
	title.text(1, "hyperslab view "+v.Title, reverse)
	area{s, w - len(right), 0, len(right), 1}.text(0, right, reverse)

	body := area{s, 0, 1, w, h - 3}
	left, content := body, body
	if w >= narrow {
		left.w = min(max(w/3, 24), 44)
		content.x, content.w = left.w+1, w-left.w-1
		for i := range body.h {
			area{s, left.w, body.y + i, 1, 1}.text(0, "│", faint)
		}
	}
	v.treeRows = left.h
	v.size = content.from(2)
	if w >= narrow || v.focus == focusTree {
		v.drawTree(left)
	}
	if w >= narrow || v.focus == focusContent {
		v.drawContent(content)
	}
	if v.shown != nil {
		q := v.want()
		if q.Mode == Values && v.columns > 0 {
			q.Columns = v.columns
		}
		whole.row(h-2).text(0, "$ "+v.Source.Command(q), faint)
	}
	v.drawLast(whole.row(h - 1))
	if v.help {
		v.drawHelp(body)
	}
}

// drawLast draws the line for input and messages.
func (v *viewer) drawLast(a area) {
	switch {
	case v.prompt != 0:
		label := map[rune]string{'/': "search: ", 'g': "index: "}[v.prompt]
		x := a.text(0, label, bold)
		x = a.text(x, string(v.input), plain)
		a.s.ShowCursor(a.x+x, a.y)
	case v.message != "":
		a.text(0, v.message, bold)
	case v.found != nil:
		state := "Esc leaves"
		if v.searching {
			state = "searching…"
		}
		a.text(0, fmt.Sprintf("%d objects match %q; %s", len(v.found), v.pattern, state), plain)
	case v.reading:
		a.text(0, "reading…", plain)
	case v.content != nil && len(v.content.Warnings) > 0:
		a.text(0, v.content.Warnings[0], bold)
	default:
		a.text(0, "↑↓ move  → open  Tab content  v values  p picture  i information  / search", faint)
	}
}

// window returns the first row of a list of n rows so that the cursor is visible.
func window(top, cursor, n, rows int) int {
	top = min(max(top, cursor-rows+1), cursor)
	return max(min(top, n-rows), 0)
}

func (v *viewer) drawTree(a area) {
	style := func(cursor bool) tcell.Style {
		switch {
		case cursor && v.focus == focusTree:
			return reverse
		case cursor:
			return marked
		}
		return plain
	}
	if v.found != nil {
		v.foundTop = window(v.foundTop, v.foundAt, len(v.found), a.h)
		for i := range min(a.h, len(v.found)-v.foundTop) {
			it := &v.found[v.foundTop+i]
			v.drawItem(a.row(i), 0, v.Escape(it.Path), it, style(v.foundTop+i == v.foundAt))
		}
		return
	}
	t := v.tree
	t.top = window(t.top, t.cursor, len(t.rows), a.h)
	if len(t.rows) == 0 {
		switch {
		case t.root.listing:
			a.text(0, "listing…", faint)
		case t.root.err == "":
			a.text(0, "no objects", faint)
		}
	}
	for i := range min(a.h, len(t.rows)-t.top) {
		n := t.rows[t.top+i]
		name := "  " + n.item.Name
		if n.item.Kind == Group {
			name = "▸ " + n.item.Name + "/"
			if n.open {
				name = "▾ " + n.item.Name + "/"
			}
		}
		if n.open && n.listing {
			name += " listing…"
		} else if n.open && n.err != "" {
			name += " (" + n.err + ")"
		}
		v.drawItem(a.row(i), min(2*n.depth, a.w/2), name, &n.item, style(t.top+i == t.cursor))
	}
}

// drawItem draws a row of the tree. The label is at the right if it fits.
func (v *viewer) drawItem(a area, indent int, name string, it *Item, style tcell.Style) {
	a.fill(style)
	end := a.text(indent, name, style)
	label := shorten(it.Label, a.w)
	if n := len([]rune(label)); end+2+n <= a.w {
		a.text(a.w-n, label, style.Dim(true))
	}
}

func (v *viewer) drawContent(a area) {
	if v.shown == nil {
		return
	}
	end := a.row(0).text(0, v.Escape(v.shown.Path), bold)
	a.row(0).text(end+2, v.shown.Label, plain)
	x := 0
	for m, name := range []string{Values: "values", Picture: "picture", Info: "information"} {
		style := faint
		if Mode(m) == v.displayed() {
			style = plain.Underline(true)
		}
		x = a.row(1).text(x, name, style) + 2
	}
	if v.displayed() != Info {
		a.row(1).text(x, v.sliceText(), plain)
	}
	below := a.from(2)
	switch {
	case v.problem != "":
		lines(below, v.problem)
	case v.content == nil:
		below.text(0, "reading…", faint)
	case v.content.Picture != nil && v.displayed() == Picture:
		v.drawPicture(below)
	case v.displayed() == Info:
		v.drawFacts(below)
	case v.content.Cells != nil:
		v.drawTable(below)
	default:
		below.text(0, "no elements", faint)
	}
}

// sliceText describes the displayed plane, for example "[3, rows, columns]".
func (v *viewer) sliceText() string {
	if len(v.slice.At) == 0 {
		return ""
	}
	parts := make([]string, len(v.slice.At))
	for i, at := range v.slice.At {
		switch i {
		case v.slice.Row:
			parts[i] = "rows"
		case v.slice.Column:
			parts[i] = "columns"
		default:
			parts[i] = strconv.FormatInt(at, 10)
			if i == v.slider && len(v.fixed()) > 1 {
				parts[i] = "▸" + parts[i]
			}
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// lines draws a text of several lines, wrapped.
func lines(a area, text string) {
	y := 0
	for line := range strings.Lines(text) {
		runes := []rune(strings.TrimSuffix(line, "\n"))
		for len(runes) > 0 && y < a.h {
			n := min(len(runes), a.w)
			a.row(y).text(0, string(runes[:n]), plain)
			runes = runes[n:]
			y++
		}
	}
}

func (v *viewer) drawFacts(a area) {
	width := 0
	for _, f := range v.content.Facts {
		width = max(width, min(len([]rune(f[0])), a.w/3))
	}
	top := int(min(v.fact, int64(max(len(v.content.Facts)-1, 0))))
	for i, f := range v.content.Facts[top:] {
		if i >= a.h {
			break
		}
		key := a.row(i)
		key.w = min(width, key.w)
		key.text(0, shorten(f[0], width), bold)
		a.row(i).text(width+2, f[1], plain)
	}
}

func (v *viewer) drawPicture(a area) {
	p := v.content.Picture
	a.row(0).text(0, p.Heading(), bold)
	a.from(1).cells(p.Cells(v.last.Columns, v.last.Rows, v.Colors && a.s.Colors() > 0))
}

// drawTable draws the elements from v.last.Top and v.last.Left on, and the element at the cursor in
// the last line.
func (v *viewer) drawTable(a area) {
	q, cells := v.last, v.content.Cells
	row, column := q.Slice.Row, q.Slice.Column
	if row < 0 {
		lines(a, cells[0][0])
		return
	}
	indexes := len(strconv.FormatInt(q.Top+int64(len(cells)), 10))
	x := indexes + 1
	v.columns = 0
	full := ""
	for c := range cells[0] {
		head := ""
		if column >= 0 {
			head = strconv.FormatInt(q.Left+int64(c), 10)
		}
		width := len(head)
		for _, r := range cells {
			width = max(width, min(len([]rune(r[c])), maxCell))
		}
		if x+width > a.w && c > 0 {
			break
		}
		a.row(0).text(x+width-len(head), head, faint)
		for i, r := range cells {
			if i+3 > a.h {
				break
			}
			at := q.Top+int64(i) == v.slice.At[row] && (column < 0 || q.Left+int64(c) == v.slice.At[column])
			style := plain
			if at {
				full = r[c]
				if style = marked; v.focus == focusContent {
					style = reverse
				}
			}
			text := shorten(r[c], maxCell)
			area{a.s, a.x + x, a.y + 1 + i, min(width, a.w-x), 1}.text(width-len([]rune(text)), text, style)
		}
		x += width + 2
		v.columns++
	}
	for i := range cells {
		if i+3 <= a.h {
			s := strconv.FormatInt(q.Top+int64(i), 10)
			a.row(i+1).text(indexes-len(s), s, faint)
		}
	}
	if column >= 0 && q.Left == v.left && v.slice.At[column] >= v.left+int64(v.columns) && v.left < v.slice.At[column] {
		v.scroll() // wide values: the column of the cursor is outside
	}
	if last := a.row(a.h - 1); full != "" && a.h > 2 {
		last.fill(plain)
		index := make([]string, len(v.slice.At))
		for i, n := range v.slice.At {
			index[i] = strconv.FormatInt(n, 10)
		}
		end := last.text(0, "["+strings.Join(index, ", ")+"]", bold)
		last.text(end+1, full, plain)
	}
}

func (v *viewer) drawHelp(a area) {
	a.fill(plain)
	a.row(0).text(1, "Keys", bold)
	for i, k := range keysHelp {
		a.from(1).row(i).text(1, k[0], bold)
		a.from(1).row(i).text(18, k[1], plain)
	}
}

// shorten truncates a text to most characters.
func shorten(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most || most < 1 {
		return s
	}
	return string(runes[:most-1]) + "…"
}
