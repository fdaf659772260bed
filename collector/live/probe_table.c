/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/live/probe_table.h"

#include "collector/live/probe.h"

#include <errno.h>
#include <json-c/json.h>
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

static struct json_object *json_of(const struct wp_probe_fact *fact)
{
    struct json_object *out = json_object_new_object(), *choices = json_object_new_array();
    json_object_object_add(out, "what", json_object_new_string(fact->name));
    json_object_object_add(out, "is_needed", json_object_new_boolean(!fact->without));
    for (unsigned i = 0; i < fact->count; i++) {
        const struct wp_probe_choice *choice = &fact->choices[i];
        struct json_object *item = json_object_new_object();
        json_object_object_add(item, "programs", json_object_new_string(choice->programs));
        json_object_object_add(item, "state", json_object_new_string(states[choice->state]));
        if (*choice->why)
            json_object_object_add(item, "why", json_object_new_string(choice->why));
        json_object_array_add(choices, item);
    }
    json_object_object_add(out, "choices", choices);
    if (!wp_probe_used(fact) && fact->without)
        json_object_object_add(out, "without", json_object_new_string(fact->without));
    return out;
}

int wp_probe_json(const struct wp_probe *p, struct wp_buffer *text)
{
    struct utsname name;
    uname(&name);
    struct json_object *out = json_object_new_object(), *all = json_object_new_array();
    json_object_object_add(out, "kernel", json_object_new_string(name.release));
    json_object_object_add(out, "machine", json_object_new_string(name.machine));
    json_object_object_add(out, "facts", all);
    for (unsigned i = 0; i < wp_probe_count(p); i++)
        json_object_array_add(all, json_of(wp_probe_fact(p, i)));
    wp_buffer_puts(text, json_object_to_json_string_ext(out, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
    wp_buffer_putc(text, '\n');
    json_object_put(out);
    return text->failed ? -ENOMEM : 0;
}
