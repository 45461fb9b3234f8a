//! What is kept of a step for the steps after it, and the limits on it.

use crate::flow::definition::Action;
use crate::flow::expression::PathValue;
use crate::flow::outcome::Failure;
use crate::flow::template::render_json;

/// The output of an action as it is kept; `null` when the definition names none. `values` are those of its output
/// paths.
///
/// Errors are permanent: those of its templates, `output_too_large` beyond `most` bytes.
pub fn output(action: &Action, values: &[PathValue], most: usize) -> Result<String, Failure> {
    match &action.output {
        None => Ok("null".to_owned()),
        Some(template) => within(render_json(template, values, &action.output_paths)?, most),
    }
}

/// The output, if it has at most so many bytes (`rea.max_output_bytes`).
pub fn within(output: String, most: usize) -> Result<String, Failure> {
    if output.len() > most {
        let message = format!("the output has {} bytes, rea.max_output_bytes allows {most}", output.len());
        return Err(Failure::permanent("output_too_large", message));
    }
    Ok(output)
}

/// What is wrong when the outputs together have more bytes than allowed (`rea.max_context_bytes`).
pub fn context_fault(size: usize, most: usize) -> Option<Failure> {
    (size > most).then(|| {
        let message = format!("the outputs together have {size} bytes, rea.max_context_bytes allows {most}");
        Failure::permanent("context_too_large", message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_may_have_its_limit_and_not_one_byte_more() {
        assert_eq!(within("1234".to_owned(), 4), Ok("1234".to_owned()));
        assert_eq!(within("1234".to_owned(), 3).map_err(|failure| failure.code), Err("output_too_large".to_owned()));
        assert_eq!(context_fault(4, 4), None);
        assert_eq!(context_fault(5, 4).map(|failure| failure.code).as_deref(), Some("context_too_large"));
    }
}
