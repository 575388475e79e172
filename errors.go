// Errors of the checks of untrusted files.

package hyperslab

import "github.com/hyperslab/hyperslab/internal/format"

// ErrLimit means that a valid file exceeds Untrusted.Limits.
var ErrLimit = format.ErrLimit

// FormatError is an error in a file, with its location: the format, the field (What), its offset
// in bytes, the actual value (Got) and the expected one (Want). It wraps the cause (Err).
type FormatError = format.Error
