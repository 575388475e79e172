/* peer.h: the protocol between the programs of this directory and the benchmark.
 *
 * A program prepares its work, prints "ready", and performs one run for each line it reads. It
 * answers each line with the nanoseconds of wall time, the nanoseconds of processor time of all
 * threads, and the results of the run: "key=number" words, whose values the benchmark compares
 * between the programs.
 *
 * PEER_VERSION is the name and version of the library, with _ instead of spaces. */
#ifndef PEER_H
#define PEER_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static void die(const char *what)
{
    fprintf(stderr, "peer: %s\n", what);
    exit(1);
}

static int64_t wall(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1000000000 * (int64_t)t.tv_sec + t.tv_nsec;
}

static int64_t cpu(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return 1000000000 * ((int64_t)u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1000 * ((int64_t)u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* A run. Its argument belongs to the program, and it returns its result. */
typedef uint64_t (*peer_run)(void *);

static void serve(peer_run before, peer_run run, void *arg, const char *key)
{
    char line[64];
    printf("version=%s\nready\n", PEER_VERSION);
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        if (before) {
            before(arg);
        }
        int64_t c = cpu(), w = wall();
        uint64_t found = run(arg);
        w = wall() - w;
        printf("%lld %lld %s=%llu\n", (long long)w, (long long)(cpu() - c), key, (unsigned long long)found);
        fflush(stdout);
    }
}

/* checksum is the sum of all 32-bit words. */
static inline uint64_t checksum(const uint8_t *b, size_t n)
{
    uint64_t s = 0;
    for (size_t i = 0; i + 4 <= n; i += 4) {
        uint32_t v;
        memcpy(&v, b + i, 4);
        s += v;
    }
    return s;
}

/* draw returns a random number below a bound. All implementations use this generator. */
static inline uint64_t draw(uint64_t *state, uint64_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % below;
}

/* slurp reads at most n bytes of a file. */
static inline uint8_t *slurp(const char *path, size_t n, size_t *got)
{
    FILE *f = fopen(path, "rb");
    uint8_t *b = malloc(n);
    if (!f || !b) {
        die(path);
    }
    *got = fread(b, 1, n, f);
    fclose(f);
    return b;
}

#endif
