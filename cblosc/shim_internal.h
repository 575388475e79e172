/* shim_internal.h: what the shim's C files share; Go does not see it. */
#ifndef HYPERSLAB_CBLOSC_SHIM_INTERNAL_H
#define HYPERSLAB_CBLOSC_SHIM_INTERNAL_H

#include "shim.h"

#include "cmem.h"

struct goblosc2_handle {
    blosc2_context *ctx;
    blosc2_schunk *sc;
    b2nd_array_t *array;
    /* Of contexts, to make them anew: */
    goblosc2_cparams_t cparams;
    int32_t last;   /* bytes of data in the chunk that a compressor made last; negative: fresh */
    bool block;     /* a function of Go's sees each block */
    uintptr_t hook; /* what Go knows the context's functions by; 0: it has none */
};

/* The slot of a metalayer's name, with its final zero. */
enum { GOBLOSC2_META_NAME = BLOSC2_METALAYER_NAME_MAXLEN + 1 };

/* goblosc2_fail fills err and returns -1; goblosc2_no_memory does so for a failed allocation. */
int goblosc2_fail(goblosc2_err_t *err, int64_t code, const char *call);
int goblosc2_no_memory(goblosc2_err_t *err);

/* goblosc2_whole_blocks is the block size to ask for with n bytes of data. Of blocks that are not whole elements the
 * library loses the ends, or cannot read them. */
int32_t goblosc2_whole_blocks(const goblosc2_cparams_t *p, int32_t n);

blosc2_cparams goblosc2_to_cparams(const goblosc2_cparams_t *p);
void goblosc2_from_cparams(goblosc2_cparams_t *p, const blosc2_cparams *c);
blosc2_dparams goblosc2_to_dparams(int32_t threads);

/* shim_hooks.c: what Go knows the functions of a super-chunk by, for one that was opened; and a context for what h
 * says. */
void goblosc2_set_hook(blosc2_schunk *sc, uintptr_t hook);
blosc2_context *goblosc2_create_cctx(goblosc2_handle_t *h);
blosc2_context *goblosc2_create_dctx(goblosc2_handle_t *h);

/* goblosc2_new_handle takes over ctx or sc, and frees it if it fails; goblosc2_own_schunk also reads the facts. */
int goblosc2_new_handle(goblosc2_err_t *err, blosc2_context *ctx, blosc2_schunk *sc, goblosc2_handle_t **out);
int goblosc2_own_schunk(goblosc2_err_t *err, blosc2_schunk *sc, goblosc2_handle_t **out, goblosc2_facts_t *facts);

/* goblosc2_own_array takes over the array and its super-chunk, and frees them if it fails. */
int goblosc2_own_array(goblosc2_err_t *err, b2nd_array_t *array, goblosc2_handle_t **out, goblosc2_facts_t *facts);

void goblosc2_take_facts(goblosc2_facts_t *f, const blosc2_schunk *sc);
void goblosc2_take_geometry(goblosc2_geometry_t *g, const b2nd_array_t *a);

/* shim_threads.c: goblosc2_threads says how many threads the contexts of the next call have, at most, and
 * goblosc2_threads_of how many those of h have. */
void goblosc2_threads_register(void);
void goblosc2_threads(int32_t threads);
int32_t goblosc2_threads_of(const goblosc2_handle_t *h);

/* shim_io.c: goblosc2_io_begin stands before a call that may touch files, goblosc2_io_end behind one that wrote, and
 * fails if an operation did that the library passed over. goblosc2_io_errno is what failed, 0 if nothing did;
 * goblosc2_io_noted does without errno, which may be of something else.
 * goblosc2_io fills io for a GOBLOSC2_MAP_* or a medium of Go's, and goblosc2_io_undo takes back what the library did
 * not take over. */
/* The library asks the system, and nobody else, what is at the path of a medium: nothing before it is created, and
 * afterwards something that is no directory, and in newer releases not shorter than the frame. */
#define GOBLOSC2_MEDIUM_NEW "/dev/null/new"
const char *goblosc2_medium_old(void);

/* goblosc2_io_know gives the ends of the frame at offset of path to the calls of this thread that follow: what lies in
 * them is not read from the file. goblosc2_io_forget ends that. */
void goblosc2_io_know(const char *path, const uint8_t *header, const uint8_t *trailer, goblosc2_ends_t ends,
                      int64_t offset);
void goblosc2_io_forget(void);

void goblosc2_io_register(void);
void goblosc2_io_begin(int32_t threads);
int32_t goblosc2_io_errno(void);
int32_t goblosc2_io_noted(void);
int goblosc2_io_end(goblosc2_err_t *err, const char *call);
int goblosc2_io(goblosc2_err_t *err, int32_t map, int64_t mapping, uintptr_t medium, blosc2_io *io);
void goblosc2_io_undo(blosc2_io *io);

/* shim_schunk.c: a blosc2_storage and what it points to, which is good for one call: the library copies it. */
typedef struct {
    blosc2_cparams cparams;
    blosc2_dparams dparams;
    blosc2_io io;
    blosc2_storage storage;
} goblosc2_storage_t;

int goblosc2_storage(goblosc2_err_t *err, const char *path, const goblosc2_place_t *where, const goblosc2_cparams_t *p,
                     goblosc2_storage_t *out);

/* goblosc2_forget_deleted puts the count of bytes right when an array has lost its last chunk. */
int goblosc2_forget_deleted(blosc2_schunk *sc);

/* goblosc2_renew_dctx gives a super-chunk a fresh decompression context, after a failed read. */
void goblosc2_renew_dctx(blosc2_schunk *sc);

#endif
