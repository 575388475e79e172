/* run.c: runs a command and prints its peak resident memory in KiB as "peak=NUMBER".
 *
 * The peak of a process that Go starts includes the memory of its parent, because both share it for
 * a moment. This program is a small parent. */
#include <signal.h>
#include <stdio.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 2) {
        return 2;
    }
    pid_t pid = fork();
    if (pid == 0) {
#ifdef __linux__
        prctl(PR_SET_PDEATHSIG, SIGKILL); // the benchmark ends runs that take too long
#endif
        execvp(argv[1], argv + 1);
        _exit(127);
    }
    int status;
    struct rusage u;
    if (pid < 0 || wait4(pid, &status, 0, &u) != pid) {
        return 1;
    }
    printf("\npeak=%ld\n", u.ru_maxrss);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
