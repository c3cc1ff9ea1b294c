//! Settings, tried on real servers.

mod secrets;
