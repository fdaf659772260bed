<?php
// SPDX-License-Identifier: Apache-2.0
// Each row is made durable by itself.
function store_row($log, int $number): void
{
    fwrite($log, str_pad((string)$number, 512));
    fsync($log);
}

$log = fopen("rows.log", "w");
for ($row = 0; $row < 2000; $row++) {
    store_row($log, $row);
}
