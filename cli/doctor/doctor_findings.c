/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor/doctor_findings.h"

#include "common/json.h"
#include "common/metrics.h"

#include <stdarg.h>

static const char *const words[] = {"good", "note", "wrong"};

void wp_findings_add(struct wp_findings *findings, enum wp_finding_kind kind, const char *subject, const char *mend,
    const char *format, ...)
{
    char text[sizeof(findings->items[0].text)];
    va_list args;
    if (findings->count == WP_DOCTOR_FINDINGS)
        return;
    struct wp_doctor_finding *finding = &findings->items[findings->count++];
    *finding = (struct wp_doctor_finding){.kind = kind, .subject = subject, .mend = mend};
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
        const struct wp_doctor_finding *finding = &findings->items[i];
        fprintf(out, "%-6s %-12s %s\n", words[finding->kind], finding->subject, finding->text);
        if (finding->mend)
            fprintf(out, "%-19s -> %s\n", "", finding->mend);
    }
    fprintf(out, "%u good, %u to note, %u wrong\n", wp_findings_count(findings, WP_FINDING_GOOD),
        wp_findings_count(findings, WP_FINDING_NOTE), wp_findings_count(findings, WP_FINDING_WRONG));
}

int wp_findings_print_json(const struct wp_findings *findings, FILE *out, struct wp_error *err)
{
    struct wp_buffer text = {0};
    struct wp_json json = {.out = &text, .style = WP_JSON_PRETTY};
    wp_json_object(&json, NULL);
    wp_json_array(&json, "findings");
    for (unsigned i = 0; i < findings->count; i++) {
        const struct wp_doctor_finding *finding = &findings->items[i];
        wp_json_object(&json, NULL);
        wp_json_text(&json, "subject", finding->subject);
        wp_json_text(&json, "state", words[finding->kind]);
        wp_json_text(&json, "text", finding->text);
        wp_json_text_or_null(&json, "mend", finding->mend);
        wp_json_end(&json);
    }
    wp_json_end(&json);
    wp_json_bool(&json, "is_well", !wp_findings_count(findings, WP_FINDING_WRONG));
    wp_json_end(&json);
    int rc = wp_json_finish(&json, "the findings", err);
    if (!rc)
        fwrite(text.data, 1, text.size, out);
    wp_buffer_fini(&text);
    return rc;
}
