/* shim.h: the functions that Go calls. Each function is one public operation of the package.
 *
 * Every function returns 0, or a negative GOH5_E… code. A failed call must fill in *err itself,
 * because libhdf5's error stack belongs to the thread (or to the process) and a goroutine may run
 * on another thread at the next call. A failed call does not change its outputs and frees
 * everything it has allocated. The caller must hold the package's lock for the whole call. */
#ifndef HYPERSLAB_H5_SHIM_H
#define HYPERSLAB_H5_SHIM_H

#include "versions.h"

#include <stddef.h>
#include <stdint.h>

enum { GOH5_MAX_RANK = 32 };

/* Rank argument of a selection without a rank: all or none. */
#define GOH5_ANY_RANK SIZE_MAX

/* Error codes. */
enum {
    GOH5_ELIB = -1,      /* libhdf5 failed; err->stack contains its error stack */
    GOH5_ENOMEM = -2,    /* an allocation of the shim failed */
    GOH5_EREGION = -3,   /* selection outside the extent: err->dims */
    GOH5_ESIZE = -4,     /* wrong size: err->have instead of err->want */
    GOH5_ETYPE = -5,     /* incompatible datatypes, or an invalid encoding */
    GOH5_ELOSSY = -6,    /* the conversion may change numbers */
    GOH5_ENOFILTER = -8, /* missing filter: err->filter, err->name, and the stack */
    GOH5_ELONG = -9,     /* string err->index has err->have bytes, but err->want fit */
    GOH5_EVERSION = -10, /* version of the headers differs from that of the library */
    GOH5_ETRIM = -11,    /* string err->index ends in padding bytes of its type, which reading would remove */
    GOH5_ESHORT = -12,   /* the file declares err->want bytes but contains err->have */
    GOH5_EORDER = -13,   /* the group has no creation order */
    GOH5_EINDEX = -14,   /* index err->want is out of range: the group has err->have */
    GOH5_EAXIS = -15,    /* dimension err->want does not exist: the rank is err->have */
    GOH5_EWINDOW = -16,  /* selection outside the buffer: err->dims */
    GOH5_EEXISTS = -17,  /* the name already exists */
    GOH5_ECLASS = -18,   /* the attribute CLASS is not that of a dimension scale */
    GOH5_ERANKS = -19,   /* chunks have err->have dimensions, the dataset err->want */
    GOH5_EPIECES = -20   /* strings and sequences of more than err->want bytes */
};

/* A failure. stack is a block of hyperslab_alloc that the caller must free, or NULL if libhdf5 did
 * not fail. It contains the number of frames, then for each frame, outermost first: the line, and
 * the strings function, file, description, major and minor (libhdf5's names, for example
 * "H5E_FILE").
 *
 * Encoding: a number is a word of 8 bytes. Bytes are encoded as their length and the bytes, padded
 * with zeros to a full word. A string is encoded like bytes, but with at least one zero. */
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

/* The errors of frequent operations, under the library lock of package h5. cgo searches an argument
 * in Go's memory for pointers, and does not search these. */
extern goh5_err_t goh5_operation_error, goh5_closing_error;

/* A result of variable size: a block of hyperslab_alloc that the caller must free, with words and
 * strings encoded as in goh5_err_t. */
typedef struct goh5_blob {
    uint8_t *data;
    uint64_t len;
} goh5_blob_t;

/* The library. */
int goh5_start(goh5_err_t *err, uint32_t version[6]);
int goh5_obj_count(goh5_err_t *err, int64_t *count);
int goh5_memory(goh5_err_t *err, uint64_t out[4]);
int goh5_collect(goh5_err_t *err);
uint64_t goh5_thread(void); /* number of the calling thread, never 0; takes no lock */
int goh5_filter_info(goh5_err_t *err, int32_t filter, int32_t *avail, uint32_t *flags);

/* Ids. goh5_close closes n ids. It continues after a failure and returns the first one. If the last
 * id is a file, fd is its descriptor from goh5_fopen or goh5_fcreate; otherwise fd is -1. */
int goh5_close(goh5_err_t *err, const int64_t *ids, size_t n, int32_t fd);

/* Closes the dataspace that is kept for the next transfer of a dataset; 0: of any dataset. */
void goh5_drop_space(int64_t dataset);

/* Filters written in Go (gofilter.go) and plugins. */
enum { GOH5_FILTER_SLOTS = 32 };
int goh5_filter_register(goh5_err_t *err, uint32_t slot, int32_t id, const char *name, int32_t encodes,
                         int32_t prepares);
int goh5_filter_unregister(goh5_err_t *err, int32_t id);

/* goh5_filter_class registers an H5Z_class2_t, which libhdf5 copies but for its name.
 * goh5_filter_decode calls a registered filter as libhdf5 does to reverse it. *state is then 1, or -1
 * if the filter failed, or 0 if it was not registered through this package. */
int goh5_filter_class(goh5_err_t *err, const void *class);
int goh5_filter_decode(goh5_err_t *err, int32_t id, const uint32_t *values, size_t count, const uint8_t *src,
                       size_t len, goh5_blob_t *out, int32_t *state);
int goh5_plugins_set(goh5_err_t *err, const uint8_t *spec, size_t spec_len);
int goh5_plugins(goh5_err_t *err, goh5_blob_t *out);

/* Files. fd is the descriptor of the file, or -1 if its driver has several or no descriptors. */
enum { GOH5_EFILLCOPY = -62 /* a fill value that H5Ocopy does not convert */ };
enum { GOH5_ESEQCOPY = -64 /* a dataset of sequences for which H5Ocopy writes past its memory */ };
enum { GOH5_ESTRAY = -63 /* the object is no dataset, but its header has the layout of one */ };
enum { GOH5_EUNSUPPORTED = -60 /* the linked library was built without it */ };
int goh5_is_hdf5(goh5_err_t *err, const char *path, int32_t *is);
int goh5_fcreate(goh5_err_t *err, const char *path, int32_t truncate, const uint8_t *spec, size_t spec_len, int64_t *id,
                 int32_t *fd);
int goh5_fopen(goh5_err_t *err, const char *path, uint32_t flags, const uint8_t *spec, size_t spec_len, int64_t *id,
               int32_t *fd);
int goh5_fdelete(goh5_err_t *err, const char *path, const uint8_t *spec, size_t spec_len);
int goh5_freopen(goh5_err_t *err, int64_t id, int64_t *again);
int goh5_fflush(goh5_err_t *err, int64_t id, uint64_t *end);
int goh5_file_ask(goh5_err_t *err, int64_t id, int32_t what, goh5_blob_t *out); /* what: queries in access.go */
int goh5_file_do(goh5_err_t *err, int64_t id, int32_t what, int64_t a, int64_t b);
int goh5_fset_mdc(goh5_err_t *err, int64_t id, const uint8_t *spec, size_t spec_len);
int goh5_fmount(goh5_err_t *err, int64_t loc, const char *name, int64_t child);
int goh5_funmount(goh5_err_t *err, int64_t loc, const char *name);

/* ---- structure: links (shim_link.c), groups (shim_group.c), objects (shim_object.c) ---- */

/* Links. index is an H5_index_t and order an H5_iter_order_t. If objects != 0, the result also
 * describes the targets of hard links. */
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

/* Groups. spec contains the words of group_spec_t in shim_group.c. If name is NULL, the group has
 * no link. */
int goh5_gopen(goh5_err_t *err, int64_t loc, const char *name, int64_t *id);
int goh5_gcreate(goh5_err_t *err, int64_t loc, const char *name, int32_t utf8, const uint64_t *spec, int64_t *id);
int goh5_ginfo(goh5_err_t *err, int64_t loc, const char *name, uint64_t out[4], uint64_t *spec);

/* Objects. The result of opening an object is its id, kind and path. If mode < 0, the file's mode
 * is used. */
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

/* Dimension scales (shim_scale.c). goh5_scales returns path, address and name of each scale. */
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
int goh5_dexternal(goh5_err_t *err, int64_t id, goh5_blob_t *out); /* external files */
/* goh5_dsteps returns whether the pipeline contains szip, n-bit, scale-offset or fletcher32. If so,
 * it also returns the number of elements in a chunk, the stored size of an element, and all
 * filters. The size is 0 for elements with pointers, because their size in memory differs from the
 * stored size. */
int goh5_dsteps(goh5_err_t *err, int64_t id, goh5_blob_t *out);
int goh5_home(goh5_err_t *err, int64_t id, goh5_blob_t *out); /* file name, writable, SWMR */
int goh5_dset_extent(goh5_err_t *err, int64_t id, const int64_t *dims, size_t rank);
int goh5_dflush(goh5_err_t *err, int64_t id);
int goh5_dstored(goh5_err_t *err, int64_t id, uint64_t *bytes, int32_t *allocated);
int goh5_drefresh(goh5_err_t *err, int64_t id);

/* Filters that may be skipped for a chunk, and the effect on masks and lengths (masks.go). */
enum {
    GOH5_ALL_RUN = 0,      /* every filter is applied to every chunk */
    GOH5_ONE_DECLINES = 1, /* one filter is skipped if and only if the chunk then has `full` bytes */
    GOH5_ONE_SKIPS = 2,    /* one filter may be skipped, and the chunk then has `full` bytes */
    GOH5_ANY_SKIP = 3
};
typedef struct goh5_masks {
    int32_t how;
    uint32_t always;  /* mask of a chunk for which only the filters that fail on every chunk are skipped */
    uint32_t skipped; /* mask of a chunk for which the filter is skipped */
    uint64_t full;    /* bytes */
} goh5_masks_t;

/* Elements. sel is an encoded selection (shim_select.c) of a dataset for which Go assumes `rank`
 * dimensions. It may be followed by the location of the elements in the buffer: the rank of the
 * buffer, its dimensions, and a selection with the same number of elements. Otherwise the elements
 * fill the buffer.
 *
 * If lossy is 0, a conversion that may change a number fails with GOH5_ELOSSY. Otherwise libhdf5
 * clamps and rounds by its own rules. known skips this check, for a type that passed it before.
 *
 * gaps is whether H5Dread may leave elements of the dataset unchanged in memory: one of the constants
 * below. If it is GOH5_GAPS_UNKNOWN, it is determined and returned. Such elements become zero,
 * and so does the padding between the members of compounds. */
enum { GOH5_GAPS_UNKNOWN, GOH5_GAPS_NONE, GOH5_GAPS_SOME };

int goh5_dread(goh5_err_t *err, int64_t id, const uint8_t *type, size_t type_len, const int64_t *sel, size_t words,
               size_t rank, int32_t lossy, int32_t known, int32_t *gaps, uint8_t *dst, size_t len);
int goh5_dwrite(goh5_err_t *err, int64_t id, const uint8_t *type, size_t type_len, const int64_t *sel, size_t words,
                size_t rank, int32_t lossy, const uint8_t *src, size_t len);

/* Values of any datatype, as stored except for pointers (values.go). n is the number of elements.
 * To read any number of elements, *n must be UINT64_MAX; the function sets it to the actual number.
 * goh5_dread_values fails with GOH5_EPIECES if the strings and sequences of the elements have more
 * bytes than `limit` and than the file. */
int goh5_dtype(goh5_err_t *err, int64_t id, goh5_blob_t *out);
int goh5_dread_values(goh5_err_t *err, int64_t id, const uint8_t *type, size_t type_len, const int64_t *sel,
                      size_t words, size_t rank, uint64_t limit, uint64_t *n, goh5_blob_t *out);
int goh5_dwrite_values(goh5_err_t *err, int64_t id, const uint8_t *type, size_t type_len, const int64_t *sel,
                       size_t words, size_t rank, const uint8_t *data, size_t len, size_t n);

/* Selections in a dataspace that does not belong to a file. */
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

/* References. `kind` is that of the datatype. The bytes are an element in memory or, for the kind
 * added in HDF5 1.12, the description of shim_ref.c. */
int goh5_ref_create(goh5_err_t *err, int64_t loc, const char *name, int32_t kind, const char *attr, const int64_t *sel,
                    size_t words, size_t rank, goh5_blob_t *out);
int goh5_ref_resolve(goh5_err_t *err, int64_t loc, int32_t kind, const uint8_t *bytes, size_t len, int32_t named,
                     goh5_blob_t *out);

/* Attributes of the object loc. goh5_aread has the limit of goh5_dread_values. */
int goh5_attrs(goh5_err_t *err, int64_t loc, int32_t index, int32_t order, goh5_blob_t *out);
int goh5_attr_info(goh5_err_t *err, int64_t loc, const char *name, int32_t index, int32_t order, int64_t n,
                   goh5_blob_t *out);
int goh5_aexists(goh5_err_t *err, int64_t loc, const char *name, int32_t *exists);
int goh5_arename(goh5_err_t *err, int64_t loc, const char *from, const char *to);
int goh5_adelete_at(goh5_err_t *err, int64_t loc, int32_t index, int32_t order, int64_t n);
int goh5_aread(goh5_err_t *err, int64_t loc, const char *name, uint64_t limit, goh5_blob_t *out);
int goh5_awrite(goh5_err_t *err, int64_t loc, const char *name, int32_t utf8, const uint8_t *spec, size_t spec_len,
                int32_t form, const uint8_t *data, size_t len, const uint64_t *offsets, size_t n);
int goh5_adelete(goh5_err_t *err, int64_t loc, const char *name);

/* Raw chunks. In a blob a chunk is its offset (rank words), mask, address in the file and size in
 * bytes. The rank precedes the first chunk; if the blob contains all chunks, their number follows
 * the rank.
 *
 * goh5_dwrite_chunk sets *stale if libhdf5 has cached another mask than the one written. The caller
 * must then call goh5_dreopen, which closes and reopens all ids that belong to the dataset id.
 * Afterwards ids contains the new ids, and -1 for each one that could not be opened. */
enum {
    GOH5_ELAYOUT = -40,    /* the dataset is not chunked */
    GOH5_ENOCHUNK = -41,   /* the chunk is not stored */
    GOH5_EMASK = -42,      /* mask err->have has bits beyond the err->want filters */
    GOH5_EMOVING = -43,    /* the file may change: it is writable or another process writes it */
    GOH5_EMASKED = -45,    /* libhdf5 would not record the mask of the chunk at err->dims, now err->have */
    GOH5_ECHUNKSIZE = -46, /* the index entry of a chunk has the size err->have, which no chunk has */
    GOH5_EDRIVER = -44     /* the file is not a single plain file with a descriptor */
};
int goh5_dchunk_count(goh5_err_t *err, int64_t id, uint64_t *n);
int goh5_dchunk_nth(goh5_err_t *err, int64_t id, uint64_t n, goh5_blob_t *out);
int goh5_dchunk_at(goh5_err_t *err, int64_t id, const int64_t *offset, size_t rank, goh5_blob_t *out);
int goh5_dchunk_size(goh5_err_t *err, int64_t id, const int64_t *offset, size_t rank, uint64_t *bytes);
/* Chunks of the bounding box of a selection: the first and last chunk index, the chunk size and the
 * extent of each dimension. *n is the number of selected elements. If it is 0, the other outputs
 * are not set. */
int goh5_dbounds(goh5_err_t *err, int64_t id, const int64_t *sel, size_t words, size_t rank, uint64_t *first,
                 uint64_t *last, uint64_t *chunk, uint64_t *dims, size_t *axes, size_t *n);
/* Stored size of a filtered chunk, or 0 if the chunk is not filtered or not stored. If the size is
 * less than `enough`, the function also returns the mask and the first 4 bytes of the chunk, padded
 * with zeros. */
int goh5_dchunk_head(goh5_err_t *err, int64_t id, const int64_t *offset, size_t rank, uint64_t enough, uint64_t *bytes,
                     uint32_t *mask, uint8_t *head);
int goh5_dchunks(goh5_err_t *err, int64_t id, goh5_blob_t *out);
int goh5_dread_chunk(goh5_err_t *err, int64_t id, const int64_t *offset, size_t rank, uint8_t *dst, size_t len,
                     uint64_t *bytes, uint32_t *mask);
int goh5_dwrite_chunk(goh5_err_t *err, int64_t id, const int64_t *offset, size_t rank, uint32_t mask,
                      const uint8_t *src, size_t len, int32_t *stale);
int goh5_dreopen(goh5_err_t *err, int64_t id, int64_t *ids, size_t n);
int goh5_fdescriptor(goh5_err_t *err, int64_t id, int32_t *fd); /* of a read-only file; owned by libhdf5 */

/* Masks of chunks that libhdf5 writes (masks.go). goh5_dfilters returns the filters of a dataset
 * with their state (0 filters if it is not chunked), and the bytes of a whole chunk. goh5_dmasks
 * reports whether the dataset contains a chunk that libhdf5 could rewrite with the same length and
 * another mask without updating the index. goh5_dtouched returns GOH5_EMASKED if a selection touches
 * such a chunk, with its offset in err->dims and its mask in err->have. goh5_dtouched_shape does so
 * for the chunks that a smaller shape truncates. */
enum {
    GOH5_OPTIONAL = 1,
    GOH5_HERE = 2,
    GOH5_IDLE = 4 /* parameters are missing, as with variable-length types: the filter fails on every chunk */
};
int goh5_dfilters(goh5_err_t *err, int64_t id, int32_t *ids, int32_t *state, size_t *n, uint64_t *chunk);
int goh5_dmasks(goh5_err_t *err, int64_t id, const goh5_masks_t *m, int32_t *found);
int goh5_dtouched(goh5_err_t *err, int64_t id, const goh5_masks_t *m, const int64_t *sel, size_t words, size_t rank);
int goh5_dtouched_shape(goh5_err_t *err, int64_t id, const goh5_masks_t *m, const int64_t *shape, size_t rank);

/* Committed datatypes. If name is NULL, the datatype has no name. */
int goh5_tcommit(goh5_err_t *err, int64_t loc, const char *name, int32_t utf8, const uint8_t *type, size_t type_len,
                 int64_t *id);

/* Decodes a datatype to one of libhdf5 and encodes it again, to check that nothing is lost. */
int goh5_type_round(goh5_err_t *err, const uint8_t *type, size_t type_len, goh5_blob_t *out);

#endif
