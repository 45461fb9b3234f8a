//! The event loop: sockets that are ready, answers that are due.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token};
use slab::Slab;

use crate::connection::{Connection, Parsed};
use crate::route::{Answer, Routes, Rules};

const LISTENER: Token = Token(usize::MAX);

/// Pause before accepting is tried again after it failed, for want of file
/// descriptors most likely.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// An answer that is due later.
struct Delayed {
    slot: usize,
    serial: u64,
    status: u16,
    body: Vec<u8>,
}

pub struct Server {
    poll: Poll,
    listener: TcpListener,
    connections: Slab<Connection>,
    routes: Routes,
    due: BinaryHeap<Reverse<(Instant, u64)>>,
    delayed: HashMap<u64, Delayed>,
    /// Accepting has failed; the listener raises no new event by itself.
    accept_again: bool,
    /// Source of connection serials and names of delayed answers.
    counter: u64,
}

impl Server {
    /// Listens on a port of 127.0.0.1; 0 takes a free one.
    pub fn bind(port: u16, rules: Rules) -> Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mut listener = TcpListener::bind(address).with_context(|| format!("could not listen on {port}"))?;
        let poll = Poll::new()?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        Ok(Self {
            poll,
            listener,
            connections: Slab::new(),
            routes: Routes::new(rules),
            due: BinaryHeap::new(),
            delayed: HashMap::new(),
            accept_again: false,
            counter: 0,
        })
    }

    pub fn port(&self) -> Result<u16> {
        Ok(self.listener.local_addr()?.port())
    }

    /// Serves until the process is ended.
    pub fn run(&mut self) -> Result<()> {
        let mut events = Events::with_capacity(1024);
        loop {
            match self.poll.poll(&mut events, self.timeout()) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                match event.token() {
                    LISTENER => self.accept(),
                    Token(slot) => self.ready(slot, event.is_read_closed()),
                }
            }
            if self.accept_again {
                self.accept();
            }
            self.give_due_answers();
        }
    }

    /// Time until the next answer is due; `None` waits for a socket.
    fn timeout(&self) -> Option<Duration> {
        let due = self.due.peek().map(|Reverse((at, _))| at.saturating_duration_since(Instant::now()));
        if self.accept_again { Some(due.unwrap_or(ACCEPT_PAUSE).min(ACCEPT_PAUSE)) } else { due }
    }

    fn accept(&mut self) {
        self.accept_again = false;
        loop {
            match self.listener.accept() {
                Ok((mut stream, _)) => {
                    let _ = stream.set_nodelay(true);
                    self.counter += 1;
                    let slot = self.connections.vacant_entry();
                    let interest = Interest::READABLE | Interest::WRITABLE;
                    let token = Token(slot.key());
                    if self.poll.registry().register(&mut stream, token, interest).is_ok() {
                        slot.insert(Connection::new(stream, self.counter));
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    self.accept_again = true;
                    return;
                }
            }
        }
    }

    /// A socket has become readable or writable.
    fn ready(&mut self, slot: usize, closing: bool) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        let open = connection.receive(closing).and_then(|open| self.serve(slot).map(|()| open));
        if !matches!(open, Ok(true)) {
            self.connections.try_remove(slot);
        }
    }

    /// Answers the whole requests of one connection, up to one that waits.
    fn serve(&mut self, slot: usize) -> io::Result<()> {
        let open = self.connections.len();
        let Some(connection) = self.connections.get_mut(slot) else { return Ok(()) };
        while !connection.waiting {
            match connection.next(|request| self.routes.answer(request, open)) {
                Parsed::Part => break,
                Parsed::Bad => return Err(ErrorKind::InvalidData.into()),
                Parsed::Whole(answer) if answer.delay.is_zero() => {
                    connection.answer(answer.status, &answer.body);
                }
                Parsed::Whole(Answer { status, body, delay }) => {
                    connection.waiting = true;
                    self.counter += 1;
                    self.due.push(Reverse((Instant::now() + delay, self.counter)));
                    let serial = connection.serial;
                    self.delayed.insert(self.counter, Delayed { slot, serial, status, body });
                }
            }
        }
        connection.flush()
    }

    fn give_due_answers(&mut self) {
        while let Some(Reverse((at, name))) = self.due.peek().copied() {
            if at > Instant::now() {
                return;
            }
            self.due.pop();
            let Some(answer) = self.delayed.remove(&name) else { continue };
            let Some(connection) = self.connections.get_mut(answer.slot) else { continue };
            // The slot may belong to another client by now.
            if connection.serial != answer.serial {
                continue;
            }
            connection.waiting = false;
            connection.answer(answer.status, &answer.body);
            if self.serve(answer.slot).is_err() {
                self.connections.try_remove(answer.slot);
            }
        }
    }
}
