// Metadata of arrays and groups, as stored.

package hyperslab

import (
	"time"
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
