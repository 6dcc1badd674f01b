//! What can be said about the world: names, documents, resources, and the two worlds that kibus wants
//! (a hub, a cluster). Pure: nothing here is `async`, nothing takes a client.

pub mod document;
pub mod name;
pub mod scope;
pub mod signal;
pub mod tags;
pub mod template;
