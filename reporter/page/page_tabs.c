/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/page/page_tabs.h"

#include "reporter/facts/page_context.h"
#include "reporter/recording/recorded_title.h"

void wp_page_tabs(struct wp_display *display, const struct wp_facts *facts)
{
    display->subject = wp_recorded_title(&display->pool, facts);
    display->tab_release = facts->release;
    display->tab_aggregate = facts->aggregate;
    display->tab_compare = wp_page_context(display)->change != NULL;
}
