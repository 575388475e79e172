// System calls on files, as events.

package crashtest

import (
	"fmt"
	"syscall"
)

// Kind is the kind of an event.
type Kind int

// Kinds of events.
const (
	Write    Kind = iota // Data at Offset of Path
	Truncate             // Path to Offset bytes
	Sync                 // Path, a file or a directory
	Create               // the file Path, empty if it existed
	Mkdir                // the directory Path
	Rename               // Path to To; Swap exchanges the two
	Remove               // Path
	Read                 // of Path; changes nothing
	Copy                 // from another file, by the kernel; recorded as a Write
)

var kinds = [...]string{"write", "truncate", "sync", "create", "mkdir", "rename", "remove", "read", "copy"}

// String returns the name of the kind.
func (k Kind) String() string { return kinds[k] }

// Changes reports whether events of this kind change a file or a name.
func (k Kind) Changes() bool { return k != Read && k != Sync }

// Event is one system call.
type Event struct {
	Kind   Kind
	Path   string // relative to the watched directory
	To     string // Rename
	Swap   bool   // Rename
	Offset int64  // Write, Truncate; bytes
	Data   []byte // Write
}

// String describes the event in one line.
func (e Event) String() string {
	switch e.Kind {
	case Write:
		return fmt.Sprintf("write %d bytes at %d of %s", len(e.Data), e.Offset, e.Path)
	case Truncate:
		return fmt.Sprintf("truncate %s to %d", e.Path, e.Offset)
	case Rename:
		return fmt.Sprintf("rename %s to %s", e.Path, e.To)
	}
	return e.Kind.String() + " " + e.Path
}

// Verdict is the decision of a Judge about a system call. The zero Verdict lets it pass.
type Verdict struct {
	Kill   bool           // the program is killed before the call
	Signal syscall.Signal // sent to the program before the call; the program may continue; 0: no signal
	Errno  syscall.Errno  // the call fails and has no effect
	Short  int            // maximum bytes that a write or read moves; 0: no maximum
}

// Judge is called before each system call that reads or changes a file below the directory. n is
// the number of the call, counted from 0.
type Judge func(n int, e Event) Verdict
