/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/read/commits.h"

#include "common/clock.h"
#include "common/git.h"
#include "common/history.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ANSWER_BYTES (256u << 20)
#define NAME_BYTES 4096u /* of a line that names a branch */
#define DIRTY 6          /* letters of "-dirty" */

/* "author NAME <MAIL> SECONDS ZONE" */
static void copy_author(struct wp_commit *commit, const char *line, size_t size)
{
    const char *mail = memchr(line, '<', size), *end = mail ? memchr(mail, '>', size - (size_t)(mail - line)) : NULL;
    if (!end)
        return;
    size_t name = (size_t)(mail - line);
    while (name && line[name - 1] == ' ')
        name--;
    wp_commit_put_text(commit->author, sizeof(commit->author), line, name);
    time_t seconds = (time_t)strtoll(end + 1, NULL, 10); /* a blank stands before it, and what follows is text */
    struct tm tm;
    if (seconds < 0 || !gmtime_r(&seconds, &tm) || tm.tm_year > 8099 ||
        !strftime(commit->date, sizeof(commit->date), "%Y-%m-%d", &tm))
        *commit->date = 0;
}

/* A commit object: lines of its head, an empty line, its message. */
static void copy_object(struct wp_commit *commit, const char *text, size_t size)
{
    const char *end = text + size;
    while (text < end && *text != '\n') {
        const char *line_end = memchr(text, '\n', (size_t)(end - text));
        line_end = line_end ? line_end : end;
        if (line_end - text > 7 && !strncmp(text, "author ", 7))
            copy_author(commit, text + 7, (size_t)(line_end - text) - 7);
        text = line_end < end ? line_end + 1 : end;
    }
    while (text < end && *text == '\n')
        text++;
    const char *line_end = text < end ? memchr(text, '\n', (size_t)(end - text)) : NULL;
    wp_commit_put_text(commit->subject, sizeof(commit->subject), text, (size_t)((line_end ? line_end : end) - text));
}

/* "<hash> commit <size>", the object and a line end each, or a line about what git does not know. */
static int copy_answer(struct wp_commit *commits, size_t count, const char *text, size_t left, struct wp_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const char *line_end = left ? memchr(text, '\n', left) : NULL;
        size_t line = line_end ? (size_t)(line_end - text) + 1 : left;
        size_t digits = line ? strspn(text, "0123456789abcdef") : 0;
        bool is_commit = digits >= 40 && digits < sizeof(commits[i].id) && !strncmp(text + digits, " commit ", 8);
        uint64_t size = is_commit ? strtoull(text + digits + 8, NULL, 10) : 0;
        if (!line_end || (is_commit && size + 1 > left - line))
            return wp_error_set(err, -EBADMSG, "git's answer about commits is cut short");
        if (is_commit) {
            memcpy(commits[i].id, text, digits);
            commits[i].id[digits] = 0;
            copy_object(&commits[i], text + line, size);
            line += size + 1;
        }
        text += line;
        left -= line;
    }
    return 0;
}

/* "BRANCH~5^2" a line, or the hash again. A git that does not know the option leaves them unknown. */
static int read_branches(struct wp_commit *commits, const char *dir, size_t count, uint32_t limit_ms)
{
    static const char *const words[] = {"name-rev", "--annotate-stdin", "--name-only", "--refs=refs/heads/*", NULL};
    struct wp_buffer input = {0}, answer = {0};
    for (size_t i = 0; i < count; i++)
        wp_buffer_printf(&input, "%s\n", commits[i].id);
    struct wp_git_call call = {dir, words, &input, count * NAME_BYTES, limit_ms};
    int rc = input.failed ? -ENOMEM : wp_git_call(&call, &answer, NULL);
    const char *line = !rc && answer.data ? (const char *)answer.data : "";
    for (size_t i = 0; i < count; i++) {
        size_t size = strcspn(line, "\n"), name = strcspn(line, "~^\n");
        if (*commits[i].id && name && strncmp(line, commits[i].id, size))
            wp_commit_put_text(commits[i].branch, sizeof(commits[i].branch), line, name);
        line += size + (line[size] == '\n');
    }
    wp_buffer_fini(&input);
    wp_buffer_fini(&answer);
    return rc == -ENOMEM ? rc : 0;
}

int wp_commits_read(struct wp_commit *commits, const char *dir, const char *const *releases, size_t count,
    uint32_t limit_ms, struct wp_error *err)
{
    static const char *const words[] = {"cat-file", "--batch", NULL};
    struct wp_buffer input = {0}, answer = {0};
    uint64_t started_ms = wp_clock_ms();
    memset(commits, 0, count * sizeof(*commits));
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(releases[i]) - (wp_release_is_dirty(releases[i]) ? DIRTY : 0);
        wp_buffer_printf(&input, "%.*s^{commit}\n", (int)size, releases[i]);
    }
    struct wp_git_call call = {dir, words, &input, ANSWER_BYTES, limit_ms};
    int rc =
        input.failed ? wp_error_set(err, -ENOMEM, "out of memory for asking git") : wp_git_call(&call, &answer, err);
    if (!rc)
        rc = wp_buffer_putc(&answer, 0); /* for the numbers in it */
    if (!rc)
        rc = copy_answer(commits, count, (const char *)answer.data, answer.size - 1, err);
    uint64_t used_ms = wp_clock_ms() - started_ms;
    if (!rc && used_ms < limit_ms && read_branches(commits, dir, count, limit_ms - (uint32_t)used_ms))
        rc = wp_error_set(err, -ENOMEM, "out of memory for asking git");
    wp_buffer_fini(&input);
    wp_buffer_fini(&answer);
    return rc;
}
