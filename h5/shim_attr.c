/* shim_attr.c: listing, describing, reading, writing, renaming and deleting attributes. */
#include "shim_internal.h"

#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>

#include <string.h>

typedef struct attrs {
    goh5_err_t *err;
    goh5_buf_t buf;
    uint64_t count;
    int rc;
} attrs_t;

/* Encodes an open attribute: name, creation order (-1: none), character set of the name, stored
 * bytes, type and space. */
static int put_attr(goh5_err_t *err, goh5_buf_t *b, hid_t attr)
{
    int rc = 0;
    hid_t type = H5I_INVALID_HID, space = H5I_INVALID_HID;
    H5A_info_t info;
    char *name = NULL;
    TRY(H5Aget_info(attr, &info) >= 0);
    TRY((type = H5Aget_type(attr)) >= 0);
    TRY((space = H5Aget_space(attr)) >= 0);
    ssize_t n = H5Aget_name(attr, 0, NULL);
    TRY(n >= 0);
    if ((name = hyperslab_alloc((size_t)n + 1)) == NULL) {
        RAISE(GOH5_ENOMEM);
    }
    TRY(H5Aget_name(attr, (size_t)n + 1, name) >= 0);
    goh5_put_text(b, name);
    goh5_put(b, info.corder_valid ? (uint64_t)info.corder : UINT64_MAX);
    goh5_put(b, (uint64_t)info.cset);
    goh5_put(b, info.data_size);
    PASS(goh5_type_put(err, b, type, 0));
    PASS(goh5_space_put(err, b, space));
done:
    hyperslab_free(name);
    goh5_close_space(space);
    goh5_close_type(type);
    return rc;
}

static herr_t each_attr(hid_t loc, const char *name, const H5A_info_t *info, void *data)
{
    (void)info;
    attrs_t *a = data;
    hid_t attr = H5Aopen(loc, name, H5P_DEFAULT);
    a->rc = attr < 0 ? goh5_fail(a->err) : put_attr(a->err, &a->buf, attr);
    if (attr >= 0) {
        H5Aclose(attr);
    }
    a->count++;
    return a->rc < 0 ? -1 : 0;
}

/* libhdf5 reports only "not found" for an object without creation order, so this is checked
 * first. */
static int check_order(goh5_err_t *err, hid_t loc, int32_t index)
{
    int rc = 0;
    unsigned flags = 0;
    hid_t plist = H5I_INVALID_HID;
    if (index != H5_INDEX_CRT_ORDER) {
        return 0;
    }
    H5I_type_t type = H5Iget_type(loc);
    plist = type == H5I_DATASET    ? H5Dget_create_plist(loc)
            : type == H5I_DATATYPE ? H5Tget_create_plist(loc)
            : type == H5I_GROUP    ? H5Gget_create_plist(loc)
                                   : H5Fget_create_plist(loc);
    TRY(plist >= 0);
    TRY(H5Pget_attr_creation_order(plist, &flags) >= 0);
    if ((flags & H5P_CRT_ORDER_TRACKED) == 0) {
        RAISE(GOH5_EORDER);
    }
done:
    goh5_close_plist(plist);
    return rc;
}

int goh5_attrs(goh5_err_t *err, int64_t loc, int32_t index, int32_t order, goh5_blob_t *out)
{
    int rc = 0;
    attrs_t a = {0};
    a.err = err;
    goh5_enter();
    PASS(check_order(err, loc, index));
    goh5_put(&a.buf, 0);
    herr_t done = H5Aiterate2(loc, (H5_index_t)index, (H5_iter_order_t)order, NULL, each_attr, &a);
    if (a.rc < 0) {
        RAISE(a.rc);
    }
    TRY(done >= 0);
    goh5_set(&a.buf, 0, a.count);
    PASS(goh5_buf_end(&a.buf, out));
done:
    goh5_buf_drop(&a.buf);
    return rc;
}

/* libhdf5 has many different errors for an index out of range, so the index is checked first. */
static int check_index(goh5_err_t *err, hid_t loc, int64_t n)
{
    int rc = 0;
    H5O_info2_t info;
    TRY(H5Oget_info3(loc, &info, H5O_INFO_NUM_ATTRS) >= 0);
    if ((hsize_t)n >= info.num_attrs) {
        err->want = n;
        err->have = (int64_t)info.num_attrs;
        RAISE(GOH5_EINDEX);
    }
done:
    return rc;
}

int goh5_attr_info(goh5_err_t *err, int64_t loc, const char *name, int32_t index, int32_t order, int64_t n,
                   goh5_blob_t *out)
{
    int rc = 0;
    goh5_buf_t b = {0};
    hid_t attr = H5I_INVALID_HID;
    goh5_enter();
    if (name != NULL) {
        TRY((attr = H5Aopen(loc, name, H5P_DEFAULT)) >= 0);
    } else {
        PASS(check_order(err, loc, index));
        PASS(check_index(err, loc, n));
        attr =
            H5Aopen_by_idx(loc, ".", (H5_index_t)index, (H5_iter_order_t)order, (hsize_t)n, H5P_DEFAULT, H5P_DEFAULT);
        TRY(attr >= 0);
    }
    PASS(put_attr(err, &b, attr));
    PASS(goh5_buf_end(&b, out));
done:
    goh5_buf_drop(&b);
    if (attr >= 0) {
        H5Aclose(attr);
    }
    return rc;
}

int goh5_aexists(goh5_err_t *err, int64_t loc, const char *name, int32_t *exists)
{
    int rc = 0;
    goh5_enter();
    htri_t is = H5Aexists(loc, name);
    TRY(is >= 0);
    *exists = is > 0;
done:
    return rc;
}

int goh5_arename(goh5_err_t *err, int64_t loc, const char *from, const char *to)
{
    int rc = 0;
    goh5_enter();
    htri_t is = H5Aexists(loc, to);
    TRY(is >= 0);
    if (is > 0) {
        RAISE(GOH5_EEXISTS);
    }
    TRY(H5Arename(loc, from, to) >= 0);
done:
    return rc;
}

int goh5_adelete_at(goh5_err_t *err, int64_t loc, int32_t index, int32_t order, int64_t n)
{
    int rc = 0;
    goh5_enter();
    PASS(check_order(err, loc, index));
    PASS(check_index(err, loc, n));
    TRY(H5Adelete_by_idx(loc, ".", (H5_index_t)index, (H5_iter_order_t)order, (hsize_t)n, H5P_DEFAULT) >= 0);
done:
    return rc;
}

/* Forms of a value in the result of goh5_aread, after type and space, and in the arguments of
 * goh5_awrite. They must match attribute.go. Bytes are elements as stored: when libhdf5 converts
 * compounds of an attribute, it sorts their members by offset in the attribute itself
 * (H5T__conv_struct_init), and may store that order later. */
enum { VALUE_BYTES = 1, VALUE_STRINGS = 2, VALUE_VALUES = 3 };

/* The native type that is equal to a stored type, or H5I_INVALID_HID. Such numbers are read without
 * creating a type. */
static hid_t own_number(hid_t type)
{
    hid_t own = H5I_INVALID_HID;
    H5T_class_t class = H5Tget_class(type);
    size_t size = H5Tget_size(type);
    if (class == H5T_INTEGER) {
        int is_signed = H5Tget_sign(type) == H5T_SGN_2;
        own = size == 1   ? (is_signed ? H5T_NATIVE_INT8 : H5T_NATIVE_UINT8)
              : size == 2 ? (is_signed ? H5T_NATIVE_INT16 : H5T_NATIVE_UINT16)
              : size == 4 ? (is_signed ? H5T_NATIVE_INT32 : H5T_NATIVE_UINT32)
              : size == 8 ? (is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64)
                          : H5I_INVALID_HID;
    } else if (class == H5T_FLOAT) {
        own = size == 4 ? H5T_NATIVE_FLOAT : size == 8 ? H5T_NATIVE_DOUBLE : H5I_INVALID_HID;
    }
    return own >= 0 && H5Tequal(type, own) > 0 ? own : H5I_INVALID_HID;
}

/* A file can declare any number of elements. The stored size limits the allocation. */
static int check_held(goh5_err_t *err, size_t n, size_t size, hsize_t held)
{
    if (n == 0 || (n <= SIZE_MAX / size && n <= held / size)) {
        return 0;
    }
    err->have = (int64_t)held;
    err->want = (int64_t)(n <= INT64_MAX / size ? n * size : INT64_MAX);
    return GOH5_ESHORT;
}

static int put_numbers(goh5_err_t *err, goh5_buf_t *b, hid_t attr, hid_t own, size_t n)
{
    int rc = 0;
    size_t size = H5Tget_size(own);
    uint8_t *mem = NULL;
    PASS(check_held(err, n, size, H5Aget_storage_size(attr)));
    if (n > 0) {
        if ((mem = hyperslab_alloc(n * size)) == NULL) {
            RAISE(GOH5_ENOMEM);
        }
        TRY(H5Aread(attr, own, mem) >= 0);
    }
    goh5_put(b, VALUE_BYTES);
    goh5_put_bytes(b, mem, n * size);
done:
    hyperslab_free(mem);
    return rc;
}

/* H5Aread has no list of transfer properties, so that strings and sequences are read by the function
 * of libhdf5's connector, which has one. It needs a context, which H5Aread would open. */
static int read_pieces(goh5_err_t *err, hid_t attr, hid_t mem_type, hid_t dxpl, void *mem)
{
    int rc = 0;
    void *context = NULL;
    void *object = H5VLobject(attr);
    TRY(object != NULL);
    hid_t native = H5VL_NATIVE;
    TRY(H5VLopen_lib_context(&context) >= 0);
    TRY(H5VLattr_read(object, native, mem_type, mem, dxpl, NULL) >= 0);
done:
    if (context != NULL) {
        H5VLclose_lib_context(context);
    }
    return rc;
}

static int put_value(goh5_err_t *err, goh5_buf_t *b, hid_t loc, hid_t attr, hid_t type, hid_t space, uint64_t limit)
{
    int rc = 0;
    uint8_t *mem = NULL;
    goh5_pieces_t pieces = {.dxpl = H5P_DEFAULT};
    hid_t mem_type = H5I_INVALID_HID;
    goh5_buf_t values = {0};
    int form = VALUE_BYTES, got = 0; /* after a failure the bytes may be file data, not pointers */
    hssize_t points = H5Sget_simple_extent_npoints(space);
    TRY(points >= 0);
    size_t n = H5Sget_simple_extent_type(space) == H5S_NULL ? 0 : (size_t)points;
    hid_t own = own_number(type);
    if (own >= 0) {
        return put_numbers(err, b, attr, own, n);
    }
    int plain = goh5_type_plain(type);
    TRY(plain >= 0);
    if (!plain) {
        form = H5Tget_class(type) == H5T_STRING ? VALUE_STRINGS : VALUE_VALUES;
    }
    if (form == VALUE_STRINGS) {
        PASS(goh5_string_type(err, type, &mem_type));
    } else if (form == VALUE_BYTES) {
        TRY((mem_type = H5Tcopy(type)) >= 0);
    } else {
        PASS(goh5_type_form(err, type, GOH5_STORED, &mem_type));
    }
    /* A reference of the kind added in 1.12 has at least 18 bytes in the file and 64 in memory. No
     * other element is smaller in the file than in memory. */
    size_t size = H5Tget_size(mem_type);
    PASS(check_held(err, n, size, H5Aget_storage_size(attr) * (form == VALUE_VALUES ? 4 : 1)));
    if (n > 0) {
        if ((mem = hyperslab_alloc(n * size)) == NULL) {
            RAISE(GOH5_ENOMEM);
        }
        PASS(goh5_pieces_open(err, &pieces, !plain, loc, limit));
        if (plain) {
            TRY(H5Aread(attr, mem_type, mem) >= 0);
        } else {
            PASS(read_pieces(err, attr, mem_type, pieces.dxpl, mem));
        }
        got = 1;
    }
    goh5_put(b, (uint64_t)form);
    if (form == VALUE_STRINGS) {
        PASS(goh5_strings_put(err, b, mem_type, mem, n));
    } else if (form == VALUE_BYTES) {
        goh5_put_bytes(b, mem, n * size);
    } else {
        PASS(goh5_values_put(err, &values, loc, mem_type, mem, n));
        if (values.failed) {
            RAISE(GOH5_ENOMEM);
        }
        goh5_put(b, n);
        goh5_put_bytes(b, values.data, values.len);
    }
done:
    rc = goh5_pieces_failed(err, &pieces, rc);
    if (got && form != VALUE_BYTES) {
        H5Treclaim(mem_type, space, pieces.dxpl, mem);
    }
    goh5_pieces_close(&pieces);
    goh5_buf_drop(&values);
    hyperslab_free(mem);
    goh5_close_type(mem_type);
    return rc;
}

int goh5_aread(goh5_err_t *err, int64_t loc, const char *name, uint64_t limit, goh5_blob_t *out)
{
    int rc = 0;
    goh5_buf_t b = {0};
    hid_t attr = H5I_INVALID_HID, type = H5I_INVALID_HID, space = H5I_INVALID_HID;
    goh5_enter();
    TRY((attr = H5Aopen(loc, name, H5P_DEFAULT)) >= 0);
    TRY((type = H5Aget_type(attr)) >= 0);
    TRY((space = H5Aget_space(attr)) >= 0);
    PASS(goh5_type_put(err, &b, type, 0));
    PASS(goh5_space_put(err, &b, space));
    PASS(put_value(err, &b, loc, attr, type, space, limit));
    PASS(goh5_buf_end(&b, out));
done:
    goh5_buf_drop(&b);
    goh5_close_space(space);
    goh5_close_type(type);
    if (attr >= 0) {
        H5Aclose(attr);
    }
    return rc;
}

/* Creates the attribute called name with its value. On failure it is deleted again. */
static int write_new(goh5_err_t *err, hid_t loc, const char *name, hid_t acpl, hid_t type, hid_t space, hid_t mem_type,
                     const uint8_t *mem, size_t n)
{
    int rc = 0;
    hid_t attr = H5Acreate2(loc, name, type, space, acpl, H5P_DEFAULT);
    TRY(attr >= 0);
    if (n > 0) {
        TRY(H5Awrite(attr, mem_type, mem) >= 0);
    }
done:
    if (attr >= 0) {
        H5Aclose(attr);
        if (rc < 0) {
            H5Adelete(loc, name);
        }
    }
    return rc;
}

int goh5_awrite(goh5_err_t *err, int64_t loc, const char *name, int32_t utf8, const uint8_t *spec, size_t spec_len,
                int32_t form, const uint8_t *data, size_t len, const uint64_t *offsets, size_t n)
{
    /* An existing attribute is replaced at the end, by a rename, so that a failure keeps it. */
    static const char *const temporary = "hyperslab: attribute being replaced";
    int rc = 0;
    goh5_in_t in = {spec, spec_len, 0};
    hid_t space = H5I_INVALID_HID, type = H5I_INVALID_HID, mem_type = H5I_INVALID_HID, acpl = H5I_INVALID_HID;
    uint8_t *mem = NULL;
    goh5_values_t values = {0};
    goh5_enter();
    TRY((space = goh5_space_get(&in)) >= 0);
    PASS(goh5_type_read(in.p, in.left, GOH5_STORED, &type));
    hssize_t points = H5Sget_simple_extent_npoints(space);
    TRY(points >= 0);
    size_t want = H5Sget_simple_extent_type(space) == H5S_NULL ? 0 : (size_t)points;
    int plain = goh5_type_plain(type);
    TRY(plain >= 0);
    if (form != VALUE_BYTES && n != want) {
        err->have = (int64_t)n;
        err->want = (int64_t)want;
        RAISE(GOH5_ESIZE);
    }
    if (form == VALUE_STRINGS) {
        PASS(goh5_string_type(err, type, &mem_type));
        PASS(goh5_strings_get(err, mem_type, data, offsets, n, &mem));
    } else if (form == VALUE_VALUES) {
        PASS(goh5_type_form(err, type, GOH5_STORED, &mem_type));
        PASS(goh5_values_get(err, loc, mem_type, data, len, n, &values));
        data = values.block;
    } else {
        if (!plain) {
            RAISE(GOH5_ETYPE);
        }
        TRY((mem_type = H5Tcopy(type)) >= 0);
        size_t size = H5Tget_size(mem_type);
        if (len / size != want || len % size != 0) {
            err->have = (int64_t)len;
            err->want = (int64_t)(want * size);
            RAISE(GOH5_ESIZE);
        }
    }
    TRY((acpl = H5Pcreate(H5P_ATTRIBUTE_CREATE)) >= 0);
    TRY(H5Pset_char_encoding(acpl, utf8 ? H5T_CSET_UTF8 : H5T_CSET_ASCII) >= 0);
    htri_t exists = H5Aexists(loc, name);
    TRY(exists >= 0);
    const uint8_t *value = mem != NULL ? mem : data;
    if (!exists) {
        PASS(write_new(err, loc, name, acpl, type, space, mem_type, value, want));
        goto done;
    }
    PASS(write_new(err, loc, temporary, acpl, type, space, mem_type, value, want));
    TRY(H5Adelete(loc, name) >= 0);
    TRY(H5Arename(loc, temporary, name) >= 0);
done:
    goh5_values_drop(&values);
    hyperslab_free(mem);
    goh5_close_plist(acpl);
    goh5_close_type(mem_type);
    goh5_close_type(type);
    goh5_close_space(space);
    return rc;
}

int goh5_adelete(goh5_err_t *err, int64_t loc, const char *name)
{
    int rc = 0;
    goh5_enter();
    TRY(H5Adelete(loc, name) >= 0);
done:
    return rc;
}
