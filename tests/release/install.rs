//! The install script of a release, with the release's files on a local server.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use tempfile::TempDir;
use tokio::process::Command;

use super::files::{PLATFORMS, Release};
use super::{ROOT, output, text, write_program};
use crate::support::proxy::{Port, answer};

/// The programs that the script may use. `PATH` holds no other.
const PROGRAMS: &[&str] = &[
    "chmod",
    "cp",
    "curl",
    "cut",
    "grep",
    "gzip",
    "mkdir",
    "mktemp",
    "mv",
    "rm",
    "sh",
    "sha256sum",
    "shasum",
    "tar",
    "wget",
];

const X86_64: &str = "x86_64-unknown-linux-gnu";

/// A release on a server, and a machine that can reach it.
struct Stage {
    release: Release,
    url: String,
    /// Holds `home`, `tmp`, and `programs`.
    machine: TempDir,
}

impl Stage {
    async fn new() -> Self {
        let release = Release::new();
        output(&release.complete());
        let folder = release.folder();
        let url = Port::open().await.serve(move |request| {
            let file = fs::read(folder.join(request.uri().path().trim_start_matches('/')));
            async move {
                Ok(match file {
                    Ok(bytes) => answer(200, "application/octet-stream", bytes),
                    Err(_) => answer(404, "text/plain", "not found"),
                })
            }
        });
        let machine = TempDir::new().unwrap();
        let stage = Self { release, url, machine };
        for folder in ["home", "tmp", "programs"] {
            fs::create_dir(stage.path(folder)).unwrap();
        }
        let path = std::env::var_os("PATH").unwrap();
        for program in PROGRAMS {
            let mut found = std::env::split_paths(&path).map(|folder| folder.join(program));
            if let Some(found) = found.find(|found| found.is_file()) {
                symlink(found, stage.program(program)).unwrap();
            }
        }
        stage.uname(["Linux", "x86_64"]);
        write_program(&stage.program("ldd"), "#!/bin/sh\necho 'ldd (GNU libc) 2.17'\n");
        stage
    }

    fn path(&self, file: &str) -> PathBuf {
        self.machine.path().join(file)
    }

    fn program(&self, name: &str) -> PathBuf {
        self.path("programs").join(name)
    }

    fn without(&self, programs: &[&str]) {
        for program in programs {
            let _ = fs::remove_file(self.program(program));
        }
    }

    fn uname(&self, [system, machine]: [&str; 2]) {
        let script = format!("#!/bin/sh\ncase $1 in -s) echo {system} ;; -m) echo {machine} ;; esac\n");
        write_program(&self.program("uname"), &script);
    }

    /// Where the script installs.
    fn place(&self) -> PathBuf {
        self.path("home/.local/bin/kibus")
    }

    /// Puts a program where the script installs.
    fn put(&self, program: &str) {
        fs::create_dir_all(self.place().parent().unwrap()).unwrap();
        write_program(&self.place(), program);
    }

    /// Runs the release's script. Variables of the same name replace its own.
    async fn install(&self, variables: &[(&str, String)]) -> Output {
        self.run(
            &self.release.folder().join("install.sh"),
            &[&[("KIBUS_BASE_URL", self.url.clone())], variables].concat(),
        )
        .await
    }

    async fn run(&self, script: &Path, variables: &[(&str, String)]) -> Output {
        let mut command = Command::new("/bin/sh");
        command.arg(script).current_dir(self.path("home")).stdin(Stdio::null()).env_clear();
        command.env("PATH", self.path("programs")).env("HOME", self.path("home")).env("TMPDIR", self.path("tmp"));
        command.envs(variables.iter().cloned()).output().await.unwrap()
    }

    /// All files and links on the machine that the script could have changed, with their contents.
    fn files(&self) -> BTreeMap<PathBuf, String> {
        let mut files = BTreeMap::new();
        let mut open = vec![self.path("home"), self.path("tmp")];
        while let Some(path) = open.pop() {
            if path.is_symlink() {
                files.insert(path.clone(), format!("to {}", fs::read_link(&path).unwrap().display()));
            } else if path.is_dir() {
                open.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            } else {
                files.insert(path.clone(), fs::read_to_string(&path).unwrap());
            }
        }
        files
    }
}

#[tokio::test]
async fn each_platform_receives_its_archive() {
    for (platform, target) in PLATFORMS {
        let stage = Stage::new().await;
        stage.uname(platform);
        let printed = output(&stage.install(&[]).await);
        let place = stage.place();
        assert!(printed.starts_with(&format!("Installed kibus 1.2.3: {}\n", place.display())), "{printed}");
        assert!(printed.contains(&format!("export PATH=\"{}:$PATH\"", place.parent().unwrap().display())), "{printed}");
        let installed = format!("#!/bin/sh\n# {target}\necho kibus 1.2.3\n");
        assert_eq!(stage.files(), BTreeMap::from([(place.clone(), installed)]));
        output(&std::process::Command::new(place).output().unwrap());
    }
}

/// Each with one of two programs that do the same.
#[tokio::test]
async fn an_earlier_kibus_is_replaced() {
    for missing in [&["wget", "shasum"][..], &["curl", "sha256sum"]] {
        let stage = Stage::new().await;
        let others: Vec<_> =
            ["curl", "wget", "sha256sum", "shasum"].iter().filter(|name| !missing.contains(name)).collect();
        if !others.iter().all(|name| stage.program(name).exists()) {
            continue;
        }
        stage.without(missing);
        stage.put("#!/bin/sh\necho kibus 1.2.2\n");
        let path = format!("{}:{}", stage.path("programs").display(), stage.path("home/.local/bin").display());
        let printed = output(&stage.install(&[("PATH", path)]).await);
        assert_eq!(printed, format!("Installed kibus 1.2.3: {}\n", stage.place().display()));
        assert_eq!(stage.files().len(), 1);
    }
}

#[tokio::test]
async fn the_folder_may_be_set_and_another_kibus_may_be_first() {
    let stage = Stage::new().await;
    write_program(&stage.program("kibus"), "#!/bin/sh\necho kibus 1.2.2\n");
    let printed = output(&stage.install(&[("KIBUS_INSTALL_DIR", "a folder".to_owned())]).await);
    let (place, other) = (stage.path("home/a folder/kibus"), stage.program("kibus"));
    let expected = format!(
        "Installed kibus 1.2.3: {}\nAnother kibus is before it on PATH: {}\n",
        place.display(),
        other.display()
    );
    assert_eq!(printed, expected);
    assert_eq!(stage.files().into_keys().collect::<Vec<_>>(), [place]);
}

/// What prevents an installation. Gives variables of the script.
type Problem = fn(&Stage) -> Vec<(&'static str, String)>;

#[tokio::test]
async fn nothing_is_left_of_an_installation_that_fails() {
    let problems: &[(&str, Problem)] = &[
        ("the SHA-256 sum of", |stage| {
            let archive = stage.release.archive(X86_64);
            fs::write(&archive, [fs::read(&archive).unwrap(), vec![0]].concat()).unwrap();
            vec![]
        }),
        ("the SHA-256 sum of", |stage| {
            fs::write(format!("{}.sha256", stage.release.archive(X86_64).display()), "").unwrap();
            vec![]
        }),
        (".tar.gz` could not be downloaded", |stage| {
            fs::remove_file(stage.release.archive(X86_64)).unwrap();
            vec![]
        }),
        (".tar.gz.sha256` could not be downloaded", |stage| {
            fs::remove_file(format!("{}.sha256", stage.release.archive(X86_64).display())).unwrap();
            vec![]
        }),
        ("kibus-1.2.3-x86_64-unknown-linux-gnu.tar.gz` could not be downloaded", |_| {
            let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
            vec![("KIBUS_BASE_URL", format!("http://{port}/"))]
        }),
        ("kibus-9.9.9-x86_64-unknown-linux-gnu.tar.gz` could not be downloaded", |_| {
            vec![("KIBUS_VERSION", "9.9.9".to_owned())]
        }),
        ("there is no kibus for FreeBSD on amd64", |stage| {
            stage.uname(["FreeBSD", "amd64"]);
            vec![]
        }),
        ("there is no kibus for Linux on armv7l", |stage| {
            stage.uname(["Linux", "armv7l"]);
            vec![]
        }),
        ("this Linux has musl", |stage| {
            write_program(&stage.program("ldd"), "#!/bin/sh\necho 'musl libc (x86_64)' >&2\nexit 1\n");
            vec![]
        }),
        ("the program `tar` is missing", |stage| {
            stage.without(&["tar"]);
            vec![]
        }),
        ("the programs `curl` and `wget` are missing", |stage| {
            stage.without(&["curl", "wget"]);
            vec![]
        }),
        ("the programs `sha256sum` and `shasum` are missing", |stage| {
            stage.without(&["sha256sum", "shasum"]);
            vec![]
        }),
        ("is a file that is not kibus", |stage| {
            stage.put("#!/bin/sh\necho another program\n");
            vec![]
        }),
        ("is a file that is not kibus", |stage| {
            stage.put("no program");
            vec![]
        }),
        ("is a symbolic link", |stage| {
            stage.put("#!/bin/sh\necho kibus 1.2.2\n");
            fs::rename(stage.place(), stage.path("home/kibus")).unwrap();
            symlink(stage.path("home/kibus"), stage.place()).unwrap();
            vec![]
        }),
        ("is a folder", |stage| {
            fs::create_dir_all(stage.place()).unwrap();
            vec![]
        }),
        ("neither HOME nor KIBUS_INSTALL_DIR is set", |_| vec![("HOME", String::new())]),
        ("could not be created", |stage| {
            fs::write(stage.path("home/file"), "").unwrap();
            vec![("KIBUS_INSTALL_DIR", "file/bin".to_owned())]
        }),
        ("has no kibus in it", |stage| {
            stage.release.pack(X86_64, "other", "#!/bin/sh\necho kibus 1.2.3\n");
            vec![]
        }),
        ("kibus 1.2.3 does not start on this machine: no such library", |stage| {
            stage.put("#!/bin/sh\necho kibus 1.2.2\n");
            stage.release.pack(X86_64, "kibus", "#!/bin/sh\necho no such library >&2\nexit 127\n");
            vec![]
        }),
        ("the file of version 1.2.3 says that it is kibus 1.2.2", |stage| {
            stage.release.pack(X86_64, "kibus", "#!/bin/sh\necho kibus 1.2.2\n");
            vec![]
        }),
    ];
    for (expected, problem) in problems {
        let stage = Stage::new().await;
        let variables = problem(&stage);
        let before = stage.files();
        assert_failed(&stage.install(&variables).await, expected);
        assert_eq!(stage.files(), before, "{expected}");
    }
}

#[tokio::test]
async fn a_script_that_is_not_from_a_release_downloads_nothing() {
    let stage = Stage::new().await;
    let script = Path::new(ROOT).join(".ci/install.sh");
    let version = ("KIBUS_VERSION", "1.2.3".to_owned());
    assert_failed(&stage.run(&script, &[]).await, "this script is not from a release");
    assert_failed(&stage.run(&script, std::slice::from_ref(&version)).await, "this script is not from a release");
    output(&stage.run(&script, &[version, ("KIBUS_BASE_URL", stage.url.clone())]).await);
}

/// A failure names its reason, what state things are in, and what to do next.
fn assert_failed(failed: &Output, expected: &str) {
    let message = text(&failed.stderr);
    assert_eq!((failed.status.code(), text(&failed.stdout).as_str()), (Some(1), ""), "{expected}: {message}");
    let (reason, next) = message.split_once(". Nothing was installed.\n").unwrap_or_else(|| panic!("{message}"));
    assert!(reason.contains("error: ") && reason.contains(expected), "{expected}: {message}");
    assert!(next.trim_end().ends_with('.') && next.lines().count() == 1, "{message}");
}
