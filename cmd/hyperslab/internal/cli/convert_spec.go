// What convert makes of its flags: the array to be created, and the attributes
// that go with it.

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
	"github.com/hyperslab/hyperslab/ndarray/formats"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// defaultCompression is what a format uses when nothing is asked for.
var defaultCompression = map[formats.Format]func() *ndarray.Compression{
	formats.B2ND: b2nd.DefaultCompression,
	formats.HDF5: hdf5.DefaultCompression,
}

// codecs are those that --codec takes, and filters what can stand before them.
var (
	codecs = map[formats.Format][]string{
		formats.B2ND: {"blosclz", "lz4", "lz4hc", "zlib", "zstd", "none"},
		formats.HDF5: {"deflate", "none"},
	}
	filters = map[formats.Format][]string{
		formats.B2ND: {"shuffle", "bitshuffle", "delta"},
		formats.HDF5: {"shuffle", "fletcher32"},
	}
)

// Between formats the chunks of the source are kept if they have a size that
// serves in either, in bytes; else the target chooses.
const (
	leastChunk = 16 << 10
	mostChunk  = 64 << 20
)

// check finds what is wrong with the flags whatever the arrays are, and returns
// the memory bound in bytes.
func (o *convertFlags) check() (memory int64, err error) {
	if o.level < -1 || o.level > 9 { // -1: not given
		return 0, usagef("--level %d: want 0 to 9", o.level)
	}
	if o.codec == "none" && o.level > 0 {
		return 0, usagef("--level %d: codec none has no levels", o.level)
	}
	if o.filter != "" {
		if err := oneOf("--shuffle", o.filter, "none", "byte", "bit"); err != nil {
			return 0, err
		}
	}
	if o.format != "" {
		if err := oneOf("--format", o.format, string(formats.B2ND), string(formats.HDF5)); err != nil {
			return 0, err
		}
	}
	for flag, text := range map[string]string{"--chunks": o.chunks, "--blocks": o.blocks} {
		if _, err := parseShape(text); err != nil {
			return 0, usagef("%s: %w", flag, err)
		}
	}
	return o.job.check()
}

// settleTarget finds the format of the target, and refuses, before any work is
// done, one that must not be replaced.
func (o *convertFlags) settleTarget(source, target string) (format formats.Format, err error) {
	from, err := formats.ParseLocation(source)
	if err != nil {
		return "", err
	}
	to, err := formats.ParseLocation(target)
	if err != nil {
		return "", err
	}
	if format = formats.Format(o.format); format == "" {
		var ok bool
		if format, ok = formats.ForName(to.File); !ok {
			return "", usagef("%s: the extension %q tells no format; end the name in .b2nd or .h5, or add --format", to.File, strings.ToLower(filepath.Ext(to.File)))
		}
	}
	switch named := strings.Trim(to.Object, "/") != ""; {
	case format == formats.HDF5 && !named:
		return "", usagef("%s: an HDF5 file can hold many arrays; name this one, for example %s:/data", target, to.File)
	case format != formats.HDF5 && named:
		return "", usagef("%s: a b2nd file holds one array and has no paths inside", target)
	}
	return format, o.mayReplace(from.File, to.File, format)
}

// mayReplace looks at what is at the target.
func (o *convertFlags) mayReplace(source, target string, format formats.Format) error {
	there, err := os.Lstat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !o.force:
		return &ndarray.Error{Op: "create", Path: target, Err: ndarray.ErrExists}
	}
	if own, err := os.Stat(source); err == nil && format == formats.HDF5 && os.SameFile(own, there) {
		return usagef("%s is also the source, and would be replaced as a whole; write to another file", target)
	}
	return nil
}

// spec is the array to create from one that m describes; attributes come later.
func (o *convertFlags) spec(m ndarray.Meta, format formats.Format) (ndarray.Spec, error) {
	spec := m.Spec()
	within := string(format) == m.Format || format == formats.B2ND && m.Format == "caterva"
	if !within {
		spec.Compression = nil
		if n := chunkBytes(m); n < leastChunk || n > mostChunk {
			spec.ChunkShape = nil
		}
	}
	if !within || format == formats.HDF5 || o.chunks != "" {
		spec.BlockShape = nil
	}
	if o.chunks != "" {
		spec.ChunkShape, _ = parseShape(o.chunks) // checked
	}
	if o.blocks != "" {
		spec.BlockShape, _ = parseShape(o.blocks)
		if format != formats.B2ND {
			return spec, usagef("--blocks is for b2nd; %s has no blocks", format)
		}
		if spec.ChunkShape == nil {
			return spec, usagef("--blocks needs --chunks here")
		}
	}
	if o.sparse && format != formats.B2ND {
		return spec, usagef("--sparse is for b2nd, not for %s", format)
	}
	if err := o.compression(&spec, format); err != nil {
		return spec, err
	}
	if err := spec.Validate(); err != nil {
		return spec, fmt.Errorf("cannot store that: %w", err)
	}
	return spec, nil
}

// compression changes what flags ask to change; nil is the default of the target.
func (o *convertFlags) compression(spec *ndarray.Spec, format formats.Format) error {
	asked := o.codec != "" || o.level >= 0 || o.filter != ""
	c := spec.Compression.Clone()
	switch unknown := notWritten(c, format); {
	case !asked && unknown != "":
		return usagef("the source is stored with %s, which cannot be written; choose with --codec", unknown)
	case !asked:
		return nil
	case c == nil, c.Codec == "none", unknown != "":
		c = defaultCompression[format]()
	}
	if o.codec != "" {
		c.Codec = codecName(o.codec, format)
		if err := oneOf(fmt.Sprintf("in %s --codec", format), c.Codec, codecs[format]...); err != nil {
			return err
		}
	}
	if c.Codec == "none" {
		c.Level, c.Filters = 0, nil
	}
	if o.level >= 0 {
		c.Level = o.level
	}
	if o.filter != "" {
		c.Filters = slices.DeleteFunc(c.Filters, func(f string) bool { return f == "shuffle" || f == "bitshuffle" })
		if name := map[string]string{"byte": "shuffle", "bit": "bitshuffle"}[o.filter]; name != "" {
			c.Filters = append([]string{name}, c.Filters...)
		}
	}
	spec.Compression = c
	return nil
}

// notWritten names what of c can be read in a format but not written, "" if
// nothing.
func notWritten(c *ndarray.Compression, format formats.Format) string {
	if c == nil {
		return ""
	}
	if !slices.Contains(codecs[format], c.Codec) {
		return "codec " + c.Codec
	}
	for _, f := range c.Filters {
		if !slices.Contains(filters[format], f) {
			return "filter " + f
		}
	}
	return ""
}

// codecName is the name a codec has in a format: both have DEFLATE, under two
// names.
func codecName(codec string, format formats.Format) string {
	switch {
	case format == formats.HDF5 && codec == "zlib":
		return "deflate"
	case format == formats.B2ND && codec == "deflate":
		return "zlib"
	}
	return codec
}

// chunkBytes is what a chunk takes in memory; 0 if the array is not chunked.
func chunkBytes(m ndarray.Meta) int64 {
	if m.ChunkShape == nil {
		return 0
	}
	n, ok := ndarray.Product(m.ChunkShape)
	if !ok || n > mostChunk {
		return mostChunk + 1
	}
	return n * int64(m.DType.Size)
}

// settled says what becomes of the attributes of the source.
type settled struct {
	keep        []ndarray.Attr
	names       []string                  // left out, all of them
	unsupported []ndarray.UnsupportedAttr // left out because they cannot be kept
}

// settle divides the attributes. One that cannot be carried over and was not
// excluded is an error that says which flags to add; nothing is dropped silently.
func (x *attrFlags) settle(attrs ndarray.Attrs, format formats.Format, source, target string) (settled, error) {
	s := settled{names: []string{}}
	var refused []ndarray.UnsupportedAttr
	for _, attr := range attrs.List {
		reason := cannotHold(format, attr)
		switch {
		case slices.Contains(x.names, attr.Name):
			s.names = append(s.names, attr.Name)
		case reason == "":
			s.keep = append(s.keep, attr)
		default:
			attrs.Unsupported = append(attrs.Unsupported,
				ndarray.UnsupportedAttr{Name: attr.Name, Type: attr.Value.DType.String(), Reason: reason})
		}
	}
	for _, u := range attrs.Unsupported {
		if !x.unsupported && !slices.Contains(x.names, u.Name) {
			refused = append(refused, u)
			continue
		}
		s.names = append(s.names, u.Name)
		s.unsupported = append(s.unsupported, u)
	}
	if len(refused) == 0 {
		return s, nil
	}
	var lines, flags strings.Builder
	for _, u := range refused {
		fmt.Fprintf(&lines, "\n  %s (%s): %s", safe(u.Name), safe(u.Type), safe(u.Reason))
		fmt.Fprintf(&flags, " --exclude-attr %s", shellWord(u.Name))
	}
	return s, fmt.Errorf("%s of %s cannot be stored in %s; nothing was written:%s\n  to go on without add%s, or --exclude-unsupported",
		plural(int64(len(refused)), "attribute"), source, target, lines.String(), flags.String())
}

// mostAttr is the number of bytes that name and value of an HDF5 attribute can
// have in an object header, whose messages have at most 64 KiB.
const mostAttr = 64000

// cannotHold says why a format has no place for an attribute; "" if it has.
func cannotHold(format formats.Format, attr ndarray.Attr) string {
	switch v := attr.Value; {
	case format != formats.HDF5:
		return ""
	case v.DType.Kind == ndarray.Unicode:
		return "HDF5 has no text of four-byte characters"
	case len(v.Data)+len(attr.Name) > mostAttr:
		return fmt.Sprintf("%d bytes, an HDF5 attribute has room for %d", len(v.Data), mostAttr-len(attr.Name))
	}
	return ""
}

// shellWord quotes s if a shell would take it apart.
func shellWord(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// createOptions are the flags that formats.Create understands.
func (o *convertFlags) createOptions() []formats.Option {
	var opts []formats.Option
	if o.format != "" {
		opts = append(opts, formats.WithFormat(formats.Format(o.format)))
	}
	if o.sparse {
		opts = append(opts, formats.WithSparse())
	}
	if o.force {
		opts = append(opts, formats.WithOverwrite())
	}
	return opts
}
