/* shim_convert.c: which conversions of libhdf5 keep every value. libhdf5 clamps and rounds, and
 * calls its exception callback only in some cases: for example, not for a double converted to
 * float, a big-endian -1 converted to unsigned, or a NaN converted to a 64-bit integer. Therefore
 * only conversions that cannot change a value are allowed, unless the caller asks for loss. */
#include "shim_internal.h"

#include <string.h>

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
        return holds(&d, &s) ? GOH5_EXACT : GOH5_LOSSY;
    }
    /* Between two different enumerations, libhdf5 maps names. It converts a number without a name to
     * all bits set, without an error. */
    htri_t enums = H5Tdetect_class(src, H5T_ENUM);
    TRY(enums >= 0);
    if (enums) {
        RAISE(GOH5_ETYPE);
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
