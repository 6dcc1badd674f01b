//! How a person or a pipeline wants kibus to speak.

/// What is written to stdout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Output {
    /// Text for people.
    #[default]
    Text,
    /// One JSON document, as docs/plan.schema.json describes it.
    Json,
}

/// When text is colored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set; everywhere if CLICOLOR_FORCE is.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How much kibus says besides results and errors, and whether it asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Talk {
    /// No progress, warnings or next steps.
    pub quiet: bool,
    /// No questions.
    pub no_input: bool,
}
