/* shim.h: what Go calls. One function here is one public operation of the package.
 *
 * Every function returns 0, or a negative GOH5_E… code with *err filled in by the same call: libhdf5's error
 * stack belongs to the thread (or to the process) and a goroutine may be on another thread at the next call.
 * Outputs are untouched on failure and everything allocated in a failed call is freed in it.
 * The caller holds the package's lock for the whole call. */
#ifndef HYPERSLAB_H5_SHIM_H
#define HYPERSLAB_H5_SHIM_H

#include "versions.h"

#include <stddef.h>
#include <stdint.h>

enum { GOH5_MAX_RANK = 32 };

/* Why a call failed, where it was not the library that said so. */
enum {
    GOH5_ELIB = -1,       /* the library failed: err->stack says how */
    GOH5_ENOMEM = -2,     /* no memory for our own blocks */
    GOH5_EREGION = -3,    /* selection outside the extent: err->dims */
    GOH5_ESIZE = -4,      /* have and want in err->have, err->want */
    GOH5_ETYPE = -5,      /* the two datatypes have no lossless meeting point */
    GOH5_EOVERFLOW = -6,  /* a value is outside the destination's range: err->want counts them */
    GOH5_EPRECISION = -7, /* a value would change in the destination: err->want counts them */
    GOH5_ENOFILTER = -8,  /* a filter is missing: err->filter, err->name, and the stack */
    GOH5_ELONG = -9,      /* string err->index of err->have bytes does not fit err->want */
    GOH5_EVERSION = -10,  /* header and library differ */
    GOH5_ETRIM = -11,     /* string err->index ends in what its type pads with, and would come back shorter */
    GOH5_ESHORT = -12     /* the file claims err->want bytes and holds err->have */
};

/* A failure. stack is a block of hyperslab_alloc (NULL if the library did not fail) that the caller frees:
 * the number of frames, then for each, outermost first, the line and the texts function, file, description,
 * major and minor (the library's own names, "H5E_FILE"). Numbers are words of 8 bytes, bytes are a length and
 * zeros up to the next word after them, a text is the same with at least one zero. */
typedef struct goh5_err {
    uint8_t *stack;
    uint64_t stack_len;
    int64_t have;
    int64_t want;
    int64_t index;
    int32_t filter;
    int32_t rank;
    uint64_t dims[GOH5_MAX_RANK];
    char name[64];
} goh5_err_t;

/* A result of any size: a block of hyperslab_alloc that the caller frees, in words and texts as above. */
typedef struct goh5_blob {
    uint8_t *data;
    uint64_t len;
} goh5_blob_t;

/* The library. */
int goh5_start(goh5_err_t *err, uint32_t version[6]);
int goh5_obj_count(goh5_err_t *err, int64_t *count);
int goh5_filter_info(goh5_err_t *err, int32_t filter, int32_t *avail, uint32_t *flags);

/* Ids. goh5_close closes n ids, goes on after a failure and reports the first. */
int goh5_close(goh5_err_t *err, const int64_t *ids, size_t n);

/* Files. */
int goh5_is_hdf5(goh5_err_t *err, const char *path, int32_t *is);
int goh5_fcreate(goh5_err_t *err, const char *path, int32_t truncate, int32_t low, int32_t high, int64_t *id);
int goh5_fopen(goh5_err_t *err, const char *path, int32_t write, int32_t low, int32_t high, int64_t *id);
int goh5_fflush(goh5_err_t *err, int64_t id);
int goh5_fsize(goh5_err_t *err, int64_t id, uint64_t *bytes);

/* Groups and links. */
int goh5_gopen(goh5_err_t *err, int64_t loc, const char *name, int64_t *id);
int goh5_gcreate(goh5_err_t *err, int64_t loc, const char *name, int32_t utf8, int64_t *id);
int goh5_links(goh5_err_t *err, int64_t loc, goh5_blob_t *out);
int goh5_unlink(goh5_err_t *err, int64_t loc, const char *name);
int goh5_link_soft(goh5_err_t *err, int64_t loc, const char *name, int32_t utf8, const char *target);
int goh5_link_external(goh5_err_t *err, int64_t loc, const char *name, int32_t utf8, const char *file,
                       const char *target);
int goh5_link_hard(goh5_err_t *err, int64_t loc, const char *name, int32_t utf8, const char *target);
int goh5_object_info(goh5_err_t *err, int64_t loc, const char *name, uint64_t out[5]);
int goh5_topen(goh5_err_t *err, int64_t loc, const char *name, goh5_blob_t *out);

/* Datasets. */
int goh5_dcreate(goh5_err_t *err, int64_t loc, const char *name, int32_t utf8, const uint8_t *spec, size_t spec_len,
                 int64_t *id);
int goh5_dopen(goh5_err_t *err, int64_t loc, const char *name, int64_t *id);
int goh5_dinfo(goh5_err_t *err, int64_t id, goh5_blob_t *out);
int goh5_dset_extent(goh5_err_t *err, int64_t id, const int64_t *dims, size_t rank);
int goh5_dflush(goh5_err_t *err, int64_t id);

/* Elements. sel holds rank words for each of start, count, stride and block. lossy != 0 lets the library
 * clamp and round; else a value that would change is GOH5_EOVERFLOW or GOH5_EPRECISION and a write leaves the
 * dataset as it was. */
int goh5_dread(goh5_err_t *err, int64_t id, const uint8_t *type, size_t type_len, const int64_t *sel, size_t rank,
               int32_t lossy, uint8_t *dst, size_t len);
int goh5_dwrite(goh5_err_t *err, int64_t id, const uint8_t *type, size_t type_len, const int64_t *sel, size_t rank,
                int32_t lossy, const uint8_t *src, size_t len);

/* Strings. Read: a blob of count, then per string its length and padded text. Write: all bytes and n + 1
 * offsets into them. */
int goh5_dread_strings(goh5_err_t *err, int64_t id, const int64_t *sel, size_t rank, goh5_blob_t *out);
int goh5_dwrite_strings(goh5_err_t *err, int64_t id, const int64_t *sel, size_t rank, const uint8_t *bytes,
                        const uint64_t *offsets, size_t n);

/* Attributes of the object loc. */
int goh5_attrs(goh5_err_t *err, int64_t loc, goh5_blob_t *out);
int goh5_aread(goh5_err_t *err, int64_t loc, const char *name, goh5_blob_t *out);
int goh5_awrite(goh5_err_t *err, int64_t loc, const char *name, int32_t utf8, const uint8_t *spec, size_t spec_len,
                const uint8_t *data, size_t len, const uint64_t *offsets, size_t n);
int goh5_adelete(goh5_err_t *err, int64_t loc, const char *name);

/* A datatype written to a blob and made into the library's again and back: the proof of the encoding. */
int goh5_type_round(goh5_err_t *err, const uint8_t *type, size_t type_len, goh5_blob_t *out);

#endif
