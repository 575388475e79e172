// References: their targets, with values where h5dump writes them.

package ddl

import (
	"fmt"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5names"
)

func kindWord(k h5.ObjectKind) string {
	switch k {
	case h5.GroupObject:
		return "GROUP"
	case h5.DatasetObject:
		return "DATASET"
	case h5.DatatypeObject:
		return "DATATYPE"
	default:
		return "UNKNOWN"
	}
}

// reference writes one element of a dataset of references.
func (p *printer) reference(r h5.Ref) {
	if r.IsNull() {
		p.line("NULL")
		return
	}
	to, err := h5names.Resolve(p.file, r)
	if err != nil {
		p.failed(err)
		p.line(`UNKNOWN "%s"`, p.file.Path())
		return
	}
	place := p.file.Path() + to.Path
	switch {
	case to.Attribute != "":
		p.attributeReference(r, place, to.Attribute)
	case to.Region:
		p.region(r, place, to)
	default:
		p.line(`%s "%s"`, kindWord(to.Kind), place)
		if to.Kind == h5.DatasetObject {
			p.indent++
			p.datasetOf(r, func(d *h5.Dataset, info h5.DatasetInfo) { p.datasetValues(d, info) })
			p.indent--
		}
	}
}

// datasetOf opens the dataset that a reference refers to, as a whole or a region of it.
func (p *printer) datasetOf(r h5.Ref, f func(*h5.Dataset, h5.DatasetInfo)) {
	o, err := p.file.Dereference(r)
	if p.failed(err) {
		return
	}
	defer o.Close()
	if d, ok := o.(*h5.Dataset); ok {
		if info, err := d.Info(); !p.failed(err) {
			f(d, info)
		}
	}
}

func (p *printer) attributeReference(r h5.Ref, place, name string) {
	o, err := p.file.Dereference(r)
	if p.failed(err) {
		return
	}
	defer o.Close()
	p.line(`ATTRIBUTE "%s/%s" {`, place, name)
	defer p.line("}")
	for a, err := range o.Attributes() {
		if p.failed(err) {
			return
		}
		if a.Name == name {
			p.typeLines("DATATYPE  ", a.Datatype, "")
			p.line("DATASPACE  %v", a.Space)
			return
		}
	}
	p.line("NULL")
}

// region writes the elements that a reference refers to.
func (p *printer) region(r h5.Ref, place string, to h5.Referent) {
	text := ""
	if to.Selection.NumElems < 0 { // unlimited
		p.line(`%s "%s"`, kindWord(to.Kind), place)
		return
	}
	switch s := to.Selection.Selection.(type) {
	case h5.Points:
		parts := make([]string, len(s))
		for i, at := range s {
			parts[i] = corner(at)
		}
		text = "POINT  " + strings.Join(parts, ", ")
	case h5.Boxes, h5.Region:
		var parts []string
		for b, err := range to.Space.Boxes(to.Selection.Selection) {
			if p.failed(err) {
				break
			}
			parts = append(parts, corner(b.First)+"-"+corner(b.Last))
		}
		text = "BLOCK  " + strings.Join(parts, ", ")
	default:
		p.line(`%s "%s"`, kindWord(to.Kind), place)
		return
	}
	p.line(`%s "%s" {`, kindWord(to.Kind), place)
	p.line("REGION_TYPE %s", text)
	p.datasetOf(r, func(_ *h5.Dataset, info h5.DatasetInfo) {
		p.typeLines("DATATYPE  ", info.Datatype, "")
		p.line("DATASPACE  %v", info.Space)
	})
	p.line("}")
}

func corner(at []int64) string {
	return "(" + strings.Join(strings.Fields(strings.Trim(fmt.Sprint(at), "[]")), ",") + ")"
}

// referenceText formats a reference inside another element.
func (p *printer) referenceText(r h5.Ref) string {
	if r.IsNull() {
		return "NULL"
	}
	to, err := h5names.Resolve(p.file, r)
	if err != nil {
		return "<unknown>"
	}
	switch r.Kind {
	case h5.StandardReference:
		if to.Attribute != "" {
			return fmt.Sprintf(`ATTRIBUTE "%s%s/%s"`, p.file.Path(), to.Path, to.Attribute)
		}
		return fmt.Sprintf(`%s "%s%s"`, kindWord(to.Kind), p.file.Path(), to.Path)
	case h5.RegionReference:
		return fmt.Sprintf(`DATASET "%s"`, to.Path)
	}
	text, err := p.file.TokenText(to.Token)
	p.failed(err)
	return fmt.Sprintf(`%s %s "%s"`, kindWord(to.Kind), text, to.Path)
}
