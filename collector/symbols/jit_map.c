/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/symbols/jit_map.h"

#include "collector/elf/jit_dump.h"
#include "collector/host/process_file.h"
#include "common/array.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "common/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES ((uint64_t)128 << 20)
#define ENTRIES (2u << 20)
#define NAME_BYTES 1024u
#define MOVED_REACH 65536u /* entries that are looked at for the name of code that was moved */
#define LOOK_BACK 32u      /* entries that may begin between an address and the start of its function */
#define STATUS_BYTES 65536u
#define LINE_BYTES 4096u
#define PIECE_BYTES 65536u /* of the file at a time, more than a line */
#define NAMES_BYTES ((size_t)128 << 20)

#define LINES (2u << 20) /* of source, in dumps */

struct entry {
    uint64_t start;
    uint32_t size, name, order;      /* a later one replaces what it covers */
    uint32_t first_line, line_count; /* in lines */
};

struct line {
    uint32_t offset; /* from the function's start */
    uint32_t line, file;
};

struct wp_jit_map {
    int root_fd, dump_fd; /* -1: none */
    uint64_t dump_at;     /* bytes of it taken so far */
    uint32_t inner_pid, uid;
    uint64_t read, seen;           /* bytes of the file taken so far; and read, with a line in the making */
    bool is_skipping;              /* in the midst of a line that is too long */
    uint64_t taken_bytes;          /* of all readings */
    struct wp_jit_quota own, *all; /* all: borrowed */
    uint64_t inode, born_ns;       /* of that file; numbers are used again at once */
    struct entry *entries;         /* owned; sorted by start */
    uint32_t count, room;
    struct line *lines; /* owned; of each function together, sorted by offset; behind first_new those of the next one */
    uint32_t line_count, line_room, first_new, last_file;
    uint64_t code_new;      /* its start */
    struct wp_buffer names; /* and files */
    uint64_t refused;
};

/* "NSpid:\t100\t7": the last is the number inside. "Uid:\t" real, effective ... */
static bool read_status(struct wp_jit_map *m, uint32_t pid)
{
    struct wp_buffer text = {0};
    char path[64];
    snprintf(path, sizeof(path), "/proc/%u/status", pid);
    bool is_read = !wp_file_read(path, STATUS_BYTES, &text, NULL) && !wp_buffer_append(&text, "", 1);
    const char *ids = is_read ? strstr((const char *)text.data, "\nNSpid:") : NULL;
    const char *uid = is_read ? strstr((const char *)text.data, "\nUid:") : NULL;
    unsigned effective = 0;
    m->inner_pid = pid;
    if (ids) {
        char *at = (char *)ids + strlen("\nNSpid:"), *end;
        for (unsigned long id = strtoul(at, &end, 10); end != at && *at != '\n'; id = strtoul(at, &end, 10)) {
            m->inner_pid = (uint32_t)id;
            at = end;
            if (*at == '\n')
                break;
        }
    }
    bool has_user = uid && sscanf(uid, " Uid: %*u %u", &effective) == 1;
    m->uid = effective;
    wp_buffer_fini(&text);
    return has_user;
}

struct wp_jit_map *wp_jit_map_create(uint32_t pid, struct wp_jit_quota *all)
{
    struct wp_jit_map *m = calloc(1, sizeof(*m));
    if (!m)
        return NULL;
    m->dump_fd = -1;
    m->all = all;
    m->root_fd = wp_process_root(pid);
    if (m->root_fd < 0 || !read_status(m, pid)) {
        wp_jit_map_destroy(m);
        return NULL;
    }
    return m;
}

void wp_jit_map_destroy(struct wp_jit_map *m)
{
    if (!m)
        return;
    if (m->root_fd >= 0)
        close(m->root_fd);
    if (m->dump_fd >= 0)
        close(m->dump_fd);
    free(m->entries);
    free(m->lines);
    wp_buffer_fini(&m->names);
    free(m);
}

static void add(struct wp_jit_map *m, uint64_t start, uint64_t size, const char *name, size_t length)
{
    if (m->names.size > NAMES_BYTES) {
        m->refused++;
        return;
    }
    if (m->count >= ENTRIES || WP_ARRAY_FIT(m->entries, m->room, m->count + 1)) {
        m->refused++;
        return;
    }
    m->entries[m->count] =
        (struct entry){.start = start, .size = (uint32_t)size, .name = (uint32_t)m->names.size, .order = m->count};
    wp_buffer_append(&m->names, name, length < NAME_BYTES ? length : NAME_BYTES);
    wp_buffer_append(&m->names, "", 1);
    if (!m->names.failed)
        m->count++;
}

static void take_line(struct wp_jit_map *m, const char *line, size_t length)
{
    const char *end = line + length;
    char *at;
    uint64_t start = strtoull(line, &at, 16);
    uint64_t size = at != line && at < end && *at == ' ' ? strtoull(at, &at, 16) : 0;
    if (!size || size > UINT32_MAX || start > UINT64_MAX - size || at >= end || *at != ' ' || at + 1 == end) {
        m->refused++;
        return;
    }
    add(m, start, size, at + 1, (size_t)(end - at - 1));
}

static int by_start(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    return a->start != b->start ? (a->start < b->start ? -1 : 1) : a->order < b->order ? -1 : a->order > b->order;
}

/* --- what may be read in a second: of one process, and of all together --- */

#define OWN_BYTES ((uint64_t)4 << 20)
#define ALL_BYTES ((uint64_t)16 << 20)
#define SECOND_NS WP_NS_PER_S

static void refill(struct wp_jit_quota *quota, uint64_t now_ns, uint64_t bytes)
{
    if (quota->second != now_ns / SECOND_NS || !quota->is_begun)
        *quota = (struct wp_jit_quota){now_ns / SECOND_NS, bytes, true};
}

static uint64_t left(const struct wp_jit_map *m)
{
    return m->own.left < m->all->left ? m->own.left : m->all->left;
}

static void spend(struct wp_jit_map *m, uint64_t bytes)
{
    m->own.left -= bytes < m->own.left ? bytes : m->own.left;
    m->all->left -= bytes < m->all->left ? bytes : m->all->left;
}

/* Whole lines of a piece; a line that is longer than may be is passed over, and is one that was refused. */
static void take_lines(struct wp_jit_map *m, char *text, size_t size)
{
    size_t line = 0;
    for (size_t i = 0; i < size; i++)
        if (text[i] == '\n') {
            text[i] = 0;
            if (!m->is_skipping)
                take_line(m, text + line, i - line);
            m->is_skipping = false;
            line = i + 1;
        }
    if (m->is_skipping || size - line > LINE_BYTES) {
        m->refused += !m->is_skipping;
        m->is_skipping = true;
        line = size;
    }
    m->read += line;
}

/* What was not read before, as far as it may be today; the last line may still be in the making. */
static void read_entries(struct wp_jit_map *m, int fd, uint64_t size)
{
    char *text = malloc(PIECE_BYTES + 1);
    uint32_t before = m->count;
    ssize_t got = 1;
    while (text && got > 0 && m->seen < size && left(m)) {
        size_t wanted = size - m->read < PIECE_BYTES ? (size_t)(size - m->read) : PIECE_BYTES;
        got = pread(fd, text, wanted, (off_t)m->read);
        if (got <= 0)
            break;
        text[got] = 0;
        spend(m, (uint64_t)got);
        m->taken_bytes += (uint64_t)got;
        m->seen = m->read + (uint64_t)got;
        take_lines(m, text, (size_t)got);
    }
    free(text);
    if (m->count != before) {
        spend(m, m->count * sizeof(*m->entries)); /* sorting goes over all */
        qsort(m->entries, m->count, sizeof(*m->entries), by_start);
    }
}

static bool read_on(struct wp_jit_map *m)
{
    char path[64];
    struct statx status = {0};
    snprintf(path, sizeof(path), "/tmp/perf-%u.map", m->inner_pid);
    int fd = wp_process_file_below(m->root_fd, path);
    if (fd < 0)
        return false;
    bool is_more = !statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &status) &&
        (status.stx_uid == m->uid || !status.stx_uid) && status.stx_size <= FILE_BYTES;
    uint64_t born_ns = (uint64_t)status.stx_btime.tv_sec * WP_NS_PER_S + status.stx_btime.tv_nsec;
    if (is_more &&
        (status.stx_ino != m->inode || born_ns != m->born_ns || status.stx_size < m->seen)) { /* begun anew */
        m->count = m->line_count = m->first_new = 0;
        m->read = m->seen = m->dump_at = 0;
        m->is_skipping = false;
        m->inode = status.stx_ino;
        m->born_ns = born_ns;
        wp_buffer_clear(&m->names);
    }
    is_more = is_more && status.stx_size > m->seen && left(m);
    if (is_more)
        read_entries(m, fd, status.stx_size);
    close(fd);
    return is_more;
}

static int by_offset(const void *x, const void *y)
{
    const struct line *a = x, *b = y;
    return a->offset != b->offset ? (a->offset < b->offset ? -1 : 1) : a->line < b->line ? -1 : a->line > b->line;
}

/* Of a function that a record of code will tell. Lines that no such record followed are dropped. */
static void take_source(void *context, const struct wp_jit_line *line)
{
    struct wp_jit_map *m = context;
    if (m->code_new != line->code)
        m->line_count = m->first_new;
    m->code_new = line->code;
    if (line->address - line->code > UINT32_MAX || m->line_count >= LINES || m->names.size > NAMES_BYTES ||
        WP_ARRAY_FIT(m->lines, m->line_room, m->line_count + 1)) {
        m->refused++;
        return;
    }
    bool is_same = m->line_count && !strcmp((const char *)m->names.data + m->last_file, line->file);
    if (!is_same) {
        m->last_file = (uint32_t)m->names.size;
        wp_buffer_append(&m->names, line->file, strlen(line->file) + 1);
    }
    if (!m->names.failed)
        m->lines[m->line_count++] = (struct line){(uint32_t)(line->address - line->code), line->line, m->last_file};
}

/* The lines that were told are those of the entry that was added last, if they are of its code. */
static void give_lines(struct wp_jit_map *m, uint64_t start)
{
    uint32_t count = m->line_count - m->first_new;
    if (!count || m->code_new != start)
        return;
    spend(m, count * sizeof(*m->lines));
    qsort(m->lines + m->first_new, count, sizeof(*m->lines), by_offset);
    m->entries[m->count - 1].first_line = m->first_new;
    m->entries[m->count - 1].line_count = count;
    m->first_new = m->line_count;
}

static void take_code(void *context, const struct wp_jit_code *code)
{
    struct wp_jit_map *m = context;
    const char *name = code->name;
    struct entry from = {0};
    uint32_t before = m->count;
    char copy[NAME_BYTES + 1];
    uint32_t reach =
                 (uint32_t)(left(m) / sizeof(*m->entries) < MOVED_REACH ? left(m) / sizeof(*m->entries) : MOVED_REACH),
             i = 0;
    for (; !name && i < m->count && i < reach; i++)
        if (m->entries[m->count - 1 - i].start == code->from) {
            from = m->entries[m->count - 1 - i];
            snprintf(copy, sizeof(copy), "%s", (const char *)m->names.data + from.name);
            name = copy;
        }
    spend(m, i * sizeof(*m->entries));
    if (name)
        add(m, code->start, code->size, name, strlen(name));
    else
        m->refused++;
    if (m->count == before)
        return;
    m->entries[before].first_line = from.first_line; /* of code that was moved */
    m->entries[before].line_count = from.line_count;
    if (code->name)
        give_lines(m, code->start);
}

static bool read_dump_on(struct wp_jit_map *m)
{
    uint32_t before = m->count;
    uint64_t from = m->dump_at;
    if (m->dump_fd < 0 || !left(m))
        return false;
    const struct wp_jit_sink sink = {take_code, take_source, m};
    if (wp_jit_dump_read(m->dump_fd, &m->dump_at, &sink)) {
        m->refused++;
        close(m->dump_fd);
        m->dump_fd = -1;
    }
    spend(m, m->dump_at - from);
    if (m->count != before) {
        spend(m, m->count * sizeof(*m->entries));
        qsort(m->entries, m->count, sizeof(*m->entries), by_start);
    }
    return m->count != before;
}

void wp_jit_map_dump(struct wp_jit_map *m, int fd)
{
    struct stat status;
    if (m->dump_fd >= 0 || fstat(fd, &status) || (status.st_uid != m->uid && status.st_uid)) {
        close(fd);
        return;
    }
    m->dump_fd = fd;
    m->dump_at = 0;
}

/* The same code, as the map and the dump tell it; only the dump has its lines. */
static bool is_same(const struct wp_jit_map *m, const struct entry *a, const struct entry *b)
{
    const char *names = (const char *)m->names.data;
    return a->start == b->start && a->size == b->size && !strcmp(names + a->name, names + b->name);
}

/* The latest code at an address, with lines if it was told with and without. */
static const struct entry *find(const struct wp_jit_map *m, uint64_t address)
{
    uint32_t low = WP_LOWER_BOUND(middle, 0, m->count, m->entries[middle].start <= address);
    const struct entry *best = NULL;
    for (uint32_t i = 0; i < LOOK_BACK && i < low; i++) {
        const struct entry *e = &m->entries[low - 1 - i];
        if (address - e->start < e->size && (!best || e->order > best->order))
            best = e;
    }
    for (uint32_t i = 0; best && !best->line_count && i < LOOK_BACK && i < low; i++) {
        const struct entry *e = &m->entries[low - 1 - i];
        if (e->line_count && is_same(m, e, best))
            best = e;
    }
    return best;
}

static void put_level(
    const struct wp_jit_map *m, const struct entry *entry, uint64_t address, struct wp_debug_level *level)
{
    const struct line *lines = entry->line_count ? m->lines + entry->first_line : NULL;
    uint32_t behind = WP_LOWER_BOUND(middle, 0, entry->line_count, lines[middle].offset <= address - entry->start);
    *level = (struct wp_debug_level){.function = (const char *)m->names.data + entry->name, .file = ""};
    if (!behind)
        return;
    level->file = (const char *)m->names.data + lines[behind - 1].file;
    level->line = lines[behind - 1].line;
}

bool wp_jit_map_find(struct wp_jit_map *m, uint64_t address, uint64_t now_ns, struct wp_debug_level *level)
{
    const struct entry *entry = find(m, address);
    refill(&m->own, now_ns, OWN_BYTES);
    refill(m->all, now_ns, ALL_BYTES);
    if (!entry && read_on(m))
        entry = find(m, address);
    if ((!entry || !entry->line_count) && read_dump_on(m))
        entry = find(m, address);
    if (entry)
        put_level(m, entry, address, level);
    return entry != NULL;
}

uint64_t wp_jit_map_taken(const struct wp_jit_map *m)
{
    return m->taken_bytes;
}

uint64_t wp_jit_map_refused(const struct wp_jit_map *m)
{
    return m->refused;
}
