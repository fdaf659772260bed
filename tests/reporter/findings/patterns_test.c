/* SPDX-License-Identifier: Apache-2.0 */
/* Known faults, each by what a recording of one looks like, and what looks alike and is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "reporter/findings/findings.h"
#include "reporter/findings/pattern.h"
#include "reporter/load/facts_read.h"
#include "storage/report/report.h"
#include "tests/reporter/sample.h"

#define MS 1000000u
#define ROWS 4u
#define MAIN "[app];main;pthread_join@libc.so.6;sleep:futex;[app];worker;"
#define SYNC "[app];save;fsync@libc.so.6;k:ext4_sync_file;"
#define FLUSH SYNC "k:blkdev_issue_flush;sleep:fsync;"
#define PAGES SYNC "k:file_write_and_wait_range;k:folio_wait_writeback;sleep:fsync;"
#define LOCKED                                                                                                         \
    "[java];Shop.order;java.util.concurrent.locks.ReentrantLock.lock;pthread_cond_wait@libc.so.6;sleep:futex;[java];"
#define ASKS(port) "[web];save;recv@libc.so.6;sleep:recvfrom tcp 10.0.0.7:" port ";tcp:10.0.0.7:" port ";"
#define CLIENT(port) "sleep:poll tcp :" port ";tcp:10.0.0.9:*;[batch];hold_row;sleep:clock_nanosleep"
#define MARIADB ASKS("3306") "[mariadbd];handle_one_connection@mariadbd;"
#define CONDITION "pthread_cond_timedwait@libc.so.6;sleep:futex;[mariadbd];handle_one_connection@mariadbd;"
#define LATCH "ProcSleep@postgres;WaitLatch@postgres;epoll_wait@libc.so.6;sleep:epoll_wait signalfd;[postgres];"
#define LWLOCK "LWLockAcquireOrWait@postgres;PGSemaphoreLock@postgres;__new_sem_wait_slow64@libc.so.6;sleep:futex;"
#define LOCK "update;pthread_mutex_lock@libc.so.6;sleep:futex table (app);"

struct cell {
    const char *stack;
    enum wp_category category;
    uint64_t ms, count;
};

static const struct {
    struct cell cells[ROWS];
    const char *key; /* of the pattern of the first finding; "" none */
    enum wp_surety sure;
    const char *words; /* of its sentence */
} rows[] = {
    {{{MAIN LOCK "[app];worker;update;write_log;fsync@libc.so.6;sleep:fsync;io:vda", WP_BLOCKING_IO, 90, 40},
         {MAIN LOCK "sched:runnable", WP_SCHEDULER, 2, 40}},
        "lock_held_across_io", WP_SURETY_CERTAIN, "for `table` in `update`, 40 times; it is held during `fsync` in"},
    {{{MAIN LOCK "[app];worker;update;sum", WP_UNDERSTOOD_FUNCTIONS, 90, 400},
         {MAIN LOCK "sched:runnable", WP_SCHEDULER, 2, 200}},
        "lock_convoy", WP_SURETY_POSSIBLE, "it is held while `sum` runs. Lock convoy, possible: threads waited 200"},
    /* Who has the lock was woken on a condition with others, and queued; one that is signalled alone does not. */
    {{{MAIN LOCK
          "[app];worker;take;pthread_cond_wait@libc.so.6;__pthread_mutex_cond_lock@libc.so.6;sleep:futex table (app);"
          "[app];worker;take;look",
          WP_UNDERSTOOD_FUNCTIONS, 60, 400},
         {MAIN LOCK "[app];worker;take;look", WP_UNDERSTOOD_FUNCTIONS, 40, 400},
         {MAIN LOCK "sched:runnable", WP_SCHEDULER, 2, 200}},
        "thundering_herd", WP_SURETY_LIKELY, "for 60 % of the wait threads that were woken together on a condition"},
    /* Queued for another lock: of this one they are no herd. */
    {{{MAIN LOCK
          "[app];worker;take;pthread_cond_wait@libc.so.6;__pthread_mutex_cond_lock@libc.so.6;sleep:futex other (app);"
          "[app];worker;take;look",
          WP_UNDERSTOOD_FUNCTIONS, 90, 400},
         {MAIN LOCK "sched:runnable", WP_SCHEDULER, 2, 200}},
        "lock_convoy", WP_SURETY_POSSIBLE, "for `table` in `update`, 200 times"},
    {{{MAIN
          "take;pthread_cond_wait@libc.so.6;__pthread_mutex_cond_lock@libc.so.6;sleep:futex table (app);[app];main;put",
          WP_UNDERSTOOD_FUNCTIONS, 90, 400},
         {MAIN "take;pthread_cond_wait@libc.so.6;__pthread_mutex_cond_lock@libc.so.6;sleep:futex table "
               "(app);sched:runnable",
             WP_SCHEDULER, 2, 200}},
        "lock_convoy", WP_SURETY_POSSIBLE, "for `table` in `take`"},
    /* Who waits on a condition holds nothing. */
    {{{MAIN LOCK "[app];worker;update;pthread_cond_wait@libc.so.6;sleep:futex", WP_OTHER_PATH, 90, 3}}, "", 0,
        "app waits 90.0 ms (100 %) for `table` in `update`."},
    {{{"[app];save;pwrite64@libc.so.6;sleep:pwrite64 kernel lock (inode data, write);[batch];dump",
         WP_UNDERSTOOD_FUNCTIONS, 90, 9}},
        "", 0, "for `kernel lock (inode data, write)` in `save`"},
    /* The holder would run: what it does in the rest of the time is no answer. That it has no CPU for some ms at a time
     * is the machine's load. */
    {{{MAIN LOCK "[flush];sched:preempted;sched:behind own threads", WP_INVOLUNTARY, 898, 0},
         {MAIN LOCK "[flush];sched:preempted;sched:soft interrupt rcu", WP_INVOLUNTARY, 2, 3},
         {MAIN LOCK "[flush];save;sum", WP_UNDERSTOOD_FUNCTIONS, 60, 60}},
        "priority_inversion", WP_SURETY_LIKELY,
        "app waits 960 ms (100 %) for `table` in `update`; meanwhile its holder (flush) waits for a CPU that other "
        "threads of its process use. Priority inversion, likely: for 93.8 % of the wait its holder has no CPU, longer "
        "at a time"},
    {{{MAIN LOCK "[app];worker;save;fsync@libc.so.6;sleep:fsync;sched:runnable;sched:behind [rt]", WP_SCHEDULER, 600,
          2},
         {MAIN LOCK "[app];worker;save;fsync@libc.so.6;sleep:fsync;io:vda", WP_BLOCKING_IO, 40, 30}},
        "priority_inversion", WP_SURETY_LIKELY, "`update`; meanwhile its holder waits for a CPU that rt uses. Prio"},
    {{{MAIN LOCK "[app];sched:preempted;sched:behind [gzip]", WP_INVOLUNTARY, 60, 30},
         {MAIN LOCK "[app];worker;save;sum", WP_UNDERSTOOD_FUNCTIONS, 30, 30},
         {MAIN LOCK "[app];worker;save;sum;fsync@libc.so.6;sleep:fsync;sched:runnable;sched:behind [gzip]",
             WP_SCHEDULER, 10, 30}},
        "", 0, "it is held while `sum`, called from `save`, runs, and its holder waits 60.0 ms for a CPU."},
    {{{MAIN LOCK "[app];worker;sched:preempted;sched:quota of web.service", WP_INVOLUNTARY, 900, 9},
         {MAIN LOCK "[app];worker", WP_RUNNING_NOT_SAMPLED, 10, 9}},
        "", 0, "for `table` in `update`; meanwhile its holder is throttled by the quota of web.service."},
    {{{MAIN LOCK "[app];worker;write_log;write@libc.so.6;sleep:write /b;io:vda", WP_BLOCKING_IO, 25, 9},
         {MAIN LOCK "[app];worker;save;fsync@libc.so.6;sleep:fsync;io:vda", WP_BLOCKING_IO, 25, 9},
         {MAIN LOCK "[app];worker;load;read@libc.so.6;sleep:read /a;io:vda", WP_BLOCKING_IO, 25, 9},
         {MAIN LOCK "[app];worker;sum", WP_UNDERSTOOD_FUNCTIONS, 25, 9}},
        "", 0, "app waits 100 ms (100 %) for `table` in `update`."},
    /* A lock that was met three times is none. */
    {{{MAIN LOCK "[app];worker;update;sum", WP_UNDERSTOOD_FUNCTIONS, 90, 400},
         {MAIN LOCK "sched:runnable", WP_SCHEDULER, 2, 3}},
        "", 0, "for `table` in `update`, 3 times; it is held while `sum` runs."},
    {{{"[python3];sleep:futex;[python3];take_gil@python3.11;sleep:futex;[python3];f@ext.so", WP_UNDERSTOOD_FUNCTIONS, 9,
         4}},
        "interpreter_lock", WP_SURETY_CERTAIN, "Interpreter lock (GIL), certain"},
    {{{MAIN "acquire;pthread_cond_wait@libc.so.6;sleep:futex;[app];worker;query;usleep@libc.so.6;sleep:clock_nanosleep",
         WP_DELIBERATE_SLEEP, 90, 30}},
        "pool_too_small", WP_SURETY_POSSIBLE,
        "in `acquire`, until a thread of the same role goes on; that one is meanwhile in"},
    /* Who has what it took works with it; so does who asks others meanwhile, but not who waits for its own client. */
    {{{MAIN "acquire;pthread_cond_wait@libc.so.6;sleep:futex;[app];worker;query;sleep:recvfrom tcp 10.0.0.7:80;"
            "tcp:10.0.0.7:80;[db];find;sleep:clock_nanosleep",
         WP_DELIBERATE_SLEEP, 90, 30}},
        "pool_too_small", WP_SURETY_POSSIBLE, "in `acquire`, until a thread of the same role goes on"},
    {{{MAIN "acquire;pthread_cond_wait@libc.so.6;sleep:futex;[app];worker;serve;" CLIENT("80"), WP_DELIBERATE_SLEEP, 90,
         3}},
        "", 0, "for batch, which sleeps on purpose for 90.0 ms (100 %) in `hold_row`, 3 times"},
    {{{MARIADB "handler::ha_index_read_map@mariadbd;" CONDITION "vio_io_wait@mariadbd;" CLIENT("3306"),
         WP_DELIBERATE_SLEEP, 90, 3}},
        "", 0,
        "web waits in `save`, behind a row lock of mariadbd, for batch, which sleeps on purpose for 90.0 ms (100 %) in "
        "`hold_row`"},
    {{{MARIADB "MDL_wait::timed_wait@mariadbd;" CONDITION "mysql_alter_table@mariadbd", WP_UNDERSTOOD_FUNCTIONS, 90,
         3}},
        "", 0, "web waits 90.0 ms (100 %) for mariadbd: `recvfrom` on tcp 10.0.0.7:3306 in `save`."},
    {{{ASKS("5432") "[postgres];XactLockTableWait@postgres;" LATCH "secure_read@postgres;" CLIENT("5432"),
         WP_DELIBERATE_SLEEP, 90, 3}},
        "", 0, "web waits in `save`, behind a row lock of postgres, for batch, which sleeps on purpose for 90.0 ms"},
    /* One that waits for something else by the same functions is behind no lock. */
    {{{ASKS("5432") "[postgres];pg_sleep@postgres;WaitLatch@postgres;WaitEventSetWait@postgres;epoll_wait@libc.so.6;"
                    "sleep:epoll_wait",
         WP_DELIBERATE_SLEEP, 90, 3}},
        "", 0, "web waits in `save` for postgres, which sleeps on purpose for 90.0 ms (100 %) in `pg_sleep`"},
    {{{ASKS("5432") "[postgres];XLogFlush@postgres;" LWLOCK "[postgres];XLogFlush@postgres;fdatasync@libc.so.6;"
                    "sleep:fdatasync;io:vda",
         WP_BLOCKING_IO, 90, 30}},
        "lock_held_across_io", WP_SURETY_CERTAIN,
        "for postgres, which waits 90.0 ms (100 %) for an `LWLock` in `XLogFlush`; it is held during `fdatasync`"},
    /* Tokens in a pipe, as a job server's; what another role writes into one is an answer. */
    {{{MAIN "take;read@libc.so.6;sleep:read pipe;[app];worker;compile;usleep@libc.so.6;sleep:clock_nanosleep",
         WP_DELIBERATE_SLEEP, 90, 30}},
        "pool_too_small", WP_SURETY_POSSIBLE,
        "in `take`, until a thread of the same role goes on; that one is meanwhile in `usleep` in `compile`"},
    {{{MAIN "take;read@libc.so.6;sleep:read pipe;[app];feeder;compile;usleep@libc.so.6;sleep:clock_nanosleep",
         WP_DELIBERATE_SLEEP, 90, 3}},
        "", 0, "in `compile`"},
    {{{MAIN "acquire;__new_sem_wait_slow64@libc.so.6;sleep:futex slots (app);[app];worker;query;sleep:clock_nanosleep",
         WP_DELIBERATE_SLEEP, 90, 30}},
        "pool_too_small", WP_SURETY_LIKELY, "for `slots` in `acquire`"},
    /* The holders' own time in it is larger than what is waited for it; but where next to nobody waits. */
    {{{MAIN "acquire;__new_sem_wait_slow64@libc.so.6;sleep:futex slots (app);[app];worker;query;sleep:clock_nanosleep",
          WP_DELIBERATE_SLEEP, 40, 30},
         {MAIN "query;sleep:clock_nanosleep", WP_DELIBERATE_SLEEP, 90, 30}},
        "pool_too_small", WP_SURETY_LIKELY, "for `slots` in `acquire`"},
    {{{MAIN "acquire;__new_sem_wait_slow64@libc.so.6;sleep:futex slots (app);[app];worker;query;sleep:clock_nanosleep",
          WP_DELIBERATE_SLEEP, 20, 30},
         {MAIN "query;sleep:clock_nanosleep", WP_DELIBERATE_SLEEP, 90, 30}},
        "polling", WP_SURETY_POSSIBLE, "sleeps on purpose for 90.0 ms"},
    /* Who waits for another one's result waits for what that one does. */
    {{{MAIN "get;pthread_cond_wait@libc.so.6;sleep:futex;[app];produce;make;usleep@libc.so.6;sleep:clock_nanosleep",
         WP_DELIBERATE_SLEEP, 90, 3}},
        "", 0, "sleeps on purpose for 90.0 ms (100 %) in `make`"},
    {{{FLUSH "io:vda", WP_BLOCKING_IO, 90, 900}, {FLUSH "sched:runnable", WP_SCHEDULER, 2, 300}}, "fsync_per_item",
        WP_SURETY_LIKELY,
        "`fsync` in `save`, 300 times. fsync for each item, likely: 300 calls of `fsync`, 300 µs on average"},
    /* A call of a large file waits for its pages one after the other, and once for the disk to have them. */
    {{{PAGES "io:vda", WP_BLOCKING_IO, 90, 900}, {PAGES "sched:runnable", WP_SCHEDULER, 2, 300},
         {FLUSH "io:vda", WP_BLOCKING_IO, 1, 3}, {FLUSH "sched:runnable", WP_SCHEDULER, 1, 3}},
        "", 0, "`fsync` in `save`, 3 times."},
    {{{PAGES "io:vda", WP_BLOCKING_IO, 90, 900}, {PAGES "sched:runnable", WP_SCHEDULER, 2, 300}}, "fsync_per_item",
        WP_SURETY_POSSIBLE, "fsync for each item, possible: 300 sleeps in `fsync`, 300 µs on average"},
    {{{"[app];save;fsync@libc.so.6;sleep:fsync;io:vda", WP_BLOCKING_IO, 90, 900},
         {"[app];save;fsync@libc.so.6;sleep:fsync;sched:runnable", WP_SCHEDULER, 2, 300}},
        "fsync_per_item", WP_SURETY_POSSIBLE,
        "`fsync` in `save`, 300 times. fsync for each item, possible: 300 sleeps"},
    {{{"[app];save;fsync@libc.so.6;sleep:fsync;io:vda", WP_BLOCKING_IO, 90, 9}}, "", 0, "`fsync` in `save`."},
    /* The kernel's workers do it for who asked. */
    {{{"[app];save;fsync@libc.so.6;sleep:fsync;[kworker/u8:1];sleep:kernel;io:vda", WP_BLOCKING_IO, 50, 90},
         {"[app];save;fsync@libc.so.6;sleep:fsync;[kworker/1:2];sleep:kernel;io:vda", WP_BLOCKING_IO, 40, 90},
         {"[app];save;fsync@libc.so.6;sleep:fsync;sched:runnable", WP_SCHEDULER, 2, 300}},
        "fsync_per_item", WP_SURETY_POSSIBLE, "app waits 90.0 ms (97.8 %) for the disk: `fsync` in `save`, 300 times."},
    {{{"[app];look_up;__glibcxx_rwlock_rdlock;pthread_rwlock_rdlock@libc.so.6;sleep:futex table (app);[app];load",
         WP_UNDERSTOOD_FUNCTIONS, 90, 9}},
        "", 0, "for the read-write lock `table` in `look_up`; in its last holder `load` runs."},
    /* The one that gives it back may sleep while another reader has it. */
    {{{"[app];put;pthread_rwlock_wrlock@libc.so.6;sleep:futex table (app);[app];reader;usleep@libc.so.6;"
       "sleep:clock_nanosleep",
         WP_DELIBERATE_SLEEP, 90, 9}},
        "lock_held_across_io", WP_SURETY_POSSIBLE, "; its last holder is meanwhile in `usleep` in `reader`."},
    /* A call in several pieces is more than another one's largest. */
    {{{"[app];save;unlink@libc.so.6;sleep:unlink;io:vda", WP_BLOCKING_IO, 40, 9},
         {"[app];save;fsync@libc.so.6;sleep:fsync a.db;io:vda", WP_BLOCKING_IO, 34, 9},
         {"[app];save;fsync@libc.so.6;sleep:fsync a.db;io:queue", WP_IO_QUEUE, 33, 9}},
        "", 0, "app waits 107 ms (100 %) for the disk: `fsync` of a.db in `save`."},
    /* Runs between its sleeps are too short for samples: they are its own. */
    {{{"[app]", WP_RUNNING_NOT_SAMPLED, 60, 310},
         {"[app];save;fsync@libc.so.6;sleep:fsync;io:vda", WP_BLOCKING_IO, 40, 900},
         {"[app];save;fsync@libc.so.6;sleep:fsync;sched:runnable", WP_SCHEDULER, 2, 300}},
        "fsync_per_item", WP_SURETY_POSSIBLE, "app waits 40.0 ms (39 %) for the disk: `fsync` in `save`"},
    {{{"[app];load;sleep:fault;io:vda", WP_BLOCKING_IO, 90, 9}}, "cold_start", WP_SURETY_LIKELY,
        "a page fault in `load`"},
    {{{"[app];load;sleep:fault file;io:vda", WP_BLOCKING_IO, 90, 9}}, "cold_start", WP_SURETY_LIKELY,
        "for the disk: pages of a file that were not in memory, in `load`."},
    {{{"[app];load;sleep:fault file;io:vda read /srv/idx", WP_BLOCKING_IO, 60, 9},
         {"[app];load;sleep:fault file;io:vda read /srv/other;io:queue", WP_BLOCKING_IO, 30, 9}},
        "cold_start", WP_SURETY_LIKELY, "for the disk: pages of /srv/idx that were not in memory, in `load`"},
    {{{"[app];load;sleep:fault file;io:vda read /srv/a", WP_BLOCKING_IO, 30, 9},
         {"[app];load;sleep:fault file;io:vda read /srv/b", WP_BLOCKING_IO, 30, 9},
         {"[app];load;sleep:fault file;io:vda read /srv/c", WP_BLOCKING_IO, 30, 9}},
        "cold_start", WP_SURETY_LIKELY, "for the disk: pages of a file that were not in memory, in `load`"},
    /* What a fiftieth of the time looks like is no news. */
    {{{"[app];load;sleep:fault file;io:vda", WP_BLOCKING_IO, 19, 9}, {"[app];sum", WP_UNDERSTOOD_FUNCTIONS, 981, 9}},
        "", 0, "98.1 % of the time"},
    /* Of a function that several call, the caller tells more, if most of the time is its. */
    {{{"[app];main;rebuild;nap;usleep@libc.so.6;sleep:clock_nanosleep", WP_DELIBERATE_SLEEP, 80, 3},
         {"[app];main;rest;nap;usleep@libc.so.6;sleep:clock_nanosleep", WP_DELIBERATE_SLEEP, 20, 1}},
        "", 0, "sleeps on purpose for 80.0 ms (80 %) in `nap`, called from `rebuild`, 3 times"},
    {{{"[app];main;rebuild;nap;usleep@libc.so.6;sleep:clock_nanosleep", WP_DELIBERATE_SLEEP, 60, 3},
         {"[app];main;rest;nap;usleep@libc.so.6;sleep:clock_nanosleep", WP_DELIBERATE_SLEEP, 40, 1}},
        "", 0, "sleeps on purpose for 100 ms (100 %) in `nap`, 4 times"},
    {{{"[app];main;nap;usleep@libc.so.6;sleep:clock_nanosleep", WP_DELIBERATE_SLEEP, 90, 3},
         {"[app];main;rest;nap;usleep@libc.so.6;sleep:clock_nanosleep", WP_DELIBERATE_SLEEP, 10, 1}},
        "", 0, "sleeps on purpose for 100 ms (100 %) in `nap`, 4 times"},
    {{{"[app];get;pthread_mutex_lock@libc.so.6;sleep:futex table (app);[app];put;nap;usleep@libc.so.6;"
       "sleep:clock_nanosleep",
          WP_DELIBERATE_SLEEP, 80, 3},
         {"[app];rest;nap;usleep@libc.so.6;sleep:clock_nanosleep", WP_DELIBERATE_SLEEP, 20, 1}},
        "lock_held_across_io", WP_SURETY_CERTAIN, "it is held during `usleep` in `nap`, called from `put`. Lock"},
    {{{"[app];wait_ready;usleep@libc.so.6;sleep:clock_nanosleep", WP_DELIBERATE_SLEEP, 90, 45}}, "polling",
        WP_SURETY_POSSIBLE, "in `wait_ready`, 45 times, 2.00 ms on average. Polling"},
    {{{"[app];fetch;poll@libc.so.6;sleep:poll tcp 10.0.0.7:80", WP_TIMEOUT, 900, 3}}, "retry_after_timeout",
        WP_SURETY_LIKELY,
        "in `fetch`, 3 times, 300 ms on average. Retry after a timeout, likely: 3 timeouts of 300 ms on average on "
        "tcp"},
    {{{"[app];nap;sleep@libc.so.6;sleep:clock_nanosleep", WP_DELIBERATE_SLEEP, 90, 1}}, "", 0, "in `nap`."},
    {{{"[web];list;recv@libc.so.6;sleep:recvfrom tcp 10.0.0.7:5432;tcp:10.0.0.7:5432;[db];main;find",
          WP_UNDERSTOOD_FUNCTIONS, 90, 500},
         {"[web];list;recv@libc.so.6;sleep:recvfrom tcp 10.0.0.7:5432;sched:runnable", WP_SCHEDULER, 5, 250}},
        "n_plus_one", WP_SURETY_LIKELY,
        "for db: `recvfrom` on tcp 10.0.0.7:5432 in `list`, 250 times; there `find` runs"},
    /* The same when who is asked sleeps: the place is the one who asks. */
    {{{"[web];list;recv@libc.so.6;sleep:recvfrom tcp 10.0.0.7:5432;tcp:10.0.0.7:5432;[db];find;sleep:clock_nanosleep",
          WP_DELIBERATE_SLEEP, 90, 30},
         {"[web];list;recv@libc.so.6;sleep:recvfrom tcp 10.0.0.7:5432;sched:runnable", WP_SCHEDULER, 5, 30}},
        "n_plus_one", WP_SURETY_POSSIBLE, "web waits in `list` for db, which sleeps on purpose for 90.0 ms"},
    {{{"[web];list;recv@libc.so.6;sleep:recvfrom tcp 10.0.0.7:80;tcp:10.0.0.7:80", WP_MESSAGE_IN_FLIGHT, 410, 10}},
        "delayed_ack", WP_SURETY_LIKELY, "10 messages are on their way for 41.0 ms on average"},
    {{{"[web];list;recv@libc.so.6;sleep:recvfrom tcp 10.0.0.7:80;tcp:10.0.0.7:80", WP_MESSAGE_IN_FLIGHT, 200, 10}}, "",
        0, "in `list`"},
    /* Who is asked may have the same name, and no function that is known. */
    {{{"[python3];recv@libc.so.6;sleep:recvfrom tcp 10.0.0.7:80;tcp:10.0.0.7:80;[python3];sleep:clock_nanosleep",
          WP_DELIBERATE_SLEEP, 90, 30},
         {"[python3];recv@libc.so.6;sleep:recvfrom tcp 10.0.0.7:80;sched:runnable", WP_SCHEDULER, 5, 30}},
        "n_plus_one", WP_SURETY_POSSIBLE, "python3 waits for another python3, which sleeps on purpose for 90.0 ms"},
    /* So may a child, whose end is waited for. */
    {{{"[perl];reap@shop.pl;wait4@libc.so.6;sleep:wait4;[perl];long_nap@shop.pl;select@libc.so.6;sleep:pselect6",
         WP_DELIBERATE_SLEEP, 90, 1}},
        "", 0, "perl waits in `reap` for another perl, which sleeps on purpose for 90.0 ms (100 %) in `long_nap`."},
    {{{"[app];submit;msgsnd@libc.so.6;sleep:msgsnd;[app];print;usleep@libc.so.6;sleep:clock_nanosleep",
         WP_DELIBERATE_SLEEP, 90, 30}},
        "", 0, "app waits in `submit` for another app, which sleeps on purpose for 90.0 ms (100 %) in `print`"},
    {{{"[app];main;wait4@libc.so.6;sleep:wait4;[app];sort", WP_UNDERSTOOD_FUNCTIONS, 60, 30},
         {"[app];main;pthread_join@libc.so.6;sleep:futex;[app];unpack", WP_UNDERSTOOD_FUNCTIONS, 40, 30}},
        "", 0,
        "app spends 60 % of its time (60.0 ms) waiting for another app, which runs its own code, first of all in "
        "sort."},
    /* Where the program itself waits, and where its thread between does. */
    {{{"[app];note;pthread_cond_wait@libc.so.6;sleep:futex;[app];emit;write@libc.so.6;sleep:write pipe;[sink];ship;"
       "sleep:clock_nanosleep",
         WP_DELIBERATE_SLEEP, 90, 1}},
        "", 0, "another of its threads; that one waits in `emit` for sink, which sleeps on purpose for 90.0 ms"},
    {{{"[python3];map@shop.py;sem_wait@libc.so.6;sleep:futex;[python3];sleep:read pipe;[python3];transcode@shop.py;"
       "sleep:wait4;[sh];sleep:wait4;[sleep];sleep:clock_nanosleep",
         WP_DELIBERATE_SLEEP, 90, 1}},
        "", 0, "python3 waits in `transcode` for sleep, which sleeps on purpose for 90.0 ms"},
    {{{"[app];fetch;sleep:futex;[app];sleep:read pipe;[sh];sleep:read tcp 10.0.0.7:80;[web];sleep:clock_nanosleep",
         WP_DELIBERATE_SLEEP, 90, 1}},
        "", 0, "app waits in `fetch` for web, which sleeps on purpose for 90.0 ms"},
    {{{"[java];Shop.hook;pthread_cond_wait@libc.so.6;sleep:futex;[reaper]@java;wait_for@libjava.so;sleep:wait4;[sleep];"
       "sleep:clock_nanosleep",
         WP_DELIBERATE_SLEEP, 90, 1}},
        "", 0, "java waits in `Shop.hook` for sleep, which sleeps on purpose for 90.0 ms"},
    /* A server that is busy for others: on a path of its own, which tells what it does. */
    {{{"[app];ping;read@libc.so.6;sleep:read unix;for:[admin];path:[gateway]", WP_OTHER_PATH, 90, 9},
         {"[gateway];main;compile", WP_UNDERSTOOD_FUNCTIONS, 60, 60}, {"[gateway];main", WP_INVOLUNTARY, 20, 60}},
        "", 0,
        "app waits 90.0 ms (53 %) in `ping` for gateway, which is busy with work for admin; there `compile` runs."},
    {{{"[app];ping;recv@libc.so.6;sleep:recvfrom tcp 10.0.0.7:80;tcp:10.0.0.7:80;path:[api]", WP_OTHER_PATH, 90, 9}},
        "", 0, "app waits 90.0 ms (100 %) in `ping` for api, which is busy with other work."},
    {{{"[app];ping;recv@libc.so.6;sleep:recvfrom tcp 10.0.0.7:80;tcp:10.0.0.7:80;path:[pool]", WP_OTHER_PATH, 90, 9},
         {"[pool]@app;work;sum", WP_UNDERSTOOD_FUNCTIONS, 10, 9}},
        "", 0, "app waits 90.0 ms (90 %) in `ping` for its thread pool."},
    {{{"[app];ping;recv@libc.so.6;sleep:recvfrom tcp 10.0.0.7:80;tcp:10.0.0.7:80;path:[app]", WP_OTHER_PATH, 90, 9},
         {"[app];ping;recv@libc.so.6;sleep:recvfrom tcp 10.0.0.7:80;sched:runnable", WP_SCHEDULER, 1, 9},
         {"[app];sum", WP_UNDERSTOOD_FUNCTIONS, 9, 9}},
        "", 0, "app waits 90.0 ms (90 %) in `ping`, 9 times, for another app."},
    /* The program is no library or runtime; of its threads one may sleep where nothing is known, and most of the time.
     */
    {{{"[node];await_frame@/srv/shop.js;pthread_cond_wait@libc.so.6;sleep:futex;[node];uv_run@node;sleep:epoll_pwait",
         WP_DELIBERATE_SLEEP, 90, 1}},
        "", 0, "node waits in `await_frame` for another of its threads, which sleeps on purpose for 90.0 ms"},
    {{{"[node];await_frame@/srv/shop.js;pthread_cond_wait@libc.so.6;sleep:futex;[node];sleep:epoll_pwait",
          WP_DELIBERATE_SLEEP, 40, 1},
         {"[node];sleep:epoll_pwait", WP_DELIBERATE_SLEEP, 50, 1}},
        "", 0, "node sleeps on purpose for 90.0 ms (100 %) in `epoll_pwait`, 2 times"},
    {{{"[java];JavaMain@/lib/libjli.so;pthread_join@libc.so.6;sleep:futex;[java];exit@libjvm.so;sleep:epoll_pwait",
         WP_DELIBERATE_SLEEP, 90, 1}},
        "", 0, "java sleeps on purpose for 90.0 ms (100 %) in `epoll_pwait`."},
    /* An interpreter's lock is what the end of a thread is waited for with, and what threads wait for each other with.
     */
    {{{"[python3];PyThread_acquire_lock_timed@python3.11;sem_clockwait@libc.so.6;sleep:futex;[python3];sleep:"
       "clock_nanosleep",
         WP_DELIBERATE_SLEEP, 90, 1}},
        "", 0, "python3 sleeps on purpose for 90.0 ms (100 %) in `clock_nanosleep`."},
    {{{"[python3];sleep:futex;[python3];PyThread_acquire_lock_timed@python3.11;sem_clockwait@libc.so.6;sleep:futex;"
       "[python3];sleep:clock_nanosleep",
         WP_DELIBERATE_SLEEP, 90, 30}},
        "lock_held_across_io", WP_SURETY_CERTAIN, "python3 waits 90.0 ms (100 %) for a lock; it is held during "},
    {{{"[python3];sleep:futex;[python3];pthread_cond_timedwait@libc.so.6;sleep:futex _PyRuntime+0x1b8 (python3.11);"
       "[python3]",
         WP_RUNNING_NOT_SAMPLED, 90, 30}},
        "interpreter_lock", WP_SURETY_CERTAIN, "for the GIL"},
    {{{"[python3];handle;pthread_cond_timedwait@libc.so.6;sleep:futex GIL (python3.11);[python3];render@report.py",
         WP_UNDERSTOOD_FUNCTIONS, 90, 30}},
        "interpreter_lock", WP_SURETY_CERTAIN,
        "for the GIL in `handle`; it is held while `render` runs. Interpreter lock (GIL), certain"},
    {{{"[ruby];handle@shop.rb;gvl_acquire;pthread_cond_timedwait@libc.so.6;sleep:futex;[ruby];render@report.rb",
         WP_UNDERSTOOD_FUNCTIONS, 90, 30}},
        "interpreter_lock", WP_SURETY_CERTAIN,
        "for the GVL in `handle`; it is held while `render` runs. Interpreter lock (GVL), certain"},
    {{{"[java];Shop.order;ObjectMonitor::enter@libjvm.so;pthread_cond_wait@libc.so.6;sleep:futex;[java];Report.render;"
       "usleep@libc.so.6;sleep:clock_nanosleep",
         WP_DELIBERATE_SLEEP, 90, 30}},
        "lock_held_across_io", WP_SURETY_CERTAIN,
        "for a monitor in `Shop.order`; it is held during `usleep` in `Report.render`"},
    /* The holder sleeps in the same call, for a while. */
    {{{"[java];Shop.order;ObjectMonitor::enter@libjvm.so;pthread_cond_wait@libc.so.6;sleep:futex;[java];Report.render;"
       "JavaThread::sleep@libjvm.so;pthread_cond_timedwait@libc.so.6;sleep:futex",
         WP_DELIBERATE_SLEEP, 90, 30}},
        "lock_held_across_io", WP_SURETY_CERTAIN,
        "for a monitor in `Shop.order`; it is held during `JavaThread::sleep` in `Report.render`"},
    {{{"[java];Shop.order;java.util.concurrent.locks.ReentrantLock.lock;pthread_cond_wait@libc.so.6;sleep:futex;[java];"
       "Report.render",
         WP_UNDERSTOOD_FUNCTIONS, 90, 3}},
        "", 0, "for a `ReentrantLock` in `Shop.order`; it is held while `Report.render` runs."},
    /* Who waits for a monitor keeps another lock; who waits for a condition of the lock's own has given it up, and what
     * it does for a moment beside that is not what the others wait for. */
    {{{LOCKED "Shop.load;java.lang.ProcessImpl.waitFor;java.lang.Object.wait;ObjectMonitor::wait@libjvm.so;"
              "pthread_cond_wait@libc.so.6;sleep:futex;[reaper];sleep:wait4;[sleep];sleep:clock_nanosleep",
          WP_DELIBERATE_SLEEP, 80, 3},
         {LOCKED "Shop.load;java.lang.ProcessBuilder.start", WP_UNDERSTOOD_FUNCTIONS, 10, 3}},
        "lock_held_across_io", WP_SURETY_CERTAIN,
        "it is held during `java.lang.ProcessImpl.waitFor` in `Shop.load`. Lock held across I/O, certain: for 89 %"},
    /* From 21 on Java's library waits there on a condition of a lock of its own. */
    {{{LOCKED "Shop.load;java.lang.ProcessImpl.waitFor;java.util.concurrent.locks.AbstractQueuedSynchronizer$"
              "ConditionObject.await;java.util.concurrent.ForkJoinPool.managedBlock;java.util.concurrent.locks."
              "LockSupport.park;Parker::park@libjvm.so;pthread_cond_wait@libc.so.6;sleep:futex;[java];run",
          WP_UNDERSTOOD_FUNCTIONS, 80, 3},
         {LOCKED "Shop.load;java.lang.ProcessBuilder.start", WP_UNDERSTOOD_FUNCTIONS, 10, 3}},
        "lock_held_across_io", WP_SURETY_CERTAIN, "it is held during `java.lang.ProcessImpl.waitFor` in `Shop.load`."},
    /* A nap in the same call is no wait for the pool: its time is what the others wait for. */
    {{{"[java];Shop.work;take;ConditionObject.await;Parker::park;pthread_cond_wait@libc.so.6;sleep:futex;[java];"
       "Shop.work;query;JavaThread::sleep@libjvm.so;pthread_cond_timedwait@libc.so.6;sleep:futex",
          WP_DELIBERATE_SLEEP, 80, 3},
         {"[java];Shop.work;take;ConditionObject.await;Parker::park;pthread_cond_wait@libc.so.6;sleep:futex;[java];"
          "Shop.work;put",
             WP_UNDERSTOOD_FUNCTIONS, 10, 3}},
        "pool_too_small", WP_SURETY_POSSIBLE, "that one is meanwhile in `JavaThread::sleep` in `query`."},
    {{{LOCKED "Shop.take;java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await;Parker::park@"
              "libjvm.so;pthread_cond_wait@libc.so.6;sleep:futex;[java];Shop.put",
          WP_UNDERSTOOD_FUNCTIONS, 80, 3},
         {LOCKED "Shop.load;java.lang.ProcessBuilder.start", WP_UNDERSTOOD_FUNCTIONS, 10, 3}},
        "", 0, "java waits 90.0 ms (100 %) for a `ReentrantLock` in `Shop.order`."},
    {{{"[app];build;gc_collect_main@python3.11", WP_UNDERSTOOD_FUNCTIONS, 90, 30}}, "garbage_collection",
        WP_SURETY_CERTAIN, "app collects garbage for 90.0 ms (100 %) in `build`."},
    {{{"[ruby];build@shop.rb;start@<internal:gc>;rb_gc_mark@libruby-3.1.so", WP_UNDERSTOOD_FUNCTIONS, 90, 30}},
        "garbage_collection", WP_SURETY_CERTAIN, "ruby collects garbage for 90.0 ms (100 %) in `build`."},
    /* Stopped: wherever the threads are, and by what their runtime does meanwhile. */
    {{{"[java];Shop.sell;SafepointSynchronize::block@libjvm.so;LinuxWaitBarrier::wait@libjvm.so;syscall@libc.so.6;"
       "sleep:futex;[VM Thread];VM_G1CollectFull::doit@libjvm.so;syscall@libc.so.6;sleep:futex;[java];scan@libjvm.so",
          WP_OTHER_PATH, 60, 10},
         {"[java];Shop.order;SafepointSynchronize::block@libjvm.so;LinuxWaitBarrier::wait@libjvm.so;syscall@libc.so.6;"
          "sleep:futex;[VM Thread]",
             WP_RUNNING_NOT_SAMPLED, 30, 4}},
        "garbage_collection", WP_SURETY_CERTAIN,
        "java is stopped 90.0 ms (100 %) at a safepoint, longest in `Shop.sell`, as its runtime collects garbage "
        "(`VM_G1CollectFull`)."},
    {{{"[java];Shop.sell;ObjectMonitor::enter@libjvm.so;SafepointSynchronize::block@libjvm.so;syscall@libc.so.6;"
       "sleep:futex;[VM Thread];VM_ThreadDump::doit@libjvm.so",
         WP_UNDERSTOOD_FUNCTIONS, 90, 9}},
        "", 0, "java is stopped 90.0 ms (100 %) at a safepoint (`VM_ThreadDump`) in `Shop.sell`."},
    /* Of a runtime without symbols, by the thread that lets them go on; another process may be named so. */
    {{{"[java];Shop.sell;sleep:futex;[VM Thread]@java;run@libjvm.so", WP_UNDERSTOOD_FUNCTIONS, 90, 9}}, "", 0,
        "java is stopped 90.0 ms (100 %) by its runtime in `Shop.sell`."},
    {{{"[java];Shop.sell;sleep:futex;[VM Thread];run@shop", WP_UNDERSTOOD_FUNCTIONS, 90, 9}}, "", 0,
        "waiting for VM Thread, which runs its own code"},
    {{{"[shop];runtime.gcstopm@shop;runtime.notesleep@shop;sleep:futex;[shop];runtime.gcMarkTermination@shop",
         WP_UNDERSTOOD_FUNCTIONS, 90, 9}},
        "garbage_collection", WP_SURETY_CERTAIN, "as all goroutines are, as its runtime collects garbage."},
    {{{"[node];load@/srv/shop.js;v8::internal::Heap::CollectGarbage@node;pthread_cond_wait@libc.so.6;sleep:futex;"
       "[node];v8::internal::Scavenger::Process@node",
         WP_UNDERSTOOD_FUNCTIONS, 90, 9}},
        "garbage_collection", WP_SURETY_CERTAIN, "node is stopped 90.0 ms (100 %) by its runtime in `load`, as its"},
    /* A finalizer's own sleep is none of the collector's. */
    {{{"[app];build;gc_collect_main@python3.11;close@/srv/shop.py;pthread_cond_wait@libc.so.6;sleep:futex;[app]",
         WP_RUNNING_NOT_SAMPLED, 90, 9}},
        "", 0, "waiting for another of its threads, which runs"},
    /* A libruby without symbols but those that it exports. */
    {{{"[ruby];sum@shop.rb;rb_threadptr_execute_interrupts@libruby-3.1.so;rb_native_cond_wait@libruby-3.1.so;"
       "pthread_cond_wait@libc.so.6;sleep:futex;[ruby];sum@shop.rb",
         WP_UNDERSTOOD_FUNCTIONS, 90, 30}},
        "interpreter_lock", WP_SURETY_CERTAIN, "ruby waits 90.0 ms (100 %) for the GVL in `sum`"},
    /* What a block holds a lock for is no wait for it. */
    {{{"[ruby];append@shop.rb;rb_mutex_synchronize@libruby-3.1.so;pthread_cond_wait@libc.so.6;sleep:futex;[ruby];"
       "append@shop.rb;rb_mutex_synchronize@libruby-3.1.so;write@shop.rb;fsync@libc.so.6;sleep:fsync;io:vda",
         WP_BLOCKING_IO, 90, 30}},
        "lock_held_across_io", WP_SURETY_CERTAIN, "ruby waits 90.0 ms (100 %) for a `Mutex` in `append`; it is held"},
    {{{"[ruby];append@shop.rb;rb_mutex_synchronize@libruby-3.1.so;nap@shop.rb;pthread_cond_timedwait@libc.so.6;"
       "sleep:futex",
         WP_DELIBERATE_SLEEP, 90, 3}},
        "", 0, "ruby sleeps on purpose for 90.0 ms (100 %) in `nap`, 3 times"},
    /* What a producer waits for is no pool of it and the consumer, though both begin in the same file. */
    {{{"[python3];<module>@queue.py;put@/srv/queue.py;sem_clockwait@libc.so.6;sleep:futex;[python3];<module>@queue.py;"
       "store@queue.py;sleep:clock_nanosleep",
         WP_DELIBERATE_SLEEP, 90, 3}},
        "", 0, "sleeps on purpose for 90.0 ms (100 %) in `store`"},
    {{{"[python3];<module>@queue.py;work@queue.py;sem_clockwait@libc.so.6;sleep:futex;[python3];<module>@queue.py;"
       "work@queue.py;sleep:clock_nanosleep",
         WP_DELIBERATE_SLEEP, 90, 3}},
        "pool_too_small", WP_SURETY_LIKELY, "in `work`, until a thread of the same role goes on"},
    /* The C API that an interpreter calls itself by is no place. */
    {{{"[python3];sleep:futex;[python3];handle@shop.py;PyThread_acquire_lock_timed@python3.11;sem_wait@libc.so.6;sleep:"
       "futex;[python3];"
       "query@shop.py;PyObject_Vectorcall@python3.11;sleep:recvfrom tcp 10.0.0.7:80;tcp:10.0.0.7:80",
         WP_REMOTE_NOT_TRACED, 90, 30}},
        "lock_held_across_io", WP_SURETY_CERTAIN, "it is held during `recvfrom` in `query`"},
    /* An event loop does not say itself whose answer was due. */
    {{{"[node];sleep:epoll_wait;tcp:10.0.0.7:80", WP_TIMEOUT, 900, 3}}, "retry_after_timeout", WP_SURETY_LIKELY,
        "until a timeout, unanswered by tcp 10.0.0.7:80: `epoll_wait`, 3 times, 300 ms on average. Retry after a "
        "timeout"},
    /* Nor in each of its sleeps, when it goes on in another thread; half of them tell. */
    {{{"[go];sleep:epoll_pwait", WP_TIMEOUT, 450, 3},
         {"[go];[go];sleep:epoll_pwait;tcp:10.0.0.7:80", WP_TIMEOUT, 250, 2},
         {"[go];sleep:epoll_pwait;tcp:10.0.0.7:80", WP_TIMEOUT, 250, 2}},
        "retry_after_timeout", WP_SURETY_LIKELY, "until a timeout, unanswered by tcp 10.0.0.7:80: `epoll_pwait`"},
    {{{"[go];sleep:epoll_pwait", WP_TIMEOUT, 750, 5}, {"[go];sleep:epoll_pwait;tcp:10.0.0.7:80", WP_TIMEOUT, 250, 2}},
        "", 0, "until a timeout: `epoll_pwait`"},
    {{{"[web];sleep:sendto;room to send (reader not known)", WP_REMOTE_NOT_TRACED, 90, 3}}, "", 0,
        "web waits 90.0 ms (100 %) for room to send, and who reads there is not known: `sendto`."},
    {{{"[app];ask_dns;connect@libc.so.6;sleep:connect tcp 192.0.2.1:80;tcp:192.0.2.1:80 (unreachable)",
         WP_REMOTE_NOT_TRACED, 90, 300}},
        "", 0,
        "waits 90.0 ms (100 %) for a peer that the network reports as unreachable: `connect` on tcp:192.0.2.1:80 in "
        "`ask_dns`"},
    /* Where the program waits for another one that sleeps, also a child of its own name that shares its memory. */
    {{{"[app];start_tool;sleep:clone3;[app];__spawni_child@libc.so.6;sleep:openat", WP_DELIBERATE_SLEEP, 90, 1}}, "", 0,
        "app waits in `start_tool` for another app, which sleeps on purpose for 90.0 ms"},
    {{{"[app];run_hook;waitpid@libc.so.6;sleep:wait4;[sleep];sleep:clock_nanosleep", WP_DELIBERATE_SLEEP, 90, 1}}, "",
        0, "app waits in `run_hook` for sleep, which sleeps on purpose for 90.0 ms"},
    /* A thread may be waited for that asks. */
    {{{MAIN "list;sleep:epoll_pwait tcp 10.0.0.7:5432;tcp:10.0.0.7:5432;[db];find", WP_UNDERSTOOD_FUNCTIONS, 90, 500},
         {MAIN "list;sleep:epoll_pwait tcp 10.0.0.7:5432;sched:runnable", WP_SCHEDULER, 5, 250}},
        "n_plus_one", WP_SURETY_LIKELY, "for db: `epoll_pwait` on tcp 10.0.0.7:5432 in `list`, 250 times"},
    /* What the kernel does there it does for the function. */
    {{{"[app];main;fill;k:exc_page_fault;k:clear_page_erms", WP_UNDERSTOOD_FUNCTIONS, 90, 30}}, "", 0,
        "first of all in fill"},
    {{{"[app];work;sched:preempted", WP_INVOLUNTARY, 800, 10}}, "quota_throttling", WP_SURETY_POSSIBLE,
        "the CPU is lost 10 times, for 80.0 ms each"},
    {{{"[app];work;sched:preempted", WP_INVOLUNTARY, 80, 10}}, "", 0, "is lost to preemption"},
    /* Where it is known who had the CPU, that decides, and not how long it took. */
    {{{"[app];work;sched:preempted;sched:quota of app.service;sched:spent by [batch]", WP_INVOLUNTARY, 80, 10}},
        "quota_throttling", WP_SURETY_CERTAIN,
        "app is throttled for 80.0 ms (100 %) by the quota of app.service, most of it"},
    {{{"[app];work;sched:preempted;sched:quota", WP_INVOLUNTARY, 80, 10},
         {"[app];work;sched:preempted;sched:behind [gzip]", WP_INVOLUNTARY, 20, 10}},
        "quota_throttling", WP_SURETY_CERTAIN, "app is throttled for 80.0 ms (80 %) by the quota of its cgroup."},
    {{{"[app];work;sched:preempted;sched:behind [gzip]", WP_INVOLUNTARY, 800, 10}}, "", 0,
        "app waits 800 ms (100 %) for a CPU that gzip uses."},
    /* No two findings have the same time. */
    {{{"[app];work;sched:preempted;sched:behind [gzip]", WP_INVOLUNTARY, 300, 10},
         {"[app];work;sched:preempted;sched:behind own threads", WP_INVOLUNTARY, 500, 10}},
        "", 0, "62 % of the time (500 ms) is lost to preemption: own threads 500 ms."},
    /* A goroutine's functions say what its thread sleeps for; a word of the scheduler's is no lock. */
    {{{"[shop];main.transfer;sync.(*Mutex).Lock@shop;sync.(*Mutex).lockSlow@shop;runtime.mPark@shop;runtime.notesleep@"
       "shop;runtime.futexsleep@shop;sleep:futex runtime.m0+0x148 (shop);[shop];main.writeAudit;os.(*File).Sync@shop;"
       "sleep:fsync;io:vda",
         WP_BLOCKING_IO, 90, 30}},
        "lock_held_across_io", WP_SURETY_CERTAIN, "shop waits 90.0 ms (100 %) for a `sync.Mutex` in `main.transfer`"},
    {{{"[shop];sleep:futex runtime.m0+0x148 (shop);[shop];runtime.sysmon@shop;sleep:nanosleep", WP_DELIBERATE_SLEEP, 90,
         30}},
        "", 0, "waiting for another of its threads, which sleeps on purpose."},
    /* Its goroutine has come back from a system call, which took so long that another one has its turn. */
    {{{"[shop];main.append;syscall.Syscall@shop;runtime.mcall@shop;runtime.exitsyscall0@shop;runtime.stopm@shop;"
       "sleep:futex runtime.m0+0x148 (shop);[shop];runtime.sysmon@shop;sleep:nanosleep",
         WP_DELIBERATE_SLEEP, 90, 30}},
        "", 0, "shop is stopped 90.0 ms (100 %) by Go's scheduler after a system call in `main.append`"},
    /* Who had it is said where each had little, too. */
    {{{"[app];work;sched:preempted;sched:behind own threads", WP_INVOLUNTARY, 600, 10},
         {"[app];work;sched:preempted;sched:wake-up latency", WP_INVOLUNTARY, 300, 10},
         {"[app];work;sched:preempted;sched:behind recording", WP_INVOLUNTARY, 20, 10}},
        "", 0, "is lost to preemption: own threads 600 ms, wake-up latency 300 ms."},
};

static void each_by_its_rule(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct wp_report *report = wp_report_create();
        struct wp_facts facts;
        for (const struct cell *cell = rows[i].cells; cell < rows[i].cells + ROWS && cell->stack; cell++)
            wp_report_add(report, sample_node(report, cell->stack), cell->category, cell->ms * MS, cell->count);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
        const struct wp_finding *first = &facts.findings[0];
        const char *key = first->pattern.key ? first->pattern.key : "";
        if (strcmp(key, rows[i].key) || (*key && first->pattern.sure != rows[i].sure))
            fail_msg("row %zu is '%s' (%u): %s", i, key, first->pattern.sure, first->sentence);
        if (!strstr(first->sentence, rows[i].words))
            fail_msg("row %zu says: %s", i, first->sentence);
        assert_int_not_equal(strncmp(first->sentence, "A further", 9), 0); /* than what? */
        wp_facts_fini(&facts);
    }
}

/* A quota is told once; what others took from the thread is not its. */
static void a_quota_is_told_once(void **state)
{
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    (void)state;
    wp_report_add(report, sample_node(report, "[app];work;sched:preempted;sched:quota of app.service"), WP_INVOLUNTARY,
        80 * MS, 10);
    wp_report_add(report, sample_node(report, "[app];work;sched:preempted;sched:behind own threads"), WP_INVOLUNTARY,
        40 * MS, 10);
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
    assert_non_null(strstr(facts.findings[0].sentence, "by the quota of app.service"));
    for (size_t i = 1; i < facts.finding_count; i++)
        assert_null(facts.findings[i].pattern.key);
    wp_facts_fini(&facts);
}

/* The runtime's own threads do nothing else; a process of that name may. */
static void a_collectors_thread_collects(void **state)
{
    static const char *const objects[] = {"java", ""};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct wp_report *report = wp_report_create();
        struct wp_facts facts;
        uint32_t wait = sample_node(report, "[java];Main.fill;sleep:futex");
        uint32_t thread =
            wp_report_child(report, wait, wp_report_frame(report, WP_STYLE_PROCESS, "[GC Thread#1]", objects[i]));
        uint32_t top = wp_report_child(report, thread, wp_report_frame(report, WP_STYLE_USER, "scan", "libjvm.so"));
        wp_report_add(report, top, WP_UNDERSTOOD_FUNCTIONS, 90 * MS, 30);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
        const char *key = facts.findings[0].pattern.key;
        assert_int_equal(key && !strcmp(key, "garbage_collection"), !i);
        wp_facts_fini(&facts);
    }
}

/* Of a runtime whose threads name themselves: they are no other processes. */
static void threads_with_names_are_one_process(void **state)
{
    static const char *const names[] = {"[worker-1]", "[worker-2]"};
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        uint32_t at = sample_node(report, "[java];main;pthread_join@libc.so.6;sleep:futex");
        static const struct {
            enum wp_frame_style style;
            const char *name, *object;
        } frames[] = {{WP_STYLE_USER, "Shop.work", "Shop.java"}, {WP_STYLE_USER, "Shop.checkOut", "Shop.java"},
            {WP_STYLE_USER, "pthread_cond_wait", "libc.so.6"}, {WP_STYLE_SLEEP, "sleep:futex", ""},
            {WP_STYLE_PROCESS, NULL, "java"}, {WP_STYLE_USER, "Shop.work", "Shop.java"},
            {WP_STYLE_USER, "Shop.query", "Shop.java"}};
        at = wp_report_child(report, at, wp_report_frame(report, WP_STYLE_PROCESS, names[i], "java"));
        for (size_t k = 0; k < sizeof(frames) / sizeof(*frames); k++)
            at = wp_report_child(report, at,
                wp_report_frame(
                    report, frames[k].style, frames[k].name ? frames[k].name : names[1 - i], frames[k].object));
        wp_report_add(report, at, WP_UNDERSTOOD_FUNCTIONS, 90 * MS, 30);
    }
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
    assert_non_null(strstr(facts.findings[0].sentence, "java waits 180 ms (100 %) in `Shop.checkOut`, until a thread"));
    assert_string_equal(facts.findings[0].pattern.key, "pool_too_small");
    wp_facts_fini(&facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_by_its_rule), cmocka_unit_test(a_quota_is_told_once),
        cmocka_unit_test(a_collectors_thread_collects), cmocka_unit_test(threads_with_names_are_one_process)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
