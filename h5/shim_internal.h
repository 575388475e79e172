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

/* Datatypes. goh5_type_put describes t; goh5_type_get makes an id that the caller closes, in one of three forms:
 * as described; with numbers in the machine's order; or as Go reads it, numbers whole and in the machine's order.
 * No form changes the bytes an element takes. */
enum { GOH5_STORED = 0, GOH5_ORDERED = 1, GOH5_NATIVE = 2 };
int goh5_type_put(goh5_err_t *err, goh5_buf_t *b, hid_t t, int depth);
hid_t goh5_type_get(goh5_in_t *in, int depth, int form);
int goh5_type_read(const uint8_t *type, size_t len, int form, hid_t *t);
int goh5_type_form(goh5_err_t *err, hid_t t, int form, hid_t *made);
int goh5_type_plain(hid_t t); /* 1: no pointers inside, 0: some, < 0: failed */

/* Dataspaces: kind, rank, dims, maxdims. */
int goh5_space_put(goh5_err_t *err, goh5_buf_t *b, hid_t space);
hid_t goh5_space_get(goh5_in_t *in);

/* How src becomes dst: the library alone loses nothing, or the values must be checked; GOH5_ETYPE if there is no
 * way that keeps the meaning. */
enum { GOH5_EXACT = 0, GOH5_CHECKED = 1 };
int goh5_conversion(goh5_err_t *err, hid_t src, hid_t dst);

/* goh5_convert turns n numbers of src into dst and says GOH5_EOVERFLOW or GOH5_EPRECISION if any changed. */
int goh5_convert(goh5_err_t *err, hid_t src_type, hid_t dst_type, const uint8_t *src, uint8_t *dst, size_t n);

/* Strings. goh5_string_type makes the type in memory of a stored string; goh5_strings_put describes n strings
 * that the library read into mem, which goh5_strings_free then frees with what the library allocated;
 * goh5_strings_get makes from a blob of texts what the library writes, which hyperslab_free frees. */
int goh5_string_type(goh5_err_t *err, hid_t stored, hid_t *mem);
int goh5_strings_put(goh5_err_t *err, goh5_buf_t *b, hid_t type, const uint8_t *mem, size_t n);
void goh5_strings_free(hid_t type, hid_t space, uint8_t *mem);
int goh5_strings_get(goh5_err_t *err, hid_t type, const uint8_t *bytes, const uint64_t *offsets, size_t n,
                     uint8_t **mem);

/* A link creation list: groups on the way are made too, and names that are not ASCII are marked UTF-8. */
int goh5_link_plist(goh5_err_t *err, int32_t utf8, hid_t *lcpl);

/* Closes that keep quiet: an id that is H5I_INVALID_HID was never opened. */
void goh5_close_space(hid_t id);
void goh5_close_type(hid_t id);
void goh5_close_plist(hid_t id);

#endif
