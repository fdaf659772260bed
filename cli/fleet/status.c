/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/fleet/status.h"

#include "cli/fleet/daemon_probe.h"
#include "cli/base/http_get.h"
#include "cli/base/installed.h"
#include "cli/fleet/status_table.h"
#include "common/json.h"
#include "common/version.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESSES 64u

enum { KEY_JSON = 256 };

static const struct argp_option option_table[] = {
    {"json", KEY_JSON, NULL, 0, "Print all figures as JSON", 0},
    {0},
};

struct status {
    const char *addresses[ADDRESSES]; /* that were asked for */
    unsigned count;
    bool is_json;
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct status *s = state->input;
    switch (key) {
    case KEY_JSON:
        s->is_json = true;
        break;
    case ARGP_KEY_ARG:
        if (s->count == ADDRESSES)
            argp_error(state, "more than %u addresses", ADDRESSES);
        if (!wp_http_address_valid(argument))
            argp_error(state, "'%.100s' is not ADDRESS:PORT", argument);
        s->addresses[s->count++] = argument;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* This host's daemon of that name; false: there is none, and there need be none. */
static bool ask_own(struct wp_daemon_probe *daemon, const char *name, const char *usual)
{
    struct wp_installed installed;
    char address[300];
    wp_installed_read(&installed, name, NULL);
    wp_installed_metrics(&installed, usual, address, sizeof(address));
    bool is_needed = installed.is_set_up;
    wp_installed_fini(&installed);
    if (!*address)
        return false;
    wp_daemon_probe_ask(daemon, address);
    if (daemon->kind != WP_DAEMON_PROBE_NOBODY || is_needed)
        return true;
    wp_daemon_probe_fini(daemon);
    return false;
}

static unsigned ask_all(const struct status *s, struct wp_daemon_probe *all)
{
    unsigned count = 0;
    for (unsigned i = 0; i < s->count; i++)
        wp_daemon_probe_ask(&all[count++], s->addresses[i]);
    if (s->count)
        return count;
    count += ask_own(&all[count], "collector", WP_COLLECTOR_METRICS);
    count += ask_own(&all[count], "aggregator", WP_AGGREGATOR_METRICS);
    return count;
}

/* --- JSON --- */

static void put_labelled(struct wp_json *json, const struct wp_metric_sample *sample)
{
    wp_json_object(json, NULL);
    for (unsigned i = 0; i < sample->label_count; i++)
        wp_json_text(json, sample->keys[i], sample->values[i]);
    wp_json_exact(json, "value", sample->value);
    wp_json_end(json);
}

/* One line without labels is a number, else a list of objects; lines of one name follow each other. */
static void put_samples(struct wp_json *json, const struct wp_samples *samples)
{
    wp_json_object(json, "metrics");
    for (size_t i = 0, next; i < samples->count; i = next) {
        const struct wp_metric_sample *first = &samples->items[i];
        for (next = i + 1; next < samples->count && !strcmp(samples->items[next].name, first->name);)
            next++;
        if (!first->label_count) {
            wp_json_exact(json, first->name, first->value);
            continue;
        }
        wp_json_array(json, first->name);
        for (size_t j = i; j < next; j++)
            put_labelled(json, &samples->items[j]);
        wp_json_end(json);
    }
    wp_json_end(json);
}

static void put_daemon(struct wp_json *json, const struct wp_daemon_probe *daemon)
{
    bool is_ours = daemon->kind == WP_DAEMON_PROBE_COLLECTOR || daemon->kind == WP_DAEMON_PROBE_AGGREGATOR;
    wp_json_object(json, NULL);
    wp_json_text(json, "address", daemon->address);
    wp_json_text_or_null(json, "program", is_ours ? wp_daemon_probe_name(daemon) : NULL);
    wp_json_bool(json, "is_well", daemon->is_well);
    wp_json_text(json, "trouble", daemon->trouble);
    put_samples(json, is_ours ? &daemon->samples : &(struct wp_samples){0});
    wp_json_end(json);
}

static int print_json(const struct wp_daemon_probe *all, unsigned count, FILE *out, struct wp_error *err)
{
    struct wp_buffer text = {0};
    struct wp_json json = {.out = &text, .style = WP_JSON_PRETTY};
    wp_json_object(&json, NULL);
    wp_json_number(&json, "schema", 1);
    wp_json_array(&json, "daemons");
    for (unsigned i = 0; i < count; i++)
        put_daemon(&json, &all[i]);
    wp_json_end(&json);
    wp_json_end(&json);
    int rc = wp_json_finish(&json, "the daemons' state", err);
    if (!rc)
        fwrite(text.data, 1, text.size, out);
    wp_buffer_fini(&text);
    return rc;
}

/* Which one is not well, and why. */
static int refuse_sick(const struct wp_daemon_probe *all, unsigned count, unsigned well, struct wp_error *err)
{
    unsigned first = 0;
    while (all[first].is_well)
        first++;
    if (count == 1)
        return wp_error_set(err, -EIO, "the daemon at %s is not well: %s", all[first].address, all[first].trouble);
    return wp_error_set(err, -EIO, "%u of %u daemons are not well, the first at %s: %s", count - well, count,
        all[first].address, all[first].trouble);
}

int wp_status_run(int argc, char **argv, FILE *out, struct wp_error *err)
{
    static const struct argp argp = {option_table, parse_option, "[ADDRESS:PORT...]",
        "Shows the state of this host's daemons, or of those at the addresses: what they do, what they cost, what is "
        "wrong."
        "\vDaemons answer at the address of their --metrics. Exit status: 0 all answer and are well, 1 otherwise, 64 "
        "usage.",
        NULL, NULL, NULL};
    struct status s = {.count = 0};
    argp_err_exit_status = WP_EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &s);
    struct wp_daemon_probe *all = calloc(ADDRESSES, sizeof(*all));
    if (!all)
        return wp_error_set(err, -ENOMEM, "out of memory");
    unsigned count = ask_all(&s, all), well = 0;
    int rc = s.is_json ? print_json(all, count, out, err) : 0;
    for (unsigned i = 0; i < count; i++) {
        if (!s.is_json)
            wp_status_table(&all[i], out);
        well += all[i].is_well;
    }
    if (!rc && !count)
        rc = wp_error_set(err, -ENOENT,
            "no daemon of Wakepath answers here (%s, %s): is one started, and does its --metrics say so?",
            WP_COLLECTOR_METRICS, WP_AGGREGATOR_METRICS);
    else if (!rc && well < count)
        rc = refuse_sick(all, count, well, err);
    for (unsigned i = 0; i < count; i++)
        wp_daemon_probe_fini(&all[i]);
    free(all);
    return rc;
}
