/* cmem.h: counted C memory. Every block that our shims or our Go code take from C comes from here,
 * so that a test can ask at its end whether anything is left. */
#ifndef HYPERSLAB_CMEM_H
#define HYPERSLAB_CMEM_H

#include <stddef.h>
#include <stdint.h>

/* hyperslab_alloc returns n zeroed bytes aligned to 64 (n = 0 gives a valid block too), or NULL if memory is out. */
void *hyperslab_alloc(size_t n);

/* hyperslab_free gives a block back; NULL is allowed. */
void hyperslab_free(void *block);

/* hyperslab_gift returns n bytes for a C library to take over and to give back with its own free(), or NULL. They are
 * not counted, since they are not ours any more. */
void *hyperslab_gift(size_t n);

/* hyperslab_live reports the blocks and bytes that were taken and not given back. */
void hyperslab_live(int64_t *blocks, int64_t *bytes);

/* hyperslab_env copies an environment variable as C sees it, without those of the libraries that the program did not
 * set itself. It returns 0 if there is none, or if it does not fit. */
int hyperslab_env(const char *name, char *value, size_t room);

#endif
