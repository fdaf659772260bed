/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_RECORDING_PROCESS_UNITS_H
#define WP_REPORTER_RECORDING_PROCESS_UNITS_H
/*
 * In which container, unit or control group the processes of a name are, as the genealogy tells: a report knows
 * processes on its paths by host and name alone.
 */
#include "reporter/facts/facts.h"
#include "reporter/recording/genealogy.h"

#define WP_PROCESS_UNITS 16384u /* rows that are held; names beyond them are not known */
#define WP_UNIT_SEVERAL "several control groups"

/* Processes of that name on that host; texts are in the facts' pool. */
struct wp_process_unit {
    const char *host, *comm;
    const char *unit; /* "web/nginx", "container 0123456789ab", "nginx.service", "/user"; WP_UNIT_SEVERAL */
};

/* By name, then host. */
struct wp_process_units {
    struct wp_process_unit *rows;
    size_t count;
};

/* Sets facts->units. -ENOMEM. */
int wp_process_units_build(struct wp_facts *facts, const struct wp_genealogy *genealogy, struct wp_error *err);
/* Of the processes of that name on that host, NULL on any; NULL: not known. */
const char *wp_process_unit(const struct wp_facts *facts, const char *host, const char *comm);

#endif
