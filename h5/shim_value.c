/* shim_value.c: encoding of elements with pointers as a block without pointers.
 *
 * The block begins with the elements, as they are in memory. Each pointer is replaced by the offset
 * in the block of its target, or 0 for a null pointer. The target of a string is its bytes. A
 * sequence is its length and the offset of its elements, whose pointers are encoded in the same
 * way. A reference of the kind added in 1.12 has the offset of its encoding (shim_ref.c) in its
 * first word. values.go contains the Go side. */
#include "shim_internal.h"

#include <string.h>

/* Maximum depth of nested sequences, as for types. */
enum { MAX_DEPTH = 64 };

typedef enum slot_kind { SLOT_TEXT, SLOT_SEQUENCE, SLOT_REFERENCE, SLOT_GROUP } slot_kind_t;

/* A part of an element that contains pointers: `count` items, `stride` bytes apart. */
typedef struct slot {
    slot_kind_t kind;
    size_t offset;
    size_t count;
    size_t stride;
    struct layout *child; /* of a sequence's elements, or of a group (an array of compounds) */
} slot_t;

typedef struct layout {
    size_t size; /* bytes of an element */
    size_t n, cap;
    slot_t *slots;
} layout_t;

static void layout_free(layout_t *l)
{
    if (l == NULL) {
        return;
    }
    for (size_t i = 0; i < l->n; i++) {
        layout_free(l->slots[i].child);
    }
    hyperslab_free(l->slots);
    hyperslab_free(l);
}

static slot_t *add(layout_t *l)
{
    if (l->n == l->cap) {
        size_t cap = l->cap == 0 ? 4 : 2 * l->cap;
        slot_t *slots = hyperslab_alloc(cap * sizeof *slots);
        if (slots == NULL) {
            return NULL;
        }
        if (l->n > 0) {
            memcpy(slots, l->slots, l->n * sizeof *slots);
        }
        hyperslab_free(l->slots);
        l->slots = slots;
        l->cap = cap;
    }
    slot_t *s = &l->slots[l->n++];
    memset(s, 0, sizeof *s);
    return s;
}

static int layout_make(goh5_err_t *err, hid_t type, int depth, layout_t **out);

static int layout_add(goh5_err_t *err, layout_t *l, hid_t type, size_t offset, int depth)
{
    int rc = 0;
    hid_t inner = H5I_INVALID_HID;
    slot_t *s = NULL;
    int plain = goh5_type_plain(type);
    TRY(plain >= 0);
    H5T_class_t class = H5Tget_class(type);
    if (plain || (class == H5T_REFERENCE && H5Tequal(type, H5T_STD_REF) <= 0)) {
        goto done; /* references of the old kinds are plain bytes in memory */
    }
    if (depth > MAX_DEPTH) {
        RAISE(GOH5_ETYPE);
    }
    switch (class) {
    case H5T_COMPOUND: {
        int n = H5Tget_nmembers(type);
        TRY(n >= 0);
        for (unsigned i = 0; i < (unsigned)n; i++) {
            TRY((inner = H5Tget_member_type(type, i)) >= 0);
            PASS(layout_add(err, l, inner, offset + H5Tget_member_offset(type, i), depth + 1));
            H5Tclose(inner);
            inner = H5I_INVALID_HID;
        }
        break;
    }
    case H5T_STRING:
    case H5T_REFERENCE:
    case H5T_VLEN:
    case H5T_ARRAY: {
        if ((s = add(l)) == NULL) {
            RAISE(GOH5_ENOMEM);
        }
        s->kind = class == H5T_STRING      ? SLOT_TEXT
                  : class == H5T_REFERENCE ? SLOT_REFERENCE
                  : class == H5T_VLEN      ? SLOT_SEQUENCE
                                           : SLOT_GROUP;
        s->offset = offset;
        s->count = 1;
        s->stride = H5Tget_size(type);
        if (class == H5T_STRING || class == H5T_REFERENCE) {
            break;
        }
        TRY((inner = H5Tget_super(type)) >= 0);
        PASS(layout_make(err, inner, depth + 1, &s->child));
        if (class == H5T_ARRAY) {
            s->stride = H5Tget_size(inner);
            s->count = s->stride == 0 ? 0 : H5Tget_size(type) / s->stride;
        }
        break;
    }
    default:
        RAISE(GOH5_ETYPE);
    }
done:
    goh5_close_type(inner);
    return rc;
}

static int layout_make(goh5_err_t *err, hid_t type, int depth, layout_t **out)
{
    int rc = 0;
    layout_t *l = hyperslab_alloc(sizeof *l);
    if (l == NULL) {
        return GOH5_ENOMEM;
    }
    memset(l, 0, sizeof *l);
    l->size = H5Tget_size(type);
    TRY(l->size > 0);
    PASS(layout_add(err, l, type, 0, depth));
    *out = l;
    l = NULL;
done:
    layout_free(l);
    return rc;
}

/* ---------- from memory to a block ---------- */

/* Encodes the targets of the n elements at mem, which have been copied to offset `at` of the
 * block. */
static int put_elements(goh5_err_t *err, goh5_buf_t *b, hid_t loc, const layout_t *l, const uint8_t *mem, size_t n,
                        size_t at);

static int put_slot(goh5_err_t *err, goh5_buf_t *b, hid_t loc, const slot_t *s, const uint8_t *from, size_t at)
{
    int rc = 0;
    switch (s->kind) {
    case SLOT_TEXT: {
        const char *text;
        memcpy(&text, from, sizeof text);
        goh5_set(b, at, text == NULL ? 0 : b->len);
        if (text != NULL) {
            goh5_put_text(b, text);
        }
        break;
    }
    case SLOT_SEQUENCE: {
        hvl_t seq;
        memcpy(&seq, from, sizeof seq);
        if (seq.len == 0 || seq.p == NULL) {
            goh5_set(b, at, 0);
            goh5_set(b, at + sizeof(uint64_t), 0);
            break;
        }
        if (seq.len > SIZE_MAX / s->child->size) {
            RAISE(GOH5_ENOMEM);
        }
        size_t place = b->len + sizeof(uint64_t); /* after the length of its bytes */
        goh5_put_bytes(b, seq.p, seq.len * s->child->size);
        goh5_set(b, at, seq.len);
        goh5_set(b, at + sizeof(uint64_t), place);
        PASS(put_elements(err, b, loc, s->child, seq.p, seq.len, place));
        break;
    }
    case SLOT_REFERENCE: {
        size_t place = b->len;
        goh5_put(b, 0);
        int some = goh5_ref_put(err, b, loc, (const H5R_ref_t *)(const void *)from);
        PASS(some);
        rc = 0;
        goh5_set(b, place, b->len - place - sizeof(uint64_t));
        goh5_set(b, at, some ? place : 0);
        break;
    }
    case SLOT_GROUP:
        break;
    }
done:
    return rc;
}

static int put_elements(goh5_err_t *err, goh5_buf_t *b, hid_t loc, const layout_t *l, const uint8_t *mem, size_t n,
                        size_t at)
{
    int rc = 0;
    for (size_t i = 0; l->n > 0 && i < n; i++) {
        for (size_t k = 0; k < l->n; k++) {
            const slot_t *s = &l->slots[k];
            size_t offset = i * l->size + s->offset;
            if (s->kind == SLOT_GROUP) {
                PASS(put_elements(err, b, loc, s->child, mem + offset, s->count, at + offset));
            } else {
                PASS(put_slot(err, b, loc, s, mem + offset, at + offset));
            }
        }
        if (b->failed) {
            RAISE(GOH5_ENOMEM);
        }
    }
done:
    return rc;
}

int goh5_values_put(goh5_err_t *err, goh5_buf_t *b, hid_t loc, hid_t type, const uint8_t *mem, size_t n)
{
    int rc = 0;
    layout_t *l = NULL;
    PASS(layout_make(err, type, 0, &l));
    /* The block begins with the elements, so offset 0 is never the offset of a target. */
    goh5_put_raw(b, mem, n * l->size);
    if (b->failed) {
        RAISE(GOH5_ENOMEM);
    }
    PASS(put_elements(err, b, loc, l, mem, n, 0));
done:
    layout_free(l);
    return rc;
}

/* ---------- from a block to memory ---------- */

static uint64_t word_at(const uint8_t *p)
{
    uint64_t w;
    memcpy(&w, p, sizeof w);
    return w;
}

/* Whether the n bytes at offset `at` are in the block. */
static int inside(const goh5_values_t *v, uint64_t at, uint64_t n)
{
    return at <= v->len && n <= v->len - at;
}

/* The string at an offset, with its terminating zero byte; NULL if the offset is invalid. */
static const char *text_at(const goh5_values_t *v, uint64_t place)
{
    enum { WORD = sizeof(uint64_t) };
    if (!inside(v, place, WORD)) {
        return NULL;
    }
    uint64_t len = word_at(v->block + place);
    if (len >= v->len || !inside(v, place + WORD, len + 1) || v->block[place + WORD + len] != 0) {
        return NULL;
    }
    return (const char *)v->block + place + WORD;
}

/* Creates a reference and keeps a copy of it, because its memory in libhdf5 must be freed later. */
static int get_reference(goh5_err_t *err, goh5_values_t *v, uint64_t place, H5R_ref_t *ref)
{
    int rc = 0;
    if (!inside(v, place, 0)) {
        RAISE(GOH5_ETYPE);
    }
    if (v->n_refs == v->cap_refs) {
        size_t cap = v->cap_refs == 0 ? 16 : 2 * v->cap_refs;
        H5R_ref_t *refs = hyperslab_alloc(cap * sizeof *refs);
        if (refs == NULL) {
            RAISE(GOH5_ENOMEM);
        }
        if (v->n_refs > 0) {
            memcpy(refs, v->refs, v->n_refs * sizeof *refs);
        }
        hyperslab_free(v->refs);
        v->refs = refs;
        v->cap_refs = cap;
    }
    goh5_in_t in = {v->block + place, v->len - (size_t)place, 0};
    size_t n = 0;
    const uint8_t *bytes = goh5_get_bytes(&in, &n);
    goh5_in_t referent = {bytes, n, in.bad};
    PASS(goh5_ref_get(err, &referent, v->loc, ref));
    v->refs[v->n_refs++] = *ref;
done:
    return rc;
}

static int get_elements(goh5_err_t *err, goh5_values_t *v, const layout_t *l, uint8_t *mem, size_t n, int depth);

static int get_slot(goh5_err_t *err, goh5_values_t *v, const slot_t *s, uint8_t *at, int depth)
{
    int rc = 0;
    uint64_t place = word_at(at);
    switch (s->kind) {
    case SLOT_TEXT: {
        const char *text = NULL;
        if (place != 0 && (text = text_at(v, place)) == NULL) {
            RAISE(GOH5_ETYPE);
        }
        memcpy(at, &text, sizeof text);
        break;
    }
    case SLOT_SEQUENCE: {
        hvl_t seq = {0, NULL};
        uint64_t len = place;
        place = word_at(at + sizeof(uint64_t));
        if (len > 0) {
            if (len > SIZE_MAX / s->child->size || !inside(v, place, len * s->child->size)) {
                RAISE(GOH5_ETYPE);
            }
            seq.len = (size_t)len;
            seq.p = v->block + place;
            PASS(get_elements(err, v, s->child, seq.p, seq.len, depth + 1));
        }
        memcpy(at, &seq, sizeof seq);
        break;
    }
    case SLOT_REFERENCE: {
        H5R_ref_t ref;
        memset(&ref, 0, sizeof ref);
        if (place != 0) {
            PASS(get_reference(err, v, place, &ref));
        }
        memcpy(at, &ref, sizeof ref);
        break;
    }
    case SLOT_GROUP:
        break;
    }
done:
    return rc;
}

static int get_elements(goh5_err_t *err, goh5_values_t *v, const layout_t *l, uint8_t *mem, size_t n, int depth)
{
    int rc = 0;
    if (depth > MAX_DEPTH) {
        RAISE(GOH5_ETYPE);
    }
    for (size_t i = 0; l->n > 0 && i < n; i++) {
        for (size_t k = 0; k < l->n; k++) {
            const slot_t *s = &l->slots[k];
            uint8_t *at = mem + i * l->size + s->offset;
            if (s->kind == SLOT_GROUP) {
                PASS(get_elements(err, v, s->child, at, s->count, depth + 1));
            } else {
                PASS(get_slot(err, v, s, at, depth));
            }
        }
    }
done:
    return rc;
}

int goh5_values_get(goh5_err_t *err, hid_t loc, hid_t type, const uint8_t *data, size_t len, size_t n, goh5_values_t *v)
{
    int rc = 0;
    layout_t *l = NULL;
    *v = (goh5_values_t){.loc = loc, .len = len};
    PASS(layout_make(err, type, 0, &l));
    if (n > SIZE_MAX / l->size || n * l->size > len) {
        err->have = (int64_t)len;
        err->want = (int64_t)(n * l->size);
        RAISE(GOH5_ESIZE);
    }
    /* The block is copied, because Go memory must not contain pointers to C memory and libhdf5
     * needs pointers. */
    if ((v->block = hyperslab_alloc(len)) == NULL) {
        RAISE(GOH5_ENOMEM);
    }
    memcpy(v->block, data, len);
    PASS(get_elements(err, v, l, v->block, n, 0));
done:
    layout_free(l);
    return rc;
}

void goh5_values_drop(goh5_values_t *v)
{
    for (size_t i = 0; i < v->n_refs; i++) {
        H5Rdestroy(&v->refs[i]);
    }
    hyperslab_free(v->refs);
    hyperslab_free(v->block);
    *v = (goh5_values_t){0};
}
