import { startShell } from './shell/shell.js';

startShell();
