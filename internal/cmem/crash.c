#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* REG_RIP */
#endif
#ifdef __APPLE__
#define _XOPEN_SOURCE 700
#define _DARWIN_C_SOURCE
#endif

#include "crash.h"

#include <stdio.h>
#include <string.h>

volatile int32_t hyperslab_hdf5 = HYPERSLAB_UNUSED;

static char begin_text[256];
static char end_text[1024];

void hyperslab_crash_text(const char *begin, const char *end)
{
    snprintf(begin_text, sizeof begin_text, "%s", begin);
    snprintf(end_text, sizeof end_text, "%s", end);
}

#ifdef _WIN32

void hyperslab_catch_crashes(uintptr_t first, uintptr_t last, int code)
{
    (void)first;
    (void)last;
    (void)code;
}

#else

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

static const struct {
    int number;
    const char *name;
} crashes[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"}, {SIGABRT, "SIGABRT"}};
enum { CRASHES = sizeof crashes / sizeof *crashes };

static struct sigaction before[CRASHES];
static uintptr_t first_go, last_go;
static int exit_code;

/* counter returns the address of the instruction that a signal interrupted. */
static uintptr_t counter(const void *context)
{
    const ucontext_t *u = context;
#if defined(__APPLE__) && defined(__aarch64__)
    return (uintptr_t)u->uc_mcontext->__ss.__pc;
#elif defined(__APPLE__)
    return (uintptr_t)u->uc_mcontext->__ss.__rip;
#elif defined(__aarch64__)
    return (uintptr_t)u->uc_mcontext.pc;
#else
    return (uintptr_t)u->uc_mcontext.gregs[REG_RIP];
#endif
}

static void put(const char *s)
{
    ssize_t n = write(STDERR_FILENO, s, strlen(s));
    (void)n; /* the process ends */
}

static const char *library(void)
{
    switch (hyperslab_hdf5) {
    case HYPERSLAB_UNUSED:
        return "C-Blosc2";
    case HYPERSLAB_INSIDE:
        return "libhdf5";
    default:
        return "a filter of HDF5";
    }
}

static void on_crash(int number, siginfo_t *info, void *context)
{
    int i = 0;
    while (i < CRASHES - 1 && crashes[i].number != number) {
        i++;
    }
    uintptr_t at = counter(context);
    int inside_go = at >= first_go && at < last_go;
    int own = number == SIGABRT ? info->si_pid == getpid() : info->si_code > 0; /* no signal of another process */
    if (!inside_go && own) {
        put(begin_text);
        put(library());
        put(" crashed (");
        put(crashes[i].name);
        put(") while it read ");
        put(end_text);
        put("\n");
        _exit(exit_code);
    }
    if ((before[i].sa_flags & SA_SIGINFO) != 0) {
        before[i].sa_sigaction(number, info, context);
        return;
    }
    sigaction(number, &before[i], NULL); /* the instruction runs again */
}

void hyperslab_catch_crashes(uintptr_t first, uintptr_t last, int code)
{
    first_go = first;
    last_go = last;
    exit_code = code;
    for (int i = 0; i < CRASHES; i++) {
        struct sigaction action;
        if (sigaction(crashes[i].number, NULL, &before[i]) != 0) {
            continue;
        }
        memcpy(&action, &before[i], sizeof action); /* the mask and the flags of Go */
        action.sa_sigaction = on_crash;
        action.sa_flags |= SA_SIGINFO | SA_ONSTACK;
        sigaction(crashes[i].number, &action, NULL);
    }
}

#endif
