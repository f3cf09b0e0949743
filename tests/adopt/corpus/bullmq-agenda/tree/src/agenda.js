const Agenda = require('agenda');

const agenda = new Agenda({ db: { address: process.env.MONGO } });
agenda.define('rollup', rollup);
agenda.start().then(() => agenda.every('1 day', 'rollup'));
