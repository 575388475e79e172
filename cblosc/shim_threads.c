/* shim_threads.c: threads for the jobs of a context with several threads.
 *
 * The library compresses the index of every frame with four threads, regardless of the parameters.
 * With its own pool it would create and end threads for each appended chunk, and a long index would
 * have different bytes in every run. So if the contexts of a call have one thread, their jobs run
 * in sequence on the caller's thread. Otherwise they run on threads that exist during the call. */
#include "shim_internal.h"

#include <pthread.h>

/* Whether the current call may use several threads. A call stays on its thread. */
static _Thread_local bool parallel;

void goblosc2_threads(int32_t threads)
{
    parallel = threads > 1;
}

int32_t goblosc2_threads_of(const goblosc2_handle_t *h)
{
    if (h->sc == NULL) {
        return h->cparams.threads;
    }
    int32_t c = h->sc->storage->cparams->nthreads, d = h->sc->storage->dparams->nthreads;
    return c > d ? c : d;
}

typedef struct {
    void (*job)(void *);
    void *data;
    pthread_t thread;
    bool started;
} worker_t;

static void *work(void *p)
{
    worker_t *w = p;
    w->job(w->data);
    return NULL;
}

/* Jobs whose threads cannot be created run here, after the other threads have been started. */
static void execute(void *unused, void (*job)(void *), int n, size_t size, void *jobs)
{
    (void)unused;
    worker_t *workers = parallel && n > 1 ? hyperslab_alloc((size_t)n * sizeof *workers) : NULL;
    for (int i = 1; workers != NULL && i < n; i++) {
        workers[i].job = job;
        workers[i].data = (char *)jobs + (size_t)i * size;
        workers[i].started = pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0;
    }
    for (int i = 0; i < n; i++) {
        if (workers == NULL || !workers[i].started) {
            job((char *)jobs + (size_t)i * size);
        }
    }
    for (int i = 1; workers != NULL && i < n; i++) {
        if (workers[i].started) {
            (void)pthread_join(workers[i].thread, NULL);
        }
    }
    hyperslab_free(workers);
}

void goblosc2_threads_register(void)
{
    blosc2_set_threads_callback(execute, NULL);
}
