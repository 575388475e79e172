// Datatypes over several lines, in DDL.

package ddl

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
)

// typeLines writes a datatype between before and after. A named type takes one line, any other type
// one line for each part.
func (p *printer) typeLines(before string, t h5.Datatype, after string) {
	switch t.Class {
	case h5.Compound:
		p.line("%sH5T_COMPOUND {", before)
		for _, m := range t.Members {
			p.typeLines("", *m.Type, fmt.Sprintf(` "%s";`, m.Name))
		}
		p.line("}%s", after)
	case h5.Enum:
		p.line("%sH5T_ENUM {", before)
		p.typeLines("", *t.Base, ";")
		for _, m := range t.Members {
			value := strconv.FormatInt(m.Value, 10)
			if !t.Base.Signed {
				value = strconv.FormatUint(uint64(m.Value), 10)
			}
			p.line("%-18s %s;", `"`+m.Name+`"`, value)
		}
		p.line("}%s", after)
	case h5.Sequence:
		p.typeLines(before+"H5T_VLEN { ", *t.Base, " }"+after)
	case h5.Array:
		dims := ""
		for _, d := range t.Dims {
			dims += fmt.Sprintf("[%d]", d)
		}
		p.typeLines(before+"H5T_ARRAY { "+dims+" ", *t.Base, " }"+after)
	case h5.String, h5.Opaque:
		// One part per line: split "H5T_STRING { A; B; }" into its parts.
		head, parts, _ := strings.Cut(t.String(), " { ")
		p.line("%s%s {", before, head)
		for part := range strings.SplitSeq(strings.TrimSuffix(parts, "; }"), "; ") {
			p.line("%s;", part)
		}
		p.line("}%s", after)
	default:
		p.line("%s%v%s", before, t, after)
	}
}
