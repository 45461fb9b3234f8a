//! Cost of `fire_event` for the application: one event per transaction, beside
//! a bare transaction that writes two rows into tables of the same shape. The
//! two alternate in rounds; workers are off, so that only firing is measured.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use postgres::{Client, NoTls, Statement};

use crate::figure::{Figure, Mark, median};
use crate::rig::{Rig, payload};

/// The two tables of the reference, as rea's own are made.
const TABLES: &str = "
    create schema bare;
    create table bare.work_event (like rea.work_event including all);
    create table bare.work_inbox (like rea.work_inbox including all)";

const FIRE: &str = "select rea.fire_event('bench.fired', $1, $2::text::jsonb)";

const INSERT_EVENT: &str = "
    insert into bare.work_event (event_uid, create_time, occurred_at, event_type, biz_key, event_id, source,
                                 payload, attributes, fired_by)
    values (overlay(overlay(md5(random()::text) placing
                lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::int8), 12, '0') from 1 for 12)
                placing '7' from 13 for 1)::uuid,
            clock_timestamp(), clock_timestamp(), 'bench.fired', $1, $1, '', $2::text::jsonb, '{}', current_user)
    returning event_uid::text";

const INSERT_INBOX: &str = "insert into bare.work_inbox (event_uid) values ($1::text::uuid)";

const INSERT_BOTH: &str = "
    with event as (
        insert into bare.work_event (event_uid, create_time, occurred_at, event_type, biz_key, event_id, source,
                                     payload, attributes, fired_by)
        values (overlay(overlay(md5(random()::text) placing
                    lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::int8), 12, '0') from 1 for 12)
                    placing '7' from 13 for 1)::uuid,
                clock_timestamp(), clock_timestamp(), 'bench.fired', $1, $1, '', $2::text::jsonb, '{}', current_user)
        returning event_uid)
    insert into bare.work_inbox (event_uid) select event_uid from event";

/// What one client does again and again.
#[derive(Clone, Copy)]
enum Work {
    /// begin, fire_event, commit.
    Fire,
    /// begin, insert, insert, commit.
    TwoInserts,
    /// fire_event as a transaction of its own.
    FireAlone,
    /// Both rows by one statement, as a transaction of its own.
    BothAlone,
}

/// `fire_event` beside bare inserts, with 1 and 4 clients.
pub fn measure(rig: &Rig) -> Result<Vec<Figure>> {
    rig.set(&[("rea.enabled", "off")])?;
    let figures = rig.with_database("enqueue", |database| {
        rig.cluster.connect(database).batch_execute(TABLES)?;
        let mut figures = Vec::new();
        for clients in [1, 4] {
            let (fire, bare) = compare(rig, database, clients, Work::Fire, Work::TwoInserts)?;
            let name = format!("fire_event in a transaction, {clients} client(s)");
            let figure = Figure::new(name, fire, "transactions/s");
            figures.push(figure.beside("two bare INSERTs in a transaction", bare).mark(Mark::RatioAtLeast(0.9)));
        }
        for clients in [1, 4] {
            let (fire, bare) = compare(rig, database, clients, Work::FireAlone, Work::BothAlone)?;
            let name = format!("fire_event by itself, one round trip, {clients} client(s)");
            figures.push(Figure::new(name, fire, "transactions/s").beside("both rows by one statement", bare));
        }
        Ok(figures)
    })?;
    rig.reset()?;
    Ok(figures)
}

/// Medians of both kinds of work, in transactions per second.
fn compare(rig: &Rig, database: &str, clients: usize, one: Work, other: Work) -> Result<(f64, f64)> {
    let (rounds, length) = if rig.quick { (3, 500) } else { (7, 2_000) };
    let length = Duration::from_millis(length);
    let (mut ones, mut others) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        ones.push(round(rig, database, clients, one, length)?);
        others.push(round(rig, database, clients, other, length)?);
    }
    Ok((median(&mut ones), median(&mut others)))
}

/// One round: all clients work side by side for a while.
fn round(rig: &Rig, database: &str, clients: usize, work: Work, length: Duration) -> Result<f64> {
    let connection = rig.cluster.connection_string(database, "postgres");
    let barrier = Barrier::new(clients);
    thread::scope(|scope| {
        let threads: Vec<_> =
            (0..clients).map(|_| scope.spawn(|| client_rate(&connection, &barrier, work, length))).collect();
        let join = |thread: thread::ScopedJoinHandle<Result<f64>>| {
            thread.join().map_err(|_| anyhow::anyhow!("a client panicked"))?
        };
        threads.into_iter().map(join).sum()
    })
}

fn client_rate(connection: &str, barrier: &Barrier, work: Work, length: Duration) -> Result<f64> {
    let prepared = Prepared::new(connection, work);
    // Waiting comes first: a client that failed must not leave the others hanging.
    barrier.wait();
    let mut prepared = prepared?;
    let start = Instant::now();
    let mut count = 0_u32;
    while start.elapsed() < length {
        prepared.run()?;
        count += 1;
    }
    Ok(f64::from(count) / start.elapsed().as_secs_f64())
}

/// A session with its statements.
struct Prepared {
    client: Client,
    work: Work,
    statements: Vec<Statement>,
    payload: String,
}

impl Prepared {
    fn new(connection: &str, work: Work) -> Result<Self> {
        let mut client = Client::connect(connection, NoTls)?;
        let texts: &[&str] = match work {
            Work::Fire | Work::FireAlone => &[FIRE],
            Work::TwoInserts => &[INSERT_EVENT, INSERT_INBOX],
            Work::BothAlone => &[INSERT_BOTH],
        };
        let statements = texts.iter().map(|text| client.prepare(text)).collect::<Result<_, _>>()?;
        let mut prepared = Self { client, work, statements, payload: payload().to_string() };
        // Caches of a new session are filled before the clock starts.
        for _ in 0..20 {
            prepared.run()?;
        }
        Ok(prepared)
    }

    fn run(&mut self) -> Result<()> {
        let first = &self.statements[0];
        match self.work {
            Work::FireAlone | Work::BothAlone => {
                self.client.execute(first, &[&"order-1", &self.payload])?;
            }
            Work::Fire => {
                let mut transaction = self.client.transaction()?;
                transaction.execute(first, &[&"order-1", &self.payload])?;
                transaction.commit()?;
            }
            Work::TwoInserts => {
                let mut transaction = self.client.transaction()?;
                let id: String = transaction.query_one(first, &[&"order-1", &self.payload])?.get(0);
                transaction.execute(&self.statements[1], &[&id])?;
                transaction.commit()?;
            }
        }
        Ok(())
    }
}
