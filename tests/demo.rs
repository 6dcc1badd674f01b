//! The demo of the sandbox, whole. It checks what each command writes; its page and its picture show what it prints.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::emulator::sandbox;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The output in `docs/demo.md`: what is before it, itself, and what is after it.
fn recorded(page: &str) -> (&str, &str, &str) {
    let (before, rest) = page.split_once("```text\n").unwrap();
    let (output, after) = rest.split_once("\n```").unwrap();
    (before, output, after)
}

/// An output without what differs from run to run: instance ids, times, and the order of events.
fn without_chance(output: &str) -> String {
    let word = |word: &str| {
        let is_id = |id: &str| id.len() == 17 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if word.strip_prefix("i-").is_some_and(|id| is_id(id.trim_end_matches(','))) {
            return "INSTANCE".to_owned();
        }
        let seconds = word.trim_end_matches('.').strip_suffix('s').and_then(|number| number.parse::<f64>().ok());
        seconds.map_or_else(|| word.to_owned(), |_| "TIME".to_owned())
    };
    // `  11-24 03:12:41   spot   i-...   delivered in 84 ms`, and the slowest of a cluster.
    let is_event = |line: &str| line.split_whitespace().nth(1).is_some_and(|time| time.split(':').count() == 3);
    // `    3s  ✓ warning at the hub, delivered to karpenter-tenant-1 in 79 ms`. Karpenter and EC2 are watched side by side.
    let step = |line: &str| {
        let (_, rest) = line.split_once("s  ✓ ")?;
        Some(format!("  TIME {}", rest.trim_end_matches(|c: char| c.is_ascii_digit() || " .ms".contains(c))))
    };
    // `Spot instance i-... · ip-... · m5.large, us-east-1a · pool default, 1 of 1 node · 3s old`
    let word = |text: &str| {
        if text.starts_with("ip-") { "CHANCE".to_owned() } else { word(text) }
    };
    let line = |line: &str| {
        if let Some(step) = step(line) {
            return step;
        }
        let mut line = line.split(' ').map(word).collect::<Vec<_>>().join(" ");
        if is_event(&line) {
            line.replace_range(2..16, "TIME");
        }
        for before in ["delivered in ", "slowest delivery "] {
            if let Some(at) = line.find(before) {
                line.replace_range(at + before.len().., "TIME");
            }
        }
        line
    };
    let mut lines: Vec<String> = output.lines().map(line).collect();
    let is_masked = |line: &String| line.starts_with("  TIME ");
    lines.chunk_by_mut(|a, b| is_masked(a) && is_masked(b)).for_each(<[String]>::sort);
    lines.join("\n")
}

fn draw(arguments: &[&str]) -> std::process::Output {
    let script = Path::new(ROOT).join("docs/demo.py");
    Command::new("python3").arg("-B").arg(script).args(arguments).output().unwrap()
}

#[test]
fn the_demo_succeeds_and_is_as_its_page_shows() {
    let output = Command::new(env!("CARGO_BIN_EXE_kibus"))
        .args(["sandbox", "demo"])
        .env("KIBUS_SANDBOX_HOME", sandbox().directory())
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{shown}\n{said}");

    let path = Path::new(ROOT).join("docs/demo.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, recorded, after) = recorded(&page);
    let differs = without_chance(recorded) != without_chance(shown.trim());
    if differs && std::env::var_os("KIBUS_TEST_UPDATE").is_some() {
        fs::write(path, format!("{before}```text\n{}\n```{after}", shown.trim())).unwrap();
        assert!(draw(&[]).status.success(), "the picture was not drawn");
    } else {
        assert!(!differs, "docs/demo.md differs from this output:\n{shown}");
    }
}

#[test]
fn the_other_pictures_are_drawn_from_the_dashboard_and_from_a_scenario() {
    for script in ["docs/dashboard.py", "docs/status.py"] {
        let script = Path::new(ROOT).join(script);
        let output = Command::new("python3").arg("-B").arg(script).arg("--check").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn the_picture_is_drawn_from_the_page_and_needs_nothing_else() {
    let output = draw(&["--check"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let picture = fs::read_to_string(Path::new(ROOT).join("docs/demo.svg")).unwrap();
    assert!(picture.len() < 300_000, "{} bytes", picture.len());
    for part in ["<script", "<foreignObject", "<image", "href", "@import", "@font-face", "url(http"] {
        assert!(!picture.contains(part), "{part}");
    }
    let page = fs::read_to_string(Path::new(ROOT).join("docs/demo.md")).unwrap();
    for line in recorded(&page).1.lines() {
        let line = line.trim().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        assert!(picture.contains(&format!(">{line}</text>")) || line.is_empty(), "{line}");
    }
}
