/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare/compare.h"
#include "reporter/facts/commit_line.h"

#include "reporter/compare/change.h"
#include "reporter/compare/compare_build.h"
#include "reporter/compare/compare_flame.h"
#include "reporter/compare/compare_in_hand.h"
#include "reporter/compare/compare_location.h"
#include "reporter/compare/compare_method.h"
#include "reporter/compare/compare_pace.h"
#include "reporter/compare/compare_requests.h"
#include "reporter/compare/compare_whole.h"
#include "reporter/compare/compare_work.h"
#include "reporter/compare/contention.h"
#include "reporter/recording/recorded_title.h"
#include "storage/report/report_read.h"
#include "storage/report/report_series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MATERIAL_SHARE 0.002 /* of the whole before: a change of less is not worth a verdict, however sure */
#define UNSETTLED_SHARE 0.01 /* the same of requests in few recordings: a CPU that is shared makes as much */

#define OF_OWN_WAITS 0.1
#define PERHAPS_PERCENT 25.0 /* from which what is not sure is told, */
#define PERHAPS_TIMES 100.0  /* ... and with this by a weaker test: */
#define PERHAPS_ALPHA 0.25

enum alpha_share { SHARE_WALL, SHARE_REQUESTS, SHARE_HOPS, SHARE_PROCESSES, SHARE_CATEGORIES, SHARE_PARTS, SHARES };

static const struct {
    const char *key, *unit;
} pers[] = {{"wall", "a second of wall time"}, {"activity", "a second of its own running"},
    {"recording", "one recording"}, {"work", "the work of a second"}, {"request", "a request"}};

const char *wp_per_key(enum wp_per per)
{
    return pers[per].key;
}

const char *wp_per_unit(enum wp_per per)
{
    return pers[per].unit;
}

int wp_per_find(const char *key)
{
    for (int i = 0; i < (int)(sizeof(pers) / sizeof(*pers)); i++)
        if (!strcmp(pers[i].key, key))
            return i;
    return -1;
}

const char *wp_verdict_key(enum wp_verdict verdict)
{
    static const char *const keys[] = {"same", "few", "worse", "better"};
    return keys[verdict];
}

const char *wp_change_family_key(enum wp_change_family family)
{
    static const char *const keys[] = {"whole", "hops", "processes", "categories", "functions"};
    return keys[family];
}

/* --- the sides --- */

static uint32_t own_running(void *context, uint32_t node, uint32_t category)
{
    const struct wp_compare_tree *tree = context;
    bool runs = category == WP_UNDERSTOOD_FUNCTIONS || category == WP_RUNNING_NOT_SAMPLED;
    return runs && tree->layer[node] < 2 ? 0 : UINT32_MAX;
}

static void describe_operand(struct wp_compare_build *build, int which, const struct wp_row_sums *own)
{
    const struct wp_facts *facts = build->facts[which];
    const struct wp_compare_operand *from = &build->tree.operand[which];
    struct wp_operand *operand = &build->compare->operand[which];
    struct wp_commit commit;
    uint32_t buckets;
    unsigned shift;
    wp_report_buckets(facts->report, &buckets, &shift);
    wp_commit_from_metadata(&commit, &facts->release_metadata);
    *operand = (struct wp_operand){.release = facts->release,
        .aggregate = facts->aggregate,
        .group = facts->group,
        .line = wp_recorded_line(facts),
        .workload = wp_recorded_workload(facts),
        .commit = wp_commit_line(&build->compare->pool, &commit),
        .wall_ns = facts->wall_ns,
        .total_ns = facts->total_ns,
        .first_ns = facts->first_ns,
        .recordings = facts->recordings ? facts->recordings : 1,
        .buckets = buckets,
        .intervals = build->intervals[which].count,
        .bucket_ns = (uint64_t)1 << shift,
        .accounted_percent = facts->accounted_percent};
    for (uint32_t i = 0; i < from->sample_count; i++)
        operand->sampled_ns += from->samples[i].ns;
    build->activity[which] = from->activity;
    operand->units = (double)facts->wall_ns / 1e9;
    if (build->compare->options.per == WP_PER_ACTIVITY && own->ns[which][0]) {
        operand->units = (double)own->ns[which][0] / 1e9;
        build->activity[which] = own->parts[which];
    } else if (build->compare->options.per == WP_PER_RECORDING) {
        operand->units = (double)operand->recordings;
    }
    if (operand->units <= 0)
        operand->units = 1;
}

bool wp_compare_is_of_hosts(const struct wp_compare *compare)
{
    const struct wp_operand *a = &compare->operand[WP_BEFORE], *b = &compare->operand[WP_AFTER];
    return a->group && b->group && strcmp(a->group, b->group) && !strcmp(a->release, b->release) &&
        !strcmp(a->aggregate, b->aggregate);
}

/* "web-1", "all but web-*". */
static const char *name_group(struct wp_compare *compare, const char *group)
{
    return *group == '!' ? wp_pool_printf(&compare->pool, "all but %s", group + 1) : group;
}

/* "v2", or what else tells the two apart. */
static void label_operands(struct wp_compare *compare)
{
    struct wp_operand *a = &compare->operand[WP_BEFORE], *b = &compare->operand[WP_AFTER];
    bool same_release = !strcmp(a->release, b->release), same_aggregate = !strcmp(a->aggregate, b->aggregate);
    for (int i = 0; i < 2; i++) {
        struct wp_operand *operand = &compare->operand[i];
        operand->label = !same_release && !same_aggregate
            ? wp_pool_printf(&compare->pool, "%s:%s", operand->release, operand->aggregate)
            : !same_aggregate ? operand->aggregate
            : !same_release   ? operand->release
            : operand->group  ? name_group(compare, operand->group)
            : i == WP_BEFORE  ? "before"
                              : "after";
        if (operand->group && !(same_release && same_aggregate))
            operand->label =
                wp_pool_printf(&compare->pool, "%s on %s", operand->label, name_group(compare, operand->group));
    }
}

/* --- one row --- */

static int rank_class(const struct wp_compare *compare, const struct wp_change *change)
{
    if (change->verdict == WP_VERDICT_WORSE)
        return 0;
    if (change->verdict == WP_VERDICT_BETTER)
        return 1;
    if (compare->options.method != WP_METHOD_T_TEST)
        return change->assessment.severity == WP_SEVERITY_MAYBE ? 2 : 3;
    return wp_change_is_tested(change) && change->adjusted < compare->options.alpha ? 2 : 3;
}

/* Who waits for threads of its own waits for what these do: with a tenth of the difference that is told first. */
static double size_to_tell(const struct wp_change *change)
{
    bool is_own_wait = change->category == WP_OTHER_PATH && change->hop && !strstr(change->name, " › ");
    return fabs(change->delta) * (is_own_wait ? OF_OWN_WAITS : 1);
}

/* Worse, then better, then sure but small, each by its size; the rest by how near to sure it is. */
static int compare_changes(const void *left, const void *right, void *context)
{
    const struct wp_compare *compare = context;
    const struct wp_change *a = left, *b = right;
    int a_class = rank_class(compare, a), b_class = rank_class(compare, b);
    if (a_class != b_class)
        return a_class - b_class;
    double a_by = a_class < 3 ? size_to_tell(a) : wp_change_is_tested(a) ? fabs(a->t) : 0;
    double b_by = b_class < 3 ? size_to_tell(b) : wp_change_is_tested(b) ? fabs(b->t) : 0;
    if (a_by != b_by)
        return a_by > b_by ? -1 : 1;
    if (fabs(a->delta) != fabs(b->delta))
        return fabs(a->delta) > fabs(b->delta) ? -1 : 1;
    int rc = strcmp(a->name, b->name);
    return rc ? rc : a->category - b->category;
}

/* --- families of rows --- */

static uint32_t row_of_key(struct wp_compare_build *build, uint64_t a, uint64_t b)
{
    uint32_t row = build->keys.count;
    struct wp_intkey key = {a, b};
    if (!wp_intmap_get(&build->keys, key, &row) && wp_intmap_put(&build->keys, key, row)) {
        build->compare->pool.failed = true;
        return UINT32_MAX;
    }
    return row;
}

static bool is_ignored(const struct wp_compare_build *build, uint32_t category)
{
    bool is_machine = category == WP_SCHEDULER || category == WP_INVOLUNTARY;
    return build->compare->options.ignored >> category & 1 || (is_machine && wp_compare_is_unsettled(build));
}

static uint32_t hop_row(void *context, uint32_t node, uint32_t category)
{
    struct wp_compare_build *build = context;
    return row_of_key(build, build->tree.hop[node], category);
}

static uint32_t process_row(void *context, uint32_t node, uint32_t category)
{
    struct wp_compare_build *build = context;
    return is_ignored(build, category) ? UINT32_MAX : row_of_key(build, build->tree.process[node], 0);
}

static uint32_t category_row(void *context, uint32_t node, uint32_t category)
{
    (void)node;
    return row_of_key(context, category, 0);
}

static uint32_t function_row(void *context, uint32_t node, uint32_t category)
{
    struct wp_compare_build *build = context;
    uint32_t function = build->tree.function[node];
    return !function || is_ignored(build, category) ? UINT32_MAX : row_of_key(build, function, 0);
}

static const char *frame_text(const struct wp_compare_build *build, uint32_t frame, bool object)
{
    uint32_t count;
    const struct wp_frame_info *frames = wp_report_frames(build->tree.tree, &count);
    const char *text = wp_report_text(build->tree.tree, object ? frames[frame].object : frames[frame].name);
    return wp_pool_clip(&build->compare->pool, text, 200);
}

/* What a row is called, from a node and a category that belong to it. */
static void name_change(const struct wp_compare_build *build, enum wp_change_family family, struct wp_change *change,
    uint32_t node, uint32_t category)
{
    const struct wp_compare_tree *tree = &build->tree;
    change->category = -1;
    change->name = "";
    if (family == WP_CHANGE_CATEGORIES || family == WP_CHANGE_HOPS) {
        change->category = (int)category;
        change->is_ignored = is_ignored(build, category);
    }
    if (family == WP_CHANGE_CATEGORIES) {
        change->name = wp_category_title((enum wp_category)category);
    } else if (family == WP_CHANGE_HOPS) {
        change->name = wp_pool_text(&build->compare->pool, wp_intern_text(tree->names, tree->hop[node]));
        change->hop = tree->hop[node];
        change->process = tree->process[node] ? frame_text(build, tree->process[node], false) : NULL;
    } else if (family == WP_CHANGE_PROCESSES) {
        change->process = tree->process[node] ? frame_text(build, tree->process[node], false) : NULL;
        change->name = change->process ? change->process : "(no process)";
    } else {
        change->name = frame_text(build, tree->function[node], false);
        change->note = frame_text(build, tree->function[node], true);
    }
    if (!*change->name)
        change->name = "(no name)";
}

/* The node of the newer flame at which the row's process starts. */
static uint32_t permalink_of(const struct wp_compare_build *build, uint32_t node, enum wp_change_family family)
{
    const struct wp_flame *flame = &build->facts[WP_AFTER]->flame;
    uint32_t at = build->tree.place[WP_AFTER][node], count;
    const struct wp_frame_info *frames = wp_report_frames(build->facts[WP_AFTER]->report, &count);
    if (family == WP_CHANGE_CATEGORIES)
        return 0;
    while (family != WP_CHANGE_FUNCTIONS && at && frames[flame->nodes[at].frame].style != WP_STYLE_PROCESS)
        at = flame->nodes[at].parent;
    return at ? flame->nodes[at].permalink : 0;
}

static void name_rows(struct wp_compare_build *build, enum wp_change_family family, wp_row_of row_of,
    struct wp_change *rows, uint32_t count)
{
    for (int operand = 1; operand >= 0; operand--) { /* the newer one first: its flame is what is shown */
        const struct wp_compare_operand *from = &build->tree.operand[operand];
        for (uint32_t i = 0; i < from->cell_count; i++) {
            uint32_t node = from->node[from->cells[i].node];
            uint32_t row = row_of(build, node, from->cells[i].category);
            if (row >= count || rows[row].name)
                continue;
            name_change(build, family, &rows[row], node, from->cells[i].category);
            rows[row].permalink = permalink_of(build, node, family);
        }
    }
}

static int build_family(struct wp_compare_build *build, enum wp_change_family family)
{
    static const wp_row_of row_ofs[WP_CHANGE_FAMILIES] = {NULL, hop_row, process_row, category_row, function_row};
    struct wp_changes *changes = &build->compare->changes[family];
    struct wp_row_sums sums;
    wp_intmap_clear(&build->keys);
    for (int operand = 0; operand < 2; operand++) /* how many rows there are */
        for (uint32_t i = 0; i < build->tree.operand[operand].cell_count; i++) {
            const struct wp_cell *cell = &build->tree.operand[operand].cells[i];
            row_ofs[family](build, build->tree.operand[operand].node[cell->node], cell->category);
        }
    uint32_t rows = build->keys.count;
    changes->rows =
        wp_pool_alloc(&build->compare->pool, (2 * (size_t)rows + 1) * sizeof(*changes->rows)); /* totals, too */
    if (!changes->rows || wp_row_sums_init(&sums, &build->tree, rows, row_ofs[family], build))
        return -ENOMEM;
    if (family != WP_CHANGE_FUNCTIONS && wp_compare_request_sums(build, &sums, row_ofs[family], build)) {
        wp_row_sums_fini(&sums);
        return -ENOMEM;
    }
    name_rows(build, family, row_ofs[family], changes->rows, rows);
    for (uint32_t row = 0; row < rows; row++) {
        struct wp_change change = changes->rows[row];
        if (!wp_change_is_listed(build->compare, sums.ns[WP_BEFORE][row], sums.ns[WP_AFTER][row])) {
            changes->left_out++;
            continue;
        }
        wp_change_fill(build, &change, &sums, row);
        build->compare->pool.failed |= wp_compare_assess_series(build, &change, &sums, row) != 0;
        changes->rows[changes->count++] = change; /* in place: never past the row just read */
    }
    wp_row_sums_fini(&sums);
    if (family == WP_CHANGE_HOPS &&
        wp_compare_moderate(build->compare)) /* they part the whole: each varies by itself */
        return -ENOMEM;
    for (size_t i = 0; i < changes->count; i++)
        wp_change_test(build->compare, &changes->rows[i]);
    return build->compare->pool.failed ? -ENOMEM : 0;
}

static double material_of(const struct wp_compare *compare)
{
    return (compare->is_unsettled ? UNSETTLED_SHARE : MATERIAL_SHARE) * compare->operand[WP_BEFORE].unit_ns;
}

/* A row that is smaller than the least difference on both sides gets no verdict: there is no test to correct for. */
static bool can_change(const struct wp_compare *compare, struct wp_change *change)
{
    double largest = fmax(change->rate[WP_BEFORE].value, change->rate[WP_AFTER].value);
    bool can = wp_change_is_tested(change) && (change->kind != WP_CHANGE_TIME || largest >= material_of(compare));
    change->adjusted = can ? change->p : 1;
    return can;
}

/* How much a row counts among those that are tested with it: where recordings are the unit the parts do by the root of
 * their size, so that small ones have their chance; all others alike. */
static double size_of(const struct wp_compare *compare, const struct wp_change *change)
{
    double share = 0;
    for (int i = 0; i < 2; i++)
        share = fmax(
            share, change->rate[i].value * compare->operand[i].units / fmax(1, (double)compare->operand[i].total_ns));
    return change->kind == WP_CHANGE_TIME && wp_compare_is_by_recording(compare) ? sqrt(share) : 1;
}

/* Tests that share a part of alpha: wall time, requests, and each family of parts. */
static enum alpha_share share_of(
    const struct wp_compare *compare, const struct wp_change *change, enum wp_change_family family)
{
    return change->kind == WP_CHANGE_WALL      ? SHARE_WALL
        : family == WP_CHANGE_WHOLE            ? SHARE_REQUESTS
        : !wp_compare_is_by_recording(compare) ? SHARE_PARTS
        : family == WP_CHANGE_HOPS             ? SHARE_HOPS
        : family == WP_CHANGE_PROCESSES        ? SHARE_PROCESSES
                                               : SHARE_CATEGORIES;
}

/* What a share that has no tests would have goes to the others. */
static void weigh(const struct wp_compare *compare, struct wp_change *const *rows, const enum alpha_share *shares,
    double *weights, size_t count)
{
    static const double alphas[SHARES] = {[SHARE_WALL] = 0.125,
        [SHARE_REQUESTS] = 0.125,
        [SHARE_HOPS] = 0.375,
        [SHARE_PROCESSES] = 0.1875,
        [SHARE_CATEGORIES] = 0.1875,
        [SHARE_PARTS] = 0.75};
    double sizes[SHARES] = {0}, given = 0;
    for (size_t i = 0; i < count; i++)
        sizes[shares[i]] += weights[i] = size_of(compare, rows[i]);
    for (int share = 0; share < SHARES; share++)
        given += sizes[share] > 0 ? alphas[share] : 0;
    for (size_t i = 0; i < count; i++)
        weights[i] *= alphas[shares[i]] / sizes[shares[i]] / given;
}

static int adjust_judged(struct wp_compare *compare)
{
    size_t room = 0, count = 0;
    for (int family = 0; family < WP_CHANGE_JUDGED; family++)
        room += compare->changes[family].count;
    struct wp_change **rows = calloc(room + 1, sizeof(*rows));
    enum alpha_share *shares = calloc(room + 1, sizeof(*shares));
    double *p = calloc(room * 2 + 1, sizeof(*p)), *weights = p ? p + room : NULL;
    for (int family = 0; family < WP_CHANGE_JUDGED && rows && shares && p; family++)
        for (size_t i = 0; i < compare->changes[family].count; i++)
            if (can_change(compare, &compare->changes[family].rows[i])) {
                rows[count] = &compare->changes[family].rows[i];
                shares[count] = share_of(compare, rows[count], (enum wp_change_family)family);
                p[count] = rows[count]->p;
                count++;
            }
    int rc = rows && shares && p ? 0 : -ENOMEM;
    if (!rc)
        weigh(compare, rows, shares, weights, count);
    if (!rc)
        rc = wp_adjust_holm(p, weights, p, count);
    for (size_t i = 0; i < count && !rc; i++)
        rows[i]->adjusted = p[i];
    compare->judged = count;
    free(rows);
    free(shares);
    free(p);
    return rc;
}

static int adjust_functions(struct wp_compare *compare)
{
    struct wp_changes *changes = &compare->changes[WP_CHANGE_FUNCTIONS];
    size_t count = 0;
    double *p = calloc(changes->count + 1, sizeof(*p));
    if (!p)
        return -ENOMEM;
    for (size_t i = 0; i < changes->count; i++)
        if (wp_change_is_tested(&changes->rows[i]))
            p[count++] = changes->rows[i].p;
    int rc = wp_adjust_hochberg(p, p, count);
    count = 0;
    for (size_t i = 0; i < changes->count && !rc; i++)
        if (wp_change_is_tested(&changes->rows[i]))
            changes->rows[i].adjusted = p[count++];
    free(p);
    return rc;
}

static void judge_family(struct wp_compare *compare, enum wp_change_family family)
{
    struct wp_changes *changes = &compare->changes[family];
    double material = material_of(compare);
    size_t *const counts[] = {&compare->same, &compare->few, &compare->worse, &compare->better};
    for (size_t i = 0; i < changes->count; i++) {
        struct wp_change *change = &changes->rows[i];
        wp_compare_conclude(compare, change, family, material);
        if (wp_compare_is_judged(compare, family))
            (*counts[change->verdict])++;
    }
    compare->is_degraded = compare->worse > 0;
    if (changes->count && family != WP_CHANGE_WHOLE) /* that one is in the order of its measures */
        qsort_r(changes->rows, changes->count, sizeof(*changes->rows), compare_changes, compare);
}

static int build_rows(struct wp_compare_build *build)
{
    int rc = 0;
    for (int family = WP_CHANGE_HOPS; family < WP_CHANGE_FAMILIES && !rc; family++)
        rc = build_family(build, (enum wp_change_family)family);
    return rc ? rc : wp_compare_whole(build);
}

/* Much worse, if it is no chance, which has less than that share in it. */
static bool is_perhaps(const struct wp_compare *compare, const struct wp_change *change)
{
    double toward = change->kind == WP_CHANGE_RATE ? -change->delta : change->delta;
    double least = change->kind == WP_CHANGE_TIME ? material_of(compare) : 0, percent = fabs(change->percent);
    return change->verdict == WP_VERDICT_SAME && wp_change_is_tested(change) && toward > least &&
        !wp_change_is_idle(change) && percent >= PERHAPS_PERCENT &&
        (change->p < compare->options.alpha || (percent >= PERHAPS_TIMES && change->adjusted < PERHAPS_ALPHA));
}

/* The whole first, in its order, then hops; where something is said already there is none. */
static void find_perhaps(struct wp_compare *compare)
{
    for (int family = 0; family <= WP_CHANGE_HOPS; family++)
        for (size_t i = 0; i < compare->changes[family].count; i++) {
            const struct wp_change *change = &compare->changes[family].rows[i];
            if (!compare->worse && !compare->better && !compare->perhaps.name && is_perhaps(compare, change))
                compare->perhaps = *change;
        }
}

static int judge(struct wp_compare_build *build)
{
    struct wp_compare *compare = build->compare;
    int rc = adjust_judged(compare);
    if (!rc)
        rc = adjust_functions(compare);
    if (!rc)
        rc = wp_compare_assess_outliers(compare, material_of(compare));
    wp_compare_judge_whole(compare);
    for (int family = 0; family < WP_CHANGE_FAMILIES && !rc; family++)
        judge_family(compare, (enum wp_change_family)family);
    if (!rc)
        rc = wp_compare_locations(build);
    if (compare->options.method == WP_METHOD_T_TEST)
        find_perhaps(compare);
    return rc;
}

/* Commands that run from start to end are compared by what one recording takes; services by what they did, where
 * requests or else recordings tell it, else by the second. */
static int choose_unit(struct wp_compare_build *build)
{
    struct wp_compare_options *options = &build->compare->options;
    enum wp_per asked = build->compare->asked = options->per;
    bool is_work = false, is_request = false, is_auto = asked == WP_PER_AUTO && options->method == WP_METHOD_T_TEST;
    int rc = asked == WP_PER_REQUEST || is_auto ? wp_compare_requests(build, &is_request) : 0;
    if (!rc && (asked == WP_PER_WORK || (is_auto && !is_request)))
        rc = wp_compare_work(build, &is_work);
    if (asked >= WP_PER_WORK)
        options->per = is_work ? WP_PER_WORK : is_request ? WP_PER_REQUEST : WP_PER_WALL;
    for (int i = 0; i < 2 && !is_request; i++)
        build->compare->operand[i].unit_ns =
            (double)build->compare->operand[i].total_ns / build->compare->operand[i].units;
    return rc;
}

static int work(struct wp_compare_build *build)
{
    struct wp_compare *compare = build->compare;
    struct wp_row_sums own = {0};
    int rc = wp_compare_tree_init(&build->tree, build->facts[WP_BEFORE], build->facts[WP_AFTER]);
    if (!rc)
        rc = wp_compare_in_hand(&build->tree);
    if (!rc)
        rc = wp_row_sums_init(&own, &build->tree, 1, own_running, &build->tree);
    for (int operand = 0; operand < 2 && !rc; operand++)
        rc = wp_intervals_find(
            &build->intervals[operand], build->facts[operand]->report, build->facts[operand]->recordings);
    for (int operand = 0; operand < 2 && !rc; operand++)
        describe_operand(build, operand, &own);
    if (!rc)
        rc = choose_unit(build);
    if (!rc)
        rc = wp_compare_pace_find(build);
    compare->is_unsettled = wp_compare_is_unsettled(build);
    if (!rc)
        label_operands(compare);
    if (!rc)
        rc = build_rows(build);
    if (!rc)
        rc = judge(build);
    for (int operand = 0; operand < 2 && !rc; operand++)
        rc = wp_compare_flame(build, operand);
    wp_row_sums_fini(&own);
    return rc;
}

int wp_compare_build(struct wp_compare *compare, const struct wp_facts *before, const struct wp_facts *after,
    const struct wp_compare_options *options, struct wp_error *err)
{
    struct wp_compare_build build = {.compare = compare, .facts = {before, after}};
    memset(compare, 0, sizeof(*compare));
    compare->options = *options;
    if (options->per == WP_PER_AUTO && before->is_command && after->is_command)
        compare->options.per = WP_PER_RECORDING;
    compare->facts[WP_BEFORE] = before;
    compare->facts[WP_AFTER] = after;
    int rc = work(&build);
    wp_intmap_fini(&build.keys);
    wp_compare_tree_fini(&build.tree);
    wp_intervals_fini(&build.intervals[WP_BEFORE]);
    wp_intervals_fini(&build.intervals[WP_AFTER]);
    free(build.work[WP_BEFORE]);
    free(build.work[WP_AFTER]);
    wp_compare_requests_fini(&build);
    wp_compare_pace_fini(&build);
    if (rc || compare->pool.failed) {
        wp_compare_fini(compare);
        return wp_error_set(
            err, -ENOMEM, "out of memory for comparing release %s with %s", after->release, before->release);
    }
    return 0;
}

void wp_compare_fini(struct wp_compare *compare)
{
    wp_pool_fini(&compare->pool);
    memset(compare, 0, sizeof(*compare));
}
