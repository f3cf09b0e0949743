<?php

namespace App\Command;

use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Command\Command;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Output\OutputInterface;

#[AsCommand(name: 'app:sync')]
class SyncCommand extends Command
{
    private const INTERVAL = 6 * 3600;

    protected function execute(InputInterface $input, OutputInterface $output): int
    {
        while (true) {
            $this->sync();
            sleep(self::INTERVAL);
        }
    }
}
