/* SPDX-License-Identifier: Apache-2.0
 *
 * One loudspeaker and one microphone of ALSA: 16 bit, mono, any rate. A thread of ours serves both every 5 ms; samples go through
 * lock-free rings, so `calsa_play` and `calsa_capture` never wait and may be called by one real-time thread. A device that goes away
 * is looked for each second.
 *
 * libasound is loaded when the first device is opened.
 */
#ifndef CALSA_H
#define CALSA_H

#include <stddef.h>
#include <stdint.h>

typedef struct calsa_device calsa_device;

enum calsa_state { CALSA_CONNECTING = 0, CALSA_READY = 1, CALSA_FAILED = 2 };

typedef struct {
    uint64_t underruns, dropped, adjusted, played, captured;
} calsa_figures;

/* Opens the PCM devices of these names; `latency_ms` is what waits in the loudspeaker's buffer. NULL is returned if libasound is not
 * there or the system is exhausted, with words in `reason`. */
calsa_device *_Nullable calsa_open(const char *_Nonnull output, const char *_Nonnull input, uint32_t rate, uint32_t latency_ms,
                                   char *_Nonnull reason, size_t room);

enum calsa_state calsa_playback_state(calsa_device *_Nonnull device);
enum calsa_state calsa_capture_state(calsa_device *_Nonnull device);
void calsa_reason(calsa_device *_Nonnull device, char *_Nonnull reason, size_t room);

void calsa_play(calsa_device *_Nonnull device, const int16_t *_Nonnull samples, size_t count);
size_t calsa_capture(calsa_device *_Nonnull device, int16_t *_Nonnull samples, size_t count);

/* Milliseconds from `calsa_play` to the capture of the same sound; 0: not known. For the thread that plays and captures. */
int calsa_delay(calsa_device *_Nonnull device);

calsa_figures calsa_figures_of(calsa_device *_Nonnull device);

/* Closes. Not while another thread plays or captures. */
void calsa_close(calsa_device *_Nonnull device);

typedef struct {
    char name[256];
    char description[256];
    int is_input;
} calsa_info;

/* Lists the PCM devices: how many there are, at most `room` of them in `infos`; -1 with words in `reason`. */
int calsa_list(calsa_info *_Nonnull infos, size_t room, char *_Nonnull reason, size_t reason_room);

#endif
