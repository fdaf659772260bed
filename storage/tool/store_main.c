/* SPDX-License-Identifier: Apache-2.0 */
/* wakepath-store: looks into a store, checks it, tidies it. */
#include "storage/tool/store_tool.h"

int main(int argc, char **argv)
{
    return wp_store_tool_main(argc, argv);
}
