package cli_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/cli"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/leak"
)

func TestMain(m *testing.M) {
	testscript.Main(leakChecked{m}, map[string]func(){
		"hyperslab": func() { os.Exit(cli.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// leakChecked runs the tests and then looks for what they left behind. It stands
// in for leak.Main because testscript wants to end the process itself.
type leakChecked struct{ m *testing.M }

func (l leakChecked) Run() int {
	status := l.m.Run()
	if status == 0 {
		if err := leak.Find(leak.Check{Name: "open HDF5 ids", Left: h5.OpenIDs}); err != nil {
			fmt.Fprintf(os.Stderr, "leak: %v\n", err)
			status = 1
		}
	}
	return status
}
