/* SPDX-License-Identifier: Apache-2.0 */
#include "cdbus.h"
#include "library.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define SERVICE "org.freedesktop.secrets"
#define ROOT "/org/freedesktop/secrets"
#define DEFAULT_COLLECTION "/org/freedesktop/secrets/aliases/default"

/* One visit to the service. */
typedef struct {
    DBusConnection *bus;
    char session[256];
    char *reason;
    size_t room;
} visit;

static DBusMessage *ask(visit *v, DBusMessage *question, int milliseconds) {
    DBusError error;
    p_dbus_error_init(&error);
    DBusMessage *answer = p_dbus_connection_send_with_reply_and_block(v->bus, question, milliseconds, &error);
    p_dbus_message_unref(question);
    if (!answer) {
        int isAbsent = error.name && (strstr(error.name, "ServiceUnknown") || strstr(error.name, "NameHasNoOwner"));
        snprintf(v->reason, v->room, "%s", isAbsent ? "no secret service runs on the session bus" : error.message ? error.message : "no answer");
    }
    p_dbus_error_free(&error);
    return answer;
}

static DBusMessage *method(const char *path, const char *interface, const char *name) {
    return p_dbus_message_new_method_call(SERVICE, path, interface, name);
}

static void copy_path(DBusMessageIter *at, char *target, size_t room) {
    const char *text = "";
    if (p_dbus_message_iter_get_arg_type(at) == DBUS_TYPE_OBJECT_PATH) p_dbus_message_iter_get_basic(at, &text);
    snprintf(target, room, "%s", text);
}

static int open_visit(visit *v, char *reason, size_t room) {
    memset(v, 0, sizeof *v);
    v->reason = reason;
    v->room = room;
    v->bus = cdbus_session_bus(reason, room);
    if (!v->bus) return -1;
    DBusMessage *question = method(ROOT, "org.freedesktop.Secret.Service", "OpenSession");
    const char *algorithm = "plain", *nothing = "";
    DBusMessageIter at, inner;
    p_dbus_message_iter_init_append(question, &at);
    p_dbus_message_iter_append_basic(&at, DBUS_TYPE_STRING, &algorithm);
    p_dbus_message_iter_open_container(&at, DBUS_TYPE_VARIANT, "s", &inner);
    p_dbus_message_iter_append_basic(&inner, DBUS_TYPE_STRING, &nothing);
    p_dbus_message_iter_close_container(&at, &inner);
    DBusMessage *answer = ask(v, question, 5000);
    if (!answer) return -1;
    p_dbus_message_iter_init(answer, &at);
    p_dbus_message_iter_next(&at);
    copy_path(&at, v->session, sizeof v->session);
    p_dbus_message_unref(answer);
    return v->session[0] == '/' ? 0 : -1;
}

static void close_visit(visit *v) {
    if (!v->bus) return;
    cdbus_leave(v->bus);
}

/* Lets the service ask the person; 0 when it was not dismissed. */
static int prompt(visit *v, const char *path) {
    if (!strcmp(path, "/") || !*path) return 0;
    DBusError error;
    p_dbus_error_init(&error);
    p_dbus_bus_add_match(v->bus, "type='signal',interface='org.freedesktop.Secret.Prompt'", &error);
    p_dbus_error_free(&error);
    DBusMessage *question = method(path, "org.freedesktop.Secret.Prompt", "Prompt");
    const char *window = "";
    DBusMessageIter at;
    p_dbus_message_iter_init_append(question, &at);
    p_dbus_message_iter_append_basic(&at, DBUS_TYPE_STRING, &window);
    DBusMessage *answer = ask(v, question, 5000);
    if (!answer) return -1;
    p_dbus_message_unref(answer);
    time_t limit = time(NULL) + 120;
    while (time(NULL) < limit) {
        if (!p_dbus_connection_read_write(v->bus, 500)) break;
        DBusMessage *message;
        while ((message = p_dbus_connection_pop_message(v->bus))) {
            int isIt = p_dbus_message_is_signal(message, "org.freedesktop.Secret.Prompt", "Completed") && p_dbus_message_has_path(message, path);
            dbus_bool_t dismissed = 1;
            if (isIt && p_dbus_message_iter_init(message, &at) && p_dbus_message_iter_get_arg_type(&at) == DBUS_TYPE_BOOLEAN)
                p_dbus_message_iter_get_basic(&at, &dismissed);
            p_dbus_message_unref(message);
            if (!isIt) continue;
            if (dismissed) snprintf(v->reason, v->room, "the secret service was not unlocked");
            return dismissed ? -1 : 0;
        }
    }
    snprintf(v->reason, v->room, "nobody unlocked the secret service");
    return -1;
}

static int unlock(visit *v, const char *path) {
    DBusMessage *question = method(ROOT, "org.freedesktop.Secret.Service", "Unlock");
    DBusMessageIter at, list;
    p_dbus_message_iter_init_append(question, &at);
    p_dbus_message_iter_open_container(&at, DBUS_TYPE_ARRAY, "o", &list);
    p_dbus_message_iter_append_basic(&list, DBUS_TYPE_OBJECT_PATH, &path);
    p_dbus_message_iter_close_container(&at, &list);
    DBusMessage *answer = ask(v, question, 5000);
    if (!answer) return -1;
    char wanted[256];
    p_dbus_message_iter_init(answer, &at);
    p_dbus_message_iter_next(&at);
    copy_path(&at, wanted, sizeof wanted);
    p_dbus_message_unref(answer);
    return prompt(v, wanted);
}

static void append_attributes(DBusMessageIter *at, const char *const *attributes) {
    DBusMessageIter list, entry;
    p_dbus_message_iter_open_container(at, DBUS_TYPE_ARRAY, "{ss}", &list);
    for (; attributes[0] && attributes[1]; attributes += 2) {
        p_dbus_message_iter_open_container(&list, DBUS_TYPE_DICT_ENTRY, NULL, &entry);
        p_dbus_message_iter_append_basic(&entry, DBUS_TYPE_STRING, &attributes[0]);
        p_dbus_message_iter_append_basic(&entry, DBUS_TYPE_STRING, &attributes[1]);
        p_dbus_message_iter_close_container(&list, &entry);
    }
    p_dbus_message_iter_close_container(at, &list);
}

/* The first item with these attributes, unlocked; 1 where there is none. */
static int search(visit *v, const char *const *attributes, char *path, size_t room) {
    DBusMessage *question = method(ROOT, "org.freedesktop.Secret.Service", "SearchItems");
    DBusMessageIter at, list;
    p_dbus_message_iter_init_append(question, &at);
    append_attributes(&at, attributes);
    DBusMessage *answer = ask(v, question, 5000);
    if (!answer) return -1;
    path[0] = 0;
    int isLocked = 0;
    p_dbus_message_iter_init(answer, &at);
    for (int place = 0; place < 2 && !path[0]; place++) {
        if (p_dbus_message_iter_get_arg_type(&at) != DBUS_TYPE_ARRAY) break;
        p_dbus_message_iter_recurse(&at, &list);
        copy_path(&list, path, room);
        isLocked = place;
        p_dbus_message_iter_next(&at);
    }
    p_dbus_message_unref(answer);
    if (!path[0]) return 1;
    return isLocked ? unlock(v, path) : 0;
}

static void append_property(DBusMessageIter *list, const char *name, const char *text, const char *const *attributes) {
    DBusMessageIter entry, value;
    p_dbus_message_iter_open_container(list, DBUS_TYPE_DICT_ENTRY, NULL, &entry);
    p_dbus_message_iter_append_basic(&entry, DBUS_TYPE_STRING, &name);
    p_dbus_message_iter_open_container(&entry, DBUS_TYPE_VARIANT, text ? "s" : "a{ss}", &value);
    if (text) p_dbus_message_iter_append_basic(&value, DBUS_TYPE_STRING, &text);
    else append_attributes(&value, attributes);
    p_dbus_message_iter_close_container(&entry, &value);
    p_dbus_message_iter_close_container(list, &entry);
}

static int create(visit *v, const char *label, const char *const *attributes, const void *secret, size_t length) {
    DBusMessage *question = method(DEFAULT_COLLECTION, "org.freedesktop.Secret.Collection", "CreateItem");
    DBusMessageIter at, list, content, octets;
    p_dbus_message_iter_init_append(question, &at);
    p_dbus_message_iter_open_container(&at, DBUS_TYPE_ARRAY, "{sv}", &list);
    append_property(&list, "org.freedesktop.Secret.Item.Label", label, NULL);
    append_property(&list, "org.freedesktop.Secret.Item.Attributes", NULL, attributes);
    p_dbus_message_iter_close_container(&at, &list);
    const char *session = v->session, *type = "text/plain; charset=utf8";
    p_dbus_message_iter_open_container(&at, DBUS_TYPE_STRUCT, NULL, &content);
    p_dbus_message_iter_append_basic(&content, DBUS_TYPE_OBJECT_PATH, &session);
    p_dbus_message_iter_open_container(&content, DBUS_TYPE_ARRAY, "y", &octets);
    p_dbus_message_iter_close_container(&content, &octets);
    p_dbus_message_iter_open_container(&content, DBUS_TYPE_ARRAY, "y", &octets);
    p_dbus_message_iter_append_fixed_array(&octets, DBUS_TYPE_BYTE, &secret, (int)length);
    p_dbus_message_iter_close_container(&content, &octets);
    p_dbus_message_iter_append_basic(&content, DBUS_TYPE_STRING, &type);
    p_dbus_message_iter_close_container(&at, &content);
    dbus_bool_t replace = 1;
    p_dbus_message_iter_append_basic(&at, DBUS_TYPE_BOOLEAN, &replace);
    DBusMessage *answer = ask(v, question, 5000);
    if (!answer) return -1;
    char wanted[256];
    p_dbus_message_iter_init(answer, &at);
    p_dbus_message_iter_next(&at);
    copy_path(&at, wanted, sizeof wanted);
    p_dbus_message_unref(answer);
    return prompt(v, wanted);
}

int cdbus_secret_store(const char *label, const char *const *attributes, const void *secret, size_t length, char *reason, size_t room) {
    visit v;
    int result = open_visit(&v, reason, room);
    if (!result && length > 65536) {
        snprintf(reason, room, "the secret is too long");
        result = -1;
    }
    if (!result) {
        result = create(&v, label, attributes, secret, length);
        /* A locked collection says so; then once more. */
        if (result && !unlock(&v, DEFAULT_COLLECTION)) result = create(&v, label, attributes, secret, length);
    }
    close_visit(&v);
    return result;
}

static int fetch(visit *v, const char *path, void *secret, size_t *length) {
    DBusMessage *question = method(path, "org.freedesktop.Secret.Item", "GetSecret");
    DBusMessageIter at, content, octets;
    const char *session = v->session;
    p_dbus_message_iter_init_append(question, &at);
    p_dbus_message_iter_append_basic(&at, DBUS_TYPE_OBJECT_PATH, &session);
    DBusMessage *answer = ask(v, question, 5000);
    if (!answer) return -1;
    int result = -1;
    if (p_dbus_message_iter_init(answer, &at) && p_dbus_message_iter_get_arg_type(&at) == DBUS_TYPE_STRUCT) {
        p_dbus_message_iter_recurse(&at, &content);
        p_dbus_message_iter_next(&content);
        p_dbus_message_iter_next(&content);
        if (p_dbus_message_iter_get_arg_type(&content) == DBUS_TYPE_ARRAY) {
            const void *found = NULL;
            int count = 0;
            p_dbus_message_iter_recurse(&content, &octets);
            if (p_dbus_message_iter_get_arg_type(&octets) == DBUS_TYPE_BYTE) p_dbus_message_iter_get_fixed_array(&octets, &found, &count);
            if (count >= 0 && (size_t)count <= *length) {
                if (count) memcpy(secret, found, (size_t)count);
                *length = (size_t)count;
                result = 0;
            }
        }
    }
    if (result) snprintf(v->reason, v->room, "the secret service gave an answer that cannot be used");
    p_dbus_message_unref(answer);
    return result;
}

int cdbus_secret_find(const char *const *attributes, void *secret, size_t *length, char *reason, size_t room) {
    visit v;
    char path[256];
    int result = open_visit(&v, reason, room);
    if (!result) result = search(&v, attributes, path, sizeof path);
    if (!result) result = fetch(&v, path, secret, length);
    close_visit(&v);
    return result;
}

int cdbus_secret_forget(const char *const *attributes, char *reason, size_t room) {
    visit v;
    char path[256];
    int result = open_visit(&v, reason, room);
    if (!result) result = search(&v, attributes, path, sizeof path);
    if (!result) {
        DBusMessage *answer = ask(&v, method(path, "org.freedesktop.Secret.Item", "Delete"), 5000);
        result = answer ? 0 : -1;
        if (answer) {
            char wanted[256];
            DBusMessageIter at;
            p_dbus_message_iter_init(answer, &at);
            copy_path(&at, wanted, sizeof wanted);
            p_dbus_message_unref(answer);
            result = prompt(&v, wanted);
        }
    }
    close_visit(&v);
    return result;
}
