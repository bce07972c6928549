"""What guards.py makes of edits, on functions of a few lines."""

import sys

import guards

SOURCE = """
// { a brace in a comment
constexpr int kLimit = 4;
struct Pair { int a; int b; };
int f(int x, int y) {
  const int low = x < y ? x : y;
  const Pair pair = {x + 1, y};
  for (int i = 0; i < low; ++i) step(i);
  if (x == kLimit && y > 0) {
    first();  // then the second
    second();
  } else {
    third("}");
  }
  switch (x) {
    case 1: return y;
    default: break;
  }
  auto g = [&](int z) { return z + low; };
  return g(x);
}
"""

# (text, replacement, what stands in its place, guarded)
CASES = (
    ("x < y ?", "x > y ?", "const int low = (G ? (x > y ? x : y\n) : (x < y ? x : y\n));"),
    ("low = x < y ? x : y;", "low = x;", "const int low = (G ? (x\n) : (x < y ? x : y\n));"),
    ("{x + 1,", "{x + 2,", "const Pair pair = {(G ? (x + 2\n) : (x + 1\n)), y};"),
    ("i < low", "i <= low", "i = 0; (G ? (i <= low\n) : (i < low\n)); ++i"),
    ("y > 0", "y >= 0", "if ((G ? (x == kLimit && y >= 0\n) : (x == kLimit && y > 0\n))) {"),
    ("step(i);", "step(0);", "if (G) { for (int i = 0; i < low; ++i) step(0);\n } else { for (int"),
    ("    second();\n", "", "first();  // then the second\nif (G) { \n } else {     second();\n\n }"),
    ("first();", "second();", "if (G) { second();\n } else { first();\n }  // then"),
    ('third("}");', "first();", 'if (G) { first();\n } else { third("}");\n }'),
    ("return y;", "return x;", "case 1: if (G) { return x;\n } else { return y;\n }"),
    ("z + low", "z - low", "{ if (G) { return z - low;\n } else { return z + low;\n } }"),
    ("if (x == kLimit && y > 0) {\n    first();", "if (y) {\n    second();",
     "if (G) { if (y) {\n    second();  // then the second\n    second();\n  } else {\n    third(\"}\");\n  }\n } else { if (x"),
)
REFUSED = (
    ("kLimit = 4", "kLimit = 5"),
    ("int b;", "int c;"),
    ("const Pair pair", "Pair pair"),
)


def guarded(text, replacement):
    edits = [(*region, 1) for region in guards.regions(SOURCE, [(text, replacement)])]
    return guards.apply(SOURCE, edits)


def main():
    for text, replacement, expected in CASES:
        expected = expected.replace("G ?", f"{guards.MACRO}(1) ?").replace("(G)", f"({guards.MACRO}(1))")
        actual = guarded(text, replacement)
        if expected not in actual:
            sys.exit(f"{text!r} -> {replacement!r} gives\n{actual}\nwithout\n{expected}")
    for text, replacement in REFUSED:
        try:
            sys.exit(f"{text!r} -> {replacement!r} gives\n{guarded(text, replacement)}")
        except guards.CannotGuard:
            pass
    both = guards.apply(SOURCE, [(*region, number) for number, edit in enumerate((("i < low", "i > low"), ("first();", "")), 1)
                                 for region in guards.regions(SOURCE, [edit])])
    if f"{guards.MACRO}(1) ?" not in both or f"if ({guards.MACRO}(2))" not in both:
        sys.exit(f"two edits give\n{both}")


if __name__ == "__main__":
    main()
