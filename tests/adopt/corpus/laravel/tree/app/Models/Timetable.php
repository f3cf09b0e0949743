<?php

namespace App\Models;

class Timetable
{
    public function show($schedule)
    {
        return $schedule->command('monday');
    }
}
