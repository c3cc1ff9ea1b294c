// Wires the page: one stream of snapshots feeds every view.

import { showConnection } from './shop/connection.js';
import { showErrors } from './shop/errors.js';
import { listen } from './shop/live.js';
import { orderForm } from './shop/order-form.js';
import { showProcesses } from './shop/processes.js';
import { showQueues } from './shop/queues.js';
import { showTables } from './shop/tables.js';

const form = orderForm();

listen({
  onState: showConnection,
  onSnapshot(snapshot) {
    showProcesses(snapshot.processes ?? []);
    showQueues(snapshot.queues ?? []);
    showTables(snapshot.tables ?? {});
    showErrors(snapshot.errors ?? []);
    form.offer(snapshot.tables?.stock);
  },
});
