/* shim_link.c: listing, querying, creating, moving, copying and deleting links, and the classes of
 * user-defined links. */
#include "shim_internal.h"

#include <H5Ldevelop.h>
#include <string.h>

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

/* ---------- user-defined links ---------- */

/* libhdf5 cannot delete a link of an unregistered class and does not return the length of its
 * value. Therefore every class is registered with functions that return the value and fail on
 * traversal. */

static hid_t follow_nowhere(const char *name, hid_t group, const void *value, size_t n, hid_t lapl, hid_t dxpl)
{
    (void)value;
    (void)n;
    (void)lapl;
    (void)dxpl;
    H5L_info2_t info;
    int class = H5Lget_info2(group, name, &info, H5P_DEFAULT) < 0 ? 0 : (int)info.type;
    H5Epush2(H5E_DEFAULT, __FILE__, "goh5_user_link", __LINE__, H5E_ERR_CLS, H5E_LINK, H5E_UNSUPPORTED, "%d %s", class,
             name);
    return H5I_INVALID_HID;
}

static ssize_t query_value(const char *name, const void *value, size_t n, void *buf, size_t len)
{
    (void)name;
    if (buf != NULL && len > 0) {
        memcpy(buf, value, n < len ? n : len);
    }
    return (ssize_t)n;
}

int goh5_link_classes(goh5_err_t *err)
{
    int rc = 0;
    H5L_class_t class = {0};
    class.version = H5L_LINK_CLASS_T_VERS;
    class.comment = "a user-defined link that is kept and not followed";
    class.trav_func = follow_nowhere;
    class.query_func = query_value;
    for (int id = H5L_TYPE_EXTERNAL + 1; id <= H5L_TYPE_MAX; id++) {
        htri_t known = H5Lis_registered((H5L_type_t)id);
        TRY(known >= 0);
        class.id = (H5L_type_t)id;
        TRY(known > 0 || H5Lregister(&class) >= 0);
    }
done:
    return rc;
}

/* ---------- queries ---------- */

/* Kinds of link. They must match link.go. */
enum { LINK_HARD = 1, LINK_SOFT = 2, LINK_EXTERNAL = 3, LINK_USER = 4 };

typedef struct links {
    goh5_err_t *err;
    goh5_buf_t buf;
    uint8_t *value; /* grows to the longest link value */
    size_t cap;
    uint64_t count;
    int32_t objects; /* also describe the targets of hard links */
    int rc;
} links_t;

static int link_value(hid_t group, const char *name, size_t n, links_t *l)
{
    int rc = 0;
    goh5_err_t *err = l->err;
    if (n > l->cap) {
        hyperslab_free(l->value);
        l->cap = 0;
        l->value = hyperslab_alloc(n);
        if (l->value == NULL) {
            RAISE(GOH5_ENOMEM);
        }
        l->cap = n;
    }
    TRY(n == 0 || H5Lget_val(group, name, l->value, n, H5P_DEFAULT) >= 0);
done:
    return rc;
}

/* put_link encodes name, kind, class, creation order, character set, size of the value, address,
 * target, file and value. With l->objects it adds the kind of a hard link's target (0 if the object
 * cannot be read) and its number of hard links. */
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
    } else {
        kind = info->type == H5L_TYPE_SOFT ? LINK_SOFT : info->type == H5L_TYPE_EXTERNAL ? LINK_EXTERNAL : LINK_USER;
        n = info->u.val_size;
        PASS(link_value(group, name, n, l));
    }
    goh5_put_text(&l->buf, name);
    goh5_put(&l->buf, kind);
    goh5_put(&l->buf, (uint64_t)(int64_t)info->type);
    goh5_put(&l->buf, (uint64_t)(info->corder_valid ? info->corder : -1));
    goh5_put(&l->buf, (uint64_t)info->cset);
    goh5_put(&l->buf, n);
    goh5_put(&l->buf, addr);
    const char *file = NULL, *target = NULL;
    size_t target_len = 0;
    if (kind == LINK_EXTERNAL) {
        unsigned flags;
        TRY(H5Lunpack_elink_val(l->value, n, &flags, &file, &target) >= 0);
        target_len = strlen(target);
    } else if (kind == LINK_SOFT) {
        const uint8_t *end = n == 0 ? NULL : memchr(l->value, 0, n);
        target = (const char *)l->value;
        target_len = end == NULL ? n : (size_t)(end - l->value);
    }
    goh5_put_string(&l->buf, target, target_len);
    goh5_put_text(&l->buf, file);
    goh5_put_bytes(&l->buf, kind == LINK_USER ? l->value : NULL, kind == LINK_USER ? n : 0);
    if (l->objects) {
        H5O_info2_t object = {0};
        uint64_t object_kind = 0;
        if (kind == LINK_HARD && H5Oget_info_by_name3(group, name, &object, H5O_INFO_BASIC, H5P_DEFAULT) >= 0) {
            object_kind = goh5_object_kind(object.type);
        }
        goh5_put(&l->buf, object_kind);
        goh5_put(&l->buf, object.rc);
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

/* libhdf5 reports only "not found" for a group without creation order, so this is checked first. */
static int check_order(goh5_err_t *err, hid_t group, int32_t index)
{
    int rc = 0;
    unsigned flags = 0;
    hid_t gcpl = H5I_INVALID_HID;
    if (index == H5_INDEX_CRT_ORDER) {
        TRY((gcpl = H5Gget_create_plist(group)) >= 0);
        TRY(H5Pget_link_creation_order(gcpl, &flags) >= 0);
        if ((flags & H5P_CRT_ORDER_TRACKED) == 0) {
            RAISE(GOH5_EORDER);
        }
    }
done:
    goh5_close_plist(gcpl);
    return rc;
}

int goh5_links(goh5_err_t *err, int64_t loc, const char *name, int32_t index, int32_t order, int32_t objects,
               goh5_blob_t *out)
{
    int rc = 0;
    links_t l = {0};
    l.err = err;
    l.objects = objects;
    goh5_enter();
    hid_t group = H5Gopen2(loc, name, H5P_DEFAULT);
    TRY(group >= 0);
    PASS(check_order(err, group, index));
    goh5_put(&l.buf, 0);
    herr_t done = H5Literate2(group, (H5_index_t)index, (H5_iter_order_t)order, NULL, each_link, &l);
    if (l.rc < 0) {
        RAISE(l.rc);
    }
    TRY(done >= 0);
    goh5_set(&l.buf, 0, l.count);
    PASS(goh5_buf_end(&l.buf, out));
done:
    hyperslab_free(l.value);
    goh5_buf_drop(&l.buf);
    goh5_close_group(group);
    return rc;
}

int goh5_link_info(goh5_err_t *err, int64_t loc, const char *name, goh5_blob_t *out)
{
    int rc = 0;
    links_t l = {0};
    H5L_info2_t info;
    l.err = err;
    goh5_enter();
    TRY(H5Lget_info2(loc, name, &info, H5P_DEFAULT) >= 0);
    PASS(put_link(loc, name, &info, &l));
    PASS(goh5_buf_end(&l.buf, out));
done:
    hyperslab_free(l.value);
    goh5_buf_drop(&l.buf);
    return rc;
}

/* goh5_check_index fails if the group has no link n, and sets err->have to the number of links. */
int goh5_check_index(goh5_err_t *err, hid_t loc, int32_t index, int64_t n)
{
    int rc = 0;
    H5G_info_t info;
    PASS(check_order(err, loc, index));
    TRY(H5Gget_info(loc, &info) >= 0);
    if (n < 0 || (uint64_t)n >= info.nlinks) {
        err->have = (int64_t)info.nlinks;
        err->want = n;
        RAISE(GOH5_EINDEX);
    }
done:
    return rc;
}

int goh5_link_at(goh5_err_t *err, int64_t loc, int32_t index, int32_t order, int64_t n, goh5_blob_t *out)
{
    int rc = 0;
    links_t l = {0};
    H5L_info2_t info;
    char *name = NULL;
    l.err = err;
    goh5_enter();
    PASS(goh5_check_index(err, loc, index, n));
    H5_index_t by = (H5_index_t)index;
    H5_iter_order_t in = (H5_iter_order_t)order;
    ssize_t len = H5Lget_name_by_idx(loc, ".", by, in, (hsize_t)n, NULL, 0, H5P_DEFAULT);
    TRY(len >= 0);
    if ((name = hyperslab_alloc((size_t)len + 1)) == NULL) {
        RAISE(GOH5_ENOMEM);
    }
    TRY(H5Lget_name_by_idx(loc, ".", by, in, (hsize_t)n, name, (size_t)len + 1, H5P_DEFAULT) >= 0);
    TRY(H5Lget_info_by_idx2(loc, ".", by, in, (hsize_t)n, &info, H5P_DEFAULT) >= 0);
    PASS(put_link(loc, name, &info, &l));
    PASS(goh5_buf_end(&l.buf, out));
done:
    hyperslab_free(name);
    hyperslab_free(l.value);
    goh5_buf_drop(&l.buf);
    return rc;
}

/* exists_along reports whether the link at path exists. H5Lexists fails if a link before the last
 * one is dangling or does not lead to a group, so each component is checked in turn. The function
 * modifies path. */
static int exists_along(goh5_err_t *err, hid_t loc, char *path, int32_t *exists)
{
    int rc = 0;
    char *at = path;
    *exists = 0;
    for (;;) {
        at += strspn(at, "/");
        if (*at == 0) { /* "/", or the end of "a/b/" */
            *exists = 1;
            break;
        }
        at += strcspn(at, "/");
        char cut = *at;
        *at = 0;
        htri_t is = H5Lexists(loc, path, H5P_DEFAULT);
        TRY(is >= 0);
        if (is == 0 || cut == 0) {
            *exists = is > 0;
            break;
        }
        H5O_info2_t info;
        TRY((is = H5Oexists_by_name(loc, path, H5P_DEFAULT)) >= 0);
        if (is == 0) {
            break;
        }
        TRY(H5Oget_info_by_name3(loc, path, &info, H5O_INFO_BASIC, H5P_DEFAULT) >= 0);
        if (info.type != H5O_TYPE_GROUP) {
            break;
        }
        *at = cut;
    }
done:
    return rc;
}

int goh5_exists(goh5_err_t *err, int64_t loc, const char *name, int32_t object, int32_t *exists)
{
    int rc = 0;
    int32_t found = 0;
    goh5_enter();
    char *path = hyperslab_alloc(strlen(name) + 1);
    if (path == NULL) {
        RAISE(GOH5_ENOMEM);
    }
    memcpy(path, name, strlen(name) + 1);
    PASS(exists_along(err, loc, path, &found));
    if (found && object) {
        htri_t is = H5Oexists_by_name(loc, name, H5P_DEFAULT);
        TRY(is >= 0);
        found = is > 0;
    }
    *exists = found;
done:
    hyperslab_free(path);
    return rc;
}

/* ---------- creating and deleting ---------- */

int goh5_unlink(goh5_err_t *err, int64_t loc, const char *name)
{
    int rc = 0;
    goh5_enter();
    TRY(H5Ldelete(loc, name, H5P_DEFAULT) >= 0);
done:
    return rc;
}

int goh5_unlink_at(goh5_err_t *err, int64_t loc, int32_t index, int32_t order, int64_t n)
{
    int rc = 0;
    goh5_enter();
    PASS(goh5_check_index(err, loc, index, n));
    TRY(H5Ldelete_by_idx(loc, ".", (H5_index_t)index, (H5_iter_order_t)order, (hsize_t)n, H5P_DEFAULT) >= 0);
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

int goh5_link_user(goh5_err_t *err, int64_t loc, const char *name, int32_t utf8, int32_t class, const uint8_t *value,
                   size_t len)
{
    int rc = 0;
    hid_t lcpl = H5I_INVALID_HID;
    goh5_enter();
    PASS(goh5_link_plist(err, utf8, &lcpl));
    TRY(H5Lcreate_ud(loc, name, (H5L_type_t) class, value, len, lcpl, H5P_DEFAULT) >= 0);
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

int goh5_link_object(goh5_err_t *err, int64_t loc, const char *name, int32_t utf8, int64_t object)
{
    int rc = 0;
    hid_t lcpl = H5I_INVALID_HID;
    goh5_enter();
    PASS(goh5_link_plist(err, utf8, &lcpl));
    TRY(H5Olink(object, loc, name, lcpl, H5P_DEFAULT) >= 0);
done:
    goh5_close_plist(lcpl);
    return rc;
}

int goh5_link_move(goh5_err_t *err, int64_t from, const char *name, int64_t to, const char *as, int32_t utf8,
                   int32_t keep)
{
    int rc = 0;
    hid_t lcpl = H5I_INVALID_HID;
    goh5_enter();
    PASS(goh5_link_plist(err, utf8, &lcpl));
    if (keep) {
        TRY(H5Lcopy(from, name, to, as, lcpl, H5P_DEFAULT) >= 0);
    } else {
        TRY(H5Lmove(from, name, to, as, lcpl, H5P_DEFAULT) >= 0);
    }
done:
    goh5_close_plist(lcpl);
    return rc;
}
