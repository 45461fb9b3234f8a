//! Reading one request from a connection. Lenient: what it cannot read ends
//! the connection.

use std::io::{BufRead, Read};
use std::time::Instant;

use super::Request;

/// The next request, or `None` at the end of the connection.
pub(super) fn request(reader: &mut impl BufRead, connection: u64) -> Option<Request> {
    let first = line(reader)?;
    let mut words = first.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let text = line(reader)?;
        if text.is_empty() {
            break;
        }
        let (name, value) = text.split_once(':')?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let body = body(reader, &headers)?;
    Some(Request { method, path, headers, body, at: Instant::now(), connection })
}

fn body(reader: &mut impl BufRead, headers: &[(String, String)]) -> Option<Vec<u8>> {
    let value = |wanted: &str| headers.iter().find(|(name, _)| name == wanted).map(|(_, v)| v);
    if value("transfer-encoding").is_some_and(|v| v.eq_ignore_ascii_case("chunked")) {
        return chunks(reader);
    }
    let length = value("content-length").map_or(Some(0), |v| v.parse().ok())?;
    exactly(reader, length)
}

fn chunks(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = usize::from_str_radix(line(reader)?.split(';').next()?, 16).ok()?;
        body.extend(exactly(reader, size)?);
        line(reader)?;
        if size == 0 {
            return Some(body);
        }
    }
}

fn exactly(reader: &mut impl BufRead, length: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(length).ok()?;
    reader.take(limit).read_to_end(&mut bytes).ok()?;
    (bytes.len() == length).then_some(bytes)
}

/// A line without its end; bytes that are not UTF-8 are replaced.
fn line(reader: &mut impl BufRead) -> Option<String> {
    let mut bytes = Vec::new();
    reader.read_until(b'\n', &mut bytes).ok()?;
    if bytes.pop() != Some(b'\n') {
        return None;
    }
    if bytes.last() == Some(&b'\r') {
        bytes.pop();
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
