/* shim_internal.h: helpers shared by the files of the shim, for errors, encoding and decoding. */
#ifndef HYPERSLAB_H5_SHIM_INTERNAL_H
#define HYPERSLAB_H5_SHIM_INTERNAL_H

#include "shim.h"

#include "cmem.h"

/* TRY fails the function with libhdf5's error stack. It copies the stack before any cleanup,
 * because the next call of libhdf5 clears it. The function must have `int rc = 0` and a label
 * `done`. */
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

/* RAISE fails the function with a code of the shim. */
#define RAISE(code)                                                                                                    \
    do {                                                                                                               \
        rc = (code);                                                                                                   \
        goto done;                                                                                                     \
    } while (0)

/* goh5_enter turns off libhdf5's error output on this thread. It is needed only in a thread-safe
 * build, because only there each thread has its own error stack. */
void goh5_enter(void);

/* goh5_fail copies the error stack into err and returns GOH5_ELIB. */
int goh5_fail(goh5_err_t *err);

/* A growing blob. After a failed allocation, the put functions do nothing and goh5_buf_end returns
 * GOH5_ENOMEM. */
typedef struct goh5_buf {
    uint8_t *data;
    size_t len;
    size_t cap;
    int failed;
} goh5_buf_t;

void goh5_put(goh5_buf_t *b, uint64_t word);
void goh5_put_raw(goh5_buf_t *b, const void *p, size_t n);    /* bytes, padding */
void goh5_put_bytes(goh5_buf_t *b, const void *p, size_t n);  /* length, bytes, padding */
void goh5_put_text(goh5_buf_t *b, const char *s);             /* NULL is the empty string */
void goh5_put_string(goh5_buf_t *b, const void *p, size_t n); /* a string of n bytes */
void goh5_set(goh5_buf_t *b, size_t at, uint64_t word);       /* overwrites the word at byte `at` */
int goh5_buf_end(goh5_buf_t *b, goh5_blob_t *out);            /* transfers ownership of the block, or frees it */
void goh5_buf_drop(goh5_buf_t *b);

/* A decoder of Go's encoding. Past the end all values are 0 and `bad` is set. */
typedef struct goh5_in {
    const uint8_t *p;
    size_t left;
    int bad;
} goh5_in_t;

uint64_t goh5_get(goh5_in_t *in);
const uint8_t *goh5_get_bytes(goh5_in_t *in, size_t *n);
const char *goh5_get_text(goh5_in_t *in);

/* Replaces the code GOH5_ELIB by GOH5_ENOFILTER, with the filter's number and name in err, if a
 * filter of the dataset is missing. libhdf5 reports missing filters with four different errors. */
int goh5_missing_filter(goh5_err_t *err, hid_t id, int rc);

/* Datatypes. goh5_type_put encodes t. goh5_type_get creates an id that the caller must close, in
 * one of three forms: as encoded; with numbers in native byte order; or with numbers in native byte
 * order that use all bits, as Go reads them. No form changes the size of an element. */
enum { GOH5_STORED = 0, GOH5_ORDERED = 1, GOH5_NATIVE = 2 };
int goh5_type_put(goh5_err_t *err, goh5_buf_t *b, hid_t t, int depth);
hid_t goh5_type_get(goh5_in_t *in, int depth, int form);
int goh5_type_read(const uint8_t *type, size_t len, int form, hid_t *t);

/* The id of libhdf5's own type with that encoding, and its size in bytes, if it is an integer or an
 * IEEE float of a usual size; otherwise H5I_INVALID_HID. It must not be closed. Making and closing a
 * type takes a fifth of the time of a small read. */
hid_t goh5_type_standard(const uint8_t *type, size_t len, size_t *size);
int goh5_type_form(goh5_err_t *err, hid_t t, int form, hid_t *made);
int goh5_type_plain(hid_t t); /* 1: no pointers inside, 0: some, < 0: failed */

/* Whether t contains an integer with unused bits in the non-native byte order. When libhdf5 only
 * reorders such an integer, it leaves the unused bits unchanged, so a negative number is read as a
 * positive one. Returns 1 or 0, or < 0 on failure. */
int goh5_type_narrow(hid_t t);

/* Property lists of files. goh5_*_get creates a list that the caller must close, and goh5_*_put
 * encodes one. The driver is part of the access list. */
int goh5_fapl_get(goh5_err_t *err, goh5_in_t *in, hid_t *fapl);
int goh5_fcpl_get(goh5_err_t *err, goh5_in_t *in, hid_t *fcpl);
int goh5_driver_get(goh5_err_t *err, goh5_in_t *in, hid_t fapl);
int goh5_driver_put(goh5_err_t *err, goh5_buf_t *b, hid_t fapl);
int goh5_mdc_put(goh5_err_t *err, goh5_buf_t *b, hid_t file);

/* Storage and access properties of a dataset. */
int goh5_storage_get(goh5_err_t *err, goh5_in_t *in, hid_t dcpl, hid_t space, int *no_fill);
int goh5_storage_put(goh5_err_t *err, goh5_buf_t *b, hid_t id, hid_t dcpl);
int goh5_external_put(goh5_err_t *err, goh5_buf_t *b, hid_t dcpl);
int goh5_dapl_get(goh5_err_t *err, goh5_in_t *in, hid_t *dapl);
int goh5_check_ranks(goh5_err_t *err, hid_t dcpl, hid_t space);

/* Callbacks into Go (callback.go). They return 0, or -1 with the reason stored on the Go side. */
int32_t goh5_go_read_at(uint64_t id, uint64_t at, uint8_t *dst, uint64_t len);
void goh5_go_outside(const char *name); /* libhdf5 tried to open a file other than the reader's */
int32_t goh5_go_filter_id(uint32_t slot);
int32_t goh5_go_filter_prepare(uint32_t slot, uint8_t *spec, uint64_t spec_len, uint32_t *values, uint64_t most,
                               uint64_t *n);
int32_t goh5_go_filter(uint32_t slot, int32_t decode, uint32_t *values, uint64_t n, uint8_t *src, uint64_t len,
                       uint64_t *got);
void goh5_go_filtered(uint8_t *dst, uint64_t len); /* copies the result of goh5_go_filter */

/* Dataspaces: kind, rank, dims, maxdims. */
int goh5_space_put(goh5_err_t *err, goh5_buf_t *b, hid_t space);
hid_t goh5_space_get(goh5_in_t *in);

/* The dataspace of the dataset of the last transfer, if its extent is fixed. Small transfers of the
 * same dataset then need no copy of it. The library lock of package h5 protects it. */
typedef struct goh5_kept {
    hid_t dataset, space;
} goh5_kept_t;

extern goh5_kept_t goh5_kept;

/* Selections: the undecoded rest of an encoded selection. goh5_select selects in space, for which
 * Go assumes rank `rank`, and counts the elements. goh5_select_endless does this for a selection
 * that goh5_select_put has encoded as unlimited. goh5_outside fails with the extent in err.
 * goh5_select_put encodes the selection of space. */
typedef struct goh5_sel {
    const int64_t *p;
    size_t left;
    int bad;
} goh5_sel_t;

int goh5_select(goh5_err_t *err, goh5_sel_t *s, hid_t space, size_t rank, size_t *n);
int goh5_select_endless(goh5_err_t *err, const goh5_sel_t *s, hid_t space, size_t rank);
int goh5_outside(goh5_err_t *err, const hsize_t *dims, int rank);
int goh5_select_put(goh5_err_t *err, goh5_buf_t *b, hid_t space);

/* Elements with pointers. goh5_values_put encodes n elements of type in mem as a block without
 * pointers, the form for Go (values.go). goh5_values_get converts such a block to elements that
 * libhdf5 can write; goh5_values_drop frees them. References are resolved relative to loc. */
typedef struct goh5_values {
    uint8_t *block; /* begins with the elements */
    size_t len;
    hid_t loc;
    H5R_ref_t *refs; /* references created for the elements */
    size_t n_refs, cap_refs;
} goh5_values_t;

int goh5_values_put(goh5_err_t *err, goh5_buf_t *b, hid_t loc, hid_t type, const uint8_t *mem, size_t n);
int goh5_values_get(goh5_err_t *err, hid_t loc, hid_t type, const uint8_t *data, size_t len, size_t n,
                    goh5_values_t *v);
void goh5_values_drop(goh5_values_t *v);

/* Memory that libhdf5 uses for the strings and sequences of one read. Any number of elements can
 * refer to the same bytes of a file, so their total is limited. goh5_pieces_close frees all of it,
 * also after a failed read, of which libhdf5 does not free the elements that it has read. If `some`
 * is 0, `dxpl` is H5P_DEFAULT. */
typedef struct goh5_pieces {
    hid_t dxpl;
    struct goh5_block *blocks; /* the newest first; pieces are parts of blocks */
    uint64_t limit, used;
    int exceeded;
} goh5_pieces_t;

int goh5_pieces_open(goh5_err_t *err, goh5_pieces_t *p, int some, hid_t id, uint64_t limit);
int goh5_pieces_failed(goh5_err_t *err, const goh5_pieces_t *p, int rc); /* replaces GOH5_ELIB if it was the limit */
void goh5_pieces_close(goh5_pieces_t *p);

/* References of the kind added in HDF5 1.12 contain memory of libhdf5. goh5_ref_put encodes the
 * target of a reference; it returns 0 for the null reference and 1 for any other. goh5_ref_get
 * creates a reference from that encoding, which the caller must free with H5Rdestroy. */
int goh5_ref_put(goh5_err_t *err, goh5_buf_t *b, hid_t loc, const H5R_ref_t *ref);
int goh5_ref_get(goh5_err_t *err, goh5_in_t *in, hid_t loc, H5R_ref_t *ref);

/* Kind of conversion from src to dst; the stored type is dst if `writing` is set and otherwise src.
 * Returns GOH5_EXACT if libhdf5 keeps every value, GOH5_LOSSY if it may change a number, or
 * GOH5_ETYPE if no conversion preserves the values' meaning. */
enum { GOH5_EXACT = 0, GOH5_LOSSY = 1 };
int goh5_conversion(goh5_err_t *err, hid_t src, hid_t dst, int writing);

/* Strings. goh5_string_type creates the type in memory of a stored string. goh5_strings_put encodes
 * n strings that libhdf5 has read into mem. goh5_strings_get converts packed strings to elements
 * that libhdf5 can write; the caller must free them with hyperslab_free. */
int goh5_string_type(goh5_err_t *err, hid_t stored, hid_t *mem);
int goh5_strings_put(goh5_err_t *err, goh5_buf_t *b, hid_t type, const uint8_t *mem, size_t n);
int goh5_strings_get(goh5_err_t *err, hid_t type, const uint8_t *bytes, const uint64_t *offsets, size_t n,
                     uint8_t **mem);

/* Links. The creation list of goh5_link_plist creates missing intermediate groups and marks names
 * that are not ASCII as UTF-8. goh5_link_classes registers the classes of user-defined links once.
 * goh5_check_index fails with GOH5_EINDEX if the group has no link n, and with GOH5_EORDER if it
 * does not have the order. */
int goh5_link_plist(goh5_err_t *err, int32_t utf8, hid_t *lcpl);
int goh5_link_classes(goh5_err_t *err);
int goh5_check_index(goh5_err_t *err, hid_t loc, int32_t index, int64_t n);
uint64_t goh5_object_kind(H5O_type_t type);

/* Close functions without errors. They ignore H5I_INVALID_HID. */
void goh5_close_space(hid_t id);
void goh5_close_type(hid_t id);
void goh5_close_plist(hid_t id);
void goh5_close_group(hid_t id);

#endif
