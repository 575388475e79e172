/* blosc2.c: tasks in C with C-Blosc2, on one thread, as the peer of cblosc and frameio.
 *
 * blosc2 compress|decompress RAW BYTES SIZE CODEC LEVEL ROUNDS   buffers of SIZE bytes, one after the other
 * blosc2 append RAW BYTES SIZE CODEC LEVEL OUT                   a new frame, chunk by chunk
 * blosc2 random FRAME COUNT                                      COUNT random chunks of a frame on disk */
#include <blosc2.h>
#define PEER_VERSION "C-Blosc2_" BLOSC2_VERSION_STRING
#include "peer.h"

typedef struct {
    uint8_t *raw, *packed, *back;
    size_t bytes;
    int32_t size, *lengths;
    long rounds;
    blosc2_cparams c;
    blosc2_context *cctx, *dctx;
    const char *out;
    blosc2_schunk *frame;
} job;

static uint64_t compress_all(void *arg)
{
    job *j = arg;
    uint64_t total = 0;
    for (long r = 0; r < j->rounds; r++) {
        uint8_t *p = j->packed;
        for (size_t i = 0; i < j->bytes / (size_t)j->size; i++) {
            j->lengths[i] =
                blosc2_compress_ctx(j->cctx, j->raw + i * (size_t)j->size, j->size, p, j->size + BLOSC2_MAX_OVERHEAD);
            if (j->lengths[i] <= 0) {
                die("compress");
            }
            p += j->lengths[i];
        }
        total = (uint64_t)(p - j->packed);
    }
    return total;
}

static uint64_t decompress_all(void *arg)
{
    job *j = arg;
    for (long r = 0; r < j->rounds; r++) {
        uint8_t *p = j->packed;
        for (size_t i = 0; i < j->bytes / (size_t)j->size; i++) {
            if (blosc2_decompress_ctx(j->dctx, p, j->lengths[i], j->back + i * (size_t)j->size, j->size) != j->size) {
                die("decompress");
            }
            p += j->lengths[i];
        }
    }
    return 0;
}

static uint64_t forget(void *arg)
{
    job *j = arg;
    remove(j->out);
    return 0;
}

static uint64_t append_all(void *arg)
{
    job *j = arg;
    blosc2_storage s = {.contiguous = true, .urlpath = (char *)j->out, .cparams = &j->c};
    blosc2_schunk *f = blosc2_schunk_new(&s);
    if (!f) {
        die("new frame");
    }
    for (size_t i = 0; i < j->bytes / (size_t)j->size; i++) {
        if (blosc2_schunk_append_buffer(f, j->raw + i * (size_t)j->size, j->size) < 0) {
            die("append");
        }
    }
    int64_t n = blosc2_schunk_frame_len(f);
    blosc2_schunk_free(f);
    return (uint64_t)n;
}

static uint64_t read_random(void *arg)
{
    job *j = arg;
    uint64_t state = 1, sum = 0;
    for (long r = 0; r < j->rounds; r++) {
        int64_t k = (int64_t)draw(&state, (uint64_t)j->frame->nchunks);
        int n = blosc2_schunk_decompress_chunk(j->frame, k, j->back, j->frame->chunksize);
        if (n < 0) {
            die("decompress chunk");
        }
        sum += j->back[0];
    }
    return sum;
}

int main(int argc, char **argv)
{
    job j = {0};
    blosc2_init();
    if (argc == 4 && strcmp(argv[1], "random") == 0) {
        j.frame = blosc2_schunk_open(argv[2]);
        j.rounds = atol(argv[3]);
        if (!j.frame) {
            die("open frame");
        }
        j.back = malloc((size_t)j.frame->chunksize);
        serve(NULL, read_random, &j, "sum");
        return 0;
    }
    if (argc != 8) {
        return 2;
    }
    j.raw = slurp(argv[2], (size_t)atoll(argv[3]), &j.bytes);
    j.size = atoi(argv[4]);
    j.c = BLOSC2_CPARAMS_DEFAULTS;
    j.c.compcode = (uint8_t)blosc2_compname_to_compcode(argv[5]);
    j.c.clevel = (uint8_t)atoi(argv[6]);
    j.c.typesize = 4;
    j.c.nthreads = 1;
    if (strcmp(argv[1], "append") == 0) {
        j.out = argv[7];
        serve(forget, append_all, &j, "stored");
        return 0;
    }
    j.rounds = atol(argv[7]);
    blosc2_dparams d = BLOSC2_DPARAMS_DEFAULTS;
    d.nthreads = 1;
    j.cctx = blosc2_create_cctx(j.c);
    j.dctx = blosc2_create_dctx(d);
    j.packed = malloc(2 * j.bytes + BLOSC2_MAX_OVERHEAD);
    j.back = malloc(j.bytes);
    j.lengths = malloc((j.bytes / (size_t)j.size + 1) * sizeof *j.lengths);
    uint64_t stored = compress_all(&j);
    if (strcmp(argv[1], "compress") == 0) {
        serve(NULL, compress_all, &j, "stored");
        return 0;
    }
    (void)stored;
    serve(NULL, decompress_all, &j, "done");
    return 0;
}
