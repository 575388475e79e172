// Pages and the footer of a file.

package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/hyperslab/hyperslab/internal/errs"
)

const magic = "PAR1"

// maxPage is the maximum size of a page without compression, because sizes are int32.
const maxPage = math.MaxInt32 - 1<<10

// ErrColumn means columns of different lengths, or values that exceed the size of a page.
var ErrColumn = errs.New("invalid column")

// Column is a column of a table: either Ints or Bytes is used.
type Column struct {
	Name string
	Ints []int64

	Bytes   [][]byte // nil: null
	Strings bool     // Bytes are strings in UTF-8, with a dictionary
}

// Numbers of the format.
const (
	typeInt64     = 2
	typeByteArray = 6

	required = 0
	optional = 1

	convertedUTF8 = 0

	encodingPlain      = 0
	encodingRLE        = 3
	encodingDictionary = 8

	codecZstd = 6

	pageData       = 0
	pageDictionary = 2
)

// stored describes the pages of a column in the file.
type stored struct {
	data, dictionary         int64 // offsets; dictionary is 0 without one
	compressed, uncompressed int64 // bytes with the headers
}

// encoders holds encoders, because a new one allocates megabytes.
var encoders = sync.Pool{New: func() any {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		return err
	}
	return z
}}

// Write writes a table of rows rows to w.
func Write(w io.Writer, rows int, columns ...Column) error {
	z, ok := encoders.Get().(*zstd.Encoder)
	if !ok {
		return errors.New("no Zstandard encoder")
	}
	defer encoders.Put(z)
	f := &file{w: w, zstd: z}
	f.write([]byte(magic))
	places := make([]stored, len(columns))
	for i := range columns {
		c := &columns[i]
		length := len(c.Bytes)
		if c.Ints != nil {
			length = len(c.Ints)
		}
		if length != rows {
			return fmt.Errorf("%w %s: got %d values, want %d", ErrColumn, c.Name, length, rows)
		}
		var err error
		if places[i], err = f.column(c); err != nil {
			return err
		}
	}
	footer := footerOf(rows, columns, places)
	f.write(binary.LittleEndian.AppendUint32(footer, uint32(len(footer))))
	f.write([]byte(magic))
	return f.err
}

// file is a file that is written. The first error ends it.
type file struct {
	w    io.Writer
	zstd *zstd.Encoder
	at   int64
	err  error
}

func (f *file) write(b []byte) {
	if f.err == nil {
		var n int
		n, f.err = f.w.Write(b)
		f.at += int64(n)
	}
}

// column writes the pages of a column.
func (f *file) column(c *Column) (s stored, err error) {
	encoding, body := encodingPlain, []byte(nil)
	if c.Ints != nil {
		body = make([]byte, 0, 8*len(c.Ints))
		for _, x := range c.Ints {
			body = binary.LittleEndian.AppendUint64(body, uint64(x))
		}
	} else {
		body = levels(c.Bytes)
		if c.Strings {
			encoding = encodingDictionary
			dictionary, indexes := dictionaryOf(c.Bytes)
			var values []byte
			for _, x := range dictionary {
				values = plain(values, x)
			}
			s.dictionary = f.at
			err := f.page(&s, c, pageDictionary, values, func(t *thrift) {
				t.begin(7)
				t.int(1, int64(len(dictionary)))
				t.int(2, encodingPlain)
				t.end()
			})
			if err != nil {
				return s, err
			}
			body = append(body, indexes...)
		} else {
			for _, x := range c.Bytes {
				if x != nil {
					body = plain(body, x)
				}
			}
		}
	}
	s.data = f.at
	err = f.page(&s, c, pageData, body, func(t *thrift) {
		t.begin(5)
		t.int(1, int64(max(len(c.Ints), len(c.Bytes))))
		t.int(2, int64(encoding))
		t.int(3, encodingRLE)
		t.int(4, encodingRLE)
		t.end()
	})
	return s, err
}

// page writes a page. own writes the part of the header for its kind.
func (f *file) page(s *stored, c *Column, kind int64, body []byte, own func(t *thrift)) error {
	if len(body) > maxPage {
		return fmt.Errorf("%w %s: got %d bytes, want at most %d", ErrColumn, c.Name, len(body), int64(maxPage))
	}
	packed := f.zstd.EncodeAll(body, nil)
	var t thrift
	t.int(1, kind)
	t.int(2, int64(len(body)))
	t.int(3, int64(len(packed)))
	own(&t)
	header := t.bytes()
	f.write(header)
	f.write(packed)
	s.compressed += int64(len(header) + len(packed))
	s.uncompressed += int64(len(header) + len(body))
	return f.err
}

// levels returns the definition levels of optional values: 1 for a value, 0 for null.
func levels(values [][]byte) []byte {
	b := make([]byte, 4)
	b = runs(b, len(values), 1, func(i int) uint64 {
		if values[i] != nil {
			return 1
		}
		return 0
	})
	binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// runs appends n values of some bits each as runs of equal values.
func runs(b []byte, n, width int, value func(i int) uint64) []byte {
	for i := 0; i < n; {
		x, end := value(i), i+1
		for end < n && value(end) == x {
			end++
		}
		b = binary.AppendUvarint(b, uint64(end-i)<<1)
		b = append(b, binary.LittleEndian.AppendUint64(nil, x)[:(width+7)/8]...)
		i = end
	}
	return b
}

// dictionaryOf returns the distinct values, and the indexes of the values that are not null.
func dictionaryOf(values [][]byte) (dictionary [][]byte, indexes []byte) {
	known := make(map[string]uint64)
	var list []uint64
	for _, x := range values {
		if x == nil {
			continue
		}
		i, ok := known[string(x)]
		if !ok {
			i = uint64(len(dictionary))
			known[string(x)] = i
			dictionary = append(dictionary, x)
		}
		list = append(list, i)
	}
	width := max(bits.Len(uint(max(len(dictionary)-1, 0))), 1)
	return dictionary, runs([]byte{byte(width)}, len(list), width, func(i int) uint64 { return list[i] })
}

// plain appends a byte string with its length.
func plain(b, x []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(x))), x...)
}

// footerOf returns the metadata of the file.
func footerOf(rows int, columns []Column, places []stored) []byte {
	var t thrift
	t.int(1, 1)
	t.list(2, len(columns)+1, kindStruct)
	t.text(4, "schema")
	t.int(5, int64(len(columns)))
	t.end()
	for i := range columns {
		c := &columns[i]
		if c.Ints != nil {
			t.int(1, typeInt64)
			t.int(3, required)
			t.text(4, c.Name)
		} else {
			t.int(1, typeByteArray)
			t.int(3, optional)
			t.text(4, c.Name)
			if c.Strings {
				t.int(6, convertedUTF8)
			}
		}
		t.end()
	}
	t.listEnd()
	t.long(3, int64(rows))
	t.list(4, 1, kindStruct)
	total := int64(0)
	t.list(1, len(columns), kindStruct)
	for i := range columns {
		c, s := &columns[i], &places[i]
		total += s.uncompressed
		t.long(2, s.data)
		t.begin(3)
		if c.Ints != nil {
			t.int(1, typeInt64)
		} else {
			t.int(1, typeByteArray)
		}
		encodings := []int64{encodingPlain, encodingRLE}
		if c.Strings {
			encodings = append(encodings, encodingDictionary)
		}
		t.list(2, len(encodings), kindInt)
		for _, e := range encodings {
			t.element(e)
		}
		t.listEnd()
		t.list(3, 1, kindBinary)
		t.binary(c.Name)
		t.listEnd()
		t.int(4, codecZstd)
		t.long(5, int64(rows))
		t.long(6, s.uncompressed)
		t.long(7, s.compressed)
		t.long(9, s.data)
		if s.dictionary != 0 {
			t.long(11, s.dictionary)
		}
		if c.Ints != nil { // without it fastparquet reads float64
			t.begin(12)
			t.long(3, 0) // nulls
			t.end()
		}
		t.end() // metadata
		t.end() // chunk
	}
	t.listEnd()
	t.long(2, total)
	t.long(3, int64(rows))
	t.end()
	t.listEnd()
	t.text(6, "hyperslab")
	return t.bytes()
}
