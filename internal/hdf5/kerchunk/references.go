// Files of kerchunk references: JSON, or Parquet in a directory.

package kerchunk

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/hyperslab/hyperslab/internal/format/parquet"
	"github.com/hyperslab/hyperslab/internal/grid"
)

// members writes the members of a JSON object one by one, so that their number needs no memory.
type members struct {
	f     *os.File
	w     *bufio.Writer
	begun bool
}

func newMembers(f *os.File, head string) *members {
	m := &members{f: f, w: bufio.NewWriterSize(f, 1<<20)}
	_, _ = m.w.WriteString(head) // shorter than the buffer
	return m
}

// add begins a member.
func (m *members) add(key string) error {
	b, err := json.Marshal(key)
	if err != nil {
		return err
	}
	separator := "\n"
	if m.begun {
		separator = ",\n"
	}
	m.begun = true
	_, err = fmt.Fprintf(m.w, "%s%s:", separator, b)
	return err
}

// close writes the end of the document.
func (m *members) close(tail string) error {
	_, err := m.w.WriteString(tail)
	return errors.Join(err, m.w.Flush(), m.f.Close())
}

// jsonReferences are references of version 1 in JSON. The last one is .zmetadata, because
// zarr-python cannot list the groups of references without it.
type jsonReferences struct {
	*members
	url       string
	quote     []byte // url in JSON
	array     string // name of the array and "/"
	documents map[string][]byte
}

func newJSONReferences(name string) (references, error) {
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	return &jsonReferences{members: newMembers(f, `{"version":1,"refs":{`), documents: make(map[string][]byte)}, nil
}

func (r *jsonReferences) document(key string, document []byte) error {
	r.documents[key] = document
	return r.text(key, document)
}

// text adds a document as a string.
func (r *jsonReferences) text(key string, document []byte) error {
	b, err := json.Marshal(string(document))
	if err == nil {
		err = r.add(key)
	}
	if err == nil {
		_, err = r.w.Write(b)
	}
	return err
}

func (r *jsonReferences) begin(key string, _ []int64) error {
	r.array = key + "/"
	return nil
}

func (r *jsonReferences) chunk(at []uint64, url string, off, n uint64) error {
	if url != r.url || r.quote == nil {
		var err error
		if r.quote, err = json.Marshal(url); err != nil {
			return err
		}
		r.url = url
	}
	if err := r.add(r.array + chunkKey(at)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(r.w, "[%s,%d,%d]", r.quote, off, n)
	return err
}

func (r *jsonReferences) content(at []uint64, b []byte) error {
	if err := r.add(r.array + chunkKey(at)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(r.w, "%q", "base64:"+base64.StdEncoding.EncodeToString(b))
	return err
}

func (r *jsonReferences) close() error {
	b := []byte(`{"metadata":{`)
	for i, key := range slices.Sorted(maps.Keys(r.documents)) {
		if i > 0 {
			b = append(b, ',')
		}
		quoted, _ := json.Marshal(key) // a string has no error
		b = append(append(append(b, quoted...), ':'), r.documents[key]...)
	}
	err := r.text(".zmetadata", append(b, `},"zarr_consolidated_format":1}`...))
	return errors.Join(err, r.members.close("\n}}\n"))
}

// chunkKey returns the name of a chunk in Zarr.
func chunkKey(at []uint64) string {
	if len(at) == 0 {
		return "0"
	}
	var b []byte
	for i, n := range at {
		if i > 0 {
			b = append(b, '.')
		}
		b = strconv.AppendUint(b, n, 10)
	}
	return string(b)
}

// recordSize is the number of chunks of a Parquet file, and placeBytes the bytes of each in the
// temporary file.
const (
	recordSize = 10_000
	placeBytes = 20 // number of the URL from 1 on, offset, size
)

// parquetReferences are references in the layout of fsspec's LazyReferenceMapper: .zmetadata, and a
// Parquet file for each 10,000 chunks of an array. The indexes of HDF5 yield chunks in several
// orders, and so their locations go through a temporary file.
type parquetReferences struct {
	root  *os.Root
	meta  *members
	urls  [][]byte // of all arrays
	array string
	total int64 // chunks of the array, with those that are not stored
	grid  []int64

	contents map[int64][]byte // of chunks of the array; limited by maxEmbed
	temp     *os.File
	slots    map[int64]int64 // places of the records in temp
	pending  []byte          // locations of consecutive chunks
	at       int64           // their offset in temp
}

func newParquetReferences(name string) (_ references, err error) {
	r := &parquetReferences{slots: make(map[int64]int64), contents: make(map[int64][]byte)}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.release())
		}
	}()
	if err := os.Mkdir(name, 0o777); err != nil {
		return nil, err
	}
	if r.root, err = os.OpenRoot(name); err != nil {
		return nil, err
	}
	if r.temp, err = os.CreateTemp("", "hyperslab-*"); err != nil {
		return nil, err
	}
	f, err := r.root.Create(".zmetadata")
	if err != nil {
		return nil, err
	}
	r.meta = newMembers(f, fmt.Sprintf(`{"zarr_consolidated_format":1,"record_size":%d,"metadata":{`, recordSize))
	return r, nil
}

func (r *parquetReferences) document(key string, document []byte) error {
	err := r.meta.add(key)
	if err == nil {
		_, err = r.meta.w.Write(document)
	}
	return err
}

func (r *parquetReferences) begin(key string, counts []int64) error {
	if err := r.finish(); err != nil {
		return err
	}
	r.array, r.grid, r.total = key, counts, 1
	for _, n := range counts {
		r.total *= n // at most the number of elements
	}
	return nil
}

// number returns the number of a chunk in row-major order.
func (r *parquetReferences) number(at []uint64) (n int64) {
	for i, k := range at {
		n = n*r.grid[i] + int64(k)
	}
	return n
}

func (r *parquetReferences) chunk(at []uint64, url string, off, n uint64) error {
	if n := len(r.urls); n == 0 || string(r.urls[n-1]) != url {
		r.urls = append(r.urls, []byte(url))
	}
	number := r.number(at)
	slot, ok := r.slots[number/recordSize]
	if !ok {
		slot = int64(len(r.slots))
		r.slots[number/recordSize] = slot
	}
	place := (slot*recordSize + number%recordSize) * placeBytes
	if place != r.at+int64(len(r.pending)) || len(r.pending) >= 1<<20 {
		if err := r.flush(); err != nil {
			return err
		}
		r.at = place
	}
	r.pending = binary.LittleEndian.AppendUint32(r.pending, uint32(len(r.urls)))
	r.pending = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(r.pending, off), n)
	return nil
}

// flush writes the pending locations to the temporary file.
func (r *parquetReferences) flush() error {
	_, err := r.temp.WriteAt(r.pending, r.at)
	r.pending = r.pending[:0]
	return err
}

// finish writes the Parquet files of the array.
func (r *parquetReferences) finish() error {
	if err := r.flush(); err != nil {
		return err
	}
	places := make([]byte, recordSize*placeBytes)
	for _, record := range slices.Sorted(maps.Keys(r.slots)) {
		n, err := r.temp.ReadAt(places, r.slots[record]*recordSize*placeBytes)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		clear(places[n:])
		rows := int(min(recordSize, r.total-record*recordSize))
		paths, offsets, sizes := make([][]byte, rows), make([]int64, rows), make([]int64, rows)
		for i := range rows {
			p := places[i*placeBytes:]
			offsets[i], sizes[i] = int64(binary.LittleEndian.Uint64(p[4:])), int64(binary.LittleEndian.Uint64(p[12:]))
			if url := binary.LittleEndian.Uint32(p); url > 0 {
				paths[i] = r.urls[url-1]
			}
		}
		err = r.write(record, rows, parquet.Column{Name: "path", Bytes: paths, Strings: true}, parquet.Column{Name: "offset", Ints: offsets}, parquet.Column{Name: "size", Ints: sizes})
		if err != nil {
			return err
		}
	}
	clear(r.slots)
	return errors.Join(r.finishContents(), r.temp.Truncate(0))
}

// finishContents writes the Parquet files of an array with contents, which has no locations.
func (r *parquetReferences) finishContents() error {
	if len(r.contents) == 0 {
		return nil
	}
	defer clear(r.contents)
	for record := range grid.DivUp(r.total, recordSize) {
		rows := int(min(recordSize, r.total-record*recordSize))
		raw := make([][]byte, rows)
		for i := range raw {
			raw[i] = r.contents[record*recordSize+int64(i)]
		}
		err := r.write(record, rows, parquet.Column{Name: "path", Bytes: make([][]byte, rows), Strings: true}, parquet.Column{Name: "offset", Ints: make([]int64, rows)},
			parquet.Column{Name: "size", Ints: make([]int64, rows)}, parquet.Column{Name: "raw", Bytes: raw})
		if err != nil {
			return err
		}
	}
	return nil
}

// write writes a Parquet file of the array.
func (r *parquetReferences) write(record int64, rows int, columns ...parquet.Column) error {
	if err := r.root.MkdirAll(r.array, 0o777); err != nil {
		return err
	}
	f, err := r.root.Create(fmt.Sprintf("%s/refs.%d.parq", r.array, record))
	if err != nil {
		return err
	}
	return errors.Join(parquet.Write(f, rows, columns...), f.Close())
}

func (r *parquetReferences) content(at []uint64, b []byte) error {
	r.contents[r.number(at)] = b
	return nil
}

func (r *parquetReferences) close() error {
	return errors.Join(r.finish(), r.meta.close("\n}}\n"), r.release())
}

// release removes the temporary file.
func (r *parquetReferences) release() (err error) {
	if r.temp != nil {
		err = errors.Join(r.temp.Close(), os.Remove(r.temp.Name()))
	}
	if r.root != nil {
		err = errors.Join(err, r.root.Close())
	}
	return err
}
