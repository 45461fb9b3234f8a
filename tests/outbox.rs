//! Requirement A23: an event counts if, and only if, its transaction commits.

use std::collections::BTreeSet;
use std::thread;

use postgres::{Client, NoTls};
use rea_tests::workflow::{count, http};
use rea_tests::{PATIENCE, Scene};

const CLIENTS: u64 = 4;
const PER_CLIENT: u64 = 2_500;

/// What a transaction does with its order.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Commit,
    Rollback,
    /// The order and its event are undone by a savepoint; another order stays.
    PartialRollback,
    /// An exception inside a plpgsql block undoes the event; the order stays out.
    Caught,
}

/// A third of the orders vanish, in ways that look random but repeat.
fn end_of(number: u64) -> End {
    match (number.wrapping_mul(6_364_136_223_846_793_005) >> 33) % 12 {
        0 | 1 => End::Rollback,
        2 => End::PartialRollback,
        3 => End::Caught,
        _ => End::Commit,
    }
}

fn place(client: &mut postgres::Transaction, order: &str) -> Result<(), postgres::Error> {
    client.execute("insert into orders values ($1)", &[&order])?;
    client.execute("select rea.fire_event('order.created', $1, jsonb_build_object('order', $1::text))", &[&order])?;
    Ok(())
}

fn work(connection: &str, client_number: u64) -> Result<(), postgres::Error> {
    let mut client = Client::connect(connection, NoTls)?;
    for number in client_number * PER_CLIENT..(client_number + 1) * PER_CLIENT {
        let order = format!("SO-{number}");
        let mut transaction = client.transaction()?;
        match end_of(number) {
            End::Commit => {
                place(&mut transaction, &order)?;
                transaction.commit()?;
            }
            End::Rollback => {
                place(&mut transaction, &order)?;
                transaction.rollback()?;
            }
            End::PartialRollback => {
                place(&mut transaction, &format!("{order}-kept"))?;
                let mut savepoint = transaction.savepoint("undone")?;
                place(&mut savepoint, &order)?;
                savepoint.rollback()?;
                transaction.commit()?;
            }
            End::Caught => {
                transaction.execute("select place_and_fail($1)", &[&order])?;
                transaction.commit()?;
            }
        }
    }
    Ok(())
}

const SCHEMA: &str = "
    create table orders (order_no text primary key);
    create function place_and_fail(order_no text) returns void language plpgsql as $$
    begin
        insert into orders values (order_no);
        perform rea.fire_event('order.created', order_no, jsonb_build_object('order', order_no));
        raise exception 'changed his mind';
    exception when raise_exception then
        null;
    end $$";

fn texts(client: &mut Client, sql: &str) -> BTreeSet<String> {
    client.query(sql, &[]).expect("a list").iter().map(|row| row.get(0)).collect()
}

#[test]
fn exactly_the_committed_events_are_followed_up_once_each() {
    let mut scene = Scene::open();
    scene.client.batch_execute(SCHEMA).expect("schema");
    scene.define("order.created", vec![http("notify", &scene.sink.url("/orders"))]);
    let connection = scene.cluster.connection_string("app", "postgres");
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|n| {
                scope.spawn({
                    let c = &connection;
                    move || work(c, n)
                })
            })
            .collect();
        for client in clients {
            client.join().expect("no panic").expect("no error");
        }
    });
    let orders = texts(&mut scene.client, "select order_no from orders");
    assert!(orders.len() > 6_000 && orders.len() < 8_500, "{} orders", orders.len());
    scene.finish_all(orders.len(), 3 * PATIENCE);

    let requests = scene.sink.requests();
    let sent: BTreeSet<String> =
        requests.iter().map(|r| r.json()["order"].as_str().unwrap_or_default().to_owned()).collect();
    assert_eq!(requests.len(), orders.len(), "each order is announced once");
    assert_eq!(sent, orders);
    let client = &mut scene.client;
    assert_eq!(texts(client, "select biz_key from rea.work_event"), orders);
    assert_eq!(texts(client, "select biz_key from rea.work_instance"), orders);
    for (what, sql) in LEFTOVERS {
        assert_eq!(count(client, sql), 0, "{what}");
    }
}

/// What must not be there afterwards.
const LEFTOVERS: [(&str, &str); 5] = [
    ("the inbox is empty", "select count(*) from rea.work_inbox"),
    ("the queue is empty", "select count(*) from rea.work_queue"),
    ("nothing is a dead letter", "select count(*) from rea.work_dead_letter"),
    (
        "each instance has one attempt, a success",
        "select count(*) from rea.work_instance i where (select count(*) filter (where l.status = 'SUCCESS'
            and l.attempt_no = 1) from rea.work_action_log l where l.instance_id = i.instance_id) <> 1
            or (select count(*) from rea.work_action_log l where l.instance_id = i.instance_id) <> 1",
    ),
    (
        "each instance has one way to SUCCESS in its history",
        "select count(*) from rea.work_instance i where (select count(*) from rea.work_instance_log l
            where l.instance_id = i.instance_id and l.new_status = 'SUCCESS') <> 1",
    ),
];

#[test]
fn an_event_id_held_by_an_open_transaction_passes_on_when_that_rolls_back() {
    let mut scene = Scene::open();
    scene.define("order.created", vec![http("notify", &scene.sink.url("/"))]);
    const FIRE: &str = "select rea.fire_event('order.created', 'K', '{}', 'event-1', 'shop')";
    let mut first = scene.client.transaction().expect("begin");
    first.execute(FIRE, &[]).expect("fired");
    let connection = scene.cluster.connection_string("app", "postgres");
    let second = thread::spawn(move || {
        let mut client = Client::connect(&connection, NoTls).expect("a session");
        client.batch_execute("begin").expect("begin");
        client.execute(FIRE, &[]).expect("fired");
        client.batch_execute("commit").expect("commit");
    });
    let mut watcher = scene.cluster.connect("app");
    rea_tests::wait_until(PATIENCE, "the second caller waits", || {
        count(&mut watcher, "select count(*) from pg_stat_activity where wait_event_type = 'Lock'") > 0
    });
    first.rollback().expect("rollback");
    second.join().expect("the second caller is done");
    assert_eq!(scene.finish("K").status, "SUCCESS");

    // The same event again, after it ran: nothing starts, the transaction stays usable.
    let mut again = scene.client.transaction().expect("begin");
    let id: String = again.query_one(FIRE, &[]).expect("fired").get(0);
    assert_eq!(id, "event-1");
    again.execute("select 1", &[]).expect("usable");
    again.commit().expect("commit");
    scene.fire("order.created", "later");
    scene.finish("later");
    assert_eq!(scene.sink.count(), 2);
}
