//! Reads the JSON that tests/vectors has: objects, arrays, strings without escapes, integers.

use std::iter::Peekable;
use std::str::Chars;

#[derive(Debug)]
pub enum Json {
    Integer(i64),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub fn parse(text: &str) -> Json {
        let mut parser = Parser { text: text.chars().peekable() };
        let value = parser.value();
        assert_eq!(parser.next_token(), None, "more behind the value");
        value
    }

    pub fn integer(&self) -> i64 {
        match self {
            Json::Integer(integer) => *integer,
            // 64 bits without a sign are written as text.
            Json::Text(text) => text.parse::<u64>().expect("a number") as i64,
            other => panic!("not an integer: {other:?}"),
        }
    }

    pub fn text(&self) -> &str {
        match self {
            Json::Text(text) => text,
            other => panic!("not a text: {other:?}"),
        }
    }

    pub fn array(&self) -> &[Json] {
        match self {
            Json::Array(array) => array,
            other => panic!("not an array: {other:?}"),
        }
    }

    pub fn object(&self) -> &[(String, Json)] {
        match self {
            Json::Object(members) => members,
            other => panic!("not an object: {other:?}"),
        }
    }

    pub fn get(&self, name: &str) -> Option<&Json> {
        self.object().iter().find(|(member, _)| member == name).map(|(_, value)| value)
    }
}

impl std::ops::Index<&str> for Json {
    type Output = Json;

    fn index(&self, name: &str) -> &Json {
        self.get(name).unwrap_or_else(|| panic!("no member {name}"))
    }
}

struct Parser<'a> {
    text: Peekable<Chars<'a>>,
}

impl Parser<'_> {
    fn next_token(&mut self) -> Option<char> {
        while self.text.next_if(|c| c.is_whitespace()).is_some() {}
        self.text.peek().copied()
    }

    fn expect(&mut self, expected: char) {
        assert_eq!(self.next_token(), Some(expected));
        self.text.next();
    }

    fn value(&mut self) -> Json {
        match self.next_token() {
            Some('{') => Json::Object(self.items('{', '}', |parser| {
                let name = parser.string();
                parser.expect(':');
                (name, parser.value())
            })),
            Some('[') => Json::Array(self.items('[', ']', Self::value)),
            Some('"') => Json::Text(self.string()),
            _ => Json::Integer(self.number()),
        }
    }

    fn items<T>(&mut self, open: char, close: char, item: fn(&mut Self) -> T) -> Vec<T> {
        let mut items = Vec::new();
        self.expect(open);
        while self.next_token() != Some(close) {
            if !items.is_empty() {
                self.expect(',');
            }
            items.push(item(self));
        }
        self.expect(close);
        items
    }

    fn string(&mut self) -> String {
        self.expect('"');
        let mut string = String::new();
        loop {
            match self.text.next() {
                Some('"') => return string,
                Some(c) if c != '\\' => string.push(c),
                other => panic!("not understood in a text: {other:?}"),
            }
        }
    }

    fn number(&mut self) -> i64 {
        let mut digits = String::new();
        while let Some(c) = self.text.next_if(|c| c.is_ascii_digit() || *c == '-') {
            digits.push(c);
        }
        digits.parse().unwrap_or_else(|_| panic!("not a number: {digits:?}"))
    }
}
