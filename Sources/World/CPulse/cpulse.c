/* SPDX-License-Identifier: Apache-2.0 */
#include "cpulse.h"

#include <dlfcn.h>
#include <pthread.h>
#include <pulse/pulseaudio.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SYMBOLS(X) \
    X(pa_threaded_mainloop_new) X(pa_threaded_mainloop_free) X(pa_threaded_mainloop_start) X(pa_threaded_mainloop_stop) \
    X(pa_threaded_mainloop_lock) X(pa_threaded_mainloop_unlock) X(pa_threaded_mainloop_get_api) X(pa_context_new) \
    X(pa_context_set_state_callback) X(pa_context_connect) X(pa_context_get_state) X(pa_context_errno) X(pa_context_disconnect) \
    X(pa_context_unref) X(pa_stream_new) X(pa_stream_set_state_callback) X(pa_stream_set_write_callback) X(pa_stream_set_read_callback) \
    X(pa_stream_connect_playback) X(pa_stream_connect_record) X(pa_stream_get_state) X(pa_stream_begin_write) X(pa_stream_write) \
    X(pa_stream_peek) X(pa_stream_drop) X(pa_stream_disconnect) X(pa_stream_unref) X(pa_strerror)

#define DECLARE(name) static __typeof__(name) *p_##name;
SYMBOLS(DECLARE)
#undef DECLARE

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

/* Samples between the caller's thread and PulseAudio's: one writes, the other reads. About 340 ms at 48 kHz. */
#define RING 16384
typedef struct {
    int16_t samples[RING];
    _Atomic size_t head, tail;
} ring;

static size_t ring_count(ring *r) {
    return atomic_load_explicit(&r->tail, memory_order_acquire) - atomic_load_explicit(&r->head, memory_order_acquire);
}

static size_t ring_put(ring *r, const int16_t *samples, size_t count) {
    size_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    size_t room = RING - (tail - atomic_load_explicit(&r->head, memory_order_acquire));
    if (count > room) count = room;
    for (size_t i = 0; i < count; i++) r->samples[(tail + i) % RING] = samples[i];
    atomic_store_explicit(&r->tail, tail + count, memory_order_release);
    return count;
}

static size_t ring_take(ring *r, int16_t *samples, size_t count) {
    size_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    size_t there = atomic_load_explicit(&r->tail, memory_order_acquire) - head;
    if (count > there) count = there;
    if (samples)
        for (size_t i = 0; i < count; i++) samples[i] = r->samples[(head + i) % RING];
    atomic_store_explicit(&r->head, head + count, memory_order_release);
    return count;
}

struct cpulse_device {
    pa_threaded_mainloop *loop;
    pa_context *context;
    pa_stream *playback, *record;
    char *sink, *source;
    uint32_t rate, latency;
    ring output, input;
    _Atomic int playback_state, record_state;
    _Atomic uint64_t underruns, dropped, played, captured;
    /* Whether enough waits to begin; after an underrun it is filled again first. */
    int playing;
    int capturing;
    pthread_mutex_t lock;
    char reason[256];
};

static void fail(cpulse_device *d, _Atomic int *state, const char *what) {
    int error = d->context ? p_pa_context_errno(d->context) : 0;
    pthread_mutex_lock(&d->lock);
    if (!d->reason[0]) snprintf(d->reason, sizeof d->reason, "%s: %s", what, p_pa_strerror(error));
    pthread_mutex_unlock(&d->lock);
    atomic_store(state, CPULSE_FAILED);
}

/* The loudspeaker wants samples: what waits, and silence for the rest. */
static void on_write(pa_stream *stream, size_t wanted, void *context) {
    cpulse_device *d = context;
    size_t target = (size_t)d->rate * d->latency / 1000;
    while (wanted >= 2) {
        void *place = NULL;
        size_t octets = wanted;
        if (p_pa_stream_begin_write(stream, &place, &octets) < 0 || !place || octets < 2) return;
        if (octets > wanted) octets = wanted;
        octets -= octets % 2;
        size_t count = octets / 2, got = 0;
        size_t waiting = ring_count(&d->output);
        if (!d->playing && waiting >= target) d->playing = 1;
        /* The clocks of the two sides drift: more than three times the target is cut back to it. */
        if (waiting > 3 * target + count) {
            size_t cut = ring_take(&d->output, NULL, waiting - target - count);
            atomic_fetch_add(&d->dropped, cut);
        }
        if (d->playing) {
            got = ring_take(&d->output, place, count);
            if (got < count) {
                d->playing = 0;
                atomic_fetch_add(&d->underruns, 1);
            }
        }
        memset((int16_t *)place + got, 0, (count - got) * 2);
        if (p_pa_stream_write(stream, place, octets, NULL, 0, PA_SEEK_RELATIVE) < 0) return;
        atomic_fetch_add(&d->played, got);
        wanted -= octets;
    }
}

static void on_read(pa_stream *stream, size_t there, void *context) {
    cpulse_device *d = context;
    (void)there;
    for (;;) {
        const void *place = NULL;
        size_t octets = 0;
        if (p_pa_stream_peek(stream, &place, &octets) < 0 || octets == 0) return;
        if (place) {
            size_t put = ring_put(&d->input, place, octets / 2);
            atomic_fetch_add(&d->dropped, octets / 2 - put);
            atomic_fetch_add(&d->captured, put);
        }
        p_pa_stream_drop(stream);
    }
}

static void on_stream(pa_stream *stream, void *context) {
    cpulse_device *d = context;
    _Atomic int *state = stream == d->playback ? &d->playback_state : &d->record_state;
    switch (p_pa_stream_get_state(stream)) {
    case PA_STREAM_READY: atomic_store(state, CPULSE_READY); break;
    case PA_STREAM_FAILED:
    case PA_STREAM_TERMINATED: fail(d, state, stream == d->playback ? "loudspeaker" : "microphone"); break;
    default: break;
    }
}

static void open_streams(cpulse_device *d) {
    pa_sample_spec spec = {.format = PA_SAMPLE_S16NE, .rate = d->rate, .channels = 1};
    uint32_t period = d->rate * 2 * 10 / 1000;
    uint32_t target = d->rate * 2 * d->latency / 1000;
    pa_buffer_attr out = {
        .maxlength = (uint32_t)-1, .tlength = target, .prebuf = 0, .minreq = period, .fragsize = (uint32_t)-1};
    pa_buffer_attr in = {
        .maxlength = (uint32_t)-1, .tlength = (uint32_t)-1, .prebuf = (uint32_t)-1, .minreq = (uint32_t)-1, .fragsize = period};
    d->playback = p_pa_stream_new(d->context, "call", &spec, NULL);
    if (d->playback) {
        p_pa_stream_set_state_callback(d->playback, on_stream, d);
        p_pa_stream_set_write_callback(d->playback, on_write, d);
    }
    if (!d->playback || p_pa_stream_connect_playback(d->playback, d->sink, &out, PA_STREAM_ADJUST_LATENCY, NULL, NULL) < 0)
        fail(d, &d->playback_state, "loudspeaker");
    d->record = p_pa_stream_new(d->context, "call", &spec, NULL);
    if (d->record) {
        p_pa_stream_set_state_callback(d->record, on_stream, d);
        p_pa_stream_set_read_callback(d->record, on_read, d);
    }
    if (!d->record || p_pa_stream_connect_record(d->record, d->source, &in, PA_STREAM_ADJUST_LATENCY) < 0)
        fail(d, &d->record_state, "microphone");
}

static void on_context(pa_context *context, void *user) {
    cpulse_device *d = user;
    switch (p_pa_context_get_state(context)) {
    case PA_CONTEXT_READY: open_streams(d); break;
    case PA_CONTEXT_FAILED:
    case PA_CONTEXT_TERMINATED:
        fail(d, &d->playback_state, "sound server");
        atomic_store(&d->record_state, CPULSE_FAILED);
        break;
    default: break;
    }
}

cpulse_device *cpulse_open(const char *server, const char *application, const char *sink, const char *source, uint32_t rate,
                           uint32_t latency_ms, char *reason, size_t room) {
    pthread_once(&once, load);
    if (missing) {
        snprintf(reason, room, "%s", missing);
        return NULL;
    }
    cpulse_device *d = calloc(1, sizeof *d);
    if (!d) {
        snprintf(reason, room, "no memory");
        return NULL;
    }
    pthread_mutex_init(&d->lock, NULL);
    d->rate = rate;
    d->latency = latency_ms;
    d->sink = sink ? strdup(sink) : NULL;
    d->source = source ? strdup(source) : NULL;
    d->loop = p_pa_threaded_mainloop_new();
    if (d->loop) d->context = p_pa_context_new(p_pa_threaded_mainloop_get_api(d->loop), application);
    if (!d->context) {
        snprintf(reason, room, "libpulse gives no connection");
        cpulse_close(d);
        return NULL;
    }
    p_pa_context_set_state_callback(d->context, on_context, d);
    if (p_pa_context_connect(d->context, server, PA_CONTEXT_NOAUTOSPAWN, NULL) < 0) {
        snprintf(reason, room, "sound server: %s", p_pa_strerror(p_pa_context_errno(d->context)));
        cpulse_close(d);
        return NULL;
    }
    if (p_pa_threaded_mainloop_start(d->loop) < 0) {
        snprintf(reason, room, "the system gives no thread for sound");
        cpulse_close(d);
        return NULL;
    }
    return d;
}

enum cpulse_state cpulse_playback_state(cpulse_device *d) { return (enum cpulse_state)atomic_load(&d->playback_state); }
enum cpulse_state cpulse_capture_state(cpulse_device *d) { return (enum cpulse_state)atomic_load(&d->record_state); }

void cpulse_reason(cpulse_device *d, char *reason, size_t room) {
    pthread_mutex_lock(&d->lock);
    snprintf(reason, room, "%s", d->reason);
    pthread_mutex_unlock(&d->lock);
}

void cpulse_play(cpulse_device *d, const int16_t *samples, size_t count) {
    if (atomic_load_explicit(&d->playback_state, memory_order_relaxed) != CPULSE_READY) return;
    size_t put = ring_put(&d->output, samples, count);
    if (put < count) atomic_fetch_add(&d->dropped, count - put);
}

size_t cpulse_capture(cpulse_device *d, int16_t *samples, size_t count) {
    size_t target = (size_t)d->rate * d->latency / 1000;
    size_t waiting = ring_count(&d->input);
    if (!d->capturing && waiting >= target) d->capturing = 1;
    if (waiting > 3 * target + count) {
        size_t cut = ring_take(&d->input, NULL, waiting - target - count);
        atomic_fetch_add(&d->dropped, cut);
    }
    size_t got = 0;
    if (d->capturing) {
        got = ring_take(&d->input, samples, count);
        if (got < count) {
            d->capturing = 0;
            atomic_fetch_add(&d->underruns, 1);
        }
    }
    memset(samples + got, 0, (count - got) * 2);
    return got;
}

cpulse_figures cpulse_figures_of(cpulse_device *d) {
    cpulse_figures figures = {
        atomic_load(&d->underruns), atomic_load(&d->dropped), atomic_load(&d->played), atomic_load(&d->captured)};
    return figures;
}

void cpulse_close(cpulse_device *d) {
    if (d->loop) p_pa_threaded_mainloop_stop(d->loop);
    if (d->playback) {
        p_pa_stream_set_state_callback(d->playback, NULL, NULL);
        p_pa_stream_disconnect(d->playback);
        p_pa_stream_unref(d->playback);
    }
    if (d->record) {
        p_pa_stream_set_state_callback(d->record, NULL, NULL);
        p_pa_stream_disconnect(d->record);
        p_pa_stream_unref(d->record);
    }
    if (d->context) {
        p_pa_context_set_state_callback(d->context, NULL, NULL);
        p_pa_context_disconnect(d->context);
        p_pa_context_unref(d->context);
    }
    if (d->loop) p_pa_threaded_mainloop_free(d->loop);
    free(d->sink);
    free(d->source);
    pthread_mutex_destroy(&d->lock);
    free(d);
}
