// SPDX-License-Identifier: Apache-2.0
// Clock, wake-ups, readiness and threads; sockets are in sockets.c.
#ifdef __linux__
#define _GNU_SOURCE
#endif
#include "cposix.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/epoll.h>
#include <sys/eventfd.h>
#else
#include <sys/event.h>
#endif

int64_t cposix_monotonic(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

void cposix_sleep_until(int64_t nanoseconds) {
#ifdef __linux__
    struct timespec time = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR) {}
#else
    for (;;) {
        int64_t left = nanoseconds - cposix_monotonic();
        if (left <= 0) return;
        struct timespec time = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
        nanosleep(&time, NULL);
    }
#endif
}

// MARK: Wake-ups

int cposix_signal_open(cposix_signal *handle) {
#ifdef __linux__
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd < 0) return -errno;
    handle->reader = handle->writer = fd;
#else
    int pair[2];
    if (pipe(pair) != 0) return -errno;
    for (int i = 0; i < 2; i++) {
        fcntl(pair[i], F_SETFL, O_NONBLOCK);
        fcntl(pair[i], F_SETFD, FD_CLOEXEC);
    }
    handle->reader = pair[0];
    handle->writer = pair[1];
#endif
    return 0;
}

void cposix_signal_raise(cposix_signal handle) {
    uint64_t one = 1;
    while (write(handle.writer, &one, sizeof one) < 0 && errno == EINTR) {}
}

void cposix_signal_clear(cposix_signal handle) {
    uint64_t buffer[8];
    while (read(handle.reader, buffer, sizeof buffer) == (ssize_t)sizeof buffer) {}
}

void cposix_signal_wait(cposix_signal handle, int timeout) {
    struct pollfd entry = {.fd = handle.reader, .events = POLLIN};
    if (poll(&entry, 1, timeout) > 0) cposix_signal_clear(handle);
}

void cposix_signal_close(cposix_signal handle) {
    close(handle.reader);
    if (handle.writer != handle.reader) close(handle.writer);
}

// MARK: Readiness

#ifdef __linux__

int cposix_poller_open(void) {
    int fd = epoll_create1(EPOLL_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int cposix_poller_watch(int poller, int fd, uint64_t token, uint32_t interest, int known) {
    struct epoll_event event = {.data.u64 = token};
    if (interest & CPOSIX_READABLE) event.events |= EPOLLIN;
    if (interest & CPOSIX_WRITABLE) event.events |= EPOLLOUT;
    return epoll_ctl(poller, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int cposix_poller_forget(int poller, int fd) {
    return epoll_ctl(poller, EPOLL_CTL_DEL, fd, NULL) < 0 ? -errno : 0;
}

int cposix_poller_wait(int poller, cposix_event *events, int capacity, int timeout) {
    struct epoll_event ready[128];
    int count = epoll_wait(poller, ready, capacity < 128 ? capacity : 128, timeout);
    if (count < 0) return errno == EINTR ? 0 : -errno;
    for (int i = 0; i < count; i++) {
        events[i].token = ready[i].data.u64;
        events[i].readiness = (ready[i].events & (EPOLLIN | EPOLLHUP) ? CPOSIX_READABLE : 0)
            | (ready[i].events & EPOLLOUT ? CPOSIX_WRITABLE : 0) | (ready[i].events & (EPOLLERR | EPOLLHUP) ? CPOSIX_FAILED : 0);
    }
    return count;
}

#else

int cposix_poller_open(void) {
    int fd = kqueue();
    return fd < 0 ? -errno : fd;
}

int cposix_poller_watch(int poller, int fd, uint64_t token, uint32_t interest, int known) {
    (void)known;
    struct kevent change[2];
    EV_SET(&change[0], fd, EVFILT_READ, interest & CPOSIX_READABLE ? EV_ADD : EV_DELETE, 0, 0, (void *)(uintptr_t)token);
    EV_SET(&change[1], fd, EVFILT_WRITE, interest & CPOSIX_WRITABLE ? EV_ADD : EV_DELETE, 0, 0, (void *)(uintptr_t)token);
    int result = 0;
    for (int i = 0; i < 2; i++) {
        if (kevent(poller, &change[i], 1, NULL, 0, NULL) < 0 && errno != ENOENT) result = -errno;
    }
    return result;
}

int cposix_poller_forget(int poller, int fd) { return cposix_poller_watch(poller, fd, 0, 0, 1); }

int cposix_poller_wait(int poller, cposix_event *events, int capacity, int timeout) {
    struct kevent ready[128];
    struct timespec limit = {.tv_sec = timeout / 1000, .tv_nsec = (timeout % 1000) * 1000000L};
    int count = kevent(poller, NULL, 0, ready, capacity < 128 ? capacity : 128, timeout < 0 ? NULL : &limit);
    if (count < 0) return errno == EINTR ? 0 : -errno;
    for (int i = 0; i < count; i++) {
        events[i].token = (uint64_t)(uintptr_t)ready[i].udata;
        events[i].readiness = (ready[i].filter == EVFILT_READ ? CPOSIX_READABLE : CPOSIX_WRITABLE)
            | (ready[i].flags & EV_EOF ? CPOSIX_FAILED : 0);
    }
    return count;
}

#endif

// MARK: Threads

typedef struct {
    void (*body)(void *);
    void *context;
    char name[16];
} start;

static void *run(void *argument) {
    start own = *(start *)argument;
    free(argument);
#ifdef __linux__
    pthread_setname_np(pthread_self(), own.name);
#else
    pthread_setname_np(own.name);
#endif
    own.body(own.context);
    return NULL;
}

int cposix_thread_start(
    void (*body)(void *), void *context, const char *name, int realtime, int *granted, uintptr_t *thread) {
    start *argument = calloc(1, sizeof *argument);
    if (!argument) return -ENOMEM;
    argument->body = body;
    argument->context = context;
    strncpy(argument->name, name, sizeof argument->name - 1);

    sigset_t blocked, before;
    sigemptyset(&blocked);
    int names[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD, SIGALRM, SIGWINCH, SIGPIPE};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) sigaddset(&blocked, names[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);

    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1 << 20);
    pthread_t handle;
    int error = EPERM;
    if (realtime > 0) {
        struct sched_param parameter = {.sched_priority = realtime};
        pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
        pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
        pthread_attr_setschedparam(&attributes, &parameter);
        error = pthread_create(&handle, &attributes, run, argument);
        if (granted) *granted = error == 0;
        pthread_attr_setinheritsched(&attributes, PTHREAD_INHERIT_SCHED);
    } else if (granted) {
        *granted = 0;
    }
    if (error != 0) error = pthread_create(&handle, &attributes, run, argument);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
        free(argument);
        return -error;
    }
    *thread = (uintptr_t)handle;
    return 0;
}

void cposix_thread_join(uintptr_t thread) { pthread_join((pthread_t)thread, NULL); }

uintptr_t cposix_thread_current(void) { return (uintptr_t)pthread_self(); }
