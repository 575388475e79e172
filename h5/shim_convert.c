/* shim_convert.c: conversion without loss. The library's conversions clamp, round and report only some of it
 * (a double that becomes a float is never reported), so that the values themselves are compared afterwards. */
#include "shim_internal.h"

#include <math.h>
#include <string.h>

/* Elements converted at a time: few enough to stay in the cache, many enough to hide the call. */
enum { PIECE = 4096 };

/* The numbers that decide what fits into what; an enumeration counts as its base. */
typedef struct range {
    H5T_class_t class;
    int is_signed;
    size_t precision;
    size_t exp_size;
    size_t exp_bias;
    size_t mant_size; /* with the implied bit */
} range_t;

static int range_of(goh5_err_t *err, hid_t t, range_t *r)
{
    int rc = 0;
    hid_t base = H5I_INVALID_HID;
    size_t sign_pos, exp_pos, mant_pos;
    memset(r, 0, sizeof *r);
    r->class = H5Tget_class(t);
    TRY(r->class >= 0);
    if (r->class == H5T_ENUM) {
        TRY((base = H5Tget_super(t)) >= 0);
        PASS(range_of(err, base, r));
        r->class = H5T_ENUM;
    } else if (r->class == H5T_INTEGER) {
        r->precision = H5Tget_precision(t);
        r->is_signed = H5Tget_sign(t) == H5T_SGN_2;
    } else if (r->class == H5T_FLOAT) {
        r->precision = H5Tget_precision(t);
        TRY(H5Tget_fields(t, &sign_pos, &exp_pos, &r->exp_size, &mant_pos, &r->mant_size) >= 0);
        r->exp_bias = H5Tget_ebias(t);
        r->mant_size += H5Tget_norm(t) == H5T_NORM_IMPLIED;
    }
done:
    goh5_close_type(base);
    return rc;
}

/* Whether every value of src is a value of dst. */
static int holds(const range_t *dst, const range_t *src)
{
    size_t bits = src->precision - (size_t)src->is_signed;
    if (src->class == H5T_FLOAT) {
        return dst->class == H5T_FLOAT && dst->mant_size >= src->mant_size &&
               (dst->exp_size > src->exp_size || (dst->exp_size == src->exp_size && dst->exp_bias == src->exp_bias));
    }
    if (dst->class == H5T_FLOAT) {
        return dst->mant_size >= bits && dst->exp_bias > bits;
    }
    return (dst->is_signed || !src->is_signed) && dst->precision - (size_t)dst->is_signed >= bits;
}

static int is_number(const range_t *r)
{
    return r->class == H5T_INTEGER || r->class == H5T_FLOAT;
}

int goh5_conversion(goh5_err_t *err, hid_t src, hid_t dst)
{
    int rc = 0;
    range_t s, d;
    hid_t ordered[2] = {H5I_INVALID_HID, H5I_INVALID_HID}, native = H5I_INVALID_HID;
    htri_t equal = H5Tequal(src, dst);
    TRY(equal >= 0);
    if (equal > 0) {
        return GOH5_EXACT;
    }
    PASS(range_of(err, src, &s));
    PASS(range_of(err, dst, &d));
    if ((is_number(&s) || s.class == H5T_ENUM) && is_number(&d)) {
        return holds(&d, &s) ? GOH5_EXACT : GOH5_CHECKED;
    }
    /* Everything else must be the same thing but for byte order, or a native form of what is stored. */
    if (s.class != d.class || !goh5_type_plain(src) || !goh5_type_plain(dst)) {
        RAISE(GOH5_ETYPE);
    }
    PASS(goh5_type_form(err, src, GOH5_ORDERED, &ordered[0]));
    PASS(goh5_type_form(err, dst, GOH5_ORDERED, &ordered[1]));
    PASS(goh5_type_form(err, src, GOH5_NATIVE, &native));
    htri_t same = H5Tequal(ordered[0], ordered[1]);
    htri_t widened = H5Tequal(native, dst);
    TRY(same >= 0 && widened >= 0);
    rc = same || widened ? GOH5_EXACT : GOH5_ETYPE;
done:
    goh5_close_type(ordered[0]);
    goh5_close_type(ordered[1]);
    goh5_close_type(native);
    return rc;
}

typedef struct losses {
    int to_integer;
    int64_t outside; /* values that the destination's range does not reach */
} losses_t;

/* Called by the library, in C, for each value that it cannot keep. Precision is not counted here: the library
 * does not see every loss, and it sees some that are none. */
static H5T_conv_ret_t on_exception(H5T_conv_except_t what, hid_t src, hid_t dst, void *from, void *to, void *data)
{
    (void)src;
    (void)dst;
    (void)from;
    (void)to;
    losses_t *l = data;
    switch (what) {
    case H5T_CONV_EXCEPT_RANGE_HI:
    case H5T_CONV_EXCEPT_RANGE_LOW:
        l->outside++;
        break;
    case H5T_CONV_EXCEPT_PINF:
    case H5T_CONV_EXCEPT_NINF:
    case H5T_CONV_EXCEPT_NAN:
        l->outside += l->to_integer;
        break;
    default:
        break;
    }
    return H5T_CONV_UNHANDLED;
}

/* The type in which both sides are compared: it holds every value of src, and every value of dst that came
 * from one. */
static hid_t meeting_type(const range_t *src)
{
    if (src->class == H5T_FLOAT) {
        return src->mant_size <= 53 ? H5T_NATIVE_DOUBLE : H5T_NATIVE_LDOUBLE;
    }
    return src->is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64;
}

static int64_t count_changed(hid_t meeting, const uint8_t *a, const uint8_t *b, size_t n)
{
    int64_t changed = 0;
    if (meeting == H5T_NATIVE_DOUBLE) {
        for (size_t i = 0; i < n; i++) {
            double x, y;
            memcpy(&x, a + i * sizeof x, sizeof x);
            memcpy(&y, b + i * sizeof y, sizeof y);
            changed += !(x == y || (isnan(x) && isnan(y)));
        }
    } else if (meeting == H5T_NATIVE_LDOUBLE) {
        for (size_t i = 0; i < n; i++) {
            long double x, y;
            memcpy(&x, a + i * sizeof x, sizeof x);
            memcpy(&y, b + i * sizeof y, sizeof y);
            changed += !(x == y || (isnan(x) && isnan(y)));
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            changed += memcmp(a + i * sizeof(int64_t), b + i * sizeof(int64_t), sizeof(int64_t)) != 0;
        }
    }
    return changed;
}

int goh5_convert(goh5_err_t *err, hid_t src_type, hid_t dst_type, const uint8_t *src, uint8_t *dst, size_t n)
{
    int rc = 0;
    range_t s, d;
    losses_t losses = {0}, back = {0};
    int64_t changed = 0;
    uint8_t *there = NULL, *here = NULL;
    hid_t dxpl = H5I_INVALID_HID, back_dxpl = H5I_INVALID_HID;

    PASS(range_of(err, src_type, &s));
    PASS(range_of(err, dst_type, &d));
    if (s.class != H5T_FLOAT && s.precision > 64) {
        RAISE(GOH5_ETYPE);
    }
    hid_t meeting = meeting_type(&s);
    size_t src_size = H5Tget_size(src_type), dst_size = H5Tget_size(dst_type);
    size_t widest = sizeof(long double);
    widest = src_size > widest ? src_size : widest;
    widest = dst_size > widest ? dst_size : widest;
    there = hyperslab_alloc(PIECE * widest);
    here = hyperslab_alloc(PIECE * widest);
    if (there == NULL || here == NULL) {
        RAISE(GOH5_ENOMEM);
    }
    losses.to_integer = d.class != H5T_FLOAT;
    back.to_integer = 1;
    TRY((dxpl = H5Pcreate(H5P_DATASET_XFER)) >= 0);
    TRY(H5Pset_type_conv_cb(dxpl, on_exception, &losses) >= 0);
    TRY((back_dxpl = H5Pcreate(H5P_DATASET_XFER)) >= 0);
    TRY(H5Pset_type_conv_cb(back_dxpl, on_exception, &back) >= 0);
    for (size_t at = 0; at < n; at += PIECE) {
        size_t k = n - at < PIECE ? n - at : PIECE;
        memcpy(there, src + at * src_size, k * src_size);
        memcpy(here, there, k * src_size);
        TRY(H5Tconvert(src_type, dst_type, k, there, NULL, dxpl) >= 0);
        memcpy(dst + at * dst_size, there, k * dst_size);
        TRY(H5Tconvert(dst_type, meeting, k, there, NULL, back_dxpl) >= 0);
        TRY(H5Tconvert(src_type, meeting, k, here, NULL, H5P_DEFAULT) >= 0);
        changed += count_changed(meeting, there, here, k);
    }
    err->have = (int64_t)n;
    if (losses.outside > 0) {
        err->want = losses.outside;
        RAISE(GOH5_EOVERFLOW);
    }
    if (changed > 0 || (back.outside > 0 && d.class == H5T_FLOAT && s.class != H5T_FLOAT)) {
        err->want = changed > 0 ? changed : back.outside;
        RAISE(GOH5_EPRECISION);
    }
done:
    hyperslab_free(there);
    hyperslab_free(here);
    goh5_close_plist(dxpl);
    goh5_close_plist(back_dxpl);
    return rc;
}
