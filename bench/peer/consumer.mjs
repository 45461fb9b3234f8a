// A consumer as users write it for pgmq: consumer.mjs CONNECTION URL
// Two loops read batches of 100, post the messages of a batch at the same time
// over kept-alive connections, and delete the batch. It ends when the queue is
// empty and prints how many ms that took, its own start not counted. It keeps no
// results, no history and no retries.

import pg from 'pg';
import { Pool } from 'undici';

const [connection, url] = process.argv.slice(2);
const { origin, pathname } = new URL(url);
const receiver = new Pool(origin, { connections: 32, pipelining: 1 });

const READ = {
  name: 'read',
  text: `update queue q set vt = clock_timestamp() + interval '30 s', read_ct = read_ct + 1
         from (select msg_id from queue where vt <= clock_timestamp() order by msg_id limit 100
               for update skip locked) due
         where q.msg_id = due.msg_id
         returning q.msg_id, q.message::text as body`,
};

async function post({ body }) {
  const response = await receiver.request({
    path: pathname,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  await response.body.dump();
  if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
}

async function connect() {
  const client = new pg.Client({ connectionString: connection });
  await client.connect();
  return client;
}

async function loop(client) {
  for (;;) {
    const { rows } = await client.query(READ);
    if (rows.length === 0) break;
    await Promise.all(rows.map(post));
    const ids = rows.map((row) => row.msg_id);
    await client.query({ name: 'delete', text: 'delete from queue where msg_id = any($1)', values: [ids] });
  }
}

const clients = await Promise.all([connect(), connect()]);
const start = performance.now();
await Promise.all(clients.map(loop));
console.log(performance.now() - start);
await Promise.all([receiver.close(), ...clients.map((client) => client.end())]);
