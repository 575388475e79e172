// The pages for browsers: lists of files, objects with their attributes, values with paging, and
// pictures. They need no JavaScript and show the same responses that programs get.

package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/location/shellword"
	"github.com/hyperslab/hyperslab/internal/picture"
)

// pagePolicy is the Content-Security-Policy of pages: pictures of this server, no scripts.
const pagePolicy = "default-src " + forbidden + "; img-src 'self'; style-src 'unsafe-inline'; form-action 'self'; base-uri " + forbidden + "; frame-ancestors " + forbidden

// Limits of a page.
const (
	pageRows    = 50
	pageColumns = 16
	pageMembers = 500 // files or members of a group
	pageText    = 200 // characters of a value
	pageReply   = 32 << 20
)

// crumb is a link with a text.
type crumb struct{ Text, Link string }

// page is the content of a page.
type page struct {
	Title  string
	Crumbs []crumb
	Viewer string // address of the same object in h5web, "" without it
	Error  string

	Files []crumb // of a directory
	More  int     // members that are not shown

	Facts   [][2]string // name and value
	Attrs   [][3]string // name, type, value
	Members []memberRow

	Values *valuesPart
}

type memberRow struct{ Name, Link, Kind, Shape, Type string }

// valuesPart is the part of a page with elements.
type valuesPart struct {
	tableDoc
	picture.Look

	File, Path string
	Clips      string      // the percentiles of the look, as in the address
	Fixed      []axisField // the dimensions before the last two
	Row        int64
	Column     int64
	Pages      []crumb
	Picture    string // address, "" without a picture
	Command    string // that draws the picture or prints the table, "" for a remote file
	CanLines   bool   // there are few rows
	Through    int    // the dimension of small pictures, -1 without one
	Downloads  []crumb
	Selection  string
}

type axisField struct {
	Number         int
	At, Last       int64
	Before, Behind string // addresses, "" at the ends
}

// metaDoc is the part of a response of /meta that pages need.
type metaDoc struct {
	Name       string
	Kind       string
	Shape      []int64
	Chunks     []int64
	Blocks     []int64
	Filters    []filterDoc
	Type       *typeDoc
	Attributes []attrDoc
	Children   []metaDoc
	TargetPath string `json:"target_path"`
	TargetFile string `json:"target_file"`
}

// html writes a page.
func (h *Handler) html(w http.ResponseWriter, status int, p *page) {
	var out bytes.Buffer
	if err := p.render(&out); err != nil {
		h.problem(w, err)
		return
	}
	header := w.Header()
	header.Set("Content-Security-Policy", pagePolicy)
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "private, no-cache")
	header.Set("Content-Length", strconv.Itoa(out.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes())
}

// failedPage shows an error as a page.
func (h *Handler) failedPage(w http.ResponseWriter, err error) {
	p := problemOf(err)
	h.html(w, p.Status, &page{Title: "Error", Crumbs: []crumb{{"files", "./"}}, Error: p.Message})
}

// listFiles shows the files of a directory below the served one.
func (h *Handler) listFiles(w http.ResponseWriter, r *http.Request) {
	dir := path.Clean(strings.Trim(r.URL.Query().Get("dir"), "/"))
	p := &page{Title: "Files", Crumbs: []crumb{{"files", "./"}}}
	if dir == "." {
		for _, name := range slices.Sorted(maps.Keys(h.files.remote)) {
			p.Files = append(p.Files, crumb{name, address("view", "file", name)})
		}
	}
	if only := h.options.File; only != "" || h.files.root == nil {
		if only != "" {
			p.Files = append(p.Files, crumb{only, address("view", "file", only)})
		}
		h.html(w, http.StatusOK, p)
		return
	}
	if !fs.ValidPath(dir) || strings.ContainsRune(dir, 0) {
		h.failedPage(w, notFound(dir))
		return
	}
	f, err := h.files.root.Open(dir)
	if err != nil {
		h.failedPage(w, openError(dir, err))
		return
	}
	entries, err := f.ReadDir(pageMembers + 1)
	if err = errors.Join(err, f.Close()); err != nil && len(entries) == 0 && !isEnd(err) {
		h.failedPage(w, openError(dir, err))
		return
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	if dir != "." {
		p.Title = dir
		at := ""
		for part := range strings.SplitSeq(dir, "/") {
			at = path.Join(at, part)
			p.Crumbs = append(p.Crumbs, crumb{part, address("./", "dir", at)})
		}
		p.Files = append(p.Files, crumb{"Open this directory as a tree of arrays", address("view", "file", dir)})
	}
	if len(entries) > pageMembers {
		entries, p.More = entries[:pageMembers], 1
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir() && path.Ext(name) == "":
			p.Files = append(p.Files, crumb{e.Name() + "/", address("./", "dir", name)})
		default:
			p.Files = append(p.Files, crumb{e.Name(), address("view", "file", name)})
		}
	}
	h.html(w, http.StatusOK, p)
}

func isEnd(err error) bool { return strings.HasSuffix(err.Error(), "EOF") }

// address returns a relative address with parameters.
func address(to string, parameters ...string) string {
	v := url.Values{}
	for i := 0; i < len(parameters); i += 2 {
		v.Set(parameters[i], parameters[i+1])
	}
	return to + "?" + v.Encode()
}

// pageLimit returns the maximum number of bytes that a page or a frame reads.
func (h *Handler) pageLimit() int64 { return min(h.options.MaxBytes, pageReply) }

// ask returns the response to a request for a page, with a limit that fits a page.
func (h *Handler) ask(ctx context.Context, name string, q *request) (response, error) {
	q.Limit = h.pageLimit()
	sig, keep, err := h.files.look(ctx, name)
	if err != nil {
		return response{}, err
	}
	x, held, err := h.fetch(ctx, name, sig, keep, q.tag(name, sig), q)
	if err == nil {
		held.release() // a page is much smaller than the response
	}
	return x, err
}

// askJSON decodes the response to a request.
func (h *Handler) askJSON(ctx context.Context, name string, q *request, to any) error {
	x, err := h.ask(ctx, name, q)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(x.Body))
	d.UseNumber()
	return d.Decode(to)
}

// view shows an object of a file.
func (h *Handler) view(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), h.options.Timeout)
	defer cancel()
	p, err := h.viewPage(ctx, r.URL.Query())
	if err != nil {
		h.failedPage(w, err)
		return
	}
	h.html(w, http.StatusOK, p)
}

func (h *Handler) viewPage(ctx context.Context, v url.Values) (*page, error) {
	name, err := fileName(v.Get("file"))
	if err != nil {
		return nil, err
	}
	at := clean(v.Get("path"))
	var m metaDoc
	if err := h.askJSON(ctx, name, &request{Route: routeMeta, Path: at, Format: "json", Resolve: resolveValid}, &m); err != nil {
		return nil, err
	}
	p := &page{Title: name + ":" + at, Crumbs: []crumb{{"files", "./"}}}
	if h.viewer != nil {
		p.Viewer = address("h5web/", "file", name, "path", at)
	}
	if dir := path.Dir(name); dir != "." {
		p.Crumbs = append(p.Crumbs, crumb{dir, address("./", "dir", dir)})
	}
	p.Crumbs = append(p.Crumbs, crumb{path.Base(name), address("view", "file", name)})
	below := ""
	for part := range strings.SplitSeq(strings.Trim(at, "/"), "/") {
		if part != "" {
			below += "/" + part
			p.Crumbs = append(p.Crumbs, crumb{part, address("view", "file", name, "path", below)})
		}
	}
	p.Facts = facts(&m)
	values := map[string]json.RawMessage{}
	if len(m.Attributes) > 0 {
		if err := h.askJSON(ctx, name, &request{Route: routeAttr, Path: at, Format: "json"}, &values); err != nil {
			p.Error = problemOf(err).Message
		}
	}
	for _, a := range m.Attributes {
		p.Attrs = append(p.Attrs, [3]string{a.Name, typeText(&a.Type) + shapeText(a.Shape), cell(values[a.Name])})
	}
	for i, c := range m.Children {
		if i == pageMembers {
			p.More = len(m.Children) - i
			break
		}
		row := memberRow{Name: c.Name, Kind: strings.ReplaceAll(c.Kind, "_", " ")}
		switch c.Kind {
		case "dataset":
			row.Shape, row.Type = shapeText(c.Shape), typeText(c.Type)
			row.Link = address("view", "file", name, "path", path.Join(at, c.Name))
		case "group", "datatype":
			row.Link = address("view", "file", name, "path", path.Join(at, c.Name))
		case "soft_link", "external_link":
			row.Type = "→ " + strings.TrimPrefix(c.TargetFile+":"+c.TargetPath, ":")
		}
		p.Members = append(p.Members, row)
	}
	if m.Kind == "dataset" && m.Shape != nil {
		if p.Values, err = h.values(ctx, name, at, &m, v); err != nil {
			p.Error = problemOf(err).Message
		}
	}
	return p, nil
}

// facts lists the metadata of an object.
func facts(m *metaDoc) [][2]string {
	out := [][2]string{{"kind", strings.ReplaceAll(m.Kind, "_", " ")}}
	if m.Type != nil {
		out = append(out, [2]string{"type", typeText(m.Type)})
	}
	if m.Kind == "dataset" {
		out = append(out, [2]string{"shape", cmp.Or(shapeText(m.Shape), "null")})
		if m.Chunks != nil {
			out = append(out, [2]string{"chunks", shapeText(m.Chunks)})
		}
		for _, f := range m.Filters {
			out = append(out, [2]string{"filter", fmt.Sprintf("%d %s", f.ID, f.Name)})
		}
	}
	if m.Kind == "group" {
		out = append(out, [2]string{"members", strconv.Itoa(len(m.Children))})
	}
	return out
}

func shapeText(shape []int64) string {
	if shape == nil {
		return ""
	}
	parts := make([]string, len(shape))
	for i, n := range shape {
		parts[i] = strconv.FormatInt(n, 10)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// typeText describes an element type in a few words.
func typeText(t *typeDoc) string {
	switch {
	case t == nil:
		return ""
	case t.Class == classString:
		return "string"
	case t.Class == classReference:
		return "reference"
	case t.Class == classSequence && t.Base != nil:
		return "sequence of " + typeText(t.Base)
	case t.Class == classEnum:
		return "enumeration " + fmt.Sprint(t.DType)
	case t.Class == classArray && t.Base != nil:
		return typeText(t.Base) + shapeText(t.Dims)
	case t.Class == classCompound:
		if s, ok := t.DType.(string); ok {
			return s
		}
		return "compound"
	}
	return fmt.Sprint(t.DType)
}

// cell shortens the JSON of a value for a table. A string has no quotes, and escapes instead of
// control characters.
func cell(raw json.RawMessage) string {
	s := string(raw)
	var text string
	if json.Unmarshal(raw, &text) == nil && len(s) > 0 && s[0] == '"' {
		s = text
		if strings.ContainsFunc(s, unicode.IsControl) {
			s = strings.Trim(strconv.Quote(s), `"`)
		}
	}
	return shorten(s)
}

// shorten truncates a text to pageText characters.
func shorten(s string) string {
	if runes := []rune(s); len(runes) > pageText {
		return string(runes[:pageText]) + "…"
	}
	return s
}

// whole parses a parameter from 0 to limit; others become the nearest of them.
func whole(s string, limit int64) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return min(max(n, 0), max(limit, 0))
}

// kept are the parameters of a page that the links to other parts of the array have too.
var kept = append([]string{"row", "column"}, lookParameters...)

// values returns a page of elements.
func (h *Handler) values(ctx context.Context, name, at string, m *metaDoc, v url.Values) (*valuesPart, error) {
	p := &valuesPart{File: name, Path: at, Clips: v.Get("clip"), Through: -1}
	var err error
	if p.Look, err = lookOf(v); err != nil {
		return nil, err
	}
	rank := len(m.Shape)
	fixed := max(rank-2, 0)
	p.CanLines = rank > 1 && m.Shape[rank-2] <= picture.MaxSeries
	link := func(parameter string, n int64) string {
		x := url.Values{"file": {name}, "path": {at}}
		for k := range v {
			if slices.Contains(kept, k) || strings.HasPrefix(k, "at") {
				x[k] = v[k]
			}
		}
		x.Set(parameter, strconv.FormatInt(n, 10))
		return "view?" + x.Encode()
	}
	parts := make([]string, 0, rank)
	for i := range fixed {
		f := axisField{Number: i, Last: m.Shape[i] - 1, At: whole(v.Get(fmt.Sprint("at", i)), m.Shape[i]-1)}
		if f.At > 0 {
			f.Before = link(fmt.Sprint("at", i), f.At-1)
		}
		if f.At < f.Last {
			f.Behind = link(fmt.Sprint("at", i), f.At+1)
		}
		p.Fixed = append(p.Fixed, f)
		parts = append(parts, strconv.FormatInt(f.At, 10))
	}
	p.Selection = strings.Join(append(slices.Clone(parts), slices.Repeat([]string{":"}, rank-fixed)...), ",")
	downloads(p)
	if n, ok := grid.Product(m.Shape); !ok || n == 0 && rank > 0 {
		return p, nil
	}
	rows, columns := int64(1), int64(1)
	if rank > 0 {
		rows = m.Shape[fixed]
		p.Row = whole(v.Get("row"), rows-1) / pageRows * pageRows
		parts = append(parts, fmt.Sprintf("%d:%d", p.Row, min(p.Row+pageRows, rows)))
	}
	if rank > 1 {
		columns = m.Shape[fixed+1]
		p.Column = whole(v.Get("column"), columns-1) / pageColumns * pageColumns
		parts = append(parts, fmt.Sprintf("%d:%d", p.Column, min(p.Column+pageColumns, columns)))
	}
	if err := p.table(ctx, h, m, strings.Join(parts, ",")); err != nil {
		return nil, err
	}
	p.turns(link, rows, columns)
	p.setCommand(m.Shape, parts, rank > 0 && rows*columns > 1)
	if h.files.remote[name] != nil { // the command needs the URL, which may have secrets
		p.Command = ""
	}
	return p, nil
}

// setCommand sets the picture, if there are elements for one, and the command that draws it or that
// prints the table of a selection.
func (p *valuesPart) setCommand(shape []int64, parts []string, several bool) {
	location := p.File + ":" + p.Path
	if p.Alone {
		location = p.File
	}
	if p.Plot && several {
		p.setPicture(location, shape)
		return
	}
	if len(parts) > 0 {
		location += "[" + strings.Join(parts, ", ") + "]"
	}
	if p.Command = "hyperslab dump " + shellword.Quote(location); p.Applied != "" {
		p.Command += " --unpack"
	}
}

// turns sets the links to other parts of the table.
func (p *valuesPart) turns(link func(parameter string, n int64) string, rows, columns int64) {
	turn := func(text, parameter string, from, step, length int64) {
		if from >= 0 && from < length && grid.DivUp(length, step) > 1 {
			p.Pages = append(p.Pages, crumb{text, link(parameter, from)})
		}
	}
	turn("first rows", "row", min(0, p.Row-1), pageRows, rows)
	turn("previous rows", "row", p.Row-pageRows, pageRows, rows)
	turn("next rows", "row", p.Row+pageRows, pageRows, rows)
	turn("last rows", "row", (rows-1)/pageRows*pageRows, pageRows, rows)
	turn("previous columns", "column", p.Column-pageColumns, pageColumns, columns)
	turn("next columns", "column", p.Column+pageColumns, pageColumns, columns)
}

// setPicture sets the address of the picture and the command that draws it. Large planes are drawn
// from every n-th element.
func (p *valuesPart) setPicture(location string, shape []int64) {
	rank := len(shape)
	from := max(rank-2, 0) // the first dimension of the picture
	if p.Image && rank > 2 {
		from = rank - 3
	}
	look := p.Look
	if look.Kind == picture.Line && !p.CanLines && rank > 1 {
		look.Kind = ""
	}
	if rank == 1 || look.Kind == picture.Line {
		look.Transpose = false
	}
	p.Through = from - 1
	panels := int64(1)
	if p.Through >= 0 && look.Panels > 1 {
		panels = min(int64(look.Panels), shape[p.Through])
	} else {
		look.Panels = 0
	}
	drawn := shape[from:]
	if p.Image && rank > 2 {
		drawn = drawn[:2]
		panels *= shape[rank-1]
	}
	parts := make([]string, rank)
	for i := range parts {
		switch step := picture.Step(drawn, pictureElements/panels); {
		case i < from && (i != p.Through || look.Panels < 2):
			parts[i] = strconv.FormatInt(p.Fixed[i].At, 10)
		case step > 1 && i >= from && i < from+len(drawn):
			parts[i] = fmt.Sprint("::", step)
		default:
			parts[i] = ":"
		}
	}
	p.Command = picture.Command(location, "["+strings.Join(parts, ", ")+"]", &look)
	parameters := []string{"file", p.File, "path", p.Path, "selection", strings.Join(parts, ",")}
	for _, x := range []struct {
		name, value string
		is          bool
	}{
		{"kind", look.Kind, look.Kind != ""}, {"colors", look.Colors, look.Colors != ""}, {"clip", p.Clips, p.Clips != ""},
		{"part", look.Part, look.Part != ""}, {"panels", strconv.Itoa(look.Panels), look.Panels > 1},
		{"log", "true", look.Log}, {"raw", "true", look.Raw}, {"transpose", "true", look.Transpose},
	} {
		if x.is {
			parameters = append(parameters, x.name, x.value)
		}
	}
	p.Picture = address("picture", parameters...)
}

// downloads lists the addresses of the plane in other formats.
func downloads(p *valuesPart) {
	for _, format := range []string{"npy", "csv", "json", "b2nd"} {
		p.Downloads = append(p.Downloads, crumb{"." + format, address("data", "file", p.File, "path", p.Path, "selection", p.Selection, "format", format)})
	}
}

// table fills the rows with elements. Elements of a type that arrays do not have are those of
// /data.
func (p *valuesPart) table(ctx context.Context, h *Handler, m *metaDoc, selection string) error {
	q := &request{Route: routeTable, Path: p.Path, Selection: selection, Raw: p.Raw}
	if err := h.askJSON(ctx, p.File, q, &p.tableDoc); err != nil {
		if err := h.dataTable(ctx, p, m, selection); err != nil {
			return err
		}
	}
	for i, row := range p.Rows {
		for k, text := range row {
			row[k] = shorten(text)
		}
		at := ""
		if len(m.Shape) > 0 {
			at = strconv.FormatInt(p.Row+int64(i), 10)
		}
		head := []string{at}
		if p.Beside != nil {
			head = append(head, p.Beside[i])
		}
		p.Rows[i] = append(head, row...)
	}
	return nil
}

// dataTable fills the rows with the JSON of /data.
func (h *Handler) dataTable(ctx context.Context, p *valuesPart, m *metaDoc, selection string) error {
	var raw json.RawMessage
	q := &request{Route: routeData, Path: p.Path, Format: "json", Selection: selection}
	if err := h.askJSON(ctx, p.File, q, &raw); err != nil {
		return err
	}
	p.tableDoc = tableDoc{}
	if len(m.Shape) == 0 {
		p.Rows = [][]string{{cell(m.Type.named(raw))}}
		return nil
	}
	var lines []json.RawMessage
	if err := json.Unmarshal(raw, &lines); err != nil {
		return err
	}
	for i, line := range lines {
		cells := []json.RawMessage{line}
		if len(m.Shape) > 1 {
			if err := json.Unmarshal(line, &cells); err != nil {
				return err
			}
		}
		row := make([]string, len(cells))
		for k, c := range cells {
			if i == 0 && len(m.Shape) > 1 {
				p.Heads = append(p.Heads, strconv.FormatInt(p.Column+int64(k), 10))
			}
			row[k] = cell(m.Type.named(c))
		}
		p.Rows = append(p.Rows, row)
	}
	return nil
}

// named returns the JSON of a compound with the names of its members, and of others unchanged.
func (t *typeDoc) named(raw json.RawMessage) json.RawMessage {
	list, ok := t.Members.([]any)
	var values []json.RawMessage
	if t.Class != classCompound || !ok || json.Unmarshal(raw, &values) != nil || len(values) != len(list) {
		return raw
	}
	out := []byte{'{'}
	for i, v := range values {
		member, _ := list[i].(map[string]any)
		if i > 0 {
			out = append(out, ", "...)
		}
		out = append(fmt.Appendf(out, "%v: ", member["name"]), v...)
	}
	return append(out, '}')
}
