/* SPDX-License-Identifier: Apache-2.0 */
#include "cdbus.h"
#include "library.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "org.freedesktop.Notifications"
#define PATH "/org/freedesktop/Notifications"

enum { ANSWER = 5000 };

struct cdbus_notifier {
    DBusConnection *bus;
};

cdbus_notifier *cdbus_notifier_open(char *reason, size_t room) {
    DBusConnection *bus = cdbus_session_bus(reason, room);
    if (!bus) return NULL;
    /* The bus itself sees to it that these signals come from whoever owns the name, and nobody else. */
    static const char *const rules[] = {
        "type='signal',sender='" NAME "',path='" PATH "',interface='" NAME "'",
        "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='" NAME "'",
    };
    for (size_t index = 0; index < sizeof rules / sizeof *rules; index++) {
        DBusError error;
        p_dbus_error_init(&error);
        p_dbus_bus_add_match(bus, rules[index], &error);
        int isGood = error.name == NULL;
        if (!isGood) snprintf(reason, room, "the session bus tells no signals: %s", error.message ? error.message : "no reason given");
        p_dbus_error_free(&error);
        if (isGood) continue;
        cdbus_leave(bus);
        return NULL;
    }
    cdbus_notifier *notifier = calloc(1, sizeof *notifier);
    if (!notifier) {
        snprintf(reason, room, "there is no memory");
        cdbus_leave(bus);
        return NULL;
    }
    notifier->bus = bus;
    return notifier;
}

void cdbus_notifier_close(cdbus_notifier *notifier) {
    cdbus_leave(notifier->bus);
    free(notifier);
}

static DBusMessage *method(const char *name) { return p_dbus_message_new_method_call(NAME, PATH, NAME, name); }

static DBusMessage *ask(cdbus_notifier *notifier, DBusMessage *question, char *reason, size_t room) {
    DBusError error;
    p_dbus_error_init(&error);
    DBusMessage *answer = p_dbus_connection_send_with_reply_and_block(notifier->bus, question, ANSWER, &error);
    p_dbus_message_unref(question);
    if (!answer) {
        int isAbsent = error.name && (strstr(error.name, "ServiceUnknown") || strstr(error.name, "NameHasNoOwner"));
        snprintf(reason, room, "%s", isAbsent ? "no notification server runs on the session bus" : error.message ? error.message : "no answer");
    }
    p_dbus_error_free(&error);
    return answer;
}

int cdbus_notifier_capabilities(cdbus_notifier *notifier, char *reason, size_t room) {
    DBusMessage *answer = ask(notifier, method("GetCapabilities"), reason, room);
    if (!answer) return -1;
    int found = 0;
    DBusMessageIter at, list;
    if (p_dbus_message_iter_init(answer, &at) && p_dbus_message_iter_get_arg_type(&at) == DBUS_TYPE_ARRAY) {
        p_dbus_message_iter_recurse(&at, &list);
        for (; p_dbus_message_iter_get_arg_type(&list) == DBUS_TYPE_STRING; p_dbus_message_iter_next(&list)) {
            const char *word = "";
            p_dbus_message_iter_get_basic(&list, &word);
            if (!strcmp(word, "actions")) found |= CDBUS_CAN_ACT;
            if (!strcmp(word, "body-markup")) found |= CDBUS_READS_MARKUP;
        }
    }
    p_dbus_message_unref(answer);
    return found;
}

static void append_hint(DBusMessageIter *list, const char *name, int type, const char *signature, const void *value) {
    DBusMessageIter entry, content;
    p_dbus_message_iter_open_container(list, DBUS_TYPE_DICT_ENTRY, NULL, &entry);
    p_dbus_message_iter_append_basic(&entry, DBUS_TYPE_STRING, &name);
    p_dbus_message_iter_open_container(&entry, DBUS_TYPE_VARIANT, signature, &content);
    p_dbus_message_iter_append_basic(&content, type, value);
    p_dbus_message_iter_close_container(&entry, &content);
    p_dbus_message_iter_close_container(list, &entry);
}

uint32_t cdbus_notifier_show(cdbus_notifier *notifier, uint32_t replaces, const char *app, const char *summary, const char *body,
                             const char *const *actions, char *reason, size_t room) {
    DBusMessage *question = method("Notify");
    const char *icon = "call-start", *category = "call.incoming";
    uint8_t urgency = 2;
    dbus_bool_t yes = 1;
    /* Never: the call says when it is over. */
    int32_t expiry = 0;
    DBusMessageIter at, list;
    p_dbus_message_iter_init_append(question, &at);
    p_dbus_message_iter_append_basic(&at, DBUS_TYPE_STRING, &app);
    p_dbus_message_iter_append_basic(&at, DBUS_TYPE_UINT32, &replaces);
    p_dbus_message_iter_append_basic(&at, DBUS_TYPE_STRING, &icon);
    p_dbus_message_iter_append_basic(&at, DBUS_TYPE_STRING, &summary);
    p_dbus_message_iter_append_basic(&at, DBUS_TYPE_STRING, &body);
    p_dbus_message_iter_open_container(&at, DBUS_TYPE_ARRAY, "s", &list);
    for (; actions[0] && actions[1]; actions += 2) {
        p_dbus_message_iter_append_basic(&list, DBUS_TYPE_STRING, &actions[0]);
        p_dbus_message_iter_append_basic(&list, DBUS_TYPE_STRING, &actions[1]);
    }
    p_dbus_message_iter_close_container(&at, &list);
    p_dbus_message_iter_open_container(&at, DBUS_TYPE_ARRAY, "{sv}", &list);
    append_hint(&list, "urgency", DBUS_TYPE_BYTE, "y", &urgency);
    append_hint(&list, "category", DBUS_TYPE_STRING, "s", &category);
    /* The service rings by itself. */
    append_hint(&list, "suppress-sound", DBUS_TYPE_BOOLEAN, "b", &yes);
    p_dbus_message_iter_close_container(&at, &list);
    p_dbus_message_iter_append_basic(&at, DBUS_TYPE_INT32, &expiry);
    DBusMessage *answer = ask(notifier, question, reason, room);
    if (!answer) return 0;
    uint32_t identifier = 0;
    if (p_dbus_message_iter_init(answer, &at) && p_dbus_message_iter_get_arg_type(&at) == DBUS_TYPE_UINT32)
        p_dbus_message_iter_get_basic(&at, &identifier);
    p_dbus_message_unref(answer);
    if (!identifier) snprintf(reason, room, "the notification server gave an answer that cannot be used");
    return identifier;
}

void cdbus_notifier_withdraw(cdbus_notifier *notifier, uint32_t identifier) {
    DBusMessage *message = method("CloseNotification");
    DBusMessageIter at;
    p_dbus_message_iter_init_append(message, &at);
    p_dbus_message_iter_append_basic(&at, DBUS_TYPE_UINT32, &identifier);
    /* It may be gone already: nothing hangs on the answer. */
    p_dbus_message_set_no_reply(message, 1);
    p_dbus_connection_send(notifier->bus, message, NULL);
    p_dbus_connection_flush(notifier->bus);
    p_dbus_message_unref(message);
}

void cdbus_notifier_wait(cdbus_notifier *notifier, int wake, int milliseconds) {
    int bus = -1;
    p_dbus_connection_get_unix_fd(notifier->bus, &bus);
    struct pollfd both[2] = {{.fd = wake, .events = POLLIN}, {.fd = bus, .events = POLLIN}};
    poll(both, 2, milliseconds);
}

static int read_event(DBusMessage *message, uint32_t *identifier, char *text, size_t room) {
    DBusMessageIter at;
    const char *word = "";
    if (p_dbus_message_is_signal(message, "org.freedesktop.DBus.Local", "Disconnected")) return CDBUS_BUS_GONE;
    if (!p_dbus_message_iter_init(message, &at)) return CDBUS_NOTHING;
    if (p_dbus_message_is_signal(message, "org.freedesktop.DBus", "NameOwnerChanged")) {
        /* Name, old owner, new owner. */
        p_dbus_message_iter_next(&at);
        p_dbus_message_iter_next(&at);
        if (p_dbus_message_iter_get_arg_type(&at) == DBUS_TYPE_STRING) p_dbus_message_iter_get_basic(&at, &word);
        return *word ? CDBUS_SERVER_CAME : CDBUS_SERVER_GONE;
    }
    int isAction = (int)p_dbus_message_is_signal(message, NAME, "ActionInvoked");
    if (!isAction && !p_dbus_message_is_signal(message, NAME, "NotificationClosed")) return CDBUS_NOTHING;
    if (p_dbus_message_iter_get_arg_type(&at) != DBUS_TYPE_UINT32) return CDBUS_NOTHING;
    p_dbus_message_iter_get_basic(&at, identifier);
    p_dbus_message_iter_next(&at);
    if (isAction) {
        if (p_dbus_message_iter_get_arg_type(&at) != DBUS_TYPE_STRING) return CDBUS_NOTHING;
        p_dbus_message_iter_get_basic(&at, &word);
        snprintf(text, room, "%s", word);
        return CDBUS_ACTION;
    }
    uint32_t why = 0;
    if (p_dbus_message_iter_get_arg_type(&at) == DBUS_TYPE_UINT32) p_dbus_message_iter_get_basic(&at, &why);
    /* 2: the person closed it. */
    return why == 2 ? CDBUS_DISMISSED : CDBUS_CLOSED;
}

int cdbus_notifier_next(cdbus_notifier *notifier, uint32_t *identifier, char *text, size_t room) {
    p_dbus_connection_read_write(notifier->bus, 0);
    DBusMessage *message;
    while ((message = p_dbus_connection_pop_message(notifier->bus))) {
        int event = read_event(message, identifier, text, room);
        p_dbus_message_unref(message);
        if (event) return event;
    }
    return p_dbus_connection_get_is_connected(notifier->bus) ? CDBUS_NOTHING : CDBUS_BUS_GONE;
}
