/* shim.h: functions of C-Blosc2 that the Go side of cblosc calls.
 *
 * Every function that can fail takes an error structure first. It returns 0 or a useful
 * non-negative number on success; on failure it fills the error and returns a negative number. On
 * failure outputs are unchanged and everything that the call allocated is freed. Pointers to Go
 * memory are used during the call only. The caller must check every size. */
#ifndef HYPERSLAB_CBLOSC_SHIM_H
#define HYPERSLAB_CBLOSC_SHIM_H

#include "versions.h"

#include <b2nd.h>
#include <stddef.h>
#include <stdint.h>

/* Error of a call: code is a BLOSC2_ERROR_*, sys the errno of a failed file operation or 0, call
 * the name of the library function. */
typedef struct {
    int32_t code;
    int32_t sys;
    const char *call;
} goblosc2_err_t;

/* One owned object of the library: a context, a super-chunk, or an array with its super-chunk. */
typedef struct goblosc2_handle goblosc2_handle_t;

/* blosc2_cparams without its pointers, so that Go can hold it as a plain value. */
typedef struct {
    int32_t codec;
    int32_t codec_meta;
    int32_t dict;
    int32_t level;
    int32_t typesize;
    int32_t blocksize;
    int32_t threads;
    int32_t splitmode;
    uint8_t filters[BLOSC2_MAX_FILTERS];
    uint8_t filters_meta[BLOSC2_MAX_FILTERS];
} goblosc2_cparams_t;

/* The sizes of a super-chunk that change when it is written, and a property of its parameters. */
typedef struct {
    int64_t nchunks;
    int64_t nbytes;
    int64_t cbytes;
    int32_t chunksize;
    int32_t typesize;
    int32_t guarded; /* data must be compressed by goblosc2_schunk_append and goblosc2_schunk_replace */
} goblosc2_facts_t;

enum { GOBLOSC2_MAX_DIM = 16 };
_Static_assert(B2ND_MAX_DIM <= GOBLOSC2_MAX_DIM, "this C-Blosc2 allows more dimensions than Hyperslab knows");

/* The shape, chunk shape and block shape of an array. */
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
int goblosc2_compressor_new(goblosc2_err_t *err, const goblosc2_cparams_t *p, uintptr_t hook, int32_t block,
                            goblosc2_handle_t **out, goblosc2_cparams_t *effective);
/* tuner.go: makes the context compress its next chunk with p. */
int goblosc2_compressor_set(goblosc2_err_t *err, goblosc2_handle_t *h, const goblosc2_cparams_t *p,
                            goblosc2_cparams_t *effective);
int goblosc2_decompressor_new(goblosc2_err_t *err, int32_t threads, uintptr_t hook, int32_t block,
                              goblosc2_handle_t **out, int32_t *effective);
void goblosc2_free(goblosc2_handle_t *h);
int goblosc2_close(goblosc2_err_t *err, goblosc2_handle_t *h); /* also frees h on failure */
int goblosc2_compress(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *src, int32_t n, uint8_t *dst,
                      int32_t cap);
int goblosc2_decompress(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *chunk, int32_t n, uint8_t *dst,
                        int32_t cap);
int goblosc2_decompress_blocks(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *chunk, int32_t n,
                               const uint8_t *skip, int32_t nblocks, uint8_t *dst, int32_t cap);
int goblosc2_getitem(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *chunk, int32_t n, int32_t start,
                     int32_t items, uint8_t *dst, int32_t cap);

/* special.go: special is a BLOSC2_SPECIAL_*; for BLOSC2_SPECIAL_VALUE, value points to typesize
 * bytes. */
int goblosc2_special(goblosc2_err_t *err, const goblosc2_cparams_t *p, int32_t special, int32_t nbytes,
                     const uint8_t *value, uint8_t *dst, int32_t cap);

/* blosc1.go: shuffle is BLOSC_NOSHUFFLE, BLOSC_SHUFFLE or BLOSC_BITSHUFFLE. Calls must not run
 * concurrently. goblosc2_blosc1_init sets an environment variable that only blosc1_compress reads.
 * It must be called before other threads read the environment. */
void goblosc2_blosc1_init(void);
int goblosc2_blosc1_compress(goblosc2_err_t *err, const goblosc2_cparams_t *p, int32_t shuffle, const uint8_t *src,
                             int32_t n, uint8_t *dst, int32_t cap);

/* batch.go: n contiguous items. The first starts at offset start of src and item i ends at ends[i];
 * ends are offsets from src and dst. On failure *bad is the index of the failed item. */
int64_t goblosc2_compress_batch(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *src, int64_t start,
                                const int64_t *ends, int64_t n, uint8_t *dst, int64_t cap, int64_t *dst_ends,
                                int64_t *bad);
int goblosc2_decompress_batch(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *src, int64_t start,
                              const int64_t *ends, int64_t n, uint8_t *dst, int64_t dst_start, const int64_t *dst_ends,
                              int64_t *bad);

/* Like the batch functions, for n parts that several threads share: each call takes the next part
 * until all are taken. Part i holds the items from parts[i] to parts[i + 1]; next counts the parts
 * taken. The chunks of a part start in dst at the offset of its data in src plus
 * BLOSC2_MAX_OVERHEAD for each item before it. Their ends are relative to that offset, and
 * lengths[i] is their total size. */
int goblosc2_compress_parts(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *src, const int64_t *ends,
                            const int64_t *parts, int64_t n, int64_t *next, uint8_t *dst, int64_t *dst_ends,
                            int64_t *lengths, int64_t *bad);
int goblosc2_decompress_parts(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *src, const int64_t *ends,
                              const int64_t *parts, int64_t n, int64_t *next, uint8_t *dst, const int64_t *dst_ends,
                              int64_t *bad);

/* callbacks.go: directions of a filter. ALONE means that the library compresses without the guard
 * of shim_pipeline.c. It then stores a chunk of zeros if the filter returns only zeros, and does
 * not call the filter to read it. */
enum { GOBLOSC2_BACKWARD, GOBLOSC2_FORWARD, GOBLOSC2_FORWARD_ALONE };

/* hooks.go: variants of goblosc2_compress and goblosc2_decompress that may call Go. They are
 * separate so that the other two can be declared nocallback. */
int goblosc2_register_codec(goblosc2_err_t *err, int32_t id, const char *name);
int goblosc2_register_filter(goblosc2_err_t *err, int32_t id, const char *name);
int goblosc2_compress_hooked(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *src, int32_t n, uint8_t *dst,
                             int32_t cap);
int goblosc2_decompress_hooked(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *chunk, int32_t n, uint8_t *dst,
                               int32_t cap);

/* shuffle.go */
enum { GOBLOSC2_SHUFFLE, GOBLOSC2_UNSHUFFLE, GOBLOSC2_BITSHUFFLE, GOBLOSC2_BITUNSHUFFLE };
int goblosc2_shuffle(goblosc2_err_t *err, int32_t how, int32_t typesize, const uint8_t *src, int32_t n, uint8_t *dst);

/* global.go: blosc1 is 1 for a Blosc1 chunk. */
int goblosc2_global_decompress(goblosc2_err_t *err, int32_t blosc1, const uint8_t *chunk, int32_t n, uint8_t *dst,
                               int32_t cap);
int goblosc2_global_items(goblosc2_err_t *err, int32_t blosc1, const uint8_t *chunk, int32_t n, int32_t start,
                          int32_t items, uint8_t *dst, int32_t cap);
const char *goblosc2_global_state(int32_t *blocksize, int32_t *threads);
int goblosc2_global_free(goblosc2_err_t *err);

/* vl.go: blocks are contiguous and block i ends at ends[i]. The caller owns a block that is
 * returned. */
int goblosc2_vl_compress(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *src, const int64_t *ends, int32_t n,
                         uint8_t *dst, int32_t cap);
int goblosc2_vl_count(goblosc2_err_t *err, const uint8_t *chunk, int32_t n);
int goblosc2_vl_decompress(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *chunk, int32_t n, uint8_t *dst,
                           int64_t cap, int64_t *ends, int32_t blocks);
int goblosc2_vl_block(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *chunk, int32_t n, int32_t i,
                      uint8_t **block);
int goblosc2_schunk_vl_block(goblosc2_err_t *err, goblosc2_handle_t *h, int64_t chunk, int32_t i, uint8_t **block);

/* ---- end of the functions for single chunks ---- */

/* How a file is mapped: not at all, read-only, for changes, as a private copy, or newly created. */
enum { GOBLOSC2_MAP_NONE, GOBLOSC2_MAP_READ, GOBLOSC2_MAP_CHANGE, GOBLOSC2_MAP_PRIVATE, GOBLOSC2_MAP_CREATE };

/* Where a new object is stored, in addition to its path: a NULL path is memory. */
typedef struct {
    int64_t mapping; /* bytes of address space of a mapped file, 0 if it is not mapped */
    uintptr_t hook;  /* identifies its Go functions for the super-chunk; 0: no functions */
    int32_t contiguous;
    int32_t dthreads;
    int32_t medium; /* the functions include storage written in Go */
} goblosc2_place_t;

/* Lengths in bytes of the header and trailer of a frame, which Go has read, and of the frame with
 * its index. */
typedef struct {
    int64_t header_len;
    int64_t trailer_len;
    int64_t frame_len;
} goblosc2_ends_t;

/* schunk.go */
int goblosc2_schunk_new(goblosc2_err_t *err, const char *path, const goblosc2_place_t *where,
                        const goblosc2_cparams_t *p, goblosc2_handle_t **out, goblosc2_facts_t *facts);
int goblosc2_schunk_open(goblosc2_err_t *err, const char *path, int64_t offset, int32_t map, int64_t mapping,
                         uintptr_t hook, int32_t medium, int32_t is_array, const uint8_t *header,
                         const uint8_t *trailer, goblosc2_ends_t ends, goblosc2_handle_t **out,
                         goblosc2_facts_t *facts);
int goblosc2_schunk_from_bytes(goblosc2_err_t *err, const uint8_t *frame, int64_t n, uintptr_t hook, int32_t is_array,
                               goblosc2_handle_t **out, goblosc2_facts_t *facts);
int goblosc2_schunk_to_bytes(goblosc2_err_t *err, goblosc2_handle_t *h, uint8_t **frame, int64_t *n, int32_t *owned);
int goblosc2_schunk_cparams(goblosc2_err_t *err, goblosc2_handle_t *h, goblosc2_cparams_t *p);
int goblosc2_schunk_append(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *src, int32_t n,
                           goblosc2_facts_t *facts);
/* Compresses src to chunk i without changing src: see shim_pipeline.c. */
int goblosc2_schunk_replace(goblosc2_err_t *err, goblosc2_handle_t *h, int64_t i, const uint8_t *src, int32_t n,
                            goblosc2_facts_t *facts);
int goblosc2_schunk_put_chunk(goblosc2_err_t *err, goblosc2_handle_t *h, int32_t how, int64_t i, const uint8_t *chunk,
                              goblosc2_facts_t *facts);
int goblosc2_schunk_delete_chunk(goblosc2_err_t *err, goblosc2_handle_t *h, int64_t i, goblosc2_facts_t *facts);
int goblosc2_schunk_get_chunk(goblosc2_err_t *err, goblosc2_handle_t *h, int64_t i, uint8_t **chunk, int32_t *owned);
int goblosc2_schunk_decompress(goblosc2_err_t *err, goblosc2_handle_t *h, int64_t i, uint8_t *dst, int32_t cap);

enum { GOBLOSC2_APPEND, GOBLOSC2_INSERT, GOBLOSC2_UPDATE };

/* copy.go: p == NULL copies chunks without recompression. goblosc2_schunk_append_file returns the
 * offset of the frame in the file. */
int goblosc2_schunk_copy(goblosc2_err_t *err, goblosc2_handle_t *h, const char *path, const goblosc2_place_t *where,
                         const goblosc2_cparams_t *p, goblosc2_handle_t **out, goblosc2_facts_t *facts);
int goblosc2_schunk_to_file(goblosc2_err_t *err, goblosc2_handle_t *h, const char *path);
int64_t goblosc2_schunk_append_file(goblosc2_err_t *err, goblosc2_handle_t *h, const char *path);
int goblosc2_rename(goblosc2_err_t *err, char *from, char *to);
int goblosc2_remove(goblosc2_err_t *err, const char *path, int32_t directory);

/* items.go: items count from the start of the super-chunk, or of chunk i. */
int goblosc2_schunk_read_items(goblosc2_err_t *err, goblosc2_handle_t *h, int64_t start, int64_t stop, uint8_t *dst);
int goblosc2_schunk_write_items(goblosc2_err_t *err, goblosc2_handle_t *h, int64_t start, int64_t stop,
                                const uint8_t *src, goblosc2_facts_t *facts);
int goblosc2_schunk_chunk_items(goblosc2_err_t *err, goblosc2_handle_t *h, int64_t i, int32_t start, int32_t items,
                                uint8_t *dst, int32_t cap);

/* Returns 1 without reading if the library does not know the block size. */
int goblosc2_schunk_read_points(goblosc2_err_t *err, goblosc2_handle_t *h, const int64_t *items, int64_t n,
                                uint8_t *dst);

/* layout.go: out must have space for one number per chunk. */
int goblosc2_schunk_fill(goblosc2_err_t *err, goblosc2_handle_t *h, int64_t items, int32_t special, int32_t chunksize,
                         goblosc2_facts_t *facts);
int goblosc2_schunk_reorder(goblosc2_err_t *err, goblosc2_handle_t *h, const int64_t *order);
int goblosc2_schunk_offsets(goblosc2_err_t *err, goblosc2_handle_t *h, int64_t *out, int64_t n);
int64_t goblosc2_schunk_frame_len(goblosc2_handle_t *h);
int64_t goblosc2_schunk_chunks_of(goblosc2_err_t *err, goblosc2_handle_t *h, const int64_t *start, const int64_t *stop,
                                  int64_t *out, int64_t cap);
int goblosc2_schunk_dparams(goblosc2_err_t *err, goblosc2_handle_t *h, int32_t *threads);

/* shared.go: locks of C-Blosc2 3.2 and later. */
int goblosc2_schunk_lock(goblosc2_err_t *err, goblosc2_handle_t *h);
int goblosc2_schunk_unlock(goblosc2_err_t *err, goblosc2_handle_t *h);
int goblosc2_schunk_refresh(goblosc2_err_t *err, goblosc2_handle_t *h, goblosc2_facts_t *facts);

/* metalayer.go: vl selects the variable-length metalayers. Name i is written at names + 32*i. The
 * result is the number of metalayers; if it exceeds most, no name is written. */
int goblosc2_meta_names(goblosc2_err_t *err, goblosc2_handle_t *h, int32_t vl, uint8_t *names, int32_t most);
int32_t goblosc2_meta_has(goblosc2_handle_t *h, int32_t vl, const char *name);
/* Returns the decompressed size of a metalayer in bytes, according to the header of its chunk, and
 * sets stored to its stored size. Returns -1 if there is no such metalayer. */
int32_t goblosc2_meta_size(goblosc2_handle_t *h, int32_t vl, const char *name, int32_t *stored);

int goblosc2_meta_get(goblosc2_err_t *err, goblosc2_handle_t *h, int32_t vl, const char *name, uint8_t **content,
                      int32_t *n);
int goblosc2_meta_put(goblosc2_err_t *err, goblosc2_handle_t *h, int32_t vl, int32_t update, const char *name,
                      const uint8_t *content, int32_t n);
int goblosc2_vlmeta_delete(goblosc2_err_t *err, goblosc2_handle_t *h, const char *name);

/* array.go: further metalayer i of nmeta has its name at names + 32*i; the contents follow each
 * other in contents. value is one element for GOBLOSC2_FULL, and all elements, n bytes, for
 * GOBLOSC2_DATA. The dtype that goblosc2_array_from_schunk returns belongs to the array; it is NULL
 * for a Caterva array. */
enum { GOBLOSC2_ZEROS, GOBLOSC2_EMPTY, GOBLOSC2_UNINIT, GOBLOSC2_NANS, GOBLOSC2_FULL, GOBLOSC2_DATA };

int goblosc2_array_new(goblosc2_err_t *err, const char *path, const goblosc2_place_t *where,
                       const goblosc2_cparams_t *p, const goblosc2_geometry_t *g, const char *dtype, int32_t nmeta,
                       const uint8_t *names, const int32_t *lengths, const uint8_t *contents, int32_t how,
                       const uint8_t *value, int64_t n, goblosc2_handle_t **out, goblosc2_facts_t *facts);
int goblosc2_array_from_schunk(goblosc2_err_t *err, goblosc2_handle_t *h, goblosc2_geometry_t *g, const char **dtype);
int goblosc2_array_read(goblosc2_err_t *err, goblosc2_handle_t *h, const int64_t *start, const int64_t *stop,
                        const int64_t *shape, uint8_t *dst, int64_t n);
int goblosc2_array_write(goblosc2_err_t *err, goblosc2_handle_t *h, const int64_t *start, const int64_t *stop,
                         const int64_t *shape, const uint8_t *src, int64_t n, goblosc2_facts_t *facts);
int goblosc2_array_read_all(goblosc2_err_t *err, goblosc2_handle_t *h, uint8_t *dst, int64_t n);

/* reshape.go: start is the index where elements are inserted or removed; NULL is the end of each
 * dimension. */
int goblosc2_array_resize(goblosc2_err_t *err, goblosc2_handle_t *h, const int64_t *shape, const int64_t *start,
                          goblosc2_facts_t *facts);
int goblosc2_array_insert(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *src, int64_t n, int32_t axis,
                          int64_t at, goblosc2_facts_t *facts);
int goblosc2_array_append(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *src, int64_t n, int32_t axis,
                          goblosc2_facts_t *facts);
int goblosc2_array_delete(goblosc2_err_t *err, goblosc2_handle_t *h, int32_t axis, int64_t at, int64_t n,
                          goblosc2_facts_t *facts);

/* derive.go: g holds the chunk shape and block shape of the new array. */
int goblosc2_array_slice(goblosc2_err_t *err, goblosc2_handle_t *h, const char *path, const goblosc2_place_t *where,
                         const goblosc2_cparams_t *p, const goblosc2_geometry_t *g, const char *dtype,
                         const int64_t *start, const int64_t *stop, goblosc2_handle_t **out, goblosc2_facts_t *facts);
int goblosc2_array_copy(goblosc2_err_t *err, goblosc2_handle_t *h, const char *path, const goblosc2_place_t *where,
                        const goblosc2_cparams_t *p, const goblosc2_geometry_t *g, const char *dtype,
                        goblosc2_handle_t **out, goblosc2_facts_t *facts);

/* drop has a byte for each dimension of the old array, 1 if it is removed; NULL removes every
 * dimension of length 1. added has a byte for each dimension of the new array, 1 if it is new.
 * goblosc2_array_concatenate appends other to h. */
int goblosc2_array_squeeze(goblosc2_err_t *err, goblosc2_handle_t *h, const char *path, const goblosc2_place_t *where,
                           const goblosc2_cparams_t *p, const goblosc2_geometry_t *g, const char *dtype,
                           const uint8_t *drop, goblosc2_handle_t **out, goblosc2_facts_t *facts);
int goblosc2_array_expand(goblosc2_err_t *err, goblosc2_handle_t *h, const char *path, const goblosc2_place_t *where,
                          const goblosc2_cparams_t *p, const goblosc2_geometry_t *g, const char *dtype,
                          const uint8_t *added, goblosc2_handle_t **out, goblosc2_facts_t *facts);
int goblosc2_array_concatenate(goblosc2_err_t *err, goblosc2_handle_t *h, goblosc2_handle_t *other, int32_t axis,
                               goblosc2_geometry_t *g, goblosc2_facts_t *facts);
int goblosc2_array_save(goblosc2_err_t *err, goblosc2_handle_t *h, char *path);
int64_t goblosc2_array_append_file(goblosc2_err_t *err, goblosc2_handle_t *h, const char *path);
int goblosc2_array_refresh(goblosc2_err_t *err, goblosc2_handle_t *h, goblosc2_geometry_t *g, goblosc2_facts_t *facts);

/* select.go: selection holds the indices of all dimensions in order, sizes[i] of them for dimension
 * i. */
int goblosc2_array_read_orthogonal(goblosc2_err_t *err, goblosc2_handle_t *h, const int64_t *selection,
                                   const int64_t *sizes, uint8_t *dst, int64_t n);
int goblosc2_array_write_orthogonal(goblosc2_err_t *err, goblosc2_handle_t *h, const int64_t *selection,
                                    const int64_t *sizes, const uint8_t *src, int64_t n, goblosc2_facts_t *facts);
int goblosc2_array_read_points(goblosc2_err_t *err, goblosc2_handle_t *h, const int64_t *flat, int64_t points,
                               uint8_t *dst, int64_t n);

/* libraryfacts.go: library is a string that the library owns, NULL for an unknown format. same is 1
 * if both functions for sizes agree, valid is 1 if a chunk of n bytes may be decompressed. */
typedef struct {
    const char *library;
    int32_t nbytes;
    int32_t cbytes;
    int32_t blocksize;
    int32_t typesize;
    int32_t flags;
    int32_t version;
    int32_t versionlz;
    int32_t same;
    int32_t valid;
} goblosc2_chunk_facts_t;

int goblosc2_chunk_facts(goblosc2_err_t *err, const uint8_t *chunk, int64_t n, goblosc2_chunk_facts_t *out);
int32_t goblosc2_codec_code(const char *name);
const char *goblosc2_codec_list(void);

/* arraymeta.go */
int goblosc2_meta_encode(goblosc2_err_t *err, const goblosc2_geometry_t *g, const char *dtype, uint8_t **out);
int goblosc2_meta_decode(goblosc2_err_t *err, const uint8_t *meta, int32_t n, goblosc2_geometry_t *g, char **dtype);

/* box.go: copies a box of elements between two buffers of ndim dimensions. */
int goblosc2_copy_box(goblosc2_err_t *err, int32_t ndim, int32_t item, const uint8_t *src, const int64_t *src_shape,
                      const int64_t *src_start, const int64_t *src_stop, uint8_t *dst, const int64_t *dst_shape,
                      const int64_t *dst_start);
void goblosc2_to_index(int32_t ndim, const int64_t *shape, int64_t i, int64_t *index);
int64_t goblosc2_from_index(int32_t ndim, const int64_t *strides, const int64_t *index);

#endif
