//! The examples of the manual are definitions that the parser accepts without a word.

use crate::flow::parse::parse;

macro_rules! manual {
    ($($page:literal),*) => {
        [$(($page, include_str!(concat!("../../../docs/reference/", $page, ".md")))),*]
    };
}

/// The pages with definitions.
const PAGES: [(&str, &str); 11] = manual![
    "language",
    "actions/http",
    "actions/local",
    "actions/message",
    "actions/lua",
    "actions/emit",
    "actions/wait",
    "actions/parallel",
    "actions/foreach",
    "actions/switch",
    "actions/workflow"
];

#[test]
fn every_example_of_the_language_is_accepted() {
    for (page, text) in PAGES {
        let examples: Vec<&str> = text.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
        assert!(!examples.is_empty(), "{page} has no example");
        for example in examples {
            let (workflow, problems) = parse(example);
            assert!(workflow.is_some() && problems.is_empty(), "{page}: {example}\n{problems:?}");
        }
    }
}
