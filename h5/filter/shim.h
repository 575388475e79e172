/* shim.h: what Go calls, and what the codecs' files share.
 *
 * A codec turns a buffer into a buffer: it never writes more than cap bytes and never reads more than n. What it
 * returns besides 0 says what was wrong with the data or the parameters; nothing is printed and nothing is kept
 * but in the state, which serves one call at a time. */
#ifndef HYPERSLAB_H5_FILTER_SHIM_H
#define HYPERSLAB_H5_FILTER_SHIM_H

#include <stddef.h>
#include <stdint.h>

/* What `make deps` built; see h5/versions.h. */
#if !defined(HYPERSLAB_SYSTEM_LIBS) && __has_include("zz_stamp.h")
#include "zz_stamp.h"
#endif

enum {
    GOH5Z_ENOMEM = -1,
    GOH5Z_EDATA = -2,     /* no stream of this codec, or a damaged one */
    GOH5Z_EROOM = -3,     /* the result does not fit: its size in *out, 0 if that is not known */
    GOH5Z_EPARAM = -4,    /* parameters (cd_values) that make no sense */
    GOH5Z_ECHECKSUM = -5, /* the checksum of the data in *out */
    GOH5Z_EFILTER = -6,   /* no filter of this number here */
    GOH5Z_EGROWS = -7     /* encoding would make the data longer, and this filter does not do that */
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

/* What codecs keep between calls: the tables of libdeflate and Zstandard, and scratch. */
typedef struct goh5z_state goh5z_state_t;
goh5z_state_t *goh5z_state_new(void);
void goh5z_state_free(goh5z_state_t *s);

/* One step of a pipeline. */
typedef struct goh5z_step {
    int32_t id;
    uint32_t optional; /* encoding may leave it out */
    const uint32_t *values;
    size_t count;
} goh5z_step_t;

int goh5z_known(int32_t id);

/* One codec. exact asks deflate for the bytes that zlib writes. */
int goh5z_decode(goh5z_state_t *s, int32_t id, const uint32_t *values, size_t count, const uint8_t *src, size_t n,
                 uint8_t *dst, size_t cap, size_t *out);
int goh5z_encode(goh5z_state_t *s, int32_t id, const uint32_t *values, size_t count, int32_t exact, const uint8_t *src,
                 size_t n, uint8_t *dst, size_t cap, size_t *out);

/* The most bytes that n bytes become. */
size_t goh5z_bound(int32_t id, const uint32_t *values, size_t count, size_t n);

/* A whole pipeline. The steps are packed as words: id, optional, count, values, for each in the order of writing.
 * Decoding undoes them from the last to the first, but for those in mask; *out is the length of the result.
 * Encoding sets the bits of the optional steps that were left out in *mask. *failed is the step that failed. */
int goh5z_pipeline_decode(goh5z_state_t *s, const uint32_t *steps, size_t words, uint32_t mask, int32_t check,
                          const uint8_t *src, size_t n, uint8_t *dst, size_t cap, size_t *out, int32_t *failed);
int goh5z_pipeline_encode(goh5z_state_t *s, const uint32_t *steps, size_t words, int32_t exact, const uint8_t *src,
                          size_t n, uint8_t *dst, size_t cap, size_t *out, uint32_t *mask, int32_t *failed);

/* Registers the filters that libhdf5 does not have itself. */
int goh5z_register(void);

/* A filter that Go runs: it replaces the n bytes of *buf, which it frees, by others from goh5z_take. 0 on failure. */
enum { GOH5Z_REVERSE = 1, GOH5Z_OPTIONAL = 2 }; /* flags */
size_t goh5z_go_filter(int32_t id, uint32_t flags, uint32_t *values, size_t count, size_t n, size_t *buf_size,
                       uint8_t **buf);
uint8_t *goh5z_take(size_t n);
void goh5z_give(uint8_t *p);

/* ---------- between the files ---------- */

void *goh5z_scratch(goh5z_state_t *s, int which, size_t n); /* of at least n bytes, or NULL */
int goh5z_check(const uint8_t *src, size_t n); /* 1 if the four bytes at the end of n are the checksum of the others */

uint32_t goh5z_fletcher32(const uint8_t *p, size_t n);
void goh5z_shuffle(size_t size, const uint8_t *src, size_t n, uint8_t *dst);
void goh5z_unshuffle(size_t size, const uint8_t *src, size_t n, uint8_t *dst);
void goh5z_bit_block(size_t size, const uint8_t *src, size_t elements, uint8_t *dst); /* elements: a multiple of 8 */
void goh5z_unbit_block(size_t size, const uint8_t *src, size_t elements, uint8_t *dst);
int goh5z_lzf_decode(const uint8_t *src, size_t n, uint8_t *dst, size_t cap, size_t *out);
size_t goh5z_lzf_encode(const uint8_t *src, size_t n, uint8_t *dst, size_t cap, uint32_t *table); /* 0: does not fit */
enum { GOH5Z_LZF_TABLE = 1 << 15 };

/* What DataDog/zstd links. Its header is not on the path of other packages. */
typedef struct ZSTD_CCtx_s ZSTD_CCtx;
typedef struct ZSTD_DCtx_s ZSTD_DCtx;
ZSTD_CCtx *ZSTD_createCCtx(void);
ZSTD_DCtx *ZSTD_createDCtx(void);
size_t ZSTD_freeCCtx(ZSTD_CCtx *c);
size_t ZSTD_freeDCtx(ZSTD_DCtx *d);
size_t ZSTD_compressCCtx(ZSTD_CCtx *c, void *dst, size_t cap, const void *src, size_t n, int level);
size_t ZSTD_decompressDCtx(ZSTD_DCtx *d, void *dst, size_t cap, const void *src, size_t n);
size_t ZSTD_compressBound(size_t n);
unsigned ZSTD_isError(size_t code);
unsigned long long ZSTD_getFrameContentSize(const void *src, size_t n);

#endif
