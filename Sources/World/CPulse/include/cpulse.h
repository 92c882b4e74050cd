/* SPDX-License-Identifier: Apache-2.0
 *
 * One loudspeaker and one microphone of a PulseAudio server: 16 bit, mono, any rate. PulseAudio's threaded API runs a thread of
 * its own; samples go through lock-free rings, so `cpulse_play` and `cpulse_capture` never wait and may be called by one
 * real-time thread. A server or a device that goes away is waited for, and used again when it comes back.
 *
 * libpulse is loaded when the first device is opened: a program that opens none neither needs it nor pays for it.
 */
#ifndef CPULSE_H
#define CPULSE_H

#include <stddef.h>
#include <stdint.h>

typedef struct cpulse_device cpulse_device;

enum cpulse_state { CPULSE_CONNECTING = 0, CPULSE_READY = 1, CPULSE_FAILED = 2 };

typedef struct {
    /* Times that nothing was there to be played, or nothing had been heard, after it once ran. */
    uint64_t underruns;
    /* Samples thrown away at once because the other side was slower. */
    uint64_t dropped;
    /* Single samples put in or left out to follow the device's clock. */
    uint64_t adjusted;
    /* Samples that went to the loudspeaker and came from the microphone. */
    uint64_t played, captured;
} cpulse_figures;

/* Opens a device; the connection goes on by itself. `server`, `sink` and `source` may be NULL: the usual ones, which are followed
 * when the user chooses others. `latency_ms` is asked of the server each way. NULL is returned if libpulse is not there or the system
 * is exhausted, with words in `reason`. */
cpulse_device *_Nullable cpulse_open(const char *_Nullable server, const char *_Nonnull application, const char *_Nullable sink,
                                     const char *_Nullable source, uint32_t rate, uint32_t latency_ms, char *_Nonnull reason, size_t room);

/* How the loudspeaker and the microphone are. With CPULSE_FAILED `reason` tells why. */
enum cpulse_state cpulse_playback_state(cpulse_device *_Nonnull device);
enum cpulse_state cpulse_capture_state(cpulse_device *_Nonnull device);
void cpulse_reason(cpulse_device *_Nonnull device, char *_Nonnull reason, size_t room);

/* Gives samples to the loudspeaker; what does not fit is dropped. */
void cpulse_play(cpulse_device *_Nonnull device, const int16_t *_Nonnull samples, size_t count);

/* Takes what the microphone heard; what is missing is silence. Returns how many samples were heard. */
size_t cpulse_capture(cpulse_device *_Nonnull device, int16_t *_Nonnull samples, size_t count);

/* Milliseconds from `cpulse_play` to the capture of the same sound, by what waits in rings and what the server says; 0: not known.
 * For the thread that plays and captures. */
int cpulse_delay(cpulse_device *_Nonnull device);

cpulse_figures cpulse_figures_of(cpulse_device *_Nonnull device);

/* Closes; what was given to be played is cut off. Not while another thread plays or captures. */
void cpulse_close(cpulse_device *_Nonnull device);

/* One device of the server. */
typedef struct {
    char name[256];
    char description[256];
    /* 1: a microphone (source), 0: a loudspeaker (sink). */
    int is_input;
    int is_default;
} cpulse_info;

/* Lists the devices of the server: how many there are, at most `room` of them in `infos`; -1 with words in `reason` when the server
 * does not answer. Waits for it, two seconds at most. */
int cpulse_list(const char *_Nullable server, cpulse_info *_Nonnull infos, size_t room, char *_Nonnull reason, size_t reason_room);

#endif
