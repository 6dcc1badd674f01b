//! Runs a Python of the user in a directory of ours, with nothing that it does not need.

use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

/// A Python that loads no module from the current directory, which may be a repository with any content. It runs in this
/// directory, because a relative entry in `PATH` and a version manager choose a program by the current directory, and
/// without variables that it does not need, because what it runs can read them.
pub(super) fn isolated(python: &Path, directory: &Path) -> Command {
    let mut command = Command::new(python);
    command
        .arg("-I")
        .current_dir(directory)
        .env_clear()
        .envs(std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_passed_on)))
        .env("PIP_USER", "0")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

/// Whether it gets this variable of the user: to find programs, files, proxies, certificates and mirrors.
fn is_passed_on(name: &str) -> bool {
    const REDIRECTS: [&str; 6] = [
        "PIP_TARGET",
        "PIP_PREFIX",
        "PIP_ROOT",
        "PIP_USER",
        "PIP_PYTHON",
        "PYENV_DIR",
    ];
    const NEEDED: [&str; 12] = [
        "PATH",
        "HOME",
        "USER",
        "LANG",
        "TMPDIR",
        "NETRC",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
    ];
    let upper = name.to_ascii_uppercase();
    let of_groups = ["PIP_", "SSL_CERT_", "XDG_", "LC_", "PYENV_"]
        .iter()
        .any(|group| upper.starts_with(group));
    (of_groups || NEEDED.contains(&upper.as_str())) && !REDIRECTS.contains(&upper.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installer_gets_no_credentials() {
        for (name, expected) in [
            ("PATH", true),
            ("https_proxy", true),
            ("PIP_INDEX_URL", true),
            ("SSL_CERT_FILE", true),
            ("PIP_TARGET", false),
            ("PIP_PYTHON", false),
            ("PYENV_DIR", false),
            ("PYTHONPATH", false),
            ("AWS_SECRET_ACCESS_KEY", false),
            ("AWS_PROFILE", false),
            ("GITHUB_TOKEN", false),
        ] {
            assert_eq!(is_passed_on(name), expected, "{name}");
        }
    }
}
