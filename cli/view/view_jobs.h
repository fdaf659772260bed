/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_VIEW_VIEW_JOBS_H
#define WP_CLI_VIEW_VIEW_JOBS_H
/*
 * Pages of processes, threads and selectors that a reader asked for, made one after the other; the reader's page asks
 * again until it is there. What waits and nobody has asked for in half a minute is given up; what runs goes on, for
 * browsers let a hidden tab ask seldom, but half an hour at most. At most WP_VIEW_JOBS are known, the oldest finished
 * one goes for a new one.
 */
#include "cli/view/own_pages.h"
#include "cli/view/view_server.h"

#define WP_VIEW_JOBS 32u

enum wp_view_state { WP_VIEW_NONE, WP_VIEW_WAITS, WP_VIEW_RUNS, WP_VIEW_DONE, WP_VIEW_FAILED };

struct wp_view_job {
    struct wp_own_page page;
    enum wp_view_state state;
    uint64_t asked_ns, began_ns;
    char reason[300]; /* FAILED */
};

struct wp_view_jobs {
    struct wp_own_pages_options options; /* capture NULL: nothing can be made */
    const char *ready;                   /* folder of pages that the recording made; NULL: none */
    struct wp_own_pages own;             /* of the job that runs; its child is the supervisor's */
    struct wp_view_job jobs[WP_VIEW_JOBS];
    struct wp_view_job *running; /* one of them; NULL none */
};

/* As wp_view_server_options.own, with the jobs as context. */
void wp_view_jobs_answer(void *context, const struct wp_view_request *request, struct wp_view_answer *answer);
/* The child has ended: the next step, or the next job. */
void wp_view_jobs_step(struct wp_view_jobs *jobs);
/* Starts what waits and gives up what nobody asks for or takes too long; when to look again, 0: no need. */
uint64_t wp_view_jobs_round(struct wp_view_jobs *jobs, uint64_t now_ns);
/* Ends what runs. */
void wp_view_jobs_end(struct wp_view_jobs *jobs);

#endif
