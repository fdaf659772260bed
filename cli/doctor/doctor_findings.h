/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_DOCTOR_DOCTOR_FINDINGS_H
#define WP_CLI_DOCTOR_DOCTOR_FINDINGS_H
/* What was looked at and how it is, with what to do about it. */
#include "common/error.h"

#include <stdio.h>

#define WP_DOCTOR_FINDINGS 64u

enum wp_finding_kind {
    WP_FINDING_GOOD,
    WP_FINDING_NOTE,  /* works, and could be better */
    WP_FINDING_WRONG, /* something will not work */
};

/* All findings of one run; init with {0}. */
struct wp_findings {
    struct wp_doctor_finding {
        enum wp_finding_kind kind;
        const char *subject; /* borrowed: a literal */
        char text[600];
        const char *mend; /* borrowed: a literal; NULL: the text says it, or there is nothing to do */
    } items[WP_DOCTOR_FINDINGS];
    unsigned count; /* more than there is room for are left out */
};

/* Adds one. */
void wp_findings_add(struct wp_findings *findings, enum wp_finding_kind kind, const char *subject, const char *mend,
    const char *format, ...) __attribute__((format(printf, 5, 6)));
/* How many findings of this kind are kept. */
unsigned wp_findings_count(const struct wp_findings *findings, enum wp_finding_kind kind);
/* Prints a line or two a finding for a person, and a line of totals. */
void wp_findings_print(const struct wp_findings *findings, FILE *out);
/* -ENOMEM. */
int wp_findings_print_json(const struct wp_findings *findings, FILE *out, struct wp_error *err);

#endif
