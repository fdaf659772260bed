/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/curve_keys.h"

#include "common/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#define FILE_BYTES 4096u
#define SECRET_WORD "secret-key "

int wp_key_pair_make(struct wp_key_pair *pair, struct wp_error *err)
{
    if (zmq_curve_keypair(pair->public_key, pair->secret_key))
        return wp_error_set(err, -ENOTSUP, "cannot make a key: %s", zmq_strerror(zmq_errno()));
    return 0;
}

void wp_key_pair_forget(struct wp_key_pair *pair)
{
    explicit_bzero(pair, sizeof(*pair));
}

/* --- hosts --- */

static int nibble(char c)
{
    return c >= '0' && c <= '9' ? c - '0'
        : c >= 'a' && c <= 'f'  ? c - 'a' + 10
        : c >= 'A' && c <= 'F'  ? c - 'A' + 10
                                : -1;
}

int wp_host_parse(uint8_t host[16], const char *text, struct wp_error *err)
{
    size_t count = 0;
    for (const char *at = text; *at; at++) {
        int value = nibble(*at);
        if (*at == '-' && count && count % 2 == 0 && at[1] != '-')
            continue;
        if (value < 0 || count == 32)
            return wp_error_set(err, -EINVAL, "'%.60s' is not the UUID of a host", text);
        host[count / 2] = (uint8_t)(count % 2 ? host[count / 2] << 4 | value : value);
        count++;
    }
    return count == 32 ? 0 : wp_error_set(err, -EINVAL, "'%.60s' is not the UUID of a host", text);
}

void wp_host_format(const uint8_t host[16], char text[WP_HOST_TEXT])
{
    char *at = text;
    for (int i = 0; i < 16; i++)
        at += sprintf(at, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", host[i]);
}

/* --- lines --- */

/* The next word of a line: its size, 0 at the end. */
static size_t take_word(const char **at, const char *end)
{
    while (*at < end && (**at == ' ' || **at == '\t' || **at == '\r'))
        (*at)++;
    size_t size = 0;
    while (*at + size < end && !strchr(" \t\r", (*at)[size]))
        size++;
    return size;
}

static int parse_host(struct wp_public_key *key, const char *word, size_t size, struct wp_error *err)
{
    char text[WP_HOST_TEXT];
    key->kind = WP_KEY_OF_NONE;
    if (!size || (size == 1 && *word == '-'))
        return 0;
    if (size == 1 && *word == '*') {
        key->kind = WP_KEY_OF_ANY;
        return 0;
    }
    if (size == 5 && !memcmp(word, "shard", 5)) {
        key->kind = WP_KEY_OF_SHARD;
        return 0;
    }
    if (size >= sizeof(text))
        return wp_error_set(
            err, -EINVAL, "'%.*s' is not the UUID of a host, nor *, shard or -", (int)(size < 60 ? size : 60), word);
    memcpy(text, word, size);
    text[size] = 0;
    key->kind = WP_KEY_OF_HOST;
    return wp_host_parse(key->host, text, err);
}

int wp_public_key_parse(struct wp_public_key *key, const char *line, size_t size, struct wp_error *err)
{
    const char *end = line + size, *word = line;
    size_t length = take_word(&word, end);
    if (!length || *word == '#')
        return 0;
    if (memchr(line, 0, size))
        return wp_error_set(err, -EINVAL, "a line with a zero byte");
    memset(key, 0, sizeof(*key)); /* with its holes: lists are compared whole */
    if (length == WP_KEY_TEXT - 1)
        memcpy(key->text, word, length);
    if (length != WP_KEY_TEXT - 1 || !zmq_z85_decode(key->bytes, key->text))
        return wp_error_set(
            err, -EINVAL, "'%.*s' is not a public key: 40 characters of Z85", (int)(length < 60 ? length : 60), word);
    word += length;
    length = take_word(&word, end);
    int rc = parse_host(key, word, length, err);
    if (rc)
        return rc;
    word += length;
    length = take_word(&word, end);
    if (length >= sizeof(key->name))
        return wp_error_set(err, -EINVAL, "a name of more than %zu bytes", sizeof(key->name) - 1);
    memcpy(key->name, word, length);
    if (length && !wp_id_valid(key->name))
        return wp_error_set(err, -EINVAL, "'%s' cannot name a key: use [A-Za-z0-9._+-]", key->name);
    word += length;
    return take_word(&word, end) ? wp_error_set(err, -EINVAL, "a line of more than key, host and name") : 1;
}

/* --- writing --- */

/* A new file; nothing stays of one that could not be written. */
static int write_file(const char *path, mode_t mode, const char *text, struct wp_error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0 && errno == EEXIST)
        return wp_error_set(err, -EEXIST, "'%s' is there already; --force replaces it", path);
    if (fd < 0)
        return wp_error_errno(err, -errno, "cannot write '%s'", path);
    size_t size = strlen(text);
    ssize_t done = write(fd, text, size); /* a few bytes into a new file */
    int rc = done == (ssize_t)size ? 0 : done < 0 ? -errno : -EIO;
    if (!rc && fsync(fd))
        rc = -errno;
    if (close(fd) && !rc)
        rc = -errno;
    if (!rc)
        return 0;
    unlink(path);
    return wp_error_errno(err, rc, "cannot write '%s'", path);
}

static int write_public(
    const struct wp_key_files *files, const struct wp_key_pair *pair, const char *path, struct wp_error *err)
{
    char host[WP_HOST_TEXT] = "-", text[256];
    if (files->kind == WP_KEY_OF_ANY)
        strcpy(host, "*");
    else if (files->kind == WP_KEY_OF_SHARD)
        strcpy(host, "shard");
    else if (files->kind == WP_KEY_OF_HOST)
        wp_host_format(files->host, host);
    snprintf(text, sizeof(text), "%s %s %s\n", pair->public_key, host, files->name);
    return write_file(path, 0644, text, err);
}

static int write_secret(
    const struct wp_key_files *files, const struct wp_key_pair *pair, const char *path, struct wp_error *err)
{
    char text[512];
    snprintf(text, sizeof(text),
        "# Wakepath secret key '%s'. Who has it can speak in its owner's name: it stays where it is used.\n" SECRET_WORD
        "%s\n",
        files->name, pair->secret_key);
    int rc = write_file(path, 0600, text, err);
    explicit_bzero(text, sizeof(text));
    return rc;
}

/* Both halves, or neither. */
static int write_both(const struct wp_key_files *files, const struct wp_key_pair *pair, const char *secret,
    const char *public, struct wp_error *err)
{
    int rc = write_secret(files, pair, secret, err);
    if (rc)
        return rc;
    rc = write_public(files, pair, public, err);
    if (rc)
        unlink(secret);
    return rc;
}

static bool is_there(const char *path)
{
    struct stat status;
    return !lstat(path, &status);
}

static bool is_folder(const char *path)
{
    struct stat status;
    return !lstat(path, &status) && S_ISDIR(status.st_mode);
}

/* What a killed process of the same number has left. */
static int clear_place(const char *path, struct wp_error *err)
{
    return unlink(path) && errno != ENOENT ? wp_error_errno(err, -errno, "cannot remove '%s', which is left over", path)
                                           : 0;
}

/* The public half first, and the old one again when the secret half cannot follow. */
static int exchange_both(
    const char *secret, const char *public, const char *new_secret, const char *new_public, struct wp_error *err)
{
    char kept[PATH_MAX + 16];
    snprintf(kept, sizeof(kept), "%s.old.%d", public, (int)getpid());
    int rc = clear_place(kept, err);
    if (rc)
        return rc;
    bool had_public = is_there(public); /* a link needs more rights than a new name */
    if (had_public && link(public, kept) && rename(public, kept))
        return wp_error_errno(err, -errno, "cannot replace '%s'", public);
    if (rename(new_public, public))
        rc = wp_error_errno(err, -errno, "cannot replace '%s'", public);
    else if (rename(new_secret, secret))
        rc = wp_error_errno(err, -errno, "cannot replace '%s'", secret);
    if (rc && !had_public)
        unlink(public);
    else if (rc && rename(kept, public))
        return wp_error_errno(err, rc, "cannot replace '%s'; its old public half is '%s'", secret, kept);
    unlink(kept); /* rename leaves both names of one file */
    return rc;
}

/* Writes both beside the old ones first, for no half fits another pair's. */
static int replace_both(const struct wp_key_files *files, const struct wp_key_pair *pair, const char *secret,
    const char *public, struct wp_error *err)
{
    char new_secret[PATH_MAX + 16], new_public[PATH_MAX + 16];
    if (is_folder(secret) || is_folder(public))
        return wp_error_set(err, -EISDIR, "cannot write '%s': a folder", is_folder(secret) ? secret : public);
    snprintf(new_secret, sizeof(new_secret), "%s.tmp.%d", secret, (int)getpid());
    snprintf(new_public, sizeof(new_public), "%s.tmp.%d", public, (int)getpid());
    int rc = clear_place(new_secret, err);
    if (!rc)
        rc = clear_place(new_public, err);
    if (!rc)
        rc = write_both(files, pair, new_secret, new_public, err);
    if (rc)
        return rc;
    rc = exchange_both(secret, public, new_secret, new_public, err);
    if (rc) {
        unlink(new_public);
        unlink(new_secret);
    }
    return rc;
}

int wp_key_files_write(const struct wp_key_files *files, const struct wp_key_pair *pair, struct wp_error *err)
{
    char secret[PATH_MAX], public[PATH_MAX];
    if (!wp_id_valid(files->name))
        return wp_error_set(err, -EINVAL, "'%.130s' cannot name a key: use [A-Za-z0-9._+-], at most 128", files->name);
    if (snprintf(secret, sizeof(secret), "%s/%s.key", files->dir, files->name) >= PATH_MAX ||
        snprintf(public, sizeof(public), "%s/%s.pub", files->dir, files->name) >= PATH_MAX)
        return wp_error_set(err, -ENAMETOOLONG, "'%.100s...': name too long", files->dir);
    if (mkdir(files->dir, 0700) && errno != EEXIST)
        return wp_error_errno(err, -errno, "cannot make the folder '%s'", files->dir);
    if (!files->may_replace && is_there(public))
        return wp_error_set(err, -EEXIST, "'%s' is there already; --force replaces it", public);
    int rc = files->may_replace ? replace_both(files, pair, secret, public, err)
                                : write_both(files, pair, secret, public, err);
    if (rc)
        return rc;
    rc = wp_folder_sync(files->dir, err);
    if (!rc)
        wp_name_sync(files->dir, NULL); /* the folder above need not be this user's to read */
    if (rc && !files->may_replace) {    /* made a moment ago: nobody knows them */
        unlink(public);
        unlink(secret);
    }
    return rc;
}

/* --- reading --- */

/* As for other programs' keys: nobody but the owner, or root's with the reader's group where a reader is not root. */
static int check_secrecy(const char *path, int fd, struct wp_error *err)
{
    struct stat status;
    if (fstat(fd, &status))
        return wp_error_errno(err, -errno, "cannot look at '%s'", path);
    if (!S_ISREG(status.st_mode))
        return wp_error_set(err, -EINVAL, "'%s' is not a file", path);
    bool is_roots = status.st_uid == 0 && geteuid() != 0;
    if (status.st_mode & (is_roots ? 0037 : 0077))
        return wp_error_set(err, -EPERM,
            "the secret key '%s' has mode %04o: others can get at it; chmod 600 it, or make a new key "
            "if somebody may have read it",
            path, (unsigned)(status.st_mode & 07777));
    return 0;
}

static int read_some(const char *path, bool is_secret, char *text, size_t room, struct wp_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return wp_error_errno(err, -errno, "cannot open the key '%s'", path);
    int rc = is_secret ? check_secrecy(path, fd, err) : 0;
    ssize_t got = rc ? 0 : read(fd, text, room - 1);
    if (got < 0)
        rc = wp_error_errno(err, -errno, "cannot read the key '%s'", path);
    else if ((size_t)got == room - 1)
        rc = wp_error_set(err, -EFBIG, "'%s' is too large for a key", path);
    text[got > 0 ? got : 0] = 0;
    close(fd);
    return rc;
}

int wp_secret_read(const char *path, char *text, size_t room, struct wp_error *err)
{
    return read_some(path, true, text, room, err);
}

int wp_key_pair_read(struct wp_key_pair *pair, const char *path, struct wp_error *err)
{
    char text[FILE_BYTES], *next = text;
    uint8_t bytes[WP_KEY_BYTES];
    int rc = read_some(path, true, text, sizeof(text), err);
    *pair = (struct wp_key_pair){0};
    while (!rc && next && !pair->secret_key[0]) {
        char *line = strsep(&next, "\n");
        if (!strncmp(line, SECRET_WORD, strlen(SECRET_WORD)) && strlen(line) == strlen(SECRET_WORD) + WP_KEY_TEXT - 1)
            memcpy(pair->secret_key, line + strlen(SECRET_WORD), WP_KEY_TEXT);
    }
    if (!rc &&
        (!pair->secret_key[0] || !zmq_z85_decode(bytes, pair->secret_key) ||
            zmq_curve_public(pair->public_key, pair->secret_key)))
        rc = wp_error_set(err, -EINVAL, "'%s' has no secret key; `wakepath keygen` makes one", path);
    explicit_bzero(text, sizeof(text));
    explicit_bzero(bytes, sizeof(bytes));
    if (rc)
        wp_key_pair_forget(pair);
    return rc;
}

int wp_public_key_read(struct wp_public_key *key, const char *path, struct wp_error *err)
{
    char text[FILE_BYTES], *next = text;
    struct wp_public_key line_key;
    bool is_found = false;
    int rc = read_some(path, false, text, sizeof(text), err);
    while (!rc && next) {
        char *line = strsep(&next, "\n");
        int got = wp_public_key_parse(&line_key, line, strlen(line), err);
        if (got < 0)
            rc = wp_error_wrap(err, got, "'%s'", path);
        else if (got && is_found)
            rc = wp_error_set(err, -EINVAL, "'%s' has more than one key", path);
        else if (got)
            *key = line_key;
        is_found = is_found || got > 0;
    }
    return rc || is_found ? rc : wp_error_set(err, -EINVAL, "'%s' has no public key", path);
}
