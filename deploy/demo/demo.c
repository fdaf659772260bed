/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Something to look at: one program that waits for others in all the usual ways. A front process asks a storing process
 * over a loopback socket (which waits for the disk), feeds a filter process through pipes (which computes), runs a
 * helper command, sleeps, and computes a little itself. A second or two; names as they appear in the report.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 60
#define BLOCK 65536
#define REQUEST 4096

static void fail(const char *what)
{
    fprintf(stderr, "demo: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* Reads or writes all of it; 0 at the end of the stream. */
static int transfer(int fd, uint8_t *bytes, size_t size, ssize_t (*step)(int, void *, size_t))
{
    while (size) {
        ssize_t done = step(fd, bytes, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return 0;
        bytes += done;
        size -= (size_t)done;
    }
    return 1;
}

static ssize_t write_step(int fd, void *bytes, size_t size)
{
    return write(fd, bytes, size);
}

/* Work for the processor that no compiler takes away. */
__attribute__((noinline)) static uint64_t compute(uint8_t *bytes, size_t size, unsigned passes)
{
    uint64_t hash = 1469598103934665603u;
    for (unsigned pass = 0; pass < passes; pass++)
        for (size_t i = 0; i < size; i++) {
            hash = (hash ^ bytes[i]) * 1099511628211u;
            bytes[i] = (uint8_t)(hash >> 32);
        }
    return hash;
}

/* One file, one block a request, on the disk before the answer goes out. */
static void store_main(int listener, int file)
{
    uint8_t request[REQUEST], block[BLOCK] = {0};
    prctl(PR_SET_NAME, "demo-store");
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* it waits for a connection that may never come */
    int peer = accept(listener, NULL, NULL);
    while (peer >= 0 && transfer(peer, request, sizeof(request), read)) {
        memcpy(block, request, sizeof(request));
        compute(block, sizeof(block), 2);
        if (write(file, block, sizeof(block)) != sizeof(block) || fdatasync(file))
            fail("store");
        if (!transfer(peer, request, 64, write_step))
            break;
    }
    _exit(0);
}

static void filter_main(int in, int out)
{
    uint8_t block[BLOCK];
    prctl(PR_SET_NAME, "demo-filter");
    while (transfer(in, block, sizeof(block), read)) {
        compute(block, sizeof(block), 120);
        if (!transfer(out, block, sizeof(block), write_step))
            break;
    }
    _exit(0);
}

static int start_store(const char *folder)
{
    char path[512];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    snprintf(path, sizeof(path), "%s/wakepath-demo.XXXXXX", folder);
    int file = mkstemp(path);
    if (file < 0)
        fail(path);
    unlink(path);
    int listener = socket(AF_INET, SOCK_STREAM, 0), peer = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || peer < 0 || bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&address, &size))
        fail("listen");
    if (fork() == 0) {
        close(peer);
        store_main(listener, file);
    }
    if (connect(peer, (struct sockaddr *)&address, size))
        fail("connect");
    close(listener);
    close(file);
    return peer;
}

static void start_filter(int *to, int *from)
{
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
        fail("pipe");
    if (fork() == 0) {
        close(in[1]);
        close(out[0]);
        filter_main(in[0], out[1]);
    }
    close(in[0]);
    close(out[1]);
    *to = in[1];
    *from = out[0];
}

static void run_helper(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", "head -c 3000000 /dev/urandom | cksum >/dev/null", (char *)NULL);
        _exit(127);
    }
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static void one_round(unsigned round, int store, int to_filter, int from_filter, uint8_t *block)
{
    if (!transfer(store, block, REQUEST, write_step) || !transfer(store, block, 64, read))
        fail("asking the store");
    /* A pipe holds one block: the write and the read cannot wait for each other. */
    if (!transfer(to_filter, block, BLOCK, write_step) || !transfer(from_filter, block, BLOCK, read))
        fail("asking the filter");
    compute(block, BLOCK, 40);
    if (round % 10 == 0)
        run_helper();
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

static int usage(const char *option)
{
    bool is_asked =
        !strcmp(option, "--help") || !strcmp(option, "--usage") || !strcmp(option, "-h") || !strcmp(option, "-?");
    if (!is_asked)
        fprintf(stderr, "wakepath-demo: %s%s\n", *option ? "unknown option " : "one folder at most", option);
    fprintf(is_asked ? stdout : stderr,
        "Usage: wakepath-demo [DIR]\n"
        "Waits for others in all the usual ways for a second or two, to be looked at: wakepath record -- "
        "wakepath-demo\n"
        "DIR (default: /var/tmp) is where it writes a file for a while.\n");
    return is_asked ? 0 : 64;
}

int main(int argc, char **argv)
{
    static uint8_t block[BLOCK];
    int to_filter, from_filter;
    if (argc > 1 && !strcmp(argv[1], "--version"))
        return puts("wakepath-demo " WP_VERSION) < 0;
    if (argc > 1 && *argv[1] == '-')
        return usage(argv[1]);
    if (argc > 2)
        return usage("");
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_NAME, "demo-front");
    int store = start_store(argc > 1 ? argv[1] : "/var/tmp");
    start_filter(&to_filter, &from_filter);
    for (unsigned round = 0; round < ROUNDS; round++)
        one_round(round, store, to_filter, from_filter, block);
    close(store);
    close(to_filter);
    close(from_filter);
    while (wait(NULL) > 0)
        ;
    printf("demo: %d rounds done\n", ROUNDS);
    return 0;
}
