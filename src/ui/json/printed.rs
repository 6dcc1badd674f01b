//! The members of the document for commands that are about no hub.

use std::collections::BTreeMap;

use serde::Serialize;

/// Declares objects that a command fills in and the document has as they are.
macro_rules! printed {
    ($($(#[$meta:meta])+ $name:ident { $($(#[$member_meta:meta])* $member:ident: $type:ty,)+ })+) => {$(
        $(#[$meta])+
        #[derive(Clone, Debug, Serialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        pub struct $name {
            $($(#[$member_meta])* pub $member: $type,)+
        }
    )+};
}

printed! {
    /// What a finding means and how to fix it.
    Explanation {
        /// The code of the finding.
        code: &'static str,
        title: String,
        /// Paragraphs of text. Indented lines are commands.
        text: String,
    }

    /// The build of kibus.
    Build {
        version: &'static str,
        commit: &'static str,
        target: &'static str,
        /// The version of the router that it ships with.
        router: &'static str,
        /// The routers that it contains. Empty if it uploads the router beside it.
        embedded_routers: Vec<EmbeddedRouter>,
    }

    /// A router that kibus contains.
    EmbeddedRouter {
        architecture: &'static str,
        /// The SHA-256 of the archive, in hex. Lambda reports the same hash, in Base64, as `CodeSha256`.
        archive_sha256: &'static str,
        /// The SHA-256 of the router binary, in hex, as `--router-sha256` takes it.
        binary_sha256: &'static str,
        /// The commit that it was built from.
        commit: &'static str,
        /// The version of the compiler.
        rustc: &'static str,
    }

    /// The sandbox.
    SandboxState {
        running: bool,
        /// The process. Null if none is running.
        server: Option<SandboxServer>,
    }

    /// The process of the sandbox.
    SandboxServer {
        /// Whether it responds.
        responds: bool,
        endpoint_url: String,
        pid: u32,
        /// The path of its log.
        log: String,
    }

    /// Changes to environment variables.
    Environment {
        /// Variables to set, with their values.
        set: BTreeMap<&'static str, String>,
        /// Variables to remove.
        unset: Vec<String>,
    }

    /// The events of the demo. No event was lost or misrouted, or the demo fails.
    DemoResult {
        sent: usize,
        /// Events that at least one cluster received.
        delivered: usize,
        /// Delivered events that several clusters received, each its part.
        split: usize,
        dropped: usize,
    }
}
