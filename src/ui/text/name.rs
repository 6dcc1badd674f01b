//! The names of resources, for people.

use crate::model::resource::ResourceId;

/// The display name of a resource.
pub(in crate::ui) fn name(id: &ResourceId) -> String {
    id.name().replace(" -> ", " → ")
}

/// The name in the name column of a plan. For a role policy it is the role, because the summary has the policy's name.
pub(super) fn short_name(id: &ResourceId) -> String {
    if let ResourceId::RolePolicy(role, _) = id {
        return role.to_string();
    }
    name(id)
}

/// The part of the name that [`short_name`] omits, for a resource whose fields are shown instead of its summary.
pub(super) fn rest_of_name(id: &ResourceId) -> String {
    if let ResourceId::RolePolicy(role, policy) = id
        && role.as_str() != policy.as_str()
    {
        return policy.to_string();
    }
    String::new()
}
