/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/go_file.h"

#include "collector/elf/elf_go.h"
#include "collector/elf/x86_insn.h"
#include "collector/interp/interp_image.h"

#include <errno.h>
#include <string.h>

#define CODE_BYTES 1024u
#define HEAP_BEHIND 4224u /* of `timer0When`: `timers` of a P, Go 1.19 to 1.22 */
#define HEAP_BEFORE 40u   /* `minWhenHeap` and `heap` of `timers` since Go 1.23 */
#define FURTHEST 32768u   /* in a P */

enum { SLEEP_UNTIL, READY, SEND, WANTED };

static const char *const names[WANTED] = {
    [SLEEP_UNTIL] = "runtime.timeSleepUntil", [READY] = "runtime.goroutineReady", [SEND] = "time.sendTime"};

static const struct wp_go_offsets before_1_23 = {.timer = 8, .timer_state = 64, .receivers = 56},
                                  since_1_23 = {.timer = 16, .timer_state = 8, .receivers = 64, .has_when = 1};

/* A load of 8 bytes: of memory at `place` from the instruction's end on (is_beside), or from a register on. */
struct load {
    int64_t place;
    bool is_beside;
};

/* mov r64, [rip + disp32]; mov r64, [r64 + disp32] */
static bool is_load(const uint8_t *code, size_t size, struct load *load)
{
    int32_t place;
    if (size != 7 || (code[0] & 0xf8) != 0x48 || code[1] != 0x8b)
        return false;
    memcpy(&place, code + 3, sizeof(place));
    *load = (struct load){place, (code[2] & 0xc7) == 0x05};
    return load->is_beside || ((code[2] & 0xc0) == 0x80 && (code[2] & 7) != 4);
}

bool wp_go_file_find(const uint8_t *code, size_t size, uint64_t address, uint64_t *all, struct wp_go_offsets *at)
{
    struct wp_x86_insn insn;
    struct load load;
    uint64_t beside = 0;
    int64_t first = 0;
    *all = 0;
    for (size_t i = 0; i < size && wp_x86_insn_read(&insn, code + i, size - i); i += insn.size) {
        if (!is_load(code + i, insn.size, &load))
            continue;
        if (load.is_beside) { /* the slice: where its elements are, and how many */
            uint64_t place = address + i + insn.size + (uint64_t)load.place;
            *all = !*all && beside && place == beside + 8 ? beside : *all;
            beside = place;
        } else if (!*all || load.place <= 0 || load.place > (int64_t)FURTHEST || load.place & 7) {
            return false;
        } else if (!first) {
            first = load.place;
        } else {
            bool is_new = first == load.place + 8;
            if (!is_new && first != load.place - 8)
                return false;
            *at = is_new ? since_1_23 : before_1_23;
            at->when = (uint16_t)(is_new ? load.place : first);
            at->heap = (uint16_t)(is_new ? at->when - HEAP_BEFORE : at->when + HEAP_BEHIND);
            return at->when > HEAP_BEFORE;
        }
    }
    return false;
}

static int keep_found(void *context, uint64_t address, uint64_t size, const char *name)
{
    struct wp_interp_symbol *found = context;
    for (unsigned i = 0; i < WANTED; i++)
        if (!strcmp(name, names[i]))
            found[i] = (struct wp_interp_symbol){address, size};
    return 0;
}

int wp_go_file_read(const struct wp_elf_file *file, struct wp_interp_file *out, uint32_t *version, struct wp_error *err)
{
    const struct wp_interp_search search = {names, WANTED, 0};
    struct wp_interp_symbol found[WANTED] = {0};
    struct wp_go_offsets at;
    uint8_t code[CODE_BYTES];
    uint64_t all, shift;
    GElf_Ehdr header;
    *version = WP_INTERP_VERSION(WP_INTERP_GO, 0, 0);
    if (!gelf_getehdr(file->elf, &header) || header.e_machine != EM_X86_64 || !wp_elf_go_has(file->elf))
        return wp_error_set(err, -ENOENT, "no Go program");
    if (wp_elf_go_is_placed(file->elf))
        wp_elf_go_functions(file->elf, keep_found, found);
    else
        wp_interp_image_symbols(file, &search, found);
    const struct wp_interp_symbol *until = &found[SLEEP_UNTIL];
    size_t size = until->size < sizeof(code) ? (size_t)until->size : sizeof(code);
    if (!until->address || !found[READY].address || !wp_interp_image_bytes(file, until->address, code, size) ||
        !wp_go_file_find(code, size, until->address, &all, &at) || !wp_interp_image_shift(file, until->address, &shift))
        return wp_error_set(err, -ENOENT, "a Go program of whose timers nothing is known");
    *out = (struct wp_interp_file){.version = *version, .runtime = all + shift, .go = at};
    out->code_type = found[READY].address + shift;
    out->inner = found[SEND].address ? found[SEND].address + shift : 0;
    return 0;
}
