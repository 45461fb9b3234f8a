//! A receiver that says exactly what a test wants, byte by byte.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use socket2::SockRef;

/// A listening receiver; lives until the test process ends.
pub(super) struct Sink {
    address: SocketAddr,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    connections: AtomicUsize,
    requests: AtomicUsize,
    closed: AtomicUsize,
}

/// One connection, in the hands of the script.
pub(super) struct Peer {
    pub(super) stream: TcpStream,
    counts: Arc<Counts>,
}

impl Sink {
    /// Runs `script` for each connection, on a thread of its own.
    pub(super) fn new(script: impl Fn(Peer) + Send + Sync + 'static) -> Sink {
        Sink::at("127.0.0.1:0", script)
    }

    pub(super) fn at(address: &str, script: impl Fn(Peer) + Send + Sync + 'static) -> Sink {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let counts = Arc::new(Counts::default());
        let (script, shared) = (Arc::new(script), counts.clone());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                shared.connections.fetch_add(1, Ordering::SeqCst);
                let (script, counts) = (script.clone(), shared.clone());
                thread::spawn(move || {
                    script(Peer { stream, counts: counts.clone() });
                    counts.closed.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        Sink { address, counts }
    }

    /// Answers every request on every connection with the same bytes.
    pub(super) fn answering(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Sink {
        Sink::new(move |mut peer| {
            while peer.request().is_some() {
                peer.say(&bytes);
            }
        })
    }

    /// Answers the first request of each connection and closes in order.
    pub(super) fn closing_after(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Sink {
        Sink::new(move |mut peer| {
            peer.request();
            peer.say(&bytes);
        })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/path", self.address)
    }

    pub(super) fn url_with_host(&self, host: &str) -> String {
        format!("http://{host}:{}/path", self.port())
    }

    pub(super) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(super) fn connections(&self) -> usize {
        self.counts.connections.load(Ordering::SeqCst)
    }

    /// Connections whose script has come to its end.
    pub(super) fn closed(&self) -> usize {
        self.counts.closed.load(Ordering::SeqCst)
    }

    /// Whole requests read by scripts.
    pub(super) fn requests(&self) -> usize {
        self.counts.requests.load(Ordering::SeqCst)
    }
}

impl Peer {
    /// Reads one request with its body; `None` at the end of the connection.
    pub(super) fn request(&mut self) -> Option<String> {
        let mut text = self.head()?;
        let length = header(&text, "content-length").and_then(|value| value.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        self.stream.read_exact(&mut body).ok()?;
        text.push_str(&String::from_utf8_lossy(&body));
        self.counts.requests.fetch_add(1, Ordering::SeqCst);
        Some(text)
    }

    /// Reads up to and including the empty line.
    pub(super) fn head(&mut self) -> Option<String> {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            self.stream.read_exact(&mut byte).ok()?;
            head.push(byte[0]);
        }
        Some(String::from_utf8_lossy(&head).into_owned())
    }

    /// Sends bytes; `false` if the other side has gone.
    pub(super) fn say(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).is_ok()
    }

    /// Sends bytes one at a time with a pause before each, until they or the listener are gone.
    pub(super) fn drip(&mut self, bytes: impl AsRef<[u8]>, pause: Duration) {
        for byte in bytes.as_ref() {
            thread::sleep(pause);
            if !self.say([*byte]) {
                break;
            }
        }
    }

    /// Ends the connection with RST instead of FIN.
    pub(super) fn reset(self) {
        SockRef::from(&self.stream).set_linger(Some(Duration::ZERO)).unwrap();
    }

    /// Keeps the connection open until the other side closes it.
    pub(super) fn hang(mut self) {
        let _ = std::io::copy(&mut self.stream, &mut std::io::sink());
    }

    /// Says that nothing more will come, and listens on.
    pub(super) fn finish(&self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }
}

/// Value of a header in the text of a request.
pub(super) fn header<'a>(request: &'a str, name: &str) -> Option<&'a str> {
    request.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then_some(value.trim())
    })
}

/// A 200 answer of this body, with its length.
pub(super) fn ok(body: impl AsRef<[u8]>) -> Vec<u8> {
    with_headers("", body)
}

/// A 200 answer with more header lines, each ended by CR LF.
pub(super) fn with_headers(lines: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let mut bytes = format!("HTTP/1.1 200 OK\r\n{lines}content-length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    bytes
}
