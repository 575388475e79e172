/* shim_context.c: contexts with the parameters and Go functions of a handle. */
#include "shim_internal.h"

#include <string.h>

int goblosc2_after(blosc2_postfilter_params *p)
{
    const goblosc2_handle_t *h = p->user_data;
    if (!h->block) {
        memcpy(p->output, p->input, (size_t)p->size);
        return 0;
    }
    return goblosc2_go_block(h->hook, p->nblock, p->offset, p->typesize, p->tid, (uint8_t *)p->input, p->output,
                             p->size);
}

blosc2_context *goblosc2_create_cctx(goblosc2_handle_t *h)
{
    blosc2_cparams c = goblosc2_to_cparams(&h->cparams);
    c.codec_params = (void *)h->hook;
    h->pipeline.block = h->block;
    h->pipeline.hook = h->hook;
    return goblosc2_guarded_cctx(c, &h->pipeline);
}

blosc2_context *goblosc2_create_dctx(goblosc2_handle_t *h)
{
    blosc2_dparams d = goblosc2_to_dparams(h->cparams.threads);
    blosc2_postfilter_params params = {.user_data = h};
    if (h->hook != 0) {
        d.postfilter = goblosc2_after;
        d.postparams = &params; /* copied */
    }
    return blosc2_create_dctx(d);
}
