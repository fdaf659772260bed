/* SPDX-License-Identifier: Apache-2.0 */
/* wakepath-store repair --drop-damaged */
#include "storage/tool/tool_repair.h"

#include "common/strings.h"
#include "storage/text/json_parts.h"
#include "storage/tool/tool_shared.h"
#include "storage/upkeep/repair.h"

#include <errno.h>
#include <string.h>
#include <time.h>

struct job {
    struct wp_tool *tool;
    const char *release;
    bool is_dry;
    struct json_object *rows; /* of this release; for people too: printed when it is done */
    struct wp_repair repair;
    struct wp_error *err;
};

static void note(void *context, const char *key, const char *what, bool is_dropped)
{
    struct job *job = context;
    struct json_object *row = wp_json_add_row(job->rows);
    wp_json_put_text(row, "release", job->release);
    wp_json_put_text(row, "key", key);
    wp_json_put_text(row, "what", what);
    wp_json_put(row, "dropped", json_object_new_boolean(is_dropped));
}

static int repair_in(struct wp_txn *txn, void *context)
{
    struct job *job = context;
    json_object_put(job->rows); /* of a try before this one */
    job->rows = json_object_new_array();
    int rc = wp_txn_repair(txn, &job->repair, job->err);
    return rc ? rc : job->is_dry || !json_object_array_length(job->rows);
}

static const char *text_of(struct json_object *row, const char *name)
{
    return json_object_get_string(json_object_object_get(row, name));
}

static void print_result(struct job *job, struct json_object *all)
{
    for (size_t i = 0; i < json_object_array_length(job->rows); i++) {
        struct json_object *row = json_object_array_get_idx(job->rows, i), *line = json_object_new_object();
        bool is_dropped = json_object_get_boolean(json_object_object_get(row, "dropped"));
        struct wp_buffer words = {0};
        json_object_array_add(all, json_object_get(row));
        wp_buffer_printf(&words, "%s/%s: %s", job->release, text_of(row, "key"), text_of(row, "what"));
        wp_json_put_text(line,
            job->is_dry      ? is_dropped ? "would drop" : "would mend"
                : is_dropped ? "dropped"
                             : "mended",
            (const char *)words.data);
        if (!(job->tool->flags & WP_TOOL_JSON))
            wp_json_print(&job->tool->out, line);
        json_object_put(line);
        wp_buffer_fini(&words);
    }
}

int wp_tool_repair(struct wp_tool *tool, struct wp_error *err)
{
    struct job job = {.tool = tool, .is_dry = tool->flags & WP_TOOL_DRY_RUN, .err = err};
    struct json_object *all = json_object_new_array();
    char **releases = NULL;
    size_t count = 0;
    job.repair = (struct wp_repair){.done = note, .context = &job, .now_s = (uint64_t)time(NULL), .is_dry = job.is_dry};
    tool->is_changing = true;
    int rc = tool->flags & (WP_TOOL_DROP_DAMAGED | WP_TOOL_DRY_RUN)
        ? wp_tool_open(tool, err)
        : wp_error_set(err, -WP_TOOL_MISUSE,
              "repair gives up what is damaged: say so with --drop-damaged, or look with --dry-run");
    if (!rc && !job.is_dry) /* who only looks sweeps nothing up */
        rc = wp_store_upkeep(tool->store, err);
    if (!rc)
        rc = wp_tool_releases(tool, &releases, &count, err);
    for (size_t i = 0; !rc && i < count; i++) {
        job.release = releases[i];
        rc = wp_tool_release_is_there(tool, releases[i], err);
        if (!rc)
            rc = wp_store_update(tool->store, releases[i], repair_in, &job, err);
        if (rc >= 0)
            print_result(&job, all);
        rc = rc > 0 ? 0 : wp_tool_pass_over(tool, rc, err);
    }
    if (!rc && !json_object_array_length(all) && !(tool->flags & WP_TOOL_JSON))
        wp_buffer_puts(&tool->out, "nothing is damaged\n");
    json_object_put(job.rows);
    wp_strings_free(releases, count);
    if (rc || !(tool->flags & WP_TOOL_JSON)) {
        json_object_put(all);
        return rc;
    }
    return wp_tool_json(tool, all, err);
}
