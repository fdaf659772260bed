/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/text/trace_json.h"

#include "storage/report/exemplars.h"
#include "storage/report/trace_decode.h"
#include "storage/text/json_parts.h"

static void put_trace_threads(struct json_object *object, const struct wp_trace *trace)
{
    struct json_object *rows = wp_json_put_rows(object, "threads");
    for (uint32_t i = 0; i < trace->thread_count; i++) {
        struct json_object *row = wp_json_add_row(rows);
        wp_json_put_number(row, "thread", i);
        wp_json_put_text(row, "host", wp_intern_text(trace->strings, trace->threads[i].host));
        wp_json_put_text(row, "comm", wp_intern_text(trace->strings, trace->threads[i].comm));
        wp_json_put_number(row, "pid", trace->threads[i].pid);
        wp_json_put_number(row, "tid", trace->threads[i].tid);
        wp_json_put_number(row, "is_base", trace->threads[i].is_base);
    }
    rows = wp_json_put_rows(object, "paths");
    for (uint32_t i = 0; i < trace->path_count; i++) {
        struct json_object *row = wp_json_add_row(rows);
        wp_json_put_number(row, "path", i);
        wp_json_put_number(row, "thread", trace->paths[i].thread);
        wp_json_put_number(row, "is_base", trace->paths[i].is_base);
    }
    rows = wp_json_put_rows(object, "nodes");
    for (uint32_t i = 1; i < trace->node_count; i++) {
        struct json_object *row = wp_json_add_row(rows);
        wp_json_put_number(row, "node", i);
        wp_json_put_number(row, "parent", trace->nodes[i].parent);
        wp_json_put_text(row, "frame", wp_intern_text(trace->strings, trace->frames[trace->nodes[i].frame].name));
    }
}

static void put_trace_rows(struct json_object *object, const struct wp_trace *trace)
{
    static const char *const kinds[] = {"?", "waking", "fork", "exec", "message", "io", "horizontal"};
    struct json_object *rows = wp_json_put_rows(object, "pieces");
    for (uint32_t i = 0; i < trace->piece_count; i++) {
        struct json_object *row = wp_json_add_row(rows);
        wp_json_put_number(row, "start_ns", trace->pieces[i].start_ns);
        wp_json_put_number(row, "length_ns", trace->pieces[i].length_ns);
        wp_json_put_number(row, "path", trace->pieces[i].path);
        wp_json_put_number(row, "node", trace->pieces[i].node);
        wp_json_put_text(row, "category", wp_category_key(trace->pieces[i].category));
    }
    rows = wp_json_put_rows(object, "runs");
    for (uint32_t i = 0; i < trace->run_count; i++) {
        struct json_object *row = wp_json_add_row(rows);
        wp_json_put_number(row, "start_ns", trace->runs[i].start_ns);
        wp_json_put_number(row, "length_ns", trace->runs[i].length_ns);
        wp_json_put_number(row, "thread", trace->runs[i].thread);
        wp_json_put_text(row, "comm", wp_intern_text(trace->strings, trace->runs[i].comm));
    }
    rows = wp_json_put_rows(object, "sleeps");
    for (uint32_t i = 0; i < trace->sleep_count; i++) {
        struct json_object *row = wp_json_add_row(rows);
        wp_json_put_number(row, "start_ns", trace->sleeps[i].start_ns);
        wp_json_put_number(row, "length_ns", trace->sleeps[i].length_ns);
        wp_json_put_number(row, "thread", trace->sleeps[i].thread);
        wp_json_put_text(row, "category", wp_category_key(trace->sleeps[i].category));
        wp_json_put_text(row, "label", wp_intern_text(trace->strings, trace->sleeps[i].label));
    }
    rows = wp_json_put_rows(object, "links");
    for (uint32_t i = 0; i < trace->link_count; i++) {
        struct json_object *row = wp_json_add_row(rows);
        wp_json_put_text(row, "kind", kinds[trace->links[i].kind]);
        wp_json_put_number(row, "from_thread", trace->links[i].from_thread);
        wp_json_put_number(row, "from_ns", trace->links[i].from_ns);
        wp_json_put_number(row, "to_thread", trace->links[i].to_thread);
        wp_json_put_number(row, "to_ns", trace->links[i].to_ns);
    }
}

int wp_trace_json(struct json_object *object, const struct wp_buffer *raw, struct wp_error *err)
{
    struct wp_trace *trace = NULL;
    int rc = wp_trace_decode(&trace, raw->data, raw->size, err);
    if (rc)
        return rc;
    wp_json_put_number(object, "start_ns", trace->start_ns);
    wp_json_put_number(object, "length_ns", trace->length_ns);
    wp_json_put_number(object, "omitted", trace->omitted);
    put_trace_threads(object, trace);
    put_trace_rows(object, trace);
    wp_trace_destroy(trace);
    return 0;
}

int wp_exemplars_json(struct json_object *object, const struct wp_buffer *raw, struct wp_error *err)
{
    struct wp_exemplars set;
    int rc = wp_exemplars_decode(&set, raw->data, raw->size, err);
    struct json_object *rows = wp_json_put_rows(object, "windows");
    for (uint32_t i = 0; !rc && i < set.count; i++) {
        struct json_object *row = wp_json_add_row(rows);
        unsigned roles = wp_exemplars_roles(&set, i);
        wp_json_put_text(row, "service", set.rows[i].service);
        wp_json_put_text(row, "host", set.rows[i].host);
        wp_json_put_number(row, "tid", set.rows[i].tid);
        wp_json_put_number(row, "is_slowest", (roles & WP_EXEMPLAR_SLOW) != 0);
        wp_json_put_number(row, "is_drawn", (roles & WP_EXEMPLAR_SAMPLED) != 0);
        rc = wp_trace_json(row, &set.rows[i].trace, err); /* start_ns and length_ns too */
    }
    wp_exemplars_fini(&set);
    return rc;
}
