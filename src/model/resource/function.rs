//! The router function.

use std::collections::{BTreeMap, BTreeSet};

use super::particulars::{Edge, Field, Particulars, Tie, Unit, entry, field, field_names};
use super::{Resource, ResourceId};
use crate::model::{FindingCode, FunctionName, Scope, Tags, scope::fixed, words::words};

words! {
    pub Architecture, "architecture", "`x86_64` or `arm64`" {
        X86_64 = "x86_64",
        Arm64 = "arm64",
    }
}

/// A statement of the resource policy of a function, an alias or a version. Kibus adds none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FunctionPermission {
    /// The alias or the version; `None` for the function.
    pub qualifier: Option<String>,
    pub sid: String,
    pub action: String,
    pub principal: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The router's version; empty if it is unknown. Only a published version proves the version of deployed code: its
    /// description names the version and the hash, and Lambda reports the same hash. Tags prove nothing.
    pub version: String,
    /// The SHA-256 of the archive, in hex. Lambda computes it and reports it as `CodeSha256`.
    pub sha256: String,
}

impl Code {
    /// The code of an archive of the router of this version.
    pub fn of_archive(version: impl Into<String>, sha256: impl Into<String>) -> Self {
        Self { version: version.into(), sha256: sha256.into() }
    }

    pub fn of_unknown_version(sha256: impl Into<String>) -> Self {
        Self::of_archive("", sha256)
    }

    pub fn has_version(&self) -> bool {
        !self.version.is_empty()
    }
}

field_names! {
    /// The fields of a function. All but the last three are fields of each of its versions too.
    FunctionField {
        Role = "role",
        Runtime = "runtime",
        Architecture = "architecture",
        Handler = "handler",
        Memory = "memory",
        Timeout = "timeout",
        Code = "code",
        Environment = "environment",
        LoggingGroup = "logging.group",
        LoggingFormat = "logging.format",
        Extras = "extras",
        ReservedConcurrency = "reserved_concurrency",
        FailedUpdate = "failed_update",
        Failed = "failed",
    }
}

/// The settings of a function version, which are frozen when it is published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionSettings {
    pub role: String,
    pub runtime: String,
    pub architecture: Architecture,
    /// The handler. A custom runtime ignores it, so it holds the settings of the router.
    pub handler: String,
    /// Memory, in MiB.
    pub memory: u32,
    /// The longest invocation, in seconds.
    pub timeout: u32,
    /// Its environment variables. Kibus sets none.
    pub environment: BTreeMap<String, String>,
    pub code: Code,
    /// Its log group and format. Its metrics go to the same group.
    pub logging: Logging,
    /// Settings that the router does not need, and that can delay it or prevent it from running: layers, the subnets and security
    /// groups of a VPC, file systems, and the key of the environment. Kibus sets none, and removes them.
    pub extras: BTreeSet<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Logging {
    pub group: String,
    /// Lambda's name for the format. In formats other than `Text`, Lambda may omit lines by level.
    pub format: String,
}

impl FunctionSettings {
    pub(super) fn fields(&self) -> Vec<Field> {
        let Self {
            role,
            runtime,
            architecture,
            handler,
            memory,
            timeout,
            environment,
            code,
            logging: Logging { group, format },
            extras,
        } = self;
        let mut fields = vec![
            field(FunctionField::Role, role.clone()),
            field(FunctionField::Runtime, runtime.clone()),
            field(FunctionField::Architecture, architecture.as_str()),
            field(FunctionField::Handler, handler.clone()),
            field(FunctionField::Memory, (*memory, Unit::Megabytes)),
            field(FunctionField::Timeout, (*timeout, Unit::Seconds)),
            field(FunctionField::Code, code.clone()),
        ];
        for (key, value) in environment {
            fields.push(entry(FunctionField::Environment, key, value.clone()));
        }
        fields.extend([
            field(FunctionField::LoggingGroup, group.clone()),
            field(FunctionField::LoggingFormat, format.clone()),
            field(FunctionField::Extras, extras.clone()),
        ]);
        fields
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    pub name: FunctionName,
    /// The settings of `$LATEST`, which are not published yet.
    pub settings: FunctionSettings,
    pub reserved_concurrency: Option<u32>,
    /// Why Lambda did not apply the last update, if it failed. The settings may then be only partly in effect.
    pub failed_update: Option<String>,
    /// Why Lambda can neither run nor update it, if it is in a failed state.
    pub failed: Option<String>,
    /// Its tags, except the two informational ones about the last uploaded code.
    pub tags: Tags,
}

impl Function {
    /// Whether it has less reserved concurrency than the one before. Without a reservation, it has all of the account's.
    pub fn lowers_reserved(&self, before: &Self) -> bool {
        let (old, new) = (before.reserved_concurrency, self.reserved_concurrency);
        new.is_some_and(|new| old.is_none_or(|old| new < old))
    }

    pub(super) fn fields(&self) -> Vec<Field> {
        let Self {
            name: _, // names the resource
            settings,
            reserved_concurrency,
            failed_update,
            failed,
            tags: _, // compared key by key
        } = self;
        // `$LATEST` can change, so nothing proves the version of its code: only the hash is compared.
        let settings = FunctionSettings { code: Code::of_unknown_version(&settings.code.sha256), ..settings.clone() };
        let mut fields = settings.fields();
        fields.push(field(FunctionField::ReservedConcurrency, *reserved_concurrency));
        fields.push(field(FunctionField::FailedUpdate, failed_update.clone()));
        // Only deleting the function changes this, so a check refuses updates.
        fields.push(field(FunctionField::Failed, failed.clone()));
        fields
    }
}

impl Scope {
    pub fn router_function(&self) -> FunctionName {
        fixed(format!("{}-router", self.bus))
    }

    /// The ARN of a function, without a qualifier.
    pub fn function_arn(&self, function: &FunctionName) -> String {
        self.arn("lambda", &format!("function:{function}"))
    }
}

impl Particulars for Function {
    fn edges(&self, scope: &Scope) -> Vec<Edge> {
        let policy = ResourceId::RolePolicy(scope.router_role(), scope.router_policy());
        let log_group = ResourceId::LogGroup(scope.router_log_group());
        vec![
            Tie::Needs.to(ResourceId::Role(scope.router_role()), "a function runs as its role"),
            Tie::Needs.to(policy, "a function runs with the permissions of its role"),
            Tie::Needs.to(log_group, "Lambda creates a log group without tags if a function runs before one exists"),
        ]
    }

    /// The reservation is lowered last, after the mapping has been limited.
    fn while_leaving(&self, before: &Resource) -> Option<Resource> {
        let before = before.as_function().filter(|before| self.lowers_reserved(before))?;
        Some(Resource::Function(Self {
            reserved_concurrency: before.reserved_concurrency,
            // Tags that kibus did not set stay. The last change removes the others.
            tags: before.tags.clone().with_all(&self.tags),
            ..self.clone()
        }))
    }

    fn trouble(&self) -> Option<(FindingCode, String)> {
        let reason = self.failed_update.as_ref()?;
        Some((FindingCode::UpdateFailed, format!("the last update failed: {reason}")))
    }

    fn summary(&self) -> String {
        let FunctionSettings { runtime, architecture, memory, code, .. } = &self.settings;
        let mut text = format!("{runtime}, {architecture}, {memory} MB");
        if code.has_version() {
            text = format!("{}, {text}", code.version);
        }
        if let Some(reserved) = self.reserved_concurrency {
            text.push_str(&format!(", reserved concurrency {reserved}"));
        }
        text
    }
}
