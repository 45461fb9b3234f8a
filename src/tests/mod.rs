//! Tests that run inside PostgreSQL, one file per concept.
