/* shim_attr.c: attributes: list, read, write, delete. */
#include "shim_internal.h"

#include <string.h>

typedef struct attrs {
    goh5_err_t *err;
    goh5_buf_t buf;
    uint64_t count;
    int rc;
} attrs_t;

static int put_attr(hid_t loc, const char *name, attrs_t *a)
{
    int rc = 0;
    goh5_err_t *err = a->err;
    hid_t attr = H5I_INVALID_HID, type = H5I_INVALID_HID, space = H5I_INVALID_HID;
    TRY((attr = H5Aopen(loc, name, H5P_DEFAULT)) >= 0);
    TRY((type = H5Aget_type(attr)) >= 0);
    TRY((space = H5Aget_space(attr)) >= 0);
    goh5_put_text(&a->buf, name);
    PASS(goh5_type_put(err, &a->buf, type, 0));
    PASS(goh5_space_put(err, &a->buf, space));
    a->count++;
done:
    goh5_close_space(space);
    goh5_close_type(type);
    if (attr >= 0) {
        H5Aclose(attr);
    }
    return rc;
}

static herr_t each_attr(hid_t loc, const char *name, const H5A_info_t *info, void *data)
{
    (void)info;
    attrs_t *a = data;
    a->rc = put_attr(loc, name, a);
    return a->rc < 0 ? -1 : 0;
}

int goh5_attrs(goh5_err_t *err, int64_t loc, goh5_blob_t *out)
{
    int rc = 0;
    attrs_t a = {0};
    a.err = err;
    goh5_enter();
    goh5_put(&a.buf, 0);
    herr_t done = H5Aiterate2(loc, H5_INDEX_NAME, H5_ITER_INC, NULL, each_attr, &a);
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

/* What follows type and space in the result of goh5_aread, as attribute.go has it. */
enum { VALUE_NONE = 0, VALUE_BYTES = 1, VALUE_STRINGS = 2 };

static int put_value(goh5_err_t *err, goh5_buf_t *b, hid_t attr, hid_t type, hid_t space)
{
    int rc = 0;
    uint8_t *mem = NULL;
    hid_t mem_type = H5I_INVALID_HID;
    int strings = 0;
    hssize_t points = H5Sget_simple_extent_npoints(space);
    TRY(points >= 0);
    size_t n = H5Sget_simple_extent_type(space) == H5S_NULL ? 0 : (size_t)points;
    int plain = goh5_type_plain(type);
    TRY(plain >= 0);
    strings = H5Tget_class(type) == H5T_STRING && !plain;
    if (!plain && !strings) {
        goh5_put(b, VALUE_NONE);
        goto done;
    }
    if (strings) {
        PASS(goh5_string_type(err, type, &mem_type));
    } else {
        PASS(goh5_type_form(err, type, GOH5_NATIVE, &mem_type));
    }
    /* A file can claim any number of elements; what it stores bounds what we allocate. */
    size_t size = H5Tget_size(mem_type);
    size_t stored = H5Tget_size(type);
    hsize_t held = H5Aget_storage_size(attr);
    if (n > 0 && (n > SIZE_MAX / size || n > held / (stored < size ? stored : size))) {
        err->have = (int64_t)held;
        err->want = (int64_t)(n <= INT64_MAX / size ? n * size : INT64_MAX);
        RAISE(GOH5_ESHORT);
    }
    if (n > 0) {
        if ((mem = hyperslab_alloc(n * size)) == NULL) {
            RAISE(GOH5_ENOMEM);
        }
        TRY(H5Aread(attr, mem_type, mem) >= 0);
    }
    goh5_put(b, strings ? VALUE_STRINGS : VALUE_BYTES);
    if (strings) {
        PASS(goh5_strings_put(err, b, mem_type, mem, n));
    } else {
        goh5_put_bytes(b, mem, n * size);
    }
done:
    if (strings) {
        goh5_strings_free(mem_type, space, mem);
    } else {
        hyperslab_free(mem);
    }
    goh5_close_type(mem_type);
    return rc;
}

int goh5_aread(goh5_err_t *err, int64_t loc, const char *name, goh5_blob_t *out)
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
    PASS(put_value(err, &b, attr, type, space));
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

/* A new attribute called name with its value; on failure there is none. */
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
                const uint8_t *data, size_t len, const uint64_t *offsets, size_t n)
{
    /* An attribute that is there already is replaced at the end, by a rename, so that a failure keeps it. */
    static const char *const temporary = "hyperslab: attribute being replaced";
    int rc = 0;
    goh5_in_t in = {spec, spec_len, 0};
    hid_t space = H5I_INVALID_HID, type = H5I_INVALID_HID, mem_type = H5I_INVALID_HID, acpl = H5I_INVALID_HID;
    uint8_t *mem = NULL;
    goh5_enter();
    TRY((space = goh5_space_get(&in)) >= 0);
    PASS(goh5_type_read(in.p, in.left, GOH5_STORED, &type));
    hssize_t points = H5Sget_simple_extent_npoints(space);
    TRY(points >= 0);
    size_t want = H5Sget_simple_extent_type(space) == H5S_NULL ? 0 : (size_t)points;
    int plain = goh5_type_plain(type);
    TRY(plain >= 0);
    if (offsets != NULL) {
        PASS(goh5_string_type(err, type, &mem_type));
        if (n != want) {
            err->have = (int64_t)n;
            err->want = (int64_t)want;
            RAISE(GOH5_ESIZE);
        }
        PASS(goh5_strings_get(err, mem_type, data, offsets, n, &mem));
    } else {
        if (!plain) {
            RAISE(GOH5_ETYPE);
        }
        PASS(goh5_type_form(err, type, GOH5_NATIVE, &mem_type));
        size_t size = H5Tget_size(mem_type);
        if (len / size != want || len % size != 0) {
            err->have = (int64_t)len;
            err->want = (int64_t)(want * size);
            RAISE(GOH5_ESIZE);
        }
        int how = goh5_conversion(err, mem_type, type);
        PASS(how);
        rc = 0;
        if (how == GOH5_CHECKED) {
            if ((mem = hyperslab_alloc(len)) == NULL) {
                RAISE(GOH5_ENOMEM);
            }
            PASS(goh5_convert(err, mem_type, type, data, mem, want));
            goh5_close_type(mem_type);
            TRY((mem_type = H5Tcopy(type)) >= 0);
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
