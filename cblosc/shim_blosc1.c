/* shim_blosc1.c: Blosc1 chunks, which the library can only create with its global variables. */
#define _POSIX_C_SOURCE 200809L /* setenv */

#include "shim_internal.h"

#include <stdlib.h>

enum { BLOSC1_VERSION = 2, VERSION_BYTE = 0 };

void goblosc2_blosc1_init(void)
{
#ifdef _WIN32
    (void)_putenv("BLOSC_BLOSC1_COMPAT=1");
#else
    setenv("BLOSC_BLOSC1_COMPAT", "1", 1);
#endif
}

int goblosc2_blosc1_compress(goblosc2_err_t *err, const goblosc2_cparams_t *p, int32_t shuffle, const uint8_t *src,
                             int32_t n, uint8_t *dst, int32_t cap)
{
    const char *codec = NULL;
    int rc = blosc2_compcode_to_compname(p->codec, &codec);
    if (rc < 0) {
        return goblosc2_fail(err, BLOSC2_ERROR_CODEC_SUPPORT, "blosc2_compcode_to_compname");
    }
    rc = blosc1_set_compressor(codec);
    if (rc < 0) {
        return goblosc2_fail(err, rc, "blosc1_set_compressor");
    }
    blosc1_set_blocksize((size_t)goblosc2_whole_blocks(p, n));
    blosc1_set_splitmode(p->splitmode);
    rc = blosc2_set_nthreads((int16_t)p->threads);
    if (rc < 0) {
        return goblosc2_fail(err, rc, "blosc2_set_nthreads");
    }
    /* BLOSC_BLOSC1_COMPAT is set, so the library writes the 16-byte header. */
    rc = blosc1_compress(p->level, shuffle, (size_t)p->typesize, (size_t)n, src, dst, (size_t)cap);
    if (rc < 0) {
        return goblosc2_fail(err, rc, "blosc1_compress");
    }
    if (rc > 0) {
        dst[VERSION_BYTE] = BLOSC1_VERSION; /* the library writes 5, which C-Blosc 1.x rejects */
    }
    return rc;
}
