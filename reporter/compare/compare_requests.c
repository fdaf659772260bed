/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare/compare_requests.h"

#include "common/array.h"
#include "reporter/compare/comparable.h"
#include "reporter/compare/compare_idle.h"
#include "reporter/compare/contention.h"
#include "storage/report/report_read.h"
#include "storage/report/report_transactions.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_REQUESTS 100.0 /* on each side */
#define LEAST_TOLD 0.8       /* of their time that parts say something of */
#define LEAST_WORK 0.5       /* of what is done that is for requests */
#define MOSTLY 0.5           /* of the time of a hop */
#define SCHEDULER "sched:"   /* begins what says who had the CPU */

/* Ports that both sides serve. */
struct port {
    const char *name;
    double count[2], ns[2];
};

struct ports {
    struct wp_intern *names;            /* owned, as the next */
    struct port *rows;                  /* by id of the name */
    double count[2], ns[2], told_ns[2]; /* of served ones */
};

static bool is_served(const struct port *port)
{
    return port->count[WP_BEFORE] >= LEAST_REQUESTS && port->count[WP_AFTER] >= LEAST_REQUESTS;
}

static struct port *port_of(const struct ports *ports, const struct wp_report *report, uint32_t service)
{
    char room[WP_ROLE_BYTES];
    const char *name = wp_comparable_service(room, wp_report_text(report, service));
    return &ports->rows[wp_intern_find(ports->names, name, strlen(name))];
}

static int read_ports(struct ports *ports, const struct wp_compare_build *build)
{
    uint32_t count;
    ports->names = wp_intern_create();
    for (int i = 0; i < 2 && ports->names; i++) {
        const struct wp_transaction *rows = wp_report_transactions(build->facts[i]->report, &count);
        for (uint32_t row = 0; row < count; row++) {
            char room[WP_ROLE_BYTES];
            const char *text = wp_report_text(build->facts[i]->report, rows[row].service);
            if (wp_intern_str(ports->names, wp_comparable_service(room, text)) == UINT32_MAX)
                return -ENOMEM;
        }
    }
    ports->rows = ports->names ? calloc(wp_intern_count(ports->names) + (size_t)1, sizeof(*ports->rows)) : NULL;
    for (int i = 0; i < 2 && ports->rows; i++) {
        const struct wp_transaction *rows = wp_report_transactions(build->facts[i]->report, &count);
        for (uint32_t row = 0; row < count; row++) {
            struct port *port = port_of(ports, build->facts[i]->report, rows[row].service);
            port->count[i] += rows[row].part == WP_PART_WHOLE ? (double)rows[row].count : 0;
            port->ns[i] += rows[row].part == WP_PART_WHOLE ? (double)rows[row].ns : 0;
        }
    }
    return ports->rows ? 0 : -ENOMEM;
}

/* The hop and category; NULL: no memory. */
static struct wp_request_hop *hop_of(
    struct wp_compare_build *build, struct wp_intmap *keys, uint32_t hop, uint32_t category)
{
    struct wp_compare_requests *requests = &build->requests;
    struct wp_intkey key = {hop, category};
    uint32_t at = requests->count;
    if (wp_intmap_get(keys, key, &at))
        return &requests->hops[at];
    if (WP_ARRAY_FIT(requests->hops, requests->room, at + 1) || wp_intmap_put(keys, key, at))
        return NULL;
    requests->hops[at] = (struct wp_request_hop){.hop = hop, .category = category};
    requests->count++;
    return &requests->hops[at];
}

static int sum_cells(struct wp_compare_build *build, struct wp_intmap *keys, int side)
{
    const struct wp_compare_tree *tree = &build->tree;
    const struct wp_compare_operand *from = &tree->operand[side];
    for (uint32_t i = 0; i < from->cell_count; i++) {
        uint32_t node = from->node[from->cells[i].node], category = from->cells[i].category;
        struct wp_request_hop *hop = hop_of(build, keys, tree->hop[node], category);
        if (!hop)
            return -ENOMEM;
        hop->node = node;
        if (wp_compare_idle_is(tree->waits[node], category, true))
            continue;
        hop->cells_ns[side] += (double)from->cells[i].ns;
        hop->pieces[side] += (double)from->cells[i].count;
    }
    return 0;
}

static int add_part(struct wp_compare_build *build, struct wp_intmap *keys, int side, const struct wp_transaction *row)
{
    const char *who = wp_report_text(build->facts[side]->report, row->who);
    uint32_t name = wp_intern_find(build->tree.names, who, strlen(who));
    struct wp_request_hop *hop = name == UINT32_MAX ? NULL : hop_of(build, keys, name, row->part);
    if (!hop)
        return name == UINT32_MAX ? 0 : -ENOMEM; /* nobody of that name in the sums of time */
    if (!hop->by_latency[side] && !(hop->by_latency[side] = calloc(WP_LATENCY_BUCKETS, sizeof(*hop->by_latency[side]))))
        return -ENOMEM;
    hop->by_latency[side][row->bucket] += (double)row->ns;
    hop->in_ns[side] += (double)row->ns;
    hop->in_pieces[side] += (double)row->count;
    return 0;
}

/* What a thread waits for a CPU for, or the reader of a request that lies unread. */
static bool is_contended(const struct wp_report *report, const struct wp_transaction *row)
{
    return row->part == WP_SCHEDULER || row->part == WP_INVOLUNTARY ||
        (row->part == WP_PART_UNREAD && !strncmp(wp_report_text(report, row->what), SCHEDULER, sizeof(SCHEDULER) - 1));
}

static int sum_requests(struct wp_compare_build *build, struct ports *ports, struct wp_intmap *keys, int side)
{
    const struct wp_report *report = build->facts[side]->report;
    uint32_t count;
    const struct wp_transaction *rows = wp_report_transactions(report, &count);
    int rc = 0;
    for (uint32_t i = 0; i < count && !rc; i++) {
        const struct wp_transaction *row = &rows[i];
        if (row->bucket >= WP_LATENCY_BUCKETS || !is_served(port_of(ports, report, row->service)))
            continue;
        if (row->part == WP_PART_WHOLE) {
            build->requests.number[side][row->bucket] += (double)row->count;
            ports->count[side] += (double)row->count;
            ports->ns[side] += (double)row->ns;
            continue;
        }
        ports->told_ns[side] += (double)row->ns;
        build->requests.told_ns[side][row->bucket] += (double)row->ns;
        build->requests.contended_ns[side][row->bucket] += is_contended(report, row) ? (double)row->ns : 0;
        if (row->part < WP_CATEGORIES)
            rc = add_part(build, keys, side, row);
    }
    return rc;
}

/* Where there are several ports, a request of each counts by how long it takes on the older side. */
static void find_units(struct wp_compare_build *build, const struct ports *ports)
{
    struct wp_compare *compare = build->compare;
    double work[2] = {0};
    for (uint32_t i = 0; i < wp_intern_count(ports->names); i++)
        for (int side = 0; side < 2 && is_served(&ports->rows[i]); side++)
            work[side] += ports->rows[i].count[side] * ports->rows[i].ns[WP_BEFORE] / ports->rows[i].count[WP_BEFORE];
    for (int side = 0; side < 2; side++) {
        struct wp_operand *operand = &compare->operand[side];
        operand->units = ports->count[WP_BEFORE] * work[side] / fmax(1, work[WP_BEFORE]);
        operand->unit_ns = ports->ns[side] / operand->units;
    }
}

/* The relative variance of the mean of a hop's time in requests: it differs by the latency of the whole, and pieces
 * come by chance. */
static double variance_of(const struct wp_request_hop *hop, const double *counts, double number, int side)
{
    double mean = hop->in_ns[side] / number, squares = 0;
    for (unsigned i = 0; i < WP_LATENCY_BUCKETS; i++)
        if (counts[i] > 0)
            squares += counts[i] * pow(hop->by_latency[side][i] / counts[i] - mean, 2);
    return squares / (number * number * mean * mean) + 1 / fmax(1, fmin(hop->in_pieces[side], number));
}

/* Locks of own threads are in the sums of time alone: in requests, this is what others' work was waited for, too. */
static bool is_own_path(const struct wp_compare_build *build, const struct wp_request_hop *hop)
{
    return hop->category == WP_OTHER_PATH && build->tree.layer[hop->node] < 2;
}

static bool is_pause(uint32_t category)
{
    return category == WP_DELIBERATE_SLEEP || category == WP_OTHER_PATH || category == WP_REMOTE_NOT_TRACED;
}

static void find_values(const struct wp_compare_build *build, const struct ports *ports, struct wp_request_hop *hop)
{
    const struct wp_operand *operands = build->compare->operand;
    for (int side = 0; side < 2; side++) {
        double units = operands[side].units, wall = fmax(1, (double)operands[side].wall_ns);
        if (is_own_path(build, hop)) {
            hop->value[side] = hop->cells_ns[side] / units;
            continue;
        }
        hop->value[side] = hop->in_ns[side] / units;
        if (hop->by_latency[side] && hop->in_ns[side] > 0)
            hop->variance[side] =
                pow(hop->value[side], 2) * variance_of(hop, build->requests.number[side], ports->count[side], side);
        if (!is_pause(hop->category)) /* what is in no request goes by the second, in which one has its part */
            hop->value[side] += fmax(0, hop->cells_ns[side] - hop->in_ns[side]) / wall *
                (double)operands[WP_BEFORE].wall_ns / operands[WP_BEFORE].units;
        else
            hop->is_apart |= hop->in_ns[side] < MOSTLY * hop->cells_ns[side];
    }
}

static int find_apart(struct wp_compare_build *build)
{
    build->tree.apart = calloc(wp_intern_count(build->tree.names) + (size_t)1, sizeof(*build->tree.apart));
    for (uint32_t i = 0; i < build->requests.count && build->tree.apart; i++)
        if (build->requests.hops[i].is_apart)
            build->tree.apart[build->requests.hops[i].hop] |= 1u << build->requests.hops[i].category;
    return build->tree.apart ? 0 : -ENOMEM;
}

/* Where most of what a side does is for nobody who asks, requests do not stand for it. */
static bool is_for_requests(const struct wp_compare_build *build, int side)
{
    double in = 0, whole = 0;
    for (uint32_t i = 0; i < build->requests.count; i++) {
        const struct wp_request_hop *hop = &build->requests.hops[i];
        if (is_pause(hop->category))
            continue;
        in += fmin(hop->in_ns[side], hop->cells_ns[side]);
        whole += hop->cells_ns[side];
    }
    return in >= LEAST_WORK * whole;
}

static int sum(struct wp_compare_build *build, struct ports *ports)
{
    struct wp_intmap keys = {0};
    int rc = 0;
    for (int side = 0; side < 2 && !rc; side++)
        rc = sum_cells(build, &keys, side);
    for (int side = 0; side < 2 && !rc; side++)
        rc = sum_requests(build, ports, &keys, side);
    wp_intmap_fini(&keys);
    return rc;
}

int wp_compare_requests(struct wp_compare_build *build, bool *is_known)
{
    struct ports ports = {0};
    int rc = read_ports(&ports, build);
    if (!rc)
        rc = sum(build, &ports);
    *is_known = !rc;
    for (int side = 0; side < 2 && !rc; side++)
        *is_known &=
            ports.count[side] > 0 && ports.told_ns[side] >= LEAST_TOLD * ports.ns[side] && is_for_requests(build, side);
    if (*is_known) {
        find_units(build, &ports);
        wp_contention_find(build);
        for (uint32_t i = 0; i < build->requests.count; i++)
            find_values(build, &ports, &build->requests.hops[i]);
        for (int side = 0; side < 2; side++)
            build->compare->operand[side].contention = wp_contention_of(build, side, 1);
        build->tree.is_by_request = true;
        rc = find_apart(build);
    } else {
        wp_compare_requests_fini(build);
    }
    wp_intern_destroy(ports.names);
    free(ports.rows);
    return rc;
}

int wp_compare_request_sums(
    const struct wp_compare_build *build, struct wp_row_sums *sums, wp_row_of row_of, void *context)
{
    for (int side = 0; side < 2 && build->requests.count; side++) {
        sums->request[side] = calloc(sums->rows + (size_t)1, sizeof(*sums->request[side]));
        sums->apart[side] = calloc(sums->rows + (size_t)1, sizeof(*sums->apart[side]));
        sums->apart_variance[side] = calloc(sums->rows + (size_t)1, sizeof(*sums->apart_variance[side]));
        if (!sums->request[side] || !sums->apart[side] || !sums->apart_variance[side])
            return -ENOMEM;
    }
    for (uint32_t i = 0; i < build->requests.count; i++) {
        const struct wp_request_hop *hop = &build->requests.hops[i];
        uint32_t row = hop->node ? row_of(context, hop->node, hop->category) : UINT32_MAX;
        for (int side = 0; side < 2 && row < sums->rows; side++) {
            sums->request[side][row] += hop->value[side];
            sums->apart[side][row] += hop->is_apart ? hop->value[side] : 0;
            sums->apart_variance[side][row] += hop->is_apart ? hop->variance[side] : 0;
        }
    }
    return 0;
}

void wp_compare_requests_fini(struct wp_compare_build *build)
{
    for (uint32_t i = 0; i < build->requests.count; i++)
        for (int side = 0; side < 2; side++)
            free(build->requests.hops[i].by_latency[side]);
    free(build->requests.hops);
    build->requests = (struct wp_compare_requests){0};
}
