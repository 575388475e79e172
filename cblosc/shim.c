/* shim.c: one function for each call from Go; see shim.h. */
#include "shim_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- library ---- */

void goblosc2_init(void)
{
    goblosc2_threads_register();
    blosc2_init();
    goblosc2_io_register();
}

const char *goblosc2_error_text(int32_t code)
{
    if (code == BLOSC2_ERROR_TUNER) {
        return "Tuner failure"; /* missing in print_error */
    }
    return blosc2_error_string(code);
}

int goblosc2_codec_library(goblosc2_err_t *err, const char *codec, char **library, char **version)
{
    int rc = blosc2_get_complib_info(codec, library, version);
    return rc < 0 ? goblosc2_fail(err, rc, "blosc2_get_complib_info") : 0;
}

/* ---- parameters ---- */

void goblosc2_default_cparams(goblosc2_cparams_t *p)
{
    blosc2_cparams c = blosc2_get_blosc2_cparams_defaults();
    goblosc2_from_cparams(p, &c);
}

int32_t goblosc2_default_dthreads(void)
{
    return blosc2_get_blosc2_dparams_defaults().nthreads;
}

/* ---- handles ---- */

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

int goblosc2_close(goblosc2_err_t *err, goblosc2_handle_t *h)
{
    goblosc2_io_begin(goblosc2_threads_of(h));
    goblosc2_free(h);
    return goblosc2_io_end(err, "blosc2_schunk_free");
}

/* ---- chunks ---- */

int goblosc2_special(goblosc2_err_t *err, const goblosc2_cparams_t *p, int32_t special, int32_t nbytes,
                     const uint8_t *value, uint8_t *dst, int32_t cap)
{
    blosc2_cparams c = goblosc2_to_cparams(p);
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
    return rc <= 0 ? goblosc2_fail(err, rc, call) : rc;
}

/* ---- super-chunks ---- */

void goblosc2_take_facts(goblosc2_facts_t *f, const blosc2_schunk *sc)
{
    f->nchunks = sc->nchunks;
    f->nbytes = sc->nbytes;
    f->cbytes = sc->cbytes;
    f->chunksize = sc->chunksize;
    f->typesize = sc->typesize;
    f->guarded = goblosc2_schunk_guarded(sc);
}

int goblosc2_own_schunk(goblosc2_err_t *err, blosc2_schunk *sc, goblosc2_handle_t **out, goblosc2_facts_t *facts)
{
    if (goblosc2_new_handle(err, NULL, sc, out) < 0) {
        return -1;
    }
    goblosc2_take_facts(facts, sc);
    return 0;
}

int goblosc2_schunk_from_bytes(goblosc2_err_t *err, const uint8_t *frame, int64_t n, uintptr_t hook, int32_t is_array,
                               goblosc2_handle_t **out, goblosc2_facts_t *facts)
{
    /* With copy = true the library would build a super-chunk of separate chunks with another
     * compressed size. So the library takes ownership of a copy of the frame. The copy comes from
     * the allocator that the library uses to free and reallocate it. */
    uint8_t *copy = hyperslab_gift((size_t)n);
    if (copy == NULL) {
        return goblosc2_no_memory(err);
    }
    memcpy(copy, frame, (size_t)n);
    if (is_array) {
        b2nd_array_t *array = NULL;
        int rc = b2nd_from_cframe(copy, n, false, &array);
        if (rc < 0) {
            free(copy);
            return goblosc2_fail(err, rc, "b2nd_from_cframe");
        }
        blosc2_schunk_avoid_cframe_free(array->sc, false);
        if (goblosc2_opened(err, array->sc, hook) < 0) {
            b2nd_free(array);
            return -1;
        }
        return goblosc2_own_array(err, array, out, facts);
    }
    blosc2_schunk *sc = blosc2_schunk_from_buffer(copy, n, false);
    if (sc == NULL) {
        free(copy);
        return goblosc2_fail(err, BLOSC2_ERROR_DATA, "blosc2_schunk_from_buffer");
    }
    blosc2_schunk_avoid_cframe_free(sc, false);
    if (goblosc2_opened(err, sc, hook) < 0) {
        blosc2_schunk_free(sc);
        return -1;
    }
    return goblosc2_own_schunk(err, sc, out, facts);
}

int goblosc2_schunk_to_bytes(goblosc2_err_t *err, goblosc2_handle_t *h, uint8_t **frame, int64_t *n, int32_t *owned)
{
    uint8_t *p = NULL;
    bool needs_free = false;
    goblosc2_io_begin(goblosc2_threads_of(h));
    const char *call = "blosc2_schunk_to_buffer";
    int64_t len = 0;
    if (h->array != NULL) {
        call = "b2nd_to_cframe";
        int rc = b2nd_to_cframe(h->array, &p, &len, &needs_free);
        len = rc < 0 ? rc : len;
    } else {
        len = blosc2_schunk_to_buffer(h->sc, &p, &needs_free);
    }
    if (len <= 0) {
        return goblosc2_fail(err, len, call);
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
        return goblosc2_fail(err, rc, "blosc2_schunk_get_cparams");
    }
    goblosc2_from_cparams(p, c);
    free(c);
    return 0;
}

int goblosc2_schunk_append(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *src, int32_t n,
                           goblosc2_facts_t *facts)
{
    goblosc2_io_begin(goblosc2_threads_of(h));
    const char *call = "blosc2_schunk_append_buffer";
    int64_t rc = goblosc2_schunk_guarded(h->sc) ? goblosc2_guarded_put(h->sc, h->sc->nchunks, src, n, &call)
                                                : blosc2_schunk_append_buffer(h->sc, src, n);
    if (rc < 0) {
        return goblosc2_fail(err, rc, call);
    }
    goblosc2_take_facts(facts, h->sc);
    return goblosc2_io_end(err, call);
}

int goblosc2_schunk_replace(goblosc2_err_t *err, goblosc2_handle_t *h, int64_t i, const uint8_t *src, int32_t n,
                            goblosc2_facts_t *facts)
{
    goblosc2_io_begin(goblosc2_threads_of(h));
    const char *call;
    int64_t rc = goblosc2_guarded_put(h->sc, i, src, n, &call);
    if (rc < 0) {
        return goblosc2_fail(err, rc, call);
    }
    goblosc2_take_facts(facts, h->sc);
    return goblosc2_io_end(err, call);
}

/* The library can insert before a short last chunk only by giving all chunks variable lengths,
 * which is another kind of super-chunk. So the last chunk is removed first and appended at the end.
 */
static int64_t insert(blosc2_schunk *sc, int64_t i, uint8_t *chunk, const char **call)
{
    uint8_t *last = NULL;
    if (sc->chunksize > 0 && sc->nbytes % sc->chunksize != 0) {
        bool needs_free = false;
        uint8_t *p = NULL;
        *call = "blosc2_schunk_get_chunk";
        int n = blosc2_schunk_get_chunk(sc, sc->nchunks - 1, &p, &needs_free);
        if (n <= 0 || p == NULL) {
            return n < 0 ? n : BLOSC2_ERROR_FAILURE;
        }
        last = hyperslab_alloc((size_t)n);
        if (last != NULL) {
            memcpy(last, p, (size_t)n);
        }
        if (needs_free) {
            free(p);
        }
        if (last == NULL) {
            return BLOSC2_ERROR_MEMORY_ALLOC;
        }
        *call = "blosc2_schunk_delete_chunk";
        int64_t rc = blosc2_schunk_delete_chunk(sc, sc->nchunks - 1);
        if (rc < 0) {
            hyperslab_free(last);
            return rc;
        }
    }
    *call = "blosc2_schunk_insert_chunk";
    int64_t rc =
        i == sc->nchunks ? blosc2_schunk_append_chunk(sc, chunk, true) : blosc2_schunk_insert_chunk(sc, i, chunk, true);
    if (rc >= 0 && last != NULL) {
        *call = "blosc2_schunk_append_chunk";
        rc = blosc2_schunk_append_chunk(sc, last, true);
    }
    hyperslab_free(last);
    return rc;
}

int goblosc2_schunk_put_chunk(goblosc2_err_t *err, goblosc2_handle_t *h, int32_t how, int64_t i, const uint8_t *chunk,
                              goblosc2_facts_t *facts)
{
    const char *call;
    int64_t rc;
    goblosc2_io_begin(goblosc2_threads_of(h));
    /* copy = true: the library reads the chunk and keeps a copy. */
    switch (how) {
    case GOBLOSC2_APPEND:
        call = "blosc2_schunk_append_chunk";
        rc = blosc2_schunk_append_chunk(h->sc, (uint8_t *)chunk, true);
        break;
    case GOBLOSC2_INSERT:
        rc = insert(h->sc, i, (uint8_t *)chunk, &call);
        break;
    default:
        call = "blosc2_schunk_update_chunk";
        rc = blosc2_schunk_update_chunk(h->sc, i, (uint8_t *)chunk, true);
    }
    if (rc < 0) {
        return goblosc2_fail(err, rc, call);
    }
    goblosc2_take_facts(facts, h->sc);
    return goblosc2_io_end(err, call);
}

int goblosc2_schunk_delete_chunk(goblosc2_err_t *err, goblosc2_handle_t *h, int64_t i, goblosc2_facts_t *facts)
{
    if (h->sc->nchunks == 1 && h->sc->frame != NULL && h->sc->storage->contiguous) {
        /* When the library deletes the last chunk, it drops the bytes of all deleted chunks but
         * still counts them. */
        h->sc->cbytes = 0;
    }
    goblosc2_io_begin(goblosc2_threads_of(h));
    int64_t rc = blosc2_schunk_delete_chunk(h->sc, i);
    if (rc < 0) {
        return goblosc2_fail(err, rc, "blosc2_schunk_delete_chunk");
    }
    goblosc2_take_facts(facts, h->sc);
    return goblosc2_io_end(err, "blosc2_schunk_delete_chunk");
}

int goblosc2_schunk_get_chunk(goblosc2_err_t *err, goblosc2_handle_t *h, int64_t i, uint8_t **chunk, int32_t *owned)
{
    uint8_t *p = NULL;
    bool needs_free = false;
    goblosc2_io_begin(goblosc2_threads_of(h));
    int rc = blosc2_schunk_get_chunk(h->sc, i, &p, &needs_free);
    if (rc <= 0 || p == NULL) {
        return goblosc2_fail(err, rc, "blosc2_schunk_get_chunk");
    }
    *chunk = p;
    *owned = needs_free;
    return rc;
}

/* The block mask of a slice read survives a failed read and would hide blocks from the next read.
 * So the super-chunk gets a new context. */
void goblosc2_renew_dctx(blosc2_schunk *sc)
{
    blosc2_context *fresh = blosc2_create_dctx(*sc->storage->dparams);
    if (fresh != NULL) {
        blosc2_free_ctx(sc->dctx);
        sc->dctx = fresh;
    }
}

int goblosc2_schunk_decompress(goblosc2_err_t *err, goblosc2_handle_t *h, int64_t i, uint8_t *dst, int32_t cap)
{
    goblosc2_io_begin(goblosc2_threads_of(h));
    int rc = blosc2_schunk_decompress_chunk(h->sc, i, dst, cap);
    if (rc < 0) {
        return goblosc2_fail(err, rc, "blosc2_schunk_decompress_chunk");
    }
    return rc;
}

/* ---- metalayers ---- */

int goblosc2_meta_get(goblosc2_err_t *err, goblosc2_handle_t *h, int32_t vl, const char *name, uint8_t **content,
                      int32_t *n)
{
    uint8_t *p = NULL;
    int32_t len = 0;
    int rc = vl ? blosc2_vlmeta_get(h->sc, name, &p, &len) : blosc2_meta_get(h->sc, name, &p, &len);
    if (rc < 0) {
        free(p);
        return goblosc2_fail(err, rc, vl ? "blosc2_vlmeta_get" : "blosc2_meta_get");
    }
    *content = p;
    *n = len;
    return 0;
}

int32_t goblosc2_meta_size(goblosc2_handle_t *h, int32_t vl, const char *name, int32_t *stored)
{
    int i = vl ? blosc2_vlmeta_exists(h->sc, name) : blosc2_meta_exists(h->sc, name);
    if (i < 0) {
        return -1;
    }
    if (!vl) {
        return *stored = h->sc->metalayers[i]->content_len;
    }
    int32_t n = 0;
    *stored = h->sc->vlmetalayers[i]->content_len;
    return blosc2_cbuffer_sizes(h->sc->vlmetalayers[i]->content, &n, NULL, NULL) < 0 ? -1 : n;
}

int goblosc2_meta_put(goblosc2_err_t *err, goblosc2_handle_t *h, int32_t vl, int32_t update, const char *name,
                      const uint8_t *content, int32_t n)
{
    uint8_t *c = (uint8_t *)content; /* the library copies it and does not write to it */
    const char *call;
    int rc;
    goblosc2_io_begin(goblosc2_threads_of(h));
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
    return rc < 0 ? goblosc2_fail(err, rc, call) : goblosc2_io_end(err, call);
}

int goblosc2_vlmeta_delete(goblosc2_err_t *err, goblosc2_handle_t *h, const char *name)
{
    goblosc2_io_begin(goblosc2_threads_of(h));
    int rc = blosc2_vlmeta_delete(h->sc, name);
    return rc < 0 ? goblosc2_fail(err, rc, "blosc2_vlmeta_delete") : goblosc2_io_end(err, "blosc2_vlmeta_delete");
}

/* ---- arrays ---- */

void goblosc2_take_geometry(goblosc2_geometry_t *g, const b2nd_array_t *a)
{
    g->ndim = a->ndim;
    for (int i = 0; i < a->ndim; i++) {
        g->shape[i] = a->shape[i];
        g->chunks[i] = a->chunkshape[i];
        g->blocks[i] = a->blockshape[i];
    }
}

int goblosc2_own_array(goblosc2_err_t *err, b2nd_array_t *array, goblosc2_handle_t **out, goblosc2_facts_t *facts)
{
    goblosc2_handle_t *h = hyperslab_alloc(sizeof *h);
    if (h == NULL) {
        b2nd_free(array);
        return goblosc2_no_memory(err);
    }
    h->array = array;
    h->sc = array->sc;
    goblosc2_take_facts(facts, h->sc);
    *out = h;
    return 0;
}

int goblosc2_array_from_schunk(goblosc2_err_t *err, goblosc2_handle_t *h, goblosc2_geometry_t *g, const char **dtype)
{
    if (h->array == NULL) {
        int rc = b2nd_from_schunk(h->sc, &h->array);
        if (rc < 0) {
            return goblosc2_fail(err, rc, "b2nd_from_schunk");
        }
    }
    goblosc2_take_geometry(g, h->array);
    *dtype = h->array->dtype;
    return 0;
}

int goblosc2_array_read(goblosc2_err_t *err, goblosc2_handle_t *h, const int64_t *start, const int64_t *stop,
                        const int64_t *shape, uint8_t *dst, int64_t n)
{
    goblosc2_io_begin(goblosc2_threads_of(h));
    int rc = b2nd_get_slice_cbuffer(h->array, start, stop, dst, shape, n);
    if (rc < 0) {
        goblosc2_renew_dctx(h->sc);
        return goblosc2_fail(err, rc, "b2nd_get_slice_cbuffer");
    }
    return 0;
}

int goblosc2_array_write(goblosc2_err_t *err, goblosc2_handle_t *h, const int64_t *start, const int64_t *stop,
                         const int64_t *shape, const uint8_t *src, int64_t n, goblosc2_facts_t *facts)
{
    goblosc2_io_begin(goblosc2_threads_of(h));
    int rc = b2nd_set_slice_cbuffer(src, shape, n, start, stop, h->array);
    if (rc < 0) {
        return goblosc2_fail(err, rc, "b2nd_set_slice_cbuffer");
    }
    goblosc2_take_facts(facts, h->sc);
    return goblosc2_io_end(err, "b2nd_set_slice_cbuffer");
}

/* Corrects cbytes of an array that lost its last chunk. goblosc2_schunk_delete_chunk does this
 * before the deletion. After a resize the header must be written again for it, with the metalayer
 * unchanged. */
int goblosc2_forget_deleted(blosc2_schunk *sc)
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

int goblosc2_array_resize(goblosc2_err_t *err, goblosc2_handle_t *h, const int64_t *shape, const int64_t *start,
                          goblosc2_facts_t *facts)
{
    blosc2_schunk *sc = h->sc;
    goblosc2_io_begin(goblosc2_threads_of(h));
    int rc = b2nd_resize(h->array, shape, start);
    if (rc >= 0) {
        rc = goblosc2_forget_deleted(sc);
    }
    if (rc < 0) {
        return goblosc2_fail(err, rc, "b2nd_resize");
    }
    goblosc2_take_facts(facts, h->sc);
    return goblosc2_io_end(err, "b2nd_resize");
}
