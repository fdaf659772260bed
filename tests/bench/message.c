/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message unix|tcp: nanoseconds of processor time that a thread takes to send a hundred bytes to itself and to read
 * them, without a switch. Prints the least and the median of 400 stretches of 500 messages: the least is what a busy
 * machine disturbs least.
 *
 * message empty: of TCP, what the kernel itself takes to call the five BPF programs that a message runs (Linux 6.16,
 * root): each stretch is compared with one in which programs that only return stand at the same tracepoints. Prints
 * the median of the stretches without, and the quartiles of what is added.
 */
#include <bpf/bpf.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { STRETCHES = 400, MESSAGES = 500 };

static double cpu_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static int connect_tcp(int ends[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&address, &size))
        return -1;
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (ends[0] < 0 || connect(ends[0], (struct sockaddr *)&address, size))
        return -1;
    ends[1] = accept(listener, NULL, NULL);
    return ends[1] < 0 ? -1 : 0;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Negative: a call has failed. */
static double message_ns(const int ends[2])
{
    char bytes[100] = {0};
    double begun = cpu_ns();
    for (int i = 0; i < MESSAGES; i++)
        if (write(ends[0], bytes, sizeof(bytes)) != sizeof(bytes) ||
            read(ends[1], bytes, sizeof(bytes)) != sizeof(bytes))
            return -1;
    return (cpu_ns() - begun) / MESSAGES;
}

static int load_empty(void)
{
    const struct bpf_insn zero = {.code = BPF_ALU64 | BPF_MOV | BPF_K}, end = {.code = BPF_JMP | BPF_EXIT};
    return bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "empty", "GPL", (struct bpf_insn[]){zero, end}, 2, NULL);
}

/* With the program at each tracepoint that a message passes. */
static double traced_ns(const int ends[2], int program)
{
    static const char *const tracepoints[] = {
        "tcp_sendmsg_locked", "net_dev_queue", "softirq_exit", "sk_data_ready", "sock_recv_length"};
    enum { COUNT = sizeof(tracepoints) / sizeof(tracepoints[0]) };
    int links[COUNT], attached = 0;
    while (attached < COUNT && (links[attached] = bpf_raw_tracepoint_open(tracepoints[attached], program)) >= 0)
        attached++;
    if (attached < COUNT)
        perror(tracepoints[attached]);
    double ns = attached == COUNT ? message_ns(ends) : -1;
    while (attached)
        close(links[--attached]);
    return ns;
}

static int compare_empty(const int ends[2])
{
    static double plain[STRETCHES], added[STRETCHES];
    int program = load_empty();
    if (program < 0) {
        perror("message: loading a BPF program");
        return EXIT_FAILURE;
    }
    for (int i = 0; i < STRETCHES; i++) {
        double traced = traced_ns(ends, program);
        plain[i] = message_ns(ends);
        if (traced < 0 || plain[i] < 0)
            return EXIT_FAILURE;
        added[i] = traced - plain[i];
    }
    qsort(plain, STRETCHES, sizeof(plain[0]), by_size);
    qsort(added, STRETCHES, sizeof(added[0]), by_size);
    printf("%.0f %.0f %.0f %.0f\n", plain[STRETCHES / 2], added[STRETCHES / 4], added[STRETCHES / 2],
        added[STRETCHES * 3 / 4]);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    static double each[STRETCHES];
    int ends[2];
    const char *kind = argc == 2 ? argv[1] : "";
    bool is_unix = !strcmp(kind, "unix");
    if ((!is_unix && strcmp(kind, "tcp") && strcmp(kind, "empty")) ||
        (is_unix ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : connect_tcp(ends))) {
        fprintf(stderr, "usage: %s unix|tcp|empty\n", argv[0]);
        return EXIT_FAILURE;
    }
    if (!strcmp(kind, "empty"))
        return compare_empty(ends);
    for (int i = 0; i < STRETCHES; i++)
        if ((each[i] = message_ns(ends)) < 0)
            return EXIT_FAILURE;
    qsort(each, STRETCHES, sizeof(each[0]), by_size);
    printf("%.0f %.0f\n", each[0], each[STRETCHES / 2]);
    return EXIT_SUCCESS;
}
