/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/batch/reissue.h"

#include "collector/batch/heir.h"
#include "collector/batch/standing.h"
#include "common/intmap.h"
#include "proto/dictionary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct wp_reissue {
    const struct wp_hello *original; /* borrowed */
    struct wp_hello hello;           /* of the part; texts are the original's */
    struct wp_reissue_to to;
    struct wp_dictionary *dictionary; /* the session's, so far */
    struct wp_standing *standing;
    struct wp_dict_writer *dict; /* of the part; NULL: none was begun */
    struct wp_heir *heir;
    struct wp_intmap devices; /* that the part was told */
    struct wp_event *events;  /* owned */
    uint32_t event_count;
    uint32_t part;
    uint64_t seq, told, dropped;   /* of the part */
    size_t bytes, inherited;       /* likewise: of its dictionary; what it began with */
    uint64_t watermark_ns;         /* of the batches so far */
    uint64_t programs_ns;          /* that they told last */
    uint64_t told_programs_ns;     /* of it: of what came before the part */
    const struct wp_batch *source; /* which is told */
    struct wp_error why;           /* of what was sent by the way */
};

/* The id of the session that goes on as number `part` (from 1) behind the one of that id. */
static void reissue_id(const uint8_t session[16], uint32_t part, uint8_t id[16])
{
    uint8_t text[20];
    memcpy(text, session, 16);
    memcpy(text + 16, &part, sizeof(part));
    XXH128_hash_t hash = XXH3_128bits(text, sizeof(text));
    memcpy(id, &hash, 16);
    id[6] = (uint8_t)((id[6] & 0x0f) | 0x80); /* a UUID of version 8: as its maker likes (RFC 9562) */
    id[8] = (uint8_t)((id[8] & 0x3f) | 0x80);
}

static const char *string(const void *context, uint32_t id)
{
    return wp_dictionary_string(context, id);
}

static const struct wp_thread_entry *thread(const void *context, uint32_t id)
{
    return wp_dictionary_thread(context, id);
}

static const struct wp_socket_entry *peer_socket(const void *context, uint32_t id)
{
    return wp_dictionary_socket(context, id);
}

static const struct wp_object_entry *object(const void *context, uint32_t id)
{
    return wp_dictionary_object(context, id);
}

static const struct wp_frame_entry *frame(const void *context, uint32_t id)
{
    return wp_dictionary_frame(context, id);
}

static const struct wp_stack_entry *stack(const void *context, uint32_t id)
{
    return wp_dictionary_stack(context, id);
}

int wp_reissue_create(
    struct wp_reissue **reissue, const struct wp_hello *hello, const struct wp_reissue_to *to, struct wp_error *err)
{
    struct wp_reissue *r = calloc(1, sizeof(*r));
    if (r) {
        r->original = hello;
        r->hello = *hello;
        r->to = *to;
        r->part = to->part;
        r->dictionary = wp_dictionary_create();
        r->standing = wp_standing_create();
        r->events = malloc(WP_BATCH_EVENTS * sizeof(*r->events));
    }
    if (!r || !r->dictionary || !r->standing || !r->events) {
        wp_reissue_destroy(r);
        return wp_error_set(err, -ENOMEM, "out of memory to reissue a session");
    }
    wp_dictionary_limit(r->dictionary, SIZE_MAX / 2);
    *reissue = r;
    return 0;
}

static void end_part(struct wp_reissue *r)
{
    wp_heir_destroy(r->heir);
    wp_dict_writer_destroy(r->dict);
    r->heir = NULL;
    r->dict = NULL;
}

void wp_reissue_destroy(struct wp_reissue *r)
{
    if (!r)
        return;
    end_part(r);
    wp_intmap_fini(&r->devices);
    wp_dictionary_destroy(r->dictionary);
    wp_standing_destroy(r->standing);
    free(r->events);
    free(r);
}

/* --- a part --- */

/* Of the part so far; 0: not known. */
static uint64_t programs_ns(const struct wp_reissue *r)
{
    uint64_t ns = r->source->programs_ns ? r->source->programs_ns : r->programs_ns;
    return ns > r->told_programs_ns ? ns - r->told_programs_ns : 0;
}

/* The events so far, with what they were the first to use. */
static int send(struct wp_reissue *r, uint64_t watermark_ns, bool is_last, struct wp_error *err)
{
    const struct wp_batch *source = r->source;
    struct wp_batch batch = {.seq = r->seq + 1,
        .watermark_ns = watermark_ns,
        .is_last = is_last,
        .anchor_mono_ns = source->anchor_mono_ns,
        .anchor_real_ns = source->anchor_real_ns,
        .programs_ns = programs_ns(r),
        .events = r->events,
        .event_count = r->event_count};
    memcpy(batch.session, r->hello.session, sizeof(batch.session));
    if (wp_dict_writer_fill(r->dict, &batch))
        return wp_error_set(err, -ENOMEM, "out of memory for the dictionary");
    int rc = r->to.batch(r->to.context, &batch, err);
    if (rc)
        return rc;
    r->seq++;
    for (uint32_t i = 0; i < r->event_count; i++)
        r->told += !wp_event_is_retold(&r->events[i]);
    for (uint32_t i = 0; i < batch.drop_count; i++)
        r->dropped += batch.drops[i].count;
    r->bytes += wp_dictionary_bytes_of(&batch);
    r->event_count = 0;
    wp_dict_writer_sent(r->dict);
    return 0;
}

/* The dictionary has grown by a batchful: what is there goes, and nothing is promised by it. */
static int send_full(void *context)
{
    struct wp_reissue *r = context;
    return send(r, r->watermark_ns, false, &r->why);
}

static void tell_device(struct wp_reissue *r, uint32_t device)
{
    const char *name = wp_dictionary_device(r->dictionary, device);
    if (!name || wp_intmap_get(&r->devices, (struct wp_intkey){device, 0}, NULL))
        return;
    wp_intmap_put(&r->devices, (struct wp_intkey){device, 0}, 1);
    wp_dict_writer_device(r->dict, device, name);
}

static int add_event(void *context, struct wp_event *event)
{
    struct wp_reissue *r = context;
    wp_heir_event(r->heir, event, true);
    if (wp_event_is_block(event) || (event->kind == WP_EVENT_WAKING && event->c == WP_CAUSE_BLOCK))
        tell_device(r, event->d);
    r->events[r->event_count++] = *event;
    int rc = wp_heir_failed(r->heir);
    if (!rc && (r->event_count == WP_BATCH_EVENTS || wp_dict_writer_is_full(r->dict)))
        rc = send_full(r);
    return rc ? rc : wp_dict_writer_failed(r->dict) ? -ENOMEM : 0;
}

static int failed(struct wp_reissue *r, int rc, struct wp_error *err)
{
    return wp_error_set(err, rc, "%s", *r->why.text ? r->why.text : "out of memory to reissue a session");
}

static int begin_part(struct wp_reissue *r, struct wp_error *err)
{
    const struct wp_heir_from from = {r->dictionary, string, thread, peer_socket, object, frame, stack};
    memcpy(r->hello.continues, r->hello.session, sizeof(r->hello.continues));
    reissue_id(r->original->session, ++r->part, r->hello.session);
    r->seq = r->told = r->dropped = 0;
    r->bytes = r->inherited = 0;
    r->told_programs_ns = r->programs_ns;
    wp_intmap_clear(&r->devices);
    if (!(r->dict = wp_dict_writer_create()) || !(r->heir = wp_heir_create(&from, r->dict, send_full, r)))
        return wp_error_set(err, -ENOMEM, "out of memory to reissue a session");
    int rc = r->to.begin(r->to.context, &r->hello, err);
    if (rc)
        return rc;
    rc = wp_standing_tell(r->standing, r->watermark_ns, add_event, r);
    if (rc)
        return failed(r, rc, err);
    rc = send(r, r->watermark_ns, false, err);
    r->inherited = r->bytes;
    return rc;
}

int wp_reissue_finish(struct wp_reissue *r, struct wp_error *err)
{
    struct wp_bye bye = {.last_seq = r->seq, .events = r->told, .dropped = r->dropped};
    int rc = r->dict ? r->to.end(r->to.context, &bye, err) : 0;
    end_part(r);
    return rc;
}

static int turn(struct wp_reissue *r, struct wp_error *err)
{
    struct wp_bye bye = {.last_seq = r->seq, .events = r->told, .dropped = r->dropped};
    reissue_id(r->original->session, r->part + 1, bye.successor);
    int rc = r->to.end(r->to.context, &bye, err);
    end_part(r);
    return rc ? rc : begin_part(r, err);
}

/* --- batches --- */

static int learn(struct wp_reissue *r, const struct wp_batch *batch, struct wp_error *err)
{
    int rc = wp_dictionary_apply(r->dictionary, batch, err);
    return rc ? wp_error_wrap(err, rc, "batch %llu", (unsigned long long)batch->seq) : 0;
}

static void pass(struct wp_reissue *r, const struct wp_batch *batch)
{
    for (uint32_t i = 0; i < batch->event_count; i++)
        wp_standing_take(r->standing, &batch->events[i]);
    if (batch->watermark_ns > r->watermark_ns && !batch->is_last)
        r->watermark_ns = batch->watermark_ns;
    if (batch->programs_ns)
        r->programs_ns = batch->programs_ns;
}

int wp_reissue_pass(struct wp_reissue *r, const struct wp_batch *batch, struct wp_error *err)
{
    int rc = learn(r, batch, err);
    if (!rc)
        pass(r, batch);
    return rc;
}

static bool must_turn(const struct wp_reissue *r)
{
    return r->bytes >= r->to.session_bytes && r->bytes >= 2 * r->inherited && !wp_standing_is_paused(r->standing);
}

int wp_reissue_batch(struct wp_reissue *r, const struct wp_batch *batch, struct wp_error *err)
{
    int rc = learn(r, batch, err);
    r->source = batch;
    if (!rc && !r->dict)
        rc = begin_part(r, err);
    else if (!rc && must_turn(r))
        rc = turn(r, err);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < batch->drop_count; i++)
        wp_dict_writer_drop(r->dict, &batch->drops[i]);
    for (uint32_t i = 0; !rc && i < batch->event_count; i++) {
        struct wp_event event = batch->events[i];
        rc = add_event(r, &event);
    }
    if (rc)
        return failed(r, rc, err);
    pass(r, batch);
    return send(r, batch->watermark_ns, batch->is_last, err);
}
