// Metadata of arrays and groups, as stored.

package hyperslab

import (
	"context"
	"time"

	"github.com/hyperslab/hyperslab/ndarray"
)

// Metadata is the metadata of an array or a group in its stored form, including attributes.
type Metadata struct {
	Fixed, Variable []namedBytes // metalayers of a Blosc2 frame, those of variable length decompressed
	Files           []namedBytes // of bcolz: the metadata files
	Comment         string       // of an HDF5 object, "" if absent

	// Times of an HDF5 object; zero if they are not in the file.
	Born, Changed, Modified, Accessed time.Time
}

// namedBytes is a metalayer or a file.
type namedBytes = struct {
	Name    string
	Content []byte
}

// Metadata reads the metadata of an array or a group at a path of the file. For an untrusted file
// Untrusted.MaxMetadata bounds the total size. It returns the errors of Open.
func (t *Tree) Metadata(ctx context.Context, path string) (Metadata, error) {
	m, err := t.tree.Metadata(ctx, path)
	return Metadata(m), ndarray.Wrap("read metadata of", shown(t.at(path)), err)
}
