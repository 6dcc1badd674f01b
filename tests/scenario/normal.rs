//! Replaces what differs between runs with placeholders.

use std::path::Path;

use super::ACCOUNT;
use super::account::REGIONS;

/// Replaces the account, the port, directories, the version, times, hashes and ids.
pub(super) fn normal(text: &str, account: &str, port: u16, directory: &Path) -> String {
    let beside = Path::new(env!("CARGO_BIN_EXE_kibus")).parent().unwrap();
    let text = text
        .replace(account, ACCOUNT)
        .replace(&format!("127.0.0.1:{port}"), "127.0.0.1:PORT")
        .replace(&directory.display().to_string(), "DIRECTORY")
        .replace(&beside.display().to_string(), "BIN")
        .replace(env!("CARGO_PKG_VERSION"), "VERSION");
    let lines = text.lines().filter(|line| !is_of_the_emulators_pace(line));
    let lines = lines.map(|line| step_of_drill(&durations(&hours(&timestamps(&words(line))))));
    let lines: Vec<String> = lines.collect();
    sorted_progress(last_of_probes(lines)).join("\n")
}

/// Keeps only the last of consecutive lines about a running probe; a busy machine may write it later.
fn last_of_probes(lines: Vec<String>) -> Vec<String> {
    let is_of_probe = |line: &String| line.starts_with("! still probing: ");
    let mut kept: Vec<String> = Vec::new();
    for line in lines {
        if is_of_probe(&line) && kept.last().is_some_and(is_of_probe) {
            kept.pop();
        }
        kept.push(line);
    }
    kept
}

/// Whether this line depends on how fast the emulator sets up a function: on a busy machine, it is ready before kibus checks.
/// A busy machine may also answer late.
fn is_of_the_emulators_pace(line: &str) -> bool {
    line.starts_with("! waiting: function ") && line.ends_with(": Lambda is still setting the function up")
        || line.starts_with("! still reading at ")
}

/// Words of hexadecimal digits that are a hash, the beginning of one, a UUID, or the time of a delete.
fn words(line: &str) -> String {
    let mut done = String::new();
    let mut word = String::new();
    for c in line.chars().chain(['\n']) {
        if c.is_ascii_hexdigit() || c == '-' {
            word.push(c);
            continue;
        }
        let is_uuid = word.len() == 36 && word.matches('-').count() == 4;
        let is_cut = word.len() == 12 && done.ends_with("sha256 ");
        let is_mark = word.len() == 10 && done.contains("kibus:deleting ");
        done.push_str(match word.len() {
            64 => "SHA256",
            _ if is_mark => "SECONDS",
            14 if ["EXT", "EXP"].iter().any(|kind| done.ends_with(kind)) => "ID",
            _ if is_uuid => "UUID",
            _ if is_cut => "HASH",
            _ => &word,
        });
        word.clear();
        done.push(c);
    }
    done.pop();
    done
}

/// Hours like `02:41 UTC`, and ages like `4 min ago`.
fn hours(line: &str) -> String {
    let replaced = |line: &str, end: &str, is_one: fn(&str) -> bool, place: &str| {
        let mut parts = line.split(end);
        let mut done = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let at = done.trim_end_matches(|c: char| c.is_ascii_digit() || c == ':').len();
            if is_one(&done[at..]) {
                done.replace_range(at.., place);
            }
            done = done + end + part;
        }
        done
    };
    let is_hour = |text: &str| text.len() == 5 && text.as_bytes()[2] == b':';
    let line = replaced(line, " UTC", is_hour, "HH:MM");
    replaced(&line, " min ago", |text| !text.is_empty(), "N")
}

/// Timestamps like `2026-12-08T17:00:00Z`, whatever is around them.
fn timestamps(line: &str) -> String {
    let is_timestamp = |text: &str| {
        let shape = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c });
        shape.eq("0000-00-00T00:00:00Z".chars())
    };
    let word = |word: &str| {
        let time = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        if is_timestamp(time) { word.replacen(time, "TIME", 1) } else { word.to_owned() }
    };
    let part = |part: &str| part.split(' ').map(word).collect::<Vec<_>>().join(" ");
    line.split('"').map(part).collect::<Vec<_>>().join("\"")
}

/// The times of a step of a drill, `    3s  ✓ delivered in 79 ms`; and the variable details of its instance, `· ip-10-0-0-1 · 3s old`.
fn step_of_drill(line: &str) -> String {
    let (label, text) = line.strip_prefix("! ").map_or(("", line), |text| ("! ", text));
    if text.starts_with("Spot instance ") {
        let parts = text.split(" · ").map(|part| match part {
            host if host.starts_with("ip-") => "HOST",
            age if age.ends_with(" old") => "Ns old",
            other => other,
        });
        return format!("{label}{}", parts.collect::<Vec<_>>().join(" · "));
    }
    if let Some((before, after)) = text.split_once("\"ip-") {
        let end = after.split_once('"').map_or("", |(_, end)| end);
        return format!("{label}{before}\"HOST\"{end}");
    }
    let text = &["\"seconds\": ", "delivered to karpenter-base in "]
        .iter()
        .fold(text.to_owned(), |text, before| without_number(&text, before));
    let step = text.trim_start().split_once("s  ").filter(|(time, rest)| {
        time.chars().all(|c| c.is_ascii_digit() || c == 'm') && rest.starts_with(['✓', '✗', '?', '-'])
    });
    let Some((_, step)) = step else {
        return format!("{label}{text}");
    };
    format!("{label}    Ns  {step}")
}

/// The line with `N` for the number after a text.
fn without_number(line: &str, before: &str) -> String {
    let Some((begin, rest)) = line.split_once(before) else {
        return line.to_owned();
    };
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    format!("{begin}{before}N{rest}")
}

/// The prefixes of lines about finished changes.
const CHANGED: [&str; 4] = ["! created ", "! updated ", "! replaced ", "! deleted "];
/// The prefixes of other progress lines.
const OTHER_PROGRESS: [&str; 3] = ["! failed ", "! waiting: ", "! slowed down by "];

/// Durations like `0.3s` and `0.3 s`, and the duration of a change, which has no tenths from one minute on.
fn durations(line: &str) -> String {
    if let Some((before, took)) = line.rsplit_once(' ')
        && let Some(seconds) = took.trim_end_matches('.').strip_suffix('s')
        && seconds.parse::<u64>().is_ok()
        && (CHANGED.iter().any(|beginning| line.starts_with(beginning))
            || before.ends_with(" in")
            || before.ends_with(" after"))
    {
        return format!("{before} {}", took.replacen(seconds, "N", 1));
    }
    let whole = |part: &str| {
        let number = part.trim_end_matches(['.', ')']).strip_suffix('s')?;
        (number.contains('.') && number.parse::<f64>().is_ok()).then(|| part.replacen(number, "N", 1))
    };
    let line: Vec<String> = line.split(' ').map(|part| whole(part).unwrap_or_else(|| part.to_owned())).collect();
    let line = line.join(" ");
    let mut parts: Vec<String> = line.split(' ').map(str::to_owned).collect();
    for at in 1..parts.len() {
        let is_unit = matches!(parts[at].trim_end_matches(['.', ')']), "s");
        if is_unit && parts[at - 1].contains('.') && parts[at - 1].parse::<f64>().is_ok() {
            parts[at - 1] = "N".to_owned();
        }
    }
    parts.join(" ")
}

/// Sorts the progress lines, because concurrent changes end in any order.
fn sorted_progress(lines: Vec<String>) -> Vec<String> {
    let is_progress = |line: &String| {
        // The label of a hub is its Region, or its account and Region.
        let unlabeled = |region: &&str| {
            let (before, text) = line.split_once(&format!("{region}: "))?;
            (before == "! " || before == format!("! {ACCOUNT} ")).then_some(text)
        };
        let labeled = REGIONS.iter().find_map(unlabeled);
        let line = labeled.map_or_else(|| line.clone(), |text| format!("! {text}"));
        let mut beginnings = CHANGED.iter().chain(&OTHER_PROGRESS);
        beginnings.any(|beginning| line.starts_with(beginning))
    };
    let mut done: Vec<String> = Vec::new();
    for group in lines.chunk_by(|a, b| is_progress(a) && is_progress(b)) {
        let mut group = group.to_vec();
        group.sort();
        done.extend(group);
    }
    done
}
