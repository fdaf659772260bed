/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/facts/facts.h"

#include "storage/report/report_read.h"

const char *wp_facts_frame_name(const struct wp_facts *facts, uint32_t frame)
{
    uint32_t count;
    const struct wp_frame_info *frames = wp_report_frames(facts->report, &count);
    return frame < count ? wp_report_text(facts->report, frames[frame].name) : "";
}

uint32_t wp_facts_frame_style(const struct wp_facts *facts, uint32_t frame)
{
    uint32_t count;
    const struct wp_frame_info *frames = wp_report_frames(facts->report, &count);
    return frame < count ? frames[frame].style : 0;
}
