#include "cmem.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* One cache line before each block holds its size; the block itself stays aligned for any SIMD code. */
enum { PREFIX = 64 };

static _Atomic int64_t live_blocks;
static _Atomic int64_t live_bytes;

void *hyperslab_alloc(size_t n)
{
    if (n > SIZE_MAX / 2 - 2 * PREFIX) {
        return NULL;
    }
    size_t total = (PREFIX + n + PREFIX - 1) / PREFIX * PREFIX;
    char *base = aligned_alloc(PREFIX, total);
    if (base == NULL) {
        return NULL;
    }
    memset(base, 0, total);
    memcpy(base, &n, sizeof n);
    atomic_fetch_add(&live_blocks, 1);
    atomic_fetch_add(&live_bytes, (int64_t)n);
    return base + PREFIX;
}

void hyperslab_free(void *block)
{
    if (block == NULL) {
        return;
    }
    char *base = (char *)block - PREFIX;
    size_t n;
    memcpy(&n, base, sizeof n);
    atomic_fetch_sub(&live_blocks, 1);
    atomic_fetch_sub(&live_bytes, (int64_t)n);
    free(base);
}

void *hyperslab_gift(size_t n)
{
    return malloc(n);
}

void hyperslab_live(int64_t *blocks, int64_t *bytes)
{
    *blocks = atomic_load(&live_blocks);
    *bytes = atomic_load(&live_bytes);
}

#ifdef __SANITIZE_ADDRESS__
/* What the sanitizers do where the environment says nothing, as in a worker. Leaks are counted above: C memory that
 * Go alone knows of looks lost to the sanitizer. A size that cannot be had is an error, as without it. */
#define OPTIONS "detect_leaks=0:allocator_may_return_null=1"

const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

const char *__asan_default_options(void)
{
    return OPTIONS;
}

const char *__ubsan_default_options(void)
{
    return OPTIONS;
}
#endif
