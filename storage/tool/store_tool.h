/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TOOL_STORE_TOOL_H
#define WP_STORAGE_TOOL_STORE_TOOL_H
/*
 * wakepath-store: a table of commands, each with its flags and one function. A new command is a row in the table of
 * store_tool.c and a function in a tool_*.c; what they share is here.
 */
#include "storage/tool/tool.h"

/* All of it: parses, runs, prints. The exit status. */
int wp_store_tool_main(int argc, char **argv);

#endif
