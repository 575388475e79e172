/* Generator of the golden chunks and frames, with C-Blosc2 2.17.1.
 *
 *   cc -O2 -I third_party/lib/linux_amd64 -o /tmp/gen internal/format/testdata/gen/gen.c \
 *      third_party/lib/linux_amd64/libgoblosc2.a -lpthread -lm -ldl
 *   (cd internal/format/testdata && BLOSC_NTHREADS=1 /tmp/gen)
 *
 * It uses one thread, because the bytes must not differ from run to run. */

#include <b2nd.h>
#include <blosc2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x)                                                                                                       \
    do {                                                                                                               \
        long long rc_ = (long long)(x);                                                                                \
        if (rc_ < 0) {                                                                                                 \
            fprintf(stderr, "%s:%d: %s: %lld\n", __FILE__, __LINE__, #x, rc_);                                         \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static void save(const char *name, const void *data, size_t len)
{
    FILE *f = fopen(name, "wb");
    if (f == NULL || fwrite(data, 1, len, f) != len || fclose(f) != 0) {
        perror(name);
        exit(1);
    }
}

/* The values of every chunk: 1,000 32-bit integers 0, 7, 14, … */
#define N 1000
static int32_t values[N];

static blosc2_cparams params(uint8_t codec, uint8_t level)
{
    blosc2_cparams p = BLOSC2_CPARAMS_DEFAULTS;
    p.compcode = codec;
    p.clevel = level;
    p.typesize = 4;
    p.nthreads = 1;
    return p;
}

static void chunk(const char *name, blosc2_cparams p, const void *src, int32_t len)
{
    static uint8_t dst[1 << 20];
    blosc2_context *ctx = blosc2_create_cctx(p);
    int n = blosc2_compress_ctx(ctx, src, len, dst, (int32_t)sizeof dst);
    CHECK(n);
    blosc2_free_ctx(ctx);
    save(name, dst, (size_t)n);
}

static void chunks(void)
{
    blosc2_cparams p = params(BLOSC_BLOSCLZ, 5);
    chunk("chunk/blosclz-shuffle-split.bin", p, values, sizeof values);
    p.blocksize = 1024; /* three full blocks and a short one */
    chunk("chunk/blosclz-shuffle-blocks.bin", p, values, sizeof values);
    p.splitmode = BLOSC_NEVER_SPLIT;
    chunk("chunk/blosclz-shuffle-nosplit.bin", p, values, sizeof values);
    memset(p.filters, 0, sizeof p.filters);
    chunk("chunk/blosclz-nofilter.bin", p, values, sizeof values);
    p.filters[BLOSC2_MAX_FILTERS - 1] = BLOSC_BITSHUFFLE;
    chunk("chunk/blosclz-bitshuffle.bin", p, values, sizeof values);
    p.filters[0] = BLOSC_DELTA;
    chunk("chunk/blosclz-delta-bitshuffle.bin", p, values, sizeof values);
    chunk("chunk/lz4.bin", params(BLOSC_LZ4, 5), values, sizeof values);
    chunk("chunk/lz4hc.bin", params(BLOSC_LZ4HC, 9), values, sizeof values);
    chunk("chunk/zlib.bin", params(BLOSC_ZLIB, 6), values, sizeof values);
    chunk("chunk/zstd.bin", params(BLOSC_ZSTD, 9), values, sizeof values);
    chunk("chunk/stored.bin", params(BLOSC_BLOSCLZ, 0), values, 256);
    chunk("chunk/empty.bin", params(BLOSC_BLOSCLZ, 5), values, 0);

    static int32_t nine[N];
    for (int i = 0; i < N; i++)
        nine[i] = 9;
    p = params(BLOSC_BLOSCLZ, 5);
    chunk("chunk/byte-run.bin", p, nine, sizeof nine);
    static int32_t zero[N];
    chunk("chunk/zeros-found.bin", p, zero, sizeof zero);

    uint8_t dst[64];
    int n = blosc2_chunk_zeros(p, sizeof values, dst, sizeof dst);
    CHECK(n);
    save("chunk/special-zeros.bin", dst, (size_t)n);
    n = blosc2_chunk_nans(p, sizeof values, dst, sizeof dst);
    CHECK(n);
    save("chunk/special-nan4.bin", dst, (size_t)n);
    p.typesize = 8;
    n = blosc2_chunk_nans(p, sizeof values, dst, sizeof dst);
    CHECK(n);
    save("chunk/special-nan8.bin", dst, (size_t)n);
    n = blosc2_chunk_uninit(p, sizeof values, dst, sizeof dst);
    CHECK(n);
    save("chunk/special-uninit.bin", dst, (size_t)n);
    p.typesize = 4;
    n = blosc2_chunk_repeatval(p, sizeof values, dst, sizeof dst, &values[3]);
    CHECK(n);
    save("chunk/special-repeat.bin", dst, (size_t)n);

    /* Training a dictionary needs many blocks. */
    static int32_t text[20000];
    for (int i = 0; i < 20000; i++)
        text[i] = (i * 2654435761u) >> 22;
    p = params(BLOSC_ZSTD, 3);
    p.blocksize = 2048;
    p.use_dict = 1;
    chunk("chunk/zstd-dict.bin", p, text, sizeof text);

    /* Only this function writes the 16-byte header of Blosc1, but it leaves the version
     * at 5. Byte 0 is set to 2, as every Blosc1 library does. */
    setenv("BLOSC_BLOSC1_COMPAT", "1", 1);
    static uint8_t b1[sizeof values + 32];
    n = blosc1_compress(5, BLOSC_SHUFFLE, 4, sizeof values, values, b1, sizeof b1);
    CHECK(n);
    b1[0] = 2;
    save("chunk/blosc1-shuffle.bin", b1, (size_t)n);
    n = blosc1_compress(0, BLOSC_NOSHUFFLE, 4, 256, values, b1, sizeof b1);
    CHECK(n);
    b1[0] = 2;
    save("chunk/blosc1-stored.bin", b1, (size_t)n);
    unsetenv("BLOSC_BLOSC1_COMPAT");
}

/* A frame of six chunks: values, zeros, NaN, not initialized, a repeated value, and a short one. */
static void frame(char *path, bool contiguous)
{
    blosc2_cparams p = params(BLOSC_BLOSCLZ, 5);
    blosc2_dparams d = BLOSC2_DPARAMS_DEFAULTS;
    blosc2_storage s = {.contiguous = contiguous, .urlpath = path, .cparams = &p, .dparams = &d};
    blosc2_remove_urlpath(path);
    blosc2_schunk *sc = blosc2_schunk_new(&s);
    const uint8_t fixed[] = {0x93, 1, 2, 3};
    CHECK(blosc2_meta_add(sc, "first", (uint8_t *)fixed, sizeof fixed));
    CHECK(blosc2_meta_add(sc, "second-with-a-name-31-bytes-lon", (uint8_t *)"\xa3xyz", 4));
    uint8_t z[32], nan[32], un[32], rep[36];
    CHECK(blosc2_chunk_zeros(p, sizeof values, z, sizeof z));
    CHECK(blosc2_chunk_nans(p, sizeof values, nan, sizeof nan));
    CHECK(blosc2_chunk_uninit(p, sizeof values, un, sizeof un));
    CHECK(blosc2_chunk_repeatval(p, sizeof values, rep, sizeof rep, &values[3]));
    CHECK(blosc2_schunk_append_buffer(sc, values, sizeof values));
    CHECK(blosc2_schunk_append_chunk(sc, z, true));
    CHECK(blosc2_schunk_append_chunk(sc, nan, true));
    CHECK(blosc2_schunk_append_chunk(sc, un, true));
    CHECK(blosc2_schunk_append_chunk(sc, rep, true));
    CHECK(blosc2_schunk_append_buffer(sc, values, 400));
    CHECK(blosc2_vlmeta_add(sc, "note", (uint8_t *)"\xa5hello", 6, NULL));
    CHECK(blosc2_vlmeta_add(sc, "longer", (uint8_t *)values, sizeof values, NULL));
    blosc2_schunk_free(sc);
}

/* A frame that was edited: chunks deleted, replaced by shorter and longer ones,
 * and inserted at the front. */
static void edited(char *path, bool contiguous)
{
    blosc2_cparams p = params(BLOSC_BLOSCLZ, 5);
    blosc2_dparams d = BLOSC2_DPARAMS_DEFAULTS;
    blosc2_storage s = {.contiguous = contiguous, .urlpath = path, .cparams = &p, .dparams = &d};
    blosc2_remove_urlpath(path);
    blosc2_schunk *sc = blosc2_schunk_new(&s);
    for (int i = 0; i < 5; i++)
        CHECK(blosc2_schunk_append_buffer(sc, values + i, 400));
    CHECK(blosc2_schunk_delete_chunk(sc, 1));
    uint8_t z[32], stored[464];
    CHECK(blosc2_chunk_zeros(p, 400, z, sizeof z));
    CHECK(blosc2_schunk_update_chunk(sc, 0, z, true));
    p.clevel = 0;
    blosc2_context *ctx = blosc2_create_cctx(p);
    CHECK(blosc2_compress_ctx(ctx, values + 100, 400, stored, sizeof stored));
    blosc2_free_ctx(ctx);
    CHECK(blosc2_schunk_update_chunk(sc, 2, stored, true));
    CHECK(blosc2_schunk_insert_chunk(sc, 0, stored, true));
    blosc2_schunk_free(sc);
}

static void empty(char *path)
{
    blosc2_cparams p = params(BLOSC_ZSTD, 9);
    blosc2_dparams d = BLOSC2_DPARAMS_DEFAULTS;
    blosc2_storage s = {.contiguous = true, .urlpath = path, .cparams = &p, .dparams = &d};
    blosc2_remove_urlpath(path);
    blosc2_schunk_free(blosc2_schunk_new(&s));
}

static void filled(char *path)
{
    blosc2_cparams p = params(BLOSC_LZ4, 5);
    blosc2_dparams d = BLOSC2_DPARAMS_DEFAULTS;
    blosc2_storage s = {.contiguous = true, .urlpath = path, .cparams = &p, .dparams = &d};
    blosc2_remove_urlpath(path);
    blosc2_schunk *sc = blosc2_schunk_new(&s);
    CHECK(blosc2_schunk_fill_special(sc, 10500, BLOSC2_SPECIAL_ZERO, 4000));
    blosc2_schunk_free(sc);
}

static void array(char *path, int8_t ndim, const int64_t *shape, const int32_t *chunks, const int32_t *blocks,
                  const char *dtype)
{
    blosc2_cparams p = params(BLOSC_BLOSCLZ, 5);
    blosc2_dparams d = BLOSC2_DPARAMS_DEFAULTS;
    blosc2_storage s = {.contiguous = true, .urlpath = path, .cparams = &p, .dparams = &d};
    blosc2_remove_urlpath(path);
    b2nd_context_t *ctx = b2nd_create_ctx(&s, ndim, shape, chunks, blocks, dtype, DTYPE_NUMPY_FORMAT, NULL, 0);
    b2nd_array_t *a;
    CHECK(b2nd_zeros(ctx, &a));
    CHECK(b2nd_free(a));
    CHECK(b2nd_free_ctx(ctx));
}

int main(void)
{
    blosc2_init();
    for (int i = 0; i < N; i++)
        values[i] = 7 * i;
    chunks();
    frame("frame/mixed.b2frame", true);
    frame("frame/mixed-sparse.b2frame", false);
    edited("frame/edited.b2frame", true);
    edited("frame/edited-sparse.b2frame", false);
    empty("frame/empty.b2frame");
    filled("frame/filled.b2frame");
    array("frame/0d.b2nd", 0, (int64_t[]){0}, (int32_t[]){0}, (int32_t[]){0}, "<f4");
    array("frame/2d.b2nd", 2, (int64_t[]){10, 7}, (int32_t[]){4, 5}, (int32_t[]){2, 3}, "<i4");
    array("frame/zero-extent.b2nd", 2, (int64_t[]){20, 0}, (int32_t[]){7, 0}, (int32_t[]){3, 0}, "|V4");
    array("frame/8d.b2nd", 8, (int64_t[]){2, 1, 3, 1, 2, 1, 2, 1}, (int32_t[]){2, 1, 2, 1, 1, 1, 2, 1},
          (int32_t[]){1, 1, 1, 1, 1, 1, 1, 1}, NULL);
    blosc2_destroy();
    return 0;
}
