// Tests with allocations in C that fail.

package crashtest_test

import (
	"bytes"
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/cmem"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// oomStart is the environment variable with the point at which a process begins, and the step.
const oomStart = "HYPERSLAB_OOM_START"

func init() { oomProcess = oomChild }

// oomControl is struct control of testdata/oom.c.
type oomControl struct{ thread, fail, after, count, failed, live, point int64 }

func openControl(path string) (*oomControl, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := unix.Mmap(int(f.Fd()), 0, int(unsafe.Sizeof(oomControl{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return (*oomControl)(unsafe.Pointer(&b[0])), nil
}

// oomPoint is one failing allocation.
type oomPoint struct {
	op    int
	after bool // the allocations after it fail too
	n     int64
}

func (p oomPoint) pack() int64 {
	v := int64(p.op)<<32 | p.n<<1
	if p.after {
		v |= 1
	}
	return v
}

func unpackPoint(v int64) oomPoint {
	return oomPoint{op: int(v >> 32), after: v&1 == 1, n: v & (1<<32 - 1) >> 1}
}

func (p oomPoint) String() string {
	if p.after {
		return fmt.Sprintf("%s: allocations %d and later", oomOperations[p.op].name, p.n)
	}
	return fmt.Sprintf("%s: allocation %d", oomOperations[p.op].name, p.n)
}

// errOOMValue is the error of an operation that succeeded with a wrong result.
var errOOMValue = errors.New("wrong result")

// oomChild runs the points from the given one on, and prints a line for each that fails: "kind
// point text". Each point writes itself to the control before, so that the parent finds the one
// that ended the process.
func oomChild(path string) error {
	runtime.LockOSThread() // the C functions of the operations run in this thread
	c, err := openControl(path)
	if err != nil {
		return err
	}
	var start, every int64
	if _, err := fmt.Sscan(os.Getenv(oomStart), &start, &every); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "oom-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	from := unpackPoint(start)
	for op := from.op; op < len(oomOperations); op++ {
		for _, after := range []bool{false, true} {
			first := int64(1)
			if op == from.op {
				if from.after && !after {
					continue
				}
				if from.after == after {
					first = max(from.n, 1)
				}
			}
			if err := oomRun(c, dir, oomPoint{op, after, first}, every); err != nil {
				return err
			}
		}
	}
	return nil
}

// oomRun runs the points of one operation, from the given one on.
func oomRun(c *oomControl, dir string, p oomPoint, every int64) error {
	o := &oomOperations[p.op]
	once := func(n int64) (failed int64, err error) {
		d := filepath.Join(dir, "x")
		if err := errors.Join(os.RemoveAll(d), os.Mkdir(d, 0o700)); err != nil {
			return 0, err
		}
		if o.prepare != nil {
			if err := o.prepare(d); err != nil {
				return 0, fmt.Errorf("%s: prepare: %w", o.name, err)
			}
		}
		if err := h5.ReleaseMemory(); err != nil {
			return 0, err
		}
		c.fail, c.after, c.count, c.failed = n, 0, 0, 0
		if p.after {
			c.after = 1
		}
		c.thread = int64(unix.Gettid())
		err = o.act(d)
		c.thread = 0
		return c.failed, err
	}
	settle := func() int64 {
		for range 3 {
			runtime.GC()
			time.Sleep(time.Millisecond)
		}
		_ = h5.ReleaseMemory()
		return c.live
	}
	for range 2 {
		if _, err := once(0); err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
	}
	total := c.count
	if p.n == 1 && !p.after {
		fmt.Printf("allocations %d %s\n", total, o.name)
	}
	for ; p.n <= total; p.n += every {
		c.point = p.pack()
		before := settle()
		failed, err := once(p.n)
		fmt.Printf("point %d\n", c.point)
		switch {
		case failed == 0 && err != nil:
			fmt.Printf("error %d no allocation failed: %q\n", c.point, err)
		case errors.Is(err, errOOMValue):
			fmt.Printf("value %d %q\n", c.point, err)
		case err != nil && !oomTyped(err):
			fmt.Printf("untyped %d %q\n", c.point, err)
		}
		if err := cmemLeft(); err != nil {
			fmt.Printf("binding %d %q\n", c.point, err)
		}
		ids, err := h5.OpenIDs()
		if err == nil {
			_, err = once(0)
		}
		if err != nil || ids != 0 { // later points would fail too
			fmt.Printf("unusable %d %d ids are open, %q\n", c.point, ids, fmt.Sprint(err))
			os.Exit(unusable)
		}
		if settle() <= before {
			continue
		}
		grown := int64(1 << 62)
		for range 3 { // memory that the library keeps once is no leak
			before = settle()
			_, _ = once(p.n)
			grown = min(grown, settle()-before)
		}
		if grown > 0 {
			fmt.Printf("leak %d %d blocks\n", c.point, grown)
		}
	}
	return nil
}

// unusable is the exit status of a process in which a library does not work after a failed
// allocation.
const unusable = 6

// cmemLeft returns an error if memory of the bindings is not free after some garbage collections.
func cmemLeft() error {
	for range 20 {
		if blocks, _ := cmem.Live(); blocks == 0 {
			return nil
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	blocks, bytes := cmem.Live()
	return fmt.Errorf("%d bytes in %d blocks of the bindings", bytes, blocks)
}

func oomTyped(err error) bool {
	return slices.ContainsFunc(errs.All(), func(s error) bool { return errors.Is(err, s) }) || typed(err) || errors.As(err, new(*cblosc.Error))
}

// oomKnown are the operations with failures that docs/known-issues.md lists, by kind: libhdf5
// leaves a dataset or a property list open, and never calls the close function of the driver of
// its file.
var oomKnown = map[string][]string{"binding": {"read an HDF5 file in memory"}}

// TestOOM lets each allocation of C code fail, alone and with all later ones, while files are
// created, written, read and closed. An operation returns an error, or the right result if the
// library does not need the memory. The bindings neither crash nor lose memory, except in oomKnown.
// The test only logs crashes and lost memory inside the libraries, which docs/known-issues.md
// lists.
func TestOOM(t *testing.T) {
	cc := testenv.Compiler(t)
	library := filepath.Join(t.TempDir(), "oom.so")
	out, err := exec.Command(cc, "-shared", "-fPIC", "-O1", "-fno-builtin", "-o", library, "testdata/oom.c").CombinedOutput()
	require.NoError(t, err, "%s", out)
	every := int64(60)
	if testenv.All() {
		every = 6
	}
	path := filepath.Join(t.TempDir(), "control")
	require.NoError(t, os.WriteFile(path, make([]byte, 4096), 0o600))
	c, err := openControl(path)
	require.NoError(t, err)
	symbols := cSymbols(t)
	found, points := map[string][]string{}, 0
	for start := int64(0); ; {
		cmd := testenv.Self("-test.run", "^$")
		cmd.Env = append(os.Environ(), oomVariable+"="+path, fmt.Sprintf("%s=%d %d", oomStart, start, every), "LD_PRELOAD="+library, "GOMAXPROCS=2")
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		timer := time.AfterFunc(10*time.Minute, func() { _ = cmd.Process.Kill() })
		err := cmd.Run()
		timer.Stop()
		for line := range strings.Lines(stdout.String()) {
			kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			number, text, _ := strings.Cut(rest, " ")
			n, perr := strconv.ParseInt(number, 10, 64)
			require.NoError(t, perr, line)
			switch p := unpackPoint(n); kind {
			case "allocations":
				t.Logf("%s: %d allocations", text, n)
			case "point":
				points++
			default:
				if kind == "error" && strings.Contains(text, "can't find property in skip list") {
					kind = "unusable"
				}
				if kind == "error" || kind == "leak" || kind == "unusable" {
					kind += " " + oomOperations[p.op].name
				}
				found[kind] = append(found[kind], fmt.Sprintf("%s: %s", p, text))
			}
		}
		if err == nil {
			break
		}
		p := unpackPoint(c.point)
		if cmd.ProcessState.ExitCode() != unusable {
			points++
			name := symbols.crashed(stderr.String())
			require.NotZero(t, c.point, "%v: %s", err, &stderr)
			found["crash "+name] = append(found["crash "+name], p.String())
		}
		p.n += every
		start = p.pack()
		c.point, c.thread, c.live = 0, 0, 0
	}
	t.Logf("%d points", points)
	require.Greater(t, points, 100)
	for _, kind := range slices.Sorted(maps.Keys(found)) {
		list := found[kind]
		t.Logf("%s: %d points", kind, len(list))
		for _, name := range oomKnown[kind] {
			list = slices.DeleteFunc(list, func(s string) bool { return strings.HasPrefix(s, name) })
		}
		what, name, _ := strings.Cut(kind, " ")
		if library := what == "leak" || what == "unusable" || what == "crash" && !ofBinding(name); !library && len(list) > 0 {
			t.Errorf("%s: %s", kind, strings.Join(list[:min(len(list), 5)], "\n"))
		}
	}
}

// ofBinding reports whether a function is one of this module, not of a C library.
func ofBinding(name string) bool {
	for _, prefix := range []string{"goh5_", "goblosc2_", "hyperslab_", "github.com/", "runtime.", "x_cgo", "_cgo"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// symbolTable are the functions of this program in the order of their addresses.
type symbolTable []elf.Symbol

func cSymbols(t *testing.T) (list symbolTable) {
	self, err := os.Executable()
	require.NoError(t, err)
	f, err := elf.Open(self)
	require.NoError(t, err)
	defer f.Close()
	all, err := f.Symbols()
	if errors.Is(err, elf.ErrNoSymbols) { // go test removes them unless it keeps the program (-o)
		return nil
	}
	require.NoError(t, err)
	for _, s := range all {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Size > 0 {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b elf.Symbol) int { return cmp.Compare(a.Value, b.Value) })
	return list
}

// crashed returns the function that the traces of a process name as the one that crashed. One of
// libc, and any function without symbols, has the name of the shim that called it.
func (s symbolTable) crashed(traces string) string {
	_, rest, ok := strings.Cut(traces, "PC=0x")
	text, _, _ := strings.Cut(rest, " ")
	pc, err := strconv.ParseUint(text, 16, 64)
	if !ok || err != nil {
		return traces[:min(len(traces), 600)]
	}
	i, _ := slices.BinarySearchFunc(s, pc+1, func(x elf.Symbol, pc uint64) int { return cmp.Compare(x.Value, pc) })
	if i > 0 && pc < s[i-1].Value+s[i-1].Size {
		return s[i-1].Name
	}
	_, rest, _ = strings.Cut(traces, "._Cfunc_")
	name, _, _ := strings.Cut(rest, "(")
	return "function called by " + name
}
