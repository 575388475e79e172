package atomicfile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"sync"
	"syscall"
)

// namespace identifies the boot of this host and the namespace of process numbers. It returns "" if
// they are unknown.
var namespace = sync.OnceValue(func() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	pids, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(append(boot, pids...))
	return hex.EncodeToString(sum[:4])
})

// ended reports whether no process has the number pid.
func ended(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// ours reports whether a file belongs to the user of this process.
func ours(path string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
