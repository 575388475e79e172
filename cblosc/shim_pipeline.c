/* shim_pipeline.c: compression whose source the library must not change.
 *
 * The library rotates three buffers in the filter pipeline: the source, and two of its own. Each
 * step, a prefilter or a filter, reads one buffer and writes the next, so the third step writes
 * its output into the source (pipeline_forward and _cycle_buffers in blosc2.c). Later blocks that
 * use the first block as the reference of Delta, a second pass that stores incompressible data,
 * and the pass after the training of a dictionary then read filtered bytes.
 *
 * A guarded context therefore gets scratch memory as the source, and a prefilter that copies each
 * block from the caller's memory whenever the library starts a block, in each pass. Functions of
 * Go also get only that memory. */
#include "shim_internal.h"

#include <stdlib.h>
#include <string.h>

/* The third step writes into the source. */
enum { SAFE_STEPS = 2 };

/* A chunk's header contains the kind of a special chunk in these bits. */
enum { SPECIAL_SHIFT = 4, SPECIAL_MASK = 7 };

static bool uses_go(const blosc2_cparams *p)
{
    bool go = p->compcode >= BLOSC2_USER_REGISTERED_CODECS_START;
    for (int i = 0; i < BLOSC2_MAX_FILTERS; i++) {
        go = go || p->filters[i] >= BLOSC2_USER_REGISTERED_FILTERS_START;
    }
    return go;
}

static bool overwrites(const blosc2_cparams *p, int steps)
{
    for (int i = 0; i < BLOSC2_MAX_FILTERS; i++) {
        steps += p->filters[i] != BLOSC_NOFILTER;
    }
    return p->clevel > 0 && steps > SAFE_STEPS; /* level 0 runs no filter */
}

static bool uses_delta(const blosc2_cparams *p)
{
    return memchr(p->filters, BLOSC_DELTA, sizeof p->filters) != NULL;
}

/* Copies the block from the caller's memory to the scratch memory, and then to the library. */
static int restore(blosc2_prefilter_params *p)
{
    const goblosc2_pipeline_t *g = p->user_data;
    blosc2_cparams used;
    blosc2_ctx_get_cparams(p->ctx, &used);
    uint8_t *in = (uint8_t *)p->input; /* in the scratch memory */
    int64_t at = in - g->scratch, n = g->n - at;
    if (g->variable) {
        n = p->output_size;
    } else if (n > used.blocksize) {
        n = used.blocksize;
    }
    memcpy(in, g->source + at, (size_t)n);
    if (g->delta && at > 0 && !g->variable) {
        memcpy(g->scratch, g->source, (size_t)used.blocksize); /* the reference of Delta */
    }
    if (g->block) {
        return goblosc2_go_block(g->hook, p->nblock, p->output_offset, p->output_typesize, p->tid, in, p->output,
                                 (int32_t)n);
    }
    memcpy(p->output, in, (size_t)n);
    return 0;
}

blosc2_context *goblosc2_guarded_cctx(blosc2_cparams c, goblosc2_pipeline_t *g)
{
    blosc2_context *ctx = blosc2_create_cctx(c);
    if (ctx == NULL) {
        return NULL;
    }
    blosc2_cparams used; /* after the environment variables */
    blosc2_ctx_get_cparams(ctx, &used);
    g->go = uses_go(&used);
    g->guarded = g->block || g->go || overwrites(&used, g->block);
    g->delta = uses_delta(&used);
    if (!g->guarded) {
        return ctx;
    }
    blosc2_free_ctx(ctx);
    blosc2_prefilter_params params = {.user_data = g}; /* copied */
    c.prefilter = restore;
    c.preparams = &params;
    return blosc2_create_cctx(c);
}

static bool is_zero(const uint8_t *b, int32_t n)
{
    return n == 0 || (b[0] == 0 && memcmp(b, b + 1, (size_t)n - 1) == 0);
}

/* Whether the library stored a chunk of zeros because a filter of Go returned only zeros. Such a
 * chunk decompresses to zeros, without the filter. */
static bool lost(const goblosc2_pipeline_t *g, const uint8_t *dst, int rc)
{
    int special = dst[BLOSC2_CHUNK_BLOSC2_FLAGS] >> SPECIAL_SHIFT & SPECIAL_MASK;
    return g->go && rc == BLOSC_EXTENDED_HEADER_LENGTH && special == BLOSC2_SPECIAL_ZERO &&
           (g->block || !is_zero(g->source, (int32_t)g->n));
}

/* Stores the data without filters. */
static int store(blosc2_context *ctx, goblosc2_pipeline_t *g, uint8_t *dst, int32_t cap)
{
    blosc2_cparams c;
    blosc2_ctx_get_cparams(ctx, &c);
    c.clevel = 0;
    c.prefilter = restore;
    blosc2_prefilter_params params = {.user_data = g};
    c.preparams = &params;
    blosc2_context *raw = blosc2_create_cctx(c);
    if (raw == NULL) {
        return BLOSC2_ERROR_MEMORY_ALLOC;
    }
    int rc = blosc2_compress_ctx(raw, g->scratch, (int32_t)g->n, dst, cap);
    blosc2_free_ctx(raw);
    return rc;
}

int goblosc2_guarded_begin(goblosc2_pipeline_t *g, const uint8_t *src, int64_t n)
{
    g->source = src;
    g->n = n;
    g->scratch = hyperslab_alloc(n > 0 ? (size_t)n : 1);
    if (g->delta) {
        goblosc2_threads(1); /* other threads must not use the reference while it is restored */
    }
    return g->scratch == NULL ? BLOSC2_ERROR_MEMORY_ALLOC : 0;
}

void goblosc2_guarded_end(goblosc2_pipeline_t *g)
{
    hyperslab_free(g->scratch);
    g->scratch = NULL;
    g->source = NULL;
}

int goblosc2_guarded_compress(blosc2_context *ctx, goblosc2_pipeline_t *g, const uint8_t *src, int32_t n, uint8_t *dst,
                              int32_t cap)
{
    if (!g->guarded) {
        return blosc2_compress_ctx(ctx, src, n, dst, cap);
    }
    int rc = goblosc2_guarded_begin(g, src, n);
    if (rc < 0) {
        return rc;
    }
    rc = blosc2_compress_ctx(ctx, g->scratch, n, dst, cap);
    if (rc > 0 && lost(g, dst, rc)) {
        rc = store(ctx, g, dst, cap);
    }
    goblosc2_guarded_end(g);
    return rc;
}

int64_t goblosc2_guarded_put(blosc2_schunk *sc, int64_t i, const uint8_t *src, int32_t n, const char **call)
{
    blosc2_cparams *p = NULL;
    *call = "blosc2_schunk_get_cparams";
    int64_t rc = blosc2_schunk_get_cparams(sc, &p);
    if (rc < 0) {
        return rc;
    }
    goblosc2_pipeline_t g = {0};
    *call = "blosc2_create_cctx";
    blosc2_context *ctx = goblosc2_guarded_cctx(*p, &g);
    free(p);
    int32_t cap = n + BLOSC2_MAX_OVERHEAD;
    uint8_t *chunk = ctx == NULL ? NULL : hyperslab_alloc((size_t)cap);
    rc = BLOSC2_ERROR_MEMORY_ALLOC;
    if (chunk != NULL) {
        *call = "blosc2_compress_ctx";
        rc = goblosc2_guarded_compress(ctx, &g, src, n, chunk, cap);
    }
    if (rc > 0 && i == sc->nchunks) {
        *call = "blosc2_schunk_append_chunk";
        rc = blosc2_schunk_append_chunk(sc, chunk, true);
    } else if (rc > 0) {
        *call = "blosc2_schunk_update_chunk";
        rc = blosc2_schunk_update_chunk(sc, i, chunk, true);
    } else if (rc == 0) {
        rc = BLOSC2_ERROR_WRITE_BUFFER;
    }
    hyperslab_free(chunk);
    if (ctx != NULL) {
        blosc2_free_ctx(ctx);
    }
    return rc;
}

bool goblosc2_schunk_guarded(const blosc2_schunk *sc)
{
    blosc2_cparams used;
    blosc2_ctx_get_cparams(sc->cctx, &used);
    return overwrites(&used, 0) || uses_go(&used);
}
