//go:build linux && (amd64 || arm64) && cgo && !system_libs

// Names of glibc.

package musl

/*
#include <features.h>
#ifndef __GLIBC__
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#undef fcntl64
#undef fopen64
#undef freopen64
#undef fseeko64
#undef fstat64
#undef ftello64
#undef ftruncate64
#undef lseek64
#undef lstat64
#undef open64
#undef pread64
#undef pwrite64
#undef readdir64
#undef stat64

// On 64-bit systems both libraries have the same types, and the same numbers of commands and flags.
#define WEAK __attribute__((weak))

WEAK int fcntl64(int fd, int command, ...)
{
    va_list list;
    va_start(list, command);
    unsigned long argument = va_arg(list, unsigned long);
    va_end(list);
    return fcntl(fd, command, argument);
}

WEAK int open64(const char *path, int flags, ...)
{
    mode_t mode = 0;
    if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) {
        va_list list;
        va_start(list, flags);
        mode = va_arg(list, mode_t);
        va_end(list);
    }
    return open(path, flags, mode);
}

WEAK FILE *fopen64(const char *path, const char *mode) { return fopen(path, mode); }
WEAK FILE *freopen64(const char *path, const char *mode, FILE *f) { return freopen(path, mode, f); }
WEAK int fseeko64(FILE *f, off_t offset, int whence) { return fseeko(f, offset, whence); }
WEAK off_t ftello64(FILE *f) { return ftello(f); }
WEAK int fstat64(int fd, struct stat *to) { return fstat(fd, to); }
WEAK int lstat64(const char *path, struct stat *to) { return lstat(path, to); }
WEAK int stat64(const char *path, struct stat *to) { return stat(path, to); }
WEAK int ftruncate64(int fd, off_t length) { return ftruncate(fd, length); }
WEAK off_t lseek64(int fd, off_t offset, int whence) { return lseek(fd, offset, whence); }
WEAK ssize_t pread64(int fd, void *to, size_t n, off_t offset) { return pread(fd, to, n, offset); }
WEAK ssize_t pwrite64(int fd, const void *from, size_t n, off_t offset) { return pwrite(fd, from, n, offset); }
WEAK struct dirent *readdir64(DIR *directory) { return readdir(directory); }
#endif
*/
import "C"
