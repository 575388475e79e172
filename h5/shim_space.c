/* shim_space.c: dataspaces, and the one that is kept between transfers. */
#include "shim_internal.h"

/* Kinds of dataspace. They must match dataspace.go. */
enum { SPACE_SCALAR = 1, SPACE_NULL = 2, SPACE_SIMPLE = 3 };

int goh5_space_put(goh5_err_t *err, goh5_buf_t *b, hid_t space)
{
    int rc = 0;
    hsize_t dims[H5S_MAX_RANK] = {0};
    hsize_t max[H5S_MAX_RANK] = {0};
    H5S_class_t class = H5Sget_simple_extent_type(space);
    TRY(class >= 0);
    int rank = H5Sget_simple_extent_dims(space, dims, max);
    TRY(rank >= 0);
    goh5_put(b, class == H5S_SCALAR ? SPACE_SCALAR : class == H5S_NULL ? SPACE_NULL : SPACE_SIMPLE);
    goh5_put(b, (uint64_t)rank);
    for (int i = 0; i < rank; i++) {
        goh5_put(b, dims[i]);
    }
    for (int i = 0; i < rank; i++) {
        goh5_put(b, max[i]); /* H5S_UNLIMITED has all bits set, like Go's -1 */
    }
done:
    return rc;
}

hid_t goh5_space_get(goh5_in_t *in)
{
    hsize_t dims[H5S_MAX_RANK] = {0};
    hsize_t max[H5S_MAX_RANK] = {0};
    uint64_t kind = goh5_get(in);
    uint64_t rank = goh5_get(in);
    if (rank > H5S_MAX_RANK) {
        in->bad = 1;
        return H5I_INVALID_HID;
    }
    for (uint64_t i = 0; i < rank; i++) {
        dims[i] = goh5_get(in);
    }
    for (uint64_t i = 0; i < rank; i++) {
        max[i] = goh5_get(in);
    }
    if (in->bad) {
        return H5I_INVALID_HID;
    }
    switch (kind) {
    case SPACE_SCALAR:
        return H5Screate(H5S_SCALAR);
    case SPACE_NULL:
        return H5Screate(H5S_NULL);
    default:
        return H5Screate_simple((int)rank, dims, max);
    }
}

/* libhdf5 opens a dataset of a corrupt file whose chunks have a different number of dimensions, and
 * then reads array elements that were not set. */
int goh5_check_ranks(goh5_err_t *err, hid_t dcpl, hid_t space)
{
    int rc = 0;
    if (H5Pget_layout(dcpl) == H5D_CHUNKED) {
        int have = H5Pget_chunk(dcpl, 0, NULL), want = H5Sget_simple_extent_ndims(space);
        TRY(have >= 0 && want >= 0);
        if (have != want) {
            err->have = have;
            err->want = want;
            RAISE(GOH5_ERANKS);
        }
    }
done:
    return rc;
}

goh5_kept_t goh5_kept = {H5I_INVALID_HID, H5I_INVALID_HID};

void goh5_drop_space(int64_t dataset)
{
    if (dataset == goh5_kept.dataset || dataset == 0) {
        goh5_close_space(goh5_kept.space);
        goh5_kept.dataset = goh5_kept.space = H5I_INVALID_HID;
    }
}
