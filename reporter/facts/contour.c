/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/facts/contour.h"

#include "common/buffer.h"
#include "storage/kind/report_store.h"
#include "storage/report/report_merge.h"
#include "storage/report/report_read.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[WP_CONTOUR_KINDS] = {"process=", "object=", "module="};

int wp_contour_add(struct wp_contour *contour, const char *text)
{
    for (int kind = 0; kind < WP_CONTOUR_KINDS; kind++) {
        size_t size = strlen(kinds[kind]);
        if (strncmp(text, kinds[kind], size) || !text[size])
            continue;
        if (contour->count == WP_CONTOUR_PARTS)
            return -E2BIG;
        contour->parts[contour->count].kind = (enum wp_contour_kind)kind;
        contour->parts[contour->count].pattern = text + size;
        contour->parts[contour->count++].text = text;
        return 0;
    }
    return -EINVAL;
}

static bool has_name(const struct wp_contour *contour, enum wp_contour_kind kind, const char *name)
{
    for (size_t i = 0; i < contour->count; i++)
        if (contour->parts[i].kind == kind &&
            (!strcmp(contour->parts[i].pattern, name) || !fnmatch(contour->parts[i].pattern, name, 0)))
            return true;
    return false;
}

/* "cc1" of "[cc1]@host" and "[cc1]". */
static bool has_process(const struct wp_contour *contour, const char *frame, struct wp_buffer *text)
{
    const char *end = NULL;
    for (const char *at = strchr(frame, ']'); at; at = strchr(at + 1, ']'))
        if (!at[1] || at[1] == '@')
            end = at;
    wp_buffer_clear(text);
    wp_buffer_append(text, frame + (*frame == '['), end && *frame == '[' ? (size_t)(end - frame - 1) : strlen(frame));
    wp_buffer_putc(text, '\0');
    return !text->failed && has_name(contour, WP_CONTOUR_PROCESS, (const char *)text->data);
}

static bool has_file(const struct wp_contour *contour, const struct wp_frame_info *frame, const char *object)
{
    const char *slash = strrchr(object, '/');
    if (frame->style == WP_STYLE_KERNEL)
        return has_name(contour, WP_CONTOUR_MODULE, "[kernel]");
    return frame->style == WP_STYLE_USER && *object &&
        (has_name(contour, WP_CONTOUR_OBJECT, object) ||
            has_name(contour, WP_CONTOUR_MODULE, slash ? slash + 1 : object));
}

/* By frame: bit 0: its process is left out, bit 1: it is. */
static void judge_frames(
    uint8_t *judged, const struct wp_report *report, const struct wp_contour *contour, struct wp_buffer *text)
{
    uint32_t count;
    const struct wp_frame_info *frames = wp_report_frames(report, &count);
    for (uint32_t i = 1; i < count; i++) {
        const char *name = wp_report_text(report, frames[i].name), *object = wp_report_text(report, frames[i].object);
        bool is_process = frames[i].style == WP_STYLE_PROCESS;
        judged[i] = is_process && has_process(contour, name, text) ? 1 : 0;
        judged[i] = !is_process && has_file(contour, &frames[i], object) ? 2 : judged[i];
    }
}

/* Which nodes are left out; the caller's to free, NULL: out of memory. */
static bool *find_nodes(const struct wp_report *report, const struct wp_contour *contour)
{
    uint32_t frame_count, count;
    const struct wp_frame_info *frames = wp_report_frames(report, &frame_count);
    const struct wp_node *nodes = wp_report_nodes(report, &count);
    uint8_t *judged = calloc(frame_count + (size_t)1, 1);
    bool *is_left_out = calloc(count + (size_t)1, sizeof(*is_left_out)),
         *is_in = calloc(count + (size_t)1, sizeof(*is_in));
    struct wp_buffer text = {0};
    if (judged)
        judge_frames(judged, report, contour, &text);
    for (uint32_t i = 1; i < count && judged && is_left_out && is_in; i++) {
        uint32_t frame = nodes[i].frame, style = frames[frame].style;
        bool is_code = style == WP_STYLE_USER || style == WP_STYLE_KERNEL;
        is_in[i] = style == WP_STYLE_PROCESS ? judged[frame] & 1 : is_in[nodes[i].parent];
        is_left_out[i] = style == WP_STYLE_PROCESS ? is_in[i] : is_code && (is_in[i] || judged[frame] & 2);
    }
    bool has_failed = !judged || !is_left_out || !is_in || text.failed;
    free(judged);
    free(is_in);
    wp_buffer_fini(&text);
    if (!has_failed)
        return is_left_out;
    free(is_left_out);
    return NULL;
}

static int add_without(
    struct wp_report *into, const struct wp_report *from, const struct wp_contour *contour, struct wp_error *err)
{
    bool *is_left_out = into && from ? find_nodes(from, contour) : NULL;
    int rc = is_left_out ? wp_report_merge_without(into, from, is_left_out, err) : -ENOMEM;
    free(is_left_out);
    return rc;
}

int wp_contour_apply(struct wp_report **report, const struct wp_contour *contour, struct wp_error *err)
{
    if (!contour || !contour->count)
        return 0;
    struct wp_report *made = wp_report_create();
    const struct wp_report *work = wp_report_detached_work(*report);
    int rc = add_without(made, *report, contour, err);
    if (!rc && work)
        rc = add_without(wp_report_detached_add(made), work, contour, err);
    if (!rc)
        rc = wp_report_make_canonical(&made, err);
    if (rc) {
        wp_report_destroy(made);
        return wp_error_set(err, rc, "out of memory for leaving out parts of stacks");
    }
    wp_report_destroy(*report);
    *report = made;
    return 0;
}

void wp_contour_text(struct wp_buffer *out, const struct wp_contour *contour)
{
    for (size_t i = 0; contour && i < contour->count; i++)
        wp_buffer_printf(out, "%s%s", i ? ", " : "", contour->parts[i].text);
}
