/* shim_schunk.c: files, copies, items and layout of super-chunks; see shim.h. */
#include "shim_internal.h"

#include <stdlib.h>
#include <string.h>

int goblosc2_storage(goblosc2_err_t *err, const char *path, const goblosc2_place_t *where, const goblosc2_cparams_t *p,
                     goblosc2_storage_t *out)
{
    int32_t map = where->mapping > 0 ? GOBLOSC2_MAP_CREATE : GOBLOSC2_MAP_NONE;
    if (goblosc2_io(err, map, where->mapping, where->medium ? where->hook : 0, &out->io) < 0) {
        return -1;
    }
    out->dparams = goblosc2_to_dparams(where->dthreads);
    out->storage = blosc2_get_blosc2_storage_defaults();
    out->storage.contiguous = where->contiguous != 0;
    out->storage.urlpath = where->medium ? (char *)GOBLOSC2_MEDIUM_NEW : (char *)path;
    if (p != NULL) {
        out->cparams = goblosc2_to_cparams(p);
        out->cparams.blocksize = goblosc2_whole_blocks(p, INT32_MAX);
        out->cparams.codec_params = (void *)where->hook;
        out->storage.cparams = &out->cparams;
    }
    out->storage.dparams = &out->dparams;
    out->storage.io = &out->io;
    return 0;
}

/* take wraps the new super-chunk in a handle, or frees everything that was created for it. */
static int take(goblosc2_err_t *err, blosc2_schunk *sc, goblosc2_storage_t *st, const char *call,
                goblosc2_handle_t **out, goblosc2_facts_t *facts)
{
    if (sc == NULL) {
        int rc = goblosc2_fail(err, BLOSC2_ERROR_FAILURE, call);
        goblosc2_io_undo(&st->io);
        return rc;
    }
    if (goblosc2_io_end(err, call) < 0) {
        blosc2_schunk_free(sc);
        return -1;
    }
    return goblosc2_own_schunk(err, sc, out, facts);
}

int goblosc2_schunk_new(goblosc2_err_t *err, const char *path, const goblosc2_place_t *where,
                        const goblosc2_cparams_t *p, goblosc2_handle_t **out, goblosc2_facts_t *facts)
{
    goblosc2_storage_t st;
    if (goblosc2_storage(err, path, where, p, &st) < 0) {
        return -1;
    }
    goblosc2_io_begin(1);
    return take(err, blosc2_schunk_new(&st.storage), &st, "blosc2_schunk_new", out, facts);
}

/* open_array opens a file that is not mapped as an array, in one library call. */
static int open_array(goblosc2_err_t *err, const char *path, int64_t offset, uintptr_t hook, goblosc2_handle_t **out,
                      goblosc2_facts_t *facts)
{
    b2nd_array_t *array = NULL;
    int rc = offset == 0 ? b2nd_open(path, &array) : b2nd_open_offset(path, &array, offset);
    if (rc < 0) {
        return goblosc2_fail(err, rc, offset == 0 ? "b2nd_open" : "b2nd_open_offset");
    }
    if (goblosc2_opened(err, array->sc, hook) < 0) {
        b2nd_free(array);
        return -1;
    }
    return goblosc2_own_array(err, array, out, facts);
}

static int open_schunk(goblosc2_err_t *err, const char *path, int64_t offset, int32_t map, int64_t mapping,
                       uintptr_t hook, int32_t medium, int32_t is_array, goblosc2_handle_t **out,
                       goblosc2_facts_t *facts)
{
    blosc2_io io;
    if (goblosc2_io(err, map, mapping, medium ? hook : 0, &io) < 0) {
        return -1;
    }
    const char *call;
    blosc2_schunk *sc;
    goblosc2_io_begin(1);
    bool own = map == GOBLOSC2_MAP_NONE && !medium;
    if (own && is_array) {
        return open_array(err, path, offset, hook, out, facts);
    }
    if (own) {
        call = offset == 0 ? "blosc2_schunk_open" : "blosc2_schunk_open_offset";
        sc = offset == 0 ? blosc2_schunk_open(path) : blosc2_schunk_open_offset(path, offset);
    } else {
        call = offset == 0 ? "blosc2_schunk_open_udio" : "blosc2_schunk_open_offset_udio";
        path = medium ? goblosc2_medium_old() : path;
        sc = offset == 0 ? blosc2_schunk_open_udio(path, &io) : blosc2_schunk_open_offset_udio(path, offset, &io);
    }
    if (sc == NULL) {
        return goblosc2_fail(err, BLOSC2_ERROR_FAILURE, call); /* the library has already freed the mapping or medium */
    }
    if (goblosc2_opened(err, sc, hook) < 0) {
        blosc2_schunk_free(sc);
        return -1;
    }
    return goblosc2_own_schunk(err, sc, out, facts);
}

int goblosc2_schunk_open(goblosc2_err_t *err, const char *path, int64_t offset, int32_t map, int64_t mapping,
                         uintptr_t hook, int32_t medium, int32_t is_array, const uint8_t *header,
                         const uint8_t *trailer, goblosc2_ends_t ends, goblosc2_handle_t **out, goblosc2_facts_t *facts)
{
    goblosc2_io_know(path, header, trailer, ends, offset);
    int rc = open_schunk(err, path, offset, map, mapping, hook, medium, is_array, out, facts);
    goblosc2_io_forget();
    return rc;
}

/* ---- copies ---- */

int goblosc2_schunk_copy(goblosc2_err_t *err, goblosc2_handle_t *h, const char *path, const goblosc2_place_t *where,
                         const goblosc2_cparams_t *p, goblosc2_handle_t **out, goblosc2_facts_t *facts)
{
    goblosc2_storage_t st;
    if (goblosc2_storage(err, path, where, p, &st) < 0) {
        return -1;
    }
    goblosc2_io_begin(p != NULL && p->threads > 1 ? p->threads : goblosc2_threads_of(h));
    return take(err, blosc2_schunk_copy(h->sc, &st.storage), &st, "blosc2_schunk_copy", out, facts);
}

int goblosc2_schunk_to_file(goblosc2_err_t *err, goblosc2_handle_t *h, const char *path)
{
    goblosc2_io_begin(goblosc2_threads_of(h));
    int64_t rc = blosc2_schunk_to_file(h->sc, path);
    if (rc <= 0) {
        return goblosc2_fail(err, rc, "blosc2_schunk_to_file");
    }
    return goblosc2_io_end(err, "blosc2_schunk_to_file");
}

int64_t goblosc2_schunk_append_file(goblosc2_err_t *err, goblosc2_handle_t *h, const char *path)
{
    goblosc2_io_begin(goblosc2_threads_of(h));
    int64_t rc = blosc2_schunk_append_file(h->sc, path);
    if (rc < 0) {
        return goblosc2_fail(err, rc, "blosc2_schunk_append_file");
    }
    return goblosc2_io_end(err, "blosc2_schunk_append_file") < 0 ? -1 : rc;
}

int goblosc2_rename(goblosc2_err_t *err, char *from, char *to)
{
    goblosc2_io_begin(1);
    int rc = blosc2_rename_urlpath(from, to);
    return rc < 0 ? goblosc2_fail(err, rc, "blosc2_rename_urlpath") : 0;
}

int goblosc2_remove(goblosc2_err_t *err, const char *path, int32_t directory)
{
    goblosc2_io_begin(1);
    int rc = directory ? blosc2_remove_dir(path) : blosc2_remove_urlpath(path);
    return rc < 0 ? goblosc2_fail(err, rc, directory ? "blosc2_remove_dir" : "blosc2_remove_urlpath") : 0;
}

/* ---- items ---- */

int goblosc2_schunk_read_items(goblosc2_err_t *err, goblosc2_handle_t *h, int64_t start, int64_t stop, uint8_t *dst)
{
    goblosc2_io_begin(goblosc2_threads_of(h));
    int rc = blosc2_schunk_get_slice_buffer(h->sc, start, stop, dst);
    return rc < 0 ? goblosc2_fail(err, rc, "blosc2_schunk_get_slice_buffer") : 0;
}

int goblosc2_schunk_write_items(goblosc2_err_t *err, goblosc2_handle_t *h, int64_t start, int64_t stop,
                                const uint8_t *src, goblosc2_facts_t *facts)
{
    goblosc2_io_begin(goblosc2_threads_of(h));
    int rc = blosc2_schunk_set_slice_buffer(h->sc, start, stop, (uint8_t *)src); /* the library only reads src */
    if (rc < 0) {
        return goblosc2_fail(err, rc, "blosc2_schunk_set_slice_buffer");
    }
    goblosc2_take_facts(facts, h->sc);
    return goblosc2_io_end(err, "blosc2_schunk_set_slice_buffer");
}

int goblosc2_schunk_chunk_items(goblosc2_err_t *err, goblosc2_handle_t *h, int64_t i, int32_t start, int32_t items,
                                uint8_t *dst, int32_t cap)
{
    uint8_t *chunk = NULL;
    bool needs_free = false;
    goblosc2_io_begin(goblosc2_threads_of(h));
    int n = blosc2_schunk_get_lazychunk(h->sc, i, &chunk, &needs_free);
    if (n <= 0 || chunk == NULL) {
        return goblosc2_fail(err, n, "blosc2_schunk_get_lazychunk");
    }
    /* blosc2_getitem_ctx returns a whole block if cap equals the length of a block or of the short
     * last block, even if the items start inside another block. So the items up to the next block
     * are read separately. */
    int32_t nbytes = 0, block = 0, size = h->sc->typesize, first = 0;
    int rc = blosc2_cbuffer_sizes(chunk, &nbytes, NULL, &block);
    if (rc >= 0 && (cap == block || cap == nbytes % block) && start * size % block != 0) {
        first = (block - start * size % block) / size;
        if (first < items) {
            rc = blosc2_getitem_ctx(h->sc->dctx, chunk, n, start, first, dst, first * size);
        } else {
            first = 0;
        }
    }
    if (rc >= 0) {
        rc = blosc2_getitem_ctx(h->sc->dctx, chunk, n, start + first, items - first, dst + first * size,
                                cap - first * size);
    }
    if (needs_free) {
        free(chunk);
    }
    return rc < 0 ? goblosc2_fail(err, rc, "blosc2_getitem_ctx") : rc;
}

int goblosc2_schunk_read_points(goblosc2_err_t *err, goblosc2_handle_t *h, const int64_t *items, int64_t n,
                                uint8_t *dst)
{
    if (h->sc->blocksize <= 0) {
        return 1; /* the library does not know the automatic block size of a new super-chunk and fails */
    }
    goblosc2_io_begin(goblosc2_threads_of(h));
    int rc = blosc2_schunk_get_sparse_buffer(h->sc, n, items, dst);
    return rc < 0 ? goblosc2_fail(err, rc, "blosc2_schunk_get_sparse_buffer") : 0;
}

/* ---- layout ---- */

int goblosc2_schunk_fill(goblosc2_err_t *err, goblosc2_handle_t *h, int64_t items, int32_t special, int32_t chunksize,
                         goblosc2_facts_t *facts)
{
    goblosc2_io_begin(goblosc2_threads_of(h));
    int64_t rc = blosc2_schunk_fill_special(h->sc, items, special, chunksize);
    if (rc < 0) {
        return goblosc2_fail(err, rc, "blosc2_schunk_fill_special");
    }
    goblosc2_take_facts(facts, h->sc);
    return goblosc2_io_end(err, "blosc2_schunk_fill_special");
}

int goblosc2_schunk_reorder(goblosc2_err_t *err, goblosc2_handle_t *h, const int64_t *order)
{
    goblosc2_io_begin(goblosc2_threads_of(h));
    int rc = blosc2_schunk_reorder_offsets(h->sc, (int64_t *)order); /* the library only reads order */
    return rc < 0 ? goblosc2_fail(err, rc, "blosc2_schunk_reorder_offsets")
                  : goblosc2_io_end(err, "blosc2_schunk_reorder_offsets");
}

int goblosc2_schunk_offsets(goblosc2_err_t *err, goblosc2_handle_t *h, int64_t *out, int64_t n)
{
    goblosc2_io_begin(goblosc2_threads_of(h));
    int64_t *offsets = blosc2_frame_get_offsets(h->sc);
    if (offsets == NULL) {
        return goblosc2_fail(err, BLOSC2_ERROR_FAILURE, "blosc2_frame_get_offsets");
    }
    memcpy(out, offsets, (size_t)n * sizeof *out);
    free(offsets);
    return 0;
}

int64_t goblosc2_schunk_frame_len(goblosc2_handle_t *h)
{
    return blosc2_schunk_frame_len(h->sc);
}

int64_t goblosc2_schunk_chunks_of(goblosc2_err_t *err, goblosc2_handle_t *h, const int64_t *start, const int64_t *stop,
                                  int64_t *out, int64_t cap)
{
    int64_t *chunks = NULL;
    int64_t n = blosc2_get_slice_nchunks(h->sc, (int64_t *)start, (int64_t *)stop, &chunks); /* only read by it */
    if (n < 0 || n > cap) {
        free(chunks);
        return goblosc2_fail(err, n, "blosc2_get_slice_nchunks");
    }
    memcpy(out, chunks, (size_t)n * sizeof *out);
    free(chunks);
    return n;
}

int goblosc2_schunk_dparams(goblosc2_err_t *err, goblosc2_handle_t *h, int32_t *threads)
{
    blosc2_dparams *d = NULL;
    int rc = blosc2_schunk_get_dparams(h->sc, &d);
    if (rc < 0) {
        return goblosc2_fail(err, rc, "blosc2_schunk_get_dparams");
    }
    *threads = d->nthreads;
    free(d);
    return 0;
}

/* ---- metalayers ---- */

int goblosc2_meta_names(goblosc2_err_t *err, goblosc2_handle_t *h, int32_t vl, uint8_t *names, int32_t most)
{
    int n = vl ? h->sc->nvlmetalayers : h->sc->nmetalayers;
    if (n > most) {
        return n;
    }
    char *vlnames[BLOSC2_MAX_METALAYERS];
    if (vl) {
        int rc = n > BLOSC2_MAX_METALAYERS ? BLOSC2_ERROR_FAILURE : blosc2_vlmeta_get_names(h->sc, vlnames);
        if (rc < 0) {
            return goblosc2_fail(err, rc, "blosc2_vlmeta_get_names");
        }
    }
    for (int i = 0; i < n; i++) {
        const char *name = vl ? vlnames[i] : h->sc->metalayers[i]->name;
        strncpy((char *)names + (size_t)i * GOBLOSC2_META_NAME, name, GOBLOSC2_META_NAME - 1);
    }
    return n;
}

int32_t goblosc2_meta_has(goblosc2_handle_t *h, int32_t vl, const char *name)
{
    return (vl ? blosc2_vlmeta_exists(h->sc, name) : blosc2_meta_exists(h->sc, name)) >= 0;
}

/* ---- files shared by several programs ---- */

int goblosc2_schunk_lock(goblosc2_err_t *err, goblosc2_handle_t *h)
{
    goblosc2_io_begin(goblosc2_threads_of(h));
    int rc = blosc2_schunk_lock(h->sc);
    return rc < 0 ? goblosc2_fail(err, rc, "blosc2_schunk_lock") : 0;
}

int goblosc2_schunk_unlock(goblosc2_err_t *err, goblosc2_handle_t *h)
{
    goblosc2_io_begin(goblosc2_threads_of(h));
    int rc = blosc2_schunk_unlock(h->sc);
    return rc < 0 ? goblosc2_fail(err, rc, "blosc2_schunk_unlock") : 0;
}

int goblosc2_schunk_refresh(goblosc2_err_t *err, goblosc2_handle_t *h, goblosc2_facts_t *facts)
{
    goblosc2_io_begin(goblosc2_threads_of(h));
    int rc = blosc2_schunk_refresh(h->sc);
    if (rc < 0) {
        return goblosc2_fail(err, rc, "blosc2_schunk_refresh");
    }
    goblosc2_take_facts(facts, h->sc);
    return 0;
}
