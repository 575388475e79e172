package cli_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/cli"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
)

func TestMain(m *testing.M) {
	worker.Init()
	testscript.Main(leakChecked{m}, map[string]func(){
		"hyperslab": func() {
			cli.CatchCrashes()
			os.Exit(cli.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
		},
		"peak":   func() { os.Exit(peak(os.Args[1:])) },
		"stall":  func() { time.Sleep(time.Hour) },
		"reader": func() { os.Exit(reader(os.Args[1], os.Args[2])) },
	})
}

// leakChecked runs the tests and then checks for leaks. It replaces leak.Main because testscript
// must end the process itself.
type leakChecked struct{ m *testing.M }

func (l leakChecked) Run() int {
	status := l.m.Run()
	if status == 0 {
		if err := leak.Find(leak.Check{Name: "open HDF5 ids", Left: h5.OpenIDs}, leak.Check{Name: "worker processes", Left: worker.Left}); err != nil {
			fmt.Fprintf(os.Stderr, "leak: %v\n", err)
			status = 1
		}
	}
	return status
}

// reader is a program under test for crosscheck: it decodes a Blosc2 chunk.
func reader(in, out string) int {
	b, err := os.ReadFile(in)
	if err == nil {
		var i cblosc.ChunkInfo
		if i, err = cblosc.Info(b); err == nil {
			decoded := make([]byte, i.NBytes)
			var d *cblosc.Decompressor
			if d, err = cblosc.NewDecompressor(nil); err == nil {
				if _, err = d.Decompress(decoded, b); err == nil {
					err = os.WriteFile(out, decoded, 0o644)
				}
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// peak runs the command and then writes its maximum memory (VmHWM, which starts at 0 for each
// program) and that of its largest child process to standard error. wait reports for a child at
// least the memory that the parent had when the child started.
func peak(args []string) int {
	code := cli.Run(args, os.Stdin, os.Stdout, os.Stderr)
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmHWM:") {
			fmt.Fprint(os.Stderr, line)
		}
	}
	var children syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &children); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintf(os.Stderr, "children: %d kB\n", children.Maxrss)
	return code
}
