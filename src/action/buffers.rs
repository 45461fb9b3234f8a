//! The two buffers of one connection.
//!
//! Contract: output that was transmitted but not flushed stays in front of the space handed out
//! next, so that headers and body of a small request leave in one packet. The input side starts
//! small and grows, up to [`INPUT_LIMIT`], when a response fills it.
//!
//! Must never grow beyond its limits, whatever the peer sends.

use ureq::unversioned::transport::Buffers;

/// Largest header line, request line included, that can be sent, in bytes.
pub(super) const LINE_LIMIT: usize = 15 * 1024;
/// Largest response header block that is accepted, in bytes.
pub(super) const HEADER_LIMIT: usize = 32 * 1024;
/// Output buffer of a TLS layer, bytes: one whole line must always fit.
pub(super) const TLS_OUTPUT_SIZE: usize = 16 * 1024;
/// Input never holds more than this; over [`HEADER_LIMIT`], so that ureq sees and reports the
/// overflow.
pub(super) const INPUT_LIMIT: usize = HEADER_LIMIT + 4 * 1024;

const INPUT_START: usize = 4 * 1024;
/// Enough for a large body to come in few reads; under half of [`HEADER_LIMIT`], because ureq counts
/// unread interim responses (1xx) as headers.
const INPUT_BULK: usize = 16 * 1024;
const OUTPUT_SIZE: usize = 24 * 1024;

/// Input and output bytes of one connection.
#[derive(Debug, Default)]
pub(super) struct ConnectionBuffers {
    output: Vec<u8>,
    held: usize,
    input: Vec<u8>,
    start: usize,
    end: usize,
    progress: bool,
    /// The last read filled the input: the next may be larger.
    filled: bool,
}

impl ConnectionBuffers {
    /// Output bytes that wait to be written to the socket.
    pub(super) fn held(&self) -> &[u8] {
        self.output.get(..self.held).unwrap_or_default()
    }

    /// Adds the first `amount` bytes of the space that `output()` gave out to the held ones.
    /// Returns `true` if they should be written now, because another line might not fit.
    pub(super) fn hold(&mut self, amount: usize) -> bool {
        self.held += amount;
        self.output.len() - self.held < LINE_LIMIT
    }

    /// Whether nothing waits to be written or to be taken.
    pub(super) fn is_drained(&self) -> bool {
        self.held == 0 && self.start == self.end
    }

    /// Forgets the held bytes.
    pub(super) fn release(&mut self) {
        self.held = 0;
    }

    fn ensure_output(&mut self) {
        if self.output.is_empty() {
            self.output = vec![0; OUTPUT_SIZE];
        }
    }

    fn free_input(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.end == self.input.len() && self.start > 0 {
            self.input.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let may_grow = self.filled && self.input.len() < INPUT_BULK;
        if self.end == self.input.len() || may_grow {
            self.filled = false;
            let size = (self.input.len() * 2).clamp(INPUT_START, INPUT_LIMIT);
            self.input.resize(size, 0);
        }
        &mut self.input[self.end..]
    }
}

impl Buffers for ConnectionBuffers {
    fn output(&mut self) -> &mut [u8] {
        self.ensure_output();
        &mut self.output[self.held..]
    }

    fn input(&self) -> &[u8] {
        &self.input[self.start..self.end]
    }

    fn input_append_buf(&mut self) -> &mut [u8] {
        self.free_input()
    }

    fn input_appended(&mut self, amount: usize) {
        self.end += amount;
        self.filled = self.end == self.input.len();
    }

    fn input_consume(&mut self, amount: usize) {
        self.progress = amount > 0;
        self.start += amount;
    }

    fn tmp_and_output(&mut self) -> (&mut [u8], &mut [u8]) {
        self.ensure_output();
        self.free_input();
        (&mut self.input[self.end..], &mut self.output[self.held..])
    }

    fn can_use_input(&self) -> bool {
        self.progress && self.start < self.end
    }
}
