/* shim.h: what the Go side of cblosc sees of C-Blosc2.
 *
 * Every function that can fail takes an error structure first, returns 0 or a useful non-negative number, and a
 * negative number after filling the error. Outputs are untouched on failure, and what a failed call allocated is
 * freed in it. Pointers to Go memory are used during the call only. The caller has checked every size. */
#ifndef HYPERSLAB_CBLOSC_SHIM_H
#define HYPERSLAB_CBLOSC_SHIM_H

#include "versions.h"

#include <b2nd.h>
#include <stddef.h>
#include <stdint.h>

/* What went wrong: code is a BLOSC2_ERROR_*, sys the errno behind a failed file operation or 0, call the name of the
 * library's function. */
typedef struct {
    int32_t code;
    int32_t sys;
    const char *call;
} goblosc2_err_t;

/* One owned thing of the library: a context, a super-chunk, or an array with its super-chunk. */
typedef struct goblosc2_handle goblosc2_handle_t;

/* blosc2_cparams without its pointers, so that Go can hold it as a plain value. */
typedef struct {
    int32_t codec;
    int32_t level;
    int32_t typesize;
    int32_t blocksize;
    int32_t threads;
    int32_t splitmode;
    uint8_t filters[BLOSC2_MAX_FILTERS];
    uint8_t filters_meta[BLOSC2_MAX_FILTERS];
} goblosc2_cparams_t;

/* The facts of a super-chunk that change as it is written. */
typedef struct {
    int64_t nchunks;
    int64_t nbytes;
    int64_t cbytes;
    int32_t chunksize;
    int32_t typesize;
} goblosc2_facts_t;

enum { GOBLOSC2_MAX_DIM = 16 };
_Static_assert(B2ND_MAX_DIM <= GOBLOSC2_MAX_DIM, "this C-Blosc2 allows more dimensions than Hyperslab knows");

/* The shapes of an array. */
typedef struct {
    int64_t shape[GOBLOSC2_MAX_DIM];
    int32_t chunks[GOBLOSC2_MAX_DIM];
    int32_t blocks[GOBLOSC2_MAX_DIM];
    int32_t ndim;
} goblosc2_geometry_t;

/* library.go */
void goblosc2_init(void);
const char *goblosc2_error_text(int32_t code);
int goblosc2_codec_library(goblosc2_err_t *err, const char *codec, char **library, char **version);
void goblosc2_release(void *p);

/* context.go */
void goblosc2_default_cparams(goblosc2_cparams_t *p);
int32_t goblosc2_default_dthreads(void);
int goblosc2_compressor_new(goblosc2_err_t *err, const goblosc2_cparams_t *p, goblosc2_handle_t **out);
int goblosc2_decompressor_new(goblosc2_err_t *err, int32_t threads, goblosc2_handle_t **out);
void goblosc2_free(goblosc2_handle_t *h);
int goblosc2_compress(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *src, int32_t n, uint8_t *dst,
                      int32_t cap);
int goblosc2_decompress(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *chunk, int32_t n, uint8_t *dst,
                        int32_t cap);
int goblosc2_getitem(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *chunk, int32_t n, int32_t start,
                     int32_t items, uint8_t *dst, int32_t cap);

/* special.go: special is a BLOSC2_SPECIAL_*; value holds typesize bytes for BLOSC2_SPECIAL_VALUE. */
int goblosc2_special(goblosc2_err_t *err, const goblosc2_cparams_t *p, int32_t special, int32_t nbytes,
                     const uint8_t *value, uint8_t *dst, int32_t cap);

/* schunk.go: path NULL means memory. */
int goblosc2_schunk_new(goblosc2_err_t *err, const char *path, int32_t contiguous, const goblosc2_cparams_t *p,
                        int32_t dthreads, goblosc2_handle_t **out, goblosc2_facts_t *facts);
int goblosc2_schunk_open(goblosc2_err_t *err, const char *path, goblosc2_handle_t **out, goblosc2_facts_t *facts);
int goblosc2_schunk_from_bytes(goblosc2_err_t *err, const uint8_t *frame, int64_t n, goblosc2_handle_t **out,
                               goblosc2_facts_t *facts);
int goblosc2_schunk_to_bytes(goblosc2_err_t *err, goblosc2_handle_t *h, uint8_t **frame, int64_t *n, int32_t *owned);
int goblosc2_schunk_cparams(goblosc2_err_t *err, goblosc2_handle_t *h, goblosc2_cparams_t *p);
int goblosc2_schunk_append(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *src, int32_t n,
                           goblosc2_facts_t *facts);
int goblosc2_schunk_put_chunk(goblosc2_err_t *err, goblosc2_handle_t *h, int32_t how, int64_t i, const uint8_t *chunk,
                              goblosc2_facts_t *facts);
int goblosc2_schunk_delete_chunk(goblosc2_err_t *err, goblosc2_handle_t *h, int64_t i, goblosc2_facts_t *facts);
int goblosc2_schunk_get_chunk(goblosc2_err_t *err, goblosc2_handle_t *h, int64_t i, uint8_t **chunk, int32_t *owned);
int goblosc2_schunk_decompress(goblosc2_err_t *err, goblosc2_handle_t *h, int64_t i, uint8_t *dst, int32_t cap);

enum { GOBLOSC2_APPEND, GOBLOSC2_INSERT, GOBLOSC2_UPDATE };

/* metalayer.go: vl selects the variable-length ones. */
int32_t goblosc2_meta_count(goblosc2_handle_t *h, int32_t vl);
const char *goblosc2_meta_name(goblosc2_handle_t *h, int32_t vl, int32_t i);
int goblosc2_meta_get(goblosc2_err_t *err, goblosc2_handle_t *h, int32_t vl, const char *name, uint8_t **content,
                      int32_t *n);
int goblosc2_meta_put(goblosc2_err_t *err, goblosc2_handle_t *h, int32_t vl, int32_t update, const char *name,
                      const uint8_t *content, int32_t n);
int goblosc2_vlmeta_delete(goblosc2_err_t *err, goblosc2_handle_t *h, const char *name);

/* array.go: the i-th of nmeta further metalayers has its name at names + 32*i and its content after those of the
 * others in contents. The dtype of goblosc2_array_from_schunk belongs to the array; NULL for a Caterva array. */
int goblosc2_array_zeros(goblosc2_err_t *err, const char *path, int32_t contiguous, const goblosc2_cparams_t *p,
                         int32_t dthreads, const goblosc2_geometry_t *g, const char *dtype, int32_t nmeta,
                         const uint8_t *names, const int32_t *lengths, const uint8_t *contents, goblosc2_handle_t **out,
                         goblosc2_facts_t *facts);
int goblosc2_array_from_schunk(goblosc2_err_t *err, goblosc2_handle_t *h, goblosc2_geometry_t *g, const char **dtype);
int goblosc2_array_read(goblosc2_err_t *err, goblosc2_handle_t *h, const int64_t *start, const int64_t *stop,
                        const int64_t *shape, uint8_t *dst, int64_t n);
int goblosc2_array_write(goblosc2_err_t *err, goblosc2_handle_t *h, const int64_t *start, const int64_t *stop,
                         const int64_t *shape, const uint8_t *src, int64_t n, goblosc2_facts_t *facts);
int goblosc2_array_resize(goblosc2_err_t *err, goblosc2_handle_t *h, const int64_t *shape, goblosc2_facts_t *facts);

#endif
