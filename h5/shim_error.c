/* shim_error.c: copies libhdf5's error stack in the call that failed. */
#include "shim_internal.h"

#include "shim_codes.h"

#include <string.h>

goh5_err_t goh5_operation_error, goh5_closing_error;

void goh5_enter(void)
{
#ifdef H5_HAVE_THREADSAFE
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
#endif
}

static const char *major_name(hid_t id)
{
#define X(name)                                                                                                        \
    if (id == H5E_##name) {                                                                                            \
        return "H5E_" #name;                                                                                           \
    }
    GOH5_MAJORS(X)
#undef X
    return "";
}

static const char *minor_name(hid_t id)
{
#define X(name)                                                                                                        \
    if (id == H5E_##name) {                                                                                            \
        return "H5E_" #name;                                                                                           \
    }
    GOH5_MINORS(X)
#undef X
    return "";
}

typedef struct walk {
    goh5_buf_t buf;
    uint64_t frames;
} walk_t;

static herr_t put_frame(unsigned n, const H5E_error2_t *frame, void *data)
{
    (void)n;
    walk_t *w = data;
    w->frames++;
    goh5_put(&w->buf, frame->line);
    goh5_put_text(&w->buf, frame->func_name);
    goh5_put_text(&w->buf, frame->file_name);
    goh5_put_text(&w->buf, frame->desc);
    goh5_put_text(&w->buf, major_name(frame->maj_num));
    goh5_put_text(&w->buf, minor_name(frame->min_num));
    return 0;
}

int goh5_fail(goh5_err_t *err)
{
    walk_t w = {0};
    goh5_blob_t blob = {0};
    goh5_put(&w.buf, 0);
    /* libhdf5 creates the ids of the error codes at start, so reading their names does not clear
     * the stack. The stack is still detached first, so that no call below can clear it. */
    hid_t stack = H5Eget_current_stack();
    if (stack < 0) {
        goh5_buf_drop(&w.buf);
        return GOH5_ELIB;
    }
    H5Ewalk2(stack, H5E_WALK_DOWNWARD, put_frame, &w);
    H5Eclose_stack(stack);
    goh5_set(&w.buf, 0, w.frames);
    if (goh5_buf_end(&w.buf, &blob) == 0) {
        hyperslab_free(err->stack); /* after a second failure during cleanup, keep the last one */
        err->stack = blob.data;
        err->stack_len = blob.len;
    }
    return GOH5_ELIB;
}
