/* shim_type.c: encoding and decoding of datatypes. A node consists of the words below, the tag and
 * the parts of the type. An array has its dimensions and base, a sequence or a complex number its
 * base. An enumeration has its base and the name and value of each member. A compound has the name,
 * the offset and the node of each member. */
#include "shim_internal.h"

#include <string.h>

/* Maximum depth of nested types. A limit is needed because libhdf5 processes them recursively. */
enum { MAX_DEPTH = 64 };

/* Words of a node, in order. They must match datatype.go. */
typedef struct node {
    uint64_t class;
    uint64_t size;
    uint64_t order;
    uint64_t sign;
    uint64_t precision;
    uint64_t offset;
    uint64_t lsb_pad;
    uint64_t msb_pad;
    uint64_t sign_pos;
    uint64_t exp_pos;
    uint64_t exp_size;
    uint64_t mant_pos;
    uint64_t mant_size;
    uint64_t exp_bias;
    uint64_t norm;
    uint64_t in_pad;
    uint64_t variable;
    uint64_t str_pad;
    uint64_t cset;
    uint64_t ref;
    uint64_t committed; /* committed datatype: its address (to Go) or an open id (from Go); otherwise 0 */
    uint64_t children;
} node_t;

enum { NODE_WORDS = sizeof(node_t) / sizeof(uint64_t) };

/* Kinds of reference. */
enum { REF_OBJECT = 1, REF_REGION = 2, REF_STANDARD = 3 };

static int put_members(goh5_err_t *err, goh5_buf_t *b, hid_t t, uint64_t n, int depth)
{
    int rc = 0;
    hid_t member = H5I_INVALID_HID;
    char *name = NULL;
    for (unsigned i = 0; i < n; i++) {
        TRY((name = H5Tget_member_name(t, i)) != NULL);
        TRY((member = H5Tget_member_type(t, i)) >= 0);
        goh5_put_text(b, name);
        goh5_put(b, H5Tget_member_offset(t, i));
        PASS(goh5_type_put(err, b, member, depth + 1));
        H5free_memory(name);
        H5Tclose(member);
        name = NULL;
        member = H5I_INVALID_HID;
    }
done:
    if (name != NULL) {
        H5free_memory(name);
    }
    goh5_close_type(member);
    return rc;
}

/* Values of an enumeration are encoded as 64-bit numbers for every base, so that Go and C can
 * compare them. */
static int put_values(goh5_err_t *err, goh5_buf_t *b, hid_t t, hid_t base, uint64_t n)
{
    int rc = 0;
    char *name = NULL;
    uint64_t value[8];
    H5T_sign_t sign = H5Tget_sign(base);
    if (H5Tget_size(base) > sizeof value) {
        RAISE(GOH5_ETYPE);
    }
    for (unsigned i = 0; i < n; i++) {
        TRY((name = H5Tget_member_name(t, i)) != NULL);
        memset(value, 0, sizeof value);
        TRY(H5Tget_member_value(t, i, value) >= 0);
        TRY(H5Tconvert(base, sign == H5T_SGN_NONE ? H5T_NATIVE_UINT64 : H5T_NATIVE_INT64, 1, value, NULL,
                       H5P_DEFAULT) >= 0);
        goh5_put_text(b, name);
        goh5_put(b, value[0]);
        H5free_memory(name);
        name = NULL;
    }
done:
    if (name != NULL) {
        H5free_memory(name);
    }
    return rc;
}

static int read_bits(goh5_err_t *err, hid_t t, node_t *d)
{
    int rc = 0;
    H5T_order_t order = H5Tget_order(t);
    TRY(order >= 0);
    d->order = (uint64_t)order;
    d->precision = H5Tget_precision(t);
    int offset = H5Tget_offset(t);
    TRY(offset >= 0);
    d->offset = (uint64_t)offset;
    H5T_pad_t lsb, msb;
    TRY(H5Tget_pad(t, &lsb, &msb) >= 0);
    d->lsb_pad = (uint64_t)lsb;
    d->msb_pad = (uint64_t)msb;
done:
    return rc;
}

static int read_float(goh5_err_t *err, hid_t t, node_t *d)
{
    int rc = 0;
    size_t sign_pos, exp_pos, exp_size, mant_pos, mant_size;
    TRY(H5Tget_fields(t, &sign_pos, &exp_pos, &exp_size, &mant_pos, &mant_size) >= 0);
    d->sign_pos = sign_pos;
    d->exp_pos = exp_pos;
    d->exp_size = exp_size;
    d->mant_pos = mant_pos;
    d->mant_size = mant_size;
    d->exp_bias = H5Tget_ebias(t);
    d->norm = (uint64_t)H5Tget_norm(t);
    d->in_pad = (uint64_t)H5Tget_inpad(t);
done:
    return rc;
}

static int committed_at(goh5_err_t *err, hid_t t, uint64_t *address)
{
    int rc = 0;
    H5O_info2_t info;
    haddr_t addr = 0;
    htri_t is = H5Tcommitted(t);
    TRY(is >= 0);
    if (is > 0) {
        TRY(H5Oget_info3(t, &info, H5O_INFO_BASIC) >= 0);
        TRY(H5VLnative_token_to_addr(t, info.token, &addr) >= 0);
    }
    *address = addr;
done:
    return rc;
}

static int put_node(goh5_err_t *err, goh5_buf_t *b, hid_t t, uint64_t committed, int depth);

int goh5_type_put(goh5_err_t *err, goh5_buf_t *b, hid_t t, int depth)
{
    int rc = 0;
    uint64_t committed = 0;
    hid_t copy = H5I_INVALID_HID;
    PASS(committed_at(err, t, &committed));
    if (committed != 0) {
        /* A datatype that was just opened has the sizes of the file, which differ for elements with
         * pointers. A copy has the sizes in memory. */
        TRY((copy = H5Tcopy(t)) >= 0);
    }
    PASS(put_node(err, b, copy >= 0 ? copy : t, committed, depth));
done:
    goh5_close_type(copy);
    return rc;
}

static int put_node(goh5_err_t *err, goh5_buf_t *b, hid_t t, uint64_t committed, int depth)
{
    int rc = 0;
    node_t d = {0};
    hid_t base = H5I_INVALID_HID;
    char *tag = NULL;
    hsize_t dims[H5S_MAX_RANK];

    H5T_class_t class = H5Tget_class(t);
    TRY(class >= 0);
    if (depth > MAX_DEPTH) {
        RAISE(GOH5_ETYPE);
    }
    d.class = (uint64_t) class;
    d.size = H5Tget_size(t);
    TRY(d.size > 0);
    d.committed = committed;
    switch (class) {
    case H5T_INTEGER:
        PASS(read_bits(err, t, &d));
        d.sign = H5Tget_sign(t) == H5T_SGN_2;
        break;
    case H5T_FLOAT:
        PASS(read_bits(err, t, &d));
        PASS(read_float(err, t, &d));
        break;
    case H5T_TIME:
    case H5T_BITFIELD:
        PASS(read_bits(err, t, &d));
        break;
    case H5T_STRING: {
        htri_t variable = H5Tis_variable_str(t);
        TRY(variable >= 0);
        d.variable = (uint64_t)variable;
        d.str_pad = (uint64_t)H5Tget_strpad(t);
        d.cset = (uint64_t)H5Tget_cset(t);
        break;
    }
    case H5T_OPAQUE:
        TRY((tag = H5Tget_tag(t)) != NULL);
        break;
    case H5T_REFERENCE:
        d.ref = H5Tequal(t, H5T_STD_REF_OBJ) > 0       ? REF_OBJECT
                : H5Tequal(t, H5T_STD_REF_DSETREG) > 0 ? REF_REGION
                                                       : REF_STANDARD;
        break;
    case H5T_COMPOUND:
    case H5T_ENUM: {
        int n = H5Tget_nmembers(t);
        TRY(n >= 0);
        d.children = (uint64_t)n;
        break;
    }
    case H5T_ARRAY: {
        int n = H5Tget_array_dims2(t, dims);
        TRY(n >= 0);
        d.children = (uint64_t)n;
        break;
    }
    default:
        break; /* a sequence, or a class that this version does not support */
    }

    const uint64_t *words = (const uint64_t *)&d;
    for (size_t i = 0; i < NODE_WORDS; i++) {
        goh5_put(b, words[i]);
    }
    goh5_put_text(b, tag);
    switch (class) {
    case H5T_COMPOUND:
        PASS(put_members(err, b, t, d.children, depth));
        break;
    case H5T_ARRAY:
        for (size_t i = 0; i < d.children; i++) {
            goh5_put(b, dims[i]);
        }
        TRY((base = H5Tget_super(t)) >= 0);
        PASS(goh5_type_put(err, b, base, depth + 1));
        break;
    case H5T_VLEN:
    case H5T_COMPLEX:
        TRY((base = H5Tget_super(t)) >= 0);
        PASS(goh5_type_put(err, b, base, depth + 1));
        break;
    case H5T_ENUM:
        TRY((base = H5Tget_super(t)) >= 0);
        PASS(goh5_type_put(err, b, base, depth + 1));
        PASS(put_values(err, b, t, base, d.children));
        break;
    default:
        break;
    }
done:
    if (tag != NULL) {
        H5free_memory(tag);
    }
    goh5_close_type(base);
    return rc;
}

/* Closes a type whose properties libhdf5 could not set, and returns H5I_INVALID_HID. */
static hid_t dropped(hid_t t)
{
    goh5_close_type(t);
    return H5I_INVALID_HID;
}

static hid_t get_integer(const node_t *d)
{
    if (d->offset == 0 && d->precision == 8 * d->size && d->lsb_pad == 0 && d->msb_pad == 0) {
        int big = d->order == H5T_ORDER_BE;
        switch (d->size) {
        case 1:
            return H5Tcopy(d->sign ? (big ? H5T_STD_I8BE : H5T_STD_I8LE) : (big ? H5T_STD_U8BE : H5T_STD_U8LE));
        case 2:
            return H5Tcopy(d->sign ? (big ? H5T_STD_I16BE : H5T_STD_I16LE) : (big ? H5T_STD_U16BE : H5T_STD_U16LE));
        case 4:
            return H5Tcopy(d->sign ? (big ? H5T_STD_I32BE : H5T_STD_I32LE) : (big ? H5T_STD_U32BE : H5T_STD_U32LE));
        case 8:
            return H5Tcopy(d->sign ? (big ? H5T_STD_I64BE : H5T_STD_I64LE) : (big ? H5T_STD_U64BE : H5T_STD_U64LE));
        default:
            break;
        }
    }
    hid_t t = H5Tcopy(d->sign ? H5T_STD_I8LE : H5T_STD_U8LE);
    if (t < 0 || H5Tset_size(t, d->size) < 0 || H5Tset_order(t, (H5T_order_t)d->order) < 0 ||
        H5Tset_precision(t, d->precision) < 0 || H5Tset_offset(t, d->offset) < 0 ||
        H5Tset_pad(t, (H5T_pad_t)d->lsb_pad, (H5T_pad_t)d->msb_pad) < 0) {
        return dropped(t);
    }
    return t;
}

static int is_ieee(const node_t *d, uint64_t size, uint64_t exp_size, uint64_t mant_size)
{
    return d->size == size && d->precision == 8 * size && d->offset == 0 && d->sign_pos == 8 * size - 1 &&
           d->exp_pos == mant_size && d->exp_size == exp_size && d->mant_pos == 0 && d->mant_size == mant_size &&
           d->exp_bias == ((uint64_t)1 << (exp_size - 1)) - 1 && d->norm == H5T_NORM_IMPLIED && d->in_pad == 0 &&
           d->lsb_pad == 0 && d->msb_pad == 0 && d->order <= H5T_ORDER_BE;
}

static hid_t get_float(const node_t *d)
{
    int big = d->order == H5T_ORDER_BE;
    if (is_ieee(d, 4, 8, 23)) {
        return H5Tcopy(big ? H5T_IEEE_F32BE : H5T_IEEE_F32LE);
    }
    if (is_ieee(d, 8, 11, 52)) {
        return H5Tcopy(big ? H5T_IEEE_F64BE : H5T_IEEE_F64LE);
    }
    /* A float's size can only shrink around its fields, and the fields can only move inside its
     * precision. Therefore the type is made wider first, then the fields are set, and then it
     * shrinks to its size. Fields count from the lowest bit, but H5Tset_fields compares them with
     * the precision without the offset, so twice the size is needed. A VAX float must be made from
     * a VAX float: otherwise H5Tset_order leaves a message version that does not support VAX
     * order. */
    hid_t t = H5Tcopy(d->order == H5T_ORDER_VAX ? H5T_VAX_F64 : H5T_IEEE_F64LE);
    size_t wide = 2 * d->size + 8;
    if (t < 0 || d->offset > 8 * d->size || H5Tset_size(t, wide) < 0 || H5Tset_precision(t, 8 * wide - d->offset) < 0 ||
        H5Tset_offset(t, d->offset) < 0 ||
        H5Tset_fields(t, d->sign_pos, d->exp_pos, d->exp_size, d->mant_pos, d->mant_size) < 0 ||
        H5Tset_precision(t, d->precision) < 0 || H5Tset_size(t, d->size) < 0 || H5Tset_ebias(t, d->exp_bias) < 0 ||
        H5Tset_norm(t, (H5T_norm_t)d->norm) < 0 || H5Tset_inpad(t, (H5T_pad_t)d->in_pad) < 0 ||
        H5Tset_order(t, (H5T_order_t)d->order) < 0 || H5Tset_pad(t, (H5T_pad_t)d->lsb_pad, (H5T_pad_t)d->msb_pad) < 0) {
        return dropped(t);
    }
    return t;
}

static hid_t get_bitfield(const node_t *d)
{
    hid_t t = H5Tcopy(H5T_STD_B8LE);
    if (t < 0 || H5Tset_size(t, d->size) < 0 || H5Tset_order(t, (H5T_order_t)d->order) < 0 ||
        H5Tset_precision(t, d->precision) < 0 || H5Tset_offset(t, d->offset) < 0 ||
        H5Tset_pad(t, (H5T_pad_t)d->lsb_pad, (H5T_pad_t)d->msb_pad) < 0) {
        return dropped(t);
    }
    return t;
}

static hid_t get_time(const node_t *d)
{
    hid_t t = H5Tcopy(d->order == H5T_ORDER_BE ? H5T_UNIX_D32BE : H5T_UNIX_D32LE);
    if (t < 0 || H5Tset_size(t, d->size) < 0 || H5Tset_precision(t, d->precision) < 0 ||
        H5Tset_offset(t, d->offset) < 0 || H5Tset_pad(t, (H5T_pad_t)d->lsb_pad, (H5T_pad_t)d->msb_pad) < 0) {
        return dropped(t);
    }
    return t;
}

static hid_t get_string(const node_t *d)
{
    hid_t t = H5Tcopy(H5T_C_S1);
    if (t < 0 || H5Tset_size(t, d->variable ? H5T_VARIABLE : d->size) < 0 ||
        H5Tset_strpad(t, (H5T_str_t)d->str_pad) < 0 || H5Tset_cset(t, (H5T_cset_t)d->cset) < 0) {
        return dropped(t);
    }
    return t;
}

static hid_t get_enum(goh5_in_t *in, const node_t *d, int depth, int form)
{
    hid_t base = goh5_type_get(in, depth + 1, form);
    hid_t t = base < 0 || H5Tget_class(base) != H5T_INTEGER ? H5I_INVALID_HID : H5Tenum_create(base);
    hid_t from = base >= 0 && H5Tget_sign(base) == H5T_SGN_NONE ? H5T_NATIVE_UINT64 : H5T_NATIVE_INT64;
    for (uint64_t i = 0; t >= 0 && i < d->children; i++) {
        const char *name = goh5_get_text(in);
        uint64_t value[8] = {goh5_get(in)};
        if (in->bad || H5Tget_size(base) > sizeof value || H5Tconvert(from, base, 1, value, NULL, H5P_DEFAULT) < 0 ||
            H5Tenum_insert(t, name, value) < 0) {
            in->bad = 1;
            break;
        }
    }
    goh5_close_type(base);
    return t;
}

static hid_t get_compound(goh5_in_t *in, const node_t *d, int depth, int form)
{
    hid_t t = H5Tcreate(H5T_COMPOUND, d->size);
    for (uint64_t i = 0; t >= 0 && i < d->children; i++) {
        const char *name = goh5_get_text(in);
        uint64_t offset = goh5_get(in);
        hid_t member = in->bad ? H5I_INVALID_HID : goh5_type_get(in, depth + 1, form);
        if (member < 0 || H5Tinsert(t, name, offset, member) < 0) {
            in->bad = 1;
        }
        goh5_close_type(member);
        if (in->bad) {
            break;
        }
    }
    return t;
}

/* Changes a number to its form in memory: native byte order, and all bits in use for GOH5_NATIVE,
 * so that Go can read it. */
static void make_form(node_t *d, int form)
{
    if (d->class != H5T_INTEGER && d->class != H5T_FLOAT && d->class != H5T_BITFIELD) {
        return;
    }
    uint64_t machine = (uint64_t)H5Tget_order(H5T_NATIVE_INT);
    if (form == GOH5_ORDERED) {
        d->order = d->order == H5T_ORDER_VAX ? d->order : machine;
        return;
    }
    if (d->class == H5T_INTEGER) {
        d->precision = 8 * d->size;
        d->offset = 0;
        d->lsb_pad = d->msb_pad = H5T_PAD_ZERO;
    }
    if (d->order == H5T_ORDER_VAX) {
        int half = d->size == 4;
        if (d->class != H5T_FLOAT || (d->size != 4 && d->size != 8) || d->mant_size > (half ? 23 : 52)) {
            return; /* no native float can represent it: the bytes are unchanged */
        }
        d->precision = 8 * d->size;
        d->offset = d->lsb_pad = d->msb_pad = d->mant_pos = d->in_pad = 0;
        d->sign_pos = d->precision - 1;
        d->exp_pos = d->mant_size = half ? 23 : 52;
        d->exp_size = half ? 8 : 11;
        d->exp_bias = half ? 127 : 1023;
        d->norm = H5T_NORM_IMPLIED;
    }
    d->order = machine;
}

/* Returns the open committed datatype if it equals `made`, so that new objects share it. */
static hid_t share(hid_t made, uint64_t committed)
{
    hid_t id = (hid_t)committed, copy = H5I_INVALID_HID;
    if (made >= 0 && H5Iis_valid(id) > 0 && H5Iget_type(id) == H5I_DATATYPE && H5Tcommitted(id) > 0) {
        copy = H5Tcopy(id);
    }
    int same = copy >= 0 && H5Tequal(made, copy) > 0 && H5Iinc_ref(id) >= 0;
    goh5_close_type(made);
    goh5_close_type(copy);
    return same ? id : H5I_INVALID_HID;
}

hid_t goh5_type_get(goh5_in_t *in, int depth, int form)
{
    node_t d = {0};
    uint64_t *words = (uint64_t *)&d;
    for (size_t i = 0; i < NODE_WORDS; i++) {
        words[i] = goh5_get(in);
    }
    const char *tag = goh5_get_text(in);
    if (in->bad || depth > MAX_DEPTH || (d.size == 0 && !d.variable)) {
        in->bad = 1;
        return H5I_INVALID_HID;
    }
    if (form == GOH5_ORDERED || form == GOH5_NATIVE) {
        make_form(&d, form);
    }
    hid_t t = H5I_INVALID_HID;
    hid_t base = H5I_INVALID_HID;
    switch ((H5T_class_t)d.class) {
    case H5T_INTEGER:
        t = get_integer(&d);
        break;
    case H5T_FLOAT:
        t = get_float(&d);
        break;
    case H5T_BITFIELD:
        t = get_bitfield(&d);
        break;
    case H5T_STRING:
        t = get_string(&d);
        break;
    case H5T_OPAQUE:
        t = H5Tcreate(H5T_OPAQUE, d.size);
        if (t >= 0 && H5Tset_tag(t, tag) < 0) {
            in->bad = 1;
        }
        break;
    case H5T_REFERENCE:
        t = H5Tcopy(d.ref == REF_OBJECT ? H5T_STD_REF_OBJ : d.ref == REF_REGION ? H5T_STD_REF_DSETREG : H5T_STD_REF);
        break;
    case H5T_ENUM:
        t = get_enum(in, &d, depth, form);
        break;
    case H5T_COMPOUND:
        t = get_compound(in, &d, depth, form);
        break;
    case H5T_VLEN:
        base = goh5_type_get(in, depth + 1, form);
        t = base < 0 ? H5I_INVALID_HID : H5Tvlen_create(base);
        break;
    case H5T_ARRAY: {
        hsize_t dims[H5S_MAX_RANK] = {0};
        if (d.children == 0 || d.children > H5S_MAX_RANK) {
            break;
        }
        for (size_t i = 0; i < d.children; i++) {
            dims[i] = goh5_get(in);
        }
        base = goh5_type_get(in, depth + 1, form);
        t = base < 0 ? H5I_INVALID_HID : H5Tarray_create2(base, (unsigned)d.children, dims);
        break;
    }
    case H5T_TIME:
        t = get_time(&d);
        break;
    case H5T_COMPLEX:
        base = goh5_type_get(in, depth + 1, form);
        t = base < 0 ? H5I_INVALID_HID : H5Tcomplex_create(base);
        break;
    default:
        break; /* a class added in a later version */
    }
    goh5_close_type(base);
    /* Buffers are measured with the size, so an inconsistent description must be rejected here. */
    if (in->bad || (t >= 0 && d.variable == 0 && d.class != H5T_VLEN && H5Tget_size(t) != d.size)) {
        in->bad = 1;
        goh5_close_type(t);
        return H5I_INVALID_HID;
    }
    return d.committed != 0 && form == GOH5_STORED ? share(t, d.committed) : t;
}

hid_t goh5_type_standard(const uint8_t *type, size_t len, size_t *size)
{
    node_t d;
    if (len < sizeof d) {
        return H5I_INVALID_HID;
    }
    memcpy(&d, type, sizeof d);
    *size = d.size;
    if (d.committed != 0 || d.order > H5T_ORDER_BE || d.precision != 8 * d.size || d.offset != 0 || d.lsb_pad != 0 ||
        d.msb_pad != 0) {
        return H5I_INVALID_HID;
    }
    int little = d.order == H5T_ORDER_LE, ieee = d.norm == H5T_NORM_IMPLIED && d.in_pad == 0 && d.mant_pos == 0;
    if (d.class == H5T_INTEGER && d.sign) {
        return d.size == 1   ? H5T_STD_I8LE
               : d.size == 2 ? (little ? H5T_STD_I16LE : H5T_STD_I16BE)
               : d.size == 4 ? (little ? H5T_STD_I32LE : H5T_STD_I32BE)
               : d.size == 8 ? (little ? H5T_STD_I64LE : H5T_STD_I64BE)
                             : H5I_INVALID_HID;
    }
    if (d.class == H5T_INTEGER) {
        return d.size == 1   ? H5T_STD_U8LE
               : d.size == 2 ? (little ? H5T_STD_U16LE : H5T_STD_U16BE)
               : d.size == 4 ? (little ? H5T_STD_U32LE : H5T_STD_U32BE)
               : d.size == 8 ? (little ? H5T_STD_U64LE : H5T_STD_U64BE)
                             : H5I_INVALID_HID;
    }
    if (d.class == H5T_FLOAT && ieee && d.size == 4 && d.sign_pos == 31 && d.exp_pos == 23 && d.exp_size == 8 &&
        d.mant_size == 23 && d.exp_bias == 127) {
        return little ? H5T_IEEE_F32LE : H5T_IEEE_F32BE;
    }
    if (d.class == H5T_FLOAT && ieee && d.size == 8 && d.sign_pos == 63 && d.exp_pos == 52 && d.exp_size == 11 &&
        d.mant_size == 52 && d.exp_bias == 1023) {
        return little ? H5T_IEEE_F64LE : H5T_IEEE_F64BE;
    }
    return H5I_INVALID_HID;
}

int goh5_type_read(const uint8_t *type, size_t len, int form, hid_t *t)
{
    goh5_in_t in = {type, len, 0};
    hid_t made = goh5_type_get(&in, 0, form);
    if (made >= 0 && !in.bad) {
        *t = made;
        return 0;
    }
    goh5_close_type(made);
    return GOH5_ETYPE;
}

int goh5_type_plain(hid_t t)
{
    H5T_class_t class = H5Tget_class(t);
    int plain = 1;
    switch (class) {
    case H5T_INTEGER:
    case H5T_FLOAT:
    case H5T_TIME:
    case H5T_BITFIELD:
    case H5T_OPAQUE:
    case H5T_ENUM:
    case H5T_COMPLEX:
        return 1;
    case H5T_STRING: {
        htri_t variable = H5Tis_variable_str(t);
        return variable < 0 ? -1 : !variable;
    }
    case H5T_ARRAY: {
        hid_t base = H5Tget_super(t);
        plain = base < 0 ? -1 : goh5_type_plain(base);
        goh5_close_type(base);
        return plain;
    }
    case H5T_COMPOUND: {
        int n = H5Tget_nmembers(t);
        for (int i = 0; plain == 1 && i < n; i++) {
            hid_t member = H5Tget_member_type(t, (unsigned)i);
            plain = member < 0 ? -1 : goh5_type_plain(member);
            goh5_close_type(member);
        }
        return n < 0 ? -1 : plain;
    }
    default:
        return 0;
    }
}

int goh5_type_narrow(hid_t t)
{
    H5T_class_t class = H5Tget_class(t);
    int narrow = 0;
    if (class == H5T_INTEGER || class == H5T_BITFIELD) {
        return H5Tget_precision(t) < 8 * H5Tget_size(t) && H5Tget_offset(t) == 0 &&
               H5Tget_order(t) != H5Tget_order(H5T_NATIVE_INT);
    }
    if (class == H5T_ENUM || class == H5T_ARRAY) {
        hid_t base = H5Tget_super(t);
        narrow = base < 0 ? -1 : goh5_type_narrow(base);
        goh5_close_type(base);
    } else if (class == H5T_COMPOUND) {
        int n = H5Tget_nmembers(t);
        for (int i = 0; narrow == 0 && i < n; i++) {
            hid_t member = H5Tget_member_type(t, (unsigned)i);
            narrow = member < 0 ? -1 : goh5_type_narrow(member);
            goh5_close_type(member);
        }
    }
    return narrow;
}

int goh5_type_form(goh5_err_t *err, hid_t t, int form, hid_t *made)
{
    int rc = 0;
    goh5_buf_t buf = {0};
    hid_t copy = H5Tcopy(t); /* the copy is not committed */
    TRY(copy >= 0);
    PASS(goh5_type_put(err, &buf, copy, 0));
    if (buf.failed) {
        RAISE(GOH5_ENOMEM);
    }
    PASS(goh5_type_read(buf.data, buf.len, form, made));
done:
    goh5_close_type(copy);
    goh5_buf_drop(&buf);
    return rc;
}

int goh5_type_round(goh5_err_t *err, const uint8_t *type, size_t type_len, goh5_blob_t *out)
{
    int rc = 0;
    hid_t t = H5I_INVALID_HID;
    goh5_buf_t b = {0};
    goh5_enter();
    PASS(goh5_type_read(type, type_len, GOH5_STORED, &t));
    PASS(goh5_type_put(err, &b, t, 0));
    PASS(goh5_buf_end(&b, out));
done:
    goh5_buf_drop(&b);
    goh5_close_type(t);
    return rc;
}

int goh5_tcommit(goh5_err_t *err, int64_t loc, const char *name, int32_t utf8, const uint8_t *type, size_t type_len,
                 int64_t *id)
{
    int rc = 0;
    hid_t t = H5I_INVALID_HID, lcpl = H5I_INVALID_HID;
    goh5_enter();
    PASS(goh5_type_read(type, type_len, GOH5_STORED, &t));
    if (name == NULL) {
        TRY(H5Tcommit_anon(loc, t, H5P_DEFAULT, H5P_DEFAULT) >= 0);
    } else {
        PASS(goh5_link_plist(err, utf8, &lcpl));
        TRY(H5Tcommit2(loc, name, t, lcpl, H5P_DEFAULT, H5P_DEFAULT) >= 0);
    }
    *id = t;
    t = H5I_INVALID_HID;
done:
    goh5_close_plist(lcpl);
    goh5_close_type(t);
    return rc;
}
