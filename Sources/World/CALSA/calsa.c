/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __linux__
#define _GNU_SOURCE
#endif
#include "calsa.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if __has_include(<alsa/asoundlib.h>)
#include <alsa/asoundlib.h>
#include <dlfcn.h>

#include "sample_ring.h"

#define SYMBOLS(X) \
    X(snd_pcm_open) X(snd_pcm_close) X(snd_pcm_set_params) X(snd_pcm_avail_update) X(snd_pcm_writei) X(snd_pcm_readi) \
    X(snd_pcm_recover) X(snd_pcm_start) X(snd_pcm_delay) X(snd_strerror) X(snd_device_name_hint) X(snd_device_name_get_hint) \
    X(snd_device_name_free_hint) X(snd_pcm_state) X(snd_lib_error_set_handler)

#define DECLARE(name) static __typeof__(name) *p_##name;
SYMBOLS(DECLARE)
#undef DECLARE

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *missing;

/* The library would write its complaints to standard error. */
static void quiet(const char *file, int line, const char *function, int error, const char *format, ...) {
    (void)file, (void)line, (void)function, (void)error, (void)format;
}

static void load(void) {
    void *library = dlopen("libasound.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        missing = "libasound is not installed";
        return;
    }
#define FIND(name) \
    if (!(p_##name = (__typeof__(p_##name))dlsym(library, #name))) missing = "libasound lacks " #name;
    SYMBOLS(FIND)
#undef FIND
    if (!missing) p_snd_lib_error_set_handler(quiet);
}

/* Between two looks at the device. */
#define PERIOD_NS 5000000
/* Between two tries to open a device that is not there. */
#define RETRY_NS 1000000000

typedef struct {
    snd_pcm_t *pcm;
    char *name;
    snd_pcm_stream_t direction;
    sample_ring ring;
    _Atomic int state;
    _Atomic uint64_t moved;
    _Atomic int64_t delay;
    int64_t retry_at;
    /* When it was opened, and what it moved since: some devices take or give anything at any time, and are held to the clock. */
    int64_t since;
    int64_t count;
} side;

struct calsa_device {
    side out, in;
    uint32_t rate, latency;
    pthread_t thread;
    int has_thread;
    _Atomic int stopped;
    pthread_mutex_t lock;
    char reason[256];
};

static int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void fail(calsa_device *d, side *s, int error) {
    pthread_mutex_lock(&d->lock);
    snprintf(
        d->reason, sizeof d->reason, "%s %s: %s", s->direction == SND_PCM_STREAM_PLAYBACK ? "loudspeaker" : "microphone", s->name,
        p_snd_strerror(error));
    pthread_mutex_unlock(&d->lock);
    if (s->pcm) p_snd_pcm_close(s->pcm);
    s->pcm = NULL;
    atomic_store(&s->state, CALSA_FAILED);
    s->retry_at = now_ns() + RETRY_NS;
}

static void open_side(calsa_device *d, side *s) {
    int error = p_snd_pcm_open(&s->pcm, s->name, s->direction, SND_PCM_NONBLOCK);
    if (error < 0) {
        s->pcm = NULL;
        return fail(d, s, error);
    }
    /* The buffer is twice what is kept in it, so that a late look is no gap. */
    unsigned latency = d->latency * 2 * 1000;
    error = p_snd_pcm_set_params(s->pcm, SND_PCM_FORMAT_S16, SND_PCM_ACCESS_RW_INTERLEAVED, 1, d->rate, 1, latency);
    if (error < 0) return fail(d, s, error);
    if (s->direction == SND_PCM_STREAM_CAPTURE) p_snd_pcm_start(s->pcm);
    s->since = now_ns();
    s->count = 0;
    atomic_store(&s->state, CALSA_READY);
}

/* How many samples may be moved by the clock, beyond those that were. */
static int64_t due(calsa_device *d, side *s, int64_t slack_ms) {
    int64_t passed = (now_ns() - s->since) / 1000000;
    return passed * d->rate / 1000 + slack_ms * d->rate / 1000 - s->count;
}

static void serve_output(calsa_device *d) {
    side *s = &d->out;
    size_t piece = d->rate / 100;
    int16_t samples[960];
    for (int turn = 0; turn < 8; turn++) {
        snd_pcm_sframes_t room = p_snd_pcm_avail_update(s->pcm), waiting = 0;
        if (room < 0) {
            if (p_snd_pcm_recover(s->pcm, (int)room, 1) < 0) fail(d, s, (int)room);
            return;
        }
        if (p_snd_pcm_delay(s->pcm, &waiting) < 0 || waiting < 0) waiting = 0;
        atomic_store(&s->delay, (int64_t)waiting);
        int64_t wanted = (int64_t)d->rate * d->latency / 1000 - waiting;
        if (wanted > room) wanted = room;
        if (wanted > due(d, s, d->latency)) wanted = due(d, s, d->latency);
        if (wanted > (int64_t)piece) wanted = (int64_t)piece;
        if (wanted < (int64_t)piece / 4) return;
        size_t got = sample_ring_take(&s->ring, samples, (size_t)wanted, piece / 2, 6 * piece, d->rate);
        snd_pcm_sframes_t written = p_snd_pcm_writei(s->pcm, samples, (snd_pcm_uframes_t)wanted);
        if (written < 0) {
            if (p_snd_pcm_recover(s->pcm, (int)written, 1) < 0) fail(d, s, (int)written);
            return;
        }
        if (p_snd_pcm_state(s->pcm) == SND_PCM_STATE_PREPARED) p_snd_pcm_start(s->pcm);
        s->count += written;
        atomic_fetch_add(&s->moved, got);
    }
}

static void serve_input(calsa_device *d) {
    side *s = &d->in;
    int16_t samples[960];
    for (int turn = 0; turn < 32; turn++) {
        snd_pcm_sframes_t there = p_snd_pcm_avail_update(s->pcm);
        if (there == 0) return;
        if (there > 0) {
            int64_t most = due(d, s, 20);
            if (there > most) there = most;
            if (there > 480) there = 480;
            if (there <= 0) return;
            there = p_snd_pcm_readi(s->pcm, samples, (snd_pcm_uframes_t)there);
        }
        if (there == -EAGAIN) return;
        if (there < 0) {
            if (p_snd_pcm_recover(s->pcm, (int)there, 1) < 0) fail(d, s, (int)there);
            else p_snd_pcm_start(s->pcm);
            return;
        }
        s->count += there;
        sample_ring_put(&s->ring, samples, (size_t)there);
        atomic_fetch_add(&s->moved, (uint64_t)there);
    }
}

static void *run(void *argument) {
    calsa_device *d = argument;
    int64_t next = now_ns();
    while (!atomic_load(&d->stopped)) {
        side *sides[] = {&d->out, &d->in};
        for (int i = 0; i < 2; i++)
            if (!sides[i]->pcm && next >= sides[i]->retry_at) open_side(d, sides[i]);
        if (d->out.pcm) serve_output(d);
        if (d->in.pcm) serve_input(d);
        next += PERIOD_NS;
        if (now_ns() > next + RETRY_NS) next = now_ns();
        struct timespec time = {.tv_sec = next / 1000000000, .tv_nsec = next % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
    }
    for (int i = 0; i < 2; i++) {
        side *s = i == 0 ? &d->out : &d->in;
        if (s->pcm) p_snd_pcm_close(s->pcm);
    }
    return NULL;
}

calsa_device *calsa_open(const char *output, const char *input, uint32_t rate, uint32_t latency_ms, char *reason, size_t room) {
    pthread_once(&once, load);
    if (missing) {
        snprintf(reason, room, "%s", missing);
        return NULL;
    }
    calsa_device *d = calloc(1, sizeof *d);
    if (!d) {
        snprintf(reason, room, "no memory");
        return NULL;
    }
    pthread_mutex_init(&d->lock, NULL);
    d->rate = rate;
    d->latency = latency_ms;
    d->out.name = strdup(output);
    d->in.name = strdup(input);
    d->out.direction = SND_PCM_STREAM_PLAYBACK;
    d->in.direction = SND_PCM_STREAM_CAPTURE;
    /* Sound is worth more than ordinary work, and less than the bridge's own thread. */
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    struct sched_param priority = {.sched_priority = 15};
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &priority);
    d->has_thread = pthread_create(&d->thread, &attributes, run, d) == 0 || pthread_create(&d->thread, NULL, run, d) == 0;
    pthread_attr_destroy(&attributes);
    if (!d->has_thread || !d->out.name || !d->in.name) {
        snprintf(reason, room, "the system gives no thread for sound");
        calsa_close(d);
        return NULL;
    }
    return d;
}

enum calsa_state calsa_playback_state(calsa_device *d) { return (enum calsa_state)atomic_load(&d->out.state); }
enum calsa_state calsa_capture_state(calsa_device *d) { return (enum calsa_state)atomic_load(&d->in.state); }

void calsa_reason(calsa_device *d, char *reason, size_t room) {
    pthread_mutex_lock(&d->lock);
    snprintf(reason, room, "%s", d->reason);
    pthread_mutex_unlock(&d->lock);
}

void calsa_play(calsa_device *d, const int16_t *samples, size_t count) {
    if (atomic_load_explicit(&d->out.state, memory_order_relaxed) != CALSA_READY) return;
    sample_ring_put(&d->out.ring, samples, count);
}

size_t calsa_capture(calsa_device *d, int16_t *samples, size_t count) {
    size_t piece = d->rate / 100;
    return sample_ring_take(&d->in.ring, samples, count, piece / 2, 6 * piece, d->rate);
}

int calsa_delay(calsa_device *d) {
    if (d->rate == 0 || atomic_load(&d->out.state) != CALSA_READY) return 0;
    size_t waiting = sample_ring_count(&d->out.ring) + sample_ring_count(&d->in.ring);
    return (int)((atomic_load(&d->out.delay) + (int64_t)waiting) * 1000 / d->rate);
}

calsa_figures calsa_figures_of(calsa_device *d) {
    sample_ring *out = &d->out.ring, *in = &d->in.ring;
    calsa_figures figures = {
        atomic_load(&out->underruns) + atomic_load(&in->underruns), atomic_load(&out->dropped) + atomic_load(&in->dropped),
        atomic_load(&out->adjusted) + atomic_load(&in->adjusted), atomic_load(&d->out.moved), atomic_load(&d->in.moved)};
    return figures;
}

void calsa_close(calsa_device *d) {
    atomic_store(&d->stopped, 1);
    if (d->has_thread) pthread_join(d->thread, NULL);
    free(d->out.name);
    free(d->in.name);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

int calsa_list(calsa_info *infos, size_t room, char *reason, size_t reason_room) {
    pthread_once(&once, load);
    if (missing) {
        snprintf(reason, reason_room, "%s", missing);
        return -1;
    }
    void **hints = NULL;
    int error = p_snd_device_name_hint(-1, "pcm", &hints);
    if (error < 0) {
        snprintf(reason, reason_room, "ALSA: %s", p_snd_strerror(error));
        return -1;
    }
    int count = 0;
    for (void **hint = hints; *hint; hint++) {
        char *name = p_snd_device_name_get_hint(*hint, "NAME"), *text = p_snd_device_name_get_hint(*hint, "DESC");
        char *direction = p_snd_device_name_get_hint(*hint, "IOID");
        for (int input = 0; input < 2 && name; input++) {
            if (direction && strcmp(direction, input ? "Input" : "Output") != 0) continue;
            if ((size_t)count < room) {
                calsa_info *info = &infos[count];
                snprintf(info->name, sizeof info->name, "%s", name);
                snprintf(info->description, sizeof info->description, "%s", text ? text : name);
                for (char *c = info->description; *c; c++)
                    if (*c == '\n') *c = ' ';
                info->is_input = input;
            }
            count++;
        }
        free(name);
        free(text);
        free(direction);
    }
    p_snd_device_name_free_hint(hints);
    return count;
}

#else

struct calsa_device {
    int none;
};

calsa_device *calsa_open(const char *output, const char *input, uint32_t rate, uint32_t latency_ms, char *reason, size_t room) {
    (void)output, (void)input, (void)rate, (void)latency_ms;
    snprintf(reason, room, "built without ALSA");
    return NULL;
}
enum calsa_state calsa_playback_state(calsa_device *d) { return (void)d, CALSA_FAILED; }
enum calsa_state calsa_capture_state(calsa_device *d) { return (void)d, CALSA_FAILED; }
void calsa_reason(calsa_device *d, char *reason, size_t room) { (void)d, snprintf(reason, room, "built without ALSA"); }
void calsa_play(calsa_device *d, const int16_t *samples, size_t count) { (void)d, (void)samples, (void)count; }
size_t calsa_capture(calsa_device *d, int16_t *samples, size_t count) {
    (void)d;
    memset(samples, 0, count * sizeof *samples);
    return 0;
}
int calsa_delay(calsa_device *d) { return (void)d, 0; }
calsa_figures calsa_figures_of(calsa_device *d) { return (void)d, (calsa_figures){0}; }
void calsa_close(calsa_device *d) { (void)d; }
int calsa_list(calsa_info *infos, size_t room, char *reason, size_t reason_room) {
    (void)infos, (void)room;
    snprintf(reason, reason_room, "built without ALSA");
    return -1;
}

#endif
