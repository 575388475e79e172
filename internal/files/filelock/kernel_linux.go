// Byte locks of open file descriptions, and the processes that hold locks.

package filelock

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Offsets of the byte locks. A writer has the lock of writerByte, and a shared lock of the byte at
// firstMark + its mark. A writer of a file in a directory has a shared lock of withinByte. A
// process that waits has a shared lock of waiterByte.
const (
	writerByte = 1 << 62
	waiterByte = writerByte + 1
	withinByte = writerByte + 2
	firstMark  = writerByte + 1<<61
	pidBits    = 23 // PID_MAX_LIMIT is 1<<22
)

// mark returns the number of this process and of its namespace of process numbers.
var mark = sync.OnceValue(func() int64 { return namespace()<<pidBits | int64(os.Getpid()) })

// namespace returns the number of the namespace of process numbers, or 0 if it is unknown.
func namespace() int64 {
	link, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseUint(strings.Trim(link, "pid:[]"), 10, 32)
	return int64(n)
}

// hasSeparateLocks reports whether flock and byte locks do not conflict. Some network file systems
// implement flock with a lock of all bytes.
func (on *inode) hasSeparateLocks() bool {
	var s unix.Statfs_t
	if again(func() error { return unix.Fstatfs(on.fd, &s) }) != nil {
		return false
	}
	switch uint32(s.Type) {
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, 0xff534d42, 0xfe534d42: // the last two: CIFS and SMB2
		return false
	}
	return true
}

// set changes the lock of one byte without waiting.
func (on *inode) set(kind int16, at int64) error {
	return again(func() error {
		return unix.FcntlFlock(uintptr(on.fd), unix.F_OFD_SETLK, &unix.Flock_t{Type: kind, Whence: io.SeekStart, Start: at, Len: 1})
	})
}

// other returns the offset of a lock that another open file has from an offset on.
func (on *inode) other(at, length int64) (start int64, found bool) {
	l := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: at, Len: length}
	err := again(func() error { return unix.FcntlFlock(uintptr(on.fd), unix.F_OFD_GETLK, &l) })
	return l.Start, err == nil && l.Type != unix.F_UNLCK
}

// lockByte takes the lock of writerByte. Without permission to write it is shared. Two such locks
// exclude each other because each writer looks for the other one after it has its own: at least one
// gives up.
func (on *inode) lockByte() error {
	if on.write {
		return on.set(unix.F_WRLCK, writerByte)
	}
	err := on.set(unix.F_RDLCK, writerByte)
	if err != nil {
		return err
	}
	return on.alone(writerByte, writerByte, withinByte)
}

// alone releases the lock of a byte and returns EAGAIN if another open file has the lock of one of
// the others.
func (on *inode) alone(at int64, others ...int64) error {
	for _, o := range others {
		if _, found := on.other(o, 1); found {
			return cmp.Or(on.set(unix.F_UNLCK, at), error(unix.EAGAIN))
		}
	}
	return nil
}

// lockWithin takes the lock of withinByte, and gives it up if another writer has the lock of
// writerByte. A writer of the directory looks at withinByte in the same way.
func (on *inode) lockWithin() error {
	if err := on.set(unix.F_RDLCK, withinByte); err != nil {
		return err
	}
	return on.alone(withinByte, writerByte)
}

// mark records the process as the holder. Without the record only a message has less information.
func (on *inode) mark() { _ = on.set(unix.F_RDLCK, firstMark+mark()) }

// announce records that this process waits.
func (on *inode) announce() { _ = on.set(unix.F_RDLCK, waiterByte) }

// awaited reports whether another process waits.
func (on *inode) awaited() bool {
	_, found := on.other(waiterByte, 1)
	return found
}

// holder describes the process that holds the lock, or returns "".
func (on *inode) holder() string {
	if at, found := on.other(firstMark, 0); found {
		at -= firstMark
		if at>>pidBits != namespace() {
			return "a process in another container"
		}
		return process(int(at & (1<<pidBits - 1)))
	}
	return on.libraryHolder()
}

// libraryHolder describes the process that has opened the file for writing with libhdf5, or returns
// "".
func (on *inode) libraryHolder() string {
	if pid := on.flockHolder(); pid > 0 {
		return process(pid)
	}
	return ""
}

// process describes a process.
func process(pid int) string {
	if pid == os.Getpid() {
		return thisProcess
	}
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return fmt.Sprintf("process %d", pid)
	}
	return fmt.Sprintf("process %d (%s)", pid, strings.TrimSpace(string(name)))
}

// flockHolder returns the process with an exclusive flock, or 0.
func (on *inode) flockHolder() (pid int) {
	f, err := os.Open("/proc/locks")
	if err != nil {
		return 0
	}
	defer f.Close() //nolint:errcheck // read-only
	dev := uint64(on.stat.Dev)
	want := fmt.Sprintf("%02x:%02x:%d", unix.Major(dev), unix.Minor(dev), on.stat.Ino)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// NUMBER: FLOCK ADVISORY WRITE PROCESS DEVICE:INODE START END
		x := strings.Fields(lines.Text())
		if len(x) >= 6 && x[1] == "FLOCK" && x[3] == "WRITE" && x[5] == want {
			pid, _ = strconv.Atoi(x[4])
		}
	}
	return pid
}
