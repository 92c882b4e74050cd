// SPDX-License-Identifier: Apache-2.0
//
// What the Glibc module does not bring to Swift, in one shape for Linux and Apple: readiness (epoll or kqueue), wake-ups,
// sockets with our own address type, batched datagrams with the kernel's arrival time, threads, absolute sleeps.
// Every function returns a count or 0, or the negative errno. The Apple bodies are thin and not compiled on Linux.
#ifndef CPOSIX_H
#define CPOSIX_H

#include <stddef.h>
#include <stdint.h>

/// An address with port. `family` is 4, 6, or 0 for none; IPv4 has its 32 bits, in host order, in `low`.
typedef struct {
    uint64_t high;
    uint64_t low;
    uint16_t port;
    uint8_t family;
} cposix_address;

// MARK: Clock

/// CLOCK_MONOTONIC in nanoseconds.
int64_t cposix_monotonic(void);
/// Sleeps until that time of CLOCK_MONOTONIC; interruptions by signals do not shorten it.
void cposix_sleep_until(int64_t nanoseconds);

// MARK: Wake-ups

/// A counter that one thread raises and another waits for: an eventfd, on Apple a pipe.
typedef struct {
    int reader;
    int writer;
} cposix_signal;

int cposix_signal_open(cposix_signal *signal);
void cposix_signal_raise(cposix_signal signal);
/// Takes what was raised; does not block.
void cposix_signal_clear(cposix_signal signal);
/// Waits until it is raised, at most `timeout` milliseconds (negative: for ever), and takes it.
void cposix_signal_wait(cposix_signal signal, int timeout);
void cposix_signal_close(cposix_signal signal);

// MARK: Readiness

enum { CPOSIX_READABLE = 1, CPOSIX_WRITABLE = 2, CPOSIX_FAILED = 4 };

typedef struct {
    uint64_t token;
    uint32_t readiness;
} cposix_event;

int cposix_poller_open(void);
/// Watches `fd` for `interest` (CPOSIX_READABLE, CPOSIX_WRITABLE), level-triggered; `known` if it is watched already.
int cposix_poller_watch(int poller, int fd, uint64_t token, uint32_t interest, int known);
int cposix_poller_forget(int poller, int fd);
/// Waits at most `timeout` milliseconds (negative: for ever).
int cposix_poller_wait(int poller, cposix_event *events, int capacity, int timeout);

// MARK: Sockets

/// How many descriptors the process may have open (the soft RLIMIT_NOFILE).
int cposix_descriptor_limit(void);

enum {
    CPOSIX_OPTION_V6ONLY = 1,
    CPOSIX_OPTION_REUSE_ADDRESS,
    CPOSIX_OPTION_NO_DELAY,
    CPOSIX_OPTION_RECEIVE_BUFFER,
    CPOSIX_OPTION_SEND_BUFFER,
    /// Errors of earlier datagrams are kept in the error queue with their destination.
    CPOSIX_OPTION_ERROR_QUEUE,
    /// Each datagram carries the kernel's arrival time.
    CPOSIX_OPTION_TIMESTAMPS,
    /// The whole traffic class octet (DSCP << 2).
    CPOSIX_OPTION_TRAFFIC_CLASS,
};

/// A non-blocking, close-on-exec socket.
int cposix_socket(int family, int datagram);
int cposix_option(int fd, int family, int option, int value);
int cposix_bind(int fd, const cposix_address *address);
int cposix_listen(int fd, int backlog);
int cposix_accept(int fd, cposix_address *remote);
/// 0, or -EINPROGRESS on a stream.
int cposix_connect(int fd, const cposix_address *remote);
int cposix_local_address(int fd, cposix_address *address);
/// Takes SO_ERROR: 0 or a positive errno.
int cposix_take_error(int fd);
int cposix_close(int fd);
/// The octets read, 0 at the end of the stream.
long cposix_read(int fd, uint8_t *buffer, size_t capacity);
/// The octets written; never raises SIGPIPE.
long cposix_write(int fd, const uint8_t *bytes, size_t count);

// MARK: Unix sockets

/// Opens the file and locks it for this process: the descriptor, or -EWOULDBLOCK where another one has it.
int cposix_lock_file(const char *path);
/// A non-blocking stream socket at that path, for its user only; what lay there is removed.
int cposix_unix_listen(const char *path, int backlog);
/// A blocking stream socket.
int cposix_unix_connect(const char *path);
/// A non-blocking connection, and the user and process at its other end as the kernel knows them.
int cposix_unix_accept(int fd, unsigned *user, int *process);

// MARK: Datagrams

typedef struct {
    cposix_address from;
    /// When the kernel got it, on CLOCK_MONOTONIC, never later than now.
    int64_t time;
    uint32_t length;
    /// It was longer than its slot.
    uint32_t truncated;
} cposix_datagram;

enum { CPOSIX_BATCH = 32 };

/// Receives up to CPOSIX_BATCH datagrams, the n-th into `buffer + n * slot`.
int cposix_receive(int fd, uint8_t *buffer, size_t slot, cposix_datagram *datagrams, int capacity);

typedef struct {
    cposix_address to;
    uint32_t offset;
    uint32_t length;
} cposix_outgoing;

/// Sends up to CPOSIX_BATCH datagrams that lie at their offsets in `bytes`; the count sent, which may be less.
int cposix_send(int fd, const uint8_t *bytes, const cposix_outgoing *outgoing, int count);

/// Takes one entry of the error queue: 1 with the destination and its errno, or 0 if there is none.
int cposix_read_error(int fd, cposix_address *to, int *error);

// MARK: Network

/// One address of an interface that is up.
typedef struct {
    cposix_address address;
    /// Bits of its network.
    uint8_t prefix;
    char interface[16];
} cposix_interface;

/// The addresses of this machine, loopback and link-local ones left out; the count, at most `capacity`.
int cposix_interfaces(cposix_interface *interfaces, int capacity);
/// A descriptor that becomes readable when an address, an interface or a route comes or goes (Linux: rtnetlink).
int cposix_network_watch(void);
/// Takes what is to be read there: 1 if there was anything.
int cposix_network_drain(int fd);

// MARK: Programs

/// Starts a command by the shell, in a process group of its own, without our password in its environment. The descriptor of a
/// non-blocking socket that is its standard input and output.
int cposix_program_start(const char *command, int *process);
/// A non-blocking socket that is connected to a Unix socket.
int cposix_program_connect(const char *path);
/// Whether the program has ended; then with its status, 128 and more for a signal.
int cposix_program_status(int process, int *status);
/// Asks the program and all that it started to end, or ends them. Not after `cposix_program_status` told its end.
void cposix_program_end(int process, int insist);
int cposix_shutdown_write(int fd);

// MARK: Threads

/// Starts a joinable thread with signals like SIGINT blocked. `realtime` > 0 asks for SCHED_FIFO at that priority, and
/// `*granted` tells whether it was given.
int cposix_thread_start(
    void (*body)(void *), void *context, const char *name, int realtime, int *granted, uintptr_t *thread);
void cposix_thread_join(uintptr_t thread);
/// The calling thread, never 0.
uintptr_t cposix_thread_current(void);

#endif
