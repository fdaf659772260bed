/* SPDX-License-Identifier: Apache-2.0 */
/* State and metadata of a shard: each goes in, comes back, and follows its rule when it is there already. */
#include "tests/storage/store_fixture.h"

#include "proto/store.pb-c.h"
#include "storage/env/txn.h"
#include "storage/kind/genealogy_store.h"
#include "storage/kind/metadata_store.h"
#include "storage/kind/report_compact.h"
#include "storage/kind/shard_store.h"
#include "storage/kind/source_store.h"
#include "storage/kind/sourcemap_store.h"
#include "storage/kind/state_store.h"
#include "storage/value/columns.h"

#include <errno.h>

/* Without what is told of few: its control group, and whose memory had run out as it was killed. */
#define ROW(host_, comm_, exe_, pid_, parent_, start_, parent_start_, exec_, end_, ending_)                            \
    {                                                                                                                  \
        .host = (host_), .comm = (comm_), .exe = (exe_), .pid = (pid_), .parent_pid = (parent_), .start_ns = (start_), \
        .parent_start_ns = (parent_start_), .exec_ns = (exec_), .end_ns = (end_), .ending = (ending_)                  \
    }

static struct wp_buffer get(struct wp_txn *txn, const char *key, enum wp_value_kind kind)
{
    struct wp_buffer raw = {0};
    struct wp_error err = {0};
    if (wp_txn_get(txn, key, kind, &raw, &err))
        fail_msg("%s", err.text);
    return raw;
}

static void layout_is_whole(void **state)
{
    struct wp_txn *txn = fixture_begin(*state, "v1", true);
    static const char *const kinds[] = {
        "shard", "metadata", "last_sample", "genealogy", "sourcemap", "source", "clock"};
    assert_int_equal(wp_txn_register_shard(txn, "web-1", NULL), 0);
    assert_int_equal(wp_txn_set_metadata(txn, &(struct wp_metadata_scope){.aggregate = NULL},
                         &(struct wp_metadata_writer){"web-1", 1}, "owner", "me", NULL),
        0);
    assert_int_equal(wp_txn_register_shard(txn, "web-1", NULL), 0);
    assert_int_equal(fixture_count(txn, ""), 7);
    for (size_t i = 0; i < 7; i++) {
        char key[64];
        snprintf(key, sizeof(key), "__state__/%s.web-1", kinds[i]);
        assert_int_equal(fixture_count(txn, key), 1);
    }
    struct wp_buffer raw = get(txn, "__state__/metadata.web-1", WP_VALUE_METADATA);
    assert_true(raw.size > 0); /* registering again empties nothing */
    wp_buffer_fini(&raw);
    wp_txn_abort(txn);
}

static void resume_points_come_back(void **state)
{
    struct wp_txn *txn = fixture_begin(*state, "v1", true);
    struct wp_resume in = {.session = "0123456789abcde",
                         .host = "fedcba987654321",
                         .hostname = "web \xff",
                         .seq = UINT64_MAX,
                         .until_mono_ns = 77,
                         .ended = true},
                     out, none;
    struct wp_error err = {0};
    memset(&out, 0xaa, sizeof(out));
    assert_int_equal(wp_txn_put_resume(txn, "s", &in, NULL), 0);
    assert_int_equal(wp_txn_get_resume(txn, "s", in.session, &out, NULL), 0);
    assert_memory_equal(in.session, out.session, 16);
    assert_memory_equal(in.host, out.host, 16);
    assert_string_equal(out.hostname, "web \xff");
    assert_int_equal(out.seq, UINT64_MAX);
    assert_int_equal(out.until_mono_ns, 77);
    assert_true(out.ended);
    assert_int_equal(wp_txn_get_resume(txn, "other", in.session, &none, &err), -ENOENT);
    assert_int_equal(wp_txn_get_resume(txn, "s", (const uint8_t *)"another session", &none, NULL), -ENOENT);
    assert_int_equal(fixture_count(txn, "__state__/processed.30313233-3435-3637-3839-616263646500.s"), 1);
    wp_txn_abort(txn);
}

static void last_samples_are_merged(void **state)
{
    struct wp_txn *txn = fixture_begin(*state, "v1", true);
    static const struct {
        const char *session;
        uint64_t real_s;
    } puts[] = {{"bbbbbbbbbbbbbbbb", 5}, {"aaaaaaaaaaaaaaaa", 7}, {"bbbbbbbbbbbbbbbb", 9}, {"aaaaaaaaaaaaaaaa", 3}};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(wp_txn_put_last_sample(txn, "s", (const uint8_t *)puts[i].session, puts[i].real_s, NULL), 0);
    struct wp_buffer raw = get(txn, "__state__/last_sample.s", WP_VALUE_LAST_SAMPLE);
    Wakepath__Store__LastSample *m = wakepath__store__last_sample__unpack(NULL, raw.size, raw.data);
    assert_int_equal(m->n_entries, 2);
    assert_memory_equal(m->entries[0]->session.data, "aaaaaaaaaaaaaaaa", 16);
    assert_int_equal(m->entries[0]->real_s, 7); /* never back */
    assert_int_equal(m->entries[1]->real_s, 9);
    wakepath__store__last_sample__free_unpacked(m, NULL);
    wp_buffer_fini(&raw);
    wp_txn_abort(txn);
}

static void clocks_are_kept_by_span(void **state)
{
    struct wp_txn *txn = fixture_begin(*state, "v1", true);
    struct wp_clock_row rows[] = {{.host = "bbbbbbbbbbbbbbb",
                                      .hostname = "b",
                                      .method = "anchor",
                                      .from_mono_ns = 10,
                                      .to_mono_ns = 20,
                                      .offset_ns = -5,
                                      .bound_ns = UINT64_MAX},
        {.host = "aaaaaaaaaaaaaaa",
            .hostname = "a",
            .method = "anchor",
            .from_mono_ns = 30,
            .to_mono_ns = 40,
            .offset_ns = 7,
            .bound_ns = 3}};
    assert_int_equal(wp_txn_put_clock(txn, "s", rows, 2, NULL), 0);
    rows[0].to_mono_ns = 99;
    assert_int_equal(wp_txn_put_clock(txn, "s", rows, 1, NULL), 0);
    rows[0].from_mono_ns = 5;
    assert_int_equal(wp_txn_put_clock(txn, "s", rows, 1, NULL), 0);
    struct wp_buffer raw = get(txn, "__state__/clock.s", WP_VALUE_CLOCK);
    Wakepath__Store__Clock *m = wakepath__store__clock__unpack(NULL, raw.size, raw.data);
    assert_int_equal(m->n_spans, 3);
    assert_int_equal(m->spans[0]->host.data[0], 'a');
    assert_int_equal(m->spans[1]->from_mono_ns, 5);
    assert_int_equal(m->spans[2]->to_mono_ns, 99);
    assert_int_equal(m->spans[2]->offset_ns, -5);
    assert_true(m->spans[2]->bound_ns == UINT64_MAX);
    wakepath__store__clock__free_unpacked(m, NULL);
    wp_buffer_fini(&raw);
    wp_txn_abort(txn);
}

static void add_people(struct wp_txn *txn, uint32_t from, uint32_t to)
{
    for (uint32_t pid = from; pid < to; pid++) {
        char comm[16];
        snprintf(comm, sizeof(comm), "p%u", pid % 5);
        struct wp_genealogy_row rows[] = {ROW("h", comm, "/bin/p", pid, pid / 2, pid * 10ull, pid * 5ull, 0, 0, 0),
            ROW("h", "", "", pid, 1, 0, 0, 0, 0, 0)};
        assert_int_equal(wp_txn_add_genealogy(txn, "s", rows, 2, NULL), 0);
    }
}

static void genealogy_is_a_set(void **state)
{
    struct fixture *f = *state;
    struct wp_buffer raw[2];
    for (int reverse = 0; reverse < 2; reverse++) {
        struct wp_txn *txn = fixture_begin(f, reverse ? "v2" : "v1", true);
        assert_int_equal(wp_txn_register_shard(txn, "s", NULL), 0);
        add_people(txn, reverse ? 20 : 10, reverse ? 40 : 25);
        if (reverse)
            assert_int_equal(wp_txn_compact(txn, "s", NULL), 0);
        add_people(txn, reverse ? 10 : 20, reverse ? 25 : 40); /* 20 to 25 come twice */
        assert_true(fixture_count(txn, "__state__/genealogy.s") > 1);
        assert_int_equal(wp_txn_compact(txn, "s", NULL), 0);
        assert_int_equal(fixture_count(txn, "__state__/genealogy.s"), 1);
        raw[reverse] = get(txn, "__state__/genealogy.s", WP_VALUE_GENEALOGY);
        wp_txn_abort(txn);
    }
    assert_int_equal(raw[0].size, raw[1].size);
    assert_memory_equal(raw[0].data, raw[1].data, raw[0].size);
    Wakepath__Store__Genealogy *m = wakepath__store__genealogy__unpack(NULL, raw[0].size, raw[0].data);
    assert_int_equal(m->n_pid, 60);
    assert_int_equal(m->n_strings, 1 + 5 + 1);
    assert_int_equal(m->pid[0], 10);
    assert_int_equal(m->comm[0], 0);
    assert_int_equal(m->parent_pid[1], 5);
    assert_int_equal(m->start_ns[1], 100);
    wakepath__store__genealogy__free_unpacked(m, NULL);
    wp_buffer_fini(&raw[0]);
    wp_buffer_fini(&raw[1]);
}

static int count_row(void *context, const struct wp_genealogy_row *row)
{
    unsigned *seen = context;
    assert_string_equal(row->host, "h");
    assert_string_equal(row->comm, seen[0] ? "b" : "a");
    assert_int_equal(row->exec_ns, seen[0] ? 25 : 0);
    assert_int_equal(row->end_ns, seen[0] ? 30 : 0);
    assert_int_equal(row->ending, seen[0] ? WP_ENDING_STATUS + 3 : 0);
    return ++seen[0] > 2 ? -ECANCELED : 0;
}

/* What became of a process is told later than that it began, again and again, and in any order: one row has it all. */
static void genealogy_has_endings(void **state)
{
    const struct wp_genealogy_row rows[] = {ROW("h", "a", "", 7, 1, 20, 10, 0, 0, 0),
        ROW("h", "b", "/b", 7, 7, 20, 20, 0, 0, 0), ROW("h", "b", "/b", 7, 7, 20, 20, 25, 0, 0),
        ROW("h", "b", "/b", 7, 7, 20, 20, 25, 30, WP_ENDING_STATUS + 3)};
    struct wp_buffer raw[2];
    for (int reverse = 0; reverse < 2; reverse++) {
        struct wp_txn *txn = fixture_begin(*state, reverse ? "v2" : "v1", true);
        struct wp_genealogy_visit visit = {count_row, &(unsigned){0}, 7};
        assert_int_equal(wp_txn_register_shard(txn, "s", NULL), 0);
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(wp_txn_add_genealogy(txn, "s", &rows[reverse ? 3 - i : i], 1, NULL), 0);
        assert_int_equal(wp_txn_add_genealogy(txn, "s", &rows[reverse ? 0 : 3], 1, NULL), 0);
        assert_int_equal(wp_txn_read_genealogy(txn, "s", &visit, NULL), 0); /* of deltas as of their sum */
        assert_int_equal(*(unsigned *)visit.context, 2);
        assert_int_equal(visit.damaged, 0);
        assert_int_equal(wp_txn_compact(txn, "s", NULL), 0);
        raw[reverse] = get(txn, "__state__/genealogy.s", WP_VALUE_GENEALOGY);
        assert_int_equal(wp_genealogy_check(raw[reverse].data, raw[reverse].size, NULL), 0);
        wp_txn_abort(txn);
    }
    assert_int_equal(raw[0].size, raw[1].size);
    assert_memory_equal(raw[0].data, raw[1].data, raw[0].size);
    wp_buffer_fini(&raw[0]);
    wp_buffer_fini(&raw[1]);
}

static int see_killed(void *context, const struct wp_genealogy_row *row)
{
    unsigned *seen = context;
    bool is_killed = !strcmp(row->comm, "b");
    assert_string_equal(row->oom_cgroup, is_killed ? "/web.service" : "");
    assert_string_equal(row->oom_holder, is_killed ? "hog" : "");
    assert_int_equal(row->oom_bytes, is_killed ? 4096 : 0);
    assert_string_equal(row->cgroup, is_killed ? "/web.service/b" : "/");
    assert_string_equal(row->workload, is_killed ? "pod/b" : "");
    return ++seen[0] > 2 ? -ECANCELED : 0;
}

/* Where a process is, and whose memory had run out as it was killed, whatever is told first; what is not so is refused.
 */
static void genealogy_has_groups(void **state)
{
    struct wp_genealogy_row rows[] = {ROW("h", "a", "", 7, 1, 20, 10, 0, 0, 0),
        ROW("h", "b", "/b", 8, 7, 30, 20, 0, 0, 0), ROW("h", "b", "/b", 8, 7, 30, 20, 0, 40, WP_ENDING_OOM)};
    struct wp_txn *txn = fixture_begin(*state, "v1", true);
    struct wp_genealogy_visit visit = {see_killed, &(unsigned){0}, 7};
    rows[0].cgroup = "/";
    rows[1].cgroup = "/web.service/b";
    rows[1].workload = "pod/b";
    rows[1].oom_cgroup = "/web.service";
    rows[1].oom_holder = "hog";
    rows[1].oom_bytes = 4096;
    assert_int_equal(wp_txn_register_shard(txn, "s", NULL), 0);
    for (unsigned i = 3; i-- > 0;)
        assert_int_equal(wp_txn_add_genealogy(txn, "s", &rows[i], 1, NULL), 0);
    assert_int_equal(wp_txn_compact(txn, "s", NULL), 0);
    assert_int_equal(wp_txn_read_genealogy(txn, "s", &visit, NULL), 0);
    assert_int_equal(*(unsigned *)visit.context, 2);
    struct wp_buffer raw = get(txn, "__state__/genealogy.s", WP_VALUE_GENEALOGY), bad = {0};
    Wakepath__Store__Genealogy *m = wakepath__store__genealogy__unpack(NULL, raw.size, raw.data);
    assert_int_equal(m->n_oom_cgroup, 2);
    m->oom_cgroup[1] = (uint32_t)m->n_strings + 1;
    assert_int_equal(wp_message_pack(&m->base, &bad, NULL), 0);
    assert_int_equal(wp_genealogy_check(bad.data, bad.size, NULL), -EBADMSG);
    wakepath__store__genealogy__free_unpacked(m, NULL);
    wp_buffer_fini(&raw);
    wp_buffer_fini(&bad);
    wp_txn_abort(txn);
}

/* A host that starts processes for ever: the latest are there, whom they descend from, what else runs there, and not
 * many more. */
static void genealogy_is_bounded(void **state)
{
    struct wp_txn *txn = fixture_begin(*state, "v1", true);
    const uint32_t chunk = 65536, all = 10 * chunk;
    struct wp_genealogy_row *rows = calloc(chunk, sizeof(*rows));
    bool has_first = false, has_last = false, has_daemon = false;
    struct wp_genealogy_row daemon = ROW("h", "d", "/bin/d", all + 1, 1, 20000000000u, 10000000000u, 0, 0, 0);
    assert_int_equal(wp_txn_register_shard(txn, "s", NULL), 0);
    for (uint32_t first = 1; first <= all; first += chunk) {
        for (uint32_t i = 0; i < chunk; i++) /* of one parent, which is the oldest of all */
            rows[i] = (struct wp_genealogy_row)ROW(
                "h", "p", "/bin/p", first + i, 1, (uint64_t)(first + i) * 10000000000u, 10000000000u, 0, 0, 0);
        assert_int_equal(wp_txn_add_genealogy(txn, "s", rows, chunk, NULL), 0);
        assert_int_equal(wp_txn_add_genealogy(txn, "s", &daemon, first == 1, NULL), 0);
        assert_int_equal(wp_txn_compact(txn, "s", NULL), 0);
    }
    struct wp_buffer raw = get(txn, "__state__/genealogy.s", WP_VALUE_GENEALOGY);
    Wakepath__Store__Genealogy *m = wakepath__store__genealogy__unpack(NULL, raw.size, raw.data);
    assert_in_range(m->n_pid, WP_GENEALOGY_ROWS / 4, WP_GENEALOGY_ROWS);
    for (size_t i = 0; i < m->n_pid; i++) {
        has_first = has_first || m->pid[i] == 1;
        has_last = has_last || m->pid[i] == all;
        has_daemon = has_daemon || m->pid[i] == all + 1;
        assert_true(m->pid[i] == 1 || m->pid[i] > all - WP_GENEALOGY_ROWS - chunk);
    }
    assert_true(has_first && has_last && has_daemon);
    wakepath__store__genealogy__free_unpacked(m, NULL);
    wp_buffer_fini(&raw);
    wp_txn_abort(txn);
    free(rows);
}

/* Each process of a name and file of its own: the latest of all stay. */
static void genealogy_of_many_names_is_bounded(void **state)
{
    struct wp_txn *txn = fixture_begin(*state, "v1", true);
    const uint32_t chunk = 65536, all = 5 * chunk;
    struct wp_genealogy_row *rows = calloc(chunk, sizeof(*rows));
    char(*names)[16] = calloc(chunk, sizeof(*names));
    assert_int_equal(wp_txn_register_shard(txn, "s", NULL), 0);
    for (uint32_t first = 1; first <= all; first += chunk) {
        for (uint32_t i = 0; i < chunk; i++) {
            snprintf(names[i], sizeof(names[i]), "%u", first + i);
            rows[i] = (struct wp_genealogy_row)ROW(
                "h", names[i], "", first + i, 0, (uint64_t)(first + i) * 10000000000u, 0, 0, 0, 0);
        }
        assert_int_equal(wp_txn_add_genealogy(txn, "s", rows, chunk, NULL), 0);
    }
    assert_int_equal(wp_txn_compact(txn, "s", NULL), 0);
    struct wp_buffer raw = get(txn, "__state__/genealogy.s", WP_VALUE_GENEALOGY);
    Wakepath__Store__Genealogy *m = wakepath__store__genealogy__unpack(NULL, raw.size, raw.data);
    assert_in_range(m->n_pid, WP_GENEALOGY_ROWS / 2, WP_GENEALOGY_ROWS);
    assert_int_equal(m->pid[m->n_pid - 1], all);
    assert_true(m->pid[0] > 1);
    wakepath__store__genealogy__free_unpacked(m, NULL);
    wp_buffer_fini(&raw);
    wp_txn_abort(txn);
    free(names);
    free(rows);
}

static void add_sources(struct wp_txn *txn, struct wp_source_row *rows, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        rows[i] = (struct wp_source_row){"h", "/lib/c.so", (uint64_t)(first + i) * 10000000000u, first + i, {1}};
    assert_int_equal(wp_txn_add_sources(txn, "s", rows, count, NULL), 0);
}

/* As the genealogy; texts of source belong to no process and stay. */
static void sources_are_bounded(void **state)
{
    struct wp_txn *txn = fixture_begin(*state, "v1", true);
    const uint32_t chunk = 65536, all = 5 * chunk;
    struct wp_source_row *rows = calloc(chunk, sizeof(*rows)), text = {"", "/src/a.c", 0, 0, {2}},
                         daemon = {"h", "/bin/d", 10000000000u, 1, {3}};
    bool has_daemon = false, has_last = false;
    assert_int_equal(wp_txn_register_shard(txn, "s", NULL), 0);
    assert_int_equal(wp_txn_add_sources(txn, "s", &text, 1, NULL), 0);
    assert_int_equal(wp_txn_add_sources(txn, "s", &daemon, 1, NULL), 0);
    for (uint32_t first = 2; first < 2 + all; first += chunk) {
        add_sources(txn, rows, first, chunk);
        assert_int_equal(wp_txn_compact(txn, "s", NULL), 0);
    }
    struct wp_buffer raw = get(txn, "__state__/source.s", WP_VALUE_SOURCE);
    Wakepath__Store__Source *m = wakepath__store__source__unpack(NULL, raw.size, raw.data);
    assert_in_range(m->n_processes, WP_SOURCE_ROWS / 4, WP_SOURCE_ROWS + 1);
    assert_int_equal(m->processes[0]->host.len, 0);
    for (size_t i = 1; i < m->n_processes; i++) {
        uint32_t pid = m->processes[i]->pid;
        has_daemon = has_daemon || pid == 1;
        has_last = has_last || pid == all + 1;
        assert_true(pid == 1 || pid > all - WP_SOURCE_ROWS);
    }
    assert_true(has_daemon && has_last);
    assert_int_equal(wp_source_check(raw.data, raw.size, NULL), 0);
    wakepath__store__source__free_unpacked(m, NULL);
    wp_buffer_fini(&raw);
    wp_txn_abort(txn);
    free(rows);
}

static void sourcemap_is_a_set(void **state)
{
    struct wp_txn *txn = fixture_begin(*state, "v1", true);
    struct wp_sourcemap_row rows[] = {{(const uint8_t *)"\0\1\2", 3, "libc.so.6", "read", 0x100, NULL, 0, 0},
        {(const uint8_t *)"\0\1\1", 3, "libc.so.6", "write", 0x200, "", 0, 0},
        {(const uint8_t *)"\0\1\2", 3, "libc.so.6", "read", 0x100, NULL, 0, 0},
        {(const uint8_t *)"\0\1\2", 3, "libc.so.6", "open", 0x80, NULL, 0, 0}};
    assert_int_equal(wp_txn_add_sourcemap(txn, "s", rows, 4, NULL), 0);
    assert_int_equal(wp_txn_add_sourcemap(txn, "s", rows, 2, NULL), 0);
    assert_int_equal(wp_txn_add_sourcemap(txn, "s", rows, 0, NULL), 0);
    assert_int_equal(fixture_count(txn, "__state__/sourcemap.s.~"), 2);
    assert_int_equal(wp_txn_compact(txn, "s", NULL), 0);
    struct wp_buffer raw = get(txn, "__state__/sourcemap.s", WP_VALUE_SOURCEMAP);
    Wakepath__Store__SourceMap *m = wakepath__store__source_map__unpack(NULL, raw.size, raw.data);
    assert_int_equal(m->n_offset, 3);
    assert_int_equal(m->n_build_ids, 2);
    assert_memory_equal(m->build_ids[0].data, "\0\1\1", 3);
    assert_int_equal(m->offset[1], 0x80);
    assert_memory_equal(m->strings[m->function[1] - 1].data, "open", 4);
    wakepath__store__source_map__free_unpacked(m, NULL);
    rows[0].build_id_size = 65;
    assert_int_equal(wp_txn_add_sourcemap(txn, "s", rows, 1, NULL), -EINVAL);
    wp_buffer_fini(&raw);
    wp_txn_abort(txn);
}

/* What was written without lines has the same bytes as before there were any; with them each level is a row. */
static void sourcemap_has_lines(void **state)
{
    struct wp_txn *txn = fixture_begin(*state, "v1", true);
    const uint8_t build[] = {7};
    struct wp_sourcemap_row rows[] = {{build, 1, "app", "inner", 0x100, "app.h", 3, 1},
        {build, 1, "app", "outer", 0x100, "app.c", 20, 0}, {build, 1, "app", "outer", 0x80, "app.c", 19, 0}};
    assert_int_equal(wp_txn_add_sourcemap(txn, "s", rows + 2, 1, NULL), 0);
    assert_int_equal(wp_txn_add_sourcemap(txn, "s", rows, 2, NULL), 0);
    assert_int_equal(wp_txn_add_sourcemap(txn, "s", rows, 3, NULL), 0);
    assert_int_equal(wp_txn_compact(txn, "s", NULL), 0);
    struct wp_buffer raw = get(txn, "__state__/sourcemap.s", WP_VALUE_SOURCEMAP);
    Wakepath__Store__SourceMap *m = wakepath__store__source_map__unpack(NULL, raw.size, raw.data);
    assert_int_equal(m->n_offset, 3);
    assert_int_equal(m->n_line, 3);
    assert_int_equal(m->line[0], 19);
    assert_int_equal(m->line[1], 20);
    assert_memory_equal(m->strings[m->function[2] - 1].data, "inner", 5);
    assert_memory_equal(m->strings[m->file[2] - 1].data, "app.h", 5);
    assert_int_equal(m->level[2], 1);
    wakepath__store__source_map__free_unpacked(m, NULL);
    wp_buffer_fini(&raw);
    rows[2].file = NULL;
    rows[2].line = 0;
    assert_int_equal(wp_txn_register_shard(txn, "old", NULL), 0);
    assert_int_equal(wp_txn_add_sourcemap(txn, "old", rows + 2, 1, NULL), 0);
    assert_int_equal(wp_txn_compact(txn, "old", NULL), 0);
    raw = get(txn, "__state__/sourcemap.old", WP_VALUE_SOURCEMAP);
    m = wakepath__store__source_map__unpack(NULL, raw.size, raw.data);
    assert_int_equal(m->n_offset, 1);
    assert_int_equal(m->n_file + m->n_line + m->n_level, 0);
    wakepath__store__source_map__free_unpacked(m, NULL);
    wp_buffer_fini(&raw);
    wp_txn_abort(txn);
}

static int note(void *context, const struct wp_metadata_row *row)
{
    struct wp_buffer *text = context;
    return row->is_winner ? wp_buffer_printf(text, "%s:%s=%s;", row->shard, row->key, row->value) : 0;
}

static void metadata_has_one_rule(void **state)
{
    struct wp_txn *txn = fixture_begin(*state, "v1", true);
    static const struct {
        const char *shard, *key, *value;
        uint64_t real_s;
    } puts[] = {{"b", "owner", "old", 5}, {"a", "owner", "new", 9}, {"a", "owner", "older", 8}, {"a", "tie", "a", 4},
        {"b", "tie", "b", 4}, {"b", "empty", "", 1}, {"a", "same", "first", 3}, {"a", "same", "second", 3}};
    for (size_t i = 0; i < sizeof(puts) / sizeof(*puts); i++)
        assert_int_equal(
            wp_txn_set_metadata(txn, &(struct wp_metadata_scope){.aggregate = NULL},
                &(struct wp_metadata_writer){puts[i].shard, puts[i].real_s}, puts[i].key, puts[i].value, NULL),
            0);
    assert_int_equal(wp_txn_set_metadata(txn, &(struct wp_metadata_scope){.aggregate = "main"},
                         &(struct wp_metadata_writer){"a", 1}, "events", "12", NULL),
        0);
    struct wp_buffer text = {0};
    assert_int_equal(wp_txn_all_metadata(txn, &(struct wp_metadata_scope){.aggregate = NULL}, note, &text, NULL), 0);
    assert_string_equal((char *)text.data, "b:empty=;a:owner=new;a:same=second;b:tie=b;");
    wp_buffer_clear(&text);
    assert_int_equal(wp_txn_all_metadata(txn, &(struct wp_metadata_scope){.aggregate = "main"}, note, &text, NULL), 0);
    assert_string_equal((char *)text.data, "a:events=12;");
    wp_buffer_clear(&text);
    assert_int_equal(
        wp_txn_all_metadata(txn, &(struct wp_metadata_scope){.aggregate = "nobody"}, note, &text, NULL), 0);
    assert_int_equal(text.size, 0);
    char *longest = calloc(1, 70001);
    memset(longest, 'x', 70000);
    assert_int_equal(wp_txn_set_metadata(txn, &(struct wp_metadata_scope){.aggregate = NULL},
                         &(struct wp_metadata_writer){"a", 1}, "", "v", NULL),
        -EINVAL);
    assert_int_equal(wp_txn_set_metadata(txn, &(struct wp_metadata_scope){.aggregate = NULL},
                         &(struct wp_metadata_writer){"a", 1}, longest, "v", NULL),
        -EINVAL);
    assert_int_equal(wp_txn_set_metadata(txn, &(struct wp_metadata_scope){.aggregate = "main"},
                         &(struct wp_metadata_writer){"a", 1}, "long", longest, NULL),
        0);
    assert_int_equal(wp_txn_all_metadata(txn, &(struct wp_metadata_scope){.aggregate = "main"}, note, &text, NULL), 0);
    assert_int_equal(strlen((char *)text.data), strlen("a:events=12;a:long=;") + 65535);
    free(longest);
    wp_buffer_fini(&text);
    wp_txn_abort(txn);
}

struct tally {
    unsigned hosts, networks;
    char first[32], gone[32], owner[32];
};

static int tally(void *context, const struct wp_metadata_row *row)
{
    struct tally *tally = context;
    const char *key = row->key, *value = row->value;
    if (!row->is_winner)
        return 0;
    if (!strncmp(key, "host.", 5) && !tally->hosts++)
        snprintf(tally->first, sizeof(tally->first), "%s", key);
    tally->networks += !strncmp(key, "network.", 8);
    if (!strcmp(key, "metadata.gone"))
        snprintf(tally->gone, sizeof(tally->gone), "%s", value);
    if (!strcmp(key, "owner"))
        snprintf(tally->owner, sizeof(tally->owner), "%s", value);
    return 0;
}

/* More hosts than a value holds: those that were heard of longest ago go, and are counted; a release is never full of
 * them. */
static void metadata_is_trimmed_for_hosts(void **state)
{
    enum { OLD = 65000, NEW = 1000 };
    static char keys[OLD + NEW][24];
    static struct wp_metadata_entry entries[OLD + NEW];
    struct wp_txn *txn = fixture_begin(*state, "v1", true);
    struct tally seen = {0};
    for (unsigned i = 0; i < OLD + NEW; i++) {
        snprintf(keys[i], sizeof(keys[i]), "%s.%06u.x", i < 100 ? "network" : "host", i);
        entries[i] = (struct wp_metadata_entry){keys[i], "v"};
    }
    assert_int_equal(wp_txn_set_metadata(txn, &(struct wp_metadata_scope){.aggregate = NULL},
                         &(struct wp_metadata_writer){"a", 1}, "owner", "me", NULL),
        0);
    assert_int_equal(wp_txn_put_metadata_at(txn, &(struct wp_metadata_scope){.aggregate = NULL},
                         &(struct wp_metadata_writer){"a", 5}, entries, OLD, NULL),
        0);
    assert_int_equal(wp_txn_put_metadata_at(txn, &(struct wp_metadata_scope){.aggregate = NULL},
                         &(struct wp_metadata_writer){"a", 6}, entries + OLD, NEW, NULL),
        0);
    assert_int_equal(wp_txn_all_metadata(txn, &(struct wp_metadata_scope){.aggregate = NULL}, tally, &seen, NULL), 0);
    assert_int_equal(seen.hosts + seen.networks, 65536 - 2); /* with the owner, and the count of what is gone */
    assert_int_equal(seen.networks, 0);                      /* of the same second: these first */
    assert_string_equal(seen.first, keys[100]);
    assert_string_equal(seen.gone, "466");
    assert_string_equal(seen.owner, "me");
    seen = (struct tally){0};
    assert_int_equal(wp_txn_set_metadata(txn, &(struct wp_metadata_scope){.aggregate = NULL},
                         &(struct wp_metadata_writer){"a", 7}, "one", "more", NULL),
        0);
    assert_int_equal(wp_txn_all_metadata(txn, &(struct wp_metadata_scope){.aggregate = NULL}, tally, &seen, NULL), 0);
    assert_int_equal(seen.hosts, 65536 - 3);
    assert_string_equal(seen.gone, "467");
    wp_txn_abort(txn);
}

static void damaged_state_is_an_error(void **state)
{
    struct fixture *f = *state;
    struct wp_txn *txn = fixture_begin(f, "v1", true);
    struct wp_error err = {0};
    uint8_t session[16] = {1};
    assert_int_equal(wp_txn_put_last_sample(txn, "s", session, 1, NULL), 0);
    fixture_commit(txn);
    fixture_damage(f, "v1", "__state__/last_sample.s");
    txn = fixture_begin(f, "v1", true);
    assert_int_equal(wp_txn_put_last_sample(txn, "s", session, 2, &err), -EBADMSG); /* not overwritten in silence */
    assert_non_null(strstr(err.text, "__state__/last_sample.s"));
    wp_txn_abort(txn);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(layout_is_whole), TEST(resume_points_come_back),
        TEST(last_samples_are_merged), TEST(clocks_are_kept_by_span), TEST(genealogy_is_a_set),
        TEST(genealogy_has_endings), TEST(genealogy_has_groups), TEST(genealogy_is_bounded),
        TEST(genealogy_of_many_names_is_bounded), TEST(sources_are_bounded), TEST(sourcemap_is_a_set),
        TEST(sourcemap_has_lines), TEST(metadata_has_one_rule), TEST(metadata_is_trimmed_for_hosts),
        TEST(damaged_state_is_an_error)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
