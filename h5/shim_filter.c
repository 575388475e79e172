/* shim_filter.c: filters written in Go, and plugins.
 *
 * libhdf5 does not pass the filter's number to the filter function: a filter class contains only
 * functions. Therefore each slot of Go's table has its own functions here. */
#include "shim_internal.h"

#include <string.h>

static size_t call(uint32_t slot, unsigned flags, size_t n, const unsigned *values, size_t len, size_t *cap, void **buf)
{
    uint64_t got = 0;
    if (goh5_go_filter(slot, (flags & H5Z_FLAG_REVERSE) != 0, (unsigned *)(uintptr_t)values, n, *buf, len, &got) != 0) {
        return 0;
    }
    /* libhdf5 takes ownership of the new block, and the filter must free the old one. */
    uint8_t *made = H5allocate_memory(got, 0);
    if (made == NULL) {
        return 0;
    }
    goh5_go_filtered(made, got);
    H5free_memory(*buf);
    *buf = made;
    *cap = got;
    return got;
}

enum { MAX_VALUES = 256 };

static int set_values(goh5_err_t *err, uint32_t slot, hid_t dcpl, hid_t type)
{
    int rc = 0;
    goh5_buf_t b = {0};
    hsize_t chunks[H5S_MAX_RANK] = {0};
    unsigned flags = 0, values[MAX_VALUES] = {0};
    size_t n = MAX_VALUES;
    uint64_t count = 0;
    H5Z_filter_t id = goh5_go_filter_id(slot);
    TRY(H5Pget_filter_by_id2(dcpl, id, &flags, &n, values, 0, NULL, NULL) >= 0);
    if (n > MAX_VALUES) {
        RAISE(GOH5_ESIZE);
    }
    int rank = H5Pget_chunk(dcpl, H5S_MAX_RANK, chunks);
    TRY(rank >= 0);
    goh5_put(&b, (uint64_t)rank);
    for (int i = 0; i < rank; i++) {
        goh5_put(&b, chunks[i]);
    }
    PASS(goh5_type_put(err, &b, type, 0));
    if (b.failed) {
        RAISE(GOH5_ENOMEM);
    }
    count = n;
    if (goh5_go_filter_prepare(slot, b.data, b.len, values, MAX_VALUES, &count) != 0) {
        RAISE(GOH5_ELIB);
    }
    TRY(H5Pmodify_filter(dcpl, id, flags, count, values) >= 0);
done:
    goh5_buf_drop(&b);
    return rc;
}

static herr_t prepare(uint32_t slot, hid_t dcpl, hid_t type)
{
    goh5_err_t err = {0};
    int rc = set_values(&err, slot, dcpl, type);
    hyperslab_free(err.stack);
    return rc < 0 ? -1 : 0;
}

#define SLOT(n)                                                                                                        \
    static size_t filter_##n(unsigned flags, size_t count, const unsigned *values, size_t len, size_t *cap,            \
                             void **buf)                                                                               \
    {                                                                                                                  \
        return call(n, flags, count, values, len, cap, buf);                                                           \
    }                                                                                                                  \
    static herr_t local_##n(hid_t dcpl, hid_t type, hid_t space)                                                       \
    {                                                                                                                  \
        (void)space;                                                                                                   \
        return prepare(n, dcpl, type);                                                                                 \
    }

/* clang-format off */
#define SLOTS(X) \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) \
    X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31)
/* clang-format on */

SLOTS(SLOT)

#define FILTER(n) filter_##n,
#define LOCAL(n) local_##n,

static const H5Z_func_t filters[GOH5_FILTER_SLOTS] = {SLOTS(FILTER)};
static const H5Z_set_local_func_t locals[GOH5_FILTER_SLOTS] = {SLOTS(LOCAL)};

/* Filters registered through this package. libhdf5 does not return the class of a filter. The table
 * is guarded by the lock. */
enum { CLASSES = 64 };
static struct {
    H5Z_filter_t id;
    H5Z_func_t run; /* NULL: free */
} classes[CLASSES];

static int find_class(H5Z_filter_t id)
{
    for (int i = 0; i < CLASSES; i++) {
        if (classes[i].run != NULL && classes[i].id == id) {
            return i;
        }
    }
    return -1;
}

static int add_class(goh5_err_t *err, const H5Z_class2_t *class)
{
    int rc = 0, at = find_class(class->id);
    for (int i = 0; at < 0 && i < CLASSES; i++) {
        if (classes[i].run == NULL) {
            at = i;
        }
    }
    if (at < 0) {
        err->have = CLASSES + 1;
        err->want = CLASSES;
        RAISE(GOH5_ESIZE);
    }
    TRY(H5Zregister(class) >= 0);
    classes[at].id = class->id;
    classes[at].run = class->filter;
done:
    return rc;
}

int goh5_filter_class(goh5_err_t *err, const void *class)
{
    goh5_enter();
    return add_class(err, class);
}

int goh5_filter_decode(goh5_err_t *err, int32_t id, const uint32_t *values, size_t count, const uint8_t *src,
                       size_t len, goh5_blob_t *out, int32_t *state)
{
    int rc = 0, at = find_class(id);
    goh5_buf_t b = {0};
    void *data = NULL;
    size_t cap = len;
    goh5_enter();
    *state = 0;
    if (at < 0) {
        goto done;
    }
    if ((data = H5allocate_memory(len > 0 ? len : 1, 0)) == NULL) {
        RAISE(GOH5_ENOMEM);
    }
    if (len > 0) {
        memcpy(data, src, len);
    }
    size_t n = classes[at].run(H5Z_FLAG_REVERSE, count, values, len, &cap, &data);
    H5Eclear2(H5E_DEFAULT);
    *state = n == 0 ? -1 : 1;
    goh5_put_bytes(&b, data, n);
    PASS(goh5_buf_end(&b, out));
done:
    (void)err;
    H5free_memory(data);
    goh5_buf_drop(&b);
    return rc;
}

int goh5_filter_register(goh5_err_t *err, uint32_t slot, int32_t id, const char *name, int32_t encodes,
                         int32_t prepares)
{
    int rc = 0;
    goh5_enter();
    H5Z_class2_t class = {
        .version = H5Z_CLASS_T_VERS,
        .id = id,
        .encoder_present = encodes != 0,
        .decoder_present = 1,
        .name = name, /* not copied by libhdf5 */
        .set_local = prepares ? locals[slot] : NULL,
        .filter = filters[slot],
    };
    PASS(add_class(err, &class));
done:
    return rc;
}

int goh5_filter_unregister(goh5_err_t *err, int32_t id)
{
    int rc = 0;
    goh5_enter();
    TRY(H5Zunregister(id) >= 0);
    int at = find_class(id);
    if (at >= 0) {
        classes[at].run = NULL;
    }
done:
    return rc;
}

/* ---------- plugins ---------- */

int goh5_plugins_set(goh5_err_t *err, const uint8_t *spec, size_t spec_len)
{
    int rc = 0;
    unsigned have = 0;
    goh5_in_t in = {spec, spec_len, 0};
    goh5_enter();
    uint64_t n = goh5_get(&in);
    TRY(H5PLset_loading_state(0) >= 0);
    TRY(H5PLsize(&have) >= 0);
    for (; have > 0; have--) {
        TRY(H5PLremove(have - 1) >= 0);
    }
    for (uint64_t i = 0; i < n; i++) {
        TRY(H5PLappend(goh5_get_text(&in)) >= 0);
    }
    if (n > 0) {
        TRY(H5PLset_loading_state(H5PL_FILTER_PLUGIN) >= 0);
    }
done:
    return rc;
}

int goh5_plugins(goh5_err_t *err, goh5_blob_t *out)
{
    int rc = 0;
    unsigned state = 0, n = 0;
    char *path = NULL;
    goh5_buf_t b = {0};
    goh5_enter();
    TRY(H5PLget_loading_state(&state) >= 0);
    if (state & H5PL_FILTER_PLUGIN) {
        TRY(H5PLsize(&n) >= 0);
    }
    goh5_put(&b, n);
    for (unsigned i = 0; i < n; i++) {
        ssize_t len = H5PLget(i, NULL, 0);
        TRY(len >= 0);
        hyperslab_free(path);
        if ((path = hyperslab_alloc((size_t)len + 1)) == NULL) {
            RAISE(GOH5_ENOMEM);
        }
        TRY(H5PLget(i, path, (size_t)len + 1) >= 0);
        goh5_put_text(&b, path);
    }
    PASS(goh5_buf_end(&b, out));
done:
    hyperslab_free(path);
    goh5_buf_drop(&b);
    return rc;
}
