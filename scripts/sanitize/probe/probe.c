/* probe.c: one case of undefined behaviour and one fault of memory, to see that the sanitizers find them. */
#include <limits.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    (void)argv;
    volatile int sum = INT_MAX;
    sum += argc;
    volatile char *block = malloc(4);
    if (block == NULL) {
        return 0;
    }
    block[argc + 3] = (char)sum;
    return 0;
}
