// Annotation of a frame, byte range by byte range.

package cframe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// MaxDescribed is the number of chunks, and of index entries, that Describe lists one by one.
// Further chunks are counted in one field, but still checked.
const MaxDescribed = 1024

// Describe annotates the frame that starts at the beginning of r, which has size bytes: header,
// metalayers, the header of each chunk, index and trailer. It describes as much as it can read and
// attaches complaints to errors, including all errors of Frame.Check, Frame.CheckChunks and
// Frame.Array. It decodes the index with chunk.Decode. If that fails, or the frame has more than
// four million chunks, Describe does not list or check the chunks, and the field of the index
// contains the reason. It never fails.
func Describe(r io.ReaderAt, size int64) format.Field {
	return describe(&Frame{src: r, limits: describeLimits()}, size)
}

// describeLimits returns a lower limit for the index than DefaultLimits, because a file of 200
// bytes can claim any number of chunks.
func describeLimits() Limits {
	l := DefaultLimits()
	l.Index = 32 << 20
	return l
}

// DescribeDir is Describe for the sparse frame in the directory fsys. Offsets of the fields of a
// chunk count from the start of the chunk's file.
func DescribeDir(fsys fs.FS) format.Field {
	file := dirFile{fsys, IndexFile}
	size, err := file.size()
	if err != nil {
		return format.Field{Name: "frame", Complaint: format.Complaint(err)}
	}
	return describe(&Frame{src: file, dir: fsys, limits: describeLimits()}, size)
}

func describe(f *Frame, size int64) format.Field {
	root := format.Field{Name: "frame", Length: size}
	err := f.read(size)
	root.Fields = append(root.Fields, f.headerField(size))
	if f.HeaderSize == 0 {
		root.Complain(err)
		return root
	}
	root.Length = min(size, f.FrameSize)
	root.Value = f.summary()
	if f.Index.Length > 0 {
		offsets, offErr := f.Offsets(nil)
		chunks, index := f.chunksField(), f.indexField(offsets, offErr)
		if offErr == nil && (f.Type() != Sparse || f.dir != nil) {
			f.describeChunks(&chunks, offsets)
		}
		root.Fields = append(root.Fields, chunks, index)
	}
	if size >= f.FrameSize {
		if t, ok := f.trailerField(); ok {
			root.Fields = append(root.Fields, t)
		}
	}
	if err != nil {
		root.Complain(err)
		return root
	}
	root.Complain(f.Check())
	_, _, err = f.Array()
	root.Complain(err)
	for _, q := range f.quirks() {
		root.Complain(q)
	}
	return root
}

func (f *Frame) summary() string {
	if f.VariableChunks() {
		return fmt.Sprintf("%s, %d chunks of variable length, %d bytes in %d", f.Type(), f.NumChunks(), f.NBytes, f.CBytes)
	}
	return fmt.Sprintf("%s, %d chunks, %d bytes in %d", f.Type(), f.NumChunks(), f.NBytes, f.CBytes)
}

// headerField annotates the header, as far as it can be read.
func (f *Frame) headerField(size int64) format.Field {
	field := format.Field{Name: "header", Length: min(size, fixedHeaderSize)}
	b, err := readAt(f.src, 0, field.Length, "header")
	if err == nil {
		// Annotate the readable metalayers even if others are corrupt.
		if fixed, ferr := parseFixed(b, nil); ferr == nil {
			field.Length = min(size, int64(fixed.HeaderSize), f.limits.Header)
			b, err = readAt(f.src, 0, field.Length, "header")
		}
	}
	if err != nil {
		field.Complain(err)
		return field
	}
	h, err := parseHeader(b, &field.Fields)
	if err == nil {
		h.addParts(field.Fields)
	}
	addContents(field.Fields, h.Metalayers, 0, describeFixed)
	return field
}

// describeFixed annotates the content of a fixed metalayer of a supported kind.
func describeFixed(m Metalayer) (format.Field, bool) {
	if m.Name != b2ndmeta.Name && m.Name != b2ndmeta.CatervaName {
		return format.Field{}, false
	}
	d := b2ndmeta.Describe(m.Name, m.Content)
	d.Complaint = "" // Frame.Array returns the same error and adds it
	return d, true
}

// describeVariable annotates the content of a variable-length metalayer.
func describeVariable(m Metalayer) (format.Field, bool) { return chunk.Describe(m.Content), true }

// addContents adds the fields of describe to each metalayer's content.
func addContents(fields []format.Field, layers []Metalayer, start int64, describe func(Metalayer) (format.Field, bool)) {
	for _, m := range layers {
		for i := range fields {
			if f := &fields[i]; f.Offset+5 == start+m.Offset && f.Length == int64(len(m.Content))+5 {
				if d, ok := describe(m); ok {
					f.Fields = append(f.Fields, d.Moved(start+m.Offset))
				}
			}
		}
	}
}

// addParts splits the flags and the filter pipeline into their bytes.
func (h Header) addParts(fields []format.Field) {
	for i := range fields {
		switch f := &fields[i]; f.Name {
		case "flags":
			f.Fields = h.flagFields()
		case "filter pipeline":
			f.Fields = h.pipelineFields()
		}
	}
}

func (h Header) flagFields() []format.Field {
	lengths := "chunks of one length"
	if h.VariableChunks() {
		lengths = "chunks of variable length"
	}
	if h.VLBlocks() {
		lengths += ", blocks of variable length"
	}
	kind := h.Type().String()
	if h.UserType() != 0 {
		kind += fmt.Sprintf(", user's type %d", h.UserType())
	}
	split := [...]string{"always", "never", "automatic", "as Blosc1"}[h.SplitMode()-1]
	return []format.Field{
		{Name: "general_flags", Offset: 25, Length: 1, Value: fmt.Sprintf("%#02x", h.GeneralFlags),
			Meaning: fmt.Sprintf("version %d, %d-bit offsets, %s", h.Version(), h.OffsetBits(), lengths)},
		{Name: "frame_type", Offset: 26, Length: 1, Value: fmt.Sprintf("%#02x", h.FrameType), Meaning: kind},
		{Name: "codec_flags", Offset: 27, Length: 1, Value: fmt.Sprintf("%#02x", h.CodecFlags),
			Meaning: fmt.Sprintf("%s, level %d", h.Codec(), h.Level())},
		{Name: "other_flags", Offset: 28, Length: 1, Value: fmt.Sprintf("%#02x", h.OtherFlags), Meaning: "split mode: " + split},
	}
}

func (h Header) pipelineFields() []format.Field {
	var fs []format.Field
	add := func(name string, off int64, v uint8, meaning string) {
		fs = append(fs, format.Field{Name: name, Offset: off, Length: 1, Value: strconv.Itoa(int(v)), Meaning: meaning})
	}
	add("number of filters", 70, h.NumFilters, "")
	for i, f := range h.Filters {
		add(fmt.Sprintf("filter %d", i), int64(71+i), uint8(f), f.String())
	}
	add("udcodec", 77, h.UDCodec, chunk.Codec(h.UDCodec).String())
	add("compcode_meta", 78, h.CodecMeta, "parameter of the codec")
	for i, m := range h.FiltersMeta {
		add(fmt.Sprintf("filter meta %d", i), int64(79+i), m, fmt.Sprintf("parameter of filter %d", i))
	}
	dict := ""
	if h.UseDict() {
		dict = "dictionaries"
	}
	add("other_flags2", 85, h.OtherFlags2, dict)
	add("reserved", 86, h.Reserved, "")
	return fs
}

// chunksField returns the field of the section between header and index.
func (f *Frame) chunksField() format.Field {
	field := format.Field{Name: "chunks", Offset: int64(f.HeaderSize), Length: f.CBytes, Value: strconv.FormatInt(f.NumChunks(), 10)}
	if f.Type() == Sparse {
		field.Length, field.Meaning = 0, "each in a file of its own"
	}
	return field
}

// describeChunks adds the headers of the first chunks to field. It checks all chunks, up to the
// first error in one that is not listed.
func (f *Frame) describeChunks(field *format.Field, offsets []Offset) {
	check := f.chunkChecker(chunk.Policy{})
	failed := false
	for i, o := range offsets {
		err := check.next(o)
		failed = failed || err != nil
		if err != nil && (i >= MaxDescribed || errors.Is(err, errOverlap)) {
			field.Complaint = fmt.Sprintf("chunk %d: %s", i, format.Complaint(err))
			break
		}
		if i < MaxDescribed && !o.IsSpecial() {
			field.Fields = append(field.Fields, f.chunkField(i, o, err))
		}
	}
	if n := len(offsets) - MaxDescribed; n > 0 {
		field.Fields = append(field.Fields, format.Field{Name: "…", Offset: field.Offset, Value: strconv.Itoa(n), Meaning: "further chunks, not listed"})
	}
	if err := check.end(); err != nil && !failed {
		field.Complaint = format.Complaint(err)
	}
}

// chunkField annotates the header of the stored chunk i with its error. A special chunk has only
// its index entry, and the complaint about it is attached to that.
func (f *Frame) chunkField(i int, o Offset, err error) format.Field {
	c := format.Field{Name: fmt.Sprintf("chunk %d", i), Offset: int64(f.HeaderSize) + int64(o)}
	if f.Type() == Sparse {
		c.Offset, c.Meaning = 0, ChunkFile(o)
	}
	if err != nil {
		c.Complaint = format.Complaint(err)
	}
	h, herr := f.ReadChunkHeader(o)
	if herr != nil {
		return c
	}
	c.Length = int64(h.CBytes)
	c.Value = fmt.Sprintf("%d bytes in %d", h.NBytes, h.CBytes)
	if p, err := f.locate(o); err == nil {
		if b, err := readAt(p.src, p.at, int64(h.Size()), "chunk"); err == nil {
			c.Fields = append(c.Fields, chunk.DescribeHeader(b).Moved(c.Offset))
		}
	}
	return c
}

// indexField annotates the index and its entries. err is the reason if there are no offsets.
func (f *Frame) indexField(offsets []Offset, err error) format.Field {
	field := format.Field{Name: "index", Offset: f.Index.Offset, Length: f.Index.Length, Meaning: "one chunk of 64-bit offsets"}
	b, rerr := readAt(f.src, f.Index.Offset, f.Index.Length, "index")
	if rerr == nil {
		field.Fields = append(field.Fields, chunk.Describe(b).Moved(f.Index.Offset))
	}
	switch {
	case errors.Is(err, format.ErrUnsupported) || errors.Is(err, format.ErrLimit):
		field.Meaning += "; not listed: " + format.Complaint(err)
	case err != nil:
		field.Complain(err)
	}
	for i, o := range offsets[:min(len(offsets), MaxDescribed)] {
		// The index is compressed, so a single entry has no offset in the file.
		e := format.Field{Name: fmt.Sprintf("offset %d", i), Offset: f.Index.Offset, Value: o.String()}
		if err := o.Check(); err != nil {
			e.Complaint = format.Complaint(err)
		}
		field.Fields = append(field.Fields, e)
	}
	if n := len(offsets) - MaxDescribed; n > 0 {
		field.Fields = append(field.Fields, format.Field{Name: "…", Offset: f.Index.Offset, Value: strconv.Itoa(n), Meaning: "further offsets, not listed"})
	}
	return field
}

// trailerField annotates the trailer, if it can be found.
func (f *Frame) trailerField() (format.Field, bool) {
	b, err := f.readTrailer()
	if err != nil {
		return format.Field{}, false
	}
	field := format.Field{Name: "trailer", Length: int64(len(b))}
	t, err := parseTrailer(b, &field.Fields)
	if err == nil {
		addContents(field.Fields, t.VLMetalayers, 0, describeVariable)
	}
	return field.Moved(f.FrameSize - int64(len(b))), true
}

// quirks returns deviations that no library writes but C-Blosc2 accepts. They are complaints, but
// no reason to refuse the frame.
func (f *Frame) quirks() []error {
	var all []error
	add := func(odd bool, what string, off int64, got, want string) {
		if odd {
			all = append(all, bad(what, off, got, want, nil))
		}
	}
	id, user := f.CodecFlags&0x0F, f.UDCodec
	add(id != 6 && id != user && user != 0, "udcodec", 77, strconv.Itoa(int(user)), fmt.Sprintf("0 or %d, the codec in codec_flags", id))
	add(f.OtherFlags > 3, "other_flags", 28, fmt.Sprintf("%#02x", f.OtherFlags), "0 to 3")
	add(f.OtherFlags2 > 1, "other_flags2", 85, fmt.Sprintf("%#02x", f.OtherFlags2), "0 or 1")
	add(f.Reserved != 0, "reserved", 86, strconv.Itoa(int(f.Reserved)), "0")
	add(f.HasVLMetalayers != (len(f.Trailer.VLMetalayers) > 0), "has_vlmetalayers", 68,
		strconv.FormatBool(f.HasVLMetalayers), fmt.Sprintf("length in the trailer: %d", len(f.Trailer.VLMetalayers)))

	end := f.FrameSize
	typ, print := f.Trailer.FingerprintType, f.Trailer.Fingerprint
	add(typ > 3, "fingerprint", end-17, "type "+strconv.Itoa(int(typ)), "type 0 to 3")
	add(typ == 0 && print != [16]byte{}, "fingerprint", end-16, fmt.Sprintf("%x under type 0", print), "zeros")
	add(len(f.Trailer.VLMetalayers) > MaxMetalayers, "map", end-int64(f.Trailer.Size)+3,
		strconv.Itoa(len(f.Trailer.VLMetalayers))+" metalayers", "at most 16, all that the library writes")

	all = append(all, duplicates(f.Metalayers, 0)...)
	all = append(all, duplicates(f.Trailer.VLMetalayers, end-int64(f.Trailer.Size))...)
	return append(all, f.mapSizes()...)
}

// duplicates returns complaints about repeated names.
func duplicates(layers []Metalayer, start int64) []error {
	var all []error
	seen := make(map[string]bool, len(layers))
	for _, m := range layers {
		if seen[m.Name] {
			all = append(all, bad("content", start+m.Offset, "a second "+strconv.Quote(m.Name), "one of each name", nil))
		}
		seen[m.Name] = true
	}
	return all
}

// mapSizes returns complaints about the stored length of a map of metalayers if it differs from the
// length that C-Blosc2 writes.
func (f *Frame) mapSizes() []error {
	var all []error
	check := func(layers []Metalayer, at, extra int64) {
		want := extra + 6 // after the marker: the length field and the head of the map
		for _, m := range layers {
			want += 6 + int64(len(m.Name))
		}
		b, err := readAt(f.src, at+2, 2, "map size")
		if err != nil {
			all = append(all, err)
		} else if got := binary.BigEndian.Uint16(b); got != uint16(want) {
			all = append(all, bad("map size", at+1, strconv.Itoa(int(got)), strconv.Itoa(int(uint16(want))), nil))
		}
	}
	check(f.Metalayers, fixedHeaderSize, 1)
	check(f.Trailer.VLMetalayers, f.FrameSize-int64(f.Trailer.Size)+2, 0)
	return all
}
