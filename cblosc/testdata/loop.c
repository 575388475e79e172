/* loop.c: what a C program needs for the same work, as the peer of the benchmarks.
 *
 * loop compress|decompress CODEC LEVEL TYPESIZE SIZE ROUNDS < DATA
 *
 * cuts the data into items of SIZE bytes, does all of them ROUNDS times with one context, and prints the nanoseconds
 * that one round took. */
#include <blosc2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        return 2;
    }
    int decompress = strcmp(argv[1], "decompress") == 0;
    blosc2_init();
    blosc2_cparams c = BLOSC2_CPARAMS_DEFAULTS;
    c.compcode = (uint8_t)blosc2_compname_to_compcode(argv[2]);
    c.clevel = (uint8_t)atoi(argv[3]);
    c.typesize = atoi(argv[4]);
    c.nthreads = 1;
    int32_t size = atoi(argv[5]);
    long rounds = atol(argv[6]);
    size_t cap = 64u << 20;
    uint8_t *src = malloc(cap), *dst = malloc(2 * cap), *back = malloc(cap);
    size_t n = fread(src, 1, cap, stdin) / (size_t)size;
    blosc2_context *cctx = blosc2_create_cctx(c);
    blosc2_dparams d = BLOSC2_DPARAMS_DEFAULTS;
    d.nthreads = 1;
    blosc2_context *dctx = blosc2_create_dctx(d);
    int32_t *lengths = malloc(n * sizeof *lengths);
    double start = now();
    for (long r = 0; r < (decompress ? 1 : rounds); r++) {
        uint8_t *p = dst;
        for (size_t i = 0; i < n; i++) {
            lengths[i] = blosc2_compress_ctx(cctx, src + i * (size_t)size, size, p, size + BLOSC2_MAX_OVERHEAD);
            if (lengths[i] <= 0) {
                return 1;
            }
            p += lengths[i];
        }
    }
    if (decompress) {
        start = now();
        for (long r = 0; r < rounds; r++) {
            uint8_t *p = dst;
            for (size_t i = 0; i < n; i++) {
                if (blosc2_decompress_ctx(dctx, p, lengths[i], back + i * (size_t)size, size) != size) {
                    return 1;
                }
                p += lengths[i];
            }
        }
    }
    printf("%.0f\n", (now() - start) / (double)rounds);
    return 0;
}
