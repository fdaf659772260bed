/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/view/view.h"

#include "cli/base/args.h"
#include "cli/base/open_page.h"
#include "cli/base/own_store.h"
#include "cli/base/program.h"
#include "cli/base/supervisor.h"
#include "cli/view/view_jobs.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/nearest.h"
#include "common/path.h"
#include "common/scratch.h"
#include "common/selector.h"
#include "common/strings.h"
#include "common/version.h"
#include "reporter/site/site_publish.h"
#include "storage/env/store.h"
#include "storage/value/bucket.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_OPEN = 256 };

#define LEADING_PAGE "open.html"
#define SYSTEM "system"
#define AGGREGATES 16u
#define LOG_BYTES (16u << 20)
#define IDLE_MS 5000u /* connections that say nothing are looked at */
#define OPENS_NS (5 * WP_NS_PER_S)
#define OPENER_NS (100 * WP_NS_PER_MS)

struct view {
    const char *what, *release; /* borrowed from argv; release NULL: as the capture says */
    unsigned port;
    bool is_opened;
    const char *aggregates[AGGREGATES]; /* borrowed from argv */
    unsigned aggregate_count;
    char folder[PATH_MAX];  /* of the pages */
    char capture[PATH_MAX]; /* "": none */
    char store[PATH_MAX];   /* that the pages are made of; "": they are there */
    char system[PATH_MAX];  /* what all threads did, for these pages; need not be there */
    char ready[PATH_MAX];   /* the recording's own pages; "": none */
    char made[PATH_MAX];
    struct wp_scratch scratch;
    struct wp_supervisor supervisor;
    struct wp_child child; /* that makes the pages */
    struct wp_view_jobs jobs;
    struct wp_view_server *server;
    pid_t opener;      /* that opens the page, 0: has ended */
    uint64_t opens_ns; /* until when its end is looked for: its own failure, not the browser's end hours later */
};

/* --- the command line --- */

static const struct argp_option option_table[] = {
    {"port", 'P', "PORT", 0, "Listen at this port of 127.0.0.1 (default: a free one)", 0},
    {"open", KEY_OPEN, NULL, 0, "Open the page in a browser: $BROWSER, else the desktop's", 0},
    {"release", 'r', "ID", 0, "Release of a capture that names none", 0},
    {"aggregate", 'a', "NAME=SELECTOR", 0,
        "Make the pages anew of the capture, with this as a process of interest, such as db=comm=postgres or "
        "two=pid=7+9; may be repeated",
        0},
    {0},
};

/* As the import takes them, which would refuse it without saying so where it was asked. */
static void check_name(const struct view *view, struct argp_state *state, const char *text, size_t size)
{
    char name[WP_ID_ROOM];
    snprintf(name, sizeof(name), "%.*s", (int)size, text);
    if (size >= sizeof(name) || !wp_id_valid(name) || !wp_aggregate_valid(name))
        argp_error(state, "'%s' cannot name an aggregate: use letters, digits and ._+-", name);
    for (unsigned i = 0; i < view->aggregate_count; i++)
        if (!strncmp(view->aggregates[i], text, size + 1))
            argp_error(state, "two aggregates are named '%s'", name);
}

static void add_aggregate(struct view *view, struct argp_state *state, const char *text)
{
    struct wp_selector selector = {0};
    struct wp_error err = {0};
    const char *equals = strchr(text, '=');
    if (!equals)
        argp_error(state, "--aggregate takes NAME=SELECTOR, not '%.200s'", text);
    else
        check_name(view, state, text, (size_t)(equals - text));
    if (view->aggregate_count == AGGREGATES)
        argp_error(state, "more than %u aggregates", AGGREGATES);
    if (equals && wp_selector_parse(&selector, equals + 1, &err))
        argp_error(state, "%s", err.text);
    wp_selector_fini(&selector);
    view->aggregates[view->aggregate_count++] = text;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct view *view = state->input;
    char *end;
    switch (key) {
    case 'P':
        view->port = (unsigned)strtoul(arg, &end, 10);
        if (*arg < '0' || *arg > '9' || *end || strlen(arg) > 5 || view->port > 65535)
            argp_error(state, "--port takes a number up to 65535, not '%.100s'", arg);
        return 0;
    case KEY_OPEN:
        view->is_opened = true;
        return 0;
    case 'r':
        if (!wp_id_valid(arg))
            argp_error(state, "'%.200s' is not a release id: letters, digits and ._+-, 1 to 128 of them", arg);
        view->release = arg;
        return 0;
    case 'a':
        add_aggregate(view, state, arg);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num)
            argp_error(state, "one folder or capture at a time: '%.200s' is a second one", arg);
        view->what = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* --- what is shown --- */

static bool join(char path[PATH_MAX], const char *folder, const char *name)
{
    return (size_t)snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX;
}

static bool is_there(const char *path)
{
    return !access(path, R_OK);
}

/* The capture and the pages that a recording keeps in its store. */
static void find_kept(struct view *view, const char *store)
{
    snprintf(view->ready, sizeof(view->ready), "%s", store);
    if (!join(view->capture, store, WP_OWN_CAPTURE) || !is_there(view->capture))
        *view->capture = 0;
}

static int complain_of_scratch(struct wp_error *err)
{
    return wp_error_set(err, -ENAMETOOLONG, "the name of the private folder is too long");
}

/* A folder with nothing in it is a store for who writes one; there is nothing to look at. */
static int expect_releases(const char *folder, struct wp_error *err)
{
    struct wp_store *store = NULL;
    char **names = NULL;
    size_t count = 0;
    int rc = wp_store_open(&store, folder, false, err);
    if (!rc)
        rc = wp_store_folders(store, &names, &count, err);
    wp_strings_free(names, count);
    wp_store_close(store);
    return rc || count ? rc : wp_error_set(err, -ENOENT, "there is no recording in '%s'", folder);
}

static int find_what(struct view *view, struct wp_error *err)
{
    char path[PATH_MAX], whole[PATH_MAX];
    struct stat st;
    if (!realpath(view->what, whole) || stat(whole, &st))
        return wp_error_errno(err, -errno, "cannot read '%s'", view->what);
    if (S_ISREG(st.st_mode)) {
        memcpy(view->capture, whole, sizeof(whole));
        return join(view->store, view->scratch.path, "store") && join(view->system, view->scratch.path, SYSTEM)
            ? 0
            : complain_of_scratch(err);
    }
    if (!S_ISDIR(st.st_mode))
        return wp_error_set(err, -EINVAL, "'%s' is neither a folder nor a capture", view->what);
    if (join(path, whole, WP_SITE_MANIFEST) && is_there(path)) {
        memcpy(view->folder, whole, sizeof(whole));
        if (join(path, whole, "store"))
            find_kept(view, path);
        return 0;
    }
    memcpy(view->store, whole, sizeof(whole));
    find_kept(view, whole);
    if (!join(view->system, whole, WP_OWN_SYSTEM))
        *view->system = 0;
    *view->ready = 0; /* its pages link to where they lie beside a report */
    return expect_releases(whole, err);
}

/* Pages of other processes of interest are made of the capture, whatever lies beside it, in the private folder. */
static int choose_anew(struct view *view, struct wp_error *err)
{
    if (!*view->capture)
        return wp_error_set(err, -ENOENT, "no capture of '%s' was kept, which --aggregate needs", view->what);
    *view->ready = 0; /* its links lead to the pages beside it */
    return join(view->store, view->scratch.path, "store") && join(view->system, view->scratch.path, SYSTEM)
        ? 0
        : complain_of_scratch(err);
}

/* What the program has said, when it has ended: of a failure the reason, else all of it on standard error. */
static int tell_log(const struct view *view, int log_fd, struct wp_error *err)
{
    struct wp_buffer log = {0};
    char path[32];
    int rc = 0;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", log_fd);
    wp_file_read(path, LOG_BYTES, &log, NULL);
    wp_buffer_putc(&log, 0);
    if (wp_child_exit_code(&view->child)) {
        const char *words = log.failed ? NULL : wp_log_last_words((char *)log.data);
        rc = wp_error_set(err, -EIO, "%s%s", words ? "" : view->child.name, words ? words : " failed");
    } else if (!log.failed) {
        fputs((const char *)log.data, stderr);
    }
    wp_buffer_fini(&log);
    return rc;
}

/* Until it has ended. */
static int run(struct view *view, struct wp_args *args, struct wp_error *err)
{
    char path[PATH_MAX];
    struct wp_wake wake = {.kind = WP_WAKE_DEADLINE};
    int log_fd = memfd_create("view", MFD_CLOEXEC); /* a full disk has no room for words either */
    int rc = args->failed || log_fd < 0 ? wp_error_set(err, -ENOMEM, "out of memory for a command line")
                                        : wp_program_sibling(args->items[0], path, sizeof(path), err);
    if (!rc)
        rc = wp_child_start(&view->child,
            &(struct wp_child_options){.name = args->items[0],
                .path = path,
                .argv = args->items,
                .kind = WP_CHILD_PART,
                .mask = &view->supervisor.previous,
                .log_fd = log_fd,
                .keep_fd = -1},
            err);
    while (!rc && view->child.running) {
        rc = wp_supervisor_wait(&view->supervisor, -1, 0, &wake, err);
        if (!rc && wake.kind == WP_WAKE_SIGNAL)
            rc = wp_error_set(err, -ECANCELED, "interrupted");
    }
    if (!rc)
        rc = tell_log(view, log_fd, err);
    wp_child_end(&view->child, 2000);
    wp_child_fini(&view->child);
    if (log_fd >= 0)
        close(log_fd);
    wp_args_fini(args);
    return rc;
}

static int import_capture(struct view *view, struct wp_error *err)
{
    struct wp_args args = {0};
    wp_args_add(&args, "wakepath-store");
    wp_args_add(&args, "import");
    wp_args_add(&args, view->capture);
    wp_args_add(&args, "--into");
    wp_args_add(&args, view->store);
    wp_args_add(&args, "--system-window");
    wp_args_add(&args, view->system);
    if (view->release) {
        wp_args_add(&args, "--release");
        wp_args_add(&args, view->release);
    }
    for (unsigned i = 0; i < view->aggregate_count; i++) {
        wp_args_add(&args, "--aggregate");
        wp_args_add(&args, view->aggregates[i]);
    }
    return run(view, &args, err);
}

static int make_site(struct view *view, struct wp_error *err)
{
    struct wp_args args = {0};
    wp_args_add(&args, "wakepath-reporter");
    wp_args_add(&args, "--no-config");
    wp_args_add(&args, "--quiet");
    wp_args_add(&args, "--store");
    wp_args_add(&args, view->store);
    wp_args_add(&args, "--out");
    wp_args_add(&args, view->folder);
    if (*view->capture)
        wp_args_add(&args, "--own-pages");
    if (*view->system && !access(view->system, F_OK)) {
        wp_args_add(&args, "--system-window");
        wp_args_add(&args, view->system);
    }
    return run(view, &args, err);
}

static int prepare(struct view *view, struct wp_error *err)
{
    int rc = find_what(view, err);
    if (!rc && view->aggregate_count)
        rc = choose_anew(view, err);
    if (!rc && (!join(view->made, view->scratch.path, "made") || mkdir(view->made, 0700)))
        rc = wp_error_errno(err, -errno, "cannot write '%s'", view->scratch.path);
    if (rc || !*view->store)
        return rc;
    if (!join(view->folder, view->scratch.path, "site"))
        return complain_of_scratch(err);
    if (strncmp(view->store, view->scratch.path, strlen(view->scratch.path)) == 0)
        rc = import_capture(view, err);
    return rc ? rc : make_site(view, err);
}

/* --- serving --- */

/* Whether the page's opener is still to be looked after; says when it has failed. */
static bool is_opening(struct view *view, uint64_t now_ns)
{
    struct wp_error reason = {0};
    if (!view->opener || now_ns >= view->opens_ns)
        return false;
    if (wp_open_page_failed(&view->opener, 0, &reason))
        fprintf(stderr, "wakepath: %s\n", reason.text);
    return view->opener;
}

static int serve(struct view *view, struct wp_error *err)
{
    for (;;) {
        struct wp_wake wake;
        uint64_t now = wp_supervisor_now(), next = wp_view_jobs_round(&view->jobs, now);
        uint64_t due = now + (uint64_t)wp_view_server_due_ms(view->server, IDLE_MS) * WP_NS_PER_MS;
        if (is_opening(view, now) && due > now + OPENER_NS)
            due = now + OPENER_NS;
        int rc = wp_supervisor_wait(
            &view->supervisor, wp_view_server_fd(view->server), next && next < due ? next : due, &wake, err);
        if (rc || wake.kind == WP_WAKE_SIGNAL)
            return rc;
        if (wake.kind == WP_WAKE_CHILD)
            wp_view_jobs_step(&view->jobs);
        else
            wp_view_server_round(view->server);
    }
}

/* By a page that leads there and that we alone may read: everybody sees the arguments of the browser's process. */
static int open_address(struct view *view, const char *address, struct wp_error *err)
{
    char path[PATH_MAX];
    if (!join(path, view->scratch.path, LEADING_PAGE))
        return complain_of_scratch(err);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int size = fd < 0
        ? -1
        : dprintf(fd,
              "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n"
              "<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n<title>Wakepath</title>\n"
              "<p><a href=\"%s\">The recording</a></p>\n",
              address, address);
    int rc = size < 0 ? wp_error_errno(err, -errno, "cannot write '%s'", path) : 0;
    if (fd >= 0)
        close(fd);
    return rc ? rc : wp_open_page(path, &view->opener, err);
}

static int open_server(struct view *view, FILE *out, struct wp_error *err)
{
    struct wp_view_server_options options = {.folder = view->folder,
        .made = view->made,
        .port = view->port,
        .own = wp_view_jobs_answer,
        .context = &view->jobs};
    view->jobs.options = (struct wp_own_pages_options){.capture = *view->capture ? view->capture : NULL,
        .folder = view->scratch.path,
        .out = view->made,
        .release = view->release,
        .mask = &view->supervisor.previous};
    view->jobs.ready = *view->ready ? view->ready : NULL;
    int rc = wp_view_server_open(&view->server, &options, err);
    if (rc)
        return rc;
    fprintf(out, "%s\n", wp_view_server_address(view->server));
    fflush(out);
    struct wp_error reason = {0};
    if (view->is_opened && open_address(view, wp_view_server_address(view->server), &reason))
        fprintf(stderr, "wakepath: %s\n", reason.text);
    view->opens_ns = wp_supervisor_now() + OPENS_NS;
    rc = serve(view, err);
    wp_view_server_close(view->server);
    return rc;
}

static void clear(const char *path)
{
    static const char *const names[] = {"made", "site", "store", "own.store"};
    char inside[PATH_MAX];
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (join(inside, path, names[i]))
            wp_path_remove(inside, NULL);
}

static int run_view(struct view *view, FILE *out, struct wp_error *err)
{
    static const char *const names[] = {"own.log", "own.system", LEADING_PAGE, SYSTEM, NULL};
    static const struct wp_scratch_kind kind = {"wakepath-view-", names, clear, false};
    int rc = wp_scratch_make(&view->scratch, &kind, err);
    if (!rc)
        rc = wp_supervisor_init(&view->supervisor, err);
    if (rc)
        return rc;
    wp_supervisor_add(&view->supervisor, &view->child);
    wp_supervisor_add(&view->supervisor, &view->jobs.own.child);
    rc = prepare(view, err);
    if (!rc)
        rc = open_server(view, out, err);
    wp_view_jobs_end(&view->jobs);
    wp_supervisor_fini(&view->supervisor);
    return rc;
}

int wp_view_run(int argc, char **argv, FILE *out, struct wp_error *err)
{
    static const struct argp argp = {option_table, parse, "[DIR|CAPTURE|STORE]",
        "Shows a recording's pages in a browser of this host, and makes the pages of any of its processes and threads "
        "when they are asked for.\v"
        "  wakepath view                           the recording in wakepath-report\n"
        "  wakepath view run.capture --open        one that was kept with --keep-capture\n"
        "  wakepath view --aggregate two=pid=7+9   of these processes as one\n\n"
        "It prints an address of 127.0.0.1 with a key in it, and serves until it is interrupted. A process' pages are "
        "made of the capture, by the same programs as wakepath-store import --aggregate NAME=pid=N.\n"
        "Exit status: 0 all is well, 1 failure, 64 usage.",
        NULL, NULL, NULL};
    struct view *view = calloc(1, sizeof(*view));
    if (!view)
        return wp_error_set(err, -ENOMEM, "out of memory");
    view->what = "wakepath-report";
    view->child = (struct wp_child)WP_CHILD_NONE;
    view->jobs.own.child = (struct wp_child)WP_CHILD_NONE;
    wp_options_check(&argp, argc, argv, false);
    argp_parse(&argp, argc, argv, 0, NULL, view);
    int rc = run_view(view, out, err);
    wp_scratch_remove(&view->scratch);
    free(view);
    return rc == -ECANCELED ? 0 : rc;
}
