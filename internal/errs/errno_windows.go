package errs

import "syscall"

// Errno returns the error of an errno of C. The numbers are those of <errno.h>; a syscall.Errno of
// Windows has other ones. A number that is not listed here is syscall.EWINDOWS.
func Errno(n int) syscall.Errno {
	if e, ok := errnos[n]; ok {
		return e
	}
	return syscall.EWINDOWS
}

var errnos = map[int]syscall.Errno{
	1:  syscall.EPERM,
	2:  syscall.ENOENT,
	4:  syscall.EINTR,
	5:  syscall.EIO,
	6:  syscall.ENXIO,
	7:  syscall.E2BIG,
	9:  syscall.EBADF,
	11: syscall.EAGAIN,
	12: syscall.ENOMEM,
	13: syscall.EACCES,
	14: syscall.EFAULT,
	16: syscall.EBUSY,
	17: syscall.EEXIST,
	18: syscall.EXDEV,
	19: syscall.ENODEV,
	20: syscall.ENOTDIR,
	21: syscall.EISDIR,
	22: syscall.EINVAL,
	23: syscall.ENFILE,
	24: syscall.EMFILE,
	27: syscall.EFBIG,
	28: syscall.ENOSPC,
	29: syscall.ESPIPE,
	30: syscall.EROFS,
	31: syscall.EMLINK,
	32: syscall.EPIPE,
	33: syscall.EDOM,
	34: syscall.ERANGE,
	36: syscall.EDEADLK,
	38: syscall.ENAMETOOLONG,
	39: syscall.ENOLCK,
	40: syscall.ENOSYS,
	41: syscall.ENOTEMPTY,
	42: syscall.EILSEQ,
}
