import express from 'express';
express().listen(3000);
