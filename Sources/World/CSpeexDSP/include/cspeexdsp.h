/* SPDX-License-Identifier: Apache-2.0
 *
 * speexdsp's echo canceller and preprocessor over frames of 10 ms: 16 bit, mono, 8000 to 48000 samples a second. The library is
 * loaded when the first processor is opened. `cspeexdsp_near` and `cspeexdsp_far` never wait, allocate nothing and are for one thread.
 */
#ifndef CSPEEXDSP_H
#define CSPEEXDSP_H

#include <stddef.h>
#include <stdint.h>

typedef struct cspeexdsp cspeexdsp;

/* `tail_ms` of echo after the device's own delay are taken out; 0: none. NULL with words in `reason` if it cannot be had. */
cspeexdsp *_Nullable cspeexdsp_open(int rate, int tail_ms, int suppress_noise, int control_gain, char *_Nonnull reason, size_t room);

/* A frame for the loudspeaker. */
void cspeexdsp_far(cspeexdsp *_Nonnull processor, const int16_t *_Nonnull samples, size_t count);

/* Works on a frame of the microphone in place; `delay_ms`: from `far` to the echo of that frame; 0: not known. */
void cspeexdsp_near(cspeexdsp *_Nonnull processor, int16_t *_Nonnull samples, size_t count, int delay_ms);

void cspeexdsp_close(cspeexdsp *_Nonnull processor);

#endif
