/* SPDX-License-Identifier: Apache-2.0 */
/* wakepath-store: looks into a store, checks it, tidies it. */
#include "common/standard_output.h"
#include "storage/tool/store_tool.h"

int main(int argc, char **argv)
{
    wp_standard_output_check_at_exit();
    return wp_store_tool_main(argc, argv);
}
