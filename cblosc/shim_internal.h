/* shim_internal.h: declarations that the C files of the shim share; Go does not include it. */
#ifndef HYPERSLAB_CBLOSC_SHIM_INTERNAL_H
#define HYPERSLAB_CBLOSC_SHIM_INTERNAL_H

#include "shim.h"

#include "cmem.h"

/* shim_pipeline.c: the source of a compression. source is the caller's memory, which is only read;
 * the library gets scratch. */
typedef struct {
    bool guarded;  /* the context must get scratch memory as the source */
    bool delta;    /* the filters include Delta */
    bool go;       /* a filter or the codec is written in Go */
    bool block;    /* a Go function is called for each block */
    bool variable; /* blocks of variable length */
    uintptr_t hook;
    const uint8_t *source;
    uint8_t *scratch;
    int64_t n;
} goblosc2_pipeline_t;

struct goblosc2_handle {
    blosc2_context *ctx;
    blosc2_schunk *sc;
    b2nd_array_t *array;
    /* Parameters for creating a context again: */
    goblosc2_cparams_t cparams;
    int32_t last;   /* length of the data that a compressor compressed last; negative: new context */
    bool extended;  /* the last chunk of a decompressor had the header of Blosc2 */
    bool block;     /* a Go function is called for each block */
    uintptr_t hook; /* identifies the Go functions of the context; 0: no functions */
    goblosc2_pipeline_t pipeline;
};

/* Size of the slot of a metalayer name, including its terminating zero. */
enum { GOBLOSC2_META_NAME = BLOSC2_METALAYER_NAME_MAXLEN + 1 };

/* goblosc2_fail fills err and returns -1; goblosc2_no_memory does the same for a failed allocation.
 */
int goblosc2_fail(goblosc2_err_t *err, int64_t code, const char *call);
int goblosc2_no_memory(goblosc2_err_t *err);

/* The error number of the first file operation that failed in the current call of the library, or
 * 0. A call stays on its thread. */
extern _Thread_local int32_t goblosc2_io_errno;

/* goblosc2_whole_blocks returns the block size to request for n bytes of data. Blocks must hold
 * whole elements, because the library loses the ends of other blocks or cannot read them. */
int32_t goblosc2_whole_blocks(const goblosc2_cparams_t *p, int32_t n);

blosc2_cparams goblosc2_to_cparams(const goblosc2_cparams_t *p);
void goblosc2_from_cparams(goblosc2_cparams_t *p, const blosc2_cparams *c);
blosc2_dparams goblosc2_to_dparams(int32_t threads);

/* shim_hooks.c: goblosc2_opened sets the id of the Go functions of an opened super-chunk, and
 * makes its new chunks have no dictionary. */
int goblosc2_opened(goblosc2_err_t *err, blosc2_schunk *sc, uintptr_t hook);

/* callbacks.go: the Go function for a block of n bytes. */
extern int32_t goblosc2_go_block(uintptr_t id, int32_t index, int32_t offset, int32_t typesize, int32_t thread,
                                 uint8_t *src, uint8_t *dst, int32_t n);

/* shim_context.c: two functions create a context with the parameters and functions of h.
 * goblosc2_after is the postfilter of decompressors with Go functions; its user data is h. */
int goblosc2_after(blosc2_postfilter_params *p);
blosc2_context *goblosc2_create_cctx(goblosc2_handle_t *h);
blosc2_context *goblosc2_create_dctx(goblosc2_handle_t *h);

/* shim_pipeline.c: goblosc2_guarded_cctx creates a context that never gets the caller's memory as
 * the source if a step of its pipeline would write there. g->block and g->hook must be set, and g
 * must outlive the context. goblosc2_guarded_compress is blosc2_compress_ctx for it.
 * goblosc2_guarded_put compresses data to chunk i of sc, which may be the number of chunks.
 * Between goblosc2_guarded_begin and goblosc2_guarded_end the source of the library is g->scratch.
 * goblosc2_schunk_guarded returns whether data for sc must be compressed with
 * goblosc2_guarded_put. */
blosc2_context *goblosc2_guarded_cctx(blosc2_cparams c, goblosc2_pipeline_t *g);
int goblosc2_guarded_begin(goblosc2_pipeline_t *g, const uint8_t *src, int64_t n);
void goblosc2_guarded_end(goblosc2_pipeline_t *g);
int goblosc2_guarded_compress(blosc2_context *ctx, goblosc2_pipeline_t *g, const uint8_t *src, int32_t n, uint8_t *dst,
                              int32_t cap);
int64_t goblosc2_guarded_put(blosc2_schunk *sc, int64_t i, const uint8_t *src, int32_t n, const char **call);
bool goblosc2_schunk_guarded(const blosc2_schunk *sc);

/* goblosc2_new_handle takes ownership of ctx or sc and frees it on failure; goblosc2_own_schunk
 * also reads the facts. */
int goblosc2_new_handle(goblosc2_err_t *err, blosc2_context *ctx, blosc2_schunk *sc, goblosc2_handle_t **out);
int goblosc2_own_schunk(goblosc2_err_t *err, blosc2_schunk *sc, goblosc2_handle_t **out, goblosc2_facts_t *facts);

/* goblosc2_own_array takes ownership of the array and its super-chunk and frees them on failure. */
int goblosc2_own_array(goblosc2_err_t *err, b2nd_array_t *array, goblosc2_handle_t **out, goblosc2_facts_t *facts);

void goblosc2_take_facts(goblosc2_facts_t *f, const blosc2_schunk *sc);
void goblosc2_take_geometry(goblosc2_geometry_t *g, const b2nd_array_t *a);

/* shim_threads.c: goblosc2_threads sets the maximum number of threads of the contexts that the next
 * call uses. goblosc2_threads_of returns that number for h. */
void goblosc2_threads_register(void);
void goblosc2_threads(int32_t threads);
int32_t goblosc2_threads_of(const goblosc2_handle_t *h);

/* shim_io.c: goblosc2_io_begin must precede a call that may access files, goblosc2_io_end must
 * follow a call that wrote. goblosc2_io_end fails if a file operation failed and the library
 * ignored it. goblosc2_io fills io for a GOBLOSC2_MAP_* or a medium written in Go. goblosc2_io_undo frees io if the
 * library did not take ownership of it. */
/* Paths for media. The library checks the path with system calls only: before creation the path
 * must not exist. Afterwards it must not be a directory and, in newer releases, not be shorter than
 * the frame. */
#define GOBLOSC2_MEDIUM_NEW "/dev/null/new"
const char *goblosc2_medium_old(void);

/* goblosc2_io_know provides the header and trailer of the frame at offset of path to the following
 * calls of this thread, which then do not read them from the file. goblosc2_io_forget ends that. */
void goblosc2_io_know(const char *path, const uint8_t *header, const uint8_t *trailer, goblosc2_ends_t ends,
                      int64_t offset);
void goblosc2_io_forget(void);

void goblosc2_io_register(void);
void goblosc2_io_begin(int32_t threads);
int goblosc2_io_end(goblosc2_err_t *err, const char *call);
int goblosc2_io(goblosc2_err_t *err, int32_t map, int64_t mapping, uintptr_t medium, blosc2_io *io);
void goblosc2_io_undo(blosc2_io *io);

/* shim_decompress.c: goblosc2_begin_chunk must precede each use of a decompressor. A context keeps
 * the special value and the parameters of the filters of the last chunk, and the header of Blosc1
 * has no fields that replace them, so the data of the next chunk of Blosc1 would be wrong.
 * goblosc2_begin_global does the same for a chunk of Blosc1 in the global context. */
int goblosc2_begin_chunk(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *chunk, int32_t n);
int goblosc2_begin_global(goblosc2_err_t *err);

/* shim_schunk.c: a blosc2_storage and the structures it points to. It is valid for one call because
 * the library copies it. */
typedef struct {
    blosc2_cparams cparams;
    blosc2_dparams dparams;
    blosc2_io io;
    blosc2_storage storage;
} goblosc2_storage_t;

int goblosc2_storage(goblosc2_err_t *err, const char *path, const goblosc2_place_t *where, const goblosc2_cparams_t *p,
                     goblosc2_storage_t *out);

/* goblosc2_forget_deleted corrects the byte count of an array that lost its last chunk. */
int goblosc2_forget_deleted(blosc2_schunk *sc);

/* goblosc2_renew_dctx gives a super-chunk a new decompression context after a failed read. */
void goblosc2_renew_dctx(blosc2_schunk *sc);

#endif
