/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/elf/spin_loops.h"

#include "collector/elf/x86_insn.h"
#include "common/array.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOPS 4096u
#define PART ((size_t)256 << 10) /* of the code, in memory at once */

/* Between both something is called: who goes back there has spun, and sleeps before it does so again. */
static bool has_call(const uint8_t *code, size_t start, size_t end)
{
    struct wp_x86_insn insn;
    for (size_t at = start; at < end && wp_x86_insn_read(&insn, code + at, end - at) && insn.size; at += insn.size)
        if (insn.kind == WP_X86_CALL)
            return true;
    return false;
}

/* The loop that holds the `pause` at `at`; size 0: it is in none. */
static struct wp_spin_loop loop_around(const uint8_t *code, size_t size, size_t at)
{
    struct wp_x86_insn insn;
    for (size_t next = at; next < size && next - at < WP_SPIN_LOOP_BYTES;) {
        if (!wp_x86_insn_read(&insn, code + next, size - next) || !insn.size)
            break;
        next += insn.size;
        bool is_branch = insn.kind == WP_X86_BRANCH && insn.is_direct, is_jump = insn.kind == WP_X86_JUMP;
        int64_t target = (int64_t)next + insn.value;
        bool is_back = (is_branch || (is_jump && insn.is_direct)) && target >= 0 && target <= (int64_t)at;
        if (is_back && next - (size_t)target <= WP_SPIN_LOOP_BYTES && !has_call(code, (size_t)target, at))
            return (struct wp_spin_loop){(uint64_t)target, next};
        if (is_jump || insn.kind == WP_X86_CALL || insn.kind == WP_X86_RETURN || insn.kind == WP_X86_STOP)
            break;
    }
    return (struct wp_spin_loop){0};
}

bool wp_spin_loops_add(struct wp_spin_loops *loops, const uint8_t *code, size_t size, uint64_t file_offset)
{
    const uint8_t *end = code + size, *at = code;
    while (end - at > 1 && (at = memchr(at, 0xf3, (size_t)(end - at) - 1)) && loops->count < LOOPS) {
        struct wp_spin_loop loop =
            at[1] == 0x90 ? loop_around(code, size, (size_t)(at - code)) : (struct wp_spin_loop){0};
        at++;
        if (!loop.end)
            continue;
        loop.start += file_offset;
        loop.end += file_offset;
        if (WP_ARRAY_FIT(loops->loops, loops->room, loops->count + 1))
            return false;
        loops->loops[loops->count++] = loop;
    }
    return true;
}

static int by_start(const void *left, const void *right)
{
    const struct wp_spin_loop *a = left, *b = right;
    return a->start < b->start ? -1 : a->start > b->start;
}

void wp_spin_loops_read(struct wp_spin_loops *loops, const struct wp_elf_file *file)
{
    GElf_Ehdr head;
    GElf_Shdr text;
    if (file->fd < 0 || !gelf_getehdr(file->elf, &head) || head.e_machine != EM_X86_64 ||
        !wp_elf_file_header(file, ".text", &text) || text.sh_type != SHT_PROGBITS || text.sh_size > WP_SPIN_TEXT_BYTES)
        return;
    uint8_t *code = malloc(PART);
    bool is_whole = code;
    /* Parts overlap by two loops: the one that ends behind a part is whole in the next one. */
    for (uint64_t at = 0; is_whole && at < text.sh_size; at += PART - 2 * WP_SPIN_LOOP_BYTES) {
        size_t size = text.sh_size - at < PART ? (size_t)(text.sh_size - at) : PART;
        ssize_t got = pread(file->fd, code, size, (off_t)(text.sh_offset + at));
        is_whole = got > 0 && wp_spin_loops_add(loops, code, (size_t)got, text.sh_offset + at);
    }
    free(code);
    if (loops->count)
        qsort(loops->loops, loops->count, sizeof(*loops->loops), by_start);
}

void wp_spin_loops_fini(struct wp_spin_loops *loops)
{
    free(loops->loops);
    *loops = (struct wp_spin_loops){0};
}

bool wp_spin_loops_has(const struct wp_spin_loops *loops, uint64_t file_offset)
{
    uint64_t oldest = file_offset > WP_SPIN_LOOP_BYTES ? file_offset - WP_SPIN_LOOP_BYTES : 0;
    uint32_t at = WP_LOWER_BOUND(middle, 0, loops->count, loops->loops[middle].start < oldest);
    for (; at < loops->count && loops->loops[at].start <= file_offset; at++)
        if (file_offset < loops->loops[at].end)
            return true;
    return false;
}
