import './digest';
import express from 'express';
express().listen(8080);
