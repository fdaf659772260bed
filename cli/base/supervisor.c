/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/supervisor.h"

#include "common/clock.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

uint64_t wp_supervisor_now(void)
{
    return wp_clock_ns();
}

int wp_supervisor_init(struct wp_supervisor *supervisor, struct wp_error *err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGQUIT);
    *supervisor = (struct wp_supervisor){.signal_fd = -1};
    sigprocmask(SIG_BLOCK, &set, &supervisor->previous);
    supervisor->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (supervisor->signal_fd >= 0)
        return 0;
    int rc = wp_error_errno(err, -errno, "cannot wait for signals");
    sigprocmask(SIG_SETMASK, &supervisor->previous, NULL);
    return rc;
}

/* A signal that came and was not read must not end us after all the work is done. */
void wp_supervisor_fini(struct wp_supervisor *supervisor)
{
    struct signalfd_siginfo info;
    if (supervisor->signal_fd < 0)
        return;
    while (read(supervisor->signal_fd, &info, sizeof(info)) == sizeof(info))
        ;
    close(supervisor->signal_fd);
    supervisor->signal_fd = -1;
    sigprocmask(SIG_SETMASK, &supervisor->previous, NULL);
}

void wp_supervisor_add(struct wp_supervisor *supervisor, struct wp_child *child)
{
    assert(supervisor->count < WP_SUPERVISOR_CHILDREN);
    supervisor->children[supervisor->count++] = child;
}

static int timeout_of(uint64_t deadline_ns)
{
    if (!deadline_ns)
        return -1;
    uint64_t now = wp_supervisor_now();
    if (now >= deadline_ns)
        return 0;
    uint64_t ms = (deadline_ns - now + 999999) / WP_NS_PER_MS;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

static bool take_signal(const struct wp_supervisor *supervisor, struct wp_wake *wake)
{
    struct signalfd_siginfo info;
    if (read(supervisor->signal_fd, &info, sizeof(info)) != sizeof(info))
        return false;
    *wake = (struct wp_wake){
        .kind = WP_WAKE_SIGNAL, .signal = (int)info.ssi_signo, .is_from_terminal = info.ssi_code == SI_KERNEL};
    return true;
}

static bool take_child(const struct wp_supervisor *supervisor, struct wp_wake *wake)
{
    for (unsigned i = 0; i < supervisor->count; i++) {
        struct wp_child *child = supervisor->children[i];
        if (!child->running || !wp_child_reap(child))
            continue;
        *wake = (struct wp_wake){.kind = WP_WAKE_CHILD, .child = child};
        return true;
    }
    return false;
}

int wp_supervisor_wait(
    struct wp_supervisor *supervisor, int fd, uint64_t deadline_ns, struct wp_wake *wake, struct wp_error *err)
{
    for (;;) {
        struct pollfd polled[WP_SUPERVISOR_CHILDREN + 2] = {
            {.fd = supervisor->signal_fd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
        nfds_t count = 2;
        for (unsigned i = 0; i < supervisor->count; i++)
            if (supervisor->children[i]->running)
                polled[count++] = (struct pollfd){.fd = supervisor->children[i]->pidfd, .events = POLLIN};
        int ready = poll(polled, count, timeout_of(deadline_ns));
        if (ready < 0 && errno != EINTR)
            return wp_error_errno(err, -errno, "cannot wait for the recording's processes");
        if (take_signal(supervisor, wake) || take_child(supervisor, wake))
            return 0;
        if (ready > 0 && polled[1].revents) {
            *wake = (struct wp_wake){.kind = WP_WAKE_READABLE};
            return 0;
        }
        if (deadline_ns && wp_supervisor_now() >= deadline_ns) {
            *wake = (struct wp_wake){.kind = WP_WAKE_DEADLINE};
            return 0;
        }
    }
}
