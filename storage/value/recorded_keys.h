/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_VALUE_RECORDED_KEYS_H
#define WP_STORAGE_VALUE_RECORDED_KEYS_H
/* Keys of metadata by which `wakepath record` says what it recorded: of each aggregate, the newest recording's. The
 * command and the load stand with the release as well. Times are ns, sizes bytes. The workload is a parameter of the
 * bucket (bucket.h). */

#define WP_RECORDED_COMMAND "recorded.command"     /* the words, quoted as a shell takes them; cut when long */
#define WP_RECORDED_LOAD "recorded.load"           /* of the machine, when the recording ended */
#define WP_RECORDED_DIRECTORY "recorded.directory" /* in which the command began */
#define WP_RECORDED_TIMES "recorded.times"         /* how often: a counter, each shard its own */
#define WP_RECORDED_EXIT "recorded.exit"           /* as a shell says it: 0 to 255, 128 + signal */
/* Of the command and of its descendants that were waited for (getrusage). */
#define WP_RECORDED_WALL "recorded.wall_ns"
#define WP_RECORDED_USER "recorded.user_ns"
#define WP_RECORDED_SYSTEM "recorded.system_ns"
#define WP_RECORDED_RSS "recorded.max_rss_bytes" /* of the largest process */
#define WP_RECORDED_MINOR_FAULTS "recorded.minor_faults"
#define WP_RECORDED_MAJOR_FAULTS "recorded.major_faults"
#define WP_RECORDED_VOLUNTARY "recorded.voluntary_switches"
#define WP_RECORDED_INVOLUNTARY "recorded.involuntary_switches"

#endif
