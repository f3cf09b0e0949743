<?php

use Illuminate\Support\Facades\Schedule;

Schedule::command('orders:close')->dailyAt('23:50')->withoutOverlapping();
