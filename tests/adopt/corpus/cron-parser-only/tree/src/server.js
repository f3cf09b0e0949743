const parser = require('cron-parser');
const express = require('express');
const app = express();
app.get('/next', (req, res) => res.json(parser.parseExpression(req.query.cron).next()));
app.listen(80);
