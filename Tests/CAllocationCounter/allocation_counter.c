// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "allocation_counter.h"

#include <stddef.h>

static __thread int counting;
static __thread uint64_t taken, given, locked;

void allocation_counter_begin(void) {
    taken = given = locked = 0;
    counting = 1;
}

uint64_t allocation_counter_end(void) {
    counting = 0;
    return taken;
}

uint64_t allocation_counter_frees(void) { return given; }
uint64_t allocation_counter_locks(void) { return locked; }

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#if defined(__GLIBC__) && !defined(SANITIZED)

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

// The C library's own functions, under the names that it keeps for those who stand in.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

int allocation_counter_works(void) { return 1; }

void *malloc(size_t size) {
    taken += counting;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    taken += counting;
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
    taken += counting;
    return __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size) {
    taken += counting;
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **result, size_t alignment, size_t size) {
    void *made = memalign(alignment, size);
    if (made == NULL) return ENOMEM;
    *result = made;
    return 0;
}

void free(void *old) {
    given += counting;
    __libc_free(old);
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    static int (*real)(pthread_mutex_t *);
    if (real == NULL) real = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
    locked += counting;
    return real(mutex);
}

#else

int allocation_counter_works(void) { return 0; }

#endif
