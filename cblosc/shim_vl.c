/* shim_vl.c: chunks with blocks of variable length. Go checks each chunk before the call. */
#include "shim_internal.h"

#include <stdlib.h>
#include <string.h>

int goblosc2_vl_compress(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *src, const int64_t *ends, int32_t n,
                         uint8_t *dst, int32_t cap)
{
    goblosc2_threads(h->cparams.threads);
    const void **blocks = hyperslab_alloc((size_t)n * (sizeof *blocks + sizeof(int32_t)));
    blosc2_context *fresh = goblosc2_create_cctx(h); /* a context keeps the blocks of its last chunk */
    goblosc2_pipeline_t *g = &h->pipeline;
    int rc = BLOSC2_ERROR_MEMORY_ALLOC;
    bool ready = blocks != NULL && fresh != NULL;
    if (ready && g->guarded) {
        g->variable = true;
        ready = goblosc2_guarded_begin(g, src, ends[n - 1]) == 0;
        src = g->scratch;
    }
    if (ready) {
        int32_t *sizes = (int32_t *)(blocks + n);
        for (int64_t i = 0, at = 0; i < n; at = ends[i++]) {
            blocks[i] = src + at;
            sizes[i] = (int32_t)(ends[i] - at);
        }
        rc = blosc2_vlcompress_ctx(fresh, blocks, sizes, n, dst, cap);
    }
    goblosc2_guarded_end(g);
    g->variable = false;
    if (fresh != NULL) {
        blosc2_free_ctx(fresh);
    }
    hyperslab_free(blocks);
    return rc < 0 ? goblosc2_fail(err, rc, "blosc2_vlcompress_ctx") : rc;
}

int goblosc2_vl_count(goblosc2_err_t *err, const uint8_t *chunk, int32_t n)
{
    int32_t blocks = 0;
    int rc = blosc2_vlchunk_get_nblocks(chunk, n, &blocks);
    return rc < 0 ? goblosc2_fail(err, rc, "blosc2_vlchunk_get_nblocks") : blocks;
}

int goblosc2_vl_decompress(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *chunk, int32_t n, uint8_t *dst,
                           int64_t cap, int64_t *ends, int32_t blocks)
{
    goblosc2_threads(h->cparams.threads);
    if (goblosc2_begin_chunk(err, h, chunk, n) < 0) {
        return -1;
    }
    void **out = hyperslab_alloc((size_t)blocks * (sizeof *out + sizeof(int32_t)));
    if (out == NULL) {
        return goblosc2_no_memory(err);
    }
    int32_t *sizes = (int32_t *)(out + blocks);
    int rc = blosc2_vldecompress_ctx(h->ctx, chunk, n, out, sizes, blocks);
    int64_t at = 0;
    for (int i = 0; i < rc; i++) { /* on failure the library has freed the blocks */
        if (sizes[i] <= cap - at) {
            memcpy(dst + at, out[i], (size_t)sizes[i]);
        }
        at += sizes[i];
        ends[i] = at;
        free(out[i]);
    }
    hyperslab_free(out);
    if (rc >= 0 && (rc != blocks || at != cap)) {
        rc = BLOSC2_ERROR_DATA;
    }
    return rc < 0 ? goblosc2_fail(err, rc, "blosc2_vldecompress_ctx") : 0;
}

int goblosc2_vl_block(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *chunk, int32_t n, int32_t i,
                      uint8_t **block)
{
    int32_t size = 0;
    goblosc2_threads(h->cparams.threads);
    if (goblosc2_begin_chunk(err, h, chunk, n) < 0) {
        return -1;
    }
    int rc = blosc2_vldecompress_block_ctx(h->ctx, chunk, n, i, block, &size);
    return rc < 0 ? goblosc2_fail(err, rc, "blosc2_vldecompress_block_ctx") : size;
}

int goblosc2_schunk_vl_block(goblosc2_err_t *err, goblosc2_handle_t *h, int64_t chunk, int32_t i, uint8_t **block)
{
    int32_t size = 0;
    goblosc2_io_begin(goblosc2_threads_of(h));
    int rc = blosc2_schunk_get_vlblock(h->sc, chunk, i, block, &size);
    return rc < 0 ? goblosc2_fail(err, rc, "blosc2_schunk_get_vlblock") : size;
}
