/* shim_base.c: errors, memory, parameters and handles, which the other files of the shim use. */
#include "shim_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

_Thread_local int32_t goblosc2_io_errno;

int goblosc2_fail(goblosc2_err_t *err, int64_t code, const char *call)
{
    if (code >= 0 || code < INT32_MIN) {
        code = BLOSC2_ERROR_FAILURE;
    }
    err->code = (int32_t)code;
    err->call = call;
    /* The library keeps no cause of a failed file operation. errno was cleared before the call and
     * holds the last one. */
    switch (code) {
    case BLOSC2_ERROR_FAILURE:
    case BLOSC2_ERROR_FILE_READ:
    case BLOSC2_ERROR_FILE_WRITE:
    case BLOSC2_ERROR_FILE_OPEN:
    case BLOSC2_ERROR_FILE_TRUNCATE:
    case BLOSC2_ERROR_FILE_REMOVE:
    case BLOSC2_ERROR_CHUNK_APPEND:
    case BLOSC2_ERROR_CHUNK_INSERT:
    case BLOSC2_ERROR_CHUNK_UPDATE:
    case BLOSC2_ERROR_NULL_POINTER: /* b2nd_open, if the file cannot be read */
        err->sys = goblosc2_io_errno != 0 ? goblosc2_io_errno : errno;
        break;
    case BLOSC2_ERROR_FRAME_SPECIAL: /* also the code for an index that cannot be opened; errno may be unrelated */
        err->sys = goblosc2_io_errno;
        break;
    default:
        err->sys = 0;
    }
    return -1;
}

int goblosc2_no_memory(goblosc2_err_t *err)
{
    return goblosc2_fail(err, BLOSC2_ERROR_MEMORY_ALLOC, "malloc");
}

void goblosc2_release(void *p)
{
    free(p);
}

/* ---- parameters ---- */

blosc2_cparams goblosc2_to_cparams(const goblosc2_cparams_t *p)
{
    blosc2_cparams c = blosc2_get_blosc2_cparams_defaults();
    c.compcode = (uint8_t)p->codec;
    c.compcode_meta = (uint8_t)p->codec_meta;
    c.use_dict = p->dict;
    c.clevel = (uint8_t)p->level;
    c.typesize = p->typesize;
    c.blocksize = p->blocksize;
    c.nthreads = (int16_t)p->threads;
    c.splitmode = p->splitmode;
    memcpy(c.filters, p->filters, sizeof c.filters);
    memcpy(c.filters_meta, p->filters_meta, sizeof c.filters_meta);
    return c;
}

int32_t goblosc2_whole_blocks(const goblosc2_cparams_t *p, int32_t n)
{
    int32_t block = p->blocksize < n ? p->blocksize : n;
    if (block < p->typesize || block % p->typesize == 0) {
        return p->blocksize;
    }
    return block - block % p->typesize;
}

void goblosc2_from_cparams(goblosc2_cparams_t *p, const blosc2_cparams *c)
{
    p->codec = c->compcode;
    p->codec_meta = c->compcode_meta;
    p->dict = c->use_dict != 0;
    p->level = c->clevel;
    p->typesize = c->typesize;
    p->blocksize = c->blocksize;
    p->threads = c->nthreads;
    p->splitmode = c->splitmode;
    memcpy(p->filters, c->filters, sizeof p->filters);
    memcpy(p->filters_meta, c->filters_meta, sizeof p->filters_meta);
}

blosc2_dparams goblosc2_to_dparams(int32_t threads)
{
    blosc2_dparams d = blosc2_get_blosc2_dparams_defaults();
    d.nthreads = (int16_t)threads;
    return d;
}

/* ---- handles ---- */

int goblosc2_new_handle(goblosc2_err_t *err, blosc2_context *ctx, blosc2_schunk *sc, goblosc2_handle_t **out)
{
    goblosc2_handle_t *h = hyperslab_alloc(sizeof *h);
    if (h == NULL) {
        if (ctx != NULL) {
            blosc2_free_ctx(ctx);
        }
        if (sc != NULL) {
            blosc2_schunk_free(sc);
        }
        return goblosc2_no_memory(err);
    }
    h->ctx = ctx;
    h->sc = sc;
    *out = h;
    return 0;
}
