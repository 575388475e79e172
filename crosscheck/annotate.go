// Annotation of vectors by the readers of internal/format.

package crosscheck

import (
	"bytes"
	"os"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// annotate describes every field of a vector.
func annotate(path string, c Case) (format.Field, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return format.Field{}, err
	case c.Area == "bcolz":
		return bcolztree.Describe(os.DirFS(path), "."), nil
	case c.Area == "store":
		return describeStore(path)
	case info.IsDir():
		return cframe.DescribeDir(os.DirFS(path)), nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return format.Field{}, err
	}
	switch c.Area {
	case "chunk", "blosc1":
		return chunk.Describe(b), nil
	case "metalayer":
		return b2ndmeta.Describe(c.Params["name"], b), nil
	case "hdf5":
		return h5file.Describe(bytes.NewReader(b), int64(len(b))), nil
	}
	return cframe.Describe(bytes.NewReader(b), int64(len(b))), nil
}
