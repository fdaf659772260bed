/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor/doctor.h"

#include "cli/doctor/doctor_daemons.h"
#include "cli/doctor/doctor_host.h"
#include "cli/doctor/doctor_probe.h"
#include "cli/base/installed.h"
#include "common/version.h"

#include <argp.h>

enum { KEY_JSON = 256 };

static const struct argp_option option_table[] = {
    {"json", KEY_JSON, NULL, 0, "Print the findings as JSON", 0},
    {0},
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    bool *is_json = state->input;
    switch (key) {
    case KEY_JSON:
        *is_json = true;
        break;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument '%s'", argument);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static void look_at_daemons(
    struct wp_findings *findings, const struct wp_installed *collector, const struct wp_installed *aggregator)
{
    if (!collector->is_set_up && !aggregator->is_set_up)
        wp_findings_add(findings, WP_FINDING_GOOD, "daemons", NULL,
            "none is set up here: there is no /etc/wakepath/collector.conf or "
            "aggregator.conf (wakepath record needs none)");
    if (collector->is_set_up)
        wp_doctor_collector(findings, collector);
    if (aggregator->is_set_up)
        wp_doctor_aggregator(findings, aggregator);
}

int wp_doctor_run(int argc, char **argv, FILE *out, struct wp_error *err)
{
    static const struct argp argp = {option_table, parse_option, NULL,
        "Checks whether this host can record and its daemons can work, and says how to fix what is wrong. Changes "
        "nothing."
        "\vSome checks need root. Exit status: 0 nothing is wrong, 1 something is, 64 usage.",
        NULL, NULL, NULL};
    struct wp_findings findings = {.count = 0};
    struct wp_installed collector, aggregator;
    bool is_json = false;
    argp_err_exit_status = WP_EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &is_json);
    int rc = wp_installed_read(&collector, "collector", err);
    int other = wp_installed_read(&aggregator, "aggregator", rc ? NULL : err);
    if (rc || other) {
        wp_findings_add(&findings, WP_FINDING_WRONG, "programs",
            "install all of Wakepath: packages wakepath-collector, "
            "wakepath-aggregator, wakepath-reporter",
            "%s", err->text);
        *err = (struct wp_error){0};
    } else if (collector.is_missing || aggregator.is_missing) {
        wp_findings_add(&findings, WP_FINDING_NOTE, "programs",
            "install wakepath-collector, wakepath-aggregator and wakepath-reporter, to record by hand here",
            "not all parts are installed: wakepath record cannot work");
    }
    wp_doctor_host(&findings, collector.is_set_up);
    if (!collector.is_missing)
        wp_doctor_probe(&findings);
    look_at_daemons(&findings, &collector, &aggregator);
    wp_installed_fini(&collector);
    wp_installed_fini(&aggregator);
    rc = 0;
    if (is_json)
        rc = wp_findings_print_json(&findings, out, err);
    else
        wp_findings_print(&findings, out);
    return rc ? rc : wp_findings_count(&findings, WP_FINDING_WRONG) ? 1 : 0;
}
