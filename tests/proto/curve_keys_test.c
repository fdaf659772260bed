/* SPDX-License-Identifier: Apache-2.0 */
#include "common/path.h"
#include "common/rate.h"
#include "proto/allowlist.h"
#include "proto/curve_keys.h"
#include "proto/peers.h"
#include "proto/refusals.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#include "tests/skipped.h"

static const uint8_t a_host[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255};

static int set_up(void **state)
{
    char *folder = strdup("/tmp/wp-keys-XXXXXX");
    *state = folder;
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    int rc = wp_path_remove(*state, NULL);
    free(*state);
    return rc;
}

static const char *in(const char *folder, const char *name)
{
    static _Thread_local char path[4][128];
    static _Thread_local unsigned turn;
    char *out = path[turn++ % 4];
    snprintf(out, 128, "%s/%s", folder, name);
    return out;
}

static void make(const char *folder, const char *name, enum wp_key_host kind, struct wp_key_pair *pair)
{
    struct wp_error err = {0};
    assert_int_equal(wp_key_pair_make(pair, &err), 0);
    if (wp_key_files_write(&(struct wp_key_files){folder, name, kind, a_host, false}, pair, &err))
        fail_msg("%s", err.text);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static mode_t mode_of(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 07777;
}

static void files(void **state)
{
    struct wp_key_pair pair, again, other;
    struct wp_public_key key;
    struct wp_error err = {0};
    mode_t before = umask(0);
    make(*state, "web-1", WP_KEY_OF_HOST, &pair);
    umask(before);
    assert_int_equal(mode_of(in(*state, "web-1.key")), 0600);
    assert_int_equal(mode_of(in(*state, "web-1.pub")), 0644);
    assert_int_equal(wp_key_pair_read(&again, in(*state, "web-1.key"), &err), 0);
    assert_string_equal(again.secret_key, pair.secret_key);
    assert_string_equal(again.public_key, pair.public_key);
    assert_int_equal(wp_public_key_read(&key, in(*state, "web-1.pub"), &err), 0);
    assert_string_equal(key.text, pair.public_key);
    assert_int_equal(key.kind, WP_KEY_OF_HOST);
    assert_memory_equal(key.host, a_host, 16);
    assert_string_equal(key.name, "web-1");
    assert_int_equal(wp_key_pair_make(&other, &err), 0);
    struct wp_key_files same = {.dir = *state, .name = "web-1", .kind = WP_KEY_OF_ANY};
    assert_int_equal(wp_key_files_write(&same, &other, &err), -EEXIST); /* never overwritten */
    assert_int_equal(wp_key_pair_read(&again, in(*state, "web-1.key"), &err), 0);
    assert_string_equal(again.secret_key, pair.secret_key);
    assert_int_equal(unlink(in(*state, "web-1.pub")), 0);
    assert_int_equal(wp_key_files_write(&same, &other, &err), -EEXIST);
    assert_int_equal(access(in(*state, "web-1.pub"), F_OK), -1);
    same.may_replace = true;
    assert_int_equal(wp_key_files_write(&same, &other, &err), 0);
    assert_int_equal(wp_key_pair_read(&again, in(*state, "web-1.key"), &err), 0);
    assert_string_equal(again.secret_key, other.secret_key);
    assert_int_equal(mode_of(in(*state, "web-1.key")), 0600);
    same.name = "../evil";
    assert_int_equal(wp_key_files_write(&same, &other, &err), -EINVAL);
}

static unsigned entries(const char *folder)
{
    unsigned count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

/* No half of a pair is left alone, and none beside the half of another pair. */
static void both_or_neither(void **state)
{
    struct wp_key_pair pair, other, again;
    struct wp_error err = {0};
    make(*state, "a", WP_KEY_OF_NONE, &pair);
    assert_int_equal(unlink(in(*state, "a.pub")), 0);
    assert_int_equal(mkdir(in(*state, "a.pub"), 0700), 0);
    assert_int_equal(wp_key_pair_make(&other, &err), 0);
    assert_int_equal(
        wp_key_files_write(&(struct wp_key_files){*state, "a", WP_KEY_OF_NONE, NULL, true}, &other, &err), -EISDIR);
    assert_int_equal(wp_key_pair_read(&again, in(*state, "a.key"), &err), 0);
    assert_string_equal(again.secret_key, pair.secret_key);
    assert_int_equal(entries(*state), 2);
    assert_int_equal(rmdir(in(*state, "a.pub")), 0);
    assert_int_equal(unlink(in(*state, "a.key")), 0);
    bool is_root = !geteuid();
    assert_int_equal(chown(*state, is_root ? 65534 : geteuid(), (gid_t)-1), 0);
    assert_int_equal(chmod(*state, 0300), 0); /* files can be made, but the folder cannot be synced */
    if (is_root)
        assert_int_equal(seteuid(65534), 0);
    int rc = wp_key_files_write(&(struct wp_key_files){*state, "b", WP_KEY_OF_NONE, NULL, false}, &other, &err);
    if (is_root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(*state, 0700), 0);
    assert_int_equal(rc, -EACCES);
    assert_int_equal(entries(*state), 0);
}

static void read_text(const char *path, char text[256])
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, 255, file)] = 0;
    fclose(file);
}

/* The secret half is root's in a folder where only its owner may replace it: the public half stays what it was. */
static void old_pair_stays(void **state)
{
    struct wp_key_pair pair, other;
    struct wp_error err = {0};
    char before[256], after[256], name[64];
    if (geteuid())
        WP_SKIP("only root can give files away");
    make(*state, "a", WP_KEY_OF_NONE, &pair);
    read_text(in(*state, "a.pub"), before);
    snprintf(name, sizeof(name), "a.key.tmp.%d", (int)getpid());
    write_text(in(*state, name), "left over");
    assert_int_equal(chown(in(*state, name), 65534, (gid_t)-1), 0);
    assert_int_equal(chown(in(*state, "a.pub"), 65534, (gid_t)-1), 0);
    assert_int_equal(chmod(*state, 01777), 0);
    assert_int_equal(wp_key_pair_make(&other, &err), 0);
    assert_int_equal(seteuid(65534), 0);
    int rc = wp_key_files_write(&(struct wp_key_files){*state, "a", WP_KEY_OF_NONE, NULL, true}, &other, &err);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(rc, -EPERM);
    assert_non_null(strstr(err.text, "/a.key'"));
    read_text(in(*state, "a.pub"), after);
    assert_string_equal(after, before);
    assert_int_equal(entries(*state), 2);
}

static void secrecy(void **state)
{
    struct wp_key_pair pair;
    struct wp_error err = {0};
    char path[128];
    snprintf(path, sizeof(path), "%s", in(*state, "a.key"));
    make(*state, "a", WP_KEY_OF_NONE, &pair);
    static const mode_t bad[] = {0604, 0602, 0601, 0640, 0660, 0644, 0777};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(chmod(path, bad[i]), 0);
        assert_int_equal(wp_key_pair_read(&pair, path, &err), -EPERM);
        assert_non_null(strstr(err.text, "chmod 600"));
        assert_int_equal(pair.secret_key[0], 0);
    }
    assert_int_equal(chmod(path, 0400), 0);
    assert_int_equal(wp_key_pair_read(&pair, path, &err), 0);
    assert_int_equal(wp_key_pair_read(&pair, *state, &err), -EINVAL); /* a folder */
    assert_int_equal(wp_key_pair_read(&pair, in(*state, "none.key"), &err), -ENOENT);
    assert_int_equal(wp_key_pair_read(&pair, in(*state, "a.pub"), &err), -EPERM); /* the wrong half, and readable */
    assert_int_equal(chmod(in(*state, "a.pub"), 0600), 0);
    assert_int_equal(wp_key_pair_read(&pair, in(*state, "a.pub"), &err), -EINVAL);
    assert_non_null(strstr(err.text, "keygen"));
    if (geteuid())
        return;
    pid_t child =
        fork(); /* root's file with the reader's group, as Kubernetes mounts secrets, is good; with others' is not */
    if (!child) {
        int rc = chmod(*state, 0755) || chown(path, 0, 4242) || chmod(path, 0440) || setgid(4242) || setuid(4242);
        _exit(rc || wp_key_pair_read(&pair, path, NULL));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static int parse(struct wp_public_key *key, const char *line)
{
    return wp_public_key_parse(key, line, strlen(line), NULL);
}

#define KEY "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"

static void lines(void **state)
{
    (void)state;
    struct wp_public_key key;
    char text[WP_HOST_TEXT];
    assert_int_equal(parse(&key, ""), 0);
    assert_int_equal(parse(&key, "  \t\r"), 0);
    assert_int_equal(parse(&key, "# a comment, and # more"), 0);
    assert_int_equal(parse(&key, "#" KEY " * gone"), 0); /* commented out */
    assert_int_equal(parse(&key, KEY " * web"), 1);
    assert_int_equal(key.kind, WP_KEY_OF_ANY);
    assert_int_equal(parse(&key, KEY), 1);
    assert_int_equal(key.kind, WP_KEY_OF_NONE);
    assert_int_equal(parse(&key, " " KEY "\t01020304-0506-0708-090A-0b0c0d0e0fff  web-1\r"), 1);
    assert_int_equal(key.kind, WP_KEY_OF_HOST);
    assert_memory_equal(key.host, a_host, 16);
    assert_string_equal(key.name, "web-1");
    wp_host_format(key.host, text);
    assert_string_equal(text, "01020304-0506-0708-090a-0b0c0d0e0fff");
    static const char *const bad[] = {"short * web", KEY "x * web", KEY " web-1", KEY " 0102 web", KEY " * a/b",
        KEY " * a b", KEY " 01020304-0506-0708-090a-0b0c0d0e0fff0 x", KEY " 01020304-0506-0708-090a-0b0c0d0e0ff x",
        KEY " 0-1020304-0506-0708-090a-0b0c0d0e0fff x", "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]y\"7 * web"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (parse(&key, bad[i]) != -EINVAL)
            fail_msg("taken: %s", bad[i]);
    assert_int_equal(wp_public_key_parse(&key, KEY " * web\0x", sizeof(KEY " * web\0x") - 1, NULL), -EINVAL);
}

static bool lists(struct wp_allowlist *list, const struct wp_key_pair *pair)
{
    struct wp_public_key wanted, found;
    assert_int_equal(parse(&wanted, pair->public_key), 1);
    return wp_allowlist_find(list, wanted.bytes, &found);
}

static void reloads(void **state)
{
    struct wp_key_pair a, b;
    struct wp_allowlist *list = NULL;
    struct wp_error err = {0};
    char line[256];
    make(*state, "a", WP_KEY_OF_HOST, &a);
    assert_int_equal(wp_allowlist_open(&list, *state, &err), 0);
    assert_true(lists(list, &a));
    assert_int_equal(wp_allowlist_reload(list, false, &err), 0);
    make(*state, "b", WP_KEY_OF_ANY, &b);
    assert_false(lists(list, &b));
    assert_int_equal(wp_allowlist_reload(list, false, &err), 1);
    assert_true(lists(list, &b));
    write_text(in(*state, "notes.txt"), "not a list\n"); /* only *.pub counts */
    assert_int_equal(wp_allowlist_reload(list, false, &err), 0);
    write_text(in(*state, "c.pub"), "# fine\nnonsense here\n");
    assert_int_equal(wp_allowlist_reload(list, false, &err), -EINVAL);
    assert_non_null(strstr(err.text, "c.pub:2"));
    assert_true(lists(list, &a)); /* the one before stays */
    snprintf(line, sizeof(line), "%s 01020304-0506-0708-090a-0b0c0d0e0fff second\n", b.public_key);
    write_text(in(*state, "c.pub"), line); /* one key for two */
    assert_int_equal(wp_allowlist_reload(list, false, &err), -EINVAL);
    assert_non_null(strstr(err.text, "two hosts"));
    unlink(in(*state, "c.pub"));
    unlink(in(*state, "a.pub"));
    assert_int_equal(wp_allowlist_reload(list, false, &err), 1);
    assert_false(lists(list, &a));
    assert_int_equal(wp_allowlist_count(list), 1);
    wp_allowlist_close(list);
    assert_int_equal(wp_allowlist_open(&list, in(*state, "none"), &err), -ENOENT);
    write_text(in(*state, "empty"), "");
    assert_int_equal(wp_allowlist_open(&list, in(*state, "empty"), &err), 0);
    assert_int_equal(wp_allowlist_count(list), 0);
    assert_false(lists(list, &a));
    wp_allowlist_close(list);
}

static void rates(void **state)
{
    (void)state;
    struct wp_rate rate = {0};
    for (int i = 0; i < 5; i++)
        assert_true(wp_rate_allow(&rate, 1000, 100, 5));
    assert_false(wp_rate_allow(&rate, 1000, 100, 5));
    assert_false(wp_rate_allow(&rate, 1099, 100, 5));
    assert_true(wp_rate_allow(&rate, 1100, 100, 5));
    assert_false(wp_rate_allow(&rate, 1100, 100, 5));
    for (int i = 0; i < 5; i++)
        assert_true(wp_rate_allow(&rate, 9000, 100, 5));
    assert_false(wp_rate_allow(&rate, 9000, 100, 5));
}

static void reasons(void **state)
{
    (void)state;
    struct wp_refusals *refusals = wp_refusals_create();
    uint64_t count, total = 0;
    char text[64];
    wp_refusals_add(refusals, "batch 17 came where 5 is next");
    wp_refusals_add(refusals, "batch 3 came where 99999 is next");
    assert_int_equal(wp_refusals_count(refusals), 1);
    assert_string_equal(wp_refusals_get(refusals, 0, &count), "batch N came where N is next");
    assert_int_equal(count, 2);
    wp_refusals_add(refusals, "it does not start with WPF1");
    assert_string_equal(wp_refusals_get(refusals, 1, &count), "it does not start with WPF1");
    for (int i = 0; i < 200; i++) {
        snprintf(text, sizeof(text), "reason %c%c", 'a' + i / 20, 'a' + i % 20);
        wp_refusals_add(refusals, text);
    }
    assert_true(wp_refusals_count(refusals) <= 64);
    for (size_t i = 0; i < wp_refusals_count(refusals); i++) {
        wp_refusals_get(refusals, i, &count);
        total += count;
    }
    assert_int_equal(total, 203);
    assert_string_equal(wp_refusals_get(refusals, 63, &count), "other reasons");
    wp_refusals_destroy(refusals);
}

/* Bounded by host and in all; a number is never given to another. */
static void sessions(void **state)
{
    (void)state;
    struct wp_peers *peers = wp_peers_create();
    struct wp_peer *peer;
    uint8_t session[16] = {0}, host[16] = {0}, identity[WP_IDENTITY_BYTES];
    uint64_t second = 1000000000, day = 86400 * second;
    uint32_t made = 0;
    for (; made < 1000 && !wp_peers_add(peers, session, a_host, second, &peer); made++)
        memcpy(session, &(uint32_t){made + 1}, 4);
    assert_int_equal(made, 256);
    assert_int_equal(wp_peers_add(peers, session, a_host, second, &peer), -EBUSY);
    assert_int_equal(wp_peers_add(peers, session, a_host, 3 * second, &peer), 0); /* another while later */
    assert_int_equal(peer->number, 257);
    wp_peer_identity(session, identity);
    assert_ptr_equal(wp_peers_find(peers, identity, sizeof(identity)), peer);
    assert_ptr_equal(wp_peers_numbered(peers, 257), peer);
    assert_null(wp_peers_find(peers, identity, 16));
    identity[0] = 'X';
    assert_null(wp_peers_find(peers, identity, sizeof(identity)));
    assert_null(wp_peers_numbered(peers, 258));
    int rc = 0;
    for (made = 257; !rc; made += !rc) {
        memcpy(session, &made, 4);
        memcpy(host, &made, 4);
        rc = wp_peers_add(peers, session, host, 4 * second, &peer);
    }
    assert_int_equal(rc, -EBUSY);
    assert_int_equal(made, 262144);
    assert_int_equal(
        wp_peers_add(peers, session, host, 3 * second + day + 1, &peer), 0); /* the first ones are forgotten */
    assert_int_equal(peer->number, 262145);
    assert_null(wp_peers_numbered(peers, 257));
    assert_non_null(wp_peers_numbered(peers, 258));
    wp_peers_destroy(peers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(both_or_neither, set_up, tear_down),
        cmocka_unit_test_setup_teardown(old_pair_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(secrecy, set_up, tear_down), cmocka_unit_test(lines),
        cmocka_unit_test_setup_teardown(reloads, set_up, tear_down), cmocka_unit_test(rates), cmocka_unit_test(reasons),
        cmocka_unit_test(sessions)};
    return wp_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
