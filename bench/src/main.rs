//! Benchmarks of rea, each beside a reference measured in the same run.
//!
//! ```text
//! rea-bench [--quick] [--results FILE] [NAME]...
//! ```
//! `NAME` is one of drain, slow, latency, enqueue, starvation, memory, branches;
//! without any, all run. `REA_PG_BIN` names the server's bin folder. A quick run, or one
//! of single figures, writes no file. The exit status is 1 when a mark is missed
//! in a full run.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use rea_bench::figure::Figure;
use rea_bench::rig::{Rig, SETTINGS};
use rea_bench::{limits, measure, report};

#[derive(Default)]
struct Options {
    quick: bool,
    results: Option<PathBuf>,
    names: Vec<String>,
}

fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options> {
    let mut options = Options::default();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--quick" => options.quick = true,
            "--results" => options.results = Some(arguments.next().context("--results needs a file")?.into()),
            name if measure::ALL.iter().any(|(known, _)| *known == name) => options.names.push(argument),
            other => bail!("unknown argument {other}"),
        }
    }
    Ok(options)
}

fn main() -> Result<ExitCode> {
    let options = options(std::env::args().skip(1))?;
    limits::raise_open_files();
    let rig = Rig::start(options.quick);
    let mut figures: Vec<Figure> = Vec::new();
    for (name, run) in measure::ALL {
        if options.names.is_empty() || options.names.iter().any(|wanted| wanted == name) {
            eprintln!("bench: {name}");
            figures.extend(run(&rig).with_context(|| format!("{name} could not be measured"))?);
        }
    }
    println!("{}", report::table(&figures));
    let full = !options.quick && options.names.is_empty();
    if let (true, Some(path)) = (full, &options.results) {
        report::write(path, &conditions(&rig)?, &figures)?;
    }
    let missed = figures.iter().any(|figure| figure.is_kept() == Some(false));
    Ok(if full && missed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn conditions(rig: &Rig) -> Result<String> {
    let settings: Vec<String> = SETTINGS.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    Ok(format!(
        "- {}\n- {}\n- {}; one worker per database; everything on one machine\n- {}\n\
         - reference consumers: a queue table of pgmq's shape, read in batches of 100 with SKIP LOCKED and deleted in \
         batches; node with 2 loops and 32 connections, or a bare Rust loop with 16 threads; they keep no results \
         (pgmq itself is not packaged for this system)
",
        report::machine(),
        rig.version()?,
        settings.join(", "),
        chrono::Utc::now().format("%Y-%m-%d"),
    ))
}
