/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/answer.h"
#include "cli/doctor/doctor_probe.h"
#include "cli/base/privilege.h"
#include "cli/base/program.h"

#include <json-c/json.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>

static const char *text_of(struct json_object *object, const char *key)
{
    struct json_object *value;
    const char *text = json_object_object_get_ex(object, key, &value) ? json_object_get_string(value) : NULL;
    return text ? text : "";
}

/* Whether one of its choices is used; *why: what keeps the last of the others. */
static bool is_told(struct json_object *fact, const char **why)
{
    struct json_object *choices;
    bool is_used = false;
    if (!json_object_object_get_ex(fact, "choices", &choices) || !json_object_is_type(choices, json_type_array))
        return false;
    for (size_t i = 0; i < json_object_array_length(choices); i++) {
        struct json_object *choice = json_object_array_get_idx(choices, i);
        is_used |= !strcmp(text_of(choice, "state"), "used");
        *why = text_of(choice, "why");
    }
    return is_used;
}

/* Without samples every report is short of what a profiler is for. Judged by the collector itself, as it is once it has
 * dropped capabilities. */
static void look_at_samples(struct wp_findings *f, bool are_told, const char *why)
{
    if (are_told)
        wp_findings_add(f, WP_FINDING_GOOD, "perf", NULL, "the collector can take CPU samples");
    else
        wp_findings_add(f, WP_FINDING_WRONG, "perf",
            "give the collector CAP_SYS_ADMIN, which it gives up once it samples (its unit does), or sysctl "
            "kernel.perf_event_paranoid=2 in "
            "/etc/sysctl.d; docs/kernels.md",
            "no CPU samples: functions that run stay unknown: %s", why);
}

/* How many facts there are; what the kernel cannot tell is a finding each. */
static size_t look_at_facts(struct wp_findings *f, struct json_object *facts, size_t *missing)
{
    for (size_t i = 0; i < json_object_array_length(facts); i++) {
        struct json_object *fact = json_object_array_get_idx(facts, i), *needed;
        const char *why = "";
        bool are_samples = !strcmp(text_of(fact, "what"), "samples"), is_known = is_told(fact, &why);
        *missing += !is_known;
        if (are_samples)
            look_at_samples(f, is_known, why);
        if (is_known || are_samples)
            continue;
        bool is_needed = json_object_object_get_ex(fact, "is_needed", &needed) && json_object_get_boolean(needed);
        wp_findings_add(f, is_needed ? WP_FINDING_WRONG : WP_FINDING_NOTE, "probe",
            is_needed ? "a newer kernel, or one of a distribution"
                      : "reports go without; docs/kernels.md says what each is for",
            "this kernel does not report %s%s%s", text_of(fact, "what"), *why ? ": " : "", why);
    }
    return json_object_array_length(facts);
}

void wp_doctor_probe(struct wp_findings *f)
{
    char path[PATH_MAX], program[] = "wakepath-collector", plain[] = "--no-config", probe[] = "--probe=json";
    struct wp_buffer text = {0};
    struct json_object *facts;
    if (wp_privilege_check(NULL) || wp_program_sibling(program, path, sizeof(path), NULL))
        return;
    int rc = wp_answer_read(path, (char *[]){program, plain, probe, NULL}, &text);
    struct json_object *root = rc < 0 || text.failed ? NULL : json_tokener_parse((const char *)text.data);
    if (root && json_object_object_get_ex(root, "facts", &facts) && json_object_is_type(facts, json_type_array)) {
        size_t missing = 0, count = look_at_facts(f, facts, &missing);
        if (!missing)
            wp_findings_add(f, WP_FINDING_GOOD, "probe", NULL, "this kernel reports all %zu kinds of facts", count);
    } else {
        wp_findings_add(f, WP_FINDING_WRONG, "probe", "see wakepath-collector --probe", "cannot probe the kernel");
    }
    json_object_put(root);
    wp_buffer_fini(&text);
}
