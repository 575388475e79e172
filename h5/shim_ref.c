/* shim_ref.c: the three kinds of reference. The two old kinds are bytes: the address of an object,
 * or the location of a region in the file's heap. The kind added in 1.12 contains memory of libhdf5
 * and has no public encoding. It is encoded as its target: kind, file if it is another one, token,
 * attribute, and the region as dataspace and selection. */
#include "shim_internal.h"

#include <string.h>

/* Kinds of reference. They must match shim_type.c. */
enum { REF_OBJECT = 1, REF_REGION = 2, REF_STANDARD = 3 };

/* Encodes the file name if the reference is to another file than loc's. Such files are not opened,
 * because only the caller may decide that. */
static int put_file(goh5_err_t *err, goh5_buf_t *b, hid_t loc, const H5R_ref_t *ref, int *external)
{
    int rc = 0;
    char *name = NULL, *here = NULL;
    ssize_t n = H5Rget_file_name(ref, NULL, 0), m = H5Fget_name(loc, NULL, 0);
    TRY(n >= 0 && m >= 0);
    name = hyperslab_alloc((size_t)n + 1);
    here = hyperslab_alloc((size_t)m + 1);
    if (name == NULL || here == NULL) {
        RAISE(GOH5_ENOMEM);
    }
    TRY(H5Rget_file_name(ref, name, (size_t)n + 1) >= 0 && H5Fget_name(loc, here, (size_t)m + 1) >= 0);
    *external = strcmp(name, here) != 0;
    goh5_put_text(b, *external ? name : "");
done:
    hyperslab_free(name);
    hyperslab_free(here);
    return rc;
}

/* Encodes the token of the object, or no bytes if the object was deleted. */
static void put_token(goh5_buf_t *b, const H5R_ref_t *ref)
{
    H5O_info2_t info;
    hid_t object = H5Ropen_object((H5R_ref_t *)ref, H5P_DEFAULT, H5P_DEFAULT);
    if (object >= 0 && H5Oget_info3(object, &info, H5O_INFO_BASIC) >= 0) {
        goh5_put_bytes(b, &info.token, sizeof info.token);
    } else {
        goh5_put_bytes(b, NULL, 0);
    }
    if (object >= 0) {
        H5Oclose(object);
    }
}

int goh5_ref_put(goh5_err_t *err, goh5_buf_t *b, hid_t loc, const H5R_ref_t *ref)
{
    static const H5R_ref_t null = {0};
    int rc = 0, external = 0;
    char *attr = NULL;
    hid_t space = H5I_INVALID_HID;
    if (memcmp(ref, &null, sizeof null) == 0) {
        return 0;
    }
    H5R_type_t type = H5Rget_type(ref);
    TRY(type != H5R_BADTYPE);
    goh5_put(b, (uint64_t)type);
    PASS(put_file(err, b, loc, ref, &external));
    if (external) {
        goh5_put_bytes(b, NULL, 0);
        rc = 1;
        goto done;
    }
    put_token(b, ref);
    if (type == H5R_ATTR) {
        ssize_t n = H5Rget_attr_name(ref, NULL, 0);
        TRY(n >= 0);
        if ((attr = hyperslab_alloc((size_t)n + 1)) == NULL) {
            RAISE(GOH5_ENOMEM);
        }
        TRY(H5Rget_attr_name(ref, attr, (size_t)n + 1) >= 0);
        goh5_put_text(b, attr);
    } else if (type == H5R_DATASET_REGION2) {
        TRY((space = H5Ropen_region((H5R_ref_t *)ref, H5P_DEFAULT, H5P_DEFAULT)) >= 0);
        PASS(goh5_space_put(err, b, space));
        PASS(goh5_select_put(err, b, space));
    }
    rc = 1;
done:
    hyperslab_free(attr);
    goh5_close_space(space);
    return rc;
}

/* Decodes a selection that goh5_select_put has encoded. */
static int get_selection(goh5_err_t *err, goh5_in_t *in, hid_t space)
{
    int rc = 0;
    size_t n = 0;
    int endless = (int64_t)goh5_get(in) < 0; /* number of elements */
    uint64_t rank = goh5_get(in);
    if (in->bad || rank > H5S_MAX_RANK || in->left < 2 * rank * sizeof(uint64_t)) {
        RAISE(GOH5_ETYPE);
    }
    for (uint64_t i = 0; i < 2 * rank; i++) {
        goh5_get(in); /* corners */
    }
    int axes = H5Sget_simple_extent_ndims(space);
    TRY(axes >= 0);
    goh5_sel_t s = {(const int64_t *)(const void *)in->p, in->left / sizeof(int64_t), 0};
    if (endless) {
        PASS(goh5_select_endless(err, &s, space, (size_t)axes));
        goto done;
    }
    PASS(goh5_select(err, &s, space, (size_t)axes, &n));
done:
    return rc;
}

int goh5_ref_get(goh5_err_t *err, goh5_in_t *in, hid_t loc, H5R_ref_t *ref)
{
    int rc = 0;
    hid_t object = H5I_INVALID_HID, space = H5I_INVALID_HID;
    H5O_token_t token;
    H5R_type_t type = (H5R_type_t)goh5_get(in);
    const char *file = goh5_get_text(in);
    size_t n = 0;
    const uint8_t *bytes = goh5_get_bytes(in, &n);
    if (in->bad || n != sizeof token || file[0] != 0) {
        RAISE(GOH5_ETYPE); /* the object was deleted or is in another file */
    }
    memcpy(&token, bytes, sizeof token);
    TRY((object = H5Oopen_by_token(loc, token)) >= 0);
    switch (type) {
    case H5R_OBJECT2:
        TRY(H5Rcreate_object(object, ".", H5P_DEFAULT, ref) >= 0);
        break;
    case H5R_ATTR:
        TRY(H5Rcreate_attr(object, ".", goh5_get_text(in), H5P_DEFAULT, ref) >= 0);
        break;
    case H5R_DATASET_REGION2:
        TRY((space = goh5_space_get(in)) >= 0);
        PASS(get_selection(err, in, space));
        TRY(H5Rcreate_region(object, ".", space, H5P_DEFAULT, ref) >= 0);
        break;
    default:
        RAISE(GOH5_ETYPE);
    }
done:
    goh5_close_space(space);
    if (object >= 0) {
        H5Oclose(object);
    }
    return rc;
}

int goh5_ref_create(goh5_err_t *err, int64_t loc, const char *name, int32_t kind, const char *attr, const int64_t *sel,
                    size_t words, size_t rank, goh5_blob_t *out)
{
    int rc = 0, made = 0;
    size_t n = 0;
    goh5_buf_t b = {0};
    hid_t dataset = H5I_INVALID_HID, space = H5I_INVALID_HID;
    hobj_ref_t object;
    hdset_reg_ref_t region;
    H5R_ref_t ref;
    memset(&ref, 0, sizeof ref);
    goh5_enter();
    if (words > 0) {
        goh5_sel_t s = {sel, words, 0};
        TRY((dataset = H5Dopen2(loc, name, H5P_DEFAULT)) >= 0);
        TRY((space = H5Dget_space(dataset)) >= 0);
        PASS(goh5_select(err, &s, space, rank, &n));
    }
    switch (kind) {
    case REF_OBJECT:
        TRY(H5Rcreate(&object, loc, name, H5R_OBJECT, H5I_INVALID_HID) >= 0);
        goh5_put_bytes(&b, &object, sizeof object);
        break;
    case REF_REGION:
        TRY(H5Rcreate(&region, loc, name, H5R_DATASET_REGION, space) >= 0);
        goh5_put_bytes(&b, &region, sizeof region);
        break;
    default:
        if (words > 0) {
            TRY(H5Rcreate_region(loc, name, space, H5P_DEFAULT, &ref) >= 0);
        } else if (attr[0] != 0) {
            TRY(H5Rcreate_attr(loc, name, attr, H5P_DEFAULT, &ref) >= 0);
        } else {
            TRY(H5Rcreate_object(loc, name, H5P_DEFAULT, &ref) >= 0);
        }
        made = 1;
        goh5_put(&b, 0);
        int some = goh5_ref_put(err, &b, loc, &ref);
        PASS(some);
        rc = 0;
        goh5_set(&b, 0, b.len - sizeof(uint64_t)); /* length of the encoded reference */
    }
    PASS(goh5_buf_end(&b, out));
done:
    if (made) {
        H5Rdestroy(&ref);
    }
    goh5_buf_drop(&b);
    goh5_close_space(space);
    if (dataset >= 0) {
        H5Dclose(dataset);
    }
    return rc;
}

/* Opens the target of a reference. For a region reference, *space is the dataspace with the
 * selection. */
static int open_referent(goh5_err_t *err, hid_t loc, int32_t kind, const uint8_t *bytes, size_t len, H5R_ref_t *ref,
                         int *made, hid_t *object, hid_t *space)
{
    int rc = 0;
    hobj_ref_t address;
    hdset_reg_ref_t region;
    goh5_in_t in = {bytes, len, 0};
    switch (kind) {
    case REF_OBJECT:
        if (len != sizeof address) {
            RAISE(GOH5_ETYPE);
        }
        memcpy(&address, bytes, sizeof address);
        TRY((*object = H5Rdereference2(loc, H5P_DEFAULT, H5R_OBJECT, &address)) >= 0);
        break;
    case REF_REGION:
        if (len != sizeof region) {
            RAISE(GOH5_ETYPE);
        }
        memcpy(&region, bytes, sizeof region);
        TRY((*object = H5Rdereference2(loc, H5P_DEFAULT, H5R_DATASET_REGION, &region)) >= 0);
        TRY((*space = H5Rget_region(loc, H5R_DATASET_REGION, &region)) >= 0);
        break;
    default:
        PASS(goh5_ref_get(err, &in, loc, ref));
        *made = 1;
        TRY((*object = H5Ropen_object(ref, H5P_DEFAULT, H5P_DEFAULT)) >= 0);
        if (H5Rget_type(ref) == H5R_DATASET_REGION2) {
            TRY((*space = H5Ropen_region(ref, H5P_DEFAULT, H5P_DEFAULT)) >= 0);
        }
        break;
    }
done:
    return rc;
}

int goh5_ref_resolve(goh5_err_t *err, int64_t loc, int32_t kind, const uint8_t *bytes, size_t len, int32_t named,
                     goh5_blob_t *out)
{
    int rc = 0, made = 0;
    ssize_t n = 0;
    haddr_t addr = HADDR_UNDEF;
    hid_t object = H5I_INVALID_HID, space = H5I_INVALID_HID;
    H5O_info2_t info;
    H5R_ref_t ref;
    goh5_buf_t b = {0};
    char text[1024] = {0}, *name = NULL;
    memset(&ref, 0, sizeof ref);
    goh5_enter();
    PASS(open_referent(err, loc, kind, bytes, len, &ref, &made, &object, &space));
    TRY(H5Oget_info3(object, &info, H5O_INFO_BASIC) >= 0);
    TRY(H5VLnative_token_to_addr(object, info.token, &addr) >= 0);
    /* Each call searches the links of the file. */
    if (named && (n = H5Iget_name(object, text, sizeof text)) >= (ssize_t)sizeof text) {
        if ((name = hyperslab_alloc((size_t)n + 1)) == NULL) {
            RAISE(GOH5_ENOMEM);
        }
        TRY(H5Iget_name(object, name, (size_t)n + 1) >= 0);
    }
    goh5_put(&b, (uint64_t)info.type);
    goh5_put_bytes(&b, &info.token, sizeof info.token);
    goh5_put(&b, addr);
    goh5_put_text(&b, name != NULL ? name : text);
    goh5_put(&b, space >= 0);
    if (space >= 0) {
        PASS(goh5_space_put(err, &b, space));
        PASS(goh5_select_put(err, &b, space));
    }
    PASS(goh5_buf_end(&b, out));
done:
    if (made) {
        H5Rdestroy(&ref);
    }
    hyperslab_free(name);
    goh5_buf_drop(&b);
    goh5_close_space(space);
    if (object >= 0) {
        H5Oclose(object);
    }
    return rc;
}
