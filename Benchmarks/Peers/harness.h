// SPDX-License-Identifier: Apache-2.0
/* Shared harness for the SIP parse benchmark: loads every file named on the
 * command line, parses them round-robin, and prints one line per run.
 * usage: prog [-n rounds] [-r repeats] [-1] file...
 *   -1  also time every file by itself
 * A library file defines lib_name, lib_setup() and lib_parse(); the buffer is
 * NUL-terminated, writable, and the same bytes are parsed again each round. */
#ifndef HARNESS_H
#define HARNESS_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern const char *lib_name;
void lib_setup(void);
/* returns 0 when the message parsed; *hdrs gets the number of header fields seen */
int lib_parse(int idx, char *buf, size_t len, int *hdrs);

#define MAXF 64
static char *g_buf[MAXF]; static size_t g_len[MAXF]; static const char *g_name[MAXF]; static int g_n;

static double cpu_now(void) {
    struct timespec ts; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return ts.tv_sec + ts.tv_nsec * 1e-9;
}
static int cmp_d(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b; return x < y ? -1 : x > y;
}
static double run(int from, int to, long rounds, int *sink) {
    double t0 = cpu_now();
    for (long r = 0; r < rounds; r++)
        for (int i = from; i < to; i++) {
            int h = 0;
            if (lib_parse(i, g_buf[i], g_len[i], &h)) { fprintf(stderr, "%s: parse failed: %s\n", lib_name, g_name[i]); exit(1); }
            *sink += h;
        }
    return cpu_now() - t0;
}
int main(int argc, char **argv) {
    long rounds = 20000; int reps = 5, each = 0, o, sink = 0;
    while ((o = getopt(argc, argv, "n:r:1")) != -1) {
        if (o == 'n') rounds = atol(optarg); else if (o == 'r') reps = atoi(optarg); else if (o == '1') each = 1; else return 2;
    }
    for (; optind < argc && g_n < MAXF; optind++) {
        FILE *f = fopen(argv[optind], "rb"); if (!f) { perror(argv[optind]); return 1; }
        fseek(f, 0, SEEK_END); long n = ftell(f); rewind(f);
        char *b = malloc(n + 16); if (fread(b, 1, n, f) != (size_t)n) return 1; memset(b + n, 0, 16); fclose(f);
        const char *s = strrchr(argv[optind], '/'); g_name[g_n] = s ? s + 1 : argv[optind];
        g_buf[g_n] = b; g_len[g_n] = n; g_n++;
    }
    lib_setup();
    size_t total = 0; for (int i = 0; i < g_n; i++) total += g_len[i];
    if (rounds > 200) run(0, g_n, rounds / 20, &sink); /* warm-up, skipped under callgrind */
    double t[64]; if (reps > 64) reps = 64;
    for (int k = 0; k < reps; k++) t[k] = run(0, g_n, rounds, &sink);
    qsort(t, reps, sizeof t[0], cmp_d);
    double m = t[reps / 2], msgs = (double)rounds * g_n;
    printf("%-10s all: %9.0f msg/s  %7.1f MB/s  %7.0f ns/msg  (median of %d; min %.0f max %.0f msg/s)\n", lib_name,
           msgs / m, (double)total * rounds / m / 1e6, m / msgs * 1e9, reps, msgs / t[reps - 1], msgs / t[0]);
    if (each) for (int i = 0; i < g_n; i++) {
        for (int k = 0; k < reps; k++) t[k] = run(i, i + 1, rounds, &sink);
        qsort(t, reps, sizeof t[0], cmp_d); m = t[reps / 2];
        int h = 0; lib_parse(i, g_buf[i], g_len[i], &h);
        printf("  %-28s %5zu B  %9.0f msg/s  %7.1f MB/s  %7.0f ns  hdrs %d\n", g_name[i], g_len[i],
               rounds / m, (double)g_len[i] * rounds / m / 1e6, m / rounds * 1e9, h);
    }
    return sink == -1;
}
#endif
