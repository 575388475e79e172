package h5

// What TestMain counts at the end.

// QueuedIDs counts the ids that wait to be closed.
func QueuedIDs() (int64, error) { return lib.queued.Load(), nil }

// ForgottenOwners counts what nobody closed; only under the tag invariants can
// it be other than 0.
func ForgottenOwners() (int64, error) { return forgottenOwners(), nil }
