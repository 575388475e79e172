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

/* The rank of a selection that goes with every one: all, nothing. */
#define GOH5_ANY_RANK SIZE_MAX

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
    GOH5_ESHORT = -12,    /* the file claims err->want bytes and holds err->have */
    GOH5_EORDER = -13,    /* the group keeps no creation order */
    GOH5_EINDEX = -14,    /* place err->want of err->have */
    GOH5_EAXIS = -15,     /* axis err->want of err->have */
    GOH5_EWINDOW = -16,   /* selection outside the buffer: err->dims */
    GOH5_EEXISTS = -17,   /* the name is taken */
    GOH5_ECLASS = -18,    /* the attribute CLASS says that the dataset is something else than a scale */
    GOH5_ERANKS = -19     /* chunks of err->have dimensions in a dataset of err->want */
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
int goh5_memory(goh5_err_t *err, uint64_t out[4]);
int goh5_collect(goh5_err_t *err);
uint64_t goh5_thread(void); /* a number of the calling thread, never 0; takes no lock */
int goh5_filter_info(goh5_err_t *err, int32_t filter, int32_t *avail, uint32_t *flags);

/* Ids. goh5_close closes n ids, goes on after a failure and reports the first. */
int goh5_close(goh5_err_t *err, const int64_t *ids, size_t n);

/* Filters written in Go, and plugins: gofilter.go. */
enum { GOH5_FILTER_SLOTS = 32 };
int goh5_filter_register(goh5_err_t *err, uint32_t slot, int32_t id, const char *name, int32_t encodes,
                         int32_t prepares);
int goh5_filter_unregister(goh5_err_t *err, int32_t id);
int goh5_plugins_set(goh5_err_t *err, const uint8_t *spec, size_t spec_len);
int goh5_plugins(goh5_err_t *err, goh5_blob_t *out);

/* Files. */
enum { GOH5_EFILLCOPY = -62 /* a fill value that H5Ocopy does not convert */ };
enum { GOH5_EUNSUPPORTED = -60 /* the linked library was built without it */ };
int goh5_is_hdf5(goh5_err_t *err, const char *path, int32_t *is);
int goh5_fcreate(goh5_err_t *err, const char *path, int32_t truncate, const uint8_t *spec, size_t spec_len,
                 int64_t *id);
int goh5_fopen(goh5_err_t *err, const char *path, uint32_t flags, const uint8_t *spec, size_t spec_len, int64_t *id);
int goh5_fdelete(goh5_err_t *err, const char *path, const uint8_t *spec, size_t spec_len);
int goh5_freopen(goh5_err_t *err, int64_t id, int64_t *again);
int goh5_fflush(goh5_err_t *err, int64_t id);
int goh5_file_ask(goh5_err_t *err, int64_t id, int32_t what, goh5_blob_t *out); /* what: file.go and access.go */
int goh5_file_do(goh5_err_t *err, int64_t id, int32_t what, int64_t a, int64_t b);
int goh5_fset_mdc(goh5_err_t *err, int64_t id, const uint8_t *spec, size_t spec_len);
int goh5_fmount(goh5_err_t *err, int64_t loc, const char *name, int64_t child);
int goh5_funmount(goh5_err_t *err, int64_t loc, const char *name);

/* ---- structure: links (shim_link.c), groups (shim_group.c), objects (shim_object.c) ---- */

/* Links. index is an H5_index_t, order an H5_iter_order_t; objects != 0 adds what hard links lead to. */
int goh5_links(goh5_err_t *err, int64_t loc, const char *name, int32_t index, int32_t order, int32_t objects,
               goh5_blob_t *out);
int goh5_link_info(goh5_err_t *err, int64_t loc, const char *name, goh5_blob_t *out);
int goh5_link_at(goh5_err_t *err, int64_t loc, int32_t index, int32_t order, int64_t n, goh5_blob_t *out);
int goh5_exists(goh5_err_t *err, int64_t loc, const char *name, int32_t object, int32_t *exists);
int goh5_unlink(goh5_err_t *err, int64_t loc, const char *name);
int goh5_unlink_at(goh5_err_t *err, int64_t loc, int32_t index, int32_t order, int64_t n);
int goh5_link_soft(goh5_err_t *err, int64_t loc, const char *name, int32_t utf8, const char *target);
int goh5_link_external(goh5_err_t *err, int64_t loc, const char *name, int32_t utf8, const char *file,
                       const char *target);
int goh5_link_user(goh5_err_t *err, int64_t loc, const char *name, int32_t utf8, int32_t class, const uint8_t *value,
                   size_t len);
int goh5_link_hard(goh5_err_t *err, int64_t loc, const char *name, int32_t utf8, const char *target);
int goh5_link_object(goh5_err_t *err, int64_t loc, const char *name, int32_t utf8, int64_t object);
int goh5_link_move(goh5_err_t *err, int64_t from, const char *name, int64_t to, const char *as, int32_t utf8,
                   int32_t keep);

/* Groups. spec holds the words of group_spec_t in shim_group.c; name NULL makes a group without a link. */
int goh5_gopen(goh5_err_t *err, int64_t loc, const char *name, int64_t *id);
int goh5_gcreate(goh5_err_t *err, int64_t loc, const char *name, int32_t utf8, const uint64_t *spec, int64_t *id);
int goh5_ginfo(goh5_err_t *err, int64_t loc, const char *name, uint64_t out[4], uint64_t *spec);

/* Objects. An opened one comes as its id, its kind and its path. mode < 0 is that of the file. */
enum { GOH5_INFO_WORDS = 11, GOH5_HEADER_WORDS = 14, GOH5_GROUP_WORDS = 15 };
int goh5_object_info(goh5_err_t *err, int64_t loc, const char *name, uint64_t out[GOH5_INFO_WORDS]);
int goh5_object_self(goh5_err_t *err, int64_t id, uint64_t out[GOH5_INFO_WORDS]);
int goh5_object_header(goh5_err_t *err, int64_t id, uint64_t out[GOH5_HEADER_WORDS]);
int goh5_oopen(goh5_err_t *err, int64_t loc, const char *name, const char *prefix, int32_t mode, uint64_t max_links,
               goh5_blob_t *out);
int goh5_oopen_at(goh5_err_t *err, int64_t loc, int32_t index, int32_t order, int64_t n, goh5_blob_t *out);
int goh5_oopen_token(goh5_err_t *err, int64_t loc, const uint64_t token[2], goh5_blob_t *out);
int goh5_oopen_addr(goh5_err_t *err, int64_t loc, uint64_t addr, goh5_blob_t *out);
int goh5_topen(goh5_err_t *err, int64_t loc, const char *name, goh5_blob_t *out);
int goh5_tdescribe(goh5_err_t *err, int64_t id, goh5_blob_t *out);
int goh5_ocopy(goh5_err_t *err, int64_t from, const char *name, int64_t to, const char *as, int32_t utf8,
               uint32_t flags, const uint8_t *types, size_t types_len);
int goh5_comment(goh5_err_t *err, int64_t loc, const char *name, goh5_blob_t *out);
int goh5_set_comment(goh5_err_t *err, int64_t loc, const char *name, const char *text);
int goh5_oref(goh5_err_t *err, int64_t id, int32_t up);
int goh5_oflush(goh5_err_t *err, int64_t id);
int goh5_orefresh(goh5_err_t *err, int64_t id);
int goh5_ocork(goh5_err_t *err, int64_t id, int32_t cork);
int goh5_ocorked(goh5_err_t *err, int64_t id, int32_t *corked);
int goh5_committed(goh5_err_t *err, int64_t id, const char *attribute, uint64_t *addr);
int goh5_token_cmp(goh5_err_t *err, int64_t loc, const uint64_t a[2], const uint64_t b[2], int32_t *order);
int goh5_token_text(goh5_err_t *err, int64_t loc, const uint64_t words[2], goh5_blob_t *out);
int goh5_token_parse(goh5_err_t *err, int64_t loc, const char *text, uint64_t out[2]);

/* Dimension scales (shim_scale.c). Scales come as path, address and name of each. */
int goh5_scale_make(goh5_err_t *err, int64_t id, const char *name);
int goh5_scale_name(goh5_err_t *err, int64_t id, int32_t *is, goh5_blob_t *out);
int goh5_scale_attach(goh5_err_t *err, int64_t id, int64_t scale, int64_t axis, int32_t attach);
int goh5_scale_attached(goh5_err_t *err, int64_t id, int64_t scale, int64_t axis, int32_t *attached);
int goh5_set_label(goh5_err_t *err, int64_t id, int64_t axis, const char *label);
int goh5_label(goh5_err_t *err, int64_t id, int64_t axis, goh5_blob_t *out);
int goh5_scales(goh5_err_t *err, int64_t id, int64_t axis, goh5_blob_t *out);

/* ---- end of structure ---- */

/* Datasets. */
int goh5_dcreate(goh5_err_t *err, int64_t loc, const char *name, int32_t utf8, const uint8_t *spec, size_t spec_len,
                 int64_t *id);
int goh5_dopen(goh5_err_t *err, int64_t loc, const char *name, const uint8_t *spec, size_t spec_len, int64_t *id);
int goh5_daccess(goh5_err_t *err, int64_t id, goh5_blob_t *out);
int goh5_dinfo(goh5_err_t *err, int64_t id, goh5_blob_t *out);
int goh5_dexternal(goh5_err_t *err, int64_t id, goh5_blob_t *out); /* its external files */
/* goh5_dsteps tells whether szip, n-bit or scale-offset is among the filters; then also the elements of a chunk, the
 * bytes of an element as stored (0 if it has pointers, whose form in memory is another), and all the filters. */
int goh5_dsteps(goh5_err_t *err, int64_t id, goh5_blob_t *out);
int goh5_home(goh5_err_t *err, int64_t id, goh5_blob_t *out); /* the file it is in: name, whether it is written, SWMR */
int goh5_dset_extent(goh5_err_t *err, int64_t id, const int64_t *dims, size_t rank);
int goh5_dflush(goh5_err_t *err, int64_t id);
int goh5_drefresh(goh5_err_t *err, int64_t id);

/* Whether filters may be left out of a chunk, and what then is true of it (masks.go). */
enum {
    GOH5_ALL_RUN = 0,      /* every filter is applied to every chunk */
    GOH5_ONE_DECLINES = 1, /* one is left out (skipped) if, and only if, the chunk is then `full` bytes long */
    GOH5_ONE_SKIPS = 2,    /* one may be left out, and the chunk is then `full` bytes long */
    GOH5_ANY_SKIP = 3
};
typedef struct goh5_masks {
    int32_t how;
    uint32_t always;  /* the mask of a chunk that no filter was left out of but those that fail on every one */
    uint32_t skipped; /* the mask of a chunk that the filter was left out of */
    uint64_t full;    /* bytes */
} goh5_masks_t;

/* Elements. sel is a selection in words (shim_select.c) of a dataset that Go believes to have `rank` dimensions,
 * and after it may come where in the buffer the elements are: the rank of the buffer, its dimensions, and a selection
 * of as many elements; else they fill the buffer. With GOH5_LOSSLESS a value that would change is GOH5_EOVERFLOW or
 * GOH5_EPRECISION, and a write leaves the dataset as it was; with GOH5_ROUGH the library clamps and rounds as it does;
 * with GOH5_NEAREST it must round to the nearest, and what neither it nor the compiler rounds so is GOH5_ETYPE. masks
 * are those of a dataset whose chunks have to be written one by one, or NULL; so in the other writes. */
enum { GOH5_LOSSLESS = 0, GOH5_ROUGH = 1, GOH5_NEAREST = 2 };
int goh5_dread(goh5_err_t *err, int64_t id, const uint8_t *type, size_t type_len, const int64_t *sel, size_t words,
               size_t rank, int32_t lossy, uint8_t *dst, size_t len);
int goh5_dwrite(goh5_err_t *err, int64_t id, const uint8_t *type, size_t type_len, const int64_t *sel, size_t words,
                size_t rank, int32_t lossy, const uint8_t *src, size_t len, const goh5_masks_t *masks);

/* Strings. Read: a blob of count, then per string its length and padded text. Write: all bytes and n + 1
 * offsets into them. */
int goh5_dread_strings(goh5_err_t *err, int64_t id, const int64_t *sel, size_t words, size_t rank, goh5_blob_t *out);
int goh5_dwrite_strings(goh5_err_t *err, int64_t id, const int64_t *sel, size_t words, size_t rank,
                        const uint8_t *bytes, const uint64_t *offsets, size_t n, const goh5_masks_t *masks);

/* Values of any datatype, as stored but for what points elsewhere (values.go). n elements; to read any number, *n is
 * UINT64_MAX, and then how many it was. */
int goh5_dtype(goh5_err_t *err, int64_t id, goh5_blob_t *out);
int goh5_dread_values(goh5_err_t *err, int64_t id, const uint8_t *type, size_t type_len, const int64_t *sel,
                      size_t words, size_t rank, uint64_t *n, goh5_blob_t *out);
int goh5_dwrite_values(goh5_err_t *err, int64_t id, const uint8_t *type, size_t type_len, const int64_t *sel,
                       size_t words, size_t rank, const uint8_t *data, size_t len, size_t n, const goh5_masks_t *masks);

/* Selections in a dataspace that is in no file. */
int goh5_selected(goh5_err_t *err, const uint8_t *space, size_t space_len, const int64_t *sel, size_t words,
                  size_t rank, goh5_blob_t *out);
int goh5_select_same(goh5_err_t *err, const uint8_t *space, size_t space_len, const int64_t *sel, size_t words,
                     size_t rank, const uint8_t *other, size_t other_len, const int64_t *other_sel, size_t other_words,
                     size_t other_rank, int32_t *same);
int goh5_select_intersects(goh5_err_t *err, const uint8_t *space, size_t space_len, const int64_t *sel, size_t words,
                           size_t rank, const int64_t *corners, int32_t *meet);
int goh5_select_project(goh5_err_t *err, const uint8_t *space, size_t space_len, const int64_t *sel, size_t words,
                        size_t rank, const uint8_t *onto, size_t onto_len, const int64_t *onto_sel, size_t onto_words,
                        size_t onto_rank, const int64_t *part, size_t part_words, goh5_blob_t *out);

/* References. `kind` is that of the datatype, and bytes are what an element of it holds in memory or, for the kind
 * since 1.12, what shim_ref.c says of it. */
int goh5_ref_create(goh5_err_t *err, int64_t loc, const char *name, int32_t kind, const char *attr, const int64_t *sel,
                    size_t words, size_t rank, goh5_blob_t *out);
int goh5_ref_resolve(goh5_err_t *err, int64_t loc, int32_t kind, const uint8_t *bytes, size_t len, goh5_blob_t *out);

/* Attributes of the object loc. */
int goh5_attrs(goh5_err_t *err, int64_t loc, int32_t index, int32_t order, goh5_blob_t *out);
int goh5_attr_info(goh5_err_t *err, int64_t loc, const char *name, int32_t index, int32_t order, int64_t n,
                   goh5_blob_t *out);
int goh5_aexists(goh5_err_t *err, int64_t loc, const char *name, int32_t *exists);
int goh5_arename(goh5_err_t *err, int64_t loc, const char *from, const char *to);
int goh5_adelete_at(goh5_err_t *err, int64_t loc, int32_t index, int32_t order, int64_t n);
int goh5_aread(goh5_err_t *err, int64_t loc, const char *name, goh5_blob_t *out);
int goh5_awrite(goh5_err_t *err, int64_t loc, const char *name, int32_t utf8, const uint8_t *spec, size_t spec_len,
                int32_t form, const uint8_t *data, size_t len, const uint64_t *offsets, size_t n);
int goh5_adelete(goh5_err_t *err, int64_t loc, const char *name);

/* Raw chunks. A chunk in a blob is its offset (rank words), mask, address in the file and size in bytes; the rank
 * stands before the first, and for all chunks their number after it. goh5_dwrite_chunk sets *stale if the library
 * now believes another mask than the one written: then goh5_dreopen must close and open again all of ids that
 * are of the dataset id; ids has the new ones afterwards, and -1 for those that could not be opened. */
enum {
    GOH5_ELAYOUT = -40,  /* the dataset is not chunked */
    GOH5_ENOCHUNK = -41, /* the chunk is not stored */
    GOH5_EMASK = -42,    /* the mask err->have names more than the err->want filters there are */
    GOH5_EMOVING = -43,  /* the file may change: open for writing, or read while another process writes it */
    GOH5_EDRIVER = -44   /* the file is no plain one that a descriptor reads */
};
int goh5_dchunk_count(goh5_err_t *err, int64_t id, uint64_t *n);
int goh5_dchunk_nth(goh5_err_t *err, int64_t id, uint64_t n, goh5_blob_t *out);
int goh5_dchunk_at(goh5_err_t *err, int64_t id, const int64_t *offset, size_t rank, goh5_blob_t *out);
int goh5_dchunk_size(goh5_err_t *err, int64_t id, const int64_t *offset, size_t rank, uint64_t *bytes);
/* The chunks of the box around a selection, the first and the last along each axis, with what a chunk has along it and
 * the extent; *n elements are selected, and without any nothing else is set. */
int goh5_dbounds(goh5_err_t *err, int64_t id, const int64_t *sel, size_t words, size_t rank, uint64_t *first,
                 uint64_t *last, uint64_t *chunk, uint64_t *dims, size_t *axes, size_t *n);
/* How many bytes a chunk that goes through the filters takes, 0 if it is none or not stored; if it is less than enough,
 * its mask and its first 4 bytes too, those that there are not as zeros. */
int goh5_dchunk_head(goh5_err_t *err, int64_t id, const int64_t *offset, size_t rank, uint64_t enough, uint64_t *bytes,
                     uint32_t *mask, uint8_t *head);
int goh5_dchunks(goh5_err_t *err, int64_t id, goh5_blob_t *out);
int goh5_dread_chunk(goh5_err_t *err, int64_t id, const int64_t *offset, size_t rank, uint8_t *dst, size_t len,
                     uint64_t *bytes, uint32_t *mask);
int goh5_dwrite_chunk(goh5_err_t *err, int64_t id, const int64_t *offset, size_t rank, uint32_t mask,
                      const uint8_t *src, size_t len, int32_t *stale);
int goh5_dreopen(goh5_err_t *err, int64_t id, int64_t *ids, size_t n);
int goh5_fdescriptor(goh5_err_t *err, int64_t id, int32_t *fd); /* of a file that nobody writes; the library's own */

/* Masks of chunks that the library writes (masks.go). goh5_dfilters lists the filters of a dataset, none if it is not
 * chunked, with what is true of each, and the bytes of a whole chunk. goh5_dmasks says whether a chunk is stored that
 * the library could write anew with the same length and another mask, and not notice. goh5_dsettle puts those of a
 * selection, and goh5_dsettle_shape those that a smaller shape cuts, into a state in which it does. */
enum {
    GOH5_OPTIONAL = 1,
    GOH5_HERE = 2,
    GOH5_IDLE = 4 /* without its parameters, as with types of variable length: it fails on every chunk */
};
int goh5_dfilters(goh5_err_t *err, int64_t id, int32_t *ids, int32_t *state, size_t *n, uint64_t *chunk);
int goh5_dmasks(goh5_err_t *err, int64_t id, const goh5_masks_t *m, int32_t *found);
int goh5_dsettle(goh5_err_t *err, int64_t id, const goh5_masks_t *m, const int64_t *sel, size_t words, size_t rank);
int goh5_dsettle_shape(goh5_err_t *err, int64_t id, const goh5_masks_t *m, const int64_t *shape, size_t rank);

/* Committed datatypes. name NULL: one without a name. */
int goh5_tcommit(goh5_err_t *err, int64_t loc, const char *name, int32_t utf8, const uint8_t *type, size_t type_len,
                 int64_t *id);

/* A datatype written to a blob and made into the library's again and back: the proof of the encoding. */
int goh5_type_round(goh5_err_t *err, const uint8_t *type, size_t type_len, goh5_blob_t *out);

#endif
