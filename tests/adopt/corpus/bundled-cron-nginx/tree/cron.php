<?php
require __DIR__ . '/lib/mail.php';
send_pending();
