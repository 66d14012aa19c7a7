"""Prints every public name of the package gpuemu of this Python, by module: a class's public members and what each callable
can be called with. Run by test_published_client.py with the published package; and with ours."""
import importlib
import inspect
import json
import sys


def parameters(value):
    try:
        found = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return None
    return [one.name for one in found if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]


def described(value):
    if inspect.isclass(value):
        members = {name: parameters(getattr(value, name)) for name in dir(value)
                   if not name.startswith("_") and callable(getattr(value, name))}
        return {"call": parameters(value), "members": members}
    return {"call": parameters(value) if callable(value) else None, "members": {}}


seen = {}
for name in sys.argv[1:]:
    module = importlib.import_module(name)
    public = getattr(module, "__all__", None) or [
        key for key, value in vars(module).items()
        if not key.startswith("_") and getattr(value, "__module__", name).startswith("gpuemu") and not inspect.ismodule(value)]
    seen[name] = {key: described(getattr(module, key)) for key in public}
print(json.dumps(seen))
