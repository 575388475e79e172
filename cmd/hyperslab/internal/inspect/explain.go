// hyperslab explain: annotate every byte of a file.

package inspect

import (
	"bufio"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5parts"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/tree/chunkmap"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// ExplainDoc is the document of explain --json.
type ExplainDoc struct {
	Schema string   `json:"schema"`
	File   string   `json:"file"`
	Format string   `json:"format"`
	Errors int      `json:"errors"`
	Field  FieldDoc `json:"field"`
}

// FieldDoc is one annotated range of bytes.
type FieldDoc struct {
	Name      string        `json:"name"`
	Offset    shell.JSONInt `json:"offset"`
	Length    shell.JSONInt `json:"length"`
	Hex       *string       `json:"hex"`
	Value     *string       `json:"value"`
	Meaning   *string       `json:"meaning"`
	Complaint *string       `json:"error"`
	Fields    []FieldDoc    `json:"fields"`
}

// largestChunk is the maximum size in bytes of a file that is one chunk, because it is read as a
// whole.
const largestChunk = 1 << 30

// explainJob is one run of explain.
type explainJob struct {
	*shell.App

	at    string
	as    string
	depth int
	wrong bool
	json  bool
}

func newExplain(a *shell.App) *cobra.Command {
	j := &explainJob{App: a}
	cmd := &cobra.Command{
		Use:   "explain FILE[:/path]",
		Short: "Explain every byte of a file",
		Long: `explain annotates the structures of a file byte by byte: Blosc and Blosc2 chunks, frames
with their b2nd or Caterva metalayers, bcolz directories and chunk files, HDF5 files,
and with FILE:/path the header of one HDF5 object, or one frame of a container of
python-blosc2 with offsets from its first byte. Each line has the offset and the
first bytes in hexadecimal, the name of the field in the specification of the format,
its value, its meaning, and after an exclamation mark an error.

The file is read without a C library, as far as possible, so that corrupt files can be
examined. In directories, offsets count from the start of each file. The elements
themselves are not described. FILE:/path of a dataset also lists its external files and
the sources of a virtual dataset. The members of a family, multi or split set are
explained as one file, which is named by its first member; offsets count through all
members. With --wrong, explain lists errors only, and the exit code is 1 if there are
any.`,
		Example: `  hyperslab explain rose.b2nd
  hyperslab explain rose.b2nd --at 0x18
  hyperslab explain etopo.h5 -L 2
  hyperslab explain etopo.h5:/ROSE
  hyperslab explain corrupt.h5 --wrong`,
		Args:              shell.Arity(1, 2),
		ValidArgsFunction: shell.CompleteAddress,
		RunE: func(_ *cobra.Command, args []string) error {
			return j.run(shell.Address(args))
		},
	}
	f := cmd.Flags()
	f.StringVar(&j.at, "at", "", "only the fields that hold the byte at `OFFSET`, decimal or 0x…")
	f.StringVar(&j.as, "as", "", "`KIND` of the file: chunk, frame, hdf5 or bcolz (default: by its first bytes)")
	shell.DepthFlag(cmd, &j.depth)
	f.BoolVar(&j.wrong, "wrong", false, "print errors only")
	shell.JSONFlag(cmd, &j.json)
	shell.CompleteWords(cmd, "as", shell.AsChunk, shell.AsFrame, shell.AsHDF5, shell.AsBcolz)
	a.Paged(cmd)
	return cmd
}

func (j *explainJob) run(address string) (err error) {
	at, err := j.check()
	if err != nil {
		return err
	}
	e, err := openExplained(j.App, address, j.as)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	root, err := e.describe()
	if err != nil {
		return err
	}
	if at >= 0 {
		if e.file == nil {
			return shell.Usagef("--at: %s is a directory; name a file in it", e.name)
		}
		if at >= e.size {
			return shell.Usagef("--at %d: the file has %s", at, term.Plural(e.size, "byte"))
		}
		root = chain(root, at)
	}
	wrong := 0
	for range root.Complaints() {
		wrong++
	}
	if j.json {
		err = j.WriteDocument(j.Stdout, ExplainDoc{Schema: shell.SchemaExplain, File: e.name, Format: e.kind, Errors: wrong,
			Field: e.doc(root, j.depth)})
	} else {
		err = j.writeExplained(e, root, at)
	}
	if err == nil && j.wrong && wrong > 0 {
		return &shell.ExitError{Code: shell.ExitDiffers}
	}
	return err
}

func (j *explainJob) check() (at int64, err error) {
	if j.depth < 0 {
		return 0, shell.Usagef("-L %d: want 0 or more levels", j.depth)
	}
	if j.as != "" {
		if err := shell.OneOf("--as", j.as, shell.AsChunk, shell.AsFrame, shell.AsHDF5, shell.AsBcolz); err != nil {
			return 0, err
		}
	}
	if j.at == "" {
		return -1, nil
	}
	if at, err = strconv.ParseInt(j.at, 0, 64); err != nil || at < 0 {
		return 0, shell.Usagef("--at %s: want an offset in bytes, for example 4096 or 0x1000", j.at)
	}
	return at, nil
}

// explained is a file or directory whose bytes are described.
type explained struct {
	name    string
	object  string // in an HDF5 file; "" for the whole file
	kind    string
	file    shell.SourceFile // nil for a directory
	dir     fs.FS            // nil for a file
	members []h5parts.Member // of a set of HDF5 files; nil for one file
	size    int64
}

// openExplained opens a file and determines its kind, unless as specifies it.
func openExplained(a *shell.App, address, as string) (_ *explained, err error) {
	loc, err := locate.Parse(address)
	if err != nil {
		return nil, err
	}
	if remote.IsURL(loc.File) {
		if as == "" || as == shell.AsFrame {
			if m, err := explainedMember(a, loc, as); m != nil || err != nil {
				return m, err
			}
		}
		return openExplainedURL(loc, as)
	}
	info, err := os.Stat(loc.File)
	if err != nil {
		return nil, ndarray.Wrap("explain", loc.File, err)
	}
	e := &explained{name: loc.File, object: loc.Object, kind: as, size: info.Size()}
	var file *os.File
	mayBeMember := as == "" || as == shell.AsFrame
	if !info.IsDir() {
		if file, _, err = regularfile.Open(loc.File); err != nil {
			return nil, ndarray.Wrap("explain", loc.File, err)
		}
		e.file = file
		if mayBeMember {
			f, err := detect.Reader(file, e.size, loc.File)
			mayBeMember = err == nil && detect.IsStore(f)
		}
	}
	if mayBeMember {
		if m, err := explainedMember(a, loc, as); m != nil || err != nil {
			return m, errors.Join(err, e.close())
		}
	}
	if file == nil {
		if err := e.openDirectory(loc.File, address); err != nil {
			return nil, err
		}
		return e, nil
	}
	if e.kind == "" {
		e.kind, err = shell.SniffStructure(file, e.size)
	}
	if err == nil && e.kind == shell.AsHDF5 {
		err = e.openMembers(file, loc.File)
	}
	if err = cmp.Or(err, e.noPath(address)); err != nil {
		return nil, errors.Join(ndarray.Wrap("explain", loc.File, err), e.close())
	}
	return e, nil
}

// openDirectory opens a directory, and determines its kind if that is not given.
func (e *explained) openDirectory(name, address string) error {
	if e.kind == "" {
		e.kind = shell.AsBcolz
		if _, err := os.Stat(filepath.Join(name, cframe.IndexFile)); err == nil {
			e.kind = shell.AsFrame
		}
	}
	if e.kind != shell.AsBcolz && e.kind != shell.AsFrame {
		return shell.Usagef("--as %s: %s is a directory", e.kind, name)
	}
	e.dir = os.DirFS(name)
	return ndarray.Wrap("explain", name, e.noPath(address))
}

// noPath returns an error for a path in a file without paths.
func (e *explained) noPath(address string) error {
	if e.object == "" || e.kind == shell.AsHDF5 {
		return nil
	}
	return shell.Usagef("%s: only HDF5 files have paths inside, this is a %s", address, e.kind)
}

// openExplainedURL opens a file or directory at a URL.
func openExplainedURL(loc locate.Location, as string) (*explained, error) {
	e := &explained{name: remote.Redact(loc.File), object: loc.Object, kind: as}
	o, err := remote.DefaultClient.Open(context.Background(), loc.File)
	if err == nil {
		e.file, e.size = o, o.Size()
		var kind string
		if kind, err = shell.SniffStructure(e.file, e.size); err == nil || as != "" && as != shell.AsBcolz && as != shell.AsFrame {
			e.kind = cmp.Or(as, kind)
			return e, nil
		}
	}
	// A server may answer the request for a directory with a page.
	if dir, kind := shell.DirectoryAtURL(loc.File); dir != nil && (as == "" || as == kind) && loc.Object == "" {
		err = e.close()
		return &explained{name: e.name, kind: kind, dir: dir}, err
	}
	if as != "" && e.file != nil {
		return e, nil
	}
	return nil, errors.Join(err, e.close())
}

// explainedMember opens the frame of an array in a container. It returns nil for any other file,
// and errors.ErrUnsupported for a container of several files as a whole.
func explainedMember(a *shell.App, loc locate.Location, as string) (*explained, error) {
	m, err := chunkmap.MemberOf(loc.String(), a.Untrusted())
	if err != nil {
		return nil, ndarray.Wrap("explain", loc.File, err)
	}
	if m != nil {
		return &explained{name: m.Name, kind: shell.AsFrame, file: m, size: m.Size}, nil
	}
	format, err := hyperslab.Sniff(loc.File)
	if err == nil && as == "" && (format == hyperslab.B2Z || format == hyperslab.B2D) {
		return nil, fmt.Errorf("%w: %s consists of several frames: name one as %s:/path", errors.ErrUnsupported, remote.Redact(loc.File),
			remote.Redact(loc.File))
	}
	return nil, nil
}

func (e *explained) close() error {
	if e.file == nil {
		return nil
	}
	return e.file.Close()
}

// describe returns the tree of fields.
func (e *explained) describe() (format.Field, error) {
	if e.file == nil {
		if e.kind == shell.AsFrame {
			return cframe.DescribeDir(e.dir), nil
		}
		return bcolztree.Describe(e.dir, "."), nil
	}
	switch e.kind {
	case shell.AsFrame:
		return cframe.Describe(e.file, e.size), nil
	case shell.AsHDF5:
		if e.object == "" {
			root := h5file.Describe(e.file, e.size)
			e.addMembers(&root)
			return root, nil
		}
		return e.describeObject()
	}
	if e.size > largestChunk {
		return format.Field{}, fmt.Errorf("%w: %s is larger than a %s can be", ndarray.ErrFormat, e.name, e.kind)
	}
	b := make([]byte, e.size)
	if _, err := io.ReadFull(io.NewSectionReader(e.file, 0, e.size), b); err != nil {
		return format.Field{}, err
	}
	if e.kind == shell.AsBcolz {
		return bcolztree.DescribeFile(b), nil
	}
	return chunk.Describe(b), nil
}

// describeObject annotates an object of an HDF5 file.
func (e *explained) describeObject() (format.Field, error) {
	f, o, err := e.findObject()
	if err != nil {
		return format.Field{}, err
	}
	field := f.DescribeObject(o.Addr)
	field.Fields = append(field.Fields, e.others(o)...)
	return field, nil
}

// findObject finds an object of an HDF5 file by its path, along hard links.
func (e *explained) findObject() (*h5file.File, *h5file.Object, error) {
	f, err := h5file.Open(e.file, e.size, nil)
	if err != nil {
		return nil, nil, err
	}
	o, err := chunkmap.FindHDF5(f, locate.Location{File: e.name, Object: e.object})
	return f, o, err
}

// chain returns the part of the tree that contains the byte at offset at.
func chain(f format.Field, at int64) format.Field {
	var kept []format.Field
	for _, c := range f.Fields {
		if holds(c, at) {
			kept = append(kept, chain(c, at))
		}
	}
	f.Fields = kept
	return f
}

// holds reports whether the byte at offset at is in f or in a part of it. The parts of an object
// need not be contiguous.
func holds(f format.Field, at int64) bool {
	if at >= f.Offset && at-f.Offset < f.Length {
		return true
	}
	for _, c := range f.Fields {
		if holds(c, at) {
			return true
		}
	}
	return false
}

// Maximum number of bytes of a field on the screen, and in a document.
const (
	hexBytes    = 8
	hexBytesDoc = 64
)

// hex returns the first bytes of a field without parts. It returns "" for others, and for fields
// outside the file or in another one.
func (e *explained) hex(f format.Field, most int64) string {
	if e.file == nil || f.Length <= 0 || len(f.Fields) > 0 || f.Offset < 0 || f.Offset >= e.size {
		return ""
	}
	b := make([]byte, min(f.Length, most, e.size-f.Offset))
	if _, err := e.file.ReadAt(b, f.Offset); err != nil {
		return ""
	}
	return hex.EncodeToString(b)
}

func (e *explained) doc(f format.Field, depth int) FieldDoc {
	d := FieldDoc{
		Name: f.Name, Offset: shell.JSONInt(f.Offset), Length: shell.JSONInt(f.Length), Value: shell.OrNull(f.Value),
		Meaning:   shell.OrNull(f.Meaning),
		Complaint: shell.OrNull(f.Complaint), Hex: shell.OrNull(e.hex(f, hexBytesDoc)), Fields: []FieldDoc{},
	}
	if depth == 1 {
		return d
	}
	for _, c := range f.Fields {
		d.Fields = append(d.Fields, e.doc(c, depth-1))
	}
	return d
}

// writeExplained writes a line for each field.
func (j *explainJob) writeExplained(e *explained, root format.Field, at int64) error {
	w := bufio.NewWriter(j.Stdout)
	count := 0
	if j.wrong {
		for path, f := range root.Complaints() {
			_, _ = fmt.Fprintf(w, "%10d  %s: %s\n", f.Offset, term.Safe(path), term.Safe(f.Complaint)) // the writer keeps its first error
			count++
		}
	} else {
		l := fieldLines{explained: e, w: w, paint: j.Data}
		l.write(root, 0, j.depth)
		count = l.wrong
	}
	if at >= 0 {
		if err := e.dumpAround(w, at); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	switch {
	case j.wrong && count == 0:
		j.Note("no errors in %s", term.Safe(e.name))
	case count > 0 && !j.wrong:
		j.Note("%s; --wrong lists them alone", term.Plural(int64(count), "error"))
	}
	return nil
}

// fieldLines writes a line for each field.
type fieldLines struct {
	*explained
	w     *bufio.Writer
	paint term.Paint
	wrong int // fields with errors
}

// write writes f and its parts, indented, and counts complaints.
func (e *fieldLines) write(f format.Field, depth, most int) {
	line := fmt.Sprintf("%10d %9d  %s", f.Offset, f.Length, pad(spacedHex(e.hex(f, hexBytes), f.Length > hexBytes), 3*hexBytes))
	line += "  " + pad(strings.Repeat("  ", depth)+term.Safe(f.Name), 30) + "  " + term.Safe(f.Value)
	if f.Meaning != "" {
		line += "  (" + term.Safe(f.Meaning) + ")"
	}
	line = strings.TrimRight(line, " ")
	if f.Complaint != "" {
		line += "  " + e.paint.Failure("! "+term.Safe(f.Complaint))
		e.wrong++
	}
	_, _ = e.w.WriteString(line + "\n")
	if most == 1 {
		for _, c := range f.Fields {
			for range c.Complaints() {
				e.wrong++
			}
		}
		return
	}
	for _, c := range f.Fields {
		e.write(c, depth+1, most-1)
	}
}

// spacedHex puts a space between bytes, and an ellipsis at the end if there are more.
func spacedHex(digits string, more bool) string {
	var b strings.Builder
	for i := 0; i < len(digits); i += 2 {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(digits[i : i+2])
	}
	if more && digits != "" {
		b.WriteString("…")
	}
	return b.String()
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(width-term.StringWidth(s), 0))
}

// dumpAround writes the bytes around at, 16 per line, with the byte at that offset in brackets.
func (e *explained) dumpAround(w *bufio.Writer, at int64) error {
	from := max(at/16*16-32, 0)
	b := make([]byte, min(80, e.size-from))
	if _, err := e.file.ReadAt(b, from); err != nil {
		return err
	}
	_ = w.WriteByte('\n')
	for start := 0; start < len(b); start += 16 {
		line := fmt.Sprintf("%10d ", from+int64(start))
		text := ""
		for i := start; i < start+16; i++ {
			switch {
			case i >= len(b):
				line += "   "
				continue
			case from+int64(i) == at:
				line += fmt.Sprintf("[%02x", b[i])
			case from+int64(i) == at+1 && i > start:
				line += fmt.Sprintf("]%02x", b[i])
			default:
				line += fmt.Sprintf(" %02x", b[i])
			}
			if b[i] >= 0x20 && b[i] < 0x7f {
				text += string(rune(b[i]))
			} else {
				text += "."
			}
		}
		end := " "
		if last := from + int64(min(start+15, len(b)-1)); last == at {
			end = "]"
		}
		_, _ = w.WriteString(line + end + " " + text + "\n")
	}
	return nil
}
