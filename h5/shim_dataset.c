/* shim_dataset.c: creating, opening, describing and resizing datasets. */
#include "shim_internal.h"

#include <string.h>

/* Options of a new dataset, in the encoding of dataset.go: layout, filters in pipeline order, fill
 * value, dataspace, other storage properties (shim_storage.c) and datatype. */
enum { LAYOUT_COMPACT = 1, LAYOUT_CONTIGUOUS = 2, LAYOUT_CHUNKED = 3, LAYOUT_VIRTUAL = 4 };

static void skip_filters(goh5_in_t *in)
{
    for (uint64_t n = goh5_get(in); n > 0 && !in->bad; n--) {
        goh5_get(in);
        goh5_get(in);
        for (uint64_t count = goh5_get(in); count > 0 && !in->bad; count--) {
            goh5_get(in);
        }
    }
}

/* set_filter appends a filter. For filters of libhdf5 it uses the functions that compute their
 * parameters. */
static int set_filter(goh5_err_t *err, hid_t dcpl, H5Z_filter_t id, unsigned flags, size_t n, const unsigned *values)
{
    int rc = 0;
    if (flags == H5Z_FLAG_OPTIONAL && id == H5Z_FILTER_SZIP && n == 2) {
        TRY(H5Pset_szip(dcpl, values[0], values[1]) >= 0);
    } else if (flags == H5Z_FLAG_OPTIONAL && id == H5Z_FILTER_SCALEOFFSET && n == 2) {
        TRY(H5Pset_scaleoffset(dcpl, (H5Z_SO_scale_type_t)values[0], (int)values[1]) >= 0);
    } else if (flags == H5Z_FLAG_OPTIONAL && id == H5Z_FILTER_NBIT && n == 0) {
        TRY(H5Pset_nbit(dcpl) >= 0);
    } else {
        TRY(H5Pset_filter(dcpl, id, flags, n, values) >= 0);
    }
done:
    return rc;
}

static int set_filters(goh5_err_t *err, goh5_in_t in, hid_t dcpl)
{
    int rc = 0;
    unsigned *values = NULL;
    for (uint64_t n = goh5_get(&in); n > 0; n--) {
        H5Z_filter_t id = (H5Z_filter_t)goh5_get(&in);
        unsigned flags = goh5_get(&in) != 0 ? H5Z_FLAG_OPTIONAL : H5Z_FLAG_MANDATORY;
        size_t count = (size_t)goh5_get(&in);
        if ((values = hyperslab_alloc((count + 1) * sizeof *values)) == NULL) {
            RAISE(GOH5_ENOMEM);
        }
        for (size_t i = 0; i < count; i++) {
            values[i] = (unsigned)goh5_get(&in);
        }
        htri_t have = H5Zfilter_avail(id);
        TRY(have >= 0);
        if (!have && flags == H5Z_FLAG_MANDATORY) {
            err->filter = id;
            RAISE(GOH5_ENOFILTER);
        }
        PASS(set_filter(err, dcpl, id, flags, count, values));
        hyperslab_free(values);
        values = NULL;
    }
done:
    hyperslab_free(values);
    return rc;
}

/* Forms of a fill value: none, an element without pointers, a block of shim_value.c. They must
 * match dataset.go. */
enum { FILL_NONE = 0, FILL_BYTES = 1, FILL_VALUES = 2 };

typedef struct fill {
    uint64_t form;
    const uint8_t *data;
    size_t len;
} fill_t;

static int get_creation(goh5_err_t *err, goh5_in_t *in, hid_t dcpl, fill_t *fill)
{
    int rc = 0;
    hsize_t chunks[H5S_MAX_RANK] = {0};
    uint64_t layout = goh5_get(in);
    uint64_t rank = goh5_get(in);
    if (rank > H5S_MAX_RANK) {
        RAISE(GOH5_ETYPE);
    }
    for (uint64_t i = 0; i < rank; i++) {
        chunks[i] = goh5_get(in);
    }
    uint64_t shuffle = goh5_get(in);
    int64_t deflate = (int64_t)goh5_get(in);
    const goh5_in_t more = *in; /* filters after shuffle and deflate */
    skip_filters(in);
    uint64_t fletcher = goh5_get(in);
    fill->form = goh5_get(in);
    fill->data = goh5_get_bytes(in, &fill->len);
    switch (layout) {
    case LAYOUT_COMPACT:
        TRY(H5Pset_layout(dcpl, H5D_COMPACT) >= 0);
        break;
    case LAYOUT_CHUNKED:
        TRY(H5Pset_chunk(dcpl, (int)rank, chunks) >= 0);
        break;
    default:
        TRY(H5Pset_layout(dcpl, H5D_CONTIGUOUS) >= 0);
        break;
    }
    if (shuffle) {
        TRY(H5Pset_shuffle(dcpl) >= 0);
    }
    if (deflate >= 0) {
        TRY(H5Pset_deflate(dcpl, (unsigned)deflate) >= 0);
    }
    PASS(set_filters(err, more, dcpl));
    if (fletcher) {
        TRY(H5Pset_fletcher32(dcpl) >= 0);
    }
done:
    return rc;
}

/* The property list keeps a deep copy of the value. */
static int set_fill(goh5_err_t *err, hid_t dcpl, hid_t loc, hid_t type, const fill_t *fill)
{
    int rc = 0;
    goh5_values_t values = {0};
    const uint8_t *value = fill->data;
    if (fill->form == FILL_NONE) {
        return 0;
    }
    if (fill->form == FILL_VALUES) {
        PASS(goh5_values_get(err, loc, type, fill->data, fill->len, 1, &values));
        value = values.block;
    } else {
        size_t size = H5Tget_size(type);
        if (fill->len != size || goh5_type_plain(type) != 1) {
            err->have = (int64_t)fill->len;
            err->want = (int64_t)size;
            RAISE(GOH5_ESIZE);
        }
    }
    TRY(H5Pset_fill_value(dcpl, type, value) >= 0);
done:
    goh5_values_drop(&values);
    return rc;
}

int goh5_dcreate(goh5_err_t *err, int64_t loc, const char *name, int32_t utf8, const uint8_t *spec, size_t spec_len,
                 int64_t *id)
{
    int rc = 0;
    hid_t lcpl = H5I_INVALID_HID, dcpl = H5I_INVALID_HID, space = H5I_INVALID_HID, type = H5I_INVALID_HID;
    hid_t dapl = H5I_INVALID_HID;
    goh5_in_t in = {spec, spec_len, 0};
    fill_t fill = {0};
    int no_fill = 0;
    goh5_enter();
    TRY((dcpl = H5Pcreate(H5P_DATASET_CREATE)) >= 0);
    PASS(get_creation(err, &in, dcpl, &fill));
    TRY((space = goh5_space_get(&in)) >= 0);
    PASS(goh5_storage_get(err, &in, dcpl, space, &no_fill));
    PASS(goh5_dapl_get(err, &in, &dapl));
    PASS(goh5_type_read(in.p, in.left, GOH5_STORED, &type));
    PASS(set_fill(err, dcpl, loc, type, &fill));
    if (no_fill) {
        TRY(H5Pset_fill_value(dcpl, type, NULL) >= 0);
    }
    PASS(goh5_link_plist(err, utf8, &lcpl));
    hid_t dataset = name == NULL ? H5Dcreate_anon(loc, type, space, dcpl, dapl)
                                 : H5Dcreate2(loc, name, type, space, lcpl, dcpl, dapl);
    TRY(dataset >= 0);
    *id = dataset;
done:
    goh5_close_plist(lcpl);
    goh5_close_plist(dcpl);
    goh5_close_plist(dapl);
    goh5_close_space(space);
    goh5_close_type(type);
    return rc;
}

int goh5_dopen(goh5_err_t *err, int64_t loc, const char *name, const uint8_t *spec, size_t spec_len, int64_t *id)
{
    int rc = 0;
    hid_t dapl = H5P_DEFAULT;
    goh5_in_t in = {spec, spec_len, 0};
    goh5_enter();
    if (spec_len > 0) {
        PASS(goh5_dapl_get(err, &in, &dapl));
    }
    hid_t dataset = H5Dopen2(loc, name, dapl);
    TRY(dataset >= 0);
    *id = dataset;
done:
    goh5_close_plist(dapl);
    return rc;
}

static int put_layout(goh5_err_t *err, goh5_buf_t *b, hid_t id, hid_t dcpl)
{
    int rc = 0;
    hsize_t chunks[H5S_MAX_RANK] = {0};
    int rank = 0;
    H5D_layout_t layout = H5Pget_layout(dcpl);
    TRY(layout >= 0);
    if (layout == H5D_CHUNKED) {
        TRY((rank = H5Pget_chunk(dcpl, H5S_MAX_RANK, chunks)) >= 0);
    }
    goh5_put(b, layout == H5D_COMPACT      ? LAYOUT_COMPACT
                : layout == H5D_CONTIGUOUS ? LAYOUT_CONTIGUOUS
                : layout == H5D_CHUNKED    ? LAYOUT_CHUNKED
                                           : LAYOUT_VIRTUAL);
    goh5_put(b, (uint64_t)rank);
    for (int i = 0; i < rank; i++) {
        goh5_put(b, chunks[i]);
    }
    int external = H5Pget_external_count(dcpl);
    TRY(external >= 0);
    goh5_put(b, layout == H5D_CONTIGUOUS && external == 0 ? H5Dget_offset(id) : HADDR_UNDEF);
done:
    return rc;
}

static int put_filters(goh5_err_t *err, goh5_buf_t *b, hid_t dcpl)
{
    int rc = 0;
    unsigned *values = NULL;
    int n = H5Pget_nfilters(dcpl);
    TRY(n >= 0);
    goh5_put(b, (uint64_t)n);
    for (unsigned i = 0; i < (unsigned)n; i++) {
        unsigned flags = 0, config = 0;
        size_t count = 0;
        char name[256] = {0};
        TRY(H5Pget_filter2(dcpl, i, &flags, &count, NULL, sizeof name, name, &config) >= 0);
        hyperslab_free(values);
        if ((values = hyperslab_alloc(count * sizeof *values)) == NULL) {
            RAISE(GOH5_ENOMEM);
        }
        H5Z_filter_t filter = H5Pget_filter2(dcpl, i, &flags, &count, values, sizeof name, name, &config);
        TRY(filter >= 0);
        name[sizeof name - 1] = 0;
        goh5_put(b, (uint64_t)filter);
        goh5_put(b, flags);
        goh5_put_text(b, name);
        goh5_put(b, count);
        for (size_t j = 0; j < count; j++) {
            goh5_put(b, values[j]);
        }
    }
done:
    hyperslab_free(values);
    return rc;
}

/* A fill value with pointers is memory of libhdf5. The property list contains a copy, and
 * H5Pget_fill_value makes another copy in our memory. */
static int put_fill_values(goh5_err_t *err, goh5_buf_t *b, hid_t id, hid_t dcpl, hid_t type)
{
    int rc = 0, got = 0;
    uint8_t *value = NULL;
    hid_t mem_type = H5I_INVALID_HID, one = H5I_INVALID_HID;
    goh5_buf_t values = {0};
    TRY((one = H5Screate(H5S_SCALAR)) >= 0);
    PASS(goh5_type_form(err, type, GOH5_STORED, &mem_type));
    if ((value = hyperslab_alloc(H5Tget_size(mem_type))) == NULL) {
        RAISE(GOH5_ENOMEM);
    }
    TRY(H5Pget_fill_value(dcpl, mem_type, value) >= 0);
    got = 1;
    PASS(goh5_values_put(err, &values, id, mem_type, value, 1));
    if (values.failed) {
        RAISE(GOH5_ENOMEM);
    }
    goh5_put_bytes(b, values.data, values.len);
done:
    if (got) {
        H5Treclaim(mem_type, one, H5P_DEFAULT, value);
    }
    goh5_buf_drop(&values);
    hyperslab_free(value);
    goh5_close_type(mem_type);
    goh5_close_space(one);
    return rc;
}

static int put_fill(goh5_err_t *err, goh5_buf_t *b, hid_t id, hid_t dcpl, hid_t type)
{
    int rc = 0;
    uint8_t *value = NULL;
    H5D_fill_value_t status;
    TRY(H5Pfill_value_defined(dcpl, &status) >= 0);
    int plain = goh5_type_plain(type);
    TRY(plain >= 0);
    goh5_put(b, status == H5D_FILL_VALUE_UNDEFINED ? 0 : status == H5D_FILL_VALUE_DEFAULT ? 1 : 2);
    if (status != H5D_FILL_VALUE_USER_DEFINED) {
        goto done;
    }
    goh5_put(b, (uint64_t)(plain ? FILL_BYTES : FILL_VALUES));
    if (plain) {
        size_t size = H5Tget_size(type);
        if ((value = hyperslab_alloc(size)) == NULL) {
            RAISE(GOH5_ENOMEM);
        }
        TRY(H5Pget_fill_value(dcpl, type, value) >= 0);
        goh5_put_bytes(b, value, size);
    } else {
        PASS(put_fill_values(err, b, id, dcpl, type));
    }
done:
    hyperslab_free(value);
    return rc;
}

int goh5_dinfo(goh5_err_t *err, int64_t id, goh5_blob_t *out)
{
    int rc = 0;
    hid_t type = H5I_INVALID_HID, space = H5I_INVALID_HID, dcpl = H5I_INVALID_HID;
    goh5_buf_t b = {0};
    goh5_enter();
    TRY((type = H5Dget_type(id)) >= 0);
    TRY((space = H5Dget_space(id)) >= 0);
    TRY((dcpl = H5Dget_create_plist(id)) >= 0);
    PASS(goh5_check_ranks(err, dcpl, space));
    PASS(goh5_type_put(err, &b, type, 0));
    PASS(goh5_space_put(err, &b, space));
    PASS(put_layout(err, &b, id, dcpl));
    PASS(put_filters(err, &b, dcpl));
    PASS(put_fill(err, &b, id, dcpl, type));
    PASS(goh5_storage_put(err, &b, id, dcpl));
    PASS(goh5_buf_end(&b, out));
done:
    goh5_buf_drop(&b);
    goh5_close_type(type);
    goh5_close_space(space);
    goh5_close_plist(dcpl);
    return rc;
}

/* Whether the pipeline has a filter without bounds checks, which trusts its parameters or the
 * length of a chunk (steps.go). */
static int has_trusting(goh5_err_t *err, hid_t dcpl, int *has)
{
    int rc = 0;
    *has = 0;
    if (H5Pget_layout(dcpl) == H5D_CHUNKED) {
        int n = H5Pget_nfilters(dcpl);
        TRY(n >= 0);
        for (unsigned i = 0; i < (unsigned)n && !*has; i++) {
            unsigned flags = 0, config = 0;
            size_t count = 0;
            H5Z_filter_t filter = H5Pget_filter2(dcpl, i, &flags, &count, NULL, 0, NULL, &config);
            TRY(filter >= 0);
            *has = filter == H5Z_FILTER_SZIP || filter == H5Z_FILTER_NBIT || filter == H5Z_FILTER_SCALEOFFSET ||
                   filter == H5Z_FILTER_FLETCHER32;
        }
    }
done:
    return rc;
}

int goh5_dsteps(goh5_err_t *err, int64_t id, goh5_blob_t *out)
{
    int rc = 0, has = 0;
    hid_t type = H5I_INVALID_HID, dcpl = H5I_INVALID_HID, space = H5I_INVALID_HID;
    goh5_buf_t b = {0};
    goh5_enter();
    /* Only elements without chunks and so without filters have an offset. libhdf5 copies all
     * properties for H5Dget_create_plist. */
    if (H5Dget_offset(id) == HADDR_UNDEF) {
        TRY((dcpl = H5Dget_create_plist(id)) >= 0);
        TRY((space = H5Dget_space(id)) >= 0);
        PASS(goh5_check_ranks(err, dcpl, space));
        PASS(has_trusting(err, dcpl, &has));
    }
    goh5_put(&b, (uint64_t)has);
    if (has) {
        hsize_t chunk[H5S_MAX_RANK] = {0};
        uint64_t elements = 1;
        TRY((type = H5Dget_type(id)) >= 0);
        int plain = goh5_type_plain(type);
        TRY(plain >= 0);
        int rank = H5Pget_chunk(dcpl, H5S_MAX_RANK, chunk);
        TRY(rank >= 0);
        for (int i = 0; i < rank; i++) {
            elements *= chunk[i];
        }
        goh5_put(&b, elements);
        goh5_put(&b, plain ? H5Tget_size(type) : 0);
        PASS(put_filters(err, &b, dcpl));
    }
    PASS(goh5_buf_end(&b, out));
done:
    goh5_buf_drop(&b);
    goh5_close_type(type);
    goh5_close_space(space);
    goh5_close_plist(dcpl);
    return rc;
}

int goh5_dexternal(goh5_err_t *err, int64_t id, goh5_blob_t *out)
{
    int rc = 0;
    goh5_buf_t b = {0};
    goh5_enter();
    hid_t dcpl = H5Dget_create_plist(id);
    TRY(dcpl >= 0);
    PASS(goh5_external_put(err, &b, dcpl));
    PASS(goh5_buf_end(&b, out));
done:
    goh5_buf_drop(&b);
    goh5_close_plist(dcpl);
    return rc;
}

int goh5_home(goh5_err_t *err, int64_t id, goh5_blob_t *out)
{
    int rc = 0;
    goh5_buf_t b = {0};
    char *name = NULL;
    unsigned intent = 0;
    hid_t file = H5I_INVALID_HID;
    goh5_enter();
    TRY((file = H5Iget_file_id(id)) >= 0);
    ssize_t len = H5Fget_name(file, NULL, 0);
    TRY(len >= 0);
    if ((name = hyperslab_alloc((size_t)len + 1)) == NULL) {
        RAISE(GOH5_ENOMEM);
    }
    TRY(H5Fget_name(file, name, (size_t)len + 1) >= 0);
    TRY(H5Fget_intent(file, &intent) >= 0);
    goh5_put_text(&b, name);
    goh5_put(&b, (intent & H5F_ACC_RDWR) != 0);
    goh5_put(&b, (intent & (H5F_ACC_SWMR_READ | H5F_ACC_SWMR_WRITE)) != 0);
    PASS(goh5_buf_end(&b, out));
done:
    if (file >= 0) {
        H5Fclose(file);
    }
    hyperslab_free(name);
    goh5_buf_drop(&b);
    return rc;
}

int goh5_dset_extent(goh5_err_t *err, int64_t id, const int64_t *dims, size_t rank)
{
    int rc = 0;
    hsize_t want[H5S_MAX_RANK] = {0};
    hid_t space = H5I_INVALID_HID;
    goh5_enter();
    TRY((space = H5Dget_space(id)) >= 0);
    int have = H5Sget_simple_extent_ndims(space);
    TRY(have >= 0);
    if ((size_t)have != rank || rank > H5S_MAX_RANK) {
        err->have = (int64_t)rank;
        err->want = have;
        RAISE(GOH5_ESIZE); /* libhdf5 reads as many numbers as the dataset has dimensions */
    }
    for (size_t i = 0; i < rank; i++) {
        want[i] = (hsize_t)dims[i];
    }
    TRY(H5Dset_extent(id, want) >= 0);
done:
    goh5_close_space(space);
    return rc;
}

int goh5_dstored(goh5_err_t *err, int64_t id, uint64_t *bytes, int32_t *allocated)
{
    int rc = 0;
    H5D_space_status_t status;
    goh5_enter();
    TRY(H5Dget_space_status(id, &status) >= 0);
    *allocated = status == H5D_SPACE_STATUS_ALLOCATED;
    *bytes = H5Dget_storage_size(id);
done:
    return rc;
}

int goh5_dflush(goh5_err_t *err, int64_t id)
{
    int rc = 0;
    goh5_enter();
    TRY(H5Dflush(id) >= 0);
done:
    return rc;
}

int goh5_drefresh(goh5_err_t *err, int64_t id)
{
    int rc = 0;
    goh5_enter();
    TRY(H5Drefresh(id) >= 0);
done:
    return rc;
}
