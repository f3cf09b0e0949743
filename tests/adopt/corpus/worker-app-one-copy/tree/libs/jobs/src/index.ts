export { startAll } from './start.js';
