/* shim_decompress.c: contexts that decompress a chunk, some of its blocks or items, or many chunks
 * per call. */
#include "shim_internal.h"

#include <string.h>

int goblosc2_decompressor_new(goblosc2_err_t *err, int32_t threads, uintptr_t hook, int32_t block,
                              goblosc2_handle_t **out, int32_t *effective)
{
    goblosc2_handle_t *h = NULL;
    if (goblosc2_new_handle(err, NULL, NULL, &h) < 0) {
        return -1;
    }
    h->cparams.threads = threads;
    h->hook = hook;
    h->block = block != 0;
    h->ctx = goblosc2_create_dctx(h);
    if (h->ctx == NULL) {
        hyperslab_free(h);
        return goblosc2_fail(err, BLOSC2_ERROR_INVALID_PARAM, "blosc2_create_dctx");
    }
    blosc2_dparams d;
    blosc2_ctx_get_dparams(h->ctx, &d);
    *effective = d.nthreads;
    *out = h;
    return 0;
}

static uint32_t le32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void put_le32(uint8_t *p, int32_t v)
{
    for (int i = 0; i < 4; i++) {
        p[i] = (uint8_t)((uint32_t)v >> 8 * i);
    }
}

static bool extended(const uint8_t *chunk, int32_t n)
{
    const int both = BLOSC_DOSHUFFLE | BLOSC_DOBITSHUFFLE;
    return n >= BLOSC_EXTENDED_HEADER_LENGTH && (chunk[BLOSC2_CHUNK_FLAGS] & both) == both;
}

/* Reports whether the library leaves out the tail of a Blosc1 chunk. It does not write the bytes
 * after the last whole element of a bit-shuffled block if the number of elements is a multiple of
 * 8. Bit-shuffle does not move these bytes. Go rejects chunks in which other blocks have them. */
static bool has_blosc1_tail(const uint8_t *chunk, int32_t n)
{
    if (n < BLOSC_MIN_HEADER_LENGTH || extended(chunk, n) || (chunk[BLOSC2_CHUNK_FLAGS] & BLOSC_DOBITSHUFFLE) == 0 ||
        (chunk[BLOSC2_CHUNK_FLAGS] & BLOSC_MEMCPYED) != 0) {
        return false;
    }
    uint32_t nbytes = le32(chunk + BLOSC2_CHUNK_NBYTES), block = le32(chunk + BLOSC2_CHUNK_BLOCKSIZE);
    uint32_t size = chunk[BLOSC2_CHUNK_TYPESIZE], last = block == 0 || size == 0 ? 0 : nbytes % block;
    return last != 0 && last % size != 0 && last / size % 8 == 0;
}

/* Decompresses the last block as a separate chunk without the filter and copies its tail to the end
 * of dst. */
static int blosc1_tail(goblosc2_handle_t *h, const uint8_t *chunk, int32_t n, uint8_t *dst, int32_t cap)
{
    enum { HEADER = BLOSC_MIN_HEADER_LENGTH, START = 4 };
    int32_t nbytes = (int32_t)le32(chunk + BLOSC2_CHUNK_NBYTES), block = (int32_t)le32(chunk + BLOSC2_CHUNK_BLOCKSIZE);
    int32_t last = nbytes % block, tail = last % chunk[BLOSC2_CHUNK_TYPESIZE];
    int64_t at = HEADER + (int64_t)START * (nbytes / block);
    if (nbytes != cap || at + START > n) {
        return BLOSC2_ERROR_DATA;
    }
    int64_t start = (int32_t)le32(chunk + at);
    int64_t room = n - start - START;
    if (start < at + START || room < 0 || (int64_t)le32(chunk + start) > room) {
        return BLOSC2_ERROR_DATA;
    }
    int32_t stream = START + (int32_t)le32(chunk + start);
    uint8_t *alone = hyperslab_alloc((size_t)(HEADER + START + stream + last));
    if (alone == NULL) {
        return BLOSC2_ERROR_MEMORY_ALLOC;
    }
    int32_t size = HEADER + START + stream, first = HEADER + START;
    memcpy(alone, chunk, HEADER);
    alone[BLOSC2_CHUNK_FLAGS] &= (uint8_t)~BLOSC_DOBITSHUFFLE;
    alone[BLOSC2_CHUNK_TYPESIZE] = 1;
    put_le32(alone + BLOSC2_CHUNK_NBYTES, last);
    put_le32(alone + BLOSC2_CHUNK_BLOCKSIZE, last);
    put_le32(alone + BLOSC2_CHUNK_CBYTES, size);
    put_le32(alone + HEADER, first);
    memcpy(alone + first, chunk + start, (size_t)stream);
    int rc = blosc2_decompress_ctx(h->ctx, alone, size, alone + size, last);
    if (rc >= 0) {
        memcpy(dst + nbytes - tail, alone + size + last - tail, (size_t)tail);
    }
    hyperslab_free(alone);
    return rc;
}

/* An empty chunk. Decompressing it resets what a context keeps from the last chunk, and calls no
 * function of Go. */
static const uint8_t empty[BLOSC_EXTENDED_HEADER_LENGTH] = {
    [BLOSC2_CHUNK_VERSION] = BLOSC2_VERSION_FORMAT_STABLE,
    [BLOSC2_CHUNK_VERSIONLZ] = BLOSC_BLOSCLZ_VERSION_FORMAT,
    [BLOSC2_CHUNK_FLAGS] = BLOSC_DOSHUFFLE | BLOSC_DOBITSHUFFLE,
    [BLOSC2_CHUNK_TYPESIZE] = 1,
    [BLOSC2_CHUNK_BLOCKSIZE] = 1,
    [BLOSC2_CHUNK_CBYTES] = BLOSC_EXTENDED_HEADER_LENGTH,
};

int goblosc2_begin_chunk(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *chunk, int32_t n)
{
    bool before = h->extended;
    h->extended = extended(chunk, n);
    if (!before || h->extended) {
        return 0;
    }
    uint8_t unused;
    int rc = blosc2_decompress_ctx(h->ctx, empty, sizeof empty, &unused, 0);
    return rc < 0 ? goblosc2_fail(err, rc, "blosc2_decompress_ctx") : 0;
}

int goblosc2_begin_global(goblosc2_err_t *err)
{
    uint8_t unused;
    int rc = blosc2_decompress(empty, sizeof empty, &unused, 0);
    return rc < 0 ? goblosc2_fail(err, rc, "blosc2_decompress") : 0;
}

static int decompress(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *chunk, int32_t n, uint8_t *dst,
                      int32_t cap)
{
    goblosc2_threads(h->cparams.threads);
    if (goblosc2_begin_chunk(err, h, chunk, n) < 0) {
        return -1;
    }
    int rc = blosc2_decompress_ctx(h->ctx, chunk, n, dst, cap);
    if (rc >= 0 && has_blosc1_tail(chunk, n)) {
        int tail = blosc1_tail(h, chunk, n, dst, cap);
        rc = tail < 0 ? tail : rc;
    }
    return rc < 0 ? goblosc2_fail(err, rc, "blosc2_decompress_ctx") : rc;
}

int goblosc2_decompress(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *chunk, int32_t n, uint8_t *dst,
                        int32_t cap)
{
    return decompress(err, h, chunk, n, dst, cap);
}

int goblosc2_decompress_blocks(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *chunk, int32_t n,
                               const uint8_t *skip, int32_t nblocks, uint8_t *dst, int32_t cap)
{
    _Static_assert(sizeof(bool) == 1, "the library copies as many bytes as there are blocks");
    goblosc2_threads(h->cparams.threads);
    if (goblosc2_begin_chunk(err, h, chunk, n) < 0) {
        return -1;
    }
    /* The library copies the mask and drops it after the next call. */
    int rc = blosc2_set_maskout(h->ctx, (bool *)skip, nblocks);
    if (rc < 0) {
        return goblosc2_fail(err, rc, "blosc2_set_maskout");
    }
    rc = blosc2_decompress_ctx(h->ctx, chunk, n, dst, cap);
    return rc < 0 ? goblosc2_fail(err, rc, "blosc2_decompress_ctx") : rc;
}

int goblosc2_getitem(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *chunk, int32_t n, int32_t start,
                     int32_t items, uint8_t *dst, int32_t cap)
{
    goblosc2_threads(h->cparams.threads);
    if (goblosc2_begin_chunk(err, h, chunk, n) < 0) {
        return -1;
    }
    int rc = blosc2_getitem_bytes_ctx(h->ctx, chunk, n, start * (cap / items), cap, dst, cap);
    return rc < 0 ? goblosc2_fail(err, rc, "blosc2_getitem_bytes_ctx") : rc;
}

int goblosc2_decompress_batch(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *src, int64_t start,
                              const int64_t *ends, int64_t n, uint8_t *dst, int64_t dst_start, const int64_t *dst_ends,
                              int64_t *bad)
{
    for (int64_t i = 0; i < n; i++) {
        int rc = decompress(err, h, src + start, (int32_t)(ends[i] - start), dst + dst_start,
                            (int32_t)(dst_ends[i] - dst_start));
        if (rc < 0) {
            *bad = i;
            return rc;
        }
        start = ends[i];
        dst_start = dst_ends[i];
    }
    return 0;
}

int goblosc2_decompress_parts(goblosc2_err_t *err, goblosc2_handle_t *h, const uint8_t *src, const int64_t *ends,
                              const int64_t *parts, int64_t n, int64_t *next, uint8_t *dst, const int64_t *dst_ends,
                              int64_t *bad)
{
    int64_t i;
    while ((i = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED)) < n) {
        int64_t first = parts[i];
        int64_t start = first == 0 ? 0 : ends[first - 1], dst_start = first == 0 ? 0 : dst_ends[first - 1];
        if (goblosc2_decompress_batch(err, h, src, start, ends + first, parts[i + 1] - first, dst, dst_start,
                                      dst_ends + first, bad) < 0) {
            *bad += first;
            __atomic_store_n(next, n, __ATOMIC_RELAXED);
            return -1;
        }
    }
    return 0;
}
