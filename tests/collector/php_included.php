<?php
// SPDX-License-Identifier: Apache-2.0
// Code of a file that another one includes: php_fixture.php.
nap();
return recursion(1);
