/* shim_compress.c: contexts that compress one chunk or many chunks per call. */
#include "shim_internal.h"

int goblosc2_compressor_new(goblosc2_err_t *err, const goblosc2_cparams_t *p, uintptr_t hook, int32_t block,
                            goblosc2_handle_t **out, goblosc2_cparams_t *effective)
{
    goblosc2_handle_t *h = NULL;
    if (goblosc2_new_handle(err, NULL, NULL, &h) < 0) {
        return -1;
    }
    h->cparams = *p;
    h->last = -1;
    h->hook = hook;
    h->block = block != 0;
    h->ctx = goblosc2_create_cctx(h);
    if (h->ctx == NULL) {
        hyperslab_free(h);
        return goblosc2_fail(err, BLOSC2_ERROR_INVALID_PARAM, "blosc2_create_cctx");
    }
    blosc2_cparams c;
    blosc2_ctx_get_cparams(h->ctx, &c);
    goblosc2_from_cparams(effective, &c);
    *out = h;
    return 0;
}

int goblosc2_compressor_set(goblosc2_err_t *err, goblosc2_handle_t *h, const goblosc2_cparams_t *p,
                            goblosc2_cparams_t *effective)
{
    goblosc2_cparams_t before = h->cparams;
    h->cparams = *p;
    blosc2_context *fresh = goblosc2_create_cctx(h);
    if (fresh == NULL) {
        h->cparams = before;
        return goblosc2_fail(err, BLOSC2_ERROR_INVALID_PARAM, "blosc2_create_cctx");
    }
    blosc2_free_ctx(h->ctx);
    h->ctx = fresh;
    h->last = -1;
    blosc2_cparams c;
    blosc2_ctx_get_cparams(h->ctx, &c);
    goblosc2_from_cparams(effective, &c);
    return 0;
}

/* Creates a context for n bytes of data. */
static blosc2_context *context_for(goblosc2_handle_t *h, int32_t n)
{
    int32_t asked = h->cparams.blocksize;
    h->cparams.blocksize = goblosc2_whole_blocks(&h->cparams, n);
    blosc2_context *ctx = goblosc2_create_cctx(h);
    h->cparams.blocksize = asked;
    return ctx;
}

/* Makes the context ready for n bytes of data. A context keeps state: the block size of a short
 * chunk becomes the maximum for later chunks, and elements of more than 255 bytes become single
 * bytes permanently. A chunk must not depend on the chunk before it, so data of another length gets
 * a new context. This costs little because the library frees most of its buffers anyway when the
 * block size changes. */
static int ready(goblosc2_err_t *err, goblosc2_handle_t *h, int32_t n)
{
    goblosc2_threads(h->cparams.threads);
    bool fresh_fits = h->last < 0 && goblosc2_whole_blocks(&h->cparams, n) == h->cparams.blocksize;
    if (fresh_fits || (h->last == n && h->cparams.typesize <= BLOSC_MAX_TYPESIZE)) {
        return 0;
    }
    blosc2_context *fresh = context_for(h, n);
    if (fresh == NULL) {
        return goblosc2_fail(err, BLOSC2_ERROR_MEMORY_ALLOC, "blosc2_create_cctx");
    }
    blosc2_free_ctx(h->ctx);
    h->ctx = fresh;
    h->last = -1;
    return 0;
}

static int compress(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *src, int32_t n, uint8_t *dst, int32_t cap)
{
    if (ready(err, h, n) < 0) {
        return -1;
    }
    int rc = goblosc2_guarded_compress(h->ctx, &h->pipeline, src, n, dst, cap);
    if (rc == BLOSC_EXTENDED_HEADER_LENGTH && n % dst[BLOSC2_CHUNK_TYPESIZE] != 0) {
        /* Zeros that are not a whole number of elements: releases before 3 can read them only as
         * bytes. */
        dst[BLOSC2_CHUNK_TYPESIZE] = 1;
    }
    if (rc > 0 && h->cparams.dict != 0) {
        /* If the dictionary did not help, the library stores the data without it but still sets the
         * dictionary flag. */
        if ((dst[BLOSC2_CHUNK_FLAGS] & BLOSC_MEMCPYED) != 0) {
            dst[BLOSC2_CHUNK_BLOSC2_FLAGS] &= (uint8_t)~BLOSC2_USEDICT;
        }
    }
    /* After a failure, INT32_MAX matches no data and forces a new context. */
    h->last = rc > 0 ? n : INT32_MAX;
    return rc < 0 ? goblosc2_fail(err, rc, "blosc2_compress_ctx") : rc;
}

int goblosc2_compress(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *src, int32_t n, uint8_t *dst,
                      int32_t cap)
{
    return compress(err, h, src, n, dst, cap);
}

int64_t goblosc2_compress_batch(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *src, int64_t start,
                                const int64_t *ends, int64_t n, uint8_t *dst, int64_t cap, int64_t *dst_ends,
                                int64_t *bad)
{
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t len = ends[i] - start;
        int64_t room = len + BLOSC2_MAX_OVERHEAD; /* always enough */
        if (room > cap - at) {
            room = cap - at;
        }
        int rc = compress(err, h, src + start, (int32_t)len, dst + at, (int32_t)room);
        if (rc <= 0) {
            *bad = i;
            return rc < 0 ? rc : goblosc2_fail(err, BLOSC2_ERROR_WRITE_BUFFER, "blosc2_compress_ctx");
        }
        start = ends[i];
        at += rc;
        dst_ends[i] = at;
    }
    return at;
}

int goblosc2_compress_parts(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *src, const int64_t *ends,
                            const int64_t *parts, int64_t n, int64_t *next, uint8_t *dst, int64_t *dst_ends,
                            int64_t *lengths, int64_t *bad)
{
    int64_t i;
    while ((i = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED)) < n) {
        int64_t first = parts[i], items = parts[i + 1] - first;
        int64_t start = first == 0 ? 0 : ends[first - 1];
        int64_t cap = ends[first + items - 1] - start + items * BLOSC2_MAX_OVERHEAD;
        int64_t rc = goblosc2_compress_batch(err, h, src, start, ends + first, items,
                                             dst + start + first * BLOSC2_MAX_OVERHEAD, cap, dst_ends + first, bad);
        if (rc < 0) {
            *bad += first;
            __atomic_store_n(next, n, __ATOMIC_RELAXED);
            return -1;
        }
        lengths[i] = rc;
    }
    return 0;
}
