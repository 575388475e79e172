package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/cli"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestScripts runs the scripts of testdata/script, which start the command as a process to test
// exit codes, pipes and terminals. Each script has a copy of the directory of field and two arrays
// of random numbers.
func TestScripts(t *testing.T) { script(t, testscript.Params{Dir: "testdata/script"}) }

// TestShells types completions into each shell that has a Debian package. PowerShell has none:
// TestScripts checks its completion script and the answers to its requests instead.
func TestShells(t *testing.T) {
	testenv.NoRace(t, "shells start the command hundreds of times")
	for _, shell := range []string{"bash", "zsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			if _, err := exec.LookPath(shell); err != nil {
				testenv.Missing(t, "%s is not installed (make peers)", shell)
			}
			script(t, testscript.Params{Files: []string{"testdata/shells/" + shell + ".txtar"}}, makeOdd)
		})
	}
}

// makeOdd creates a file with object names that contain special characters of shells.
func makeOdd(t *testing.T, dir string) {
	f, err := h5.Create(filepath.Join(dir, "odd names.h5"), nil)
	require.NoError(t, err)
	for _, name := range []string{"with space", "it's", `quo"te`, "br[0]x", "co:lon", "dol$x", `back\slash`, `back\:colon`, "deep group/inner one"} {
		d, err := f.Root().CreateDataset(name, h5.Int(4, 0), h5.SimpleSpace(2), nil)
		require.NoError(t, err)
		require.NoError(t, d.Close())
	}
	require.NoError(t, f.Close())
}

// script runs scripts in a copy of the directory of field. The functions in more add files to it.
func script(t *testing.T, p testscript.Params, more ...func(t *testing.T, dir string)) {
	t.Helper()
	files := field(t)
	for _, add := range more {
		add(t, files)
	}
	noise(t, filepath.Join(files, "noise.b2nd"), 2560)
	noise(t, filepath.Join(files, "big.b2nd"), 8192)
	reference, err := filepath.Abs("../../../../third_party/build/bin/h5diff")
	require.NoError(t, err)
	p.RequireExplicitExec, p.RequireUniqueNames = true, true
	p.Setup = func(env *testscript.Env) error {
		env.Setenv("H5DIFF", reference)
		return os.CopyFS(env.WorkDir, os.DirFS(files))
	}
	p.Cmds = map[string]func(ts *testscript.TestScript, neg bool, args []string){"status": status}
	p.Condition = func(name string) (bool, error) {
		switch name {
		case "h5diff": // a build with the system's libraries does not include h5diff
			_, err := os.Stat(reference)
			return err == nil, nil
		case "namespaces": // most containers do not permit them
			return os.Getenv("CI") != "" || exec.Command("unshare", "--map-root-user", "--mount", "true").Run() == nil, nil
		}
		return false, errors.New("no such condition: " + name)
	}
	testscript.Run(t, p)
}

// children returns the ids of the running child processes of a process.
func children(pid int) (pids []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		b, _ := os.ReadFile(list) // the thread may have ended
		for _, word := range strings.Fields(string(b)) {
			if child, err := strconv.Atoi(word); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// isStall reports whether a process runs the program "stall".
func isStall(pid int) bool {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // the process may have ended
	return bytes.HasPrefix(line, []byte("stall\x00"))
}

// status runs a program and checks its exit code, for example: status 4 hyperslab convert …
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE PROGRAM ARGUMENTS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	var exit *exec.ExitError
	switch err := ts.Exec(args[1], args[2:]...); {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	default:
		ts.Check(err)
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

// outputs are all commands that create a file or directory, with the name of that output.
var outputs = []struct {
	name  string
	args  string
	makes string
}{
	{"append", "append a.b2nd b.b2nd", ""},
	{"append to HDF5", "append a.h5:/x b.b2nd", ""},
	{"attr set", "attr set a.h5:/x units km", ""},
	{"attr rm", "attr rm a.b2nd units", ""},
	{"bench", "bench a.b2nd --codec lz4 --level 1 --seconds 0 --plot new.svg", "new.svg"},
	{"convert to b2nd", "convert a.h5:/x new.b2nd", "new.b2nd"},
	{"convert to a directory", "convert a.h5:/x new.b2nd --sparse", "new.b2nd"},
	{"convert to HDF5", "convert a.b2nd new.h5:/x --exclude-unsupported", "new.h5"},
	{"convert to an external file", "convert b.b2nd new.h5:/x --external new.raw", "new.h5"},
	{"convert to stripes", "convert b.b2nd new.h5:/x --stripes one.h5,two.h5", "new.h5"},
	{"convert to bcolz", "convert a.h5:/x new.bcolz", "new.bcolz"},
	{"convert to npy", "convert b.b2nd new.npy", "new.npy"},
	{"convert a tree", "convert a.h5 new", "new"},
	{"convert by the list", "convert --into . --format npy --files-from list", "b.npy"},
	{"cp of a file", "cp a.b2nd new.b2nd", "new.b2nd"},
	{"cp of an object", "cp a.h5:/x new.h5:/x", "new.h5"},
	{"crosscheck archive", "crosscheck archive new.zip --area metalayer", "new.zip"},
	{"crosscheck emit", "crosscheck emit new --area metalayer", "new"},
	{"plot", "plot b.b2nd -o new.svg", "new.svg"},
	{"recover", "recover a.h5 new.h5", "new.h5"},
	{"repack", "repack --replace a.h5 --codec zstd", ""},
	{"repack of an array", "repack a.b2nd new.b2nd --codec zstd", "new.b2nd"},
	{"rm", "rm a.h5:/old", ""},
	{"virtual", "virtual a.h5:/x new.h5:/x", "new.h5"},
	{"verify", "verify b.b2nd --digests write --sandbox=false", "b.b2nd.sha256"},
}

// brief are commands that finish before a signal could stop them, because they read no array.
var brief = []string{"attr get", "crosscheck advise", "explain", "index", "plan", "version"}

// endless creates an array of 256 GiB in a small file: each chunk is the same one, whose elements
// differ, because commands do not decode chunks of one repeated value.
func endless(t *testing.T, file string) {
	t.Helper()
	const rows, columns = 1 << 15, 1 << 20
	dir := t.TempDir()
	spec := ndarray.Spec{Shape: []int64{1, columns}, ChunkShape: []int64{1, columns}, DType: ndarray.DTypeOf[float64](), Compression: &ndarray.Compression{Codec: "zstd", Level: 1, Filters: []string{"shuffle"}}}
	row := make([]float64, columns)
	for i := range row {
		row[i] = float64(i % 2)
	}
	create(t, dir+"/row.b2nd", spec, row)
	spec.Shape = []int64{rows, columns}
	draft, err := hyperslab.Create(t.Context(), dir+"/all.b2nd", spec, nil)
	require.NoError(t, err)
	require.NoError(t, draft.Commit(t.Context()))

	one, err := frameio.Open(dir+"/row.b2nd", nil)
	require.NoError(t, err)
	defer one.Close()
	chunk, err := one.Chunk(nil, 0)
	require.NoError(t, err)
	like, err := frameio.Open(dir+"/all.b2nd", nil)
	require.NoError(t, err)
	defer like.Close()
	w, err := frameio.CreateLike(file, like)
	require.NoError(t, err)
	for range rows {
		require.NoError(t, w.WriteChunk(chunk))
	}
	require.NoError(t, w.Commit())
}

// TestSignals checks that a command that a signal stops ends with the exit code of the shell
// convention. It must leave neither its target nor a temporary file, and must not change existing
// files. SIGINT is sent to the process group, because a terminal does so. TestInterruptedCommand
// checks the other commands.
func TestSignals(t *testing.T) {
	src := t.TempDir()
	at := func(name string) string { return filepath.Join(src, name) }
	noise(t, at("noise.b2nd"), 4096)
	put(t, at("list"), []byte(strings.Repeat(at("target.b2nd")+"\n", 4000)))
	endless(t, at("endless.b2nd"))
	_, stderr, code := run("crosscheck", "emit", at("v"), "--area", "metalayer")
	require.Zero(t, code, stderr)
	_, stderr, code = run("convert", at("noise.b2nd[:2048]"), at("slow.h5:/x"), "--codec", "bzip2", "--level", "9", "-q")
	require.Zero(t, code, stderr)
	_, stderr, code = run("plan", "checksum", at("endless.b2nd"), at("sum.json"), "--shard-bytes", "1TiB", "-o", at("endless.json"))
	require.Zero(t, code, stderr)
	grows := ndarray.Spec{Shape: []int64{16, 1024}, ChunkShape: []int64{16, 1024}, Compression: &ndarray.Compression{Codec: "zstd", Level: 9}}
	create(t, at("target.b2nd"), grows, make([]float32, 16*1024))
	hard := []string{"-j", "1", "--codec", "zstd", "--level", "9"}
	list := []string{"--files-from", at("list"), "--untrusted"}
	rows := []struct {
		name   string
		signal syscall.Signal
		code   int
		target string // a copy of the file of this name among the sources, if there is one
		args   []string
	}{
		{"convert", syscall.SIGINT, 130, "out.b2nd", append([]string{"convert", at("noise.b2nd"), "TARGET"}, hard...)},
		{"convert sparse", syscall.SIGTERM, 143, "sparse.b2nd", append([]string{"convert", at("noise.b2nd"), "TARGET", "--sparse"}, hard...)},
		{"convert to HDF5", syscall.SIGTERM, 143, "out.h5", []string{"convert", at("noise.b2nd"), "TARGET:/x", "-j", "1", "--codec", "deflate", "--level", "9"}},
		{"convert hung up", syscall.SIGHUP, 129, "out.b2nd", append([]string{"convert", at("noise.b2nd"), "TARGET"}, hard...)},
		{"repack", syscall.SIGINT, 130, "noise.b2nd", append([]string{"repack", "--replace", "TARGET"}, hard...)},
		{"repack HDF5", syscall.SIGTERM, 143, "slow.h5", append([]string{"repack", "--replace", "TARGET"}, hard...)},
		{"append", syscall.SIGTERM, 143, "target.b2nd", []string{"append", "TARGET", at("noise.b2nd"), "-j", "1"}},
		{"recover", syscall.SIGINT, 130, "saved.h5", []string{"recover", at("slow.h5"), "TARGET"}},
		{"recover untrusted", syscall.SIGINT, 130, "saved.h5", []string{"recover", at("slow.h5"), "TARGET", "--untrusted"}},
		{"recover untrusted", syscall.SIGTERM, 143, "saved.h5", []string{"recover", at("slow.h5"), "TARGET", "--untrusted"}},
		{"convert untrusted", syscall.SIGTERM, 143, "out.b2nd", append([]string{"convert", at("noise.b2nd"), "TARGET", "--untrusted"}, hard...)},
		{"dump untrusted", syscall.SIGINT, 130, "", []string{"dump", at("noise.b2nd"), "--untrusted"}},
		{"bench", syscall.SIGINT, 130, "", []string{"bench", at("noise.b2nd"), "--seconds", "20"}},
		{"verify", syscall.SIGTERM, 143, "", append([]string{"verify"}, slices.Repeat([]string{at("target.b2nd")}, 400)...)},
		{"verify untrusted", syscall.SIGINT, 130, "", append([]string{"verify", "--untrusted"}, slices.Repeat([]string{at("target.b2nd")}, 400)...)},
		{"scan", syscall.SIGTERM, 143, "", append([]string{"scan"}, slices.Repeat([]string{at("slow.h5")}, 15000)...)},
		{"stats", syscall.SIGINT, 130, "", []string{"stats", at("endless.b2nd"), "--progress", "json"}},
		{"stats untrusted", syscall.SIGTERM, 143, "", []string{"stats", at("endless.b2nd"), "--progress", "json", "--untrusted"}},
		{"diff", syscall.SIGTERM, 143, "", []string{"diff", at("endless.b2nd"), at("endless.b2nd"), "--progress", "json"}},
		{"diff untrusted", syscall.SIGINT, 130, "", []string{"diff", at("endless.b2nd"), at("endless.b2nd"), "--progress", "json", "--untrusted"}},
		{"plot", syscall.SIGTERM, 143, "", []string{"plot", at("endless.b2nd"), "--progress", "json"}},
		{"plot untrusted", syscall.SIGINT, 130, "p.png", []string{"plot", at("endless.b2nd"), "-o", "TARGET", "--progress", "json", "--untrusted"}},
		{"repack of an array", syscall.SIGTERM, 143, "out.b2nd", append([]string{"repack", at("noise.b2nd"), "TARGET", "--chunks", "32,1024"}, hard...)},
		{"ls", syscall.SIGINT, 130, "", append([]string{"ls"}, list...)},
		{"tree", syscall.SIGTERM, 143, "", append([]string{"tree"}, list...)},
		{"info", syscall.SIGINT, 130, "", append([]string{"info"}, list...)},
		{"chunks", syscall.SIGTERM, 143, "", append([]string{"chunks"}, list...)},
		{"attr list", syscall.SIGINT, 130, "", append([]string{"attr", "list"}, list...)},
		{"work", syscall.SIGTERM, 143, "", []string{"work", at("endless.json"), "--all", "--progress", "json"}},
		{"crosscheck run", syscall.SIGINT, 130, "", []string{"crosscheck", "run", at("v"), "--read", "stall {in} {out}"}},
	}
	done := append(slices.Clone(brief), "commit") // tests of package plan stop it at any time
	for _, c := range outputs {
		done = append(done, commandOf(t, strings.Fields(c.args)))
	}
	for _, tt := range rows {
		done = append(done, commandOf(t, tt.args))
	}
	slices.Sort(done)
	require.Equal(t, leaves(t), slices.Compact(done))
	for _, tt := range testenv.Sample(rows, 3) {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			target := filepath.Join(dir, tt.target)
			before := 0
			old, err := os.ReadFile(at(tt.target))
			if err == nil {
				put(t, target, old)
				before = 1
			}
			args := slices.Clone(tt.args)
			for i := range args {
				args[i] = strings.Replace(args[i], "TARGET", target, 1)
			}
			cmd := exec.Command("hyperslab", args...)
			cmd.Env = append(os.Environ(), "TMPDIR="+dir)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			stdout, err := os.Create(filepath.Join(t.TempDir(), "stdout"))
			require.NoError(t, err)
			defer stdout.Close()
			talk, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
			require.NoError(t, err)
			defer talk.Close()
			cmd.Stdout, cmd.Stderr = stdout, talk
			// This process may ignore the signal, for example under nohup, and the child would
			// inherit that. Notify resets it.
			caught := make(chan os.Signal, 1)
			signal.Notify(caught, tt.signal)
			defer signal.Stop(caught)
			require.NoError(t, cmd.Start())
			require.Eventually(t, func() bool {
				left, err := os.ReadDir(dir)
				data, _ := stdout.Stat()
				progress, _ := talk.Stat()
				return err == nil && len(left) > before || data.Size()+progress.Size() > 0 || tt.args[0] == "crosscheck" && slices.ContainsFunc(children(cmd.Process.Pid), isStall)
			}, time.Minute, time.Millisecond, "the work has begun")
			started := children(cmd.Process.Pid)
			one := slices.Contains(tt.args, at("endless.b2nd")) && slices.Contains(tt.args, "--untrusted") // with several sources there may be no worker at this time
			require.True(t, !one || len(started) > 0, "it has a worker")
			to := cmd.Process.Pid
			if tt.signal == syscall.SIGINT {
				to = -to
			}
			require.NoError(t, syscall.Kill(to, tt.signal))
			begun := time.Now()
			var exit *exec.ExitError
			ended := cmd.Wait()
			said, err := os.ReadFile(talk.Name())
			require.NoError(t, err)
			require.ErrorAs(t, ended, &exit, "it was done before the signal came: %s", said)
			require.Equal(t, tt.code, exit.ExitCode(), "%s", said)
			require.Less(t, time.Since(begun), time.Minute, "it stops between two chunks")
			lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(said)), "\n"), func(l string) bool { return strings.HasPrefix(l, `{"schema":"hyperslab.progress`) })
			require.Equal(t, []string{fmt.Sprintf("hyperslab %s: stopped by a signal (%v); no temporary file is left", commandOf(t, tt.args), tt.signal)}, lines)
			for _, pid := range append(started, -cmd.Process.Pid) {
				require.Eventually(t, func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }, time.Minute, time.Millisecond, "what it started is gone")
			}
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, left, before)
			if before > 0 {
				now, err := os.ReadFile(target)
				require.NoError(t, err)
				require.True(t, bytes.Equal(old, now), "the old file is as it was")
			}
		})
	}
}

// TestSignals_brokenPipe checks that a command ends with the exit code of SIGPIPE if nobody reads
// its output, and only then: a server that closes a connection causes the same signal.
func TestSignals_brokenPipe(t *testing.T) {
	dir := t.TempDir()
	t.Run("standard output", func(t *testing.T) {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, r.Close())
		defer w.Close()
		create(t, filepath.Join(dir, "a.b2nd"), ndarray.Spec{Shape: []int64{1}}, []int8{1})
		cmd := exec.Command("hyperslab", "dump", filepath.Join(dir, "a.b2nd"))
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = w, &stderr
		var exit *exec.ExitError
		require.ErrorAs(t, cmd.Run(), &exit)
		require.Equal(t, 128+int(syscall.SIGPIPE), exit.ExitCode())
		require.Empty(t, stderr.String())
	})
	t.Run("another descriptor", func(t *testing.T) {
		stdin := readerFunc(func(p []byte) (int, error) {
			r, w, err := os.Pipe()
			if err != nil {
				return 0, err
			}
			defer w.Close()
			if err := r.Close(); err != nil {
				return 0, err
			}
			if _, err := w.Write(p[:1]); !errors.Is(err, syscall.EPIPE) {
				return 0, fmt.Errorf("writing to a broken pipe: %w", err)
			}
			time.Sleep(50 * time.Millisecond) // until the signal arrives
			p[0] = 7
			return 1, nil
		})
		var stderr bytes.Buffer
		code := cli.Run([]string{"convert", "-", filepath.Join(dir, "x.b2nd"), "--shape", "4", "--dtype", "u1", "-q"}, io.LimitReader(stdin, 4), io.Discard, &stderr)
		require.Zero(t, code, stderr.String())
	})
}

// readerFunc is a function as an io.Reader.
type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestSignals_Input checks that a signal stops a command that waits for input, or reads endless
// input. A command stops within a second on an idle machine; the test allows ten on a busy one.
func TestSignals_Input(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	create(t, filepath.Join(dir, "a.b2nd"), ndarray.Spec{Shape: []int64{1}}, []int8{1})
	long := filepath.Join(dir, "names")
	put(t, long, bytes.Repeat([]byte(filepath.Join(dir, "a.b2nd")+"\n"), 1<<20))
	silent := func() (*os.File, error) { // a pipe without writes
		r, w, err := os.Pipe()
		t.Cleanup(func() { _ = w.Close() })
		return r, err
	}
	zero := func() (*os.File, error) { return os.Open("/dev/zero") }
	for _, tt := range []struct {
		name  string
		stdin func() (*os.File, error)
		args  []string
	}{
		{"list of /dev/zero", zero, []string{"info", "--files-from", "-", "-0"}},
		{"list without names", silent, []string{"verify", "--files-from", "-"}},
		{"list in a named pipe", silent, []string{"ls", "--files-from", fifo}},
		{"long list", silent, []string{"info", "--files-from", long, "--keep-going"}},
		{"array in a pipe", silent, []string{"convert", "-", filepath.Join(dir, "x.b2nd")}},
		{"array of /dev/zero", zero, []string{"convert", "-", filepath.Join(dir, "x.b2nd"), "--shape", "1099511627776", "--dtype", "u1"}},
	} {
		for _, sig := range testenv.Sample([]syscall.Signal{syscall.SIGTERM, syscall.SIGINT}, 2) {
			t.Run(tt.name+"/"+sig.String(), func(t *testing.T) {
				in, err := tt.stdin()
				require.NoError(t, err)
				defer in.Close()
				caught := make(chan os.Signal, 1) // see TestSignals
				signal.Notify(caught, sig)
				defer signal.Stop(caught)
				var stderr bytes.Buffer
				var exit *exec.ExitError
				// A signal that arrives before the command has installed its handler ends it
				// without an exit status. In this case try again with a longer wait.
				for wait := 300 * time.Millisecond; exit == nil || exit.ExitCode() < 0 && wait < 20*time.Second; wait *= 2 {
					cmd := exec.Command("hyperslab", tt.args...)
					stderr.Reset()
					cmd.Stdin, cmd.Stderr = in, &stderr
					require.NoError(t, cmd.Start())
					time.Sleep(wait)
					begun := time.Now()
					require.NoError(t, cmd.Process.Signal(sig))
					require.ErrorAs(t, cmd.Wait(), &exit, "%s", stderr.String())
					require.Less(t, time.Since(begun), 10*time.Second)
				}
				require.Equal(t, 128+int(sig), exit.ExitCode(), "%s", stderr.String())
				require.Contains(t, stderr.String(), "stopped by a signal")
			})
		}
	}
}

// TestTerminal checks the output on a terminal for a file whose strings all contain control
// characters.
func TestTerminal(t *testing.T) {
	script(t, testscript.Params{Dir: "testdata/terminal"}, makeHostile)
}

func makeHostile(t *testing.T, dir string) {
	f, err := h5.Create(filepath.Join(dir, "hostile.h5"), nil)
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("s", h5.VariableString(h5.UTF8), h5.SimpleSpace(3), nil)
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, []string{"\x1b[31mred\x07", "=1+1", "\u009b2J"}, h5.SimpleSpace(3).All()))
	require.NoError(t, d.SetComment("\x1b[31mred\x07"))
	require.NoError(t, d.Close())
	g, err := f.Root().CreateGroup("\x1b[2Jgroup")
	require.NoError(t, err)
	require.NoError(t, g.Close())
	require.NoError(t, f.Root().LinkSoft("soft", "\x1b[31mred\x07"))
	require.NoError(t, f.Close())
	create(t, filepath.Join(dir, "numbers.b2nd"), ndarray.Spec{Shape: []int64{2}}, []int8{-1, 1})
	half := filepath.Join(dir, "half.h5")
	create(t, half+":/x", ndarray.Spec{
		Shape: []int64{1 << 20}, ChunkShape: []int64{1 << 16}, Compression: &ndarray.Compression{Codec: "none", Filters: []string{"fletcher32"}},
	}, make([]int32, 1<<20))
	b, err := os.ReadFile(half)
	require.NoError(t, err)
	b[len(b)-1000]++
	put(t, half, b)
}
