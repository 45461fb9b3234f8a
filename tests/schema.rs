//! The published JSON Schema of the language agrees with `validate_workflow` on every example of the manual.

use std::path::{Path, PathBuf};

use postgres::Client;
use rea_tests::Scene;
use serde_json::Value;

/// Mistakes of form, which the schema finds too.
const OF_FORM: [&str; 6] =
    ["wrong_type", "missing_key", "unknown_key", "unknown_type", "invalid_event_type", "invalid_method"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the project")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The pages of the manual.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// The JSON blocks of a page, and what stands in single quotes in its SQL blocks.
fn blocks(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for block in page.split("```").skip(1).step_by(2) {
        if let Some(json) = block.strip_prefix("json\n") {
            found.push(json.to_owned());
        } else if let Some(sql) = block.strip_prefix("sql\n") {
            found.extend(sql.split('\'').skip(1).step_by(2).map(str::to_owned));
        }
    }
    found
}

/// Definitions among the examples, with the page they stand on.
fn examples() -> Vec<(PathBuf, Value)> {
    let mut paths = vec![root().join("README.md")];
    pages(&root().join("docs"), &mut paths);
    let mut found = Vec::new();
    for path in paths {
        for text in blocks(&read(&path)) {
            if let Ok(example) = serde_json::from_str::<Value>(&text)
                && example.get("workflowName").is_some()
                && example.get("actions").is_some()
            {
                found.push((path.clone(), example));
            }
        }
    }
    found
}

/// The codes of the errors that `validate_workflow` finds.
fn errors(client: &mut Client, definition: &Value) -> Vec<String> {
    let rows = client.query(
        "select code from rea.validate_workflow($1::text::jsonb) where severity = 'error'",
        &[&definition.to_string()],
    );
    rows.expect("it is validated").iter().map(|row| row.get(0)).collect()
}

#[test]
fn schema_and_parser_agree_on_every_example_of_the_manual() {
    let text = read(&root().join("docs/reference/workflow.schema.json"));
    let schema = jsonschema::draft202012::new(&serde_json::from_str(&text).expect("JSON")).expect("a schema");
    let mut scene = Scene::open();
    let examples = examples();
    assert!(!examples.is_empty());
    for (page, example) in examples {
        let refused: Vec<String> = schema.iter_errors(&example).map(|error| error.to_string()).collect();
        let errors = errors(&mut scene.client, &example);
        let page = page.display();
        if errors.is_empty() {
            assert_eq!(refused, [] as [String; 0], "{page}: {example}");
        }
        if errors.iter().any(|code| OF_FORM.contains(&code.as_str())) {
            assert_ne!(refused, [] as [String; 0], "{page}: {example}: {errors:?}");
        }
    }
}
