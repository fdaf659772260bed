/* SPDX-License-Identifier: Apache-2.0 */
/* Lines about sockets: what they say, and which wakings become messages. */
#include "perf_sink.h"

#include "collector/perf_script/perf_script_net.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
/* cmocka wants the headers above */
#include <cmocka.h>

/* --- fields --- */

static void assert_ends(const char *text, const char *local, uint16_t local_port, const char *remote, uint16_t port)
{
    struct wp_perf_net net;
    char here[INET6_ADDRSTRLEN], there[INET6_ADDRSTRLEN];
    assert_true(wp_perf_net_parse(wp_text_of(text), &net));
    assert_non_null(inet_ntop(net.entry.family, net.entry.local, here, sizeof(here)));
    assert_non_null(inet_ntop(net.entry.family, net.entry.remote, there, sizeof(there)));
    assert_string_equal(here, local);
    assert_string_equal(there, remote);
    assert_int_equal(net.entry.local_port, local_port);
    assert_int_equal(net.entry.remote_port, port);
}

static void ends_are_read(void **state)
{
    (void)state;
    assert_ends(
        "family=AF_INET src=10.0.2.15:40000 dest=10.0.2.2:80 mark=0x0 data_len=9", "10.0.2.15", 40000, "10.0.2.2", 80);
    assert_ends("family=AF_INET6 src=[fe80::1]:40000 dest=[fe80::2]:80 mark=0", "fe80::1", 40000, "fe80::2", 80);
    assert_ends("family=AF_INET6 src=[::ffff:10.0.0.1]:1 dest=[::ffff:10.0.0.2]:2", "10.0.0.1", 1, "10.0.0.2", 2);
    assert_ends("family=AF_INET protocol=IPPROTO_TCP sport=5432 dport=40001 saddr=127.0.0.1 daddr=127.0.0.2 "
                "saddrv6=::ffff:127.0.0.1 daddrv6=::ffff:127.0.0.2 oldstate=TCP_SYN_RECV newstate=TCP_ESTABLISHED",
        "127.0.0.1", 5432, "127.0.0.2", 40001);
    assert_ends("family=AF_INET6 sport=1 dport=2 saddr=0.0.0.0 daddr=0.0.0.0 saddrv6=::1 daddrv6=fe80::7", "::1", 1,
        "fe80::7", 2);
    assert_ends("sport=1 dport=2 saddr=0.0.0.0 daddr=0.0.0.0 saddrv6=::1 daddrv6=fe80::7 sock_cookie=1", "::1", 1,
        "fe80::7", 2);
    assert_ends("sport=1 dport=2 saddr=10.0.0.1 daddr=10.0.0.2 saddrv6=::ffff:10.0.0.1 daddrv6=::ffff:10.0.0.2",
        "10.0.0.1", 1, "10.0.0.2", 2);
    assert_ends("sport=1 dport=2 saddr=10.0.0.1 daddr=10.0.0.2", "10.0.0.1", 1, "10.0.0.2", 2);
    assert_ends("(ffffffff81) sk=0x1 skc_family=2 skc_num=40000 skc_dport=20480 skc_daddr=33685514 "
                "skc_rcv_saddr=251789322 size=7",
        "10.0.2.15", 40000, "10.0.2.2", 80);
    assert_ends("(ffffffff81) sk=0x1 skc_family=10 skc_num=1 skc_dport=0x200 skc_daddr=0 skc_rcv_saddr=0 "
                "skc_v6_daddr0=0x80fe skc_v6_daddr1=0x200000000000000 skc_v6_rcv_saddr0=0 "
                "skc_v6_rcv_saddr1=0x100000000000000",
        "::1", 1, "fe80::2", 2);
}

static struct wp_perf_net parsed(const char *text)
{
    struct wp_perf_net net;
    assert_true(wp_perf_net_parse(wp_text_of(text), &net));
    return net;
}

static void sockets_are_named(void **state)
{
    (void)state;
    struct wp_perf_net net = parsed("sk address = 0xffff888003e6a040, family = AF_INET protocol = IPPROTO_TCP, "
                                    "length = 512, error = 0, flags = 0x0");
    assert_true(net.sk == 0xffff888003e6a040u && net.has_bytes && net.bytes == 512);
    assert_int_equal(net.entry.protocol, IPPROTO_TCP);
    assert_false(wp_perf_net_has_ends(&net.entry));
    assert_int_equal(parsed("sk address = 0x1, family = 0x1 protocol = 0x0, length = 3").entry.protocol, UINT8_MAX);
    assert_int_equal(
        parsed("sk address = 0x1, family = AF_INET protocol = 0x11, length = 3").entry.protocol, IPPROTO_UDP);
    net = parsed("(ffffffff816e4a20) sk=ffff8800b8c3a000"); /* as perf wrote it in 2015 */
    assert_true(net.sk == 0xffff8800b8c3a000u && !net.has_bytes);
    assert_true(parsed("(ffffffff816e4a20) sk=18446612687273590784").sk == 18446612687273590784u);
    assert_true(parsed("skbaddr=0x5 skaddr=0x7 family=AF_INET").sk == 7);
    assert_true(parsed("src=1.2.3.4:5 dest=1.2.3.5:6 sock_cookie=1f").cookie == 0x1f);
    net = parsed("sk=0x1 copied=-11");
    assert_true(net.has_bytes && !net.bytes);
    assert_true(parsed("sk=0x1 size=99999999999").bytes == 1u << 30);
    assert_false(parsed("sk=0x1 size=99999999999999999999999").has_bytes);
    static const char *const none[] = {"", "sk=", "sk=x", "sk", "task=0x1", "sk=0x0", "sk=0x11111111111111111",
        "src=1.2.3.4:5", "src=1.2.3.4:5 dest=1.2.3.4:99999", "src=1.2.3.4:5 dest=[::1:6", "src=[::1]:5 dest=1.2.3.4:6",
        "src=a:1 dest=b:2", "sport=1 dport=0 saddr=1.2.3.4 daddr=1.2.3.5", "skc_num=1",
        "skc_num=65536 skc_dport=1 skc_daddr=1 skc_rcv_saddr=1",
        "skc_num=1 skc_dport=65536 skc_daddr=1 skc_rcv_saddr=1",
        "skc_family=1 skc_num=1 skc_dport=1 skc_daddr=1 skc_rcv_saddr=1"};
    struct wp_perf_net no;
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        print_message("%s\n", none[i]);
        assert_false(wp_perf_net_parse(wp_text_of(none[i]), &no));
    }
}

/* --- texts --- */

#define PROBE(comm, pid, cpu, time, name, rest)                                                                        \
    comm " " pid "/" pid " [" cpu "] " time ": " name ": (ffffffff816e4a20) " rest "\n\n"
#define POINT(comm, pid, cpu, time, name, rest) comm " " pid "/" pid " [" cpu "] " time ": " name ": " rest "\n\n"
#define FRAME(function) "\tffffffff81000000 " function "+0x1 ([kernel.kallsyms])\n"
#define WAKING(comm, pid, cpu, time, woken, stack)                                                                     \
    comm " " pid "/" pid " [" cpu "] " time ": sched:sched_waking: comm=x pid=" woken                                  \
         " prio=120 target_cpu=001\n" stack "\n"
#define RECEIVE FRAME("try_to_wake_up") FRAME("sock_def_readable") FRAME("tcp_data_queue") FRAME("tcp_rcv_established")
#define RECEIVE_UDP FRAME("try_to_wake_up") FRAME("sock_def_readable") FRAME("__udp_enqueue_schedule_skb")
#define BY_DEVICE                                                                                                      \
    FRAME("ip_rcv")                                                                                                    \
    FRAME("napi_gro_receive")                                                                                          \
    FRAME("virtnet_poll") FRAME("net_rx_action") FRAME("__do_softirq") FRAME("common_interrupt")
#define BY_BACKLOG FRAME("ip_rcv") FRAME("process_backlog") FRAME("net_rx_action") FRAME("__do_softirq")
#define BY_SENDER BY_BACKLOG FRAME("do_softirq") FRAME("ip_finish_output2") FRAME("tcp_sendmsg")

static struct perf_sink facts_of(const char *text)
{
    struct perf_sink sink = {0};
    struct wp_error err = {0};
    uint64_t skipped = 0;
    int rc = perf_sink_run(&sink, text, strlen(text), &skipped, &err);
    if (rc)
        print_message("%s\n", err.text);
    assert_int_equal(rc, 0);
    assert_int_equal(skipped, 0);
    assert_int_equal(sink.broken, 0);
    return sink;
}

/* Has a line that begins with `beginning` and ends with `end`. */
static void assert_line(const struct perf_sink *sink, const char *beginning, const char *end)
{
    const char *text = sink->text.size ? (const char *)sink->text.data : "";
    size_t size = strlen(end);
    for (const char *at = text, *line_end; (line_end = strchr(at, '\n')); at = line_end + 1)
        if (!strncmp(at, beginning, strlen(beginning)) && (size_t)(line_end - at) >= size &&
            !strncmp(line_end - size, end, size))
            return;
    print_message("no line: %s...%s\nbut:\n%.3000s\n", beginning, end, text);
    fail();
}

#define HERE "skc_family=2 skc_num=40000 skc_dport=20480 skc_daddr=33685514 skc_rcv_saddr=251789322"
#define SEGMENT(bytes) "family=AF_INET src=10.0.2.15:40000 dest=10.0.2.2:80 mark=0x0 data_len=" bytes " sock_cookie=5"

/* A request to another host, and the answer that ends the wait for it. */
static void another_host(void **state)
{
    (void)state;
    struct perf_sink sink = facts_of(
        PROBE("curl", "7", "000", "1.000000", "probe:tcp_sendmsg", "sk=0x77 " HERE " size=100")
            POINT("swapper", "0", "000", "1.100000", "tcp:tcp_probe", SEGMENT("300")) WAKING("swapper", "0", "000",
                "1.100010", "7", RECEIVE BY_DEVICE) POINT("curl", "7", "000", "1.100020", "tcp:tcp_rcv_space_adjust",
                "family=AF_INET sport=40000 dport=80 saddr=10.0.2.15 daddr=10.0.2.2 saddrv6=::ffff:10.0.2.15 "
                "daddrv6=::ffff:10.0.2.2 sock_cookie=5")
        /* an acknowledgement brings nothing, and later packets of other protocols are other packets */
        POINT("swapper", "0", "000", "1.200000", "tcp:tcp_probe", SEGMENT("0")) WAKING("swapper", "0", "000",
            "1.200010", "7", RECEIVE_UDP BY_DEVICE) WAKING("swapper", "0", "000", "1.300000", "7", RECEIVE BY_DEVICE));
    assert_line(&sink, "1000000000 sock_send 0 7/7[curl] > 0/0[] c=100 d=0 a=100 b=0 flags=0",
        " tcp 10.0.2.15:40000>10.0.2.2:80");
    assert_line(&sink, "1100000000 sock_arrive 0 0/0[swapper] > 0/0[] c=300 d=0 a=300 b=0 flags=0", "10.0.2.2:80");
    assert_line(&sink, "1100010000 waking 0 0/0[swapper] > 7/7[x] c=3 d=0 a=300 b=0 flags=2", "10.0.2.2:80");
    assert_line(&sink, "1100020000 sock_recv 0 7/7[curl] > 0/0[] c=300 d=0 a=300 b=0 flags=0", "10.0.2.2:80");
    assert_line(&sink, "1200010000 waking 0 0/0[swapper] > 7/7[x] c=6 d=3", "frames=0");
    assert_line(&sink, "1300000000 waking 0 0/0[swapper] > 7/7[x] c=6 d=3", "frames=0");
    assert_int_equal(sink.counts[WP_EVENT_SOCK_ARRIVE], 1);
    perf_sink_fini(&sink);
}

#define CLIENT "skc_family=2 skc_num=40000 skc_dport=20480 skc_daddr=16777343 skc_rcv_saddr=16777343"
#define SERVER "skc_family=2 skc_num=80 skc_dport=16540 skc_daddr=16777343 skc_rcv_saddr=16777343"
#define AT_SERVER "family=AF_INET src=127.0.0.1:80 dest=127.0.0.1:40000 mark=0x0 data_len=100 sock_cookie=6"
#define AT_CLIENT "family=AF_INET src=127.0.0.1:40000 dest=127.0.0.1:80 mark=0x0 data_len=300 sock_cookie=5"

/* Over loopback the waking is a message where the sender's sends are told, else the sender's own doing. */
static void this_host(void **state)
{
    (void)state;
    struct perf_sink sink = facts_of(POINT("curl", "7", "000", "1.000000", "tcp:tcp_probe", AT_SERVER)
            WAKING("curl", "7", "000", "1.000001", "8", RECEIVE BY_SENDER)
                PROBE("curl", "7", "000", "1.000010", "probe:tcp_sendmsg", "sk=0x77 " CLIENT " size=100")
                    POINT("curl", "7", "000", "1.000020", "tcp:tcp_probe", AT_SERVER)
                        WAKING("curl", "7", "000", "1.000030", "8", RECEIVE BY_SENDER)
                            PROBE("web", "8", "001", "1.100000", "probe:tcp_sendmsg", "sk=0x88 " SERVER " size=300")
                                POINT("web", "8", "001", "1.100010", "tcp:tcp_probe", AT_CLIENT)
                                    WAKING("web", "8", "001", "1.100020", "7", RECEIVE BY_SENDER));
    assert_line(&sink, "1000001000 waking 0 7/7[curl] > 8/8[x] c=1 d=0 a=0 b=0 flags=0", "frames=0");
    assert_line(&sink, "1000010000 sock_send 0 7/7[curl] > 0/0[] c=100 d=0 a=200", "127.0.0.1:40000>127.0.0.1:80");
    assert_line(&sink, "1000020000 sock_arrive 0 7/7[curl] > 0/0[] c=100 d=0 a=200", "127.0.0.1:80>127.0.0.1:40000");
    assert_line(&sink, "1000030000 waking 0 7/7[curl] > 8/8[x] c=3 d=0 a=200", "127.0.0.1:80>127.0.0.1:40000");
    assert_line(&sink, "1100020000 waking 1 8/8[web] > 7/7[x] c=3 d=0 a=300", "127.0.0.1:40000>127.0.0.1:80");
    perf_sink_fini(&sink);
}

#define SENT(sk, bytes)                                                                                                \
    "sk address = " sk ", family = AF_INET protocol = IPPROTO_TCP, length = " bytes ", error = 0, flags = 0x0"

/* Where a send is told when its call returned, what it sent has arrived before. */
static void sends_that_are_told_late(void **state)
{
    (void)state;
    struct perf_sink sink = facts_of(
        POINT("curl", "7", "000", "1.000000", "tcp:tcp_probe", AT_SERVER " skbaddr=0x1 skaddr=0x88")
            POINT("curl", "7", "000", "1.000005", "sock:sock_send_length", SENT("0x77", "100"))
                POINT("web", "8", "001", "1.000010", "tcp:tcp_probe", AT_CLIENT " skbaddr=0x1 skaddr=0x77")
                    POINT("curl", "7", "000", "1.000020", "sock:sock_send_length", SENT("0x77", "100"))
                        POINT("curl", "7", "000", "1.000030", "tcp:tcp_probe", AT_SERVER " skbaddr=0x1 skaddr=0x88")
                            WAKING("curl", "7", "000", "1.000040", "8", RECEIVE BY_SENDER)
                                POINT("curl", "7", "000", "1.000050", "sock:sock_send_length", SENT("0x77", "100"))
                                    POINT("web", "8", "001", "1.000060", "sock:sock_recv_length", SENT("0x88", "200"))
                                        POINT("web", "8", "001", "1.000070", "sock:sock_recv_length",
                                            "sk address = 0x99, family = 0x1 protocol = 0x0, length = 4"));
    assert_line(&sink, "1000020000 sock_send 0 7/7[curl] > 0/0[] c=100 d=0 a=200", "127.0.0.1:40000>127.0.0.1:80");
    assert_line(&sink, "1000040000 waking 0 7/7[curl] > 8/8[x] c=3 d=0 a=200", "127.0.0.1:80>127.0.0.1:40000");
    assert_line(&sink, "1000060000 sock_recv 1 8/8[web] > 0/0[] c=200 d=0 a=200", "127.0.0.1:80>127.0.0.1:40000");
    assert_int_equal(sink.counts[WP_EVENT_SOCK_RECV], 1);
    perf_sink_fini(&sink);
}

/* The paper's probes have the socket's address alone. */
static void probes_of_2015(void **state)
{
    (void)state;
    struct perf_sink sink = facts_of(
        "curl 7 [000] 1.000000: probe:tcp_v4_connect: (ffffffff816e4a20) sk=ffff8800b8c3a000\n\n"
        "swapper 0 [000] 1.050000: probe:tcp_finish_connect: (ffffffff816e4a20) sk=ffff8800b8c3a000\n\n"
        "swapper 0 [000] 1.050005: sched:sched_wakeup: comm=x pid=7 prio=120 target_cpu=001\n" FRAME(
            "ttwu_do_wakeup") FRAME("tcp_rcv_state_process") FRAME("tcp_v4_rcv") FRAME("e1000_clean")
            FRAME("net_rx_action") FRAME("__do_softirq") FRAME(
                "do_IRQ") "\n"
                          "curl 7 [000] 1.060000: probe:tcp_sendmsg_1: (ffffffff816e4a20) sk=ffff8800b8c3a000\n\n"
                          "swapper 0 [000] 1.100000: probe:tcp_rcv_established: (ffffffff816e4a20) "
                          "sk=ffff8800b8c3a000\n\n"
                          "swapper 0 [000] 1.100005: sched:sched_wakeup: comm=x pid=7 prio=120 target_cpu=001\n" RECEIVE
                              BY_DEVICE "\n"
                          "swapper 0 [000] 1.200000: probe:tcp_rcv_established: (ffffffff816e4a20) "
                          "sk=ffff8800b8c3b000\n\n"
                          "swapper 0 [000] 1.200005: sched:sched_wakeup: comm=x pid=7 prio=120 target_cpu=001\n" RECEIVE
                              BY_BACKLOG "\n");
    assert_line(&sink, "1000000000 sock_state 0 7/7[curl] > 0/0[] c=2 d=0 a=0 b=7", " tcp 0.0.0.0:0>0.0.0.0:0");
    assert_line(&sink, "1050005000 waking 0 0/0[swapper] > 7/7[x] c=3 d=0 a=0", " tcp 0.0.0.0:0>0.0.0.0:0");
    assert_line(&sink, "1060000000 sock_send 0 7/7[curl] > 0/0[] c=1 d=0 a=1", " tcp 0.0.0.0:0>0.0.0.0:0");
    assert_line(&sink, "1100005000 waking 0 0/0[swapper] > 7/7[x] c=3 d=0 a=1", " tcp 0.0.0.0:0>0.0.0.0:0");
    assert_line(&sink, "1200005000 waking 0 0/0[swapper] > 7/7[x] c=6 d=3", "frames=0");
    perf_sink_fini(&sink);
}

/* A datagram over loopback is what its sender sends; one by a device nobody here has sent. */
static void datagrams(void **state)
{
    (void)state;
    struct perf_sink sink = facts_of(PROBE("ask", "7", "000", "1.000000", "probe:udp_sendmsg",
        "sk=0x77 size=40") "ask 7/7 [000] 1.000010: probe:__udp_enqueue_schedule_skb: (ffffffff816e4a20) "
                           "sk=0x88\n" FRAME("__udp_enqueue_schedule_skb") BY_SENDER
        "\n" WAKING("ask", "7", "000", "1.000020", "8", RECEIVE_UDP BY_SENDER) PROBE("name", "8", "001", "1.000030",
            "probe:skb_consume_udp", "sk=0x88 len=40") "swapper 0/0 [000] 1.100000: probe:udp_queue_rcv_skb: "
                                                       "(ffffffff816e4a20) sk=0x77\n" FRAME("udp_queue_rcv_skb")
                                                           BY_DEVICE
        "\n" WAKING("swapper", "0", "000", "1.100010", "7",
            RECEIVE_UDP BY_DEVICE) "ask 7/7 [000] 1.200000: probe:udp_queue_rcv_skb: (ffffffff816e4a20) "
                                   "sk=0x88\n" FRAME("udp_queue_rcv_skb") BY_SENDER
        "\n" WAKING("ask", "7", "000", "1.200010", "8", RECEIVE_UDP BY_SENDER));
    /* the kernel's own thread may bring it */
    struct perf_sink by_thread = facts_of(PROBE("ask", "7", "000", "1.000000", "probe:udp_sendmsg",
        "sk=0x77 size=40") "ksoftirqd/0 9/9 [000] 1.000500: probe:udp_queue_rcv_skb: (ffffffff816e4a20) "
                           "sk=0x88\n" FRAME("udp_queue_rcv_skb")
                               BY_BACKLOG FRAME("run_ksoftirqd") "\n" WAKING("ksoftirqd/0", "9", "000", "1.000600", "8",
                                   RECEIVE_UDP BY_BACKLOG FRAME("run_ksoftirqd")));
    assert_line(&by_thread, "1000600000 waking 0 9/9[ksoftirqd/0] > 8/8[x] c=3 d=0 a=", " udp 0.0.0.0:0>0.0.0.0:0");
    perf_sink_fini(&by_thread);
    unsigned long long sent = 0, arrived = 0, far = 0;
    const char *text = (const char *)sink.text.data, *at = strstr(text, "1000000000 sock_send");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "1000000000 sock_send 0 7/7[ask] > 0/0[] c=40 d=0 a=%llu b=0 flags=1", &sent), 1);
    at = strstr(text, "1000010000 sock_arrive");
    assert_int_equal(sscanf(at, "1000010000 sock_arrive 0 7/7[ask] > 0/0[] c=0 d=0 a=%llu b=0 flags=1", &arrived), 1);
    assert_true(sent == arrived);
    at = strstr(text, "1000020000 waking");
    assert_int_equal(sscanf(at, "1000020000 waking 0 7/7[ask] > 8/8[x] c=3 d=0 a=%llu b=0 flags=2", &arrived), 1);
    assert_true(sent == arrived);
    at = strstr(text, "1100010000 waking");
    assert_int_equal(sscanf(at, "1100010000 waking 0 0/0[swapper] > 7/7[x] c=3 d=0 a=%llu b=0 flags=2", &far), 1);
    assert_true(far && far != sent && !(far >> 63));
    /* its sender's line is not there */
    assert_line(&sink, "1200010000 waking 0 7/7[ask] > 8/8[x] c=1 d=0 a=0 b=0 flags=0", "frames=0");
    perf_sink_fini(&sink);
}

/* The end of a stream is no byte that was sent, and a port is used again. */
static void connections_come_and_go(void **state)
{
    (void)state;
#define STATE(time, before, after)                                                                                     \
    POINT("curl", "7", "000", time, "sock:inet_sock_set_state",                                                        \
        "family=AF_INET protocol=IPPROTO_TCP sport=40000 dport=80 saddr=10.0.2.15 daddr=10.0.2.2 "                     \
        "saddrv6=::ffff:10.0.2.15 daddrv6=::ffff:10.0.2.2 oldstate=" before " newstate=" after)
    struct perf_sink sink = facts_of(STATE("1.0000", "TCP_SYN_SENT", "TCP_ESTABLISHED")
            PROBE("curl", "7", "000", "1.000100", "probe:tcp_sendmsg", "sk=0x77 " HERE " size=100") STATE("1.1000",
                "TCP_ESTABLISHED", "TCP_CLOSE_WAIT") WAKING("swapper", "0", "000", "1.100010", "7", RECEIVE BY_DEVICE)
                STATE("1.2000", "TCP_LAST_ACK", "TCP_CLOSE") STATE("1.3000", "TCP_SYN_SENT", "TCP_ESTABLISHED")
                    POINT("curl", "7", "000", "1.300001", "sock:inet_sock_set_state",
                        "family=AF_INET protocol=IPPROTO_TCP sport=0 dport=80 saddr=10.0.2.15 daddr=10.0.2.2 "
                        "saddrv6=:: daddrv6=:: oldstate=TCP_CLOSE newstate=TCP_SYN_SENT")
                        POINT("curl", "7", "000", "1.300002", "tcp:tcp_receive_reset", "family=AF_INET sport=1"));
    const char *ends = " tcp 10.0.2.15:40000>10.0.2.2:80";
    assert_line(&sink, "1000000000 sock_state 0 7/7[curl] > 0/0[] c=1 d=0 a=0 b=2 flags=0", ends);
    assert_line(&sink, "1100010000 waking 0 0/0[swapper] > 7/7[x] c=3 d=0 a=1", ends);
    assert_line(&sink, "1200000000 sock_state 0 7/7[curl] > 0/0[] c=7 d=0 a=0 b=9 flags=0", ends);
    assert_int_equal(sink.counts[WP_EVENT_SOCK_STATE], 4);
    unsigned long long before = 0, after = 0;
    const char *text = (const char *)sink.text.data;
    sscanf(strstr(text, "1200000000 sock_state"), "%*[^]]] > 0/0[] %*s %*s %*s %*s %*s %*s %llu", &before);
    sscanf(strstr(text, "1300000000 sock_state"), "%*[^]]] > 0/0[] %*s %*s %*s %*s %*s %*s %llu", &after);
    assert_true(before && after > before);
    perf_sink_fini(&sink);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ends_are_read), cmocka_unit_test(sockets_are_named),
        cmocka_unit_test(another_host), cmocka_unit_test(this_host), cmocka_unit_test(sends_that_are_told_late),
        cmocka_unit_test(probes_of_2015), cmocka_unit_test(datagrams), cmocka_unit_test(connections_come_and_go)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
