/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_ring.h"

#include <string.h>

size_t sample_ring_count(sample_ring *r) {
    return atomic_load_explicit(&r->tail, memory_order_acquire) - atomic_load_explicit(&r->head, memory_order_acquire);
}

void sample_ring_put(sample_ring *r, const int16_t *samples, size_t count) {
    size_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    size_t room = SAMPLE_RING - (tail - atomic_load_explicit(&r->head, memory_order_acquire));
    if (count > room) {
        atomic_fetch_add(&r->dropped, count - room);
        count = room;
    }
    for (size_t i = 0; i < count; i++) r->samples[(tail + i) % SAMPLE_RING] = samples[i];
    atomic_store_explicit(&r->tail, tail + count, memory_order_release);
}

static void sample_ring_skip(sample_ring *r, size_t count) {
    atomic_store_explicit(&r->head, atomic_load_explicit(&r->head, memory_order_relaxed) + count, memory_order_release);
}

/* Takes `count` samples of `source` in the ring, stretched or squeezed to that. */
static void sample_ring_blend(sample_ring *r, int16_t *samples, size_t count, size_t source) {
    size_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    if (source == count || count < 2 || source < 2) {
        for (size_t i = 0; i < count; i++) samples[i] = r->samples[(head + i) % SAMPLE_RING];
        return;
    }
    for (size_t i = 0; i < count; i++) {
        /* The last sample of what is taken is the last of what is given: the next take goes on without a joint. */
        size_t place = i * (source - 1) * 4096 / (count - 1);
        int32_t part = (int32_t)(place % 4096);
        int32_t a = r->samples[(head + place / 4096) % SAMPLE_RING], b = r->samples[(head + place / 4096 + 1) % SAMPLE_RING];
        samples[i] = (int16_t)(a + (b - a) * part / 4096);
    }
}

size_t sample_ring_take(sample_ring *r, int16_t *samples, size_t count, size_t target, size_t limit, size_t second) {
    size_t waiting = sample_ring_count(r);
    if (!r->running) {
        if (waiting < target + count) {
            memset(samples, 0, count * sizeof *samples);
            return 0;
        }
        /* What had gathered before anybody took is stale. */
        if (waiting > target + count) {
            sample_ring_skip(r, waiting - target - count);
            waiting = target + count;
        }
        r->running = 1;
        r->least = waiting;
        r->taken = 0;
        r->adjust = 0;
    }
    if (waiting > limit + count) {
        atomic_fetch_add(&r->dropped, waiting - target - count);
        sample_ring_skip(r, waiting - target - count);
        waiting = target + count;
        r->least = waiting;
    }
    if (waiting < count) {
        sample_ring_blend(r, samples, waiting, waiting);
        sample_ring_skip(r, waiting);
        memset(samples + waiting, 0, (count - waiting) * sizeof *samples);
        r->running = 0;
        atomic_fetch_add(&r->underruns, 1);
        return waiting;
    }
    size_t source = count;
    /* One in a hundred at most: 10 ms of 48 kHz may grow or shrink by four samples. */
    size_t most = count / 100 > 0 ? count / 100 : 1;
    if (r->adjust > 0 && waiting >= count + most) {
        source = count + ((size_t)r->adjust < most ? (size_t)r->adjust : most);
        r->adjust -= (int)(source - count);
    } else if (r->adjust < 0) {
        size_t more = (size_t)-r->adjust < most ? (size_t)-r->adjust : most;
        source = count - more;
        r->adjust += (int)more;
    }
    if (source != count) atomic_fetch_add(&r->adjusted, source > count ? source - count : count - source);
    sample_ring_blend(r, samples, count, source);
    sample_ring_skip(r, source);
    size_t rest = waiting - source;
    if (rest < r->least) r->least = rest;
    r->taken += count;
    if (r->taken >= second) {
        /* What never left the ring in this time is delay that nobody needs. */
        long spare = (long)r->least - (long)target / 2;
        r->adjust = spare > (long)target / 2 || spare < -(long)target / 4 ? (int)spare : 0;
        r->least = rest;
        r->taken = 0;
    }
    return count;
}
