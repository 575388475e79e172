// The file of the demonstration.

package main

import (
	"testing"

	"github.com/hyperslab/hyperslab/internal/testkit/annfile"
)

func init() {
	if !testing.Testing() {
		annfile.Must("ann.h5", 1000)
	}
}
