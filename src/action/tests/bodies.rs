//! Bodies: bounded, decoded, and empty where they are empty (B49, B50).

use std::io::Write;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::sink::{Sink, ok, with_headers};
use super::{LIMIT, engine, get, reply, request};
use crate::action::{CutReason, Reply, Request};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    with_headers("content-encoding: gzip\r\n", gzip(bytes))
}

fn answer(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Reply {
    let sink = Sink::closing_after(bytes);
    let reply = reply(engine().perform(&request(sink.url())));
    assert_eq!(sink.requests(), 1);
    assert!(reply.body.len() <= LIMIT);
    assert_eq!(reply.cut, reply.cut_reason.is_some());
    reply
}

#[test]
fn gzip_is_decoded() {
    let reply = answer(gzipped(b"{\"a\":1}"));
    assert_eq!((reply.body.as_slice(), reply.cut), (b"{\"a\":1}".as_slice(), false));
}

#[test]
fn a_gzip_bomb_is_cut_at_the_limit() {
    let reply = answer(gzipped(&vec![0; 64 << 20]));
    assert_eq!((reply.status, reply.cut_reason), (200, Some(CutReason::TooLarge)));
    assert_eq!(reply.body.len(), LIMIT);
    assert!(reply.body.capacity() <= 4 * LIMIT);
}

#[test]
fn a_gzip_bomb_whose_body_nobody_wants_is_not_kept() {
    let sink = Sink::closing_after(gzipped(&vec![0; 64 << 20]));
    let reply = reply(engine().perform(&Request { want_body: false, ..request(sink.url()) }));
    assert_eq!((reply.body.len(), reply.cut_reason), (2048, Some(CutReason::TooLarge)));
}

#[test]
fn gzip_of_exactly_the_limit_is_whole() {
    let reply = answer(gzipped(&vec![b'x'; LIMIT]));
    assert_eq!((reply.body.len(), reply.cut), (LIMIT, false));
}

#[test]
fn several_gzip_members_are_one_body() {
    let reply = answer(with_headers("content-encoding: x-gzip\r\n", [gzip(b"one"), gzip(b"two")].concat()));
    assert_eq!(reply.body, b"onetwo");
}

#[test]
fn chunked_gzip_is_decoded_and_the_connection_used_again() {
    let packed = gzip(b"packed");
    let mut bytes = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for piece in packed.chunks(7) {
        bytes.extend(format!("{:x}\r\n", piece.len()).into_bytes());
        bytes.extend(piece);
        bytes.extend(b"\r\n");
    }
    bytes.extend(b"0\r\n\r\n");
    let sink = Sink::answering(bytes);
    let engine = engine();
    for _ in 0..3 {
        assert_eq!(reply(engine.perform(&request(sink.url()))).body, b"packed");
    }
    assert_eq!(sink.connections(), 1);
}

#[test]
fn plain_bytes_called_gzip_are_a_cut_reply() {
    let reply = answer(with_headers("content-encoding: gzip\r\n", "not packed at all"));
    assert_eq!((reply.status, reply.cut_reason), (200, Some(CutReason::BadEncoding)));
    assert!(reply.body.is_empty());
}

#[test]
fn gzip_data_that_breaks_off_in_a_whole_body_is_a_cut_reply() {
    let packed = gzip(&(0..60_000u32).flat_map(u32::to_le_bytes).take(60_000).collect::<Vec<_>>());
    let half = packed.get(..packed.len() / 2).unwrap().to_vec();
    let reply = answer(with_headers("content-encoding: gzip\r\n", half));
    assert_eq!(reply.cut_reason, Some(CutReason::BadEncoding));
}

#[test]
fn encodings_that_were_not_offered_are_a_cut_reply() {
    for encoding in ["br", "deflate", "gzip, gzip", "zstd"] {
        let lines = format!("content-encoding: {encoding}\r\n");
        let reply = answer(with_headers(&lines, gzip(&gzip(b"twice"))));
        assert_eq!(reply.cut_reason, Some(CutReason::BadEncoding), "{encoding}");
        assert!(reply.body.is_empty(), "{encoding}");
    }
}

#[test]
fn an_empty_body_called_gzip_is_empty() {
    let reply = answer(with_headers("content-encoding: gzip\r\n", ""));
    assert_eq!((reply.body.len(), reply.cut), (0, false));
    let reply = answer("HTTP/1.1 204 No Content\r\ncontent-encoding: gzip\r\n\r\n");
    assert_eq!((reply.status, reply.body.len(), reply.cut), (204, 0, false));
}

#[test]
fn a_plain_body_of_exactly_the_limit_is_whole_and_the_connection_is_used_again() {
    let sink = Sink::answering(ok(vec![b'x'; LIMIT]));
    let engine = engine();
    for _ in 0..3 {
        let reply = reply(engine.perform(&request(sink.url())));
        assert_eq!((reply.body.len(), reply.cut), (LIMIT, false));
    }
    assert_eq!(sink.connections(), 1);
}

#[test]
fn a_body_one_byte_over_the_limit_is_cut_and_its_connection_closed() {
    let sink = Sink::answering(ok(vec![b'x'; LIMIT + 1]));
    let engine = engine();
    for _ in 0..2 {
        let reply = reply(engine.perform(&request(sink.url())));
        assert_eq!((reply.body.len(), reply.cut_reason), (LIMIT, Some(CutReason::TooLarge)));
    }
    assert_eq!(sink.connections(), 2);
}

#[test]
fn an_endless_body_is_cut_at_once() {
    let sink = Sink::new(|mut peer| {
        peer.request();
        peer.say("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
        while peer.say(format!("1000\r\n{}\r\n", "x".repeat(0x1000))) {}
    });
    let patient = Request { timeout: Duration::from_secs(30), ..request(sink.url()) };
    assert_eq!(reply(engine().perform(&patient)).cut_reason, Some(CutReason::TooLarge));
}

#[test]
fn an_unwanted_body_is_summarised_and_its_connection_used_again() {
    let sink = Sink::answering(ok(vec![b'x'; 30_000]));
    let engine = engine();
    for _ in 0..3 {
        let reply = reply(engine.perform(&Request { want_body: false, ..request(sink.url()) }));
        assert_eq!((reply.body.len(), reply.cut), (2048, false));
    }
    assert_eq!(sink.connections(), 1);
}

#[test]
fn answers_without_body_are_replies_and_keep_the_connection() {
    for head in [
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n",
        "HTTP/1.1 205 Reset Content\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 202 Accepted\r\nlocation: /later\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 0\r\n\r\n",
    ] {
        let sink = Sink::answering(head);
        let engine = engine();
        for _ in 0..2 {
            let reply = reply(engine.perform(&request(sink.url())));
            assert_eq!(reply.status.to_string(), head.get(9..12).unwrap());
            assert_eq!((reply.body.len(), reply.cut), (0, false), "{head}");
        }
        assert_eq!((sink.connections(), sink.requests()), (1, 2), "{head}");
    }
}

#[test]
fn an_answer_to_head_has_no_body_whatever_its_length_says() {
    let sink = Sink::answering("HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n");
    let engine = engine();
    for _ in 0..2 {
        let head = Request { method: "HEAD".into(), ..get(sink.url()) };
        assert_eq!(reply(engine.perform(&head)).body.len(), 0);
    }
    assert_eq!(sink.connections(), 1);
}
