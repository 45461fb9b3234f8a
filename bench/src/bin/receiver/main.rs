//! A fast HTTP/1.1 receiver for benchmarks and the demo.
//!
//! One thread, non-blocking sockets, connections kept open. It must never be
//! what a benchmark measures, so the path of a plain request allocates nothing
//! but its answer. It is no web server: it trusts its clients and listens on
//! 127.0.0.1 only.
//!
//! ```text
//! receiver [--port P] [--delay-ms N] [--record]
//!
//! /ok               200 {"ok":true}
//! /slow/MS          the same after MS milliseconds
//! /fail/N/ANYTHING  503 for the first N requests of an Idempotency-Key, then 200
//! /stats            counters as JSON
//! /log              arrivals since the start: event id, TAB, ns since 1970
//! /forget           empties counters and log
//! any other path    200 {"id":"r-NUMBER"}
//! ```
//! `--port 0` (the default) takes a free port; the first line printed names it.

mod connection;
mod route;
mod server;

use std::io::Write;

use anyhow::{Context, Result, bail};

/// What the command line asks for.
struct Options {
    port: u16,
    rules: route::Rules,
}

fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options> {
    let mut options = Options { port: 0, rules: route::Rules::default() };
    while let Some(argument) = arguments.next() {
        let mut number = || -> Result<u64> {
            let text = arguments.next().context("a number is missing")?;
            text.parse().with_context(|| format!("{text} is no number"))
        };
        match argument.as_str() {
            "--port" => options.port = u16::try_from(number()?)?,
            "--delay-ms" => options.rules.delay_ms = number()?,
            "--record" => options.rules.record = true,
            other => bail!("unknown option {other}"),
        }
    }
    Ok(options)
}

fn main() -> Result<()> {
    rea_bench::limits::raise_open_files();
    let options = options(std::env::args().skip(1))?;
    let mut server = server::Server::bind(options.port, options.rules)?;
    println!("listening on 127.0.0.1:{}", server.port()?);
    std::io::stdout().flush()?;
    server.run()
}
