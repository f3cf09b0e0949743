<?php

namespace App\Console;

use Illuminate\Console\Scheduling\Schedule;
use Illuminate\Foundation\Console\Kernel as ConsoleKernel;

class Kernel extends ConsoleKernel
{
    protected function schedule(Schedule $schedule): void
    {
        $schedule->command('digest:send')
            ->dailyAt('06:00')
            ->withoutOverlapping();
        $schedule->command('reports:weekly')
            ->weekly()
            ->withoutOverlapping()
            ->onOneServer();
    }
}
