/* SPDX-License-Identifier: Apache-2.0 */
#include "common/code_rank.h"

#include <string.h>

static bool begins(const char *text, const char *const *with, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strncmp(text, with[i], strlen(with[i])))
            return true;
    return false;
}

#define BEGINS(text, list) begins((text), (list), sizeof(list) / sizeof(*(list)))

bool wp_code_rank_is_runtime(const char *base)
{
    static const char *const names[] = {"libc.", "libc-", "ld-linux", "ld-musl", "ld-", "libpthread", "libm.", "libm-",
        "librt", "libdl", "libgcc_s", "libstdc++", "libc++", "linux-vdso", "[vdso]", "libpython", "libjvm", "libjli",
        "libruby", "libperl", "libnode", "libgomp", "libasan", "libtsan"};
    static const char *const programs[] = {"python", "node", "ruby", "perl", "php", "php-fpm", "java", "lua"};
    if (BEGINS(base, names))
        return true;
    for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
        size_t size = strlen(programs[i]);
        if (!strncmp(base, programs[i], size) && !base[size + strspn(base + size, "0123456789.")])
            return true;
    }
    return false;
}

bool wp_code_rank_is_interpreter(const char *base)
{
    static const char *const names[] = {"python", "libpython", "ruby", "libruby", "perl", "libperl", "php", "lua"};
    return BEGINS(base, names);
}

/* Rust's own methods of numbers, characters, slices and pointers: "<u64>::wrapping_add", "<str as ...>". */
static bool is_of_primitive(const char *name)
{
    static const char *const types[] = {"u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128",
        "isize", "f32", "f64", "bool", "char", "str"};
    if (*name != '<')
        return false;
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        size_t size = strlen(types[i]);
        if (!strncmp(name + 1, types[i], size) && (name[1 + size] == '>' || name[1 + size] == ' '))
            return true;
    }
    return name[1] == '[' || !strncmp(name, "<*const ", 8) || !strncmp(name, "<*mut ", 6);
}

/* Functions of the languages' own libraries, which lie in the program's file. */
static bool is_runtime_function(const char *name)
{
    static const char *const names[] = {"_start", "__libc_", "_init", "_fini",
        "std::", "core::", "alloc::", "<std::", "<core::", "<alloc::", "<&std::", "<&core::", "<&alloc::", "<&dyn ",
        "<dyn ", "__gnu_cxx::", "__gthread_", "__glibcxx_", "void std::", "__rust_", "rust_begin", "runtime.",
        "runtime/", "internal/", "sync.", "sync/", "syscall.", "syscall/", "os.", "os/", "io.", "fmt.", "mime/",
        "compress/", "html/", "text/", "net.", "net/", "bufio.", "time.", "reflect.", "context.", "database/sql",
        "crypto/", "encoding/", "golang.org/x/", "Builtin:", "Stub:", "Interpreter", "py::<frozen",
        "LazyCompile:node:", "Function:node:", "JS:node:", "pthread_", "__pthread_", "java.", "jdk.", "sun.",
        "Java_java_", "Java_jdk_", "Java_sun_", "gvl_acquire",
        /* PostgreSQL's, by which it waits for all that it waits for */
        "WaitEventSetWait", "WaitLatch", "ProcSleep", "PGSemaphoreLock", "LWLockAcquire", "LockAcquireExtended"};
    const char *script = strncmp(name, "py::", 4) ? NULL : strchr(name + 4, ':');
    if (script)
        return strstr(script, "/lib/python3") || strstr(script, "<frozen");
    return BEGINS(name, names) || is_of_primitive(name) || strstr(name, " node:") || strstr(name, "~node:") ||
        strstr(name, "$$Lambda");
}

/* Crates that lie in the program's file, by names that are no other language's. Of "<&mio::net::TcpStream as ...>" it
 * is the type's. */
static bool is_of_crate(const char *name)
{
    static const char *const crates[] = {
        "tokio::", "tokio_util::", "tokio_stream::", "tokio_rustls::", "tokio_native_tls::", "tokio_postgres::",
        "tokio_tungstenite::", "mio::", "futures_core::", "futures_util::", "futures_channel::", "futures_executor::",
        "futures_io::", "futures_sink::", "futures_task::", "hyper::", "hyper_util::", "h2::", "tower_service::",
        "tower_http::", "tower_layer::", "axum::", "axum_core::", "tonic::", "reqwest::", "rustls::", "tracing_core::",
        "tracing_subscriber::", "tracing_futures::", "parking_lot::", "parking_lot_core::", "lock_api::",
        "crossbeam_channel::", "crossbeam_deque::", "crossbeam_epoch::", "crossbeam_utils::", "rayon::", "rayon_core::",
        "hashbrown::", "socket2::", "serde::", "serde_json::", "pin_project_lite::", "async_task::", "sqlx_core::",
        "sqlx_postgres::", "actix_web::", "actix_http::", "actix_rt::", "actix_server::", "actix_service::"};
    return BEGINS(name + strspn(name, "<&"), crates);
}

/* Of code that is made while the program runs names alone say what it is. */
static bool is_script(const char *name)
{
    static const char *const names[] = {"py::", "LazyCompile:", "Function:", "JS:", "Eval:", "Script:"};
    return BEGINS(name, names);
}

/* Source files of a language by their ending: where its own library lies, and packages that were installed. */
static const struct source_kind {
    const char *ending, *own[2], *packages[2];
} source_kinds[] = {{".py", {"/lib/python3", "/lib/python3"}, {"/site-packages/", "/dist-packages/"}},
    {".rb", {"/lib/ruby/", "/lib/ruby/"}, {"/gems/", "/vendor_ruby/"}},
    {".php", {"/usr/share/php/", "/usr/share/php/"}, {"/vendor/", "/pear/"}},
    {".pm", {"/perl/5.", "/perl-base/"}, {"/perl5/", "/site_perl/"}},
    {".pl", {"/perl/5.", "/perl-base/"}, {"/perl5/", "/site_perl/"}},
    {"js", {"/usr/share/nodejs/", "/usr/share/nodejs/"}, {"/node_modules/", "/node_modules/"}}}; /* .mjs, .cjs too */

static const struct source_kind *source_kind(const char *object)
{
    size_t size = strlen(object);
    for (size_t i = 0; i < sizeof(source_kinds) / sizeof(*source_kinds); i++) {
        size_t ending = strlen(source_kinds[i].ending);
        if (size >= ending && !strcmp(object + size - ending, source_kinds[i].ending))
            return &source_kinds[i];
    }
    return NULL;
}

unsigned wp_code_rank_of_source(const char *object)
{
    if (*object == '<')
        return strncmp(object, "<frozen ", 8) && strncmp(object, "<internal:", 10) ? 3 : 1;
    if (!strncmp(object, "node:", 5))
        return 1;
    const struct source_kind *kind = source_kind(object);
    if (!kind)
        return 0;
    if (strstr(object, kind->packages[0]) || strstr(object, kind->packages[1]))
        return 2;
    return strstr(object, kind->own[0]) || strstr(object, kind->own[1]) ? 1 : 3;
}

unsigned wp_code_rank(const char *name, const char *object)
{
    const char *slash = strrchr(object, '/'), *base = slash ? slash + 1 : object;
    if (!*name || *name == '[')
        return 0;
    if (wp_code_rank_of_source(object))
        return wp_code_rank_of_source(object);
    if (is_runtime_function(name) || (!is_script(name) && wp_code_rank_is_runtime(base)))
        return 1;
    return strstr(base, ".so") || is_of_crate(name) ? 2 : 3;
}
