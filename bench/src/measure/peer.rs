//! The reference consumers, on a plain queue table as pgmq has it. They keep no
//! results, no history and no retries; they stand for the queue that users
//! build when they need nothing else.
//!
//! * node: what users write, `bench/peer/consumer.mjs`;
//! * bare: the best that the shape allows, in this program: batches of 100 are
//!   read with SKIP LOCKED, posted by 16 threads and deleted, all side by side.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver as Inlet, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use postgres::{Client, NoTls, Statement};

use crate::rig::{Receiver, Rig};

/// Rows per reading and per deleting statement.
const BATCH: usize = 100;

/// Posting threads.
const THREADS: usize = 16;

/// Messages that may be read ahead of the posting threads.
const AHEAD: usize = 4 * BATCH;

const SCHEMA: &str = "
    create table queue (
        msg_id bigint generated always as identity primary key,
        read_ct integer not null default 0,
        enqueued_at timestamptz not null default now(),
        vt timestamptz not null default now(),
        message jsonb
    );
    create index queue_vt on queue (vt)";

const READ: &str = "
    update queue q set vt = clock_timestamp() + interval '30 s', read_ct = read_ct + 1
    from (select msg_id from queue where vt <= clock_timestamp() order by msg_id limit 100 for update skip locked) due
    where q.msg_id = due.msg_id
    returning q.msg_id, q.message::text";

type Message = (i64, String);

/// The consumer that is measured.
#[derive(Clone, Copy)]
pub enum Consumer<'a> {
    /// The script at this path, run by node.
    Node(&'a Path),
    /// This program's own.
    Bare,
}

/// Actions per second of the reference, from a full queue to an empty one.
pub fn drain(rig: &Rig, receiver: &Receiver, events: usize, consumer: Consumer) -> Result<f64> {
    rig.control("create database peer")?;
    let rate = run(rig, receiver, events, consumer);
    rig.control("drop database peer with (force)")?;
    rate
}

fn run(rig: &Rig, receiver: &Receiver, events: usize, consumer: Consumer) -> Result<f64> {
    let mut client = rig.cluster.connect("peer");
    client.batch_execute(SCHEMA)?;
    let payload = crate::rig::payload().to_string();
    client.execute(
        "insert into queue (message) select $1::text::jsonb from generate_series(1, $2::int4)",
        &[&payload, &i32::try_from(events)?],
    )?;
    client.batch_execute("vacuum analyze queue")?;
    receiver.forget()?;
    rig.control("checkpoint")?;
    let url = receiver.url("/ok");
    let elapsed = match consumer {
        Consumer::Node(script) => node(script, rig.cluster.port(), &url)?,
        Consumer::Bare => side_by_side(&mut client, rig.cluster.connection_string("peer", "postgres"), &url)?,
    };
    ensure!(receiver.requests()? == events, "the reference consumer lost messages");
    Ok(events as f64 / elapsed.as_secs_f64())
}

/// Runs the script, which says how many ms it worked.
fn node(script: &Path, port: u16, url: &str) -> Result<Duration> {
    let connection = format!("postgres://postgres@127.0.0.1:{port}/peer");
    let output = Command::new("node").arg(script).args([&connection, url]).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "node ended with {}", output.status);
    let milliseconds: f64 = String::from_utf8_lossy(&output.stdout).trim().parse()?;
    Ok(Duration::from_secs_f64(milliseconds / 1_000.0))
}

/// The posting threads, with the channels to and from them.
struct Posting {
    to_post: SyncSender<Message>,
    done: Inlet<i64>,
    threads: Vec<JoinHandle<Result<()>>>,
}

impl Posting {
    fn start(url: &str) -> Self {
        let (to_post, messages) = sync_channel::<Message>(AHEAD);
        let (to_delete, done) = channel::<i64>();
        let messages = Arc::new(Mutex::new(messages));
        let agent = agent();
        let threads = (0..THREADS)
            .map(|_| {
                let (messages, to_delete, agent) = (Arc::clone(&messages), to_delete.clone(), agent.clone());
                let url = url.to_owned();
                thread::spawn(move || post_all(&messages, &to_delete, &agent, &url))
            })
            .collect();
        Self { to_post, done, threads }
    }
}

/// Lets the posting threads end and passes on what went wrong in them.
fn join(threads: Vec<JoinHandle<Result<()>>>) -> Result<()> {
    threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| anyhow::anyhow!("a thread panicked"))?)
}

/// Puts the next batch on its way; the number of messages in it.
fn read_batch(client: &mut Client, read: &Statement, to_post: &SyncSender<Message>) -> Result<usize> {
    let rows = client.query(read, &[])?;
    let count = rows.len();
    for row in rows {
        to_post.send((row.get(0), row.get(1))).context("all posting threads have ended")?;
    }
    Ok(count)
}

fn side_by_side(client: &mut Client, connection: String, url: &str) -> Result<Duration> {
    let start = Instant::now();
    let Posting { to_post, done, mut threads } = Posting::start(url);
    threads.push(thread::spawn(move || delete_all(&connection, &done)));
    let read = client.prepare(READ)?;
    while read_batch(client, &read, &to_post)? > 0 {}
    drop(to_post);
    join(threads)?;
    Ok(start.elapsed())
}

/// A client that keeps one connection per thread. It has no timeouts, because
/// they would cost it a thread per request.
fn agent() -> ureq::Agent {
    let config =
        ureq::Agent::config_builder().max_idle_connections(THREADS).max_idle_connections_per_host(THREADS).build();
    ureq::Agent::new_with_config(config)
}

fn post_all(messages: &Mutex<Inlet<Message>>, to_delete: &Sender<i64>, agent: &ureq::Agent, url: &str) -> Result<()> {
    loop {
        let next = messages.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((id, message)) = next else { return Ok(()) };
        let mut response = agent.post(url).header("Content-Type", "application/json").send(&message)?;
        response.body_mut().read_to_vec()?;
        to_delete.send(id)?;
    }
}

fn delete_all(connection: &str, done: &Inlet<i64>) -> Result<()> {
    let mut client = Client::connect(connection, NoTls)?;
    let delete = client.prepare("delete from queue where msg_id = any($1)")?;
    while let Ok(first) = done.recv() {
        let mut ids = vec![first];
        while ids.len() < BATCH {
            // A batch is filled up, unless the posting threads have ended.
            let Ok(id) = done.recv() else { break };
            ids.push(id);
        }
        client.execute(&delete, &[&ids])?;
    }
    Ok(())
}
