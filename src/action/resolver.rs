//! ureq's resolver: address literals at once, names through the cache.
//!
//! ureq's own starts a thread for every request that has a timeout, pooled or not.
//!
//! This is also the place where a rule on the address that is connected to belongs (egress): every
//! address that ureq may use has passed through [`CachingResolver::resolve`].

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::http::uri::Scheme;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

use super::attempt::{self, Phase};
use super::lookup::Names;

/// ureq's fixed number of addresses per name.
const MAX_ADDRESSES: usize = 16;

/// Resolves within the deadline of the running attempt.
pub(super) struct CachingResolver {
    names: Names,
}

impl CachingResolver {
    /// A resolver in front of `names`.
    pub(super) fn new(names: Names) -> Self {
        CachingResolver { names }
    }
}

impl Resolver for CachingResolver {
    fn resolve(&self, uri: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        attempt::enter(Phase::Lookup);
        let (host, port) = host_and_port(uri).ok_or(Error::HostNotFound)?;
        let addresses: Arc<[IpAddr]> = match host.parse() {
            Ok(literal) => [literal].into(),
            Err(_) => self.names.resolve(host)?,
        };
        let mut resolved = self.empty();
        for address in addresses.iter().take(MAX_ADDRESSES) {
            resolved.push(SocketAddr::new(*address, port));
        }
        Ok(resolved)
    }
}

/// Host without the brackets of an IPv6 literal, and the port given or implied.
fn host_and_port(uri: &Uri) -> Option<(&str, u16)> {
    let host = uri.host().filter(|host| !host.is_empty())?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let implied = if uri.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 };
    Some((bare, uri.port_u16().unwrap_or(implied)))
}

impl fmt::Debug for CachingResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CachingResolver")
    }
}
