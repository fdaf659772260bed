/* SPDX-License-Identifier: Apache-2.0 */
#include "common/task_place.h"

#include "common/code_rank.h"

#include <stdio.h>
#include <string.h>

#define RUNTIME "tokio::runtime::task::"

static bool begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

/* Of tokio 1: raw::poll, of which little is left where it jumps, Harness<T, S>::poll and what is inlined into it. A
 * JoinHandle, a future that a task waits for, is of another module. */
static bool is_poll(const char *function)
{
    const char *at = function + (*function == '<');
    if (!begins(at, RUNTIME))
        return false;
    at += sizeof(RUNTIME) - 1;
    return (begins(at, "raw::") || begins(at, "harness::") || begins(at, "core::")) && strstr(at, "::poll");
}

/* What stands between a runtime and a program's future, and has no name of a library that is one for sure. */
static bool is_wrapper(const char *function)
{
    static const char *const names[] = {"tracing::", "http::", "bytes::", "tower::", "futures::", "async_trait::"};
    const char *at = function + strspn(function, "<&");
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (begins(at, names[i]))
            return true;
    if (begins(at, "mut "))
        at += 4;
    return *function == '<' && *at && begins(at + 1, " as "); /* "<F as ...>": any type */
}

/* What rustc made of an async function before 1.67: which one, only lines of source say. */
static bool is_nameless(const char *function)
{
    return begins(function, "<core::future::from_generator::GenFuture<");
}

bool wp_task_place_add(struct wp_task_place *place, const char *function, const char *object)
{
    if (is_poll(function)) {
        *place = (struct wp_task_place){.is_polled = true};
        return false;
    }
    place->is_nameless = place->is_nameless || is_nameless(function);
    if (!place->is_polled || is_wrapper(function) || wp_code_rank(function, object) < 3)
        return false;
    place->is_polled = false;
    return !place->is_nameless || strstr(function, "::{{closure}}") || strstr(function, "::{closure#");
}

/* Where "::{{closure}}", "::{closure#0}" and "::<T>" at the end of a name begin, all of them. */
static size_t without_marks(const char *function, size_t size)
{
    for (bool is_cut = true; is_cut;) {
        is_cut = false;
        int depth = 0;
        size_t at = size;
        char last = size ? function[size - 1] : 0;
        if (last != '}' && last != '>')
            break;
        while (at && (at == size || depth)) {
            at--;
            bool is_arrow = function[at] == '>' && at && function[at - 1] == '-';
            depth += (function[at] == '}' || function[at] == '>') && !is_arrow;
            depth -= function[at] == '{' || function[at] == '<';
        }
        if (at > 2 && !strncmp(function + at - 2, "::", 2)) {
            size = at - 2;
            is_cut = true;
        }
    }
    return size;
}

void wp_task_place_name(const char *function, char *name, size_t room)
{
    const char *as = *function == '<' ? strstr(function, " as ") : NULL;
    const char *of = as ? strstr(as, "::Future>::poll") : NULL;
    if (of && !of[sizeof("::Future>::poll") - 1])
        snprintf(name, room, "task %.*s", (int)without_marks(function + 1, (size_t)(as - function - 1)), function + 1);
    else
        snprintf(name, room, "task %.*s", (int)without_marks(function, strlen(function)), function);
}
