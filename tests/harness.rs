//! Facts about the harness itself, so that a failing test can blame rea.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use rea_tests::{Answer, Cluster, Config, PATIENCE, Sink, StopMode, wait_until};

fn exchange(sink: &Sink, request: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", sink.port())).expect("sink listens");
    stream.write_all(request.as_bytes()).expect("request is sent");
    // The other side may have reset the connection already.
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    // A reset is an answer too.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn sink_records_requests_of_one_connection_in_order() {
    let sink = Sink::start();
    sink.always("/b", Answer::json(r#"{"b":1}"#));
    let text = "POST /a HTTP/1.1\r\nX-One: 1\r\nContent-Length: 3\r\n\r\nabc\
                POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n0\r\n\r\n";
    let answer = exchange(&sink, text);
    assert_eq!(answer.matches("HTTP/1.1 200").count(), 2);
    assert!(answer.ends_with(r#"{"b":1}"#));
    let requests = sink.requests();
    assert_eq!(requests[0].header("x-one"), Some("1"));
    assert_eq!(requests[0].body, b"abc");
    assert_eq!(requests[1].body, b"de");
    assert_eq!(sink.requests_for("/b").len(), 1);
    assert_eq!(sink.connections(), 1);
}

#[test]
fn sink_fails_each_key_as_often_as_told() {
    let sink = Sink::start();
    sink.fail_first("/", 1, 503);
    let request = |key| format!("POST / HTTP/1.1\r\nIdempotency-Key: {key}\r\n\r\n");
    for (key, status) in [("a", "503"), ("b", "503"), ("a", "200")] {
        assert!(exchange(&sink, &request(key)).contains(status));
    }
}

#[test]
fn sink_closes_resets_and_sends_raw_bytes() {
    let sink = Sink::start();
    sink.always("/raw", Answer::Raw(b"nonsense".to_vec()));
    sink.always("/close", Answer::Close);
    sink.always("/reset", Answer::Reset);
    sink.always("/drip", Answer::Drip(b"drop".to_vec(), Duration::from_millis(1)));
    assert_eq!(exchange(&sink, "GET /raw HTTP/1.1\r\n\r\n"), "nonsense");
    assert_eq!(exchange(&sink, "GET /drip HTTP/1.1\r\n\r\n"), "drop");
    for path in ["/close", "/reset"] {
        assert_eq!(exchange(&sink, &format!("GET {path} HTTP/1.1\r\n\r\n")), "");
    }
}

#[test]
fn sink_lets_its_port_go_and_comes_back_on_it() {
    let sink = Sink::start();
    let port = sink.port();
    drop(sink);
    let again = Sink::start_on(port);
    assert!(exchange(&again, "GET / HTTP/1.1\r\n\r\n").contains("200"));
}

#[test]
fn sink_holds_six_hundred_connections() {
    let sink = Sink::start();
    sink.always("/hang", Answer::Hang);
    let clients: Vec<TcpStream> = (0..600)
        .map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", sink.port())).expect("sink listens");
            stream.write_all(b"GET /hang HTTP/1.1\r\n\r\n").expect("request is sent");
            stream
        })
        .collect();
    wait_until(PATIENCE, "all requests are open", || sink.in_flight() == clients.len());
    drop(clients);
    wait_until(PATIENCE, "no request is open", || sink.in_flight() == 0);
}

#[test]
fn cluster_starts_stops_and_comes_back_without_rea() {
    let config = Config::new().without_fsync().set("shared_preload_libraries", "").without_extension();
    let cluster = Cluster::start(&config);
    assert_eq!(cluster.psql("app", "select 1 + 1"), "2");
    assert!(cluster.psql_error("app", "select 1/0").contains("22012"));
    cluster.restart(StopMode::Fast);
    assert_eq!(cluster.connect("app").query("select 1", &[]).expect("a row").len(), 1);
    assert!(cluster.worker_pids("app").is_empty());
    assert!(cluster.log().contains("shut down"));
}
