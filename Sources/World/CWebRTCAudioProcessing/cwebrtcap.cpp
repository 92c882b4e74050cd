/* SPDX-License-Identifier: Apache-2.0
 *
 * The library's classes are used by their virtual functions alone, so nothing of it is linked: the two functions that make and tune
 * them are looked up by name in the library once it is loaded. */
#include "cwebrtcap.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#if __has_include(<webrtc_audio_processing/webrtc/modules/audio_processing/include/audio_processing.h>)
#define WEBRTC_POSIX 1
#define WEBRTC_AUDIO_PROCESSING_ONLY_BUILD 1
#include <webrtc_audio_processing/webrtc/modules/audio_processing/include/audio_processing.h>

namespace {

using webrtc::AudioProcessing;
using webrtc::StreamConfig;

AudioProcessing *(*create)();
void (*extend_filter)(AecCore *, int);
void (*ignore_delay)(AecCore *, int);
const char *missing;
pthread_once_t once = PTHREAD_ONCE_INIT;

void load() {
    void *library = dlopen("libwebrtc_audio_processing.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        missing = "libwebrtc-audio-processing is not installed";
        return;
    }
    create = reinterpret_cast<AudioProcessing *(*)()>(dlsym(library, "_ZN6webrtc15AudioProcessing6CreateEv"));
    extend_filter = reinterpret_cast<void (*)(AecCore *, int)>(dlsym(library, "WebRtcAec_enable_extended_filter"));
    ignore_delay = reinterpret_cast<void (*)(AecCore *, int)>(dlsym(library, "WebRtcAec_enable_delay_agnostic"));
    if (!create) missing = "libwebrtc-audio-processing is of another version";
}

constexpr int largest_frame = 480;

}  // namespace

struct cwebrtcap {
    AudioProcessing *processing;
    StreamConfig format;
    float samples[largest_frame];
    float scratch[largest_frame];
};

cwebrtcap *cwebrtcap_open(int rate, int cancel_echo, int suppress_noise, int control_gain, char *reason, size_t room) {
    pthread_once(&once, load);
    if (missing) {
        snprintf(reason, room, "%s", missing);
        return nullptr;
    }
    if (rate < 8000 || rate / 100 > largest_frame) {
        snprintf(reason, room, "it takes 8000 to 48000 samples a second, not %d", rate);
        return nullptr;
    }
    AudioProcessing *processing = create();
    if (!processing) {
        snprintf(reason, room, "the library makes no processor");
        return nullptr;
    }
    StreamConfig format(rate, 1);
    webrtc::ProcessingConfig formats;
    for (StreamConfig &stream : formats.streams) stream = format;
    bool good = processing->Initialize(formats) == AudioProcessing::kNoError;
    if (cancel_echo) {
        webrtc::EchoCancellation *echo = processing->echo_cancellation();
        /* The levels above take more of the near side than of the echo (docs/devices.md). */
        good = good && echo->set_suppression_level(webrtc::EchoCancellation::kLowSuppression) == 0 && echo->Enable(true) == 0;
        AecCore *core = echo->aec_core();
        if (core && extend_filter) extend_filter(core, 1);
        if (core && ignore_delay) ignore_delay(core, 1);
    }
    if (suppress_noise) {
        good = good && processing->noise_suppression()->set_level(webrtc::NoiseSuppression::kModerate) == 0
            && processing->noise_suppression()->Enable(true) == 0;
    }
    if (control_gain) {
        webrtc::GainControl *gain = processing->gain_control();
        good = good && gain->set_mode(webrtc::GainControl::kAdaptiveDigital) == 0 && gain->set_target_level_dbfs(9) == 0
            && gain->Enable(true) == 0;
    }
    processing->high_pass_filter()->Enable(true);
    void *memory = good ? calloc(1, sizeof(cwebrtcap)) : nullptr;
    if (!memory) {
        delete processing;
        snprintf(reason, room, "the library refuses these settings");
        return nullptr;
    }
    cwebrtcap *made = static_cast<cwebrtcap *>(memory);
    made->processing = processing;
    made->format = format;
    return made;
}

static void take(cwebrtcap *p, const int16_t *samples, size_t count) {
    for (size_t i = 0; i < count; i++) p->samples[i] = samples[i] / 32768.0f;
}

void cwebrtcap_far(cwebrtcap *p, const int16_t *samples, size_t count) {
    if (count != p->format.num_frames()) return;
    take(p, samples, count);
    const float *in[] = {p->samples};
    float *out[] = {p->scratch};
    p->processing->ProcessReverseStream(in, p->format, p->format, out);
}

void cwebrtcap_near(cwebrtcap *p, int16_t *samples, size_t count, int delay_ms) {
    if (count != p->format.num_frames()) return;
    take(p, samples, count);
    p->processing->set_stream_delay_ms(delay_ms < 0 ? 0 : delay_ms > 500 ? 500 : delay_ms);
    const float *in[] = {p->samples};
    float *out[] = {p->scratch};
    if (p->processing->ProcessStream(in, p->format, p->format, out) != AudioProcessing::kNoError) return;
    for (size_t i = 0; i < count; i++) {
        float value = p->scratch[i] * 32768.0f;
        samples[i] = static_cast<int16_t>(value >= 32767 ? 32767 : value <= -32768 ? -32768 : value + (value < 0 ? -0.5f : 0.5f));
    }
}

void cwebrtcap_close(cwebrtcap *p) {
    delete p->processing;
    free(p);
}

#else

cwebrtcap *cwebrtcap_open(int, int, int, int, char *reason, size_t room) {
    snprintf(reason, room, "built without webrtc-audio-processing");
    return nullptr;
}
void cwebrtcap_far(cwebrtcap *, const int16_t *, size_t) {}
void cwebrtcap_near(cwebrtcap *, int16_t *, size_t, int) {}
void cwebrtcap_close(cwebrtcap *) {}

#endif
