//! AMQP field tables as JSON, and back.

use std::fmt::Write;

use lapin::types::{AMQPValue, DecimalValue, FieldArray, FieldTable, ShortString};
use serde_json::{Map, Number, Value};

use crate::Headers;

/// Deeper tables are cut off: no sender may decide how much of our stack a message takes.
const MAX_DEPTH: usize = 32;

/// The longest name or short string that AMQP 0-9-1 can carry, in bytes.
const MAX_SHORT: usize = 255;

/// Reads a table. Never fails: what JSON lacks is shown as text or as `{"bytes": "<hex>"}`.
pub(super) fn from_table(table: &FieldTable) -> Headers {
    entries(table, 0).collect()
}

/// Writes a table.
///
/// # Errors
/// A sentence for people when a name is too long or the values are nested too deeply.
pub(super) fn to_table(headers: &Headers) -> Result<FieldTable, String> {
    table(headers.iter(), 0)
}

/// How many bytes the table takes on the wire: a table can't be split into several frames.
pub(super) fn encoded_len(table: &FieldTable) -> usize {
    table
        .inner()
        .iter()
        .fold(4, |sum, (name, value)| sum + 1 + name.as_str().len() + encoded_value_len(value))
}

/// A short string, or the sentence that says why not. (`ShortString::from` panics instead.)
pub(super) fn short(what: &str, text: &str) -> Result<ShortString, String> {
    ShortString::try_new(text)
        .map_err(|_| format!("{what} has {} bytes; at most {MAX_SHORT} fit", text.len()))
}

fn entries(table: &FieldTable, depth: usize) -> impl Iterator<Item = (String, Value)> {
    let entry = move |(name, value): (&ShortString, &AMQPValue)| {
        (name.as_str().to_owned(), to_json(value, depth))
    };
    table.inner().iter().map(entry)
}

fn to_json(value: &AMQPValue, depth: usize) -> Value {
    match value {
        AMQPValue::Boolean(value) => Value::from(*value),
        AMQPValue::ShortShortInt(value) => Value::from(*value),
        AMQPValue::ShortShortUInt(value) => Value::from(*value),
        AMQPValue::ShortInt(value) => Value::from(*value),
        AMQPValue::ShortUInt(value) => Value::from(*value),
        AMQPValue::LongInt(value) => Value::from(*value),
        AMQPValue::LongUInt(value) => Value::from(*value),
        AMQPValue::LongLongInt(value) => Value::from(*value),
        AMQPValue::Timestamp(value) => Value::from(*value),
        AMQPValue::Float(value) => float(f64::from(*value)),
        AMQPValue::Double(value) => float(*value),
        AMQPValue::DecimalValue(value) => Value::from(decimal(*value)),
        AMQPValue::ShortString(value) => Value::from(value.as_str()),
        AMQPValue::LongString(value) => text_or_bytes(value.as_bytes()),
        AMQPValue::ByteArray(value) => bytes(value.as_slice()),
        AMQPValue::Void => Value::Null,
        AMQPValue::FieldTable(_) | AMQPValue::FieldArray(_) if depth >= MAX_DEPTH => {
            Value::from("(nested too deeply)")
        }
        AMQPValue::FieldTable(table) => {
            Value::Object(entries(table, depth + 1).collect::<Map<_, _>>())
        }
        AMQPValue::FieldArray(array) => {
            let values = array.as_slice().iter();
            values.map(|value| to_json(value, depth + 1)).collect()
        }
    }
}

/// Infinities and NaN are no JSON numbers.
fn float(value: f64) -> Value {
    Number::from_f64(value).map_or_else(|| Value::from(value.to_string()), Value::Number)
}

fn decimal(DecimalValue { scale, value }: DecimalValue) -> String {
    let scale = usize::from(scale);
    let digits = format!("{value:0>width$}", width = scale + 1);
    match digits.split_at(digits.len() - scale) {
        (whole, "") => whole.to_owned(),
        (whole, fraction) => format!("{whole}.{fraction}"),
    }
}

fn text_or_bytes(raw: &[u8]) -> Value {
    str::from_utf8(raw).map_or_else(|_| bytes(raw), Value::from)
}

fn bytes(raw: &[u8]) -> Value {
    let mut hex = String::with_capacity(raw.len() * 2);
    for byte in raw {
        // Writing to a string can't fail.
        let _ = write!(hex, "{byte:02x}");
    }
    Value::Object(Map::from_iter([("bytes".to_owned(), Value::from(hex))]))
}

fn table<'a>(
    entries: impl Iterator<Item = (&'a String, &'a Value)>,
    depth: usize,
) -> Result<FieldTable, String> {
    let mut table = FieldTable::default();
    for (name, value) in entries {
        table.insert(short("a header's name", name)?, from_json(value, depth)?);
    }
    Ok(table)
}

fn from_json(value: &Value, depth: usize) -> Result<AMQPValue, String> {
    if depth > MAX_DEPTH {
        return Err(format!("headers are nested more than {MAX_DEPTH} deep"));
    }
    Ok(match value {
        Value::Null => AMQPValue::Void,
        Value::Bool(value) => AMQPValue::Boolean(*value),
        Value::Number(value) => number(value),
        Value::String(value) => AMQPValue::LongString(value.as_str().into()),
        Value::Array(values) => {
            let values = values.iter().map(|value| from_json(value, depth + 1));
            AMQPValue::FieldArray(FieldArray::from(values.collect::<Result<Vec<_>, _>>()?))
        }
        Value::Object(values) => AMQPValue::FieldTable(table(values.iter(), depth + 1)?),
    })
}

fn number(value: &Number) -> AMQPValue {
    if let Some(value) = value.as_i64() {
        AMQPValue::LongLongInt(value)
    } else if value.is_u64() {
        // RabbitMQ has no unsigned 64-bit integer, and a double would change the number.
        AMQPValue::LongString(value.to_string().into())
    } else {
        AMQPValue::Double(value.as_f64().unwrap_or(f64::NAN))
    }
}

fn encoded_value_len(value: &AMQPValue) -> usize {
    1 + match value {
        AMQPValue::Void => 0,
        AMQPValue::Boolean(_) | AMQPValue::ShortShortInt(_) | AMQPValue::ShortShortUInt(_) => 1,
        AMQPValue::ShortInt(_) | AMQPValue::ShortUInt(_) => 2,
        AMQPValue::LongInt(_) | AMQPValue::LongUInt(_) | AMQPValue::Float(_) => 4,
        AMQPValue::DecimalValue(_) => 5,
        AMQPValue::LongLongInt(_) | AMQPValue::Timestamp(_) | AMQPValue::Double(_) => 8,
        AMQPValue::ShortString(value) => 1 + value.as_str().len(),
        AMQPValue::LongString(value) => 4 + value.len(),
        AMQPValue::ByteArray(value) => 4 + value.as_slice().len(),
        AMQPValue::FieldTable(table) => encoded_len(table),
        AMQPValue::FieldArray(array) => {
            4 + array.as_slice().iter().map(encoded_value_len).sum::<usize>()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: AMQPValue) -> Value {
        to_json(&value, 0)
    }

    #[test]
    fn every_amqp_value_can_be_shown_as_json() {
        let decimal = |scale, value| AMQPValue::DecimalValue(DecimalValue { scale, value });
        for (value, expected) in [
            (AMQPValue::ShortShortInt(-1), json!(-1)),
            (AMQPValue::LongUInt(u32::MAX), json!(u32::MAX)),
            (AMQPValue::LongLongInt(i64::MIN), json!(i64::MIN)),
            (AMQPValue::Timestamp(u64::MAX), json!(u64::MAX)),
            (AMQPValue::Boolean(true), json!(true)),
            (AMQPValue::Double(0.5), json!(0.5)),
            (AMQPValue::Double(f64::NAN), json!("NaN")),
            (AMQPValue::Float(f32::INFINITY), json!("inf")),
            (AMQPValue::LongString("café".into()), json!("café")),
            (AMQPValue::LongString(vec![0xff, 0x00].into()), json!({"bytes": "ff00"})),
            (AMQPValue::ByteArray(vec![0x61].into()), json!({"bytes": "61"})),
            (AMQPValue::Void, Value::Null),
            (decimal(2, 123), json!("1.23")),
            (decimal(3, 5), json!("0.005")),
            (decimal(0, 7), json!("7")),
        ] {
            assert_eq!(read(value.clone()), expected, "{value:?}");
        }
    }

    #[test]
    fn headers_come_back_as_they_were_sent() {
        let Value::Object(headers) = json!({
            "schema-version": 1, "aggregate-id": "a", "none": null, "yes": true, "half": 0.5,
            "nested": {"list": [1, "two", {"three": 3}], "empty": {}},
        }) else {
            panic!("an object");
        };
        let headers: Headers = headers.into_iter().collect();
        let table = to_table(&headers).expect("fits");
        assert_eq!(from_table(&table), headers);
    }

    #[test]
    fn a_number_that_amqp_lacks_is_sent_as_text() {
        assert_eq!(
            from_json(&json!(u64::MAX), 0),
            Ok(AMQPValue::LongString(u64::MAX.to_string().into()))
        );
    }

    #[test]
    fn a_header_that_does_not_fit_is_refused_and_not_a_panic() {
        let headers = Headers::from([("n".repeat(256), json!(1))]);
        let reason = to_table(&headers).expect_err("too long");
        assert_eq!(reason, "a header's name has 256 bytes; at most 255 fit");

        let deep = (0..40).fold(json!(1), |inner, _| json!([inner]));
        assert!(to_table(&Headers::from([("deep".to_owned(), deep)])).is_err());
    }

    #[test]
    fn a_deeply_nested_table_is_cut_off() {
        let deep =
            (0..1000).fold(AMQPValue::Void, |inner, _| AMQPValue::FieldArray(vec![inner].into()));
        assert!(read(deep).to_string().contains("nested too deeply"));
    }

    #[test]
    fn the_encoded_length_counts_names_types_and_values() {
        let headers =
            Headers::from([("ab".to_owned(), json!("xyz")), ("n".to_owned(), json!([1, null]))]);
        let text = 1 + 2 + 1 + 4 + 3;
        let list = 1 + 1 + 1 + 4 + (1 + 8) + 1;
        let table = to_table(&headers).expect("fits");
        assert_eq!(encoded_len(&table), 4 + text + list);
    }
}
