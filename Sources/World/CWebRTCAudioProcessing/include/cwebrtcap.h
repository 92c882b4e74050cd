/* SPDX-License-Identifier: Apache-2.0
 *
 * Echo cancellation, noise suppression and gain control of webrtc-audio-processing 0.3 over frames of 10 ms: 16 bit, mono, 8000 to
 * 48000 samples a second. The library is loaded when the first processor is opened. `cwebrtcap_near` and `cwebrtcap_far` never wait,
 * allocate nothing and are for one thread.
 */
#ifndef CWEBRTCAP_H
#define CWEBRTCAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma clang assume_nonnull begin

typedef struct cwebrtcap cwebrtcap;

/* NULL with words in `reason` if it cannot be had. */
cwebrtcap *_Nullable cwebrtcap_open(int rate, int cancel_echo, int suppress_noise, int control_gain, char *reason, size_t room);

/* A frame for the loudspeaker. */
void cwebrtcap_far(cwebrtcap *processor, const int16_t *samples, size_t count);

/* Works on a frame of the microphone in place; `delay_ms`: from `far` to the echo of that frame, as far as is known. */
void cwebrtcap_near(cwebrtcap *processor, int16_t *samples, size_t count, int delay_ms);

void cwebrtcap_close(cwebrtcap *processor);

#pragma clang assume_nonnull end

#ifdef __cplusplus
}
#endif

#endif
