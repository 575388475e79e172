// The HTML of pages. Package html of golang.org/x/net escapes every text and every attribute.
// Package html/template is not used, because it calls methods by name: the linker then keeps all
// exported methods of all types, and the command becomes a tenth larger.

package serve

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"github.com/hyperslab/hyperslab/internal/picture"
)

//go:embed page.css
var pageStyle string

// attributes are names and values in turn.
type attributes []string

// element returns an element with the parts of its content that are not nil.
func element(name string, a attributes, content ...*html.Node) *html.Node {
	n := &html.Node{Type: html.ElementNode, Data: name}
	for pair := range slices.Chunk(a, 2) {
		n.Attr = append(n.Attr, html.Attribute{Key: pair[0], Val: pair[1]})
	}
	for _, c := range content {
		if c != nil {
			n.AppendChild(c)
		}
	}
	return n
}

func text(s string) *html.Node { return &html.Node{Type: html.TextNode, Data: s} }

// each returns the node of each item.
func each[T any](items []T, node func(T) *html.Node) []*html.Node {
	nodes := make([]*html.Node, len(items))
	for i, item := range items {
		nodes[i] = node(item)
	}
	return nodes
}

// cells returns an element for each text.
func cells(name string, texts []string) []*html.Node {
	return each(texts, func(s string) *html.Node { return element(name, nil, text(s)) })
}

// lines puts each node on a line of its own, where a browser may break the line too.
func lines(nodes []*html.Node) []*html.Node {
	broken := make([]*html.Node, 0, 2*len(nodes))
	for _, n := range nodes {
		broken = append(broken, n, text("\n"))
	}
	return broken
}

func anchor(c crumb) *html.Node { return element("a", attributes{"href", c.Link}, text(c.Text)) }

// section returns a heading with a table; nil without rows.
func section(heading string, columns []string, rows []*html.Node) []*html.Node {
	if len(rows) == 0 {
		return nil
	}
	head := element("tr", nil, cells("th", columns)...)
	return []*html.Node{element("h2", nil, text(heading)), element("table", nil, append([]*html.Node{head}, rows...)...)}
}

// render writes the page as HTML.
func (p *page) render(w io.Writer) error {
	doc := &html.Node{Type: html.DocumentNode}
	doc.AppendChild(&html.Node{Type: html.DoctypeNode, Data: "html"})
	doc.AppendChild(element("html", attributes{"lang", "en"},
		element("head", nil,
			element("meta", attributes{"charset", "utf-8"}),
			element("meta", attributes{"name", "viewport", "content", "width=device-width, initial-scale=1"}),
			element("title", nil, text(p.Title)),
			element("style", nil, text(pageStyle))),
		element("body", nil, lines(p.body())...)))
	return html.Render(w, doc)
}

func (p *page) body() []*html.Node {
	nav := element("nav", nil)
	for i, c := range p.Crumbs {
		if i > 0 {
			nav.AppendChild(text(" / "))
		}
		nav.AppendChild(anchor(c))
	}
	if p.Viewer != "" {
		nav.AppendChild(element("a", attributes{"class", "viewer", "href", p.Viewer}, text("open in h5web")))
	}
	body := []*html.Node{nav, element("h1", nil, text(p.Title))}
	if p.Error != "" {
		body = append(body, element("p", attributes{"class", "error"}, text(p.Error)))
	}
	if len(p.Files) > 0 {
		body = append(body, element("ul", nil, each(p.Files, func(c crumb) *html.Node { return element("li", nil, anchor(c)) })...))
	}
	if len(p.Facts) > 0 {
		body = append(body, element("table", nil, each(p.Facts, func(f [2]string) *html.Node {
			return element("tr", nil, element("th", nil, text(f[0])), element("td", nil, text(f[1])))
		})...))
	}
	if p.Values != nil {
		body = append(body, p.Values.markup()...)
	}
	body = append(body, section("Members", []string{"name", "kind", "shape", "type"}, each(p.Members, func(m memberRow) *html.Node {
		name := text(m.Name)
		if m.Link != "" {
			name = anchor(crumb{m.Name, m.Link})
		}
		return element("tr", nil, append([]*html.Node{element("td", nil, name)}, cells("td", []string{m.Kind, m.Shape, m.Type})...)...)
	}))...)
	if p.More > 0 {
		body = append(body, element("p", nil, text("The list is longer: the routes /meta and /paths return all of it.")))
	}
	return append(body, section("Attributes", []string{"name", "type", "value"}, each(p.Attrs, func(a [3]string) *html.Node {
		return element("tr", nil, cells("td", a[:])...)
	}))...)
}

func (p *valuesPart) markup() []*html.Node {
	body := []*html.Node{element("h2", nil, text("Values")), p.form()}
	for _, w := range p.Warnings {
		body = append(body, element("p", attributes{"class", "warning"}, text(w)))
	}
	if p.Applied != "" {
		body = append(body, element("p", nil, text("Values: "+p.Applied)))
	}
	if p.Picture != "" {
		body = append(body, element("p", nil, element("img", attributes{
			"src", p.Picture, "width", "900", "height", "600", "alt", "picture of the selection " + p.Selection})))
	}
	if p.Command != "" {
		body = append(body, element("p", nil, element("code", nil, text(p.Command))))
	}
	links := attributes{"class", "links"}
	body = append(body, element("p", links, lines(each(p.Pages, anchor))...))
	return append(body,
		element("div", attributes{"class", "scroll"}, p.rows()),
		element("p", links, append([]*html.Node{text("Download [" + p.Selection + "]: ")}, lines(each(p.Downloads, anchor))...)...))
}

// rows returns the table of elements, with coordinates above and beside them.
func (p *valuesPart) rows() *html.Node {
	table := element("table", attributes{"class", "numbers"})
	corner := []string{""}
	if p.Beside != nil {
		corner = append(corner, p.nameAt(max(len(p.Axes)-2, 0)))
	}
	for _, heads := range [][]string{p.Heads, p.Over} {
		if len(heads) > 0 {
			table.AppendChild(element("tr", nil, cells("th", append(corner, heads...))...))
		}
		if len(heads) > 0 && p.Beside != nil {
			corner = []string{"", ""}
		}
	}
	for _, r := range p.Rows {
		table.AppendChild(element("tr", nil, cells("td", r)...))
	}
	return table
}

// form returns the fields that select the elements and the look of the picture.
func (p *valuesPart) form() *html.Node {
	decimal := func(n int64) string { return strconv.FormatInt(n, 10) }
	hidden := func(name, value string) *html.Node {
		return element("input", attributes{"type", "hidden", "name", name, "value", value})
	}
	number := func(name string, value int64, limits ...string) *html.Node {
		return element("input", append(attributes{"type", "number", "name", name, "value", decimal(value)}, limits...))
	}
	checkbox := func(name, label string, checked bool) *html.Node {
		a := attributes{"type", "checkbox", "name", name, "value", "true"}
		if checked {
			a = append(a, "checked", "")
		}
		return element("label", nil, element("input", a), text(" "+label))
	}
	step := func(link, title, arrow string) *html.Node {
		if link == "" {
			return nil
		}
		return element("a", attributes{"href", link, "title", title}, text(arrow))
	}

	fields := []*html.Node{hidden("file", p.File), hidden("path", p.Path)}
	for _, f := range p.Fixed {
		fields = append(fields, element("label", nil,
			text(p.label(f)+" "),
			step(f.Before, "previous index", "◀"),
			number(fmt.Sprint("at", f.Number), f.At, "min", "0", "max", decimal(f.Last)),
			text(fmt.Sprintf(" of %d ", f.Last)),
			step(f.Behind, "next index", "▶")))
	}
	fields = append(fields,
		element("label", nil, text("row "), number("row", p.Row, "min", "0")),
		element("label", nil, text("colours "), choice("colors", cmp.Or(p.Colors, picture.GradientNames[0]), picture.GradientNames)),
		checkbox("log", "logarithmic", p.Log),
		element("label", nil, text("percentiles "), element("input",
			attributes{"type", "text", "name", "clip", "size", "6", "value", p.Clips, "placeholder", "0,100"})))
	fields = append(fields, checkbox("raw", "stored values", p.Raw))
	if strings.Contains(p.Selection, ",") { // at least two dimensions
		fields = append(fields,
			element("label", nil, text("column "), number("column", p.Column, "min", "0")),
			checkbox("transpose", "transposed", p.Transpose))
	}
	if p.CanLines {
		fields = append(fields, checkbox("lines", "rows as lines", p.Kind == picture.Line))
	}
	if p.Complex {
		fields = append(fields, element("label", nil, text("part "), choice("part", cmp.Or(p.Part, picture.Amplitude), picture.Parts)))
	}
	if p.Through >= 0 {
		fields = append(fields, element("label", nil,
			text("pictures through "+p.nameAt(p.Through)+" "),
			number("panels", int64(p.Panels), "min", "1", "max", strconv.Itoa(picture.MaxPanels))))
	}
	fields = append(fields, element("button", nil, text("Show")))
	return element("form", attributes{"action", "view", "method", "get"}, lines(fields)...)
}

// choice returns a list of names, one of which is selected.
func choice(parameter, selected string, names []string) *html.Node {
	return element("select", attributes{"name", parameter}, each(names, func(name string) *html.Node {
		var a attributes
		if name == selected {
			a = attributes{"selected", ""}
		}
		return element("option", a, text(name))
	})...)
}

// label describes a dimension and its selected coordinate.
func (p *valuesPart) label(f axisField) string {
	if f.Number < len(p.Axes) && p.Axes[f.Number].At != "" {
		return p.nameAt(f.Number) + " = " + p.Axes[f.Number].At
	}
	return p.nameAt(f.Number)
}

// nameAt returns the name of a dimension of the array.
func (p *valuesPart) nameAt(k int) string {
	if k < len(p.Axes) && p.Axes[k].Name != "" {
		return p.Axes[k].Name
	}
	return fmt.Sprintf("dimension %d", k)
}
