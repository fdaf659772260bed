/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor_findings.h"

#include "common/metrics.h"

#include <json-c/json.h>
#include <stdarg.h>

static const char *const words[] = {"good", "note", "wrong"};

void wp_findings_add(struct wp_findings *findings, enum wp_finding_kind kind, const char *subject, const char *mend,
    const char *format, ...)
{
    char text[sizeof(findings->items[0].text)];
    va_list args;
    if (findings->count == WP_FINDINGS)
        return;
    struct wp_finding *finding = &findings->items[findings->count++];
    *finding = (struct wp_finding){.kind = kind, .subject = subject, .mend = mend};
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    wp_metric_clean(text, finding->text, sizeof(finding->text)); /* names of files and hosts are in it */
}

unsigned wp_findings_count(const struct wp_findings *findings, enum wp_finding_kind kind)
{
    unsigned count = 0;
    for (unsigned i = 0; i < findings->count; i++)
        count += findings->items[i].kind == kind;
    return count;
}

void wp_findings_print(const struct wp_findings *findings, FILE *out)
{
    for (unsigned i = 0; i < findings->count; i++) {
        const struct wp_finding *finding = &findings->items[i];
        fprintf(out, "%-6s %-12s %s\n", words[finding->kind], finding->subject, finding->text);
        if (finding->mend)
            fprintf(out, "%-19s -> %s\n", "", finding->mend);
    }
    fprintf(out, "%u good, %u to note, %u wrong\n", wp_findings_count(findings, WP_FINDING_GOOD),
        wp_findings_count(findings, WP_FINDING_NOTE), wp_findings_count(findings, WP_FINDING_WRONG));
}

void wp_findings_print_json(const struct wp_findings *findings, FILE *out)
{
    struct json_object *root = json_object_new_object(), *list = json_object_new_array();
    for (unsigned i = 0; i < findings->count; i++) {
        const struct wp_finding *finding = &findings->items[i];
        struct json_object *one = json_object_new_object();
        json_object_object_add(one, "subject", json_object_new_string(finding->subject));
        json_object_object_add(one, "state", json_object_new_string(words[finding->kind]));
        json_object_object_add(one, "text", json_object_new_string(finding->text));
        json_object_object_add(one, "mend", finding->mend ? json_object_new_string(finding->mend) : NULL);
        json_object_array_add(list, one);
    }
    json_object_object_add(root, "findings", list);
    json_object_object_add(root, "is_well", json_object_new_boolean(!wp_findings_count(findings, WP_FINDING_WRONG)));
    fprintf(
        out, "%s\n", json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
    json_object_put(root);
}
