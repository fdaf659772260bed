/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_TRUTH_H
#define WP_TESTS_TRUTH_H
/*
 * What a program of known waits writes down about itself while it runs: for each chain of who waited for whom (names of
 * threads, the base first, "client;hop1;hop2") how long it was what.
 *
 * Each thread is a party. What it does lies in its diary, piece by piece with the time of each; who waited for it takes
 * from there what lay in its wait, and nothing else, however long it was itself kept from waiting. A time on a
 * processor is the thread's own clock, a time without one although it wanted it the scheduler's account
 * (/proc/thread-self/schedstat), and a wait is what is left of the wall clock. All of it is in memory that the
 * processes forked after truth_create() share. The base calls itself by the chain's first name only between
 * truth_base_begin() and truth_base_end(), so a report on that name covers exactly that time.
 */
#include <stdbool.h>
#include <stdint.h>

#define TRUTH_BASE "client"

enum truth_kind {
    TRUTH_CPU,      /* on a processor */
    TRUTH_RUNNABLE, /* wanted to be, and was not: preempted, or woken and not yet there */
    TRUTH_SLEEP,    /* asleep on purpose */
    TRUTH_DISK,     /* waiting for a disk */
    TRUTH_TIMEOUT,  /* waited for something that did not come */
    TRUTH_QUEUE,    /* waiting for what was done for others */
    TRUTH_HELD,     /* waiting for what one of several others held, by whichever way it came */
    /* Of which its clocks do not say what it was: */
    TRUTH_OVERSLEPT,        /* after what it slept for: asleep, or woken and not yet there */
    TRUTH_WAKING,           /* on a processor in a call that sleeps: its clock begins before it has been given it */
    TRUTH_TAKING,           /* the same in the call that takes a request, which ends the queue somewhere in it */
    TRUTH_ANSWERING,        /* on a processor in the call that answers: whoever it wakes is asleep or already awake */
    TRUTH_ANSWERING_OTHERS, /* the same for others, who are waited for: before the answer is out, or after */
    TRUTH_KINDS,
};

struct truth;

struct truth_mark {
    uint64_t wall_ns, cpu_ns, delay_ns, sleeps, preemptions; /* of the calling thread */
};

struct truth_party {
    struct truth *truth;
    uint32_t chain;
    uint32_t diary;  /* its number + 1; 0: of the base, whose time is added up at once */
    uint32_t owner;  /* on whose behalf it works; 0 where there is one only */
    int account;     /* the scheduler's, open */
    bool is_sending; /* of what is written down: it has answered */
    bool is_unix;    /* it asks over a unix socket, whose read makes room: that wakes it in vain */
};

/* One request of one client, times of CLOCK_MONOTONIC. Who took it had begun at `done_ns` to write the answer to
 * another and was back from that at `free_ns`. When it was back from writing the answer to this one it says itself
 * (truth_back). */
struct truth_request {
    uint64_t sent_ns, written_ns, done_ns, free_ns, taken_ns, answered_ns, received_ns;
    uint64_t cpu_ns, preempted_ns, sleep_ns; /* of the work for it */
    uint64_t asked_ns;                       /* of the sleep in it */
    uint32_t tid;                            /* the client's */
    uint32_t slot;                           /* of truth_slot, + 1; 0: it is not written down */
};

/* Its memory is the open descriptor `*fd`, which a program that is executed attaches to; NULL: nobody does. */
struct truth *truth_create(int *fd);
struct truth *truth_attach(int fd);
/* Writes the table as JSON; ends the program with an error message where it cannot. */
void truth_write(struct truth *truth, const char *path);
/* A request is written down at its slot. */
uint32_t truth_slot(struct truth *truth);
void truth_log(struct truth *truth, const struct truth_request *request);
/* Its server is back from writing the answer. */
void truth_back(struct truth *truth, uint32_t slot);

/* The calling thread as a party. The base's own has no diary. */
struct truth_party truth_join(struct truth *truth, const char *chain);
/* Until so many have a diary, and a moment more, in which they come to wait for their work. Then as many processes as
 * TRUTH_SPINNERS in the environment says compute beside them, until truth_relax, or this one ends. */
void truth_await(struct truth *truth, uint32_t parties);
void truth_await_diaries(const struct truth *truth, uint32_t parties); /* no more than that */
void truth_relax(struct truth *truth);
/* As truth_join, of a thread or process that has just been made and was called as its creator is until now: what it was
 * until then is that one's. */
struct truth_party truth_born(struct truth *truth, const char *chain, const char *until_now);
/* Of a program that has just been executed by the thread whose mark before that is given. */
struct truth_party truth_executed(struct truth *truth, const char *chain, uint32_t diary, struct truth_mark before);

struct truth_mark truth_now(const struct truth_party *party);
/* Since the mark the party did one thing: after what its processor and the scheduler took, the rest is of the given
 * kind. */
void truth_since(const struct truth_party *party, enum truth_kind kind, struct truth_mark mark);
/* Since the mark it waited for what others held, which the last of them gave back at that time. */
void truth_held(const struct truth_party *party, struct truth_mark mark, uint64_t released_ns);
/* Since the mark it waited for its next work, and has it: of that its way to a processor counts. */
void truth_taken(const struct truth_party *party, struct truth_mark mark);
/* Since the mark it handed on a request of its own: where that took long it had lost its processor. */
void truth_sent(const struct truth_party *party, struct truth_mark mark);
/* The same of what it had done. */
void truth_answered(const struct truth_party *party, struct truth_mark mark);
/*
 * Since the mark it waited for the answer of the party with that diary (number + 1), which answered when the last that
 * it did for this one ended. What the scheduler took beyond what has passed since was before: it was woken in vain, as
 * who reads from a unix socket is when its request is read, and had to wait for a processor to find nothing. If the
 * answer came before that processor, all of its delay since that read is one.
 */
void truth_waited(const struct truth_party *party, uint32_t diary, struct truth_mark mark);
/* As truth_waited, and what woke it in vain did so no earlier than that much after the mark. */
void truth_waited_on(const struct truth_party *party, uint32_t diary, struct truth_mark mark, unsigned vain_us);
/* It slept since the mark, once at most; and what that party did in that sleep, once it has written it down. */
struct truth_window {
    uint64_t start_ns, end_ns;
    uint64_t vain_ns;       /* not asleep, from when the other one first ran ... */
    uint64_t vain_start_ns; /* ... or since then, if that is known */
};
struct truth_window truth_slept(const struct truth_party *party, struct truth_mark mark);
void truth_read_diary(const struct truth_party *party, uint32_t diary, struct truth_window window);
/* Works for that much processor time. */
void truth_busy(const struct truth_party *party, unsigned us);
void truth_sleep(const struct truth_party *party, unsigned us);
#define TRUTH_DISK_KIB 256 /* at most */
/* Writes so much to the file and waits until the disk has it. */
void truth_disk(const struct truth_party *party, int fd, unsigned kib);
int truth_file(const char *folder);

void truth_name(const char *name);
/* The calling thread stays on that CPU (modulo how many there are), so that who wakes whom does not preempt him; with
 * TRUTH_FREE in the environment it runs where the kernel likes. */
void truth_pin(unsigned cpu);
void truth_pin_always(unsigned cpu);
struct truth_mark truth_base_begin(const struct truth_party *base);
void truth_base_end(const struct truth_party *base, struct truth_mark begin);

/* Whole messages over pipes and sockets; an end or an error ends the program. */
void truth_put(int fd, const void *bytes, unsigned size);
/* 0 at the end of the stream, else 1. */
int truth_get(int fd, void *bytes, unsigned size);
void truth_die(const char *what);

#endif
