/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CMD_DEFAULT_STORE_H
#define WP_REPORTER_CMD_DEFAULT_STORE_H
/* The store of the recording in the current folder, as `wakepath record` leaves it where nothing else was asked for. */

/* "wakepath-report/store"; NULL: there is none. */
const char *wp_default_store(void);

#endif
