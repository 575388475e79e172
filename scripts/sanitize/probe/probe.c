/* probe.c: undefined behaviour, a failed assertion and a memory error, to check that the sanitizers
 * find them. */
#include <assert.h>
#include <limits.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    assert(argv == NULL);
    volatile int sum = INT_MAX;
    sum += argc;
    volatile char *block = malloc(4);
    if (block == NULL) {
        return 0;
    }
    block[argc + 3] = (char)sum;
    return 0;
}
