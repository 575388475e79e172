// Lookup of directories, files, tools and Python libraries for tests.

package testenv

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Environment variables with directories of files from other projects. CONTRIBUTING.md describes
// where to get them.
const (
	Corpus       = "HYPERSLAB_CORPUS"
	Blosc2Source = "HYPERSLAB_BLOSC2_SRC"
	HDF5Source   = "HYPERSLAB_HDF5_SRC"
)

// All reports whether tests run the complete sets (HYPERSLAB_ALL is set, as in `make nightly`). By
// default they run a sample of each large set, so that `make test` stays short.
func All() bool { return os.Getenv("HYPERSLAB_ALL") != "" }

// Sample returns every step-th item, or all items if All reports true.
func Sample[T any](items []T, step int) []T {
	if All() {
		return items
	}
	var out []T
	for i := 0; i < len(items); i += step {
		out = append(out, items[i])
	}
	return out
}

// Missing skips a test because something it needs is missing. In CI it fails the test.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("CI needs this: "+format, args...)
	}
	t.Skipf("NOT TESTED: "+format, args...)
}

// Directory returns the directory named by one of the variables above, without symbolic links.
func Directory(t testing.TB, variable string) string {
	t.Helper()
	dir := os.Getenv(variable)
	real, err := filepath.EvalSymlinks(dir)
	if dir == "" || err != nil {
		Missing(t, "%s = %q: no such directory, see CONTRIBUTING.md", variable, dir)
	}
	return real
}

// Files returns the files in such a directory that match the patterns. Each pattern must match at
// least one file.
func Files(t testing.TB, variable string, patterns ...string) []string {
	t.Helper()
	dir := Directory(t, variable)
	var files []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s = %s holds no %s (%v)", variable, dir, pattern, err)
		}
		files = append(files, found...)
	}
	return files
}

// Tool returns the path of a program of libhdf5: the one built with the library or, in a build with
// the system's libraries, the system's.
func Tool(t testing.TB, name string) string {
	t.Helper()
	if root, ok := root(); ok && runtime.GOOS != "windows" { // `make deps` builds none for Windows
		path := filepath.Join(root, "third_party", "build", "bin", name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, "%s is not built (make deps)", name)
	}
	return path
}

// Libraries returns the directory with the archives and headers that are linked. A test that needs
// it is skipped in a build with the system's libraries.
func Libraries(t testing.TB) string {
	t.Helper()
	if root, ok := root(); ok {
		path := filepath.Join(root, "third_party", "lib", runtime.GOOS+"_"+runtime.GOARCH)
		if _, err := os.Stat(filepath.Join(path, "zz_stamp.h")); err == nil {
			return path
		}
	}
	t.Skip("the libraries of make deps are missing: a build with the system's libraries")
	return ""
}

// Program returns the path of a program of the system.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, "%s is not installed", name)
	}
	return path
}

// Compiler returns the C compiler for the platform of the test: $CC or cc.
func Compiler(t testing.TB) string {
	t.Helper()
	return Program(t, cmp.Or(os.Getenv("CC"), "cc"))
}

// Self returns the command that runs this test program with the arguments. If an emulator runs the
// tests, HYPERSLAB_EMULATOR contains its command line, as `make release` sets it.
func Self(args ...string) *exec.Cmd {
	words := append(strings.Fields(os.Getenv("HYPERSLAB_EMULATOR")), os.Args[0])
	return exec.Command(words[0], append(words[1:], args...)...)
}

// root returns the directory with go.mod. Tests run in the directory of their package.
func root() (string, bool) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, true
		}
		if filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	return "", false
}

// Module returns the path of a file of the module.
func Module(t testing.TB, path string) string {
	t.Helper()
	dir, ok := root()
	if !ok {
		t.Fatal("no directory above this one has a go.mod")
	}
	return filepath.Join(dir, filepath.FromSlash(path))
}

var found sync.Map // by interpreter and modules: the error of the search, or ""

// Python returns the path of the interpreter in HYPERSLAB_PYTHON. The interpreter must have the
// modules.
func Python(t testing.TB, modules ...string) string {
	t.Helper()
	return interpreter(t, "HYPERSLAB_PYTHON", modules)
}

// OldPython returns the path of the interpreter in HYPERSLAB_OLD_PYTHON, which has the oldest
// releases of the modules that must read files with default options.
func OldPython(t testing.TB, modules ...string) string {
	t.Helper()
	return interpreter(t, "HYPERSLAB_OLD_PYTHON", modules)
}

// RemotePython returns the path of the interpreter in HYPERSLAB_REMOTE_PYTHON, which has libraries
// for URLs and kerchunk references.
func RemotePython(t testing.TB, modules ...string) string {
	t.Helper()
	return interpreter(t, "HYPERSLAB_REMOTE_PYTHON", modules)
}

func interpreter(t testing.TB, variable string, modules []string) string {
	t.Helper()
	python := os.Getenv(variable)
	if python == "" {
		Missing(t, "%s is not set (make peers): not compared with %s", variable, strings.Join(modules, ", "))
	}
	if len(modules) == 0 {
		return python
	}
	key := strings.Join(append([]string{python}, modules...), " ")
	problem, known := found.Load(key)
	if !known {
		// The search finds a module without its import, which takes ten times as long.
		const search = "import importlib.util as u, sys; sys.exit(next(('no module ' + m for m in sys.argv[1:] if u.find_spec(m) is None), None))"
		out, err := exec.Command(python, append([]string{"-c", search}, modules...)...).CombinedOutput()
		problem = ""
		if err != nil {
			problem = err.Error() + "\n" + string(out)
		}
		found.Store(key, problem)
	}
	if problem != "" {
		Missing(t, "%s does not have the modules %s: %s", python, strings.Join(modules, ", "), problem)
	}
	return python
}

// Occurred fails a property test if an event did not occur in at least 100 random inputs. A smaller
// number of inputs can miss it by chance.
func Occurred(t testing.TB, count, inputs int) {
	t.Helper()
	if count == 0 && inputs >= 100 {
		t.Errorf("an event that the test is about: got 0 in %d random inputs, want at least 1", inputs)
	}
}

// NoRace skips a test under the race detector if it is slow there and cannot have races, because
// one goroutine or other processes do the work. Without the detector the test runs.
func NoRace(t testing.TB, why string) {
	t.Helper()
	if Race() {
		t.Skipf("not under the race detector: %s", why)
	}
}

// Race reports whether the binary has the race detector.
func Race() bool { return built("-race") }

// NoASan skips a test if the binary has AddressSanitizer and the test counts allocations or
// processor time, or reads the flags of the C libraries, because these differ there.
func NoASan(t testing.TB, why string) {
	t.Helper()
	if built("-asan") {
		t.Skipf("not with AddressSanitizer: %s", why)
	}
}

// built reports whether the binary was built with a flag.
func built(flag string) bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: flag, Value: "true"})
}

// NoAssertions skips a test if libhdf5 has assertions, which end the process for some damaged files
// and for chunks of 32 dimensions. scripts/system.sh sets the variable for such a library of the
// system; the bundled library has none.
func NoAssertions(t testing.TB) {
	t.Helper()
	if os.Getenv("HYPERSLAB_HDF5_ASSERTIONS") != "" {
		t.Skip("not with a libhdf5 with assertions, which end the process")
	}
}
