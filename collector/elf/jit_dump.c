/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/elf/jit_dump.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x4a695444u /* "DTiJ" on x86-64 and arm64; the other byte order is refused */
#define FILE_BYTES ((uint64_t)4 << 30)
#define RECORD_BYTES (64u << 20)
#define NAME_BYTES 1024u /* of a longer name that much */
#define RECORDS 65536u   /* in one call */

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

static int take_load(const uint8_t *bytes, size_t got, uint32_t size, wp_jit_code_cb *code, void *context)
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
        code(context, &(struct wp_jit_code){.start = load.address, .size = load.size, .name = name});
    return 0;
}

static int take_move(const uint8_t *bytes, size_t got, wp_jit_code_cb *code, void *context)
{
    struct move move;
    if (got < sizeof(move))
        return -EINVAL;
    memcpy(&move, bytes, sizeof(move));
    if (!move.size || move.size > RECORD_BYTES || move.address > UINT64_MAX - move.size)
        return -EINVAL;
    code(context, &(struct wp_jit_code){.start = move.address, .size = move.size, .from = move.from});
    return 0;
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

int wp_jit_dump_read(int fd, uint64_t *at, wp_jit_code_cb *code, void *context)
{
    uint8_t bytes[sizeof(struct record_header) + sizeof(struct load) + NAME_BYTES + 1];
    struct stat status;
    if (fstat(fd, &status) || (uint64_t)status.st_size > FILE_BYTES)
        return -EINVAL;
    int rc = *at ? 1 : take_header(fd, at);
    for (unsigned i = 0; rc > 0 && i < RECORDS; i++) {
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
            rc = take_load(bytes + sizeof(record), whole - sizeof(record), content, code, context);
        else if (record.id == MOVE)
            rc = take_move(bytes + sizeof(record), whole - sizeof(record), code, context);
        else if (record.id == CLOSE)
            return 0;
        if (rc < 0)
            return rc;
        rc = 1;
        *at += record.size;
    }
    return rc < 0 ? rc : 0;
}
