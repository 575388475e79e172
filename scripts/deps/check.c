/* check.c: the first user of the three archives. Exits with 1 and says what is wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <blosc2.h>
#include <hdf5.h>
#include <zz_stamp.h>

#include <gocodec/gocodec.h>

static int failed;

static void check(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "error: %s\n", what);
        failed = 1;
    }
}

static void check_blosc2(void)
{
    static const struct {
        const char *name, *version; /* NULL: of C-Blosc2 itself */
    } codecs[] = {{"blosclz", NULL},
                  {"lz4", HYPERSLAB_VERSION_LZ4},
                  {"lz4hc", HYPERSLAB_VERSION_LZ4},
                  {"zlib", HYPERSLAB_VERSION_ZLIB},
                  {"zstd", HYPERSLAB_VERSION_ZSTD}};

    blosc2_init();
    check(strcmp(blosc2_get_version_string(), HYPERSLAB_VERSION_C_BLOSC2) == 0, "C-Blosc2 is not the pinned release");
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        char *library = NULL, *version = NULL;
        check(blosc2_get_complib_info(codecs[i].name, &library, &version) >= 0 &&
                  (codecs[i].version == NULL || strcmp(version, codecs[i].version) == 0),
              codecs[i].name);
        free(library);
        free(version);
    }
    blosc2_destroy();
}

static void check_hdf5(void)
{
    unsigned major = 0, minor = 0, release = 0;
    char version[32];

    check(H5open() >= 0 && H5get_libversion(&major, &minor, &release) >= 0, "HDF5 does not start");
    snprintf(version, sizeof version, "%u.%u.%u", major, minor, release);
    check(strcmp(version, HYPERSLAB_VERSION_HDF5) == 0, "HDF5 is not the pinned release");
    check(H5Zfilter_avail(H5Z_FILTER_DEFLATE) > 0, "HDF5 was built without deflate");
    check((H5Zfilter_avail(H5Z_FILTER_SZIP) > 0) == HYPERSLAB_HAVE_SZIP, "HDF5 and the stamp differ about szip");
#if HYPERSLAB_HAVE_SZIP
    unsigned config = 0;
    check(H5Zget_filter_info(H5Z_FILTER_SZIP, &config) >= 0 && (config & H5Z_FILTER_CONFIG_ENCODE_ENABLED),
          "HDF5's szip cannot encode");
#endif
#if defined(__linux__) && !defined(H5_HAVE_DIRECT)
    check(0, "HDF5 was built without the direct driver");
#endif
    H5close();
}

static void check_codecs(void)
{
    check(strcmp(zlibVersion(), HYPERSLAB_VERSION_ZLIB) == 0, "zlib is not the pinned release");
    check(strcmp(LZ4_versionString(), HYPERSLAB_VERSION_LZ4) == 0, "lz4 is not the pinned release");
    check(strcmp(ZSTD_versionString(), HYPERSLAB_VERSION_ZSTD) == 0, "zstd is not the pinned release");
    check(strncmp(BZ2_bzlibVersion(), HYPERSLAB_VERSION_BZIP2, strlen(HYPERSLAB_VERSION_BZIP2)) == 0,
          "bzip2 is not the pinned release");
    check(strcmp(LIBDEFLATE_VERSION_STRING, HYPERSLAB_VERSION_LIBDEFLATE) == 0, "libdeflate is not the pinned release");
    struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
    check(inflater != NULL, "libdeflate does not start");
    libdeflate_free_decompressor(inflater);
#if HYPERSLAB_HAVE_SZIP
    struct aec_stream stream = {.bits_per_sample = 16, .block_size = 16, .rsi = 64};
    check(aec_decode_init(&stream) == AEC_OK && aec_decode_end(&stream) == AEC_OK, "libaec does not start");
#endif
}

int main(void)
{
    check_blosc2();
    check_hdf5();
    check_codecs();
    return failed;
}
