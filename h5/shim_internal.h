/* shim_internal.h: what the shim's own files share: failing, writing a blob, reading one. */
#ifndef HYPERSLAB_H5_SHIM_INTERNAL_H
#define HYPERSLAB_H5_SHIM_INTERNAL_H

#include "shim.h"

#include "cmem.h"

/* TRY fails the function with the library's error stack, which the next library call would clear: so the
 * capture comes before anything is closed. The function has `int rc = 0` and a label `done`. */
#define TRY(ok)                                                                                                        \
    do {                                                                                                               \
        if (!(ok)) {                                                                                                   \
            rc = goh5_fail(err);                                                                                       \
            goto done;                                                                                                 \
        }                                                                                                              \
    } while (0)

/* PASS fails the function with the code of a helper that has filled in err. */
#define PASS(call)                                                                                                     \
    do {                                                                                                               \
        rc = (call);                                                                                                   \
        if (rc < 0) {                                                                                                  \
            goto done;                                                                                                 \
        }                                                                                                              \
    } while (0)

/* RAISE fails the function with a code of ours. */
#define RAISE(code)                                                                                                    \
    do {                                                                                                               \
        rc = (code);                                                                                                   \
        goto done;                                                                                                     \
    } while (0)

/* goh5_enter silences the library on this thread; only a thread-safe build has a stack for each. */
void goh5_enter(void);

/* goh5_fail copies the error stack into err and returns GOH5_ELIB. */
int goh5_fail(goh5_err_t *err);

/* A growing blob. After an allocation failed, puts do nothing and goh5_buf_end says GOH5_ENOMEM. */
typedef struct goh5_buf {
    uint8_t *data;
    size_t len;
    size_t cap;
    int failed;
} goh5_buf_t;

void goh5_put(goh5_buf_t *b, uint64_t word);
void goh5_put_raw(goh5_buf_t *b, const void *p, size_t n);    /* bytes, padding */
void goh5_put_bytes(goh5_buf_t *b, const void *p, size_t n);  /* length, bytes, padding */
void goh5_put_text(goh5_buf_t *b, const char *s);             /* NULL is the empty text */
void goh5_put_string(goh5_buf_t *b, const void *p, size_t n); /* a text of n bytes */
void goh5_set(goh5_buf_t *b, size_t at, uint64_t word);       /* overwrites the word at byte `at` */
int goh5_buf_end(goh5_buf_t *b, goh5_blob_t *out);            /* hands the block over, or frees it */
void goh5_buf_drop(goh5_buf_t *b);

/* A reader of what Go encoded. Past the end everything is 0 and `bad` is set. */
typedef struct goh5_in {
    const uint8_t *p;
    size_t left;
    int bad;
} goh5_in_t;

uint64_t goh5_get(goh5_in_t *in);
const uint8_t *goh5_get_bytes(goh5_in_t *in, size_t *n);
const char *goh5_get_text(goh5_in_t *in);

/* Makes of rc that something failed with a dataset GOH5_ENOFILTER, with number and name in err, if a filter is missing;
 * the library's own words for it are four different ones. */
int goh5_missing_filter(goh5_err_t *err, hid_t id, int rc);

/* Datatypes. goh5_type_put describes t; goh5_type_get makes an id that the caller closes, in one of four forms:
 * as described; with numbers in the machine's order; as Go reads it, numbers whole and in the machine's order; or as
 * described, but with plain numbers for enumerations. No form changes the bytes an element takes. */
enum { GOH5_STORED = 0, GOH5_ORDERED = 1, GOH5_NATIVE = 2, GOH5_UNNAMED = 3 };
int goh5_type_put(goh5_err_t *err, goh5_buf_t *b, hid_t t, int depth);
hid_t goh5_type_get(goh5_in_t *in, int depth, int form);
int goh5_type_read(const uint8_t *type, size_t len, int form, hid_t *t);
int goh5_type_form(goh5_err_t *err, hid_t t, int form, hid_t *made);
int goh5_type_plain(hid_t t); /* 1: no pointers inside, 0: some, < 0: failed */

/* Whether an integer inside has unused bits and the other order of bytes: to reorder such, the library takes a way that
 * leaves the unused bits what they are, so that a negative number reads as a positive one. 1, 0, < 0: failed. */
int goh5_type_narrow(hid_t t);

/* Property lists of files. goh5_*_get makes a list that the caller closes, goh5_*_put describes one. The driver
 * is part of the access list. */
int goh5_fapl_get(goh5_err_t *err, goh5_in_t *in, hid_t *fapl);
int goh5_fcpl_get(goh5_err_t *err, goh5_in_t *in, hid_t *fcpl);
int goh5_driver_get(goh5_err_t *err, goh5_in_t *in, hid_t fapl);
int goh5_driver_put(goh5_err_t *err, goh5_buf_t *b, hid_t fapl);
int goh5_mdc_put(goh5_err_t *err, goh5_buf_t *b, hid_t file);

/* Storage of a dataset, and how it is reached. */
int goh5_storage_get(goh5_err_t *err, goh5_in_t *in, hid_t dcpl, hid_t space, int *no_fill);
int goh5_storage_put(goh5_err_t *err, goh5_buf_t *b, hid_t id, hid_t dcpl);
int goh5_external_put(goh5_err_t *err, goh5_buf_t *b, hid_t dcpl);
int goh5_dapl_get(goh5_err_t *err, goh5_in_t *in, hid_t *dapl);
int goh5_check_ranks(goh5_err_t *err, hid_t dcpl, hid_t space);

/* What Go does for C (callback.go). 0, or -1 with the reason kept on the other side. */
int32_t goh5_go_read_at(uint64_t id, uint64_t at, uint8_t *dst, uint64_t len);
void goh5_go_outside(const char *name); /* a file was wanted that is not the reader's */
int32_t goh5_go_filter_id(uint32_t slot);
int32_t goh5_go_filter_prepare(uint32_t slot, uint8_t *spec, uint64_t spec_len, uint32_t *values, uint64_t most,
                               uint64_t *n);
int32_t goh5_go_filter(uint32_t slot, int32_t decode, uint32_t *values, uint64_t n, uint8_t *src, uint64_t len,
                       uint64_t *got);
void goh5_go_filtered(uint8_t *dst, uint64_t len); /* what goh5_go_filter has got */

/* Dataspaces: kind, rank, dims, maxdims. */
int goh5_space_put(goh5_err_t *err, goh5_buf_t *b, hid_t space);
hid_t goh5_space_get(goh5_in_t *in);

/* Selections: what is left of one that Go encoded. goh5_select selects in space, whose rank Go believes to be
 * `rank`, and counts the elements; goh5_select_endless takes one that goh5_select_put found
 * to have no end; goh5_outside fails with the extent; goh5_select_put describes what is selected. */
typedef struct goh5_sel {
    const int64_t *p;
    size_t left;
    int bad;
} goh5_sel_t;

int goh5_select(goh5_err_t *err, goh5_sel_t *s, hid_t space, size_t rank, size_t *n);
int goh5_select_endless(goh5_err_t *err, const goh5_sel_t *s, hid_t space, size_t rank);
int goh5_outside(goh5_err_t *err, const hsize_t *dims, int rank);
int goh5_select_put(goh5_err_t *err, goh5_buf_t *b, hid_t space);

/* Elements with pointers. goh5_values_put makes from n elements of type in mem a block without pointers, the form
 * that crosses to Go (values.go); goh5_values_get makes from such a block what the library writes, which
 * goh5_values_drop frees. loc is where references are at home. */
typedef struct goh5_values {
    uint8_t *block; /* begins with the elements */
    size_t len;
    hid_t loc;
    H5R_ref_t *refs; /* those made for the elements */
    size_t n_refs, cap_refs;
} goh5_values_t;

int goh5_values_put(goh5_err_t *err, goh5_buf_t *b, hid_t loc, hid_t type, const uint8_t *mem, size_t n);
int goh5_values_get(goh5_err_t *err, hid_t loc, hid_t type, const uint8_t *data, size_t len, size_t n,
                    goh5_values_t *v);
void goh5_values_drop(goh5_values_t *v);

/* References of the kind since 1.12 hold the library's memory. goh5_ref_put says what one refers to, and returns 0
 * for the null reference and 1 for another; goh5_ref_get makes one from that, for H5Rdestroy. */
int goh5_ref_put(goh5_err_t *err, goh5_buf_t *b, hid_t loc, const H5R_ref_t *ref);
int goh5_ref_get(goh5_err_t *err, goh5_in_t *in, hid_t loc, H5R_ref_t *ref);

/* How src becomes dst, the stored type being dst if writing and else src: the library alone loses nothing, or the
 * values must be checked; GOH5_ETYPE if there is no way that keeps the meaning. */
enum { GOH5_EXACT = 0, GOH5_CHECKED = 1 };
int goh5_conversion(goh5_err_t *err, hid_t src, hid_t dst, int writing);

/* Between two enumerations that differ the library looks up names, and makes of a number without one all bits set
 * and no error. goh5_unnamed puts plain numbers in the place of enumerations in *mem if it differs from what is
 * stored and has any, and returns 1, else 0: reading into numbers keeps them all. Numbers cannot be written to an
 * enumeration, so that goh5_renumber makes stored elements of such ones first. */
int goh5_unnamed(goh5_err_t *err, hid_t stored, hid_t *mem);
int goh5_renumber(goh5_err_t *err, hid_t unnamed, hid_t stored, const uint8_t *src, uint8_t *dst, size_t n);

/* Where loss is allowed, and goh5_conversion says GOH5_CHECKED: 1 if the library rounds right from src to dst, 0 if
 * goh5_round does, GOH5_ETYPE if neither: number.go converts them. The library's own arithmetic on floats
 * (H5T__conv_f_f, H5T__conv_i_f) takes the larger of a tie, and loses the carry of what is less than the least normal
 * number and rounds up to a power of two; the compiler's is right, and converts between the machine's own types only.
 */
int goh5_rounds(goh5_err_t *err, hid_t src, hid_t dst);
int goh5_round(goh5_err_t *err, hid_t src_type, hid_t dst_type, const uint8_t *src, uint8_t *dst, size_t n);

/* Where elements go, and how the filters there make masks if a chunk with another mask may be as long as before
 * (shim_rawchunk.c), NULL if the library's own write will do. */
typedef struct goh5_target {
    hid_t mem_type;
    hid_t mem_space;
    hid_t file_space;
    const goh5_masks_t *masks;
} goh5_target_t;

/* Writes a selection; with masks chunk by chunk where that has to be. */
int goh5_write(goh5_err_t *err, hid_t id, const goh5_target_t *to, const void *buf);

/* goh5_convert turns n numbers of src into dst, unless that is NULL, and says GOH5_EOVERFLOW or GOH5_EPRECISION if any
 * changed. */
int goh5_convert(goh5_err_t *err, hid_t src_type, hid_t dst_type, const uint8_t *src, uint8_t *dst, size_t n);

/* Strings. goh5_string_type makes the type in memory of a stored string; goh5_strings_put describes n strings
 * that the library read into mem; goh5_strings_get makes from a blob of texts what the library writes, which
 * hyperslab_free frees. */
int goh5_string_type(goh5_err_t *err, hid_t stored, hid_t *mem);
int goh5_strings_put(goh5_err_t *err, goh5_buf_t *b, hid_t type, const uint8_t *mem, size_t n);
int goh5_strings_get(goh5_err_t *err, hid_t type, const uint8_t *bytes, const uint64_t *offsets, size_t n,
                     uint8_t **mem);

/* Links. A creation list makes groups on the way too, and marks names that are not ASCII as UTF-8. The classes of
 * user-defined links are told to the library once. goh5_check_index fails with GOH5_EINDEX for a place that the group
 * does not have, and with GOH5_EORDER where it has no such order. */
int goh5_link_plist(goh5_err_t *err, int32_t utf8, hid_t *lcpl);
int goh5_link_classes(goh5_err_t *err);
int goh5_check_index(goh5_err_t *err, hid_t loc, int32_t index, int64_t n);
uint64_t goh5_object_kind(H5O_type_t type);

/* Closes that keep quiet: an id that is H5I_INVALID_HID was never opened. */
void goh5_close_space(hid_t id);
void goh5_close_type(hid_t id);
void goh5_close_plist(hid_t id);
void goh5_close_group(hid_t id);

#endif
