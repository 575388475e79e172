/* shim_codec.c: each filter as two functions that convert one buffer to another. The formats are
 * those of the HDF5 filters registered under the numbers. The codecs are in libgocodec.a. */
#include "shim.h"

#include "cmem.h"
#include "codecs.h"

#include <limits.h>
#include <string.h>

/* ---------- state kept between calls ---------- */

enum { SCRATCH = 4, LEVELS = 13 };

struct goh5z_state {
    struct libdeflate_decompressor *inflater;
    struct libdeflate_compressor *deflater[LEVELS];
    ZSTD_CCtx *cctx;
    ZSTD_DCtx *dctx;
    uint8_t *scratch[SCRATCH];
    size_t len[SCRATCH];
};

goh5z_state_t *goh5z_state_new(void)
{
    return hyperslab_alloc(sizeof(goh5z_state_t));
}

void goh5z_state_free(goh5z_state_t *s)
{
    if (s == NULL) {
        return;
    }
    if (s->inflater != NULL) {
        libdeflate_free_decompressor(s->inflater);
    }
    for (int i = 0; i < LEVELS; i++) {
        if (s->deflater[i] != NULL) {
            libdeflate_free_compressor(s->deflater[i]);
        }
    }
    ZSTD_freeCCtx(s->cctx);
    ZSTD_freeDCtx(s->dctx);
    for (int i = 0; i < SCRATCH; i++) {
        hyperslab_free(s->scratch[i]);
    }
    hyperslab_free(s);
}

void *goh5z_scratch(goh5z_state_t *s, int which, size_t n)
{
    if (s->len[which] < n || s->scratch[which] == NULL) {
        hyperslab_free(s->scratch[which]);
        s->scratch[which] = hyperslab_alloc(n);
        s->len[which] = s->scratch[which] == NULL ? 0 : n;
    }
    return s->scratch[which];
}

enum { PING = 0, PONG = 1, BLOCK = 2, TABLE = 3 };

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint64_t get64(const uint8_t *p)
{
    return (uint64_t)get32(p) << 32 | get32(p + 4);
}

static void put32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 24);
    p[1] = (uint8_t)(v >> 16);
    p[2] = (uint8_t)(v >> 8);
    p[3] = (uint8_t)v;
}

static void put64(uint8_t *p, uint64_t v)
{
    put32(p, (uint32_t)(v >> 32));
    put32(p + 4, (uint32_t)v);
}

/* ---------- deflate: a zlib stream; values: level ---------- */

static int inflate_all(goh5z_state_t *s, const uint8_t *src, size_t n, uint8_t *dst, size_t cap, size_t *out)
{
    if (s->inflater == NULL && (s->inflater = libdeflate_alloc_decompressor()) == NULL) {
        return GOH5Z_ENOMEM;
    }
    size_t used = 0;
    switch (libdeflate_zlib_decompress_ex(s->inflater, src, n, dst, cap, &used, out)) {
    case LIBDEFLATE_SUCCESS:
        return 0;
    case LIBDEFLATE_INSUFFICIENT_SPACE:
        *out = 0;
        return GOH5Z_EROOM;
    default:
        return GOH5Z_EDATA;
    }
}

static int deflate_all(goh5z_state_t *s, int level, int exact, const uint8_t *src, size_t n, uint8_t *dst, size_t cap,
                       size_t *out)
{
    if (exact) {
        uLongf len = cap;
        int rc = compress2(dst, &len, src, n, level);
        *out = len;
        return rc == Z_OK ? 0 : rc == Z_BUF_ERROR ? GOH5Z_EROOM : GOH5Z_ENOMEM;
    }
    if (s->deflater[level] == NULL && (s->deflater[level] = libdeflate_alloc_compressor(level)) == NULL) {
        return GOH5Z_ENOMEM;
    }
    *out = libdeflate_zlib_compress(s->deflater[level], src, n, dst, cap);
    return *out == 0 ? GOH5Z_EROOM : 0;
}

/* ---------- szip: the length in 4 bytes, little-endian, then libaec's stream; values: mask,
 * pixels per block, bits per pixel, pixels per scanline ---------- */

#if GOH5Z_HAVE_SZIP
static int szip_params(const uint32_t *v, size_t count, SZ_com_t *p)
{
    if (count != 4 || v[1] < 2 || v[1] > SZ_MAX_PIXELS_PER_BLOCK || v[1] % 2 != 0 || v[2] < 1 || v[2] > 64 ||
        (v[2] > 24 && v[2] != 32 && v[2] != 64) || v[3] < 1 || v[3] > SZ_MAX_PIXELS_PER_SCANLINE || v[0] > 255) {
        return GOH5Z_EPARAM;
    }
    *p = (SZ_com_t){(int)v[0], (int)v[2], (int)v[1], (int)v[3]};
    return 0;
}

static int szip_decode(const uint32_t *v, size_t count, const uint8_t *src, size_t n, uint8_t *dst, size_t cap,
                       size_t *out)
{
    SZ_com_t p;
    int rc = szip_params(v, count, &p);
    if (rc < 0) {
        return rc;
    }
    if (n < 4) {
        return GOH5Z_EDATA;
    }
    size_t len = (size_t)src[0] | (size_t)src[1] << 8 | (size_t)src[2] << 16 | (size_t)src[3] << 24;
    if (len > cap) {
        *out = len;
        return GOH5Z_EROOM;
    }
    size_t got = len;
    if (SZ_BufftoBuffDecompress(dst, &got, src + 4, n - 4, &p) != SZ_OK || got != len) {
        return GOH5Z_EDATA;
    }
    *out = len;
    return 0;
}

static int szip_encode(const uint32_t *v, size_t count, const uint8_t *src, size_t n, uint8_t *dst, size_t cap,
                       size_t *out)
{
    SZ_com_t p;
    int rc = szip_params(v, count, &p);
    if (rc < 0) {
        return rc;
    }
    if (n > UINT32_MAX || cap < 4) {
        return GOH5Z_EROOM;
    }
    for (int i = 0; i < 4; i++) {
        dst[i] = (uint8_t)(n >> (8 * i));
    }
    size_t len = cap - 4 < n ? cap - 4 : n;
    if (SZ_BufftoBuffCompress(dst + 4, &len, src, n, &p) != SZ_OK) {
        return GOH5Z_EGROWS;
    }
    *out = len + 4;
    return 0;
}
#endif

/* ---------- bzip2: a stream; values: block size in units of 100 kB, default 9 ---------- */

static int bzip2_decode(const uint8_t *src, size_t n, uint8_t *dst, size_t cap, size_t *out)
{
    if (n > UINT_MAX) {
        return GOH5Z_EDATA;
    }
    unsigned len = cap > UINT_MAX ? UINT_MAX : (unsigned)cap;
    /* The source is not changed, although its type is not const. */
    int rc = BZ2_bzBuffToBuffDecompress((char *)dst, &len, (char *)(uintptr_t)src, (unsigned)n, 0, 0);
    *out = rc == BZ_OK ? len : 0;
    return rc == BZ_OK ? 0 : rc == BZ_OUTBUFF_FULL ? GOH5Z_EROOM : rc == BZ_MEM_ERROR ? GOH5Z_ENOMEM : GOH5Z_EDATA;
}

static int bzip2_encode(const uint32_t *v, size_t count, const uint8_t *src, size_t n, uint8_t *dst, size_t cap,
                        size_t *out)
{
    uint32_t block = count > 0 ? v[0] : 9;
    if (block < 1 || block > 9 || n > UINT_MAX) {
        return GOH5Z_EPARAM;
    }
    unsigned len = cap > UINT_MAX ? UINT_MAX : (unsigned)cap;
    int rc = BZ2_bzBuffToBuffCompress((char *)dst, &len, (char *)(uintptr_t)src, (unsigned)n, (int)block, 0, 0);
    *out = rc == BZ_OK ? len : 0;
    return rc == BZ_OK ? 0 : rc == BZ_OUTBUFF_FULL ? GOH5Z_EROOM : GOH5Z_ENOMEM;
}

/* ---------- LZ4: the total length in 8 bytes and the block size in 4, big-endian; then each
 * block after its stored length, uncompressed if that is the length of the block; values: block
 * size in bytes ---------- */

enum { LZ4_HEADER = 12, LZ4_BLOCK = 1 << 30 };

static int lz4_block_decode(const uint8_t *src, size_t n, uint8_t *dst, size_t len)
{
    return n <= INT_MAX && LZ4_decompress_safe((const char *)src, (char *)dst, (int)n, (int)len) == (int)len
               ? 0
               : GOH5Z_EDATA;
}

static int lz4_decode(const uint8_t *src, size_t n, uint8_t *dst, size_t cap, size_t *out)
{
    if (n < LZ4_HEADER) {
        return GOH5Z_EDATA;
    }
    uint64_t total = get64(src);
    size_t block = get32(src + 8);
    if (total > cap) {
        *out = (size_t)total;
        return GOH5Z_EROOM;
    }
    if (block == 0 || block > LZ4_MAX_INPUT_SIZE) {
        return GOH5Z_EDATA;
    }
    size_t at = LZ4_HEADER, done = 0;
    while (done < total) {
        size_t want = total - done < block ? (size_t)total - done : block;
        if (n - at < 4) {
            return GOH5Z_EDATA;
        }
        size_t have = get32(src + at);
        at += 4;
        if (have > n - at) {
            return GOH5Z_EDATA;
        }
        if (have == want) {
            memcpy(dst + done, src + at, want);
        } else if (lz4_block_decode(src + at, have, dst + done, want) < 0) {
            return GOH5Z_EDATA;
        }
        at += have;
        done += want;
    }
    *out = done;
    return 0;
}

static size_t lz4_block_size(const uint32_t *v, size_t count, size_t n)
{
    size_t block = count > 0 && v[0] > 0 ? v[0] : LZ4_BLOCK;
    return block < n ? block : n;
}

static int lz4_encode(const uint32_t *v, size_t count, const uint8_t *src, size_t n, uint8_t *dst, size_t cap,
                      size_t *out)
{
    size_t block = lz4_block_size(v, count, n), at = LZ4_HEADER;
    if (block > LZ4_MAX_INPUT_SIZE) {
        return GOH5Z_EPARAM;
    }
    if (cap < LZ4_HEADER) {
        return GOH5Z_EROOM;
    }
    put64(dst, n);
    put32(dst + 8, (uint32_t)block);
    for (size_t done = 0; done < n; done += block) {
        size_t want = n - done < block ? n - done : block;
        if (cap - at < want + 4) {
            return GOH5Z_EROOM;
        }
        int len = LZ4_compress_default((const char *)src + done, (char *)dst + at + 4, (int)want, (int)want - 1);
        if (len <= 0) { /* not shorter */
            memcpy(dst + at + 4, src + done, want);
            len = (int)want;
        }
        put32(dst + at, (uint32_t)len);
        at += 4 + (size_t)len;
    }
    *out = at;
    return 0;
}

/* ---------- Zstandard: frames; values: level ---------- */

enum { ZSTD_TOO_SMALL = 70 }; /* ZSTD_error_dstSize_tooSmall */

static int zstd_result(size_t len, size_t *out)
{
    if (!ZSTD_isError(len)) {
        *out = len;
        return 0;
    }
    *out = 0;
    return len == (size_t)-ZSTD_TOO_SMALL ? GOH5Z_EROOM : GOH5Z_EDATA;
}

static int zstd_decode(goh5z_state_t *s, const uint8_t *src, size_t n, uint8_t *dst, size_t cap, size_t *out)
{
    if (s->dctx == NULL && (s->dctx = ZSTD_createDCtx()) == NULL) {
        return GOH5Z_ENOMEM;
    }
    int rc = zstd_result(ZSTD_decompressDCtx(s->dctx, dst, cap, src, n), out);
    if (rc == GOH5Z_EROOM) {
        unsigned long long size = ZSTD_getFrameContentSize(src, n);
        *out = size < (unsigned long long)-2 && size > cap ? (size_t)size : 0; /* -1 and -2: size unknown, no frame */
    }
    return rc;
}

static int zstd_encode(goh5z_state_t *s, int level, const uint8_t *src, size_t n, uint8_t *dst, size_t cap, size_t *out)
{
    if (s->cctx == NULL && (s->cctx = ZSTD_createCCtx()) == NULL) {
        return GOH5Z_ENOMEM;
    }
    return zstd_result(ZSTD_compressCCtx(s->cctx, dst, cap, src, n, level), out);
}

/* ---------- bitshuffle: blocks of transposed bits, then the last elements unchanged if their
 * number is not a multiple of 8. With compression, the total length in 8 bytes and the block
 * size in 4 come first, and each block is compressed and follows its stored length. Values:
 * major, minor, element size in bytes, block size in elements (0: automatic), compression, level
 * ---------- */

enum { BITS_ALONE = 0, BITS_LZ4 = 2, BITS_ZSTD = 3, BITS_HEADER = 12 };

typedef struct bits {
    size_t element;
    size_t block; /* elements */
    int how;
    int level;
} bits_t;

static size_t bits_default(size_t element)
{
    size_t block = 8192 / element / 8 * 8;
    return block < 128 ? 128 : block;
}

static int bits_params(const uint32_t *v, size_t count, bits_t *p)
{
    if (count < 3 || v[2] == 0 || v[2] > INT_MAX / 128) {
        return GOH5Z_EPARAM;
    }
    p->element = v[2];
    p->block = count > 3 ? v[3] : 0;
    p->how = count > 4 ? (int)v[4] : BITS_ALONE;
    p->level = count > 5 ? (int)v[5] : 0;
    if (p->how != BITS_LZ4 && p->how != BITS_ZSTD) {
        p->how = BITS_ALONE; /* as the filter treats any other number */
    }
    if (p->block == 0) {
        p->block = bits_default(p->element);
    }
    return p->block % 8 == 0 && p->block <= (size_t)INT_MAX / p->element ? 0 : GOH5Z_EPARAM;
}

static int bits_decode(goh5z_state_t *s, const uint32_t *v, size_t count, const uint8_t *src, size_t n, uint8_t *dst,
                       size_t cap, size_t *out)
{
    bits_t p;
    int rc = bits_params(v, count, &p);
    if (rc < 0) {
        return rc;
    }
    uint64_t total = n;
    size_t at = 0, done = 0;
    uint8_t *planes = NULL;
    if (p.how != BITS_ALONE) {
        if (n < BITS_HEADER) {
            return GOH5Z_EDATA;
        }
        total = get64(src);
        size_t bytes = get32(src + 8);
        p.block = bytes == 0 ? bits_default(p.element) : bytes / p.element;
        at = BITS_HEADER;
        if (p.block == 0 || p.block % 8 != 0 || p.block > (size_t)INT_MAX / p.element) {
            return GOH5Z_EDATA;
        }
    }
    if (total > cap) {
        *out = (size_t)total;
        return GOH5Z_EROOM;
    }
    if (total % p.element != 0) {
        return GOH5Z_EDATA;
    }
    size_t elements = (size_t)total / p.element;
    if (p.how != BITS_ALONE) {
        size_t most = elements < p.block ? elements : p.block;
        if ((planes = goh5z_scratch(s, BLOCK, most * p.element + 1)) == NULL) {
            return GOH5Z_ENOMEM;
        }
    }
    while (elements >= 8) {
        size_t run = elements < p.block ? elements / 8 * 8 : p.block;
        size_t bytes = run * p.element;
        const uint8_t *from = src + at;
        if (p.how == BITS_ALONE) {
            at += bytes; /* src has total bytes */
        } else {
            if (n - at < 4) {
                return GOH5Z_EDATA;
            }
            size_t len = get32(src + at), got = 0;
            at += 4;
            if (len > n - at) {
                return GOH5Z_EDATA;
            }
            rc = p.how == BITS_LZ4 ? lz4_block_decode(src + at, len, planes, bytes)
                                   : zstd_decode(s, src + at, len, planes, bytes, &got);
            if (rc == GOH5Z_ENOMEM) {
                return rc;
            }
            if (rc < 0 || (p.how == BITS_ZSTD && got != bytes)) {
                return GOH5Z_EDATA;
            }
            at += len;
            from = planes;
        }
        goh5z_unbit_block(p.element, from, run, dst + done);
        done += bytes;
        elements -= run;
    }
    size_t rest = elements * p.element;
    if (rest > n - at) {
        return GOH5Z_EDATA;
    }
    if (rest > 0) { /* src may be NULL if rest is 0 */
        memcpy(dst + done, src + at, rest);
    }
    *out = done + rest;
    return 0;
}

static int bits_encode(goh5z_state_t *s, const uint32_t *v, size_t count, const uint8_t *src, size_t n, uint8_t *dst,
                       size_t cap, size_t *out)
{
    bits_t p;
    int rc = bits_params(v, count, &p);
    if (rc < 0) {
        return rc;
    }
    if (n % p.element != 0) {
        return GOH5Z_EPARAM;
    }
    size_t elements = n / p.element, at = 0, done = 0;
    uint8_t *planes = NULL;
    if (p.how != BITS_ALONE) {
        if (cap < BITS_HEADER) {
            return GOH5Z_EROOM;
        }
        put64(dst, n);
        put32(dst + 8, (uint32_t)(p.block * p.element));
        at = BITS_HEADER;
        size_t most = elements < p.block ? elements : p.block;
        if ((planes = goh5z_scratch(s, BLOCK, most * p.element + 1)) == NULL) {
            return GOH5Z_ENOMEM;
        }
    }
    while (elements >= 8) {
        size_t run = elements < p.block ? elements / 8 * 8 : p.block;
        size_t bytes = run * p.element, len = bytes;
        if (p.how == BITS_ALONE) {
            if (cap - at < bytes) {
                return GOH5Z_EROOM;
            }
            goh5z_bit_block(p.element, src + done, run, dst + at);
        } else {
            if (cap - at < 4) {
                return GOH5Z_EROOM;
            }
            goh5z_bit_block(p.element, src + done, run, planes);
            size_t room = cap - at - 4 > INT_MAX ? INT_MAX : cap - at - 4;
            if (p.how == BITS_LZ4) {
                len = (size_t)LZ4_compress_default((const char *)planes, (char *)dst + at + 4, (int)bytes, (int)room);
                rc = len == 0 ? GOH5Z_EROOM : 0;
            } else {
                rc = zstd_encode(s, p.level, planes, bytes, dst + at + 4, room, &len);
            }
            if (rc < 0) {
                return rc;
            }
            put32(dst + at, (uint32_t)len);
            at += 4;
        }
        at += len;
        done += bytes;
        elements -= run;
    }
    size_t rest = elements * p.element;
    if (cap - at < rest) {
        return GOH5Z_EROOM;
    }
    memcpy(dst + at, src + done, rest);
    *out = at + rest;
    return 0;
}

/* ---------- dispatch by filter number ---------- */

int goh5z_known(int32_t id)
{
    switch (id) {
    case GOH5Z_DEFLATE:
    case GOH5Z_SHUFFLE:
    case GOH5Z_FLETCHER32:
    case GOH5Z_BZIP2:
    case GOH5Z_LZF:
    case GOH5Z_LZ4:
    case GOH5Z_BITSHUFFLE:
    case GOH5Z_ZSTD:
        return 1;
    case GOH5Z_SZIP:
        return GOH5Z_HAVE_SZIP;
    default:
        return 0;
    }
}

static int check_values(int32_t id, const uint32_t *v, size_t count)
{
    if ((id == GOH5Z_DEFLATE && (count != 1 || v[0] > 9)) || (id == GOH5Z_SHUFFLE && (count != 1 || v[0] == 0))) {
        return GOH5Z_EPARAM;
    }
    return 0;
}

int goh5z_decode(goh5z_state_t *s, int32_t id, const uint32_t *values, size_t count, const uint8_t *src, size_t n,
                 uint8_t *dst, size_t cap, size_t *out)
{
    int rc = check_values(id, values, count);
    *out = 0;
    if (rc < 0) {
        return rc;
    }
    switch (id) {
    case GOH5Z_DEFLATE:
        return inflate_all(s, src, n, dst, cap, out);
    case GOH5Z_SHUFFLE:
        *out = n;
        if (n > cap) {
            return GOH5Z_EROOM;
        }
        goh5z_unshuffle(values[0], src, n, dst);
        return 0;
    case GOH5Z_FLETCHER32: {
        if (n < 4) {
            return GOH5Z_EDATA;
        }
        *out = n - 4;
        if (n - 4 > cap) {
            return GOH5Z_EROOM;
        }
        memcpy(dst, src, n - 4);
        return goh5z_check(src, n) ? 0 : GOH5Z_ECHECKSUM;
    }
#if GOH5Z_HAVE_SZIP
    case GOH5Z_SZIP:
        return szip_decode(values, count, src, n, dst, cap, out);
#endif
    case GOH5Z_BZIP2:
        return bzip2_decode(src, n, dst, cap, out);
    case GOH5Z_LZF:
        return goh5z_lzf_decode(src, n, dst, cap, out);
    case GOH5Z_LZ4:
        return lz4_decode(src, n, dst, cap, out);
    case GOH5Z_BITSHUFFLE:
        return bits_decode(s, values, count, src, n, dst, cap, out);
    case GOH5Z_ZSTD:
        return zstd_decode(s, src, n, dst, cap, out);
    default:
        return GOH5Z_EFILTER;
    }
}

int goh5z_encode(goh5z_state_t *s, int32_t id, const uint32_t *values, size_t count, int32_t exact, const uint8_t *src,
                 size_t n, uint8_t *dst, size_t cap, size_t *out)
{
    int rc = check_values(id, values, count);
    *out = 0;
    if (rc < 0) {
        return rc;
    }
    switch (id) {
    case GOH5Z_DEFLATE:
        return deflate_all(s, (int)values[0], exact, src, n, dst, cap, out);
    case GOH5Z_SHUFFLE:
        *out = n;
        if (n > cap) {
            return GOH5Z_EROOM;
        }
        goh5z_shuffle(values[0], src, n, dst);
        return 0;
    case GOH5Z_FLETCHER32: {
        if (cap < 4 || n > cap - 4) {
            *out = n + 4;
            return GOH5Z_EROOM;
        }
        uint32_t sum = goh5z_fletcher32(src, n);
        memcpy(dst, src, n);
        for (int i = 0; i < 4; i++) {
            dst[n + (size_t)i] = (uint8_t)(sum >> (8 * i));
        }
        *out = n + 4;
        return 0;
    }
#if GOH5Z_HAVE_SZIP
    case GOH5Z_SZIP:
        return szip_encode(values, count, src, n, dst, cap, out);
#endif
    case GOH5Z_BZIP2:
        return bzip2_encode(values, count, src, n, dst, cap, out);
    case GOH5Z_LZF: {
        uint32_t *table = n > UINT32_MAX - 1 ? NULL : goh5z_scratch(s, TABLE, GOH5Z_LZF_TABLE * sizeof *table);
        if (table == NULL) {
            return GOH5Z_ENOMEM;
        }
        /* The result must be shorter than the data, because libhdf5 records that a filter was
         * skipped only if the length of the chunk changes. */
        *out = n == 0 ? 0 : goh5z_lzf_encode(src, n, dst, cap < n ? cap : n - 1, table);
        return *out == 0 ? GOH5Z_EGROWS : 0;
    }
    case GOH5Z_LZ4:
        return lz4_encode(values, count, src, n, dst, cap, out);
    case GOH5Z_BITSHUFFLE:
        return bits_encode(s, values, count, src, n, dst, cap, out);
    case GOH5Z_ZSTD:
        return zstd_encode(s, count > 0 ? (int)values[0] : 3, src, n, dst, cap, out);
    default:
        return GOH5Z_EFILTER;
    }
}

size_t goh5z_bound(int32_t id, const uint32_t *values, size_t count, size_t n)
{
    switch (id) {
    case GOH5Z_DEFLATE: {
        size_t a = libdeflate_zlib_compress_bound(NULL, n), b = compressBound(n);
        return a > b ? a : b;
    }
    case GOH5Z_FLETCHER32:
    case GOH5Z_SZIP:
        return n + 4;
    case GOH5Z_BZIP2:
        return n + n / 100 + 600;
    case GOH5Z_LZ4: {
        size_t block = lz4_block_size(values, count, n);
        return LZ4_HEADER + n + (block == 0 ? 0 : (n + block - 1) / block * 4) + n / 255 + 16;
    }
    case GOH5Z_BITSHUFFLE: {
        bits_t p;
        if (bits_params(values, count, &p) < 0 || p.how == BITS_ALONE) {
            return n;
        }
        size_t blocks = n / (p.block * p.element) + 1;
        return BITS_HEADER + n + blocks * (4 + 64) + n / 128;
    }
    case GOH5Z_ZSTD:
        return ZSTD_compressBound(n);
    default:
        return n;
    }
}

/* ---------- pipelines ---------- */

enum { MAX_STEPS = 32 };

/* Both byte orders of the sums are valid, because HDF5 before 1.6.3 swapped the bytes on
 * little-endian machines. */
int goh5z_check(const uint8_t *src, size_t n)
{
    uint32_t sum = goh5z_fletcher32(src, n - 4);
    const uint8_t *p = src + n - 4;
    uint32_t stored = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    uint32_t swapped = (sum & 0x00FF00FF) << 8 | (sum >> 8 & 0x00FF00FF);
    return stored == sum || stored == swapped;
}

/* Returns the active filters of a packed pipeline, in the order of writing. */
static int unpack(const uint32_t *words, size_t n, uint32_t mask, goh5z_step_t *steps, int *index)
{
    int count = 0;
    size_t at = 0;
    for (int i = 0; at + 3 <= n && i < MAX_STEPS; i++) {
        goh5z_step_t step = {(int32_t)words[at], words[at + 1], words + at + 3, words[at + 2]};
        at += 3 + step.count;
        if (!(mask >> i & 1)) {
            steps[count] = step;
            index[count++] = i;
        }
    }
    return count;
}

int goh5z_pipeline_decode(goh5z_state_t *s, const uint32_t *steps, size_t words, uint32_t mask, int32_t check,
                          const uint8_t *src, size_t n, uint8_t *dst, size_t cap, size_t *out, int32_t *failed)
{
    goh5z_step_t step[MAX_STEPS];
    int index[MAX_STEPS];
    size_t bound[MAX_STEPS + 1];
    int count = unpack(steps, words, mask, step, index);
    bound[0] = cap;
    for (int i = 0; i < count; i++) {
        size_t b = goh5z_bound(step[i].id, step[i].values, step[i].count, bound[i]);
        bound[i + 1] = b + b / 8 + 64; /* the output of other encoders may be a little longer */
    }
    const uint8_t *p = src;
    int turn = PING;
    *failed = -1;
    for (int i = count - 1; i >= 0; i--) {
        int rc = 0;
        if (step[i].id == GOH5Z_FLETCHER32) {
            rc = n < 4 ? GOH5Z_EDATA : !check || goh5z_check(p, n) ? 0 : GOH5Z_ECHECKSUM;
            n -= 4;
        } else {
            size_t room = bound[i], len = 0;
            uint8_t *to = i == 0 ? dst : goh5z_scratch(s, turn, room);
            if (to == NULL) {
                return GOH5Z_ENOMEM;
            }
            rc = goh5z_decode(s, step[i].id, step[i].values, step[i].count, p, n, to, room, &len);
            if (rc == 0 && len == 0) {
                rc = GOH5Z_EDATA; /* libhdf5 treats an empty result as a failure */
            }
            p = to;
            n = len;
            turn = turn == PING ? PONG : PING;
        }
        if (rc < 0) {
            *failed = index[i];
            *out = n;
            return rc;
        }
    }
    *out = n;
    if (p != dst) {
        if (n > cap) {
            return GOH5Z_EROOM;
        }
        memcpy(dst, p, n);
    }
    return 0;
}

int goh5z_pipeline_encode(goh5z_state_t *s, const uint32_t *steps, size_t words, int32_t exact, const uint8_t *src,
                          size_t n, uint8_t *dst, size_t cap, size_t *out, uint32_t *mask, int32_t *failed)
{
    goh5z_step_t step[MAX_STEPS];
    int index[MAX_STEPS];
    int count = unpack(steps, words, *mask, step, index);
    const uint8_t *p = src;
    int turn = PING;
    *failed = -1;
    for (int i = 0; i < count; i++) {
        size_t room = goh5z_bound(step[i].id, step[i].values, step[i].count, n), len = 0;
        uint8_t *to = i == count - 1 ? dst : goh5z_scratch(s, turn, room);
        if (to == NULL) {
            return GOH5Z_ENOMEM;
        }
        if (i == count - 1) {
            room = cap;
        }
        int rc = goh5z_encode(s, step[i].id, step[i].values, step[i].count, exact, p, n, to, room, &len);
        if (rc == GOH5Z_EROOM && i == count - 1) {
            *failed = index[i];
            return rc; /* the caller's buffer is too short, which is not a failure of the filter */
        }
        if (rc < 0) {
            if (!step[i].optional || rc == GOH5Z_ENOMEM) {
                *failed = index[i];
                return rc;
            }
            *mask |= 1U << index[i];
            continue;
        }
        p = to;
        n = len;
        turn = turn == PING ? PONG : PING;
    }
    *out = n;
    if (p != dst) {
        if (n > cap) {
            *failed = -1;
            return GOH5Z_EROOM;
        }
        memmove(dst, p, n);
    }
    return 0;
}
