//! The house rules as a test: what a reviewer would otherwise have to look for.
//!
//! It reads the source tree and needs no server. Each rule reports every place
//! that breaks it, not only the first. It must never change a file.

#[path = "tidy/code.rs"]
mod code;
#[path = "tidy/documents.rs"]
mod documents;
#[path = "tidy/statements.rs"]
mod statements;
#[path = "tidy/tree.rs"]
mod tree;
