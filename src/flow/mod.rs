//! The decisions of rea, pure: no PostgreSQL, no clock, no thread, no I/O.
//!
//! Everything here is a function of its arguments, so that every rule of the workflow language can be tested in
//! microseconds and a simulation runs the very code that a worker runs. Time and random numbers are parameters.
//!
//! Reading order: a [`definition`] (its actions [`perform`] things) is [`parse`]d from JSON (mistakes become
//! [`problem`]s); what it names outside of itself are [`reference`]s; its templates are made of [`expression`]s, whose
//! values PostgreSQL computes from the [`context`]; [`template`], [`address`] and [`request`] render them; [`outcome`]
//! says how an attempt ended and [`response`] what came back; [`retry`] says when to try again; [`instance`] decides
//! what happens next, [`join`] how branches come together; [`emit`], [`fork`], [`wait`], [`keep`] and [`undo`] say what
//! the other steps come to; [`simulation`] plays a workflow with all of them; [`schedule`] says when the clock fires.
//! [`difference`] compares two definitions for those who change them.

pub mod definition;
pub mod perform;
pub mod problem;

pub mod difference;
pub mod parse;
pub mod reference;

pub mod context;
pub mod expression;
pub mod template;

pub mod address;
pub mod call;
pub mod request;

pub mod outcome;
pub mod response;
pub mod retry;
pub mod sqlstate;

pub mod instance;
pub mod join;

pub mod emit;
pub mod fork;
pub mod keep;
pub mod undo;
pub mod wait;

pub mod simulation;

pub mod schedule;

#[cfg(test)]
mod tests;
