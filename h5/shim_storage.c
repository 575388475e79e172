/* shim_storage.c: decoding and encoding of a dataset's storage and access properties
 * (storage.go). */
#include "shim_internal.h"

#include <string.h>

/* ---------- access ---------- */

int goh5_dapl_get(goh5_err_t *err, goh5_in_t *in, hid_t *dapl)
{
    int rc = 0;
    hid_t made = H5Pcreate(H5P_DATASET_ACCESS);
    TRY(made >= 0);
    uint64_t cached = goh5_get(in);
    size_t slots = goh5_get(in), bytes = goh5_get(in);
    uint64_t word = goh5_get(in);
    double preempt;
    memcpy(&preempt, &word, sizeof preempt);
    if (cached) {
        TRY(H5Pset_chunk_cache(made, slots, bytes, preempt) >= 0);
    }
    const char *prefix = goh5_get_text(in);
    if (*prefix) {
        TRY(H5Pset_efile_prefix(made, prefix) >= 0);
    }
    prefix = goh5_get_text(in);
    if (*prefix) {
        TRY(H5Pset_virtual_prefix(made, prefix) >= 0);
    }
    TRY(H5Pset_virtual_view(made, goh5_get(in) ? H5D_VDS_FIRST_MISSING : H5D_VDS_LAST_AVAILABLE) >= 0);
    TRY(H5Pset_virtual_printf_gap(made, goh5_get(in)) >= 0);
    *dapl = made;
    made = H5I_INVALID_HID;
done:
    goh5_close_plist(made);
    return rc;
}

typedef ssize_t (*get_prefix_t)(hid_t dapl, char *prefix, size_t size);

static int put_prefix(goh5_err_t *err, goh5_buf_t *b, hid_t dapl, get_prefix_t get)
{
    int rc = 0;
    char *prefix = NULL;
    ssize_t n = get(dapl, NULL, 0);
    TRY(n >= 0);
    if ((prefix = hyperslab_alloc((size_t)n + 1)) == NULL) {
        RAISE(GOH5_ENOMEM);
    }
    if (n > 0) {
        TRY(get(dapl, prefix, (size_t)n + 1) >= 0);
    }
    goh5_put_text(b, prefix);
done:
    hyperslab_free(prefix);
    return rc;
}

int goh5_daccess(goh5_err_t *err, int64_t id, goh5_blob_t *out)
{
    int rc = 0;
    goh5_buf_t b = {0};
    size_t slots, bytes;
    double preempt;
    H5D_vds_view_t view;
    hsize_t gap;
    uint64_t word;
    goh5_enter();
    hid_t dapl = H5Dget_access_plist(id);
    TRY(dapl >= 0);
    TRY(H5Pget_chunk_cache(dapl, &slots, &bytes, &preempt) >= 0);
    goh5_put(&b, slots);
    goh5_put(&b, bytes);
    memcpy(&word, &preempt, sizeof word);
    goh5_put(&b, word);
    PASS(put_prefix(err, &b, dapl, H5Pget_efile_prefix));
    PASS(put_prefix(err, &b, dapl, H5Pget_virtual_prefix));
    TRY(H5Pget_virtual_view(dapl, &view) >= 0);
    goh5_put(&b, view == H5D_VDS_FIRST_MISSING);
    TRY(H5Pget_virtual_printf_gap(dapl, &gap) >= 0);
    goh5_put(&b, gap);
    PASS(goh5_buf_end(&b, out));
done:
    goh5_buf_drop(&b);
    goh5_close_plist(dapl);
    return rc;
}

/* ---------- creation ---------- */

static int select_region(goh5_err_t *err, goh5_in_t *in, hid_t space)
{
    int rc = 0;
    hsize_t words[4][H5S_MAX_RANK] = {{0}};
    uint64_t rank = goh5_get(in);
    if (rank > H5S_MAX_RANK) {
        RAISE(GOH5_ETYPE);
    }
    for (size_t i = 0; i < 4; i++) {
        for (uint64_t j = 0; j < rank; j++) {
            words[i][j] = goh5_get(in); /* Unlimited has all bits set, like H5S_UNLIMITED */
        }
    }
    TRY(rank == 0 || H5Sselect_hyperslab(space, H5S_SELECT_SET, words[0], words[2], words[1], words[3]) >= 0);
done:
    return rc;
}

static int set_mapping(goh5_err_t *err, goh5_in_t *in, hid_t dcpl, hid_t space)
{
    int rc = 0;
    hid_t part = H5I_INVALID_HID, source = H5I_INVALID_HID;
    const char *file = goh5_get_text(in), *dataset = goh5_get_text(in);
    TRY((part = H5Scopy(space)) >= 0);
    PASS(select_region(err, in, part));
    TRY((source = goh5_space_get(in)) >= 0);
    PASS(select_region(err, in, source));
    TRY(H5Pset_virtual(dcpl, part, file, dataset, source) >= 0);
done:
    goh5_close_space(part);
    goh5_close_space(source);
    return rc;
}

int goh5_storage_get(goh5_err_t *err, goh5_in_t *in, hid_t dcpl, hid_t space, int *no_fill)
{
    int rc = 0;
    *no_fill = goh5_get(in) != 0;
    TRY(H5Pset_fill_time(dcpl, (H5D_fill_time_t)goh5_get(in)) >= 0);
    H5D_alloc_time_t alloc = (H5D_alloc_time_t)goh5_get(in);
    if (goh5_get(in) != 0) {
        TRY(H5Pset_chunk_opts(dcpl, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) >= 0);
    }
    TRY(H5Pset_obj_track_times(dcpl, goh5_get(in) != 0) >= 0);
    TRY(H5Pset_attr_creation_order(dcpl, (unsigned)goh5_get(in)) >= 0);
    unsigned max = (unsigned)goh5_get(in), min = (unsigned)goh5_get(in);
    TRY(H5Pset_attr_phase_change(dcpl, max, min) >= 0);
    TRY(H5Pset_dset_no_attrs_hint(dcpl, goh5_get(in) != 0) >= 0);
    for (uint64_t n = goh5_get(in); n > 0; n--) {
        const char *name = goh5_get_text(in);
        int64_t offset = (int64_t)goh5_get(in);
        hsize_t size = goh5_get(in);
        TRY(H5Pset_external(dcpl, name, offset, size) >= 0);
    }
    if (goh5_get(in) != 0) {
        TRY(H5Pset_layout(dcpl, H5D_VIRTUAL) >= 0);
    }
    for (uint64_t n = goh5_get(in); n > 0; n--) {
        PASS(set_mapping(err, in, dcpl, space));
    }
    if (alloc != H5D_ALLOC_TIME_DEFAULT) { /* last, because setting the layout resets it */
        TRY(H5Pset_alloc_time(dcpl, alloc) >= 0);
    }
done:
    return rc;
}

/* ---------- encoding ---------- */

/* put_selection encodes a hyperslab, or the bounding box of any other selection. */
static int put_selection(goh5_err_t *err, goh5_buf_t *b, hid_t space)
{
    int rc = 0;
    hsize_t words[4][H5S_MAX_RANK] = {{0}};
    int rank = H5Sget_simple_extent_ndims(space);
    TRY(rank >= 0);
    H5S_sel_type kind = H5Sget_select_type(space);
    htri_t regular = kind == H5S_SEL_HYPERSLABS ? H5Sis_regular_hyperslab(space) : kind == H5S_SEL_ALL;
    TRY(regular >= 0);
    if (kind == H5S_SEL_HYPERSLABS && regular) {
        TRY(H5Sget_regular_hyperslab(space, words[0], words[2], words[1], words[3]) >= 0);
    } else {
        if (kind == H5S_SEL_ALL) {
            TRY(H5Sget_simple_extent_dims(space, words[1], NULL) >= 0);
        } else if (kind != H5S_SEL_NONE && H5Sget_select_npoints(space) > 0) {
            TRY(H5Sget_select_bounds(space, words[0], words[1]) >= 0);
            for (int i = 0; i < rank; i++) {
                words[1][i] += 1 - words[0][i];
            }
        }
        for (int i = 0; i < rank; i++) {
            words[2][i] = words[3][i] = 1;
        }
    }
    goh5_put(b, regular > 0);
    goh5_put(b, (uint64_t)rank);
    for (size_t i = 0; i < 4; i++) {
        for (int j = 0; j < rank; j++) {
            goh5_put(b, words[i][j]);
        }
    }
done:
    return rc;
}

typedef ssize_t (*get_name_t)(hid_t dcpl, size_t index, char *name, size_t size);

static int put_name(goh5_err_t *err, goh5_buf_t *b, hid_t dcpl, size_t i, get_name_t get)
{
    int rc = 0;
    char *name = NULL;
    ssize_t n = get(dcpl, i, NULL, 0);
    TRY(n >= 0);
    if ((name = hyperslab_alloc((size_t)n + 1)) == NULL) {
        RAISE(GOH5_ENOMEM);
    }
    TRY(get(dcpl, i, name, (size_t)n + 1) >= 0);
    goh5_put_text(b, name);
done:
    hyperslab_free(name);
    return rc;
}

static int put_mapping(goh5_err_t *err, goh5_buf_t *b, hid_t dcpl, size_t i)
{
    int rc = 0;
    hid_t part = H5I_INVALID_HID, source = H5I_INVALID_HID;
    PASS(put_name(err, b, dcpl, i, H5Pget_virtual_filename));
    PASS(put_name(err, b, dcpl, i, H5Pget_virtual_dsetname));
    TRY((part = H5Pget_virtual_vspace(dcpl, i)) >= 0);
    PASS(put_selection(err, b, part));
    TRY((source = H5Pget_virtual_srcspace(dcpl, i)) >= 0);
    PASS(goh5_space_put(err, b, source));
    PASS(put_selection(err, b, source));
done:
    goh5_close_space(part);
    goh5_close_space(source);
    return rc;
}

enum { EXTERNAL_NAME = 1 << 16 };

int goh5_external_put(goh5_err_t *err, goh5_buf_t *b, hid_t dcpl)
{
    int rc = 0;
    char *name = NULL;
    int n = H5Pget_external_count(dcpl);
    TRY(n >= 0);
    goh5_put(b, (uint64_t)n);
    if (n > 0 && (name = hyperslab_alloc(EXTERNAL_NAME + 1)) == NULL) {
        RAISE(GOH5_ENOMEM);
    }
    for (unsigned i = 0; i < (unsigned)n; i++) {
        HDoff_t offset = 0;
        hsize_t size = 0;
        memset(name, 0, EXTERNAL_NAME + 1);
        TRY(H5Pget_external(dcpl, i, EXTERNAL_NAME, name, &offset, &size) >= 0);
        goh5_put_text(b, name);
        goh5_put(b, (uint64_t)offset);
        goh5_put(b, size);
    }
done:
    hyperslab_free(name);
    return rc;
}

/* Kinds of chunk index. They must match storage.go. */
enum { INDEX_NONE, INDEX_BTREE1, INDEX_SINGLE, INDEX_IMPLICIT, INDEX_FIXED, INDEX_EXTENSIBLE, INDEX_BTREE2 };

static int put_index(goh5_err_t *err, goh5_buf_t *b, hid_t id, H5D_layout_t layout)
{
    int rc = 0;
    H5D_chunk_index_t index;
    uint64_t word = INDEX_NONE;
    if (layout == H5D_CHUNKED) {
        TRY(H5Dget_chunk_index_type(id, &index) >= 0);
        word = index == H5D_CHUNK_IDX_BTREE    ? INDEX_BTREE1
               : index == H5D_CHUNK_IDX_SINGLE ? INDEX_SINGLE
               : index == H5D_CHUNK_IDX_NONE   ? INDEX_IMPLICIT
               : index == H5D_CHUNK_IDX_FARRAY ? INDEX_FIXED
               : index == H5D_CHUNK_IDX_EARRAY ? INDEX_EXTENSIBLE
                                               : INDEX_BTREE2;
    }
    goh5_put(b, word);
done:
    return rc;
}

int goh5_storage_put(goh5_err_t *err, goh5_buf_t *b, hid_t id, hid_t dcpl)
{
    int rc = 0;
    H5D_fill_time_t fill;
    H5D_alloc_time_t alloc;
    H5O_info2_t info;
    unsigned options = 0, flags, max, min;
    size_t slots, bytes = 0, mappings = 0;
    double preempt;
    hid_t dapl = H5I_INVALID_HID;
    H5D_layout_t layout = H5Pget_layout(dcpl);
    TRY(layout >= 0);
    PASS(put_index(err, b, id, layout));
    TRY(H5Pget_fill_time(dcpl, &fill) >= 0);
    goh5_put(b, (uint64_t)fill);
    TRY(H5Pget_alloc_time(dcpl, &alloc) >= 0);
    goh5_put(b, (uint64_t)alloc);
    if (layout == H5D_CHUNKED) {
        TRY(H5Pget_chunk_opts(dcpl, &options) >= 0);
    }
    goh5_put(b, options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
    /* The property list always reports times for object headers of version 1, even if they store
     * none. */
    TRY(H5Oget_info3(id, &info, H5O_INFO_TIME) >= 0);
    goh5_put(b, info.ctime != 0);
    TRY(H5Pget_attr_creation_order(dcpl, &flags) >= 0);
    goh5_put(b, flags);
    TRY(H5Pget_attr_phase_change(dcpl, &max, &min) >= 0);
    goh5_put(b, max);
    goh5_put(b, min);
    htri_t known = H5Pall_filters_avail(dcpl);
    TRY(known >= 0);
    goh5_put(b, known > 0);
    if (layout == H5D_CHUNKED) {
        TRY((dapl = H5Dget_access_plist(id)) >= 0);
        TRY(H5Pget_chunk_cache(dapl, &slots, &bytes, &preempt) >= 0);
    }
    goh5_put(b, bytes);
    PASS(goh5_external_put(err, b, dcpl));
    if (layout == H5D_VIRTUAL) {
        TRY(H5Pget_virtual_count(dcpl, &mappings) >= 0);
    }
    goh5_put(b, mappings);
    for (size_t i = 0; i < mappings; i++) {
        PASS(put_mapping(err, b, dcpl, i));
    }
done:
    goh5_close_plist(dapl);
    return rc;
}
