/* shim_lzf.c: LZF, implemented from its format. A control byte below 32 is followed by that many
 * plus 1 literal bytes. Any other control byte begins a match. Its high 3 bits are the length
 * minus 2; 7 means 9 plus the next byte. Its low 5 bits and the byte after them are the distance
 * to the match minus 1. */
#include "shim.h"

#include <string.h>

enum { MAX_LITERALS = 32, MAX_DISTANCE = 1 << 13, MAX_MATCH = 264, MIN_MATCH = 3 };

int goh5z_lzf_decode(const uint8_t *src, size_t n, uint8_t *dst, size_t cap, size_t *out)
{
    const uint8_t *end = src + n;
    size_t at = 0;
    while (src < end) {
        unsigned control = *src++;
        if (control < 32) {
            size_t run = control + 1;
            if (run > (size_t)(end - src)) {
                return GOH5Z_EDATA;
            }
            if (run > cap - at) {
                return GOH5Z_EROOM;
            }
            memcpy(dst + at, src, run);
            src += run;
            at += run;
            continue;
        }
        size_t len = control >> 5;
        if (len == 7) {
            if (src == end) {
                return GOH5Z_EDATA;
            }
            len += *src++;
        }
        len += 2;
        if (src == end) {
            return GOH5Z_EDATA;
        }
        size_t distance = ((size_t)(control & 31) << 8 | *src++) + 1;
        if (distance > at) {
            return GOH5Z_EDATA;
        }
        if (len > cap - at) {
            return GOH5Z_EROOM;
        }
        if (distance >= len) {
            memcpy(dst + at, dst + at - distance, len);
        } else {
            for (size_t i = 0; i < len; i++) { /* a match may overlap its own output */
                dst[at + i] = dst[at + i - distance];
            }
        }
        at += len;
    }
    *out = at;
    return 0;
}

static inline size_t slot(const uint8_t *p)
{
    uint32_t v = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
    return (v * 2654435761U) >> 17 & (GOH5Z_LZF_TABLE - 1);
}

/* Writes literals; returns 0 if they do not fit. */
static size_t literals(const uint8_t *p, size_t n, uint8_t *dst, size_t cap, size_t at)
{
    while (n > 0) {
        size_t run = n > MAX_LITERALS ? MAX_LITERALS : n;
        if (run + 1 > cap - at) {
            return 0;
        }
        dst[at++] = (uint8_t)(run - 1);
        memcpy(dst + at, p, run);
        at += run;
        p += run;
        n -= run;
    }
    return at;
}

size_t goh5z_lzf_encode(const uint8_t *src, size_t n, uint8_t *dst, size_t cap, uint32_t *table)
{
    size_t i = 0, first = 0, at = 0; /* first: index of the first literal that is not written yet */
    memset(table, 0, GOH5Z_LZF_TABLE * sizeof *table);
    while (i + MIN_MATCH <= n) {
        size_t h = slot(src + i);
        size_t from = table[h]; /* offset plus 1; 0 if the slot is empty */
        table[h] = (uint32_t)(i + 1);
        if (from == 0 || i - (from - 1) > MAX_DISTANCE || memcmp(src + from - 1, src + i, MIN_MATCH) != 0) {
            i++;
            continue;
        }
        from--;
        size_t most = n - i < MAX_MATCH ? n - i : MAX_MATCH;
        size_t len = MIN_MATCH;
        while (len < most && src[from + len] == src[i + len]) {
            len++;
        }
        if (i > first && (at = literals(src + first, i - first, dst, cap, at)) == 0) {
            return 0;
        }
        if (cap - at < 3) {
            return 0;
        }
        size_t back = i - from - 1, code = len - 2;
        if (code < 7) {
            dst[at++] = (uint8_t)(code << 5 | back >> 8);
        } else {
            dst[at++] = (uint8_t)(7U << 5 | back >> 8);
            dst[at++] = (uint8_t)(code - 7);
        }
        dst[at++] = (uint8_t)back;
        for (size_t stop = i + len; ++i < stop;) {
            if (i + MIN_MATCH <= n) {
                table[slot(src + i)] = (uint32_t)(i + 1);
            }
        }
        first = i;
    }
    return n > first ? literals(src + first, n - first, dst, cap, at) : at;
}
