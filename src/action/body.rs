//! Reading the body of an answer: decoded, bounded, and to its end.
//!
//! Contract: at most `limit` decoded bytes are taken in and at most `keep` of them kept; memory is
//! bounded by `keep`, whatever the compression ratio. Reading goes on to the end of the body, so
//! that a cut-off transfer is seen and the connection can be used again.
//!
//! Must never take broken data for a broken connection, or the other way round: the first is an
//! answer that is cut, the second a failed attempt.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

use super::CutReason;

/// What was read.
#[derive(Debug)]
pub(super) struct Taken {
    /// The first bytes, decoded.
    pub(super) bytes: Vec<u8>,
    /// Why there is not more, if there should be.
    pub(super) cut: Option<CutReason>,
}

/// How the body is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// As it is.
    Plain,
    /// gzip (RFC 1952), possibly of several members.
    Gzip,
    /// Something that was not offered.
    Unknown,
}

impl Encoding {
    /// The encoding named by a `Content-Encoding` header (RFC 9110, section 8.4).
    pub(super) fn named(header: Option<&[u8]>) -> Self {
        let name = header.unwrap_or_default().trim_ascii();
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        if is("") || is("identity") {
            Encoding::Plain
        } else if is("gzip") || is("x-gzip") {
            Encoding::Gzip
        } else {
            Encoding::Unknown
        }
    }
}

/// Reads the body to its end, or to just over `limit` decoded bytes.
///
/// # Errors
/// Those of `source`. Data that cannot be decoded is no error but [`CutReason::BadEncoding`], with
/// what could be decoded before.
pub(super) fn take(source: impl Read, encoding: Encoding, keep: usize, limit: usize) -> io::Result<Taken> {
    let keep = keep.min(limit);
    match encoding {
        Encoding::Plain => collect(source, keep, limit).into_result(),
        Encoding::Gzip => take_gzip(source, keep, limit),
        Encoding::Unknown => {
            let bytes = collect(source, 0, limit).into_result().map(|_| Vec::new())?;
            Ok(Taken { bytes, cut: Some(CutReason::BadEncoding) })
        }
    }
}

fn take_gzip(source: impl Read, keep: usize, limit: usize) -> io::Result<Taken> {
    let mut packed = BufReader::with_capacity(8 * 1024, Guard { source, error: None });
    if packed.fill_buf().is_ok_and(<[u8]>::is_empty) {
        return Ok(Taken { bytes: Vec::new(), cut: None });
    }
    if let Some(error) = packed.get_mut().error.take() {
        return Err(error);
    }
    let mut decoder = MultiGzDecoder::new(packed);
    let mut collected = collect(&mut decoder, keep, limit);
    match (decoder.get_mut().get_mut().error.take(), collected.error.take()) {
        (Some(error), _) => Err(error),
        (None, None) => collected.into_result(),
        (None, Some(_)) => Ok(Taken { bytes: collected.bytes, cut: Some(CutReason::BadEncoding) }),
    }
}

struct Collected {
    bytes: Vec<u8>,
    too_large: bool,
    error: Option<io::Error>,
}

impl Collected {
    fn into_result(self) -> io::Result<Taken> {
        match self.error {
            Some(error) => Err(error),
            None => Ok(Taken { bytes: self.bytes, cut: self.too_large.then_some(CutReason::TooLarge) }),
        }
    }
}

/// Keeps the first `keep` bytes and counts the rest, until the end or one byte over `limit`.
fn collect(mut source: impl Read, keep: usize, limit: usize) -> Collected {
    let mut bytes = Vec::new();
    let mut too_large = false;
    let error = source
        .by_ref()
        .take(keep as u64)
        .read_to_end(&mut bytes)
        .and_then(|kept| {
            let room = (limit - kept) as u64;
            let rest = io::copy(&mut source.by_ref().take(room.saturating_add(1)), &mut io::sink())?;
            too_large = rest > room;
            Ok(())
        })
        .err();
    Collected { bytes, too_large, error }
}

/// Keeps the error of the connection apart from those of the decoder in front of it.
struct Guard<R> {
    source: R,
    error: Option<io::Error>,
}

impl<R: Read> Read for Guard<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.source.read(buffer).map_err(|error| {
            let kind = error.kind();
            self.error = Some(error);
            // Not `Interrupted`: a decoder would read again.
            if kind == io::ErrorKind::Interrupted { io::ErrorKind::Other.into() } else { kind.into() }
        })
    }
}
