// SPDX-License-Identifier: Apache-2.0
// Programs of our own: started with one socket as standard input and output, watched, ended.
#ifdef __linux__
#define _GNU_SOURCE
#endif
#include "cposix.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The environment without our password, which is nobody's business. */
static char **environment(void) {
    size_t count = 0, kept = 0;
    while (environ[count]) count++;
    char **copy = calloc(count + 1, sizeof *copy);
    if (!copy) return NULL;
    for (size_t i = 0; i < count; i++)
        if (strncmp(environ[i], "HANDSET_PASSWORD=", 17) != 0) copy[kept++] = environ[i];
    return copy;
}

static int non_blocking(int fd) {
    int flags = fcntl(fd, F_GETFL);
    return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0;
}

static int spawn(const char *command, int child, int *process) {
    char **variables = environment();
    if (!variables) return -ENOMEM;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, child, 0);
    posix_spawn_file_actions_adddup2(&actions, child, 1);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    /* A group of its own, so that it is ended with all that it starts, and not by the terminal before the call is over. */
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    char *arguments[] = {"sh", "-c", (char *)command, NULL};
    pid_t pid = 0;
    int error = posix_spawn(&pid, "/bin/sh", &actions, &attributes, arguments, variables);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    free(variables);
    if (error == 0) *process = pid;
    return -error;
}

int cposix_program_start(const char *command, int *process) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0) return -errno;
    for (int i = 0; i < 2; i++) fcntl(pair[i], F_SETFD, FD_CLOEXEC);
    /* Little lies in the system, so that what waits is in our queues, where it is counted. */
    int size = 1 << 15;
    setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    int status = non_blocking(pair[0]);
    if (status == 0) status = spawn(command, pair[1], process);
    close(pair[1]);
    if (status == 0) return pair[0];
    close(pair[0]);
    return status;
}

int cposix_program_connect(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) return -ENAMETOOLONG;
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0) return -errno;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    int status = non_blocking(fd);
    if (status == 0 && connect(fd, (struct sockaddr *)&address, sizeof address) < 0) status = -errno;
    if (status == 0) return fd;
    close(fd);
    return status;
}

int cposix_program_status(int process, int *status) {
    int word = 0;
    pid_t ended = waitpid(process, &word, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR)) return 0;
    *status = ended < 0 ? -1 : WIFEXITED(word) ? WEXITSTATUS(word) : WIFSIGNALED(word) ? 128 + WTERMSIG(word) : -1;
    return 1;
}

void cposix_program_end(int process, int insist) { kill(-process, insist ? SIGKILL : SIGTERM); }

int cposix_shutdown_write(int fd) { return shutdown(fd, SHUT_WR) < 0 ? -errno : 0; }
