/* SPDX-License-Identifier: Apache-2.0
 *
 * What is used of libdbus, declared here: its headers stand in a folder of each architecture, and only the library counts. Types of
 * values are the characters of the D-Bus specification; structures that the library alone looks into are made large enough.
 */
#ifndef CDBUS_LIBRARY_H
#define CDBUS_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

typedef struct DBusConnection DBusConnection;
typedef struct DBusMessage DBusMessage;
typedef uint32_t dbus_bool_t;
typedef struct {
    const char *name, *message;
    void *room[6];
} DBusError;
typedef struct {
    void *room[24];
} DBusMessageIter;
enum {
    DBUS_TYPE_BYTE = 'y',
    DBUS_TYPE_BOOLEAN = 'b',
    DBUS_TYPE_INT32 = 'i',
    DBUS_TYPE_UINT32 = 'u',
    DBUS_TYPE_STRING = 's',
    DBUS_TYPE_OBJECT_PATH = 'o',
    DBUS_TYPE_ARRAY = 'a',
    DBUS_TYPE_VARIANT = 'v',
    DBUS_TYPE_STRUCT = 'r',
    DBUS_TYPE_DICT_ENTRY = 'e'
};
void dbus_error_init(DBusError *);
void dbus_error_free(DBusError *);
DBusConnection *dbus_connection_open_private(const char *, DBusError *);
dbus_bool_t dbus_bus_register(DBusConnection *, DBusError *);
void dbus_bus_add_match(DBusConnection *, const char *, DBusError *);
void dbus_connection_close(DBusConnection *);
void dbus_connection_unref(DBusConnection *);
void dbus_connection_set_exit_on_disconnect(DBusConnection *, dbus_bool_t);
dbus_bool_t dbus_connection_get_is_connected(DBusConnection *);
dbus_bool_t dbus_connection_get_unix_fd(DBusConnection *, int *);
dbus_bool_t dbus_connection_read_write(DBusConnection *, int);
dbus_bool_t dbus_connection_send(DBusConnection *, DBusMessage *, uint32_t *);
void dbus_connection_flush(DBusConnection *);
DBusMessage *dbus_connection_pop_message(DBusConnection *);
DBusMessage *dbus_connection_send_with_reply_and_block(DBusConnection *, DBusMessage *, int, DBusError *);
DBusMessage *dbus_message_new_method_call(const char *, const char *, const char *, const char *);
void dbus_message_set_no_reply(DBusMessage *, dbus_bool_t);
void dbus_message_unref(DBusMessage *);
dbus_bool_t dbus_message_is_signal(DBusMessage *, const char *, const char *);
dbus_bool_t dbus_message_has_path(DBusMessage *, const char *);
dbus_bool_t dbus_message_iter_init(DBusMessage *, DBusMessageIter *);
void dbus_message_iter_init_append(DBusMessage *, DBusMessageIter *);
dbus_bool_t dbus_message_iter_append_basic(DBusMessageIter *, int, const void *);
dbus_bool_t dbus_message_iter_append_fixed_array(DBusMessageIter *, int, const void *, int);
dbus_bool_t dbus_message_iter_open_container(DBusMessageIter *, int, const char *, DBusMessageIter *);
dbus_bool_t dbus_message_iter_close_container(DBusMessageIter *, DBusMessageIter *);
int dbus_message_iter_get_arg_type(DBusMessageIter *);
void dbus_message_iter_get_basic(DBusMessageIter *, void *);
void dbus_message_iter_get_fixed_array(DBusMessageIter *, void *, int *);
void dbus_message_iter_recurse(DBusMessageIter *, DBusMessageIter *);
dbus_bool_t dbus_message_iter_next(DBusMessageIter *);
dbus_bool_t dbus_threads_init_default(void);

#define SYMBOLS(X) \
    X(dbus_error_init) X(dbus_error_free) X(dbus_connection_open_private) X(dbus_bus_register) \
    X(dbus_connection_close) X(dbus_connection_unref) X(dbus_connection_set_exit_on_disconnect) X(dbus_message_new_method_call) \
    X(dbus_message_unref) X(dbus_connection_send_with_reply_and_block) X(dbus_message_iter_init) X(dbus_message_iter_init_append) \
    X(dbus_message_iter_append_basic) X(dbus_message_iter_open_container) X(dbus_message_iter_close_container) \
    X(dbus_message_iter_append_fixed_array) X(dbus_message_iter_get_arg_type) X(dbus_message_iter_get_basic) \
    X(dbus_message_iter_recurse) X(dbus_message_iter_next) X(dbus_message_iter_get_fixed_array) X(dbus_bus_add_match) \
    X(dbus_connection_read_write) X(dbus_connection_pop_message) X(dbus_message_is_signal) X(dbus_message_has_path) \
    X(dbus_threads_init_default) X(dbus_connection_get_is_connected) X(dbus_connection_get_unix_fd) X(dbus_connection_send) \
    X(dbus_connection_flush) X(dbus_message_set_no_reply)
/* Set once the library is loaded. */
#define DECLARE(name) extern __typeof__(name) *p_##name;
SYMBOLS(DECLARE)
#undef DECLARE

/* A connection of its own to the person's session bus; NULL with words in `reason`. The library is loaded at the first call. */
DBusConnection *cdbus_session_bus(char *reason, size_t room);

/* Closes such a connection. */
void cdbus_leave(DBusConnection *bus);

#endif
