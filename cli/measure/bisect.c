/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/measure/bisect.h"

#include "cli/measure/measure_options.h"
#include "cli/measure/odds.h"
#include "cli/measure/result_json.h"
#include "common/clock.h"
#include "common/version.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SURE 6.907        /* log(999): 99.9 % */
#define ENDS_DIFFER 0.001 /* p of Student's t, at most */
#define LONGER 0.01       /* the same of their time, where the number of waits differs so */
#define PART 0.5          /* of what the time has grown by, which the waits must have at least to be what it is for */
#define ONE_WAIT 1e6      /* in figures that are taken for ns: WP_ODDS_LEAST is a hundredth of a wait */
#define CHECK_LINES 12u   /* of what `wakepath check` says, shown */
#define CONFIRMATIONS 32u /* answers that may be taken back */

enum state { UNKNOWN_YET, GOOD, BAD, BROKEN };

/* What is compared: the figure, what it is less the time runnable, or the number of waits, whichever tells the ends
 * best apart. A slow disk makes waits longer, not more. */
enum figure { WHOLE, STEADY, WAITS, FIGURES };

struct commit {
    double ns[FIGURES][WP_BISECT_RECORDINGS];
    uint32_t count, taken; /* figures in ns; recordings in all */
    enum state state;
    double wrong; /* the probability that its state is; of the good end p */
};

struct bisection {
    struct wp_measure_options options;
    struct wp_revisions revisions; /* items[0] is good, the last bad */
    struct wp_workbench_options bench_options;
    struct wp_workbench bench;
    struct commit *commits;
    uint32_t good, bad; /* the search is between them */
    uint32_t recordings, measured;
    double same;              /* p of those two, where it leaves a doubt */
    enum figure figure, time; /* what is compared; which of the two times tells the ends better apart */
    bool has_no_waits;        /* the commit with more waits takes no longer */
    FILE *say;
};

static struct wp_odds_sample sample_of(const struct commit *commit, enum figure figure)
{
    return (struct wp_odds_sample){commit->ns[figure], commit->count};
}

static double seconds(double ns)
{
    return ns / (double)WP_NS_PER_S;
}

static void print_progress(const struct bisection *b, uint32_t number, const char *what)
{
    const struct wp_revision *revision = &b->revisions.items[number];
    if (!b->options.is_quiet)
        fprintf(b->say, "wakepath: %s %s: %s\n", revision->release, revision->subject, what);
}

/* 1: it is broken, and told. */
static int build(struct bisection *b, uint32_t number, struct wp_error *err)
{
    int rc = wp_workbench_build(&b->bench, &b->revisions.items[number], err);
    if (rc <= 0)
        return rc;
    b->commits[number].state = BROKEN;
    print_progress(b, number, err->text);
    return 1;
}

/* One more recording; 1: the command failed, and the commit counts as broken. */
static int record_more(struct bisection *b, uint32_t number, struct wp_error *err)
{
    struct commit *commit = &b->commits[number];
    struct wp_measure_row row;
    char text[64];
    int rc =
        wp_workbench_record(&b->bench, &b->revisions.items[number], &b->options.cells[0], commit->taken, &row, err);
    if (rc < 0)
        return rc;
    if (rc) {
        commit->state = BROKEN;
        print_progress(b, number, err->text);
        return 1;
    }
    b->measured += !commit->taken++;
    b->recordings++;
    commit->ns[WHOLE][commit->count] = (double)row.ns;
    commit->ns[STEADY][commit->count] = (double)row.steady_ns;
    commit->ns[WAITS][commit->count++] = (double)row.waits * ONE_WAIT;
    snprintf(text, sizeof(text), "%.3f s", seconds((double)row.ns));
    print_progress(b, number, text);
    return 0;
}

/* Once more, unless it has enough, of a commit that could be recorded before. 1: its command failed now, and it is
 * passed over; an end cannot be. */
static int record_again(struct bisection *b, uint32_t number, struct wp_error *err)
{
    if (b->commits[number].count == WP_BISECT_RECORDINGS)
        return 0;
    enum state state = b->commits[number].state;
    int rc = record_more(b, number, err);
    if (rc > 0 && number && number != b->revisions.count - 1) {
        b->commits[number].wrong = 0; /* nothing is said of it */
        return 1;
    }
    b->commits[number].state = state;
    return rc > 0 ? wp_error_wrap(err, -EINVAL, "%s", b->revisions.items[number].release) : rc;
}

/* One more recording of each end, while there are not enough. */
static int record_ends(struct bisection *b, struct wp_error *err)
{
    int rc = record_again(b, 0, err);
    return rc ? rc : record_again(b, b->revisions.count - 1, err);
}

static double same_by(const struct commit *less, const struct commit *more, enum figure figure)
{
    struct wp_odds_sample good = sample_of(less, figure), bad = sample_of(more, figure);
    return wp_odds_same(&good, &bad);
}

/* p by Student's t, one side, that two commits take the same time. More waits are none by themselves: where they are
 * compared it is p of the time all the same, and 1 while they do not differ. */
static double compare(const struct bisection *b, const struct commit *less, const struct commit *more)
{
    if (b->figure == WAITS && same_by(less, more, WAITS) > ENDS_DIFFER)
        return 1;
    return same_by(less, more, b->figure == WAITS ? b->time : b->figure);
}

static double most_of(const struct bisection *b)
{
    return b->figure == WAITS ? LONGER : ENDS_DIFFER;
}

static double growth(const struct commit *less, const struct commit *more, enum figure figure)
{
    struct wp_odds_sample good = sample_of(less, figure), bad = sample_of(more, figure);
    return log((wp_odds_median(&bad) + WP_ODDS_LEAST) / (wp_odds_median(&good) + WP_ODDS_LEAST));
}

/* p of the ends, and by which figure they are compared from now on: of several looks one may be luck (Bonferroni). */
static double compare_ends(struct bisection *b)
{
    const struct commit *less = &b->commits[0], *more = &b->commits[b->revisions.count - 1];
    double whole = same_by(less, more, WHOLE), steady = same_by(less, more, STEADY);
    b->time = b->figure = steady < whole ? STEADY : WHOLE;
    double waits = b->has_no_waits ? 1 : same_by(less, more, WAITS);
    if (FIGURES * waits <= ENDS_DIFFER && waits < fmin(whole, steady) &&
        growth(less, more, WAITS) >= PART * growth(less, more, b->time))
        b->figure = WAITS;
    return fmin(2 * compare(b, less, more), 1);
}

/* As often as was asked for, and more where they leave a doubt. */
static int measure_ends(struct bisection *b, struct wp_error *err)
{
    const struct commit *good = &b->commits[b->good], *bad = &b->commits[b->bad];
    uint32_t wanted = b->options.repeats;
    int rc = build(b, b->good, err);
    if (!rc)
        rc = build(b, b->bad, err);
    if (rc)
        return rc < 0 ? rc
                      : wp_error_wrap(err, -EINVAL, "%s",
                            b->revisions.items[b->commits[b->good].state == BROKEN ? b->good : b->bad].release);
    double same = 1;
    while (!rc && (good->count < wanted || (same > most_of(b) && good->count < WP_BISECT_RECORDINGS))) {
        rc = record_ends(b, err);
        same = rc ? 1 : compare_ends(b);
    }
    b->commits[b->good].wrong = same;
    if (rc || same <= most_of(b))
        return rc;
    struct wp_odds_sample less = sample_of(good, WHOLE), more = sample_of(bad, WHOLE);
    if (b->options.filter.count && wp_odds_median(&less) <= 0 && wp_odds_median(&more) <= 0)
        return wp_error_set(err, -EINVAL, "nothing that was recorded of %s or %s fits --hop",
            b->revisions.items[b->good].release, b->revisions.items[b->bad].release);
    return wp_error_set(err, -EINVAL,
        "%s does not surely take longer than %s: %.3f s and %.3f s, medians of %u recordings; more of them (--repeat) "
        "show less",
        b->revisions.items[b->bad].release, b->revisions.items[b->good].release, seconds(wp_odds_median(&more)),
        seconds(wp_odds_median(&less)), good->count);
}

static double odds_of(const struct bisection *b, uint32_t number)
{
    struct wp_odds_sample good = sample_of(&b->commits[0], b->figure),
                          bad = sample_of(&b->commits[b->revisions.count - 1], b->figure),
                          own = sample_of(&b->commits[number], b->figure);
    return wp_odds_second(&good, &bad, &own);
}

/* By all that is recorded of it; true: it stands on the other side than before. The ends stand where they are. */
static bool judge(struct bisection *b, uint32_t number)
{
    struct commit *commit = &b->commits[number];
    if (!number || number == b->revisions.count - 1)
        return false;
    double odds = odds_of(b, number);
    enum state before = commit->state;
    commit->state = odds > 0 ? BAD : GOOD;
    commit->wrong = 1 / (1 + exp(fabs(odds)));
    if (commit->state != before)
        print_progress(b, number, commit->state == BAD ? "takes longer" : "does not take longer");
    return commit->state != before;
}

/* p of the ends as they are now; what was judged by the other figure is judged again. */
static void judge_again(struct bisection *b)
{
    enum figure before = b->figure;
    b->commits[0].wrong = compare_ends(b);
    for (uint32_t i = 0; b->figure != before && i < b->revisions.count; i++)
        if (b->commits[i].state == GOOD || b->commits[i].state == BAD)
            judge(b, i);
}

/* Records a commit until it is sure on which side it stands, or there are enough; the ends once more with it, so that
 * what changes on the machine in the course of a search is in their spread. 1: it cannot be measured. */
static int measure_commit(struct bisection *b, uint32_t number, struct wp_error *err)
{
    struct commit *commit = &b->commits[number];
    int rc = build(b, number, err);
    if (!rc)
        rc = record_ends(b, err);
    if (!rc)
        judge_again(b);
    while (!rc && commit->count < WP_BISECT_RECORDINGS && (commit->count < 2 || fabs(odds_of(b, number)) < SURE))
        rc = record_more(b, number, err);
    if (!rc)
        judge(b, number);
    return rc;
}

/* The commit nearest to the middle of those between that is not broken; 0: there is none. */
static uint32_t next_of(const struct bisection *b)
{
    uint32_t middle = b->good + (b->bad - b->good) / 2;
    for (uint32_t far = 0; far < b->bad - b->good; far++) {
        if (middle + far < b->bad && b->commits[middle + far].state == UNKNOWN_YET)
            return middle + far;
        if (middle >= b->good + 1 + far && b->commits[middle - far].state == UNKNOWN_YET)
            return middle - far;
    }
    return 0;
}

/* The first that takes longer, and the last before it that does not. */
static void find_bounds(struct bisection *b)
{
    b->bad = 0;
    while (b->commits[b->bad].state != BAD)
        b->bad++;
    b->good = b->bad;
    while (b->commits[b->good].state != GOOD)
        b->good--;
}

static int narrow(struct bisection *b, struct wp_error *err)
{
    for (uint32_t number; (number = next_of(b));) {
        int rc = measure_commit(b, number, err);
        if (rc < 0)
            return rc;
        find_bounds(b);
        *err = (struct wp_error){0};
    }
    return 0;
}

/*
 * The commits of the answer are alike, or the ends by now: the machine is another one than when the ends were recorded.
 * Ends and answer are recorded in turns, and what they were before is forgotten: the answer rests on these alone. 1:
 * one stands on the other side now.
 */
static int judge_anew(struct bisection *b, struct wp_error *err)
{
    const uint32_t last = b->revisions.count - 1, all[] = {0, b->good, b->bad, last};
    const uint32_t *from = b->good ? all : all + 1, *to = b->bad == last ? all + 3 : all + 4;
    for (const uint32_t *at = from; at < to; at++)
        b->commits[*at].count = 0;
    for (uint32_t round = 0;
         round < WP_BISECT_RECORDINGS && (round < b->options.repeats || compare_ends(b) > most_of(b)); round++)
        for (const uint32_t *at = from; at < to; at++) {
            int rc = record_again(b, *at, err);
            if (rc)
                return rc;
        }
    for (uint32_t i = 1; i < last; i++)
        b->commits[i].wrong = 0;
    b->commits[0].wrong = compare_ends(b);
    bool is_other = judge(b, b->good);
    is_other |= judge(b, b->bad);
    return is_other;
}

/* The commit with more waits takes no longer: by their number it is not found. */
static int compare_times(struct bisection *b)
{
    b->has_no_waits = true;
    judge_again(b);
    return 1;
}

/*
 * The commits on both sides of the answer, recorded in turns until they differ as the ends do. Recordings that follow
 * each other have the same disturbance: a commit that one of them put on the wrong side is always one of these two.
 * 1: one stands on the other side now, or its command failed and it is passed over. Where they do not differ after all
 * recordings they are judged by their times alone, or anew; where they do not then, the answer is only so sure.
 */
static int confirm(struct bisection *b, struct wp_error *err)
{
    double same = 1;
    const struct commit *less = &b->commits[b->good], *more = &b->commits[b->bad];
    for (uint32_t round = 1; round <= WP_BISECT_RECORDINGS && (round <= b->options.repeats || same > most_of(b));
         round++) {
        int rc = record_again(b, b->good, err);
        if (!rc)
            rc = record_again(b, b->bad, err);
        if (rc)
            return rc;
        bool is_other = judge(b, b->good);
        is_other |= judge(b, b->bad);
        if (is_other)
            return 1;
        same = compare(b, less, more);
    }
    if (same > most_of(b) || b->commits[0].wrong > most_of(b)) {
        int rc = b->figure == WAITS ? compare_times(b) : judge_anew(b, err);
        if (rc)
            return rc;
        same = compare(b, less, more);
    }
    b->same = same > ENDS_DIFFER ? same : 0;
    return 0;
}

static int search(struct bisection *b, struct wp_error *err)
{
    for (uint32_t taken_back = 0; taken_back < CONFIRMATIONS;) {
        int rc = narrow(b, err);
        if (!rc)
            rc = confirm(b, err);
        if (rc != 1)
            return rc;
        *err = (struct wp_error){0};
        taken_back += b->commits[b->good].state != BROKEN && b->commits[b->bad].state != BROKEN;
        find_bounds(b);
    }
    return wp_error_set(err, -EINVAL, "the recordings contradict each other: no commit is surely the first");
}

/* --- telling --- */

static double sureness(const struct bisection *b)
{
    double sure = 1;
    for (uint32_t i = 0; i < b->revisions.count; i++)
        sure *= 1 - b->commits[i].wrong;
    return fmin(sure, 1 - b->same);
}

static double median_at(const struct bisection *b, uint32_t number, enum figure figure)
{
    struct wp_odds_sample sample = sample_of(&b->commits[number], figure);
    return wp_odds_median(&sample);
}

static void print_first_lines(const struct wp_buffer *text, FILE *out)
{
    const char *at = (const char *)text->data, *end = at + text->size;
    for (unsigned i = 0; at < end && i < CHECK_LINES; i++) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        size_t size = (size_t)((line_end ? line_end : end) - at);
        fprintf(out, "  | %.*s\n", (int)size, at);
        at += size + 1;
    }
}

static void print_text(const struct bisection *b, const struct wp_buffer *why, FILE *out)
{
    const struct wp_revision *before = &b->revisions.items[b->good], *first = &b->revisions.items[b->bad];
    uint32_t broken = b->bad - b->good - 1;
    double from = median_at(b, b->good, b->time), to = median_at(b, b->bad, b->time);
    fprintf(out, "%s is the first that takes longer%s\n  %s  %s  %s\n", first->release,
        broken ? ", or one before it that cannot be measured" : "", first->date, first->author, first->subject);
    for (uint32_t i = b->good + 1; i < b->bad; i++)
        fprintf(out, "  not measured: %s  %s\n", b->revisions.items[i].release, b->revisions.items[i].subject);
    fprintf(out, "  %.3f s at %s, %.3f s at %s: %+.1f %%, medians of %u and %u recordings%s\n", seconds(from),
        before->release, seconds(to), first->release, 100 * (to / from - 1), b->commits[b->good].count,
        b->commits[b->bad].count, b->time == STEADY ? ", without the time runnable" : "");
    if (b->figure == WAITS)
        fprintf(out, "  found by the number of waits: %.0f and %.0f\n", median_at(b, b->good, WAITS) / ONE_WAIT,
            median_at(b, b->bad, WAITS) / ONE_WAIT);
    fprintf(out, "  sure to %.2f %%; %u of %u commits measured in %u recordings\n", 100 * sureness(b), b->measured,
        b->revisions.count, b->recordings);
    if (why->size)
        fprintf(out, "  wakepath check --store '%s/store' %s %s\n", b->bench.out, before->release, first->release);
    print_first_lines(why, out);
}

static void print_json_commit(const struct bisection *b, struct wp_json *json, const char *key, uint32_t number)
{
    struct wp_odds_sample sample = sample_of(&b->commits[number], b->time);
    wp_json_object(json, key);
    wp_result_json_revision(json, &b->revisions.items[number]);
    wp_result_json_times(json, &sample);
    wp_json_end(json);
}

static int print_json(const struct bisection *b, FILE *out, struct wp_error *err)
{
    static const char *const names[FIGURES] = {"whole", "without_runnable", "waits"};
    struct wp_buffer text = {0};
    struct wp_json json = {.out = &text, .style = WP_JSON_SPACED};
    wp_json_object(&json, NULL);
    wp_json_number(&json, "schema", 1);
    print_json_commit(b, &json, "before", b->good);
    print_json_commit(b, &json, "first", b->bad);
    wp_json_array(&json, "not_measured");
    for (uint32_t i = b->good + 1; i < b->bad; i++)
        print_json_commit(b, &json, NULL, i);
    wp_json_end(&json);
    wp_json_exact(&json, "sure", sureness(b));
    wp_json_number(&json, "commits", b->revisions.count);
    wp_json_number(&json, "commits_measured", b->measured);
    wp_json_number(&json, "recordings", b->recordings);
    wp_json_text(&json, "figure", names[b->figure]);
    wp_json_end(&json);
    int rc = wp_result_json_print(&json, out, err);
    wp_buffer_fini(&text);
    return rc;
}

static int print_result(struct bisection *b, FILE *out, struct wp_error *err)
{
    struct wp_buffer why = {0};
    int status = 0, rc = 0;
    if (b->options.is_json)
        return print_json(b, out, err);
    rc = wp_workbench_check(
        &b->bench, b->revisions.items[b->good].release, b->revisions.items[b->bad].release, &status, &why, err);
    if (!rc)
        print_text(b, &why, out);
    wp_buffer_fini(&why);
    return rc;
}

static int run(struct bisection *b, FILE *print, struct wp_error *err)
{
    b->bench_options = wp_measure_options_bench(&b->options);
    int rc = wp_workbench_begin(&b->bench, &b->bench_options, &b->revisions, err);
    if (!rc)
        rc = measure_ends(b, err);
    if (!rc)
        rc = search(b, err);
    if (!rc)
        rc = print_result(b, print, err);
    if (rc == -ECANCELED)
        wp_error_wrap(err, rc, "%u recordings are done, the same command line goes on", b->recordings);
    wp_workbench_end(&b->bench, rc && rc != -ECANCELED);
    return rc;
}

int wp_bisect_run(int argc, char **argv, FILE *print, FILE *say, struct wp_error *err)
{
    struct bisection *b = calloc(1, sizeof(*b));
    if (!b)
        return wp_error_set(err, -ENOMEM, "out of memory"), WP_EXIT_FAILURE;
    b->say = say;
    int rc = wp_bisect_options_parse(&b->options, argc, argv, err);
    if (!rc)
        rc = wp_revisions_between(&b->revisions, b->options.repository, b->options.good, b->options.bad, err);
    b->commits = rc ? NULL : calloc(b->revisions.count, sizeof(*b->commits));
    if (!rc && !b->commits)
        rc = wp_error_set(err, -ENOMEM, "out of memory for %u commits", b->revisions.count);
    if (!rc) {
        b->bad = b->revisions.count - 1;
        b->commits[b->good].state = GOOD;
        b->commits[b->bad].state = BAD;
        rc = run(b, print, err);
    }
    free(b->commits);
    wp_revisions_fini(&b->revisions);
    wp_measure_options_fini(&b->options);
    free(b);
    return rc ? WP_EXIT_FAILURE : WP_EXIT_OK;
}
