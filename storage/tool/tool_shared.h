/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TOOL_TOOL_SHARED_H
#define WP_STORAGE_TOOL_TOOL_SHARED_H
/* What the commands share: opening, options, child processes, output. */
#include "storage/tool/tool.h"

/* Takes the arguments apart, opens tool->store, and resolves a reference; nothing is made where there is no store. */
int wp_tool_open(struct wp_tool *tool, struct wp_error *err);
/* The same with other arguments than the tool's own. */
int wp_tool_open_at(struct wp_tool *tool, const char *const arguments[WP_TOOL_ARGUMENTS], struct wp_error *err);
/* The releases that are meant: the given one, or all. Free with wp_strings_free. */
int wp_tool_releases(struct wp_tool *tool, char ***releases, size_t *count, struct wp_error *err);
/* One of several releases is damaged: notes it as a complaint, which makes the command fail in the end, and gives 0.
 * Any other result is given back, and so is this one where the release was asked for by name. */
int wp_tool_pass_over(struct wp_tool *tool, int rc, const struct wp_error *err);
/* Runs `work` in a process of its own and gives what it returned (0 to 127), or -signal that it died of. LMDB believes
 * the pages of its file: where damage has hit its own structure, reading may kill the reader. */
int wp_tool_apart(int (*work)(void *context), void *context, struct wp_error *err);
/* What such a signal means, or NULL: something else. */
const char *wp_tool_signal_text(int signal);
/* Prints the JSON object and drops it. -ENOMEM. */
int wp_tool_json(struct wp_tool *tool, struct json_object *object, struct wp_error *err);
/* The age ("90", "12h", "7d", "1y", "never"), size ("10G") or number that an option gives; what was there without it.
 * -WP_TOOL_MISUSE. */
int wp_tool_age(const struct wp_tool *tool, enum wp_tool_value option, uint64_t *seconds, struct wp_error *err);
/* K, M, G and T are powers of 1024; a number without a unit is bytes. */
int wp_tool_bytes(const struct wp_tool *tool, enum wp_tool_value option, uint64_t *bytes, struct wp_error *err);
/* Decimal, without a unit. */
int wp_tool_number(const struct wp_tool *tool, enum wp_tool_value option, uint64_t *number, struct wp_error *err);
/* A write transaction would make a release that is not there: -ENOENT. */
int wp_tool_release_is_there(struct wp_tool *tool, const char *release, struct wp_error *err);
/* "1.5 MiB", "2.31 s"; a static rule, at most `room` bytes. */
const char *wp_tool_size(uint64_t bytes, char *text, size_t room);
/* The same of nanoseconds, by the largest unit of s, ms, us and ns that is not over it. */
const char *wp_tool_time(uint64_t ns, char *text, size_t room);

#endif
