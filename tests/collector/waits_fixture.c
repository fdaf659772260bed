/* SPDX-License-Identifier: Apache-2.0 */
/* waits_fixture FOLDER: sleeps once or more in each call on each kind of file, until a helper thread ends it. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define TIMES 3

struct locks {
    char before[40];
    pthread_mutex_t inner;
};

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER; /* all zeros: not in the file */
static struct locks filled_locks = {.before = "in the file", .inner = PTHREAD_MUTEX_INITIALIZER};

static void check(long rc, const char *what)
{
    if (rc >= 0)
        return;
    perror(what);
    exit(1);
}

static void rest(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

struct ending {
    void (*end)(void *what);
    void *what;
};

static void *end_later(void *argument)
{
    const struct ending *ending = argument;
    rest();
    ending->end(ending->what);
    return NULL;
}

/* Runs `wait` while a thread does `end` a little later. */
static void meet(void (*wait)(void *what), void (*end)(void *what), void *what)
{
    for (int i = 0; i < TIMES; i++) {
        struct ending ending = {end, what};
        pthread_t thread;
        check(-pthread_create(&thread, NULL, end_later, &ending), "pthread_create");
        wait(what);
        pthread_join(thread, NULL);
    }
}

static void read_first(void *fds)
{
    char bytes[4096];
    check(read(*(int *)fds, bytes, sizeof(bytes)), "read");
}

static void receive_first(void *fds)
{
    char bytes[8];
    check(recv(*(int *)fds, bytes, sizeof(bytes), 0), "recv");
}

static void write_second(void *fds)
{
    check(write(((int *)fds)[1], &(uint64_t){1}, 8), "write");
}

static void with_pipes(const char *folder)
{
    int fds[2];
    char path[512];
    check(pipe(fds), "pipe");
    meet(read_first, write_second, fds);
    snprintf(path, sizeof(path), "%s/fifo", folder);
    check(mkfifo(path, 0600), "mkfifo");
    fds[0] = open(path, O_RDWR);
    fds[1] = fds[0];
    check(fds[0], "open a fifo");
    meet(read_first, write_second, fds);
}

static void set_timer(void *fds)
{
    check(timerfd_settime(*(int *)fds, 0, &(struct itimerspec){.it_value.tv_nsec = 20000000}, NULL), "timerfd_settime");
}

static void make_file(void *fds)
{
    const char *path = *(const char **)((char *)fds + 2 * sizeof(int));
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    check(fd, path);
    close(fd);
    unlink(path);
}

static void raise_signal(void *fds)
{
    (void)fds;
    kill(getpid(), SIGUSR1);
}

static void with_kinds(const char *folder)
{
    struct {
        int fds[2];
        const char *path;
    } watch;
    char path[512];
    int event = eventfd(0, 0), timer = timerfd_create(CLOCK_MONOTONIC, 0), tty[2];
    sigset_t signals;
    meet(read_first, write_second, (int[]){event, event});
    meet(read_first, set_timer, (int[]){timer, timer});
    snprintf(path, sizeof(path), "%s/made", folder);
    watch.fds[0] = inotify_init1(0);
    watch.path = path;
    check(inotify_add_watch(watch.fds[0], folder, IN_CREATE), "inotify_add_watch");
    meet(read_first, make_file, &watch);
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    int fd = signalfd(-1, &signals, 0);
    check(fd, "signalfd");
    meet(read_first, raise_signal, (int[]){fd, fd});
    struct termios raw;
    check(openpty(&tty[0], &tty[1], NULL, NULL, NULL), "openpty");
    tcgetattr(tty[1], &raw);
    cfmakeraw(&raw);
    tcsetattr(tty[1], TCSANOW, &raw);
    meet(read_first, write_second, (int[]){tty[0], tty[1]});
}

static void unlock_file(void *fds)
{
    flock(((int *)fds)[1], LOCK_UN);
}

static void lock_file(void *fds)
{
    check(flock(*(int *)fds, LOCK_EX), "flock");
    flock(*(int *)fds, LOCK_UN);
    flock(((int *)fds)[1], LOCK_EX);
}

static void with_files(const char *folder)
{
    char path[512];
    int fds[2];
    snprintf(path, sizeof(path), "%s/database", folder);
    for (int i = 0; i < 2; i++)
        check(fds[i] = open(path, O_CREAT | O_RDWR, 0600), path);
    flock(fds[1], LOCK_EX);
    meet(lock_file, unlock_file, fds);
}

static void accept_first(void *fds)
{
    int fd = accept(*(int *)fds, NULL, NULL);
    check(fd, "accept");
    close(fd);
}

static void connect_to(void *fds)
{
    struct sockaddr_in address;
    socklen_t size = sizeof(address);
    getsockname(*(int *)fds, (struct sockaddr *)&address, &size);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    check(connect(fd, (struct sockaddr *)&address, size), "connect");
    close(fd);
}

static void poll_both(void *fds)
{
    struct pollfd both[] = {{.fd = ((int *)fds)[2], .events = POLLIN}, {.fd = *(int *)fds, .events = POLLIN}};
    check(poll(both, 2, 5000), "poll");
    read_first(fds);
}

static void select_both(void *fds)
{
    fd_set both;
    int first = *(int *)fds, other = ((int *)fds)[2];
    FD_ZERO(&both);
    FD_SET(first, &both);
    FD_SET(other, &both);
    check(select((first > other ? first : other) + 1, &both, NULL, NULL, &(struct timeval){5, 0}), "select");
    read_first(fds);
}

/* A connection to `listener`: [0] who connected, [1] who was connected to. */
static void connection(int listener, int *fds)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);
    check(getsockname(listener, (struct sockaddr *)&address, &size), "getsockname");
    fds[0] = socket(address.ss_family, SOCK_STREAM, 0);
    check(connect(fds[0], (struct sockaddr *)&address, size), "connect");
    check(fds[1] = accept(listener, NULL, NULL), "accept");
}

static void with_sockets(const char *folder)
{
    struct sockaddr_in loopback = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 loopback6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    int fds[2], listener = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t size = sizeof(loopback);
    check(bind(listener, (struct sockaddr *)&loopback, sizeof(loopback)), "bind");
    check(listen(listener, 5), "listen");
    getsockname(listener, (struct sockaddr *)&loopback, &size);
    printf("tcp %d\n", ntohs(loopback.sin_port));
    meet(accept_first, connect_to, (int[]){listener});
    connection(listener, fds);
    meet(receive_first, write_second, fds);
    meet(receive_first, write_second, (int[]){fds[1], fds[0]});
    meet(select_both, write_second, (int[]){fds[1], fds[0], eventfd(0, 0)});
    meet(poll_both, write_second, (int[]){fds[0], fds[1], eventfd(0, 0)});
    int listener6 = socket(AF_INET6, SOCK_STREAM, 0);
    size = sizeof(loopback6);
    if (!bind(listener6, (struct sockaddr *)&loopback6, sizeof(loopback6)) && !listen(listener6, 5)) {
        getsockname(listener6, (struct sockaddr *)&loopback6, &size);
        printf("tcp6 %d\n", ntohs(loopback6.sin6_port));
        connection(listener6, fds);
        meet(receive_first, write_second, fds);
    }
    snprintf(local.sun_path, sizeof(local.sun_path), "%.80s/socket", folder);
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    check(bind(listener, (struct sockaddr *)&local, sizeof(local)), "bind");
    check(listen(listener, 5), "listen");
    connection(listener, fds);
    meet(receive_first, write_second, fds);
    check(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds), "socketpair");
    meet(receive_first, write_second, fds);
    int udp = socket(AF_INET, SOCK_DGRAM, 0);
    loopback.sin_port = 0;
    check(bind(udp, (struct sockaddr *)&loopback, sizeof(loopback)), "bind");
    getsockname(udp, (struct sockaddr *)&loopback, &size);
    printf("udp %d\n", ntohs(loopback.sin_port));
    int sender = socket(AF_INET, SOCK_DGRAM, 0);
    check(connect(sender, (struct sockaddr *)&loopback, sizeof(loopback)), "connect");
    meet(receive_first, write_second, (int[]){udp, sender});
}

static void poll_first(void *fds)
{
    struct pollfd one = {.fd = *(int *)fds, .events = POLLIN};
    check(poll(&one, 1, 5000), "poll");
    read_first(fds);
}

static void epoll_third(void *fds)
{
    struct epoll_event event;
    check(epoll_wait(((int *)fds)[2], &event, 1, 5000), "epoll_wait");
    read_first(fds);
}

static void with_polls(void)
{
    int fds[3], event = eventfd(0, 0);
    check(pipe(fds), "pipe");
    meet(poll_first, write_second, fds);
    meet(select_both, write_second, (int[]){fds[0], fds[1], eventfd(0, 0)});
    meet(poll_both, write_second, (int[]){event, event, fds[0]});
    fds[2] = epoll_create1(0);
    struct epoll_event in = {.events = EPOLLIN};
    epoll_ctl(fds[2], EPOLL_CTL_ADD, fds[0], &in);
    epoll_ctl(fds[2], EPOLL_CTL_ADD, event, &in);
    meet(epoll_third, write_second, fds);
    meet(epoll_third, write_second, (int[]){event, event, fds[2]});
}

static void *hold(void *lock)
{
    pthread_mutex_lock(lock);
    rest();
    pthread_mutex_unlock(lock);
    return NULL;
}

static void with_lock(pthread_mutex_t *lock)
{
    for (int i = 0; i < TIMES; i++) {
        pthread_t thread;
        check(-pthread_create(&thread, NULL, hold, lock), "pthread_create");
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        pthread_mutex_lock(lock);
        pthread_mutex_unlock(lock);
        pthread_join(thread, NULL);
    }
}

int main(int argc, char **argv)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    if (argc < 2)
        return 64;
    with_pipes(argv[1]);
    with_kinds(argv[1]);
    with_files(argv[1]);
    with_sockets(argv[1]);
    with_polls();
    with_lock(&queue_lock);
    with_lock(&filled_locks.inner);
    pthread_mutex_t *heap = malloc(sizeof(*heap));
    pthread_mutex_init(heap, NULL);
    with_lock(heap);
    free(heap);
    return 0;
}
