/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics as text, and the server that tells them: asked over real sockets. */
#include "common/health.h"
#include "common/metrics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* cmocka wants the ones above */
#include <cmocka.h>

static void assert_text(struct wp_buffer *buffer, const char *want)
{
    assert_false(buffer->failed);
    assert_string_equal((const char *)buffer->data, want);
    wp_buffer_fini(buffer);
}

static void numbers_and_labels(void **state)
{
    struct wp_buffer out = {0};
    (void)state;
    wp_metric_begin(&out, "a_total", WP_COUNTER, "All.");
    wp_metric_labelled(&out, "a_total", "kind", "x", 12345678901234.0);
    wp_metric_line(&out, "a_total", (struct wp_metric_label[]){{"kind", "y"}, {"host", "h"}}, 2, 0.25);
    wp_metric_put(&out, "b", WP_GAUGE, "B.", 0);
    assert_text(&out,
        "# HELP a_total All.\n# TYPE a_total counter\na_total{kind=\"x\"} 12345678901234\n"
        "a_total{kind=\"y\",host=\"h\"} 0.25\n# HELP b B.\n# TYPE b gauge\nb 0\n");
}

/* One label that is no UTF-8 would cost Prometheus the whole scrape. */
static void hostile_labels(void **state)
{
    static const char *const rows[][2] = {{"a\"b\\c\nd", "a\\\"b\\\\c?d"}, {"\xff\xfe", "??"},
        {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"}, {"\xc3", "?"}, {"\xe2\x82", "??"},
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"}, {"\xed\xa0\x80", "???"}, {"\xc0\xaf", "??"}, {"\x1b[2J\x7f", "?[2J?"},
        {"\xc2\x9b", "??"}, {"\xf4\x90\x80\x80", "????"}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct wp_buffer out = {0};
        char want[64];
        wp_metric_labelled(&out, "m", "l", rows[i][0], 1);
        snprintf(want, sizeof(want), "m{l=\"%s\"} 1\n", rows[i][1]);
        assert_text(&out, want);
    }
    char cut[4];
    wp_metric_clean("ab\xc3\xbc", cut, sizeof(cut)); /* half a character is none */
    assert_string_equal(cut, "ab");
}

static void own_process(void **state)
{
    struct wp_buffer out = {0};
    (void)state;
    wp_metric_process(&out);
    const char *memory = strstr((const char *)out.data, "\nprocess_resident_memory_bytes ");
    const char *start = strstr((const char *)out.data, "\nprocess_start_time_seconds ");
    assert_non_null(memory);
    assert_true(strtod(strchr(memory, ' '), NULL) > 100000);
    assert_true(strtod(strchr(start, ' '), NULL) > 1.6e9);
    wp_buffer_fini(&out);
}

static void addresses(void **state)
{
    static const char *const good[] = {
        "9469", "127.0.0.1:9469", "localhost:0", "0.0.0.0:65535", "[::1]:9469", "[::]:1"};
    static const char *const bad[] = {"", ":", "x", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "1.2.3:9",
        "example.org:80", "::1:80", "[::1]", "[]:1", "[::1:80", "9469x", "127.0.0.1:+5"};
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_int_equal(wp_health_check(good[i], NULL), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct wp_error err = {0};
        assert_int_equal(wp_health_check(bad[i], &err), -EINVAL);
        assert_non_null(strstr(err.text, "ADDRESS:PORT"));
    }
}

/* --- the server --- */

struct served {
    struct wp_health *health;
    char address[64];
};

static struct served serve(void)
{
    struct served served = {0};
    struct wp_error err = {0};
    int pipes[2];
    char line[256] = "";
    assert_int_equal(pipe(pipes), 0);
    struct wp_logger logger = {"test", WP_LOG_INFO, pipes[1]};
    assert_int_equal(wp_health_open(&served.health, "127.0.0.1:0", &logger, &err), 0);
    assert_true(read(pipes[0], line, sizeof(line) - 1) > 0);
    close(pipes[0]);
    close(pipes[1]);
    const char *at = strstr(line, "address=");
    assert_non_null(at);
    snprintf(served.address, sizeof(served.address), "%.*s", (int)strcspn(at + 8, "\n"), at + 8);
    return served;
}

static int dial(const struct served *served)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = htons((uint16_t)atoi(strrchr(served->address, ':') + 1))};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

static void ask(const struct served *served, const char *request, char *answer, size_t room)
{
    int fd = dial(served);
    size_t used = 0;
    ssize_t got;
    assert_int_equal(write(fd, request, strlen(request)), (ssize_t)strlen(request));
    while (used < room - 1 && (got = read(fd, answer + used, room - 1 - used)) > 0)
        used += (size_t)got;
    answer[used] = 0;
    close(fd);
}

static void tells_what_was_published(void **state)
{
    struct served s = serve();
    struct wp_buffer text = {0};
    char answer[4096];
    (void)state;
    ask(&s, "GET /healthz HTTP/1.0\r\n\r\n", answer, sizeof(answer));
    assert_non_null(strstr(answer, " 503 "));
    assert_non_null(strstr(answer, "\r\n\r\nstarting\n"));
    wp_buffer_puts(&text, "one 1\n");
    wp_health_publish(s.health, &text, NULL);
    ask(&s, "GET /healthz HTTP/1.0\r\n\r\n", answer, sizeof(answer));
    assert_non_null(strstr(answer, " 200 "));
    ask(&s, "GET /metrics HTTP/1.0\r\n\r\n", answer, sizeof(answer));
    assert_non_null(strstr(answer, "text/plain; version=0.0.4"));
    assert_non_null(strstr(answer, "\r\n\r\none 1\n"));
    assert_non_null(strstr(answer, "\nwakepath_snapshot_age_seconds "));
    wp_health_publish(s.health, &text, "the disk\n is full");
    ask(&s, "GET /healthz HTTP/1.0\r\n\r\n", answer, sizeof(answer));
    assert_non_null(strstr(answer, "\r\n\r\nthe disk? is full\n"));
    ask(&s, "GET /livez HTTP/1.0\r\n\r\n", answer, sizeof(answer)); /* a restart empties no disk */
    assert_non_null(strstr(answer, " 200 "));
    wp_buffer_fini(&text);
    wp_health_close(s.health);
}

static void refuses_the_rest(void **state)
{
    struct served s = serve();
    char answer[4096], *large = calloc(1, 100000);
    (void)state;
    ask(&s, "GET /etc/passwd HTTP/1.0\r\n\r\n", answer, sizeof(answer));
    assert_non_null(strstr(answer, " 404 "));
    ask(&s, "POST /metrics HTTP/1.0\r\nContent-Length: 4\r\n\r\nabcd", answer, sizeof(answer));
    assert_non_null(strstr(answer, " 405 "));
    memset(large, 'a', 99999);
    memcpy(large, "GET /", 5);
    const char *const nonsense[] = {large, "\x16\x03\x01 nonsense\r\n\r\n", "\r\n\r\n", "GET"};
    for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
        int fd = dial(&s);
        ssize_t done = send(fd, nonsense[i], strlen(nonsense[i]), MSG_NOSIGNAL);
        (void)done;
        close(fd);
    }
    ask(&s, "HEAD /metrics HTTP/1.0\r\n\r\n", answer, sizeof(answer));
    assert_non_null(strstr(answer, " 200 "));
    free(large);
    wp_health_close(s.health);
}

/* A crowd that sends a request's beginning and then a byte now and then: who asks properly is answered meanwhile. */
static void slow_crowd(void **state)
{
    struct served s = serve();
    struct wp_buffer text = {0};
    char answer[4096];
    int fds[400]; /* more than are served */
    (void)state;
    wp_buffer_puts(&text, "one 1\n");
    wp_health_publish(s.health, &text, NULL);
    for (size_t i = 0; i < 400; i++) {
        fds[i] = dial(&s);
        assert_int_equal(send(fds[i], "G", 1, MSG_NOSIGNAL), 1);
    }
    static const char *const asked[] = {"/healthz", "/livez", "/metrics"};
    for (size_t i = 0; i < 30; i++) {
        char request[64];
        for (size_t j = 0; j < 400; j++) {
            ssize_t done = send(fds[j], "E", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
            (void)done;
        }
        snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", asked[i % 3]);
        ask(&s, request, answer, sizeof(answer)); /* ends: an answer a connection, also of 1.1 */
        assert_non_null(strstr(answer, " 200 "));
    }
    for (size_t i = 0; i < 400; i++)
        close(fds[i]);
    wp_buffer_fini(&text);
    wp_health_close(s.health);
}

/* Those who connect and say nothing do not keep the daemon from ending; a second one on the port is told so. */
static void silent_connections(void **state)
{
    struct served s = serve();
    struct wp_health *second = NULL;
    struct wp_error err = {0};
    int fds[40];
    (void)state;
    for (size_t i = 0; i < 40; i++)
        fds[i] = dial(&s);
    assert_int_equal(wp_health_open(&second, s.address, NULL, &err), -EADDRINUSE);
    assert_non_null(strstr(err.text, s.address));
    wp_health_close(s.health);
    for (size_t i = 0; i < 40; i++)
        close(fds[i]);
}

/* Requests that are too long come while it ends, and their senders leave. */
static void ends_amid_errors(void **state)
{
    char *large = calloc(1, 40000);
    (void)state;
    memset(large, 'a', 39999);
    memcpy(large, "GET /", 5);
    for (int round = 0; round < 120; round++) {
        struct served s = serve();
        int fds[8];
        for (size_t i = 0; i < 8; i++) {
            fds[i] = dial(&s);
            ssize_t done = send(fds[i], large, strlen(large), MSG_NOSIGNAL | MSG_DONTWAIT);
            (void)done;
            if (round % 2)
                close(fds[i]);
        }
        for (int i = 0; i < round % 50; i++)
            sched_yield(); /* so that it is caught at another moment each round */
        wp_health_close(s.health);
        for (size_t i = 0; i < 8 && round % 2 == 0; i++)
            close(fds[i]);
    }
    free(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_and_labels), cmocka_unit_test(hostile_labels),
        cmocka_unit_test(own_process), cmocka_unit_test(addresses), cmocka_unit_test(tells_what_was_published),
        cmocka_unit_test(refuses_the_rest), cmocka_unit_test(ends_amid_errors), cmocka_unit_test(silent_connections),
        cmocka_unit_test(slow_crowd)};
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
