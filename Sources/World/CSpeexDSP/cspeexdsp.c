/* SPDX-License-Identifier: Apache-2.0 */
#include "cspeexdsp.h"

#include <dlfcn.h>
#include <pthread.h>
#include <speex/speex_echo.h>
#include <speex/speex_preprocess.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SYMBOLS(X) \
    X(speex_echo_state_init) X(speex_echo_state_destroy) X(speex_echo_cancellation) X(speex_echo_ctl) X(speex_preprocess_state_init) \
    X(speex_preprocess_state_destroy) X(speex_preprocess_run) X(speex_preprocess_ctl)

#define DECLARE(name) static __typeof__(name) *p_##name;
SYMBOLS(DECLARE)
#undef DECLARE

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *missing;

static void load(void) {
    void *library = dlopen("libspeexdsp.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        missing = "libspeexdsp is not installed";
        return;
    }
#define FIND(name) \
    if (!(p_##name = (__typeof__(p_##name))dlsym(library, #name))) missing = "libspeexdsp lacks " #name;
    SYMBOLS(FIND)
#undef FIND
}

/* Frames for the loudspeaker that are kept, so that the canceller sees each about when its echo comes: 1.28 s. */
#define HISTORY 128

struct cspeexdsp {
    SpeexEchoState *echo;
    SpeexPreprocessState *preprocess;
    int frame;
    int16_t *history, *output;
    /* Frames given so far, and how many lie between a frame and its echo. */
    unsigned long given;
    int lag;
};

cspeexdsp *cspeexdsp_open(int rate, int tail_ms, int suppress_noise, int control_gain, char *reason, size_t room) {
    pthread_once(&once, load);
    if (missing) {
        snprintf(reason, room, "%s", missing);
        return NULL;
    }
    cspeexdsp *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->frame = rate / 100;
    p->lag = 1;
    p->history = calloc((size_t)HISTORY * p->frame, sizeof *p->history);
    p->output = calloc((size_t)p->frame, sizeof *p->output);
    if (tail_ms > 0) {
        p->echo = p_speex_echo_state_init(p->frame, rate / 1000 * tail_ms);
        if (p->echo) p_speex_echo_ctl(p->echo, SPEEX_ECHO_SET_SAMPLING_RATE, &rate);
    }
    p->preprocess = p_speex_preprocess_state_init(p->frame, rate);
    if (!p->history || !p->output || !p->preprocess || (tail_ms > 0 && !p->echo)) {
        snprintf(reason, room, "no memory for the echo canceller");
        cspeexdsp_close(p);
        return NULL;
    }
    int on = 1, off = 0, hardly = -1;
    /* What the canceller leaves is suppressed by the part that suppresses noise: it must run, if only for that. */
    p_speex_preprocess_ctl(p->preprocess, SPEEX_PREPROCESS_SET_DENOISE, suppress_noise || p->echo ? &on : &off);
    if (!suppress_noise) p_speex_preprocess_ctl(p->preprocess, SPEEX_PREPROCESS_SET_NOISE_SUPPRESS, &hardly);
    if (control_gain) {
        int most = 18;
        int target = 8000;
        p_speex_preprocess_ctl(p->preprocess, SPEEX_PREPROCESS_SET_AGC, &on);
        p_speex_preprocess_ctl(p->preprocess, SPEEX_PREPROCESS_SET_AGC_TARGET, &target);
        p_speex_preprocess_ctl(p->preprocess, SPEEX_PREPROCESS_SET_AGC_MAX_GAIN, &most);
    }
    if (p->echo) {
        /* What the linear part leaves is made quieter by this much, while the near side is silent and while it speaks. */
        int alone = -45, both = -12;
        p_speex_preprocess_ctl(p->preprocess, SPEEX_PREPROCESS_SET_ECHO_STATE, p->echo);
        p_speex_preprocess_ctl(p->preprocess, SPEEX_PREPROCESS_SET_ECHO_SUPPRESS, &alone);
        p_speex_preprocess_ctl(p->preprocess, SPEEX_PREPROCESS_SET_ECHO_SUPPRESS_ACTIVE, &both);
    }
    return p;
}

void cspeexdsp_far(cspeexdsp *p, const int16_t *samples, size_t count) {
    int16_t *place = p->history + (p->given % HISTORY) * p->frame;
    if (count > (size_t)p->frame) count = (size_t)p->frame;
    memcpy(place, samples, count * sizeof *samples);
    memset(place + count, 0, ((size_t)p->frame - count) * sizeof *samples);
    p->given++;
}

void cspeexdsp_near(cspeexdsp *p, int16_t *samples, size_t count, int delay_ms) {
    if (count != (size_t)p->frame) return;
    if (p->echo) {
        /* The canceller looks back only, so the frame it is shown is the one before the echo's. A few milliseconds more or less are
         * left alone: each change is a new echo path to learn. */
        int lag = delay_ms / 10 - 1;
        if (lag < 1) lag = 1;
        if (lag > HISTORY - 1) lag = HISTORY - 1;
        if (abs(lag - p->lag) > 2) p->lag = lag;
        static const int16_t silence[960];
        const int16_t *far =
            p->given >= (unsigned long)p->lag ? p->history + ((p->given - (unsigned long)p->lag) % HISTORY) * p->frame : silence;
        p_speex_echo_cancellation(p->echo, samples, far, p->output);
        memcpy(samples, p->output, count * sizeof *samples);
    }
    p_speex_preprocess_run(p->preprocess, samples);
}

void cspeexdsp_close(cspeexdsp *p) {
    if (p->preprocess) p_speex_preprocess_state_destroy(p->preprocess);
    if (p->echo) p_speex_echo_state_destroy(p->echo);
    free(p->history);
    free(p->output);
    free(p);
}
