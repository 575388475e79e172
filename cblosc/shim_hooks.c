/* shim_hooks.c: C functions through which the library calls codecs, filters and block functions
 * written in Go.
 *
 * The library passes no user pointer to such a function, only the parameters of the context. So a
 * compressor stores the id of its hooks as the codec's parameters. A decompressor stores its handle
 * as the parameters of a postfilter, which only copies blocks if no Go function needs it. Contexts
 * of super-chunks point to their super-chunk, whose codec parameters hold the id. */
#include "shim_internal.h"

#include <stdlib.h>
#include <string.h>

/* callbacks.go */
extern int32_t goblosc2_go_encode(uintptr_t id, int32_t codec, int32_t meta, uint8_t *src, int32_t n, uint8_t *dst,
                                  int32_t room);
extern int32_t goblosc2_go_decode(uintptr_t id, int32_t codec, int32_t meta, uint8_t *src, int32_t n, uint8_t *dst,
                                  int32_t room);
extern int32_t goblosc2_go_filter(uintptr_t id, int32_t filter, int32_t meta, int32_t direction, uint8_t *src,
                                  uint8_t *dst, int32_t n);

enum { UDCODEC_BYTE = 0x16, USER_IDS = 256 - BLOSC2_USER_REGISTERED_CODECS_START };

static uintptr_t hook_of_schunk(const blosc2_schunk *sc)
{
    return (uintptr_t)sc->storage->cparams->codec_params;
}

static uintptr_t hook_before(const blosc2_cparams *p)
{
    return p->schunk != NULL ? hook_of_schunk(p->schunk) : (uintptr_t)p->codec_params;
}

static uintptr_t hook_behind(const blosc2_dparams *p)
{
    if (p->schunk != NULL) {
        return hook_of_schunk(p->schunk);
    }
    return p->postfilter == goblosc2_after ? ((const goblosc2_handle_t *)p->postparams->user_data)->hook : 0;
}

int goblosc2_opened(goblosc2_err_t *err, blosc2_schunk *sc, uintptr_t hook)
{
    if (sc->use_dict != 0) {
        /* Data that does not compress would be stored in a chunk that says it has a dictionary, and not be read back.
         */
        sc->use_dict = 0;
        sc->storage->cparams->use_dict = 0;
        blosc2_cparams *p = NULL;
        blosc2_schunk_get_cparams(sc, &p);
        blosc2_context *fresh = blosc2_create_cctx(*p);
        free(p);
        if (fresh == NULL) {
            return goblosc2_fail(err, BLOSC2_ERROR_MEMORY_ALLOC, "blosc2_create_cctx");
        }
        blosc2_free_ctx(sc->cctx);
        sc->cctx = fresh;
    }
    sc->storage->cparams->codec_params = (void *)hook;
    return 0;
}

static int encode(const uint8_t *src, int32_t n, uint8_t *dst, int32_t room, uint8_t meta, blosc2_cparams *p,
                  const void *data)
{
    (void)data;
    uintptr_t hook = hook_before(p);
    return hook == 0 ? BLOSC2_ERROR_CODEC_SUPPORT
                     : goblosc2_go_encode(hook, p->compcode, meta, (uint8_t *)src, n, dst, room);
}

static int decode(const uint8_t *src, int32_t n, uint8_t *dst, int32_t room, uint8_t meta, blosc2_dparams *p,
                  const void *chunk)
{
    uintptr_t hook = hook_behind(p);
    return hook == 0
               ? BLOSC2_ERROR_CODEC_SUPPORT
               : goblosc2_go_decode(hook, ((const uint8_t *)chunk)[UDCODEC_BYTE], meta, (uint8_t *)src, n, dst, room);
}

static int forward(const uint8_t *src, uint8_t *dst, int32_t n, uint8_t meta, blosc2_cparams *p, uint8_t id)
{
    uintptr_t hook = hook_before(p);
    int32_t direction = p->prefilter != NULL ? GOBLOSC2_FORWARD : GOBLOSC2_FORWARD_ALONE;
    return hook == 0 ? BLOSC2_ERROR_FILTER_PIPELINE
                     : goblosc2_go_filter(hook, id, meta, direction, (uint8_t *)src, dst, n);
}

static int backward(const uint8_t *src, uint8_t *dst, int32_t n, uint8_t meta, blosc2_dparams *p, uint8_t id)
{
    uintptr_t hook = hook_behind(p);
    return hook == 0 ? BLOSC2_ERROR_FILTER_PIPELINE
                     : goblosc2_go_filter(hook, id, meta, GOBLOSC2_BACKWARD, (uint8_t *)src, dst, n);
}

/* The library keeps pointers to the names permanently. */
static char codec_names[USER_IDS][GOBLOSC2_META_NAME], filter_names[USER_IDS][GOBLOSC2_META_NAME];

int goblosc2_register_codec(goblosc2_err_t *err, int32_t id, const char *name)
{
    char *kept = codec_names[id - BLOSC2_USER_REGISTERED_CODECS_START];
    strncpy(kept, name, GOBLOSC2_META_NAME - 1);
    blosc2_codec codec = {.compcode = (uint8_t)id,
                          .compname = kept,
                          .complib = BLOSC_UDCODEC_FORMAT,
                          .version = 1,
                          .encoder = encode,
                          .decoder = decode};
    int rc = blosc2_register_codec(&codec);
    return rc < 0 ? goblosc2_fail(err, rc, "blosc2_register_codec") : 0;
}

int goblosc2_register_filter(goblosc2_err_t *err, int32_t id, const char *name)
{
    char *kept = filter_names[id - BLOSC2_USER_REGISTERED_FILTERS_START];
    strncpy(kept, name, GOBLOSC2_META_NAME - 1);
    blosc2_filter filter = {.id = (uint8_t)id, .name = kept, .version = 1, .forward = forward, .backward = backward};
    int rc = blosc2_register_filter(&filter);
    return rc < 0 ? goblosc2_fail(err, rc, "blosc2_register_filter") : 0;
}

int goblosc2_compress_hooked(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *src, int32_t n, uint8_t *dst,
                             int32_t cap)
{
    return goblosc2_compress(err, h, src, n, dst, cap);
}

int goblosc2_decompress_hooked(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *chunk, int32_t n, uint8_t *dst,
                               int32_t cap)
{
    return goblosc2_decompress(err, h, chunk, n, dst, cap);
}
