/* SPDX-License-Identifier: Apache-2.0 */
#include "library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DEFINE(name) __typeof__(name) *p_##name;
SYMBOLS(DEFINE)
#undef DEFINE

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *missing;

static void load(void) {
    void *library = dlopen("libdbus-1.so.3", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        missing = "libdbus is not installed";
        return;
    }
#define FIND(name) \
    if (!(p_##name = (__typeof__(p_##name))dlsym(library, #name))) missing = "libdbus lacks " #name;
    SYMBOLS(FIND)
#undef FIND
    if (!missing) p_dbus_threads_init_default();
}

DBusConnection *cdbus_session_bus(char *reason, size_t room) {
    pthread_once(&once, load);
    if (missing) {
        snprintf(reason, room, "%s", missing);
        return NULL;
    }
    const char *address = getenv("DBUS_SESSION_BUS_ADDRESS");
    char usual[300];
    if (!address || !*address) {
        /* Never by autolaunch: that starts a bus which nobody else is on. */
        const char *folder = getenv("XDG_RUNTIME_DIR");
        snprintf(usual, sizeof usual, "%s/bus", folder ? folder : "");
        if (!folder || access(usual, W_OK) != 0) {
            snprintf(reason, room, "there is no session bus");
            return NULL;
        }
        snprintf(usual, sizeof usual, "unix:path=%.250s/bus", folder);
        address = usual;
    }
    DBusError error;
    p_dbus_error_init(&error);
    DBusConnection *bus = p_dbus_connection_open_private(address, &error);
    if (bus) p_dbus_connection_set_exit_on_disconnect(bus, 0);
    if (!bus || !p_dbus_bus_register(bus, &error)) {
        snprintf(reason, room, "the session bus cannot be reached: %s", error.message ? error.message : "no reason given");
        p_dbus_error_free(&error);
        if (bus) cdbus_leave(bus);
        return NULL;
    }
    return bus;
}

void cdbus_leave(DBusConnection *bus) {
    p_dbus_connection_close(bus);
    p_dbus_connection_unref(bus);
}
