// Rules of the format documents, and the vectors that exercise each. A rule is exercised if an
// annotated reader of internal/format finds its field, value or flag in a valid vector, or reports
// its violation in an invalid one.

package crosscheck

import (
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format"
)

//go:embed rules.txt
var rulesText string

// formatRule is one rule of a document.
type formatRule struct {
	document, section, text string
	areas                   []string
	refused                 bool        // exercised by invalid vectors
	excluded                string      // reason why no vector exercises the rule
	impossible              bool        // the reference libraries cannot express the rule
	in                      []structure // alternatives
	fields                  []string    // of a refused rule: fields with the complaint
	conditions              []condition
}

// structure selects fields with parts by their name and, if set, by the name of their parent. The
// name can end with an asterisk.
type structure struct{ parent, name string }

// condition is a condition on a part of a structure.
type condition struct {
	parts    []partName // alternatives
	operator string     // "" means that the part exists
	value    string
	pattern  *regexp.Regexp
	number   uint64
}

// partName is the name of a part. nth is N for the Nth part with this name, and 0 for each.
type partName struct {
	name string
	nth  int
}

// datatypes are the structures that contain a datatype.
var datatypes = []structure{{name: "message datatype"}, {name: "datatype"}, {name: "base type"}, {name: "member"}, {name: "shared datatype message"}}

// parseRules reads the lines of rules.txt. "= " starts a document, ": " names its areas, "## "
// starts a section, and "@ " names the structures of the following lines. A line contains the text
// of the rule and its test, for example:
//
//	node level 0 | node level = 0
//	wrong signature | refuse signature
//	cache type 0 | @ entry; cache type = 0
//	type 0, for tests | - according to the document no file contains it
//
// The reason after "-" explains why the reference libraries cannot express the rule, and that after
// "?" why no vector exercises a rule that they can express.
func parseRules(text string) ([]formatRule, error) {
	var rules []formatRule
	var at formatRule // document, section, areas and structures of the next line
	for n, line := range strings.Split(text, "\n") {
		fail := func(format string, args ...any) ([]formatRule, error) {
			return nil, fmt.Errorf("crosscheck: line %d of rules.txt: %s", n+1, fmt.Sprintf(format, args...))
		}
		switch kind, rest, _ := strings.Cut(line, " "); {
		case line == "":
		case kind == "=":
			at = formatRule{document: rest}
		case kind == ":":
			at.areas = strings.Fields(rest)
		case kind == "##":
			at.section, at.in, at.conditions = rest, nil, nil
		case kind == "@":
			in, conditions, err := parseTest(line)
			if err != nil {
				return fail("%v", err)
			}
			at.in, at.conditions = in, conditions
		default:
			r := at
			text, test, found := strings.Cut(line, " | ")
			if !found {
				return fail("no test")
			}
			r.text = text
			if kind, reason, _ := strings.Cut(test, " "); kind == "-" || kind == "?" {
				r.excluded, r.impossible, r.in, r.conditions = reason, kind == "-", nil, nil
				rules = append(rules, r)
				continue
			}
			test, r.refused = strings.CutPrefix(test, "refuse ")
			if r.refused {
				r.conditions = nil
				if strings.HasPrefix(test, "@ ") {
					structures, fields, _ := strings.Cut(test[2:], "; ")
					r.in, test = parseStructures(structures), fields
				}
				r.fields = strings.Split(test, ", ")
				rules = append(rules, r)
				continue
			}
			in, conditions, err := parseTest(test)
			if err != nil {
				return fail("%v", err)
			}
			if in != nil {
				r.in, r.conditions = in, conditions
			} else {
				r.conditions = slices.Concat(at.conditions, conditions)
			}
			rules = append(rules, r)
		}
	}
	return rules, nil
}

// parseTest reads "[@ STRUCTURE, …;] CONDITION; …".
func parseTest(s string) (in []structure, conditions []condition, err error) {
	for i, part := range strings.Split(s, "; ") {
		if rest, found := strings.CutPrefix(part, "@ "); found && i == 0 {
			in = parseStructures(rest)
			continue
		}
		c, err := parseCondition(part)
		if err != nil {
			return nil, nil, err
		}
		conditions = append(conditions, c)
	}
	return in, conditions, nil
}

func parseStructures(s string) (in []structure) {
	for _, name := range strings.Split(s, ", ") {
		if name == "datatype*" {
			in = append(in, datatypes...)
			continue
		}
		parent, child, found := strings.Cut(name, " > ")
		if !found {
			parent, child = "", name
		}
		in = append(in, structure{parent, child})
	}
	return in
}

var conditionForm = regexp.MustCompile(`^(! )?(.+?)(?: (=|~|>|&|!&) (.+))?$`)

func parseCondition(s string) (c condition, err error) {
	m := conditionForm.FindStringSubmatch(s)
	c = condition{parts: alternatives(m[2]), operator: m[3], value: m[4]}
	switch c.operator {
	case "":
		if m[1] != "" {
			c.operator = "!"
		}
	case "~":
		c.pattern, err = regexp.Compile(c.value)
	case ">", "&", "!&":
		c.number, err = strconv.ParseUint(c.value, 0, 64)
	}
	return c, err
}

// alternatives splits names at commas that no space follows. A name can end with "#N".
func alternatives(s string) []partName {
	var names []partName
	for _, text := range strings.Split(s, ",") {
		if last := len(names) - 1; last >= 0 && strings.HasPrefix(text, " ") {
			names[last].name += "," + text
			continue
		}
		name, nth, _ := strings.Cut(text, "#")
		n, _ := strconv.Atoi(nth) // 0 without a number
		names = append(names, partName{name, n})
	}
	return names
}

// annotated is a field of an annotated vector with the names of its parts.
type annotated struct {
	parent string
	field  *format.Field
	parts  []part
}

type part struct {
	name string
	format.Field
}

// ruleName is the name of a field without its index. A message has the name of its type.
func ruleName(f format.Field) string {
	name := strings.TrimSpace(indexes.ReplaceAllString(" "+f.Name, ""))
	if name == "message" && f.Value != "" {
		name += " " + f.Value
	}
	return name
}

// ruleIndex finds the rules about a structure by its name.
type ruleIndex struct {
	rules  []formatRule
	named  map[string][]int // rules with this name in a structure
	prefix []int            // rules with a name that ends with an asterisk
}

func newRuleIndex(text string) (*ruleIndex, error) {
	rules, err := parseRules(text)
	if err != nil {
		return nil, err
	}
	x := &ruleIndex{rules: rules, named: make(map[string][]int)}
	for i, r := range rules {
		for _, s := range r.in {
			if strings.HasSuffix(s.name, "*") {
				x.prefix = append(x.prefix, i)
			} else {
				x.named[s.name] = append(x.named[s.name], i)
			}
		}
	}
	return x, nil
}

// each calls found for the rules of an area that a field exercises or violates, without the fields
// below it.
func (x *ruleIndex) each(area, parent string, f format.Field, found func(i int)) {
	name := ruleName(f)
	a := annotated{parent: parent, field: &f, parts: make([]part, len(f.Fields))}
	for i, p := range f.Fields {
		a.parts[i] = part{ruleName(p), p}
	}
	for _, i := range slices.Concat(x.named[name], x.prefix) {
		r := &x.rules[i]
		if r.excluded == "" && slices.Contains(r.areas, area) && slices.ContainsFunc(r.in, func(s structure) bool {
			prefix, any := strings.CutSuffix(s.name, "*")
			return (s.name == name || any && strings.HasPrefix(name, prefix)) && r.holds(s, a)
		}) {
			found(i)
		}
	}
}

// exercised returns the indexes of the rules that a vector exercises.
func (x *ruleIndex) exercised(c Case, f format.Field) []int {
	found := make(map[int]bool)
	var walk func(parent string, f format.Field)
	walk = func(parent string, f format.Field) {
		x.each(c.Area, parent, f, func(i int) {
			if x.rules[i].refused == (c.Must == Refuse) {
				found[i] = true
			}
		})
		for _, p := range f.Fields {
			if len(p.Fields) > 0 {
				walk(ruleName(f), p)
			}
		}
	}
	walk("", f)
	return slices.Sorted(maps.Keys(found))
}

// holds reports whether every condition holds for a, or whether a complaint is attached to one of
// the fields.
func (r *formatRule) holds(s structure, a annotated) bool {
	if s.parent != "" && s.parent != a.parent {
		return false
	}
	if r.refused {
		if a.field.Complaint != "" && slices.Contains(r.fields, ruleName(*a.field)) {
			return true
		}
		return slices.ContainsFunc(a.parts, func(p part) bool { return p.Complaint != "" && slices.Contains(r.fields, p.name) })
	}
	for _, c := range r.conditions {
		if !c.holds(a) {
			return false
		}
	}
	return true
}

func (c *condition) holds(a annotated) bool {
	for _, want := range c.parts {
		seen := 0
		for i := range a.parts {
			p := &a.parts[i]
			if p.name != want.name {
				continue
			}
			if seen++; want.nth > 0 && seen != want.nth {
				continue
			}
			if c.operator == "!" {
				return false
			}
			if c.test(&p.Field) {
				return true
			}
		}
	}
	return c.operator == "!"
}

func (c *condition) test(f *format.Field) bool {
	switch c.operator {
	case "":
		return true
	case "=":
		return f.Value == c.value || f.Meaning == c.value
	case "~":
		return c.pattern.MatchString(f.Value) || c.pattern.MatchString(f.Meaning)
	}
	n, err := strconv.ParseUint(f.Value, 0, 64)
	switch {
	case err != nil:
		return false
	case c.operator == ">":
		return n > c.number
	case c.operator == "&":
		return n&c.number == c.number
	}
	return n&c.number == 0
}
