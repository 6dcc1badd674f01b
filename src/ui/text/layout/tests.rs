//! Escaping, folding, tables and the order of names.

use serde_json::json;

use super::*;
use crate::ui::text::tests::assert_snapshot;

#[test]
fn control_characters_are_escaped() {
    for (text, shown) in [
        ("kibus-hub → ü 漢", "kibus-hub → ü 漢"),
        ("a\u{1b}[31mb", "a\\u{1b}[31mb"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("a\u{202e}b\u{200b}", "a\\u{202e}b\\u{200b}"),
        ("a\u{301}\u{a0}\u{3000}b", "a\u{301}\u{a0}\u{3000}b"),
    ] {
        assert_eq!(escape(text), shown);
    }
}

/// The characters of the categories Cc, Cf, Zl and Zp (Unicode Character Database, `DerivedGeneralCategory.txt`).
#[test]
fn characters_that_only_control_are_escaped() {
    let ranges = "0-1f 7f-9f ad-ad 600-605 61c-61c 6dd-6dd 70f-70f 890-891 8e2-8e2 180e-180e 200b-200f 2028-202e \
                  2060-2064 2066-206f feff-feff fff9-fffb 110bd-110bd 110cd-110cd 13430-1343f 1bca0-1bca3 1d173-1d17a \
                  e0001-e0001 e0020-e007f";
    for range in ranges.split(' ') {
        let (first, last) = range.split_once('-').unwrap();
        let [first, last] = [first, last].map(|code| u32::from_str_radix(code, 16).unwrap());
        for c in (first..=last).map(|code| char::from_u32(code).unwrap()) {
            let text = format!("x{c}");
            assert_ne!(escape(&text), text, "{c:?}");
        }
    }
}

#[test]
fn only_lines_and_the_colors_of_kibus_pass_the_edge() {
    let paint = Paint::new(true);
    let colors = [Paint::green, Paint::yellow, Paint::red, Paint::bold, Paint::dim];
    let painted = colors.map(|color| color(paint, "x")).join("\n\t");
    assert_eq!(at_the_edge(&painted, true), painted);
    assert!(!at_the_edge(&painted, false).contains('\u{1b}'));
    for (text, shown) in [
        ("a\u{1b}]0;b\u{7}", "a\\u{1b}]0;b\\u{7}"),
        ("\u{1b}[5m\u{1b}[2J", "\\u{1b}[5m\\u{1b}[2J"),
        ("a\rb\u{9b}2J\u{202e}", "a\\rb\\u{9b}2J\\u{202e}"),
    ] {
        assert_eq!(at_the_edge(text, true), shown);
    }
}

#[test]
fn a_document_shows_no_control_character_and_stays_the_same() {
    let hostile: String = ('\0'..=char::MAX).collect();
    let document = json!({ hostile.clone(): [hostile] });
    let text = json_text(&document, false);
    assert!(!text.contains(|c| c != '\n' && is_control(c)), "{text:?}");
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), document);
}

#[test]
fn lines_break_at_spaces_and_lose_nothing() {
    for (text, width, lines) in [
        ("a b c", 10, vec!["a b c"]),
        ("aa bb cc", 5, vec!["aa bb", "cc"]),
        ("aa bbbbbbbb cc", 5, vec!["aa", "bbbbbbbb", "cc"]),
        ("ää öö üü", 5, vec!["ää öö", "üü"]),
        ("", 5, vec![""]),
        ("run `a b c` now", 10, vec!["run", "`a b c`", "now"]),
        ("run `a b c` now", 6, vec!["run `a", "b c`", "now"]),
        ("a ` b c", 3, vec!["a `", "b c"]),
    ] {
        assert_eq!(fold(text, width), lines, "`{text}` at {width}");
    }
}

#[test]
fn columns_align_by_visible_width_and_shorten_long_cells_but_no_numbers_to_fit() {
    let paint = Paint::new(true);
    let table = |rows: [Vec<String>; 2]| {
        let mut table = Table::with_numbers([1]);
        table.row(["cluster", "waiting", "controller role"]);
        rows.into_iter().for_each(|row| table.row(row));
        table
    };
    let short = table([vec!["base".into(), paint.red("12"), "r".into()], vec!["tënant-1".into(), "0".into()]]);
    assert_snapshot("table.txt", &console::strip_ansi_codes(&short.render(2, None)));
    let long = ["a-cluster-with-a-long-name", "123456789", "KarpenterServiceAccount-a"].map(str::to_owned).to_vec();
    let long = table([long, vec!["base".into(), "0".into(), paint.dim(&"r".repeat(60))]]);
    assert_snapshot("table-narrow.txt", &console::strip_ansi_codes(&long.render(2, Some(50))));
    for width in 40..120 {
        for line in long.render(2, Some(width)).lines() {
            assert!(measure_text_width(line) <= width, "{width}: {line}");
        }
    }
    assert!(long.render(2, None).contains("a-cluster-with-a-long-name"), "no terminal");
    assert_eq!(Table::default().render(2, None), "");
}
