/* SPDX-License-Identifier: Apache-2.0
 *
 * Two services of the desktop over libdbus, each on a connection of its own to the person's session bus.
 *
 * The Secret Service (the freedesktop.org Secret Service API 0.2): keep, find and forget one secret.
 * The session is "plain": the secret goes over the person's own bus, which is a local socket. Every call waits for the service:
 * 5 s at most, or 120 s where it asks the person to unlock. libdbus is loaded at the first call.
 */
#ifndef CDBUS_H
#define CDBUS_H

#include <stddef.h>
#include <stdint.h>

/* `attributes`: names and values by turns, closed by NULL. All return 0 when done, 1 where there is no such secret, and -1 with
 * words in `reason` where it could not be done. */
int cdbus_secret_store(const char *_Nonnull label, const char *_Nullable const *_Nonnull attributes, const void *_Nonnull secret,
                       size_t length, char *_Nonnull reason, size_t room);

/* Puts the secret into `secret`, at most `*length` octets, and its length into `*length`. */
int cdbus_secret_find(const char *_Nullable const *_Nonnull attributes, void *_Nonnull secret, size_t *_Nonnull length,
                      char *_Nonnull reason, size_t room);

int cdbus_secret_forget(const char *_Nullable const *_Nonnull attributes, char *_Nonnull reason, size_t room);

/* Desktop notifications (the Desktop Notifications Specification 1.2). One thread at a time; each question waits 5 s at most. */
typedef struct cdbus_notifier cdbus_notifier;

/* NULL where there is no session bus, with words in `reason`; that a notification server is there is seen by the next call. */
cdbus_notifier *_Nullable cdbus_notifier_open(char *_Nonnull reason, size_t room);
void cdbus_notifier_close(cdbus_notifier *_Nonnull notifier);

enum { CDBUS_CAN_ACT = 1, CDBUS_READS_MARKUP = 2 };
/* What the server can, or -1 with words in `reason`. */
int cdbus_notifier_capabilities(cdbus_notifier *_Nonnull notifier, char *_Nonnull reason, size_t room);

/* Shows a notification of an incoming call, or changes the one of the number `replaces`. `actions`: keys and labels by turns, closed
 * by NULL. The notification's number, or 0 with words in `reason`. */
uint32_t cdbus_notifier_show(cdbus_notifier *_Nonnull notifier, uint32_t replaces, const char *_Nonnull app, const char *_Nonnull summary,
                             const char *_Nonnull body, const char *_Nullable const *_Nonnull actions, char *_Nonnull reason, size_t room);
void cdbus_notifier_withdraw(cdbus_notifier *_Nonnull notifier, uint32_t identifier);

/* Waits until the bus has something, `wake` is readable, or the time is over (negative: never). */
void cdbus_notifier_wait(cdbus_notifier *_Nonnull notifier, int wake, int milliseconds);

enum {
    CDBUS_NOTHING = 0,
    /* The action of that key was chosen. */
    CDBUS_ACTION,
    /* The person closed the notification; it is gone for another reason. */
    CDBUS_DISMISSED,
    CDBUS_CLOSED,
    CDBUS_SERVER_GONE,
    CDBUS_SERVER_CAME,
    CDBUS_BUS_GONE,
};
/* What happened, without waiting; the notification's number and the action's key where there are any. */
int cdbus_notifier_next(cdbus_notifier *_Nonnull notifier, uint32_t *_Nonnull identifier, char *_Nonnull text, size_t room);

#endif
