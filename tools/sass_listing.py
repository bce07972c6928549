"""The machine code of a CUDA object: its instructions, each with the chain of functions that it was
inlined from.

Instructions are nvdisasm's; the functions come from the cubin's line table, which the compiler writes with
-lineinfo. The table is read here: NVIDIA's tools print where a line was inlined, but not the function's
name, and they lose their way in a kernel of many functions (see read_lines).

A listing is also a text, which tests use in place of an object; read_listing describes it.
"""

import os
import re
import shutil
import struct
import subprocess
import tempfile


class Instruction:
    """`chain`: the functions from the one that was compiled to the one that it stands in, each a pair of
    its name, as c++filt gives it, and its source file's name."""

    __slots__ = ("address", "predicate", "opcode", "operands", "chain")

    def __init__(self, address, predicate, opcode, operands, chain=()):
        self.address = address
        self.predicate = predicate
        self.opcode = opcode
        self.operands = operands
        self.chain = chain


class Kernel:
    """`labels` has the index of the instruction after each; `functions` the labels where one begins."""

    def __init__(self, name):
        self.name = name
        self.instructions = []
        self.labels = {}
        self.functions = []


SECTION = re.compile(r"\s*\.section\s+\.text\.([^,\s]+)")
FUNCTION = re.compile(r"\s*\.type\s+(\S+),\s*@function")
LABEL = re.compile(r"(\S+):\s*$")
INSTRUCTION = re.compile(r"\s+/\*([0-9a-f]+)\*/\s+(?:(@!?U?P\w+)\s+)?([A-Z][\w.]*)\s*(.*?)\s*;")
CHAIN = re.compile(r"\s*//\s*in\s+(.*)")


def read_listing(lines):
    """The kernels of a disassembly as `nvdisasm -c` prints it. In a test's listing, a line `// in F@FILE >
    G@FILE` gives the chain of the instructions after it."""
    kernels = []
    chain = ()
    for line in lines:
        if match := INSTRUCTION.match(line):
            kernels[-1].instructions.append(
                Instruction(int(match[1], 16), match[2], match[3], match[4], chain))
        elif match := CHAIN.match(line):
            chain = tuple(tuple(part.strip().rsplit("@", 1)) for part in match[1].split(" > "))
        elif match := SECTION.match(line):
            kernels.append(Kernel(match[1]))
            chain = ()
        elif not kernels:
            continue
        elif match := FUNCTION.match(line):
            kernels[-1].functions.append(match[1])
        elif match := LABEL.match(line):
            kernels[-1].labels[match[1]] = len(kernels[-1].instructions)
    return kernels


# ---- The line table -------------------------------------------------------------------------------------


class Elf:
    def __init__(self, data):
        self.data = data
        header = struct.unpack_from("<16sHHIQQQIHHHHHH", data)
        at, size, count, names = header[6], header[11], header[12], header[13]
        sections = [struct.unpack_from("<IIQQQQIIQQ", data, at + i * size) for i in range(count)]
        self.sections = {}
        for section in sections:
            name = text_at(data, sections[names][4] + section[0])
            self.sections[name] = data[section[4]:section[4] + section[5]] if section[1] != 8 else b""

    def symbol(self, index):
        name, = struct.unpack_from("<I", self.sections[".symtab"], 24 * index)
        return text_at(self.sections[".strtab"], name)


def text_at(data, offset):
    return data[offset:data.index(b"\0", offset)].decode()


def read_leb128(data, at, signed=False):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            break
    if signed and byte & 0x40:
        value -= 1 << shift
    return value, at


def read_lines(elf):
    """For each kernel the rows (address, file, row of the call or None, function's mangled name or ''),
    by ascending address; of those with one address the last is the instruction's.

    A line program of DWARF 2 with two instructions of NVIDIA's: a row's function and the number of the row
    that calls it. The numbers are too small, by more the later in the program: rows are left out of the
    count. But a call's row is written just before the first row of what was inlined there. So where a number
    comes for the first time, it means the row before."""
    if ".debug_line" not in elf.sections:
        raise ValueError("there is no line table: the code was compiled without -lineinfo")
    data, strings = elf.sections[".debug_line"], elf.sections[".debug_str"]
    kernel_at = {}
    for name, layout in ((".rela.debug_line", "<QQq"), (".rel.debug_line", "<QQ")):
        for offset, info, *_ in struct.iter_unpack(layout, elf.sections.get(name, b"")):
            kernel_at[offset] = elf.symbol(info >> 32)
    length, version, header_length, step, _, line_base, line_range, first_special = struct.unpack_from(
        "<IHIBBbBB", data)
    if length + 4 != len(data) or version != 2 or step != 1:
        raise ValueError("a line table of a kind that is not known")
    files = [""]
    at = 15 + first_special - 1
    while data[at]:  # folders
        at = data.index(b"\0", at) + 1
    at += 1
    while data[at]:
        files.append(text_at(data, at))
        at = data.index(b"\0", at) + 1
        for _ in range(3):
            _, at = read_leb128(data, at)

    tables = {}
    rows = calls = None
    address = call = function = 0
    file = 1

    def add_row():
        if call and call not in calls:
            calls[call] = len(rows) - 1
        name = text_at(strings, function) if function else ""
        rows.append((address, files[file], calls[call] if call else None, name))

    at = 10 + header_length
    while at < len(data):
        opcode = data[at]
        at += 1
        if opcode >= first_special:
            address += (opcode - first_special) // line_range
            add_row()
        elif opcode == 0:
            size, at = read_leb128(data, at)
            extended = data[at]
            if extended == 0x02:  # the address of a section
                rows, calls = [], {}
                tables[kernel_at[at + 1]] = rows
                address = call = function = 0
                file = 1
            elif extended == 0x90:  # inlined: the call's row, the function
                call, after = read_leb128(data, at + 1)
                function, _ = read_leb128(data, after)
            elif extended == 0x91:
                function, _ = read_leb128(data, at + 1)
            at += size
        elif opcode == 1:
            add_row()
        elif opcode == 2:
            advance, at = read_leb128(data, at)
            address += advance
        elif opcode == 3:
            _, at = read_leb128(data, at, signed=True)
        elif opcode == 4:
            file, at = read_leb128(data, at)
        elif opcode == 5:
            _, at = read_leb128(data, at)
        elif opcode == 8:
            address += (255 - first_special) // line_range
        elif opcode == 9:
            address += struct.unpack_from("<H", data, at)[0]
            at += 2
    return tables


def demangled(names, known={}):
    new = sorted(set(names) - known.keys())
    if new:
        result = subprocess.run(["c++filt"], input="\n".join(new), stdout=subprocess.PIPE, text=True, check=True)
        known.update(zip(new, result.stdout.splitlines()))
    return {name: known[name] for name in names}


def source_function(label):
    """The mangled name of the function that begins at a label: those that a kernel calls have the kernel's
    name in front."""
    return label.rsplit("$", 1)[-1] if label.startswith("$") else label


def add_chains(kernels, elf):
    tables = read_lines(elf)
    names = {name for rows in tables.values() for _, _, _, name in rows if name}
    names |= {source_function(label) for kernel in kernels for label in kernel.functions}
    plain = demangled(names)
    for kernel in kernels:
        rows = tables[kernel.name]
        outermost = None
        begins = {kernel.labels[label]: plain[source_function(label)] for label in kernel.functions}
        chains = {}
        last = -1
        for index, instruction in enumerate(kernel.instructions):
            outermost = begins.get(index, outermost)
            while last + 1 < len(rows) and rows[last + 1][0] <= instruction.address:
                last += 1
            key = (outermost, last)
            if key not in chains:
                chain = []
                row = last
                while row is not None:
                    _, file, call, name = rows[row]
                    chain.append((plain.get(name, outermost), file))
                    row = call
                chains[key] = tuple(reversed(chain))
            instruction.chain = chains[key]


# ---- The toolkit's programs ------------------------------------------------------------------------------


def run_tool(name, *arguments, **options):
    path = shutil.which(os.environ.get(name.upper()) or name)
    if not path:
        raise FileNotFoundError(f"no {name}, a program of the CUDA toolkit")
    result = subprocess.run([path, *arguments], check=True, text=True, stdout=subprocess.PIPE, **options)
    return result.stdout


def read_cubin(path):
    kernels = read_listing(run_tool("nvdisasm", "-c", path).splitlines())
    with open(path, "rb") as file:
        add_chains(kernels, Elf(file.read()))
    return kernels


def read_object(path, architecture):
    """The kernels of an object file or a library for one architecture, 90 for sm_90."""
    with tempfile.TemporaryDirectory() as folder:
        run_tool("cuobjdump", "--extract-elf", f"sm_{architecture}", os.path.abspath(path), cwd=folder)
        cubins = sorted(os.listdir(folder))
        return [kernel for name in cubins for kernel in read_cubin(os.path.join(folder, name))]
