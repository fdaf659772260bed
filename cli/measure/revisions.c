/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/measure/revisions.h"

#include "common/array.h"
#include "common/release_id.h"
#include "common/utf8.h"
#include "common/git.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_LIMIT (16u << 20)
#define FORMAT "--format=%H%x1f%an%x1f%as%x1f%s"

static bool is_commit(const char *text)
{
    size_t digits = strspn(text, "0123456789abcdef");
    return !text[digits] && (digits == 40 || digits == 64);
}

static bool has_commit(const struct wp_revisions *revisions, const char *commit)
{
    for (uint32_t i = 0; i < revisions->count; i++)
        if (!strcmp(revisions->items[i].commit, commit))
            return true;
    return false;
}

/* Whole characters, as many as fit; what a terminal obeys, or is no UTF-8, is "?". */
static void copy_printable(char *out, size_t room, const char *text)
{
    size_t used = 0, left = strlen(text);
    while (left) {
        uint32_t c;
        size_t size = wp_utf8_decode(text, left, &c);
        bool is_shown = size && !wp_utf8_is_control(c);
        size_t step = size ? size : 1, put = is_shown ? size : 1;
        if (used + put + 1 > room)
            break;
        memcpy(out + used, is_shown ? text : "?", put);
        used += put;
        text += step;
        left -= step;
    }
    out[used] = 0;
}

/* Runs git and ends its answer with a 0. */
static int ask(const char *dir, const char *const *words, struct wp_buffer *out, struct wp_error *err)
{
    int rc = wp_git_run(dir, words, ANSWER_LIMIT, out, err);
    if (!rc && wp_buffer_putc(out, 0))
        rc = wp_error_set(err, -ENOMEM, "out of memory for git's answer");
    return rc;
}

static int name_release(struct wp_revision *revision, const char *dir, struct wp_error *err)
{
    const char *words[] = {"describe", "--always", "--tags", revision->commit, NULL};
    struct wp_buffer text = {0};
    int rc = ask(dir, words, &text, err);
    if (!rc) {
        char *line = (char *)text.data;
        line[strcspn(line, "\r\n")] = 0;
        wp_release_id(line, revision->release);
    }
    wp_buffer_fini(&text);
    return rc;
}

/* "COMMIT 0x1f AUTHOR 0x1f DATE 0x1f SUBJECT" */
static int add_line(struct wp_revisions *revisions, const char *dir, char *line, struct wp_error *err)
{
    char *fields[4];
    for (unsigned i = 0; i < 4; i++)
        if (!(fields[i] = strsep(&line, "\x1f")))
            return wp_error_set(err, -EINVAL, "git answers with something else than commits");
    if (!is_commit(fields[0]))
        return wp_error_set(err, -EINVAL, "git answers with something else than commits");
    if (has_commit(revisions, fields[0]))
        return 0;
    if (revisions->count == WP_REVISIONS_MOST)
        return wp_error_set(err, -EFBIG, "more than %u commits", WP_REVISIONS_MOST);
    if (WP_ARRAY_NEXT(revisions->items, revisions->count))
        return wp_error_set(err, -ENOMEM, "out of memory for commits");
    struct wp_revision *revision = &revisions->items[revisions->count];
    *revision = (struct wp_revision){0};
    snprintf(revision->commit, sizeof(revision->commit), "%s", fields[0]);
    copy_printable(revision->author, sizeof(revision->author), fields[1]);
    copy_printable(revision->date, sizeof(revision->date), fields[2]);
    copy_printable(revision->subject, sizeof(revision->subject), fields[3]);
    int rc = name_release(revision, dir, err);
    revisions->count += !rc;
    return rc;
}

static int add_lines(struct wp_revisions *revisions, const char *dir, char *text, struct wp_error *err)
{
    int rc = 0;
    for (char *line; !rc && (line = strsep(&text, "\n"));)
        rc = *line ? add_line(revisions, dir, line, err) : 0;
    return rc;
}

/* The commits that `git log` prints with these words. */
static int add_log(struct wp_revisions *revisions, const char *dir, const char *const *words, struct wp_error *err)
{
    struct wp_buffer text = {0};
    int rc = ask(dir, words, &text, err);
    if (!rc)
        rc = add_lines(revisions, dir, (char *)text.data, err);
    wp_buffer_fini(&text);
    return rc;
}

int wp_revisions_add(struct wp_revisions *revisions, const char *dir, const char *range, struct wp_error *err)
{
    const char *all[] = {"log", "--reverse", "--topo-order", FORMAT, "--end-of-options", range, "--", NULL};
    const char *one[] = {"log", "-1", FORMAT, "--end-of-options", range, "--", NULL};
    int rc = add_log(revisions, dir, strstr(range, "..") ? all : one, err);
    if (!rc && !revisions->count)
        rc = wp_error_set(err, -EINVAL, "there is no commit in '%.200s'", range);
    return rc;
}

/* "TYPE[TYPE] REF": what a tag is, and what it points to: a commit or another tag, or else a file or folder. */
static bool is_of_commit(const char *line)
{
    return !strncmp(line, "commit ", 7) || !strncmp(line, "tagcommit ", 10) || !strncmp(line, "tagtag ", 7);
}

int wp_revisions_add_tags(struct wp_revisions *revisions, const char *dir, const char *pattern, struct wp_error *err)
{
    const char *words[] = {"tag", "--list", "--sort=creatordate", "--format=%(objecttype)%(*objecttype) %(refname)",
        "--end-of-options", pattern, NULL};
    struct wp_buffer text = {0};
    int rc = ask(dir, words, &text, err);
    char *at = rc ? NULL : (char *)text.data;
    if (!rc && !*at)
        rc = wp_error_set(err, -EINVAL, "no tag fits '%.200s'", pattern);
    for (char *line; !rc && (line = strsep(&at, "\n"));)
        rc = is_of_commit(line) ? wp_revisions_add(revisions, dir, strchr(line, ' ') + 1, err) : 0;
    if (!rc && !revisions->count)
        rc = wp_error_set(err, -EINVAL, "no tag of a commit fits '%.200s'", pattern);
    wp_buffer_fini(&text);
    return rc;
}

int wp_revisions_between(
    struct wp_revisions *revisions, const char *dir, const char *good, const char *bad, struct wp_error *err)
{
    int rc = wp_revisions_add(revisions, dir, good, err);
    if (rc)
        return rc;
    struct wp_buffer range = {0};
    wp_buffer_printf(&range, "%s..%s", revisions->items[0].commit, bad);
    const char *words[] = {"log", "--reverse", "--first-parent", "--ancestry-path", FORMAT, "--end-of-options",
        (const char *)range.data, "--", NULL};
    rc = range.failed ? wp_error_set(err, -ENOMEM, "out of memory for a range") : add_log(revisions, dir, words, err);
    wp_buffer_fini(&range);
    if (!rc && revisions->count < 2)
        rc = wp_error_set(
            err, -EINVAL, "'%.200s' does not descend from '%.200s': there is no commit between", bad, good);
    return rc;
}

void wp_revisions_fini(struct wp_revisions *revisions)
{
    free(revisions->items);
    *revisions = (struct wp_revisions){0};
}
