/* SPDX-License-Identifier: Apache-2.0 */
#include "library.h"

#include <dlfcn.h>
#include <pthread.h>

#define DEFINE(name) __typeof__(name) *p_##name;
SYMBOLS(DEFINE)
#undef DEFINE

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *missing;

static void load(void) {
    void *library = dlopen("libpulse.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        missing = "libpulse is not installed";
        return;
    }
#define FIND(name) \
    if (!(p_##name = (__typeof__(p_##name))dlsym(library, #name))) missing = "libpulse lacks " #name;
    SYMBOLS(FIND)
#undef FIND
}

const char *cpulse_load(void) {
    pthread_once(&once, load);
    return missing;
}
