/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/daemon/aggregator_vitals.h"

#include "aggregator/daemon/symbol_broker.h"
#include "aggregator/daemon/vital_hosts.h"
#include "aggregator/explain/explain.h"
#include "aggregator/shard/shards.h"
#include "common/clock.h"
#include "common/health.h"
#include "common/metrics.h"
#include "common/version.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS WP_NS_PER_S
#define SHARE 100u /* a look is followed by so many times of what it took */
#define STORE_NS (10 * WP_NS_PER_S)
#define RELEASES 65536u       /* counted at most */
#define LOW_BYTES (64u << 20) /* free on the store's disk: the next growth may fail */

struct wp_aggregator_vitals {
    struct wp_aggregator_vitals_options options;
    struct wp_health *health;
    struct wp_vital_hosts *hosts;
    struct wp_buffer text;
    uint64_t next_ns, store_next_ns;
    uint64_t commits, commit_ns, commit_last_ns, failures; /* commits: those the engine has told so far */
    bool is_failing;
    uint64_t store_bytes, free_bytes;
    uint32_t releases;
};

int wp_aggregator_vitals_open(
    struct wp_aggregator_vitals **out, const struct wp_aggregator_vitals_options *options, struct wp_error *err)
{
    struct wp_aggregator_vitals *v = calloc(1, sizeof(*v));
    int rc = v ? 0 : wp_error_set(err, -ENOMEM, "out of memory");
    if (!rc) {
        v->options = *options;
        v->hosts = wp_vital_hosts_create();
        rc = v->hosts ? wp_health_open(&v->health, options->listen, options->logger, err)
                      : wp_error_set(err, -ENOMEM, "out of memory");
    }
    if (rc) {
        wp_aggregator_vitals_close(v);
        return rc;
    }
    *out = v;
    return 0;
}

void wp_aggregator_vitals_close(struct wp_aggregator_vitals *v)
{
    if (!v)
        return;
    wp_health_close(v->health);
    wp_vital_hosts_destroy(v->hosts);
    wp_buffer_fini(&v->text);
    free(v);
}

void wp_aggregator_vitals_committed(struct wp_aggregator_vitals *v, uint64_t took_ns, int code)
{
    struct wp_engine_counts counts;
    if (!v)
        return;
    wp_engine_count(v->options.engine, &counts);
    if (code) {
        v->failures++;
        v->is_failing = true;
    }
    if (counts.commits == v->commits) /* there was nothing to write, or it was not time */
        return;
    v->is_failing = code != 0;
    v->commits = counts.commits;
    v->commit_ns += took_ns;
    v->commit_last_ns = took_ns;
}

/* --- the store's disk --- */

static uint64_t bytes_of(int root, const char *release)
{
    char path[300];
    struct stat status;
    if ((size_t)snprintf(path, sizeof(path), "%s/data.mdb", release) >= sizeof(path) ||
        fstatat(root, path, &status, AT_SYMLINK_NOFOLLOW))
        return 0;
    return (uint64_t)status.st_blocks * 512;
}

static void look_at_store(struct wp_aggregator_vitals *v)
{
    struct statvfs disk;
    DIR *folder = opendir(v->options.store);
    v->store_bytes = v->releases = 0;
    for (struct dirent *entry; folder && v->releases < RELEASES && (entry = readdir(folder));) {
        uint64_t bytes = *entry->d_name == '.' ? 0 : bytes_of(dirfd(folder), entry->d_name);
        v->store_bytes += bytes;
        v->releases += bytes > 0;
    }
    if (folder)
        closedir(folder);
    v->free_bytes = statvfs(v->options.store, &disk) ? 0 : (uint64_t)disk.f_bavail * disk.f_frsize;
}

/* --- told --- */

static void put(
    struct wp_aggregator_vitals *v, const char *name, enum wp_metric_type type, const char *help, double value)
{
    wp_metric_put(&v->text, name, type, help, value);
}

static void put_sums(struct wp_aggregator_vitals *v, const struct wp_engine_counts *counts)
{
    const struct wp_vital_sums *sums = wp_vital_hosts_sums(v->hosts);
    put(v, "wakepath_aggregator_sessions", WP_GAUGE, "Live sessions.", counts->live);
    put(v, "wakepath_aggregator_sessions_ended_total", WP_COUNTER, "Sessions that have ended and are on disk.",
        counts->ended);
    put(v, "wakepath_aggregator_held_bytes", WP_GAUGE, "Memory that sessions hold; --memory bounds it.",
        (double)counts->held_bytes);
    put(v, "wakepath_aggregator_sessions_shed_total", WP_COUNTER,
        "Sessions that were ended because they held too much memory.", (double)counts->shed);
    put(v, "wakepath_aggregator_hosts", WP_GAUGE, "Hosts that are recorded.", sums->hosts);
    put(v, "wakepath_aggregator_hosts_unlisted", WP_GAUGE, "Hosts without lines of their own.", sums->unlisted_hosts);
    put(v, "wakepath_aggregator_hosts_silent", WP_GAUGE, "Sessions whose collector sends nothing.", sums->silent);
    put(v, "wakepath_aggregator_events_total", WP_COUNTER, "Events of all hosts.", (double)sums->events);
    put(v, "wakepath_aggregator_dropped_events_total", WP_COUNTER, "Events that collectors had no room for.",
        (double)sums->drops);
    put(v, "wakepath_aggregator_lag_seconds", WP_GAUGE, "Largest lag of a host that is not silent.", sums->lag_s);
    put(v, "wakepath_aggregator_clock_bound_seconds", WP_GAUGE, "Largest bound of a host's clock.", sums->bound_s);
    put(v, "wakepath_aggregator_edges", WP_GAUGE, "Pairs of hosts that talk, each direction.", sums->edges);
    put(v, "wakepath_aggregator_pairs_unlisted", WP_GAUGE, "Pairs without lines of their own.", sums->unlisted_pairs);
}

static void put_messages(struct wp_aggregator_vitals *v)
{
    static const char name[] = "wakepath_aggregator_messages_total";
    const struct wp_traffic_totals *totals = wp_connections_totals(wp_engine_fleet(v->options.engine)->connections);
    wp_metric_begin(
        &v->text, name, WP_COUNTER, "Messages that came from other hosts, by what is known of their sender.");
    wp_metric_labelled(&v->text, name, "sender", "matched", (double)totals->matched);
    wp_metric_labelled(&v->text, name, "sender", "unmatched", (double)totals->unmatched);
    wp_metric_labelled(&v->text, name, "sender", "ambiguous", (double)totals->ambiguous);
}

static void put_limits(struct wp_aggregator_vitals *v)
{
    static const char times[] = "wakepath_aggregator_limits_total",
                      seconds[] = "wakepath_aggregator_limited_seconds_total";
    const struct wp_fleet *fleet = wp_engine_fleet(v->options.engine);
    wp_metric_begin(&v->text, times, WP_COUNTER,
        "How often a bound of the explanation was reached, of all aggregates, by its name.");
    for (unsigned i = 0; i < WP_LIMITS; i++)
        wp_metric_labelled(&v->text, times, "bound", wp_limit_name(i), (double)fleet->limits[i].count);
    wp_metric_begin(&v->text, seconds, WP_COUNTER, "Time affected by a bound of the explanation.");
    for (unsigned i = 0; i < WP_LIMITS; i++)
        wp_metric_labelled(&v->text, seconds, "bound", wp_limit_name(i), (double)fleet->limits[i].ns / 1e9);
}

static void put_irregular(struct wp_aggregator_vitals *v)
{
    static const char name[] = "wakepath_aggregator_irregular_total";
    struct wp_engine *engine = v->options.engine;
    wp_metric_begin(&v->text, name, WP_COUNTER, "Events that did not fit with those around them, by kind.");
    for (unsigned kind = 0; kind < WP_IRREGULARS; kind++) {
        uint64_t count = wp_engine_fleet(engine)->irregular[kind];
        for (uint32_t slot = 0; slot < wp_engine_slots(engine); slot++)
            if (wp_engine_session(engine, slot))
                count += wp_irregular_count(wp_host_session_timeline(wp_engine_session(engine, slot)), kind);
        wp_metric_labelled(&v->text, name, "kind", wp_irregular_name(kind), (double)count);
    }
}

static void put_shard(struct wp_aggregator_vitals *v, const struct wp_shards *shards, const char *name,
    const char *help, double (*value)(const struct wp_shard_state *state))
{
    wp_metric_begin(&v->text, name, WP_GAUGE, help);
    for (uint32_t i = 0; i < wp_shards_count(shards); i++) {
        struct wp_shard_state state;
        wp_shards_state(shards, i, &state);
        wp_metric_labelled(&v->text, name, "shard", state.name, value(&state));
    }
}

static double up_of(const struct wp_shard_state *state)
{
    return state->is_up;
}

static double hosts_of(const struct wp_shard_state *state)
{
    return state->hosts;
}

static double bound_of(const struct wp_shard_state *state)
{
    return state->bound_ns == UINT64_MAX ? INFINITY : (double)state->bound_ns / 1e9;
}

static void put_shards(struct wp_aggregator_vitals *v)
{
    static const char questions[] = "wakepath_aggregator_shard_questions_total",
                      ends[] = "wakepath_aggregator_shard_ends_total";
    static const char datagrams[] = "wakepath_aggregator_shard_datagrams_total";
    const struct wp_shards *shards = wp_engine_fleet(v->options.engine)->shards;
    if (!shards)
        return;
    const struct wp_shard_counts *counts = wp_shards_counts(shards);
    put_shard(v, shards, "wakepath_aggregator_shard_up", "1: the other aggregator answers.", up_of);
    put_shard(v, shards, "wakepath_aggregator_shard_hosts", "Its hosts that are known here.", hosts_of);
    put_shard(v, shards, "wakepath_aggregator_shard_clock_bound_seconds", "Bound of its clock.", bound_of);
    wp_metric_begin(&v->text, questions, WP_COUNTER, "Waits on hosts of other shards, by the answer.");
    wp_metric_labelled(&v->text, questions, "answer", "explained", (double)counts->answered);
    wp_metric_labelled(&v->text, questions, "answer", "refused", (double)counts->refused);
    wp_metric_labelled(&v->text, questions, "answer", "none", (double)counts->unanswered);
    put(v, "wakepath_aggregator_shard_asked_total", WP_COUNTER, "Questions of other shards.",
        (double)counts->questions);
    put(v, "wakepath_aggregator_shard_asked_refused_total", WP_COUNTER,
        "Questions of other shards that could not be answered.", (double)counts->late);
    wp_metric_begin(&v->text, ends, WP_COUNTER, "Ends of connections that shards exchanged.");
    wp_metric_labelled(&v->text, ends, "way", "told", (double)counts->ends_told);
    wp_metric_labelled(&v->text, ends, "way", "heard", (double)counts->ends_heard);
    wp_metric_labelled(&v->text, ends, "way", "lost", (double)counts->ends_lost);
    wp_metric_begin(&v->text, datagrams, WP_COUNTER, "Keys of datagrams sent to other shards.");
    wp_metric_labelled(&v->text, datagrams, "way", "told", (double)counts->datagrams_told);
    wp_metric_labelled(&v->text, datagrams, "way", "lost", (double)counts->datagrams_lost);
    put(v, "wakepath_aggregator_shard_paths_lost_total", WP_COUNTER,
        "Paths that others waited on, of sessions that are over.", (double)counts->paths_lost);
    put(v, "wakepath_aggregator_shard_bad_messages_total", WP_COUNTER, "Invalid messages of other shards.",
        (double)counts->bad);
}

static void put_names(struct wp_aggregator_vitals *v)
{
    static const char name[] = "wakepath_aggregator_names_asked_total";
    const struct wp_symbol_broker_counts counts = wp_symbol_broker_counts(v->options.names);
    wp_metric_begin(&v->text, name, WP_COUNTER, "Code places whose names collectors asked for, by what answered.");
    wp_metric_labelled(&v->text, name, "by", "memory", (double)counts.known);
    wp_metric_labelled(&v->text, name, "by", "reader", (double)counts.awaited);
    wp_metric_labelled(&v->text, name, "by", "nobody", (double)(counts.asked - counts.known - counts.awaited));
    put(v, "wakepath_aggregator_names_known", WP_GAUGE, "Code places whose names are in memory.", counts.places);
    put(v, "wakepath_aggregator_names_refused_total", WP_COUNTER, "Invalid questions and names of collectors.",
        (double)counts.refused);
}

static void put_refusals(struct wp_aggregator_vitals *v)
{
    static const char name[] = "wakepath_aggregator_refused_total";
    size_t count = wp_server_refusal_count(v->options.server);
    wp_metric_begin(&v->text, name, WP_COUNTER, "Peers and messages that were refused, by reason; at most 64 reasons.");
    for (size_t i = 0; i < count; i++) {
        uint64_t times;
        const char *reason = wp_server_refusal(v->options.server, i, &times);
        wp_metric_labelled(&v->text, name, "reason", reason, (double)times);
    }
}

static void put_store(struct wp_aggregator_vitals *v, const struct wp_late_counts *late)
{
    put(v, "wakepath_aggregator_commits_total", WP_COUNTER, "Commits to the store, one a session.", (double)v->commits);
    put(v, "wakepath_aggregator_commit_seconds_total", WP_COUNTER, "Time of all commits.", (double)v->commit_ns / 1e9);
    put(v, "wakepath_aggregator_commit_last_seconds", WP_GAUGE, "Time of the last round of commits.",
        (double)v->commit_last_ns / 1e9);
    put(v, "wakepath_aggregator_commit_failures_total", WP_COUNTER, "Rounds of commits that failed, and are retried.",
        (double)v->failures);
    put(v, "wakepath_aggregator_late_reports_total", WP_COUNTER,
        "Additions to hours that had been over for --late-after.", (double)late->reports);
    put(v, "wakepath_aggregator_late_seconds_total", WP_COUNTER, "Time of control paths in late additions.",
        (double)late->total_ns / 1e9);
    put(v, "wakepath_aggregator_store_bytes", WP_GAUGE, "Bytes of the store on its disk.", (double)v->store_bytes);
    put(v, "wakepath_aggregator_store_free_bytes", WP_GAUGE, "Bytes that are free on the store's disk.",
        (double)v->free_bytes);
    put(v, "wakepath_aggregator_store_releases", WP_GAUGE, "Releases in the store.", v->releases);
}

static void put_all(struct wp_aggregator_vitals *v)
{
    static const char name[] = "wakepath_aggregator_info";
    struct wp_engine_counts counts;
    wp_engine_count(v->options.engine, &counts);
    wp_buffer_clear(&v->text);
    wp_metric_begin(&v->text, name, WP_GAUGE, "Version and identity; always 1.");
    wp_metric_line(
        &v->text, name, (struct wp_metric_label[]){{"version", wp_version()}, {"shard", v->options.shard}}, 2, 1);
    put_sums(v, &counts);
    put_messages(v);
    put_limits(v);
    put_irregular(v);
    put_shards(v);
    put_names(v);
    put_refusals(v);
    put_store(v, &counts.late);
    wp_vital_hosts_put(v->hosts, &v->text);
    wp_metric_process(&v->text);
}

/* NULL: all is well. That a host is silent or late is the host's trouble; the metrics say it. */
static const char *judge(const struct wp_aggregator_vitals *v)
{
    if (v->is_failing)
        return "the store cannot be written, nothing is acknowledged until it can: is its disk full?";
    if (v->store_next_ns && v->free_bytes < LOW_BYTES)
        return "less than 64 MiB are free on the store's disk";
    return NULL;
}

void wp_aggregator_vitals_tick(struct wp_aggregator_vitals *v, uint64_t now_ns, uint64_t real_now_ns)
{
    if (!v || now_ns < v->next_ns)
        return;
    uint64_t start_ns = wp_clock_ns();
    if (now_ns >= v->store_next_ns) {
        look_at_store(v);
        v->store_next_ns = now_ns + STORE_NS;
    }
    wp_vital_hosts_look(v->hosts, v->options.engine, now_ns, real_now_ns);
    put_all(v);
    wp_health_publish(v->health, &v->text, judge(v));
    uint64_t rest_ns = (wp_clock_ns() - start_ns) * SHARE;
    v->next_ns = now_ns + (rest_ns > LOOK_NS ? rest_ns : LOOK_NS);
}
