// Tests of the flags that several commands share. Each table must have a row for every command that
// has the flag: a new command fails the test until it has one.

package cli_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/cli"
	"github.com/hyperslab/hyperslab/ndarray"
)

// flagged returns the names of the commands that have a flag.
func flagged(t *testing.T, flag string) (names []string) {
	t.Helper()
	line := regexp.MustCompile(`(?m)^ +(-\w, )?` + flag + `\b`)
	for _, name := range leaves(t) {
		stdout, stderr, code := run(append(strings.Fields(name), "--help")...)
		require.Zero(t, code, stderr)
		if line.MatchString(stdout) {
			names = append(names, name)
		}
	}
	require.NotEmpty(t, names, flag)
	return names
}

// words splits a command line into arguments. An argument between double quotes may contain spaces.
func words(line string) (args []string) {
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			args = append(args, part)
		} else {
			args = append(args, strings.Fields(part)...)
		}
	}
	return args
}

// commandOf returns the name of the command that args start with.
func commandOf(t *testing.T, args []string) string {
	t.Helper()
	names := leaves(t)
	for _, n := range []int{2, 1} {
		if len(args) >= n && slices.Contains(names, strings.Join(args[:n], " ")) {
			return strings.Join(args[:n], " ")
		}
	}
	require.Fail(t, "no command", "%v", args)
	return ""
}

// everyCommand checks that lines has at least one line of each command in names and no line of
// another command.
func everyCommand(t *testing.T, names, lines []string) {
	t.Helper()
	var seen []string
	for _, line := range lines {
		seen = append(seen, commandOf(t, words(line)))
	}
	slices.Sort(seen)
	slices.Sort(names)
	require.Equal(t, names, slices.Compact(seen))
}

// contents returns the digest of each file of a directory, with its modification time if times is
// set.
func contents(t *testing.T, dir string, times bool) map[string]string {
	t.Helper()
	all := make(map[string]string)
	require.NoError(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		all[rel] = fmt.Sprintf("%x", sha256.Sum256(b))
		if times {
			all[rel] += info.ModTime().String()
		}
		return err
	}))
	return all
}

// speeds matches measured values, which differ between two runs of bench or crosscheck.
var speeds = regexp.MustCompile(`"((de)?compress_mb_per_s|nanoseconds)": [0-9.e+-]+`)

// TestCommands_jobs checks that every command that accepts -j writes the same bytes, to standard
// output and to files, with one, two and eight workers.
func TestCommands_jobs(t *testing.T) {
	t.Chdir(field(t))
	noise(t, "many.b2nd", 256)
	values := make([]float32, 256*1024)
	for i := range values {
		values[i] = float32(i%1000) / 7
	}
	create(t, "other.b2nd", ndarray.Spec{Shape: []int64{256, 1024}, ChunkShape: []int64{16, 512}}, values)
	for _, line := range []string{
		"convert many.b2nd many.h5:/x --chunks 16,256 -q", "convert other.b2nd grown.b2nd -q", "convert other.b2nd grown8.b2nd -q",
		"crosscheck emit v --area metalayer",
	} {
		_, stderr, code := run(words(line)...)
		require.Zero(t, code, "%s: %s", line, stderr)
	}
	var lines []string
	for _, x := range []struct {
		line string // OUT stands for the output name without its extension
		code int
	}{
		{"append OUT.b2nd many.b2nd", 0},
		{"bench many.b2nd --codec lz4,zstd --level 1 --seconds 0 --for ratio --json", 0},
		{"convert many.b2nd OUT.b2nd --codec zstd --chunks 32,512", 0},
		{"convert many.b2nd OUT.h5:/x --codec deflate --chunks 32,512", 0},
		{"convert many.h5:/x OUT.npy", 0},
		{"convert many.h5:/x OUT.bcolz", 0},
		{"convert tree.h5:/run1 OUT --exclude-unsupported", 0},
		{"diff many.b2nd other.b2nd --json", 1},
		{"diff many.b2nd many.h5:/x --json", 0},
		{"plot many.b2nd", 0},
		{"plot many.b2nd -o OUT.png --title x", 0},
		{"plot other.b2nd --kind histogram -o OUT.svg --title x", 0},
		{"repack other.b2nd OUT.b2nd --codec lz4 --chunks 8,512", 0},
		{"repack many.h5 OUT.h5 --codec zstd", 0},
		{"convert many.b2nd other.b2nd --into OUT --format hdf5 --json", 0},
		{"cp many.b2nd other.b2nd many.h5 --into OUT", 0},
		{"recover many.b2nd other.b2nd many.h5 --into OUT", 0},
		{"stats many.b2nd --json", 0},
		{"stats other.b2nd --json", 0},
		{"scan many.b2nd many.h5 other.b2nd --json", 0},
		{"verify many.b2nd many.h5 other.b2nd cut.h5 --json", 1},
		{`crosscheck run v --read "false {in} {out}" --json`, 1},
	} {
		lines = append(lines, x.line)
		t.Run(x.line, func(t *testing.T) {
			var said []string
			var made []map[string]string
			for _, jobs := range []string{"1", "2", "8"} {
				dir := filepath.Join(t.TempDir(), "out")
				require.NoError(t, os.Mkdir(dir, 0o777))
				out := filepath.Join(dir, "out")
				args := words(x.line)
				if args[0] == "append" {
					_, stderr, code := run("cp", "other.b2nd", out+".b2nd")
					require.Zero(t, code, stderr)
				}
				for i := range args {
					args[i] = strings.ReplaceAll(args[i], "OUT", out)
				}
				stdout, stderr, code := run(append(args, "-j", jobs)...)
				require.Equal(t, x.code, code, "-j %s: %s", jobs, stderr)
				said = append(said, speeds.ReplaceAllString(scrub(strings.ReplaceAll(stdout, dir, "")), "SPEED"))
				files := contents(t, dir, false)
				delete(files, "out/.hyperslab-done") // it contains times
				made = append(made, files)
			}
			for i := range said {
				require.Equal(t, said[0], said[i])
				require.Equal(t, made[0], made[i])
			}
			require.Equal(t, strings.Contains(x.line, "OUT"), len(made[0]) > 0)
		})
	}
	everyCommand(t, unplanned(flagged(t, "--jobs")), lines)
}

// terminal has a line of each command. paged is true if the output goes through the pager on a
// terminal, because its length depends on the file. The output of the other commands is short
// unless a flag requests more, and a plot has the size of the terminal.
var terminal = []struct {
	line  string
	paged bool
}{
	{"ls -r tree.h5", true}, {"tree tree.h5", true}, {"info etopo.h5:/ROSE", true}, {"chunks etopo.h5:/ROSE", true}, {"dump records.b2nd", true},
	{"explain waves.b2nd", true}, {"attr list waves.b2nd", true}, {"attr get waves.b2nd units", true}, {"version", true},
	{"stats waves.b2nd", false}, {"plot waves.b2nd", false}, {"diff waves.b2nd changed.b2nd", false}, {"verify waves.b2nd cut.h5", false}, {"scan waves.b2nd cut.h5", false},
	{"convert waves.b2nd OUT.h5:/w", false}, {"repack waves.b2nd OUT.b2nd --codec lz4", false}, {"recover cut.h5 OUT2.h5", false},
	{"cp tree.h5:/time OUT3.h5:/time", false}, {"append waves.b2nd changed.b2nd --dry-run", false}, {"attr set waves.b2nd units km --dry-run", false},
	{"attr rm waves.b2nd units --dry-run", false}, {"rm tree.h5:/time --dry-run", false}, {"bench waves.b2nd --codec lz4 --level 1 --seconds 0", false},
	{"plan copy waves.b2nd OUT4.b2nd -o OUT4.json", false}, {"work OUT4.json --all", false}, {"commit OUT4.json", false},
	{"index etopo.h5 -o OUT5.index", false}, {"virtual waves.h5:/waves waves.h5:/waves OUT6.h5:/v", false}, {"crosscheck advise etopo.h5", false}, {"crosscheck archive OUT7.zip --area metalayer", false}, {"crosscheck emit OUT --area metalayer", false}, {`crosscheck run OUT --read "false {in} {out}"`, false},
}

// TestCommands_terminal checks that on a terminal exactly the commands with long output use the
// pager, and that no command writes colours if NO_COLOR is set. A progress bar may still write
// escape sequences that move the cursor.
func TestCommands_terminal(t *testing.T) {
	var text bytes.Buffer
	text.WriteString("env TERM=xterm NO_COLOR=1\nenv HYPERSLAB_PAGER='sed s/^/paged:/'\n")
	var lines, paged []string
	for _, x := range terminal {
		lines = append(lines, x.line)
		not := "! "
		if x.paged {
			not, paged = "", append(paged, commandOf(t, words(x.line)))
		}
		fmt.Fprintf(&text, "ttyin enter\nexec sh -c 'hyperslab %s >/dev/tty 2>/dev/tty || true'\n%sttyout '^paged:'\n! ttyout '\\x1b\\[[0-9;]*m'\n", x.line, not)
		if x.paged {
			fmt.Fprintf(&text, "ttyin enter\nexec sh -c 'hyperslab %s --no-pager >/dev/tty 2>/dev/tty || true'\n! ttyout '^paged:'\n", x.line)
		}
	}
	text.WriteString("-- enter --\n\n")
	file := filepath.Join(t.TempDir(), "terminal.txtar")
	put(t, file, text.Bytes())
	script(t, testscript.Params{Files: []string{file}})
	everyCommand(t, leaves(t), lines)
	slices.Sort(paged)
	require.Equal(t, flagged(t, "--no-pager"), paged)
}

// TestCommands_colours checks that CLICOLOR_FORCE adds colours to the output and does not change
// its text. The output must not contain colours without CLICOLOR_FORCE, or if NO_COLOR is set,
// because NO_COLOR takes precedence.
func TestCommands_colours(t *testing.T) {
	t.Chdir(field(t))
	escape := regexp.MustCompile("\x1b\\[[0-9;]*m")
	with := func(force, no string, args []string) (string, string) {
		t.Setenv("CLICOLOR_FORCE", force)
		t.Setenv("NO_COLOR", no)
		stdout, stderr, _ := run(args...)
		return scrub(stdout), stderr
	}
	coloured := 0
	for _, x := range terminal {
		if strings.Contains(x.line, "OUT") { // a second run fails because the output exists
			continue
		}
		args := words(x.line)
		plain, said := with("", "", args)
		require.NotContains(t, plain+said, "\x1b", x.line)
		off, said := with("1", "1", args)
		require.NotContains(t, off+said, "\x1b", x.line)
		if args[0] == "bench" { // its measured speeds differ
			continue
		}
		require.Equal(t, plain, off, x.line)
		on, _ := with("1", "", args)
		if args[0] != "plot" { // with colours it draws with other block characters
			require.Equal(t, plain, escape.ReplaceAllString(on, ""), x.line)
		}
		if on != plain {
			coloured++
		}
	}
	require.Greater(t, coloured, 6)
}

// TestCommands_prefixes checks that an address is split at the longest prefix that exists as a
// file. Every command must produce the same output in the directory "odd:", even if there is a file
// with the name "odd".
func TestCommands_prefixes(t *testing.T) {
	t.Chdir(field(t))
	files, err := filepath.Glob("*")
	require.NoError(t, err)
	require.NoError(t, os.Mkdir("odd:", 0o777))
	for _, name := range files {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		put(t, filepath.Join("odd:", name), b)
	}
	tree, err := os.ReadFile("tree.h5")
	require.NoError(t, err)
	put(t, "odd", tree) // "odd:/tree.h5" could also be an object of this file
	lines := []string{
		"ls @tree.h5:/run1", "tree @tree.h5:/run1", "info @tree.h5:/run1/temperature", "chunks @etopo.h5:/ROSE", "dump @tree.h5:/run1/temperature[0]",
		"stats @etopo.h5:/ROSE", "explain @tree.h5:/run1/temperature", "plot @etopo.h5:/ROSE -o p.png -f", "diff @etopo.h5:/ROSE @waves.b2nd",
		"diff @tree.h5:/run1 @tree.h5:/run2", "convert @etopo.h5:/ROSE x.b2nd --exclude-unsupported -f", "convert @tree.h5:/run1 x.h5 --exclude-unsupported -f",
		"repack @tree.h5 y.h5 -f", "repack --replace @waves.h5", "verify @tree.h5", "scan @tree.h5", "recover @etopo.h5 z.h5 -f", "cp @tree.h5:/time @waves.h5:/t",
		"append @waves.b2nd @changed.b2nd", "virtual @waves.h5:/waves @waves.h5:/waves v.h5:/v --dry-run", "attr list @tree.h5:/run1", "attr get @etopo.h5:/ROSE units", "attr set @tree.h5:/time units s",
		"attr rm @tree.h5:/time units", "rm @tree.h5:/time", "index @etopo.h5 -o z.index -f", "bench @etopo.h5:/ROSE --codec lz4 --level 1 --seconds 0 --for ratio",
	}
	for _, line := range lines {
		args := append(words(line), "--json")
		var said, made []string
		var codes []int
		for _, directory := range []string{"", "odd:/"} {
			own := slices.Clone(args)
			for i := range own {
				own[i] = strings.ReplaceAll(own[i], "@", directory)
			}
			stdout, stderr, code := run(own...)
			require.Less(t, code, 2, "%v: %s", own, stderr)
			said = append(said, speeds.ReplaceAllString(scrub(strings.ReplaceAll(stdout, "odd:/", "")), "SPEED"))
			codes = append(codes, code)
			if strings.Contains(line, " x.b2nd ") { // the order of chunks in an HDF5 file depends on scheduling
				made = append(made, contents(t, ".", false)["x.b2nd"])
			}
		}
		require.Equal(t, codes[0], codes[1], line)
		require.Equal(t, said[0], said[1], line)
		if len(made) > 0 {
			require.Equal(t, made[0], made[1], line)
		}
	}
	changed := contents(t, "odd:", false)
	for _, name := range files {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		if filepath.Ext(name) != ".h5" {
			require.Equal(t, fmt.Sprintf("%x", sha256.Sum256(b)), changed[name], name)
			continue
		}
		one, _, _ := run("ls", "-r", name, "--json")
		two, _, _ := run("ls", "-r", "odd:/"+name, "--json")
		require.Equal(t, one, strings.ReplaceAll(two, "odd:/", ""), name)
	}
	// crosscheck accepts a directory, version has no address, and the id of a plan depends on file
	// names.
	names := slices.DeleteFunc(unplanned(leaves(t)), func(name string) bool {
		return strings.HasPrefix(name, "crosscheck") || name == "version"
	})
	everyCommand(t, names, lines)
}

// readers do not change files. reports write only one file, the result of all their work, so that a
// dry run would have to do the same work.
var (
	readers = []string{"ls", "tree", "info", "chunks", "dump", "stats", "explain", "diff", "scan", "attr list", "attr get", "crosscheck advise", "version"}
	reports = []string{"plot", "bench", "verify", "crosscheck archive", "crosscheck emit", "crosscheck run", "plan", "work", "commit", "index"}
)

// TestCommands_dryRun checks that --dry-run of every command that changes or creates files reports
// the plan and the amount of data, and the time if a sample allows an estimate. It must not change
// any file.
func TestCommands_dryRun(t *testing.T) {
	t.Chdir(field(t))
	_, stderr, code := run("convert", "waves.b2nd", "w.bcolz", "-q")
	require.Zero(t, code, stderr)
	before := contents(t, ".", true)
	var lines []string
	for _, x := range []struct{ line, plan, estimate string }{
		{"convert waves.b2nd x.h5:/w", `target +x.h5:/w +hdf5`, `estimate +about [0-9.]+ KiB +in [0-9.]+m?s`},
		{"convert tree.h5 x --exclude-unsupported", `target +x +directory`, `estimate +about [0-9.]+ (KiB|B) +in [0-9.]+m?s`},
		{"repack waves.b2nd x.b2nd --codec zstd", `would repack waves.b2nd to x.b2nd: 1 rewritten`, `[0-9.]+ KiB -> about [0-9.]+ (KiB|B) in [0-9.]+m?s`},
		{"append waves.b2nd changed.b2nd", `would append 2.3 KiB along axis 0 of waves.b2nd: about [0-9.]+ KiB in [0-9.]+m?s`, `would copy waves.b2nd first, [0-9.]+ KiB`},
		{"append waves.b2nd changed.b2nd --in-place", `would append 2.3 KiB along axis 0 of waves.b2nd: about`, `would change waves.b2nd itself, of [0-9.]+ KiB`},
		{"append w.bcolz changed.b2nd", `would append 2.3 KiB along axis 0 of w.bcolz\n`, `would copy w.bcolz first, [0-9.]+ KiB`},
		{"virtual waves.h5:/waves waves.h5:/waves x.h5:/v", `would create x.h5:/v: 40x30 of <f4, 2 sources`, ``},
		{"cp waves.b2nd x.b2nd", `would copy waves.b2nd to x.b2nd`, `: [0-9.]+ KiB`},
		{"cp tree.h5:/run1 x.h5:/a", `would copy tree.h5:/run1 to x.h5:/a: [0-9.]+ (KiB|B)\n$`, ``},
		{"cp tree.h5:/run1 waves.h5:/a", `would copy tree.h5:/run1 to waves.h5:/a: [0-9.]+ (KiB|B)\n`, `would copy waves.h5 first, [0-9.]+ KiB, and put the copy in its place`},
		{"rm tree.h5:/time tree.h5:/latest", `would remove tree.h5:/time: [0-9]+ B\nwould remove tree.h5:/latest: a link\n`, `would copy tree.h5 first, 16.6 KiB`},
		{"rm -r tree.h5:/run1 tree.h5:/nope -f", `would remove tree.h5:/run1: [0-9.]+ (KiB|B)\n(?:would copy)`, `16.6 KiB`},
		{"attr set waves.b2nd units km", `would set units of waves.b2nd to string "km"`, `would copy waves.b2nd first, [0-9.]+ KiB`},
		{"attr rm waves.b2nd units", `would remove 1 attribute of waves.b2nd`, `would copy waves.b2nd first, [0-9.]+ KiB`},
		{"recover cut.h5 x.h5", `would read all of cut.h5 as hdf5, [0-9.]+ KiB, and write the readable part to x.h5`, ``},
		{"recover cut.b2nd x.b2nd", `would read all of cut.b2nd as b2nd, [0-9.]+ KiB`, ``},
	} {
		lines = append(lines, x.line)
		stdout, stderr, code := run(append(words(x.line), "--dry-run")...)
		require.Zero(t, code, "%s: %s", x.line, stderr)
		require.Regexp(t, x.plan, stdout+stderr, x.line)
		require.Regexp(t, x.estimate, stdout+stderr, x.line)
		stdout, stderr, code = run(append(words(x.line), "--dry-run", "--json")...)
		require.Zero(t, code, "%s: %s", x.line, stderr)
		require.Contains(t, stdout, `"dry_run": true`, x.line)
		require.Equal(t, before, contents(t, ".", true), x.line)
	}
	for _, x := range []struct { // a dry run fails if the command would
		line, said string
		code       int
	}{
		{"cp tree.h5:/nope waves.h5:/a", "tree.h5:/nope", 2},
		{"cp tree.h5:/time waves.h5:/waves", "/waves", 4},
		{"attr set waves.b2nd:/x units km", "waves.b2nd", 2},
		{"recover cut.h5 waves.h5", "waves.h5", 4},
		{"recover missing.h5 x.h5", "missing.h5", 2},
		{"recover notes.txt x.h5", "notes.txt", 2},
	} {
		stdout, stderr, code := run(append(words(x.line), "--dry-run")...)
		require.Equal(t, x.code, code, "%s: %s", x.line, stderr)
		require.Empty(t, stdout, x.line)
		require.Contains(t, stderr, x.said, x.line)
		require.NotContains(t, stderr, "would", x.line)
	}
	everyCommand(t, flagged(t, "--dry-run"), lines)
	all := slices.Concat(flagged(t, "--dry-run"), readers, reports)
	slices.Sort(all)
	require.Equal(t, leaves(t), all)
}

// single are the commands that have no option for a list of files, because they create one output
// or accept several arguments.
var single = []string{
	"append", "attr get", "attr rm", "attr set", "bench", "crosscheck advise", "crosscheck archive", "crosscheck emit", "crosscheck run", "diff", "explain", "plot", "rm", "version", "virtual",
	"work", "commit",
}

// TestCommands_lists checks that every command with --files-from reads a list from standard input,
// continues after a failure with --keep-going, and reports the number of failures.
func TestCommands_lists(t *testing.T) {
	t.Chdir(field(t))
	require.NoError(t, os.Mkdir("into", 0o777))
	require.NoError(t, os.Link("waves.b2nd", "two\nlines*.b2nd"))
	from := func(list string, args ...string) (stdout, stderr string, code int) {
		var out, errs bytes.Buffer
		code = cli.Run(args, strings.NewReader(list), &out, &errs)
		return out.String(), errs.String(), code
	}
	lines := []string{
		"ls", "tree", "info", "chunks", "dump", "stats", "attr list", "verify", "scan", "convert --into into --format npy -f --exclude-unsupported", "repack --into into -f",
		"cp --into into -f", "recover --into into -f", "index --into into -f",
	}
	for _, line := range lines {
		args := append(words(line), "--files-from", "-")
		_, stderr, code := from("waves.b2nd\nchanged.b2nd\n", args...)
		require.Zero(t, code, "%s: %s", line, stderr)
		stdout, stderr, code := from("missing.b2nd\nwaves.b2nd\n", append(args, "--keep-going")...)
		require.Equal(t, 3, code, "%s: %s", line, stderr)
		require.Contains(t, stderr, "missing.b2nd", line)
		require.Regexp(t, `(?m)^hyperslab `+strings.Fields(line)[0]+`.*: 1 of 2 sources failed$`, stderr, line)
		require.Contains(t, stdout+stderr, "waves", line)
		_, stderr, code = from("missing.b2nd\nwaves.b2nd\n", args...)
		if strings.Contains(line, "--into") && code == 3 { // both sources at the same time
			require.Contains(t, stderr, "1 of 2 sources done", line)
		} else {
			require.Equal(t, 2, code, "%s: %s", line, stderr)
		}
		_, stderr, code = from("waves.b2nd\nmissing.b2nd\n", args...)
		require.Equal(t, 3, code, "%s: %s", line, stderr)
		require.Contains(t, stderr, "1 of 2 sources done", line)
		_, stderr, code = from("", append(args, "w*.b2nd")...)
		require.Zero(t, code, "%s: %s", line, stderr)
		_, stderr, code = from("two\nlines*.b2nd\x00waves.b2nd", append(args, "--null")...)
		require.Zero(t, code, "%s: %s", line, stderr)
		_, stderr, code = from("w*.b2nd\x00", append(args, "-0")...)
		require.Equal(t, 2, code, "%s: %s", line, stderr)
		require.Contains(t, stderr, "w*.b2nd", line)
	}
	everyCommand(t, unplanned(flagged(t, "--files-from")), lines)
	require.Equal(t, flagged(t, "--files-from"), flagged(t, "--keep-going"))
	require.Equal(t, flagged(t, "--files-from"), flagged(t, "--null"))
	all := append(flagged(t, "--files-from"), single...)
	slices.Sort(all)
	require.Equal(t, leaves(t), all)
}
