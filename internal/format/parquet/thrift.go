// The compact protocol of Thrift, as far as headers and footers need it.

package parquet

import "encoding/binary"

// Types of fields and elements.
const (
	kindInt    = 5 // i32
	kindLong   = 6 // i64
	kindBinary = 8
	kindList   = 9
	kindStruct = 12
)

// thrift is a structure that is being written. Fields must be written in ascending order.
type thrift struct {
	b     []byte
	last  int64   // number of the last field of the structure
	outer []int64 // last of the structures around it
}

// field begins a field.
func (t *thrift) field(number int64, kind byte) {
	if step := number - t.last; step > 0 && step <= 15 {
		t.b = append(t.b, byte(step)<<4|kind)
	} else {
		t.b = binary.AppendVarint(append(t.b, kind), number)
	}
	t.last = number
}

func (t *thrift) int(number, x int64) {
	t.field(number, kindInt)
	t.b = binary.AppendVarint(t.b, x)
}

func (t *thrift) long(number, x int64) {
	t.field(number, kindLong)
	t.b = binary.AppendVarint(t.b, x)
}

func (t *thrift) text(number int64, s string) {
	t.field(number, kindBinary)
	t.binary(s)
}

// begin begins a structure in a field.
func (t *thrift) begin(number int64) {
	t.field(number, kindStruct)
	t.outer, t.last = append(t.outer, t.last), 0
}

// end ends a structure in a field or in a list. The next structure of a list begins at once.
func (t *thrift) end() {
	t.b = append(t.b, 0)
	if t.last = t.outer[len(t.outer)-1]; t.last != inList {
		t.outer = t.outer[:len(t.outer)-1]
		return
	}
	t.last = 0
}

// inList marks a list in outer.
const inList = -1

// list begins a list of n elements. listEnd ends it.
func (t *thrift) list(number int64, n int, kind byte) {
	t.field(number, kindList)
	if n < 15 {
		t.b = append(t.b, byte(n)<<4|kind)
	} else {
		t.b = binary.AppendUvarint(append(t.b, 15<<4|kind), uint64(n))
	}
	t.outer, t.last = append(t.outer, t.last, inList), 0
}

func (t *thrift) listEnd() {
	t.last = t.outer[len(t.outer)-2]
	t.outer = t.outer[:len(t.outer)-2]
}

// element appends an element of a list of integers.
func (t *thrift) element(x int64) { t.b = binary.AppendVarint(t.b, x) }

// binary appends a string, or an element of a list of strings.
func (t *thrift) binary(s string) {
	t.b = append(binary.AppendUvarint(t.b, uint64(len(s))), s...)
}

// bytes ends the outermost structure and returns it.
func (t *thrift) bytes() []byte { return append(t.b, 0) }
