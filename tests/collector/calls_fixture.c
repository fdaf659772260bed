/* SPDX-License-Identifier: Apache-2.0 */
/* calls_fixture FOLDER: sleeps in every system call that can be made to, until a timer's signal ends it, and prints
 * what each of these sleeps must be called, a line each. Calls that this kernel does not have are left out. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <linux/membarrier.h>
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#define SYS_FUTEX_WAIT 455 /* Linux 6.7 */
#define REST_US 10000
#define TIMES 3

static uint32_t word, other_word; /* what futexes wait on: in the program's own data, so it has a name */

static void check(long rc, const char *what)
{
    if (rc >= 0)
        return;
    perror(what);
    exit(1);
}

static void on_alarm(int signal)
{
    (void)signal;
}

static void arm(void)
{
    struct itimerval soon = {
        .it_value.tv_usec = REST_US, .it_interval.tv_usec = REST_US}; /* again: it may come before the sleep */
    setitimer(ITIMER_REAL, &soon, NULL);
}

/* The call that stood before this one has slept. */
static void said(long rc, const char *name)
{
    int why = rc < 0 ? errno : 0;
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    if (why == ENOSYS || why == EPERM)
        return;
    if (why && why != EINTR && why != EAGAIN && why != ETIMEDOUT && why != EINPROGRESS) {
        fprintf(stderr, "%s: %s\n", name, strerror(why));
        exit(1);
    }
    puts(name);
}

/* More than once: the signal may come when the call has begun and does not sleep yet. */
#define SLEEP(name, call)                                                                                              \
    do {                                                                                                               \
        long rc_ = 0;                                                                                                  \
        for (int i_ = 0; i_ < TIMES; i_++) {                                                                           \
            arm();                                                                                                     \
            rc_ = (long)(call);                                                                                        \
        }                                                                                                              \
        said(rc_, name);                                                                                               \
    } while (0)

static void with_signals(void)
{
    sigset_t none, alarm;
    struct timespec rest = {.tv_nsec = 1000L * REST_US};
    sigemptyset(&none);
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGUSR2);
    SLEEP("pause", pause());
    SLEEP("rt_sigsuspend", sigsuspend(&none));
    SLEEP("rt_sigtimedwait", sigtimedwait(&alarm, NULL, &rest));
    SLEEP("nanosleep", syscall(SYS_nanosleep, &(struct timespec){1, 0}, NULL));
    SLEEP("clock_nanosleep",
        clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){1, 0}, NULL) ? (errno = EINTR, -1) : 0);
    SLEEP("poll", poll(NULL, 0, 1000));
    SLEEP("select", syscall(SYS_select, 0, NULL, NULL, NULL, &(struct timeval){1, 0}));
}

static void with_children(void)
{
    int child = fork();
    if (!child)
        pause();
    int fd = (int)syscall(SYS_pidfd_open, child, 0);
    struct pollfd one = {.fd = fd, .events = POLLIN};
    SLEEP("wait4", waitpid(child, NULL, 0));
    SLEEP("waitid", waitid(P_PID, (id_t)child, &(siginfo_t){0}, WEXITED));
    if (fd >= 0)
        SLEEP("ppoll pidfd", ppoll(&one, 1, &(struct timespec){1, 0}, NULL));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    pid_t quick = vfork();
    if (!quick) {
        syscall(SYS_nanosleep, &(struct timespec){.tv_nsec = 1000L * REST_US}, NULL);
        _exit(0);
    }
    said(quick, "vfork");
    waitpid(quick, NULL, 0);
}

/* A pipe that has no room. */
static void full_pipe(int *fds)
{
    char bytes[4096] = {0};
    check(pipe(fds), "pipe");
    fcntl(fds[1], F_SETFL, O_NONBLOCK);
    while (write(fds[1], bytes, sizeof(bytes)) > 0)
        continue;
    fcntl(fds[1], F_SETFL, 0);
}

static void with_pipes(const char *folder)
{
    int empty[2], other[2], full[2];
    char path[512], byte = 0;
    struct iovec piece = {&byte, 1};
    check(pipe(empty), "pipe");
    check(pipe(other), "pipe");
    full_pipe(full);
    int file = open("/proc/self/exe", O_RDONLY);
    check(file, "/proc/self/exe");
    SLEEP("readv pipe", readv(empty[0], &piece, 1));
    SLEEP("preadv2 pipe", preadv2(empty[0], &piece, 1, -1, 0));
    SLEEP("write pipe", write(full[1], &byte, 1));
    SLEEP("writev pipe", writev(full[1], &piece, 1));
    SLEEP("pwritev2 pipe", pwritev2(full[1], &piece, 1, -1, 0));
    SLEEP("splice pipe", splice(empty[0], NULL, other[1], NULL, 1, 0));
    SLEEP("tee pipe", tee(empty[0], other[1], 1, 0));
    SLEEP("vmsplice pipe", vmsplice(full[1], &piece, 1, 0));
    SLEEP("sendfile pipe", sendfile(full[1], file, NULL, 4096));
    snprintf(path, sizeof(path), "%s/fifo", folder);
    check(mkfifo(path, 0600), path);
    SLEEP("openat", open(path, O_RDONLY));
    close(file);
}

static void with_kinds(void)
{
    uint64_t most = UINT64_MAX - 1;
    int event = eventfd(0, 0);
    check(write(event, &most, 8), "eventfd");
    SLEEP("write eventfd", write(event, &most, 8));
    int watch = fanotify_init(FAN_CLASS_NOTIF, O_RDONLY);
    char bytes[64];
    if (watch >= 0)
        SLEEP("read fanotify", read(watch, bytes, sizeof(bytes)));
    int faults = (int)syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */);
    if (faults >= 0) {
        struct {
            uint64_t api, features, ioctls;
        } api = {.api = 0xAA}; /* UFFD_API of linux/userfaultfd.h */
        syscall(SYS_ioctl, faults, 0xc018aa3f /* UFFDIO_API */, &api);
        SLEEP("read userfaultfd", read(faults, bytes, sizeof(bytes)));
    }
    int netlink = socket(AF_NETLINK, SOCK_RAW, 0);
    SLEEP("recvfrom netlink", recv(netlink, bytes, sizeof(bytes), 0));
    int packets = socket(AF_PACKET, SOCK_RAW, 0);
    if (packets >= 0)
        SLEEP("recvfrom packet socket", recv(packets, bytes, sizeof(bytes), 0));
    int poll = epoll_create1(0);
    struct epoll_event ready;
    SLEEP("epoll_wait", epoll_wait(poll, &ready, 1, 1000));
    SLEEP("epoll_pwait", epoll_pwait(poll, &ready, 1, 1000, &(sigset_t){0}));
    SLEEP("epoll_pwait2", syscall(SYS_epoll_pwait2, poll, &ready, 1, &(struct timespec){1, 0}, NULL, 0));
}

static void with_sockets(const char *folder)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    char name[600], byte[1] = {0}, many[4096] = {0};
    struct iovec piece = {byte, 1};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    struct mmsghdr messages = {.msg_hdr = message};
    int fds[2], full[2];
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), "socketpair");
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, full), "socketpair");
    while (send(full[0], many, sizeof(many), MSG_DONTWAIT) > 0)
        continue;
    SLEEP("recvmsg unix", recvmsg(fds[0], &message, 0));
    SLEEP("recvmmsg unix", recvmmsg(fds[0], &messages, 1, 0, NULL));
    SLEEP("sendto unix", send(full[0], many, sizeof(many), 0));
    SLEEP("sendmsg unix", sendmsg(full[0], &message, 0));
    SLEEP("sendmmsg unix", sendmmsg(full[0], &messages, 1, 0));
    snprintf(local.sun_path, sizeof(local.sun_path), "%.80s/calls", folder);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0), first = socket(AF_UNIX, SOCK_STREAM, 0),
        second = socket(AF_UNIX, SOCK_STREAM, 0);
    check(bind(listener, (struct sockaddr *)&local, sizeof(local)), "bind");
    check(listen(listener, 0), "listen");
    check(connect(first, (struct sockaddr *)&local, sizeof(local)), "connect");
    snprintf(name, sizeof(name), "connect unix %s", local.sun_path);
    SLEEP(name, connect(second, (struct sockaddr *)&local, sizeof(local)));
    int other = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(local.sun_path, sizeof(local.sun_path), "%.80s/calls2", folder);
    check(bind(other, (struct sockaddr *)&local, sizeof(local)), "bind");
    check(listen(other, 1), "listen");
    snprintf(name, sizeof(name), "accept4 unix %s", local.sun_path);
    SLEEP(name, accept4(other, NULL, NULL, 0));
}

static void with_queues(void)
{
    char name[64], said_name[128], byte[1] = {0};
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 1};
    struct {
        long kind;
        char bytes[1];
    } message = {.kind = 1};
    struct sembuf down = {.sem_op = -1};
    int set = semget(IPC_PRIVATE, 1, 0600), queue = msgget(IPC_PRIVATE, 0600);
    check(set, "semget");
    check(queue, "msgget");
    SLEEP("semop", syscall(SYS_semop, set, &down, 1));
    SLEEP("semtimedop", semtimedop(set, &down, 1, &(struct timespec){1, 0}));
    SLEEP("msgrcv", msgrcv(queue, &message, 1, 0, 0));
    while (!msgsnd(queue, &message, 1, IPC_NOWAIT))
        continue;
    SLEEP("msgsnd", msgsnd(queue, &message, 1, 0));
    semctl(set, 0, IPC_RMID);
    msgctl(queue, IPC_RMID, NULL);
    snprintf(name, sizeof(name), "/wakepath-calls");
    mq_unlink(name);
    mqd_t messages = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
    check(messages, "mq_open");
    const char *mount = access("/dev/mqueue/wakepath-calls", F_OK) ? "" : "/dev/mqueue";
    snprintf(said_name, sizeof(said_name), "mq_timedreceive %s%s", mount, name);
    SLEEP(said_name, mq_receive(messages, byte, 1, NULL));
    check(mq_send(messages, byte, 1, 0), "mq_send");
    snprintf(said_name, sizeof(said_name), "mq_timedsend %s%s", mount, name);
    SLEEP(said_name, mq_send(messages, byte, 1, 0));
    mq_unlink(name);
}

static void with_futexes(const char *program)
{
    struct {
        uint64_t value, address;
        uint32_t flags, reserved;
    } waiters[2] = {{0, (uint64_t)(uintptr_t)&word, 2, 0}, /* struct futex_waitv */
        {0, (uint64_t)(uintptr_t)&other_word, 2, 0}};
    struct timespec later;
    char name[600];
    snprintf(name, sizeof(name), "futex word (%s)", program);
    SLEEP(name, syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &(struct timespec){1, 0}));
    clock_gettime(CLOCK_MONOTONIC, &later);
    later.tv_sec++;
    snprintf(name, sizeof(name), "futex_waitv word (%s)", program);
    SLEEP(name, syscall(SYS_futex_waitv, waiters, 1, 0, &later, CLOCK_MONOTONIC));
    SLEEP("futex_waitv", syscall(SYS_futex_waitv, waiters, 2, 0, &later, CLOCK_MONOTONIC)); /* any may be the one */
    snprintf(name, sizeof(name), "futex_wait word (%s)", program);
    SLEEP(name, syscall(SYS_FUTEX_WAIT, &word, 0ul, UINT_MAX, 2, &later, CLOCK_MONOTONIC));
}

static void with_rings(void)
{
    aio_context_t context = 0;
    struct io_event event;
    struct io_uring_params parameters = {0};
    if (!syscall(SYS_io_setup, 1, &context)) {
        SLEEP("io_getevents", syscall(SYS_io_getevents, context, 1l, 1l, &event, &(struct timespec){1, 0}));
        SLEEP("io_pgetevents", syscall(SYS_io_pgetevents, context, 1l, 1l, &event, &(struct timespec){1, 0}, NULL));
        syscall(SYS_io_destroy, context);
    }
    int ring = (int)syscall(SYS_io_uring_setup, 1, &parameters);
    if (ring >= 0)
        SLEEP("io_uring_enter io_uring", syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0));
}

static void lock_of(const char *path, int command, const char *name)
{
    struct flock lock = {.l_type = F_WRLCK};
    int fd = open(path, O_CREAT | O_RDWR, 0600), ready[2];
    char byte;
    check(fd, path);
    check(pipe(ready), "pipe");
    pid_t child = fork();
    if (!child) {
        int own = open(path, O_RDWR);
        check(fcntl(own, command == F_OFD_SETLKW ? F_OFD_SETLK : F_SETLK, &lock), "lock");
        check(write(ready[1], "", 1), "write");
        pause();
    }
    check(read(ready[0], &byte, 1), "read");
    SLEEP(name, fcntl(fd, command, &lock));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(fd);
}

/* What sleeps for the disk or for other processors: how long is theirs to say. */
static void with_disk(const char *folder)
{
    char path[512], name[600];
    static char bytes[1 << 20];
    snprintf(path, sizeof(path), "%s/database", folder);
    snprintf(name, sizeof(name), "fcntl %s", path);
    lock_of(path, F_SETLKW, name);
    lock_of(path, F_OFD_SETLKW, name);
    int fd = open(path, O_RDWR);
    check(fd, path);
    char *mapped = mmap(NULL, sizeof(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    for (int way = 0; way < 5; way++) {
        static const char *const calls[] = {"fsync", "fdatasync", "syncfs", "sync_file_range", "msync"};
        for (int i = 0; i < TIMES; i++) {
            memset(bytes, TIMES * way + i + 1, sizeof(bytes));
            check(pwrite(fd, bytes, sizeof(bytes), 0), path);
            check(way == 0     ? fsync(fd)
                    : way == 1 ? fdatasync(fd)
                    : way == 2 ? syncfs(fd)
                    : way == 3 ? sync_file_range(fd, 0, 0, 7)
                               : msync(mapped, sizeof(bytes), MS_SYNC),
                calls[way]);
        }
        if (way < 4)
            printf("%s %s\n", calls[way], path);
        else
            puts(calls[way]);
    }
    for (int i = 0; i < 3; i++)
        syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
    puts("membarrier");
    close(fd);
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_alarm}; /* without SA_RESTART: calls end */
    if (argc < 2)
        return 64;
    sigaction(SIGALRM, &action, NULL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    const char *slash = strrchr(argv[0], '/');
    with_signals();
    with_children();
    with_pipes(argv[1]);
    with_kinds();
    with_sockets(argv[1]);
    with_queues();
    with_futexes(slash ? slash + 1 : argv[0]);
    with_rings();
    with_disk(argv[1]);
    return 0;
}
