<?php

use Crunz\Schedule;

$schedule = new Schedule();
$task = $schedule->run('php backup.php');
$task->dailyAt('04:00');

return $schedule;
