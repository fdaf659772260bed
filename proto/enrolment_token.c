/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/enrolment_token.h"

#include "proto/curve_keys.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define FILE_BYTES 4096u

/* 1: a token; 0: an empty line or a comment; -EINVAL. */
static int judge_line(const char *line, size_t size)
{
    while (size && isspace((unsigned char)line[size - 1]))
        size--;
    if (!size || *line == '#')
        return 0;
    for (size_t i = 0; i < size; i++)
        if (!isgraph((unsigned char)line[i]))
            return -EINVAL;
    return size >= WP_TOKEN_LEAST && size < WP_TOKEN_ROOM ? 1 : -EINVAL;
}

int wp_token_each(const char *path, wp_token_call *call, void *context, struct wp_error *err)
{
    char text[FILE_BYTES], *next = text;
    int rc = wp_secret_read(path, text, sizeof(text), err);
    unsigned number = 0, found = 0;
    while (!rc && next) {
        char *line = strsep(&next, "\n");
        int got = judge_line(line, strlen(line));
        number++;
        if (got < 0)
            rc = wp_error_set(err, -EINVAL, "%s:%u: a token is %u to %u characters without a space", path, number,
                WP_TOKEN_LEAST, WP_TOKEN_ROOM - 1);
        if (got <= 0)
            continue;
        line[strcspn(line, " \t\r")] = 0;
        found++;
        rc = call(context, line);
    }
    explicit_bzero(text, sizeof(text));
    if (rc >= 0 && !found)
        rc = wp_error_set(
            err, -EINVAL, "'%s' has no token: a line of %u to %u characters", path, WP_TOKEN_LEAST, WP_TOKEN_ROOM - 1);
    return rc < 0 ? rc : 0;
}

static int take_first(void *context, const char *token)
{
    memcpy(context, token, strlen(token) + 1);
    return 1;
}

int wp_token_read(const char *path, char token[WP_TOKEN_ROOM], struct wp_error *err)
{
    return wp_token_each(path, take_first, token, err);
}
