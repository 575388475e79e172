// Tests of the linked C libraries and of this module: they must not start processes or handle
// signals, and unsupported versions of the libraries must be refused.
package lint_test

import (
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

var forbiddenSymbols = strings.Fields(`fork vfork clone popen system posix_spawn posix_spawnp execv execve execvp execl execle execlp
	signal sigaction sigprocmask pthread_sigmask sigaltstack sigwait sigsuspend bsd_signal sigset signalfd
	raise kill pthread_kill tgkill alarm setitimer timer_create pthread_atfork wait waitpid waitid`)

// TestLibraries_symbols checks that the C libraries do not call functions that start processes or
// change signal handlers. The listed exceptions are in code that this module never reaches.
func TestLibraries_symbols(t *testing.T) {
	known := map[string][]string{
		"libgoblosc2.a": {"popen"}, // of plug-ins, whose ids are refused before C-Blosc2 reads them
		"libgohdf5.a":   nil,
		"libgocodec.a":  nil,
	}
	for name, allowed := range known {
		path := filepath.Join(testenv.Libraries(t), name)
		out, err := exec.Command("nm", "-u", path).Output()
		require.NoError(t, err)
		var got []string
		calls := 0
		for line := range strings.Lines(string(out)) {
			if word := strings.Fields(line); len(word) == 2 && word[0] == "U" {
				calls++
				symbol, _, _ := strings.Cut(word[1], "@")
				if slices.Contains(forbiddenSymbols, symbol) {
					got = append(got, symbol)
				}
			}
		}
		require.Greater(t, calls, 10, name)
		require.Equal(t, allowed, got, name)
	}
}

// TestPackages_processes checks that internal/sandbox/worker is the only package for programs that
// starts processes, except the program beam, and that no package sends or receives signals. Signal
// 0 is allowed, because it only tests whether a process exists.
func TestPackages_processes(t *testing.T) {
	may := map[string][]string{
		"internal/sandbox/worker/process_linux.go": {"os/exec"},
		"beam/files.go": {"os/exec"}, // the program hyperslab
	}
	// These directories contain programs, or packages that only tests import.
	programs := regexp.MustCompile(`^(cmd|scripts|crosscheck|internal/(need|leak|s3test|testkit|testutil))(/|$)`)
	calls := strings.Fields("Kill Wait4 StartProcess ForkExec Exec FindProcess PtraceAttach Tgkill")
	found := 0
	for _, f := range tree(t) {
		if f.Test || programs.MatchString(f.Dir) {
			continue
		}
		for _, imp := range f.Imports {
			if imp == "os/exec" || imp == "os/signal" {
				require.Contains(t, may[f.Path], imp, f.Path)
				found++
			}
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && asksForProcess(call) {
				return false
			}
			if sel, ok := n.(*ast.SelectorExpr); ok {
				require.NotEqual(t, "CatchCrashes", sel.Sel.Name, "%s", f.Set.Position(sel.Pos()))
				if x, ok := sel.X.(*ast.Ident); ok && slices.Contains([]string{"os", "syscall", "unix"}, x.Name) {
					require.NotContains(t, calls, sel.Sel.Name, "%s", f.Set.Position(sel.Pos()))
				}
			}
			return true
		})
	}
	require.Equal(t, 2, found)
	files := 0
	call := regexp.MustCompile(`\b([a-z_0-9]+)\(`)
	for _, dir := range []string{"cblosc", "h5", "h5/filter", "internal/cmem"} {
		for _, pattern := range []string{"*.c", "*.h"} {
			paths, err := filepath.Glob(filepath.Join("..", "..", dir, pattern))
			require.NoError(t, err)
			for _, path := range paths {
				b, err := os.ReadFile(path)
				require.NoError(t, err)
				files++
				for _, m := range call.FindAllStringSubmatch(string(b), -1) {
					if m[1] == "sigaction" && filepath.Base(path) == "crash.c" {
						continue // CatchCrashes, which only the command calls
					}
					require.NotContains(t, forbiddenSymbols, m[1], path)
				}
			}
		}
	}
	require.Greater(t, files, 30)
}

// asksForProcess reports whether a call is syscall.Kill(pid, 0).
func asksForProcess(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Kill" || len(call.Args) != 2 {
		return false
	}
	signal, ok := call.Args[1].(*ast.BasicLit)
	return ok && signal.Value == "0"
}

// TestVersions checks that the compiler refuses C libraries that are older than the supported ones
// with one error that contains the reason, and accepts the oldest supported ones.
func TestVersions(t *testing.T) {
	for _, c := range []struct {
		name, header, macros, checked, reason string
	}{
		{"C-Blosc2 3.2", "blosc2.h", "BLOSC2_VERSION_MAJOR 3\n#define BLOSC2_VERSION_MINOR 2", "cblosc", "C-Blosc2 is older than 3.3"},
		{"C-Blosc2 2.17", "blosc2.h", "BLOSC2_VERSION_MAJOR 2\n#define BLOSC2_VERSION_MINOR 17", "cblosc", "C-Blosc2 is older than 3.3"},
		{"C-Blosc2 3.3", "blosc2.h", "BLOSC2_VERSION_MAJOR 3\n#define BLOSC2_VERSION_MINOR 3", "cblosc", ""},
		{"HDF5 1.14", "hdf5.h", "H5_VERS_MAJOR 1\n#define H5_VERS_MINOR 14", "h5", "HDF5 is older than 2.2"},
		{"HDF5 2.1", "hdf5.h", "H5_VERS_MAJOR 2\n#define H5_VERS_MINOR 1", "h5", "HDF5 is older than 2.2"},
		{"HDF5 2.2", "hdf5.h", "H5_VERS_MAJOR 2\n#define H5_VERS_MINOR 2", "h5", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, c.header), []byte("#define "+c.macros+"\n"), 0o644))
			out, err := exec.Command("cc", "-fsyntax-only", "-DHYPERSLAB_SYSTEM_LIBS", "-isystem", dir,
				"-include", filepath.Join(root, c.checked, "versions.h"), "-x", "c", os.DevNull).CombinedOutput()
			if c.reason == "" {
				require.NoError(t, err, "%s", out)
				return
			}
			require.Error(t, err)
			require.Equal(t, 1, strings.Count(string(out), "error:"), "%s", out)
			require.Contains(t, string(out), c.reason)
		})
	}
}
