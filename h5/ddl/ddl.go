// The structure of a file: groups, datasets, committed datatypes, links, attributes.

package ddl

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
)

// Options are the options of Write. A nil *Options means Options{}: everything is written.
type Options struct {
	Name          string // name of the file in the first line; "": the path it was opened with
	WithoutValues bool   // omit the values of datasets and attributes (h5dump -H)

	// Object is the path of the only group, dataset or committed datatype to write (h5dump -g, -d
	// and -t); "" is the whole file. Attribute is the name of the only attribute of Object to write
	// (h5dump -a).
	Object, Attribute string

	// Part, if not nil, selects the elements of the dataset Object to write (h5dump -s, -S, -c and
	// -k). It must not be combined with Attribute or WithoutValues.
	Part *h5.Region

	// Missing is called for each missing source of a virtual dataset, whose elements are written as
	// fill value, as h5dump does. If it is nil, Write returns an error for the first missing
	// source.
	Missing func(error)
}

// Write writes a file, or one object of it, as h5dump does. It returns the first error of reading,
// which wraps *h5.Error, or the writer's error, after which it reads no further. It writes nothing
// and returns h5.ErrNotFound if Object or Attribute does not exist, h5.ErrRegion if Part is not
// inside Object, and h5.ErrKind if Object is not a dataset.
func Write(w io.Writer, f *h5.File, o *Options) error {
	p := &printer{w: bufio.NewWriterSize(w, 64<<10), file: f}
	if o != nil {
		p.o = *o
	}
	name := p.o.Name
	if name == "" {
		name = f.Path()
	}
	body := func() { p.group(f.Root(), "/", false) }
	if p.o.Object != "" || p.o.Attribute != "" {
		one, err := f.Root().OpenObject(cmp.Or(p.o.Object, "/"))
		if err != nil {
			return err
		}
		defer one.Close()
		if p.o.Part != nil {
			if err := p.checkPart(one); err != nil {
				return err
			}
		}
		body = func() { p.object(one, p.o.Object, false) }
		if p.o.Attribute != "" {
			info, err := one.AttributeInfo(p.o.Attribute)
			if err != nil {
				return err
			}
			body = func() { p.attribute(one, info) }
		}
	}
	p.learn(f.Root())
	p.others = map[uint64]*known{}
	p.line(`HDF5 "%s" {`, name)
	p.indent = 0 // as in h5dump
	body()
	p.line("}")
	for _, k := range p.others {
		_ = k.root.Close()
	}
	if err := p.w.Flush(); err != nil {
		return err
	}
	return p.err
}

type printer struct {
	o      Options
	w      *bufio.Writer
	file   *h5.File
	indent int
	err    error

	*known                   // of the file that is being written
	others map[uint64]*known // of the target files of external links, by file number
}

// known contains the objects of a file and whether they were written.
type known struct {
	paths   map[uint64]string // paths of reachable objects, by address
	unnamed []uint64          // addresses of committed datatypes without a name that datasets use, in order of discovery
	shown   map[uint64]bool
	root    h5.Object // root group of another file; it keeps that file open, because reopening would change its number
}

// failed keeps the first error and reports whether err is not nil.
func (p *printer) failed(err error) bool {
	if err != nil && p.err == nil {
		p.err = err
	}
	return err != nil
}

// unwritable returns the writer's error, after which nothing has to be read.
func (p *printer) unwritable() error {
	_, err := p.w.Write(nil)
	return err
}

// line writes one line at the current indent.
func (p *printer) line(format string, a ...any) {
	text := fmt.Sprintf(format, a...)
	if strings.HasPrefix(text, "}") {
		p.indent--
	}
	_, _ = p.w.WriteString(strings.Repeat("   ", max(p.indent, 0)))
	_, _ = p.w.WriteString(text)
	_ = p.w.WriteByte('\n')
	if strings.HasSuffix(text, "{") {
		p.indent++
	}
}

// learn collects the paths of all objects that hard links lead to, and the committed datatypes that
// datasets use and that have no path.
func (p *printer) learn(root *h5.Group) {
	p.known = &known{paths: map[uint64]string{}, shown: map[uint64]bool{}}
	var datasets []string
	for v, err := range root.Visit() {
		if p.failed(err) {
			continue
		}
		at := "/" + v.Path
		if v.Path == "." {
			at = "/"
		}
		if _, met := p.paths[v.Address]; met {
			continue
		}
		p.paths[v.Address] = at
		if v.Kind == h5.DatasetObject {
			datasets = append(datasets, at)
		}
	}
	for _, at := range datasets {
		d, err := root.OpenDataset(at)
		if err != nil {
			continue // reported when the dataset is written
		}
		addr, committed, err := d.Committed()
		_ = d.Close()
		if err != nil || !committed {
			continue
		}
		if _, named := p.paths[addr]; named {
			continue
		}
		if !slices.Contains(p.unnamed, addr) {
			p.unnamed = append(p.unnamed, addr)
		}
	}
}

// before reports whether an object was written already. If so, it writes a HARDLINK line with its
// path.
func (p *printer) before(addr uint64) bool {
	if p.shown[addr] {
		p.line(`HARDLINK "%s"`, p.paths[addr])
		return true
	}
	p.shown[addr] = true
	return false
}

func (p *printer) group(g *h5.Group, name string, outside bool) {
	p.line(`GROUP "%s" {`, name)
	defer p.line("}")
	info, err := g.Stat()
	if p.failed(err) {
		return
	}
	if name == "/" {
		p.unnamedTypes(g)
	}
	p.comment(g)
	if p.before(info.Address) {
		return
	}
	p.attributes(g)
	for l, err := range g.Links() {
		if p.unwritable() != nil {
			return
		}
		if !p.failed(err) {
			p.link(g, l, outside)
		}
	}
}

func (p *printer) comment(o interface{ Comment() (string, error) }) {
	if text, err := o.Comment(); err == nil && text != "" {
		p.line(`COMMENT "%s"`, text)
	}
}

// unnamedTypes writes the committed datatypes that datasets use and that have no path. Their names
// are their addresses.
func (p *printer) unnamedTypes(root *h5.Group) {
	for _, addr := range p.unnamed {
		o, err := p.file.OpenAddress(addr)
		if p.failed(err) {
			continue
		}
		if t, ok := o.(*h5.CommittedType); ok {
			p.committed(t, fmt.Sprintf("#%d", addr))
		}
		_ = o.Close()
	}
}

func (p *printer) link(g *h5.Group, l h5.Link, outside bool) {
	switch l.Kind {
	case h5.SoftLink:
		p.line(`SOFTLINK "%s" {`, l.Name)
		p.line(`LINKTARGET "%s"`, l.Target)
		p.line("}")
	case h5.ExternalLink:
		p.line(`EXTERNAL_LINK "%s" {`, l.Name)
		p.line(`TARGETFILE "%s"`, l.File)
		p.line(`TARGETPATH "%s"`, l.Target)
		p.external(g, l)
		p.line("}")
	case h5.UserLink:
		p.line(`USERDEFINED_LINK "%s" {`, l.Name)
		p.line("LINKCLASS %d", l.Class)
		p.line("}")
	default:
		o, err := g.OpenObject(l.Name)
		if p.failed(err) {
			return
		}
		defer o.Close()
		p.object(o, l.Name, outside)
	}
}

func (p *printer) object(o h5.Object, name string, outside bool) {
	switch o := o.(type) {
	case *h5.Group:
		p.group(o, name, outside)
	case *h5.Dataset:
		p.dataset(o, name, outside)
	case *h5.CommittedType:
		p.committed(o, name)
	}
}

// external writes the target of an external link, unless it is in this file. Written objects are
// recorded for each file, so that cycles of links end.
func (p *printer) external(g *h5.Group, l h5.Link) {
	o, err := g.OpenObject(l.Name)
	if err != nil {
		return // the target need not exist
	}
	defer o.Close()
	there, err := o.Stat()
	here, err2 := p.file.Root().Stat()
	if p.failed(errors.Join(err, err2)) || there.FileNo == here.FileNo {
		return
	}
	outer := p.known
	defer func() { p.known = outer }()
	inner, met := p.others[there.FileNo]
	if !met {
		root, err := o.Root()
		if p.failed(err) {
			return
		}
		p.learn(root)
		inner = p.known
		inner.root = root
		p.others[there.FileNo] = inner
	}
	p.known = inner
	p.object(o, l.Target, true)
}

func (p *printer) dataset(d *h5.Dataset, name string, outside bool) {
	p.line(`DATASET "%s" {`, name)
	defer p.line("}")
	stat, err := d.Stat()
	if p.failed(err) {
		return
	}
	if (stat.Links > 1 || outside) && p.before(stat.Address) {
		return
	}
	p.comment(d)
	info, err := d.Info()
	if p.failed(err) {
		return
	}
	addr, committed, err := d.Committed()
	p.failed(err)
	p.datatype(info.Datatype, addr, committed)
	p.line("DATASPACE  %v", info.Space)
	if info.Layout == h5.Virtual && !p.o.WithoutValues {
		p.sources(d)
	}
	switch {
	case p.o.WithoutValues:
	case p.o.Part != nil:
		p.part(d, info)
	default:
		p.datasetValues(d, info)
	}
	p.attributes(d)
}

// sources reports missing sources of a virtual dataset.
func (p *printer) sources(d *h5.Dataset) {
	list, err := d.MissingSources()
	if p.failed(err) {
		return
	}
	for _, s := range list {
		err := &h5.Error{Op: "read", Path: d.Path(), Err: fmt.Errorf("%w: source of a virtual dataset is missing: file %q, dataset %q", h5.ErrNotFound, s.File, s.Dataset)}
		if p.o.Missing != nil {
			p.o.Missing(err.Err)
		} else {
			p.failed(err)
		}
	}
}

// datatype writes a DATATYPE line or block.
func (p *printer) datatype(t h5.Datatype, addr uint64, committed bool) {
	if committed {
		name, ok := p.paths[addr]
		if !ok {
			name = fmt.Sprintf("/#%d", addr)
		}
		p.line(`DATATYPE  "%s"`, name)
		return
	}
	p.typeLines("DATATYPE  ", t, "")
}

func (p *printer) committed(t *h5.CommittedType, name string) {
	stat, err := t.Stat()
	if p.failed(err) {
		return
	}
	dt, err := t.Datatype()
	if p.failed(err) {
		return
	}
	if stat.Links > 1 && p.shown[stat.Address] {
		p.line(`DATATYPE "%s" HARDLINK "%s"`, name, p.paths[stat.Address])
		return
	}
	p.shown[stat.Address] = true
	end := ";"
	if dt.Class == h5.Compound {
		end = ""
	}
	p.typeLines(fmt.Sprintf(`DATATYPE "%s" `, name), dt, end)
	p.attributes(t)
}

func (p *printer) attributes(o h5.Object) {
	for a, err := range o.Attributes() {
		if p.failed(err) {
			return
		}
		p.attribute(o, a)
	}
}

func (p *printer) attribute(o h5.Object, a h5.AttributeInfo) {
	p.line(`ATTRIBUTE "%s" {`, a.Name)
	defer p.line("}")
	addr, committed, err := o.AttributeCommitted(a.Name)
	p.failed(err)
	p.datatype(a.Datatype, addr, committed)
	p.line("DATASPACE  %v", a.Space)
	if p.o.WithoutValues {
		return
	}
	p.line("DATA {")
	p.attributeValues(o, a)
	p.line("}")
}
