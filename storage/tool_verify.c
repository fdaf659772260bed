/* SPDX-License-Identifier: Apache-2.0 */
/* wakepath-store verify */
#include "storage/json_parts.h"
#include "storage/store_tool.h"
#include "storage/verify.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct work {
    struct wp_tool *tool;
    struct json_object *faults; /* --json */
};

static void take_fault(void *context, const char *release, const char *key, const char *reason)
{
    struct work *work = context;
    if (work->faults) {
        struct json_object *row = wp_json_add_row(work->faults);
        wp_json_put_text(row, "release", release);
        wp_json_put_text(row, "key", key);
        wp_json_put_text(row, "reason", reason);
        return;
    }
    struct json_object *line = json_object_new_object(); /* so that hostile names are printed as text is */
    struct wp_buffer text = {0};
    wp_buffer_printf(&text, "%s%s%s: %s", release, *key ? "/" : "", key, reason);
    wp_json_put_text(line, "fault", text.data ? (const char *)text.data : reason);
    wp_json_print(&work->tool->out, line);
    json_object_put(line);
    wp_buffer_fini(&text);
}

static int print_result(struct work *work, const struct wp_verify *verify, size_t releases, struct wp_error *err)
{
    char stored[32];
    if (!work->faults) {
        wp_buffer_printf(&work->tool->out, "%zu release%s, %llu keys, %s: %llu fault%s\n", releases, releases == 1 ? "" : "s",
            (unsigned long long)verify->keys, wp_tool_size(verify->stored_bytes, stored, sizeof(stored)),
            (unsigned long long)verify->faults, verify->faults == 1 ? "" : "s");
        return 0;
    }
    struct json_object *result = json_object_new_object();
    wp_json_put(result, "ok", json_object_new_boolean(!verify->faults));
    wp_json_put_number(result, "releases", releases);
    wp_json_put_number(result, "keys", verify->keys);
    wp_json_put_number(result, "stored_bytes", verify->stored_bytes);
    wp_json_put_number(result, "raw_bytes", verify->raw_bytes);
    wp_json_put(result, "faults", work->faults);
    return wp_tool_json(work->tool, result, err);
}

/* Prints what it has found and gives 1 when that is a fault. */
static int verify_all(struct wp_tool *tool, struct wp_error *err)
{
    struct work work = {tool, tool->flags & WP_TOOL_JSON ? json_object_new_array() : NULL};
    struct wp_verify verify = {.fault = take_fault, .context = &work};
    char **releases = NULL;
    size_t count = 0;
    int rc = wp_tool_open(tool, err);
    if (!rc)
        rc = wp_tool_releases(tool, tool->arguments[1], &releases, &count, err);
    for (size_t i = 0; !rc && i < count; i++)
        rc = wp_verify_release(&verify, tool->store, releases[i], err);
    if (!rc)
        rc = print_result(&work, &verify, count, err);
    else
        json_object_put(work.faults);
    wp_strings_free(releases, count);
    return rc ? rc : verify.faults != 0;
}

static int run_child(struct wp_tool *tool)
{
    struct wp_error err = {0};
    int rc = verify_all(tool, &err);
    fwrite(tool->out.data ? (const char *)tool->out.data : "", 1, tool->out.size, stdout);
    if (rc < 0)
        fprintf(stderr, "wakepath-store: error: %s\n", err.text);
    return fflush(stdout) || rc ? 1 : 0;
}

/*
 * LMDB believes the pages of its file: where damage has hit its own structure, reading may kill the reader. So another
 * process reads, and this one says what became of it.
 */
int wp_tool_verify(struct wp_tool *tool, struct wp_error *err)
{
    int status;
    pid_t child = fork();
    if (child < 0)
        return wp_error_errno(err, -errno, "cannot start the reading process");
    if (!child)
        _exit(run_child(tool));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return wp_error_errno(err, -errno, "cannot wait for the reading process");
    if (WIFEXITED(status))
        return WEXITSTATUS(status) ? 1 : 0;
    struct work work = {tool, tool->flags & WP_TOOL_JSON ? json_object_new_array() : NULL};
    struct wp_verify verify = {.faults = 1};
    char reason[128];
    snprintf(reason, sizeof(reason), "the structure of a data.mdb is damaged: reading it ended by signal %d (%s)",
        WTERMSIG(status), strsignal(WTERMSIG(status)));
    take_fault(&work, tool->arguments[1] ? tool->arguments[1] : tool->arguments[0], "", reason);
    int rc = print_result(&work, &verify, 0, err);
    return rc ? rc : 1;
}
