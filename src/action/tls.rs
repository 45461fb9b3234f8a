//! What TLS connections trust: the built-in roots (webpki) and the certificates of the CA file.
//!
//! The crypto provider is named here, so that the first HTTPS request of a process never depends on
//! a process-wide default. Verification cannot be switched off.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

use super::PoolError;

/// The contents of the CA file; `None` if there is none to read.
///
/// # Errors
/// [`PoolError::CaUnreadable`].
pub(super) fn read_ca(path: Option<&Path>) -> Result<Option<Vec<u8>>, PoolError> {
    path.map(fs::read)
        .transpose()
        .map_err(|source| PoolError::CaUnreadable { path: path.unwrap_or(Path::new("")).to_owned(), source })
}

/// The TLS set-up that trusts the built-in roots and those in `ca`, a PEM text read from `path`.
///
/// # Errors
/// [`PoolError::CaInvalid`] if `ca` holds no certificate, or one that cannot be used as a root.
pub(super) fn config(path: Option<&Path>, ca: Option<&[u8]>) -> Result<TlsConfig, PoolError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = TlsConfig::builder().unversioned_rustls_crypto_provider(provider);
    let Some(ca) = ca else {
        return Ok(builder.root_certs(RootCerts::WebPki).build());
    };
    let own = certificates(ca)
        .map_err(|reason| PoolError::CaInvalid { path: path.unwrap_or(Path::new("")).to_owned(), reason })?;
    let built_in = TLS_SERVER_ROOT_CERTS.iter().map(|der| Certificate::from_der(der));
    let roots: RootCerts = built_in.chain(own).collect::<Vec<_>>().into();
    Ok(builder.root_certs(roots).build())
}

fn certificates(pem: &[u8]) -> Result<Vec<Certificate<'static>>, String> {
    let mut found = Vec::new();
    for item in parse_pem(pem) {
        if let PemItem::Certificate(certificate) = item.map_err(|error| error.to_string())? {
            RootCertStore::empty()
                .add(CertificateDer::from(certificate.der()))
                .map_err(|error| format!("certificate {}: {error}", found.len() + 1))?;
            found.push(certificate);
        }
    }
    if found.is_empty() { Err("it holds no certificate".into()) } else { Ok(found) }
}
