/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts that get their keys listed by a token: who is, who is not, and that nobody takes another host's place. */
#include "common/path.h"
#include "proto/allowlist.h"
#include "proto/enrolment.h"
#include "proto/curve_keys.h"
#include "proto/enrolment_desk.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define OLD "an-old-token-of-thirty-two-signs-"
#define NEW "a-new-token-of-thirty-two-signs--"

struct fixture {
    char folder[64], endpoint[64];
    int stop[2];
    pthread_t thread;
    struct wp_enrolment_desk *desk;
    struct wp_logger logger;
    struct wp_error err; /* of the last that was asked */
};

static const uint8_t host_a[16] = {0xa}, host_b[16] = {0xb};

static const char *in(const struct fixture *f, const char *name)
{
    static _Thread_local char paths[8][128];
    static _Thread_local unsigned turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof(paths[0]), "%s/%s", f->folder, name);
    return path;
}

static void put(const struct fixture *f, const char *name, const char *text)
{
    int fd = open(in(f, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void make_key(const struct fixture *f, const char *name)
{
    struct wp_key_pair pair;
    assert_int_equal(wp_key_pair_make(&pair, NULL), 0);
    assert_int_equal(
        wp_key_files_write(&(struct wp_key_files){f->folder, name, WP_KEY_OF_HOST, host_a, false}, &pair, NULL), 0);
}

static void *serve(void *context)
{
    struct fixture *f = context;
    struct wp_error err = {0};
    wp_enrolment_desk_serve(f->desk, f->stop[0], &err);
    return NULL;
}

/* A port that was free a moment ago. */
static void choose_endpoint(struct fixture *f)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    close(fd);
    snprintf(f->endpoint, sizeof(f->endpoint), "tcp://127.0.0.1:%u", ntohs(address.sin_port));
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct wp_error err = {0};
    snprintf(f->folder, sizeof(f->folder), "/tmp/wp-enrol-XXXXXX");
    if (!mkdtemp(f->folder) || mkdir(in(f, "allow"), 0700) || pipe2(f->stop, O_CLOEXEC))
        return -1;
    f->logger = (struct wp_logger){"test", WP_LOG_ERROR, 2};
    for (const char *const *name = (const char *const[]){"server", "one", "two", NULL}; *name; name++)
        make_key(f, *name);
    put(f, "tokens", "# of the desk\n" OLD "\n");
    put(f, "token", OLD "\n");
    choose_endpoint(f);
    static _Thread_local char paths[3][128];
    snprintf(paths[0], sizeof(paths[0]), "%s", in(f, "server.key"));
    snprintf(paths[1], sizeof(paths[1]), "%s", in(f, "tokens"));
    snprintf(paths[2], sizeof(paths[2]), "%s", in(f, "allow"));
    if (wp_enrolment_desk_open(
            &f->desk, &(struct wp_enrolment_desk_options){f->endpoint, paths[0], paths[1], paths[2], &f->logger}, &err))
        fail_msg("%s", err.text);
    *state = f;
    return -pthread_create(&f->thread, NULL, serve, f);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    close(f->stop[1]);
    pthread_join(f->thread, NULL);
    wp_enrolment_desk_close(f->desk);
    close(f->stop[0]);
    int rc = wp_path_remove(f->folder, NULL);
    free(f);
    return rc;
}

static int ask(struct fixture *f, const char *key, const uint8_t *host)
{
    f->err = (struct wp_error){0};
    return wp_enrolment_ask(
        &(struct wp_enrolment){f->endpoint, in(f, key), in(f, "server.pub"), in(f, "token"), host, 30000}, &f->err);
}

static bool is_listed(const struct fixture *f, const char *public, const uint8_t *host)
{
    struct wp_allowlist *list = NULL;
    struct wp_public_key key, found;
    assert_int_equal(wp_allowlist_open(&list, in(f, "allow"), NULL), 0);
    assert_int_equal(wp_public_key_read(&key, in(f, public), NULL), 0);
    bool is_there =
        wp_allowlist_find(list, key.bytes, &found) && found.kind == WP_KEY_OF_HOST && !memcmp(found.host, host, 16);
    wp_allowlist_close(list);
    return is_there;
}

static const char *file_of(const struct fixture *f, const uint8_t *host)
{
    char text[WP_HOST_TEXT], name[64];
    wp_host_format(host, text);
    snprintf(name, sizeof(name), "allow/%s.pub", text);
    return in(f, name);
}

static void a_key_is_listed(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(ask(f, "one.key", host_a), 0);
    assert_true(is_listed(f, "one.pub", host_a));
    assert_int_equal(ask(f, "one.key", host_a), 0); /* as often as it likes */
    assert_int_equal(ask(f, "two.key", host_b), 0);
    assert_true(is_listed(f, "one.pub", host_a) && is_listed(f, "two.pub", host_b));
}

static void the_token_is_needed(void **state)
{
    struct fixture *f = *state;
    put(f, "token", NEW "\n");
    assert_int_equal(ask(f, "one.key", host_a), -EACCES);
    assert_non_null(strstr(f->err.text, "the token is not one of those"));
    put(f, "token", OLD "x\n"); /* one that begins like it */
    assert_int_equal(ask(f, "one.key", host_a), -EACCES);
    assert_false(is_listed(f, "one.pub", host_a));
    put(f, "token", "short\n");
    assert_int_equal(ask(f, "one.key", host_a), -EINVAL);
    put(f, "token", OLD "\n");
    chmod(in(f, "token"), 0644);
    assert_int_equal(ask(f, "one.key", host_a), -EPERM);
}

static void the_token_changes(void **state)
{
    struct fixture *f = *state;
    put(f, "tokens", NEW "\n" OLD "\n");
    assert_int_equal(ask(f, "one.key", host_a), 0);
    put(f, "token", NEW "\n" OLD "\n");
    assert_int_equal(ask(f, "two.key", host_b), 0);
    put(f, "tokens", NEW "\n");
    put(f, "token", OLD "\n");
    assert_int_equal(ask(f, "one.key", host_a), -EACCES);
}

static void nobody_takes_a_hosts_place(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(ask(f, "one.key", host_a), 0);
    assert_int_equal(ask(f, "two.key", host_a), -EACCES);
    assert_non_null(strstr(f->err.text, "the host has another key"));
    assert_int_equal(ask(f, "one.key", host_b), -EACCES); /* one key for two hosts would spoil the whole list */
    assert_non_null(strstr(f->err.text, "listed for something else"));
    assert_true(is_listed(f, "one.pub", host_a));
    assert_int_equal(unlink(file_of(f, host_a)), 0); /* the operator says so */
    assert_int_equal(ask(f, "two.key", host_a), 0);
    assert_true(is_listed(f, "two.pub", host_a));
}

static void who_is_locked_out_stays_out(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(ask(f, "one.key", host_a), 0);
    int fd = open(file_of(f, host_a), O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_int_equal(write(fd, "# gone\n", 7), 7);
    close(fd);
    assert_int_equal(ask(f, "one.key", host_a), -EACCES);
    assert_int_equal(ask(f, "two.key", host_a), -EACCES);
    assert_false(is_listed(f, "one.pub", host_a));
}

static void a_host_listed_by_hand_stays(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(rename(in(f, "two.pub"), in(f, "allow/two.pub")), 0); /* a line for host a */
    assert_int_equal(ask(f, "one.key", host_a), -EACCES);
    assert_non_null(strstr(f->err.text, "the host has another key"));
    assert_int_equal(ask(f, "two.key", host_a), 0); /* its own, in a file of another name */
    assert_int_equal(ask(f, "one.key", host_b), 0);
}

/* Another server's key: what is asked is not even sent. */
static void nobody_but_the_server_hears(void **state)
{
    struct fixture *f = *state;
    int rc = wp_enrolment_ask(
        &(struct wp_enrolment){f->endpoint, in(f, "one.key"), in(f, "two.pub"), in(f, "token"), host_a, 500}, &f->err);
    assert_int_equal(rc, -ETIMEDOUT);
    assert_false(is_listed(f, "one.pub", host_a));
}

static void use(void *socket, const struct fixture *f)
{
    struct wp_key_pair pair;
    struct wp_public_key server;
    assert_int_equal(wp_key_pair_read(&pair, in(f, "one.key"), NULL), 0);
    assert_int_equal(wp_public_key_read(&server, in(f, "server.pub"), NULL), 0);
    zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, server.text, WP_KEY_TEXT);
    zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, pair.public_key, WP_KEY_TEXT);
    zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, pair.secret_key, WP_KEY_TEXT);
}

static void what_is_no_request_is_refused(void **state)
{
    struct fixture *f = *state;
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_DEALER);
    const struct {
        const char *bytes;
        size_t size;
    } wrong[] = {{"", 0}, {"WPENROL1", 8}, {"WPENROL2aaaaaaaaaaaaaaaa" OLD, 57},
        {"WPENROL1aaaaaaaaaaaaaaaa"
         "too short",
            33}};
    char answer[256] = "", long_one[200];
    int none = 0, limit = 30000;
    zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof(none));
    zmq_setsockopt(socket, ZMQ_RCVTIMEO, &limit, sizeof(limit));
    use(socket, f);
    assert_int_equal(zmq_connect(socket, f->endpoint), 0);
    memset(long_one, 'x', sizeof(long_one));
    memcpy(long_one, "WPENROL1", 8);
    for (size_t i = 0; i <= sizeof(wrong) / sizeof(*wrong); i++) {
        bool is_last = i == sizeof(wrong) / sizeof(*wrong);
        assert_true(
            zmq_send(socket, is_last ? long_one : wrong[i].bytes, is_last ? sizeof(long_one) : wrong[i].size, 0) >= 0);
        assert_true(zmq_recv(socket, answer, sizeof(answer) - 1, 0) > 0);
        assert_int_equal(answer[0], '-');
    }
    zmq_close(socket);
    zmq_ctx_term(context);
    assert_int_equal(ask(f, "one.key", host_a), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {TEST(a_key_is_listed), TEST(the_token_is_needed), TEST(the_token_changes),
        TEST(nobody_takes_a_hosts_place), TEST(who_is_locked_out_stays_out), TEST(a_host_listed_by_hand_stays),
        TEST(nobody_but_the_server_hears), TEST(what_is_no_request_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
