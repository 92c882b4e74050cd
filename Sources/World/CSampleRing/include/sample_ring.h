/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples between the bridge's thread and a sound system's: one puts, the other takes, neither waits. The two clocks drift: the taker
 * follows by a sample more or less each time, spread over what it takes, so that nothing is heard of it. */
#ifndef SAMPLE_RING_H
#define SAMPLE_RING_H

#include <stdatomic.h>
#include <stdint.h>
#include <stddef.h>

/* About 340 ms at 48 kHz. */
#define SAMPLE_RING 16384

typedef struct {
    int16_t samples[SAMPLE_RING];
    _Atomic size_t head, tail;
    /* The taker's own. */
    int running;
    /* The least that waited after taking, in this second of takes. */
    size_t least;
    size_t taken;
    int adjust;
    _Atomic uint64_t underruns, dropped, adjusted;
} sample_ring;

/* What waits. */
size_t sample_ring_count(sample_ring *ring);

/* Puts samples; what finds no room is dropped and counted. */
void sample_ring_put(sample_ring *ring, const int16_t *samples, size_t count);

/* Takes `count` samples, silence where there are none; how many were real. It begins, and begins again after it ran dry, when
 * `target` samples wait besides; what waits beyond `limit` is cut to the target. `second`: samples in which the drift is judged. */
size_t sample_ring_take(sample_ring *ring, int16_t *samples, size_t count, size_t target, size_t limit, size_t second);

#endif
