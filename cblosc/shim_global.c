/* shim_global.c: the global context of the library. Calls must not run concurrently. */
#include "shim_internal.h"

int goblosc2_global_decompress(goblosc2_err_t *err, int32_t blosc1, const uint8_t *chunk, int32_t n, uint8_t *dst,
                               int32_t cap)
{
    const char *call = blosc1 ? "blosc1_decompress" : "blosc2_decompress";
    if (blosc1 && goblosc2_begin_global(err) < 0) {
        return -1;
    }
    int rc = blosc1 ? blosc1_decompress(chunk, dst, (size_t)cap) : blosc2_decompress(chunk, n, dst, cap);
    return rc < 0 ? goblosc2_fail(err, rc, call) : rc;
}

int goblosc2_global_items(goblosc2_err_t *err, int32_t blosc1, const uint8_t *chunk, int32_t n, int32_t start,
                          int32_t items, uint8_t *dst, int32_t cap)
{
    const char *call = blosc1 ? "blosc1_getitem" : "blosc2_getitem";
    int rc = blosc1 ? blosc1_getitem(chunk, start, items, dst) : blosc2_getitem(chunk, n, start, items, dst, cap);
    return rc < 0 ? goblosc2_fail(err, rc, call) : rc;
}

const char *goblosc2_global_state(int32_t *blocksize, int32_t *threads)
{
    *blocksize = blosc1_get_blocksize();
    *threads = blosc2_get_nthreads();
    return blosc1_get_compressor();
}

int goblosc2_global_free(goblosc2_err_t *err)
{
    int rc = blosc2_free_resources();
    return rc < 0 ? goblosc2_fail(err, rc, "blosc2_free_resources") : 0;
}
