// SPDX-License-Identifier: Apache-2.0
// Unix sockets, and who is at their other end.
#ifdef __linux__
#define _GNU_SOURCE
#endif
#include "cposix.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int unix_socket(const char *path, struct sockaddr_un *address) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (strlen(path) >= sizeof address->sun_path) return -ENAMETOOLONG;
    memcpy(address->sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0) return -errno;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

int cposix_lock_file(const char *path) {
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return -errno;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
    int error = errno;
    close(fd);
    return -error;
}

int cposix_unix_listen(const char *path, int backlog) {
    struct sockaddr_un address;
    int fd = unix_socket(path, &address);
    if (fd < 0) return fd;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    unlink(path);
    mode_t before = umask(0177);
    int result = bind(fd, (struct sockaddr *)&address, sizeof address);
    int error = errno;
    umask(before);
    if (result == 0 && listen(fd, backlog) == 0) return fd;
    if (result == 0) error = errno;
    close(fd);
    return -error;
}

int cposix_unix_connect(const char *path) {
    struct sockaddr_un address;
    int fd = unix_socket(path, &address);
    if (fd < 0) return fd;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
    int error = errno;
    close(fd);
    return -error;
}

int cposix_unix_accept(int fd, unsigned *user, int *process) {
    int accepted = accept(fd, NULL, NULL);
    if (accepted < 0) return -errno;
    fcntl(accepted, F_SETFD, FD_CLOEXEC);
    fcntl(accepted, F_SETFL, O_NONBLOCK);
#ifdef __linux__
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(accepted, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && length == sizeof peer) {
        *user = peer.uid;
        *process = peer.pid;
        return accepted;
    }
#else
    uid_t uid;
    gid_t gid;
    if (getpeereid(accepted, &uid, &gid) == 0) {
        *user = uid;
        *process = 0;
        return accepted;
    }
#endif
    int error = errno;
    close(accepted);
    return -error;
}
