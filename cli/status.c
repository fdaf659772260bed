/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/status.h"

#include "cli/installed.h"
#include "cli/status_table.h"
#include "cli/watched.h"
#include "common/version.h"

#include <argp.h>
#include <errno.h>
#include <json-c/json.h>
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
        s->addresses[s->count++] = argument;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* This host's daemon of that name; false: there is none, and there need be none. */
static bool ask_own(struct wp_watched *watched, const char *name, const char *usual)
{
    struct wp_installed installed;
    char address[300];
    wp_installed_read(&installed, name, NULL);
    wp_installed_metrics(&installed, usual, address, sizeof(address));
    bool is_needed = installed.is_set_up;
    wp_installed_fini(&installed);
    if (!*address)
        return false;
    wp_watched_ask(watched, address);
    if (watched->kind != WP_WATCHED_NOBODY || is_needed)
        return true;
    wp_watched_fini(watched);
    return false;
}

static unsigned ask_all(const struct status *s, struct wp_watched *all)
{
    unsigned count = 0;
    for (unsigned i = 0; i < s->count; i++)
        wp_watched_ask(&all[count++], s->addresses[i]);
    if (s->count)
        return count;
    count += ask_own(&all[count], "collector", WP_COLLECTOR_METRICS);
    count += ask_own(&all[count], "aggregator", WP_AGGREGATOR_METRICS);
    return count;
}

/* --- JSON --- */

/* One line without labels is a number, else a list of objects. */
static void put_sample(struct json_object *metrics, const struct wp_sample *sample)
{
    if (!sample->label_count) {
        json_object_object_add(metrics, sample->name, json_object_new_double(sample->value));
        return;
    }
    struct json_object *list, *one = json_object_new_object();
    if (!json_object_object_get_ex(metrics, sample->name, &list) || !json_object_is_type(list, json_type_array)) {
        list = json_object_new_array();
        json_object_object_add(metrics, sample->name, list);
    }
    for (unsigned i = 0; i < sample->label_count; i++)
        json_object_object_add(one, sample->keys[i], json_object_new_string(sample->values[i]));
    json_object_object_add(one, "value", json_object_new_double(sample->value));
    json_object_array_add(list, one);
}

static struct json_object *json_of(const struct wp_watched *watched)
{
    struct json_object *object = json_object_new_object(), *metrics = json_object_new_object();
    bool is_ours = watched->kind == WP_WATCHED_COLLECTOR || watched->kind == WP_WATCHED_AGGREGATOR;
    json_object_object_add(object, "address", json_object_new_string(watched->address));
    json_object_object_add(object, "program", is_ours ? json_object_new_string(wp_watched_name(watched)) : NULL);
    json_object_object_add(object, "is_well", json_object_new_boolean(watched->is_well));
    json_object_object_add(object, "trouble", json_object_new_string(watched->trouble));
    for (size_t i = 0; is_ours && i < watched->samples.count; i++)
        put_sample(metrics, &watched->samples.items[i]);
    json_object_object_add(object, "metrics", metrics);
    return object;
}

static void print_json(const struct wp_watched *all, unsigned count, FILE *out)
{
    struct json_object *root = json_object_new_object(), *daemons = json_object_new_array();
    for (unsigned i = 0; i < count; i++)
        json_object_array_add(daemons, json_of(&all[i]));
    json_object_object_add(root, "daemons", daemons);
    fprintf(
        out, "%s\n", json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
    json_object_put(root);
}

int wp_status_run(int argc, char **argv, FILE *out, struct wp_error *err)
{
    static const struct argp argp = {option_table, parse_option, "[ADDRESS:PORT...]",
        "Shows the state of this host's daemons, or of those at the addresses: what they do, what they cost, what is "
        "wrong."
        "\vThey answer where their --metrics says. Exit status: 0 all answer and are well, 1 not so, 64 wrong use.",
        NULL, NULL, NULL};
    struct status s = {.count = 0};
    argp_err_exit_status = WP_EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &s);
    struct wp_watched *all = calloc(ADDRESSES, sizeof(*all));
    if (!all)
        return wp_error_set(err, -ENOMEM, "out of memory");
    unsigned count = ask_all(&s, all), well = 0;
    if (s.is_json)
        print_json(all, count, out);
    else if (!count)
        fprintf(out, "no daemon of Wakepath answers here (%s, %s): is one started, and does its --metrics say so?\n",
            WP_COLLECTOR_METRICS, WP_AGGREGATOR_METRICS);
    for (unsigned i = 0; i < count; i++) {
        if (!s.is_json)
            wp_status_table(&all[i], out);
        well += all[i].is_well;
        wp_watched_fini(&all[i]);
    }
    free(all);
    return count && well == count ? 0 : 1;
}
