//! One client connection: bytes in, requests out, answers in, bytes out.
//! It decides nothing about answers.

use std::io::{self, ErrorKind, Read, Write};

use mio::net::TcpStream;

/// Requests with more header fields than this are refused.
const MAX_HEADERS: usize = 64;

/// Bytes read from the socket in one go.
const READ_SIZE: usize = 16 * 1024;

/// The parts of a request that answers depend on.
pub struct Request<'a> {
    pub path: &'a str,
    pub key: &'a [u8],
    pub event_id: &'a [u8],
    /// Length of head and body together, in bytes.
    length: usize,
}

/// What the bytes received so far amount to.
pub enum Parsed<T> {
    /// A whole request; this is what the caller made of it.
    Whole(T),
    /// More bytes are needed.
    Part,
    /// Not a request this receiver understands.
    Bad,
}

pub struct Connection {
    pub stream: TcpStream,
    /// Tells this connection apart from an earlier one in the same slot.
    pub serial: u64,
    /// An answer is due later; nothing is parsed until it has been given.
    pub waiting: bool,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Connection {
    pub fn new(stream: TcpStream, serial: u64) -> Self {
        Self { stream, serial, waiting: false, input: Vec::new(), output: Vec::new() }
    }

    /// Takes in what has arrived; `false` when the client has closed. `closing`
    /// says that the end has been announced: it comes with no event of its own.
    pub fn receive(&mut self, closing: bool) -> io::Result<bool> {
        loop {
            let start = self.input.len();
            self.input.resize(start + READ_SIZE, 0);
            let result = self.stream.read(&mut self.input[start..]);
            let size = *result.as_ref().unwrap_or(&0);
            self.input.truncate(start + size);
            match result {
                Ok(0) => return Ok(false),
                // Less than asked for: the socket is empty, and the next bytes
                // raise a new event.
                Ok(size) if size < READ_SIZE && !closing => return Ok(true),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes the next whole request off the input and shows it to `look`.
    pub fn next<T>(&mut self, look: impl FnOnce(&Request) -> T) -> Parsed<T> {
        let (result, length) = match parse(&self.input) {
            Parsed::Whole(request) => (look(&request), request.length),
            Parsed::Part => return Parsed::Part,
            Parsed::Bad => return Parsed::Bad,
        };
        self.input.drain(..length);
        Parsed::Whole(result)
    }

    /// Queues an answer; [`Connection::flush`] sends it.
    pub fn answer(&mut self, status: u16, body: &[u8]) {
        // Writing to a vector cannot fail.
        let _ = write!(
            self.output,
            "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        self.output.extend_from_slice(body);
    }

    /// Sends as much as the socket takes.
    pub fn flush(&mut self) -> io::Result<()> {
        while !self.output.is_empty() {
            match self.stream.write(&self.output) {
                Ok(size) => drop(self.output.drain(..size)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// The first request of the bytes received so far.
pub fn parse(input: &[u8]) -> Parsed<Request<'_>> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let head = match parsed.parse(input) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Parsed::Part,
        Err(_) => return Parsed::Bad,
    };
    let mut request = Request { path: parsed.path.unwrap_or("/"), key: b"", event_id: b"", length: head };
    for header in parsed.headers.iter() {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        if is("Content-Length") {
            let Some(body) = number(header.value) else { return Parsed::Bad };
            request.length = head + body;
        } else if is("Transfer-Encoding") {
            return Parsed::Bad;
        } else if is("Idempotency-Key") {
            request.key = header.value;
        } else if is("X-Rea-Event-Id") {
            request.event_id = header.value;
        }
    }
    if input.len() < request.length { Parsed::Part } else { Parsed::Whole(request) }
}

fn number(value: &[u8]) -> Option<usize> {
    std::str::from_utf8(value).ok()?.trim().parse().ok()
}
