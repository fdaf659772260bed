/* SPDX-License-Identifier: Apache-2.0 */
/* Physical lines: what `#line` calls them, and which of them are one statement. */
#include "reporter/source/source_physical.h"

#include "common/code_rank.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 400u /* of one that are shown */
#define NOWHERE UINT32_MAX
#define CANDIDATES 4u
#define STATEMENT_LINES 40u /* more than that is no statement, but a bracket that was not understood */

/* Whether `path` ends with "/name", or is it. */
static bool ends_with(const char *path, const char *name, size_t size)
{
    size_t length = strlen(path);
    return length >= size && !memcmp(path + length - size, name, size) &&
        (length == size || path[length - size - 1] == '/');
}

static bool ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path), size = strlen(ending);
    return length >= size && !strcmp(path + length - size, ending);
}

/* What a directive in `file` may mean by a name: the compiler puts its own folder before it, which is above the file's
 * mostly. */
struct meant {
    uint32_t files[CANDIDATES];
    uint32_t count, line;
};

static void add_meant(struct meant *meant, uint32_t file)
{
    for (uint32_t i = 0; i < meant->count; i++)
        if (meant->files[i] == file)
            return;
    if (meant->count < CANDIDATES)
        meant->files[meant->count++] = file;
}

/* The file itself, one beside it, one in a folder above it, any of that end. */
static void find_files(
    struct meant *meant, const struct wp_source_lines *lines, uint32_t file, const char *name, size_t size)
{
    const char *own = lines->files[file].path;
    size_t folder = (size_t)(wp_source_base(own) - own);
    meant->count = 0;
    if (!size)
        return;
    if (ends_with(own, name, size))
        add_meant(meant, file);
    for (int pass = 0; pass < 3; pass++)
        for (uint32_t i = 0; i < lines->file_count && (pass < 2 || !meant->count); i++) {
            const char *path = lines->files[i].path;
            size_t length = strlen(path), above = length > size ? length - size : 0;
            bool is_above = above <= folder && !memcmp(path, own, above) && (pass || above == folder);
            if (ends_with(path, name, size) && (pass == 2 || is_above))
                add_meant(meant, i);
        }
}

static bool is_perl(const char *path)
{
    return ends_in(path, ".pl") || ends_in(path, ".pm");
}

/* "#line 12", "#line 12 "name"", "# 12 "name" 2": true, and what the next line is. In scripts "#" begins a comment, but
 * Perl reads those that say "line". */
static bool read_directive(const char *text, const struct wp_source_lines *lines, uint32_t file, struct meant *next)
{
    const char *path = lines->files[file].path;
    text += strspn(text, " \t");
    if (*text++ != '#')
        return false;
    text += strspn(text, " \t");
    bool says_line = !strncmp(text, "line", 4);
    if (wp_code_rank_of_source(path) && !(says_line && is_perl(path)))
        return false;
    text += says_line ? 4 : 0;
    text += strspn(text, " \t");
    if (!isdigit((unsigned char)*text))
        return false;
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    end += strspn(end, " \t");
    if (*end && *end != '"')
        return false;
    next->line = number < UINT32_MAX ? (uint32_t)number : 0;
    if (*end == '"')
        find_files(next, lines, file, end + 1, strcspn(end + 1, "\""));
    return true;
}

/* Of those that may be meant the one that has time there, else the first. */
static struct wp_source_logical choose(const struct wp_source_lines *lines, const struct meant *meant)
{
    struct wp_source_site sum;
    uint32_t first, count;
    for (uint32_t i = 0; i < meant->count; i++)
        if (wp_source_line_sum(lines, meant->files[i], meant->line, &sum, &first, &count))
            return (struct wp_source_logical){meant->files[i], meant->line};
    return (struct wp_source_logical){meant->count ? meant->files[0] : NOWHERE, meant->line};
}

struct scan {
    int depth;
    uint32_t since; /* lines that the bracket is open */
    bool in_comment;
};

/* Follows round and square brackets over a line, past strings and comments. */
static void follow(struct scan *scan, const char *at)
{
    for (; *at; at++) {
        if (scan->in_comment) {
            if (at[0] == '*' && at[1] == '/') {
                scan->in_comment = false;
                at++;
            }
        } else if (at[0] == '/' && at[1] == '*') {
            scan->in_comment = true;
            at++;
        } else if (at[0] == '/' && at[1] == '/') {
            return;
        } else if (*at == '"' || (*at == '\'' && at[1] && (at[1] == '\\' || at[2] == '\''))) {
            char quote = *at++;
            for (; *at && *at != quote; at++)
                at += *at == '\\' && at[1];
            if (!*at)
                return;
        } else if (*at == '(' || *at == '[') {
            scan->depth++;
        } else if ((*at == ')' || *at == ']') && scan->depth) {
            scan->depth--;
        } else if (*at == '{' || *at == '}') {
            scan->depth = 0; /* a block begins or ends: whatever was open was not understood */
        }
    }
}

/* Part of the statement of the line above. */
static bool goes_on(struct scan *scan, const char *line)
{
    bool continues = scan->depth > 0 && !scan->in_comment;
    scan->since = continues ? scan->since + 1 : 0;
    if (scan->since > STATEMENT_LINES)
        *scan = (struct scan){0};
    follow(scan, line);
    return continues;
}

void wp_source_physical_build(struct wp_source_physical *p, struct wp_pool *pool, const struct wp_source_lines *lines,
    uint32_t file, const char *text, size_t size)
{
    uint32_t count = size && text[size - 1] != '\n';
    for (size_t i = 0; i < size; i++)
        count += text[i] == '\n';
    *p = (struct wp_source_physical){.lines = wp_pool_alloc(pool, (count + (size_t)1) * sizeof(*p->lines)),
        .logical = wp_pool_alloc(pool, (count + (size_t)1) * sizeof(*p->logical)),
        .continues = wp_pool_alloc(pool, (count + (size_t)1) * sizeof(*p->continues))};
    struct meant next = {{file}, 1, 1};
    struct scan scan = {0};
    for (size_t at = 0; p->lines && p->logical && p->continues && at < size && p->count < count; p->count++) {
        size_t length = strcspn(text + at, "\n"), shown = length && text[at + length - 1] == '\r' ? length - 1 : length;
        char line[LINE_BYTES + 8];
        size_t cut = shown < sizeof(line) - 1 ? shown : sizeof(line) - 1;
        memcpy(line, text + at, cut);
        line[cut] = 0;
        p->lines[p->count] = wp_pool_clip(pool, line, LINE_BYTES);
        p->logical[p->count] = choose(lines, &next);
        p->continues[p->count] = goes_on(&scan, line);
        if (read_directive(line, lines, file, &next)) {
            p->logical[p->count] = (struct wp_source_logical){NOWHERE, 0};
            p->has_directives = true;
        } else {
            next.line++;
        }
        at += length + 1;
    }
}
