/* shim_register.c: the filters as libhdf5 calls them. The caller holds the lock of libhdf5 and
 * of this module. */
#include "shim.h"

#include "../versions.h"

#include <string.h>

/* Parameters of a chunk that some filters store: the sizes in bytes of an element and of a
 * chunk. */
static int chunk_facts(hid_t dcpl, hid_t type, uint64_t *element, uint64_t *bytes)
{
    hsize_t dims[H5S_MAX_RANK];
    int rank = H5Pget_chunk(dcpl, H5S_MAX_RANK, dims);
    *element = H5Tget_size(type);
    if (rank < 0 || *element == 0) {
        return -1;
    }
    *bytes = *element;
    for (int i = 0; i < rank; i++) {
        *bytes *= dims[i];
    }
    return *bytes > UINT32_MAX ? -1 : 0;
}

enum { VALUES = 64 };

static int get_values(hid_t dcpl, H5Z_filter_t id, unsigned *flags, unsigned *values, size_t *count)
{
    memset(values, 0, VALUES * sizeof *values);
    *count = VALUES;
    return H5Pget_filter_by_id2(dcpl, id, flags, count, values, 0, NULL, NULL) < 0 || *count > VALUES ? -1 : 0;
}

/* LZF: revision 4, LZF version 1.5, chunk size in bytes, as written by h5py. */
static herr_t lzf_local(hid_t dcpl, hid_t type, hid_t space)
{
    (void)space;
    unsigned flags, values[VALUES];
    size_t count;
    uint64_t element, bytes;
    if (get_values(dcpl, GOH5Z_LZF, &flags, values, &count) < 0 || chunk_facts(dcpl, type, &element, &bytes) < 0) {
        return -1;
    }
    values[0] = values[0] == 0 ? 4 : values[0];
    values[1] = values[1] == 0 ? 0x105 : values[1];
    values[2] = (unsigned)bytes;
    return H5Pmodify_filter(dcpl, GOH5Z_LZF, flags, 3, values);
}

/* bitshuffle: version 0.4 and the element size come before the user's values: block,
 * compression, level. */
static herr_t bits_local(hid_t dcpl, hid_t type, hid_t space)
{
    (void)space;
    unsigned flags, given[VALUES], values[VALUES + 3] = {0, 4, 0};
    size_t count;
    uint64_t element, bytes;
    if (get_values(dcpl, GOH5Z_BITSHUFFLE, &flags, given, &count) < 0 || count > 5 ||
        chunk_facts(dcpl, type, &element, &bytes) < 0) {
        return -1;
    }
    values[2] = (unsigned)element;
    memcpy(values + 3, given, count * sizeof *given);
    return H5Pmodify_filter(dcpl, GOH5Z_BITSHUFFLE, flags, count + 3, values);
}

/* The first four values of Blosc and Blosc2 are set by the filter: revision, version or block
 * size, element size, chunk size. The user's values begin at the fifth: level, shuffle, codec.
 * Blosc2 stores the shape of the chunk after them. */
static herr_t blosc_local(hid_t dcpl, hid_t type, H5Z_filter_t id)
{
    unsigned flags, values[VALUES];
    size_t count;
    uint64_t element, bytes;
    hsize_t dims[H5S_MAX_RANK];
    if (get_values(dcpl, id, &flags, values, &count) < 0 || chunk_facts(dcpl, type, &element, &bytes) < 0) {
        return -1;
    }
    uint64_t base = element;
    hid_t super = H5Tget_class(type) == H5T_ARRAY ? H5Tget_super(type) : H5I_INVALID_HID;
    if (super >= 0) { /* for an array, the size of its elements */
        base = H5Tget_size(super);
        H5Tclose(super);
    }
    values[2] = (unsigned)(base > 255 ? 1 : base);
    values[3] = (unsigned)bytes;
    if (count < 5) {
        values[4] = 5;
    }
    if (count < 6) {
        values[5] = 1;
    }
    if (count < 7) {
        values[6] = 0;
    }
    if (id == GOH5Z_BLOSC) {
        values[0] = 2;
        values[1] = 2;
        return H5Pmodify_filter(dcpl, id, flags, 7, values);
    }
    values[0] = 1;
    int rank = H5Pget_chunk(dcpl, H5S_MAX_RANK, dims);
    if (rank < 0) {
        return -1;
    }
    if (rank == 1) {
        return H5Pmodify_filter(dcpl, id, flags, 7, values);
    }
    values[2] = (unsigned)element; /* the elements of a b2nd array have the size of the datatype */
    values[7] = (unsigned)rank;
    for (int i = 0; i < rank; i++) {
        values[8 + i] = (unsigned)dims[i];
    }
    return H5Pmodify_filter(dcpl, id, flags, 8 + (size_t)rank, values);
}

static herr_t blosc1_local(hid_t dcpl, hid_t type, hid_t space)
{
    (void)space;
    return blosc_local(dcpl, type, GOH5Z_BLOSC);
}

static herr_t blosc2_local(hid_t dcpl, hid_t type, hid_t space)
{
    (void)space;
    return blosc_local(dcpl, type, GOH5Z_BLOSC2);
}

uint8_t *goh5z_take(size_t n)
{
    return H5allocate_memory(n, 0);
}

void goh5z_give(uint8_t *p)
{
    H5free_memory(p);
}

/* Decodes a chunk. The filter does not get the decoded size, so it tries larger buffers until
 * one is sufficient. */
static size_t decode(goh5z_state_t *s, int32_t id, const uint32_t *values, size_t count, size_t n, size_t *buf_size,
                     void **buf)
{
    size_t cap = *buf_size > n ? *buf_size : n, out = 0;
    if (id == GOH5Z_LZF && count > 2 && values[2] > 0) {
        cap = values[2];
    }
    for (;;) {
        uint8_t *to = goh5z_take(cap);
        if (to == NULL) {
            return 0;
        }
        int rc = goh5z_decode(s, id, values, count, *buf, n, to, cap, &out);
        if (rc == 0 && out > 0) {
            H5free_memory(*buf);
            *buf = to;
            *buf_size = cap;
            return out;
        }
        H5free_memory(to);
        if (rc != GOH5Z_EROOM || cap >= UINT32_MAX) {
            return 0;
        }
        /* The size in the data is used if it is plausible: a codec that returns a size never
         * produces more. */
        cap = out > cap && out <= UINT32_MAX && out / 1024 <= n ? out : cap * 2;
    }
}

/* libhdf5 distinguishes a chunk that an optional filter has skipped from others by its length.
 * Therefore the filter is skipped too if its output has the same length as its input. */
static int declined(unsigned flags, size_t out, size_t n)
{
    return (flags & H5Z_FLAG_OPTIONAL) != 0 && out == n;
}

static size_t encode(goh5z_state_t *s, int32_t id, unsigned flags, const uint32_t *values, size_t count, size_t n,
                     size_t *buf_size, void **buf)
{
    size_t cap = goh5z_bound(id, values, count, n), out = 0;
    uint8_t *to = goh5z_take(cap);
    if (to == NULL) {
        return 0;
    }
    if (goh5z_encode(s, id, values, count, 0, *buf, n, to, cap, &out) < 0 || declined(flags, out, n)) {
        H5free_memory(to);
        return 0;
    }
    H5free_memory(*buf);
    *buf = to;
    *buf_size = cap;
    return out;
}

static size_t run(int32_t id, unsigned flags, size_t count, const unsigned *values, size_t n, size_t *buf_size,
                  void **buf)
{
    goh5z_state_t *s = goh5z_state_new();
    if (s == NULL) {
        return 0;
    }
    size_t out = flags & H5Z_FLAG_REVERSE ? decode(s, id, values, count, n, buf_size, buf)
                                          : encode(s, id, flags, values, count, n, buf_size, buf);
    goh5z_state_free(s);
    return out;
}

static size_t run_go(int32_t id, unsigned flags, size_t count, const unsigned *values, size_t n, size_t *buf_size,
                     void **buf)
{
    uint8_t *bytes = *buf;
    size_t out = goh5z_go_filter(
        id, (flags & H5Z_FLAG_REVERSE ? GOH5Z_REVERSE : 0) | (flags & H5Z_FLAG_OPTIONAL ? GOH5Z_OPTIONAL : 0),
        (uint32_t *)(uintptr_t)values, count, n, buf_size, &bytes);
    *buf = bytes;
    return out;
}

#define FILTER(name, id, how)                                                                                          \
    static size_t name(unsigned flags, size_t count, const unsigned values[], size_t n, size_t *buf_size, void **buf)  \
    {                                                                                                                  \
        return how(id, flags, count, values, n, buf_size, buf);                                                        \
    }

FILTER(bzip2, GOH5Z_BZIP2, run)
FILTER(lzf, GOH5Z_LZF, run)
FILTER(lz4, GOH5Z_LZ4, run)
FILTER(bits, GOH5Z_BITSHUFFLE, run)
FILTER(zstd, GOH5Z_ZSTD, run)
FILTER(blosc, GOH5Z_BLOSC, run_go)
FILTER(blosc2, GOH5Z_BLOSC2, run_go)

const void *goh5z_class(size_t i)
{
    static const H5Z_class2_t classes[] = {
        {H5Z_CLASS_T_VERS, GOH5Z_BZIP2, 1, 1, "bzip2", NULL, NULL, bzip2},
        {H5Z_CLASS_T_VERS, GOH5Z_LZF, 1, 1, "lzf", NULL, lzf_local, lzf},
        {H5Z_CLASS_T_VERS, GOH5Z_BLOSC, 1, 1, "blosc", NULL, blosc1_local, blosc},
        {H5Z_CLASS_T_VERS, GOH5Z_LZ4, 1, 1, "lz4", NULL, NULL, lz4},
        {H5Z_CLASS_T_VERS, GOH5Z_BITSHUFFLE, 1, 1, "bitshuffle", NULL, bits_local, bits},
        {H5Z_CLASS_T_VERS, GOH5Z_ZSTD, 1, 1, "zstd", NULL, NULL, zstd},
        {H5Z_CLASS_T_VERS, GOH5Z_BLOSC2, 1, 1, "blosc2", NULL, blosc2_local, blosc2},
    };
    return i < sizeof classes / sizeof classes[0] ? &classes[i] : NULL;
}
