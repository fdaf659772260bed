/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_HOST_CPU_SLICE_H
#define WP_COLLECTOR_HOST_CPU_SLICE_H
/*
 * How long a thread keeps a CPU that others wait for. A thread with much to do holds it for a slice of the scheduler
 * (1.4 to 2.8 ms, and until the next tick), which is what requests that others serve are late by.
 */

/* The calling thread asks for slices of 100 us, if it is scheduled fairly: then a yield costs it no more than that
 * (Linux 6.17 takes the rest of a slice from who yields). Kernels before 6.12 leave slices as they are; an error
 * changes nothing. */
void wp_cpu_slice_shorten(void);
/* Others that wait for this CPU run first. */
void wp_cpu_slice_yield(void);

#endif
