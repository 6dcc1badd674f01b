//! The member that `bootstrap-hub --check` adds to the document.

use super::object::{objects, words};
use crate::error::Hint;
use crate::preflight::{PreflightItem, PreflightReport, PreflightResult};

objects! {
    /// What the plan of the hub needs, and whether it has it.
    PreflightObject<'a>(PreflightReport { items } in &'a PreflightReport) {
        checks: Vec<CheckObject<'a>> = items.iter().map(CheckObject::of).collect(),
    }

    /// The result about one subject.
    CheckObject<'a>(
        PreflightItem { subject, result, text, details, hints } in &'a PreflightItem
    ) {
        /// The subject, in one or two words.
        subject: &'a str = subject,
        result: ResultWord = ResultWord::of(*result),
        /// The reason for the result, in one line.
        message: &'a str = text,
        /// More about it, such as the denied calls.
        details: &'a [String] = details,
        /// The next steps.
        hints: &'a [Hint] = hints,
    }
}

words! {
    /// The result about one subject.
    ResultWord(PreflightResult) {
        /// The plan has what it needs.
        Ok = PreflightResult::Ok,
        /// It may lack something.
        Warning = PreflightResult::Warning,
        /// It lacks something.
        Failed = PreflightResult::Failed,
        /// AWS did not answer the question. It is not a success.
        Unknown = PreflightResult::Unknown,
    }
}
