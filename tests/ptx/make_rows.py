#!/usr/bin/env python3
"""Writes tests/ptx/rows from the definitions in tests/ptx/isa: python3 tests/ptx/make_rows.py [--check]

--check writes nothing and ends with 1 when a file is not what it would write.
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from isa import conversions, float_rows, integers, machine_rows, wide_rows  # noqa: E402


def all_files():
    return [*integers.files(), *float_rows.files(), *conversions.files(),
            *machine_rows.files(), *wide_rows.files()]


def main():
    folder, wrong = HERE / "rows", []
    made = {f"{file.name}.ptxt": file.text() for file in all_files()}
    for name, text in made.items():
        if "--check" in sys.argv[1:]:
            if not (folder / name).exists() or (folder / name).read_text() != text:
                wrong.append(name)
        else:
            folder.mkdir(exist_ok=True)
            (folder / name).write_text(text)
    wrong += sorted({path.name for path in folder.glob("*.ptxt")} - set(made))
    if wrong:
        print(f"not as tests/ptx/make_rows.py writes them: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
