//! What the benchmark programs share.
//!
//! * [`rig`]: the cluster that is measured, the receivers it calls, bulk loading;
//! * [`figure`]: one measured number with its reference and its mark;
//! * [`report`]: the table, and `bench/RESULTS.md`;
//! * [`measure`]: the measurements, one per file;
//! * [`limits`]: limits of the operating system.
//!
//! Every figure is measured beside its reference in the same run, because only
//! ratios survive a change of machine.

#[cfg(feature = "measure")]
pub mod figure;
pub mod limits;
#[cfg(feature = "measure")]
pub mod measure;
#[cfg(feature = "measure")]
pub mod report;
#[cfg(feature = "measure")]
pub mod rig;
