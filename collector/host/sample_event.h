/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_HOST_SAMPLE_EVENT_H
#define WP_COLLECTOR_HOST_SAMPLE_EVENT_H
/*
 * The perf event behind CPU samples: one on the clock of each processor, for all that runs there (perf_event_open(2)).
 * Above kernel.perf_event_paranoid 1 the kernel asks CAP_PERFMON for it. Debian's and Ubuntu's kernels have levels
 * above 2 ("security,perf: Allow further restriction of perf_event_open"), at which some versions ask CAP_SYS_ADMIN
 * whatever CAP_PERFMON says.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * An event does not live through its processor's going offline, and one that was offline when events were opened has
 * none: once capabilities are gone none can be opened. Looked at now and then: of `cpus` processors, `has_event` of
 * each, which ones are online without; those that are seen offline lose theirs. How many.
 */
unsigned wp_sample_event_without(bool *has_event, unsigned cpus);
/* A descriptor, or -errno: -ENODEV or -ENXIO when the processor is offline, -EACCES or -EPERM when it is not allowed.
 */
int wp_sample_event_open(int cpu, uint32_t frequency_hz);
/* Opens one on this thread's processor, with the capabilities now in effect, and closes it. 0 or -errno. */
int wp_sample_event_try(void);
/* Why not, from what wp_sample_event_try returned. */
void wp_sample_event_why(int rc, char *text, size_t room);

#endif
