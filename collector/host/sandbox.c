/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/host/sandbox.h"

#include "collector/host/process_file.h"
#include "collector/host/sample_event.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Links of other processes (SYS_PTRACE), their files (DAC_READ_SEARCH, also for cgroups by number), deleted ones of
 * them. */
static const unsigned for_names[] = {CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_CHECKPOINT_RESTORE};
/* Programs and events; the kernel's names; memory that the buffers lock. */
static const unsigned for_attaching[] = {CAP_BPF, CAP_PERFMON, CAP_SYSLOG, CAP_IPC_LOCK, CAP_SYS_RESOURCE};

/* Without CAP_BPF a map can be worked on by its descriptor since Linux 5.19 (commit c8644cd0efe7). */
static bool maps_are_free(void)
{
    struct utsname name;
    unsigned major = 0, minor = 0;
    return !uname(&name) && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
        (major > 5 || (major == 5 && minor >= 19));
}

static bool has(unsigned capability)
{
    return capng_have_capability(CAPNG_PERMITTED, capability);
}

struct wanted {
    unsigned items[16], count;
};

static void want(struct wanted *w, const unsigned *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (has(items[i]) && w->count < COUNT(w->items))
            w->items[w->count++] = items[i];
}

static void want_maps(struct wanted *w)
{
    static const unsigned all[] = {CAP_BPF, CAP_SYS_ADMIN};
    if (!maps_are_free())
        want(w, all, has(CAP_BPF) ? 1 : 2);
}

static void want_writing(struct wanted *w, const struct wp_sandbox *sandbox)
{
    unsigned capability = (unsigned)sandbox->for_writing;
    if (sandbox->for_writing >= 0)
        want(w, &capability, 1);
}

/* This thread has just these from now on. */
static int apply(const struct wanted *w)
{
    capng_clear(CAPNG_SELECT_CAPS);
    for (unsigned i = 0; i < w->count; i++)
        capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, w->items[i]);
    return capng_apply(CAPNG_SELECT_CAPS) ? -EPERM : 0;
}

/* As far as this thread's effective capabilities go. What is not there is made in the nearest folder that is. */
static bool can_write(const struct wp_sandbox_place *place)
{
    char path[4096];
    if (!faccessat(AT_FDCWD, place->path, F_OK, AT_EACCESS)) {
        if (faccessat(AT_FDCWD, place->path, W_OK, AT_EACCESS))
            return false;
        if (place->use != WP_SANDBOX_FILE)
            return true;
    } else if (errno != ENOENT || place->use == WP_SANDBOX_SOCKET) {
        return errno == ENOENT;
    }
    snprintf(path, sizeof(path), "%s%s", *place->path == '/' ? "" : "./", place->path);
    for (char *slash; (slash = strrchr(path, '/'));) {
        slash[slash == path] = 0;
        if (!faccessat(AT_FDCWD, path, F_OK, AT_EACCESS) || errno != ENOENT || slash == path)
            break;
    }
    return !faccessat(AT_FDCWD, path, W_OK, AT_EACCESS);
}

/* Of what is permitted, just these are in effect; nothing is given up. */
static bool put_in_effect(const struct wanted *w)
{
    capng_clear(CAPNG_SELECT_CAPS);
    capng_get_caps_process();
    for (unsigned i = 0; i <= CAP_LAST_CAP; i++)
        capng_update(CAPNG_DROP, CAPNG_EFFECTIVE, i);
    for (unsigned i = 0; i < w->count; i++)
        capng_update(CAPNG_ADD, CAPNG_EFFECTIVE, w->items[i]);
    return !capng_apply(CAPNG_SELECT_CAPS);
}

/*
 * Some kernels ask CAP_SYS_ADMIN of perf events, some by their settings, and none says so: it is tried with what is
 * kept anyway. What is kept then is given up with the rest once the events are there (wp_sandbox_enter).
 */
static void want_samples(struct wanted *w)
{
    static const unsigned admin = CAP_SYS_ADMIN;
    int rc = has(admin) && put_in_effect(w) ? wp_sample_event_try() : 0;
    capng_get_caps_process();
    if (rc == -EACCES || rc == -EPERM)
        want(w, &admin, 1);
}

/* Whether one capability (-1: none) is enough to write there. Leaves it as the only one in effect. */
static bool suffices(const struct wp_sandbox_place *places, unsigned count, int one)
{
    bool is_enough = true;
    const struct wanted w = {.items = {(unsigned)one}, .count = one >= 0};
    if (!put_in_effect(&w))
        return false;
    for (unsigned i = 0; i < count; i++)
        is_enough = is_enough && can_write(&places[i]);
    return is_enough;
}

int wp_sandbox_begin(
    struct wp_sandbox *sandbox, const struct wp_sandbox_place *places, unsigned count, struct wp_error *err)
{
    static const unsigned instead = CAP_SYS_ADMIN;
    struct wanted w = {.count = 0};
    *sandbox = (struct wp_sandbox){-1};
    if (capng_get_caps_process())
        return wp_error_set(err, -EPERM, "cannot read this process' capabilities");
    want(&w, for_names, COUNT(for_names));
    want(&w, for_attaching, COUNT(for_attaching));
    if (!has(CAP_BPF) || !has(CAP_PERFMON)) /* before Linux 5.8 it stands for both */
        want(&w, &instead, 1);
    want_maps(&w);
    if (has(CAP_SETPCAP)) { /* nothing that is run can get more; without this no_new_privs says so alone */
        capng_clear(CAPNG_SELECT_BOUNDS);
        capng_apply(CAPNG_SELECT_BOUNDS);
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return wp_error_errno(err, -errno, "cannot set no_new_privs");
    want_samples(&w);
    if (!suffices(places, count, -1)) {
        bool is_enough = has(CAP_DAC_READ_SEARCH) && suffices(places, count, CAP_DAC_READ_SEARCH);
        sandbox->for_writing = is_enough ? CAP_DAC_READ_SEARCH : CAP_DAC_OVERRIDE;
    }
    capng_get_caps_process(); /* of the permitted ones nothing was given up yet */
    want_writing(&w, sandbox);
    return apply(&w) ? wp_error_set(err, -EPERM, "cannot drop capabilities") : 0;
}

struct apart {
    const struct wp_sandbox *sandbox;
    int (*call)(void *context);
    void *context;
    int rc;
};

static void *call_apart(void *argument)
{
    struct apart *a = argument;
    struct wanted w = {.count = 0};
    if (capng_get_caps_process())
        return argument;
    want_writing(&w, a->sandbox);
    if (apply(&w))
        return argument;
    a->rc = a->call(a->context);
    return NULL;
}

int wp_sandbox_apart(const struct wp_sandbox *sandbox, int (*call)(void *context), void *context, struct wp_error *err)
{
    struct apart a = {.sandbox = sandbox, .call = call, .context = context};
    pthread_t thread;
    void *failed;
    int rc = pthread_create(&thread, NULL, call_apart, &a);
    if (rc)
        return wp_error_errno(err, -rc, "cannot start a thread");
    pthread_join(thread, &failed);
    return failed ? wp_error_set(err, -EPERM, "cannot drop capabilities") : a.rc;
}

static int keep_for_names(const struct wp_sandbox *sandbox)
{
    struct wanted w = {.count = 0};
    if (capng_get_caps_process())
        return -EPERM;
    want(&w, for_names, COUNT(for_names));
    want_maps(&w);
    if (sandbox)
        want_writing(&w, sandbox);
    return apply(&w);
}

void wp_sandbox_thread(void)
{
    keep_for_names(NULL); /* it can only have less than before: what fails here fails in wp_sandbox_enter too */
}

/* Sanitizers look at their own process in ways of their own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FILTERS 0
#elif defined(__has_feature)
#define FILTERS !(__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define FILTERS 1
#endif

/* Memory and threads; time; files; the aggregator's socket and names of hosts; nothing that starts or touches a
 * process. */
static const int calls[] = {
    SCMP_SYS(brk),
    SCMP_SYS(mmap),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(mprotect),
    SCMP_SYS(madvise),
    SCMP_SYS(futex),
    SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq),
    SCMP_SYS(sched_getscheduler),
    SCMP_SYS(sched_setscheduler),
    SCMP_SYS(sched_getparam),
    SCMP_SYS(sched_setparam), /* ZeroMQ */
    SCMP_SYS(sched_get_priority_min),
    SCMP_SYS(sched_get_priority_max),
    SCMP_SYS(sched_setaffinity),
    SCMP_SYS(clone),
    SCMP_SYS(clone3),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(gettid),
    SCMP_SYS(getpid),
    SCMP_SYS(getppid),
    SCMP_SYS(getuid),
    SCMP_SYS(geteuid),
    SCMP_SYS(getgid),
    SCMP_SYS(getegid),
    SCMP_SYS(tgkill),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(setpriority),
    SCMP_SYS(getpriority),
    SCMP_SYS(prlimit64),
    SCMP_SYS(getrlimit),
    SCMP_SYS(getrusage),
    SCMP_SYS(uname),
    SCMP_SYS(sysinfo),
    SCMP_SYS(getrandom),
    SCMP_SYS(getcpu),
    SCMP_SYS(times),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_getres),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(open),
    SCMP_SYS(openat),
    SCMP_SYS(openat2),
    SCMP_SYS(close),
    SCMP_SYS(close_range),
    SCMP_SYS(read),
    SCMP_SYS(pread64),
    SCMP_SYS(readv),
    SCMP_SYS(preadv),
    SCMP_SYS(write),
    SCMP_SYS(pwrite64),
    SCMP_SYS(writev),
    SCMP_SYS(pwritev),
    SCMP_SYS(lseek),
    SCMP_SYS(fsync),
    SCMP_SYS(fdatasync),
    SCMP_SYS(ftruncate),
    SCMP_SYS(fallocate),
    SCMP_SYS(flock),
    SCMP_SYS(fadvise64),
    SCMP_SYS(stat),
    SCMP_SYS(fstat),
    SCMP_SYS(lstat),
    SCMP_SYS(newfstatat),
    SCMP_SYS(statx),
    SCMP_SYS(statfs),
    SCMP_SYS(fstatfs),
    SCMP_SYS(access),
    SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2),
    SCMP_SYS(readlink),
    SCMP_SYS(readlinkat),
    SCMP_SYS(getdents64),
    SCMP_SYS(getcwd),
    SCMP_SYS(rename),
    SCMP_SYS(renameat),
    SCMP_SYS(renameat2),
    SCMP_SYS(unlink),
    SCMP_SYS(unlinkat),
    SCMP_SYS(mkdir),
    SCMP_SYS(mkdirat),
    SCMP_SYS(rmdir),
    SCMP_SYS(umask),
    SCMP_SYS(fcntl),
    SCMP_SYS(dup),
    SCMP_SYS(dup2),
    SCMP_SYS(dup3),
    SCMP_SYS(pipe),
    SCMP_SYS(pipe2),
    SCMP_SYS(open_by_handle_at),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(select),
    SCMP_SYS(pselect6),
    SCMP_SYS(epoll_create),
    SCMP_SYS(epoll_create1),
    SCMP_SYS(epoll_ctl),
    SCMP_SYS(epoll_wait),
    SCMP_SYS(epoll_pwait),
    SCMP_SYS(epoll_pwait2),
    SCMP_SYS(eventfd2),
    SCMP_SYS(timerfd_create),
    SCMP_SYS(timerfd_settime),
    SCMP_SYS(socket),
    SCMP_SYS(socketpair),
    SCMP_SYS(connect),
    SCMP_SYS(bind),
    SCMP_SYS(accept4),
    SCMP_SYS(getsockname),
    SCMP_SYS(getpeername),
    SCMP_SYS(getsockopt),
    SCMP_SYS(setsockopt),
    SCMP_SYS(shutdown),
    SCMP_SYS(sendto),
    SCMP_SYS(sendmsg),
    SCMP_SYS(sendmmsg),
    SCMP_SYS(recvfrom),
    SCMP_SYS(recvmsg),
    SCMP_SYS(recvmmsg),
    SCMP_SYS(membarrier),
};

/* Of these only some requests, the first or second argument. */
static const struct {
    int call;
    unsigned argument;
    uint64_t value;
} requests[] = {
    {SCMP_SYS(bpf), 0, BPF_MAP_LOOKUP_ELEM},
    {SCMP_SYS(bpf), 0, BPF_MAP_UPDATE_ELEM},
    {SCMP_SYS(bpf), 0, BPF_MAP_DELETE_ELEM},
    {SCMP_SYS(bpf), 0, BPF_MAP_GET_NEXT_KEY},
    {SCMP_SYS(bpf), 0, BPF_MAP_LOOKUP_BATCH},
    {SCMP_SYS(bpf), 0, BPF_MAP_UPDATE_BATCH},
    {SCMP_SYS(bpf), 0, BPF_LINK_DETACH},
    {SCMP_SYS(bpf), 0, BPF_OBJ_GET_INFO_BY_FD},
    {SCMP_SYS(bpf), 0, BPF_ITER_CREATE}, /* a window begins: what threads there are */
    {SCMP_SYS(bpf), 0, BPF_LINK_CREATE}, /* programs that it has are attached again */
    {SCMP_SYS(bpf), 0, BPF_RAW_TRACEPOINT_OPEN},
    {SCMP_SYS(ioctl), 1, PERF_EVENT_IOC_DISABLE},
    {SCMP_SYS(ioctl), 1, PERF_EVENT_IOC_ENABLE},
    {SCMP_SYS(ioctl), 1, FIONREAD},
    {SCMP_SYS(ioctl), 1, FIONBIO},
    {SCMP_SYS(ioctl), 1, TCGETS},
    {SCMP_SYS(ioctl), 1, WP_PROCMAP_QUERY},
    {SCMP_SYS(prctl), 0, PR_SET_NAME},
};

static int load_filter(struct wp_error *err)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int rc = filter ? seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1) : -ENOMEM; /* of all threads */
    for (size_t i = 0; !rc && i < COUNT(calls); i++)
        rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
    for (size_t i = 0; !rc && i < COUNT(requests); i++)
        rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, requests[i].call, 1,
            SCMP_CMP(requests[i].argument, SCMP_CMP_MASKED_EQ, UINT32_MAX, requests[i].value));
    if (!rc)
        rc = seccomp_load(filter);
    seccomp_release(filter);
    return rc ? wp_error_errno(err, rc, "this kernel takes no filter of system calls (--no-seccomp goes without)") : 0;
}

int wp_sandbox_enter(const struct wp_sandbox *sandbox, bool has_filter, struct wp_error *err)
{
    if (keep_for_names(sandbox))
        return wp_error_set(err, -EPERM, "cannot drop capabilities");
    return has_filter && FILTERS ? load_filter(err) : 0;
}
