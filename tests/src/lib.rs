//! Harness of the real-cluster tests: a throwaway PostgreSQL cluster with rea
//! preloaded, and a scripted HTTP server that records what reaches it.
//!
//! It drives the product from outside, through SQL and HTTP, and must never
//! link to it. Every wait has a deadline and a condition. The server comes from
//! the tree whose bin folder `REA_PG_BIN` names; an installed server is never
//! touched.

pub mod branches;
pub mod cluster;
pub mod invariant;
pub mod scene;
pub mod sink;
pub mod system;
pub mod wait;
pub mod workflow;

pub use cluster::{Cluster, Config, StopMode};
pub use scene::Scene;
pub use sink::{Answer, Request, Sink};
pub use wait::{PATIENCE, holds_for, pace, wait_until};
