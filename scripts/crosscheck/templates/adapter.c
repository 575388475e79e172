/* Adapter of crosscheck. Replace decode, and the name and version in main. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* decode sets *data and *size and returns NULL, or returns "skip", or a message that refuses the file. */
static const char *decode(const char *path, const char *area, const char *object, const char *dtype, int item,
                          char **data, size_t *size)
{
    (void)path, (void)area, (void)object, (void)dtype, (void)item, (void)data, (void)size;
    return "call your library here";
}

int main(void)
{
    char line[65536];
    puts("hyperslab.crosscheck.adapter/1\tNAME\tVERSION");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        char *f[7] = {0}, *rest = line, *data = NULL;
        size_t size = 0;
        const char *answer = "skip";
        FILE *out;
        line[strcspn(line, "\n")] = 0;
        for (int i = 0; i < 7 && rest != NULL; i++)
            f[i] = strsep(&rest, "\t");
        if (f[6] != NULL && strcmp(f[0], "read") == 0)
            answer = decode(f[1], f[3], f[4], f[5], atoi(f[6]), &data, &size);
        if (answer == NULL &&
            ((out = fopen(f[2], "wb")) == NULL || fwrite(data, 1, size, out) != size || fclose(out) != 0))
            answer = "no output file";
        if (answer == NULL || strcmp(answer, "skip") == 0)
            puts(answer == NULL ? "ok" : "skip");
        else
            printf("refused\t%s\n", answer);
        fflush(stdout);
        free(data);
    }
    return 0;
}
