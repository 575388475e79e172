/* shim_shuffle.c: shuffle functions on plain buffers. */
#include "shim_internal.h"

int goblosc2_shuffle(goblosc2_err_t *err, int32_t how, int32_t typesize, const uint8_t *src, int32_t n, uint8_t *dst)
{
    int32_t rc = BLOSC2_ERROR_INVALID_PARAM;
    const char *call = "blosc2_shuffle";
    switch (how) {
    case GOBLOSC2_SHUFFLE:
        rc = blosc2_shuffle(typesize, n, src, dst);
        break;
    case GOBLOSC2_UNSHUFFLE:
        call = "blosc2_unshuffle";
        rc = blosc2_unshuffle(typesize, n, src, dst);
        break;
    case GOBLOSC2_BITSHUFFLE:
        call = "blosc2_bitshuffle";
        rc = blosc2_bitshuffle(typesize, n, src, dst);
        break;
    case GOBLOSC2_BITUNSHUFFLE:
        call = "blosc2_bitunshuffle";
        rc = blosc2_bitunshuffle(typesize, n, src, dst);
        break;
    default:
        break;
    }
    return rc < 0 ? goblosc2_fail(err, rc, call) : 0;
}
