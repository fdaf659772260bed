/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/elf/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

#define NAME_BYTES 4096u         /* longer ones stay as they are */
#define PIECES ((size_t)1 << 16) /* that a name may unfold to: an honest one of 4 KiB has a few thousand */

struct sink {
    char *out;
    size_t room, size, pieces;
    bool is_cut;
    jmp_buf broken_off;
};

static void append_piece(const char *piece, size_t size, void *context)
{
    struct sink *sink = context;
    if (++sink->pieces > PIECES)
        longjmp(sink->broken_off, 1);
    if (size >= sink->room - sink->size) { /* long is not hostile: what has room is kept */
        sink->is_cut = true;
        size = sink->room - 1 - sink->size;
    }
    if (size) /* of nothing there may be no address */
        memcpy(sink->out + sink->size, piece, size);
    sink->size += size;
}

/* "_R" and an upper case letter (Rust RFC 2603), "_ZN...17h<16 digits>E" (Rust before), "_Z" (Itanium C++ ABI 5.1). */
static bool looks_mangled(const char *name)
{
    return name[0] == '_' && (name[1] == 'Z' || (name[1] == 'R' && name[2] >= 'A' && name[2] <= 'Z'));
}

enum wp_demangled wp_demangle(const char *name, char *out, size_t room)
{
    char text[NAME_BYTES]; /* not `out`, which may be left untouched */
    struct sink sink = {.out = text, .room = sizeof(text) < room ? sizeof(text) : room};
    if (!room || !looks_mangled(name) || strnlen(name, NAME_BYTES) == NAME_BYTES)
        return WP_DEMANGLE_PLAIN;
    if (setjmp(sink.broken_off))
        return WP_DEMANGLE_BOMB;
    /* libiberty bounds its own recursion (2048 levels) unless told not to. */
    if (!rust_demangle_callback(name, DMGL_NO_OPTS, append_piece, &sink)) {
        sink.size = sink.pieces = 0;
        sink.is_cut = false;
        if (name[1] != 'Z' || !cplus_demangle_v3_callback(name, DMGL_NO_OPTS, append_piece, &sink))
            return WP_DEMANGLE_PLAIN;
    }
    if (!sink.size || memchr(text, 0, sink.size))
        return WP_DEMANGLE_PLAIN;
    if (sink.is_cut && sink.size > 3)
        memcpy(text + sink.size - 3, "...", 3);
    memcpy(out, text, sink.size);
    out[sink.size] = 0;
    return WP_DEMANGLE_DONE;
}
