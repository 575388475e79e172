/* shim_shuffle.c: shuffle of bytes and bits of elements, and its inverse.
 *
 * Both are transpositions. Elements of the common sizes use vectors of 16 bytes, which the
 * compiler translates to interleaving instructions of the machine. All others are processed byte
 * by byte. */
#include "shim.h"

#include <string.h>

typedef uint8_t vec __attribute__((vector_size(16)));

static inline vec load(const uint8_t *p)
{
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void store(uint8_t *p, vec v)
{
    memcpy(p, &v, sizeof v);
}

static inline vec low(vec a, vec b)
{
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

static inline vec high(vec a, vec b)
{
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

/* The inverse shuffle of 16 elements of `size` bytes takes log2(size) rounds. Each interleaves
 * the first half of the planes with the second. */
#define UNSHUFFLE(SIZE)                                                                                                \
    static size_t unshuffle##SIZE(const uint8_t *src, size_t n, uint8_t *dst)                                          \
    {                                                                                                                  \
        size_t i = 0;                                                                                                  \
        for (; i + 16 <= n; i += 16) {                                                                                 \
            vec v[SIZE], w[SIZE];                                                                                      \
            for (int k = 0; k < SIZE; k++) {                                                                           \
                v[k] = load(src + (size_t)k * n + i);                                                                  \
            }                                                                                                          \
            for (int step = SIZE; step > 1; step /= 2) {                                                               \
                for (int k = 0; k < SIZE / 2; k++) {                                                                   \
                    w[2 * k] = low(v[k], v[k + SIZE / 2]);                                                             \
                    w[2 * k + 1] = high(v[k], v[k + SIZE / 2]);                                                        \
                }                                                                                                      \
                for (int k = 0; k < SIZE; k++) {                                                                       \
                    v[k] = w[k];                                                                                       \
                }                                                                                                      \
            }                                                                                                          \
            for (int k = 0; k < SIZE; k++) {                                                                           \
                store(dst + i * SIZE + (size_t)k * 16, v[k]);                                                          \
            }                                                                                                          \
        }                                                                                                              \
        return i;                                                                                                      \
    }

UNSHUFFLE(2)
UNSHUFFLE(4)
UNSHUFFLE(8)
UNSHUFFLE(16)

static inline vec even(vec a, vec b)
{
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
}

static inline vec odd(vec a, vec b)
{
    return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
}

/* The shuffle: rounds that separate even and odd bytes. */
#define SHUFFLE(SIZE)                                                                                                  \
    static size_t shuffle##SIZE(const uint8_t *src, size_t n, uint8_t *dst)                                            \
    {                                                                                                                  \
        size_t i = 0;                                                                                                  \
        for (; i + 16 <= n; i += 16) {                                                                                 \
            vec v[SIZE], w[SIZE];                                                                                      \
            for (int k = 0; k < SIZE; k++) {                                                                           \
                v[k] = load(src + i * SIZE + (size_t)k * 16);                                                          \
            }                                                                                                          \
            for (int step = SIZE; step > 1; step /= 2) {                                                               \
                for (int k = 0; k < SIZE / 2; k++) {                                                                   \
                    w[k] = even(v[2 * k], v[2 * k + 1]);                                                               \
                    w[k + SIZE / 2] = odd(v[2 * k], v[2 * k + 1]);                                                     \
                }                                                                                                      \
                for (int k = 0; k < SIZE; k++) {                                                                       \
                    v[k] = w[k];                                                                                       \
                }                                                                                                      \
            }                                                                                                          \
            for (int k = 0; k < SIZE; k++) {                                                                           \
                store(dst + (size_t)k * n + i, v[k]);                                                                  \
            }                                                                                                          \
        }                                                                                                              \
        return i;                                                                                                      \
    }

SHUFFLE(2)
SHUFFLE(4)
SHUFFLE(8)
SHUFFLE(16)

/* Converts elements to planes, or with `back` planes to elements. An incomplete element at the
 * end is copied. */
static void turn(int back, size_t size, const uint8_t *src, size_t n, uint8_t *dst)
{
    static const struct {
        size_t size;
        size_t (*there)(const uint8_t *src, size_t n, uint8_t *dst);
        size_t (*back)(const uint8_t *src, size_t n, uint8_t *dst);
    } fast[] = {
        {2, shuffle2, unshuffle2}, {4, shuffle4, unshuffle4}, {8, shuffle8, unshuffle8}, {16, shuffle16, unshuffle16}};
    size_t elements = n / size, done = 0;
    if (size == 1 || elements < 2) {
        memcpy(dst, src, n);
        return;
    }
    for (size_t i = 0; i < sizeof fast / sizeof *fast; i++) {
        if (fast[i].size == size) {
            done = (back ? fast[i].back : fast[i].there)(src, elements, dst);
        }
    }
    /* Process the planes in ranges of elements that fit into the cache. */
    for (; done < elements; done += 256) {
        size_t stop = elements - done < 256 ? elements : done + 256;
        for (size_t k = 0; k < size; k++) {
            size_t plane = k * elements;
            if (back) {
                for (size_t i = done; i < stop; i++) {
                    dst[i * size + k] = src[plane + i];
                }
            } else {
                for (size_t i = done; i < stop; i++) {
                    dst[plane + i] = src[i * size + k];
                }
            }
        }
    }
    memcpy(dst + elements * size, src + elements * size, n % size);
}

void goh5z_unshuffle(size_t size, const uint8_t *src, size_t n, uint8_t *dst)
{
    turn(1, size, src, n, dst);
}

void goh5z_shuffle(size_t size, const uint8_t *src, size_t n, uint8_t *dst)
{
    turn(0, size, src, n, dst);
}

/* ---------- bits ---------- */

/* Transposes the 8 by 8 bits of x, whose rows are bytes (Warren, Hacker's Delight, 7-3). */
static inline uint64_t transpose8(uint64_t x)
{
    uint64_t t = (x ^ (x >> 7)) & 0x00AA00AA00AA00AAULL;
    x ^= t ^ (t << 7);
    t = (x ^ (x >> 14)) & 0x0000CCCC0000CCCCULL;
    x ^= t ^ (t << 14);
    t = (x ^ (x >> 28)) & 0x00000000F0F0F0F0ULL;
    return x ^ t ^ (t << 28);
}

/* A block of bits contains, for each byte of an element and each bit of it from the lowest, one
 * bit of every element: element e is bit e % 8 of byte e / 8. */
void goh5z_bit_block(size_t size, const uint8_t *src, size_t elements, uint8_t *dst)
{
    size_t row = elements / 8;
    for (size_t k = 0; k < size; k++) {
        for (size_t g = 0; g < row; g++) {
            const uint8_t *from = src + g * 8 * size + k;
            uint64_t x = 0;
            for (unsigned e = 0; e < 8; e++) {
                x |= (uint64_t)from[e * size] << (8 * e);
            }
            x = transpose8(x);
            uint8_t *to = dst + k * 8 * row + g;
            for (unsigned b = 0; b < 8; b++) {
                to[b * row] = (uint8_t)(x >> (8 * b));
            }
        }
    }
}

/* Processes the bytes of eight rows, eight columns at a time: an 8 by 8 transposition of bytes,
 * then one of bits for each. */
void goh5z_unbit_block(size_t size, const uint8_t *src, size_t elements, uint8_t *dst)
{
    size_t row = elements / 8;
    for (size_t k = 0; k < size; k++) {
        const uint8_t *from = src + k * 8 * row;
        size_t g = 0;
        for (; g + 8 <= row; g += 8) {
            uint64_t v[8], w[8];
            for (unsigned b = 0; b < 8; b++) {
                memcpy(&v[b], from + b * row + g, 8);
            }
            /* Bytes: v[b] byte g becomes w[g] byte b, in three rounds of swapping halves. */
            for (unsigned i = 0; i < 4; i++) {
                w[i] = (v[i] & 0x00000000FFFFFFFFULL) | (v[i + 4] << 32);
                w[i + 4] = (v[i] >> 32) | (v[i + 4] & 0xFFFFFFFF00000000ULL);
            }
            for (unsigned i = 0; i < 8; i += 4) {
                for (unsigned j = i; j < i + 2; j++) {
                    v[j] = (w[j] & 0x0000FFFF0000FFFFULL) | ((w[j + 2] & 0x0000FFFF0000FFFFULL) << 16);
                    v[j + 2] = ((w[j] >> 16) & 0x0000FFFF0000FFFFULL) | (w[j + 2] & 0xFFFF0000FFFF0000ULL);
                }
            }
            for (unsigned i = 0; i < 8; i += 2) {
                w[i] = (v[i] & 0x00FF00FF00FF00FFULL) | ((v[i + 1] & 0x00FF00FF00FF00FFULL) << 8);
                w[i + 1] = ((v[i] >> 8) & 0x00FF00FF00FF00FFULL) | (v[i + 1] & 0xFF00FF00FF00FF00ULL);
            }
            for (unsigned i = 0; i < 8; i++) {
                uint64_t x = transpose8(w[i]);
                uint8_t *to = dst + (g + i) * 8 * size + k;
                for (unsigned e = 0; e < 8; e++) {
                    to[e * size] = (uint8_t)(x >> (8 * e));
                }
            }
        }
        for (; g < row; g++) {
            uint64_t x = 0;
            for (unsigned b = 0; b < 8; b++) {
                x |= (uint64_t)from[b * row + g] << (8 * b);
            }
            x = transpose8(x);
            uint8_t *to = dst + g * 8 * size + k;
            for (unsigned e = 0; e < 8; e++) {
                to[e * size] = (uint8_t)(x >> (8 * e));
            }
        }
    }
}

/* ---------- checksum ---------- */

/* Fletcher's sums over words of two bytes, the first byte high; an odd last byte is a high byte.
 * The sums must be folded after at most 360 words. */
uint32_t goh5z_fletcher32(const uint8_t *p, size_t n)
{
    uint32_t a = 0, b = 0;
    for (size_t words = n / 2; words > 0;) {
        size_t run = words > 360 ? 360 : words;
        words -= run;
        for (; run > 0; run--, p += 2) {
            a += (uint32_t)p[0] << 8 | p[1];
            b += a;
        }
        a = (a & 0xFFFF) + (a >> 16);
        b = (b & 0xFFFF) + (b >> 16);
    }
    if (n % 2 != 0) {
        a += (uint32_t)*p << 8;
        b += a;
        a = (a & 0xFFFF) + (a >> 16);
        b = (b & 0xFFFF) + (b >> 16);
    }
    a = (a & 0xFFFF) + (a >> 16);
    b = (b & 0xFFFF) + (b >> 16);
    return b << 16 | a;
}
