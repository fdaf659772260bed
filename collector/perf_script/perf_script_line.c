/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/perf_script/perf_script_line.h"

#include "common/clock.h"

#include <string.h>

#define PREFIX_LIMIT 256u /* up to the end of the time */
#define COMM_LIMIT 64u    /* perf takes names of kernel workers from /proc, where they are longer than 15 */
#define SECONDS_LIMIT 4000000000u

/* --- heads --- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* SECONDS.FRACTION, all of it. */
static bool parse_time(struct wp_text text, uint64_t *time_ns)
{
    uint32_t seconds, fraction;
    if (!wp_text_take_u32(&text, SECONDS_LIMIT, &seconds) || !wp_text_take(&text, "."))
        return false;
    size_t digits = text.size;
    if (digits < 3 || digits > 9 || !wp_text_take_u32(&text, 999999999, &fraction) || text.size)
        return false;
    for (; digits < 9; digits++)
        fraction *= 10;
    *time_ns = (uint64_t)seconds * WP_NS_PER_S + fraction;
    return true;
}

/* Takes the last word off `text`. */
static struct wp_text take_last_word(struct wp_text *text)
{
    while (text->size && text->at[text->size - 1] == ' ')
        text->size--;
    size_t start = text->size;
    while (start && text->at[start - 1] != ' ')
        start--;
    struct wp_text word = wp_text_tail(*text, start);
    text->size = start;
    return word;
}

static bool take_cpu(struct wp_text *before, uint32_t *cpu)
{
    struct wp_text rest = *before, word = take_last_word(&rest);
    if (!wp_text_take(&word, "[") || !wp_text_take_u32(&word, WP_PERF_CPUS - 1, cpu) || !wp_text_is(word, "]"))
        return false;
    *before = rest;
    return true;
}

/* TID or PID/TID; -1 where perf has forgotten it. */
static bool take_ids(struct wp_text *before, struct wp_perf_head *head)
{
    struct wp_text word = take_last_word(before);
    size_t slash = wp_text_find(word, "/");
    head->pid = 0;
    if (slash != WP_TEXT_NONE) {
        struct wp_text pid = wp_text_head(word, slash);
        word = wp_text_tail(word, slash + 1);
        if (!wp_text_is(pid, "-1") && (!wp_text_take_u32(&pid, WP_PERF_TIDS, &head->pid) || pid.size))
            return false;
    }
    head->tid = 0;
    head->has_tid = !wp_text_is(word, "-1");
    return !head->has_tid || (wp_text_take_u32(&word, WP_PERF_TIDS, &head->tid) && !word.size);
}

/* What stands before the time. */
static bool parse_before(struct wp_text before, bool wants_cpu, struct wp_perf_head *head)
{
    head->cpu = 0;
    if (take_cpu(&before, &head->cpu) != wants_cpu || !take_ids(&before, head))
        return false;
    head->comm = wp_text_trim(before);
    return head->comm.size <= COMM_LIMIT;
}

/* What stands behind the time. */
static bool parse_after(struct wp_text after, struct wp_perf_head *head)
{
    after = wp_text_trim(after);
    struct wp_text word = wp_text_take_word(&after), period = word;
    uint64_t ignored;
    if (wp_text_take_number(&period, &ignored) && !period.size)
        word = wp_text_take_word(&after);
    bool has_colon = wp_text_ends(word, ":");
    if (word.size < 2 || (!has_colon && !wp_text_starts(word, "PERF_RECORD_")))
        return false;
    head->event = wp_text_head(word, word.size - has_colon);
    head->trace = after;
    return true;
}

static bool parse_at(struct wp_text line, size_t start, size_t end, bool wants_cpu, struct wp_perf_head *head)
{
    if (!start || line.at[start - 1] != ' ')
        return false;
    struct wp_text time = {line.at + start, end - start};
    return parse_time(time, &head->time_ns) && parse_before(wp_text_head(line, start), wants_cpu, head) &&
        parse_after(wp_text_tail(line, end + 1), head);
}

static bool parse_head(struct wp_text line, bool wants_cpu, struct wp_perf_head *head)
{
    size_t limit = line.size < PREFIX_LIMIT ? line.size : PREFIX_LIMIT, start = 0;
    for (size_t i = 0; i < limit; i++) {
        if (line.at[i] == ':' && i > start && parse_at(line, start, i, wants_cpu, head))
            return true;
        if (!is_digit(line.at[i]) && line.at[i] != '.')
            start = i + 1;
    }
    return false;
}

bool wp_perf_head_parse(struct wp_text line, struct wp_perf_head *head)
{
    *head = (struct wp_perf_head){0};
    return parse_head(line, true, head) || parse_head(line, false, head);
}

/* --- frames --- */

/* Where the parenthesis opens that the last byte, a closing one, closes; the last " (" when they are not in pairs. */
static size_t object_start(struct wp_text line)
{
    size_t depth = 0, i = line.size;
    do {
        i--;
        depth += line.at[i] == ')';
        depth -= line.at[i] == '(';
    } while (i && depth);
    if (!depth && i && line.at[i - 1] == ' ')
        return i;
    size_t last = wp_text_rfind(line, " (");
    return last == WP_TEXT_NONE ? WP_TEXT_NONE : last + 1;
}

/* "schedule+0x23" -> "schedule", 0x23; symbol versions go. */
static void split_function(struct wp_perf_frame *frame)
{
    struct wp_text *function = &frame->function;
    size_t plus = wp_text_rfind(*function, "+0x");
    if (plus != WP_TEXT_NONE && plus) {
        struct wp_text hex = wp_text_tail(*function, plus + 3);
        uint64_t offset;
        if (wp_text_take_hex(&hex, &offset) && !hex.size) {
            frame->offset = offset;
            function->size = plus;
        }
    }
    size_t version = wp_text_find(*function, "@@");
    if (version == WP_TEXT_NONE)
        version = wp_text_find(*function, "@GLIBC");
    if (version != WP_TEXT_NONE && version)
        function->size = version;
    if (wp_text_is(*function, "[unknown]"))
        function->size = 0;
}

static bool is_module_file(struct wp_text object)
{
    static const char *const ends[] = {".ko", ".ko.xz", ".ko.zst", ".ko.gz"};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        if (wp_text_ends(object, ends[i]))
            return true;
    return false;
}

static bool is_kernel_object(struct wp_text object)
{
    static const char *const user[] = {
        "[vdso]", "[vdso32]", "[vdsox32]", "[vsyscall]", "[heap]", "[stack]", "[anon]", "[uprobes]", "[vvar]"};
    for (size_t i = 0; i < sizeof(user) / sizeof(user[0]); i++)
        if (wp_text_is(object, user[i]))
            return false;
    size_t slash = wp_text_rfind(object, "/");
    struct wp_text base = wp_text_tail(object, slash == WP_TEXT_NONE ? 0 : slash + 1);
    return wp_text_starts(object, "[kernel") || wp_text_starts(object, "[guest.kernel") ||
        wp_text_starts(base, "vmlinux") || wp_text_is(object, "/proc/kcore") || is_module_file(object) ||
        wp_text_starts(object, "bpf_prog_") ||
        (wp_text_starts(object, "[") && wp_text_ends(object, "]") && wp_text_find(object, ":") == WP_TEXT_NONE);
}

bool wp_perf_frame_parse(struct wp_text line, struct wp_perf_frame *frame)
{
    *frame = (struct wp_perf_frame){0};
    line = wp_text_trim(line);
    if (!wp_text_take_hex(&line, &frame->address) || !wp_text_starts(line, " "))
        return false;
    if (!wp_text_ends(line, ")"))
        return false;
    size_t open = object_start(line);
    if (open == WP_TEXT_NONE)
        return false;
    frame->object = wp_text_tail(line, open + 1);
    frame->object.size--;
    frame->function = wp_text_trim(wp_text_head(line, open));
    split_function(frame);
    frame->is_inlined = wp_text_is(frame->object, "inlined");
    if (frame->is_inlined || wp_text_is(frame->object, "[unknown]"))
        frame->object.size = 0;
    frame->is_kernel = frame->object.size ? is_kernel_object(frame->object) : frame->address >> 48 == 0xffff;
    return true;
}

/* --- lost events --- */

bool wp_perf_lost_parse(struct wp_text line, uint32_t *cpu, uint64_t *count)
{
    line = wp_text_trim(line);
    if (!wp_text_take(&line, "CPU") || (!wp_text_take(&line, ":") && !wp_text_take(&line, " ")) ||
        !wp_text_take_u32(&line, WP_PERF_CPUS - 1, cpu) || !wp_text_take(&line, " ["))
        return false;
    *count = 1; /* some, when no number is said */
    if (wp_text_is(line, "EVENTS DROPPED]"))
        return true;
    wp_text_take(&line, "LOST ");
    return wp_text_take_number(&line, count) && (wp_text_is(line, " EVENTS]") || wp_text_is(line, " EVENTS DROPPED]"));
}

bool wp_perf_lost_count(const struct wp_perf_head *head, uint64_t *count)
{
    if (!wp_text_is(head->event, "PERF_RECORD_LOST") && !wp_text_is(head->event, "PERF_RECORD_LOST_SAMPLES"))
        return false;
    struct wp_text trace = head->trace;
    if (!wp_text_take(&trace, "lost "))
        wp_text_take(&trace, ": lost ");
    return wp_text_take_number(&trace, count);
}
