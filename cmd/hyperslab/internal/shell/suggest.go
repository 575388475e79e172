// Suggestions for mistakes in the command line: similar words, and flags of other programs.

package shell

import (
	"cmp"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hyperslab/hyperslab/ndarray"
)

// synonyms are words of other programs with the words of this one, of which the first that a flag
// accepts is suggested.
var synonyms = map[string][]string{
	"gzip": {"deflate", "zlib"}, "gz": {"deflate", "zlib"}, "zip": {"deflate", "zlib"}, "zlib": {"deflate"}, "deflate": {"zlib"},
	"bz2":   {"bzip2"},
	"blosc": {"blosc/lz4", "blosclz"}, "blosc2": {"b2nd", "blosc2/zstd"}, "zstandard": {"zstd"},
	"netcdf": {"hdf5"}, "netcdf4": {"hdf5"}, "nc": {"hdf5"}, "h5": {"hdf5"}, "hdf": {"hdf5"}, "numpy": {"npy"}, "binary": {"raw"},
	"bin":        {"raw"},
	"bitshuffle": {"bit"}, "bits": {"bit"}, "shuffle": {"byte"}, "bytes": {"byte"}, "true": {"byte", "always"}, "false": {"none", "never"},
	"no": {"none", "never"}, "off": {"none", "never"}, "uncompressed": {"none"}, "null": {"none"},
}

// dtypes are common names of element types, and those that other languages use for them.
var (
	dtypes = []string{"float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool",
		"complex64", "complex128"}
	otherTypes = map[string]string{
		"float": "float64", "double": "float64", "single": "float32", "half": "float16", "int": "int64", "integer": "int64",
		"long": "int64", "short": "int16", "char": "int8",
		"byte": "uint8", "uint": "uint64", "boolean": "bool", "complex": "complex128", "str": "string", "text": "string", "utf8": "string",
	}
)

// nearWord returns the word that is most similar to the given one, or means the same; "" without
// one.
func nearWord(given string, words []string) string {
	given = strings.ToLower(given)
	folded := func(w string) bool { return strings.ToLower(w) == given }
	if i := slices.IndexFunc(words, folded); i >= 0 {
		return words[i]
	}
	for _, w := range synonyms[given] {
		if slices.Contains(words, w) {
			return w
		}
	}
	if slash := strings.NewReplacer(":", "/", "-", "/", "_", "/").Replace(given); slices.Contains(words, slash) {
		return slash
	}
	if i := slices.IndexFunc(words, func(w string) bool { return strings.HasSuffix(w, "/"+given) }); i >= 0 {
		return words[i]
	}
	best, least := "", max(len(given)/3, 1)+1
	for _, w := range words {
		d := editDistance(given, strings.ToLower(w))
		if d == 2 && sameLetters(given, strings.ToLower(w)) { // two letters were exchanged
			d = 1
		}
		if d < least {
			best, least = w, d
		}
	}
	if best == "" && len(given) > 2 {
		if i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(strings.ToLower(w), given) }); i >= 0 {
			best = words[i]
		}
	}
	return best
}

// sameLetters reports whether two words consist of the same bytes.
func sameLetters(a, b string) bool {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// meant returns "; did you mean X?", or "" without X.
func meant(words ...string) string {
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	if len(words) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(words, " or ") + "?"
}

// parameter matches a codec with its level, as other programs write them.
var parameter = regexp.MustCompile(`^(\pL[\pL\pN/]*)[=:,]([0-9]+)$`)

// OneOf checks a flag that accepts a fixed set of words.
func OneOf(flag, value string, words ...string) error {
	if slices.Contains(words, value) {
		return nil
	}
	last := len(words) - 1
	want := strings.Join(words[:last], ", ") + " or " + words[last]
	if m := parameter.FindStringSubmatch(value); m != nil && strings.HasSuffix(flag, "--codec") {
		if near := nearWord(m[1], words); near != "" {
			return Hintf("the level is a flag of its own: --codec "+near+" --level "+m[2], "%s %s: want %s", flag, value, want)
		}
	}
	return Usagef("%s %s: want %s%s", flag, value, want, meant(nearWord(value, words)))
}

// ParseDType parses the value of --dtype.
func ParseDType(text string) (ndarray.DType, error) {
	d, err := ndarray.ParseDType(text)
	if err == nil {
		return d, nil
	}
	name := strings.ToLower(strings.TrimLeft(text, "<>=|"))
	near := cmp.Or(otherTypes[name], nearWord(name, dtypes), otherTypes[nearWord(name, slices.Sorted(maps.Keys(otherTypes)))])
	if near != "" {
		return d, Usagef("--dtype %s: not an element type%s", text, meant(near))
	}
	return d, Hintf("a type is one of NumPy, for example <f4, float32, int64, S8, M8[s] or string", "--dtype %s: %w", text, err)
}

// habit is a flag of another program that a command lacks.
type habit struct{ command, flag, advice string }

// habits are the flags that users of h5dump, h5ls, h5diff, h5repack, h5copy, nccopy, python-blosc2
// and zarr try.
var habits = []habit{
	{"dump", "d", "h5dump -d /path FILE is: hyperslab dump FILE:/path"},
	{"dump", "g", "h5dump -g /group FILE is: hyperslab dump --ddl FILE:/group"},
	{"dump", "s", "h5dump -s START -c COUNT is a selection in brackets: hyperslab dump 'FILE:/path[0:10, ::2]'"},
	{"dump", "c", "h5dump -s START -c COUNT is a selection in brackets: hyperslab dump 'FILE:/path[0:10, ::2]'"},
	{"dump", "S", "h5dump -S STRIDE is the step of a selection in brackets: hyperslab dump 'FILE:/path[::2]'"},
	{"dump", "a", "h5dump -a /path/NAME FILE is: hyperslab attr get FILE:/path NAME"},
	{"dump", "A", "h5dump -A FILE is: hyperslab dump --ddl --header FILE"},
	{"dump", "n", "h5dump -n FILE is: hyperslab ls -r FILE"},
	{"dump", "p", "h5dump -p is: hyperslab info FILE:/path, which shows chunks and filters"},
	{"dump", "v", "ncdump -v NAME FILE is: hyperslab dump FILE:/NAME"},
	{"ls", "v", "h5ls -v is: hyperslab ls -l FILE, or hyperslab info FILE:/path for one object"},
	{"ls", "d", "h5ls -d FILE/path is: hyperslab dump FILE:/path"},
	{"ls", "a", "h5ls -a is: hyperslab chunks FILE:/path, which lists the addresses of the chunks"},
	{"tree", "r", "tree lists all levels; -L N lists fewer"},
	{"diff", "d", "h5diff -d DELTA is: --atol DELTA"},
	{"diff", "p", "h5diff -p RELATIVE is: --rtol RELATIVE"},
	{"diff", "r", "diff reports each difference; -n COUNT shows more values"},
	{"diff", "v", "diff reports each difference; -n COUNT shows more values"},
	{"repack", "l", "h5repack -l CHUNK=5x5 is: --chunks 5,5"},
	{"repack", "i", "h5repack -i SOURCE -o TARGET is: hyperslab repack SOURCE TARGET"},
	{"repack", "o", "h5repack -i SOURCE -o TARGET is: hyperslab repack SOURCE TARGET"},
	{"repack", "m", "small datasets keep their storage; --chunks SHAPE selects datasets by their number of dimensions"},
	{"cp", "i", copyHabit}, {"cp", "o", copyHabit}, {"cp", "s", copyHabit}, {"cp", "d", copyHabit},
	{"cp", "r", "cp copies groups with all their members; no flag is needed"},
	{"cp", "p", "cp creates missing groups of the target; no flag is needed"},
	{"convert", "o", "the target is the second argument: hyperslab convert SOURCE TARGET"},
	{"convert", "d", "nccopy -d LEVEL is: --codec deflate --level LEVEL"},
	{"convert", "c", "nccopy -c CHUNKS is: --chunks SHAPE, for example --chunks 64,64"},
	{"", "cparams", "the parameters of compression are flags: --codec zstd --level 5 --shuffle byte"},
	{"", "clevel", "the level is: --level N"},
	{"", "complevel", "the level is: --level N"},
	{"", "complib", "the codec is: --codec CODEC"},
	{"", "compressor", "the codec is: --codec CODEC"},
	{"", "compression", "the codec is: --codec CODEC"},
	{"", "compression-opts", "the level is: --level N"},
	{"", "filters", "filters are: --shuffle KIND and --codec CODEC"},
	{"", "chunkshape", "the shape of a chunk is: --chunks SHAPE"},
	{"", "blockshape", "the shape of a block is: --blocks SHAPE"},
	{"", "nthreads", "the number of workers is: --jobs N"},
	{"", "threads", "the number of workers is: --jobs N"},
	{"", "overwrite", "an existing target is replaced with: --force"},
	{"", "output", "the target is the last argument"},
}

const copyHabit = "h5copy -i SOURCE -s /a -o TARGET -d /b is: hyperslab cp SOURCE:/a TARGET:/b"

// habitOf returns the advice for a flag of another program; "" without one. A habit of any command
// applies if the command has the flag that the advice names.
func habitOf(cmd *cobra.Command, flag string) string {
	for _, h := range habits {
		if h.flag != flag || h.command != "" && h.command != cmd.Name() {
			continue
		}
		if _, named, ok := strings.Cut(h.advice, ": --"); ok && h.command == "" {
			if name, _, _ := strings.Cut(named, " "); cmd.Flags().Lookup(name) == nil {
				continue
			}
		}
		return h.advice
	}
	return ""
}

// FlagError returns the usage error for an error of package pflag: with a similar flag, or the
// values that the flag accepts.
func FlagError(cmd *cobra.Command, err error) error {
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f := wrong.GetFlag()
		want := wantOf(f.Value.Type())
		if want == "" {
			return Usagef("%w", err)
		}
		if errors.Is(err, strconv.ErrRange) {
			want += " in the range of its type"
		}
		return Usagef("--%s %s: want %s", f.Name, wrong.GetValue(), want)
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		value, usage := pflag.UnquoteUsage(missing.GetFlag())
		return Usagef("--%s: the value %s is missing: %s", missing.GetFlag().Name, value, usage)
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return Usagef("%w", err)
	}
	name, short := unknown.GetSpecifiedName(), unknown.GetSpecifiedShortnames()
	advice := habitOf(cmd, name)
	if short == "" {
		if advice != "" {
			return Hintf(advice, "unknown flag: --%s", name)
		}
		return Usagef("unknown flag: --%s%s", name, meant(nearFlag(cmd, name)))
	}
	if long := nearLong(cmd, short); long != "" { // of one dash
		return Usagef("unknown flag: -%s%s", strings.TrimPrefix(long, "--"), meant(long))
	}
	if advice != "" {
		return Hintf(advice, "unknown flag: -%s", name)
	}
	return Usagef("unknown flag: -%s%s", name, meant(otherCase(cmd, name)))
}

// wantOf describes the values of a type of flag; "" for strings.
func wantOf(kind string) string {
	switch kind {
	case "int", "int64":
		return "a whole number"
	case "uint64":
		return "a whole number of at least 0"
	case "float64":
		return "a number, for example 1e-6"
	case "bool":
		return "true or false"
	case "duration":
		return "a number with its unit, for example 30s or 5m"
	case "intSlice":
		return "whole numbers with commas between them, for example 0,2"
	}
	return ""
}

// nearFlag returns the flag that is most similar to an unknown one; "" without one.
func nearFlag(cmd *cobra.Command, name string) string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := nearWord(name, names); near != "" {
		return "--" + near
	}
	return ""
}

// nearLong returns the long flag whose name, without its first letters, was given after one dash;
// "" without one.
func nearLong(cmd *cobra.Command, rest string) (long string) {
	if len(rest) < 3 {
		return ""
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name == rest || strings.HasSuffix(f.Name, rest) {
			long = "--" + f.Name
		}
	})
	return long
}

// otherCase returns the flag of one letter in the other case; "" without one.
func otherCase(cmd *cobra.Command, letter string) string {
	other := strings.ToUpper(letter)
	if other == letter {
		other = strings.ToLower(letter)
	}
	if other != letter && cmd.Flags().ShorthandLookup(other) != nil {
		return "-" + other
	}
	return ""
}

// setting matches a filter as h5repack writes it.
var setting = regexp.MustCompile(`^(?:/?[^=]*:)?(GZIP|SZIP|SHUF|FLET|NBIT|SOFF|NONE|UD|CHUNK|CONTI|COMPA)(?:=.*)?$`)

// excess returns the advice for one argument too many; "" without one.
func excess(cmd *cobra.Command, args []string) string {
	last := args[len(args)-1]
	switch {
	case slices.ContainsFunc(args, setting.MatchString):
		return "h5repack -f GZIP=5 is: --codec deflate --level 5"
	case cmd.Name() == "diff" && strings.HasPrefix(last, "/"):
		return "h5diff A B /path is: hyperslab diff A:/path B:/path"
	case slices.Contains([]string{"B", "kB", "KB", "MB", "GB", "KiB", "MiB", "GiB"}, last):
		return "a size is one word, for example 4GiB"
	}
	return ""
}
