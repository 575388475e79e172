/* shim_io.c: file access of the library. These functions replace those in the library's I/O table,
 * call the originals, and record failures that the library drops.
 *
 * The library continues after a failed write, uses streams that failed to open, and grows a mapping
 * over its neighbours in memory. In frame_delete_chunk it passes the I/O structure instead of its
 * parameters. So a failure is kept for the call that caused it, a missing stream reads and writes 0
 * bytes, a mapping never grows, and params_of accepts either pointer. */
#define _GNU_SOURCE /* memfd_create */
#include "shim_internal.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#ifdef _WIN32
#include <windows.h>
#include <winioctl.h>
#else
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

enum { IO_GO = 253, IO_MAPPED = 254 };

/* A mapped file. The first member is 0 to distinguish it from a blosc2_io, whose first byte is its
 * id and never 0. */
typedef struct {
    uint8_t zero;
    bool writes; /* changes reach the file */
    blosc2_stdio_mmap map;
} mapped_t;

/* Storage written in Go, which callbacks.go finds by its id; for zero see mapped_t. */
typedef struct {
    uint8_t zero;
    uintptr_t id;
} medium_t;

extern int64_t goblosc2_go_size(uintptr_t id);
extern int64_t goblosc2_go_read(uintptr_t id, uint8_t *p, int64_t n, int64_t at);
extern int64_t goblosc2_go_write(uintptr_t id, uint8_t *p, int64_t n, int64_t at);
extern int32_t goblosc2_go_truncate(uintptr_t id, int64_t size);

void goblosc2_io_begin(int32_t threads)
{
    goblosc2_threads(threads);
    goblosc2_io_errno = 0;
    errno = 0;
}

int goblosc2_io_end(goblosc2_err_t *err, const char *call)
{
    return goblosc2_io_errno == 0 ? 0 : goblosc2_fail(err, BLOSC2_ERROR_FILE_WRITE, call);
}

static void note(int code)
{
    if (goblosc2_io_errno == 0) {
        goblosc2_io_errno = code != 0 ? code : EIO;
    }
}

/* ---- header and trailer of a frame that is being opened ---- */

static _Thread_local struct {
    const uint8_t *header; /* NULL: nothing is known */
    const uint8_t *trailer;
    goblosc2_ends_t ends;
    int64_t offset;
    const char *path;
    const void *elsewhere; /* the stream of a separate chunk file, which has another header */
} known;

/* Stream for a file that could not be opened again while its header and trailer are known. */
static char no_file;

void goblosc2_io_know(const char *path, const uint8_t *header, const uint8_t *trailer, goblosc2_ends_t ends,
                      int64_t offset)
{
    known.path = path;
    known.elsewhere = NULL;
    known.header = header;
    known.trailer = trailer;
    known.ends = ends;
    known.offset = offset;
}

void goblosc2_io_forget(void)
{
    known.header = NULL;
}

/* is_elsewhere reports whether path is a chunk file of a sparse frame. */
static bool is_elsewhere(const char *path)
{
    const char *end = strrchr(path, '.');
    return known.header != NULL && strcmp(path, known.path) != 0 && end != NULL && strcmp(end, ".chunk") == 0;
}

/* is_known copies n bytes if they are part of the known header or trailer. */
static bool is_known(void *p, int64_t n, int64_t at, const void *stream)
{
    if (known.header == NULL || (stream != NULL && stream == known.elsewhere) || n < 0 || at < known.offset) {
        return false;
    }
    at -= known.offset;
    if (n <= known.ends.header_len && at <= known.ends.header_len - n) {
        memcpy(p, known.header + at, (size_t)n);
        return true;
    }
    int64_t trailer = known.ends.frame_len - known.ends.trailer_len;
    if (at >= trailer && n <= known.ends.trailer_len && at - trailer <= known.ends.trailer_len - n) {
        memcpy(p, known.trailer + (at - trailer), (size_t)n);
        return true;
    }
    return false;
}

/* ---- files ---- */

static void *file_open(const char *path, const char *mode, void *params)
{
    void *stream = blosc2_stdio_open(path, mode, params);
    if (is_elsewhere(path)) {
        known.elsewhere = stream;
    } else if (stream == NULL && known.header != NULL && mode[0] == 'r' && strchr(mode, '+') == NULL) {
        return &no_file;
    }
    if (stream == NULL && strpbrk(mode, "wa+") != NULL) {
        note(errno);
    } else if (stream != NULL && goblosc2_io_errno == ENOENT && strpbrk(mode, "wa") != NULL) {
        goblosc2_io_errno = 0; /* the library tried to open an existing file first and now created it */
    }
    return stream;
}

static int file_close(void *stream)
{
    int rc = stream == NULL || stream == &no_file ? 0 : blosc2_stdio_close(stream);
    if (rc != 0) {
        note(errno); /* buffered data is not on disk */
    }
    return rc;
}

static int64_t file_size(void *stream)
{
    return stream == NULL || stream == &no_file ? -1 : blosc2_stdio_size(stream);
}

static int64_t file_write(const void *p, int64_t size, int64_t n, int64_t at, void *stream)
{
    if (stream == NULL) {
        note(EBADF);
        return 0;
    }
    int64_t written = blosc2_stdio_write(p, size, n, at, stream);
    if (written != n && size > 0) {
        note(errno);
    }
    return written;
}

static int64_t file_read(void **p, int64_t size, int64_t n, int64_t at, void *stream)
{
    if (size == 1 && is_known(*p, n, at, stream)) {
        return n;
    }
    return stream == NULL || stream == &no_file ? 0 : blosc2_stdio_read(p, size, n, at, stream);
}

static int file_truncate(void *stream, int64_t size)
{
    int rc = stream == NULL ? -1 : blosc2_stdio_truncate(stream, size);
    if (rc != 0) {
        note(errno);
    }
    return rc;
}

static int file_destroy(void *params)
{
    return blosc2_stdio_destroy(params);
}

/* ---- mapped files ---- */

static void *params_of(void *params)
{
    return *(uint8_t *)params != 0 ? ((blosc2_io *)params)->params : params;
}

static void *mapped_open(const char *path, const char *mode, void *params)
{
    mapped_t *m = params_of(params);
    if (blosc2_stdio_mmap_open(path, mode, &m->map) == NULL) {
        note(errno);
        return NULL;
    }
    return m;
}

static int mapped_close(void *stream)
{
    mapped_t *m = stream;
    return m == NULL ? 0 : blosc2_stdio_mmap_close(&m->map);
}

static int64_t mapped_size(void *stream)
{
    mapped_t *m = stream;
    return m == NULL ? -1 : blosc2_stdio_mmap_size(&m->map);
}

static int64_t mapped_write(const void *p, int64_t size, int64_t n, int64_t at, void *stream)
{
    mapped_t *m = stream;
    if (m == NULL || at < 0 || at > (int64_t)m->map.mapping_size - size * n) {
        note(m == NULL ? EBADF : EFBIG);
        return 0;
    }
    int64_t written = blosc2_stdio_mmap_write(p, size, n, at, &m->map);
    if (written != n && size > 0 && n > 0) {
        note(errno);
    }
    return written;
}

static int64_t mapped_read(void **p, int64_t size, int64_t n, int64_t at, void *stream)
{
    mapped_t *m = stream;
    if (m == NULL) {
        *p = NULL;
        return 0;
    }
    return blosc2_stdio_mmap_read(p, size, n, at, &m->map);
}

static int mapped_truncate(void *stream, int64_t size)
{
    mapped_t *m = stream;
    if (m == NULL || (size > mapped_size(m) && size > (int64_t)m->map.mapping_size)) {
        note(m == NULL ? EBADF : EFBIG); /* longer than before and longer than the mapping */
        return -1;
    }
    int rc = blosc2_stdio_mmap_truncate(&m->map, size);
    if (rc != 0) {
        note(errno);
    }
    return rc;
}

/* The library's function unmaps a file. It would treat params that were never mapped as a stream,
 * so those are freed here. */
static int mapped_destroy(void *params)
{
    mapped_t *m = params_of(params);
    int rc = 0;
    if (m->map.file != NULL && m->map.addr != (char *)-1) {
        rc = blosc2_stdio_mmap_destroy(&m->map);
#ifdef _WIN32
        /* There the library also sets the length of a file that it opened for reading, and fails. */
        rc = m->writes ? rc : 0;
#endif
        if (rc != 0) {
            note(errno);
        }
    } else {
        if (m->map.file != NULL) {
            fclose(m->map.file);
        }
        goblosc2_release(m->map.urlpath);
    }
    hyperslab_free(m);
    return rc;
}

/* ---- media written in Go ---- */

/* The library asks the system for the length of a path before it opens it. medium_file makes a sparse
 * file that is longer than any frame and takes no space. One is enough for the process because it is
 * never opened. */
static char medium_path[260] = "/dev/null";

#ifdef _WIN32
static void medium_file(void)
{
    LARGE_INTEGER length = {.QuadPart = (1LL << 44) - (1LL << 16)}; /* of the longest file on NTFS */
    char dir[MAX_PATH - 14], name[MAX_PATH];
    DWORD n;
    if (GetTempPathA(sizeof dir, dir) == 0 || GetTempFileNameA(dir, "hsl", 0, name) == 0) {
        return;
    }
    /* The handle stays open, so that Windows removes the file when the process ends. */
    HANDLE h = CreateFileA(name, GENERIC_WRITE | DELETE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                           CREATE_ALWAYS, FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
    if (h != INVALID_HANDLE_VALUE && DeviceIoControl(h, FSCTL_SET_SPARSE, NULL, 0, NULL, 0, &n, NULL) &&
        SetFilePointerEx(h, length, NULL, FILE_BEGIN) && SetEndOfFile(h)) {
        (void)snprintf(medium_path, sizeof medium_path, "%s", name);
    }
}
#elif defined(__linux__)
static void medium_file(void)
{
    int fd = memfd_create("hyperslab", MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, INT64_MAX) == 0) {
        (void)snprintf(medium_path, sizeof medium_path, "/proc/self/fd/%d", fd);
    }
}
#else
static void medium_file(void)
{
    const char *dir = getenv("TMPDIR");
    char name[1024];
    int n = snprintf(name, sizeof name, "%s/hyperslab.XXXXXX", dir != NULL && dir[0] != 0 ? dir : "/tmp");
    int fd = n > 0 && (size_t)n < sizeof name ? mkstemp(name) : -1;
    if (fd < 0) {
        return;
    }
    (void)unlink(name); /* the descriptor stays open */
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (ftruncate(fd, INT64_MAX) == 0 || ftruncate(fd, 1LL << 50) == 0) {
        (void)snprintf(medium_path, sizeof medium_path, "/dev/fd/%d", fd);
    }
}
#endif

const char *goblosc2_medium_old(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, medium_file);
    return medium_path;
}

static void *medium_open(const char *path, const char *mode, void *params)
{
    (void)path;
    medium_t *m = params_of(params);
    if (mode[0] == 'w' && goblosc2_go_truncate(m->id, 0) < 0) {
        note(EIO);
        return NULL;
    }
    return m;
}

static int medium_close(void *stream)
{
    (void)stream;
    return 0;
}

static int64_t medium_size(void *stream)
{
    medium_t *m = stream;
    return m == NULL ? -1 : goblosc2_go_size(m->id);
}

static int64_t medium_write(const void *p, int64_t size, int64_t n, int64_t at, void *stream)
{
    medium_t *m = stream;
    if (m == NULL || goblosc2_go_write(m->id, (uint8_t *)p, size * n, at) < 0) {
        note(m == NULL ? EBADF : EIO);
        return 0;
    }
    return n;
}

static int64_t medium_read(void **p, int64_t size, int64_t n, int64_t at, void *stream)
{
    medium_t *m = stream;
    if (size == 1 && is_known(*p, n, at, stream)) {
        return n;
    }
    int64_t got = m == NULL || size <= 0 ? 0 : goblosc2_go_read(m->id, *p, size * n, at);
    if (got < 0) {
        note(EIO);
        return 0;
    }
    return got / (size > 0 ? size : 1);
}

static int medium_truncate(void *stream, int64_t size)
{
    medium_t *m = stream;
    if (m == NULL || goblosc2_go_truncate(m->id, size) < 0) {
        note(m == NULL ? EBADF : EIO);
        return -1;
    }
    return 0;
}

static int medium_destroy(void *params)
{
    hyperslab_free(params_of(params));
    return 0;
}

void goblosc2_io_register(void)
{
    blosc2_io_cb *file = blosc2_get_io_cb(BLOSC2_IO_FILESYSTEM);
    if (file != NULL) {
        file->open = file_open;
        file->close = file_close;
        file->size = file_size;
        file->write = file_write;
        file->read = file_read;
        file->truncate = file_truncate;
        file->destroy = file_destroy;
    }
    static char name[] = "hyperslab mapped file";
    blosc2_io_cb mapped = {.id = IO_MAPPED,
                           .name = name,
                           .open = mapped_open,
                           .close = mapped_close,
                           .size = mapped_size,
                           .write = mapped_write,
                           .read = mapped_read,
                           .truncate = mapped_truncate,
                           .destroy = mapped_destroy};
    blosc2_register_io_cb(&mapped);
    static char go_name[] = "hyperslab medium";
    blosc2_io_cb medium = {.id = IO_GO,
                           .name = go_name,
                           .is_allocation_necessary = true,
                           .open = medium_open,
                           .close = medium_close,
                           .size = medium_size,
                           .write = medium_write,
                           .read = medium_read,
                           .truncate = medium_truncate,
                           .destroy = medium_destroy};
    blosc2_register_io_cb(&medium);
}

int goblosc2_io(goblosc2_err_t *err, int32_t map, int64_t mapping, uintptr_t medium, blosc2_io *io)
{
    static const char *const modes[] = {NULL, "r", "r+", "c", "w+"};
    *io = blosc2_get_blosc2_io_defaults();
    if (medium != 0) {
        medium_t *m = hyperslab_alloc(sizeof *m);
        if (m == NULL) {
            return goblosc2_no_memory(err);
        }
        m->id = medium;
        io->id = IO_GO;
        io->params = m;
        return 0;
    }
    if (map == GOBLOSC2_MAP_NONE) {
        return 0;
    }
    mapped_t *m = hyperslab_alloc(sizeof *m);
    if (m == NULL) {
        return goblosc2_no_memory(err);
    }
    m->map = blosc2_get_blosc2_stdio_mmap_defaults();
    m->map.mode = modes[map];
    m->writes = strchr(modes[map], '+') != NULL;
    /* The type is int64_t or size_t, depending on the release. */
    m->map.initial_mapping_size = _Generic(m->map.initial_mapping_size, size_t : (size_t)mapping, default : mapping);
    m->map.needs_free = false;
    io->id = IO_MAPPED;
    io->params = m;
    return 0;
}

void goblosc2_io_undo(blosc2_io *io)
{
    if (io->params != NULL) {
        (void)blosc2_get_io_cb(io->id)->destroy(io->params);
    }
}
