package h5

import (
	"bytes"

	"github.com/hyperslab/hyperslab/internal/guard"
)

// QueuedIDs returns the number of ids that are still queued for closing after an operation.
func QueuedIDs() (int64, error) {
	lock()
	defer unlock()
	return lib.queued.Load(), nil
}

// ForgottenOwners returns the number of owners that were never closed. It can be other than 0 only
// with the build tag invariants.
func ForgottenOwners() (int64, error) { return forgottenOwners(), nil }

// CorruptRows returns the rows of the table that map to ErrCorrupt as "MAJOR MINOR", and OtherRows
// the other rows. The value reports whether a row applies to every frame.
func CorruptRows() map[string]bool { return rowsThatMean(true) }
func OtherRows() map[string]bool   { return rowsThatMean(false) }

func rowsThatMean(corrupt bool) map[string]bool {
	rows := map[string]bool{}
	for _, row := range stackSentinels {
		if (row.err == ErrCorrupt) == corrupt {
			rows[row.major+" "+row.minor] = row.anywhere
		}
	}
	return rows
}

// ExpectForgotten is called by tests that leave owners open intentionally. The returned function
// restores the count of forgotten owners.
func ExpectForgotten() func() { return expectForgotten() }

// FirstMember returns the driver and settings of a file set stored in the bytes of its first
// member.
func FirstMember(b []byte) (driver string, multi Multi, ok bool) {
	x := guard.Driver(bytes.NewReader(b), int64(len(b)))
	if x == nil {
		return "", multi, false
	}
	if x.ID == namedMulti {
		multi, ok = multiOf(x)
	}
	return x.ID, multi, ok
}

// Settled reports whether a write checks no chunk.
func (d *Dataset) Settled() bool {
	lock()
	defer unlock()
	return d.masks.unneeded == lib.masks
}

// DefaultMulti returns a Multi with libhdf5's default names and addresses.
var DefaultMulti = defaultMulti
