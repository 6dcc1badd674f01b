//! The demo of the sandbox, whole. It checks what each command writes; `docs/demo.txt` is what it prints, and the picture shows parts.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::emulator::sandbox;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The output of one run.
fn recorded() -> String {
    fs::read_to_string(Path::new(ROOT).join("docs/demo.txt")).unwrap()
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
fn the_demo_succeeds_and_is_as_recorded() {
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

    let differs = without_chance(recorded().trim()) != without_chance(shown.trim());
    if differs && std::env::var_os("KIBUS_TEST_UPDATE").is_some() {
        fs::write(Path::new(ROOT).join("docs/demo.txt"), format!("{}\n", shown.trim())).unwrap();
        assert!(draw(&[]).status.success(), "the picture was not drawn");
    } else {
        assert!(!differs, "docs/demo.txt differs from this output:\n{shown}");
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
fn the_picture_is_drawn_from_the_recorded_output_and_needs_nothing_else() {
    let output = draw(&["--check"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let picture = fs::read_to_string(Path::new(ROOT).join("docs/demo.svg")).unwrap();
    assert!(picture.len() < 300_000, "{} bytes", picture.len());
    for part in ["<script", "<foreignObject", "<image", "href", "@import", "@font-face", "url(http"] {
        assert!(!picture.contains(part), "{part}");
    }
    let (_, after) = picture.split_once("animation: scroll ").unwrap();
    let seconds: f64 = after.split_once('s').unwrap().0.parse().unwrap();
    assert!(seconds <= 25.0, "{seconds} s");
}

/// The picture leaves out lines, and has no others. The last screen, which is all that some readers see, is the end of the drill.
#[test]
fn the_picture_shows_whole_parts_of_the_recorded_output() {
    let picture = fs::read_to_string(Path::new(ROOT).join("docs/demo.svg")).unwrap();
    let texts = picture.lines().filter_map(|line| line.strip_suffix("</text>")?.split_once('>'));
    let shown: Vec<String> =
        texts.map(|(_, text)| text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")).collect();
    let recorded = recorded();
    let mut lines = recorded.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    let mut leaves_out = false;
    for text in &shown {
        if text == "\u{2026}" {
            leaves_out = true;
            continue;
        }
        while leaves_out && lines.peek().is_some_and(|line| line != text) {
            lines.next();
        }
        assert_eq!(lines.next(), Some(text.as_str()), "a line that is not recorded, or left out silently");
        leaves_out = false;
    }
    let commands = shown.iter().filter_map(|text| text.strip_prefix("$ kibus "));
    let commands: Vec<&str> = commands.map(|command| command.split(' ').next().unwrap()).collect();
    assert_eq!(commands, ["discover", "add-cluster", "sandbox", "sandbox", "events", "drill"]);
    let (_, drill) = recorded.split_once("$ kibus drill ").unwrap();
    let end = drill.split_once("\n\n").unwrap().0.lines().last().unwrap().trim();
    assert_eq!(shown.last().unwrap(), end);
}
