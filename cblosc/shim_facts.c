/* shim_facts.c: the library's own reading of a chunk header, and its codecs; see shim.h. */
#include "shim_internal.h"

#include <string.h>

int goblosc2_chunk_facts(goblosc2_err_t *err, const uint8_t *chunk, int64_t n, goblosc2_chunk_facts_t *out)
{
    int rc = blosc2_cbuffer_sizes(chunk, &out->nbytes, &out->cbytes, &out->blocksize);
    if (rc < 0) {
        return goblosc2_fail(err, rc, "blosc2_cbuffer_sizes");
    }
    size_t nbytes = 0, cbytes = 0, blocksize = 0, typesize = 0;
    int version = 0, versionlz = 0, flags = 0;
    blosc1_cbuffer_sizes(chunk, &nbytes, &cbytes, &blocksize);
    blosc1_cbuffer_metainfo(chunk, &typesize, &flags);
    blosc2_cbuffer_versions(chunk, &version, &versionlz);
    out->same = nbytes == (size_t)out->nbytes && cbytes == (size_t)out->cbytes && blocksize == (size_t)out->blocksize;
    out->typesize = (int32_t)typesize;
    out->flags = flags;
    out->version = version;
    out->versionlz = versionlz;
    out->library = blosc2_cbuffer_complib(chunk);
    out->valid = blosc1_cbuffer_validate(chunk, (size_t)n, &nbytes) == 0;
    return 0;
}

int32_t goblosc2_codec_code(const char *name)
{
    return blosc2_compname_to_compcode(name);
}

const char *goblosc2_codec_list(void)
{
    return blosc2_list_compressors();
}
