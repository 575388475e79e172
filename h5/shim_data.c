/* shim_data.c: the elements of datasets: numbers and other plain bytes, and strings. */
#include "shim_internal.h"

#include <string.h>

/* What a transfer needs. The selection is checked against the extent of this moment, in the same call: another
 * handle may have resized the dataset. */
typedef struct transfer {
    hid_t type;       /* as stored */
    hid_t mem_type;   /* as in memory */
    hid_t file_space; /* with the selection */
    hid_t mem_space;  /* of the selection's shape, all of it: the library is slow when shapes differ */
    size_t n;         /* elements selected */
} transfer_t;

static void transfer_close(transfer_t *t)
{
    goh5_close_type(t->type);
    goh5_close_type(t->mem_type);
    goh5_close_space(t->file_space);
    goh5_close_space(t->mem_space);
}

static int outside(goh5_err_t *err, const hsize_t *dims, int rank)
{
    err->rank = rank;
    for (int i = 0; i < rank; i++) {
        err->dims[i] = dims[i];
    }
    return GOH5_EREGION;
}

/* Go has checked that nothing is negative, that strides reach over blocks and that no product overflows. */
static int transfer_open(goh5_err_t *err, transfer_t *t, hid_t id, const int64_t *sel, size_t rank)
{
    int rc = 0;
    hsize_t dims[H5S_MAX_RANK] = {0}, start[H5S_MAX_RANK], count[H5S_MAX_RANK], stride[H5S_MAX_RANK],
            block[H5S_MAX_RANK], shape[H5S_MAX_RANK];
    *t = (transfer_t){H5I_INVALID_HID, H5I_INVALID_HID, H5I_INVALID_HID, H5I_INVALID_HID, 1};
    TRY((t->type = H5Dget_type(id)) >= 0);
    TRY((t->file_space = H5Dget_space(id)) >= 0);
    H5S_class_t class = H5Sget_simple_extent_type(t->file_space);
    TRY(class >= 0);
    int have = H5Sget_simple_extent_dims(t->file_space, dims, NULL);
    TRY(have >= 0);
    if (class == H5S_NULL) {
        RAISE(outside(err, dims, -1));
    }
    if ((size_t)have != rank) {
        RAISE(outside(err, dims, have));
    }
    for (size_t i = 0; i < rank; i++) {
        start[i] = (hsize_t)sel[i];
        count[i] = (hsize_t)sel[rank + i];
        stride[i] = (hsize_t)sel[2 * rank + i];
        block[i] = (hsize_t)sel[3 * rank + i];
        shape[i] = count[i] * block[i];
        t->n *= shape[i];
        hsize_t reach = count[i] == 0 || block[i] == 0 ? 0 : (count[i] - 1) * stride[i] + block[i];
        if (start[i] > dims[i] || reach > dims[i] - start[i]) {
            RAISE(outside(err, dims, have));
        }
    }
    if (rank == 0) {
        TRY((t->mem_space = H5Screate(H5S_SCALAR)) >= 0);
    } else if (t->n > 0) {
        TRY(H5Sselect_hyperslab(t->file_space, H5S_SELECT_SET, start, stride, count, block) >= 0);
        TRY((t->mem_space = H5Screate_simple((int)rank, shape, NULL)) >= 0);
    }
done:
    return rc;
}

/* A missing filter is told by its number and name; the library's own words for it are four different ones. */
static int missing_filter(goh5_err_t *err, hid_t id, int rc)
{
    hid_t dcpl = H5Dget_create_plist(id);
    int n = dcpl < 0 ? 0 : H5Pget_nfilters(dcpl);
    for (unsigned i = 0; rc == GOH5_ELIB && i < (unsigned)(n < 0 ? 0 : n); i++) {
        unsigned flags = 0, config = 0;
        size_t count = 0;
        char name[sizeof err->name] = {0};
        H5Z_filter_t filter = H5Pget_filter2(dcpl, i, &flags, &count, NULL, sizeof name, name, &config);
        if (filter >= 0 && H5Zfilter_avail(filter) == 0) {
            err->filter = filter;
            memcpy(err->name, name, sizeof name - 1);
            rc = GOH5_ENOFILTER;
        }
    }
    goh5_close_plist(dcpl);
    return rc;
}

static int check_plain(goh5_err_t *err, const transfer_t *t, size_t len)
{
    int rc = 0;
    int stored = goh5_type_plain(t->type), mem = goh5_type_plain(t->mem_type);
    TRY(stored >= 0 && mem >= 0);
    if (!stored || !mem) {
        RAISE(GOH5_ETYPE);
    }
    size_t size = H5Tget_size(t->mem_type);
    if (size == 0 || len / size != t->n || len % size != 0) {
        err->have = (int64_t)len;
        err->want = (int64_t)(t->n * size);
        RAISE(GOH5_ESIZE);
    }
done:
    return rc;
}

int goh5_dread(goh5_err_t *err, int64_t id, const uint8_t *type, size_t type_len, const int64_t *sel, size_t rank,
               int32_t lossy, uint8_t *dst, size_t len)
{
    int rc = 0;
    transfer_t t;
    uint8_t *raw = NULL;
    goh5_enter();
    PASS(transfer_open(err, &t, id, sel, rank));
    PASS(goh5_type_read(type, type_len, GOH5_STORED, &t.mem_type));
    PASS(check_plain(err, &t, len));
    int how = goh5_conversion(err, t.type, t.mem_type);
    PASS(how);
    rc = 0;
    if (t.n == 0) {
        goto done;
    }
    if (how == GOH5_EXACT || lossy) {
        TRY(H5Dread(id, t.mem_type, t.mem_space, t.file_space, H5P_DEFAULT, dst) >= 0);
        goto done;
    }
    size_t size = H5Tget_size(t.type);
    if (t.n > SIZE_MAX / size || (raw = hyperslab_alloc(t.n * size)) == NULL) {
        RAISE(GOH5_ENOMEM);
    }
    TRY(H5Dread(id, t.type, t.mem_space, t.file_space, H5P_DEFAULT, raw) >= 0);
    PASS(goh5_convert(err, t.type, t.mem_type, raw, dst, t.n));
done:
    rc = missing_filter(err, id, rc);
    hyperslab_free(raw);
    transfer_close(&t);
    return rc;
}

int goh5_dwrite(goh5_err_t *err, int64_t id, const uint8_t *type, size_t type_len, const int64_t *sel, size_t rank,
                int32_t lossy, const uint8_t *src, size_t len)
{
    int rc = 0;
    transfer_t t;
    uint8_t *raw = NULL;
    goh5_enter();
    PASS(transfer_open(err, &t, id, sel, rank));
    PASS(goh5_type_read(type, type_len, GOH5_STORED, &t.mem_type));
    PASS(check_plain(err, &t, len));
    int how = goh5_conversion(err, t.mem_type, t.type);
    PASS(how);
    rc = 0;
    if (t.n == 0) {
        goto done;
    }
    if (how == GOH5_EXACT || lossy) {
        TRY(H5Dwrite(id, t.mem_type, t.mem_space, t.file_space, H5P_DEFAULT, src) >= 0);
        goto done;
    }
    /* All is converted before the first byte goes to the file: a value that does not fit changes nothing. */
    size_t size = H5Tget_size(t.type);
    if (t.n > SIZE_MAX / size || (raw = hyperslab_alloc(t.n * size)) == NULL) {
        RAISE(GOH5_ENOMEM);
    }
    PASS(goh5_convert(err, t.mem_type, t.type, src, raw, t.n));
    TRY(H5Dwrite(id, t.type, t.mem_space, t.file_space, H5P_DEFAULT, raw) >= 0);
done:
    rc = missing_filter(err, id, rc);
    hyperslab_free(raw);
    transfer_close(&t);
    return rc;
}

/* ---------- strings ---------- */

/* The form in memory: a stored variable-length type is at home in the file, so it is made anew. */
static hid_t string_in_memory(hid_t stored)
{
    hid_t t = H5Tcopy(H5T_C_S1);
    htri_t variable = H5Tis_variable_str(stored);
    if (t < 0 || variable < 0 || H5Tset_size(t, variable ? H5T_VARIABLE : H5Tget_size(stored)) < 0 ||
        H5Tset_strpad(t, H5Tget_strpad(stored)) < 0 || H5Tset_cset(t, H5Tget_cset(stored)) < 0) {
        goh5_close_type(t);
        return H5I_INVALID_HID;
    }
    return t;
}

int goh5_string_type(goh5_err_t *err, hid_t stored, hid_t *mem)
{
    int rc = 0;
    H5T_class_t class = H5Tget_class(stored);
    TRY(class >= 0);
    if (class != H5T_STRING) {
        RAISE(GOH5_ETYPE);
    }
    hid_t t = string_in_memory(stored);
    TRY(t >= 0);
    *mem = t;
done:
    return rc;
}

/* The text of a fixed string without its padding. */
static size_t trimmed(const uint8_t *s, size_t size, H5T_str_t pad)
{
    size_t n = size;
    switch (pad) {
    case H5T_STR_NULLTERM: {
        const uint8_t *end = memchr(s, 0, size);
        n = end == NULL ? size : (size_t)(end - s);
        break;
    }
    case H5T_STR_NULLPAD:
        while (n > 0 && s[n - 1] == 0) {
            n--;
        }
        break;
    default:
        while (n > 0 && s[n - 1] == ' ') {
            n--;
        }
        break;
    }
    return n;
}

int goh5_strings_put(goh5_err_t *err, goh5_buf_t *b, hid_t type, const uint8_t *mem, size_t n)
{
    int rc = 0;
    htri_t variable = H5Tis_variable_str(type);
    TRY(variable >= 0);
    size_t size = H5Tget_size(type);
    H5T_str_t pad = H5Tget_strpad(type);
    goh5_put(b, n);
    for (size_t i = 0; i < n; i++) {
        const uint8_t *s = mem + i * size;
        if (variable) {
            const char *text;
            memcpy(&text, s, sizeof text);
            goh5_put_text(b, text);
        } else {
            goh5_put_string(b, s, trimmed(s, size, pad));
        }
    }
done:
    return rc;
}

int goh5_strings_get(goh5_err_t *err, hid_t type, const uint8_t *bytes, const uint64_t *offsets, size_t n,
                     uint8_t **mem)
{
    int rc = 0;
    uint8_t *block = NULL;
    htri_t variable = H5Tis_variable_str(type);
    TRY(variable >= 0);
    size_t size = H5Tget_size(type);
    H5T_str_t pad = H5Tget_strpad(type);
    if (n > SIZE_MAX / size || (block = hyperslab_alloc(n * size)) == NULL) {
        RAISE(GOH5_ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        const uint8_t *text = bytes + offsets[i];
        size_t len = offsets[i + 1] - offsets[i] - 1; /* each text ends with a zero byte */
        uint8_t *to = block + i * size;
        if (variable) {
            memcpy(to, &text, sizeof text);
            continue;
        }
        err->index = (int64_t)i;
        err->have = (int64_t)len;
        err->want = (int64_t)(pad == H5T_STR_NULLTERM ? size - 1 : size);
        if (err->have > err->want) {
            RAISE(GOH5_ELONG);
        }
        if (pad == H5T_STR_SPACEPAD && len > 0 && text[len - 1] == ' ') {
            RAISE(GOH5_ETRIM);
        }
        memset(to, pad == H5T_STR_SPACEPAD ? ' ' : 0, size);
        memcpy(to, text, len);
    }
    *mem = block;
    block = NULL;
done:
    hyperslab_free(block);
    return rc;
}

void goh5_strings_free(hid_t type, hid_t space, uint8_t *mem)
{
    if (mem != NULL && H5Tis_variable_str(type) > 0) {
        H5Treclaim(type, space, H5P_DEFAULT, mem);
    }
    hyperslab_free(mem);
}

int goh5_dread_strings(goh5_err_t *err, int64_t id, const int64_t *sel, size_t rank, goh5_blob_t *out)
{
    int rc = 0;
    transfer_t t;
    goh5_buf_t b = {0};
    uint8_t *mem = NULL;
    goh5_enter();
    PASS(transfer_open(err, &t, id, sel, rank));
    PASS(goh5_string_type(err, t.type, &t.mem_type));
    size_t size = H5Tget_size(t.mem_type);
    if (t.n > 0) {
        if (t.n > SIZE_MAX / size || (mem = hyperslab_alloc(t.n * size)) == NULL) {
            RAISE(GOH5_ENOMEM);
        }
        TRY(H5Dread(id, t.mem_type, t.mem_space, t.file_space, H5P_DEFAULT, mem) >= 0);
    }
    PASS(goh5_strings_put(err, &b, t.mem_type, mem, t.n));
    PASS(goh5_buf_end(&b, out));
done:
    rc = missing_filter(err, id, rc);
    goh5_strings_free(t.mem_type, t.mem_space, mem);
    goh5_buf_drop(&b);
    transfer_close(&t);
    return rc;
}

int goh5_dwrite_strings(goh5_err_t *err, int64_t id, const int64_t *sel, size_t rank, const uint8_t *bytes,
                        const uint64_t *offsets, size_t n)
{
    int rc = 0;
    transfer_t t;
    uint8_t *mem = NULL;
    goh5_enter();
    PASS(transfer_open(err, &t, id, sel, rank));
    PASS(goh5_string_type(err, t.type, &t.mem_type));
    if (n != t.n) {
        err->have = (int64_t)n;
        err->want = (int64_t)t.n;
        RAISE(GOH5_ESIZE);
    }
    if (n > 0) {
        PASS(goh5_strings_get(err, t.mem_type, bytes, offsets, n, &mem));
        TRY(H5Dwrite(id, t.mem_type, t.mem_space, t.file_space, H5P_DEFAULT, mem) >= 0);
    }
done:
    rc = missing_filter(err, id, rc);
    hyperslab_free(mem); /* the texts are the caller's */
    transfer_close(&t);
    return rc;
}
