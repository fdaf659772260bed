/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_TRUTH_H
#define WP_TESTS_TRUTH_H
/*
 * What a program of known waits writes down about itself while it runs: for each chain of who waited for whom (names of
 * threads, the base first, "client;hop1;hop2") how long it was what. The table is shared by all processes forked after
 * truth_create(). The base calls itself by the chain's first name only between truth_base_begin() and truth_base_end(), so
 * a report on that name covers exactly that time.
 */
#include <stdint.h>

#define TRUTH_BASE "client"

enum truth_kind {
    TRUTH_CPU,          /* on a processor */
    TRUTH_PREEMPTED,    /* wanted to be, and was not */
    TRUTH_SLEEP,        /* asleep on purpose */
    TRUTH_DISK,         /* waiting for a disk */
    TRUTH_TIMEOUT,      /* waited for something that did not come */
    TRUTH_QUEUE,        /* waiting for what was done for others */
    TRUTH_HELD,         /* waiting for what one of several others held, by whichever way it came */
    TRUTH_KINDS,
};

struct truth;

struct truth_mark {
    uint64_t wall_ns, cpu_ns;   /* of the calling thread */
};

/* One request of one client, times of CLOCK_MONOTONIC. Who took it had begun at `done_ns` to write the answer to another
 * and was back from that at `free_ns`. When it was back from writing the answer to this one it says itself (truth_back). */
struct truth_request {
    uint64_t sent_ns, written_ns, done_ns, free_ns, taken_ns, answered_ns, received_ns;
    uint64_t ns[TRUTH_KINDS];   /* of the work for it */
    uint64_t asked_ns;          /* of the sleep in it */
    uint32_t tid;               /* the client's */
    uint32_t slot;              /* of truth_slot, + 1; 0: it is not written down */
};

struct truth *truth_create(void);
/* Writes the table as JSON and frees it; ends the program with an error message where it cannot. */
void truth_write(struct truth *truth, const char *path);
void truth_add(struct truth *truth, const char *chain, enum truth_kind kind, uint64_t ns);
/* A request is written down at its slot. */
uint32_t truth_slot(struct truth *truth);
void truth_log(struct truth *truth, const struct truth_request *request);
/* Its server is back from writing the answer. */
void truth_back(struct truth *truth, uint32_t slot);

struct truth_mark truth_now(void);
/* Since the mark the thread did one thing: its processor time is CPU, the rest is of the given kind. */
void truth_since(struct truth *truth, const char *chain, enum truth_kind kind, struct truth_mark mark);
/* A moment of work that no truth counts: who asked may still be on its way to its wait, and nobody waits yet. */
void truth_settle(void);
/* Works for that much processor time. */
void truth_busy(struct truth *truth, const char *chain, unsigned us);
void truth_sleep(struct truth *truth, const char *chain, unsigned us);
#define TRUTH_DISK_KIB 256 /* at most */
/* Writes so much to the file and waits until the disk has it. */
void truth_disk(struct truth *truth, const char *chain, int fd, unsigned kib);
int truth_file(const char *folder);

void truth_name(const char *name);
/* The calling thread stays on that CPU (modulo how many there are), so that who wakes whom does not preempt him. */
void truth_pin(unsigned cpu);
struct truth_mark truth_base_begin(void);
void truth_base_end(struct truth *truth, struct truth_mark begin);

/* Whole messages over pipes and sockets; an end or an error ends the program. */
void truth_put(int fd, const void *bytes, unsigned size);
/* 0 at the end of the stream, else 1. */
int truth_get(int fd, void *bytes, unsigned size);
void truth_die(const char *what);

#endif
