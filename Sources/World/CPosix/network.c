// SPDX-License-Identifier: Apache-2.0
// The addresses of this machine, and the news of their changes.
#ifdef __linux__
#define _GNU_SOURCE
#endif
#include "cposix.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#endif

static int bits_of(const uint8_t *octets, int count) {
    int bits = 0;
    for (int i = 0; i < count; i++) bits += __builtin_popcount(octets[i]);
    return bits;
}

static uint64_t word_of(const uint8_t *octets) {
    uint64_t word = 0;
    for (int i = 0; i < 8; i++) word = word << 8 | octets[i];
    return word;
}

int cposix_interfaces(cposix_interface *interfaces, int capacity) {
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) != 0) return -errno;
    int count = 0;
    for (struct ifaddrs *one = all; one && count < capacity; one = one->ifa_next) {
        if (!one->ifa_addr || !(one->ifa_flags & IFF_UP) || !(one->ifa_flags & IFF_RUNNING)) continue;
        cposix_interface entry;
        memset(&entry, 0, sizeof entry);
        if (one->ifa_addr->sa_family == AF_INET) {
            const struct sockaddr_in *v4 = (const struct sockaddr_in *)one->ifa_addr;
            uint32_t ip = ntohl(v4->sin_addr.s_addr);
            // What is neither 127/8 nor link-local can be reached from outside, on the loopback interface too.
            if (ip >> 24 == 127 || ip >> 16 == 0xa9fe || ip == 0) continue;
            entry.address.family = 4;
            entry.address.low = ip;
            entry.prefix = 32;
            if (one->ifa_netmask) {
                entry.prefix = (uint8_t)bits_of((const uint8_t *)&((const struct sockaddr_in *)one->ifa_netmask)->sin_addr, 4);
            }
        } else if (one->ifa_addr->sa_family == AF_INET6) {
            const uint8_t *octets = ((const struct sockaddr_in6 *)one->ifa_addr)->sin6_addr.s6_addr;
            if ((octets[0] == 0xfe && (octets[1] & 0xc0) == 0x80) || (word_of(octets) == 0 && word_of(octets + 8) <= 1)) continue;
            entry.address.family = 6;
            entry.address.high = word_of(octets);
            entry.address.low = word_of(octets + 8);
            entry.prefix = 128;
            if (one->ifa_netmask) {
                entry.prefix = (uint8_t)bits_of(((const struct sockaddr_in6 *)one->ifa_netmask)->sin6_addr.s6_addr, 16);
            }
        } else {
            continue;
        }
        strncpy(entry.interface, one->ifa_name, sizeof entry.interface - 1);
        interfaces[count++] = entry;
    }
    freeifaddrs(all);
    return count;
}

#ifdef __linux__

int cposix_network_watch(void) {
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd < 0) return -errno;
    struct sockaddr_nl address;
    memset(&address, 0, sizeof address);
    address.nl_family = AF_NETLINK;
    address.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE;
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        int error = errno;
        close(fd);
        return -error;
    }
    return fd;
}

int cposix_network_drain(int fd) {
    char buffer[8192];
    int found = 0;
    for (int i = 0; i < 64; i++) {
        // What is said does not matter: whoever is woken reads the addresses anew. ENOBUFS says that news were lost.
        ssize_t count = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
        if (count > 0 || (count < 0 && errno == ENOBUFS)) {
            found = 1;
        } else if (count < 0 && errno == EINTR) {
            continue;
        } else {
            break;
        }
    }
    return found;
}

#else

// Apple: the path monitor of the Network framework tells (NetworkPathMonitor.swift).
int cposix_network_watch(void) { return -ENOTSUP; }
int cposix_network_drain(int fd) { return 0; }

#endif
