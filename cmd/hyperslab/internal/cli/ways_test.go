// The ways of the command to read arrays, compared with the reference libraries.

package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/cli"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/testkit/ways"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestWays compares every way of the command with the reference libraries.
func TestWays(t *testing.T) {
	s := ways.Generate(t, testenv.All())
	s.Workers = 1 // a run of the command replaces the client for URLs
	reference := ways.NewReference(t, testenv.Python(t, "h5py", "blosc2", "bcolz", "caterva"))
	all := slices.Concat(dumps(), ddl(t), copies(t, s, reference), casts(t, reference), kerchunk(t))
	require.Greater(t, len(all), 25, "README has the number of all ways")
	report := s.Run(context.Background(), ways.Select(all), ways.Limits)
	report.Require(t)
}

// command runs the command. Exit code 2 with "unsupported" is errors.ErrUnsupported. recover exits
// with 3 if no checksum proves a chunk.
func command(args ...string) ([]byte, error) {
	var out, diagnostics bytes.Buffer
	code := cli.Run(args, strings.NewReader(""), &out, &diagnostics)
	switch {
	case code == 0, code == 3 && args[0] == "recover":
		return out.Bytes(), nil
	case strings.Contains(diagnostics.String(), errors.ErrUnsupported.Error()):
		return nil, fmt.Errorf("%v: exit code %d: %s: %w", args, code, &diagnostics, errors.ErrUnsupported)
	}
	return nil, fmt.Errorf("%v: exit code %d: %s", args, code, &diagnostics)
}

// address returns the address of a region.
func address(a *ways.Array, r ndarray.Region) string {
	at := a.Location()
	if len(r.Start) > 0 {
		at += ways.Selection(r)
	}
	return at
}

// dumps returns the ways of dump and stats, which write text.
func dumps() (out []ways.Way) {
	for _, access := range [][]string{nil, {"--untrusted"}} {
		name := strings.Join(append([]string{"dump"}, access...), " ")
		add := func(form string, text bool, fill func(ctx context.Context, a *ways.Array, r ndarray.Region, dst, b []byte) error) {
			out = append(out, ways.Way{Name: name + " " + form, Slow: access != nil, Text: text, Whole: access != nil, Start: ways.Stateless(func(ctx context.Context, a *ways.Array, r ndarray.Region, dst []byte) error {
				b, err := command(slices.Concat([]string{"dump", form, address(a, r)}, access)...)
				if err != nil {
					return err
				}
				return fill(ctx, a, r, dst, b)
			})})
		}
		add("--npy", false, func(_ context.Context, _ *ways.Array, _ ndarray.Region, dst, b []byte) error {
			return ways.FillNPY(dst, b)
		})
		add("--json", true, func(ctx context.Context, a *ways.Array, r ndarray.Region, dst, b []byte) error {
			d, err := a.ElementType(ctx)
			if err != nil {
				return err
			}
			return ways.FillJSON(a, r, d, dst, b, "values")
		})
		add("--ndjson", true, func(ctx context.Context, a *ways.Array, r ndarray.Region, dst, b []byte) error {
			d, err := a.ElementType(ctx)
			if err != nil {
				return err
			}
			return ways.FillLines(a, r, d, dst, b)
		})
		add("--csv", true, func(ctx context.Context, a *ways.Array, r ndarray.Region, dst, b []byte) error {
			d, err := a.ElementType(ctx)
			if err != nil {
				return err
			}
			return ways.FillCSV(a, r, d, dst, b)
		})
		out = append(out, ways.Way{Name: strings.Join(append([]string{"stats"}, access...), " "), Slow: access != nil, Whole: true, Start: ways.Stateless(func(ctx context.Context, a *ways.Array, _ ndarray.Region, dst []byte) error {
			d, err := a.ElementType(ctx)
			if err != nil {
				return err
			}
			if !ways.HasStats(d) {
				return ways.ErrForm
			}
			b, err := command(slices.Concat([]string{"stats", "--json", a.Location()}, access)...)
			if err != nil {
				return err
			}
			copy(dst, a.Want)
			return ways.CheckStats(a, d, b)
		})})
	}
	return out
}

// ddl returns the way of dump --ddl, whose words are those of h5dump. h5dump has no filters of
// other software, and does not read each array with scale-offset.
func ddl(t *testing.T) []ways.Way {
	h5dump := testenv.Tool(t, "h5dump")
	filters := regexp.MustCompile(`^(none|nbit|szip|(shuffle|deflate|fletcher32|\+)+)$`)
	return []ways.Way{{Name: "dump --ddl", Slow: true, Formats: []string{"hdf5"}, Start: ways.Stateless(func(ctx context.Context, a *ways.Array, r ndarray.Region, dst []byte) error {
		if !filters.MatchString(a.Dims["filters"]) {
			return ways.ErrForm
		}
		args := []string{"-d", a.Path}
		if len(r.Start) > 0 {
			args = append(args, "-s", list(r.Start), "-c", list(r.Shape))
		}
		want, err := exec.CommandContext(ctx, h5dump, append(args, a.File.Path())...).Output()
		if err != nil {
			return err
		}
		got, err := command("dump", "--ddl", address(a, r))
		if err != nil {
			return err
		}
		a.Fill(r, dst)
		return sameWords(a, got, want)
	})}}
}

// beforeValue matches the index of an element at the start of a line of h5dump.
var beforeValue = regexp.MustCompile(`(?m)^\s*\([0-9]+(,[0-9]+)*\): `)

// widened matches the escape that h5dump writes for a byte beyond 127 where char has a sign.
var widened = regexp.MustCompile(`\\37777777[67][0-7]{2}`)

// sameWords compares the output of dump --ddl with that of h5dump. h5dump shows old content of its
// memory for elements that were never written if no fill value is written for them.
func sameWords(a *ways.Array, got, want []byte) error {
	want = widened.ReplaceAllFunc(want, func(b []byte) []byte {
		return append([]byte{'\\', b[9] - 4}, b[10:]...)
	})
	words := func(b []byte) []string { return strings.Fields(beforeValue.ReplaceAllString(string(b), "")) }
	g, w := words(got), words(want)
	undefined := (a.Dims["filltime"] == "never" || a.Dims["fill"] == "undefined") && a.Dims["stored"] != "all"
	if len(g) != len(w) {
		if undefined {
			return ways.ErrForm // the old content has other words
		}
		return fmt.Errorf("got %d words, h5dump has %d", len(g), len(w))
	}
	for i := range g {
		if g[i] != w[i] && (!undefined || strings.Trim(g[i], `0:\",`) != "") {
			return fmt.Errorf("word %d: got %q, h5dump has %q", i, g[i], w[i])
		}
	}
	return nil
}

// list returns numbers with commas between them.
func list(numbers []int64) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ","), "[]")
}

// copies returns the ways that write another file, which the reference libraries read.
func copies(t *testing.T, s *ways.Set, reference *ways.Reference) (out []ways.Way) {
	dir, site := t.TempDir(), s.Site(t).URL+"/"
	add := func(name, target, format, object string, commands func(a *ways.Array, to string) [][]string) {
		out = append(out, ways.Way{Name: name, Slow: true, Whole: true, Start: ways.Stateless(func(_ context.Context, a *ways.Array, _ ndarray.Region, dst []byte) error {
			if strings.Contains(name, "URL") && strings.HasSuffix(a.File.Name, ".b2d") {
				return ways.ErrForm // a directory, which HTTP cannot list
			}
			to := filepath.Join(dir, target)
			old, err := filepath.Glob(filepath.Join(dir, "*"+target+"*")) // also the shards of a plan that failed
			for _, name := range old {
				err = errors.Join(err, os.RemoveAll(name))
			}
			if err != nil {
				return err
			}
			if a.Cells() && format != "hdf5" || strings.Contains(a.DType, "U") && format == "hdf5" {
				return ways.ErrForm // strings get a type of another size
			}
			if format == "bcolz" && strings.ContainsAny(a.DType[:1], "[{") && len(a.Shape) == 1 {
				return ways.ErrForm // structures of one dimension become a ctable
			}
			if err := runAll(commands(a, to)); err != nil {
				return err
			}
			return reference.Fill(format, to, object, dst)
		})})
	}
	convert := func(suffix string, flags ...string) func(a *ways.Array, to string) [][]string {
		return func(a *ways.Array, to string) [][]string {
			return [][]string{slices.Concat([]string{"convert", "--exclude-unsupported", "-q", a.Location(), to + suffix}, flags)}
		}
	}
	written := []string{"--codec", "lz4", "--shuffle", "byte"} // for pipelines that cannot be written
	add("convert to .b2nd", "c.b2nd", "b2nd", "/", convert("", written...))
	add("convert --untrusted to .b2nd", "c.b2nd", "b2nd", "/", convert("", append(written, "--untrusted")...))
	add("convert --sparse to .b2nd", "c.b2nd", "b2nd", "/", convert("", append(written, "--sparse")...))
	add("convert --checksum to .b2nd", "c.b2nd", "b2nd", "/", convert("", append(written, "--checksum")...))
	add("convert -j 1 to .b2nd", "c.b2nd", "b2nd", "/", convert("", append(written, "-j", "1")...))
	add("convert to .npy", "c.npy", "npy", "/", convert(""))
	add("convert to .bcolz", "c.bcolz", "bcolz", "/", convert("", "--codec", "zstd", "--shuffle", "byte"))
	add("convert to .h5", "c.h5", "hdf5", "/x", convert(":/x"))
	add("convert --codec zstd to .h5", "c.h5", "hdf5", "/x", convert(":/x", "--codec", "zstd"))
	add("convert URL to .b2nd", "c.b2nd", "b2nd", "/", func(a *ways.Array, to string) [][]string {
		return [][]string{slices.Concat([]string{"convert", "--allow-private", "--exclude-unsupported", "-q", a.At(site), to}, written)}
	})
	add("URL, plan, work, commit to .b2nd", "p.b2nd", "b2nd", "/", func(a *ways.Array, to string) [][]string {
		plan := filepath.Join(dir, "plan.json")
		_ = os.Remove(plan)
		return [][]string{
			slices.Concat([]string{"plan", "convert", "--allow-private", a.At(site), to, "--exclude-unsupported", "--shard-bytes", "4KiB", "-o", plan}, written),
			{"work", plan, "--all", "-q", "--allow-private"}, {"commit", plan, "-q", "--allow-private"},
		}
	})
	add("plan, work, commit to .b2nd", "p.b2nd", "b2nd", "/", func(a *ways.Array, to string) [][]string {
		plan := filepath.Join(dir, "plan.json")
		_ = os.Remove(plan)
		return [][]string{
			slices.Concat([]string{"plan", "convert", a.Location(), to, "--exclude-unsupported", "--shard-bytes", "4KiB", "-o", plan}, written),
			{"work", plan, "--all", "-q"}, {"commit", plan, "-q"},
		}
	})
	hdf5 := []string{"hdf5"}
	file := func(command ...string) func(f *ways.File, to string) [][]string {
		return func(f *ways.File, to string) [][]string {
			return [][]string{slices.Concat(command, []string{f.Path(), to})}
		}
	}
	out = append(out,
		ways.AppendCommand(t, reference, func(target, source string) error {
			return runAll([][]string{{"append", "-q", target, source}})
		}),
		whole(t, "repack", reference, []string{"hdf5", "bcolz"}, file("repack", "-q")),
		whole(t, "repack --codec lz4", reference, []string{"b2nd"}, file(append([]string{"repack", "-q"}, written...)...)),
		whole(t, "repack --checksum", reference, []string{"b2nd"}, file(append([]string{"repack", "-q", "--checksum"}, written...)...)),
		whole(t, "repack --untrusted", reference, []string{"b2nd", "bcolz"}, file(append([]string{"repack", "-q", "--untrusted"}, written...)...)),
		whole(t, "repack --cloud", reference, hdf5, file("repack", "-q", "--cloud")),
		whole(t, "recover", reference, []string{"hdf5", "b2nd", "bcolz"}, file("recover", "-q")),
		whole(t, "cp", reference, hdf5, func(f *ways.File, to string) [][]string {
			var all [][]string
			for _, a := range f.Arrays {
				if notAllocated(a) {
					continue
				}
				all = append(all, []string{"cp", a.Location(), to + ":" + a.Path})
			}
			return all
		}),
	)
	return out
}

// casts returns the ways through a copy with another element type, which is compared with astype of
// NumPy: a wider type that represents each value, and a narrower one with --round and --clip.
func casts(t *testing.T, reference *ways.Reference) (out []ways.Way) {
	dir := t.TempDir()
	wider := map[string]string{"bool": "u1", "int8": "i2", "uint8": "<i4", "int16": "<f4", "uint16": "u8", "int32": "f8", "uint32": "i8", "float16": "<f4", "float32": "f8"}
	nearest := map[string]string{
		"bool": "f4", "int8": "u1", "uint8": "bool", "int16": "i1", "uint16": "i2", "int32": "f4", "uint32": "i4", "int64": "f8", "uint64": "i8",
		"float16": "i1", "float32": "u8", "float64": "f4",
	}
	add := func(name string, types map[string]string, flags ...string) {
		plan, to := filepath.Join(dir, "cast.json"), filepath.Join(dir, "cast.b2nd")
		out = append(out, ways.Way{Name: name, Slow: true, Whole: true, Start: ways.Stateless(func(ctx context.Context, a *ways.Array, _ ndarray.Region, dst []byte) error {
			d, err := a.ElementType(ctx)
			if err != nil {
				return err
			}
			target, ok := types[strings.TrimLeft(a.DType, "<>=|")]
			if native, numpy := types[kindName(d)]; !ok && numpy {
				target, ok = native, true
			}
			if !ok || a.Dims["dtype"] == "bits" || len(a.Nulls) > 0 {
				return ways.ErrForm // no numbers, or none of a type that is converted
			}
			if err := errors.Join(os.RemoveAll(plan), os.RemoveAll(to), os.RemoveAll(to+".parts")); err != nil {
				return err
			}
			common := append([]string{a.Location(), to, "--exclude-unsupported", "--dtype", target, "--codec", "lz4", "--shuffle", "byte"}, flags...)
			commands := [][]string{append([]string{"convert", "--json", "-q"}, common...)}
			if strings.HasPrefix(name, "plan") {
				commands = [][]string{append([]string{"plan", "convert", "--shard-bytes", "4KiB", "-o", plan}, common...), {"work", plan, "--all", "-q"}, {"commit", plan, "-q", "--json"}}
			}
			changed := ""
			for _, args := range commands {
				b, err := command(args...)
				if err != nil && strings.Contains(err.Error(), ndarray.ErrValue.Error()+":") && strings.Contains(err.Error(), "got NaN") {
					changed = "refused"
					break
				}
				if err != nil {
					return err
				}
				if m := regexp.MustCompile(`"rounded": (\d+),\s*"clipped": (\d+)`).FindSubmatch(b); m != nil {
					rounded, _ := strconv.Atoi(string(m[1]))
					clipped, _ := strconv.Atoi(string(m[2]))
					changed = strconv.Itoa(rounded + clipped)
				}
			}
			return reference.Fill("cast", to, strings.Join([]string{a.File.Format, a.File.Path(), a.Path, target, changed}, "|"), dst)
		})})
	}
	add("convert --dtype", wider)
	add("convert --dtype --round --clip", nearest, "--round", "--clip")
	add("plan, work, commit --dtype", nearest, "--round", "--clip")
	return out
}

// kindName returns the name of NumPy for a type of numbers.
func kindName(d ndarray.DType) string {
	name := map[ndarray.Kind]string{ndarray.Bool: "bool", ndarray.Int: "int", ndarray.Uint: "uint", ndarray.Float: "float"}[d.Kind]
	if name == "" || d.Kind == ndarray.Bool {
		return name
	}
	return name + strconv.Itoa(8*d.Size)
}

// kerchunk returns the way through kerchunk references to a copy of an array, which zarr reads.
// kerchunk returns the ways through references to a copy of an array, which zarr-python reads with
// fsspec, and through VirtualiZarr.
func kerchunk(t *testing.T) []ways.Way {
	dir := t.TempDir()
	seen := make(map[string]int)
	reference := ways.NewReference(t, testenv.RemotePython(t, "zarr", "fsspec", "kerchunk", "virtualizarr", "obstore"))
	way := func(name, form, reader string) ways.Way {
		return ways.Way{Name: name, Slow: true, Whole: true, Formats: []string{"hdf5"}, Start: ways.Stateless(func(_ context.Context, a *ways.Array, _ ndarray.Region, dst []byte) error {
			if notAllocated(a) || reader == "virtualizarr" && !virtualizarr(a) {
				return ways.ErrForm
			}
			seen[name]++
			if a.Dims["dtype"] == "padded" || seen[name]%12 != 1 {
				return ways.ErrForm // structures have no gaps in Zarr; one of 12 arrays, because each needs three programs
			}
			file, references := filepath.Join(dir, "k.h5"), filepath.Join(dir, "k."+form)
			if err := errors.Join(os.RemoveAll(file), os.RemoveAll(references)); err != nil {
				return err
			}
			if err := runAll([][]string{{"cp", a.Location(), file + ":/x"}, {"index", file, "-o", references, "--kerchunk", form}}); err != nil {
				return err
			}
			return reference.Fill(reader, references, "/x", dst)
		})}
	}
	return []ways.Way{way("kerchunk", "json", "kerchunk"), way("kerchunk Parquet", "parquet", "kerchunk"), way("VirtualiZarr", "json", "virtualizarr")}
}

// virtualizarr reports whether VirtualiZarr 2.5 reads the references of an array: it supports no
// elements in the references, no structures and no opaque types, and it takes the last stored chunk
// for the end of the array.
func virtualizarr(a *ways.Array) bool {
	return !a.Cells() && a.Dims["index"] != "compact" && a.Dims["stored"] == "all" && len(a.Want) > 0 && len(a.Shape) > 0 &&
		!slices.Contains([]string{"bits", "V7", "struct", "padded"}, a.Dims["dtype"])
}

// notAllocated reports whether libhdf5 cannot rewrite an array for a file of other address sizes:
// it fails to allocate chunks of strings with fill time "at allocation" (docs/known-issues.md).
func notAllocated(a *ways.Array) bool {
	return a.Cells() && a.Dims["filltime"] == "at allocation" && !strings.Contains(a.Dims["file"], " 8")
}

func runAll(commands [][]string) error {
	for _, args := range commands {
		if _, err := command(args...); err != nil {
			return err
		}
	}
	return nil
}

// whole returns a way that writes a whole file again.
func whole(t *testing.T, name string, reference *ways.Reference, formats []string, commands func(f *ways.File, to string) [][]string) ways.Way {
	return ways.Way{Name: name, Slow: name != "cp" && name != "repack", Whole: true, Formats: formats, Start: func(_ context.Context, f *ways.File) (ways.Read, func() error, error) {
		to := filepath.Join(filepath.Dir(f.Path()), "again-"+filepath.Base(f.Path()))
		stop := func() error { return os.RemoveAll(to) }
		if name == "repack --cloud" && slices.ContainsFunc(f.Arrays, notAllocated) {
			return nil, nil, ways.ErrForm
		}
		if err := runAll(commands(f, to)); err != nil {
			return nil, nil, errors.Join(err, stop())
		}
		return func(_ context.Context, a *ways.Array, _ ndarray.Region, dst []byte) error {
			if name == "cp" && notAllocated(a) {
				return ways.ErrForm
			}
			return reference.Fill(f.Format, to, a.Path, dst)
		}, stop, nil
	}}
}
