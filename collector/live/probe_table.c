/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/live/probe_table.h"

#include "collector/live/probe.h"
#include "common/json.h"

#include <errno.h>
#include <sys/utsname.h>

static const char *const states[] = {[WP_PROBE_USED] = "used", [WP_PROBE_SPARE] = "spare", [WP_PROBE_LACKING] = "no"};

static void add_line(struct wp_buffer *text, const char *name, const char *programs, const char *state, const char *why)
{
    wp_buffer_printf(text, *why ? "%-27s %-5s %-44s %s\n" : "%-27s %-5s %s\n", name, state, programs, why);
}

int wp_probe_text(const struct wp_probe *p, struct wp_buffer *text)
{
    struct utsname name;
    uname(&name);
    wp_buffer_printf(text, "Linux %s on %s\n", name.release, name.machine);
    for (unsigned i = 0; i < wp_probe_count(p); i++) {
        const struct wp_probe_fact *fact = wp_probe_fact(p, i);
        for (unsigned j = 0; j < fact->count; j++)
            add_line(text, j ? "" : fact->name, fact->choices[j].programs, states[fact->choices[j].state],
                fact->choices[j].why);
        if (!wp_probe_used(fact))
            add_line(text, "", fact->without ? fact->without : "cannot do without", "", "");
    }
    return text->failed ? -ENOMEM : 0;
}

static void put_fact(struct wp_json *json, const struct wp_probe_fact *fact)
{
    wp_json_object(json, NULL);
    wp_json_text(json, "what", fact->name);
    wp_json_bool(json, "is_needed", !fact->without);
    wp_json_array(json, "choices");
    for (unsigned i = 0; i < fact->count; i++) {
        const struct wp_probe_choice *choice = &fact->choices[i];
        wp_json_object(json, NULL);
        wp_json_text(json, "programs", choice->programs);
        wp_json_text(json, "state", states[choice->state]);
        if (*choice->why)
            wp_json_text(json, "why", choice->why);
        wp_json_end(json);
    }
    wp_json_end(json);
    if (!wp_probe_used(fact) && fact->without)
        wp_json_text(json, "without", fact->without);
    wp_json_end(json);
}

int wp_probe_json(const struct wp_probe *p, struct wp_buffer *text)
{
    struct utsname name;
    uname(&name);
    struct wp_json json = {.out = text, .style = WP_JSON_PRETTY};
    wp_json_object(&json, NULL);
    wp_json_text(&json, "kernel", name.release);
    wp_json_text(&json, "machine", name.machine);
    wp_json_array(&json, "facts");
    for (unsigned i = 0; i < wp_probe_count(p); i++)
        put_fact(&json, wp_probe_fact(p, i));
    wp_json_end(&json);
    wp_json_end(&json);
    return wp_json_finish(&json, "what the kernel offers", NULL);
}
