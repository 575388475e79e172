// Removal of the temporary files of processes that were killed.

package atomicfile

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
)

// temporary matches the names that Create makes: .NAME.tmp-PROCESS-SERIAL-NAMESPACE. NAMESPACE
// identifies the running system and its namespace of process numbers, because several hosts and
// containers can share a directory. It is missing if it is unknown.
var temporary = regexp.MustCompile(`^\..*\.tmp-([0-9]+)-[0-9]+-([0-9a-f]+)$`)

// cleaned contains the directories in which this process has looked for leftovers.
var cleaned sync.Map

// removeLeftovers removes from dir the temporary files and directories of processes that no longer
// run. It looks at each directory once per process. It ignores errors, because a file that remains
// only takes space. It keeps the files of other users, hosts and containers.
func removeLeftovers(dir string) {
	if path, err := filepath.Abs(dir); err == nil {
		dir = path
	}
	if _, again := cleaned.LoadOrStore(dir, true); again || namespace() == "" {
		return
	}
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	names, _ := d.Readdirnames(-1) // an incomplete list is acceptable
	_ = d.Close()
	for _, name := range names {
		m := temporary.FindStringSubmatch(name)
		if m == nil || m[2] != namespace() {
			continue
		}
		path := filepath.Join(dir, name)
		if pid, err := strconv.Atoi(m[1]); err == nil && pid > 0 && ended(pid) && ours(path) {
			_ = os.RemoveAll(path)
		}
	}
}
