// Element types as strings: NumPy's forms, and our own notation for types that NumPy does not have.

package ndarray

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

var kindLetters = map[Kind]byte{
	Bool: 'b', Int: 'i', Uint: 'u', Float: 'f', Complex: 'c', Bytes: 'S', Unicode: 'U', Void: 'V', DateTime: 'M', TimeDelta: 'm',
}

var letterKinds = func() map[byte]Kind {
	m := make(map[byte]Kind)
	for k, c := range kindLetters {
		m[c] = k
	}
	return m
}()

// typeNames are the names that NumPy prints for its number types. They mean native byte order.
var typeNames = map[string]DType{
	"bool":       {Kind: Bool, Size: 1},
	"?":          {Kind: Bool, Size: 1},
	"int8":       {Kind: Int, Size: 1},
	"int16":      {Kind: Int, Size: 2},
	"int32":      {Kind: Int, Size: 4},
	"int64":      {Kind: Int, Size: 8},
	"uint8":      {Kind: Uint, Size: 1},
	"uint16":     {Kind: Uint, Size: 2},
	"uint32":     {Kind: Uint, Size: 4},
	"uint64":     {Kind: Uint, Size: 8},
	"float16":    {Kind: Float, Size: 2},
	"float32":    {Kind: Float, Size: 4},
	"float64":    {Kind: Float, Size: 8},
	"float96":    {Kind: Float, Size: 12},
	"float128":   {Kind: Float, Size: 16},
	"bfloat16":   {Kind: BFloat, Size: 2},
	"complex64":  {Kind: Complex, Size: 8},
	"complex128": {Kind: Complex, Size: 16},
	"complex192": {Kind: Complex, Size: 24},
	"complex256": {Kind: Complex, Size: 32},
	"string":     {Kind: String},
	"reference":  {Kind: Reference},
}

// String returns NumPy's notation: "<f8", "|b1", "|S5" (5 bytes), "<U5" (5 code points), "|V8",
// "<M8[ns]", "('<f8', (2, 3))" for a sub-array. For a structure it returns the output of
// str(dtype): "[('a', '<i4'), ('b', '<f8', (2,))]" if the fields are adjacent, and otherwise the
// dict with offsets and item size. An inner structure with gaps is also a dict, because the list
// that NumPy prints loses the gaps.
//
// NumPy has no notation for these types: a string of variable length is "string", a sequence is
// "sequence('<f8')", a reference is "reference", "reference('object')" or "reference('region')",
// bfloat16 is "<bfloat16", and an enumeration is "enum('<i4', {'RED': 0})". The result does not
// contain character set, padding and the other tags. ParseDType reads all these forms.
func (d DType) String() string { return d.text(false, false) }

// text is String, or, if short, the form inside a structure, without quotes. If aligned, the type
// is inside an aligned structure, and "aligned" is not repeated.
func (d DType) text(short, aligned bool) string {
	order := string(rune(d.Order))
	if short && d.Order == NoOrder {
		order = ""
	}
	switch d.Kind {
	case String:
		return "string"
	case Reference:
		if d.Tag == "" {
			return "reference"
		}
		return "reference(" + pyQuote(d.Tag) + ")"
	case VLen:
		return "sequence(" + d.Base.quoted(false) + ")"
	case BFloat:
		return order + "bfloat16"
	case Enum:
		return d.enumText()
	case SubArray:
		return "(" + d.Base.quoted(aligned) + ", " + pyShape(d.Dims) + ")"
	case Struct:
		return d.structText(aligned)
	case Bool:
		if short {
			return "?"
		}
	}
	letter, ok := kindLetters[d.Kind]
	if !ok {
		return d.Kind.String()
	}
	size := d.Size
	if d.Kind == Unicode {
		size /= 4
	}
	return order + string(rune(letter)) + strconv.Itoa(size) + d.Unit.text()
}

// String returns the unit in NumPy's notation, for example "[ns]" or "[25s]". It is "" if generic.
func (u TimeUnit) text() string {
	switch {
	case u.Name == "":
		return ""
	case u.Count == 1:
		return "[" + u.Name + "]"
	}
	return "[" + strconv.Itoa(u.Count) + u.Name + "]"
}

// quoted returns the type as part of a literal: in quotes, except structures and sub-arrays.
func (d DType) quoted(aligned bool) string {
	t := d.text(true, aligned)
	switch d.Kind {
	case Struct, SubArray:
		return t
	}
	return pyQuote(t)
}

func pyShape(dims []int64) string {
	s := make([]string, len(dims))
	for i, n := range dims {
		s[i] = strconv.FormatInt(n, 10)
	}
	if len(s) == 1 {
		return "(" + s[0] + ",)"
	}
	return "(" + strings.Join(s, ", ") + ")"
}

func (d DType) enumText() string {
	s := make([]string, len(d.Members))
	for i, m := range d.Members {
		v := strconv.FormatInt(m.Value, 10)
		if d.Base.Kind == Uint {
			v = strconv.FormatUint(uint64(m.Value), 10)
		}
		s[i] = pyQuote(m.Name) + ": " + v
	}
	return "enum(" + d.Base.quoted(false) + ", {" + strings.Join(s, ", ") + "})"
}

func (d DType) structText(understood bool) string {
	aligned := d.allAligned()
	if d.Size == 0 {
		return d.listText(false)
	}
	if laid := StructOf(understood, d.Fields...); (understood || !aligned) && laid.Size == d.Size &&
		slices.EqualFunc(d.Fields, laid.Fields, func(a, b Field) bool { return a.Offset == b.Offset }) {
		return d.listText(understood)
	}
	var names, formats, offsets, titles []string
	titled := false
	for _, f := range d.Fields {
		names = append(names, pyQuote(f.Name))
		formats = append(formats, f.Type.quoted(aligned))
		offsets = append(offsets, strconv.Itoa(f.Offset))
		title := "None"
		if f.Title != "" {
			title, titled = pyQuote(f.Title), true
		}
		titles = append(titles, title)
	}
	s := "{'names': [" + strings.Join(names, ", ") + "], 'formats': [" + strings.Join(formats, ", ") +
		"], 'offsets': [" + strings.Join(offsets, ", ")
	if titled {
		s += "], 'titles': [" + strings.Join(titles, ", ")
	}
	s += "], 'itemsize': " + strconv.Itoa(d.Size)
	if aligned && !understood {
		s += ", 'aligned': True"
	}
	return s + "}"
}

// allAligned reports whether d and all structures in it are aligned. NumPy's flag "aligned" applies
// to all of them.
func (d DType) allAligned() bool {
	ok := true
	d.MapParts(func(p DType) DType {
		ok = ok && (p.Kind != Struct || p.Aligned)
		return p
	})
	return ok
}

func (d DType) listText(aligned bool) string {
	items := make([]string, len(d.Fields))
	for i, f := range d.Fields {
		name := pyQuote(f.Name)
		if f.Title != "" {
			name = "(" + pyQuote(f.Title) + ", " + name + ")"
		}
		t := f.Type.quoted(aligned)
		if f.Type.Kind == SubArray {
			t = f.Type.Base.quoted(aligned) + ", " + pyShape(f.Type.Dims)
		}
		items[i] = "(" + name + ", " + t + ")"
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// ParseDType parses the results of String, and NumPy's other forms of the same types: "f8" and
// "float64" in native order, "?", "datetime64[ns]", structures as a list of tuples or a dict of
// names, formats, offsets, titles, itemsize and aligned. As in NumPy, native byte order is the
// default. "|" before a number of several bytes is an error, because it does not define the order.
// Fields without a name are called f0, f1, … by their index.
//
// It returns ErrType, with the input, for everything else: Python objects, types of size 0,
// structures without fields or with overlapping fields.
func ParseDType(s string) (DType, error) {
	d, err := parseDType(s)
	if err == nil {
		err = d.Validate()
	}
	if err != nil {
		shown := s
		if len(shown) > 200 {
			shown = shown[:200] + "…"
		}
		return DType{}, fmt.Errorf("%w: %q: %w", ErrType, shown, unwrapType(err))
	}
	return d, nil
}

// unwrapType removes ErrType's text, so that it does not appear twice in a message.
func unwrapType(err error) error {
	if text, ok := strings.CutPrefix(err.Error(), ErrType.Error()+": "); ok {
		return fmt.Errorf("%s", text)
	}
	return err
}

func parseDType(s string) (DType, error) { return parseNested(s, 0) }

func parseNested(s string, depth int) (DType, error) {
	if inner, ok := strings.CutPrefix(s, "enum("); ok && strings.HasSuffix(s, ")") {
		v, err := parseLiteral("(" + inner)
		if err != nil {
			return DType{}, err
		}
		return enumFromLiteral(v)
	}
	if inner, ok := strings.CutPrefix(s, "sequence("); ok && strings.HasSuffix(s, ")") {
		v, err := onlyArgument(inner)
		if err != nil {
			return DType{}, err
		}
		base, err := fromLiteral(v, false, depth+1)
		return DType{Kind: VLen, Order: NoOrder, Base: &base}, err
	}
	if inner, ok := strings.CutPrefix(s, "reference("); ok && strings.HasSuffix(s, ")") {
		v, err := onlyArgument(inner)
		tag, isText := v.(string)
		if err == nil && !isText {
			err = fmt.Errorf("a reference with the tag %v", v)
		}
		return DType{Kind: Reference, Order: NoOrder, Tag: tag}, err
	}
	if s != "" && strings.IndexByte("[({", s[0]) >= 0 {
		v, err := parseLiteral(s)
		if err != nil {
			return DType{}, err
		}
		return fromLiteral(v, false, depth)
	}
	return parseScalar(s)
}

// onlyArgument parses the literal before a closing parenthesis.
func onlyArgument(s string) (any, error) {
	v, err := parseLiteral("[" + strings.TrimSuffix(s, ")") + "]")
	if err != nil {
		return nil, err
	}
	list, _ := v.(pyList)
	if len(list) != 1 {
		return nil, fmt.Errorf("%d arguments, want 1", len(list))
	}
	return list[0], nil
}

func parseScalar(s string) (DType, error) {
	text, order := s, NativeOrder
	if text != "" {
		switch c := text[0]; c {
		case '<', '>', '|':
			order, text = Order(c), text[1:]
		case '=':
			text = text[1:]
		}
	}
	finish := func(d DType) (DType, error) {
		d.Order = NoOrder
		if d.ordered() {
			if d.Order = order; order == NoOrder {
				return DType{}, fmt.Errorf("the byte order is missing")
			}
		}
		return d, nil
	}
	if d, ok := typeNames[text]; ok && (text == s || d.Kind == BFloat) {
		return finish(d)
	}
	if len(text) < 2 {
		return DType{}, fmt.Errorf("not a NumPy type string")
	}
	if unit, isTime, err := parseTime(&text); isTime {
		kind := letterKinds[text[0]]
		if err != nil || text[1:] != "8" {
			return DType{}, fmt.Errorf("no such unit of time, or not 8 bytes")
		}
		return finish(DType{Kind: kind, Size: 8, Unit: unit})
	}
	kind, ok := letterKinds[text[0]]
	if !ok {
		return DType{}, fmt.Errorf("unknown kind %q", text[:1])
	}
	digits := text[1:]
	size, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || strings.Trim(digits, "0123456789") != "" {
		return DType{}, fmt.Errorf("invalid size %q", digits)
	}
	if kind == Unicode {
		if size > math.MaxInt32/4 {
			return DType{}, fmt.Errorf("invalid size %q", digits)
		}
		size *= 4
	}
	return finish(DType{Kind: kind, Size: int(size)})
}

// parseTime removes the unit from a time type and sets text to the short name.
func parseTime(text *string) (u TimeUnit, isTime bool, err error) {
	t := *text
	for long, short := range map[string]string{"datetime64": "M8", "timedelta64": "m8"} {
		if rest, ok := strings.CutPrefix(t, long); ok {
			t = short + rest
		}
	}
	if t[0] != 'M' && t[0] != 'm' {
		return u, false, nil
	}
	head, unit, found := strings.Cut(t, "[")
	if *text = head; len(head) < 2 {
		*text = head + " "
	}
	if !found {
		return u, true, nil
	}
	unit, closed := strings.CutSuffix(unit, "]")
	name := strings.TrimLeft(unit, "0123456789")
	u = TimeUnit{Name: name, Count: 1}
	if count := unit[:len(unit)-len(name)]; count != "" {
		u.Count, err = strconv.Atoi(count)
	}
	if name == "generic" && u.Count == 1 {
		return TimeUnit{}, true, nil
	}
	if !closed || u.Count < 1 || !slices.Contains(timeUnits, name) {
		err = fmt.Errorf("unit of time")
	}
	return u, true, err
}

// fromLiteral converts a Python literal to a type. As in NumPy, all structures inside an aligned
// structure are aligned.
func fromLiteral(v any, aligned bool, depth int) (DType, error) {
	if depth > maxDepth {
		return DType{}, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	switch v := v.(type) {
	case string:
		if strings.HasPrefix(v, "enum(") || strings.HasPrefix(v, "sequence(") || strings.HasPrefix(v, "reference(") {
			return parseNested(v, depth)
		}
		return parseScalar(v)
	case pyList:
		return fromList(v, aligned, depth)
	case pyDict:
		return fromDict(v, aligned, depth)
	case pyTuple:
		if len(v) == 2 {
			base, err := fromLiteral(v[0], aligned, depth+1)
			if err != nil {
				return DType{}, err
			}
			return withShape(base, v[1])
		}
	}
	return DType{}, fmt.Errorf("%v is not a type", v)
}

// withShape returns a sub-array of base. shape is a tuple or one length.
func withShape(base DType, shape any) (DType, error) {
	var dims []int64
	switch s := shape.(type) {
	case int64:
		dims = []int64{s}
	case pyTuple:
		for _, x := range s {
			n, ok := x.(int64)
			if !ok {
				return DType{}, fmt.Errorf("shape %v", shape)
			}
			dims = append(dims, n)
		}
	default:
		return DType{}, fmt.Errorf("shape %v", shape)
	}
	for _, n := range dims {
		if n < 1 {
			return DType{}, fmt.Errorf("shape %v without elements", dims)
		}
	}
	// As in NumPy, an empty tuple and the bare length 1 do not make a sub-array.
	if _, bare := shape.(int64); len(dims) == 0 || bare && dims[0] == 1 {
		return base, nil
	}
	return SubArrayOf(base, dims...), nil
}

func fromList(list pyList, aligned bool, depth int) (DType, error) {
	fields := make([]Field, len(list))
	for i, x := range list {
		item, ok := x.(pyTuple)
		if !ok || len(item) != 2 && len(item) != 3 {
			return DType{}, fmt.Errorf("field %d is %v", i, x)
		}
		switch name := item[0].(type) {
		case string:
			fields[i].Name = name
		case pyTuple:
			if len(name) != 2 {
				return DType{}, fmt.Errorf("name of field %d: got %v", i, name)
			}
			title, ok1 := name[0].(string)
			short, ok2 := name[1].(string)
			if !ok1 || !ok2 {
				return DType{}, fmt.Errorf("name of field %d: got %v", i, name)
			}
			fields[i].Title, fields[i].Name = title, short
		default:
			return DType{}, fmt.Errorf("name of field %d: got %v", i, name)
		}
		if fields[i].Name == "" {
			fields[i].Name = "f" + strconv.Itoa(i)
		}
		var err error
		fields[i].Type, err = fromLiteral(item[1], aligned, depth+1)
		if err == nil && len(item) == 3 {
			fields[i].Type, err = withShape(fields[i].Type, item[2])
		}
		if err != nil {
			return DType{}, fmt.Errorf("field %q: %w", fields[i].Name, err)
		}
	}
	return checkedStruct(aligned, fields)
}

// checkedStruct is StructOf for parsed types, whose sizes are untrusted.
func checkedStruct(aligned bool, fields []Field) (DType, error) {
	total := 0
	for _, f := range fields {
		if total += f.Type.Size; total > maxElementSize || f.Type.Size < 0 {
			return DType{}, fmt.Errorf("more than %d bytes", maxElementSize)
		}
	}
	return StructOf(aligned, fields...), nil
}

func fromDict(dict pyDict, aligned bool, depth int) (DType, error) {
	lists := make(map[string]pyList)
	d := DType{Kind: Struct, Order: NoOrder, Size: -1, Aligned: aligned}
	for _, item := range dict {
		key, _ := item.key.(string)
		ok := false
		switch key {
		case "names", "formats", "offsets", "titles":
			lists[key], ok = item.value.(pyList)
		case "itemsize":
			var n int64
			if n, ok = item.value.(int64); n < 1 || n > maxElementSize {
				ok = false
			}
			d.Size = int(n)
		case "aligned":
			var a bool
			a, ok = item.value.(bool)
			d.Aligned = d.Aligned || a
		}
		if !ok {
			return DType{}, fmt.Errorf("%v: %v", item.key, item.value)
		}
	}
	names := lists["names"]
	for key, list := range lists {
		if len(list) != len(names) {
			return DType{}, fmt.Errorf("%d names and %d %s", len(names), len(list), key)
		}
	}
	if lists["formats"] == nil {
		return DType{}, fmt.Errorf("a dict without formats")
	}
	fields := make([]Field, len(names))
	for i, name := range names {
		f := &fields[i]
		ok := true
		if f.Name, ok = name.(string); !ok {
			return DType{}, fmt.Errorf("name of field %d: got %v", i, name)
		}
		var err error
		if f.Type, err = fromLiteral(lists["formats"][i], d.Aligned, depth+1); err != nil {
			return DType{}, fmt.Errorf("field %q: %w", f.Name, err)
		}
		if t := lists["titles"]; t != nil && t[i] != nil {
			if f.Title, ok = t[i].(string); !ok {
				return DType{}, fmt.Errorf("field %q has the title %v", f.Name, t[i])
			}
		}
	}
	laid, err := checkedStruct(d.Aligned, fields)
	if err != nil {
		return DType{}, err
	}
	if offsets := lists["offsets"]; offsets != nil {
		laid.Size = 0
		for i, x := range offsets {
			n, ok := x.(int64)
			if !ok || n < 0 || n > maxElementSize {
				return DType{}, fmt.Errorf("field %q at %v", fields[i].Name, x)
			}
			laid.Fields[i].Offset = int(n)
			laid.Size = max(laid.Size, int(n)+laid.Fields[i].Type.Size)
		}
		if d.Aligned {
			laid.Size = roundUp(laid.Size, laid.alignment())
		}
	}
	if d.Size >= 0 {
		laid.Size = d.Size
	}
	return laid, nil
}

// enumFromLiteral reads (base, {name: value}).
func enumFromLiteral(v any) (DType, error) {
	t, ok := v.(pyTuple)
	if !ok || len(t) != 2 {
		return DType{}, fmt.Errorf("not enum(base, {name: value})")
	}
	text, ok1 := t[0].(string)
	dict, ok2 := t[1].(pyDict)
	if !ok1 || !ok2 {
		return DType{}, fmt.Errorf("not enum(base, {name: value})")
	}
	base, err := parseScalar(text)
	if err != nil {
		return DType{}, err
	}
	members := make([]Member, len(dict))
	for i, x := range dict {
		name, ok1 := x.key.(string)
		value, ok2 := x.value.(int64)
		if base.Kind == Uint {
			ok2 = ok2 && value >= 0
			if large, ok := x.value.(uint64); ok { // does not fit an int64, so only a base of 8 bytes has it
				value, ok2 = int64(large), base.Size == 8
			}
		}
		if !ok1 || !ok2 {
			return DType{}, fmt.Errorf("enumeration member %v: %v", x.key, x.value)
		}
		members[i] = Member{Name: name, Value: value}
	}
	return EnumOf(base, members...), nil
}
