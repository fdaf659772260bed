/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_GIT_H
#define WP_COMMON_GIT_H
/* Asks the git command about a repository. Its answers are input like any other: bounded, never trusted. */
#include "common/buffer.h"
#include "common/error.h"

struct wp_git_call {
    const char *dir, *const *words; /* the words after "git", NULL at the end */
    const struct wp_buffer *input;  /* on its standard input; NULL: none */
    size_t limit;                   /* bytes of the answer */
    uint32_t limit_ms;              /* 0: two minutes */
};

/*
 * Runs git in `dir` and appends what it prints. -ENOENT: no git; -EFBIG: more than `limit` bytes; -ETIMEDOUT; -EINVAL:
 * git failed, err has what it said. Nothing is fetched, no pager, no prompt, and no other repository that the
 * environment names (as a hook's does). Root becomes the owner of `dir` first, as git wants it.
 */
int wp_git_run(const char *dir, const char *const *words, size_t limit, struct wp_buffer *out, struct wp_error *err);
/* The same, with an input, or within a time of the caller's. */
int wp_git_call(const struct wp_git_call *call, struct wp_buffer *out, struct wp_error *err);

#endif
