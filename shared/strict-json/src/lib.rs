//! Structs from JSON objects only.
//!
//! A derived `Deserialize` also accepts an array and takes it for the struct's fields by position:
//! `["c-42", []]` would pass for an order. No contract says so, and a new field would change its
//! meaning. Wrap a struct in [`Object`] wherever it is read from outside.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

/// A `T` that was written as an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData)).map(Self)
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

/// For `#[serde(deserialize_with = "strict_json::objects")]` on a `Vec<T>`.
///
/// # Errors
/// An element is no object, or no `T`.
pub fn objects<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let objects = Vec::<Object<T>>::deserialize(deserializer)?;
    Ok(objects.into_iter().map(|object| object.0).collect())
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::Object;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Order {
        #[serde(deserialize_with = "super::objects")]
        lines: Vec<Line>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Line {
        sku: String,
    }

    #[test]
    fn an_array_does_not_pass_for_an_object() {
        let read = serde_json::from_str::<Object<Order>>;
        assert!(read(r#"{"lines": [{"sku": "A"}]}"#).is_ok());
        assert!(read(r#"[[{"sku": "A"}]]"#).is_err());
        assert!(read(r#"{"lines": [["A"]]}"#).is_err());
        let error = read("[]").expect_err("an array").to_string();
        assert!(error.starts_with("invalid type: sequence, expected an object"), "{error}");
    }
}
