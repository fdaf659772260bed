/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/v8_file.h"

#include "collector/interp/interp_image.h"
#include "collector/interp/v8_bytecodes.h"

#include <errno.h>
#include <string.h>

enum {
    FUNCTION_AT,
    MAJOR,
    MINOR,
    SIZES,
    CODE,
    TYPE_FUNCTION,
    TYPE_SHARED,
    TYPE_CODE,
    TYPE_BYTECODE,
    BYTECODE_AT,
    TABLE,
    FIRST_CONTEXT,
    TYPE_ASYNC,
    TYPE_PROMISE,
    TYPE_REACTION,
    TYPE_CAPABILITY,
    TYPE_REQUEST,
    STUB,
    TYPE_OBJECT,
    TYPE_ARRAY,
    WANTED
};

static const char *const names[WANTED] = {
    [FUNCTION_AT] = "v8dbg_off_fp_function",
    [MAJOR] = "_ZN2v88internal7Version6major_E",
    [MINOR] = "_ZN2v88internal7Version6minor_E",
    [SIZES] = "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE",
    [CODE] = "_ZN2v88internal8Snapshot19DefaultSnapshotBlobEv",
    [TYPE_FUNCTION] = "v8dbg_type_JSFunction__JS_FUNCTION_TYPE",
    [TYPE_SHARED] = "v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE",
    [TYPE_CODE] = "v8dbg_type_Code__CODE_TYPE",
    [TYPE_BYTECODE] = "v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE",
    [BYTECODE_AT] = "v8dbg_class_BytecodeArray__data__uintptr_t",
    [TABLE] = "_ZN2v88internal17ExternalReference25js_dispatch_table_addressEv",
    [FIRST_CONTEXT] = "v8dbg_FirstContextType",
    [TYPE_ASYNC] = "v8dbg_type_JSAsyncFunctionObject__JS_ASYNC_FUNCTION_OBJECT_TYPE",
    [TYPE_PROMISE] = "v8dbg_type_JSPromise__JS_PROMISE_TYPE",
    [TYPE_REACTION] = "v8dbg_type_PromiseReaction__PROMISE_REACTION_TYPE",
    [TYPE_CAPABILITY] = "v8dbg_type_PromiseCapability__PROMISE_CAPABILITY_TYPE",
    [TYPE_REQUEST] = "v8dbg_type_AsyncGeneratorRequest__ASYNC_GENERATOR_REQUEST_TYPE",
    [STUB] = "v8dbg_frametype_StubFrame",
    [TYPE_OBJECT] = "v8dbg_type_JSObject__JS_OBJECT_TYPE",
    [TYPE_ARRAY] = "v8dbg_type_JSArray__JS_ARRAY_TYPE",
};

static const struct known {
    uint32_t version;
    struct wp_v8_offsets at;
} known[] = {
    {WP_INTERP_VERSION(WP_INTERP_V8, 10, 2),
        {.function_first = 2065,
            .function_last = 2080,
            .shared = 257,
            .code = 240,
            .bytecode = 195,
            .script = 170,
            .scope = 256,
            .function_shared = 24,
            .function_code = 48,
            .shared_name = 16,
            .shared_script = 32,
            .code_flags = 48,
            .scope_first = 32,
            .deopt_literals = 32,
            .deopt_inlinings = 72,
            .code_start = 128,
            .code_size = 40,
            .code_positions = 24,
            .code_deopt = 16,
            .bytecode_positions = 32,
            .bytecode_at = 56,
            .baseline = 11,
            .await_context = 207,
            .async_function = 2097,
            .object = 1057,
            .array = 2104,
            .promise = 2062,
            .reaction = 166,
            .capability = 164,
            .request = 149,
            .function_context = 32,
            .reaction_next = 8,
            .shared_builtin = 8,
            .stub_mark = 30}},
    {WP_INTERP_VERSION(WP_INTERP_V8, 11, 3),
        {.function_first = 2066,
            .function_last = 2081,
            .shared = 262,
            .code = 245,
            .bytecode = 191,
            .script = 167,
            .scope = 261,
            .function_shared = 24,
            .function_code = 48,
            .shared_name = 16,
            .shared_script = 32,
            .code_flags = 48,
            .scope_first = 32,
            .deopt_literals = 32,
            .deopt_inlinings = 72,
            .code_start = 40,
            .code_size = 56,
            .code_positions = 24,
            .code_deopt = 16,
            .bytecode_positions = 32,
            .bytecode_at = 54,
            .baseline = 11,
            .is_apart = 1,
            .await_context = 205,
            .async_function = 2106,
            .object = 1057,
            .array = 2113,
            .promise = 2063,
            .reaction = 163,
            .capability = 161,
            .request = 148,
            .function_context = 32,
            .reaction_next = 8,
            .shared_builtin = 8,
            .stub_mark = 34}},
    {WP_INTERP_VERSION(WP_INTERP_V8, 12, 4),
        {.function_first = 2066,
            .function_last = 2082,
            .shared = 274,
            .code = 206,
            .bytecode = 205,
            .script = 167,
            .scope = 272,
            .function_shared = 32,
            .function_code = 24,
            .shared_name = 16,
            .shared_script = 32,
            .code_flags = 48,
            .scope_first = 32,
            .deopt_literals = 32,
            .deopt_inlinings = 72,
            .code_start = 40,
            .code_size = 52,
            .code_positions = 16,
            .code_deopt = 8,
            .bytecode_positions = 24,
            .bytecode_at = 64,
            .baseline = 10,
            .is_apart = 1,
            .await_context = 190,
            .async_function = 2108,
            .object = 1057,
            .array = 2115,
            .promise = 2063,
            .reaction = 163,
            .capability = 161,
            .request = 146,
            .function_context = 40,
            .reaction_next = 16,
            .shared_builtin = 8,
            .stub_mark = 34}},
    {WP_INTERP_VERSION(WP_INTERP_V8, 13, 6),
        {.function_first = 2065,
            .function_last = 2081,
            .shared = 282,
            .code = 187,
            .bytecode = 186,
            .script = 167,
            .scope = 280,
            .function_shared = 32,
            .function_code = 24,
            .shared_name = 24,
            .shared_script = 40,
            .code_flags = 52,
            .scope_first = 48,
            .deopt_literals = 40,
            .deopt_inlinings = 80,
            .code_start = 40,
            .code_size = 56,
            .code_positions = 16,
            .code_deopt = 8,
            .bytecode_positions = 24,
            .bytecode_at = 64,
            .baseline = 10,
            .is_apart = 1,
            .table = 1,
            .await_context = 220,
            .async_function = 2110,
            .object = 1057,
            .array = 2119,
            .promise = 2115,
            .reaction = 162,
            .capability = 161,
            .request = 146,
            .function_context = 40,
            .reaction_next = 16,
            .shared_builtin = 16,
            .stub_mark = 36}},
};

const struct wp_v8_offsets *wp_v8_offsets(uint32_t version)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (known[i].version == version)
            return &known[i].at;
    return NULL;
}

/* The value of a variable; INT32_MIN: the file has none. */
static int32_t value_of(const struct wp_elf_file *file, const struct wp_interp_symbol *symbol)
{
    int32_t value;
    return symbol->address && wp_interp_image_bytes(file, symbol->address, &value, sizeof(value)) ? value : INT32_MIN;
}

/* A build with other settings (compressed pointers, a sandbox) has other ones. */
static bool is_as_known(
    const struct wp_elf_file *file, const struct wp_interp_symbol *found, const struct wp_v8_offsets *at)
{
    return value_of(file, &found[FUNCTION_AT]) == -16 && value_of(file, &found[TYPE_FUNCTION]) == at->function_first &&
        value_of(file, &found[TYPE_SHARED]) == at->shared && value_of(file, &found[TYPE_CODE]) == at->code &&
        value_of(file, &found[TYPE_BYTECODE]) == at->bytecode && value_of(file, &found[BYTECODE_AT]) == at->bytecode_at;
}

/* As is_as_known, of what leads to those who await a promise. */
static bool has_promises(
    const struct wp_elf_file *file, const struct wp_interp_symbol *found, const struct wp_v8_offsets *at)
{
    return value_of(file, &found[FIRST_CONTEXT]) == at->await_context &&
        value_of(file, &found[TYPE_ASYNC]) == at->async_function &&
        value_of(file, &found[TYPE_PROMISE]) == at->promise && value_of(file, &found[TYPE_REACTION]) == at->reaction &&
        value_of(file, &found[TYPE_CAPABILITY]) == at->capability &&
        value_of(file, &found[TYPE_REQUEST]) == at->request && 2 * value_of(file, &found[STUB]) == at->stub_mark &&
        value_of(file, &found[TYPE_OBJECT]) == at->object && value_of(file, &found[TYPE_ARRAY]) == at->array;
}

static bool has_bytecodes(
    const struct wp_elf_file *file, const struct wp_interp_symbol *symbol, const struct wp_v8_bytecodes *wanted)
{
    uint8_t bytes[1024];
    return wanted && symbol->address && symbol->size == wanted->count && wanted->count <= sizeof(bytes) &&
        wp_interp_image_bytes(file, symbol->address, bytes, wanted->count) &&
        !memcmp(bytes, wanted->sizes, wanted->count);
}

/* Where the table of all code is, as the function that gives its address has it: the isolates' group in a variable, and
 * a place in that. */
static bool find_table(
    const struct wp_elf_file *file, const struct wp_interp_symbol *symbol, struct wp_interp_file *out)
{
    static const uint8_t load_variable[] = {0x48, 0x8b, 0x05}, load_member[] = {0x48, 0x8b, 0x80}; /* into rax, by it */
    uint8_t code[14];
    int32_t distance, place;
    if (!symbol->address || !wp_interp_image_bytes(file, symbol->address, code, sizeof(code)) ||
        memcmp(code, load_variable, sizeof(load_variable)) || memcmp(code + 7, load_member, sizeof(load_member)))
        return false;
    memcpy(&distance, code + 3, sizeof(distance));
    memcpy(&place, code + 10, sizeof(place));
    out->runtime = symbol->address + 7 + (uint64_t)(int64_t)distance;
    out->v8.table = (uint32_t)place;
    return place > 0;
}

int wp_v8_file_read(const struct wp_elf_file *file, struct wp_interp_file *out, uint32_t *version, struct wp_error *err)
{
    struct wp_interp_symbol found[WANTED];
    GElf_Ehdr header;
    uint64_t shift;
    wp_interp_image_symbols(file, &(struct wp_interp_search){names, WANTED, 0}, found);
    if (!found[FUNCTION_AT].address)
        return wp_error_set(err, -ENOENT, "no V8");
    unsigned major = value_of(file, &found[MAJOR]) & 255, minor = value_of(file, &found[MINOR]) & 255;
    if (found[MAJOR].address && found[MINOR].address)
        *version = WP_INTERP_VERSION(WP_INTERP_V8, major, minor);
    const struct wp_v8_offsets *at = wp_v8_offsets(*version);
    if (!at || !gelf_getehdr(file->elf, &header) || header.e_machine != EM_X86_64 || !is_as_known(file, found, at) ||
        !has_bytecodes(file, &found[SIZES], wp_v8_bytecodes(*version)) ||
        !wp_interp_image_shift(file, found[CODE].address, &shift))
        return wp_error_set(err, -ENOTSUP, "V8 %u.%u, or this build of it, is not known", major, minor);
    *out = (struct wp_interp_file){.runtime = found[MAJOR].address, .v8 = *at, .version = *version};
    if (at->table && !find_table(file, &found[TABLE], out))
        return wp_error_set(err, -ENOTSUP, "where this V8 %u.%u has its code is not known", major, minor);
    if (!has_promises(file, found, at))
        out->v8.promise = 0;
    out->runtime += shift;
    return 0;
}
