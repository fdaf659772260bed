/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/elf/jit_dump.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x4a695444u /* "DTiJ" on x86-64 and arm64; the other byte order is refused */
#define FILE_BYTES ((uint64_t)4 << 30)
#define RECORD_BYTES (64u << 20)
#define NAME_BYTES 1024u         /* of a longer name that much */
#define RECORDS 65536u           /* in one call */
#define LINES_BYTES (1u << 20)   /* of one record of lines */
#define V8_PADDING 0xdeadbeefu   /* of the file header: V8 wrote it, whose lines are ... */
#define V8_SHIFT 0x40u           /* ... for the code behind an ELF header, as `perf inject` puts it */
#define LINES_IN_CALL (4u << 20) /* bytes of them in one call */

struct file_header {
    uint32_t magic, version, size, machine, padding, pid;
    uint64_t time_ns, flags;
};

struct record_header {
    uint32_t id, size; /* with this header */
    uint64_t time_ns;
};

enum { LOAD, MOVE, DEBUG_INFO, CLOSE, UNWINDING_INFO };

struct load {
    uint32_t pid, tid;
    uint64_t vma, address, size, index; /* behind it the name, a NUL, the code */
};

struct move {
    uint32_t pid, tid;
    uint64_t vma, from, address, size, index;
};

struct lines {
    uint64_t code, count; /* behind it the entries */
};

struct line {
    uint64_t address;
    uint32_t line, column; /* behind it the file, and a NUL; "\xff": the file of the entry before */
} __attribute__((packed));

static int take_load(const uint8_t *bytes, size_t got, uint32_t size, const struct wp_jit_sink *sink)
{
    struct load load;
    char name[NAME_BYTES + 1];
    if (size < sizeof(load) + 1 || got < sizeof(load) + 1)
        return -EINVAL;
    memcpy(&load, bytes, sizeof(load));
    size_t room = got - sizeof(load) < NAME_BYTES ? got - sizeof(load) : NAME_BYTES;
    size_t length = strnlen((const char *)bytes + sizeof(load), room);
    memcpy(name, bytes + sizeof(load), length);
    name[length] = 0;
    if (!load.size || load.size > size || load.address > UINT64_MAX - load.size)
        return -EINVAL; /* the code stands in the record */
    if (length)
        sink->code(sink->context, &(struct wp_jit_code){.start = load.address, .size = load.size, .name = name});
    return 0;
}

static int take_move(const uint8_t *bytes, size_t got, const struct wp_jit_sink *sink)
{
    struct move move;
    if (got < sizeof(move))
        return -EINVAL;
    memcpy(&move, bytes, sizeof(move));
    if (!move.size || move.size > RECORD_BYTES || move.address > UINT64_MAX - move.size)
        return -EINVAL;
    sink->code(sink->context, &(struct wp_jit_code){.start = move.address, .size = move.size, .from = move.from});
    return 0;
}

/* Decodes %XX where it stands. False: one of them would end the text. */
static bool decode(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        char digits[3] = {0};
        if (*from == '%' && isxdigit((unsigned char)from[1]) && isxdigit((unsigned char)from[2])) {
            memcpy(digits, from + 1, 2);
            *to = (char)strtoul(digits, NULL, 16);
            from += 2;
        } else {
            *to = *from;
        }
        if (!*to++)
            return false;
    }
    *to = 0;
    return true;
}

/* "file:///app/a%20b.mjs" is a path, "<unknown>" and what is too long to be a path are none. */
static const char *path_of(char *name, size_t length)
{
    if (*name == '<' || length >= PATH_MAX)
        return "";
    if (strncmp(name, "file:///", 8) != 0)
        return name;
    return decode(name + 7) ? name + 7 : "";
}

/* The entries of one record, as far as they are whole. */
static void give_lines(uint8_t *bytes, size_t size, uint32_t shift, const struct wp_jit_sink *sink)
{
    struct lines head;
    const char *file = "";
    memcpy(&head, bytes, sizeof(head));
    size_t at = sizeof(head);
    for (uint64_t i = 0; i < head.count && size - at > sizeof(struct line); i++) {
        struct line entry;
        memcpy(&entry, bytes + at, sizeof(entry));
        char *name = (char *)bytes + at + sizeof(entry);
        size_t room = size - at - sizeof(entry), length = strnlen(name, room);
        if (length == room || entry.address < head.code || entry.address - head.code < shift)
            return;
        if (strcmp(name, "\xff") != 0)
            file = path_of(name, length);
        at += sizeof(entry) + length + 1;
        if (*file && entry.line)
            sink->line(sink->context, &(struct wp_jit_line){head.code, entry.address - shift, entry.line, file});
    }
}

/* The content of a record of lines, `size` bytes at `at`. One that cannot be leaves its function without lines: where
 * the next record begins is known all the same. How many bytes were read. */
static uint32_t take_lines(int fd, uint64_t at, uint32_t size, const struct wp_jit_sink *sink)
{
    uint8_t *bytes = size >= sizeof(struct lines) && size <= LINES_BYTES ? malloc(size) : NULL;
    if (!bytes)
        return 0;
    struct file_header header;
    if (pread(fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header) &&
        pread(fd, bytes, size, (off_t)at) == (ssize_t)size)
        give_lines(bytes, size, header.padding == V8_PADDING ? V8_SHIFT : 0, sink);
    free(bytes);
    return size;
}

static int take_header(int fd, uint64_t *at)
{
    struct file_header header;
    ssize_t got = pread(fd, &header, sizeof(header), 0);
    if (got < (ssize_t)sizeof(header))
        return got < 0 ? -errno : 0; /* in the making */
    if (header.magic != MAGIC || header.version != 1 || header.size < sizeof(header) || header.size > RECORD_BYTES)
        return -EINVAL;
    *at = header.size;
    return 1;
}

int wp_jit_dump_read(int fd, uint64_t *at, const struct wp_jit_sink *sink)
{
    uint8_t bytes[sizeof(struct record_header) + sizeof(struct load) + NAME_BYTES + 1];
    struct stat status;
    uint32_t of_lines = 0;
    if (fstat(fd, &status) || (uint64_t)status.st_size > FILE_BYTES)
        return -EINVAL;
    int rc = *at ? 1 : take_header(fd, at);
    for (unsigned i = 0; rc > 0 && i < RECORDS && of_lines < LINES_IN_CALL; i++) {
        struct record_header record;
        ssize_t got = pread(fd, bytes, sizeof(bytes), (off_t)*at);
        if (got < (ssize_t)sizeof(record))
            return got < 0 ? -errno : 0;
        memcpy(&record, bytes, sizeof(record));
        if (record.size < sizeof(record) || record.size > RECORD_BYTES)
            return -EINVAL;
        if (record.size > (uint64_t)status.st_size - *at)
            return 0; /* in the making */
        size_t whole = (size_t)got < record.size ? (size_t)got : record.size;
        uint32_t content = record.size - (uint32_t)sizeof(record);
        if (record.id == LOAD)
            rc = take_load(bytes + sizeof(record), whole - sizeof(record), content, sink);
        else if (record.id == MOVE)
            rc = take_move(bytes + sizeof(record), whole - sizeof(record), sink);
        else if (record.id == DEBUG_INFO)
            of_lines += take_lines(fd, *at + sizeof(record), content, sink);
        else if (record.id == CLOSE)
            return 0;
        if (rc < 0)
            return rc;
        rc = 1;
        *at += record.size;
    }
    return rc < 0 ? rc : 0;
}
