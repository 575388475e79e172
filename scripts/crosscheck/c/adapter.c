/* The C peer: an adapter of crosscheck for netcdf-c. */
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* read_variable reads the variable object of a file into *out, in the byte order of this machine. */
static const char *read_variable(const char *path, const char *object, size_t item, char **out, size_t *size)
{
    int file, group, var, ndims, err;
    int dims[NC_MAX_VAR_DIMS];
    size_t n = 1;
    const char *name = strrchr(object, '/');
    char parent[4096];

    if (name == NULL || (size_t)(name - object) >= sizeof parent)
        return "no such object";
    memcpy(parent, object, (size_t)(name - object));
    parent[name - object] = 0;
    if ((err = nc_open(path, NC_NOWRITE, &file)) != NC_NOERR)
        return nc_strerror(err);
    group = file;
    if (parent[0] == 0 || (err = nc_inq_grp_full_ncid(file, parent, &group)) == NC_NOERR)
        if ((err = nc_inq_varid(group, name + 1, &var)) == NC_NOERR)
            err = nc_inq_varndims(group, var, &ndims);
    if (err == NC_NOERR)
        err = nc_inq_vardimid(group, var, dims);
    for (int i = 0; err == NC_NOERR && i < ndims; i++) {
        size_t length;
        if ((err = nc_inq_dimlen(group, dims[i], &length)) == NC_NOERR)
            n *= length;
    }
    if (err == NC_NOERR) {
        nc_type type;
        size_t width;
        if ((err = nc_inq_vartype(group, var, &type)) == NC_NOERR &&
            (err = nc_inq_type(group, type, NULL, &width)) == NC_NOERR) {
            if (type == NC_STRING || width != item) {
                nc_close(file);
                return "skip";
            }
            if (n > ((size_t)1 << 28) / (width ? width : 1))
                err = NC_ENOMEM;
            *size = n * width;
        }
    }
    if (err == NC_NOERR) {
        *out = calloc(*size + 1, 1);
        err = nc_get_var(group, var, *out);
    }
    nc_close(file);
    return err == NC_NOERR ? NULL : nc_strerror(err);
}

int main(void)
{
    char line[1 << 16];
    char version[64];

    sscanf(nc_inq_libvers(), "%63s", version);
    printf("hyperslab.crosscheck.adapter/1\tnetcdf-c\t%s\tncdump -v {object} {in}\n", version);
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        char *f[9] = {0}, *at = line, *data = NULL;
        size_t size = 0;
        const char *error = "skip";

        line[strcspn(line, "\n")] = 0;
        for (int i = 0; i < 9 && at != NULL; i++)
            f[i] = strsep(&at, "\t");
        if (f[6] != NULL && strcmp(f[0], "read") == 0 && strcmp(f[3], "hdf5") == 0 && strchr(f[4], '@') == NULL &&
            f[5][0] != 0 && strcmp(f[5], "|b1") != 0) /* netCDF has no dtype bool */
            error = read_variable(f[1], f[4], strtoul(f[6], NULL, 10), &data, &size);
        if (error == NULL) {
            FILE *out = fopen(f[2], "wb");
            if (out == NULL || fwrite(data, 1, size, out) != size || fclose(out) != 0)
                error = "no output file";
        }
        if (error == NULL)
            puts("ok\tlittle");
        else if (strcmp(error, "skip") == 0)
            puts("skip");
        else
            printf("refused\t%s\n", error);
        fflush(stdout);
        free(data);
    }
    return 0;
}
