<?php

require __DIR__ . '/vendor/autoload.php';

use React\EventLoop\Loop;

Loop::addPeriodicTimer(24 * 60 * 60, 'report');

function report() {}

$http = new React\Http\HttpServer(fn () => React\Http\Message\Response::plaintext("ok"));
$http->listen(new React\Socket\SocketServer('0.0.0.0:80'));
