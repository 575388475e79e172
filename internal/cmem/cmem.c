#include "cmem.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#ifdef __APPLE__
#include <crt_externs.h>
#endif
#if defined(__GLIBC__) || defined(_WIN32)
#include <malloc.h>
#endif
#ifdef _WIN32
#define aligned_alloc(alignment, size) _aligned_malloc(size, alignment)
#define aligned_free(block) _aligned_free(block)
#else
#define aligned_free(block) free(block)
#endif

/* One cache line before each block holds its size. The block itself stays aligned for any SIMD
 * code. */
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
    aligned_free(base);
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

#if defined(_WIN32)
#define ENVIRON _environ
#elif defined(__APPLE__)
#define ENVIRON (*_NSGetEnviron())
#else
extern char **environ;
#define ENVIRON environ
#endif

/* Prefixes of variables that libhdf5 and C-Blosc2 read: some load code, others change results or
 * print. */
static int is_library_variable(const char *v)
{
    static const char *const prefixes[] = {"HDF5_", "H5_", "H5D_", "H5FD_", "BLOSC_", "BLOSC2_", "BTUNE_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        if (strncmp(v, prefixes[i], strlen(prefixes[i])) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Runs before main, when the process has one thread, and gives C an environment without these
 * variables. The old array stays as it is, because the Go runtime and the programs that Go code
 * starts read it; on Windows they read another one, and os.Setenv does not change C's. Elsewhere a
 * variable that the program sets with os.Setenv reaches C. */
__attribute__((constructor)) static void hide_library_variables(void)
{
    char **all = ENVIRON;
    size_t n = 0, kept = 0;
    if (all == NULL) {
        return;
    }
    while (all[n] != NULL) {
        kept += !is_library_variable(all[n]);
        n++;
    }
    if (kept == n) {
        return;
    }
#ifdef _WIN32
    char **rest = all;
#else
    char **rest = malloc((kept + 1) * sizeof *rest);
    if (rest == NULL) {
        return; /* a process without memory for this does not start */
    }
#endif
    kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_library_variable(all[i])) {
            rest[kept++] = all[i];
        }
    }
    rest[kept] = NULL;
#ifndef _WIN32
    ENVIRON = rest;
#endif
}

int hyperslab_env(const char *name, char *value, size_t room)
{
    const char *v = getenv(name);
    if (v == NULL || strlen(v) >= room) {
        return 0;
    }
    memcpy(value, v, strlen(v) + 1);
    return 1;
}

#ifdef __SANITIZE_ADDRESS__
/* Default options of the sanitizers, for example in a worker, whose environment does not set them.
 * Leak detection is off because memory that only Go refers to looks lost; the counters above find
 * leaks. An allocation that is too large returns NULL, as without the sanitizer. */
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

void hyperslab_trim(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}
