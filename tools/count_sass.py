"""Instructions that the device code takes for each element of a row, counted in its machine code.

usage: count_sass.py show ARCHITECTURE OBJECT...
       count_sass.py check ARCHITECTURE COMPILER TABLE [--write] OBJECT...

OBJECT is an object file or a library compiled with -lineinfo, whose kernels for ARCHITECTURE (90 for sm_90)
the CUDA toolkit's cuobjdump and nvdisasm disassemble; or a listing, NAME.sass (sass_listing.py).

`show` prints the table. `check` compares it with the one in a file: it fails when a number is worse than
there, or so much better that the file is to be lowered, and when a pass is new or gone. With --write it
writes the file instead. COMPILER is the version that compiled OBJECT. Another than the table's makes other
code: then nothing is compared, and the exit status is 77, as where the toolkit lacks the two programs.

A line of the table is a pass over a row that a kernel makes, for one type of elements:

  least   instructions for an element by the shortest way, as where none is wanted: a warp's for 32, one a lane
  work    the same by the shortest way of those with the most arithmetic of f32: rows of logits, all weighed
  most    the same by the longest way
  copying what is added to that work where the row is copied into shared memory on the way, or made anew
  skip    the same where a group of elements is passed over unread; - where none is
  local   instructions of the loop that read or write local memory, a stack frame: 0 is wanted
  read    bytes of the narrowest read of the row, a lane's
  copy    those of copies into shared memory; - where the pass makes none
  write   those of other stores, where all elements are wanted; - where there are none

Where a kernel makes the pass at several places, each number is the worst of them.

How it is counted. Loops are what the jumps make one, whatever the source looks like. That of a pass is the
innermost one in which the row is read. It is named by the function that asked for the pass, which the line
table has, and by what sets it apart from others of that name: no list of names has to be kept up. The bytes
that an iteration reads make its number of elements. Counted is one way through it, of those that
read elements of the type. Functions called on the way are counted with it, inner loops of constant length as
often as they run. Left out is what is rare: inner loops of another length, which take the ends of a row and
lists of candidates one by one, the functions in RARE, and what lanes do that have come apart. Where a branch
depends on another, the longest way may be one that nothing takes.
"""

import functools
import re
import sys

import sass_listing
from kernel_resources import short_name

# The file whose functions read rows: who calls them makes the pass.
ROW_FILE = "row.cuh"
READS_ROW = re.compile(r"(read\w*|load|load_vector|load_shared|load_value|widen\w*|element|value)$")
# What stands beside the row: a list's ids, and a second row that a pass reads with the first.
READS_BESIDE = {"id", "load_id", "load_draft"}
READS_FOR = {"for_each", "for_each_run", "?"}  # passes that are named by who calls these
MAKES_ROW = "make"  # reads of a row that shared memory does not hold, which take a copy's place
WIDE = 8  # bytes of a read that takes several elements
# Functions that a loop over vectors seldom comes to, inlined or not, and when it does.
RARE = {
    "copy_edge": "at the ends of a row",
    "store_value": "there, and where the output is not aligned as the row is",
    "load_quad": "there, of two rows of which one is not aligned as the other is, and of logits and lists",
    "add_held": "when a warp's tokens crowd into another bin than before",
    "score_contenders": "when a token's random word may make it the best so far",
}
# What sets passes of one name apart: functions called, and template arguments.
WEIGHS = {"weight", "weight_of"}
ARGUMENTS = {"IdOrder": "by-id", "ResidualRow": "residual"}

TYPES = {"f32": 4, "f16": 2, "bf16": 2}
NUMBERS = ("least", "work", "most", "copying", "skip", "local")  # fewer are better
WIDTHS = ("read", "copy", "write")  # wider is better
COLUMNS = NUMBERS + WIDTHS
# A number that falls by less need not be written down.
LITTLE = 0.03
SKIPPED = 77
MOST_STATES = 1000  # of ways through a loop that read or copy other numbers of bytes


# ---- Names ------------------------------------------------------------------------------------------------


def without_brackets(text):
    """A C++ name without template arguments and parameters."""
    result, depth = [], 0
    for at, char in enumerate(text):
        if char in "<(" and text[max(0, at - 8):at] != "operator":
            depth += 1
        elif char in ">)" and depth > 0:
            depth -= 1
        elif depth == 0:
            result.append(char)
    return "".join(result)


def plain_name(demangled, cache={}):
    """`load_row` of what c++filt makes of its name; of a lambda, the function that it stands in."""
    if demangled not in cache:
        name = without_brackets(re.sub(r"\{lambda\([^{}]*\)#\d+\}", "{lambda}", demangled))
        name = name.split("::{lambda}")[0].replace(" const", "").strip()
        is_plain = not name.startswith("_Z")  # c++filt does not know all lambdas
        cache[demangled] = name.split(" ")[-1].split("::")[-1] if is_plain else "?"
    return cache[demangled]


def label_name(label, cache={}):
    if label not in cache:
        mangled = sass_listing.source_function(label)
        cache[label] = plain_name(sass_listing.demangled([mangled])[mangled])
    return cache[label]


# ---- Control flow -----------------------------------------------------------------------------------------


class Block:
    def __init__(self, instructions):
        self.instructions = instructions
        self.next = []
        self.before = []
        self.called = None  # the label of a function


JUMPS = ("BRA", "BRX", "BRXU", "CALL", "EXIT", "JMP", "JMX", "RET")
BRANCH_TARGETS = re.compile(r"BRANCH_TARGETS ([^\s\"]+)")  # a jump's by a table


class Graph:
    """The blocks of a kernel, by number, and the blocks where functions begin."""

    def __init__(self, kernel):
        instructions, labels = kernel.instructions, kernel.labels
        begins = {0} | set(labels.values())
        for index, instruction in enumerate(instructions):
            if instruction.opcode.split(".")[0] in JUMPS:
                begins.add(index + 1)
        begins = sorted(begin for begin in begins if begin < len(instructions))
        number = {begin: block for block, begin in enumerate(begins)}
        self.blocks = [Block(instructions[begin:end])
                       for begin, end in zip(begins, begins[1:] + [len(instructions)])]
        self.functions = {label: number[labels[label]] for label in kernel.functions
                          if labels.get(label) in number}
        entries = set(self.functions.values())
        for block in range(len(self.blocks)):
            self.connect(block, number, labels, entries)

    def connect(self, number, number_at, labels, entries):
        block = self.blocks[number]
        last = block.instructions[-1]
        kind = last.opcode.split(".")[0]
        target = re.search(r"`\(([^)]+)\)", last.operands)
        falls_through = True
        if kind == "BRA":
            is_conditional = last.predicate or re.match(r"!?U?P\d", last.operands)
            if last.opcode == "BRA.DIV":
                target = None  # lanes that are apart
            else:
                falls_through = bool(is_conditional)
            if target:
                block.next.append(number_at[labels[target[1]]])
        elif kind in ("EXIT", "RET"):
            falls_through = bool(last.predicate)
        elif kind == "CALL":
            block.called = target and target[1]
        elif kind == "BRX" and (targets := BRANCH_TARGETS.search(last.operands)):
            falls_through = bool(last.predicate)
            block.next += sorted({number_at[labels[label]] for label in targets[1].split(",")})
        elif kind in JUMPS:
            raise ValueError(f"{last.opcode} at {last.address:#x}: a jump that is not followed")
        after = number + 1
        if falls_through and after < len(self.blocks) and after not in entries:
            block.next.append(after)
        for other in block.next:
            self.blocks[other].before.append(number)

    def after(self, loop):
        """The blocks to which it leads."""
        return {other for number in loop.blocks for other in self.blocks[number].next} - loop.blocks

    def instructions_of(self, loop):
        return [i for number in sorted(loop.blocks) for i in self.blocks[number].instructions]

    def order_from(self, root):
        """What is reached, each block before those after it but for jumps back."""
        seen, order = {root}, []
        stack = [(root, iter(self.blocks[root].next))]
        while stack:
            block, following = stack[-1]
            for other in following:
                if other not in seen:
                    seen.add(other)
                    stack.append((other, iter(self.blocks[other].next)))
                    break
            else:
                order.append(block)
                stack.pop()
        return order[::-1]

    def loops_from(self, root):
        """The natural loops of a function, each its first block and all of its blocks."""
        order = self.order_from(root)
        place = {block: index for index, block in enumerate(order)}
        dominator = {root: root}
        changed = True
        while changed:
            changed = False
            for block in order[1:]:
                common = None
                for other in self.blocks[block].before:
                    if other not in dominator:
                        continue
                    if common is None:
                        common = other
                        continue
                    while other != common:
                        while place[other] > place[common]:
                            other = dominator[other]
                        while place[common] > place[other]:
                            common = dominator[common]
                if dominator.get(block) != common:
                    dominator[block] = common
                    changed = True

        def dominates(first, block):
            while block != first and block != root:
                block = dominator[block]
            return block == first

        loops = {}
        for block in order:
            for first in self.blocks[block].next:
                if place[first] > place[block]:
                    continue
                if not dominates(first, block):
                    raise ValueError(f"a loop with two entries at "
                                     f"{self.blocks[first].instructions[0].address:#x}")
                body = loops.setdefault(first, {first})
                stack = [block]
                while stack:
                    inner = stack.pop()
                    if inner not in body:
                        body.add(inner)
                        stack += [other for other in self.blocks[inner].before if other in place]
        return [Loop(first, body) for first, body in loops.items()], order

    def constant_length(self, loop):
        """How often the loop runs, where a counter that rises by a constant is compared with one; else
        None."""
        latches = [number for number in loop.blocks if loop.first in self.blocks[number].next]
        jump = self.blocks[latches[0]].instructions[-1]
        if len(latches) != 1 or not jump.predicate:
            return None
        setters = self.last_to_set(jump.predicate.lstrip("@!"), latches[0], loop)
        if len(setters) != 1 or not setters[0].opcode.startswith("ISETP."):
            return None
        match = re.match(r"P\d, PT, (R\d+), (0x[0-9a-f]+), PT$", setters[0].operands)
        step = match and self.step_of(loop, match[1])
        if not step or int(match[2], 16) % step != 0:
            return None
        return int(match[2], 16) // step

    def last_to_set(self, predicate, number, loop):
        """The instructions of a loop that may have set a predicate at the end of a block."""
        sets = re.compile(rf"(\w+, ){{0,2}}{predicate}\b")
        setters, seen, stack = [], {number}, [number]
        while stack:
            block = self.blocks[stack.pop()]
            found = next((i for i in reversed(block.instructions) if sets.match(i.operands)), None)
            if found:
                setters.append(found)
                continue
            before = [other for other in block.before if other in loop.blocks and other not in seen]
            seen.update(before)
            stack += before
        return setters

    def step_of(self, loop, register):
        for number in loop.blocks:
            for instruction in self.blocks[number].instructions:
                match = re.match(rf"{register}, {register}, (0x[0-9a-f]+)(, RZ)?$", instruction.operands)
                if match and instruction.opcode in ("VIADD", "IADD3"):
                    return int(match[1], 16)
        return None


class Loop:
    def __init__(self, first, blocks):
        self.first = first
        self.blocks = blocks


# ---- What an instruction does -----------------------------------------------------------------------------


def width_of(opcode):
    """Bytes that a lane moves."""
    match = re.search(r"\.(?:U|S)?(8|16|32|64|128)\b", opcode.replace(".E.", "."))
    return int(match[1]) // 8 if match else 4


def is_load(instruction):
    return instruction.opcode.split(".")[0] in ("LD", "LDS", "LDG")


@functools.lru_cache(maxsize=None)
def reads_row(instruction):
    if not is_load(instruction):
        return False
    # Only the innermost functions: a pass may have such a name too, and does more than read.
    names = {plain_name(name) for name, _ in instruction.chain[-2:]}
    return (any(file == ROW_FILE for _, file in instruction.chain)
            and any(map(READS_ROW.match, names)) and not names & READS_BESIDE
            and not makes_row(instruction))


@functools.lru_cache(maxsize=None)
def makes_row(instruction):
    return is_load(instruction) and any(plain_name(name) == MAKES_ROW for name, _ in instruction.chain)


@functools.lru_cache(maxsize=None)
def is_exception(instruction):
    """Takes one element, in a loop over vectors."""
    return (reads_row(instruction) and width_of(instruction.opcode) < WIDE or
            any(plain_name(name) in RARE for name, _ in instruction.chain))


@functools.lru_cache(maxsize=None)
def is_copy(instruction):
    if makes_row(instruction):
        return (plain_name(instruction.chain[-1][0]) == "load_vector"
                and not any(plain_name(name) in READS_BESIDE for name, _ in instruction.chain))
    return instruction.opcode.startswith("LDGSTS")


def is_store(instruction):
    return instruction.opcode.split(".")[0] in ("ST", "STG")


def is_local(instruction):
    return instruction.opcode.split(".")[0] in ("LDL", "STL")


OF_ONE_TYPE = re.compile(r"\(sampler_dtype\)(\d)")
ENUMERATED = ("f32", "f16", "bf16")  # as sampler_dtype has them

ARITHMETIC = ("FADD", "FFMA", "FMUL", "MUFU")
HALF_ARITHMETIC = ("HADD2", "HMNMX2", "HSET2", "HSETP2")


@functools.lru_cache(maxsize=None)
def types_of(instruction):
    """The types of the rows that can have this instruction. It is told by the functions that are made for one
    type, and by what reads and widens elements; all else serves all."""
    operation = instruction.opcode.split(".")[0]
    for name, _ in reversed(instruction.chain):
        if match := OF_ONE_TYPE.search(name):
            return {ENUMERATED[int(match[1])]}
        if "ResidualRow" in name and plain_name(name) == "read":
            return {"f32"}  # whatever it is made of
    if operation in HALF_ARITHMETIC:
        return {"bf16"} if "BF16" in instruction.opcode else {"f16"}
    if reads_row(instruction):
        width = width_of(instruction.opcode)
        if width <= 4:
            return {"f32"} if width == 4 else {"f16", "bf16"}
        names = " ".join(name for name, _ in instruction.chain[-2:])
        if "Vector16" in names:
            return {"f16", "bf16"}
        if "Vector32" in names:
            return {"f32"}
    last = plain_name(instruction.chain[-1][0]) if instruction.chain else ""
    if last.startswith("widen") and re.search(r", (0x10000|0x10|0xffff0000)\b", instruction.operands):
        return {"f16"} if last.startswith("widen_f16") else {"bf16"}
    return set(TYPES)


# ---- Counting ---------------------------------------------------------------------------------------------


class Way:
    """What one way through some blocks does."""

    def __init__(self, cost=(0, 0, 0, 0, 0), blocks=()):
        # Less is better: fewer parts that are rare, fewer instructions of other types, more of this one, more
        # arithmetic where that is wanted, and fewer instructions, or more.
        self.cost = cost
        self.blocks = blocks  # a linked list of (block or (Way, times), rest)

    def then(self, cost, item):
        return Way(tuple(a + b for a, b in zip(self.cost, cost)), (item, self.blocks))

    def length(self):
        return sum(times for _, times in self.instructions())

    def instructions(self):
        """Each instruction, and how often it runs."""
        rest = self.blocks
        while rest:
            item, rest = rest
            if isinstance(item, Block):
                yield from ((instruction, 1) for instruction in item.instructions)
            else:
                way, times = item
                yield from ((instruction, times * count) for instruction, count in way.instructions())


@functools.lru_cache(maxsize=None)
def block_work(block, element):
    """Instructions that rows of the type cannot have, that not all types have, and of arithmetic; and whether any
    is an exception."""
    wrong = right = arithmetic = 0
    for instruction in block.instructions:
        types = types_of(instruction)
        if element not in types:
            wrong += not instruction.predicate  # else it stands beside those of other types
        elif len(types) < len(TYPES):
            right += 1
        arithmetic += instruction.opcode.split(".")[0] in ARITHMETIC
    return wrong, right, arithmetic, any(map(is_exception, block.instructions))


class Counter:
    """Ways through the loops of a kernel, for elements of one type: "least", "work" or "most"."""

    def __init__(self, graph, element, least_width, wanted):
        self.graph = graph
        self.element = element
        self.least_width = least_width  # bytes of a read that counts
        self.wanted = wanted
        self.of_function = {}
        self.bytes_of_block = {}
        self.rare = set()

    def block_cost(self, number):
        block = self.graph.blocks[number]
        wrong, right, arithmetic, has_exception = block_work(block, self.element)
        is_rare = (number in self.rare or self.least_width == WIDE and has_exception
                   or block.called in self.graph.functions and label_name(block.called) in RARE)
        length = len(block.instructions)
        return (int(is_rare), wrong, -right, -arithmetic if self.wanted == "work" else 0,
                -length if self.wanted == "most" else length)

    def bytes_of(self, instructions):
        """What these read and copy of elements of the type."""
        read = sum(times * width_of(i.opcode) for i, times in instructions
                   if reads_row(i) and self.element in types_of(i)
                   and width_of(i.opcode) >= self.least_width)
        return read, sum(times * width_of(i.opcode) for i, times in self.copies(instructions))

    def copies(self, instructions):
        """Copies of two widths stand side by side, each for the types of one size."""
        copies = [(i, times) for i, times in instructions if is_copy(i)]
        choose = max if TYPES[self.element] == 4 else min
        width = choose((width_of(i.opcode) for i, _ in copies), default=0)
        return [(i, times) for i, times in copies if width_of(i.opcode) == width]

    def stages_of(self, number):
        """What a block adds to a way, one part after the other: of each, what it may cost, the part, and the
        bytes that it reads and copies."""
        block = self.graph.blocks[number]
        if block not in self.bytes_of_block:
            self.bytes_of_block[block] = self.bytes_of([(i, 1) for i in block.instructions])
        yield [(self.block_cost(number), block, self.bytes_of_block[block])]
        if block.called in self.graph.functions:
            yield [(way.cost, (way, 1), state) for state, way in self.function_ways(block.called).items()]

    def function_ways(self, label):
        if label not in self.of_function:
            self.of_function[label] = {(0, 0): Way()}  # where it calls itself
            first = self.graph.functions[label]
            loops, order = self.graph.loops_from(first)
            ways = self.ways(first, set(order), loops, lambda block: not block.next)
            if ways:
                self.of_function[label] = ways
        return self.of_function[label]

    def ways(self, first, blocks, loops, is_end):
        """By the bytes that they read and copy, the best ways from the first of these blocks to one where
        `is_end`, that block too."""
        inner = [loop for loop in loops if loop.first != first and loop.blocks < blocks]
        outermost = [loop for loop in inner
                     if not any(loop.blocks < other.blocks for other in inner)]
        loop_at = {loop.first: loop for loop in outermost}
        for loop in outermost:
            if not self.graph.constant_length(loop):
                self.find_way_to(loop)
        reached = {first: {(0, 0): Way()}}
        ends = {}
        for block in self.order(first, blocks, loop_at):
            if block in loop_at:
                loop = loop_at[block]
                stages = [self.rounds_of(loop, loops)]
                after = self.graph.after(loop)
            else:
                stages = list(self.stages_of(block))
                after = self.graph.blocks[block].next
            ways = reached.get(block, {})
            for choices in stages:
                before, ways = ways, {}
                for state, way in before.items():
                    for cost, item, (read, copied) in choices:
                        keep_better(ways, (state[0] + read, state[1] + copied), way.then(cost, item))
            if len(ways) > MOST_STATES:
                raise ValueError(f"more ways than can be told apart by their bytes at "
                                 f"{self.graph.blocks[block].instructions[0].address:#x}")
            if self.ends(block, loop_at, is_end):
                for state, way in ways.items():
                    keep_better(ends, state, way)
            for other in after:
                if other in blocks and other != first:
                    for state, way in ways.items():
                        keep_better(reached.setdefault(other, {}), state, way)
        return ends

    def find_way_to(self, loop):
        """Blocks that lead to a loop of no constant length, or past it, and nowhere else are rare as it
        is."""
        after = self.graph.after(loop)
        leading = {loop.first}
        stack = [loop.first]
        while stack:
            for number in self.graph.blocks[stack.pop()].before:
                block = self.graph.blocks[number]
                if (number not in leading and number not in loop.blocks
                        and set(block.next) <= leading | after
                        and not any(reads_row(i) for i in block.instructions)):
                    leading.add(number)
                    stack.append(number)
        self.rare |= leading - {loop.first}

    def rounds_of(self, loop, loops):
        """An inner loop as a stage."""
        times = self.graph.constant_length(loop)
        choices = []
        for (read, copied), way in self.loop_ways(loop, loops).items():
            cost = tuple((times or 1) * part for part in way.cost)
            choices.append(((cost[0] + (not times),) + cost[1:], (way, times or 1),
                            ((times or 1) * read, (times or 1) * copied)))
        return choices

    def ends(self, number, loop_at, is_end):
        blocks = loop_at[number].blocks if number in loop_at else {number}
        return any(is_end(self.graph.blocks[block]) for block in blocks)

    def order(self, first, blocks, loop_at):
        """Each block before those that follow it, inner loops as one."""
        seen, order = {first}, []

        def following(number):
            after = (self.graph.after(loop_at[number]) if number in loop_at
                     else self.graph.blocks[number].next)
            return iter([other for other in after if other in blocks and other != first])

        stack = [(first, following(first))]
        while stack:
            number, rest = stack[-1]
            for other in rest:
                if other not in seen:
                    seen.add(other)
                    stack.append((other, following(other)))
                    break
            else:
                order.append(number)
                stack.pop()
        return order[::-1]

    def loop_ways(self, loop, loops):
        return self.ways(loop.first, loop.blocks, loops,
                         lambda block: self.graph.blocks[loop.first] in
                         [self.graph.blocks[other] for other in block.next])


def keep_better(ways, state, way):
    if state not in ways or way.cost < ways[state].cost:
        ways[state] = way


def caller_of(chain):
    """Who called the first function that reads rows, not counting what does it for several."""
    first = next(at for at, (_, file) in enumerate(chain) if file == ROW_FILE)
    callers = [name for name, _ in chain[:max(first, 1)]]
    while len(callers) > 1 and plain_name(callers[-1]) in READS_FOR:
        callers.pop()
    return callers[-1]


def pass_name(instructions):
    reads = [i for i in instructions if reads_row(i)]
    # Where a function that the loop calls reads the row, whatever else is of its file.
    inside = reads or [i for i in instructions if any(file == ROW_FILE for _, file in i.chain)]
    caller = max(caller_of(i.chain) for i in inside)
    parts = [plain_name(caller)]
    parts += [name for argument, name in ARGUMENTS.items() if argument in caller]
    if any(plain_name(function) in WEIGHS for i in instructions for function, _ in i.chain):
        parts.append("weights")
    if reads and not any(width_of(i.opcode) >= WIDE for i in reads):
        parts.append("one-by-one")
    return ",".join(parts)


def hot_loops(graph, loops):
    """The innermost loops that read several elements at once, and those that read single ones and are in
    none of these; and how many bytes a read has at least. One of constant length is part of that around it."""
    def reads(loop, least_width):
        for number in loop.blocks:
            block = graph.blocks[number]
            instructions = list(block.instructions)
            if block.called in graph.functions and READS_ROW.match(label_name(block.called)):
                for other in graph.order_from(graph.functions[block.called]):
                    instructions += graph.blocks[other].instructions
            if any(reads_row(i) and width_of(i.opcode) >= least_width for i in instructions):
                return True
        return False

    def innermost(some):
        return [loop for loop in some if not any(other.blocks < loop.blocks for other in some)]

    loops = [loop for loop in loops if not graph.constant_length(loop)]
    wide = innermost([loop for loop in loops if reads(loop, WIDE)])
    narrow = innermost([loop for loop in loops if reads(loop, 1)])
    return [(loop, WIDE) for loop in wide] + [
        (loop, 1) for loop in narrow if not any(loop.blocks <= other.blocks for other in wide)]


def of_type(ways, element, is_mixed):
    """Those that read elements of the type, and of these the ones with the least that is rare."""
    ways = {state: way for state, way in ways.items() if state[0] > 0}
    if is_mixed:
        least_wrong = min((way.cost[1] for way in ways.values()), default=0)
    else:
        least_wrong = 0
        if element != "f32":  # which nothing tells from others but what they have and it has not
            ways = {state: way for state, way in ways.items() if way.cost[2] < 0}
    ways = {state: way for state, way in ways.items() if way.cost[1] == least_wrong}
    least_rare = min((way.cost[0] for way in ways.values()), default=0)
    return {state: way for state, way in ways.items() if way.cost[0] == least_rare}


def count_loop(loop, loops, counters, is_mixed=False):
    """The numbers of a hot loop for the counters' type, or None if it is not for that type. `is_mixed`: it is
    for no type alone, as where a row is made of two."""
    element = counters["work"].element
    size = TYPES[element]
    ways = {wanted: of_type(counter.loop_ways(loop, loops), element, is_mixed)
            for wanted, counter in counters.items()}
    if not ways["work"]:
        return None
    # Ways that read more and less than each other are for types of other sizes.
    read = (max if size == 4 else min)(read for read, _ in ways["work"])
    by_copied = {wanted: {copied: way for (other, copied), way in some.items() if other == read}
                 for wanted, some in ways.items()}
    resident = {wanted: some[min(some)] for wanted, some in by_copied.items()}
    work = resident["work"]
    copied = min(by_copied["work"], key=lambda copied: (copied == 0, abs(copied - read)))
    copying = by_copied["work"][copied]
    skips = [way.length() for state, way in counters["least"].loop_ways(loop, loops).items()
             if state[0] == 0 and way.cost[:2] == (0, 0)]
    elements = read // size
    own = [i for i, _ in work.instructions() if element in types_of(i)]
    return {
        "least": resident["least"].length() / elements,
        "work": work.length() / elements,
        "most": resident["most"].length() / elements,
        "copying": (copying.length() - work.length()) / elements,
        "skip": min(skips) / elements if skips else None,
        "local": sum(map(is_local, counters["work"].graph.instructions_of(loop))),
        "read": narrowest(own, reads_row),
        "copy": narrowest([i for i, _ in counters["work"].copies(list(copying.instructions()))], is_copy),
        "write": narrowest([i for i, _ in resident["most"].instructions()], is_store),
    }


def narrowest(instructions, is_wanted):
    return min((width_of(i.opcode) for i in instructions if is_wanted(i)), default=None)


def worst(a, b):
    """The worse of the numbers of two loops."""
    result = {}
    for column in COLUMNS:
        known = [numbers[column] for numbers in (a, b) if numbers[column] is not None]
        choose = max if column in NUMBERS else min
        result[column] = choose(known) if known else None
    return result


def count(kernels):
    """The table: the numbers of each (kernel, pass, type)."""
    table = {}
    called = set()
    for kernel in kernels:
        graph = Graph(kernel)
        called |= {label_name(label) for label in graph.functions}
        called |= {plain_name(name) for i in kernel.instructions for name, _ in i.chain}
        counters = {(element, width): {wanted: Counter(graph, element, width, wanted)
                                       for wanted in ("least", "work", "most")}
                    for element in TYPES for width in (1, WIDE)}
        for first in graph.functions.values():
            loops, _ = graph.loops_from(first)
            for loop, width in hot_loops(graph, loops):
                name = pass_name(graph.instructions_of(loop))
                counted = {element: count_loop(loop, loops, counters[element, width])
                           for element in TYPES}
                if not any(counted.values()):
                    counted["f32"] = count_loop(loop, loops, counters["f32", width], is_mixed=True)
                if not any(counted.values()):
                    raise ValueError(f"{name} of {kernel.name}: no way through the loop reads the row")
                for element, numbers in counted.items():
                    if numbers:
                        key = (short_name(kernel.name), name, element)
                        table[key] = worst(table.get(key, numbers), numbers)
    for name in sorted(set(RARE) - called):
        raise ValueError(f"{name} is to be left out as rare, but no kernel has it")
    return table


# ---- The table --------------------------------------------------------------------------------------------


def shown(column, number):
    if number is None:
        return "-"
    return f"{number:.0f}" if column in WIDTHS or column == "local" else f"{number:.1f}"


def write_table(table, file):
    width = max(len(name) for _, name, _ in table) + 2
    print(f"{'kernel':<15}{'pass':<{width}}{'type':<5}" + "".join(f"{c:>8}" for c in COLUMNS), file=file)
    order = list(TYPES)
    for kernel, name, element in sorted(table, key=lambda key: (key[0], key[1], order.index(key[2]))):
        numbers = table[kernel, name, element]
        print(f"{kernel:<15}{name:<{width}}{element:<5}"
              + "".join(f"{shown(c, numbers[c]):>8}" for c in COLUMNS), file=file)


def read_table(path):
    """The compiler's version, and the table."""
    table = {}
    with open(path) as file:
        lines = [line.split() for line in file if line.strip()]
    compiler = next(line[-1] for line in lines if line[0] == "#" and line[1] == "compiler")
    for line in lines:
        if line[0] in ("#", "kernel"):
            continue
        numbers = [None if text == "-" else float(text) for text in line[3:]]
        table[tuple(line[:3])] = dict(zip(COLUMNS, numbers))
    return compiler, table


def compare(now, then):
    """What is worse, and what is better by more than a little."""
    faults = []
    for key in sorted(now.keys() | then.keys()):
        name = " ".join(key)
        if key not in then:
            faults.append(f"{name}: a new pass")
            continue
        if key not in now:
            faults.append(f"{name}: there is no such pass any more")
            continue
        for column in COLUMNS:
            text, is_number = shown(column, now[key][column]), column in NUMBERS
            number = None if text == "-" else float(text)
            before = then[key][column]
            if number == before:
                continue
            change = f"{name}: {column} was {shown(column, before)} and is {text}"
            if before is None or number is None:
                faults.append(change)
            elif (number > before) == is_number:
                faults.append(change + ", which is worse")
            elif not is_number or number < before - max(LITTLE * before, 0.1):
                faults.append(change + ": write the table")
    return faults


def write(path, table, architecture, compiler):
    with open(path, "w") as file:
        print("# Instructions for an element, and widths in bytes, of every pass over a row that a kernel\n"
              "# makes, counted in the machine code: tools/count_sass.py says how, and writes this file.\n"
              f"# architecture sm_{architecture}\n"
              f"# compiler {compiler}\n", file=file)
        write_table(table, file)


def read_kernels(paths, architecture):
    kernels = []
    for path in paths:
        if path.endswith(".sass"):
            with open(path) as file:
                kernels += sass_listing.read_listing(file)
        else:
            kernels += sass_listing.read_object(path, architecture)
    return kernels


def check(architecture, compiler, table_path, paths, writes):
    compiler = ".".join(compiler.split(".")[:2])
    if not writes:
        expected_compiler, expected = read_table(table_path)
        if expected_compiler != compiler:
            print(f"skipped: {table_path} is of compiler {expected_compiler}, this is {compiler}")
            return SKIPPED
    try:
        kernels = read_kernels(paths, architecture)
    except FileNotFoundError as error:
        print(f"skipped: {error}")
        return SKIPPED
    table = count(kernels)
    if writes:
        write(table_path, table, architecture, compiler)
        return 0
    write_table(table, sys.stdout)
    faults = compare(table, expected)
    for fault in faults:
        print(fault)
    if faults:
        print(f"where that is as it should be: {' '.join([*sys.argv[:5], '--write', *paths])}")
    return 1 if faults else 0


def main(arguments):
    if len(arguments) >= 3 and arguments[0] == "show":
        write_table(count(read_kernels(arguments[2:], arguments[1])), sys.stdout)
        return 0
    if len(arguments) >= 5 and arguments[0] == "check":
        writes = arguments[4] == "--write"
        paths = arguments[5:] if writes else arguments[4:]
        if paths:
            return check(*arguments[1:4], paths, writes)
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
