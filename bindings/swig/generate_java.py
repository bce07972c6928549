#!/usr/bin/env python3
"""Makes the argument classes of the Java binding from the public headers.

usage: generate_java.py INCLUDE_DIR OUTPUT_DIR

Writes, into OUTPUT_DIR laid out like the folder bindings:
  java/src/main/generated/io/github/libsampler/*Args.java   a class for each operation
  swig/java_interface.i   a number by which a jar and a native library tell that they fit together
A member that DOCS does not know ends it with an error.
"""

import re
import sys
import textwrap
import zlib

import generate
from generate import LINE_WIDTH, NOTE, camel, wrapped

NOTE_OF_THIS = NOTE.replace("generate.py", "generate_java.py")
FOLDER = "java/src/main/generated/io/github/libsampler"

# ---- What the members are -----------------------------------------------------------------------

ENUMS = {
    "input_dtype": "Dtype", "output_dtype": "Dtype", "target_dtype": "Dtype",
    "draft_dtype": "Dtype",
    "input_kind": "InputKind", "target_kind": "InputKind", "draft_kind": "InputKind",
    "candidate_id_type": "IdType", "token_id_type": "IdType",
    "top_k_ties": "TieRule", "top_p_ties": "TieRule", "filter_order": "FilterOrder",
    "temperature_order": "TemperatureOrder", "draw_method": "DrawMethod",
    "logprob_kind": "LogprobKind",
}
FIRST_CONSTANTS = {
    "Dtype": "F32", "InputKind": "LOGITS", "IdType": "I32", "TieRule": "EXACT",
    "FilterOrder": "SEQUENTIAL", "TemperatureOrder": "FIRST", "DrawMethod": "INVERSE_CDF",
    "LogprobKind": "RAW",
}
FLAGS = {"accumulate_counts"}

# The member that tells the type of an array's elements.
TYPE_MEMBERS = {
    "input": "input_dtype", "target": "target_dtype", "draft": "draft_dtype",
    "output": "output_dtype", "out_values": "output_dtype",
    "candidate_ids": "candidate_id_type", "target_candidate_ids": "candidate_id_type",
    "draft_candidate_ids": "candidate_id_type",
    "out_token_ids": "token_id_type", "draft_token_ids": "token_id_type",
}
ARRAYS_BY_TYPE = {"Dtype": ["float", "short"], "IdType": ["int", "long"],
                  "f32": ["float"], "i32": ["int"], "u32": ["int"], "u64": ["long"]}

# What a CUDA sampler with hostParameters takes from host memory.
PARAMETERS = {"temperatures", "top_ks", "top_ps", "min_ps", "seeds", "offsets"}

# Elements of the arrays that have not one for each output row. Names are members', or locals_of's.
LENGTHS = {
    "input": "inputLength", "candidate_ids": "inputLength", "candidate_counts": "inputRows",
    "seeds": "numSeeds", "offsets": "numOffsets",
    "output": "Lengths.rows(numRows, numCols, outputStride)",
    "target": "targetLength", "target_candidate_ids": "targetLength",
    "target_candidate_counts": "targetPositions",
    "draft": "draftLength", "draft_candidate_ids": "draftLength",
    "draft_candidate_counts": "draftPositions", "draft_token_ids": "draftPositions",
    ("chain_speculative", "out_token_ids"): "targetPositions",
    ("top_k_select", "out_token_ids"): "Lengths.product(numRows, numSelected)",
    ("top_k_select", "out_values"): "Lengths.product(numRows, numSelected)",
    ("residual", "target"): "Lengths.rows(numRows, numCols, targetRowStride)",
    ("residual", "draft"): "Lengths.rows(numRows, numCols, draftRowStride)",
    ("residual", "draft_token_ids"): "numRows",
}


def locals_of(names):
    """What LENGTHS need beside members: a name and its value."""
    if "input" in names:
        gathers = "num_input_rows" in names
        yield "inputRows", "numInputRows == 0 ? numRows : numInputRows" if gathers else "numRows"
        yield "inputLength", "Lengths.rows(inputRows, numCols, rowStride)"
    for model, positions in (("target", "numDrafts + 1"), ("draft", "numDrafts")):
        if f"{model}_position_stride" in names:
            yield f"{model}Positions", f"Lengths.product(numRows, {positions})"
            yield f"{model}Length", (f"Lengths.positions(numRows, {positions}, numCols, "
                                     f"{model}RowStride, {model}PositionStride)")


# ---- What is said of them -----------------------------------------------------------------------

CLASSES = {
    "sample": "draws one token per row from what top-k, top-p and min-p keep of it",
    "top_k_top_p": "draws one token per row from the {@code topK} most likely tokens whose "
                   "probability reaches {@code topP}",
    "top_k": "draws one token per row from the {@code topK} most likely tokens",
    "top_p": "draws one token per row from the nucleus, the likeliest tokens whose probability "
             "reaches {@code topP}",
    "min_p": "draws one token per row from those at least {@code minP} times as likely as the "
             "likeliest",
    "argmax": "gives the first token of each row in rank order: the largest value, the lowest id "
              "among equals",
    "softmax": "writes the probabilities of each row of logits at the temperature",
    "top_k_renorm": "writes each row's probabilities with all but the {@code topK} largest set to "
                    "0, renormalised",
    "top_p_renorm": "writes each row's probabilities with all outside the nucleus set to 0, "
                    "renormalised",
    "top_k_mask": "writes each row of logits with all but the {@code topK} largest set to -inf",
    "top_k_select": "writes the first {@code numSelected} tokens of each row in rank order, values "
                    "and ids",
    "chain_speculative": "verifies each row's chain of draft tokens and emits between 1 and "
                         "{@code numDrafts + 1} tokens",
    "residual": "writes what a token is drawn from after a rejection: max(p - q, 0) of each row of "
                "the target, p, and the draft, q, renormalised, or p where that is 0 everywhere",
}

PER_ROW = "[numRows] one for each output row, instead of the single value"
DTYPE = "{@link Dtype#F32} by default"
FIRST = "the first constant by default"

# For each member: a sentence, and what stands at its parameter.
DOCS = {
    "stream": ("Sets where the work is enqueued. A CPU sampler ignores it.",
               "a cudaStream_t as a number; 0 is the legacy default stream"),
    "input": ("Sets the logits or probabilities, one row {@code rowStride} elements after the "
              "other. Never written.", "[number of input rows, numCols]"),
    "num_rows": ("Sets how many rows of output there are.",
                 "in [0, 2^31); with 0 the call does nothing"),
    "num_cols": ("Sets the columns of the input: the vocabulary, or the room for candidates.",
                 "in [1, 2^20)"),
    "row_stride": ("Sets the distance of two input rows.",
                   "in elements, at least numCols; 0, the default: numCols"),
    "input_dtype": ("Sets the element type of the input.", DTYPE),
    "input_kind": ("Sets the meaning of the input.",
                   "{@link InputKind#LOGITS} by default, of the renorm operations "
                   "{@link InputKind#PROBABILITIES}"),
    "row_indices": ("Sets the input row that each output row draws from. Without, output row i "
                    "draws from input row i.",
                    "[numRows] in [0, numInputRows); any other value makes the output row bad"),
    "num_input_rows": ("Sets the rows of the input. Without rowIndices it must be 0 or numRows.",
                       "in [0, 2^31); 0, the default: numRows"),
    "candidate_ids": ("Sets the token ids of the input's elements, for candidate lists. Without, "
                      "an element's id is its column.",
                      "laid out like the input: in [0, 2^20), in any order, none twice in a row"),
    "candidate_counts": ("Sets how many elements of each row there are; needs candidateIds. "
                         "Without: numCols.", "[number of input rows] in [0, numCols]"),
    "candidate_id_type": ("Sets the type of all candidate ids.", "{@link IdType#I32} by default"),
    "token_id_type": ("Sets the type of the token ids that are written, and of draft tokens.",
                      "{@link IdType#I32} by default"),
    "temperature": ("Sets what logits are divided by. At most 1e-5, 0 and negative ones too: "
                    "greedy. Probabilities are taken as they are: there it must be 1, or at most "
                    "1e-5.",
                    "not NaN; above 2^64: 2^64; 1 by default"),
    "top_k": ("Keeps the first {@code topK} tokens in rank order.",
              "0, the default, and less, or numCols and more: off"),
    "top_p": ("Keeps the shortest prefix of rank order whose probability, relative to what the "
              "filter sees, is at least {@code topP}.",
              "not NaN; 1, the default, and more: off; 0 and less: one token"),
    "min_p": ("Keeps the tokens at least {@code minP} times as likely as the likeliest one.",
              "not NaN; 0, the default, and less: off; above 1: 1"),
    "temperatures": ("Sets the temperature of each row.", PER_ROW),
    "top_ks": ("Sets the topK of each row.", PER_ROW),
    "top_ps": ("Sets the topP of each row.", PER_ROW),
    "min_ps": ("Sets the minP of each row.", PER_ROW),
    "top_k_ties": ("Sets what top-k does with tokens that equal the last kept one.", FIRST),
    "top_p_ties": ("Sets what top-p does with tokens that equal the last kept one.", FIRST),
    "filter_order": ("Sets which filter sees what.", FIRST),
    "temperature_order": ("Sets whether the filters see the row at the temperature.", FIRST),
    "draw_method": ("Sets how a token is drawn from what the filters kept.", FIRST),
    "logprob_kind": ("Sets of which distribution outLogprobs is.", FIRST),
    "seed": ("Sets the seed of the randomness. Use each pair of seed and offset once: a sequence "
             "takes a seed, and its position as the offset.", "64 bits, taken as unsigned"),
    "offset": ("Sets the offset of the randomness, another at every step.",
               "64 bits, taken as unsigned"),
    "seeds": ("Sets seeds instead of the single one: one for all rows, or one for each, by which a "
              "row's token no longer depends on its place in the batch. Set numSeeds too.",
              "[numSeeds] 64 bits each, taken as unsigned"),
    "offsets": ("Sets offsets instead of the single one: one for all rows, or one for each. Set "
                "numOffsets too.", "[numOffsets] 64 bits each, taken as unsigned"),
    "num_seeds": ("Sets how many seeds there are.", "1 or numRows; 0, the default, without seeds"),
    "num_offsets": ("Sets how many offsets there are.",
                    "1 or numRows; 0, the default, without offsets"),
    "out_token_ids": ("Sets where the tokens go: column numbers, or candidate ids; -1 or the "
                      "sampler's fallback token for a bad row. Required.", "[numRows]"),
    "out_kept_counts": ("Sets where it is told how many tokens the filters kept; 1 for a greedy "
                        "row, 0 for a bad one.", "[numRows]; null: not wanted"),
    "out_logprobs": ("Sets where the natural logarithm of the drawn token's probability goes; NaN "
                     "for a bad row.", "[numRows]; null: not wanted"),
    "out_row_status": ("Sets where the bits of {@link RowStatus} go.",
                       "[numRows]; null: not wanted"),
    ("argmax", "out_values"): ("Sets where the value of each token goes; NaN for a bad row.",
                               "[numRows]; null: not wanted"),
    "output_dtype": ("Sets the element type of the values that are written.",
                     "{@link Dtype#F32}, the default, or the input's"),
    "output": ("Sets where the rows go, {@code outputStride} elements apart. Required.",
               "[numRows, numCols]"),
    "output_stride": ("Sets the distance of two output rows.",
                      "in elements, at least numCols; 0, the default: numCols"),
    "num_selected": ("Sets how many tokens a row yields at most: columns of the outputs.",
                     "in [1, numCols]"),
    ("top_k_select", "top_ks"): ("Sets how many tokens each row yields.",
                                 "[numRows] 0 and less, or numSelected and more: numSelected"),
    ("top_k_select", "out_values"): (
        "Sets where the values go, in rank order; -inf, or probability 0, behind a row's last.",
        "[numRows, numSelected]; null: not wanted"),
    ("top_k_select", "out_token_ids"): (
        "Sets where the ids go, in rank order; -1 behind a row's last.",
        "[numRows, numSelected]; null: not wanted"),
    "out_counts": ("Sets where it is told how many tokens each row yielded; 0 for a bad row.",
                   "[numRows]; null: not wanted"),
    "target": ("Sets the target's row at each draft position, and the one behind the last.",
               "[numRows, numDrafts + 1, numCols]"),
    "num_drafts": ("Sets how many drafts a row has at most.", "in [0, 65535]"),
    "target_row_stride": ("Sets the distance of the target of two rows.",
                          "in elements; 0, the default: contiguous"),
    "target_position_stride": ("Sets the distance of the target of two positions.",
                               "in elements, at least numCols; 0, the default: numCols"),
    "target_dtype": ("Sets the element type of the target.", DTYPE),
    "target_kind": ("Sets the meaning of the target.", "{@link InputKind#LOGITS} by default"),
    "draft": ("Sets the rows that the drafts were drawn from. Without, the drafter was "
              "deterministic: its draft has probability 1.", "[numRows, numDrafts, numCols]"),
    "draft_row_stride": ("Sets the distance of the draft of two rows.",
                         "in elements; 0, the default: contiguous"),
    "draft_position_stride": ("Sets the distance of the draft of two positions.",
                              "in elements, at least numCols; 0, the default: numCols"),
    "draft_dtype": ("Sets the element type of the draft.", DTYPE),
    "draft_kind": ("Sets the meaning of the draft.", "{@link InputKind#LOGITS} by default"),
    "target_candidate_ids": ("Sets the token ids of the target's elements, for candidate lists.",
                             "laid out like the target"),
    "target_candidate_counts": ("Sets how many elements each list of the target has.",
                                "[numRows, numDrafts + 1] in [0, numCols]"),
    "draft_candidate_ids": ("Sets the token ids of the draft's elements, for candidate lists.",
                            "laid out like the draft"),
    "draft_candidate_counts": ("Sets how many elements each list of the draft has.",
                               "[numRows, numDrafts] in [0, numCols]"),
    "draft_token_ids": ("Sets the draft tokens. One outside the vocabulary is rejected.",
                        "[numRows, numDrafts]"),
    "draft_lengths": ("Sets how many drafts each row has. Without: numDrafts.",
                      "[numRows] in [0, numDrafts]; values outside are clamped and set a status"),
    ("chain_speculative", "out_token_ids"): (
        "Sets where the tokens go: the accepted drafts, then one token of the target, then -1. "
        "Required.", "[numRows, numDrafts + 1]"),
    "out_accepted_counts": ("Sets where it is told how many drafts would be accepted each on its "
                            "own, wherever they stand.", "[numRows]; null: not wanted"),
    "out_emitted_counts": ("Sets where it is told how many drafts were kept before the first "
                           "rejection; there is one token more.", "[numRows]; null: not wanted"),
    "accumulate_counts": ("Sets whether the two counts are added to what their arrays hold.",
                          "false, the default, overwrites them"),
    ("residual", "target"): ("Sets the target's rows of probabilities, p.", "[numRows, numCols]"),
    ("residual", "draft"): (
        "Sets the rows of probabilities that the drafts were drawn from, q. Without, the drafter "
        "was deterministic: set draftTokenIds.", "[numRows, numCols]"),
    ("residual", "draft_token_ids"): (
        "Sets the tokens that a deterministic drafter proposed, instead of the draft.",
        "[numRows] in [0, numCols); of a row with any other the residual is p"),
    ("residual", "num_cols"): ("Sets the columns of both models' rows: the vocabulary.",
                               "in [1, 2^20)"),
    ("residual", "target_row_stride"): ("Sets the distance of two rows of the target.",
                                        "in elements, at least numCols; 0, the default: numCols"),
    ("residual", "draft_row_stride"): ("Sets the distance of two rows of the draft.",
                                       "in elements, at least numCols; 0, the default: numCols"),
    ("residual", "output_dtype"): ("Sets the element type of the values that are written.",
                                   "{@link Dtype#F32}, the default, or the target's"),
    "workspace": ("Sets memory for the call, from the buffer's position to its limit, instead of "
                  "the sampler's. Its contents are undefined before and after a call.",
                  "direct, of {@link Sampler#workspaceSize} bytes or more; null: the sampler's"),
}


def docs_of(operation, name):
    doc = DOCS.get((operation, name)) or DOCS.get(name)
    return doc or sys.exit(f"{operation}: generate_java.py has no documentation of {name}")


# ---- Writing ------------------------------------------------------------------------------------


def javadoc(description, *tags):
    lines = textwrap.wrap(description, LINE_WIDTH - 6) + [""]
    for tag in tags:
        lines += textwrap.wrap(tag, LINE_WIDTH - 6, subsequent_indent="    ")
    return ["  /**", *((f"   * {line}").rstrip() for line in lines), "   */"]


def setter(class_name, signature, doc, what, value, *tags):
    return [*javadoc(doc, *tags, "@return this"),
            f"  public {class_name} {signature} {{",
            f"    this.{what} = {value};",
            "    return this;", "  }", ""]


def number_setter(class_name, operation, member):
    name = camel(member.name)
    doc, parameter = docs_of(operation, member.name)
    enum = ENUMS.get(member.name)
    java_type = enum or ("boolean" if member.name in FLAGS else member.flat.java)
    value = f'required("{member.name}", {name})' if enum else name
    return setter(class_name, f"{name}({java_type} {name})", doc, name, value,
                  f"@param {name} {parameter}")


def array_types(member):
    """Java's element types for an array; the second one where a type member says so."""
    element = member.flat.c.removeprefix("shim_read_").removeprefix("shim_write_")
    return ARRAYS_BY_TYPE[ENUMS[TYPE_MEMBERS[member.name]] if element == "any" else element]


def array_setters(class_name, operation, member):
    name = camel(member.name)
    doc, parameter = docs_of(operation, member.name)
    is_written = "true" if "write" in member.flat.c else "false"
    first, *others = array_types(member)
    as_first = f"As {{@link #{name}({first}[])}}"
    lines = setter(class_name, f"{name}({first}[] {name})", doc, name, f"Memory.of({name})",
                   f"@param {name} {parameter}")
    for other in others:
        lines += setter(class_name, f"{name}({other}[] {name})", as_first + ".", name,
                        f"Memory.of({name})", f"@param {name} {parameter}")
    lines += setter(class_name, f"{name}(Buffer {name})",
                    f"{as_first}, from a direct buffer's position to its limit.",
                    name, f'Memory.of("{member.name}", {name}, {is_written})',
                    f"@param {name} {parameter}")
    lines += setter(class_name, f"{name}Address(long {name})", f"{as_first}, in device memory.",
                    name, f"Memory.ofDevice({name})",
                    f"@param {name} an address, 0 for none: {parameter}")
    return lines


def workspace_setters(class_name, operation):
    doc, parameter = docs_of(operation, "workspace")
    return [
        *setter(class_name, "workspace(ByteBuffer workspace)", doc, "workspace",
                "Memory.ofWorkspace(workspace)", f"@param workspace {parameter}"),
        *setter(class_name, "workspaceAddress(long workspace, long bytes)",
                "As {@link #workspace(ByteBuffer)}, in device memory.", "workspace",
                "Memory.ofDevice(workspace, bytes)", "@param workspace an address, 0 for none",
                "@param bytes how many there are")]


def field(member):
    name = camel(member.name)
    if member.is_array:
        return f"  private Memory {name} = Memory.NONE;"
    if member.name in ENUMS:
        enum = ENUMS[member.name]
        constant = member.default.removeprefix("SAMPLER_")
        return f"  private {enum} {name} = " \
               f"{enum}.{FIRST_CONSTANTS[enum] if constant == '0' else constant};"
    if member.name in FLAGS:
        return f"  private boolean {name};"
    value = "" if float(member.default.rstrip("f")) == 0 else f" = {member.default}"
    return f"  private {member.flat.java} {name}{value};"


def check(operation, member):
    name = camel(member.name)
    place = "sampler.parametersOnDevice" if member.name in PARAMETERS else "sampler.arraysOnDevice"
    length = LENGTHS.get((operation, member.name)) or LENGTHS.get(member.name, "numRows")
    if member.name == "workspace":
        element_type, length = "ElementType.BYTE", "0"
    elif member.flat.c.endswith("any"):
        element_type = f"{camel(TYPE_MEMBERS[member.name])}.elementType"
    else:
        element_type = "ElementType." + array_types(member)[0].upper()
    return wrapped([element_type, length, place], " " * 10,
                   f'      {name}.check("{member.name}", ') + ");"


def call_arguments(members):
    for member in members:
        name = camel(member.name)
        if member.is_array:
            yield from [f"{name}.array", f"{name}.at"]
        elif member.name in ENUMS:
            yield f"{name}.ordinal()"
        elif member.name in FLAGS:
            yield f"{name} ? 1 : 0"
        elif member.name == "workspace_bytes":
            yield "workspace.length"
        else:
            yield name


def member_locals(members, lines):
    """Copies of the members that `lines` name, so that each is read once."""
    text = "\n".join(lines)
    for member in members:
        name = camel(member.name)
        if re.search(rf"\b{name}\b(?!\()", text) and member.name != "workspace_bytes":
            java_type = "Memory" if member.is_array else ENUMS.get(member.name, member.flat.java)
            yield f"    final {java_type} {name} = this.{name};"


def run_method(operation, members):
    names = {member.name for member in members}
    arrays = [member for member in members if member.is_array]
    checks = [check(operation, member) for member in arrays]
    extra = [line for name, value in locals_of(names)
             for line in wrapped_local(f"      final long {name} =", value)]
    call = wrapped(["sampler.address", "onlySize ? 1 : 0", *call_arguments(members)], " " * 12,
                   f"        Raw.{camel('shim_' + operation)}(")
    return ["  @Override", "  long run(Handle sampler, boolean onlySize) {",
            *member_locals(members, checks + extra),
            "    if (!onlySize) {", *extra, *checks, "    }",
            "    final long result =", call + ");",
            *(f"    Reference.reachabilityFence({camel(member.name)});" for member in arrays),
            "    return result;", "  }"]


def wrapped_local(start, value):
    line = f"{start} {value};"
    return [line] if len(line) <= LINE_WIDTH else [start, f"          {value};"]


def java_class(operation, members):
    class_name = camel("_" + operation) + "Args"
    own = [member for member in members if member.name != "workspace_bytes"]
    lines = [f"// {NOTE_OF_THIS}",
             "package io.github.libsampler;", "",
             "import io.github.libsampler.internal.Raw;", "import java.lang.ref.Reference;",
             "import java.nio.Buffer;", "import java.nio.ByteBuffer;",
             "", "/**",
             *(f" * {line}" for line in textwrap.wrap(
                 f"Arguments of {{@link Sampler#{camel(operation)}}}, which {CLASSES[operation]}.",
                 LINE_WIDTH - 4)),
             " */",
             f"public final class {class_name} extends Arguments {{",
             *(field(member) for member in own), "",
             "  /** Creates arguments with all members at their defaults. */",
             f"  public {class_name}() {{}}", ""]
    for member in own:
        if member.name == "workspace":
            lines += workspace_setters(class_name, operation)
        elif member.is_array:
            lines += array_setters(class_name, operation, member)
        else:
            lines += number_setter(class_name, operation, member)
    return "\n".join([*lines, *run_method(operation, members), "}", ""])


def java_interface(flat_functions):
    """Another number for other functions: a call with other parameters would crash."""
    number = zlib.crc32(flat_functions.encode()) >> 1
    return "\n".join([
        f"/* {NOTE_OF_THIS} */", f"%constant int SHIM_INTERFACE = {number};", "%inline %{",
        f"static inline int32_t shim_interface(void) {{ return {number}; }}", "%}", ""])


def main(include_dir, output_dir):
    text = generate.header_text(include_dir)
    structs = generate.structs_in(text)
    files = {f"{FOLDER}/{camel('_' + operation)}Args.java": java_class(operation, members)
             for operation, members in structs.items()}
    files["swig/java_interface.i"] = java_interface(generate.flat_functions_in(text))
    generate.write(files, output_dir)


if __name__ == "__main__":
    main(*sys.argv[1:])
