/* shim_convert.c: conversion without loss. libhdf5 clamps and rounds, and calls its exception
 * callback only in some cases: for example, not for a double converted to float, a big-endian -1
 * converted to unsigned, or a NaN converted to a 64-bit integer. Therefore the values themselves
 * are compared. */
#include "shim_internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Elements converted at a time: few enough for the CPU cache, many enough to amortise the call. */
enum { PIECE = 4096 };

/* Properties of a number type that decide which values it can represent. An enumeration counts as
 * its base. */
typedef struct range {
    H5T_class_t class;
    int is_signed;
    size_t precision;
    size_t exp_size;
    size_t exp_bias;
    size_t mant_size; /* with the implied bit */
    int msb_set;      /* H5T_NORM_MSBSET, which libhdf5 can describe but not convert */
} range_t;

static const range_t a_double = {H5T_FLOAT, 1, 8 * sizeof(double), 11, DBL_MAX_EXP - 1, DBL_MANT_DIG, 0};
static const range_t a_long_double = {
    H5T_FLOAT, 1, 8 * sizeof(long double), LDBL_MAX_EXP == DBL_MAX_EXP ? 11 : 15, LDBL_MAX_EXP - 1, LDBL_MANT_DIG, 0};

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
        r->msb_set = H5Tget_norm(t) == H5T_NORM_MSBSET;
    }
done:
    goh5_close_type(base);
    return rc;
}

/* Whether dst can represent every exponent of src. The largest exponent of dst is reserved for
 * infinity. */
static int holds_exponents(const range_t *dst, const range_t *src)
{
    if (dst->exp_size == src->exp_size) {
        return dst->exp_bias == src->exp_bias;
    }
    if (dst->exp_size < src->exp_size || dst->exp_size > 31 || dst->exp_bias > INT32_MAX || src->exp_bias > INT32_MAX) {
        return 0;
    }
    int64_t most = ((int64_t)1 << src->exp_size) - 1 - (int64_t)src->exp_bias;
    int64_t least = 2 - (int64_t)src->exp_bias - (int64_t)src->mant_size;
    return most <= ((int64_t)1 << dst->exp_size) - 2 - (int64_t)dst->exp_bias &&
           least >= 2 - (int64_t)dst->exp_bias - (int64_t)dst->mant_size;
}

/* Whether dst can represent every value of src. */
static int holds(const range_t *dst, const range_t *src)
{
    size_t bits = src->precision - (size_t)src->is_signed;
    if (src->class == H5T_FLOAT) {
        return dst->class == H5T_FLOAT && dst->mant_size >= src->mant_size && holds_exponents(dst, src);
    }
    if (dst->class == H5T_FLOAT) {
        return dst->mant_size >= bits && dst->exp_bias > bits;
    }
    return (dst->is_signed || !src->is_signed) && dst->precision - (size_t)dst->is_signed >= bits;
}

/* Whether r is one of the short floats of machine learning whose largest exponent holds finite
 * numbers, not infinity. libhdf5 does not support these; package h5value converts them. */
static int is_finite_only(const range_t *r)
{
    size_t mant = r->mant_size - 1;
    return r->class == H5T_FLOAT && ((r->exp_size == 4 && mant == 3 && r->exp_bias == 7 && r->precision == 8) ||
                                     (r->exp_size == 3 && mant == 2 && r->exp_bias == 3 && r->precision == 6) ||
                                     (r->exp_size == 2 && mant == 3 && r->exp_bias == 1 && r->precision == 6) ||
                                     (r->exp_size == 2 && mant == 1 && r->exp_bias == 1 && r->precision == 4));
}

/* Whether r is an integer of more than 64 bits. Such integers are transferred as bytes and are not
 * treated as numbers. */
static int is_wide(const range_t *r)
{
    return r->class != H5T_FLOAT && r->precision > 64;
}

static int is_number(const range_t *r)
{
    return r->class == H5T_INTEGER || r->class == H5T_FLOAT;
}

/* Whether dst is a VAX float and libhdf5 stores the result of a conversion from other floats in
 * little-endian order, as 2.2 does. */
static int loses_order(goh5_err_t *err, hid_t src, hid_t dst)
{
    static int lost = -1; /* guarded by the lock */
    int rc = 0;
    if (H5Tget_class(src) != H5T_FLOAT || H5Tget_class(dst) != H5T_FLOAT || H5Tget_order(dst) != H5T_ORDER_VAX) {
        return 0;
    }
    if (lost < 0) {
        const double one = 1;
        uint8_t b[sizeof one];
        memcpy(b, &one, sizeof b);
        TRY(H5Tconvert(H5T_NATIVE_DOUBLE, H5T_VAX_F64, 1, b, NULL, H5P_DEFAULT) >= 0);
        lost = b[0] != 0x10 || b[1] != 0x40;
    }
    rc = lost;
done:
    return rc;
}

int goh5_conversion(goh5_err_t *err, hid_t src, hid_t dst, int writing)
{
    int rc = 0;
    range_t s, d;
    hid_t ordered[2] = {H5I_INVALID_HID, H5I_INVALID_HID}, native = H5I_INVALID_HID;
    htri_t equal = H5Tequal(src, dst);
    TRY(equal >= 0);
    if (equal > 0) {
        return GOH5_EXACT;
    }
    int narrow = goh5_type_narrow(src), narrow_too = goh5_type_narrow(dst);
    TRY(narrow >= 0 && narrow_too >= 0);
    int lost = loses_order(err, src, dst);
    PASS(lost);
    if (narrow || narrow_too || lost) {
        RAISE(GOH5_ETYPE); /* package h5value converts them */
    }
    PASS(range_of(err, src, &s));
    PASS(range_of(err, dst, &d));
    if (is_finite_only(&s) || is_finite_only(&d) || s.msb_set != d.msb_set || is_wide(&s) != is_wide(&d)) {
        RAISE(GOH5_ETYPE);
    }
    if ((is_number(&s) || s.class == H5T_ENUM) && is_number(&d)) {
        return holds(&d, &s) ? GOH5_EXACT : GOH5_CHECKED;
    }
    /* All other types must be equal apart from byte order, or mem must be a native form of the
     * stored type. */
    if (s.class != d.class || !goh5_type_plain(src) || !goh5_type_plain(dst)) {
        RAISE(GOH5_ETYPE);
    }
    hid_t stored = writing ? dst : src, mem = writing ? src : dst;
    PASS(goh5_type_form(err, stored, GOH5_ORDERED, &ordered[0]));
    PASS(goh5_type_form(err, mem, GOH5_ORDERED, &ordered[1]));
    PASS(goh5_type_form(err, stored, GOH5_NATIVE, &native));
    htri_t same = H5Tequal(ordered[0], ordered[1]);
    htri_t widened = H5Tequal(native, mem);
    TRY(same >= 0 && widened >= 0);
    /* A value that was widened in memory might not fit when written back, and this path does not
     * compare values. */
    rc = same || (widened && !writing) ? GOH5_EXACT : GOH5_ETYPE;
done:
    goh5_close_type(ordered[0]);
    goh5_close_type(ordered[1]);
    goh5_close_type(native);
    return rc;
}

int goh5_unnamed(goh5_err_t *err, hid_t stored, hid_t *mem)
{
    int rc = 0;
    hid_t numbers = H5I_INVALID_HID;
    htri_t has = H5Tdetect_class(*mem, H5T_ENUM);
    TRY(has >= 0);
    htri_t equal = has ? H5Tequal(stored, *mem) : 1;
    TRY(equal >= 0);
    if (!equal) {
        PASS(goh5_type_form(err, *mem, GOH5_UNNAMED, &numbers));
        goh5_close_type(*mem);
        *mem = numbers;
        rc = 1;
    }
done:
    return rc;
}

int goh5_renumber(goh5_err_t *err, hid_t unnamed, hid_t stored, const uint8_t *src, uint8_t *dst, size_t n)
{
    int rc = 0;
    size_t len = n * H5Tget_size(stored); /* equal to that of unnamed, because no form changes it */
    hid_t numbers = H5I_INVALID_HID;
    uint8_t *between = hyperslab_alloc(len); /* preserves the bytes between members */
    if (between == NULL) {
        RAISE(GOH5_ENOMEM);
    }
    PASS(goh5_type_form(err, stored, GOH5_UNNAMED, &numbers));
    memcpy(dst, src, len);
    memcpy(between, src, len);
    TRY(H5Tconvert(unnamed, numbers, n, dst, between, H5P_DEFAULT) >= 0);
done:
    hyperslab_free(between);
    goh5_close_type(numbers);
    return rc;
}

/* The widest type of a number's kind. It represents every value of t, so the conversion loses no
 * information. */
static hid_t widest_type(const range_t *t)
{
    if (t->class == H5T_FLOAT) {
        return holds(&a_double, t) ? H5T_NATIVE_DOUBLE : H5T_NATIVE_LDOUBLE;
    }
    return t->is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64;
}

/* The number at p of one of those types. A long double represents them all, because its mantissa
 * has at least 64 bits and longer floats are rejected before. */
static long double number_at(hid_t type, const uint8_t *p)
{
    int64_t i;
    uint64_t u;
    double f;
    long double l;
    if (type == H5T_NATIVE_INT64) {
        memcpy(&i, p, sizeof i);
        return (long double)i;
    }
    if (type == H5T_NATIVE_UINT64) {
        memcpy(&u, p, sizeof u);
        return (long double)u;
    }
    if (type == H5T_NATIVE_DOUBLE) {
        memcpy(&f, p, sizeof f);
        return f;
    }
    memcpy(&l, p, sizeof l);
    return l;
}

/* The minimum and maximum of t. */
static void limits(const range_t *t, long double *low, long double *high)
{
    if (t->class == H5T_FLOAT) {
        *high = ldexpl(2.0L - ldexpl(1.0L, 1 - (int)t->mant_size), (int)t->exp_bias);
        *low = -*high;
        return;
    }
    int bits = (int)t->precision - t->is_signed;
    *high = ldexpl(1.0L, bits) - 1.0L;
    *low = t->is_signed ? -ldexpl(1.0L, bits) : 0.0L;
}

int goh5_convert(goh5_err_t *err, hid_t src_type, hid_t dst_type, const uint8_t *src, uint8_t *dst, size_t n)
{
    int rc = 0;
    range_t s, d;
    int64_t outside = 0, changed = 0;
    uint8_t *before = NULL, *after = NULL;
    long double low, high;

    PASS(range_of(err, src_type, &s));
    PASS(range_of(err, dst_type, &d));
    if (is_wide(&s) || is_wide(&d)) {
        RAISE(GOH5_ETYPE);
    }
    if (s.class == H5T_FLOAT && !holds(&a_long_double, &s)) {
        RAISE(GOH5_ETYPE); /* C has no type to compare a quad float; package h5value does it */
    }
    limits(&d, &low, &high);
    hid_t src_wide = widest_type(&s), dst_wide = widest_type(&d);
    size_t src_size = H5Tget_size(src_type), dst_size = H5Tget_size(dst_type);
    size_t src_step = H5Tget_size(src_wide), dst_step = H5Tget_size(dst_wide);
    size_t room = sizeof(long double);
    room = src_size > room ? src_size : room;
    room = dst_size > room ? dst_size : room;
    before = hyperslab_alloc(PIECE * room);
    after = hyperslab_alloc(PIECE * room);
    if (before == NULL || after == NULL) {
        RAISE(GOH5_ENOMEM);
    }
    for (size_t at = 0; at < n; at += PIECE) {
        size_t k = n - at < PIECE ? n - at : PIECE;
        memcpy(before, src + at * src_size, k * src_size);
        memcpy(after, before, k * src_size);
        TRY(H5Tconvert(src_type, dst_type, k, after, NULL, H5P_DEFAULT) >= 0);
        if (dst != NULL) {
            memcpy(dst + at * dst_size, after, k * dst_size);
        }
        TRY(H5Tconvert(dst_type, dst_wide, k, after, NULL, H5P_DEFAULT) >= 0);
        TRY(H5Tconvert(src_type, src_wide, k, before, NULL, H5P_DEFAULT) >= 0);
        if (src_wide == dst_wide && memcmp(before, after, k * src_step) == 0) {
            continue; /* the usual case, checked at once */
        }
        for (size_t i = 0; i < k; i++) {
            long double x = number_at(src_wide, before + i * src_step);
            long double y = number_at(dst_wide, after + i * dst_step);
            if (x == y || (isnan(x) && isnan(y))) {
                continue;
            }
            long double whole = d.class == H5T_FLOAT ? x : truncl(x);
            if (whole >= low && whole <= high) {
                changed++;
            } else {
                outside++; /* NaN is out of range for every integer */
            }
        }
    }
    err->have = (int64_t)n;
    if (outside > 0) {
        err->want = outside;
        RAISE(GOH5_EOVERFLOW);
    }
    if (changed > 0) {
        err->want = changed;
        RAISE(GOH5_EPRECISION);
    }
done:
    hyperslab_free(before);
    hyperslab_free(after);
    return rc;
}
