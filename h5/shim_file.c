/* shim_file.c: library state, ids and files. */
#define _GNU_SOURCE /* F_DUPFD_CLOEXEC */
#include "shim_internal.h"

#ifdef _WIN32
#include <windows.h>
#else
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

/* ---------- the library ---------- */

int goh5_start(goh5_err_t *err, uint32_t version[6])
{
    int rc = 0;
    unsigned major, minor, release;
    /* Must be the first call: otherwise libhdf5's exit handler would run while other threads still
     * use ids. */
    (void)H5dont_atexit();
    version[0] = H5_VERS_MAJOR;
    version[1] = H5_VERS_MINOR;
    version[2] = H5_VERS_RELEASE;
    /* The macros of the headers check the version too, but they end the process. Therefore this
     * check comes first. */
    TRY(H5get_libversion(&major, &minor, &release) >= 0);
    version[3] = major;
    version[4] = minor;
    version[5] = release;
    if (major != H5_VERS_MAJOR || minor != H5_VERS_MINOR || release != H5_VERS_RELEASE) {
        RAISE(GOH5_EVERSION);
    }
    TRY(H5open() >= 0);
    TRY(H5Eset_auto2(H5E_DEFAULT, NULL, NULL) >= 0);
    PASS(goh5_link_classes(err));
    TRY(H5PLset_loading_state(0) >= 0); /* a filter named in a file must not load a plugin */
done:
    return rc;
}

int goh5_obj_count(goh5_err_t *err, int64_t *count)
{
    int rc = 0;
    goh5_enter();
    ssize_t n = H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL);
    TRY(n >= 0);
    *count = n;
done:
    return rc;
}

int goh5_memory(goh5_err_t *err, uint64_t out[4])
{
    int rc = 0;
    size_t sizes[4] = {0};
    goh5_enter();
    TRY(H5get_free_list_sizes(&sizes[0], &sizes[1], &sizes[2], &sizes[3]) >= 0);
    for (size_t i = 0; i < 4; i++) {
        out[i] = sizes[i];
    }
done:
    return rc;
}

int goh5_collect(goh5_err_t *err)
{
    int rc = 0;
    goh5_enter();
    TRY(H5garbage_collect() >= 0);
done:
    return rc;
}

uint64_t goh5_thread(void)
{
#ifdef _WIN32
    return GetCurrentThreadId();
#else
    return (uint64_t)(uintptr_t)pthread_self();
#endif
}

int goh5_filter_info(goh5_err_t *err, int32_t filter, int32_t *avail, uint32_t *flags)
{
    int rc = 0;
    unsigned f = 0;
    goh5_enter();
    htri_t is = H5Zfilter_avail(filter);
    TRY(is >= 0);
    if (is > 0) {
        TRY(H5Zget_filter_info(filter, &f) >= 0);
    }
    *avail = is > 0;
    *flags = f;
done:
    return rc;
}

/* ---------- ids ---------- */

static herr_t close_one(hid_t id)
{
    switch (H5Iget_type(id)) {
    case H5I_FILE:
        return H5Fclose(id);
    case H5I_GROUP:
        return H5Gclose(id);
    case H5I_DATASET:
        goh5_drop_space(id);
        return H5Dclose(id);
    default:
        return H5Idec_ref(id) < 0 ? -1 : 0;
    }
}

#ifdef _WIN32
/* libhdf5 does not lock files there, and a process inherits only the handles that it is given. */
static int copy_of(int fd)
{
    (void)fd;
    return -1;
}

static void unlock_closed(int fd, int copy)
{
    (void)fd;
    (void)copy;
}

static int32_t descriptor(hid_t file, hid_t fapl)
{
    (void)file;
    (void)fapl;
    return -1;
}
#else
static int copy_of(int fd)
{
    return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

/* Removes the lock of a closed file. Without this, a process that is being started would keep the
 * lock until it executes its program, because it has a copy of the descriptor. copy is a duplicate
 * of fd. The lock stays if libhdf5 still has the file open, by another id or for a link. */
static void unlock_closed(int fd, int copy)
{
    struct stat closed, now;
    if (fstat(copy, &closed) == 0 &&
        (fstat(fd, &now) != 0 || now.st_ino != closed.st_ino || now.st_dev != closed.st_dev)) {
        (void)flock(copy, LOCK_UN);
    }
    (void)close(copy);
}

/* Returns the descriptor of a file after setting FD_CLOEXEC, because drivers open files without
 * O_CLOEXEC. Returns -1 for drivers with several files or without a descriptor. */
static int32_t descriptor(hid_t file, hid_t fapl)
{
    void *fd = NULL;
    hid_t driver = H5Pget_driver(fapl);
    if ((driver != H5FD_SEC2 && driver != H5FD_LOG) || H5Fget_vfd_handle(file, fapl, &fd) < 0 || !fd) {
        return -1;
    }
    int flags = fcntl(*(int *)fd, F_GETFD);
    if (flags >= 0) {
        (void)fcntl(*(int *)fd, F_SETFD, flags | FD_CLOEXEC);
    }
    return *(int *)fd;
}
#endif

int goh5_close(goh5_err_t *err, const int64_t *ids, size_t n, int32_t fd)
{
    int rc = 0;
    goh5_enter();
    int copy = copy_of(fd);
    for (size_t i = 0; i < n; i++) {
        if (close_one(ids[i]) < 0 && rc == 0) {
            rc = goh5_fail(err);
        }
    }
    if (copy >= 0) {
        unlock_closed(fd, copy);
    }
    return rc;
}

/* ---------- files ---------- */

int goh5_is_hdf5(goh5_err_t *err, const char *path, int32_t *is)
{
    int rc = 0;
    goh5_enter();
    htri_t hdf5 = H5Fis_accessible(path, H5P_DEFAULT);
    TRY(hdf5 >= 0);
    *is = hdf5 > 0;
done:
    return rc;
}

int goh5_fcreate(goh5_err_t *err, const char *path, int32_t truncate, const uint8_t *spec, size_t spec_len, int64_t *id,
                 int32_t *fd)
{
    int rc = 0;
    hid_t fapl = H5I_INVALID_HID, fcpl = H5I_INVALID_HID;
    goh5_in_t in = {spec, spec_len, 0};
    goh5_enter();
    PASS(goh5_fapl_get(err, &in, &fapl));
    PASS(goh5_fcpl_get(err, &in, &fcpl));
    hid_t file = H5Fcreate(path, truncate ? H5F_ACC_TRUNC : H5F_ACC_EXCL, fcpl, fapl);
    TRY(file >= 0);
    *fd = descriptor(file, fapl);
    *id = file;
done:
    goh5_close_plist(fapl);
    goh5_close_plist(fcpl);
    return rc;
}

int goh5_fopen(goh5_err_t *err, const char *path, uint32_t flags, const uint8_t *spec, size_t spec_len, int64_t *id,
               int32_t *fd)
{
    int rc = 0;
    hid_t fapl = H5I_INVALID_HID;
    goh5_in_t in = {spec, spec_len, 0};
    goh5_enter();
    PASS(goh5_fapl_get(err, &in, &fapl));
    hid_t file = H5Fopen(path, flags, fapl);
    TRY(file >= 0);
    *fd = descriptor(file, fapl);
    *id = file;
done:
    goh5_close_plist(fapl);
    return rc;
}

int goh5_fdelete(goh5_err_t *err, const char *path, const uint8_t *spec, size_t spec_len)
{
    int rc = 0;
    hid_t fapl = H5I_INVALID_HID;
    goh5_in_t in = {spec, spec_len, 0};
    goh5_enter();
    PASS(goh5_fapl_get(err, &in, &fapl));
    TRY(H5Fdelete(path, fapl) >= 0);
done:
    goh5_close_plist(fapl);
    return rc;
}

int goh5_freopen(goh5_err_t *err, int64_t id, int64_t *again)
{
    int rc = 0;
    goh5_enter();
    hid_t file = H5Freopen(id);
    TRY(file >= 0);
    *again = file;
done:
    return rc;
}

/* goh5_fflush sets end to the end of the allocated addresses unless it is NULL, or to 0 if the driver has no SWMR
 * support, for which libhdf5 does not return it. */
int goh5_fflush(goh5_err_t *err, int64_t id, uint64_t *end)
{
    int rc = 0;
    haddr_t eoa = 0;
    goh5_enter();
    TRY(H5Fflush(id, H5F_SCOPE_LOCAL) >= 0);
    if (end) {
        *end = H5Fget_eoa(id, &eoa) >= 0 ? eoa : 0;
    }
done:
    return rc;
}

/* Commands of goh5_file_do. They must match filefacts.go. */
enum { DO_SWMR, DO_BOUNDS, DO_CLEAR_LINKS, DO_GROW, DO_RESET_CACHE, DO_LOG, DO_RESET_PAGES, DO_MINIMIZE };

int goh5_file_do(goh5_err_t *err, int64_t id, int32_t what, int64_t a, int64_t b)
{
    int rc = 0;
    herr_t done = -1;
    goh5_enter();
    switch (what) {
    case DO_SWMR:
        done = H5Fstart_swmr_write(id);
        break;
    case DO_BOUNDS:
        done = H5Fset_libver_bounds(id, (H5F_libver_t)a, (H5F_libver_t)b);
        break;
    case DO_CLEAR_LINKS:
        done = H5Fclear_elink_file_cache(id);
        break;
    case DO_GROW:
        done = H5Fincrement_filesize(id, (hsize_t)a);
        break;
    case DO_RESET_CACHE:
        done = H5Freset_mdc_hit_rate_stats(id);
        break;
    case DO_LOG:
        done = a ? H5Fstart_mdc_logging(id) : H5Fstop_mdc_logging(id);
        break;
    case DO_RESET_PAGES:
        done = H5Freset_page_buffering_stats(id);
        break;
    case DO_MINIMIZE:
        done = H5Fset_dset_no_attrs_hint(id, a != 0);
        break;
    default:
        break;
    }
    TRY(done >= 0);
done:
    return rc;
}

int goh5_fmount(goh5_err_t *err, int64_t loc, const char *name, int64_t child)
{
    int rc = 0;
    goh5_enter();
    TRY(H5Fmount(loc, name, child, H5P_DEFAULT) >= 0);
done:
    return rc;
}

int goh5_funmount(goh5_err_t *err, int64_t loc, const char *name)
{
    int rc = 0;
    goh5_enter();
    TRY(H5Funmount(loc, name) >= 0);
done:
    return rc;
}
