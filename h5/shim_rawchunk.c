/* shim_rawchunk.c: locating, reading and writing stored chunks without running filters. */
#include "shim_internal.h"

#include <string.h>
#ifdef _WIN32
#include <io.h>
#endif

/* Encodes a chunk: its offset, then mask, address and size. */
static void put_chunk(goh5_buf_t *b, const hsize_t *offset, int rank, unsigned mask, haddr_t address, hsize_t size)
{
    for (int i = 0; i < rank; i++) {
        goh5_put(b, offset[i]);
    }
    goh5_put(b, mask);
    goh5_put(b, address);
    goh5_put(b, size);
}

/* Properties of a dataset for raw chunk access. */
typedef struct grid {
    int rank;
    int filters;
    int edge_unfiltered; /* partial chunks at the edges are stored unfiltered */
    hsize_t dims[H5S_MAX_RANK];
    hsize_t chunk[H5S_MAX_RANK];
    hsize_t bytes; /* of a whole chunk, decoded */
    int grows;     /* dimension that grows, if libhdf5 returns wrong chunk offsets; 0 if they are correct */
    hsize_t most[H5S_MAX_RANK]; /* chunks along each dimension at its maximum size */
} grid_t;

static int probed(const hsize_t *offset, unsigned mask, haddr_t address, hsize_t size, void *data)
{
    (void)mask;
    (void)address;
    (void)size;
    memcpy(data, offset, 2 * sizeof *offset);
    return H5_ITER_STOP;
}

/* Reports whether libhdf5 returns wrong chunk offsets for extensible arrays (1, 0, or < 0 on
 * failure). An extensible array numbers chunks with the growing dimension as the slowest.
 * H5Dchunk_iter, H5Dget_chunk_info and H5Dget_chunk_info_by_coord split the number as if the
 * dimensions were in order, and so return offsets of other chunks or of nonexistent ones. A test
 * file with one chunk at a known offset shows whether this version has the defect. */
static int offsets_are_wrong(goh5_err_t *err)
{
    static int known = -1; /* guarded by the lock */
    int rc = 0;
    const hsize_t dims[2] = {2, 1}, most[2] = {2, H5S_UNLIMITED}, chunk[2] = {1, 1}, at[2] = {1, 0};
    hsize_t reported[2] = {0, 0};
    const uint8_t one = 1;
    hid_t fapl = H5I_INVALID_HID, file = H5I_INVALID_HID, space = H5I_INVALID_HID, dcpl = H5I_INVALID_HID,
          set = H5I_INVALID_HID;
    if (known >= 0) {
        return known;
    }
    TRY((fapl = H5Pcreate(H5P_FILE_ACCESS)) >= 0);
    TRY(H5Pset_fapl_core(fapl, 4096, 0) >= 0);
    TRY(H5Pset_libver_bounds(fapl, H5F_LIBVER_V110, H5F_LIBVER_LATEST) >= 0);
    TRY((file = H5Fcreate("hyperslab: places of chunks", H5F_ACC_TRUNC, H5P_DEFAULT, fapl)) >= 0);
    TRY((space = H5Screate_simple(2, dims, most)) >= 0);
    TRY((dcpl = H5Pcreate(H5P_DATASET_CREATE)) >= 0);
    TRY(H5Pset_chunk(dcpl, 2, chunk) >= 0);
    TRY((set = H5Dcreate2(file, "d", H5T_NATIVE_UCHAR, space, H5P_DEFAULT, dcpl, H5P_DEFAULT)) >= 0);
    TRY(H5Dwrite_chunk(set, H5P_DEFAULT, 0, at, sizeof one, &one) >= 0);
    TRY(H5Dchunk_iter(set, H5P_DEFAULT, probed, reported) >= 0);
    known = reported[0] != at[0] || reported[1] != at[1];
    rc = known;
done:
    if (set >= 0) {
        H5Dclose(set);
    }
    goh5_close_plist(dcpl);
    goh5_close_space(space);
    if (file >= 0) {
        H5Fclose(file);
    }
    goh5_close_plist(fapl);
    return rc;
}

static int grid_order(goh5_err_t *err, hid_t id, grid_t *g, const hsize_t *maxdims)
{
    int rc = 0;
    H5D_chunk_index_t index;
    g->grows = 0;
    TRY(H5Dget_chunk_index_type(id, &index) >= 0);
    if (index != H5D_CHUNK_IDX_EARRAY || maxdims[0] == H5S_UNLIMITED) {
        goto done;
    }
    PASS(offsets_are_wrong(err));
    if (rc == 0) {
        goto done;
    }
    rc = 0;
    for (int i = 0; i < g->rank; i++) {
        if (maxdims[i] == H5S_UNLIMITED) {
            g->grows = i;
        } else {
            g->most[i] = maxdims[i] / g->chunk[i] + (maxdims[i] % g->chunk[i] != 0);
        }
    }
done:
    return rc;
}

/* Converts the offset that libhdf5 reports for a chunk to its real offset. */
static void real_offset(const grid_t *g, const hsize_t *reported, hsize_t *at)
{
    const int grows = g->grows;
    memcpy(at, reported, sizeof *at * (size_t)g->rank);
    if (grows == 0) {
        return;
    }
    hsize_t number = reported[grows] / g->chunk[grows]; /* the dimensions before are 0 */
    for (int i = grows + 1; i < g->rank; i++) {
        number = number * g->most[i] + reported[i] / g->chunk[i];
    }
    for (int i = g->rank - 1; i >= 0; i--) {
        if (i != grows) {
            at[i] = number % g->most[i] * g->chunk[i];
            number /= g->most[i];
        }
    }
    at[grows] = number * g->chunk[grows];
}

/* The inverse of real_offset: the offset that libhdf5 expects for the real offset `at`. */
static void reported_offset(const grid_t *g, const hsize_t *at, hsize_t *reported)
{
    const int grows = g->grows;
    memcpy(reported, at, sizeof *reported * (size_t)g->rank);
    if (grows == 0) {
        return;
    }
    hsize_t number = at[grows] / g->chunk[grows];
    for (int i = 0; i < g->rank; i++) {
        if (i != grows) {
            number = number * g->most[i] + at[i] / g->chunk[i];
        }
    }
    for (int i = g->rank - 1; i > grows; i--) {
        reported[i] = number % g->most[i] * g->chunk[i];
        number /= g->most[i];
    }
    reported[grows] = number * g->chunk[grows];
    memset(reported, 0, sizeof *reported * (size_t)grows);
}

static int grid_open(goh5_err_t *err, hid_t id, grid_t *g)
{
    int rc = 0;
    hsize_t maxdims[H5S_MAX_RANK];
    unsigned opts = 0;
    hid_t dcpl = H5I_INVALID_HID, space = H5I_INVALID_HID, type = H5I_INVALID_HID;
    TRY((dcpl = H5Dget_create_plist(id)) >= 0);
    H5D_layout_t layout = H5Pget_layout(dcpl);
    TRY(layout >= 0);
    if (layout != H5D_CHUNKED) {
        RAISE(GOH5_ELAYOUT);
    }
    TRY((g->rank = H5Pget_chunk(dcpl, H5S_MAX_RANK, g->chunk)) >= 0);
    TRY((g->filters = H5Pget_nfilters(dcpl)) >= 0);
    TRY(H5Pget_chunk_opts(dcpl, &opts) >= 0);
    g->edge_unfiltered = (opts & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) != 0;
    TRY((space = H5Dget_space(id)) >= 0);
    PASS(goh5_check_ranks(err, dcpl, space));
    TRY(H5Sget_simple_extent_dims(space, g->dims, maxdims) >= 0);
    TRY((type = H5Dget_type(id)) >= 0);
    g->bytes = H5Tget_size(type);
    for (int i = 0; i < g->rank; i++) {
        g->bytes *= g->chunk[i]; /* less than 4 GiB, as libhdf5 has checked */
    }
    PASS(grid_order(err, id, g, maxdims));
done:
    goh5_close_type(type);
    goh5_close_space(space);
    goh5_close_plist(dcpl);
    return rc;
}

/* Checks that an offset is the start of a chunk. libhdf5 divides the offset by the chunk shape, so
 * an offset inside a chunk would silently select that chunk. */
static int grid_at(goh5_err_t *err, const grid_t *g, const int64_t *offset, size_t rank, hsize_t *at)
{
    int inside = (size_t)g->rank == rank;
    for (int i = 0; inside && i < g->rank; i++) {
        at[i] = (hsize_t)offset[i];
        inside = at[i] < g->dims[i] && at[i] % g->chunk[i] == 0;
    }
    if (!inside) {
        err->rank = g->rank;
        memcpy(err->dims, g->dims, sizeof(hsize_t) * (size_t)g->rank);
        return GOH5_EREGION;
    }
    return 0;
}

/* 1 if filters run on the chunk at `at`. */
static int grid_filtered(const grid_t *g, const hsize_t *at)
{
    for (int i = 0; g->edge_unfiltered && i < g->rank; i++) {
        if (g->chunk[i] > g->dims[i] - at[i]) {
            return 0;
        }
    }
    return g->filters > 0;
}

/* H5Dread_chunk, H5Dwrite_chunk and H5Dget_chunk_storage_size write past the end of a table with
 * H5S_MAX_RANK numbers. They must not be called for a dataset with that many dimensions. */
static int past_table(const grid_t *g)
{
    return g->rank >= H5S_MAX_RANK;
}

/* Sets *data if a frame, the innermost of an error stack, is that of a chunk that is not stored. Any
 * error of the index itself begins in another function. */
static herr_t is_missing(unsigned n, const H5E_error2_t *frame, void *data)
{
    (void)n;
    *(int *)data = strcmp(frame->func_name, "H5D__get_chunk_storage_size") == 0;
    return H5_ITER_STOP;
}

/* Finds a chunk in the index: whether it is stored, and its size in bytes. Fails with
 * GOH5_ECHUNKSIZE for an entry whose size no chunk has, because the entry is corrupt. */
static int find_chunk(goh5_err_t *err, hid_t id, const grid_t *g, const hsize_t *at, int *stored, hsize_t *size)
{
    int rc = 0, missing = 0;
    *stored = 0;
    *size = 0;
    if (past_table(g)) {
        hsize_t reported[H5S_MAX_RANK] = {0};
        haddr_t address = HADDR_UNDEF;
        unsigned mask = 0;
        reported_offset(g, at, reported);
        TRY(H5Dget_chunk_info_by_coord(id, reported, &mask, &address, size) >= 0);
        *stored = address != HADDR_UNDEF;
    } else if (H5Dget_chunk_storage_size(id, at, size) >= 0) {
        *stored = 1;
        if (*size == 0) {
            /* libhdf5 does not set the size if the dataset has no index. */
            hsize_t untouched = 1;
            TRY(H5Dget_chunk_storage_size(id, at, &untouched) >= 0);
            *stored = untouched == 0;
        }
    } else {
        H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, is_missing, &missing);
        TRY(missing);
        H5Eclear2(H5E_DEFAULT);
    }
    if (*stored && (*size == 0 || *size > INT64_MAX)) {
        err->have = (int64_t)*size;
        RAISE(GOH5_ECHUNKSIZE);
    }
done:
    return rc;
}

static herr_t read_chunk(hid_t id, const hsize_t *at, uint32_t *mask, void *dst, size_t len)
{
    return H5Dread_chunk2(id, H5P_DEFAULT, at, mask, dst, &len);
}

int goh5_dchunk_count(goh5_err_t *err, int64_t id, uint64_t *n)
{
    int rc = 0;
    hsize_t count = 0;
    grid_t g = {0};
    goh5_enter();
    PASS(grid_open(err, id, &g));
    TRY(H5Dget_num_chunks(id, H5S_ALL, &count) >= 0);
    *n = count;
done:
    return rc;
}

int goh5_dchunk_nth(goh5_err_t *err, int64_t id, uint64_t n, goh5_blob_t *out)
{
    int rc = 0;
    grid_t g = {0};
    goh5_buf_t b = {0};
    hsize_t count = 0, size = 0, reported[H5S_MAX_RANK] = {0}, at[H5S_MAX_RANK] = {0};
    haddr_t address = HADDR_UNDEF;
    unsigned mask = 0;
    goh5_enter();
    PASS(grid_open(err, id, &g));
    TRY(H5Dget_num_chunks(id, H5S_ALL, &count) >= 0);
    if (n >= count) {
        err->have = (int64_t)n;
        err->want = (int64_t)count;
        RAISE(GOH5_ENOCHUNK);
    }
    TRY(H5Dget_chunk_info(id, H5S_ALL, n, reported, &mask, &address, &size) >= 0);
    real_offset(&g, reported, at);
    goh5_put(&b, (uint64_t)g.rank);
    put_chunk(&b, at, g.rank, mask, address, size);
    PASS(goh5_buf_end(&b, out));
done:
    goh5_buf_drop(&b);
    return rc;
}

int goh5_dchunk_at(goh5_err_t *err, int64_t id, const int64_t *offset, size_t rank, goh5_blob_t *out)
{
    int rc = 0;
    grid_t g = {0};
    goh5_buf_t b = {0};
    hsize_t size = 0, at[H5S_MAX_RANK] = {0}, reported[H5S_MAX_RANK] = {0};
    haddr_t address = HADDR_UNDEF;
    unsigned mask = 0;
    goh5_enter();
    PASS(grid_open(err, id, &g));
    PASS(grid_at(err, &g, offset, rank, at));
    reported_offset(&g, at, reported);
    TRY(H5Dget_chunk_info_by_coord(id, reported, &mask, &address, &size) >= 0);
    if (address == HADDR_UNDEF) {
        RAISE(GOH5_ENOCHUNK);
    }
    goh5_put(&b, (uint64_t)g.rank);
    put_chunk(&b, at, g.rank, mask, address, size);
    PASS(goh5_buf_end(&b, out));
done:
    goh5_buf_drop(&b);
    return rc;
}

int goh5_dchunk_size(goh5_err_t *err, int64_t id, const int64_t *offset, size_t rank, uint64_t *bytes)
{
    int rc = 0;
    grid_t g = {0};
    hsize_t at[H5S_MAX_RANK] = {0};
    goh5_enter();
    PASS(grid_open(err, id, &g));
    PASS(grid_at(err, &g, offset, rank, at));
    int stored = 0;
    hsize_t size = 0;
    PASS(find_chunk(err, id, &g, at, &stored, &size));
    *bytes = stored ? size : 0;
done:
    return rc;
}

typedef struct visit {
    goh5_buf_t buf;
    const grid_t *grid;
    uint64_t count;
} visit_t;

static int put_visited(const hsize_t *offset, unsigned mask, haddr_t address, hsize_t size, void *data)
{
    visit_t *v = data;
    hsize_t at[H5S_MAX_RANK];
    v->count++;
    real_offset(v->grid, offset, at);
    put_chunk(&v->buf, at, v->grid->rank, mask, address, size);
    return v->buf.failed ? H5_ITER_STOP : H5_ITER_CONT;
}

int goh5_dchunks(goh5_err_t *err, int64_t id, goh5_blob_t *out)
{
    int rc = 0;
    grid_t g = {0};
    visit_t v = {0};
    goh5_enter();
    PASS(grid_open(err, id, &g));
    v.grid = &g;
    goh5_put(&v.buf, (uint64_t)g.rank);
    goh5_put(&v.buf, 0);
    TRY(H5Dchunk_iter(id, H5P_DEFAULT, put_visited, &v) >= 0);
    goh5_set(&v.buf, sizeof(uint64_t), v.count);
    PASS(goh5_buf_end(&v.buf, out));
done:
    goh5_buf_drop(&v.buf);
    return rc;
}

int goh5_dread_chunk(goh5_err_t *err, int64_t id, const int64_t *offset, size_t rank, uint8_t *dst, size_t len,
                     uint64_t *bytes, uint32_t *mask)
{
    int rc = 0;
    grid_t g = {0};
    hsize_t at[H5S_MAX_RANK] = {0};
    uint32_t filters = 0;
    goh5_enter();
    PASS(grid_open(err, id, &g));
    PASS(grid_at(err, &g, offset, rank, at));
    if (past_table(&g)) {
        RAISE(GOH5_EUNSUPPORTED);
    }
    int stored = 0;
    hsize_t size = 0;
    PASS(find_chunk(err, id, &g, at, &stored, &size));
    if (!stored) {
        RAISE(GOH5_ENOCHUNK);
    }
    if (size > len) {
        err->have = (int64_t)len;
        err->want = (int64_t)size;
        RAISE(GOH5_ESIZE);
    }
    /* A chunk without filters may not be in the file yet although libhdf5 returns its size. */
    if (read_chunk(id, at, &filters, dst, len) < 0) {
        rc = goh5_fail(err);
        hsize_t reported[H5S_MAX_RANK] = {0};
        haddr_t address = 0;
        unsigned ignored = 0;
        reported_offset(&g, at, reported);
        if (H5Dget_chunk_info_by_coord(id, reported, &ignored, &address, &size) >= 0 && address == HADDR_UNDEF) {
            rc = GOH5_ENOCHUNK;
        }
        goto done;
    }
    *bytes = size;
    *mask = filters;
done:
    return rc;
}

/* Stores the offset of a chunk whose mask libhdf5 would not update in err. */
static int put_place(goh5_err_t *err, const grid_t *g, const hsize_t *at)
{
    err->rank = g->rank;
    memcpy(err->dims, at, sizeof *at * (size_t)g->rank);
    return GOH5_EMASKED;
}

int goh5_dwrite_chunk(goh5_err_t *err, int64_t id, const int64_t *offset, size_t rank, uint32_t mask,
                      const uint8_t *src, size_t len, int32_t *stale)
{
    int rc = 0;
    grid_t g = {0};
    hsize_t at[H5S_MAX_RANK] = {0};
    uint8_t *old = NULL;
    uint32_t old_mask = 0;
    goh5_enter();
    PASS(grid_open(err, id, &g));
    PASS(grid_at(err, &g, offset, rank, at));
    if (past_table(&g)) {
        RAISE(GOH5_EUNSUPPORTED);
    }
    if (!grid_filtered(&g, at) && len != g.bytes) {
        err->have = (int64_t)len;
        err->want = (int64_t)g.bytes;
        RAISE(GOH5_ESIZE);
    }
    if ((uint64_t)mask >> g.filters != 0) {
        err->have = (int64_t)mask;
        err->want = g.filters;
        RAISE(GOH5_EMASK);
    }
    if (!grid_filtered(&g, at)) {
        mask = 0; /* ignore the mask, which must not apply if the dataset grows and filters run */
    }
    int stored = 0;
    hsize_t size = 0;
    if (g.filters > 0) {
        rc = find_chunk(err, id, &g, at, &stored, &size);
        if (rc == GOH5_ECHUNKSIZE) { /* the new chunk replaces the corrupt entry */
            rc = stored = 0;
        }
        PASS(rc);
    }
    if (stored) { /* only reading the chunk returns its current mask */
        if ((old = hyperslab_alloc(size)) == NULL) {
            RAISE(GOH5_ENOMEM);
        }
        TRY(read_chunk(id, at, &old_mask, old, size) >= 0);
    }
    if (stored && size == len && old_mask != mask) {
        err->have = old_mask;
        RAISE(put_place(err, &g, at));
    }
    TRY(H5Dwrite_chunk(id, H5P_DEFAULT, mask, at, len, src) >= 0);
    *stale = old_mask != mask;
done:
    hyperslab_free(old);
    return rc;
}

/* A filter of libhdf5 without its type-dependent parameters fails. values is the number of its
 * parameters. */
static int idle(H5Z_filter_t filter, size_t values)
{
    return (filter == H5Z_FILTER_SHUFFLE && values == 0) || (filter == H5Z_FILTER_NBIT && values == 0) ||
           (filter == H5Z_FILTER_SCALEOFFSET && values <= 2);
}

int goh5_dfilters(goh5_err_t *err, int64_t id, int32_t *ids, int32_t *state, size_t *n, uint64_t *chunk)
{
    int rc = 0;
    grid_t g = {0};
    goh5_enter();
    hid_t dcpl = H5Dget_create_plist(id);
    TRY(dcpl >= 0);
    size_t room = *n;
    *n = 0;
    if (H5Pget_layout(dcpl) != H5D_CHUNKED || H5Pget_nfilters(dcpl) == 0) {
        goto done;
    }
    PASS(grid_open(err, id, &g));
    *chunk = g.bytes;
    for (size_t i = 0; i < (size_t)g.filters && i < room; i++) {
        unsigned flags = 0, config = 0;
        size_t values = 0;
        H5Z_filter_t filter = H5Pget_filter2(dcpl, (unsigned)i, &flags, &values, NULL, 0, NULL, &config);
        TRY(filter >= 0);
        htri_t here = H5Zfilter_avail(filter);
        TRY(here >= 0);
        ids[i] = filter;
        state[i] = (flags & H5Z_FLAG_OPTIONAL ? GOH5_OPTIONAL : 0) | (here ? GOH5_HERE : 0) |
                   (idle(filter, values) ? GOH5_IDLE : 0);
        ++*n;
    }
done:
    goh5_close_plist(dcpl);
    return rc;
}

/* Up to this number, chunks are looked up one by one. Otherwise all stored chunks are iterated. */
enum { FEW = 64 };

/* Search for the first stored chunk that a write will touch and whose mask libhdf5 may not update. */
typedef struct touched {
    const grid_t *grid;
    const goh5_masks_t *masks;
    const hsize_t *low, *high; /* corners of the selection, NULL: everything */
    const int64_t *shape;      /* only chunks that extend beyond it; NULL: all */
    hsize_t at[H5S_MAX_RANK];  /* the chunk */
    uint32_t mask;
    int found;
} touched_t;

/* Whether rewriting a chunk may give the same length and another mask. */
static int uncertain(const goh5_masks_t *m, uint32_t mask, hsize_t size)
{
    switch (m->how) {
    case GOH5_ALL_RUN:
        return mask != m->always;
    case GOH5_ONE_DECLINES:
        return mask != (size == m->full ? m->skipped : m->always);
    case GOH5_ONE_SKIPS:
        return mask != m->always || size == m->full;
    default:
        return 1;
    }
}

static int concerned(const touched_t *t, const hsize_t *at)
{
    int inside = grid_filtered(t->grid, at), over = t->shape == NULL;
    for (int i = 0; i < t->grid->rank; i++) {
        hsize_t end = at[i] + t->grid->chunk[i];
        inside = inside && (t->low == NULL || (at[i] <= t->high[i] && end > t->low[i]));
        /* When the shape shrinks, libhdf5 fills the elements outside. */
        over = over ||
               ((hsize_t)t->shape[i] < t->grid->dims[i] && at[i] < (hsize_t)t->shape[i] && end > (hsize_t)t->shape[i]);
    }
    return inside && over;
}

static int note(const hsize_t *reported, unsigned mask, haddr_t address, hsize_t size, void *data)
{
    (void)address;
    touched_t *t = data;
    real_offset(t->grid, reported, t->at);
    t->mask = mask;
    t->found = uncertain(t->masks, mask, size) && concerned(t, t->at);
    return t->found ? H5_ITER_STOP : H5_ITER_CONT;
}

int goh5_dmasks(goh5_err_t *err, int64_t id, const goh5_masks_t *m, int32_t *found)
{
    int rc = 0;
    grid_t g = {0};
    touched_t t = {.grid = &g, .masks = m};
    goh5_enter();
    PASS(grid_open(err, id, &g));
    TRY(H5Dchunk_iter(id, H5P_DEFAULT, note, &t) >= 0);
    *found = t.found;
done:
    return rc;
}

/* Reads a stored chunk into a block that replaces *bytes. If H5Dread_chunk cannot be used, it
 * returns only the mask and size from the index. */
static int take_chunk(goh5_err_t *err, hid_t id, const grid_t *g, const hsize_t *at, uint32_t *mask, uint8_t **bytes,
                      hsize_t *size)
{
    int rc = 0;
    hyperslab_free(*bytes);
    *bytes = NULL;
    if (past_table(g)) {
        hsize_t reported[H5S_MAX_RANK] = {0};
        haddr_t address = HADDR_UNDEF;
        reported_offset(g, at, reported);
        TRY(H5Dget_chunk_info_by_coord(id, reported, mask, &address, size) >= 0);
        goto done;
    }
    int stored = 0;
    PASS(find_chunk(err, id, g, at, &stored, size));
    if ((*bytes = hyperslab_alloc(*size)) == NULL) {
        RAISE(GOH5_ENOMEM);
    }
    TRY(read_chunk(id, at, mask, *bytes, *size) >= 0);
done:
    return rc;
}

/* Finds the chunk. If at_most <= FEW the chunks are looked up one by one. */
static int find_touched(goh5_err_t *err, hid_t id, touched_t *t, hsize_t at_most, const hsize_t *low,
                        const hsize_t *high)
{
    int rc = 0;
    const grid_t *g = t->grid;
    uint8_t *bytes = NULL;
    if (at_most > FEW) {
        TRY(H5Dchunk_iter(id, H5P_DEFAULT, note, t) >= 0);
    }
    for (hsize_t k = 0; at_most <= FEW && k < at_most && !t->found; k++) {
        hsize_t left = k, size = 0;
        for (int i = g->rank - 1; i >= 0; i--) {
            hsize_t first = low[i] / g->chunk[i], along = high[i] / g->chunk[i] - first + 1;
            t->at[i] = (first + left % along) * g->chunk[i];
            left /= along;
        }
        int stored = 0;
        if (concerned(t, t->at)) {
            PASS(find_chunk(err, id, g, t->at, &stored, &size));
        }
        if (stored) {
            PASS(take_chunk(err, id, g, t->at, &t->mask, &bytes, &size));
            t->found = uncertain(t->masks, t->mask, size);
        }
    }
    if (t->found) {
        err->have = t->mask;
        RAISE(put_place(err, g, t->at));
    }
done:
    hyperslab_free(bytes);
    return rc;
}

int goh5_dbounds(goh5_err_t *err, int64_t id, const int64_t *sel, size_t words, size_t rank, uint64_t *first,
                 uint64_t *last, uint64_t *chunk, uint64_t *dims, size_t *axes, size_t *n)
{
    int rc = 0;
    grid_t g = {0};
    goh5_sel_t s = {sel, words, 0};
    hsize_t low[H5S_MAX_RANK], high[H5S_MAX_RANK];
    goh5_enter();
    hid_t space = H5Dget_space(id);
    TRY(space >= 0);
    PASS(grid_open(err, id, &g));
    PASS(goh5_select(err, &s, space, rank, n));
    if (*n == 0) {
        goto done;
    }
    TRY(H5Sget_select_bounds(space, low, high) >= 0);
    *axes = (size_t)g.rank;
    for (int i = 0; i < g.rank; i++) {
        first[i] = low[i] / g.chunk[i];
        last[i] = high[i] / g.chunk[i];
        chunk[i] = g.chunk[i];
        dims[i] = g.dims[i];
    }
done:
    goh5_close_space(space);
    return rc;
}

int goh5_dchunk_head(goh5_err_t *err, int64_t id, const int64_t *offset, size_t rank, uint64_t enough, uint64_t *bytes,
                     uint32_t *mask, uint8_t *head)
{
    int rc = 0;
    grid_t g = {0};
    hsize_t at[H5S_MAX_RANK] = {0}, size = 0;
    uint8_t *stored = NULL;
    goh5_enter();
    PASS(grid_open(err, id, &g));
    PASS(grid_at(err, &g, offset, rank, at));
    int found = 0;
    if (grid_filtered(&g, at)) {
        PASS(find_chunk(err, id, &g, at, &found, &size));
    }
    *bytes = found ? size : 0;
    if (*bytes == 0 || *bytes >= enough) {
        goto done;
    }
    if (past_table(&g)) {
        RAISE(GOH5_EUNSUPPORTED);
    }
    PASS(take_chunk(err, id, &g, at, mask, &stored, &size));
    *bytes = size;
    memset(head, 0, 4);
    memcpy(head, stored, size < 4 ? size : 4);
done:
    hyperslab_free(stored);
    return rc;
}

int goh5_dtouched(goh5_err_t *err, int64_t id, const goh5_masks_t *m, const int64_t *sel, size_t words, size_t rank)
{
    int rc = 0;
    grid_t g = {0};
    goh5_sel_t s = {sel, words, 0};
    size_t n = 0;
    hsize_t low[H5S_MAX_RANK], high[H5S_MAX_RANK], at_most = 1; /* chunks of the selection */
    touched_t t = {.grid = &g, .masks = m, .low = low, .high = high};
    goh5_enter();
    hid_t space = H5Dget_space(id);
    TRY(space >= 0);
    PASS(grid_open(err, id, &g));
    PASS(goh5_select(err, &s, space, rank, &n));
    if (n == 0) {
        goto done;
    }
    TRY(H5Sget_select_bounds(space, low, high) >= 0);
    for (int i = 0; i < g.rank; i++) {
        hsize_t along = high[i] / g.chunk[i] - low[i] / g.chunk[i] + 1;
        at_most = at_most > FEW || along > FEW ? FEW + 1 : at_most * along;
    }
    PASS(find_touched(err, id, &t, at_most, low, high));
done:
    goh5_close_space(space);
    return rc;
}

int goh5_dtouched_shape(goh5_err_t *err, int64_t id, const goh5_masks_t *m, const int64_t *shape, size_t rank)
{
    int rc = 0;
    grid_t g = {0};
    touched_t t = {.grid = &g, .masks = m, .shape = shape};
    goh5_enter();
    PASS(grid_open(err, id, &g));
    if ((size_t)g.rank != rank) {
        goto done; /* goh5_dset_extent reports this error */
    }
    PASS(find_touched(err, id, &t, FEW + 1, NULL, NULL));
done:
    return rc;
}

/* 1 if the two ids refer to the same dataset. */
static int same_object(hid_t a, hid_t b)
{
    H5O_info2_t x, y;
    int cmp = 1;
    if (H5Iget_type(b) != H5I_DATASET || H5Oget_info3(a, &x, H5O_INFO_BASIC) < 0 ||
        H5Oget_info3(b, &y, H5O_INFO_BASIC) < 0 || x.fileno != y.fileno) {
        return 0;
    }
    return H5Otoken_cmp(a, &x.token, &y.token, &cmp) >= 0 && cmp == 0;
}

/* Opens the dataset again: by its name, because only that accepts an access list, or by its token
 * if the links have changed. */
static hid_t open_again(hid_t file, const char *name, H5O_token_t token, hid_t dapl)
{
    hid_t found = name == NULL ? H5I_INVALID_HID : H5Dopen2(file, name, dapl);
    if (found >= 0) {
        H5O_info2_t info;
        int cmp = 1;
        if (H5Oget_info3(found, &info, H5O_INFO_BASIC) >= 0 && H5Otoken_cmp(found, &info.token, &token, &cmp) >= 0 &&
            cmp == 0) {
            return found;
        }
        H5Dclose(found);
    }
    return H5Oopen_by_token(file, token);
}

/* This function is more than one operation of libhdf5 and yet belongs to the binding: the stale
 * entry of the chunk is state of the open dataset, which all ids of the dataset share, so that every
 * id must be closed before one is opened again. Only the binding knows the ids of all handles, also
 * of other goroutines, and the lock must be held until the new ids are in their handles. No function
 * of libhdf5 drops the entry: H5Drefresh does nothing for a file that is open for writing. */
int goh5_dreopen(goh5_err_t *err, int64_t id, int64_t *ids, size_t n)
{
    int rc = 0, held = 0;
    hid_t file = H5I_INVALID_HID, last = H5I_INVALID_HID;
    hid_t *dapl = NULL;
    char *name = NULL;
    H5O_info2_t info;
    goh5_enter();
    TRY((file = H5Iget_file_id(id)) >= 0);
    TRY(H5Oget_info3(id, &info, H5O_INFO_BASIC) >= 0);
    ssize_t name_len = H5Iget_name(id, NULL, 0);
    TRY(name_len >= 0);
    if ((dapl = hyperslab_alloc(n * sizeof *dapl)) == NULL) {
        RAISE(GOH5_ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        dapl[i] = H5I_INVALID_HID;
    }
    if (name_len > 0) {
        if ((name = hyperslab_alloc((size_t)name_len + 1)) == NULL) {
            RAISE(GOH5_ENOMEM);
        }
        TRY(H5Iget_name(id, name, (size_t)name_len + 1) >= 0);
    }
    if (info.rc == 0) { /* an anonymous dataset exists only while it has an open id */
        TRY(H5Oincr_refcount(id) >= 0);
        held = 1;
    }
    for (size_t i = 0; i < n; i++) {
        if (same_object(id, ids[i])) {
            TRY((dapl[i] = H5Dget_access_plist(ids[i])) >= 0);
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (dapl[i] >= 0) {
            TRY(H5Dclose(ids[i]) >= 0);
            ids[i] = H5I_INVALID_HID;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (dapl[i] >= 0) {
            TRY((last = open_again(file, name, info.token, dapl[i])) >= 0);
            ids[i] = last;
        }
    }
    if (held) {
        TRY(H5Odecr_refcount(last) >= 0);
    }
done:
    for (size_t i = 0; dapl != NULL && i < n; i++) {
        goh5_close_plist(dapl[i]);
    }
    hyperslab_free(dapl);
    hyperslab_free(name);
    if (file >= 0) {
        H5Fclose(file);
    }
    return rc;
}

int goh5_fdescriptor(goh5_err_t *err, int64_t id, int32_t *fd)
{
    int rc = 0;
    unsigned intent = 0;
    hid_t fapl = H5I_INVALID_HID;
    void *handle = NULL;
    goh5_enter();
    TRY(H5Fget_intent(id, &intent) >= 0);
    if (intent & (H5F_ACC_RDWR | H5F_ACC_SWMR_READ)) {
        RAISE(GOH5_EMOVING);
    }
    TRY((fapl = H5Fget_access_plist(id)) >= 0);
    hid_t driver = H5Pget_driver(fapl);
    TRY(driver >= 0);
    if (driver != H5FD_SEC2) {
        RAISE(GOH5_EDRIVER);
    }
    TRY(H5Fget_vfd_handle(id, H5P_DEFAULT, &handle) >= 0);
#ifdef _WIN32
    *fd = (int32_t)_get_osfhandle(*(const int *)handle); /* handles have 32 significant bits */
#else
    *fd = *(const int *)handle;
#endif
done:
    goh5_close_plist(fapl);
    return rc;
}
