//! Drift of roles and their policies.

use super::{CONTROLLER, ROLE, Row, other};

pub(super) const ROWS: &[Row] = &[
    ("trust of the role", |b| b.role(ROLE, |r| r.trust = other()), "~role(trust)"),
    (
        "a boundary that was not chosen",
        |b| {
            b.role(ROLE, |r| {
                r.permissions_boundary = Some("arn:aws:iam::111122223333:policy/x".parse().unwrap());
            });
        },
        "~role(permissions_boundary)",
    ),
    ("path of the role, which a check refuses", |b| b.role(ROLE, |r| r.path = "/x/".parse().unwrap()), "~role(path)"),
    ("policy of the router's role", |b| b.role_policy(ROLE, |p| p.document = other()), "~role-policy(document)"),
    (
        "policy of the controller's role",
        |b| b.role_policy(CONTROLLER, |p| p.document = other()),
        "~role-policy(document)",
    ),
];
