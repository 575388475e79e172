// What a program does to files.

package crashtest

import (
	"fmt"
	"syscall"
)

// Kind is what an event does.
type Kind int

// The kinds.
const (
	Write    Kind = iota // Data at Offset of Path
	Truncate             // Path to Offset bytes
	Sync                 // Path, a file or a directory
	Create               // the file Path, empty if it was there
	Mkdir                // the directory Path
	Rename               // Path to To; Swap exchanges the two
	Remove               // Path
	Read                 // of Path; changes nothing
	Copy                 // from another file, by the kernel; recorded as a Write
)

var kinds = [...]string{"write", "truncate", "sync", "create", "mkdir", "rename", "remove", "read", "copy"}

// String names the kind.
func (k Kind) String() string { return kinds[k] }

// Changes reports whether it changes a file or a name.
func (k Kind) Changes() bool { return k != Read && k != Sync }

// Event is one system call.
type Event struct {
	Kind   Kind
	Path   string // from the directory that is watched
	To     string // Rename
	Swap   bool   // Rename
	Offset int64  // Write, Truncate; bytes
	Data   []byte // Write
}

// String shows the event in a line.
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

// Verdict says what becomes of a system call. The zero Verdict lets it pass.
type Verdict struct {
	Kill   bool           // the program is killed before the call
	Signal syscall.Signal // the program gets it before the call, and may go on; 0: none
	Errno  syscall.Errno  // the call fails and does nothing
	Short  int            // a write, or read, is told to move only so many bytes; 0: all
}

// Judge is asked before each call that reads or changes a file below the directory,
// with its number, counted from 0.
type Judge func(n int, e Event) Verdict
