//! The form in a query request: `Action=...&Version=...&Key.1=...`.

use urlencoding::encode;

/// The parameters of a call, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params(Vec<(String, String)>);

impl Params {
    /// No parameters yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a parameter.
    pub fn with(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.push((key.into(), value.into()));
        self
    }

    /// Adds a list: `key.1`, `key.2` and so on.
    pub fn with_list<'a>(self, key: &str, values: impl IntoIterator<Item = &'a str>) -> Self {
        values
            .into_iter()
            .zip(1..)
            .fold(self, |params, (value, n)| params.with(format!("{key}.{n}"), value))
    }

    /// Adds tags: `key.1.Key`, `key.1.Value` and so on.
    pub fn with_tags(self, key: &str, tags: &crate::model::tags::Tags) -> Self {
        tags.0.iter().zip(1..).fold(self, |params, ((name, value), n)| {
            params
                .with(format!("{key}.{n}.Key"), name)
                .with(format!("{key}.{n}.Value"), value)
        })
    }

    /// The body of the request for an action.
    pub(super) fn body(&self, action: &str, version: &str) -> String {
        let parameters = self
            .0
            .iter()
            .map(|(key, value)| format!("&{}={}", encode(key), encode(value)));
        format!("Action={action}&Version={version}{}", parameters.collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tags::Tags;

    #[test]
    fn a_form_has_every_parameter_in_order() {
        let tags = Tags::default()
            .with("kubernetes.io/cluster/a", "owned")
            .with("ü", "a b&c");
        let params = Params::new()
            .with("X", "1")
            .with_list("Id", ["i-1", "i-2"])
            .with_tags("Tag", &tags);
        assert_eq!(
            params.body("Do", "v"),
            "Action=Do&Version=v&X=1&Id.1=i-1&Id.2=i-2&Tag.1.Key=kubernetes.io%2Fcluster%2Fa&Tag.1.Value=owned\
             &Tag.2.Key=%C3%BC&Tag.2.Value=a%20b%26c"
        );
    }
}
