/* Preloaded into a crawl: counts its system calls and allocations by kind and place, and lets one of them fail.
 *
 * A *place* is who calls (the library) and what it works on (the class of a file: digits are #, names of the crawl's
 * files stay). Counters and the order to fail live in a shared map, so that the crawler and its workers count together.
 * Nothing is counted before `inject_attach`, which the launcher calls when the interpreter has started.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#undef open
#undef open64
#undef openat
#undef openat64
#undef mmap
#undef mmap64
#undef pwrite
#undef pwrite64
#undef pwritev
#undef pwritev64
#undef pread
#undef pread64
#undef ftruncate
#undef ftruncate64

#define PLACES 8192
#define NAME 120
#define SHORT_WRITE 1000 /* not an errno: half of the bytes are written */

struct place {
    uint64_t hash; /* 0: free */
    uint32_t count;
    uint32_t unused;
    char name[NAME];
};

struct control {
    uint32_t armed;
    uint32_t nth; /* which call of the place fails, from 1; 0: none */
    int32_t error;
    uint32_t times; /* how many calls fail from there on, of the whole kind */
    uint64_t place; /* its hash */
    uint32_t fired;
    uint32_t pid;
    char kind[16];
    char what[NAME];
    struct place places[PLACES];
};

static struct control *control;
static char root[512];
static size_t root_length;
static __thread int inside;

#define REAL(name) ((__typeof__(&name))real_of(&real_##name, #name))
static void *real_of(void **slot, const char *name) {
    if (!*slot) *slot = dlsym(RTLD_NEXT, name);
    return *slot;
}

void inject_attach(const char *path, const char *directory) {
    inside++;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
    if (fd >= 0) {
        void *at = (void *)syscall(SYS_mmap, NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        syscall(SYS_close, fd);
        if (at != MAP_FAILED) {
            strncpy(root, directory, sizeof root - 1);
            root_length = strlen(root);
            control = at;
        }
    }
    inside--;
}

void inject_detach(void) { control = NULL; }

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("WHIMBREL_INJECT_MAP"), *directory = getenv("WHIMBREL_INJECT_ROOT");
    if (path && directory) inject_attach(path, directory);
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void class_of_path(const char *path, char *to, size_t room) {
    if (root_length && !strncmp(path, root, root_length)) {
        path += root_length;
    } else if (strstr(path, ".dat")) { /* data of libraries */
        path = base_name(path);
    } else if (strstr(path, ".so") || strstr(path, ".py") || strstr(path, "/lib/") || strstr(path, "/usr/")) {
        strncpy(to, "(system)", room);
        return;
    } else if (!strncmp(path, "/proc/", 6) || !strncmp(path, "/sys/", 5)) {
        strncpy(to, "(proc)", room);
        return;
    }
    size_t at = 0;
    const char *made = strstr(path, "/now-"); /* the rest of its name is made up */
    if (made) {
        strncpy(to, "/reading/now", room);
        return;
    }
    for (; *path && *path != '(' && at + 1 < room; path++) {
        int digit = *path >= '0' && *path <= '9';
        if (digit && at && to[at - 1] == '#') continue;
        to[at++] = digit ? '#' : *path;
    }
    to[at] = 0;
    if (at && to[at - 1] == ' ') strncpy(to, "(unnamed)", room);
    char *colon = strchr(to, ':'); /* socket:[1], pipe:[1], anon_inode:[eventfd] */
    if (colon && strncmp(to, "anon_inode", 10)) *colon = 0;
}

static void class_of_file(int fd, char *to, size_t room) {
    char link[40], path[512];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = syscall(SYS_readlink, link, path, sizeof path - 1);
    if (length < 0) length = 0;
    path[length] = 0;
    class_of_path(path, to, room);
}

static uint64_t hash_of(const char *text) {
    uint64_t hash = 1469598103934665603ULL;
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 1099511628211ULL;
    return hash ? hash : 1;
}

/* The error that this call is to fail with; 0: none. */
static int counted(const char *kind, const char *what, void *caller) {
    struct control *c = control;
    Dl_info info;
    const char *library = dladdr(caller, &info) && info.dli_fname ? base_name(info.dli_fname) : "?";
    char name[NAME];
    if (what)
        snprintf(name, sizeof name, "%s|%.40s|%s", kind, library, what);
    else
        snprintf(name, sizeof name, "%s|%.40s|+%lx", kind, library,
                 (unsigned long)((char *)caller - (char *)(info.dli_fbase ? info.dli_fbase : 0)));
    uint64_t hash = hash_of(name);
    for (unsigned at = hash % PLACES, tries = 0; tries < PLACES; at = (at + 1) % PLACES, tries++) {
        struct place *place = &c->places[at];
        uint64_t was = __atomic_load_n(&place->hash, __ATOMIC_ACQUIRE);
        if (!was) {
            uint64_t none = 0;
            if (__atomic_compare_exchange_n(&place->hash, &none, hash, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
                memcpy(place->name, name, NAME);
                was = hash;
            } else
                was = none;
        }
        if (was != hash) continue;
        uint32_t number = __atomic_add_fetch(&place->count, 1, __ATOMIC_ACQ_REL);
        if (c->nth && c->place == hash && number == c->nth) {
            c->fired = 1;
            c->pid = (uint32_t)getpid();
            memcpy(c->what, name, NAME);
            return c->error;
        }
        /* A trouble that lasts: more calls of the same kind fail. */
        if (c->fired && c->times > 1) {
            if (__atomic_sub_fetch(&c->times, 1, __ATOMIC_ACQ_REL) > 0) return c->error;
        }
        return 0;
    }
    return 0;
}

/* Where one kind is to fail, the others need not be counted. */
static int is_counted(const char *kind) {
    return !inside && control && control->armed && (!control->kind[0] || !strncmp(control->kind, kind, sizeof control->kind));
}

static int fails(const char *kind, const char *what, void *caller) {
    if (!is_counted(kind)) return 0;
    inside++;
    int saved = errno, error = counted(kind, what, caller);
    errno = saved;
    inside--;
    return error;
}

static int fails_at_path(const char *kind, const char *path, void *caller) {
    if (!is_counted(kind)) return 0;
    char class[80];
    class_of_path(path, class, sizeof class);
    return fails(kind, class, caller);
}

static int fails_at_file(const char *kind, int fd, void *caller) {
    if (!is_counted(kind)) return 0;
    char class[80];
    int saved = errno;
    class_of_file(fd, class, sizeof class);
    errno = saved;
    return fails(kind, class, caller);
}

#define CALLER __builtin_return_address(0)
#define FAIL(error) do { errno = (error); return -1; } while (0)

/* ---- files ---- */

#define OPEN(name, parameters, arguments, path)                                    \
    static void *real_##name;                                                      \
    int name parameters {                                                          \
        mode_t mode = 0;                                                           \
        if (flags & (O_CREAT | O_TMPFILE)) {                                       \
            va_list rest;                                                          \
            va_start(rest, flags);                                                 \
            mode = va_arg(rest, mode_t);                                           \
            va_end(rest);                                                          \
        }                                                                          \
        int error = fails_at_path(flags & O_CREAT ? "create" : "open", path, CALLER); \
        if (error) FAIL(error);                                                    \
        return REAL(name) arguments;                                               \
    }
OPEN(open, (const char *path, int flags, ...), (path, flags, mode), path)
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode), path)
OPEN(openat, (int at, const char *path, int flags, ...), (at, path, flags, mode), path)
OPEN(openat64, (int at, const char *path, int flags, ...), (at, path, flags, mode), path)

static void *real_write;
ssize_t write(int fd, const void *data, size_t size) {
    int error = fails_at_file("write", fd, CALLER);
    if (error == SHORT_WRITE) size = size > 1 ? size / 2 : size;
    else if (error) FAIL(error);
    return REAL(write)(fd, data, size);
}

#define PWRITE(name, offset_type)                                             \
    static void *real_##name;                                                 \
    ssize_t name(int fd, const void *data, size_t size, offset_type offset) { \
        int error = fails_at_file("write", fd, CALLER);                       \
        if (error == SHORT_WRITE) size = size > 1 ? size / 2 : size;          \
        else if (error) FAIL(error);                                          \
        return REAL(name)(fd, data, size, offset);                            \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

static void *real_writev;
ssize_t writev(int fd, const struct iovec *parts, int count) {
    int error = fails_at_file("write", fd, CALLER);
    if (error == SHORT_WRITE) count = 1;
    else if (error) FAIL(error);
    return REAL(writev)(fd, parts, count);
}

#define PWRITEV(name, offset_type)                                                \
    static void *real_##name;                                                     \
    ssize_t name(int fd, const struct iovec *parts, int count, offset_type offset) { \
        int error = fails_at_file("write", fd, CALLER);                           \
        if (error == SHORT_WRITE && count == 1) {                                 \
            struct iovec half = {parts->iov_base, parts->iov_len > 1 ? parts->iov_len / 2 : parts->iov_len}; \
            return REAL(name)(fd, &half, 1, offset);                              \
        }                                                                         \
        if (error == SHORT_WRITE) count = 1;                                      \
        else if (error) FAIL(error);                                              \
        return REAL(name)(fd, parts, count, offset);                              \
    }
PWRITEV(pwritev, off_t)
PWRITEV(pwritev64, off64_t)

#define ON_FILE(name, kind, parameters, arguments)             \
    static void *real_##name;                                  \
    int name parameters {                                      \
        int error = fails_at_file(kind, fd, CALLER);           \
        if (error) FAIL(error);                                \
        return REAL(name) arguments;                           \
    }
ON_FILE(fsync, "sync", (int fd), (fd))
ON_FILE(fdatasync, "sync", (int fd), (fd))
ON_FILE(ftruncate, "truncate", (int fd, off_t size), (fd, size))
ON_FILE(ftruncate64, "truncate", (int fd, off64_t size), (fd, size))
ON_FILE(fallocate, "truncate", (int fd, int mode, off_t at, off_t size), (fd, mode, at, size))

static void *real_read;
ssize_t read(int fd, void *data, size_t size) {
    int error = fails_at_file("read", fd, CALLER);
    if (error) FAIL(error);
    return REAL(read)(fd, data, size);
}

#define PREAD(name, offset_type)                                       \
    static void *real_##name;                                          \
    ssize_t name(int fd, void *data, size_t size, offset_type offset) { \
        int error = fails_at_file("read", fd, CALLER);                 \
        if (error) FAIL(error);                                        \
        return REAL(name)(fd, data, size, offset);                     \
    }
PREAD(pread, off_t)
PREAD(pread64, off64_t)

#define ON_PATH(name, kind, parameters, arguments)         \
    static void *real_##name;                              \
    int name parameters {                                  \
        int error = fails_at_path(kind, path, CALLER);     \
        if (error) FAIL(error);                            \
        return REAL(name) arguments;                       \
    }
ON_PATH(rename, "rename", (const char *path, const char *to), (path, to))
ON_PATH(renameat, "rename", (int at, const char *path, int to_at, const char *to), (at, path, to_at, to))
ON_PATH(unlink, "unlink", (const char *path), (path))
ON_PATH(unlinkat, "unlink", (int at, const char *path, int flags), (at, path, flags))
ON_PATH(mkdir, "mkdir", (const char *path, mode_t mode), (path, mode))
ON_PATH(link, "link", (const char *path, const char *to), (path, to))

#define MMAP(name, offset_type)                                                                \
    static void *real_##name;                                                                  \
    void *name(void *at, size_t size, int protection, int flags, int fd, offset_type offset) { \
        int error = flags & MAP_ANONYMOUS ? fails("mmap", "memory", CALLER) : fails_at_file("mmap", fd, CALLER); \
        if (error) {                                                                           \
            errno = error;                                                                     \
            return MAP_FAILED;                                                                 \
        }                                                                                      \
        return REAL(name)(at, size, protection, flags, fd, offset);                            \
    }
MMAP(mmap, off_t)
MMAP(mmap64, off64_t)

/* ---- network, processes ---- */

#define PLAIN(name, kind, what, parameters, arguments) \
    static void *real_##name;                          \
    int name parameters {                              \
        int error = fails(kind, what, CALLER);         \
        if (error) FAIL(error);                        \
        return REAL(name) arguments;                   \
    }
static const char *family_of(int family) {
    return family == AF_UNIX ? "unix" : family == AF_NETLINK ? "netlink" : "inet";
}
static const char *family_at(const struct sockaddr *address) { return address ? family_of(address->sa_family) : "none"; }
PLAIN(socket, "socket", family_of(family), (int family, int type, int protocol), (family, type, protocol))
PLAIN(socketpair, "socket", "pair", (int family, int type, int protocol, int fds[2]), (family, type, protocol, fds))
PLAIN(connect, "connect", family_at(address), (int fd, const struct sockaddr *address, socklen_t size), (fd, address, size))
PLAIN(bind, "bind", family_at(address), (int fd, const struct sockaddr *address, socklen_t size), (fd, address, size))
PLAIN(accept4, "accept", "socket", (int fd, struct sockaddr *address, socklen_t *size, int flags), (fd, address, size, flags))
PLAIN(pipe, "pipe", "pipe", (int fds[2]), (fds))
PLAIN(pipe2, "pipe", "pipe", (int fds[2], int flags), (fds, flags))
PLAIN(epoll_create1, "pipe", "epoll", (int flags), (flags))
PLAIN(epoll_ctl, "epoll", "epoll", (int at, int operation, int fd, struct epoll_event *event), (at, operation, fd, event))
PLAIN(eventfd, "pipe", "event", (unsigned int first, int flags), (first, flags))

static void *real_fork;
pid_t fork(void) {
    int error = fails("fork", "fork", CALLER);
    if (error) FAIL(error);
    return REAL(fork)();
}

static void *real_pthread_create;
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
    int error = fails("thread", "thread", CALLER);
    if (error) return error;
    return REAL(pthread_create)(thread, attributes, start, argument);
}

static void *real_send, *real_sendto, *real_sendmsg, *real_recv, *real_recvfrom, *real_recvmsg;
ssize_t send(int fd, const void *data, size_t size, int flags) {
    int error = fails_at_file("send", fd, CALLER);
    if (error) FAIL(error);
    return REAL(send)(fd, data, size, flags);
}
ssize_t sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *to, socklen_t length) {
    int error = fails_at_file("send", fd, CALLER);
    if (error) FAIL(error);
    return REAL(sendto)(fd, data, size, flags, to, length);
}
ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    int error = fails_at_file("send", fd, CALLER);
    if (error) FAIL(error);
    return REAL(sendmsg)(fd, message, flags);
}
ssize_t recv(int fd, void *data, size_t size, int flags) {
    int error = fails_at_file("receive", fd, CALLER);
    if (error) FAIL(error);
    return REAL(recv)(fd, data, size, flags);
}
ssize_t recvfrom(int fd, void *data, size_t size, int flags, struct sockaddr *from, socklen_t *length) {
    int error = fails_at_file("receive", fd, CALLER);
    if (error) FAIL(error);
    return REAL(recvfrom)(fd, data, size, flags, from, length);
}
ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
    int error = fails_at_file("receive", fd, CALLER);
    if (error) FAIL(error);
    return REAL(recvmsg)(fd, message, flags);
}

/* ---- memory: the C library's own names, since dlsym itself allocates ---- */

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

#define ALLOCATES(name, parameters, call)                  \
    void *name parameters {                                \
        if (fails("allocate", NULL, CALLER)) {             \
            errno = ENOMEM;                                \
            return NULL;                                   \
        }                                                  \
        return call;                                       \
    }
ALLOCATES(malloc, (size_t size), __libc_malloc(size))
ALLOCATES(calloc, (size_t count, size_t size), __libc_calloc(count, size))
ALLOCATES(realloc, (void *at, size_t size), __libc_realloc(at, size))
ALLOCATES(aligned_alloc, (size_t alignment, size_t size), __libc_memalign(alignment, size))

int posix_memalign(void **to, size_t alignment, size_t size) {
    if (fails("allocate", NULL, CALLER)) return ENOMEM;
    void *at = __libc_memalign(alignment, size);
    if (!at) return ENOMEM;
    *to = at;
    return 0;
}
