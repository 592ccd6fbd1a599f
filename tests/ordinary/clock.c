/* Shifts the wall clock of the processes that preload it: PENSTOCK_CLOCK_FILE has the seconds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>

/* What this thread has added to the last time that it was told. */
static __thread long offset;

static long seconds(void) {
    static __thread struct timespec looked;
    static int (*real)(clockid_t, struct timespec *);
    struct timespec now;
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    real(CLOCK_MONOTONIC, &now);
    if (looked.tv_sec == 0 || now.tv_sec != looked.tv_sec) {
        const char *name = getenv("PENSTOCK_CLOCK_FILE");
        FILE *file = name ? fopen(name, "re") : NULL;
        looked = now;
        if (file) {
            if (fscanf(file, "%ld", &offset) != 1) offset = 0;
            fclose(file);
        }
    }
    return offset;
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, at);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        at->tv_sec += seconds();
    return result;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

int timespec_get(struct timespec *at, int base) {
    return clock_gettime(CLOCK_REALTIME, at) == 0 ? base : 0;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}

/* The kernel's clock is not shifted: a deadline by the shifted clock has to be shifted back, by
   what the thread saw when it made the deadline. Smaller values are of the monotonic clock, which
   counts from the start of the machine. */
static struct timespec unshifted(const struct timespec *until) {
    struct timespec at = *until;
    if (at.tv_sec > 1000000000L) at.tv_sec -= offset;
    return at;
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until) {
    static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    struct timespec at = unshifted(until);
    if (!real) real = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    if (!real) real = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    return real(condition, mutex, &at);
}

/* librdkafka waits with this one. */
int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex,
                  const struct timespec *restrict until) {
    static int (*real)(cnd_t *, mtx_t *, const struct timespec *);
    struct timespec at = unshifted(until);
    if (!real) real = dlsym(RTLD_NEXT, "cnd_timedwait");
    return real(condition, mutex, &at);
}

int mtx_timedlock(mtx_t *restrict mutex, const struct timespec *restrict until) {
    static int (*real)(mtx_t *, const struct timespec *);
    struct timespec at = unshifted(until);
    if (!real) real = dlsym(RTLD_NEXT, "mtx_timedlock");
    return real(mutex, &at);
}

int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex,
                            const struct timespec *restrict until) {
    static int (*real)(pthread_mutex_t *, const struct timespec *);
    struct timespec at = unshifted(until);
    if (!real) real = dlsym(RTLD_NEXT, "pthread_mutex_timedlock");
    return real(mutex, &at);
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until) {
    static int (*real)(sem_t *, const struct timespec *);
    struct timespec at = unshifted(until);
    if (!real) real = dlvsym(RTLD_NEXT, "sem_timedwait", "GLIBC_2.2.5");
    if (!real) real = dlsym(RTLD_NEXT, "sem_timedwait");
    return real(semaphore, &at);
}
