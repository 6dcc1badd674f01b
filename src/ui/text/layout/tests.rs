//! Escaping, folding, tables and the order of names.

use serde_json::json;

use super::*;

#[test]
fn control_characters_are_escaped() {
    for (text, shown) in [
        ("kibus-hub → ü 漢", "kibus-hub → ü 漢"),
        ("a\u{1b}[31mb", "a\\u{1b}[31mb"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("a\u{9b}b\u{7f}", "a\\u{9b}b\\u{7f}"),
        ("a\u{202e}b\u{200b}", "a\\u{202e}b\\u{200b}"),
        ("a\u{61c}b", "a\\u{61c}b"),
        ("a\u{301}\u{a0}\u{3000}b", "a\u{301}\u{a0}\u{3000}b"),
    ] {
        assert_eq!(escape(text), shown);
    }
}

/// The characters of the categories Cc, Cf, Zl and Zp (Unicode Character Database, `DerivedGeneralCategory.txt`).
#[test]
fn characters_that_only_control_are_escaped() {
    for range in [
        '\0'..='\u{1f}',
        '\u{7f}'..='\u{9f}',
        '\u{ad}'..='\u{ad}',
        '\u{600}'..='\u{605}',
        '\u{61c}'..='\u{61c}',
        '\u{6dd}'..='\u{6dd}',
        '\u{70f}'..='\u{70f}',
        '\u{890}'..='\u{891}',
        '\u{8e2}'..='\u{8e2}',
        '\u{180e}'..='\u{180e}',
        '\u{200b}'..='\u{200f}',
        '\u{2028}'..='\u{202e}',
        '\u{2060}'..='\u{2064}',
        '\u{2066}'..='\u{206f}',
        '\u{feff}'..='\u{feff}',
        '\u{fff9}'..='\u{fffb}',
        '\u{110bd}'..='\u{110bd}',
        '\u{110cd}'..='\u{110cd}',
        '\u{13430}'..='\u{1343f}',
        '\u{1bca0}'..='\u{1bca3}',
        '\u{1d173}'..='\u{1d17a}',
        '\u{e0001}'..='\u{e0001}',
        '\u{e0020}'..='\u{e007f}',
    ] {
        for c in range {
            let text = format!("x{c}");
            assert_ne!(escape(&text), text, "{c:?}");
        }
    }
}

#[test]
fn only_lines_and_the_colors_of_kibus_pass_the_edge() {
    let paint = Paint::new(true);
    let painted: Vec<String> = [Paint::green, Paint::yellow, Paint::red, Paint::bold, Paint::dim]
        .iter()
        .map(|color| color(paint, "x"))
        .collect();
    let painted = painted.join("\n\t");
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
fn columns_align_by_visible_width() {
    let mut table = Table::with_numbers([1]);
    table.row(["cluster", "waiting", "controller role"]);
    table.row(["base".to_owned(), Paint::new(true).red("12"), "r".to_owned()]);
    table.row(["tënant-1", "0"]);
    assert_eq!(
        console::strip_ansi_codes(&table.render(2, None)),
        "  cluster    waiting   controller role\n  base            12   r\n  tënant-1         0"
    );
}

#[test]
fn long_cells_are_shortened_to_fit_and_numbers_stay_whole() {
    let mut table = Table::with_numbers([1]);
    table.row(["cluster", "waiting", "controller role"]);
    table.row(["a-cluster-with-a-long-name", "123456789", "KarpenterServiceAccount-a"]);
    table.row(["base".to_owned(), "0".to_owned(), Paint::new(true).dim(&"r".repeat(60))]);
    assert_eq!(
        console::strip_ansi_codes(&table.render(2, Some(50))),
        "  cluster                       waiting   control…\n  \
         a-cluster-with-a-long-na…   123456789   Karpent…\n  \
         base                                0   rrrrrrr…"
    );
    for width in 40..120 {
        for line in table.render(2, Some(width)).lines() {
            assert!(measure_text_width(line) <= width, "{width}: {line}");
        }
    }
    assert!(table.render(2, None).contains("a-cluster-with-a-long-name"), "no terminal");
}

#[test]
fn an_empty_table_has_no_lines() {
    assert_eq!(Table::default().render(2, None), "");
}
