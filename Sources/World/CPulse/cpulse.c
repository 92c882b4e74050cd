/* SPDX-License-Identifier: Apache-2.0 */
#include "cpulse.h"
#include "library.h"
#include "sample_ring.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How long after a failure a server or a device is looked for again. */
#define RETRY_USEC 1000000

struct cpulse_device {
    pa_threaded_mainloop *loop;
    pa_context *context;
    pa_stream *playback, *record;
    pa_time_event *retry;
    char *server, *application, *sink, *source;
    uint32_t rate, latency;
    sample_ring output, input;
    _Atomic int playback_state, record_state;
    _Atomic uint64_t played, captured;
    /* What the server says of its delay each way, in microseconds; -1: nothing yet. */
    _Atomic int64_t playback_delay, record_delay;
    pthread_mutex_t lock;
    char reason[256];
};

static void connect_context(cpulse_device *d);
static void open_playback(cpulse_device *d);
static void open_record(cpulse_device *d);

static void say(cpulse_device *d, const char *what, int error) {
    pthread_mutex_lock(&d->lock);
    snprintf(d->reason, sizeof d->reason, "%s: %s", what, p_pa_strerror(error));
    pthread_mutex_unlock(&d->lock);
}

/* MARK: Coming back */

static void drop_stream(pa_stream **stream) {
    if (!*stream) return;
    p_pa_stream_set_state_callback(*stream, NULL, NULL);
    p_pa_stream_set_write_callback(*stream, NULL, NULL);
    p_pa_stream_set_read_callback(*stream, NULL, NULL);
    p_pa_stream_disconnect(*stream);
    p_pa_stream_unref(*stream);
    *stream = NULL;
}

static void drop_context(cpulse_device *d) {
    drop_stream(&d->playback);
    drop_stream(&d->record);
    if (!d->context) return;
    p_pa_context_set_state_callback(d->context, NULL, NULL);
    p_pa_context_set_subscribe_callback(d->context, NULL, NULL);
    p_pa_context_disconnect(d->context);
    p_pa_context_unref(d->context);
    d->context = NULL;
}

static void try_again(cpulse_device *d) {
    if (!d->context || p_pa_context_get_state(d->context) != PA_CONTEXT_READY) {
        if (d->context) {
            pa_context_state_t state = p_pa_context_get_state(d->context);
            if (state != PA_CONTEXT_FAILED && state != PA_CONTEXT_TERMINATED) return;
        }
        drop_context(d);
        connect_context(d);
        return;
    }
    if (atomic_load(&d->playback_state) == CPULSE_FAILED) open_playback(d);
    if (atomic_load(&d->record_state) == CPULSE_FAILED) open_record(d);
}

static void on_retry(pa_mainloop_api *api, pa_time_event *event, const struct timeval *time, void *user) {
    cpulse_device *d = user;
    (void)event;
    (void)time;
    api->time_free(d->retry);
    d->retry = NULL;
    try_again(d);
}

static void retry_later(cpulse_device *d) {
    if (d->retry) return;
    pa_mainloop_api *api = p_pa_threaded_mainloop_get_api(d->loop);
    struct timeval when;
    /* The main loop's times are of the wall clock. */
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    when.tv_sec = now.tv_sec + RETRY_USEC / 1000000;
    when.tv_usec = now.tv_nsec / 1000;
    d->retry = api->time_new(api, &when, on_retry, d);
}

static void fail(cpulse_device *d, _Atomic int *state, const char *what) {
    say(d, what, d->context ? p_pa_context_errno(d->context) : 0);
    atomic_store(state, CPULSE_FAILED);
    retry_later(d);
}

/* A device came: perhaps the one that is missing. */
static void on_news(pa_context *context, pa_subscription_event_type_t type, uint32_t index, void *user) {
    cpulse_device *d = user;
    (void)context;
    (void)index;
    if ((type & PA_SUBSCRIPTION_EVENT_TYPE_MASK) != PA_SUBSCRIPTION_EVENT_NEW) return;
    if (atomic_load(&d->playback_state) == CPULSE_FAILED || atomic_load(&d->record_state) == CPULSE_FAILED) try_again(d);
}

/* MARK: Sound */

static void note_delay(pa_stream *stream, _Atomic int64_t *place) {
    pa_usec_t delay = 0;
    int negative = 0;
    if (p_pa_stream_get_latency(stream, &delay, &negative) == 0) atomic_store(place, negative ? 0 : (int64_t)delay);
}

static size_t of_milliseconds(cpulse_device *d, uint32_t milliseconds) { return (size_t)d->rate * milliseconds / 1000; }

/* The loudspeaker wants samples: what waits, and silence for the rest. */
static void on_write(pa_stream *stream, size_t wanted, void *context) {
    cpulse_device *d = context;
    size_t piece = of_milliseconds(d, 10);
    while (wanted >= 2) {
        void *place = NULL;
        size_t octets = wanted;
        if (p_pa_stream_begin_write(stream, &place, &octets) < 0 || !place || octets < 2) return;
        if (octets > wanted) octets = wanted;
        octets -= octets % 2;
        size_t count = octets / 2;
        if (count > piece) count = piece;
        size_t got = sample_ring_take(&d->output, place, count, piece / 2, 6 * piece, d->rate);
        if (p_pa_stream_write(stream, place, count * 2, NULL, 0, PA_SEEK_RELATIVE) < 0) return;
        atomic_fetch_add(&d->played, got);
        wanted -= count * 2;
    }
    note_delay(stream, &d->playback_delay);
}

static void on_read(pa_stream *stream, size_t there, void *context) {
    cpulse_device *d = context;
    (void)there;
    for (;;) {
        const void *place = NULL;
        size_t octets = 0;
        if (p_pa_stream_peek(stream, &place, &octets) < 0 || octets == 0) break;
        if (place) {
            sample_ring_put(&d->input, place, octets / 2);
            atomic_fetch_add(&d->captured, octets / 2);
        }
        p_pa_stream_drop(stream);
    }
    note_delay(stream, &d->record_delay);
}

/* MARK: Connections */

static void on_stream(pa_stream *stream, void *context) {
    cpulse_device *d = context;
    int is_playback = stream == d->playback;
    _Atomic int *state = is_playback ? &d->playback_state : &d->record_state;
    switch (p_pa_stream_get_state(stream)) {
    case PA_STREAM_READY: atomic_store(state, CPULSE_READY); break;
    case PA_STREAM_FAILED:
    case PA_STREAM_TERMINATED:
        /* It stays failed until it is ready again: whoever asks is not told of each try. */
        fail(d, state, is_playback ? "loudspeaker" : "microphone");
        break;
    default: break;
    }
}

static const pa_stream_flags_t flags = PA_STREAM_ADJUST_LATENCY | PA_STREAM_AUTO_TIMING_UPDATE | PA_STREAM_INTERPOLATE_TIMING;

static void open_playback(cpulse_device *d) {
    drop_stream(&d->playback);
    pa_sample_spec spec = {.format = PA_SAMPLE_S16NE, .rate = d->rate, .channels = 1};
    pa_buffer_attr attributes = {
        .maxlength = (uint32_t)-1, .tlength = d->rate * 2 * d->latency / 1000, .prebuf = 0, .minreq = d->rate * 2 / 200,
        .fragsize = (uint32_t)-1};
    d->playback = p_pa_stream_new(d->context, "call", &spec, NULL);
    if (d->playback) {
        p_pa_stream_set_state_callback(d->playback, on_stream, d);
        p_pa_stream_set_write_callback(d->playback, on_write, d);
        if (p_pa_stream_connect_playback(d->playback, d->sink, &attributes, flags, NULL, NULL) == 0) return;
    }
    fail(d, &d->playback_state, "loudspeaker");
}

static void open_record(cpulse_device *d) {
    drop_stream(&d->record);
    pa_sample_spec spec = {.format = PA_SAMPLE_S16NE, .rate = d->rate, .channels = 1};
    pa_buffer_attr attributes = {
        .maxlength = (uint32_t)-1, .tlength = (uint32_t)-1, .prebuf = (uint32_t)-1, .minreq = (uint32_t)-1, .fragsize = d->rate * 2 / 200};
    d->record = p_pa_stream_new(d->context, "call", &spec, NULL);
    if (d->record) {
        p_pa_stream_set_state_callback(d->record, on_stream, d);
        p_pa_stream_set_read_callback(d->record, on_read, d);
        if (p_pa_stream_connect_record(d->record, d->source, &attributes, flags) == 0) return;
    }
    fail(d, &d->record_state, "microphone");
}

static void on_context(pa_context *context, void *user) {
    cpulse_device *d = user;
    switch (p_pa_context_get_state(context)) {
    case PA_CONTEXT_READY: {
        p_pa_context_set_subscribe_callback(context, on_news, d);
        pa_operation *operation = p_pa_context_subscribe(context, PA_SUBSCRIPTION_MASK_SINK | PA_SUBSCRIPTION_MASK_SOURCE, NULL, NULL);
        if (operation) p_pa_operation_unref(operation);
        open_playback(d);
        open_record(d);
        break;
    }
    case PA_CONTEXT_FAILED:
    case PA_CONTEXT_TERMINATED:
        atomic_store(&d->record_state, CPULSE_FAILED);
        fail(d, &d->playback_state, "sound server");
        break;
    default: break;
    }
}

static void connect_context(cpulse_device *d) {
    d->context = p_pa_context_new(p_pa_threaded_mainloop_get_api(d->loop), d->application);
    if (!d->context) return retry_later(d);
    p_pa_context_set_state_callback(d->context, on_context, d);
    if (p_pa_context_connect(d->context, d->server, PA_CONTEXT_NOAUTOSPAWN, NULL) < 0) {
        atomic_store(&d->record_state, CPULSE_FAILED);
        fail(d, &d->playback_state, "sound server");
    }
}

/* MARK: Open and close */

static char *copy(const char *text) { return text ? strdup(text) : NULL; }

cpulse_device *cpulse_open(const char *server, const char *application, const char *sink, const char *source, uint32_t rate,
                           uint32_t latency_ms, char *reason, size_t room) {
    const char *missing = cpulse_load();
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
    d->server = copy(server);
    d->application = copy(application);
    d->sink = copy(sink);
    d->source = copy(source);
    atomic_store(&d->playback_delay, -1);
    atomic_store(&d->record_delay, -1);
    d->loop = p_pa_threaded_mainloop_new();
    if (!d->loop) {
        snprintf(reason, room, "libpulse gives no connection");
        cpulse_close(d);
        return NULL;
    }
    connect_context(d);
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
    sample_ring_put(&d->output, samples, count);
}

size_t cpulse_capture(cpulse_device *d, int16_t *samples, size_t count) {
    size_t piece = of_milliseconds(d, 10);
    return sample_ring_take(&d->input, samples, count, piece / 2, 6 * piece, d->rate);
}

int cpulse_delay(cpulse_device *d) {
    int64_t playback = atomic_load_explicit(&d->playback_delay, memory_order_relaxed);
    int64_t record = atomic_load_explicit(&d->record_delay, memory_order_relaxed);
    if (playback < 0 || record < 0 || d->rate == 0) return 0;
    size_t waiting = sample_ring_count(&d->output) + sample_ring_count(&d->input);
    return (int)((playback + record) / 1000 + (int64_t)waiting * 1000 / d->rate);
}

cpulse_figures cpulse_figures_of(cpulse_device *d) {
    cpulse_figures figures = {
        atomic_load(&d->output.underruns) + atomic_load(&d->input.underruns),
        atomic_load(&d->output.dropped) + atomic_load(&d->input.dropped),
        atomic_load(&d->output.adjusted) + atomic_load(&d->input.adjusted), atomic_load(&d->played), atomic_load(&d->captured)};
    return figures;
}

void cpulse_close(cpulse_device *d) {
    if (d->loop) {
        p_pa_threaded_mainloop_stop(d->loop);
        if (d->retry) p_pa_threaded_mainloop_get_api(d->loop)->time_free(d->retry);
        drop_context(d);
        p_pa_threaded_mainloop_free(d->loop);
    }
    free(d->server);
    free(d->application);
    free(d->sink);
    free(d->source);
    pthread_mutex_destroy(&d->lock);
    free(d);
}
