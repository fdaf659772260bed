/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/elf/gvl_code.h"

#include "collector/elf/code_extent.h"
#include "collector/elf/x86_insn.h"

#include <string.h>

#define CALL 0xe8u /* and 32 bits, from its end on */
#define CALL_BYTES 5u
#define CALLER_BYTES 4096u /* of a function that calls two dozen others */
#define CALLED 64u

/* Whether a call may stand there: inside of another instruction the same byte leads to no function that is meant. */
static bool call_at(const struct wp_gvl_search *search, size_t at, uint64_t *target)
{
    int32_t distance;
    if (search->size < CALL_BYTES || at > search->size - CALL_BYTES || search->code[at] != CALL)
        return false;
    memcpy(&distance, search->code + at + 1, sizeof(distance));
    *target = search->address + at + CALL_BYTES + (uint64_t)(int64_t)distance;
    return true;
}

static bool is_wait(const struct wp_gvl_search *search, uint64_t target)
{
    return target && (target == search->waits[0] || target == search->waits[1]);
}

static bool waits_within(const struct wp_gvl_search *search, size_t begin, size_t bytes)
{
    uint64_t target;
    for (size_t at = begin; at < begin + bytes; at++)
        if (call_at(search, at, &target) && is_wait(search, target))
            return true;
    return false;
}

bool wp_gvl_code_find(const struct wp_gvl_search *search, uint64_t *address, size_t *size)
{
    uint64_t begin = search->caller - search->address;
    unsigned called = 0;
    if (search->caller < search->address || begin > search->size || search->caller_size > search->size - begin ||
        search->caller_size > CALLER_BYTES)
        return false;
    for (size_t at = begin; at < begin + search->caller_size && called < CALLED; at++) {
        if (!call_at(search, at, address) || *address < search->address || *address - search->address >= search->size ||
            is_wait(search, *address))
            continue;
        size_t place = *address - search->address;
        called++;
        *size = wp_code_extent(search->code + place, search->size - place);
        if (*size && waits_within(search, place, *size))
            return true;
    }
    return false;
}

bool wp_gvl_code_yield(const struct wp_gvl_search *search, uint64_t *address, size_t *size)
{
    uint64_t begin = search->caller - search->address, found = 0;
    struct wp_x86_insn insn;
    if (search->caller < search->address || begin > search->size || search->caller_size > search->size - begin ||
        search->caller_size > CALLER_BYTES)
        return false;
    for (size_t at = begin, end = begin + search->caller_size;
         at < end && wp_x86_insn_read(&insn, search->code + at, end - at);) {
        at += insn.size;
        uint64_t place = at + (uint64_t)insn.value;
        bool is_left = insn.is_direct && (insn.kind == WP_X86_JUMP || insn.kind == WP_X86_CALL) &&
            place < search->size && (place < begin || place >= end);
        if (is_left && found && found != place)
            return false;
        found = is_left ? place : found;
    }
    *size = found ? wp_code_extent(search->code + found, search->size - found) : 0;
    *address = search->address + found;
    return *size;
}
