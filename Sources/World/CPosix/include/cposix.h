// SPDX-License-Identifier: Apache-2.0
// What the Glibc module does not bring to Swift: epoll, eventfd, batched datagrams, packet times.
#ifndef CPOSIX_H
#define CPOSIX_H
#endif
