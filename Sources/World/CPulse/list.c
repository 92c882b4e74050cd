/* SPDX-License-Identifier: Apache-2.0
 *
 * The devices that a server has. */
#include "cpulse.h"
#include "library.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    cpulse_info *infos;
    size_t room, count;
    char sink[256], source[256];
    int left;
} listing;

static void add(listing *l, const char *name, const char *description, int is_input) {
    if (l->count < l->room) {
        cpulse_info *info = &l->infos[l->count];
        snprintf(info->name, sizeof info->name, "%s", name ? name : "");
        snprintf(info->description, sizeof info->description, "%s", description ? description : "");
        info->is_input = is_input;
        info->is_default = strcmp(info->name, is_input ? l->source : l->sink) == 0;
    }
    l->count++;
}

static void on_sink(pa_context *context, const pa_sink_info *info, int end, void *user) {
    listing *l = user;
    (void)context;
    if (end) l->left--;
    else add(l, info->name, info->description, 0);
}

static void on_source(pa_context *context, const pa_source_info *info, int end, void *user) {
    listing *l = user;
    (void)context;
    if (end) l->left--;
    else add(l, info->name, info->description, 1);
}

static void forget(pa_operation *operation, listing *l) {
    if (operation) p_pa_operation_unref(operation);
    else l->left--;
}

static void on_server(pa_context *context, const pa_server_info *info, void *user) {
    listing *l = user;
    if (info) {
        snprintf(l->sink, sizeof l->sink, "%s", info->default_sink_name ? info->default_sink_name : "");
        snprintf(l->source, sizeof l->source, "%s", info->default_source_name ? info->default_source_name : "");
    }
    l->left += 2;
    forget(p_pa_context_get_sink_info_list(context, on_sink, l), l);
    forget(p_pa_context_get_source_info_list(context, on_source, l), l);
    l->left--;
}

int cpulse_list(const char *server, cpulse_info *infos, size_t room, char *reason, size_t reason_room) {
    const char *missing = cpulse_load();
    if (missing) {
        snprintf(reason, reason_room, "%s", missing);
        return -1;
    }
    listing l = {.infos = infos, .room = room, .left = 1};
    pa_mainloop *loop = p_pa_mainloop_new();
    pa_context *context = loop ? p_pa_context_new(p_pa_mainloop_get_api(loop), "Handset") : NULL;
    int result = -1, asked = 0;
    snprintf(reason, reason_room, "libpulse gives no connection");
    if (context && p_pa_context_connect(context, server, PA_CONTEXT_NOAUTOSPAWN, NULL) < 0) {
        snprintf(reason, reason_room, "sound server: %s", p_pa_strerror(p_pa_context_errno(context)));
    } else if (context) {
        pa_usec_t limit = p_pa_rtclock_now() + 2000000;
        snprintf(reason, reason_room, "the sound server does not answer");
        while (l.left > 0 && p_pa_rtclock_now() < limit) {
            if (p_pa_mainloop_prepare(loop, 100000) < 0 || p_pa_mainloop_poll(loop) < 0 || p_pa_mainloop_dispatch(loop) < 0) break;
            pa_context_state_t state = p_pa_context_get_state(context);
            if (state == PA_CONTEXT_READY && !asked) {
                asked = 1;
                forget(p_pa_context_get_server_info(context, on_server, &l), &l);
            } else if (state == PA_CONTEXT_FAILED || state == PA_CONTEXT_TERMINATED) {
                snprintf(reason, reason_room, "sound server: %s", p_pa_strerror(p_pa_context_errno(context)));
                break;
            }
        }
        if (asked && l.left <= 0) result = (int)l.count;
    }
    if (context) {
        p_pa_context_disconnect(context);
        p_pa_context_unref(context);
    }
    if (loop) p_pa_mainloop_free(loop);
    return result;
}
