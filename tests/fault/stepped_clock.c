/* A wall clock that the tests set, preloaded into the processes of a crawl. The machine's own clock stays alone.

   The file that STEPPED_CLOCK names holds two doubles, which the test changes while the processes run: seconds to add to
   the wall clock, and seconds to add to the time since boot. STEPPED_BOOT names a file that is read instead of the
   kernel's identity of this boot, so that a restart of the machine can be played, too.

   Waits for a time on the wall clock end when the stepped clock says so, as they would if the machine's were set. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define SLICE_NS 50000000L /* How late a waiting thread may notice that the clock was set. */
#define SECOND_NS 1000000000L
#define IS_WALL_TIME(t) ((t)->tv_sec > 1000000000) /* No machine has been up for thirty years. */

static volatile double *steps;
static const char *boot_file;
static int (*next_wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
static int (*next_clockwait)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
static int (*next_sem_wait)(sem_t *, const struct timespec *);
static int (*next_sem_clockwait)(sem_t *, clockid_t, const struct timespec *);
static int (*next_open)(const char *, int, ...);
static int (*next_openat)(int, const char *, int, ...);

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("STEPPED_CLOCK");
    int file = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC) : -1;
    if (file >= 0) {
        void *found = mmap(NULL, 2 * sizeof(double), PROT_READ, MAP_SHARED, file, 0);
        if (found != MAP_FAILED) steps = found;
        close(file);
    }
    boot_file = getenv("STEPPED_BOOT");
    /* The first version of this symbol has another layout. */
    next_wait = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    if (!next_wait) next_wait = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    next_clockwait = dlsym(RTLD_NEXT, "pthread_cond_clockwait");
    next_sem_wait = dlsym(RTLD_NEXT, "sem_timedwait");
    next_sem_clockwait = dlsym(RTLD_NEXT, "sem_clockwait");
    next_open = dlsym(RTLD_NEXT, "open64");
    next_openat = dlsym(RTLD_NEXT, "openat64");
}

static void add(struct timespec *time, double seconds) {
    long long whole = (long long)seconds;
    time->tv_sec += whole;
    time->tv_nsec += (long)((seconds - (double)whole) * SECOND_NS);
    if (time->tv_nsec >= SECOND_NS) time->tv_sec++, time->tv_nsec -= SECOND_NS;
    if (time->tv_nsec < 0) time->tv_sec--, time->tv_nsec += SECOND_NS;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int failed = (int)syscall(SYS_clock_gettime, clock, time);
    if (failed || !steps) return failed;
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) add(time, steps[0]);
    if (clock == CLOCK_BOOTTIME) add(time, steps[1]);
    return 0;
}

time_t time(time_t *into) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (into) *into = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict into, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    into->tv_sec = now.tv_sec;
    into->tv_usec = now.tv_nsec / 1000;
    return 0;
}

/* The next moment, on the kernel's wall clock, at which a wait looks at the stepped one again; 0 when it is over. */
static int next_look(const struct timespec *until, struct timespec *look) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    long long left_ns = (until->tv_sec - now.tv_sec) * (long long)SECOND_NS + until->tv_nsec - now.tv_nsec;
    if (left_ns <= 0) return 0;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, look);
    add(look, (double)(left_ns < SLICE_NS ? left_ns : SLICE_NS) / SECOND_NS);
    return 1;
}

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until) {
    struct timespec look;
    int ended = ETIMEDOUT;
    if (!IS_WALL_TIME(until)) return next_wait(cond, mutex, until);
    while (ended == ETIMEDOUT && next_look(until, &look)) ended = next_wait(cond, mutex, &look);
    return ended;
}

int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until) {
    struct timespec look;
    int ended = ETIMEDOUT;
    if (clock != CLOCK_REALTIME) return next_clockwait(cond, mutex, clock, until);
    while (ended == ETIMEDOUT && next_look(until, &look)) ended = next_clockwait(cond, mutex, clock, &look);
    return ended;
}

int sem_timedwait(sem_t *sem, const struct timespec *until) {
    struct timespec look;
    if (sem_trywait(sem) == 0) return 0;
    while (next_look(until, &look)) {
        if (next_sem_wait(sem, &look) == 0) return 0;
        if (errno != ETIMEDOUT) return -1;
    }
    errno = ETIMEDOUT;
    return -1;
}

int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until) {
    return clock == CLOCK_REALTIME ? sem_timedwait(sem, until) : next_sem_clockwait(sem, clock, until);
}

static const char *instead_of(const char *path) {
    return boot_file && path && strcmp(path, BOOT_ID) == 0 ? boot_file : path;
}

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    return next_open(instead_of(path), flags, mode);
}

int openat64(int where, const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    return next_openat(where, instead_of(path), flags, mode);
}
