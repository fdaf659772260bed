/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_HOSTS_H
#define WP_REPORTER_PAGE_PAGE_HOSTS_H
/* The hosts of an aggregate, or of a release. */
#include "reporter/display/display.h"
#include "reporter/facts/facts.h"
#include "reporter/facts/hosts.h"

void wp_page_host_identities(struct wp_display *display, const struct wp_hosts *hosts);
void wp_page_host_clocks(struct wp_display *display, const struct wp_hosts *hosts);
void wp_page_hosts(struct wp_display *display, const struct wp_facts *facts);

#endif
