// SPDX-License-Identifier: Apache-2.0
// Sockets, batched datagrams and their errors.
#ifdef __linux__
#define _GNU_SOURCE
#endif
#include "cposix.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/errqueue.h>
#include <linux/icmp.h>
#else
#define MSG_NOSIGNAL 0
#endif

int cposix_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return -errno;
    return limit.rlim_cur > INT_MAX ? INT_MAX : (int)limit.rlim_cur;
}

// MARK: Addresses

static socklen_t to_system(const cposix_address *address, struct sockaddr_storage *out) {
    memset(out, 0, sizeof *out);
    if (address->family == 4) {
        struct sockaddr_in *v4 = (struct sockaddr_in *)out;
        v4->sin_family = AF_INET;
        v4->sin_port = htons(address->port);
        v4->sin_addr.s_addr = htonl((uint32_t)address->low);
        return sizeof *v4;
    }
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(address->port);
    for (int i = 0; i < 8; i++) {
        v6->sin6_addr.s6_addr[i] = (uint8_t)(address->high >> (56 - 8 * i));
        v6->sin6_addr.s6_addr[8 + i] = (uint8_t)(address->low >> (56 - 8 * i));
    }
    return sizeof *v6;
}

static void from_system(const struct sockaddr_storage *in, cposix_address *address) {
    memset(address, 0, sizeof *address);
    if (in->ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)in;
        address->family = 4;
        address->port = ntohs(v4->sin_port);
        address->low = ntohl(v4->sin_addr.s_addr);
    } else if (in->ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)in;
        address->family = 6;
        address->port = ntohs(v6->sin6_port);
        for (int i = 0; i < 8; i++) {
            address->high = address->high << 8 | v6->sin6_addr.s6_addr[i];
            address->low = address->low << 8 | v6->sin6_addr.s6_addr[8 + i];
        }
    }
}

// MARK: Sockets

#ifndef __linux__
static int prepare(int fd) {
    int on = 1;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
    return fd;
}
#endif

int cposix_socket(int family, int datagram) {
    int domain = family == 6 ? AF_INET6 : AF_INET;
    int type = datagram ? SOCK_DGRAM : SOCK_STREAM;
#ifdef __linux__
    int fd = socket(domain, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return fd < 0 ? -errno : fd;
#else
    int fd = socket(domain, type, 0);
    return fd < 0 ? -errno : prepare(fd);
#endif
}

int cposix_option(int fd, int family, int option, int value) {
    int level = SOL_SOCKET, name = 0;
    switch (option) {
    case CPOSIX_OPTION_V6ONLY: level = IPPROTO_IPV6; name = IPV6_V6ONLY; break;
    case CPOSIX_OPTION_REUSE_ADDRESS: name = SO_REUSEADDR; break;
    case CPOSIX_OPTION_NO_DELAY: level = IPPROTO_TCP; name = TCP_NODELAY; break;
    case CPOSIX_OPTION_RECEIVE_BUFFER: name = SO_RCVBUF; break;
    case CPOSIX_OPTION_SEND_BUFFER: name = SO_SNDBUF; break;
#ifdef __linux__
    case CPOSIX_OPTION_ERROR_QUEUE:
        level = family == 6 ? IPPROTO_IPV6 : IPPROTO_IP;
        name = family == 6 ? IPV6_RECVERR : IP_RECVERR;
        break;
    case CPOSIX_OPTION_TIMESTAMPS: name = SO_TIMESTAMPNS; break;
#endif
    case CPOSIX_OPTION_TRAFFIC_CLASS:
        level = family == 6 ? IPPROTO_IPV6 : IPPROTO_IP;
        name = family == 6 ? IPV6_TCLASS : IP_TOS;
        break;
    default: return -ENOPROTOOPT;
    }
    return setsockopt(fd, level, name, &value, sizeof value) < 0 ? -errno : 0;
}

int cposix_bind(int fd, const cposix_address *address) {
    struct sockaddr_storage storage;
    socklen_t length = to_system(address, &storage);
    return bind(fd, (struct sockaddr *)&storage, length) < 0 ? -errno : 0;
}

int cposix_listen(int fd, int backlog) { return listen(fd, backlog) < 0 ? -errno : 0; }

int cposix_accept(int fd, cposix_address *remote) {
    struct sockaddr_storage storage;
    socklen_t length = sizeof storage;
#ifdef __linux__
    int accepted = accept4(fd, (struct sockaddr *)&storage, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (accepted < 0) return -errno;
#else
    int accepted = accept(fd, (struct sockaddr *)&storage, &length);
    if (accepted < 0) return -errno;
    prepare(accepted);
#endif
    from_system(&storage, remote);
    return accepted;
}

int cposix_connect(int fd, const cposix_address *remote) {
    struct sockaddr_storage storage;
    socklen_t length = to_system(remote, &storage);
    return connect(fd, (struct sockaddr *)&storage, length) < 0 ? -errno : 0;
}

int cposix_local_address(int fd, cposix_address *address) {
    struct sockaddr_storage storage;
    socklen_t length = sizeof storage;
    if (getsockname(fd, (struct sockaddr *)&storage, &length) < 0) return -errno;
    from_system(&storage, address);
    return 0;
}

int cposix_take_error(int fd) {
    int error = 0;
    socklen_t length = sizeof error;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0 ? errno : error;
}

int cposix_close(int fd) { return close(fd) < 0 ? -errno : 0; }

long cposix_read(int fd, uint8_t *buffer, size_t capacity) {
    ssize_t count = recv(fd, buffer, capacity, 0);
    return count < 0 ? -errno : count;
}

long cposix_write(int fd, const uint8_t *bytes, size_t count) {
    ssize_t written = send(fd, bytes, count, MSG_NOSIGNAL);
    return written < 0 ? -errno : written;
}

// MARK: Datagrams

typedef union {
    struct cmsghdr align;
    char octets[64];
} control;

static int64_t nanoseconds(struct timespec time) { return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec; }

/// The arrival time on CLOCK_MONOTONIC. `offset` leads from the real-time clock there.
static int64_t arrival(struct msghdr *header, int64_t now, int64_t offset) {
#ifdef __linux__
    for (struct cmsghdr *item = CMSG_FIRSTHDR(header); item; item = CMSG_NXTHDR(header, item)) {
        if (item->cmsg_level == SOL_SOCKET && item->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec time;
            memcpy(&time, CMSG_DATA(item), sizeof time);
            int64_t then = nanoseconds(time) + offset;
            // A step of the real-time clock in between must not reorder packets by seconds.
            return then > now || now - then > 1000000000 ? now : then;
        }
    }
#else
    (void)header;
    (void)offset;
#endif
    return now;
}

int cposix_receive(int fd, uint8_t *buffer, size_t slot, cposix_datagram *datagrams, int capacity) {
    struct sockaddr_storage from[CPOSIX_BATCH];
    struct iovec vector[CPOSIX_BATCH];
    control controls[CPOSIX_BATCH];
    if (capacity > CPOSIX_BATCH) capacity = CPOSIX_BATCH;
#ifdef __linux__
    struct mmsghdr messages[CPOSIX_BATCH];
    for (int i = 0; i < capacity; i++) {
        vector[i] = (struct iovec){.iov_base = buffer + slot * i, .iov_len = slot};
        messages[i].msg_hdr = (struct msghdr){
            .msg_name = &from[i], .msg_namelen = sizeof from[i], .msg_iov = &vector[i], .msg_iovlen = 1,
            .msg_control = &controls[i], .msg_controllen = sizeof controls[i]};
    }
    int count = recvmmsg(fd, messages, capacity, MSG_DONTWAIT, NULL);
    if (count < 0) return -errno;
    struct timespec real;
    int64_t now = cposix_monotonic();
    clock_gettime(CLOCK_REALTIME, &real);
    int64_t offset = now - nanoseconds(real);
    for (int i = 0; i < count; i++) {
        from_system(&from[i], &datagrams[i].from);
        datagrams[i].length = messages[i].msg_len;
        datagrams[i].truncated = (messages[i].msg_hdr.msg_flags & MSG_TRUNC) != 0;
        datagrams[i].time = arrival(&messages[i].msg_hdr, now, offset);
    }
    return count;
#else
    int64_t now = cposix_monotonic();
    int count = 0;
    for (; count < capacity; count++) {
        vector[0] = (struct iovec){.iov_base = buffer + slot * count, .iov_len = slot};
        struct msghdr header = {
            .msg_name = &from[0], .msg_namelen = sizeof from[0], .msg_iov = &vector[0], .msg_iovlen = 1,
            .msg_control = &controls[0], .msg_controllen = sizeof controls[0]};
        ssize_t length = recvmsg(fd, &header, MSG_DONTWAIT);
        if (length < 0) {
            if (count == 0) return -errno;
            break;
        }
        from_system(&from[0], &datagrams[count].from);
        datagrams[count].length = (uint32_t)length;
        datagrams[count].truncated = (header.msg_flags & MSG_TRUNC) != 0;
        datagrams[count].time = arrival(&header, now, 0);
    }
    return count;
#endif
}

int cposix_send(int fd, const uint8_t *bytes, const cposix_outgoing *outgoing, int count) {
    struct sockaddr_storage to[CPOSIX_BATCH];
    struct iovec vector[CPOSIX_BATCH];
    if (count > CPOSIX_BATCH) count = CPOSIX_BATCH;
#ifdef __linux__
    struct mmsghdr messages[CPOSIX_BATCH];
    for (int i = 0; i < count; i++) {
        vector[i] = (struct iovec){.iov_base = (void *)(bytes + outgoing[i].offset), .iov_len = outgoing[i].length};
        messages[i].msg_len = 0;
        messages[i].msg_hdr = (struct msghdr){
            .msg_name = &to[i], .msg_namelen = to_system(&outgoing[i].to, &to[i]), .msg_iov = &vector[i], .msg_iovlen = 1};
    }
    int sent = sendmmsg(fd, messages, count, MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent < 0 ? -errno : sent;
#else
    int sent = 0;
    for (; sent < count; sent++) {
        socklen_t length = to_system(&outgoing[sent].to, &to[0]);
        vector[0] = (struct iovec){.iov_base = (void *)(bytes + outgoing[sent].offset), .iov_len = outgoing[sent].length};
        struct msghdr header = {.msg_name = &to[0], .msg_namelen = length, .msg_iov = &vector[0], .msg_iovlen = 1};
        if (sendmsg(fd, &header, MSG_DONTWAIT) < 0) {
            if (sent == 0) return -errno;
            break;
        }
    }
    return sent;
#endif
}

int cposix_read_error(int fd, cposix_address *to, int *error) {
#ifdef __linux__
    struct sockaddr_storage destination;
    uint8_t payload[64];
    struct iovec vector = {.iov_base = payload, .iov_len = sizeof payload};
    union {
        struct cmsghdr align;
        char octets[512];
    } space;
    struct msghdr header = {
        .msg_name = &destination, .msg_namelen = sizeof destination, .msg_iov = &vector, .msg_iovlen = 1,
        .msg_control = &space, .msg_controllen = sizeof space};
    memset(&destination, 0, sizeof destination);
    if (recvmsg(fd, &header, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return errno == EAGAIN ? 0 : -errno;
    from_system(&destination, to);
    *error = 0;
    for (struct cmsghdr *item = CMSG_FIRSTHDR(&header); item; item = CMSG_NXTHDR(&header, item)) {
        int v4 = item->cmsg_level == IPPROTO_IP && item->cmsg_type == IP_RECVERR;
        int v6 = item->cmsg_level == IPPROTO_IPV6 && item->cmsg_type == IPV6_RECVERR;
        if (v4 || v6) {
            struct sock_extended_err details;
            memcpy(&details, CMSG_DATA(item), sizeof details);
            *error = (int)details.ee_errno;
        }
    }
    return 1;
#else
    (void)fd;
    (void)to;
    (void)error;
    return 0;
#endif
}
