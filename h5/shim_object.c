/* shim_object.c: operations common to groups, datasets and committed datatypes. */
#include "shim_internal.h"

#include <string.h>

/* ---------- info ---------- */

static void token_words(const H5O_token_t *token, uint64_t out[2])
{
    memcpy(out, token, sizeof *token);
}

static H5O_token_t token_of(const uint64_t words[2])
{
    H5O_token_t token;
    memcpy(&token, words, sizeof token);
    return token;
}

static int put_info(goh5_err_t *err, hid_t loc, const H5O_info2_t *info, uint64_t *out)
{
    int rc = 0;
    haddr_t addr = HADDR_UNDEF;
    TRY(H5VLnative_token_to_addr(loc, info->token, &addr) >= 0);
    out[0] = goh5_object_kind(info->type);
    out[1] = addr;
    out[2] = info->rc;
    out[3] = info->num_attrs;
    out[4] = info->fileno;
    out[5] = (uint64_t)info->atime;
    out[6] = (uint64_t)info->mtime;
    out[7] = (uint64_t)info->ctime;
    out[8] = (uint64_t)info->btime;
    token_words(&info->token, out + 9);
done:
    return rc;
}

enum { INFO_FIELDS = H5O_INFO_BASIC | H5O_INFO_TIME | H5O_INFO_NUM_ATTRS };

int goh5_object_info(goh5_err_t *err, int64_t loc, const char *name, uint64_t out[GOH5_INFO_WORDS])
{
    int rc = 0;
    H5O_info2_t info;
    goh5_enter();
    TRY(H5Oget_info_by_name3(loc, name, &info, INFO_FIELDS, H5P_DEFAULT) >= 0);
    PASS(put_info(err, loc, &info, out));
done:
    return rc;
}

int goh5_object_self(goh5_err_t *err, int64_t id, uint64_t out[GOH5_INFO_WORDS])
{
    int rc = 0;
    H5O_info2_t info;
    goh5_enter();
    TRY(H5Oget_info3(id, &info, INFO_FIELDS) >= 0);
    PASS(put_info(err, id, &info, out));
done:
    return rc;
}

int goh5_object_header(goh5_err_t *err, int64_t id, uint64_t out[GOH5_HEADER_WORDS])
{
    int rc = 0;
    H5O_native_info_t info;
    goh5_enter();
    TRY(H5Oget_native_info(id, &info, H5O_NATIVE_INFO_ALL) >= 0);
    out[0] = info.hdr.version;
    out[1] = info.hdr.nmesgs;
    out[2] = info.hdr.nchunks;
    out[3] = info.hdr.flags;
    out[4] = info.hdr.space.total;
    out[5] = info.hdr.space.meta;
    out[6] = info.hdr.space.mesg;
    out[7] = info.hdr.space.free;
    out[8] = info.hdr.mesg.present;
    out[9] = info.hdr.mesg.shared;
    out[10] = info.meta_size.obj.index_size;
    out[11] = info.meta_size.obj.heap_size;
    out[12] = info.meta_size.attr.index_size;
    out[13] = info.meta_size.attr.heap_size;
done:
    return rc;
}

/* ---------- opening ---------- */

/* put_opened encodes the id, kind and path of an open object; on failure it closes the object. The
 * path is from libhdf5. It is empty without named, for an object that was opened by its address,
 * because libhdf5 would search all links of the file for it. */
static int put_opened(goh5_err_t *err, hid_t id, int named, goh5_blob_t *out)
{
    int rc = 0;
    goh5_buf_t b = {0};
    H5O_info2_t info;
    char *path = NULL;
    TRY(H5Oget_info3(id, &info, H5O_INFO_BASIC) >= 0);
    ssize_t len = named ? H5Iget_name(id, NULL, 0) : 0;
    TRY(len >= 0);
    if ((path = hyperslab_alloc((size_t)len + 1)) == NULL) {
        RAISE(GOH5_ENOMEM);
    }
    path[0] = 0;
    TRY(len == 0 || H5Iget_name(id, path, (size_t)len + 1) >= 0);
    goh5_put(&b, (uint64_t)id);
    goh5_put(&b, goh5_object_kind(info.type));
    goh5_put_text(&b, path);
    PASS(goh5_buf_end(&b, out));
done:
    hyperslab_free(path);
    goh5_buf_drop(&b);
    if (rc < 0) {
        H5Oclose(id);
    }
    return rc;
}

static int access_list(goh5_err_t *err, const char *prefix, int32_t mode, uint64_t max_links, hid_t *lapl)
{
    int rc = 0;
    hid_t made = H5Pcreate(H5P_LINK_ACCESS);
    TRY(made >= 0);
    TRY(prefix == NULL || H5Pset_elink_prefix(made, prefix) >= 0);
    TRY(mode < 0 || H5Pset_elink_acc_flags(made, mode ? H5F_ACC_RDWR : H5F_ACC_RDONLY) >= 0);
    TRY(max_links == 0 || H5Pset_nlinks(made, max_links) >= 0);
    *lapl = made;
    return 0;
done:
    goh5_close_plist(made);
    return rc;
}

int goh5_oopen(goh5_err_t *err, int64_t loc, const char *name, const char *prefix, int32_t mode, uint64_t max_links,
               goh5_blob_t *out)
{
    int rc = 0;
    hid_t lapl = H5I_INVALID_HID;
    goh5_enter();
    PASS(access_list(err, prefix, mode, max_links, &lapl));
    hid_t id = H5Oopen(loc, name, lapl);
    TRY(id >= 0);
    PASS(put_opened(err, id, 1, out));
done:
    goh5_close_plist(lapl);
    return rc;
}

int goh5_oopen_at(goh5_err_t *err, int64_t loc, int32_t index, int32_t order, int64_t n, goh5_blob_t *out)
{
    int rc = 0;
    goh5_enter();
    PASS(goh5_check_index(err, loc, index, n));
    hid_t id = H5Oopen_by_idx(loc, ".", (H5_index_t)index, (H5_iter_order_t)order, (hsize_t)n, H5P_DEFAULT);
    TRY(id >= 0);
    PASS(put_opened(err, id, 1, out));
done:
    return rc;
}

int goh5_oopen_token(goh5_err_t *err, int64_t loc, const uint64_t token[2], goh5_blob_t *out)
{
    int rc = 0;
    goh5_enter();
    hid_t id = H5Oopen_by_token(loc, token_of(token));
    TRY(id >= 0);
    PASS(put_opened(err, id, 0, out));
done:
    return rc;
}

int goh5_oopen_addr(goh5_err_t *err, int64_t loc, uint64_t addr, goh5_blob_t *out)
{
    int rc = 0;
    H5O_token_t token;
    goh5_enter();
    TRY(H5VLnative_addr_to_token(loc, addr, &token) >= 0);
    hid_t id = H5Oopen_by_token(loc, token);
    TRY(id >= 0);
    PASS(put_opened(err, id, 0, out));
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

int goh5_tdescribe(goh5_err_t *err, int64_t id, goh5_blob_t *out)
{
    int rc = 0;
    goh5_buf_t b = {0};
    goh5_enter();
    PASS(goh5_type_put(err, &b, id, 0));
    PASS(goh5_buf_end(&b, out));
done:
    goh5_buf_drop(&b);
    return rc;
}

/* ---------- copying ---------- */

typedef struct {
    goh5_err_t *err;
    int rc;
    unsigned long fileno; /* of the destination file */
} check_t;

/* H5Ocopy copies a fill value in its stored form. For variable-length strings, sequences and
 * references this is an address in the source file, so such a dataset cannot be copied into another
 * file. */
static int check_fill(goh5_err_t *err, hid_t dataset, hid_t dcpl, int other_file)
{
    int rc = 0;
    H5D_fill_value_t fill;
    hid_t type = H5Dget_type(dataset);
    TRY(type >= 0);
    int plain = goh5_type_plain(type);
    TRY(plain >= 0);
    TRY(H5Pfill_value_defined(dcpl, &fill) >= 0);
    if (other_file && !plain && fill == H5D_FILL_VALUE_USER_DEFINED) {
        RAISE(GOH5_EFILLCOPY);
    }
done:
    goh5_close_type(type);
    return rc;
}

/* H5Ocopy fills the chunks of a dataset of sequences in a buffer of their stored size, which is
 * smaller than their size in memory if addresses have fewer than 8 bytes. */
static int check_sequences(goh5_err_t *err, hid_t dataset, hid_t dcpl)
{
    int rc = 0;
    H5D_fill_time_t when;
    size_t address, length;
    hid_t type = H5Dget_type(dataset), file = H5Iget_file_id(dataset), fcpl = H5I_INVALID_HID;
    TRY(type >= 0 && file >= 0);
    TRY(H5Pget_fill_time(dcpl, &when) >= 0);
    if (when == H5D_FILL_TIME_ALLOC && H5Tget_class(type) == H5T_VLEN && H5Pget_layout(dcpl) == H5D_CHUNKED) {
        TRY((fcpl = H5Fget_create_plist(file)) >= 0);
        TRY(H5Pget_sizes(fcpl, &address, &length) >= 0);
        if (address < 8) {
            RAISE(GOH5_ESEQCOPY);
        }
    }
done:
    goh5_close_plist(fcpl);
    goh5_close_type(type);
    if (file >= 0) {
        H5Fclose(file);
    }
    return rc;
}

/* H5Ocopy copies the layout in the header of any object, and dereferences the type and space of a
 * dataset, which another object does not have. */
static int check_header(goh5_err_t *err, hid_t loc, const char *name)
{
    int rc = 0;
    const uint64_t layout = 1U << 8; /* the message type of a layout */
    H5O_native_info_t info;
    TRY(H5Oget_native_info_by_name(loc, name, &info, H5O_NATIVE_INFO_HDR, H5P_DEFAULT) >= 0);
    if (info.hdr.mesg.present & layout) {
        RAISE(GOH5_ESTRAY);
    }
done:
    return rc;
}

/* H5Ocopy divides by chunk dimensions that may be missing in a corrupt file. It must not copy a
 * dataset that libhdf5 cannot open. */
static herr_t check_copied(hid_t loc, const char *name, const H5O_info2_t *info, void *data)
{
    check_t *c = data;
    goh5_err_t *err = c->err;
    int rc = 0;
    hid_t object = H5I_INVALID_HID, dcpl = H5I_INVALID_HID, space = H5I_INVALID_HID;
    if (info->type == H5O_TYPE_DATASET) {
        TRY((object = H5Oopen(loc, name, H5P_DEFAULT)) >= 0);
        TRY((dcpl = H5Dget_create_plist(object)) >= 0);
        TRY((space = H5Dget_space(object)) >= 0);
        PASS(goh5_check_ranks(err, dcpl, space));
        PASS(check_fill(err, object, dcpl, info->fileno != c->fileno));
        PASS(check_sequences(err, object, dcpl));
    } else {
        PASS(check_header(err, loc, name));
    }
done:
    goh5_close_space(space);
    goh5_close_plist(dcpl);
    if (object >= 0) {
        H5Oclose(object);
    }
    c->rc = rc;
    return rc < 0; /* a nonzero result ends the visit */
}

int goh5_ocopy(goh5_err_t *err, int64_t from, const char *name, int64_t to, const char *as, int32_t utf8,
               uint32_t flags, const uint8_t *types, size_t types_len)
{
    int rc = 0;
    goh5_in_t in = {types, types_len, 0};
    hid_t lcpl = H5I_INVALID_HID, ocpl = H5I_INVALID_HID;
    check_t check = {err, 0, 0};
    H5O_info2_t info;
    const uint32_t far =
        H5O_COPY_EXPAND_SOFT_LINK_FLAG | H5O_COPY_EXPAND_EXT_LINK_FLAG | H5O_COPY_EXPAND_REFERENCE_FLAG;
    goh5_enter();
    TRY(H5Oget_info3(to, &info, H5O_INFO_BASIC) >= 0);
    check.fileno = info.fileno;
    TRY(H5Ovisit_by_name3(from, flags & far ? "/" : name, H5_INDEX_NAME, H5_ITER_NATIVE, check_copied, &check,
                          H5O_INFO_BASIC, H5P_DEFAULT) >= 0);
    PASS(check.rc);
    PASS(goh5_link_plist(err, utf8, &lcpl));
    TRY((ocpl = H5Pcreate(H5P_OBJECT_COPY)) >= 0);
    TRY(H5Pset_copy_object(ocpl, flags) >= 0);
    for (uint64_t n = goh5_get(&in); n > 0 && !in.bad; n--) {
        TRY(H5Padd_merge_committed_dtype_path(ocpl, goh5_get_text(&in)) >= 0);
    }
    TRY(H5Ocopy(from, name, to, as, ocpl, lcpl) >= 0);
done:
    goh5_close_plist(ocpl);
    goh5_close_plist(lcpl);
    return rc;
}

/* ---------- comments, reference counts, flushing ---------- */

int goh5_comment(goh5_err_t *err, int64_t loc, const char *name, goh5_blob_t *out)
{
    int rc = 0;
    goh5_buf_t b = {0};
    char *text = NULL;
    goh5_enter();
    ssize_t n = H5Oget_comment_by_name(loc, name, NULL, 0, H5P_DEFAULT);
    TRY(n >= 0);
    if ((text = hyperslab_alloc((size_t)n + 1)) == NULL) {
        RAISE(GOH5_ENOMEM);
    }
    text[0] = 0;
    TRY(n == 0 || H5Oget_comment_by_name(loc, name, text, (size_t)n + 1, H5P_DEFAULT) >= 0);
    goh5_put_string(&b, text, (size_t)n);
    PASS(goh5_buf_end(&b, out));
done:
    hyperslab_free(text);
    goh5_buf_drop(&b);
    return rc;
}

int goh5_set_comment(goh5_err_t *err, int64_t loc, const char *name, const char *text)
{
    int rc = 0;
    goh5_enter();
    TRY(H5Oset_comment_by_name(loc, name, text, H5P_DEFAULT) >= 0);
done:
    return rc;
}

int goh5_oref(goh5_err_t *err, int64_t id, int32_t up)
{
    int rc = 0;
    goh5_enter();
    TRY((up ? H5Oincr_refcount(id) : H5Odecr_refcount(id)) >= 0);
done:
    return rc;
}

int goh5_oflush(goh5_err_t *err, int64_t id)
{
    int rc = 0;
    goh5_enter();
    TRY(H5Oflush(id) >= 0);
done:
    return rc;
}

int goh5_orefresh(goh5_err_t *err, int64_t id)
{
    int rc = 0;
    goh5_enter();
    TRY(H5Orefresh(id) >= 0);
done:
    return rc;
}

int goh5_ocork(goh5_err_t *err, int64_t id, int32_t cork)
{
    int rc = 0;
    goh5_enter();
    TRY((cork ? H5Odisable_mdc_flushes(id) : H5Oenable_mdc_flushes(id)) >= 0);
done:
    return rc;
}

int goh5_ocorked(goh5_err_t *err, int64_t id, int32_t *corked)
{
    int rc = 0;
    hbool_t is = 0;
    goh5_enter();
    TRY(H5Oare_mdc_flushes_disabled(id, &is) >= 0);
    *corked = is;
done:
    return rc;
}

/* ---------- tokens ---------- */

int goh5_token_cmp(goh5_err_t *err, int64_t loc, const uint64_t a[2], const uint64_t b[2], int32_t *order)
{
    int rc = 0;
    int cmp = 0;
    H5O_token_t ta = token_of(a), tb = token_of(b);
    goh5_enter();
    TRY(H5Otoken_cmp(loc, &ta, &tb, &cmp) >= 0);
    *order = cmp;
done:
    return rc;
}

int goh5_token_text(goh5_err_t *err, int64_t loc, const uint64_t words[2], goh5_blob_t *out)
{
    int rc = 0;
    goh5_buf_t b = {0};
    char *text = NULL;
    H5O_token_t token = token_of(words);
    goh5_enter();
    TRY(H5Otoken_to_str(loc, &token, &text) >= 0);
    goh5_put_text(&b, text);
    PASS(goh5_buf_end(&b, out));
done:
    if (text != NULL) {
        H5free_memory(text);
    }
    goh5_buf_drop(&b);
    return rc;
}

int goh5_token_parse(goh5_err_t *err, int64_t loc, const char *text, uint64_t out[2])
{
    int rc = 0;
    H5O_token_t token;
    goh5_enter();
    TRY(H5Otoken_from_str(loc, text, &token) >= 0);
    token_words(&token, out);
done:
    return rc;
}

/* ---------- committed datatypes in use ---------- */

int goh5_committed(goh5_err_t *err, int64_t id, const char *attribute, uint64_t *addr)
{
    int rc = 0;
    H5O_info2_t info;
    haddr_t at = HADDR_UNDEF;
    hid_t attr = H5I_INVALID_HID, type = H5I_INVALID_HID;
    goh5_enter();
    if (attribute != NULL) {
        TRY((attr = H5Aopen(id, attribute, H5P_DEFAULT)) >= 0);
        TRY((type = H5Aget_type(attr)) >= 0);
    } else {
        TRY((type = H5Dget_type(id)) >= 0);
    }
    htri_t committed = H5Tcommitted(type);
    TRY(committed >= 0);
    if (committed > 0) {
        TRY(H5Oget_info3(type, &info, H5O_INFO_BASIC) >= 0);
        TRY(H5VLnative_token_to_addr(type, info.token, &at) >= 0);
    }
    *addr = at;
done:
    goh5_close_type(type);
    if (attr >= 0) {
        H5Aclose(attr);
    }
    return rc;
}
