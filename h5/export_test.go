package h5

import "bytes"

// What TestMain counts at the end.

// QueuedIDs counts the ids that still wait to be closed after an operation.
func QueuedIDs() (int64, error) {
	lock()
	defer unlock()
	return lib.queued.Load(), nil
}

// ForgottenOwners counts what nobody closed; only under the tag invariants can
// it be other than 0.
func ForgottenOwners() (int64, error) { return forgottenOwners(), nil }

// CorruptRows are the rows of the table that mean ErrCorrupt, "MAJOR MINOR", and
// OtherRows the rest; of each, whether it counts for every frame.
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

// ExpectForgotten is called by tests that forget owners on purpose; what it
// returns puts the count of forgotten ones back.
func ExpectForgotten() func() { return expectForgotten() }

// FirstMember is what the bytes of a first member say of its set.
func FirstMember(b []byte) (driver string, multi Multi, ok bool) {
	driver, info := driverInfo(bytes.NewReader(b))
	if driver == namedMulti {
		multi, ok = parseMulti(info)
	}
	return driver, multi, ok
}

// Settled reports whether a write looks at no chunk.
func (d *Dataset) Settled() bool {
	lock()
	defer unlock()
	return d.masks.settled == lib.masks
}

// DefaultMulti returns a Multi with libhdf5's default names and addresses.
var DefaultMulti = defaultMulti
