/* cmem.h: counted C memory. Every block that the shims or Go code of this module allocate in C
 * comes from here, so that a test can check at its end that all blocks are freed. */
#ifndef HYPERSLAB_CMEM_H
#define HYPERSLAB_CMEM_H

#include <stddef.h>
#include <stdint.h>

/* hyperslab_alloc returns n zeroed bytes aligned to 64, or NULL if it fails. n = 0 gives a valid
 * block, too. */
void *hyperslab_alloc(size_t n);

/* hyperslab_free releases a block. NULL is allowed. */
void hyperslab_free(void *block);

/* hyperslab_gift returns n bytes whose ownership passes to a C library, which releases them with
 * free(), or NULL. They are not counted, because the C library owns them. */
void *hyperslab_gift(size_t n);

/* hyperslab_live returns the number of blocks that are not freed, and the bytes in them. */
void hyperslab_live(int64_t *blocks, int64_t *bytes);

/* hyperslab_trim returns free memory of glibc to the system. */
void hyperslab_trim(void);

/* hyperslab_env copies an environment variable as C sees it, without the libraries' variables that
 * the program did not set itself. It returns 0 if the variable is not set or does not fit. */
int hyperslab_env(const char *name, char *value, size_t room);

#endif
