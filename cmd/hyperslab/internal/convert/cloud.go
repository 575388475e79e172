// Flags of repack for the layout of HDF5 files in object stores.

package convert

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5cloud"
	"github.com/hyperslab/hyperslab/ndarray"
)

// cloudFlags are the options of repack for object stores.
type cloudFlags struct {
	cloud      bool
	access     string
	compatible bool
}

func (o *cloudFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.cloud, "cloud", false, "layout of HDF5 for object stores: paged file space, metadata first, chunks of 2 MiB to 16 MiB")
	f.StringVar(&o.access, "access", "", "with --cloud: `SHAPE` of a typical read in elements, for example 1,*,* (* is the whole "+
		"dimension); for arrays with as many dimensions")
	f.BoolVar(&o.compatible, "compatible", false, "with --cloud: version-1 B-trees and layout 3 for older readers")
}

// check checks the flags.
func (o *cloudFlags) check(chunks string) error {
	_, err := parseAccess(o.access)
	switch {
	case o.access != "" && !o.cloud:
		return shell.Usagef("--access %s: it chooses the chunks of --cloud", o.access)
	case o.compatible && !o.cloud:
		return shell.Usagef("--compatible chooses the formats of --cloud")
	case o.access != "" && chunks != "":
		return shell.Usagef("--access and --chunks: both choose the shape of chunks")
	case err != nil:
		return shell.Usagef("--access: %w", err)
	}
	return nil
}

// parseAccess parses the shape of a read. An asterisk is 0, the whole dimension.
func parseAccess(s string) ([]int64, error) {
	if s == "" {
		return nil, nil
	}
	parts := strings.Split(s, ",")
	shape := make([]int64, len(parts))
	for i, part := range parts {
		if strings.TrimSpace(part) == "*" {
			continue
		}
		n, err := term.ParseShape(part)
		if err != nil || len(n) != 1 {
			return nil, fmt.Errorf("%q is not a shape of a read; write elements or * along each dimension, for example 1,*,*", s)
		}
		shape[i] = n[0]
	}
	return shape, nil
}

// chunks returns the shape of the chunks of an array.
func (o *cloudFlags) chunks(m ndarray.Meta) []int64 {
	access, _ := parseAccess(o.access) // checked
	return h5cloud.ChunkShape(m, access)
}
