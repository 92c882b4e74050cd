// SPDX-License-Identifier: Apache-2.0

#ifndef ALLOCATION_COUNTER_H
#define ALLOCATION_COUNTER_H

#include <stdint.h>

/// Counts what this thread takes from the heap and gives back, and the mutexes it locks, between `begin` and `end`. Stands in for the
/// functions of the C library in the whole test program; outside of that span it passes every call on.
void allocation_counter_begin(void);

/// Ends the span. Returns the calls of malloc, calloc, realloc and their like.
uint64_t allocation_counter_end(void);

/// Of the last span: calls of free, and of pthread_mutex_lock.
uint64_t allocation_counter_frees(void);
uint64_t allocation_counter_locks(void);

/// Whether calls are seen at all: not on systems without glibc, and not under a sanitizer.
int allocation_counter_works(void);

#endif
