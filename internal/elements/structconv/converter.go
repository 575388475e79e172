// Converters of one value.

package structconv

import "unsafe"

// State is the state of one call.
type State struct {
	Block []byte // the elements of the call; an encoder may append to it
	Lossy bool   // whether numbers may be clamped, rounded or truncated
}

type (
	// A Decoder stores the value of the element src at p.
	Decoder func(s *State, src []byte, p unsafe.Pointer) error
	// An Encoder stores the value at p in the element at an offset of the block. It gets an offset
	// because the block may move while it grows.
	Encoder func(s *State, at int, p unsafe.Pointer) error
)

// Converter converts a value of one Go type. The zero Converter converts no bytes.
type Converter struct {
	decode Decoder // nil if the bytes are copied
	encode Encoder
	copies int // number of bytes that are copied
}

// New returns a converter with the given functions.
func New(decode Decoder, encode Encoder) Converter { return Converter{decode: decode, encode: encode} }

// Copy returns the converter of a value without pointers that has the same n bytes in its element.
func Copy(n int) Converter { return Converter{copies: n} }

// Decode stores the value of the element src at p.
func (c *Converter) Decode(s *State, src []byte, p unsafe.Pointer) error {
	if c.decode != nil {
		return c.decode(s, src, p)
	}
	copy(unsafe.Slice((*byte)(p), c.copies), src[:c.copies])
	return nil
}

// Encode stores the value at p in the element at an offset of the block.
func (c *Converter) Encode(s *State, at int, p unsafe.Pointer) error {
	if c.encode != nil {
		return c.encode(s, at, p)
	}
	copy(s.Block[at:at+c.copies], unsafe.Slice((*byte)(p), c.copies))
	return nil
}

// Copies reports whether c only copies n bytes.
func (c *Converter) Copies(n int) bool { return c.decode == nil && c.copies == n }
