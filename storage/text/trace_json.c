/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/text/trace_json.h"

#include "storage/report/exemplars.h"
#include "storage/report/trace_decode.h"
#include "storage/text/json_parts.h"

static void put_trace_threads(struct wp_json *json, const struct wp_trace *trace)
{
    wp_json_array(json, "threads");
    for (uint32_t i = 0; i < trace->thread_count; i++) {
        wp_json_object(json, NULL);
        wp_json_number(json, "thread", i);
        wp_json_text(json, "host", wp_intern_text(trace->strings, trace->threads[i].host));
        wp_json_text(json, "comm", wp_intern_text(trace->strings, trace->threads[i].comm));
        wp_json_number(json, "pid", trace->threads[i].pid);
        wp_json_number(json, "tid", trace->threads[i].tid);
        wp_json_number(json, "is_base", trace->threads[i].is_base);
        wp_json_end(json);
    }
    wp_json_end(json);
    wp_json_array(json, "paths");
    for (uint32_t i = 0; i < trace->path_count; i++) {
        wp_json_object(json, NULL);
        wp_json_number(json, "path", i);
        wp_json_number(json, "thread", trace->paths[i].thread);
        wp_json_number(json, "is_base", trace->paths[i].is_base);
        wp_json_end(json);
    }
    wp_json_end(json);
    wp_json_array(json, "nodes");
    for (uint32_t i = 1; i < trace->node_count; i++) {
        wp_json_object(json, NULL);
        wp_json_number(json, "node", i);
        wp_json_number(json, "parent", trace->nodes[i].parent);
        wp_json_text(json, "frame", wp_intern_text(trace->strings, trace->frames[trace->nodes[i].frame].name));
        wp_json_end(json);
    }
    wp_json_end(json);
}

static void put_trace_rows(struct wp_json *json, const struct wp_trace *trace)
{
    static const char *const kinds[] = {"?", "waking", "fork", "exec", "message", "io", "horizontal"};
    wp_json_array(json, "pieces");
    for (uint32_t i = 0; i < trace->piece_count; i++) {
        wp_json_object(json, NULL);
        wp_json_number(json, "start_ns", trace->pieces[i].start_ns);
        wp_json_number(json, "length_ns", trace->pieces[i].length_ns);
        wp_json_number(json, "path", trace->pieces[i].path);
        wp_json_number(json, "node", trace->pieces[i].node);
        wp_json_text(json, "category", wp_category_key(trace->pieces[i].category));
        wp_json_end(json);
    }
    wp_json_end(json);
    wp_json_array(json, "runs");
    for (uint32_t i = 0; i < trace->run_count; i++) {
        wp_json_object(json, NULL);
        wp_json_number(json, "start_ns", trace->runs[i].start_ns);
        wp_json_number(json, "length_ns", trace->runs[i].length_ns);
        wp_json_number(json, "thread", trace->runs[i].thread);
        wp_json_text(json, "comm", wp_intern_text(trace->strings, trace->runs[i].comm));
        wp_json_end(json);
    }
    wp_json_end(json);
    wp_json_array(json, "sleeps");
    for (uint32_t i = 0; i < trace->sleep_count; i++) {
        wp_json_object(json, NULL);
        wp_json_number(json, "start_ns", trace->sleeps[i].start_ns);
        wp_json_number(json, "length_ns", trace->sleeps[i].length_ns);
        wp_json_number(json, "thread", trace->sleeps[i].thread);
        wp_json_text(json, "category", wp_category_key(trace->sleeps[i].category));
        wp_json_text(json, "label", wp_intern_text(trace->strings, trace->sleeps[i].label));
        wp_json_end(json);
    }
    wp_json_end(json);
    wp_json_array(json, "links");
    for (uint32_t i = 0; i < trace->link_count; i++) {
        wp_json_object(json, NULL);
        wp_json_text(json, "kind", kinds[trace->links[i].kind]);
        wp_json_number(json, "from_thread", trace->links[i].from_thread);
        wp_json_number(json, "from_ns", trace->links[i].from_ns);
        wp_json_number(json, "to_thread", trace->links[i].to_thread);
        wp_json_number(json, "to_ns", trace->links[i].to_ns);
        wp_json_end(json);
    }
    wp_json_end(json);
}

int wp_trace_json(struct wp_json *json, const struct wp_buffer *raw, struct wp_error *err)
{
    struct wp_trace *trace = NULL;
    int rc = wp_trace_decode(&trace, raw->data, raw->size, err);
    if (rc)
        return rc;
    wp_json_number(json, "start_ns", trace->start_ns);
    wp_json_number(json, "length_ns", trace->length_ns);
    wp_json_number(json, "omitted", trace->omitted);
    put_trace_threads(json, trace);
    put_trace_rows(json, trace);
    wp_trace_destroy(trace);
    return 0;
}

int wp_exemplars_json(struct wp_json *json, const struct wp_buffer *raw, struct wp_error *err)
{
    struct wp_exemplars set;
    int rc = wp_exemplars_decode(&set, raw->data, raw->size, err);
    wp_json_array(json, "windows");
    for (uint32_t i = 0; !rc && i < set.count; i++) {
        wp_json_object(json, NULL);
        unsigned roles = wp_exemplars_roles(&set, i);
        wp_json_text(json, "service", set.rows[i].service);
        wp_json_text(json, "host", set.rows[i].host);
        wp_json_number(json, "tid", set.rows[i].tid);
        wp_json_number(json, "is_slowest", (roles & WP_EXEMPLAR_SLOW) != 0);
        wp_json_number(json, "is_drawn", (roles & WP_EXEMPLAR_SAMPLED) != 0);
        rc = wp_trace_json(json, &set.rows[i].trace, err); /* start_ns and length_ns too */
        wp_json_end(json);
    }
    wp_json_end(json);
    wp_exemplars_fini(&set);
    return rc;
}
