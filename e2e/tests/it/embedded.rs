//! Embedded mode: the supervisor and its children.
