"""Seeds have 64 bits; in JSON of the command line each stands as text too, for readers with shorter numbers."""
import json

import pytest

from test_ci import project

LARGE = 2**64 - 1


def seeds(value):
    """Every pair (seed, its text) of a document; a seed without text is (seed, None)."""
    if isinstance(value, dict):
        for name, member in value.items():
            if (name == "seed" or name.endswith("_seed")) and isinstance(member, int):
                yield member, value.get(f"{name}_text")
            yield from seeds(member)
    elif isinstance(value, list):
        for one in value:
            yield from seeds(one)


def checked(text, least=1):
    found = list(seeds(json.loads(text)))
    assert len(found) >= least and all(str(seed) == text for seed, text in found), found
    return found


@pytest.fixture(scope="module")
def home(new_home):
    home = new_home(project(wrong=True, cases=4))
    done = home.run("test", "--seed", LARGE, "--format", "json")
    assert done.returncode == 1 and LARGE in dict(checked(done.stdout, 2))
    return home


@pytest.fixture(scope="module")
def seed(home):
    return json.loads(home.run("failures", "--format", "json").stdout)["results"][0]["seed_text"]


COMMANDS = ["failures", "fuzz other -i 3", "fuzz -i 3", "ci --quick", "ci --quick --stream", "report", "reproduce SEED", "minimize SEED",
            "explain SEED", "mutate twice --cases 2 --mutants 2", "calibrate twice --cases 4", "coverage -k twice --cases 2",
            "test --stream", "fuzz -i 3 --stream"]  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS)
def test_every_document_has_its_seeds_as_text(home, seed, words):
    done = home.run(*words.replace("SEED", seed).split(), "--format", "json")
    assert done.returncode in (0, 1), done.stderr
    documents = done.stdout.splitlines() if "--stream" in words else [done.stdout]
    for document in documents:
        checked(document, 0)
    assert any(list(seeds(json.loads(document))) for document in documents), done.stdout


def test_what_baselines_compare_has_them_too(home):
    assert home.run("baseline", "save", "before", "--file", "before.json").returncode == 0
    checked(home.run("diff", "--baseline", "before", "--format", "json").stdout)
    assert home.run("diff", "--file", "before.json").returncode == 0


def test_the_text_is_taken_back(home, seed):
    done = home.run("reproduce", seed, "--format", "json")
    assert done.returncode == 0 and json.loads(done.stdout)["result"]["seed_text"] == seed
    small = json.loads(home.run("minimize", seed, "--format", "json").stdout)
    assert small["original_seed_text"] == seed and small["minimized_seed_text"] == str(small["minimized_seed"])


def test_a_failure_is_named_by_its_first_digits_or_as_the_last(home, seed):
    def reproduced(*words):
        done = home.run("reproduce", *words, "--format", "json")
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)["result"]["seed_text"]

    stored = [one["seed_text"] for one in json.loads(home.run("failures", "--format", "json").stdout)["results"]]
    others = [one for one in stored if one != seed]
    digits = next(count for count in range(1, 21) if not any(one.startswith(seed[:count]) for one in others))
    assert reproduced(seed[:digits]) == reproduced(seed) == seed
    newest = json.loads(home.run("failures", "--format", "json").stdout)["results"][0]
    assert reproduced("last") == reproduced("last", "--op", newest["op_name"]) == newest["seed_text"]
    for words, told in ((("last", "--op", "nothing"), "no failure is stored of op 'nothing'"), (("x",), "nor its first digits, nor `last`"),
                        ((), "`last` is the newest")):
        wrong = home.run("minimize", *words)
        assert wrong.returncode != 0 and told in wrong.stderr, wrong.stderr


def test_digits_that_several_seeds_begin_with_are_refused(home):
    assert home.run("test", "--seed", 7, "--cases", 16).returncode == 1  # More failures than there are first digits.
    stored = sorted(one["seed_text"] for one in json.loads(home.run("failures", "--format", "json").stdout)["results"])
    twice = next((a[0] for a, b in zip(stored, stored[1:]) if a[0] == b[0]), None)
    assert twice is not None, stored
    wrong = home.run("explain", twice)
    assert wrong.returncode == 2 and f"failures have seeds that begin with {twice}: " in wrong.stderr, wrong.stderr
