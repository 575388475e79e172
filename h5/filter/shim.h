/* shim.h: functions called from Go, and those shared by the codecs' files.
 *
 * A codec converts one buffer to another. It never writes more than cap bytes and never reads
 * more than n. A result other than 0 is an error in the data or the parameters. Codecs print no
 * messages and keep no data except in the state, which serves one call at a time. */
#ifndef HYPERSLAB_H5_FILTER_SHIM_H
#define HYPERSLAB_H5_FILTER_SHIM_H

#include <stddef.h>
#include <stdint.h>

/* Stamp of the libraries built by `make deps`; see h5/versions.h. */
#if !defined(HYPERSLAB_SYSTEM_LIBS) && __has_include("zz_stamp.h")
#include "zz_stamp.h"
#endif

enum {
    GOH5Z_ENOMEM = -1,
    GOH5Z_EDATA = -2,     /* invalid or corrupt data */
    GOH5Z_EROOM = -3,     /* the result does not fit: its size is in *out, 0 if it is unknown */
    GOH5Z_EPARAM = -4,    /* invalid parameters (cd_values) */
    GOH5Z_ECHECKSUM = -5, /* the checksum of the data in *out does not match */
    GOH5Z_EFILTER = -6,   /* no filter with this number */
    GOH5Z_EGROWS = -7     /* the filter refuses to encode because the result would not be shorter */
};

/* The filters, with their registered numbers. */
enum {
    GOH5Z_DEFLATE = 1,
    GOH5Z_SHUFFLE = 2,
    GOH5Z_FLETCHER32 = 3,
    GOH5Z_SZIP = 4,
    GOH5Z_BZIP2 = 307,
    GOH5Z_LZF = 32000,
    GOH5Z_BLOSC = 32001,
    GOH5Z_LZ4 = 32004,
    GOH5Z_BITSHUFFLE = 32008,
    GOH5Z_ZSTD = 32015,
    GOH5Z_BLOSC2 = 32026
};

/* State kept between calls: the tables of libdeflate and Zstandard, and scratch buffers. */
typedef struct goh5z_state goh5z_state_t;
goh5z_state_t *goh5z_state_new(void);
void goh5z_state_free(goh5z_state_t *s);

/* One filter of a pipeline. */
typedef struct goh5z_step {
    int32_t id;
    uint32_t optional; /* encoding may skip it */
    const uint32_t *values;
    size_t count;
} goh5z_step_t;

int goh5z_known(int32_t id);

/* One codec. If exact is not 0, deflate writes the same bytes as zlib. */
int goh5z_decode(goh5z_state_t *s, int32_t id, const uint32_t *values, size_t count, const uint8_t *src, size_t n,
                 uint8_t *dst, size_t cap, size_t *out);
int goh5z_encode(goh5z_state_t *s, int32_t id, const uint32_t *values, size_t count, int32_t exact, const uint8_t *src,
                 size_t n, uint8_t *dst, size_t cap, size_t *out);

/* The maximum size of n bytes after encoding. */
size_t goh5z_bound(int32_t id, const uint32_t *values, size_t count, size_t n);

/* A whole pipeline. The filters are packed as words: id, optional, count, values, for each in
 * the order of writing. Decoding reverses them from the last to the first, except those in mask;
 * *out is the length of the result. Encoding sets the bits of skipped optional filters in *mask.
 * *failed is the index of the filter that failed. */
int goh5z_pipeline_decode(goh5z_state_t *s, const uint32_t *steps, size_t words, uint32_t mask, int32_t check,
                          const uint8_t *src, size_t n, uint8_t *dst, size_t cap, size_t *out, int32_t *failed);
int goh5z_pipeline_encode(goh5z_state_t *s, const uint32_t *steps, size_t words, int32_t exact, const uint8_t *src,
                          size_t n, uint8_t *dst, size_t cap, size_t *out, uint32_t *mask, int32_t *failed);

/* The i-th H5Z_class2_t of the filters that libhdf5 does not have, or NULL after the last. */
const void *goh5z_class(size_t i);

/* A filter in Go: it frees the n bytes of *buf and replaces them by a buffer from goh5z_take. It
 * returns 0 on failure. */
enum { GOH5Z_REVERSE = 1, GOH5Z_OPTIONAL = 2 }; /* flags */
size_t goh5z_go_filter(int32_t id, uint32_t flags, uint32_t *values, size_t count, size_t n, size_t *buf_size,
                       uint8_t **buf);
uint8_t *goh5z_take(size_t n);
void goh5z_give(uint8_t *p);

/* ---------- shared between the C files ---------- */

void *goh5z_scratch(goh5z_state_t *s, int which, size_t n); /* at least n bytes, or NULL */
int goh5z_check(const uint8_t *src, size_t n); /* 1 if the last 4 of n bytes are the checksum of the other bytes */

uint32_t goh5z_fletcher32(const uint8_t *p, size_t n);
void goh5z_shuffle(size_t size, const uint8_t *src, size_t n, uint8_t *dst);
void goh5z_unshuffle(size_t size, const uint8_t *src, size_t n, uint8_t *dst);
void goh5z_bit_block(size_t size, const uint8_t *src, size_t elements, uint8_t *dst); /* elements: a multiple of 8 */
void goh5z_unbit_block(size_t size, const uint8_t *src, size_t elements, uint8_t *dst);
int goh5z_lzf_decode(const uint8_t *src, size_t n, uint8_t *dst, size_t cap, size_t *out);
size_t goh5z_lzf_encode(const uint8_t *src, size_t n, uint8_t *dst, size_t cap, uint32_t *table); /* 0: does not fit */
enum { GOH5Z_LZF_TABLE = 1 << 15 };

#endif
