/* hdf5.c: tasks in C with libhdf5, as the peer of chunkio.
 *
 * hdf5 read FILE DATASET                                  the whole dataset; the file is reopened for each run
 * hdf5 small FILE DATASET COUNT ELEMENTS                   COUNT random reads of ELEMENTS float32 values
 * hdf5 write RAW FILE LEVEL RANK SHAPE... CHUNK...        float32, compressed with shuffle and deflate */
#include <hdf5.h>
#define PEER_VERSION "HDF5_" H5_VERS_STR
#include "peer.h"

typedef struct {
    const char *file, *name;
    uint8_t *data;
    size_t bytes;
    uint64_t count;
    unsigned level;
    int rank;
    hsize_t shape[H5S_MAX_RANK], chunk[H5S_MAX_RANK];
} job;

static uint64_t read_all(void *arg)
{
    job *j = arg;
    hid_t f = H5Fopen(j->file, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t d = H5Dopen2(f, j->name, H5P_DEFAULT);
    hid_t t = H5Dget_type(d), s = H5Dget_space(d);
    j->bytes = H5Tget_size(t) * (size_t)H5Sget_simple_extent_npoints(s);
    if (!j->data) {
        j->data = malloc(j->bytes);
    }
    if (d < 0 || H5Dread(d, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, j->data) < 0) {
        die("H5Dread");
    }
    H5Sclose(s);
    H5Tclose(t);
    H5Dclose(d);
    H5Fclose(f);
    return 0;
}

static uint64_t read_small(void *arg)
{
    job *j = arg;
    hid_t f = H5Fopen(j->file, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t d = H5Dopen2(f, j->name, H5P_DEFAULT);
    hid_t t = H5Dget_type(d), s = H5Dget_space(d);
    hsize_t elements = j->shape[0], n = (hsize_t)H5Sget_simple_extent_npoints(s);
    hid_t m = H5Screate_simple(1, &elements, NULL);
    uint64_t state = 1, sum = 0;
    for (uint64_t i = 0; i < j->count; i++) {
        hsize_t at = draw(&state, n - elements + 1);
        if (H5Sselect_hyperslab(s, H5S_SELECT_SET, &at, NULL, &elements, NULL) < 0 ||
            H5Dread(d, t, m, s, H5P_DEFAULT, j->data) < 0) {
            die("H5Dread");
        }
        uint32_t first;
        memcpy(&first, j->data, 4);
        sum += first;
    }
    H5Sclose(m);
    H5Sclose(s);
    H5Tclose(t);
    H5Dclose(d);
    H5Fclose(f);
    return sum;
}

static uint64_t forget(void *arg)
{
    job *j = arg;
    remove(j->file);
    return 0;
}

static uint64_t write_all(void *arg)
{
    job *j = arg;
    hid_t f = H5Fcreate(j->file, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t s = H5Screate_simple(j->rank, j->shape, NULL);
    hid_t p = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(p, j->rank, j->chunk);
    H5Pset_shuffle(p);
    H5Pset_deflate(p, j->level);
    hid_t d = H5Dcreate2(f, "d", H5T_IEEE_F32LE, s, H5P_DEFAULT, p, H5P_DEFAULT);
    if (d < 0 || H5Dwrite(d, H5T_IEEE_F32LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, j->data) < 0) {
        die("H5Dwrite");
    }
    H5Dclose(d);
    H5Pclose(p);
    H5Sclose(s);
    if (H5Fclose(f) < 0) {
        die("H5Fclose");
    }
    f = H5Fopen(j->file, H5F_ACC_RDONLY, H5P_DEFAULT);
    d = H5Dopen2(f, "d", H5P_DEFAULT);
    uint64_t stored = H5Dget_storage_size(d);
    H5Dclose(d);
    H5Fclose(f);
    return stored;
}

int main(int argc, char **argv)
{
    job j = {0};
    if (argc == 4 && strcmp(argv[1], "read") == 0) {
        j.file = argv[2];
        j.name = argv[3];
        read_all(&j);
        printf("sum=%llu\n", (unsigned long long)checksum(j.data, j.bytes));
        serve(NULL, read_all, &j, "done");
        return 0;
    }
    if (argc == 6 && strcmp(argv[1], "small") == 0) {
        j.file = argv[2];
        j.name = argv[3];
        j.count = strtoull(argv[4], NULL, 10);
        j.shape[0] = strtoull(argv[5], NULL, 10);
        j.data = malloc(4 * j.shape[0]);
        if (!j.data) {
            die("malloc");
        }
        serve(NULL, read_small, &j, "sum");
        return 0;
    }
    if (argc < 6 || strcmp(argv[1], "write") != 0) {
        return 2;
    }
    j.file = argv[3];
    j.level = (unsigned)atoi(argv[4]);
    j.rank = atoi(argv[5]);
    if (argc != 6 + 2 * j.rank) {
        return 2;
    }
    size_t want = 4;
    for (int i = 0; i < j.rank; i++) {
        j.shape[i] = strtoull(argv[6 + i], NULL, 10);
        j.chunk[i] = strtoull(argv[6 + j.rank + i], NULL, 10);
        want *= j.shape[i];
    }
    j.data = slurp(argv[2], want, &j.bytes);
    if (j.bytes != want) {
        die("the data is too short");
    }
    serve(forget, write_all, &j, "stored");
    return 0;
}
