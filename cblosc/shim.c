/* shim.c: one function for each call that Go makes; see shim.h. */
#include "shim.h"

#include "cmem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct goblosc2_handle {
    blosc2_context *ctx;
    blosc2_schunk *sc;
    b2nd_array_t *array;
};

enum { META_NAME = BLOSC2_METALAYER_NAME_MAXLEN + 1 };

static int fail(goblosc2_err_t *err, int64_t code, const char *call)
{
    if (code >= 0 || code < INT32_MIN) {
        code = BLOSC2_ERROR_FAILURE;
    }
    err->code = (int32_t)code;
    err->call = call;
    /* The library keeps no cause of a failed file operation; errno was cleared before the call and is its last one. */
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
        err->sys = errno;
        break;
    default:
        err->sys = 0;
    }
    return -1;
}

static int no_memory(goblosc2_err_t *err)
{
    return fail(err, BLOSC2_ERROR_MEMORY_ALLOC, "malloc");
}

/* ---- library ---- */

void goblosc2_init(void)
{
    blosc2_init();
}

const char *goblosc2_error_text(int32_t code)
{
    if (code == BLOSC2_ERROR_TUNER) {
        return "Tuner failure"; /* print_error leaves it out */
    }
    return print_error(code);
}

int goblosc2_codec_library(goblosc2_err_t *err, const char *codec, char **library, char **version)
{
    int rc = blosc2_get_complib_info(codec, library, version);
    return rc < 0 ? fail(err, rc, "blosc2_get_complib_info") : 0;
}

void goblosc2_release(void *p)
{
    free(p);
}

/* ---- parameters ---- */

static blosc2_cparams to_cparams(const goblosc2_cparams_t *p)
{
    blosc2_cparams c = blosc2_get_blosc2_cparams_defaults();
    c.compcode = (uint8_t)p->codec;
    c.clevel = (uint8_t)p->level;
    c.typesize = p->typesize;
    c.blocksize = p->blocksize;
    c.nthreads = (int16_t)p->threads;
    c.splitmode = p->splitmode;
    memcpy(c.filters, p->filters, sizeof c.filters);
    memcpy(c.filters_meta, p->filters_meta, sizeof c.filters_meta);
    return c;
}

static void from_cparams(goblosc2_cparams_t *p, const blosc2_cparams *c)
{
    p->codec = c->compcode;
    p->level = c->clevel;
    p->typesize = c->typesize;
    p->blocksize = c->blocksize;
    p->threads = c->nthreads;
    p->splitmode = c->splitmode;
    memcpy(p->filters, c->filters, sizeof p->filters);
    memcpy(p->filters_meta, c->filters_meta, sizeof p->filters_meta);
}

static blosc2_dparams to_dparams(int32_t threads)
{
    blosc2_dparams d = blosc2_get_blosc2_dparams_defaults();
    d.nthreads = (int16_t)threads;
    return d;
}

void goblosc2_default_cparams(goblosc2_cparams_t *p)
{
    blosc2_cparams c = blosc2_get_blosc2_cparams_defaults();
    from_cparams(p, &c);
}

int32_t goblosc2_default_dthreads(void)
{
    return blosc2_get_blosc2_dparams_defaults().nthreads;
}

/* ---- handles ---- */

static int new_handle(goblosc2_err_t *err, blosc2_context *ctx, blosc2_schunk *sc, goblosc2_handle_t **out)
{
    goblosc2_handle_t *h = hyperslab_alloc(sizeof *h);
    if (h == NULL) {
        if (ctx != NULL) {
            blosc2_free_ctx(ctx);
        }
        if (sc != NULL) {
            blosc2_schunk_free(sc);
        }
        return no_memory(err);
    }
    h->ctx = ctx;
    h->sc = sc;
    *out = h;
    return 0;
}

void goblosc2_free(goblosc2_handle_t *h)
{
    if (h->ctx != NULL) {
        blosc2_free_ctx(h->ctx);
    }
    if (h->array != NULL) {
        b2nd_free(h->array); /* and its super-chunk */
    } else if (h->sc != NULL) {
        blosc2_schunk_free(h->sc);
    }
    hyperslab_free(h);
}

/* ---- contexts ---- */

int goblosc2_compressor_new(goblosc2_err_t *err, const goblosc2_cparams_t *p, goblosc2_handle_t **out)
{
    blosc2_context *ctx = blosc2_create_cctx(to_cparams(p));
    if (ctx == NULL) {
        return fail(err, BLOSC2_ERROR_INVALID_PARAM, "blosc2_create_cctx");
    }
    return new_handle(err, ctx, NULL, out);
}

int goblosc2_decompressor_new(goblosc2_err_t *err, int32_t threads, goblosc2_handle_t **out)
{
    blosc2_context *ctx = blosc2_create_dctx(to_dparams(threads));
    if (ctx == NULL) {
        return fail(err, BLOSC2_ERROR_INVALID_PARAM, "blosc2_create_dctx");
    }
    return new_handle(err, ctx, NULL, out);
}

int goblosc2_compress(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *src, int32_t n, uint8_t *dst,
                      int32_t cap)
{
    int rc = blosc2_compress_ctx(h->ctx, src, n, dst, cap);
    return rc < 0 ? fail(err, rc, "blosc2_compress_ctx") : rc;
}

int goblosc2_decompress(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *chunk, int32_t n, uint8_t *dst,
                        int32_t cap)
{
    int rc = blosc2_decompress_ctx(h->ctx, chunk, n, dst, cap);
    return rc < 0 ? fail(err, rc, "blosc2_decompress_ctx") : rc;
}

int goblosc2_getitem(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *chunk, int32_t n, int32_t start,
                     int32_t items, uint8_t *dst, int32_t cap)
{
    int rc = blosc2_getitem_ctx(h->ctx, chunk, n, start, items, dst, cap);
    return rc < 0 ? fail(err, rc, "blosc2_getitem_ctx") : rc;
}

int goblosc2_special(goblosc2_err_t *err, const goblosc2_cparams_t *p, int32_t special, int32_t nbytes,
                     const uint8_t *value, uint8_t *dst, int32_t cap)
{
    blosc2_cparams c = to_cparams(p);
    const char *call;
    int rc;
    switch (special) {
    case BLOSC2_SPECIAL_ZERO:
        call = "blosc2_chunk_zeros";
        rc = blosc2_chunk_zeros(c, nbytes, dst, cap);
        break;
    case BLOSC2_SPECIAL_NAN:
        call = "blosc2_chunk_nans";
        rc = blosc2_chunk_nans(c, nbytes, dst, cap);
        break;
    case BLOSC2_SPECIAL_UNINIT:
        call = "blosc2_chunk_uninit";
        rc = blosc2_chunk_uninit(c, nbytes, dst, cap);
        break;
    default:
        call = "blosc2_chunk_repeatval";
        rc = blosc2_chunk_repeatval(c, nbytes, dst, cap, value);
    }
    return rc <= 0 ? fail(err, rc, call) : rc;
}

/* ---- super-chunks ---- */

static void take_facts(goblosc2_facts_t *f, const blosc2_schunk *sc)
{
    f->nchunks = sc->nchunks;
    f->nbytes = sc->nbytes;
    f->cbytes = sc->cbytes;
    f->chunksize = sc->chunksize;
    f->typesize = sc->typesize;
}

static int own_schunk(goblosc2_err_t *err, blosc2_schunk *sc, goblosc2_handle_t **out, goblosc2_facts_t *facts)
{
    if (new_handle(err, NULL, sc, out) < 0) {
        return -1;
    }
    take_facts(facts, sc);
    return 0;
}

int goblosc2_schunk_new(goblosc2_err_t *err, const char *path, int32_t contiguous, const goblosc2_cparams_t *p,
                        int32_t dthreads, goblosc2_handle_t **out, goblosc2_facts_t *facts)
{
    blosc2_cparams c = to_cparams(p);
    blosc2_dparams d = to_dparams(dthreads);
    /* The library copies the path and both parameter structures. */
    blosc2_storage storage = {.contiguous = contiguous != 0, .urlpath = (char *)path, .cparams = &c, .dparams = &d};
    errno = 0;
    blosc2_schunk *sc = blosc2_schunk_new(&storage);
    if (sc == NULL) {
        return fail(err, BLOSC2_ERROR_FAILURE, "blosc2_schunk_new");
    }
    return own_schunk(err, sc, out, facts);
}

int goblosc2_schunk_open(goblosc2_err_t *err, const char *path, goblosc2_handle_t **out, goblosc2_facts_t *facts)
{
    errno = 0;
    blosc2_schunk *sc = blosc2_schunk_open(path);
    if (sc == NULL) {
        return fail(err, BLOSC2_ERROR_FAILURE, "blosc2_schunk_open");
    }
    return own_schunk(err, sc, out, facts);
}

int goblosc2_schunk_from_bytes(goblosc2_err_t *err, const uint8_t *frame, int64_t n, goblosc2_handle_t **out,
                               goblosc2_facts_t *facts)
{
    /* With copy = true the library frees a pointer into the frame when a stored chunk comes between special ones. So
     * it gets a copy to keep, from the allocator it will free and reallocate it with. */
    uint8_t *copy = hyperslab_gift((size_t)n);
    if (copy == NULL) {
        return no_memory(err);
    }
    memcpy(copy, frame, (size_t)n);
    blosc2_schunk *sc = blosc2_schunk_from_buffer(copy, n, false);
    if (sc == NULL) {
        free(copy);
        return fail(err, BLOSC2_ERROR_DATA, "blosc2_schunk_from_buffer");
    }
    blosc2_schunk_avoid_cframe_free(sc, false);
    return own_schunk(err, sc, out, facts);
}

int goblosc2_schunk_to_bytes(goblosc2_err_t *err, goblosc2_handle_t *h, uint8_t **frame, int64_t *n, int32_t *owned)
{
    uint8_t *p = NULL;
    bool needs_free = false;
    errno = 0;
    int64_t len = blosc2_schunk_to_buffer(h->sc, &p, &needs_free);
    if (len <= 0) {
        return fail(err, len, "blosc2_schunk_to_buffer");
    }
    *frame = p;
    *n = len;
    *owned = needs_free;
    return 0;
}

int goblosc2_schunk_cparams(goblosc2_err_t *err, goblosc2_handle_t *h, goblosc2_cparams_t *p)
{
    blosc2_cparams *c = NULL;
    int rc = blosc2_schunk_get_cparams(h->sc, &c);
    if (rc < 0) {
        return fail(err, rc, "blosc2_schunk_get_cparams");
    }
    from_cparams(p, c);
    free(c);
    return 0;
}

/* A failed append or insert leaves the counters changed; blosc2_schunk_free would then free chunks that never were. */
static void restore(blosc2_schunk *sc, const goblosc2_facts_t *f)
{
    sc->nchunks = f->nchunks;
    sc->nbytes = f->nbytes;
    sc->cbytes = f->cbytes;
    sc->chunksize = f->chunksize;
}

int goblosc2_schunk_append(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *src, int32_t n,
                           goblosc2_facts_t *facts)
{
    goblosc2_facts_t before;
    take_facts(&before, h->sc);
    errno = 0;
    int64_t rc = blosc2_schunk_append_buffer(h->sc, src, n);
    if (rc < 0) {
        restore(h->sc, &before);
        return fail(err, rc, "blosc2_schunk_append_buffer");
    }
    take_facts(facts, h->sc);
    return 0;
}

int goblosc2_schunk_put_chunk(goblosc2_err_t *err, goblosc2_handle_t *h, int32_t how, int64_t i, const uint8_t *chunk,
                              goblosc2_facts_t *facts)
{
    goblosc2_facts_t before;
    take_facts(&before, h->sc);
    const char *call;
    int64_t rc;
    errno = 0;
    /* copy = true: the library reads the chunk and keeps a copy. */
    switch (how) {
    case GOBLOSC2_APPEND:
        call = "blosc2_schunk_append_chunk";
        rc = blosc2_schunk_append_chunk(h->sc, (uint8_t *)chunk, true);
        break;
    case GOBLOSC2_INSERT:
        call = "blosc2_schunk_insert_chunk";
        rc = blosc2_schunk_insert_chunk(h->sc, i, (uint8_t *)chunk, true);
        break;
    default:
        call = "blosc2_schunk_update_chunk";
        rc = blosc2_schunk_update_chunk(h->sc, i, (uint8_t *)chunk, true);
    }
    if (rc < 0) {
        restore(h->sc, &before);
        return fail(err, rc, call);
    }
    take_facts(facts, h->sc);
    return 0;
}

int goblosc2_schunk_delete_chunk(goblosc2_err_t *err, goblosc2_handle_t *h, int64_t i, goblosc2_facts_t *facts)
{
    if (h->sc->nchunks == 1 && h->sc->frame != NULL && h->sc->storage->contiguous) {
        /* With the last chunk the library drops the bytes of all that were deleted, but goes on counting them. */
        h->sc->cbytes = 0;
    }
    errno = 0;
    int64_t rc = blosc2_schunk_delete_chunk(h->sc, i);
    if (rc < 0) {
        return fail(err, rc, "blosc2_schunk_delete_chunk");
    }
    take_facts(facts, h->sc);
    return 0;
}

int goblosc2_schunk_get_chunk(goblosc2_err_t *err, goblosc2_handle_t *h, int64_t i, uint8_t **chunk, int32_t *owned)
{
    uint8_t *p = NULL;
    bool needs_free = false;
    errno = 0;
    int rc = blosc2_schunk_get_chunk(h->sc, i, &p, &needs_free);
    if (rc <= 0 || p == NULL) {
        return fail(err, rc, "blosc2_schunk_get_chunk");
    }
    *chunk = p;
    *owned = needs_free;
    return rc;
}

/* The block mask of a slice read outlives a failure and would hide blocks from the next read: take a fresh context. */
static void renew_dctx(blosc2_schunk *sc)
{
    blosc2_context *fresh = blosc2_create_dctx(*sc->storage->dparams);
    if (fresh != NULL) {
        blosc2_free_ctx(sc->dctx);
        sc->dctx = fresh;
    }
}

int goblosc2_schunk_decompress(goblosc2_err_t *err, goblosc2_handle_t *h, int64_t i, uint8_t *dst, int32_t cap)
{
    errno = 0;
    int rc = blosc2_schunk_decompress_chunk(h->sc, i, dst, cap);
    if (rc < 0) {
        return fail(err, rc, "blosc2_schunk_decompress_chunk");
    }
    return rc;
}

/* ---- metalayers ---- */

int32_t goblosc2_meta_count(goblosc2_handle_t *h, int32_t vl)
{
    return vl ? h->sc->nvlmetalayers : h->sc->nmetalayers;
}

const char *goblosc2_meta_name(goblosc2_handle_t *h, int32_t vl, int32_t i)
{
    return vl ? h->sc->vlmetalayers[i]->name : h->sc->metalayers[i]->name;
}

int goblosc2_meta_get(goblosc2_err_t *err, goblosc2_handle_t *h, int32_t vl, const char *name, uint8_t **content,
                      int32_t *n)
{
    uint8_t *p = NULL;
    int32_t len = 0;
    int rc = vl ? blosc2_vlmeta_get(h->sc, name, &p, &len) : blosc2_meta_get(h->sc, name, &p, &len);
    if (rc < 0) {
        free(p);
        return fail(err, rc, vl ? "blosc2_vlmeta_get" : "blosc2_meta_get");
    }
    *content = p;
    *n = len;
    return 0;
}

int goblosc2_meta_put(goblosc2_err_t *err, goblosc2_handle_t *h, int32_t vl, int32_t update, const char *name,
                      const uint8_t *content, int32_t n)
{
    uint8_t *c = (uint8_t *)content; /* the library copies it and does not write to it */
    const char *call;
    int rc;
    errno = 0;
    if (vl && update) {
        call = "blosc2_vlmeta_update";
        rc = blosc2_vlmeta_update(h->sc, name, c, n, NULL);
    } else if (vl) {
        call = "blosc2_vlmeta_add";
        rc = blosc2_vlmeta_add(h->sc, name, c, n, NULL);
    } else if (update) {
        call = "blosc2_meta_update";
        rc = blosc2_meta_update(h->sc, name, c, n);
    } else {
        call = "blosc2_meta_add";
        rc = blosc2_meta_add(h->sc, name, c, n);
    }
    return rc < 0 ? fail(err, rc, call) : 0;
}

int goblosc2_vlmeta_delete(goblosc2_err_t *err, goblosc2_handle_t *h, const char *name)
{
    errno = 0;
    int rc = blosc2_vlmeta_delete(h->sc, name);
    return rc < 0 ? fail(err, rc, "blosc2_vlmeta_delete") : 0;
}

/* ---- arrays ---- */

static void take_geometry(goblosc2_geometry_t *g, const b2nd_array_t *a)
{
    g->ndim = a->ndim;
    for (int i = 0; i < a->ndim; i++) {
        g->shape[i] = a->shape[i];
        g->chunks[i] = a->chunkshape[i];
        g->blocks[i] = a->blockshape[i];
    }
}

int goblosc2_array_zeros(goblosc2_err_t *err, const char *path, int32_t contiguous, const goblosc2_cparams_t *p,
                         int32_t dthreads, const goblosc2_geometry_t *g, const char *dtype, int32_t nmeta,
                         const uint8_t *names, const int32_t *lengths, const uint8_t *contents, goblosc2_handle_t **out,
                         goblosc2_facts_t *facts)
{
    blosc2_metalayer meta[BLOSC2_MAX_METALAYERS];
    size_t at = 0;
    for (int i = 0; i < nmeta; i++) {
        meta[i].name = (char *)names + (size_t)i * META_NAME;
        meta[i].content = (uint8_t *)contents + at;
        meta[i].content_len = lengths[i];
        at += (size_t)lengths[i];
    }
    blosc2_cparams c = to_cparams(p);
    blosc2_dparams d = to_dparams(dthreads);
    blosc2_storage storage = {.contiguous = contiguous != 0, .urlpath = (char *)path, .cparams = &c, .dparams = &d};
    b2nd_context_t *ctx = b2nd_create_ctx(&storage, (int8_t)g->ndim, g->shape, g->chunks, g->blocks, dtype,
                                          DTYPE_NUMPY_FORMAT, meta, nmeta);
    if (ctx == NULL) {
        return fail(err, BLOSC2_ERROR_INVALID_PARAM, "b2nd_create_ctx");
    }
    b2nd_array_t *array = NULL;
    errno = 0;
    int rc = b2nd_zeros(ctx, &array);
    b2nd_free_ctx(ctx);
    if (rc < 0) {
        return fail(err, rc, "b2nd_zeros");
    }
    goblosc2_handle_t *h = hyperslab_alloc(sizeof *h);
    if (h == NULL) {
        b2nd_free(array);
        return no_memory(err);
    }
    h->array = array;
    h->sc = array->sc;
    take_facts(facts, h->sc);
    *out = h;
    return 0;
}

int goblosc2_array_from_schunk(goblosc2_err_t *err, goblosc2_handle_t *h, goblosc2_geometry_t *g, const char **dtype)
{
    b2nd_array_t *array = NULL;
    int rc = b2nd_from_schunk(h->sc, &array);
    if (rc < 0) {
        return fail(err, rc, "b2nd_from_schunk");
    }
    h->array = array;
    take_geometry(g, array);
    *dtype = array->dtype;
    return 0;
}

int goblosc2_array_read(goblosc2_err_t *err, goblosc2_handle_t *h, const int64_t *start, const int64_t *stop,
                        const int64_t *shape, uint8_t *dst, int64_t n)
{
    errno = 0;
    int rc = b2nd_get_slice_cbuffer(h->array, start, stop, dst, shape, n);
    if (rc < 0) {
        renew_dctx(h->sc);
        return fail(err, rc, "b2nd_get_slice_cbuffer");
    }
    return 0;
}

int goblosc2_array_write(goblosc2_err_t *err, goblosc2_handle_t *h, const int64_t *start, const int64_t *stop,
                         const int64_t *shape, const uint8_t *src, int64_t n, goblosc2_facts_t *facts)
{
    errno = 0;
    int rc = b2nd_set_slice_cbuffer(src, shape, n, start, stop, h->array);
    if (rc < 0) {
        return fail(err, rc, "b2nd_set_slice_cbuffer");
    }
    take_facts(facts, h->sc);
    return 0;
}

/* An array that has lost its last chunk: what goblosc2_schunk_delete_chunk does before it can be done only after a
 * resize, by writing the header again with the metalayer as it is. */
static int forget_deleted(blosc2_schunk *sc)
{
    if (sc->nchunks > 0 || sc->cbytes == 0 || sc->frame == NULL || !sc->storage->contiguous) {
        return 0;
    }
    uint8_t *meta = NULL;
    int32_t len = 0;
    int rc = blosc2_meta_get(sc, "b2nd", &meta, &len);
    if (rc >= 0) {
        sc->cbytes = 0;
        rc = blosc2_meta_update(sc, "b2nd", meta, len);
    }
    free(meta);
    return rc;
}

int goblosc2_array_resize(goblosc2_err_t *err, goblosc2_handle_t *h, const int64_t *shape, goblosc2_facts_t *facts)
{
    blosc2_schunk *sc = h->sc;
    if (sc->nchunks == 0) {
        /* A zero in the shape made b2nd_zeros forget that chunks are padded to whole blocks; with that chunk size the
         * grown array could not be written. */
        int32_t padded = sc->typesize;
        for (int i = 0; i < h->array->ndim; i++) {
            int32_t block = h->array->blockshape[i];
            padded *= (h->array->chunkshape[i] + block - 1) / block * block;
        }
        sc->chunksize = padded;
    }
    errno = 0;
    int rc = b2nd_resize(h->array, shape, NULL);
    if (rc >= 0) {
        rc = forget_deleted(sc);
    }
    if (rc < 0) {
        return fail(err, rc, "b2nd_resize");
    }
    take_facts(facts, h->sc);
    return 0;
}
