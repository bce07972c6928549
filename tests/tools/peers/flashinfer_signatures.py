"""Prints the signatures of FlashInfer's sampling functions, as bindings/python/tests/flashinfer_signatures.txt
has them.

    python flashinfer_signatures.py FLASHINFER_WHEEL
"""

import ast
import sys
import zipfile


def main():
    with zipfile.ZipFile(sys.argv[1]) as wheel:
        module = ast.parse(wheel.read("flashinfer/sampling.py"))
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and node.decorator_list and not node.name.startswith("get_"):
            if any("flashinfer_api" in ast.unparse(each) for each in node.decorator_list):
                for argument in node.args.args:
                    argument.annotation = None
                print(f"{node.name}({ast.unparse(node.args)})")


if __name__ == "__main__":
    main()
