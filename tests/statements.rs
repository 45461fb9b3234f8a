//! The library's statements against the schema that the extension installs.

use std::fs;
use std::path::Path;

use rea_tests::{Cluster, Config};

#[test]
fn every_statement_file_prepares_against_the_installed_schema() {
    let cluster = Cluster::start(&Config::new().without_fsync());
    let mut client = cluster.connect("app");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sql/query");
    let mut prepared = 0;
    for entry in fs::read_dir(&folder).expect("statement folder") {
        let path = entry.expect("folder entry").path();
        let text = fs::read_to_string(&path).expect("statement file");
        if let Err(error) = client.prepare(&text) {
            panic!("{}: {error:?}", path.display());
        }
        prepared += 1;
    }
    assert!(prepared > 40, "only {prepared} statements were found");
}
