/* SPDX-License-Identifier: Apache-2.0 */
#include "common/history.h"

#include "common/array.h"
#include "common/git.h"
#include "common/intern.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIRTY "-dirty"
#define COMMITS 500000u
#define ANSWER_BYTES (256u << 20)
#define HASH_LEAST 40u
#define HASH_MOST 64u

struct commit {
    uint32_t first_parent, parents; /* in history->parents */
    uint32_t place;                 /* from 1, newest first; 0: only named as a parent */
    uint32_t measured;              /* release + 1 whose clean tree this is */
    uint32_t seen;                  /* by which walk */
};

struct wp_history {
    char *dir;
    struct wp_intern *hashes; /* id - 1: commit */
    struct commit *commits;
    uint32_t *parents, *queue; /* commits */
    uint32_t *at;              /* by release: commit + 1, 0 unknown */
    uint32_t against;          /* commit + 1 that was asked for, 0 none */
    bool *is_dirty;
    uint32_t parent_count, parent_room, commit_count, walks;
    size_t release_count;
};

bool wp_release_is_dirty(const char *release)
{
    size_t size = strlen(release), tail = strlen(DIRTY);
    return size > tail && !strcmp(release + size - tail, DIRTY);
}

static size_t hash_size(const char *text)
{
    size_t size = strspn(text, "0123456789abcdef");
    return size >= HASH_LEAST && size <= HASH_MOST ? size : 0;
}

/* Names to hashes: "<hash> commit <size>" a line, or something else for what git does not know. */
static int resolve(
    const char *dir, const char *const *names, size_t count, char (*hashes)[HASH_MOST + 1], struct wp_error *err)
{
    static const char *const words[] = {"cat-file", "--batch-check", NULL};
    struct wp_buffer input = {0}, answer = {0};
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(names[i]) - (wp_release_is_dirty(names[i]) ? strlen(DIRTY) : 0);
        wp_buffer_printf(&input, "%.*s^{commit}\n", (int)size, names[i]);
    }
    int rc = input.failed
        ? wp_error_set(err, -ENOMEM, "out of memory for asking git")
        : wp_git_call(&(struct wp_git_call){dir, words, &input, count * 4096 + 4096, 0}, &answer, err);
    const char *line = answer.data ? (const char *)answer.data : "";
    for (size_t i = 0; i < count && !rc; i++) {
        size_t size = hash_size(line);
        hashes[i][0] = 0;
        if (size && !strncmp(line + size, " commit ", 8))
            snprintf(hashes[i], HASH_MOST + 1, "%.*s", (int)size, line);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    wp_buffer_fini(&input);
    wp_buffer_fini(&answer);
    return rc;
}

/* The commit of a hash, made if new; UINT32_MAX when there is no room. */
static uint32_t commit_of(struct wp_history *history, const char *hash, size_t size)
{
    uint32_t id = wp_intern_id(history->hashes, hash, size);
    if (id == UINT32_MAX || id > 2 * COMMITS)
        return UINT32_MAX;
    if (id > history->commit_count)
        history->commit_count = id;
    return id - 1;
}

static int add_parent(struct wp_history *history, uint32_t parent)
{
    if (WP_ARRAY_FIT(history->parents, history->parent_room, history->parent_count + 1))
        return -ENOMEM;
    history->parents[history->parent_count++] = parent;
    return 0;
}

/* "<hash> <parent> <parent>..." a line, newest first. */
static int take_lines(struct wp_history *history, const char *line, struct wp_error *err)
{
    for (uint32_t place = 1; *line; place++) {
        size_t size = hash_size(line);
        uint32_t id = size ? commit_of(history, line, size) : UINT32_MAX;
        if (id == UINT32_MAX)
            return wp_error_set(
                err, -EBADMSG, "git's list of commits is not a list of commits, or too long, at line %u", place);
        history->commits[id].place = place;
        history->commits[id].first_parent = history->parent_count;
        for (line += size; *line == ' '; line += size) {
            line++;
            size = hash_size(line);
            uint32_t parent = size ? commit_of(history, line, size) : UINT32_MAX;
            if (parent == UINT32_MAX || add_parent(history, parent))
                return wp_error_set(err, -EBADMSG, "git's list of commits has no parents at line %u", place);
            history->commits[id].parents++;
        }
        if (*line && *line != '\n')
            return wp_error_set(err, -EBADMSG, "git's list of commits is not a list of commits at line %u", place);
        line += *line == '\n';
    }
    return 0;
}

static int read_commits(struct wp_history *history, const char *const *starts, size_t count, struct wp_error *err)
{
    static const char *const words[] = {"rev-list", "--topo-order", "--parents", "--max-count=500000", "--stdin", NULL};
    struct wp_buffer input = {0}, answer = {0};
    for (size_t i = 0; i < count; i++)
        if (*starts[i])
            wp_buffer_printf(&input, "%s\n", starts[i]);
    int rc = 0;
    if (input.failed)
        rc = wp_error_set(err, -ENOMEM, "out of memory for asking git");
    else if (input.size) /* without a start git would take its own */
        rc = wp_git_call(&(struct wp_git_call){history->dir, words, &input, ANSWER_BYTES, 0}, &answer, err);
    if (!rc)
        rc = take_lines(history, answer.data ? (const char *)answer.data : "", err);
    wp_buffer_fini(&input);
    wp_buffer_fini(&answer);
    return rc;
}

static int allocate(struct wp_history *history, const char *dir, size_t count)
{
    history->dir = strdup(dir);
    history->hashes = wp_intern_create();
    history->commits = calloc(2 * COMMITS + 1, sizeof(*history->commits));
    history->queue = calloc(2 * COMMITS + 1, sizeof(*history->queue));
    history->at = calloc(count + 1, sizeof(*history->at));
    history->is_dirty = calloc(count + 1, sizeof(*history->is_dirty));
    history->release_count = count;
    bool has_all =
        history->dir && history->hashes && history->commits && history->queue && history->at && history->is_dirty;
    return has_all ? 0 : -ENOMEM;
}

/* The commit + 1 of a hash that git gave; 0 none. */
static uint32_t listed(const struct wp_history *history, const char *hash)
{
    uint32_t id = *hash ? wp_intern_find(history->hashes, hash, strlen(hash)) : UINT32_MAX;
    return id == UINT32_MAX || !history->commits[id - 1].place ? 0 : id;
}

/* names: the releases, then what to compare against, when asked. */
static int fill(struct wp_history *history, const char *const *names, size_t count, struct wp_error *err)
{
    char(*hashes)[HASH_MOST + 1] = calloc(count + 1, sizeof(*hashes));
    const char **starts = calloc(count + 1, sizeof(*starts));
    int rc = hashes && starts ? 0 : wp_error_set(err, -ENOMEM, "out of memory for the history");
    if (!rc)
        rc = resolve(history->dir, names, count, hashes, err);
    for (size_t i = 0; i < count && !rc; i++)
        starts[i] = hashes[i];
    if (!rc && count > history->release_count && !*hashes[history->release_count])
        rc = wp_error_set(err, -ENOENT, "git in %s knows no commit %s", history->dir, names[history->release_count]);
    if (!rc)
        rc = read_commits(history, starts, count, err);
    for (size_t i = 0; i < history->release_count && !rc; i++) {
        history->is_dirty[i] = wp_release_is_dirty(names[i]);
        history->at[i] = listed(history, hashes[i]);
        if (history->at[i] && !history->is_dirty[i] && !history->commits[history->at[i] - 1].measured)
            history->commits[history->at[i] - 1].measured = (uint32_t)i + 1;
    }
    if (!rc && count > history->release_count)
        history->against = listed(history, hashes[history->release_count]);
    free(hashes);
    free(starts);
    return rc;
}

int wp_history_read(struct wp_history **out, const struct wp_history_question *question, struct wp_error *err)
{
    const char *against = question->against;
    size_t count = question->count;
    const char **names = calloc(count + 2, sizeof(*names));
    struct wp_history *history = calloc(1, sizeof(*history));
    *out = NULL;
    for (size_t i = 0; names && i < count; i++)
        names[i] = question->releases[i];
    if (names)
        names[count] = against;
    int rc = !names || !history || allocate(history, question->dir, count)
        ? wp_error_set(err, -ENOMEM, "out of memory for the history")
        : 0;
    if (!rc && against && strpbrk(against, "\r\n"))
        rc = wp_error_set(err, -EINVAL, "what to compare against is not the name of a commit");
    if (!rc)
        rc = fill(history, names, count + (against ? 1 : 0), err);
    free(names);
    if (rc)
        wp_history_destroy(history);
    else
        *out = history;
    return rc ? wp_error_wrap(err, rc, "cannot read the history") : 0;
}

void wp_history_destroy(struct wp_history *history)
{
    if (!history)
        return;
    wp_intern_destroy(history->hashes);
    free(history->dir);
    free(history->commits);
    free(history->parents);
    free(history->queue);
    free(history->at);
    free(history->is_dirty);
    free(history);
}

uint32_t wp_history_position(const struct wp_history *history, size_t release)
{
    if (!history->at[release])
        return UINT32_MAX;
    return history->commits[history->at[release] - 1].place * 2 - (history->is_dirty[release] ? 1 : 0) - 1;
}

/* Breadth first from a commit; the first row of commits that has a measured one decides, the newest of them. */
static size_t nearest(struct wp_history *history, uint32_t start, size_t but)
{
    uint32_t head = 0, tail = 0, level_end = 1, best = UINT32_MAX;
    history->walks++;
    history->queue[tail++] = start;
    history->commits[start].seen = history->walks;
    while (head < tail) {
        uint32_t at = history->queue[head++];
        const struct commit *commit = &history->commits[at];
        if (commit->measured && commit->measured - 1 != but &&
            (best == UINT32_MAX || commit->place < history->commits[best].place))
            best = at;
        for (uint32_t i = 0; i < commit->parents; i++) {
            uint32_t parent = history->parents[commit->first_parent + i];
            if (history->commits[parent].seen != history->walks) {
                history->commits[parent].seen = history->walks;
                history->queue[tail++] = parent;
            }
        }
        if (head == level_end && best != UINT32_MAX)
            break;
        if (head == level_end)
            level_end = tail;
    }
    return best == UINT32_MAX ? SIZE_MAX : history->commits[best].measured - 1;
}

size_t wp_history_baseline(const struct wp_history *history, size_t release)
{
    /* Walking marks commits; what it says of the history does not change. */
    struct wp_history *walked = (struct wp_history *)(uintptr_t)history;
    return history->at[release] ? nearest(walked, history->at[release] - 1, release) : SIZE_MAX;
}

size_t wp_history_against(const struct wp_history *history, size_t release)
{
    return history->against ? nearest((struct wp_history *)(uintptr_t)history, history->against - 1, release)
                            : SIZE_MAX;
}

size_t wp_history_named(const struct wp_history *history, bool is_exact)
{
    if (!history->against)
        return SIZE_MAX;
    if (is_exact)
        return history->commits[history->against - 1].measured ? history->commits[history->against - 1].measured - 1
                                                               : SIZE_MAX;
    return nearest((struct wp_history *)(uintptr_t)history, history->against - 1, SIZE_MAX);
}
