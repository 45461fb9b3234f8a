//! Opening a connection to the first address that answers ("Happy Eyeballs", RFC 8305).
//!
//! Contract: addresses are tried in the resolver's order with the families interleaved; the next
//! one starts when the last has failed or has been silent for [`HEAD_START`]; the first to connect
//! wins. A dead first address therefore costs a quarter of a second, not the attempt's timeout.
//!
//! Must never wait beyond the deadline of the running attempt.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, Socket as RawSocket, Type};
use ureq::Error;
use ureq::unversioned::transport::{ConnectionDetails, Connector};

use super::attempt::{self, Phase};
use super::socket::Socket;

/// Time an address has for itself (RFC 8305, section 5: "Connection Attempt Delay").
const HEAD_START: Duration = Duration::from_millis(250);

/// ureq's connector for plain TCP.
#[derive(Debug)]
pub(super) struct Dialer;

impl Connector<()> for Dialer {
    type Out = Socket;

    fn connect(&self, details: &ConnectionDetails, _: Option<()>) -> Result<Option<Socket>, Error> {
        attempt::enter(Phase::Connect);
        let stream = open(&details.addrs)?;
        if details.needs_tls() {
            attempt::enter(Phase::Handshake);
        }
        Ok(Some(Socket::new(stream)))
    }
}

/// Connects to one of `addresses`.
///
/// # Errors
/// [`Error::Timeout`] at the deadline; otherwise the error of the address that failed last.
pub(super) fn open(addresses: &[SocketAddr]) -> Result<TcpStream, Error> {
    let mut race = Race { waiting: Vec::new(), last_error: None };
    let mut untried = interleave(addresses).into_iter();
    while let Some(address) = untried.next() {
        race.start(address)?;
        if let Some(stream) = race.watch(untried.len() > 0)? {
            stream.set_nodelay(true)?;
            return Ok(stream);
        }
    }
    let none = || io::Error::new(io::ErrorKind::AddrNotAvailable, "no address to connect to");
    Err(race.last_error.unwrap_or_else(none).into())
}

/// Alternates between the families, beginning with the one the resolver puts first.
fn interleave(addresses: &[SocketAddr]) -> Vec<SocketAddr> {
    let first_is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (first, second): (Vec<SocketAddr>, Vec<SocketAddr>) =
        addresses.iter().partition(|address| address.is_ipv6() == first_is_v6);
    let mut second = second.into_iter();
    let mut ordered = Vec::with_capacity(addresses.len());
    for address in first {
        ordered.push(address);
        ordered.extend(second.next());
    }
    ordered.extend(second);
    ordered
}

/// The connection attempts under way.
struct Race {
    waiting: Vec<(SocketAddr, RawSocket)>,
    last_error: Option<io::Error>,
}

impl Race {
    /// Begins to connect. Only a fault of this machine is an error here.
    fn start(&mut self, address: SocketAddr) -> io::Result<()> {
        let socket = RawSocket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        match begin(&socket, address) {
            Ok(()) => self.waiting.push((address, socket)),
            Err(error) => self.lose(address, &error),
        }
        Ok(())
    }

    fn lose(&mut self, address: SocketAddr, error: &io::Error) {
        self.last_error = Some(io::Error::new(error.kind(), format!("{address}: {error}")));
    }

    /// Waits until one has connected or all have failed (`None`). With `more` addresses to try,
    /// waits only until the first has failed or the head start is over.
    fn watch(&mut self, more: bool) -> Result<Option<TcpStream>, Error> {
        let from = Instant::now();
        let running = self.waiting.len();
        while !self.waiting.is_empty() {
            let left = attempt::remaining()?;
            let head_start = HEAD_START.saturating_sub(from.elapsed());
            if more && (head_start.is_zero() || self.waiting.len() < running) {
                break;
            }
            let patience = if more { left.min(head_start) } else { left };
            for place in poll_writable(&self.waiting, patience)?.into_iter().rev() {
                let (address, socket) = self.waiting.swap_remove(place);
                match finish(socket) {
                    Ok(stream) => return Ok(Some(stream)),
                    Err(error) => self.lose(address, &error),
                }
            }
        }
        Ok(None)
    }
}

fn begin(socket: &RawSocket, address: SocketAddr) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    match socket.connect(&address.into()) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(()),
    }
}

fn finish(socket: RawSocket) -> io::Result<TcpStream> {
    if let Some(error) = socket.take_error()? {
        return Err(error);
    }
    socket.set_nonblocking(false)?;
    Ok(socket.into())
}

/// Places of the sockets that have connected or failed, in rising order; none if `patience`
/// (rounded up to a millisecond) was over first.
fn poll_writable(sockets: &[(SocketAddr, RawSocket)], patience: Duration) -> io::Result<Vec<usize>> {
    let mut fds: Vec<libc::pollfd> = sockets
        .iter()
        .map(|(_, socket)| libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLOUT, revents: 0 })
        .collect();
    let millis = patience.as_nanos().div_ceil(1_000_000).min(i32::MAX as u128) as i32;
    // SAFETY: `fds` is a valid array of its own length for the time of the call.
    let ready = unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, millis) };
    if ready < 0 {
        let error = io::Error::last_os_error();
        let interrupted = error.kind() == io::ErrorKind::Interrupted;
        return if interrupted { Ok(Vec::new()) } else { Err(error) };
    }
    Ok((0..fds.len()).filter(|&place| fds[place].revents != 0).collect())
}
