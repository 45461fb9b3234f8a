//! What the sink can do with a request, honest and otherwise.

use std::io::{Read, Write};
use std::time::Duration;

use super::tls::Stream;

/// An answer, or the lack of one.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A complete HTTP response; the connection stays open.
    Reply(Reply),
    /// Another answer, later.
    After(Duration, Box<Answer>),
    /// These bytes as they are, then the connection is closed.
    Raw(Vec<u8>),
    /// These bytes, one at a time with a pause between them, then a close.
    Drip(Vec<u8>, Duration),
    /// Nothing, until the client gives up.
    Hang,
    /// An orderly close without a byte.
    Close,
    /// A reset (RST) without a byte.
    Reset,
}

/// A complete response.
#[derive(Clone, Debug)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// What becomes of the connection after an answer.
#[derive(PartialEq, Eq)]
pub(super) enum Fate {
    Keep,
    End,
}

impl Answer {
    /// A status with an empty JSON object as body.
    pub fn status(status: u16) -> Self {
        Self::body(status, "application/json", "{}")
    }

    /// 200 with a JSON body.
    pub fn json(body: &str) -> Self {
        Self::body(200, "application/json", body)
    }

    /// A status with a body of the given media type.
    pub fn body(status: u16, media_type: &str, body: &str) -> Self {
        let headers = vec![("Content-Type".to_owned(), media_type.to_owned())];
        let body = body.as_bytes().to_vec();
        Self::Reply(Reply { status, headers, body })
    }

    /// Adds a header to a reply; other answers stay as they are.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if let Self::Reply(reply) = &mut self {
            reply.headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// The same answer after a pause.
    pub fn after(self, pause: Duration) -> Self {
        Self::After(pause, Box::new(self))
    }

    pub(super) fn perform(self, stream: &mut Stream) -> Fate {
        match self {
            Self::Reply(reply) => match stream.write_all(&reply.to_bytes()) {
                Ok(()) => Fate::Keep,
                Err(_) => Fate::End,
            },
            Self::After(pause, answer) => {
                std::thread::sleep(pause);
                answer.perform(stream)
            }
            Self::Raw(bytes) => {
                let _ = stream.write_all(&bytes);
                Fate::End
            }
            Self::Drip(bytes, pause) => drip(stream, &bytes, pause),
            Self::Hang => {
                let _ = stream.read(&mut [0]);
                Fate::End
            }
            Self::Close => Fate::End,
            Self::Reset => {
                stream.reset_on_close();
                Fate::End
            }
        }
    }
}

impl Reply {
    fn to_bytes(&self) -> Vec<u8> {
        let mut text = format!("HTTP/1.1 {} Scripted\r\n", self.status);
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if self.status == 204 || self.status == 304 {
            return (text + "\r\n").into_bytes();
        }
        text.push_str(&format!("Content-Length: {}\r\n\r\n", self.body.len()));
        let mut bytes = text.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

fn drip(stream: &mut Stream, bytes: &[u8], pause: Duration) -> Fate {
    for byte in bytes {
        if stream.write_all(&[*byte]).is_err() {
            break;
        }
        std::thread::sleep(pause);
    }
    Fate::End
}
