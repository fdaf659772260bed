/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/measure/measure.h"

#include "cli/measure/measure_options.h"
#include "cli/measure/odds.h"
#include "cli/measure/result_json.h"
#include "common/clock.h"
#include "common/version.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GOT_WORSE 2

enum verdict { VERDICT_NONE, VERDICT_SAME, VERDICT_WORSE };

/* One commit with one cell. */
struct outcome {
    double *ns; /* owned; of the sound recordings */
    uint32_t count, failed;
    enum verdict verdict;
    int32_t against; /* number of the commit it is compared with; -1: none */
};

struct measurement {
    struct wp_measure_options options;
    struct wp_revisions revisions;
    struct wp_workbench_options bench_options;
    struct wp_workbench bench;
    struct outcome *outcomes; /* a row of cells a commit */
    bool *is_broken;          /* a commit */
    uint32_t done, wanted;    /* recordings */
    uint32_t made;            /* those of this run, */
    uint64_t spent_ns;        /* and how long they took */
    FILE *say;
};

static struct outcome *outcome_of(struct measurement *m, uint32_t revision, uint32_t cell)
{
    return &m->outcomes[(size_t)revision * m->options.cell_count + cell];
}

static double seconds(double ns)
{
    return ns / (double)WP_NS_PER_S;
}

static int list_commits(struct measurement *m, struct wp_error *err)
{
    int rc = 0;
    const struct wp_measure_options *options = &m->options;
    if (options->tags)
        rc = wp_revisions_add_tags(&m->revisions, options->repository, options->tags, err);
    for (size_t i = 0; !rc && i < options->ranges.count; i++)
        rc = wp_revisions_add(&m->revisions, options->repository, options->ranges.items[i], err);
    if (rc)
        return rc;
    size_t cells = (size_t)m->revisions.count * options->cell_count;
    m->outcomes = calloc(cells, sizeof(*m->outcomes));
    m->is_broken = calloc(m->revisions.count, sizeof(*m->is_broken));
    for (size_t i = 0; m->outcomes && i < cells && !rc; i++) {
        m->outcomes[i].against = -1;
        m->outcomes[i].ns = calloc(options->repeats, sizeof(double));
        rc = m->outcomes[i].ns ? 0 : -ENOMEM;
    }
    m->wanted = (uint32_t)cells * options->repeats;
    return rc || !m->outcomes || !m->is_broken ? wp_error_set(err, -ENOMEM, "out of memory for the matrix") : 0;
}

static void print_plan(const struct measurement *m, FILE *out)
{
    fprintf(out, "recordings: %u = commits: %u x commands: %u x repeats: %u\n", m->wanted, m->revisions.count,
        m->options.cell_count, m->options.repeats);
    for (uint32_t i = 0; i < m->revisions.count; i++)
        fprintf(out, "  %-24s %s %s\n", m->revisions.items[i].release, m->revisions.items[i].date,
            m->revisions.items[i].subject);
    for (uint32_t i = 0; i < m->options.cell_count; i++) {
        fprintf(out, "  %s:", m->options.cells[i].name);
        for (size_t k = 0; m->options.cells[i].argv[k]; k++)
            fprintf(out, " %s", m->options.cells[i].argv[k]);
        fputc('\n', out);
    }
}

/* --- doing --- */

static int build_all(struct measurement *m, struct wp_error *err)
{
    uint32_t sound = 0;
    for (uint32_t i = 0; i < m->revisions.count; i++) {
        const struct wp_revision *revision = &m->revisions.items[i];
        if (!m->options.is_quiet)
            fprintf(m->say, "wakepath: [%u/%u] building %s %s\n", i + 1, m->revisions.count, revision->release,
                revision->subject);
        int rc = wp_workbench_build(&m->bench, revision, err);
        if (rc < 0)
            return rc;
        m->is_broken[i] = rc > 0;
        sound += !rc;
        if (rc) {
            fprintf(m->say, "wakepath: %s is left out: %s\n", revision->release, err->text);
            m->wanted -= m->options.cell_count * m->options.repeats;
            *err = (struct wp_error){0};
        }
    }
    return sound ? 0 : wp_error_set(err, -EINVAL, "none of the %u commits can be built", m->revisions.count);
}

static void print_done(
    const struct measurement *m, const struct wp_revision *revision, const struct wp_measure_row *row)
{
    uint32_t left = m->wanted - m->done;
    uint64_t left_s = m->made ? m->spent_ns / m->made * left / WP_NS_PER_S : 0;
    if (m->options.is_quiet)
        return;
    fprintf(m->say, "wakepath: [%u/%u] %s %s %.3f s", m->done, m->wanted, revision->release, row->cell,
        seconds((double)row->ns));
    if (left)
        fprintf(m->say, ", %llu:%02llu min left", (unsigned long long)left_s / 60, (unsigned long long)left_s % 60);
    fputc('\n', m->say);
}

static int record_one(struct measurement *m, uint32_t commit, uint32_t cell, uint32_t repeat, struct wp_error *err)
{
    const struct wp_revision *revision = &m->revisions.items[commit];
    struct outcome *outcome = outcome_of(m, commit, cell);
    struct wp_measure_row row;
    uint64_t start_ns = wp_clock_ns();
    uint32_t before = m->bench.log.count;
    int rc = wp_workbench_record(&m->bench, revision, &m->options.cells[cell], repeat, &row, err);
    if (rc < 0)
        return rc;
    m->done++;
    if (m->bench.log.count > before) {
        m->made++;
        m->spent_ns += wp_clock_ns() - start_ns;
    }
    if (rc) {
        outcome->failed++;
        fprintf(m->say, "wakepath: %s %s is left out once: %s\n", revision->release, row.cell, err->text);
        *err = (struct wp_error){0};
        return 0;
    }
    outcome->ns[outcome->count++] = (double)row.ns;
    print_done(m, revision, &row);
    return 0;
}

/* Commits take turns inside a command, commands inside a repeat: what the machine does meanwhile meets all of them. */
static int record_all(struct measurement *m, struct wp_error *err)
{
    for (uint32_t repeat = 0; repeat < m->options.repeats; repeat++)
        for (uint32_t cell = 0; cell < m->options.cell_count; cell++)
            for (uint32_t commit = 0; commit < m->revisions.count; commit++) {
                int rc = m->is_broken[commit] ? 0 : record_one(m, commit, cell, repeat, err);
                if (rc)
                    return rc;
            }
    return 0;
}

static int compare_pair(struct measurement *m, uint32_t older, uint32_t newer, uint32_t cell, struct wp_error *err)
{
    char from[2 * WP_ID_ROOM], to[2 * WP_ID_ROOM];
    struct wp_buffer text = {0};
    struct outcome *outcome = outcome_of(m, newer, cell);
    const char *name = m->options.cells[cell].name;
    int status = 0;
    snprintf(from, sizeof(from), "%s:%s", m->revisions.items[older].release, name);
    snprintf(to, sizeof(to), "%s:%s", m->revisions.items[newer].release, name);
    int rc = wp_workbench_check(&m->bench, from, to, &status, &text, err);
    if (!rc) {
        outcome->against = (int32_t)older;
        outcome->verdict = status == GOT_WORSE ? VERDICT_WORSE : VERDICT_SAME;
    }
    wp_buffer_fini(&text);
    return rc;
}

/* Each commit with the nearest one before it that has recordings. */
static int compare_all(struct measurement *m, struct wp_error *err)
{
    for (uint32_t cell = 0; cell < m->options.cell_count; cell++) {
        int64_t before = -1;
        for (uint32_t commit = 0; commit < m->revisions.count; commit++) {
            if (!outcome_of(m, commit, cell)->count)
                continue;
            int rc = before < 0 ? 0 : compare_pair(m, (uint32_t)before, commit, cell, err);
            if (rc)
                return rc;
            before = commit;
        }
    }
    return 0;
}

/* --- telling --- */

static const char *verdict_word(const struct outcome *outcome)
{
    static const char *const words[] = {"not compared", "same", "worse"};
    return words[outcome->verdict];
}

static double median_of(const struct outcome *outcome)
{
    return wp_odds_median(&(struct wp_odds_sample){outcome->ns, outcome->count});
}

static void print_row(struct measurement *m, uint32_t commit, uint32_t cell, FILE *out)
{
    const struct wp_revision *revision = &m->revisions.items[commit];
    struct outcome *outcome = outcome_of(m, commit, cell);
    fprintf(out, "  %-24s %-16s ", revision->release, m->options.cells[cell].name);
    if (m->is_broken[commit])
        fprintf(out, "%12s  %-8s", "", "no build");
    else if (!outcome->count)
        fprintf(out, "%12s  %-8s", "", "failed");
    else
        fprintf(out, "%10.3f s  ", seconds(median_of(outcome)));
    if (outcome->against >= 0) {
        double before = median_of(outcome_of(m, (uint32_t)outcome->against, cell));
        fprintf(out, "%+6.1f %%", 100 * (median_of(outcome) / before - 1));
    } else if (outcome->count) {
        fprintf(out, "%8s", "");
    }
    fprintf(out, "  %-5s %s\n", outcome->verdict == VERDICT_WORSE ? "worse" : "", revision->subject);
}

static void print_table(struct measurement *m, FILE *out)
{
    fprintf(out, "  %-24s %-16s %12s %9s  %-5s %s\n", "commit", "command", "median wall", "change", "", "subject");
    for (uint32_t cell = 0; cell < m->options.cell_count; cell++)
        for (uint32_t commit = 0; commit < m->revisions.count; commit++)
            print_row(m, commit, cell, out);
    for (uint32_t cell = 0; cell < m->options.cell_count; cell++)
        for (uint32_t commit = 0; commit < m->revisions.count; commit++) {
            struct outcome *outcome = outcome_of(m, commit, cell);
            if (outcome->verdict == VERDICT_WORSE)
                fprintf(out, "  why: wakepath check --store '%s/store' %s:%s %s:%s\n", m->bench.out,
                    m->revisions.items[outcome->against].release, m->options.cells[cell].name,
                    m->revisions.items[commit].release, m->options.cells[cell].name);
        }
}

static void print_json_cell(struct measurement *m, struct wp_json *json, uint32_t commit, uint32_t cell)
{
    struct outcome *outcome = outcome_of(m, commit, cell);
    struct wp_odds_sample sample = {outcome->ns, outcome->count};
    wp_json_object(json, NULL);
    wp_json_text(json, "name", m->options.cells[cell].name);
    wp_result_json_times(json, &sample);
    wp_json_number(json, "failed", outcome->failed);
    wp_json_text_or_null(json, "against", outcome->against < 0 ? NULL : m->revisions.items[outcome->against].release);
    wp_json_text(json, "verdict", verdict_word(outcome));
    wp_json_end(json);
}

static int print_json(struct measurement *m, FILE *out, struct wp_error *err)
{
    struct wp_buffer text = {0};
    struct wp_json json = {.out = &text, .style = WP_JSON_SPACED};
    char store[PATH_MAX + 8];
    snprintf(store, sizeof(store), "%s/store", m->bench.out);
    wp_json_object(&json, NULL);
    wp_json_number(&json, "schema", 1);
    wp_json_text(&json, "store", store);
    wp_json_array(&json, "commits");
    for (uint32_t i = 0; i < m->revisions.count; i++) {
        wp_json_object(&json, NULL);
        wp_result_json_revision(&json, &m->revisions.items[i]);
        wp_json_bool(&json, "is_built", !m->is_broken[i]);
        wp_json_array(&json, "commands");
        for (uint32_t cell = 0; cell < m->options.cell_count; cell++)
            print_json_cell(m, &json, i, cell);
        wp_json_end(&json);
        wp_json_end(&json);
    }
    wp_json_end(&json);
    wp_json_end(&json);
    int rc = wp_result_json_print(&json, out, err);
    wp_buffer_fini(&text);
    return rc;
}

static bool has_worse(struct measurement *m)
{
    size_t cells = (size_t)m->revisions.count * m->options.cell_count;
    for (size_t i = 0; i < cells; i++)
        if (m->outcomes[i].verdict == VERDICT_WORSE)
            return true;
    return false;
}

static int run(struct measurement *m, FILE *print, struct wp_error *err)
{
    m->bench_options = wp_measure_options_bench(&m->options);
    int rc = wp_workbench_begin(&m->bench, &m->bench_options, &m->revisions, err);
    if (!rc)
        rc = build_all(m, err);
    if (!rc)
        rc = record_all(m, err);
    if (!rc)
        rc = compare_all(m, err);
    if (!rc && m->options.is_json)
        rc = print_json(m, print, err);
    else if (!rc)
        print_table(m, print);
    if (rc == -ECANCELED)
        wp_error_wrap(
            err, rc, "%u of %u recordings are done, the same command line makes the others", m->done, m->wanted);
    wp_workbench_end(&m->bench, rc && rc != -ECANCELED);
    return rc;
}

static void measurement_free(struct measurement *m)
{
    size_t cells = (size_t)m->revisions.count * m->options.cell_count;
    for (size_t i = 0; m->outcomes && i < cells; i++)
        free(m->outcomes[i].ns);
    free(m->outcomes);
    free(m->is_broken);
    wp_revisions_fini(&m->revisions);
    wp_measure_options_fini(&m->options);
    free(m);
}

int wp_measure_run(int argc, char **argv, FILE *print, FILE *say, struct wp_error *err)
{
    struct measurement *m = calloc(1, sizeof(*m));
    if (!m)
        return wp_error_set(err, -ENOMEM, "out of memory"), WP_EXIT_FAILURE;
    m->say = say;
    int code = WP_EXIT_FAILURE, rc = wp_measure_options_parse(&m->options, argc, argv, err);
    if (!rc)
        rc = list_commits(m, err);
    if (!rc && m->options.is_dry) {
        print_plan(m, print);
        code = WP_EXIT_OK;
    } else if (!rc) {
        rc = run(m, print, err);
        code = rc ? WP_EXIT_FAILURE : has_worse(m) ? GOT_WORSE : WP_EXIT_OK;
    }
    measurement_free(m);
    return code;
}
