// Tests of rules that hold for every command, for example of exit codes, error messages and JSON
// output.

package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/cli"
)

// exitCodes are the exit codes of each command, except those of signals. For convert, verify,
// repack and the commands that read (except explain and plot), code 3 means that some of several
// files failed.
var exitCodes = map[string][]int{
	"append": {0, 2}, "attr get": {0, 2}, "attr list": {0, 2, 3}, "attr rm": {0, 2}, "attr set": {0, 2}, "bench": {0, 2, 4},
	"chunks": {0, 2, 3}, "convert": {0, 2, 3, 4}, "cp": {0, 2, 4}, "crosscheck advise": {0, 2}, "crosscheck archive": {0, 2, 4}, "crosscheck emit": {0, 2, 4}, "crosscheck run": {0, 1, 2, 4},
	"diff": {0, 1, 2, 3}, "dump": {0, 2, 3}, "explain": {0, 1, 2}, "index": {0, 2, 4}, "info": {0, 2, 3}, "ls": {0, 2, 3}, "plot": {0, 2, 4},
	"recover": {0, 2, 3, 4}, "repack": {0, 2, 3, 4}, "rm": {0, 2}, "scan": {0, 1, 2, 3}, "stats": {0, 2, 3}, "tree": {0, 2, 3}, "verify": {0, 1, 2, 3, 4},
	"version": {0, 2}, "virtual": {0, 2, 4}, "plan": {0, 2, 4}, "work": {0, 2, 3, 4}, "commit": {0, 2, 3, 4},
}

// leaves returns the names of the commands as in the manual pages, without groups of commands, and
// without completion, help and man, which read no file. TestServe and TestView test serve
// and view, which run until they are ended.
func leaves(t *testing.T) (names []string) {
	t.Helper()
	dir := t.TempDir()
	_, stderr, code := run("man", "--install", dir)
	require.Zero(t, code, stderr)
	pages, err := filepath.Glob(filepath.Join(dir, "hyperslab-*.1"))
	require.NoError(t, err)
	for _, page := range pages {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(page), "hyperslab-"), ".1")
		group := slices.ContainsFunc(pages, func(p string) bool { return strings.HasPrefix(filepath.Base(p), "hyperslab-"+name+"-") })
		if !group && name != "help" && name != "serve" && name != "view" && name != "man" && !strings.HasPrefix(name, "completion") {
			names = append(names, strings.ReplaceAll(name, "-", " "))
		}
	}
	return names
}

// goldenSession is a session of a golden file.
type goldenSession struct {
	args   []string // after "hyperslab"
	stderr []string
	code   int
}

// goldens reads all golden files.
func goldens(t *testing.T) (all []goldenSession) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.golden")
	require.NoError(t, err)
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, text := range strings.Split("\n"+string(b), "\n$ hyperslab ")[1:] {
			lines := strings.Split(strings.TrimSpace(text), "\n")
			s := goldenSession{args: hintWords(lines[0])}
			for _, l := range lines {
				if said, ok := strings.CutPrefix(l, "2> "); ok {
					s.stderr = append(s.stderr, said)
				}
			}
			code, ok := strings.CutPrefix(lines[len(lines)-1], "exit ")
			require.True(t, ok, "%s: %s", file, lines[0])
			s.code, err = strconv.Atoi(code)
			require.NoError(t, err)
			all = append(all, s)
		}
	}
	require.Greater(t, len(all), 300)
	return all
}

// scripted returns the command lines of the scripts with their exit codes, and those of
// docs/sessions.md that measure speeds.
func scripted(t *testing.T) (all []goldenSession) {
	t.Helper()
	files, err := filepath.Glob("testdata/script/*.txtar")
	require.NoError(t, err)
	line := regexp.MustCompile(`(?m)^(?:exec|status ([0-9]+)) (?:sh -c '[^']*?)?hyperslab (.*)$`)
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range line.FindAllStringSubmatch(string(b), -1) {
			code, _ := strconv.Atoi(m[1]) // exec has no code, which means 0
			all = append(all, goldenSession{args: strings.Fields(m[2]), code: code})
		}
	}
	for _, w := range walks {
		for _, l := range w.lines {
			if strings.HasPrefix(l, "bench ") { // its output contains measured speeds, so the golden files only have its errors
				all = append(all, goldenSession{args: strings.Fields(l), code: 0})
			}
		}
	}
	return all
}

// TestCommands_exitCodes checks that each command has a session in a golden file and that each of
// its exit codes occurs in some test.
func TestCommands_exitCodes(t *testing.T) {
	names := leaves(t)
	command := func(args []string) string {
		for _, n := range []int{2, 1} {
			if len(args) >= n && slices.Contains(names, strings.Join(args[:n], " ")) {
				return strings.Join(args[:n], " ")
			}
		}
		return ""
	}
	seen := make(map[string]map[int]bool)
	for _, name := range names {
		require.NotEmpty(t, exitCodes[name], name)
		seen[name] = make(map[int]bool)
	}
	require.Len(t, exitCodes, len(names))
	literal := make(map[string]bool)
	for _, s := range goldens(t) {
		if name := command(s.args); name != "" {
			literal[name], seen[name][s.code] = true, true
		}
	}
	for _, s := range scripted(t) {
		if name := command(s.args); name != "" && s.code < 128 {
			seen[name][s.code] = true
		}
	}
	for _, name := range names {
		require.True(t, literal[name], "%s has no golden session", name)
		for _, code := range exitCodes[name] {
			require.True(t, seen[name][code], "no test ends %s with %d", name, code)
		}
		require.Len(t, seen[name], len(exitCodes[name]), "%s: %v", name, seen[name])
	}
}

// TestCommands_errors checks that every error message contains a name from the command line, or the
// name of what is missing, and that its last line is a hint.
func TestCommands_errors(t *testing.T) {
	checked := 0
	for _, s := range goldens(t) {
		if s.code != 2 && s.code != 4 {
			continue
		}
		line := strings.Join(s.args, " ")
		require.NotEmpty(t, s.stderr, line)
		at := slices.IndexFunc(s.stderr, func(l string) bool { return strings.HasPrefix(l, "hyperslab") })
		require.GreaterOrEqual(t, at, 0, line)
		require.Regexp(t, `^  \S`, s.stderr[len(s.stderr)-1], "%s: the last line is not what to do", line)
		_, what, ok := strings.Cut(s.stderr[at], ": ")
		require.True(t, ok, line)
		said := what + strings.Join(s.stderr[at+1:len(s.stderr)-1], " ")
		named := strings.Contains(said, "missing")
		for _, arg := range s.args {
			flag, value, _ := strings.Cut(arg, "=")
			file, _, _ := strings.Cut(arg, ":/")
			array, _, _ := strings.Cut(arg, "[")
			for _, word := range []string{arg, flag, value, file, array} {
				named = named || word != "" && strings.Contains(said, word)
			}
		}
		// The errors of plan, work and commit may instead contain the target or the shards that the
		// plan lists.
		named = named || slices.Contains(planned, s.args[0]) && regexp.MustCompile(`\.b2nd|\bplan\b`).MatchString(said)
		require.True(t, named, "%s: does not say where: %s", line, said)
		checked++
	}
	require.Greater(t, checked, 150)
}

// TestCommands_json checks that every command with --json writes one JSON document to standard
// output and no diagnostics. Its schema and keys must be documented.
func TestCommands_json(t *testing.T) {
	docs := ""
	for _, file := range []string{"schemas.md", "../../../../docs/crosscheck-manifest.md"} {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		docs += string(b)
	}
	t.Chdir(field(t))
	seen := make(map[string]bool)
	names := leaves(t)
	key := regexp.MustCompile(`(?m)^  "([a-z0-9_]+)": `)
	for _, x := range []struct {
		command string
		args    []string
		code    int
	}{
		{"ls", []string{"-r", "broken.h5"}, 3},
		{"tree", []string{"tree.h5"}, 0},
		{"info", []string{"etopo.h5:/ROSE"}, 0},
		{"info", []string{"waves.b2nd", "--meta"}, 0},
		{"info", []string{"tree.h5", "--storage"}, 0},
		{"chunks", []string{"etopo.h5:/ROSE"}, 0},
		{"index", []string{"etopo.h5", "-o", "j.index"}, 0},
		{"dump", []string{"records.b2nd"}, 0},
		{"stats", []string{"etopo.h5:/ROSE"}, 0},
		{"explain", []string{"cut.b2nd", "--wrong"}, 1},
		{"plot", []string{"etopo.h5:/ROSE", "-o", "p.png"}, 0},
		{"convert", []string{"waves.b2nd", "j.h5:/w"}, 0},
		{"convert", []string{"tree.h5", "jt.h5", "-q"}, 0},
		{"convert", []string{"--into", ".", "--format", "hdf5", "scalar.b2nd"}, 0},
		{"diff", []string{"waves.b2nd", "changed.b2nd"}, 1},
		{"diff", []string{"tree.h5", "waves.h5"}, 1},
		{"verify", []string{"cut.h5", "waves.b2nd"}, 1},
		{"scan", []string{"cut.h5", "waves.b2nd"}, 1},
		{"recover", []string{"cut.h5", "j2.h5"}, 3},
		{"repack", []string{"waves.b2nd", "j2.b2nd"}, 0},
		{"plan", []string{"copy", "waves.b2nd", "j4.b2nd", "-o", "j4.plan"}, 0},
		{"work", []string{"j4.plan", "--all", "-q"}, 0},
		{"commit", []string{"j4.plan", "-q"}, 0},
		{"cp", []string{"tree.h5:/time", "j3.h5:/time"}, 0},
		{"append", []string{"waves.b2nd", "changed.b2nd", "-q"}, 0},
		{"virtual", []string{"waves.h5:/waves", "waves.h5:/waves", "j5.h5:/v", "-q"}, 0},
		{"attr list", []string{"waves.b2nd"}, 0},
		{"attr get", []string{"waves.b2nd", "units"}, 0},
		{"attr set", []string{"waves.b2nd", "n", "1"}, 0},
		{"attr rm", []string{"waves.b2nd", "n"}, 0},
		{"rm", []string{"tree.h5:/time"}, 0},
		{"bench", []string{"waves.b2nd", "--codec", "lz4", "--level", "1", "--seconds", "0"}, 0},
		{"crosscheck advise", []string{"etopo.h5"}, 0},
		{"crosscheck archive", []string{"v.zip", "--area", "metalayer"}, 0},
		{"crosscheck emit", []string{"v", "--area", "metalayer"}, 0},
		{"crosscheck run", []string{"v", "--read", "false {in} {out}"}, 1},
		{"version", []string{"--check"}, 0},
	} {
		args := append(append(strings.Fields(x.command), x.args...), "--json")
		line := strings.Join(args, " ")
		stdout, stderr, code := run(args...)
		require.Equal(t, x.code, code, "%s: %s", line, stderr)
		require.True(t, json.Valid([]byte(stdout)), "%s: %s", line, stdout)
		var doc struct{ Schema string }
		require.NoError(t, json.Unmarshal([]byte(stdout), &doc), line)
		require.True(t, strings.HasPrefix(stdout, "{\n  \"schema\": \""+doc.Schema+"\""), "%s: the schema is the first key", line)
		require.Contains(t, docs, "`"+doc.Schema+"`", line)
		for _, m := range key.FindAllStringSubmatch(stdout, -1) {
			require.Contains(t, docs, "`"+m[1]+"`", "%s: key %s", line, m[1])
		}
		if code == 0 && x.command != "plot" { // plot reports the name of its output
			require.Empty(t, stderr, line)
		}
		seen[x.command] = true
	}
	for _, name := range names {
		require.True(t, seen[name], "no document of %s --json was looked at", name)
	}
}

// TestTwoArguments checks that every command accepts FILE /path as an equivalent of FILE:/path.
func TestTwoArguments(t *testing.T) {
	t.Chdir(field(t))
	for _, line := range []string{"ls", "tree", "info", "chunks", "dump", "stats", "explain", "plot", "attr list"} {
		for _, path := range []string{"/run1/temperature", "run1/temperature"} {
			args := strings.Fields(line)
			one, stderr, code := run(append(args, "tree.h5:/run1/temperature")...)
			require.Zero(t, code, "%s: %s", line, stderr)
			require.NotEmpty(t, one, line)
			two, stderr, code := run(append(args, "tree.h5", path)...)
			require.Zero(t, code, "%s: %s", line, stderr)
			require.Equal(t, one, two, line)
		}
	}
	_, stderr, code := run("bench", "tree.h5", "time", "--codec", "lz4", "--level", "1", "--seconds", "0")
	require.Zero(t, code, stderr)
}

// looks are commands without progress messages, because they read metadata only and write output
// while they read.
var looks = []string{"ls", "tree", "info", "chunks", "index", "explain", "scan", "attr list", "attr get", "version", "virtual", "crosscheck advise"}

// TestCommands_progress checks that every other command reports its progress as lines or JSON
// objects if --progress requests it, with the rate and, where it is known, the compression ratio.
// Short jobs must not report progress, nor must any job with --progress none.
func TestCommands_progress(t *testing.T) {
	t.Chdir(field(t))
	_, stderr, code := run("convert", "etopo.h5:/ROSE", "rose.b2nd", "--exclude-unsupported", "-q")
	require.Zero(t, code, stderr)
	_, stderr, code = run("convert", "etopo.h5:/ROSE", "rose.h5:/r", "--exclude-unsupported", "-q")
	require.Zero(t, code, stderr)
	seen := make(map[string]bool)
	for i, x := range []struct {
		command, args string
		code          int
		ratio         bool
	}{
		{"append", "rose.b2nd rose.h5:/r", 0, true},
		{"append", "rose.b2nd rose.h5:/r --in-place", 0, false},
		{"attr set", "rose.b2nd units m", 0, false},
		{"attr rm", "rose.b2nd units", 0, false},
		{"bench", "waves.b2nd --codec lz4 --level 1 --seconds 0", 0, false},
		{"convert", "rose.b2nd OUT.h5:/r", 0, true},
		{"convert", "rose.h5:/r OUT.npy --exclude-unsupported", 0, true},
		{"convert", "tree.h5:/run1 OUT --exclude-unsupported", 0, true},
		{"cp", "rose.b2nd OUT.b2nd", 0, false},
		{"cp", "rose.h5:/r OUT.h5:/r", 0, false},
		{"cp", "tree.h5:/run1 rose.h5:/OUT", 0, false},
		{"cp", "tree.h5:/run1 rose.h5:/OUT2 --in-place", 0, false},
		{"crosscheck archive", "OUT.zip --area metalayer", 0, false},
		{"crosscheck emit", "OUT --area metalayer", 0, false},
		{"crosscheck run", "LAST --read false", 2, false},
		{"diff", "rose.h5:/r rose.h5:/r", 0, true},
		{"diff", "tree.h5:/run1 tree.h5:/run1", 0, true},
		{"dump", "rose.h5:/r", 0, true},
		{"dump", "rose.h5:/r --npy", 0, true},
		{"plot", "rose.h5:/r -o OUT.svg", 0, true},
		{"plot", "rose.h5:/r[3] -o OUT.svg", 0, true},
		{"plot", "rose.h5:/r --kind histogram -o OUT.svg", 0, true},
		{"recover", "rose.h5 OUT.h5", 0, false},
		{"recover", "rose.h5 OUT.h5 --untrusted", 0, false},
		{"recover", "rose.b2nd OUT.b2nd", 0, false},
		{"repack", "rose.h5 OUT.h5 --codec zstd", 0, true},
		{"repack", "rose.b2nd OUT.b2nd", 0, false},
		{"rm", "rose.h5:/OUT -r", 0, false},
		{"stats", "rose.h5:/r", 0, true},
		{"verify", "rose.h5", 0, true},
		{"verify", "rose.h5 --sandbox=false", 0, true},
	} {
		seen[x.command] = true
		t.Run(x.command+" "+x.args, func(t *testing.T) {
			line := strings.Fields(x.command + " " + x.args)
			for _, kind := range []string{"none", "json", "plain"} {
				args := append(slices.Clone(line), "--progress", kind)
				for k := range args {
					args[k] = strings.ReplaceAll(args[k], "LAST", "o"+strconv.Itoa(i-1)+"plain")
					args[k] = strings.ReplaceAll(args[k], "OUT", "o"+strconv.Itoa(i)+kind)
				}
				if x.command == "rm" {
					args[1] = "rose.h5:/o10" + kind
				}
				if x.command == "crosscheck run" {
					args[4] = "false {in} {out}"
				}
				if x.args == "rose.b2nd units" && kind != "none" { // restore the attribute that the command removed
					_, stderr, code := run("attr", "set", "rose.b2nd", "units", "m")
					require.Zero(t, code, stderr)
				}
				cli.ShowAtOnce(t, 0)
				_, stderr, code := run(args...)
				if x.command == "crosscheck run" {
					require.Equal(t, 1, code, "%v: %s", args, stderr)
				} else {
					require.Equal(t, x.code, code, "%v: %s", args, stderr)
				}
				name := strings.Fields(x.command)[0]
				if name == "attr" {
					name = strings.Fields(x.command)[1]
				}
				switch kind {
				case "none":
					require.NotContains(t, stderr, "%  ", "%v", args)
				case "plain":
					require.Regexp(t, `(?m)^`+name+`: [0-9]+%  [0-9.]+( [KM]?i?B)? / [0-9]`, stderr, "%v", args)
					if x.ratio {
						require.Regexp(t, `(?m)^`+name+`: 100%  .* [0-9.]+x  .* MB/s`, stderr, "%v", args)
					}
				case "json":
					require.Regexp(t, `(?m)^{"schema":"hyperslab.progress/1","t":`, stderr, "%v", args)
					require.Equal(t, x.ratio, strings.Contains(stderr, `"ratio":`), "%v: %s", args, stderr)
				}
			}
			args := append(slices.Clone(line), "--progress", "loud")
			if x.command == "crosscheck run" {
				args[4] = "false {in} {out}"
			}
			_, stderr, code := run(args...)
			require.Equal(t, 2, code, "%v", args)
			require.Contains(t, stderr, "--progress loud: want auto, none, plain or json", "%v", args)
		})
	}
	for _, name := range unplanned(leaves(t)) { // TestPlan_progress checks the other commands
		require.NotEqual(t, seen[name], slices.Contains(looks, name), "%s: with progress or without", name)
		if !seen[name] {
			stdout, _, _ := run(append(strings.Fields(name), "--help")...)
			require.NotContains(t, stdout, "--progress", name)
		}
	}
}
