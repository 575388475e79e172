/* shim_select.c: decoding and encoding of selections.
 *
 * A selection is one node, which begins with its kind. The rest depends on the kind. All and none:
 * no more words. Blocks: rank words each of start, count, stride and block. Points: the number of
 * points and their coordinates. Boxes: the number of boxes and their first and last corners. Or,
 * and, xor and without: the number of operands and their nodes. selection.go must have the same
 * list. */
#include "shim_internal.h"

#include <string.h>

enum { SEL_NONE = 0, SEL_ALL, SEL_BLOCKS, SEL_POINTS, SEL_BOXES, SEL_OR, SEL_AND, SEL_XOR, SEL_WITHOUT };

/* Maximum depth of nested nodes. */
enum { MAX_NESTING = 64 };

/* Selects a regular unlimited selection that goh5_select_put has encoded. It has no bounds to
 * check. */
int goh5_select_endless(goh5_err_t *err, const goh5_sel_t *s, hid_t space, size_t rank)
{
    int rc = 0;
    const hsize_t *w = (const hsize_t *)s->p + 1;
    if (rank == 0 || rank > H5S_MAX_RANK || s->left < 1 + 4 * rank || s->p[0] != SEL_BLOCKS) {
        RAISE(GOH5_ETYPE);
    }
    TRY(H5Sselect_hyperslab(space, H5S_SELECT_SET, w, w + 2 * rank, w + rank, w + 3 * rank) >= 0);
done:
    return rc;
}

int goh5_outside(goh5_err_t *err, const hsize_t *dims, int rank)
{
    err->rank = rank;
    for (int i = 0; i < rank; i++) {
        err->dims[i] = dims[i];
    }
    return GOH5_EREGION;
}

static int64_t next(goh5_sel_t *s)
{
    if (s->left == 0) {
        s->bad = 1;
        return 0;
    }
    s->left--;
    return *s->p++;
}

/* The words of a list in a node. They are not copied. */
static const int64_t *list(goh5_sel_t *s, uint64_t n)
{
    if (n > s->left) {
        s->bad = 1;
        return NULL;
    }
    const int64_t *p = s->p;
    s->p += n;
    s->left -= n;
    return p;
}

/* Blocks in libhdf5's form. Go has checked that no number is negative, that blocks do not overlap
 * and that no product overflows. The extent is the current one. */
typedef struct blocks {
    hsize_t start[H5S_MAX_RANK], count[H5S_MAX_RANK], stride[H5S_MAX_RANK], block[H5S_MAX_RANK];
    hsize_t n;
} blocks_t;

static int get_blocks(goh5_err_t *err, goh5_sel_t *s, const hsize_t *dims, int rank, blocks_t *b)
{
    size_t r = (size_t)rank;
    const int64_t *w = list(s, 4 * r);
    if (w == NULL) {
        return GOH5_ETYPE;
    }
    b->n = 1;
    for (size_t i = 0; i < r; i++) {
        b->start[i] = (hsize_t)w[i];
        b->count[i] = (hsize_t)w[r + i];
        b->stride[i] = (hsize_t)w[2 * r + i];
        b->block[i] = (hsize_t)w[3 * r + i];
        b->n *= b->count[i] * b->block[i];
        hsize_t reach = b->count[i] == 0 || b->block[i] == 0 ? 0 : (b->count[i] - 1) * b->stride[i] + b->block[i];
        if (b->start[i] > dims[i] || reach > dims[i] - b->start[i]) {
            err->index = (int64_t)i;
            err->have = (int64_t)(b->start[i] + reach);
            err->want = (int64_t)dims[i];
            return goh5_outside(err, dims, rank);
        }
    }
    return 0;
}

/* Combines `space` with blocks. Empty blocks and empty selections are handled separately, because
 * libhdf5 does not accept them as hyperslabs. */
static int apply_blocks(goh5_err_t *err, hid_t space, H5S_seloper_t op, const blocks_t *b)
{
    int rc = 0;
    if (b->n == 0) {
        if (op == H5S_SELECT_SET || op == H5S_SELECT_AND) {
            TRY(H5Sselect_none(space) >= 0);
        }
        goto done;
    }
    if (op != H5S_SELECT_SET && H5Sget_select_type(space) == H5S_SEL_NONE) {
        if (op == H5S_SELECT_AND || op == H5S_SELECT_NOTB) {
            goto done;
        }
        op = H5S_SELECT_SET;
    }
    TRY(H5Sselect_hyperslab(space, op, b->start, b->stride, b->count, b->block) >= 0);
done:
    return rc;
}

static int get_points(goh5_err_t *err, goh5_sel_t *s, hid_t space, const hsize_t *dims, int rank)
{
    int rc = 0;
    uint64_t n = (uint64_t)next(s);
    size_t r = (size_t)rank;
    if (s->bad || n > s->left) {
        RAISE(GOH5_ETYPE);
    }
    const int64_t *w = list(s, n * r);
    if (w == NULL) {
        RAISE(GOH5_ETYPE);
    }
    for (uint64_t i = 0; i < n * r; i++) {
        if ((hsize_t)w[i] >= dims[i % r]) {
            err->index = (int64_t)(i % r);
            err->have = w[i] + 1;
            err->want = (int64_t)dims[i % r];
            RAISE(goh5_outside(err, dims, rank));
        }
    }
    if (n == 0) {
        TRY(H5Sselect_none(space) >= 0);
    } else {
        /* hsize_t is a uint64_t, and no coordinate is negative. */
        TRY(H5Sselect_elements(space, H5S_SELECT_SET, (size_t)n, (const hsize_t *)w) >= 0);
    }
done:
    return rc;
}

/* Selects the union of boxes. */
static int get_boxes(goh5_err_t *err, goh5_sel_t *s, hid_t space, const hsize_t *dims, int rank)
{
    int rc = 0;
    uint64_t n = (uint64_t)next(s);
    size_t r = (size_t)rank;
    TRY(H5Sselect_none(space) >= 0);
    for (uint64_t k = 0; k < n; k++) {
        const int64_t *w = list(s, 2 * r);
        if (w == NULL) {
            RAISE(GOH5_ETYPE);
        }
        blocks_t b = {.n = 1};
        for (size_t i = 0; i < r; i++) {
            hsize_t lo = (hsize_t)w[i], hi = (hsize_t)w[r + i];
            if (hi >= dims[i] || lo > hi) {
                err->index = (int64_t)i;
                err->have = w[r + i] + 1;
                err->want = (int64_t)dims[i];
                RAISE(goh5_outside(err, dims, rank));
            }
            b.start[i] = lo;
            b.count[i] = b.stride[i] = 1;
            b.block[i] = hi - lo + 1;
        }
        PASS(apply_blocks(err, space, H5S_SELECT_OR, &b));
    }
done:
    return rc;
}

static int select_node(goh5_err_t *err, goh5_sel_t *s, hid_t space, const hsize_t *dims, int rank, int depth);

/* Combines the operands from left to right. The first one is selected in `space` itself. */
static int combine(goh5_err_t *err, goh5_sel_t *s, H5S_seloper_t op, hid_t space, const hsize_t *dims, int rank,
                   int depth)
{
    int rc = 0;
    hid_t other = H5I_INVALID_HID;
    uint64_t n = (uint64_t)next(s);
    if (s->bad || n == 0) {
        RAISE(GOH5_ETYPE);
    }
    PASS(select_node(err, s, space, dims, rank, depth + 1));
    for (uint64_t i = 1; i < n; i++) {
        if (s->left > 0 && *s->p == SEL_BLOCKS) {
            blocks_t b;
            next(s);
            PASS(get_blocks(err, s, dims, rank, &b));
            PASS(apply_blocks(err, space, op, &b));
            continue;
        }
        TRY((other = H5Scopy(space)) >= 0);
        PASS(select_node(err, s, other, dims, rank, depth + 1));
        int empty = H5Sget_select_type(other) == H5S_SEL_NONE, had_none = H5Sget_select_type(space) == H5S_SEL_NONE;
        if (empty && op == H5S_SELECT_AND) {
            TRY(H5Sselect_none(space) >= 0);
        } else if (had_none && (op == H5S_SELECT_OR || op == H5S_SELECT_XOR)) {
            TRY(H5Sselect_copy(space, other) >= 0);
        } else if (!empty && !had_none) {
            TRY(H5Smodify_select(space, op, other) >= 0);
        }
        H5Sclose(other);
        other = H5I_INVALID_HID;
    }
done:
    goh5_close_space(other);
    return rc;
}

static int select_node(goh5_err_t *err, goh5_sel_t *s, hid_t space, const hsize_t *dims, int rank, int depth)
{
    int rc = 0;
    blocks_t b;
    int64_t kind = next(s);
    if (s->bad || depth > MAX_NESTING) {
        RAISE(GOH5_ETYPE);
    }
    switch (kind) {
    case SEL_NONE:
        TRY(H5Sselect_none(space) >= 0);
        break;
    case SEL_ALL:
        if (depth == 0) {
            TRY(H5Sselect_all(space) >= 0);
            break;
        }
        /* Only hyperslabs can be combined. */
        b.n = 1;
        for (int i = 0; i < rank; i++) {
            b.start[i] = 0;
            b.count[i] = b.stride[i] = 1;
            b.block[i] = dims[i];
            b.n *= dims[i];
        }
        PASS(apply_blocks(err, space, H5S_SELECT_SET, &b));
        break;
    case SEL_BLOCKS:
        PASS(get_blocks(err, s, dims, rank, &b));
        PASS(apply_blocks(err, space, H5S_SELECT_SET, &b));
        break;
    case SEL_POINTS:
        PASS(get_points(err, s, space, dims, rank));
        break;
    case SEL_BOXES:
        PASS(get_boxes(err, s, space, dims, rank));
        break;
    case SEL_OR:
        PASS(combine(err, s, H5S_SELECT_OR, space, dims, rank, depth));
        break;
    case SEL_AND:
        PASS(combine(err, s, H5S_SELECT_AND, space, dims, rank, depth));
        break;
    case SEL_XOR:
        PASS(combine(err, s, H5S_SELECT_XOR, space, dims, rank, depth));
        break;
    case SEL_WITHOUT:
        PASS(combine(err, s, H5S_SELECT_NOTB, space, dims, rank, depth));
        break;
    default:
        RAISE(GOH5_ETYPE);
    }
done:
    return rc;
}

int goh5_select(goh5_err_t *err, goh5_sel_t *s, hid_t space, size_t rank, size_t *n)
{
    int rc = 0;
    hsize_t dims[H5S_MAX_RANK] = {0};
    int have = H5Sget_simple_extent_dims(space, dims, NULL);
    TRY(have >= 0);
    H5S_class_t class = have > 0 ? H5S_SIMPLE : H5Sget_simple_extent_type(space);
    TRY(class >= 0);
    int64_t kind = s->left > 0 ? *s->p : SEL_NONE;
    if (rank == GOH5_ANY_RANK || (class == H5S_NULL && kind == SEL_NONE)) {
        rank = (size_t)have;
    }
    if (class == H5S_NULL && kind != SEL_ALL && kind != SEL_NONE) {
        RAISE(goh5_outside(err, dims, -1));
    }
    if ((size_t)have != rank) {
        err->index = -1;
        RAISE(goh5_outside(err, dims, have));
    }
    if (have == 0) {
        /* A dataspace without dimensions has at most one element to select. */
        next(s);
        *n = class == H5S_NULL || kind == SEL_NONE ? 0 : 1;
        if (kind != SEL_ALL && kind != SEL_NONE && kind != SEL_BLOCKS) {
            err->index = -1;
            RAISE(goh5_outside(err, dims, 0));
        }
        goto done;
    }
    if (kind == SEL_BLOCKS) { /* the most frequent kind, whose number of elements is known */
        blocks_t b;
        next(s);
        PASS(get_blocks(err, s, dims, have, &b));
        PASS(apply_blocks(err, space, H5S_SELECT_SET, &b));
        *n = (size_t)b.n;
        goto done;
    }
    PASS(select_node(err, s, space, dims, have, 0));
    hssize_t points = H5Sget_select_npoints(space);
    TRY(points >= 0);
    *n = (size_t)points;
done:
    return rc;
}

/* ---------- encoding ---------- */

static int put_list(goh5_err_t *err, goh5_buf_t *b, hid_t space, int points, int rank)
{
    int rc = 0;
    hsize_t *coords = NULL;
    hssize_t n = points ? H5Sget_select_elem_npoints(space) : H5Sget_select_hyper_nblocks(space);
    TRY(n >= 0);
    size_t words = (size_t)rank * (points ? 1 : 2);
    if ((size_t)n > SIZE_MAX / sizeof *coords / words ||
        (coords = hyperslab_alloc((size_t)n * words * sizeof *coords)) == NULL) {
        RAISE(GOH5_ENOMEM);
    }
    goh5_put(b, (uint64_t)n);
    if (points) {
        TRY(H5Sget_select_elem_pointlist(space, 0, (hsize_t)n, coords) >= 0);
    } else {
        TRY(H5Sget_select_hyper_blocklist(space, 0, (hsize_t)n, coords) >= 0);
    }
    for (size_t i = 0; i < (size_t)n * words; i++) {
        goh5_put(b, coords[i]);
    }
done:
    hyperslab_free(coords);
    return rc;
}

int goh5_select_put(goh5_err_t *err, goh5_buf_t *b, hid_t space)
{
    int rc = 0;
    hsize_t lo[H5S_MAX_RANK], hi[H5S_MAX_RANK], start[H5S_MAX_RANK], stride[H5S_MAX_RANK], count[H5S_MAX_RANK],
        block[H5S_MAX_RANK];
    int rank = H5Sget_simple_extent_ndims(space);
    TRY(rank >= 0);
    H5S_sel_type type = H5Sget_select_type(space);
    TRY(type >= 0);
    /* For an unlimited selection the number of elements equals the error code. */
    hssize_t n = H5Sget_select_npoints(space);
    TRY(n >= 0 || (type == H5S_SEL_HYPERSLABS && n == (hssize_t)H5S_UNLIMITED));
    if (H5Sget_simple_extent_type(space) == H5S_NULL) {
        type = H5S_SEL_NONE;
        n = 0;
    }
    if (n == 0) {
        type = H5S_SEL_NONE;
    }
    goh5_put(b, (uint64_t)n);
    goh5_put(b, n > 0 && rank > 0 ? (uint64_t)rank : 0);
    if (n > 0 && rank > 0) {
        TRY(H5Sget_select_bounds(space, lo, hi) >= 0);
        for (int i = 0; i < rank; i++) {
            goh5_put(b, lo[i]);
        }
        for (int i = 0; i < rank; i++) {
            goh5_put(b, hi[i]);
        }
    }
    switch (type) {
    case H5S_SEL_NONE:
        goh5_put(b, SEL_NONE);
        break;
    case H5S_SEL_ALL:
        goh5_put(b, SEL_ALL);
        break;
    case H5S_SEL_POINTS:
        goh5_put(b, SEL_POINTS);
        PASS(put_list(err, b, space, 1, rank));
        break;
    default: {
        htri_t regular = H5Sis_regular_hyperslab(space);
        TRY(regular >= 0);
        if (!regular) {
            goh5_put(b, SEL_BOXES);
            PASS(put_list(err, b, space, 0, rank));
            break;
        }
        TRY(H5Sget_regular_hyperslab(space, start, stride, count, block) >= 0);
        goh5_put(b, SEL_BLOCKS);
        const hsize_t *lists[] = {start, count, stride, block};
        for (size_t k = 0; k < 4; k++) {
            for (int i = 0; i < rank; i++) {
                goh5_put(b, lists[k][i]);
            }
        }
    }
    }
done:
    return rc;
}

/* Creates a dataspace from Go's encoding with a selection in it. */
static int made(goh5_err_t *err, const uint8_t *spec, size_t spec_len, const int64_t *sel, size_t words, size_t rank,
                hid_t *space)
{
    int rc = 0;
    goh5_in_t in = {spec, spec_len, 0};
    goh5_sel_t s = {sel, words, 0};
    size_t n = 0;
    TRY((*space = goh5_space_get(&in)) >= 0);
    PASS(goh5_select(err, &s, *space, rank, &n));
done:
    return rc;
}

int goh5_selected(goh5_err_t *err, const uint8_t *space, size_t space_len, const int64_t *sel, size_t words,
                  size_t rank, goh5_blob_t *out)
{
    int rc = 0;
    hid_t id = H5I_INVALID_HID;
    goh5_buf_t b = {0};
    goh5_enter();
    PASS(made(err, space, space_len, sel, words, rank, &id));
    PASS(goh5_select_put(err, &b, id));
    PASS(goh5_buf_end(&b, out));
done:
    goh5_buf_drop(&b);
    goh5_close_space(id);
    return rc;
}

int goh5_select_same(goh5_err_t *err, const uint8_t *space, size_t space_len, const int64_t *sel, size_t words,
                     size_t rank, const uint8_t *other, size_t other_len, const int64_t *other_sel, size_t other_words,
                     size_t other_rank, int32_t *same)
{
    int rc = 0;
    hid_t a = H5I_INVALID_HID, b = H5I_INVALID_HID;
    goh5_enter();
    PASS(made(err, space, space_len, sel, words, rank, &a));
    PASS(made(err, other, other_len, other_sel, other_words, other_rank, &b));
    htri_t equal = H5Sselect_shape_same(a, b);
    TRY(equal >= 0);
    *same = equal > 0;
done:
    goh5_close_space(a);
    goh5_close_space(b);
    return rc;
}

int goh5_select_intersects(goh5_err_t *err, const uint8_t *space, size_t space_len, const int64_t *sel, size_t words,
                           size_t rank, const int64_t *corners, int32_t *meet)
{
    int rc = 0;
    hid_t id = H5I_INVALID_HID;
    hsize_t lo[H5S_MAX_RANK], hi[H5S_MAX_RANK];
    goh5_enter();
    PASS(made(err, space, space_len, sel, words, rank, &id));
    int axes = H5Sget_simple_extent_ndims(id);
    TRY(axes >= 0);
    for (int i = 0; i < axes; i++) {
        lo[i] = (hsize_t)corners[i];
        hi[i] = (hsize_t)corners[axes + i];
    }
    htri_t some = H5Sselect_intersect_block(id, lo, hi);
    TRY(some >= 0);
    *meet = some > 0;
done:
    goh5_close_space(id);
    return rc;
}

int goh5_select_project(goh5_err_t *err, const uint8_t *space, size_t space_len, const int64_t *sel, size_t words,
                        size_t rank, const uint8_t *onto, size_t onto_len, const int64_t *onto_sel, size_t onto_words,
                        size_t onto_rank, const int64_t *part, size_t part_words, goh5_blob_t *out)
{
    int rc = 0;
    hid_t a = H5I_INVALID_HID, b = H5I_INVALID_HID, cut = H5I_INVALID_HID, result = H5I_INVALID_HID;
    goh5_buf_t buf = {0};
    goh5_enter();
    PASS(made(err, space, space_len, sel, words, rank, &a));
    PASS(made(err, onto, onto_len, onto_sel, onto_words, onto_rank, &b));
    PASS(made(err, space, space_len, part, part_words, rank, &cut));
    TRY((result = H5Sselect_project_intersection(a, b, cut)) >= 0);
    PASS(goh5_select_put(err, &buf, result));
    PASS(goh5_buf_end(&buf, out));
done:
    goh5_buf_drop(&buf);
    goh5_close_space(a);
    goh5_close_space(b);
    goh5_close_space(cut);
    goh5_close_space(result);
    return rc;
}
