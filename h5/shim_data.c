/* shim_data.c: elements of datasets as plain bytes, strings, and values of any type. */
#include "shim_internal.h"

#include <string.h>

/* State of a transfer. The selection is checked against the current extent in the same call,
 * because another handle may have resized the dataset. */
typedef struct transfer {
    hid_t type;       /* as stored; for plain elements only */
    hid_t mem_type;   /* as in memory */
    int standard;     /* whether mem_type is a type of libhdf5 and must not be closed */
    hid_t file_space; /* with the selection */
    hid_t mem_space;  /* of the buffer */
    size_t n;         /* elements selected */
    size_t room;      /* elements in the whole buffer */
    int large;        /* whether the selection takes much memory */
} transfer_t;

/* Keeps the dataspace of a dataset instead of the one kept before, if its extent is fixed. Only
 * contiguous elements in the file itself have an offset, and only their extent cannot change:
 * H5Dset_extent also shrinks a chunked dataset that cannot grow. */
static void keep_space(hid_t dataset, hid_t space)
{
    if (H5Dget_offset(dataset) != HADDR_UNDEF) {
        goh5_drop_space(0);
        goh5_kept.dataset = dataset;
        goh5_kept.space = space;
    }
}

static void transfer_close(transfer_t *t)
{
    goh5_close_type(t->type);
    if (!t->standard) {
        goh5_close_type(t->mem_type);
    }
    if (t->file_space != goh5_kept.space) {
        goh5_close_space(t->file_space);
    } else if (t->large && goh5_kept.space >= 0) {
        H5Sselect_none(t->file_space); /* a long list of points takes memory */
    }
    goh5_close_space(t->mem_space);
}

/* Selects in the dataset, and in the buffer if the encoded selection contains a part for it. With
 * block_only a selection in one dimension needs no dataspace of the buffer; H5Treclaim needs one. */
static int transfer_open(goh5_err_t *err, transfer_t *t, hid_t id, const int64_t *sel, size_t words, size_t rank,
                         int block_only)
{
    int rc = 0;
    goh5_sel_t s = {sel, words, 0};
    hsize_t dims[H5S_MAX_RANK] = {0};
    *t = (transfer_t){.type = H5I_INVALID_HID,
                      .mem_type = H5I_INVALID_HID,
                      .file_space = H5I_INVALID_HID,
                      .mem_space = H5I_INVALID_HID,
                      .large = words > 1024};
    if (id == goh5_kept.dataset) {
        t->file_space = goh5_kept.space;
    } else {
        TRY((t->file_space = H5Dget_space(id)) >= 0);
        keep_space(id, t->file_space);
    }
    PASS(goh5_select(err, &s, t->file_space, rank, &t->n));
    t->room = t->n;
    if (s.left > 0) {
        size_t axes = (size_t)*s.p, in_buffer = 0;
        if (axes > H5S_MAX_RANK || axes + 1 > s.left) {
            RAISE(GOH5_ETYPE);
        }
        t->room = 1;
        for (size_t i = 0; i < axes; i++) {
            dims[i] = (hsize_t)s.p[1 + i];
            t->room *= dims[i];
        }
        s.p += axes + 1;
        s.left -= axes + 1;
        TRY((t->mem_space = axes == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple((int)axes, dims, NULL)) >= 0);
        rc = goh5_select(err, &s, t->mem_space, GOH5_ANY_RANK, &in_buffer); /* Go has compared the ranks */
        if (rc == GOH5_EREGION) {
            rc = GOH5_EWINDOW;
        }
        PASS(rc);
        if (in_buffer != t->n) {
            err->have = (int64_t)in_buffer;
            err->want = (int64_t)t->n;
            RAISE(GOH5_ESIZE);
        }
    } else if (t->n > 0 && rank == 1 && block_only) {
        t->mem_space = H5S_BLOCK;
    } else if (t->n > 0 && H5Sget_select_type(t->file_space) == H5S_SEL_ALL) {
        TRY((t->mem_space = H5Scopy(t->file_space)) >= 0);
    } else if (t->n > 0) {
        /* Use the shape of a regular selection, because libhdf5 is slow when the shapes differ. */
        hsize_t n = t->n, start[H5S_MAX_RANK], stride[H5S_MAX_RANK], count[H5S_MAX_RANK], block[H5S_MAX_RANK];
        int axes = 1, rank_now = H5Sget_simple_extent_ndims(t->file_space);
        hsize_t *shape = &n;
        if (rank_now > 1 && H5Sget_select_type(t->file_space) == H5S_SEL_HYPERSLABS &&
            H5Sis_regular_hyperslab(t->file_space) > 0) {
            TRY(H5Sget_regular_hyperslab(t->file_space, start, stride, count, block) >= 0);
            axes = rank_now;
            for (int i = 0; i < axes; i++) {
                dims[i] = count[i] * block[i];
            }
            shape = dims;
        }
        TRY((t->mem_space = H5Screate_simple(axes, shape, NULL)) >= 0);
    }
done:
    return rc;
}

int goh5_missing_filter(goh5_err_t *err, hid_t id, int rc)
{
    if (rc != GOH5_ELIB) {
        return rc;
    }
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

/* Checks that libhdf5 changes no value, unless lossy is set. */
static int check_types(goh5_err_t *err, transfer_t *t, hid_t id, int lossy, int writing)
{
    int rc = 0;
    TRY((t->type = H5Dget_type(id)) >= 0);
    int stored = goh5_type_plain(t->type), mem = goh5_type_plain(t->mem_type);
    TRY(stored >= 0 && mem >= 0);
    if (!stored || !mem) {
        RAISE(GOH5_ETYPE);
    }
    int how = goh5_conversion(err, writing ? t->mem_type : t->type, writing ? t->type : t->mem_type, writing);
    PASS(how);
    rc = 0;
    if (how == GOH5_LOSSY && !lossy) {
        RAISE(GOH5_ELOSSY);
    }
done:
    return rc;
}

static int check_size(goh5_err_t *err, const transfer_t *t, size_t size, size_t len)
{
    int rc = 0;
    if (size == 0 || len / size != t->room || len % size != 0) {
        err->have = (int64_t)len;
        err->want = (int64_t)(t->room * size);
        RAISE(GOH5_ESIZE);
    }
done:
    return rc;
}

/* Opens a transfer of plain elements. Fails with GOH5_ETYPE if libhdf5 may change a value, unless
 * lossy is set. With known the caller has checked the types before. */
static int plain_open(goh5_err_t *err, transfer_t *t, hid_t id, const uint8_t *type, size_t type_len,
                      const int64_t *sel, size_t words, size_t rank, int lossy, int known, size_t len, int writing)
{
    int rc = 0;
    size_t size = 0; /* of an element in memory */
    PASS(transfer_open(err, t, id, sel, words, rank, 1));
    t->mem_type = goh5_type_standard(type, type_len, &size);
    t->standard = t->mem_type >= 0;
    if (!t->standard) {
        PASS(goh5_type_read(type, type_len, GOH5_STORED, &t->mem_type));
        size = H5Tget_size(t->mem_type);
    }
    if (!known) {
        PASS(check_types(err, t, id, lossy, writing));
    }
    PASS(check_size(err, t, size, len));
done:
    return rc;
}

/* Returns whether H5Dread may leave elements of a dataset unchanged in memory. libhdf5 does so for
 * elements that are not stored if they have no fill value or must not be filled, and for parts of a
 * virtual dataset whose source has such elements. Both properties of a dataset never change. */
static int32_t find_gaps(hid_t id)
{
    H5D_fill_time_t when = H5D_FILL_TIME_NEVER;
    H5D_fill_value_t kind = H5D_FILL_VALUE_UNDEFINED;
    H5D_layout_t layout = H5D_LAYOUT_ERROR;
    hid_t dcpl = H5Dget_create_plist(id);
    if (dcpl >= 0) {
        layout = H5Pget_layout(dcpl);
        if (H5Pget_fill_time(dcpl, &when) < 0 || H5Pfill_value_defined(dcpl, &kind) < 0) {
            layout = H5D_LAYOUT_ERROR;
        }
    }
    int32_t gaps = GOH5_GAPS_SOME;
    if (layout == H5D_COMPACT || (layout == H5D_CONTIGUOUS && H5Dget_offset(id) != HADDR_UNDEF)) {
        gaps = GOH5_GAPS_NONE; /* all elements are stored, and stay so */
    } else if ((layout == H5D_CONTIGUOUS || layout == H5D_CHUNKED) && when != H5D_FILL_TIME_NEVER &&
               kind != H5D_FILL_VALUE_UNDEFINED) {
        gaps = GOH5_GAPS_NONE; /* they get the fill value */
    }
    goh5_close_plist(dcpl);
    H5Eclear2(H5E_DEFAULT);
    return gaps;
}

/* Whether elements in memory may have padding, which libhdf5 leaves unchanged when it converts. */
static int has_padding(const transfer_t *t)
{
    return !t->standard && H5Tdetect_class(t->mem_type, H5T_COMPOUND) != 0;
}

/* Sets the selected elements of the buffer to zero. */
static int clear_elements(goh5_err_t *err, const transfer_t *t, uint8_t *dst, size_t len)
{
    int rc = 0;
    if (t->n == t->room) {
        memset(dst, 0, len);
    } else {
        TRY(H5Dfill(NULL, t->mem_type, dst, t->mem_type, t->mem_space) >= 0);
    }
done:
    return rc;
}

int goh5_dread(goh5_err_t *err, int64_t id, const uint8_t *type, size_t type_len, const int64_t *sel, size_t words,
               size_t rank, int32_t lossy, int32_t known, int32_t *gaps, uint8_t *dst, size_t len)
{
    int rc = 0;
    transfer_t t;
    goh5_enter();
    PASS(plain_open(err, &t, id, type, type_len, sel, words, rank, lossy, known, len, 0));
    if (t.n > 0) {
        if (*gaps == GOH5_GAPS_UNKNOWN) {
            *gaps = find_gaps(id);
        }
        if (*gaps == GOH5_GAPS_SOME || has_padding(&t)) {
            PASS(clear_elements(err, &t, dst, len));
        }
        TRY(H5Dread(id, t.mem_type, t.mem_space, t.file_space, H5P_DEFAULT, dst) >= 0);
    }
done:
    rc = goh5_missing_filter(err, id, rc);
    transfer_close(&t);
    return rc;
}

int goh5_dwrite(goh5_err_t *err, int64_t id, const uint8_t *type, size_t type_len, const int64_t *sel, size_t words,
                size_t rank, int32_t lossy, const uint8_t *src, size_t len)
{
    int rc = 0;
    transfer_t t;
    goh5_enter();
    PASS(plain_open(err, &t, id, type, type_len, sel, words, rank, lossy, 0, len, 1));
    if (t.n > 0) {
        TRY(H5Dwrite(id, t.mem_type, t.mem_space, t.file_space, H5P_DEFAULT, src) >= 0);
    }
done:
    rc = goh5_missing_filter(err, id, rc);
    transfer_close(&t);
    return rc;
}

/* ---------- strings ---------- */

/* The form in memory. A new type is created, because a stored variable-length type refers to its
 * file. */
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

/* The length of a fixed-length string without its padding. */
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
        size_t len = offsets[i + 1] - offsets[i] - 1; /* each string ends with a zero byte */
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

/* ---------- values ---------- */

typedef struct goh5_block {
    struct goh5_block *next;
    size_t used, size; /* of data */
    uint8_t *data;
} goh5_block_t;

enum { PIECE_ALIGN = 16, FIRST_BLOCK = 4 << 10, LAST_BLOCK = 1 << 20 };

static void *piece_alloc(size_t n, void *arg)
{
    goh5_pieces_t *p = arg;
    if (n > p->limit - p->used) {
        p->exceeded = 1;
        return NULL;
    }
    p->used += n;
    goh5_block_t *block = p->blocks;
    size_t aligned = (n + PIECE_ALIGN - 1) / PIECE_ALIGN * PIECE_ALIGN;
    if (block == NULL || aligned > block->size - block->used) {
        size_t header = (sizeof *block + PIECE_ALIGN - 1) / PIECE_ALIGN * PIECE_ALIGN;
        size_t size = block == NULL ? FIRST_BLOCK : block->size >= LAST_BLOCK / 2 ? LAST_BLOCK : 2 * block->size;
        size = size < aligned ? aligned : size;
        if ((block = hyperslab_alloc(header + size)) == NULL) {
            return NULL;
        }
        *block = (goh5_block_t){p->blocks, 0, size, (uint8_t *)block + header};
        p->blocks = block;
    }
    uint8_t *piece = block->data + block->used;
    block->used += aligned;
    return piece;
}

/* The pieces are freed together, with their blocks. */
static void piece_free(void *piece, void *arg)
{
    (void)piece;
    (void)arg;
}

int goh5_pieces_open(goh5_err_t *err, goh5_pieces_t *p, int some, hid_t id, uint64_t limit)
{
    int rc = 0;
    hid_t file = H5I_INVALID_HID;
    hsize_t bytes = 0;
    *p = (goh5_pieces_t){.dxpl = H5P_DEFAULT};
    if (!some) {
        goto done;
    }
    TRY((file = H5Iget_file_id(id)) >= 0);
    TRY(H5Fget_filesize(file, &bytes) >= 0);
    p->limit = bytes > limit ? bytes : limit;
    TRY((p->dxpl = H5Pcreate(H5P_DATASET_XFER)) >= 0);
    TRY(H5Pset_vlen_mem_manager(p->dxpl, piece_alloc, p, piece_free, p) >= 0);
done:
    if (file >= 0) {
        H5Fclose(file);
    }
    return rc;
}

int goh5_pieces_failed(goh5_err_t *err, const goh5_pieces_t *p, int rc)
{
    if (rc != GOH5_ELIB || !p->exceeded) {
        return rc;
    }
    err->want = (int64_t)p->limit;
    return GOH5_EPIECES;
}

void goh5_pieces_close(goh5_pieces_t *p)
{
    while (p->blocks != NULL) {
        goh5_block_t *next = p->blocks->next;
        hyperslab_free(p->blocks);
        p->blocks = next;
    }
    if (p->dxpl != H5P_DEFAULT) {
        goh5_close_plist(p->dxpl);
    }
}

int goh5_dtype(goh5_err_t *err, int64_t id, goh5_blob_t *out)
{
    int rc = 0;
    goh5_buf_t b = {0};
    goh5_enter();
    hid_t type = H5Dget_type(id);
    TRY(type >= 0);
    PASS(goh5_type_put(err, &b, type, 0));
    PASS(goh5_buf_end(&b, out));
done:
    goh5_buf_drop(&b);
    goh5_close_type(type);
    return rc;
}

int goh5_dread_values(goh5_err_t *err, int64_t id, const uint8_t *type, size_t type_len, const int64_t *sel,
                      size_t words, size_t rank, uint64_t limit, uint64_t *n, goh5_blob_t *out)
{
    int rc = 0;
    transfer_t t;
    goh5_buf_t b = {0};
    goh5_pieces_t pieces = {0};
    uint8_t *mem = NULL;
    int got = 0;
    goh5_enter();
    PASS(transfer_open(err, &t, id, sel, words, rank, 0));
    PASS(goh5_type_read(type, type_len, GOH5_STORED, &t.mem_type));
    int plain = goh5_type_plain(t.mem_type);
    TRY(plain >= 0);
    PASS(goh5_pieces_open(err, &pieces, !plain, id, limit));
    if (*n != UINT64_MAX && *n != t.n) {
        err->have = (int64_t)*n;
        err->want = (int64_t)t.n;
        RAISE(GOH5_ESIZE);
    }
    size_t size = H5Tget_size(t.mem_type);
    if (t.n > 0) {
        if (t.n > SIZE_MAX / size || (mem = hyperslab_alloc(t.n * size)) == NULL) {
            RAISE(GOH5_ENOMEM);
        }
        TRY(H5Dread(id, t.mem_type, t.mem_space, t.file_space, pieces.dxpl, mem) >= 0);
        got = !plain;
    }
    PASS(goh5_values_put(err, &b, id, t.mem_type, mem, t.n));
    PASS(goh5_buf_end(&b, out));
    *n = t.n;
done:
    rc = goh5_pieces_failed(err, &pieces, goh5_missing_filter(err, id, rc));
    if (got) {
        H5Treclaim(t.mem_type, t.mem_space, pieces.dxpl, mem);
    }
    goh5_pieces_close(&pieces);
    hyperslab_free(mem);
    goh5_buf_drop(&b);
    transfer_close(&t);
    return rc;
}

int goh5_dwrite_values(goh5_err_t *err, int64_t id, const uint8_t *type, size_t type_len, const int64_t *sel,
                       size_t words, size_t rank, const uint8_t *data, size_t len, size_t n)
{
    int rc = 0;
    transfer_t t;
    goh5_values_t v = {0};
    goh5_enter();
    PASS(transfer_open(err, &t, id, sel, words, rank, 0));
    PASS(goh5_type_read(type, type_len, GOH5_STORED, &t.mem_type));
    if (n != t.n) {
        err->have = (int64_t)n;
        err->want = (int64_t)t.n;
        RAISE(GOH5_ESIZE);
    }
    if (n > 0) {
        PASS(goh5_values_get(err, id, t.mem_type, data, len, n, &v));
        TRY(H5Dwrite(id, t.mem_type, t.mem_space, t.file_space, H5P_DEFAULT, v.block) >= 0);
    }
done:
    rc = goh5_missing_filter(err, id, rc);
    goh5_values_drop(&v);
    transfer_close(&t);
    return rc;
}
