/* SPDX-License-Identifier: Apache-2.0
 *
 * The Secret Service of the desktop (the freedesktop.org Secret Service API 0.2) over libdbus: keep, find and forget one secret.
 * The session is "plain": the secret goes over the person's own bus, which is a local socket. Every call waits for the service:
 * 5 s at most, or 120 s where it asks the person to unlock. libdbus is loaded at the first call.
 */
#ifndef CDBUS_H
#define CDBUS_H

#include <stddef.h>

/* `attributes`: names and values by turns, closed by NULL. All return 0 when done, 1 where there is no such secret, and -1 with
 * words in `reason` where it could not be done. */
int cdbus_secret_store(const char *_Nonnull label, const char *_Nullable const *_Nonnull attributes, const void *_Nonnull secret,
                       size_t length, char *_Nonnull reason, size_t room);

/* Puts the secret into `secret`, at most `*length` octets, and its length into `*length`. */
int cdbus_secret_find(const char *_Nullable const *_Nonnull attributes, void *_Nonnull secret, size_t *_Nonnull length,
                      char *_Nonnull reason, size_t room);

int cdbus_secret_forget(const char *_Nullable const *_Nonnull attributes, char *_Nonnull reason, size_t room);

#endif
