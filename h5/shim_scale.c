/* shim_scale.c: dimension scales, libhdf5's convention for the coordinates of a dataset's
 * dimensions. */
#include "shim_internal.h"

#include <hdf5_hl.h>
#include <string.h>

/* Fails for an invalid dimension, because libhdf5 uses it as an array index without a check. */
static int check_axis(goh5_err_t *err, hid_t id, int64_t axis)
{
    int rc = 0;
    hid_t space = H5Dget_space(id);
    TRY(space >= 0);
    int rank = H5Sget_simple_extent_ndims(space);
    TRY(rank >= 0);
    if (axis < 0 || axis >= rank) {
        err->have = rank;
        err->want = axis;
        RAISE(GOH5_EAXIS);
    }
done:
    goh5_close_space(space);
    return rc;
}

/* Reports whether H5DSis_scale must not be called. It frees its buffer twice if the attribute CLASS
 * has 16 bytes but is not DIMENSION_SCALE, and most H5DS functions call it. */
static int class_is_odd(goh5_err_t *err, hid_t id, int *odd)
{
    static const char scale[] = "DIMENSION_SCALE";
    int rc = 0;
    char text[sizeof scale + 1] = {0};
    hid_t attr = H5I_INVALID_HID, type = H5I_INVALID_HID;
    *odd = 0;
    htri_t there = H5Aexists(id, "CLASS");
    TRY(there >= 0);
    if (there == 0) {
        goto done;
    }
    TRY((attr = H5Aopen(id, "CLASS", H5P_DEFAULT)) >= 0);
    TRY((type = H5Aget_type(attr)) >= 0);
    if (H5Tget_class(type) != H5T_STRING || H5Tget_size(type) != sizeof scale ||
        H5Tget_strpad(type) != H5T_STR_NULLTERM) {
        goto done;
    }
    hid_t space = H5Aget_space(attr);
    TRY(space >= 0);
    hssize_t n = H5Sget_simple_extent_npoints(space);
    goh5_close_space(space);
    if (n != 1) { /* libhdf5 reads all elements into a buffer for one */
        *odd = 1;
        goto done;
    }
    TRY(H5Aread(attr, type, text) >= 0);
    *odd = strncmp(text, scale, strlen(text)) != 0;
done:
    if (type >= 0) {
        H5Tclose(type);
    }
    if (attr >= 0) {
        H5Aclose(attr);
    }
    return rc;
}

/* Fails with GOH5_ECLASS if class_is_odd reports the dataset, which is not a dimension scale. */
static int check_class(goh5_err_t *err, hid_t id)
{
    int rc = 0, odd;
    PASS(class_is_odd(err, id, &odd));
    if (odd) {
        RAISE(GOH5_ECLASS);
    }
done:
    return rc;
}

int goh5_scale_make(goh5_err_t *err, int64_t id, const char *name)
{
    int rc = 0;
    goh5_enter();
    TRY(H5DSset_scale(id, name) >= 0);
done:
    return rc;
}

/* Encodes the scale name (axis < 0) or the label of a dimension. libhdf5 is called twice, first for
 * the length. */
static int put_text_of(goh5_err_t *err, goh5_buf_t *b, hid_t id, int axis)
{
    int rc = 0, odd = 0;
    char *text = NULL;
    if (axis < 0) {
        PASS(class_is_odd(err, id, &odd));
    }
    if (odd) {
        goh5_put_text(b, "");
        goto done;
    }
    ssize_t n = axis < 0 ? H5DSget_scale_name(id, NULL, 0) : H5DSget_label(id, (unsigned)axis, NULL, 0);
    TRY(n >= 0);
    if ((text = hyperslab_alloc((size_t)n + 1)) == NULL) {
        RAISE(GOH5_ENOMEM);
    }
    memset(text, 0, (size_t)n + 1);
    if (n > 0) {
        TRY((axis < 0 ? H5DSget_scale_name(id, text, (size_t)n + 1)
                      : H5DSget_label(id, (unsigned)axis, text, (size_t)n + 1)) >= 0);
    }
    goh5_put_text(b, text);
done:
    hyperslab_free(text);
    return rc;
}

int goh5_scale_name(goh5_err_t *err, int64_t id, int32_t *is, goh5_blob_t *out)
{
    int rc = 0;
    goh5_buf_t b = {0};
    int odd;
    goh5_enter();
    PASS(class_is_odd(err, id, &odd));
    htri_t scale = odd ? 0 : H5DSis_scale(id);
    TRY(scale >= 0);
    if (scale > 0) {
        PASS(put_text_of(err, &b, id, -1));
    } else {
        goh5_put_text(&b, NULL);
    }
    PASS(goh5_buf_end(&b, out));
    *is = scale > 0;
done:
    goh5_buf_drop(&b);
    return rc;
}

int goh5_scale_attach(goh5_err_t *err, int64_t id, int64_t scale, int64_t axis, int32_t attach)
{
    int rc = 0;
    goh5_enter();
    PASS(check_axis(err, id, axis));
    PASS(check_class(err, id));
    PASS(check_class(err, scale));
    if (attach) {
        TRY(H5DSattach_scale(id, scale, (unsigned)axis) >= 0);
    } else {
        TRY(H5DSdetach_scale(id, scale, (unsigned)axis) >= 0);
    }
done:
    return rc;
}

int goh5_scale_attached(goh5_err_t *err, int64_t id, int64_t scale, int64_t axis, int32_t *attached)
{
    int rc = 0;
    goh5_enter();
    PASS(check_axis(err, id, axis));
    PASS(check_class(err, id));
    PASS(check_class(err, scale));
    htri_t is = H5DSis_attached(id, scale, (unsigned)axis);
    TRY(is >= 0);
    *attached = is > 0;
done:
    return rc;
}

int goh5_set_label(goh5_err_t *err, int64_t id, int64_t axis, const char *label)
{
    int rc = 0;
    goh5_enter();
    PASS(check_axis(err, id, axis));
    TRY(H5DSset_label(id, (unsigned)axis, label) >= 0);
done:
    return rc;
}

int goh5_label(goh5_err_t *err, int64_t id, int64_t axis, goh5_blob_t *out)
{
    int rc = 0;
    goh5_buf_t b = {0};
    goh5_enter();
    PASS(check_axis(err, id, axis));
    PASS(put_text_of(err, &b, id, (int)axis));
    PASS(goh5_buf_end(&b, out));
done:
    goh5_buf_drop(&b);
    return rc;
}

typedef struct scales {
    goh5_err_t *err;
    goh5_buf_t buf;
    uint64_t count;
    int rc;
} scales_t;

static int put_scale(hid_t scale, scales_t *s)
{
    int rc = 0;
    goh5_err_t *err = s->err;
    H5O_info2_t info;
    haddr_t addr = HADDR_UNDEF;
    char *path = NULL;
    TRY(H5Oget_info3(scale, &info, H5O_INFO_BASIC) >= 0);
    TRY(H5VLnative_token_to_addr(scale, info.token, &addr) >= 0);
    ssize_t n = H5Iget_name(scale, NULL, 0);
    TRY(n >= 0);
    if ((path = hyperslab_alloc((size_t)n + 1)) == NULL) {
        RAISE(GOH5_ENOMEM);
    }
    path[0] = 0;
    TRY(n == 0 || H5Iget_name(scale, path, (size_t)n + 1) >= 0);
    goh5_put_text(&s->buf, path);
    goh5_put(&s->buf, addr);
    PASS(put_text_of(err, &s->buf, scale, -1));
    s->count++;
done:
    hyperslab_free(path);
    return rc;
}

static herr_t each_scale(hid_t id, unsigned axis, hid_t scale, void *data)
{
    (void)id;
    (void)axis;
    scales_t *s = data;
    s->rc = put_scale(scale, s);
    return s->rc < 0 ? -1 : 0;
}

int goh5_scales(goh5_err_t *err, int64_t id, int64_t axis, goh5_blob_t *out)
{
    int rc = 0;
    scales_t s = {0};
    s.err = err;
    goh5_enter();
    PASS(check_axis(err, id, axis));
    goh5_put(&s.buf, 0);
    int n = H5DSget_num_scales(id, (unsigned)axis);
    TRY(n >= 0);
    if (n > 0) {
        int done = H5DSiterate_scales(id, (unsigned)axis, NULL, each_scale, &s);
        if (s.rc < 0) {
            RAISE(s.rc);
        }
        TRY(done >= 0);
    }
    goh5_set(&s.buf, 0, s.count);
    PASS(goh5_buf_end(&s.buf, out));
done:
    goh5_buf_drop(&s.buf);
    return rc;
}
