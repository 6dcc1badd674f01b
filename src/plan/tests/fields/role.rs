//! Drift of roles and their policies.

use super::{CONTROLLER, ROLE, Row, other};
use crate::model::resource::Reading;

pub(super) const ROWS: &[Row] = &[
    (
        "trust of the role",
        |b| b.role(ROLE, |r| r.trust = other()),
        "~role(trust)",
    ),
    (
        "a boundary that was not chosen",
        |b| {
            b.role(ROLE, |r| {
                r.permissions_boundary = Some("arn:aws:iam::111122223333:policy/x".parse().unwrap());
            });
        },
        "~role(permissions_boundary)",
    ),
    (
        "path of the role, which takes its policy with it",
        |b| b.role(ROLE, |r| r.path = "/x/".parse().unwrap()),
        "±role-policy ±role(path)",
    ),
    (
        "path of the role, whose policy is missing",
        |b| {
            b.role(ROLE, |r| r.path = "/x/".parse().unwrap());
            b.answer("role-policy", ROLE, Reading::Absent);
        },
        "±role(path) +role-policy",
    ),
    (
        "path of the role, and its policy",
        |b| {
            b.role(ROLE, |r| r.path = "/x/".parse().unwrap());
            b.role_policy(ROLE, |p| p.document = other());
        },
        "±role-policy(document) ±role(path)",
    ),
    (
        "policy of the router's role",
        |b| b.role_policy(ROLE, |p| p.document = other()),
        "~role-policy(document)",
    ),
    (
        "policy of the controller's role",
        |b| b.role_policy(CONTROLLER, |p| p.document = other()),
        "~role-policy(document)",
    ),
];
