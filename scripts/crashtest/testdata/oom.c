/* oom.c: a library for LD_PRELOAD that makes allocations of one thread fail. The file that the
 * environment variable HYPERSLAB_OOM names is mapped and controls it. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The layout of the file; the test declares the same one in Go. */
struct control {
    int64_t thread; /* whose allocations are counted; 0: of no thread */
    int64_t fail;   /* number of the allocation that fails, from 1; 0: none of them */
    int64_t after;  /* 1: the allocations after it fail too */
    int64_t count;  /* allocations of the thread */
    int64_t failed; /* allocations that failed */
    int64_t live;   /* blocks of all threads that are not freed */
    int64_t point;  /* written by the test: the operation and the number that it tries */
};

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t alignment, size_t n);
extern void __libc_free(void *p);

static struct control *control;
static __thread int64_t self __attribute__((tls_model("initial-exec")));

__attribute__((constructor)) static void open_control(void)
{
    const char *path = getenv("HYPERSLAB_OOM");
    int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    void *p = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (p != MAP_FAILED) {
        control = p;
    }
}

/* refuse reports whether this allocation fails. */
static int refuse(void)
{
    struct control *c = control;
    if (c == NULL || c->thread == 0) {
        return 0;
    }
    if (self == 0) {
        self = (int64_t)syscall(SYS_gettid);
    }
    if (self != c->thread) {
        return 0;
    }
    int64_t n = ++c->count;
    if (c->fail == 0 || n < c->fail || (n > c->fail && c->after == 0)) {
        return 0;
    }
    c->failed++;
    errno = ENOMEM;
    return 1;
}

static void *counted(void *p, int64_t blocks)
{
    if (control != NULL && p != NULL) {
        __atomic_fetch_add(&control->live, blocks, __ATOMIC_RELAXED);
    }
    return p;
}

void *malloc(size_t n)
{
    return refuse() ? NULL : counted(__libc_malloc(n), 1);
}

void *calloc(size_t n, size_t size)
{
    return refuse() ? NULL : counted(__libc_calloc(n, size), 1);
}

void *realloc(void *p, size_t n)
{
    if (n > 0 && refuse()) {
        return NULL;
    }
    void *q = __libc_realloc(p, n);
    if (p == NULL) {
        return counted(q, 1);
    }
    if (n == 0) {
        counted(p, -1);
    }
    return q;
}

void *memalign(size_t alignment, size_t n)
{
    return refuse() ? NULL : counted(__libc_memalign(alignment, n), 1);
}

void *aligned_alloc(size_t alignment, size_t n)
{
    return memalign(alignment, n);
}

int posix_memalign(void **p, size_t alignment, size_t n)
{
    void *q = memalign(alignment, n);
    if (q == NULL) {
        return ENOMEM;
    }
    *p = q;
    return 0;
}

void free(void *p)
{
    counted(p, -1);
    __libc_free(p);
}
