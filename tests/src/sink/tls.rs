//! The sink's connections, plain or TLS, and the private authority that signs
//! its certificates.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConnection, StreamOwned};

/// Configuration of a TLS server.
pub(super) type ServerConfig = Arc<rustls::ServerConfig>;

/// A certificate authority of a test's own, which nobody knows by default.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    /// Makes a new authority.
    ///
    /// # Panics
    /// If no key can be made.
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// Its certificate, as a CA file holds it.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    pub(super) fn server_config(&self, host: &str) -> ServerConfig {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![host.to_owned()]).expect("a host name");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let private = PrivateKeyDer::try_from(key.serialize_der()).expect("a private key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider knows TLS 1.2 and 1.3")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private);
        Arc::new(config.expect("key and certificate belong together"))
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

/// One accepted connection.
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ServerConnection, TcpStream>>),
}

impl Stream {
    /// Takes a connection over; with TLS the handshake happens at the first
    /// read.
    pub(super) fn accept(stream: TcpStream, tls: Option<ServerConfig>) -> Option<Self> {
        stream.set_nodelay(true).ok()?;
        let Some(config) = tls else {
            return Some(Self::Plain(stream));
        };
        let connection = ServerConnection::new(config).ok()?;
        Some(Self::Tls(Box::new(StreamOwned::new(connection, stream))))
    }

    /// Makes the coming close a reset.
    pub(super) fn reset_on_close(&self) {
        let socket = match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => stream.get_ref(),
        };
        let linger = libc::linger { l_onoff: 1, l_linger: 0 };
        let size = libc::socklen_t::try_from(size_of::<libc::linger>()).unwrap_or_default();
        // SAFETY: the pointer and the size describe one valid linger value.
        unsafe {
            libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, (&raw const linger).cast(), size);
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}
