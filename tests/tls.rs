//! HTTPS: certificates are checked, and a company's own authority can be added
//! while the server runs.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rea_tests::sink::Authority;
use rea_tests::system::give_to_server;
use rea_tests::workflow::{http, retries, with};
use rea_tests::{PATIENCE, Scene, Sink, wait_until};

#[test]
fn a_private_authority_is_trusted_once_it_is_configured() {
    let mut scene = Scene::open();
    let authority = Authority::new();
    let sink = Sink::start_tls(&authority);
    let action = with(http("only", &sink.url("/")), "retryPolicy", retries(0, 10));
    scene.define("order.created", vec![action]);

    // The first request after the start of the server is one over TLS.
    scene.fire("order.created", "before");
    let instance = scene.finish("before");
    assert_ne!(instance.status, "SUCCESS");
    assert_eq!(instance.error_code, "tls");
    let row = scene.client.query_one("select error_msg from rea.work_action_log", &[]).expect("an attempt");
    let message: String = row.get(0);
    assert!(message.to_lowercase().contains("certificate") || message.contains("UnknownIssuer"), "{message}");
    assert_eq!(sink.count(), 0, "nothing is sent to somebody who cannot prove who he is");

    let path = scene.cluster.folder().join("authority.pem");
    fs::write(&path, authority.pem()).expect("could not write the file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("could not open the file up");
    give_to_server(&path);
    scene.cluster.reload_with("rea.ca_file", &path.display().to_string());
    let mut number = 0;
    wait_until(PATIENCE, "the authority is trusted", || {
        number += 1;
        let key = format!("after-{number}");
        scene.fire("order.created", &key);
        scene.finish(&key).status == "SUCCESS"
    });
    assert_eq!(sink.count(), 1);
}

#[test]
fn a_missing_authority_file_leaves_what_was_trusted_before() {
    let mut scene = Scene::open();
    scene.define("order.created", vec![http("only", &scene.sink.url("/"))]);
    let workers = scene.workers();
    scene.cluster.reload_with("rea.ca_file", "/nowhere/authority.pem");
    scene.fire("order.created", "SO-1");
    assert_eq!(scene.finish("SO-1").status, "SUCCESS");
    wait_until(PATIENCE, "the log names the file", || scene.cluster.log().contains("/nowhere/authority.pem"));
    assert_eq!(scene.workers(), workers);
}
