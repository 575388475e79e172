// Functions that find and change structures of HDF5 files.

package hdf5test

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// Object returns the header of the object with that path in a file.
func Object(t testing.TB, path, name string) *h5file.Object {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := h5file.Open(bytes.NewReader(b), int64(len(b)), nil)
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range f.Walk() {
		if err != nil {
			t.Fatal(err)
		}
		if e.Path == name {
			return e.Object
		}
	}
	t.Fatalf("no %s", name)
	return nil
}

// SetRows sets the first dimension of an object's dataspace, and its maximum, to rows. The header
// must have no checksum, and lengths of 8 bytes. SetRows returns the previous number of rows.
func SetRows(t testing.TB, path, name string, rows uint64) (had uint64) {
	t.Helper()
	at := Object(t, path, name).Message(h5file.DataspaceType).Offset
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rank, flags, lengths := int64(b[at+1]), b[at+2], at+8 // layout of message version 1
	if b[at] != 1 || rank == 0 {
		t.Fatalf("%s: a dataspace of version %d and rank %d", name, b[at], rank)
	}
	had = binary.LittleEndian.Uint64(b[lengths:])
	binary.LittleEndian.PutUint64(b[lengths:], rows)
	if flags&1 != 0 {
		binary.LittleEndian.PutUint64(b[lengths+8*rank:], rows)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return had
}

// Edit changes the content of a message of an object, with any version of its header. It corrects
// the checksum of the header.
func Edit(t testing.TB, path, name string, kind h5file.MessageType, edit func(message []byte)) {
	t.Helper()
	o := Object(t, path, name)
	m := o.Message(kind)
	if m == nil {
		t.Fatalf("%s has no %v", name, kind)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	edit(b[m.Offset:][:m.Size])
	if o.Version == 2 {
		p := o.Pieces[m.Chunk]
		piece := b[p.Addr:][:p.Size]
		sum := len(piece) - 4
		binary.LittleEndian.PutUint32(piece[sum:], h5file.Lookup3(piece[:sum]))
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Reseal corrects the checksums of all structures of a file after changes of their other fields.
func Reseal(b []byte) {
	var fix func(f format.Field)
	fix = func(f format.Field) {
		for _, x := range f.Fields {
			fix(x)
			if x.Name == "checksum" && x.Length == 4 && x.Offset > f.Offset {
				binary.LittleEndian.PutUint32(b[x.Offset:], h5file.Lookup3(b[f.Offset:x.Offset]))
			}
		}
	}
	fix(h5file.Describe(bytes.NewReader(b), int64(len(b))))
}

// ChunkSizes returns the fields of the file with the stored sizes of chunks, in the order of the
// indexes.
func ChunkSizes(b []byte) (list []format.Field) {
	for _, x := range h5file.Describe(bytes.NewReader(b), int64(len(b))).Walk() {
		switch x.Name {
		case "chunk size", "size of chunk", "size of filtered chunk":
			list = append(list, x)
		}
	}
	return list
}
