/* shim_file.c: the library itself, ids, files, groups, links and what objects are. */
#include "shim_internal.h"

#include <string.h>

void goh5_close_space(hid_t id)
{
    if (id >= 0) {
        H5Sclose(id);
    }
}

void goh5_close_type(hid_t id)
{
    if (id >= 0) {
        H5Tclose(id);
    }
}

void goh5_close_plist(hid_t id)
{
    /* H5P_DEFAULT is 0 and nobody's */
    if (id > 0) {
        H5Pclose(id);
    }
}

/* ---------- the library ---------- */

int goh5_start(goh5_err_t *err, uint32_t version[6])
{
    int rc = 0;
    unsigned major, minor, release;
    /* Before anything else: the library's exit handler would run while other threads still hold ids. */
    (void)H5dont_atexit();
    version[0] = H5_VERS_MAJOR;
    version[1] = H5_VERS_MINOR;
    version[2] = H5_VERS_RELEASE;
    /* The macros of the headers check the version too, but they end the process; so this comes first. */
    TRY(H5get_libversion(&major, &minor, &release) >= 0);
    version[3] = major;
    version[4] = minor;
    version[5] = release;
    if (major != H5_VERS_MAJOR || minor != H5_VERS_MINOR || release != H5_VERS_RELEASE) {
        RAISE(GOH5_EVERSION);
    }
    TRY(H5open() >= 0);
    TRY(H5Eset_auto2(H5E_DEFAULT, NULL, NULL) >= 0);
    TRY(H5PLset_loading_state(0) >= 0); /* no library is loaded because a file names a filter */
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
        return H5Dclose(id);
    default:
        return H5Idec_ref(id) < 0 ? -1 : 0;
    }
}

int goh5_close(goh5_err_t *err, const int64_t *ids, size_t n)
{
    int rc = 0;
    goh5_enter();
    for (size_t i = 0; i < n; i++) {
        if (close_one(ids[i]) < 0 && rc == 0) {
            rc = goh5_fail(err);
        }
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

/* access_plist: H5F_CLOSE_SEMI makes H5Fclose fail while an id of the file is open. We close every id of a file
 * before the file, so that this failure means an id we forgot; the default (weak) would leave the file open
 * without a word, and strong would close ids behind our back whose numbers then mean something else. */
static int access_plist(goh5_err_t *err, int32_t low, int32_t high, hid_t *fapl)
{
    int rc = 0;
    hid_t made = H5Pcreate(H5P_FILE_ACCESS);
    TRY(made >= 0);
    TRY(H5Pset_fclose_degree(made, H5F_CLOSE_SEMI) >= 0);
    TRY(H5Pset_libver_bounds(made, (H5F_libver_t)low, (H5F_libver_t)high) >= 0);
    *fapl = made;
    return 0;
done:
    goh5_close_plist(made);
    return rc;
}

int goh5_fcreate(goh5_err_t *err, const char *path, int32_t truncate, int32_t low, int32_t high, int64_t *id)
{
    int rc = 0;
    hid_t fapl = H5I_INVALID_HID;
    goh5_enter();
    PASS(access_plist(err, low, high, &fapl));
    hid_t file = H5Fcreate(path, truncate ? H5F_ACC_TRUNC : H5F_ACC_EXCL, H5P_DEFAULT, fapl);
    TRY(file >= 0);
    *id = file;
done:
    goh5_close_plist(fapl);
    return rc;
}

int goh5_fopen(goh5_err_t *err, const char *path, int32_t write, int32_t low, int32_t high, int64_t *id)
{
    int rc = 0;
    hid_t fapl = H5I_INVALID_HID;
    goh5_enter();
    PASS(access_plist(err, low, high, &fapl));
    hid_t file = H5Fopen(path, write ? H5F_ACC_RDWR : H5F_ACC_RDONLY, fapl);
    TRY(file >= 0);
    *id = file;
done:
    goh5_close_plist(fapl);
    return rc;
}

int goh5_fflush(goh5_err_t *err, int64_t id)
{
    int rc = 0;
    goh5_enter();
    TRY(H5Fflush(id, H5F_SCOPE_LOCAL) >= 0);
done:
    return rc;
}

int goh5_fsize(goh5_err_t *err, int64_t id, uint64_t *bytes)
{
    int rc = 0;
    hsize_t size = 0;
    goh5_enter();
    TRY(H5Fget_filesize(id, &size) >= 0);
    *bytes = size;
done:
    return rc;
}

/* ---------- groups and links ---------- */

int goh5_link_plist(goh5_err_t *err, int32_t utf8, hid_t *lcpl)
{
    int rc = 0;
    hid_t made = H5Pcreate(H5P_LINK_CREATE);
    TRY(made >= 0);
    TRY(H5Pset_create_intermediate_group(made, 1) >= 0);
    TRY(H5Pset_char_encoding(made, utf8 ? H5T_CSET_UTF8 : H5T_CSET_ASCII) >= 0);
    *lcpl = made;
    return 0;
done:
    goh5_close_plist(made);
    return rc;
}

int goh5_gopen(goh5_err_t *err, int64_t loc, const char *name, int64_t *id)
{
    int rc = 0;
    goh5_enter();
    hid_t group = H5Gopen2(loc, name, H5P_DEFAULT);
    TRY(group >= 0);
    *id = group;
done:
    return rc;
}

int goh5_gcreate(goh5_err_t *err, int64_t loc, const char *name, int32_t utf8, int64_t *id)
{
    int rc = 0;
    hid_t lcpl = H5I_INVALID_HID;
    goh5_enter();
    PASS(goh5_link_plist(err, utf8, &lcpl));
    hid_t group = H5Gcreate2(loc, name, lcpl, H5P_DEFAULT, H5P_DEFAULT);
    TRY(group >= 0);
    *id = group;
done:
    goh5_close_plist(lcpl);
    return rc;
}

/* Kinds of link as link.go has them. */
enum { LINK_HARD = 1, LINK_SOFT = 2, LINK_EXTERNAL = 3, LINK_USER = 4 };

typedef struct links {
    goh5_err_t *err;
    goh5_buf_t buf;
    uint8_t *value; /* grows to the longest link value */
    size_t cap;
    uint64_t count;
    int rc;
} links_t;

static int put_link(hid_t group, const char *name, const H5L_info2_t *info, links_t *l)
{
    int rc = 0;
    goh5_err_t *err = l->err;
    uint64_t kind = LINK_USER;
    haddr_t addr = HADDR_UNDEF;
    size_t n = 0;
    if (info->type == H5L_TYPE_HARD) {
        kind = LINK_HARD;
        TRY(H5VLnative_token_to_addr(group, info->u.token, &addr) >= 0);
    } else if (info->type == H5L_TYPE_SOFT || info->type == H5L_TYPE_EXTERNAL) {
        kind = info->type == H5L_TYPE_SOFT ? LINK_SOFT : LINK_EXTERNAL;
        n = info->u.val_size;
        if (n > l->cap) {
            hyperslab_free(l->value);
            l->cap = 0;
            l->value = hyperslab_alloc(n);
            if (l->value == NULL) {
                RAISE(GOH5_ENOMEM);
            }
            l->cap = n;
        }
        TRY(H5Lget_val(group, name, l->value, n, H5P_DEFAULT) >= 0);
    }
    goh5_put_text(&l->buf, name);
    goh5_put(&l->buf, kind);
    goh5_put(&l->buf, (uint64_t)(int64_t)info->type);
    goh5_put(&l->buf, addr);
    if (kind == LINK_EXTERNAL) {
        unsigned flags;
        const char *file = "", *target = "";
        TRY(H5Lunpack_elink_val(l->value, n, &flags, &file, &target) >= 0);
        goh5_put_text(&l->buf, target);
        goh5_put_text(&l->buf, file);
    } else if (kind == LINK_SOFT) {
        const uint8_t *end = n == 0 ? NULL : memchr(l->value, 0, n);
        goh5_put_string(&l->buf, l->value, end == NULL ? n : (size_t)(end - l->value));
        goh5_put_text(&l->buf, NULL);
    } else {
        goh5_put_text(&l->buf, NULL);
        goh5_put_text(&l->buf, NULL);
    }
    l->count++;
done:
    return rc;
}

static herr_t each_link(hid_t group, const char *name, const H5L_info2_t *info, void *data)
{
    links_t *l = data;
    l->rc = put_link(group, name, info, l);
    return l->rc < 0 ? -1 : 0;
}

int goh5_links(goh5_err_t *err, int64_t loc, goh5_blob_t *out)
{
    int rc = 0;
    links_t l = {0};
    l.err = err;
    goh5_enter();
    goh5_put(&l.buf, 0);
    herr_t done = H5Literate2(loc, H5_INDEX_NAME, H5_ITER_INC, NULL, each_link, &l);
    if (l.rc < 0) {
        RAISE(l.rc);
    }
    TRY(done >= 0);
    goh5_set(&l.buf, 0, l.count);
    PASS(goh5_buf_end(&l.buf, out));
done:
    hyperslab_free(l.value);
    goh5_buf_drop(&l.buf);
    return rc;
}

int goh5_unlink(goh5_err_t *err, int64_t loc, const char *name)
{
    int rc = 0;
    goh5_enter();
    TRY(H5Ldelete(loc, name, H5P_DEFAULT) >= 0);
done:
    return rc;
}

int goh5_link_soft(goh5_err_t *err, int64_t loc, const char *name, int32_t utf8, const char *target)
{
    int rc = 0;
    hid_t lcpl = H5I_INVALID_HID;
    goh5_enter();
    PASS(goh5_link_plist(err, utf8, &lcpl));
    TRY(H5Lcreate_soft(target, loc, name, lcpl, H5P_DEFAULT) >= 0);
done:
    goh5_close_plist(lcpl);
    return rc;
}

int goh5_link_external(goh5_err_t *err, int64_t loc, const char *name, int32_t utf8, const char *file,
                       const char *target)
{
    int rc = 0;
    hid_t lcpl = H5I_INVALID_HID;
    goh5_enter();
    PASS(goh5_link_plist(err, utf8, &lcpl));
    TRY(H5Lcreate_external(file, target, loc, name, lcpl, H5P_DEFAULT) >= 0);
done:
    goh5_close_plist(lcpl);
    return rc;
}

int goh5_link_hard(goh5_err_t *err, int64_t loc, const char *name, int32_t utf8, const char *target)
{
    int rc = 0;
    hid_t lcpl = H5I_INVALID_HID;
    goh5_enter();
    PASS(goh5_link_plist(err, utf8, &lcpl));
    TRY(H5Lcreate_hard(loc, target, loc, name, lcpl, H5P_DEFAULT) >= 0);
done:
    goh5_close_plist(lcpl);
    return rc;
}

/* Kinds of object as group.go has them. */
enum { KIND_GROUP = 1, KIND_DATASET = 2, KIND_TYPE = 3, KIND_OTHER = 4 };

int goh5_object_info(goh5_err_t *err, int64_t loc, const char *name, uint64_t out[5])
{
    int rc = 0;
    H5O_info2_t info;
    haddr_t addr = HADDR_UNDEF;
    goh5_enter();
    TRY(H5Oget_info_by_name3(loc, name, &info, H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS, H5P_DEFAULT) >= 0);
    TRY(H5VLnative_token_to_addr(loc, info.token, &addr) >= 0);
    out[0] = info.type == H5O_TYPE_GROUP            ? KIND_GROUP
             : info.type == H5O_TYPE_DATASET        ? KIND_DATASET
             : info.type == H5O_TYPE_NAMED_DATATYPE ? KIND_TYPE
                                                    : KIND_OTHER;
    out[1] = addr;
    out[2] = info.rc;
    out[3] = info.num_attrs;
    out[4] = info.fileno;
done:
    return rc;
}

int goh5_topen(goh5_err_t *err, int64_t loc, const char *name, goh5_blob_t *out)
{
    int rc = 0;
    goh5_buf_t b = {0};
    goh5_enter();
    hid_t t = H5Topen2(loc, name, H5P_DEFAULT);
    TRY(t >= 0);
    PASS(goh5_type_put(err, &b, t, 0));
    PASS(goh5_buf_end(&b, out));
done:
    goh5_buf_drop(&b);
    goh5_close_type(t);
    return rc;
}
