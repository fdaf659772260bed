/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_BATCH_INTERP_FRAMES_H
#define WP_COLLECTOR_BATCH_INTERP_FRAMES_H
/*
 * Frames of interpreted languages as frames of the dictionary: the object is the source file, the offset the line, so
 * that equal places are one frame in all processes and on all hosts. One thread.
 */
#include "collector/batch/dict_writer.h"
#include "collector/bpf/interp_row.h"
#include "collector/host/source.h"
#include "collector/interp/interp_codes.h"

#define WP_INTERP_FRAMES_MOST (WP_RECORD_USER_DEPTH + WP_INTERP_DEPTH)

struct wp_interp_frames;

/* The dictionary is borrowed. NULL: out of memory. */
struct wp_interp_frames *wp_interp_frames_create(struct wp_dict_writer *dict);
/* NULL is allowed. */
void wp_interp_frames_destroy(struct wp_interp_frames *frames);
/* A fact with `interp` or `code`. What there is no room for is counted. */
void wp_interp_frames_define(struct wp_interp_frames *frames, const struct wp_fact *fact);
/* The process is gone, or runs another program. */
void wp_interp_frames_forget(struct wp_interp_frames *frames, uint32_t pid);
/* As wp_interp_codes_lack. */
bool wp_interp_frames_lack(const struct wp_interp_frames *frames);
/* As wp_interp_codes_retold. */
void wp_interp_frames_retold(struct wp_interp_frames *frames);
/* Ids are of this dictionary from now on. */
void wp_interp_frames_renew(struct wp_interp_frames *frames, struct wp_dict_writer *dict);
/* The user stack of a fact, of which `native` has the frames of the first native_count addresses, innermost first:
 * fills out, which has room for WP_INTERP_FRAMES_MOST, in the same order; how many. */
uint32_t wp_interp_frames_splice(struct wp_interp_frames *frames, const struct wp_fact *fact, const uint32_t *native,
    uint32_t native_count, uint32_t *out);
/* As wp_interp_codes_counts. */
struct wp_interp_codes_counts wp_interp_frames_counts(const struct wp_interp_frames *frames);

#endif
