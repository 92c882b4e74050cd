/* SPDX-License-Identifier: Apache-2.0
 *
 * libpulse's functions, looked up when they are first needed. */
#ifndef CPULSE_LIBRARY_H
#define CPULSE_LIBRARY_H

#include <pulse/pulseaudio.h>

#define SYMBOLS(X) \
    X(pa_threaded_mainloop_new) X(pa_threaded_mainloop_free) X(pa_threaded_mainloop_start) X(pa_threaded_mainloop_stop) \
    X(pa_threaded_mainloop_lock) X(pa_threaded_mainloop_unlock) X(pa_threaded_mainloop_get_api) X(pa_context_new) \
    X(pa_context_set_state_callback) X(pa_context_connect) X(pa_context_get_state) X(pa_context_errno) X(pa_context_disconnect) \
    X(pa_context_unref) X(pa_stream_new) X(pa_stream_set_state_callback) X(pa_stream_set_write_callback) X(pa_stream_set_read_callback) \
    X(pa_stream_connect_playback) X(pa_stream_connect_record) X(pa_stream_get_state) X(pa_stream_begin_write) X(pa_stream_write) \
    X(pa_stream_peek) X(pa_stream_drop) X(pa_stream_disconnect) X(pa_stream_unref) X(pa_strerror) X(pa_stream_get_latency) \
    X(pa_context_subscribe) X(pa_context_set_subscribe_callback) X(pa_operation_unref) \
    X(pa_rtclock_now) X(pa_context_get_sink_info_list) X(pa_context_get_source_info_list) \
    X(pa_context_get_server_info) X(pa_mainloop_new) X(pa_mainloop_free) X(pa_mainloop_get_api) \
    X(pa_mainloop_prepare) X(pa_mainloop_poll) X(pa_mainloop_dispatch)

#define DECLARE(name) extern __typeof__(name) *p_##name;
SYMBOLS(DECLARE)
#undef DECLARE

/* Loads the library once; NULL, or why it cannot be used. */
const char *cpulse_load(void);

#endif
