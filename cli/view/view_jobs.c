/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/view/view_jobs.h"

#include "common/clock.h"
#include "reporter/display/escape.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_NS (30 * WP_NS_PER_S) /* of what waits */
#define LIMIT_NS (1800 * WP_NS_PER_S)  /* of one job */
#define LOOK_NS (WP_NS_PER_S / 2)
#define REQUEST_ROOM 1024u /* of a page's name in a request */

/* --- which job --- */

static struct wp_view_job *find(struct wp_view_jobs *jobs, const struct wp_own_page *page)
{
    for (unsigned i = 0; i < WP_VIEW_JOBS; i++)
        if (jobs->jobs[i].state && jobs->jobs[i].page.id == page->id &&
            jobs->jobs[i].page.is_thread == page->is_thread &&
            !memcmp(jobs->jobs[i].page.others, page->others, sizeof(page->others)) &&
            !strcmp(jobs->jobs[i].page.selector, page->selector))
            return &jobs->jobs[i];
    return NULL;
}

/* Of a selector, by its key. */
static const struct wp_own_page *find_chosen(const struct wp_view_jobs *jobs, const char *wanted)
{
    char key[WP_OWN_NAME];
    for (unsigned i = 0; i < WP_VIEW_JOBS; i++) {
        wp_own_page_key(&jobs->jobs[i].page, key);
        if (jobs->jobs[i].state && *jobs->jobs[i].page.selector && !strcmp(key, wanted))
            return &jobs->jobs[i].page;
    }
    return NULL;
}

static void drop(struct wp_view_jobs *jobs, struct wp_view_job *job)
{
    char file[WP_OWN_NAME], path[PATH_MAX];
    wp_own_page_file(&job->page, file);
    snprintf(path, sizeof(path), "%s/%s", jobs->options.out, file);
    if (job == jobs->running) {
        wp_own_pages_end(&jobs->own);
        jobs->running = NULL;
    }
    unlink(path);
    *job = (struct wp_view_job){.state = WP_VIEW_NONE};
}

/* A free place, or that of the finished one that was asked for longest ago; NULL: all wait. */
static struct wp_view_job *place(struct wp_view_jobs *jobs)
{
    struct wp_view_job *oldest = NULL;
    for (unsigned i = 0; i < WP_VIEW_JOBS; i++) {
        struct wp_view_job *job = &jobs->jobs[i];
        if (!job->state)
            return job;
        if (job->state >= WP_VIEW_DONE && (!oldest || job->asked_ns < oldest->asked_ns))
            oldest = job;
    }
    if (oldest)
        drop(jobs, oldest);
    return oldest;
}

/* --- what runs --- */

static void fail(struct wp_view_jobs *jobs, const struct wp_error *err)
{
    wp_own_pages_end(&jobs->own);
    jobs->running->state = WP_VIEW_FAILED;
    snprintf(jobs->running->reason, sizeof(jobs->running->reason), "%.290s", err->text);
    jobs->running = NULL;
}

void wp_view_jobs_step(struct wp_view_jobs *jobs)
{
    struct wp_error err = {0};
    if (!jobs->running || jobs->own.child.running)
        return;
    int rc = wp_own_pages_step(&jobs->own, &err);
    if (rc < 0) {
        fail(jobs, &err);
    } else if (rc) {
        wp_own_pages_end(&jobs->own);
        jobs->running->state = WP_VIEW_DONE;
        jobs->running = NULL;
    }
}

static void start_next(struct wp_view_jobs *jobs, uint64_t now_ns)
{
    struct wp_view_job *next = NULL;
    struct wp_error err = {0};
    for (unsigned i = 0; i < WP_VIEW_JOBS; i++)
        if (jobs->jobs[i].state == WP_VIEW_WAITS && (!next || jobs->jobs[i].began_ns < next->began_ns))
            next = &jobs->jobs[i];
    if (!next)
        return;
    next->state = WP_VIEW_RUNS;
    next->began_ns = now_ns;
    jobs->running = next;
    if (wp_own_pages_begin(&jobs->own, &jobs->options, &next->page, 1, &err))
        fail(jobs, &err);
}

uint64_t wp_view_jobs_round(struct wp_view_jobs *jobs, uint64_t now_ns)
{
    bool is_busy = false;
    struct wp_error err = {0};
    for (unsigned i = 0; i < WP_VIEW_JOBS; i++) {
        struct wp_view_job *job = &jobs->jobs[i];
        if (job->state == WP_VIEW_WAITS && now_ns > job->asked_ns && now_ns - job->asked_ns > PATIENCE_NS)
            drop(jobs, job);
    }
    if (jobs->running && now_ns - jobs->running->began_ns > LIMIT_NS) {
        wp_error_set(
            &err, -ETIMEDOUT, "it took longer than %llu minutes", (unsigned long long)(LIMIT_NS / (60 * WP_NS_PER_S)));
        fail(jobs, &err);
    }
    if (!jobs->running)
        start_next(jobs, now_ns);
    for (unsigned i = 0; i < WP_VIEW_JOBS; i++)
        is_busy |= jobs->jobs[i].state == WP_VIEW_WAITS || jobs->jobs[i].state == WP_VIEW_RUNS;
    return is_busy ? now_ns + LOOK_NS : 0;
}

void wp_view_jobs_end(struct wp_view_jobs *jobs)
{
    for (unsigned i = 0; i < WP_VIEW_JOBS; i++)
        if (jobs->jobs[i].state)
            drop(jobs, &jobs->jobs[i]);
}

/* --- what is answered --- */

static void put_text(struct wp_buffer *html, const char *before, const char *text, const char *after)
{
    wp_buffer_puts(html, before);
    wp_escape_html(html, text);
    wp_buffer_puts(html, after);
}

static void begin_page(struct wp_buffer *html, const struct wp_own_page *page, bool goes_on)
{
    char key[WP_OWN_NAME], what[WP_OWN_NAME + 160];
    const char *kind = page->is_thread ? "Thread" : "Process",
               *several = page->others[0] ? page->is_thread ? "s" : "es" : "";
    wp_own_page_key(page, key);
    if (*page->selector)
        snprintf(what, sizeof(what), "%s%s", *page->name ? page->name : "What was selected",
            strstr(page->selector, "between=") ? ", in an interval" : "");
    else
        snprintf(what, sizeof(what), "%s%s %s %s", kind, several, key + strlen("pid-"), page->name);
    wp_buffer_puts(html, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    wp_buffer_puts(html,
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'self'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    if (goes_on)
        wp_buffer_puts(html, "<meta http-equiv=\"refresh\" content=\"1\">\n");
    put_text(html, "<title>", what, " · Wakepath</title>\n<link rel=\"stylesheet\" href=\"../assets/wakepath.css\">\n");
    put_text(html, "</head>\n<body>\n<main id=\"main\">\n<h1>", what, "</h1>\n");
    if (*page->selector)
        put_text(html, "<p><code>", page->selector, "</code></p>\n");
}

static void put_progress(struct wp_buffer *html, const struct wp_view_jobs *jobs, const struct wp_view_job *job)
{
    begin_page(html, &job->page, true);
    if (job->state == WP_VIEW_WAITS)
        wp_buffer_puts(html, "<p role=\"status\">It waits for its turn.</p>\n");
    else
        wp_buffer_printf(html, "<p role=\"status\">Step %u of 2: %s; %llu s so far.</p>\n", jobs->own.step ? 2u : 1u,
            jobs->own.step ? "making the pages" : "explaining what it waited for",
            (unsigned long long)((wp_clock_ns() - job->began_ns) / WP_NS_PER_S));
    char key[WP_OWN_NAME];
    wp_own_page_key(&job->page, key);
    wp_buffer_printf(html, "<p><a href=\"%s/cancel\">Cancel</a></p>\n</main>\n</body>\n</html>\n", key);
}

static void put_end(struct wp_view_answer *answer, const struct wp_own_page *page, unsigned status, const char *text)
{
    answer->status = status;
    begin_page(&answer->html, page, false);
    put_text(&answer->html, "<p role=\"status\">", text, "</p>\n</main>\n</body>\n</html>\n");
}

/* A place of the page's own tabs; what is none is left out. */
static void locate(struct wp_view_answer *answer, const char *folder, const struct wp_own_page *page, const char *tab)
{
    char file[WP_OWN_NAME];
    bool is_tab = *tab && strlen(tab) < 20 && !tab[strspn(tab, "abcdefghijklmnopqrstuvwxyz")];
    wp_own_page_file(page, file);
    snprintf(answer->location, sizeof(answer->location), "%s/%s%s%s", folder, file, is_tab ? "#page=" : "",
        is_tab ? tab : "");
}

static bool is_ready(const struct wp_view_jobs *jobs, const struct wp_own_page *page)
{
    char file[WP_OWN_NAME], path[PATH_MAX];
    wp_own_page_file(page, file);
    snprintf(path, sizeof(path), "%s/%s", jobs->ready ? jobs->ready : "", file);
    return jobs->ready && !access(path, R_OK);
}

static struct wp_view_job *add_job(struct wp_view_jobs *jobs, const struct wp_own_page *page, const char *name)
{
    struct wp_view_job *job = place(jobs);
    if (!job)
        return NULL;
    *job = (struct wp_view_job){.page = *page, .state = WP_VIEW_WAITS, .began_ns = wp_clock_ns()};
    snprintf(job->page.name, sizeof(job->page.name), "%.31s", name);
    return job;
}

static void answer_page(struct wp_view_jobs *jobs, const struct wp_own_page *page, const char *name, const char *tab,
    struct wp_view_answer *answer)
{
    struct wp_view_job *job = find(jobs, page);
    if (!job && is_ready(jobs, page)) {
        locate(answer, "store", page, tab);
        return;
    }
    if (!jobs->options.capture) {
        put_end(answer, page, MHD_HTTP_NOT_FOUND, "No capture of this recording was kept: its pages cannot be made.");
        return;
    }
    job = job ? job : add_job(jobs, page, name);
    if (!job) {
        put_end(answer, page, MHD_HTTP_SERVICE_UNAVAILABLE, "Too many pages wait to be made: ask again later.");
        return;
    }
    job->asked_ns = wp_clock_ns();
    if (job->state == WP_VIEW_DONE)
        locate(answer, "~made", page, tab);
    else if (job->state == WP_VIEW_FAILED)
        put_end(answer, page, MHD_HTTP_NOT_FOUND, job->reason);
    else
        put_progress(&answer->html, jobs, job);
    if (job->state == WP_VIEW_FAILED)
        drop(jobs, job); /* the next request tries again */
}

static void refuse(struct wp_view_answer *answer, const char *text)
{
    answer->status = MHD_HTTP_NOT_FOUND;
    put_text(&answer->html, "<!doctype html>\n<meta charset=\"utf-8\">\n<title>Wakepath</title>\n<p>", text, "</p>\n");
}

/* More of one kind than a file's name has room for are a selector's. */
static bool choose_many(struct wp_own_page *page, const char *word, struct wp_view_answer *answer)
{
    char selector[REQUEST_ROOM];
    struct wp_error err = {0};
    snprintf(selector, sizeof(selector), "%.3s=%s", word, strlen(word) > 4 ? word + 4 : "");
    if (wp_own_page_choose(page, selector, &err))
        refuse(answer, err.text);
    return *page->selector;
}

/* What is asked for: false: it was refused. */
static bool choose(const struct wp_view_jobs *jobs, const char *word, const struct wp_view_request *request,
    struct wp_own_page *page, struct wp_view_answer *answer)
{
    struct wp_error err = {0};
    const struct wp_own_page *known = find_chosen(jobs, word);
    if (known) {
        *page = *known;
        return true;
    }
    if (!strcmp(word, "of") && *request->selector) {
        if (wp_own_page_choose(page, request->selector, &err))
            refuse(answer, err.text);
        return *page->selector;
    }
    if (wp_own_page_parse(page, word))
        return true;
    if (!strchr(word, '+')) {
        refuse(answer,
            "There is no such page: ask for pid-N, tid-N, several of one kind: pid-N+M, or of?selector=SELECTOR.");
        return false;
    }
    return choose_many(page, word, answer);
}

void wp_view_jobs_answer(void *context, const struct wp_view_request *request, struct wp_view_answer *answer)
{
    struct wp_view_jobs *jobs = context;
    struct wp_own_page page;
    char word[REQUEST_ROOM];
    size_t size = strcspn(request->path, "/");
    const char *behind = request->path + size;
    snprintf(word, sizeof(word), "%.*s", size < sizeof(word) ? (int)size : 0, request->path);
    if (*behind && strcmp(behind, "/cancel")) {
        refuse(answer, "There is no such page.");
        return;
    }
    if (!choose(jobs, word, request, &page, answer))
        return;
    if (!*behind) {
        answer_page(jobs, &page, request->name, request->page, answer);
        return;
    }
    struct wp_view_job *job = find(jobs, &page);
    if (job && job->state != WP_VIEW_DONE)
        drop(jobs, job);
    put_end(answer, &page, MHD_HTTP_OK, "Cancelled.");
}
