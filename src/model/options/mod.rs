//! Options and how they are saved.
//!
//! There is no state file: an option is saved in the tag `kibus:option:FLAG` of the resource that is created first and
//! deleted last. An option that was never set has no tag and takes the default. All that is known of an option is in
//! `table.rs`.

mod define;
mod table;
mod user_tags;
mod value;
mod witness;

pub use define::{BadSavedOption, BadValue};
pub use table::*;
pub use user_tags::UserTags;
pub use value::{Bounded, BoundedDuration, LogRetention, OrNone, OutOfBounds};
pub use witness::{KEY_OF_QUEUE, Says, Witness};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::resource::Architecture;
    use crate::model::tags::Tags;

    /// An option of each type of value.
    fn some_options() -> HubOptions {
        HubOptions {
            tags: Some(UserTags::parse(&["team=a b".to_owned(), "env=x=y".to_owned()]).unwrap()),
            kms_key: Some("arn:aws:kms:us-west-2:111122223333:key/1".parse().unwrap()),
            retention: Some("7200".parse().unwrap()),
            permissions_boundary: Some(OrNone(None)),
            queue_prefix: Some("".parse().unwrap()),
            memory: Some("512".parse().unwrap()),
            architecture: Some(Architecture::Arm64),
            log_retention: Some("30".parse().unwrap()),
            rebalance: Some(false),
            ..HubOptions::default()
        }
    }

    #[test]
    fn options_are_saved() {
        let options = some_options();
        let tags = options.saved_tags().with_all(&options.tags.as_ref().unwrap().tags());
        assert_eq!(HubOptions::saved(&tags), Ok(options));
        assert_eq!(HubOptions::saved(&Tags::default()), Ok(HubOptions::default()));
    }

    #[test]
    fn every_default_is_a_value_and_is_what_help_names() {
        fn check<K: OptionKey>(defaults: impl Fn(K) -> Option<Vec<String>>) {
            for option in K::ALL {
                let row = option.row();
                let mut options = K::Options::default();
                let default = row.default.map(str::to_owned);
                let read = default.map(|default| option.set(&mut options, &[default]));
                assert!(read.is_none_or(|read| read.is_ok()), "--{}", row.flag);
                assert_eq!(defaults(*option).is_some(), row.default.is_some(), "--{}", row.flag);
            }
        }
        check(|option| HubOptions::default().words_or_default(option));
    }

    #[test]
    fn an_option_is_typed_as_it_is_read() {
        for (option, words, typed) in [
            (HubOption::Tag, &["a=b c", "d=e"][..], "--tag 'a=b c' --tag d=e"),
            (HubOption::QueuePrefix, &[""], "--queue-prefix ''"),
            (HubOption::LockQueues, &["false"], "--lock-queues=false"),
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let mut options = HubOptions::default();
            option.set(&mut options, &words).unwrap();
            assert_eq!(options.words(option), Some(words.clone()));
            assert_eq!(option.row().typed(&words), typed);
        }
    }

    #[test]
    fn a_new_option_overrides_the_saved_one() {
        let now = HubOptions {
            memory: Some("128".parse().unwrap()),
            ..HubOptions::default()
        };
        let both = now.or(some_options());
        assert_eq!(
            both,
            HubOptions {
                memory: Some("128".parse().unwrap()),
                ..some_options()
            }
        );
    }

    #[test]
    fn an_edited_tag_is_named() {
        let tags = Tags::default().with("kibus:option:memory", "lots");
        let e = HubOptions::saved(&tags).unwrap_err();
        assert_eq!(
            e.to_string(),
            "tag `kibus:option:memory` holds `lots`, which is not a value of --memory"
        );
    }

    #[test]
    fn tags_of_users_are_checked() {
        for (tag, taken) in [
            ("team=a", true),
            ("team=", true),
            ("a/b:c=d e", true),
            ("team", false),
            ("=a", false),
            ("kibus:bus=x", false),
            ("aws:x=y", false),
            ("a b=c", false),
            ("a=<b>", false),
        ] {
            assert_eq!(UserTags::parse(&[tag.to_owned()]).is_ok(), taken, "{tag}");
        }
    }

    #[test]
    fn none_is_saved_as_no_tags() {
        let none = UserTags::parse(&["none".to_owned()]).unwrap();
        assert_eq!(none, UserTags::default());
        assert!(UserTags::parse(&["none".to_owned(), "a=b".to_owned()]).is_err());
        let saved = HubOptions::saved(&none.memory()).unwrap();
        assert_eq!(saved.tags, Some(none));
        let many: Vec<String> = (0..90).map(|i| format!("k{i}=v")).collect();
        assert!(UserTags::parse(&many).is_err());
    }

    #[test]
    fn numbers_have_bounds() {
        for (text, taken) in [
            ("128", true),
            ("10240", true),
            ("127", false),
            ("10241", false),
            ("-1", false),
            ("x", false),
        ] {
            assert_eq!(text.parse::<Memory>().is_ok(), taken, "{text}");
        }
        for (text, days) in [
            ("14", Some(14)),
            ("14d", Some(14)),
            ("24h", Some(1)),
            ("3653", Some(3653)),
            ("0", None),
            ("15", None),
            ("25h", None),
            ("x", None),
        ] {
            let parsed = text.parse::<LogRetention>().ok();
            assert_eq!(parsed.map(LogRetention::days), days, "{text}");
        }
        for (text, seconds) in [
            ("1d", Some(86_400)),
            ("60m", Some(3_600)),
            ("86401", Some(86_401)),
            ("1209600s", Some(1_209_600)),
            ("59m", None),
            ("15d", None),
            ("90", None),
            ("1.5h", None),
        ] {
            let parsed = text.parse::<Retention>().ok();
            assert_eq!(parsed.map(Retention::seconds), seconds, "{text}");
        }
    }

    #[test]
    fn a_saved_duration_is_a_plain_number() {
        let tags = HubOptions {
            retention: Some("2h".parse().unwrap()),
            log_retention: Some("30d".parse().unwrap()),
            ..HubOptions::default()
        }
        .saved_tags();
        assert_eq!(tags.option("retention"), Some("7200"));
        assert_eq!(tags.option("log-retention"), Some("30"));
    }
}
