//! TLS: which certificates are accepted, and what the others are told (B55).

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use super::sink::{Sink, ok};
use super::{LIMIT, engine, failed, fixed, reply, request};
use crate::action::http::Engine;
use crate::action::lookup::Names;
use crate::action::{PoolError, Request, TransportError, tls};

type Ca = CertifiedIssuer<'static, KeyPair>;

fn ca(name: &str) -> Ca {
    CertifiedIssuer::self_signed(ca_params(name), KeyPair::generate().unwrap()).unwrap()
}

fn ca_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
}

/// A server certificate, and how it is to be served.
struct Served {
    chain: Vec<CertificateDer<'static>>,
    key: KeyPair,
}

fn signed(ca: &Ca, host: &str, change: impl FnOnce(&mut CertificateParams)) -> Served {
    let mut params = CertificateParams::new([host.to_owned()]).unwrap();
    change(&mut params);
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, ca).unwrap();
    Served { chain: vec![certificate.der().clone()], key }
}

fn plain(_: &mut CertificateParams) {}

impl Served {
    fn config(self) -> ServerConfig {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(self.chain, PrivateKeyDer::Pkcs8(self.key.serialize_der().into()))
            .unwrap()
    }

    /// Serves every request on every connection with "secure", closing in order.
    fn start(self) -> Sink {
        serve(self.config(), |stream| while exchange(stream, &ok("secure")) {})
    }
}

type TlsStream = StreamOwned<ServerConnection, TcpStream>;

fn serve(config: ServerConfig, script: impl Fn(&mut TlsStream) + Send + Sync + 'static) -> Sink {
    let config = Arc::new(config);
    Sink::new(move |peer| {
        let connection = ServerConnection::new(config.clone()).unwrap();
        let mut stream = StreamOwned::new(connection, peer.stream);
        script(&mut stream);
    })
}

fn exchange(stream: &mut TlsStream, answer: &[u8]) -> bool {
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    while !seen.ends_with(b"{\"n\":1}") {
        match stream.read(&mut buffer) {
            Ok(read) if read > 0 => seen.extend_from_slice(buffer.get(..read).unwrap()),
            _ => return false,
        }
    }
    stream.write_all(answer).is_ok()
}

fn engine_trusting(ca: &Ca) -> Engine {
    let tls = tls::config(None, Some(ca.pem().as_bytes())).unwrap();
    Engine::new(tls, Names::new(fixed(&["127.0.0.1"])), 16, LIMIT)
}

fn secure(sink: &Sink, host: &str) -> Request {
    request(sink.url_with_host(host).replace("http:", "https:"))
}

#[track_caller]
fn refused(engine: &Engine, request: &Request, reason: &str) {
    let failure = failed(engine.perform(request));
    assert_eq!(failure.kind, TransportError::Tls, "{failure}");
    assert!(failure.message.contains(reason), "{failure}");
}

#[test]
fn a_certificate_of_the_ca_file_is_accepted_and_the_connection_used_again() {
    let ca = ca("our own");
    let sink = signed(&ca, "shop.internal", plain).start();
    let engine = engine_trusting(&ca);
    for _ in 0..5 {
        assert_eq!(reply(engine.perform(&secure(&sink, "shop.internal"))).body, b"secure");
    }
    assert_eq!(sink.connections(), 1);
}

#[test]
fn an_address_in_the_certificate_is_accepted() {
    let ca = ca("our own");
    let sink = signed(&ca, "127.0.0.1", plain).start();
    assert_eq!(reply(engine_trusting(&ca).perform(&secure(&sink, "127.0.0.1"))).body, b"secure");
}

#[test]
fn an_unknown_issuer_is_refused() {
    let sink = signed(&ca("stranger"), "127.0.0.1", plain).start();
    refused(&engine(), &secure(&sink, "127.0.0.1"), "invalid peer certificate: UnknownIssuer");
    let ours = engine_trusting(&ca("our own"));
    refused(&ours, &secure(&sink, "127.0.0.1"), "invalid peer certificate: ");
}

#[test]
fn a_self_signed_certificate_is_refused() {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let chain = vec![params.self_signed(&key).unwrap().der().clone()];
    let sink = Served { chain, key }.start();
    refused(&engine(), &secure(&sink, "127.0.0.1"), "invalid peer certificate: ");
}

#[test]
fn certificates_outside_their_time_are_refused() {
    let ca = ca("our own");
    let engine = engine_trusting(&ca);
    let old = signed(&ca, "h.internal", |params| {
        (params.not_before, params.not_after) = (date_time_ymd(2000, 1, 1), date_time_ymd(2001, 1, 1));
    });
    refused(&engine, &secure(&old.start(), "h.internal"), "expired");
    let future = signed(&ca, "h.internal", |params| {
        (params.not_before, params.not_after) = (date_time_ymd(2900, 1, 1), date_time_ymd(2901, 1, 1));
    });
    refused(&engine, &secure(&future.start(), "h.internal"), "not valid yet");
}

#[test]
fn a_certificate_for_another_host_is_refused() {
    let ca = ca("our own");
    let sink = signed(&ca, "other.internal", plain).start();
    refused(&engine_trusting(&ca), &secure(&sink, "shop.internal"), "not valid for name");
}

#[test]
fn a_missing_intermediate_is_refused() {
    let root = ca("root");
    let key = KeyPair::generate().unwrap();
    let intermediate = CertifiedIssuer::signed_by(ca_params("intermediate"), key, &root).unwrap();
    let sink = signed(&intermediate, "h.internal", plain).start();
    refused(&engine_trusting(&root), &secure(&sink, "h.internal"), "UnknownIssuer");
}

#[test]
fn a_demand_for_a_client_certificate_is_a_tls_failure() {
    let ca = ca("our own");
    let mut roots = RootCertStore::empty();
    roots.add(ca.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
    let served = signed(&ca, "h.internal", plain);
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.unwrap())
        .with_single_cert(served.chain, PrivateKeyDer::Pkcs8(served.key.serialize_der().into()))
        .unwrap();
    let sink = serve(config, |stream| {
        exchange(stream, b"");
    });
    refused(&engine_trusting(&ca), &secure(&sink, "h.internal"), "CertificateRequired");
}

#[test]
fn a_server_without_tls_is_a_tls_failure() {
    let sink = Sink::new(|mut peer| {
        peer.say("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
        peer.hang();
    });
    refused(&engine(), &secure(&sink, "127.0.0.1"), "TLS failed: ");
}

#[test]
fn a_close_or_reset_in_the_handshake_is_a_tls_failure() {
    let closing = Sink::new(|mut peer| {
        let _ = peer.stream.read(&mut [0; 2048]);
    });
    refused(&engine(), &secure(&closing, "127.0.0.1"), "closed the connection during the handshake");
    let resetting = Sink::new(|mut peer| {
        let _ = peer.stream.read(&mut [0; 10]);
        peer.reset();
    });
    refused(&engine(), &secure(&resetting, "127.0.0.1"), "reset");
}

#[test]
fn a_body_without_length_that_ends_without_close_notify_is_truncated() {
    let ca = ca("our own");
    let sink = serve(signed(&ca, "h.internal", plain).config(), |stream| {
        exchange(stream, b"HTTP/1.1 200 OK\r\n\r\nhalf of it");
    });
    let failure = failed(engine_trusting(&ca).perform(&secure(&sink, "h.internal")));
    assert_eq!(failure.kind, TransportError::Truncated, "{failure}");
}

#[test]
fn a_body_without_length_that_ends_with_close_notify_is_whole() {
    let ca = ca("our own");
    let sink = serve(signed(&ca, "h.internal", plain).config(), |stream| {
        exchange(stream, b"HTTP/1.1 200 OK\r\n\r\nall of it");
        stream.conn.send_close_notify();
        let _ = stream.flush();
    });
    let reply = reply(engine_trusting(&ca).perform(&secure(&sink, "h.internal")));
    assert_eq!(reply.body, b"all of it");
}

#[test]
fn large_bodies_pass_through_tls_both_ways() {
    let ca = ca("our own");
    let answer = ok(vec![b'y'; LIMIT]);
    let sink = serve(signed(&ca, "h.internal", plain).config(), move |stream| {
        exchange(stream, &answer);
    });
    let body = Some(("x".repeat(300_000) + "{\"n\":1}").into());
    let large = Request { body, ..secure(&sink, "h.internal") };
    assert_eq!(reply(engine_trusting(&ca).perform(&large)).body.len(), LIMIT);
}

/// A file that is removed at the end of the test.
pub(super) struct TemporaryFile(pub(super) PathBuf);

impl TemporaryFile {
    pub(super) fn new(text: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("rea-ca-{}-{number}.pem", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, text).unwrap();
        TemporaryFile(path)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn a_ca_file_with_several_certificates_trusts_all_of_them() {
    let (one, two) = (ca("one"), ca("two"));
    let pem = format!("# first\n{}\n# second\n{}", one.pem(), two.pem());
    let tls = tls::config(None, Some(pem.as_bytes())).unwrap();
    let engine = Engine::new(tls, Names::new(fixed(&["127.0.0.1"])), 16, LIMIT);
    for ca in [&one, &two] {
        let sink = signed(ca, "h.internal", plain).start();
        assert_eq!(reply(engine.perform(&secure(&sink, "h.internal"))).body, b"secure");
    }
}

#[test]
fn an_unusable_ca_file_is_an_error_that_names_it() {
    let bad = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (text, reason) in [("", "no certificate"), ("hello", "no certificate"), (bad, "certificate 1")] {
        let file = TemporaryFile::new(text);
        let pem = tls::read_ca(Some(&file.0)).unwrap();
        let error = tls::config(Some(&file.0), pem.as_deref()).unwrap_err();
        assert!(matches!(&error, PoolError::CaInvalid { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(reason) && text.contains("rea-ca-"), "{text}");
    }
    let error = tls::read_ca(Some("/nowhere/ca.pem".as_ref())).unwrap_err();
    assert!(error.to_string().contains("could not read CA file \"/nowhere/ca.pem\""), "{error}");
}

pub(super) fn served_by_own_ca() -> (Sink, String) {
    let ca = ca("our own");
    (signed(&ca, "127.0.0.1", plain).start(), ca.pem())
}
