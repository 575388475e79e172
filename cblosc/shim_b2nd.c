/* shim_b2nd.c: functions that create arrays and change whole arrays; see shim.h. */
#include "shim_internal.h"

#include <stdlib.h>
#include <string.h>

int goblosc2_array_new(goblosc2_err_t *err, const char *path, const goblosc2_place_t *where,
                       const goblosc2_cparams_t *p, const goblosc2_geometry_t *g, const char *dtype, int32_t nmeta,
                       const uint8_t *names, const int32_t *lengths, const uint8_t *contents, int32_t how,
                       const uint8_t *value, int64_t n, goblosc2_handle_t **out, goblosc2_facts_t *facts)
{
    blosc2_metalayer meta[BLOSC2_MAX_METALAYERS];
    size_t at = 0;
    for (int i = 0; i < nmeta; i++) {
        meta[i].name = (char *)names + (size_t)i * GOBLOSC2_META_NAME;
        meta[i].content = (uint8_t *)contents + at;
        meta[i].content_len = lengths[i];
        at += (size_t)lengths[i];
    }
    goblosc2_storage_t st;
    if (goblosc2_storage(err, path, where, p, &st) < 0) {
        return -1;
    }
    b2nd_context_t *ctx = b2nd_create_ctx(&st.storage, (int8_t)g->ndim, g->shape, g->chunks, g->blocks, dtype,
                                          DTYPE_NUMPY_FORMAT, meta, nmeta);
    if (ctx == NULL) {
        int rc = goblosc2_fail(err, BLOSC2_ERROR_INVALID_PARAM, "b2nd_create_ctx");
        goblosc2_io_undo(&st.io);
        return rc;
    }
    b2nd_array_t *array = NULL;
    const char *call = "b2nd_zeros";
    int rc;
    goblosc2_io_begin(p->threads);
    switch (how) {
    case GOBLOSC2_EMPTY:
        call = "b2nd_empty";
        rc = b2nd_empty(ctx, &array);
        break;
    case GOBLOSC2_UNINIT:
        call = "b2nd_uninit";
        rc = b2nd_uninit(ctx, &array);
        break;
    case GOBLOSC2_NANS:
        call = "b2nd_nans";
        rc = b2nd_nans(ctx, &array);
        break;
    case GOBLOSC2_FULL:
        call = "b2nd_full";
        rc = b2nd_full(ctx, &array, value);
        break;
    case GOBLOSC2_DATA:
        call = "b2nd_from_cbuffer";
        rc = b2nd_from_cbuffer(ctx, &array, value, n);
        break;
    default:
        rc = b2nd_zeros(ctx, &array);
    }
    b2nd_free_ctx(ctx);
    if (rc < 0) {
        rc = goblosc2_fail(err, rc, call);
        goblosc2_io_undo(&st.io); /* frees everything that the library created */
        return rc;
    }
    if (goblosc2_io_end(err, call) < 0) {
        b2nd_free(array);
        return -1;
    }
    return goblosc2_own_array(err, array, out, facts);
}

int goblosc2_array_read_all(goblosc2_err_t *err, goblosc2_handle_t *h, uint8_t *dst, int64_t n)
{
    goblosc2_io_begin(goblosc2_threads_of(h));
    int rc = b2nd_to_cbuffer(h->array, dst, n);
    if (rc < 0) {
        goblosc2_renew_dctx(h->sc);
        return goblosc2_fail(err, rc, "b2nd_to_cbuffer");
    }
    return 0;
}

/* ---- other shapes ---- */

int goblosc2_array_insert(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *src, int64_t n, int32_t axis,
                          int64_t at, goblosc2_facts_t *facts)
{
    goblosc2_io_begin(goblosc2_threads_of(h));
    int rc = b2nd_insert(h->array, src, n, (int8_t)axis, at);
    if (rc < 0) {
        return goblosc2_fail(err, rc, "b2nd_insert");
    }
    goblosc2_take_facts(facts, h->sc);
    return goblosc2_io_end(err, "b2nd_insert");
}

int goblosc2_array_append(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *src, int64_t n, int32_t axis,
                          goblosc2_facts_t *facts)
{
    goblosc2_io_begin(goblosc2_threads_of(h));
    int rc = b2nd_append(h->array, src, n, (int8_t)axis);
    if (rc < 0) {
        return goblosc2_fail(err, rc, "b2nd_append");
    }
    goblosc2_take_facts(facts, h->sc);
    return goblosc2_io_end(err, "b2nd_append");
}

int goblosc2_array_delete(goblosc2_err_t *err, goblosc2_handle_t *h, int32_t axis, int64_t at, int64_t n,
                          goblosc2_facts_t *facts)
{
    goblosc2_io_begin(goblosc2_threads_of(h));
    int rc = b2nd_delete(h->array, (int8_t)axis, at, n);
    if (rc >= 0) {
        rc = goblosc2_forget_deleted(h->sc);
    }
    if (rc < 0) {
        return goblosc2_fail(err, rc, "b2nd_delete");
    }
    goblosc2_take_facts(facts, h->sc);
    return goblosc2_io_end(err, "b2nd_delete");
}

/* ---- new arrays from existing ones ---- */

/* Source of a slice or copy; start is NULL for a copy. */
typedef struct {
    const char *call;
    const b2nd_array_t *from;
    const int64_t *start;
    const int64_t *stop;
} derivation_t;

static int derive(goblosc2_err_t *err, goblosc2_handle_t *h, const char *path, const goblosc2_place_t *where,
                  const goblosc2_cparams_t *p, const goblosc2_geometry_t *g, const char *dtype, const derivation_t *d,
                  goblosc2_handle_t **out, goblosc2_facts_t *facts)
{
    goblosc2_storage_t st;
    if (goblosc2_storage(err, path, where, p, &st) < 0) {
        return -1;
    }
    b2nd_context_t *ctx = b2nd_create_ctx(&st.storage, (int8_t)g->ndim, g->shape, g->chunks, g->blocks, dtype,
                                          DTYPE_NUMPY_FORMAT, NULL, 0);
    if (ctx == NULL) {
        int rc = goblosc2_fail(err, BLOSC2_ERROR_INVALID_PARAM, "b2nd_create_ctx");
        goblosc2_io_undo(&st.io);
        return rc;
    }
    b2nd_array_t *array = NULL;
    goblosc2_io_begin(p->threads > 1 ? p->threads : goblosc2_threads_of(h));
    int rc =
        d->start != NULL ? b2nd_get_slice(ctx, &array, d->from, d->start, d->stop) : b2nd_copy(ctx, d->from, &array);
    b2nd_free_ctx(ctx);
    if (rc < 0) {
        goblosc2_renew_dctx(h->sc);
        rc = goblosc2_fail(err, rc, d->call);
        goblosc2_io_undo(&st.io);
        return rc;
    }
    if (goblosc2_io_end(err, d->call) < 0) {
        b2nd_free(array);
        return -1;
    }
    return goblosc2_own_array(err, array, out, facts);
}

int goblosc2_array_slice(goblosc2_err_t *err, goblosc2_handle_t *h, const char *path, const goblosc2_place_t *where,
                         const goblosc2_cparams_t *p, const goblosc2_geometry_t *g, const char *dtype,
                         const int64_t *start, const int64_t *stop, goblosc2_handle_t **out, goblosc2_facts_t *facts)
{
    derivation_t d = {"b2nd_get_slice", h->array, start, stop};
    return derive(err, h, path, where, p, g, dtype, &d, out, facts);
}

int goblosc2_array_copy(goblosc2_err_t *err, goblosc2_handle_t *h, const char *path, const goblosc2_place_t *where,
                        const goblosc2_cparams_t *p, const goblosc2_geometry_t *g, const char *dtype,
                        goblosc2_handle_t **out, goblosc2_facts_t *facts)
{
    derivation_t d = {"b2nd_copy", h->array, NULL, NULL};
    return derive(err, h, path, where, p, g, dtype, &d, out, facts);
}

/* squeeze makes a view of the array, which shares its chunks. */
static int squeeze(goblosc2_handle_t *h, const bool *drop, b2nd_array_t **view)
{
    return drop == NULL ? b2nd_squeeze(h->array, view) : b2nd_squeeze_index(h->array, view, drop);
}

int goblosc2_array_squeeze(goblosc2_err_t *err, goblosc2_handle_t *h, const char *path, const goblosc2_place_t *where,
                           const goblosc2_cparams_t *p, const goblosc2_geometry_t *g, const char *dtype,
                           const uint8_t *drop, goblosc2_handle_t **out, goblosc2_facts_t *facts)
{
    b2nd_array_t *view = NULL;
    goblosc2_io_begin(goblosc2_threads_of(h));
    int rc = squeeze(h, (const bool *)drop, &view);
    if (rc < 0) {
        return goblosc2_fail(err, rc, drop == NULL ? "b2nd_squeeze" : "b2nd_squeeze_index");
    }
    derivation_t d = {"b2nd_copy", view, NULL, NULL};
    rc = derive(err, h, path, where, p, g, dtype, &d, out, facts);
    b2nd_free(view);
    return rc;
}

int goblosc2_array_expand(goblosc2_err_t *err, goblosc2_handle_t *h, const char *path, const goblosc2_place_t *where,
                          const goblosc2_cparams_t *p, const goblosc2_geometry_t *g, const char *dtype,
                          const uint8_t *added, goblosc2_handle_t **out, goblosc2_facts_t *facts)
{
    b2nd_array_t *view = NULL;
    goblosc2_io_begin(goblosc2_threads_of(h));
    int rc = b2nd_expand_dims(h->array, &view, (const bool *)added, (uint8_t)g->ndim);
    if (rc < 0) {
        return goblosc2_fail(err, rc, "b2nd_expand_dims");
    }
    derivation_t d = {"b2nd_copy", view, NULL, NULL};
    rc = derive(err, h, path, where, p, g, dtype, &d, out, facts);
    b2nd_free(view);
    return rc;
}

int goblosc2_array_concatenate(goblosc2_err_t *err, goblosc2_handle_t *h, goblosc2_handle_t *other, int32_t axis,
                               goblosc2_geometry_t *g, goblosc2_facts_t *facts)
{
    b2nd_array_t *array = NULL, *a = h->array;
    b2nd_context_t *ctx = b2nd_create_ctx(h->sc->storage, a->ndim, a->shape, a->chunkshape, a->blockshape, a->dtype,
                                          a->dtype_format, NULL, 0);
    if (ctx == NULL) {
        return goblosc2_no_memory(err);
    }
    goblosc2_io_begin(goblosc2_threads_of(h));
    int rc = b2nd_concatenate(ctx, a, other->array, (int8_t)axis, false, &array);
    b2nd_free_ctx(ctx);
    if (rc < 0) {
        goblosc2_renew_dctx(other->sc);
        return goblosc2_fail(err, rc, "b2nd_concatenate");
    }
    goblosc2_take_geometry(g, h->array);
    goblosc2_take_facts(facts, h->sc);
    return goblosc2_io_end(err, "b2nd_concatenate");
}

int goblosc2_array_save(goblosc2_err_t *err, goblosc2_handle_t *h, char *path)
{
    goblosc2_io_begin(goblosc2_threads_of(h));
    int rc = b2nd_save(h->array, path);
    return rc < 0 ? goblosc2_fail(err, rc, "b2nd_save") : goblosc2_io_end(err, "b2nd_save");
}

int64_t goblosc2_array_append_file(goblosc2_err_t *err, goblosc2_handle_t *h, const char *path)
{
    goblosc2_io_begin(goblosc2_threads_of(h));
    int64_t rc = b2nd_save_append(h->array, path);
    if (rc < 0) {
        return goblosc2_fail(err, rc, "b2nd_save_append");
    }
    return goblosc2_io_end(err, "b2nd_save_append") < 0 ? -1 : rc;
}

int goblosc2_array_refresh(goblosc2_err_t *err, goblosc2_handle_t *h, goblosc2_geometry_t *g, goblosc2_facts_t *facts)
{
    goblosc2_io_begin(goblosc2_threads_of(h));
    int rc = b2nd_refresh(h->array);
    if (rc < 0) {
        return goblosc2_fail(err, rc, "b2nd_refresh");
    }
    goblosc2_take_geometry(g, h->array);
    goblosc2_take_facts(facts, h->sc);
    return 0;
}

/* ---- selections ---- */

/* rows splits selection into one list of indices per dimension. */
static void rows(int64_t **out, const int64_t *selection, const int64_t *sizes, int ndim)
{
    for (int i = 0; i < ndim; i++) {
        out[i] = (int64_t *)selection; /* the library only reads it */
        selection += sizes[i];
    }
}

int goblosc2_array_read_orthogonal(goblosc2_err_t *err, goblosc2_handle_t *h, const int64_t *selection,
                                   const int64_t *sizes, uint8_t *dst, int64_t n)
{
    int64_t *lists[GOBLOSC2_MAX_DIM];
    rows(lists, selection, sizes, h->array->ndim);
    goblosc2_io_begin(goblosc2_threads_of(h));
    int rc = b2nd_get_orthogonal_selection(h->array, lists, (int64_t *)sizes, dst, (int64_t *)sizes, n);
    if (rc < 0) {
        goblosc2_renew_dctx(h->sc);
        return goblosc2_fail(err, rc, "b2nd_get_orthogonal_selection");
    }
    return 0;
}

int goblosc2_array_write_orthogonal(goblosc2_err_t *err, goblosc2_handle_t *h, const int64_t *selection,
                                    const int64_t *sizes, const uint8_t *src, int64_t n, goblosc2_facts_t *facts)
{
    int64_t *lists[GOBLOSC2_MAX_DIM];
    rows(lists, selection, sizes, h->array->ndim);
    goblosc2_io_begin(goblosc2_threads_of(h));
    int rc = b2nd_set_orthogonal_selection(h->array, lists, (int64_t *)sizes, src, (int64_t *)sizes, n);
    if (rc < 0) {
        return goblosc2_fail(err, rc, "b2nd_set_orthogonal_selection");
    }
    goblosc2_take_facts(facts, h->sc);
    return goblosc2_io_end(err, "b2nd_set_orthogonal_selection");
}

int goblosc2_array_read_points(goblosc2_err_t *err, goblosc2_handle_t *h, const int64_t *flat, int64_t points,
                               uint8_t *dst, int64_t n)
{
    goblosc2_io_begin(goblosc2_threads_of(h));
    int rc = b2nd_get_sparse_cbuffer(h->array, points, flat, dst, n);
    if (rc < 0) {
        goblosc2_renew_dctx(h->sc);
        return goblosc2_fail(err, rc, "b2nd_get_sparse_cbuffer");
    }
    return 0;
}

/* ---- metalayers and boxes ---- */

int goblosc2_meta_encode(goblosc2_err_t *err, const goblosc2_geometry_t *g, const char *dtype, uint8_t **out)
{
    uint8_t *meta = NULL;
    int n = b2nd_serialize_meta((int8_t)g->ndim, g->shape, g->chunks, g->blocks, dtype, DTYPE_NUMPY_FORMAT, &meta);
    if (n < 0) {
        return goblosc2_fail(err, n, "b2nd_serialize_meta");
    }
    *out = meta;
    return n;
}

int goblosc2_meta_decode(goblosc2_err_t *err, const uint8_t *meta, int32_t n, goblosc2_geometry_t *g, char **dtype)
{
    int8_t ndim = 0, format = 0;
    int rc = b2nd_deserialize_meta(meta, n, &ndim, g->shape, g->chunks, g->blocks, dtype, &format);
    if (rc < 0) {
        return goblosc2_fail(err, rc, "b2nd_deserialize_meta");
    }
    g->ndim = ndim;
    return 0;
}

int goblosc2_copy_box(goblosc2_err_t *err, int32_t ndim, int32_t item, const uint8_t *src, const int64_t *src_shape,
                      const int64_t *src_start, const int64_t *src_stop, uint8_t *dst, const int64_t *dst_shape,
                      const int64_t *dst_start)
{
    int rc = b2nd_copy_buffer2((int8_t)ndim, item, src, src_shape, src_start, src_stop, dst, dst_shape, dst_start);
    return rc < 0 ? goblosc2_fail(err, rc, "b2nd_copy_buffer2") : 0;
}

void goblosc2_to_index(int32_t ndim, const int64_t *shape, int64_t i, int64_t *index)
{
    blosc2_unidim_to_multidim((uint8_t)ndim, (int64_t *)shape, i, index);
}

int64_t goblosc2_from_index(int32_t ndim, const int64_t *strides, const int64_t *index)
{
    int64_t i = 0;
    blosc2_multidim_to_unidim(index, (int8_t)ndim, strides, &i);
    return i;
}
