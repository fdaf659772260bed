/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor/doctor_daemons.h"

#include "cli/fleet/daemon_probe.h"
#include "cli/doctor/doctor_knock.h"
#include "cli/base/http_get.h"
#include "cli/base/installed.h"
#include "common/path.h"
#include "proto/allowlist.h"
#include "proto/curve_keys.h"
#include "storage/env/network_fs.h"

#include <dirent.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#define VALUE 512u
#define DIAL_MS 2000u
#define MIB ((uint64_t)1 << 20)
#define LEAST_BYTES (64 * MIB) /* wrong below it */
#define LOW_BYTES (1024 * MIB)
#define SPOOL_BYTES (256 * MIB) /* what a spool may hold if nothing is said */

/* --- settings, and whether it runs --- */

static bool look_at_settings(struct wp_findings *f, const struct wp_installed *installed, const char *subject)
{
    if (installed->is_sound) {
        wp_findings_add(f, WP_FINDING_GOOD, subject, NULL, "its settings are valid: %s", installed->file);
        return true;
    }
    const char *said = installed->text.data ? (const char *)installed->text.data : "";
    wp_findings_add(f, WP_FINDING_WRONG, subject, "correct that line and try the daemon's --check-config", "%.*s",
        (int)strcspn(said, "\n"), *said ? said : "it does not start");
    return false;
}

/* True when it answers: then its ports are its own. *is_unheard: of a collector, no aggregator takes what it sends, as
 * far as is known. */
static bool look_at_running(
    struct wp_findings *f, const struct wp_installed *installed, enum wp_daemon_probe_kind want, bool *is_unheard)
{
    const char *subject = want == WP_DAEMON_PROBE_COLLECTOR ? "collector" : "aggregator";
    char address[VALUE];
    struct wp_daemon_probe daemon;
    *is_unheard = true;
    wp_installed_metrics(installed, "", address, sizeof(address));
    if (!*address) {
        wp_findings_add(f, WP_FINDING_NOTE, subject,
            "metrics = \"127.0.0.1:9469\" (collector) or \"127.0.0.1:9470\" (aggregator)",
            "it serves no metrics, so its state is unknown");
        return false;
    }
    wp_daemon_probe_ask(&daemon, address);
    bool is_it = daemon.kind == want;
    *is_unheard = !is_it || wp_samples_value(&daemon.samples, "wakepath_collector_welcome", 1) < 1;
    if (daemon.kind == WP_DAEMON_PROBE_NOBODY)
        wp_findings_add(f, WP_FINDING_NOTE, subject, "start it with systemctl, if it should run",
            "it does not run: nothing answers at %s", address);
    else if (!is_it)
        wp_findings_add(f, WP_FINDING_WRONG, subject, "choose another port in its setting `metrics`",
            "another program answers at %s", address);
    else if (!daemon.is_well)
        wp_findings_add(
            f, WP_FINDING_WRONG, subject, "see wakepath status", "it runs and is not well: %s", daemon.trouble);
    else
        wp_findings_add(f, WP_FINDING_GOOD, subject, NULL, "it runs and is well");
    if (is_it && want == WP_DAEMON_PROBE_COLLECTOR &&
        wp_samples_value(&daemon.samples, "wakepath_collector_sampling", 1) < 1)
        wp_findings_add(f, WP_FINDING_WRONG, subject,
            "CAP_SYS_ADMIN in AmbientCapabilities= and CapabilityBoundingSet= of its unit (it gives it up once it "
            "samples), or sysctl "
            "kernel.perf_event_paranoid=2; then restart it",
            "it runs without CPU samples: functions that run stay unknown");
    wp_daemon_probe_fini(&daemon);
    return is_it;
}

/* --- endpoints --- */

static bool is_tcp(const char *endpoint)
{
    return !strncmp(endpoint, "tcp://", 6);
}

/* 0 when somebody listens there. */
static int dial(const char *endpoint, struct wp_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (is_tcp(endpoint)) {
        int fd = wp_http_dial(endpoint + 6, DIAL_MS, err);
        return fd < 0 ? fd : close(fd);
    }
    if (strlen(endpoint) < 7 || strlen(endpoint + 6) >= sizeof(address.sun_path))
        return wp_error_set(err, -EINVAL, "'%.100s' is not an endpoint", endpoint);
    strcpy(address.sun_path, endpoint + 6);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int rc = fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) ? -errno : 0;
    if (fd >= 0)
        close(fd);
    return rc ? wp_error_errno(err, rc, "cannot connect to %.200s", endpoint) : 0;
}

static void look_at_aggregators(struct wp_findings *f, const struct wp_installed *collector)
{
    char endpoint[VALUE], first[VALUE] = "";
    unsigned reached = 0, count = 0;
    struct wp_error err = {0}, last = {0};
    for (; count < WP_INSTALLED_VALUES && wp_installed_value(collector, "connect", count, endpoint, sizeof(endpoint));
         count++) {
        int rc = dial(endpoint, &err);
        reached += !rc;
        if (!rc && !*first)
            memcpy(first, endpoint, sizeof(first));
        if (rc)
            last = err;
    }
    if (count && !reached)
        wp_findings_add(f, WP_FINDING_WRONG, "aggregator",
            "start it; its --bind and this --connect must be one place; a socket file is for its "
            "group (usermod -aG wakepath USER); a port must pass the firewall",
            "%s", last.text);
    else if (reached < count)
        wp_findings_add(f, WP_FINDING_NOTE, "aggregator", "the others are in use meanwhile", "%u of %u answer: %s",
            reached, count, last.text);
    else if (count)
        wp_findings_add(f, WP_FINDING_GOOD, "aggregator", NULL, "something listens at %s%s", first,
            count > 1 ? ", and at the others" : "");
}

/* An address that can be bound, or is this aggregator's own already. */
static void look_at_port(struct wp_findings *f, const char *endpoint)
{
    char host[256];
    struct addrinfo *to = NULL, hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    const char *colon = strrchr(endpoint, ':');
    int one = 1;
    snprintf(host, sizeof(host), "%.*s", (int)(colon - endpoint - 6), endpoint + 6);
    size_t size = strlen(host);
    bool is_v6 = *host == '[' && size > 2;
    if (is_v6)
        host[size - 1] = 0;
    int unknown = getaddrinfo(strcmp(host, "*") ? host + is_v6 : NULL, colon + 1, &hints, &to);
    int fd = unknown ? -1 : socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (unknown)
        wp_findings_add(f, WP_FINDING_WRONG, "port", "an address of this host, or * for all", "%s: %s", endpoint,
            gai_strerror(unknown));
    else if (fd < 0 || bind(fd, to->ai_addr, to->ai_addrlen) || listen(fd, 1))
        wp_findings_add(f, WP_FINDING_WRONG, "port",
            "choose another port in the setting `bind`; `ss -ltnp` says which program has it",
            "cannot listen at %s: %s", endpoint, strerror(errno));
    else
        wp_findings_add(f, WP_FINDING_GOOD, "port", NULL, "%s is free", endpoint);
    if (fd >= 0)
        close(fd);
    if (to)
        freeaddrinfo(to);
}

/* --- keys --- */

static void look_at_secret(struct wp_findings *f, const char *path)
{
    struct wp_key_pair pair;
    struct wp_error err = {0};
    struct stat status;
    int rc = wp_key_pair_read(&pair, path, &err);
    wp_key_pair_forget(&pair);
    bool is_groups = rc == -EPERM && !stat(path, &status) && !status.st_uid && !(status.st_mode & 0037);
    if (!rc || is_groups) /* root's own, for a daemon that is not root */
        wp_findings_add(f, WP_FINDING_GOOD, "key", NULL, "%s is a secret key that only its owner can read", path);
    else
        wp_findings_add(f, rc == -EACCES ? WP_FINDING_NOTE : WP_FINDING_WRONG, "key",
            rc == -EACCES ? "run doctor again as root"
                          : "chmod 600 it and let the daemon's user own it, or make one: wakepath keygen",
            "%s", err.text);
}

static void look_at_collector_keys(struct wp_findings *f, const struct wp_installed *collector, bool is_network)
{
    char path[VALUE], other[VALUE];
    struct wp_public_key key;
    bool has_key = wp_installed_value(collector, "key", 0, path, sizeof(path));
    bool is_insecure = wp_installed_value(collector, "insecure", 0, other, sizeof(other));
    if (is_network && is_insecure)
        wp_findings_add(f, WP_FINDING_NOTE, "key", "wakepath keygen; docs/security.md",
            "what is sent by tcp:// is in plaintext, as asked for");
    if (has_key)
        look_at_secret(f, path);
    for (unsigned i = 0; i < WP_INSTALLED_VALUES && wp_installed_value(collector, "server-key", i, path, sizeof(path));
         i++) {
        struct wp_error err = {0};
        if (wp_public_key_read(&key, path, &err))
            wp_findings_add(f, WP_FINDING_WRONG, "key", "the aggregator's NAME.pub belongs there", "%s", err.text);
        else
            wp_findings_add(f, WP_FINDING_GOOD, "key", NULL, "%s is a public key", path);
    }
}

static void look_at_aggregator_keys(struct wp_findings *f, const struct wp_installed *aggregator, bool is_network)
{
    char path[VALUE], allow[VALUE], word[VALUE];
    struct wp_allowlist *list = NULL;
    struct wp_error err = {0};
    bool has_key = wp_installed_value(aggregator, "key", 0, path, sizeof(path));
    bool has_list = wp_installed_value(aggregator, "allow", 0, allow, sizeof(allow));
    if (is_network && wp_installed_value(aggregator, "insecure", 0, word, sizeof(word)))
        wp_findings_add(f, WP_FINDING_NOTE, "key", "wakepath keygen; docs/security.md",
            "everybody may send and read by tcp://, as asked for");
    if (has_key)
        look_at_secret(f, path);
    if (!has_list)
        return;
    if (wp_allowlist_open(&list, allow, &err))
        wp_findings_add(f, WP_FINDING_WRONG, "allowlist", "docs/security.md has the format", "%s", err.text);
    else if (!wp_allowlist_count(list))
        wp_findings_add(f, WP_FINDING_NOTE, "allowlist", "put each collector's NAME.pub there",
            "%s is empty: nobody may connect", allow);
    else
        wp_findings_add(f, WP_FINDING_GOOD, "allowlist", NULL, "%s has %zu keys", allow, wp_allowlist_count(list));
    wp_allowlist_close(list);
}

/* --- disks --- */

/* The nearest folder that is there. */
static void nearest(char *path)
{
    while (access(path, F_OK) && errno == ENOENT) {
        char *slash = strrchr(path, '/');
        if (!slash || slash == path) {
            strcpy(path, slash ? "/" : ".");
            return;
        }
        *slash = 0;
    }
}

static void look_at_disk(struct wp_findings *f, const char *subject, const char *path, uint64_t wanted)
{
    char place[VALUE];
    struct statvfs disk;
    snprintf(place, sizeof(place), "%s", path);
    nearest(place);
    if (statvfs(place, &disk)) {
        wp_findings_add(f, errno == EACCES ? WP_FINDING_NOTE : WP_FINDING_WRONG, subject,
            errno == EACCES ? "run doctor again as root" : "it must be a folder that the daemon's user may write to",
            "%s: %s", path, strerror(errno));
        return;
    }
    unsigned long long left = (unsigned long long)disk.f_bavail * disk.f_frsize / MIB;
    if (disk.f_flag & ST_RDONLY)
        wp_findings_add(f, WP_FINDING_WRONG, subject, "another place, or mount it for writing",
            "%s is on a disk that is read only", path);
    else if (left < LEAST_BYTES / MIB)
        wp_findings_add(f, WP_FINDING_WRONG, subject, "make room: wakepath-store prune, or a larger disk",
            "%s has only %llu MiB left", path, left);
    else if (left < wanted / MIB)
        wp_findings_add(f, WP_FINDING_NOTE, subject, "make room, or keep less",
            "%s has %llu MiB left, it may want %llu", path, left, (unsigned long long)(wanted / MIB));
    else
        wp_findings_add(f, WP_FINDING_GOOD, subject, NULL, "%s has %llu MiB left", path, left);
}

static uint64_t spool_limit(const struct wp_installed *collector)
{
    char text[VALUE], *end;
    if (!wp_installed_value(collector, "spool-limit", 0, text, sizeof(text)))
        return SPOOL_BYTES;
    uint64_t bytes = strtoull(text, &end, 10);
    const char *unit = *end ? strchr("KMG", *end) : NULL;
    return unit ? bytes << ((unit - "KMG" + 1) * 10) : bytes;
}

/* --- what is kept --- */

static bool mentions_prune(const char *folder, const char *name)
{
    char path[VALUE];
    struct wp_buffer text = {0};
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    bool is_there = !wp_file_read(path, 1u << 20, &text, NULL) && text.data &&
        strstr((const char *)text.data, "wakepath-store prune");
    wp_buffer_fini(&text);
    return is_there;
}

/* The timer, or a line of cron's that is like ours. */
static bool is_pruned(void)
{
    static const char *const wants[] = {"/etc/systemd/system", "/run/systemd/system"};
    static const char *const crons[] = {
        "/etc/cron.d", "/etc/cron.daily", "/etc/cron.weekly", "/var/spool/cron/crontabs"};
    char path[VALUE];
    bool is_there = mentions_prune("/etc", "crontab");
    for (size_t i = 0; i < sizeof(wants) / sizeof(*wants); i++) {
        snprintf(path, sizeof(path), "%s/timers.target.wants/wakepath-prune.timer", wants[i]);
        struct stat st;
        is_there |= !lstat(path, &st);
    }
    for (size_t i = 0; i < sizeof(crons) / sizeof(*crons) && !is_there; i++) {
        DIR *folder = opendir(crons[i]);
        for (struct dirent *entry; folder && !is_there && (entry = readdir(folder));)
            is_there = entry->d_name[0] != '.' && mentions_prune(crons[i], entry->d_name);
        if (folder)
            closedir(folder);
    }
    return is_there;
}

static void look_at_retention(struct wp_findings *f, const char *store)
{
    if (is_pruned())
        wp_findings_add(f, WP_FINDING_GOOD, "retention", NULL, "%s is pruned from time to time", store);
    else
        wp_findings_add(f, WP_FINDING_NOTE, "retention",
            "systemctl enable --now wakepath-prune.timer, or the cron line of docs/store.md",
            "nothing prunes %s: it grows without bound", store);
}

/* --- all of it --- */

void wp_doctor_collector(struct wp_findings *f, const struct wp_installed *collector)
{
    char text[VALUE];
    bool is_network = false, is_unheard;
    if (!look_at_settings(f, collector, "collector"))
        return;
    /* One that runs knows better whom it reaches, and dialling is noticed there. */
    if (!look_at_running(f, collector, WP_DAEMON_PROBE_COLLECTOR, &is_unheard))
        look_at_aggregators(f, collector);
    if (is_unheard)
        wp_doctor_knock(f, collector);
    for (unsigned i = 0; i < WP_INSTALLED_VALUES && wp_installed_value(collector, "connect", i, text, sizeof(text));
         i++)
        is_network |= is_tcp(text);
    look_at_collector_keys(f, collector, is_network);
    if (wp_installed_value(collector, "spool", 0, text, sizeof(text)) && strcmp(text, "none"))
        look_at_disk(f, "spool", text, spool_limit(collector));
    else if (is_network)
        wp_findings_add(f, WP_FINDING_NOTE, "spool", "spool = \"/var/lib/wakepath-collector/spool\" (docs/delivery.md)",
            "unacknowledged batches wait in memory, unless the collector runs as root");
}

void wp_doctor_aggregator(struct wp_findings *f, const struct wp_installed *aggregator)
{
    char text[VALUE];
    struct wp_error err = {0};
    if (!look_at_settings(f, aggregator, "aggregator"))
        return;
    bool is_unheard, is_running = look_at_running(f, aggregator, WP_DAEMON_PROBE_AGGREGATOR, &is_unheard);
    bool is_network = wp_installed_value(aggregator, "bind", 0, text, sizeof(text)) && is_tcp(text);
    if (is_network && !is_running && strrchr(text, ':') > text + 5)
        look_at_port(f, text);
    look_at_aggregator_keys(f, aggregator, is_network);
    if (!wp_installed_value(aggregator, "store", 0, text, sizeof(text)))
        return;
    look_at_disk(f, "store", text, LOW_BYTES);
    look_at_retention(f, text);
    nearest(text);
    if (wp_network_fs_refuse(text, &err) == -ENOTSUP)
        wp_findings_add(f, WP_FINDING_WRONG, "store", "a disk of this machine", "%s", err.text);
}
