/* shim_buf.c: blobs, the encoding of results and arguments of variable size. A blob contains words
 * of 8 bytes in native order, bytes (length, bytes, zeros up to the next word) and strings (like
 * bytes, but with at least one zero). */
#include "shim_internal.h"

#include <string.h>

enum { WORD = sizeof(uint64_t) };

static uint8_t *room(goh5_buf_t *b, size_t n)
{
    if (b->failed) {
        return NULL;
    }
    if (n > b->cap - b->len) {
        size_t cap = b->cap == 0 ? 512 : b->cap;
        while (cap - b->len < n) {
            if (cap > SIZE_MAX / 2) {
                b->failed = 1;
                return NULL;
            }
            cap *= 2;
        }
        uint8_t *data = hyperslab_alloc(cap);
        if (data == NULL) {
            b->failed = 1;
            return NULL;
        }
        if (b->len > 0) {
            memcpy(data, b->data, b->len);
        }
        hyperslab_free(b->data);
        b->data = data;
        b->cap = cap;
    }
    uint8_t *at = b->data + b->len;
    b->len += n;
    return at;
}

void goh5_put(goh5_buf_t *b, uint64_t word)
{
    uint8_t *at = room(b, WORD);
    if (at != NULL) {
        memcpy(at, &word, WORD);
    }
}

void goh5_put_raw(goh5_buf_t *b, const void *p, size_t n)
{
    size_t padded = n <= SIZE_MAX - WORD ? (n + WORD - 1) / WORD * WORD : SIZE_MAX;
    uint8_t *at = room(b, padded);
    if (at != NULL && n > 0) {
        memcpy(at, p, n);
    }
}

void goh5_put_bytes(goh5_buf_t *b, const void *p, size_t n)
{
    goh5_put(b, n);
    goh5_put_raw(b, p, n);
}

void goh5_put_string(goh5_buf_t *b, const void *p, size_t n)
{
    goh5_put(b, n);
    uint8_t *at = room(b, n <= SIZE_MAX - WORD ? (n / WORD + 1) * WORD : SIZE_MAX);
    if (at != NULL && n > 0) {
        memcpy(at, p, n);
    }
}

void goh5_put_text(goh5_buf_t *b, const char *s)
{
    goh5_put_string(b, s, s == NULL ? 0 : strlen(s));
}

void goh5_set(goh5_buf_t *b, size_t at, uint64_t word)
{
    if (!b->failed) {
        memcpy(b->data + at, &word, WORD);
    }
}

int goh5_buf_end(goh5_buf_t *b, goh5_blob_t *out)
{
    if (b->failed) {
        goh5_buf_drop(b);
        return GOH5_ENOMEM;
    }
    out->data = b->data;
    out->len = b->len;
    *b = (goh5_buf_t){0};
    return 0;
}

void goh5_buf_drop(goh5_buf_t *b)
{
    hyperslab_free(b->data);
    *b = (goh5_buf_t){0};
}

uint64_t goh5_get(goh5_in_t *in)
{
    uint64_t word = 0;
    if (in->left < WORD) {
        in->bad = 1;
        in->left = 0;
        return 0;
    }
    memcpy(&word, in->p, WORD);
    in->p += WORD;
    in->left -= WORD;
    return word;
}

const uint8_t *goh5_get_bytes(goh5_in_t *in, size_t *n)
{
    uint64_t len = goh5_get(in);
    uint64_t padded = (len + WORD - 1) / WORD * WORD;
    *n = 0;
    if (padded < len || padded > in->left) {
        in->bad = 1;
        in->left = 0;
        return (const uint8_t *)"";
    }
    const uint8_t *p = in->p;
    in->p += padded;
    in->left -= padded;
    *n = (size_t)len;
    return p;
}

const char *goh5_get_text(goh5_in_t *in)
{
    uint64_t n = goh5_get(in);
    if (n >= in->left || in->p[n] != 0) {
        in->bad = 1;
        in->left = 0;
        return "";
    }
    const char *text = (const char *)in->p;
    uint64_t padded = (n / WORD + 1) * WORD;
    if (padded > in->left) {
        in->bad = 1;
        in->left = 0;
        return "";
    }
    in->p += padded;
    in->left -= padded;
    return text;
}
