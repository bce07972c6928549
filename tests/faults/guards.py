"""Makes edits of C++ sources that are chosen when the program runs.

regions() finds the expressions or statements that edits change, and apply() puts the new ones beside the old:

    SAMPLER_CHOSEN_FAULT(3) ? (new expression) : (old expression)
    if (SAMPLER_CHOSEN_FAULT(3)) { new statements } else { old statements }

so that one build has many faults and its environment names the one in force. It knows of C++ what that
takes: brackets, commas, semicolons and what a declaration looks like. Where the edited text stands in
none of these places, or the outcome would not be the same C++, it raises CannotGuard, or the compiler
refuses what comes out; such a fault is marked as `alone` and has a build of its own.
"""

import re

MACRO = "SAMPLER_CHOSEN_FAULT"
OPENING, CLOSING = "([{", ")]}"
# What may begin a statement and no declaration.
KEYWORDS = ("return", "if", "for", "while", "switch", "do", "delete", "throw", "break", "continue", "goto", "else")
DECLARATION = re.compile(r"(?:const|constexpr|static|auto|unsigned|using|typename|struct|class)\b"
                         r"|[A-Za-z_][\w:]*(?:\s*<[^;=]*>)?(?:\s+const)?[\s*&]+[A-Za-z_]\w*\s*(?:[=;{(\[,]|$)")


class CannotGuard(Exception):
    pass


def masked(content):
    """Same length, with spaces for comments, preprocessor lines and what literals contain."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])\''
                         r'|^[ \t]*#(?:\\\n|[^\n])*', re.S | re.M)
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), content)


def is_balanced(text):
    stack = []
    for character in text:
        if character in OPENING:
            stack.append(character)
        elif character in CLOSING and (not stack or OPENING.index(stack.pop()) != CLOSING.index(character)):
            return False
    return not stack


def enclosing_bracket(mask, begin, end):
    """The places of the innermost brackets around [begin, end)."""
    depth = 0
    for start in range(begin - 1, -1, -1):
        if mask[start] in CLOSING:
            depth += 1
        elif mask[start] in OPENING:
            if depth == 0:
                close = matching(mask, start)
                if close >= end:
                    return start, close
                depth += 1  # it closes within: look further out
            depth -= 1
    raise CannotGuard("stands in no function")


def matching(mask, opening):
    depth = 0
    for place in range(opening, len(mask)):
        if mask[place] in OPENING:
            depth += 1
        elif mask[place] in CLOSING:
            depth -= 1
            if depth == 0:
                return place
    raise CannotGuard("brackets do not match")


def separators(mask, begin, end, characters):
    """Places of these characters between begin and end, outside of inner brackets."""
    depth, places = 0, []
    for place in range(begin, end):
        if mask[place] in OPENING:
            depth += 1
        elif mask[place] in CLOSING:
            depth -= 1
        elif depth == 0 and mask[place] in characters:
            places.append(place)
    return places


def trimmed(content, begin, end):
    while begin < end and content[begin].isspace():
        begin += 1
    while end > begin and content[end - 1].isspace():
        end -= 1
    return begin, end


def is_block(mask, opening):
    """Whether a brace opens statements of a function."""
    before = mask[:opening].rstrip()
    if before.endswith("{"):
        return is_block(mask, len(before) - 1)
    if re.search(r"(\)|\]|\belse|\bdo|\btry|[;}:])$", before):
        return not re.search(r"\b(public|private|protected):$", before)
    if re.search(r"\)\s*(const|noexcept|override|mutable|final|\s)+$", before):
        return True
    return bool(re.search(r"\)\s*(const\s*)?(noexcept\s*)?->\s*[\w:<>*& ]+$", before))


def holds_declarations(mask, opening):
    """Whether a brace opens a namespace, class or enumeration."""
    before = mask[:opening].rstrip()
    head = re.split(r"[;{}]", before)[-1]
    return bool(re.search(r"\b(namespace|struct|class|enum|union|extern)\b", head)) and "(" not in head


def statement_bounds(mask, opening, closing, begin, end):
    """The whole statements of a block that [begin, end) touches."""
    starts = [opening + 1]
    place = opening + 1
    while place < closing:
        character = mask[place]
        if character in "([":
            place = matching(mask, place)
        elif character == "{":
            statements = is_block(mask, place)
            place = matching(mask, place)
            following = mask[place + 1:closing].lstrip()
            if statements and not re.match(r"else\b|while\b|catch\b|[);,.]", following):
                starts.append(place + 1)
        elif character == ";":
            starts.append(place + 1)
        elif character == ":" and re.search(r"(\bcase\b[^;?]*|\bdefault\s*)$", mask[starts[-1]:place]) and \
                mask[place - 1] != ":" and mask[place + 1] != ":":
            starts.append(place + 1)
        place += 1
    starts.append(closing)
    first = max(start for start in starts if start <= begin or start == starts[0])
    # The edit may begin within the blank before the first statement that it means.
    last = min(start for start in starts if start >= end)
    return trimmed(mask, first, last) if first < last else (begin, end)


def guarded_region(content, mask, begin, end):
    """(begin, end, kind) of what is to be doubled around an edit of [begin, end)."""
    while not is_balanced(mask[begin:end]):
        begin, end = widened(mask, begin, end)
    begin_of_text, end_of_text = begin, end
    while True:
        opening, closing = enclosing_bracket(mask, begin_of_text, end_of_text)
        if mask[opening] == "{" and holds_declarations(mask, opening):
            raise CannotGuard("is a declaration of a class or namespace")
        if mask[opening] == "{" and is_block(mask, opening):
            return region_of_statements(content, mask, opening, closing, begin_of_text, end_of_text)
        before = re.split(r"[;{}]", mask[:opening])[-1]
        is_loop = bool(re.search(r"\bfor\s*$", before))
        commas = separators(mask, opening + 1, closing, ";" if is_loop else ",;")
        bounds = [opening] + commas + [closing]
        for left, right in zip(bounds, bounds[1:]):
            if left < begin_of_text and end_of_text <= right:
                from_, to = trimmed(content, left + 1, right)
                if from_ <= begin_of_text and end_of_text <= to and mask[from_] != "{" and not DECLARATION.match(mask[from_:to]) and \
                        ":" not in re.sub(r"::|\?[^?]*:", "", mask[from_:to]):
                    return from_, to, "expression"
        begin_of_text, end_of_text = opening, closing + 1


def widened(mask, begin, end):
    stack = []
    for place in range(begin, end):
        if mask[place] in OPENING:
            stack.append(place)
        elif mask[place] in CLOSING:
            if stack:
                stack.pop()
            else:
                return enclosing_bracket(mask, place, place)[0], end
    return begin, matching(mask, stack[0]) + 1


def region_of_statements(content, mask, opening, closing, begin, end):
    from_, to = statement_bounds(mask, opening, closing, *trimmed(mask, begin, end))
    text = mask[from_:to]
    if DECLARATION.match(text) and not text.startswith(KEYWORDS):
        equals = separators(mask, from_, to, "=")
        if len(separators(mask, from_, to, ";")) != 1 or not equals or text.startswith("constexpr"):
            raise CannotGuard("is a declaration")
        value, semicolon = trimmed(content, equals[0] + 1, to - 1)
        if begin < value or end > semicolon or mask[value] == "{":
            raise CannotGuard("is a declaration")
        bounds = [value - 1] + separators(mask, value, semicolon, ",") + [semicolon]
        for left, right in zip(bounds, bounds[1:]):
            if left < begin and end <= right:
                return (*trimmed(content, left + 1, right), "expression")
        raise CannotGuard("is a declaration of several")
    return from_, to, "statement"


def guard_of(kind, number, old, new):
    if kind == "expression":
        if not new.strip():
            raise CannotGuard("leaves no expression")
        return f"({MACRO}({number}) ? ({new}\n) : ({old}\n))"
    return f"if ({MACRO}({number})) {{ {new}\n }} else {{ {old}\n }}"


def difference(text, replacement):
    """(begin, end) of what the replacement changes of the text, by whole words."""
    least = min(len(text), len(replacement))
    begin = next((i for i in range(least) if text[i] != replacement[i]), least)
    while begin > 0 and re.match(r"\w", text[begin - 1]):
        begin -= 1
    same = next((i for i in range(least - begin) if text[-1 - i] != replacement[-1 - i]), least - begin)
    while same > 0 and re.match(r"\w", text[len(text) - same]):
        same -= 1
    return begin, len(text) - same


def region_of_edit(content, mask, begin, text, replacement):
    """The whole of the text says best what it means; where that is no statement or expression, what changes."""
    end = begin + len(text)
    try:
        region = guarded_region(content, mask, begin, end)
    except CannotGuard:
        from_, to = difference(text, replacement)
        return guarded_region(content, mask, begin + from_, begin + to)
    return min(region[0], begin), max(region[1], end), region[2]


def regions(content, edits):
    """[begin, end, kind, new text] of each place, in order, for edits [(text, replacement)] of one fault."""
    mask = masked(content)
    found = []
    for text, replacement in edits:
        begin = content.index(text)
        from_, to, kind = region_of_edit(content, mask, begin, text, replacement)
        found.append([from_, to, kind, [(begin, text, replacement)]])
    found.sort()
    merged = []
    for region in found:
        if merged and region[0] < merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], region[1])
            merged[-1][2] = merged[-1][2] if merged[-1][2] == region[2] else "statement"
            merged[-1][3] += region[3]
        else:
            merged.append(region)
    outcome = []
    for from_, to, kind, replacements in merged:
        new = content[from_:to]
        for begin, text, replacement in sorted(replacements, reverse=True):
            if begin < from_ or begin + len(text) > to:  # the rest of it stays as it is
                first, last = difference(text, replacement)
                replacement = replacement[first:len(replacement) - (len(text) - last)]
                begin, text = begin + first, text[first:last]
            new = new[:begin - from_] + replacement + new[begin + len(text) - from_:]
        outcome.append((from_, to, kind, new))
    return outcome


def apply(content, guarded):
    """The content with [(begin, end, kind, new text, number)], none of which overlap."""
    for from_, to, kind, new, number in sorted(guarded, reverse=True):
        content = content[:from_] + guard_of(kind, number, content[from_:to], new) + content[to:]
    return content
