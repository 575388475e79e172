/* shim_driver.c: decoding and encoding of drivers (driver.go), and the driver for files that Go
 * reads. */
#include "shim_internal.h"

#include <H5FDdevelop.h>
#include <string.h>

/* Kinds of driver. They must match driver.go. */
enum {
    DRIVER_SEC2,
    DRIVER_STDIO,
    DRIVER_CORE,
    DRIVER_LOG,
    DRIVER_FAMILY,
    DRIVER_SPLIT,
    DRIVER_MULTI,
    DRIVER_DIRECT,
    DRIVER_READER,
    DRIVER_OTHER
};

/* ---------- driver for files that Go reads ---------- */

typedef struct reader_info {
    uint64_t id;
    uint64_t size;
} reader_info_t;

typedef struct reader_file {
    H5FD_t pub; /* must be first */
    reader_info_t info;
    haddr_t eoa;
} reader_file_t;

static H5FD_t *reader_open(const char *name, unsigned flags, hid_t fapl, haddr_t max)
{
    (void)max;
    const reader_info_t *info = H5Pget_driver_info(fapl);
    if (info == NULL) { /* libhdf5 opens other files that this file names with the driver, but without its info */
        goh5_go_outside(name);
        return NULL;
    }
    if ((flags & (H5F_ACC_RDWR | H5F_ACC_TRUNC | H5F_ACC_CREAT)) != 0) {
        return NULL;
    }
    reader_file_t *f = hyperslab_alloc(sizeof *f);
    if (f != NULL) {
        f->info = *info;
        return &f->pub;
    }
    return NULL;
}

static herr_t reader_close(H5FD_t *file)
{
    hyperslab_free(file);
    return 0;
}

static int reader_cmp(const H5FD_t *a, const H5FD_t *b)
{
    uint64_t x = ((const reader_file_t *)a)->info.id, y = ((const reader_file_t *)b)->info.id;
    return x < y ? -1 : x > y;
}

static herr_t reader_query(const H5FD_t *file, unsigned long *flags)
{
    (void)file;
    *flags = H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_DEFAULT_VFD_COMPATIBLE; /* metadata is read in small pieces; the Go side caches them */
    return 0;
}

static haddr_t reader_eoa(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const reader_file_t *)file)->eoa;
}

static herr_t reader_set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t addr)
{
    (void)type;
    ((reader_file_t *)file)->eoa = addr;
    return 0;
}

static haddr_t reader_eof(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const reader_file_t *)file)->info.size;
}

static herr_t reader_read(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t at, size_t n, void *dst)
{
    (void)type;
    (void)dxpl;
    const reader_info_t *info = &((reader_file_t *)file)->info;
    /* Bytes past the end of the file read as zeros, as with libhdf5's drivers. */
    size_t there = at >= info->size ? 0 : info->size - at < n ? (size_t)(info->size - at) : n;
    memset((uint8_t *)dst + there, 0, n - there);
    return there == 0 || goh5_go_read_at(info->id, at, dst, there) == 0 ? 0 : -1;
}

static herr_t reader_write(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t at, size_t n, const void *src)
{
    (void)file;
    (void)type;
    (void)dxpl;
    (void)at;
    (void)n;
    (void)src;
    return -1; /* the file is open for reading only */
}

static const H5FD_class_t reader_class = {
    .version = H5FD_CLASS_VERSION,
    .value = 2601, /* not registered with The HDF Group, because no file contains it */
    .name = "hyperslab_reader",
    .maxaddr = HADDR_MAX >> 1,
    .fc_degree = H5F_CLOSE_WEAK,
    .fapl_size = sizeof(reader_info_t),
    .open = reader_open,
    .close = reader_close,
    .cmp = reader_cmp,
    .query = reader_query,
    .get_eoa = reader_eoa,
    .set_eoa = reader_set_eoa,
    .get_eof = reader_eof,
    .read = reader_read,
    .write = reader_write,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

/* set_reader registers the driver once and never unregisters it. If a file held the last reference
 * to its driver, closing the file would free the driver class, and H5FD_close would then read the
 * close function from the freed class. */
static int set_reader(goh5_err_t *err, hid_t fapl, uint64_t id, uint64_t size)
{
    static hid_t driver = H5I_INVALID_HID; /* guarded by the lock, like all calls of libhdf5 */
    int rc = 0;
    reader_info_t info = {id, size};
    if (driver < 0) {
        driver = H5FDregister(&reader_class);
    }
    TRY(driver >= 0);
    TRY(H5Pset_driver(fapl, driver, &info) >= 0);
done:
    return rc;
}

/* ---------- drivers of libhdf5 ---------- */

enum { MEMBERS = H5FD_MEM_NTYPES };

static int set_multi(goh5_err_t *err, goh5_in_t *in, hid_t fapl)
{
    int rc = 0;
    H5FD_mem_t map[MEMBERS] = {H5FD_MEM_DEFAULT};
    hid_t fapls[MEMBERS] = {H5P_DEFAULT};
    const char *names[MEMBERS] = {"%s-X.h5"};
    haddr_t addrs[MEMBERS] = {HADDR_UNDEF};
    for (size_t i = 1; i < MEMBERS; i++) {
        map[i] = (H5FD_mem_t)goh5_get(in);
        names[i] = goh5_get_text(in);
        addrs[i] = goh5_get(in);
        fapls[i] = H5P_DEFAULT;
    }
    TRY(H5Pset_fapl_multi(fapl, map, fapls, names, addrs, goh5_get(in) != 0) >= 0);
done:
    return rc;
}

int goh5_driver_get(goh5_err_t *err, goh5_in_t *in, hid_t fapl)
{
    int rc = 0;
    switch (goh5_get(in)) {
    case DRIVER_SEC2:
        TRY(H5Pset_fapl_sec2(fapl) >= 0);
        break;
    case DRIVER_STDIO:
        TRY(H5Pset_fapl_stdio(fapl) >= 0);
        break;
    case DRIVER_CORE: {
        size_t increment = goh5_get(in);
        hbool_t backing = goh5_get(in) != 0;
        size_t page = goh5_get(in);
        TRY(H5Pset_fapl_core(fapl, increment, backing) >= 0);
        if (page > 0) {
            TRY(H5Pset_core_write_tracking(fapl, 1, page) >= 0);
        }
        break;
    }
    case DRIVER_LOG: {
        const char *path = goh5_get_text(in);
        uint64_t flags = goh5_get(in);
        TRY(H5Pset_fapl_log(fapl, path, flags, goh5_get(in)) >= 0);
        break;
    }
    case DRIVER_FAMILY:
        TRY(H5Pset_fapl_family(fapl, goh5_get(in), H5P_DEFAULT) >= 0);
        break;
    case DRIVER_SPLIT: {
        const char *meta = goh5_get_text(in), *raw = goh5_get_text(in);
        TRY(H5Pset_fapl_split(fapl, *meta ? meta : NULL, H5P_DEFAULT, *raw ? raw : NULL, H5P_DEFAULT) >= 0);
        break;
    }
    case DRIVER_MULTI:
        PASS(set_multi(err, in, fapl));
        break;
    case DRIVER_DIRECT: {
#ifdef H5_HAVE_DIRECT
        size_t alignment = goh5_get(in), block = goh5_get(in);
        TRY(H5Pset_fapl_direct(fapl, alignment, block, goh5_get(in)) >= 0);
        break;
#else
        RAISE(GOH5_EUNSUPPORTED);
#endif
    }
    case DRIVER_READER: {
        uint64_t id = goh5_get(in);
        PASS(set_reader(err, fapl, id, goh5_get(in)));
        break;
    }
    default:
        RAISE(GOH5_EUNSUPPORTED);
    }
done:
    return rc;
}

static int put_multi(goh5_err_t *err, goh5_buf_t *b, hid_t fapl)
{
    int rc = 0;
    H5FD_mem_t map[MEMBERS];
    hid_t fapls[MEMBERS] = {H5P_DEFAULT};
    char *names[MEMBERS] = {NULL};
    haddr_t addrs[MEMBERS];
    hbool_t relax;
    TRY(H5Pget_fapl_multi(fapl, map, fapls, names, addrs, &relax) >= 0);
    goh5_put(b, DRIVER_MULTI);
    for (size_t i = 1; i < MEMBERS; i++) {
        goh5_put(b, (uint64_t)map[i]);
        goh5_put_text(b, names[i]);
        goh5_put(b, addrs[i]);
    }
    goh5_put(b, relax);
done:
    for (size_t i = 0; i < MEMBERS; i++) {
        goh5_close_plist(fapls[i]);
        H5free_memory(names[i]);
    }
    return rc;
}

int goh5_driver_put(goh5_err_t *err, goh5_buf_t *b, hid_t fapl)
{
    int rc = 0;
    hid_t driver = H5Pget_driver(fapl);
    TRY(driver >= 0);
    if (driver == H5FD_SEC2) {
        goh5_put(b, DRIVER_SEC2);
    } else if (driver == H5FD_STDIO) {
        goh5_put(b, DRIVER_STDIO);
    } else if (driver == H5FD_CORE) {
        size_t increment, page;
        hbool_t backing, tracking;
        TRY(H5Pget_fapl_core(fapl, &increment, &backing) >= 0);
        TRY(H5Pget_core_write_tracking(fapl, &tracking, &page) >= 0);
        goh5_put(b, DRIVER_CORE);
        goh5_put(b, increment);
        goh5_put(b, backing);
        goh5_put(b, tracking ? page : 0);
    } else if (driver == H5FD_FAMILY) {
        hsize_t size;
        TRY(H5Pget_fapl_family(fapl, &size, NULL) >= 0);
        goh5_put(b, DRIVER_FAMILY);
        goh5_put(b, size);
    } else if (driver == H5FD_MULTI) {
        PASS(put_multi(err, b, fapl));
#ifdef H5_HAVE_DIRECT
    } else if (driver == H5FD_DIRECT) {
        size_t alignment, block, copy;
        TRY(H5Pget_fapl_direct(fapl, &alignment, &block, &copy) >= 0);
        goh5_put(b, DRIVER_DIRECT);
        goh5_put(b, alignment);
        goh5_put(b, block);
        goh5_put(b, copy);
#endif
    } else {
        goh5_put(b, DRIVER_OTHER);
        goh5_put_text(b, driver == H5FD_LOG ? "log" : "reader");
    }
done:
    return rc;
}
