<?php
require __DIR__ . '/lib.php';

while (true) {
    build_report();
    sleep(86400);
}
