# Puts things that are there into requests, so that they reach what lies behind
# "not found". FERRULE_OBJECTS has, for each path parameter and each field that
# names an object, what to put there.
import hashlib
import json
import os

import schemathesis

OBJECTS = json.loads(os.environ["FERRULE_OBJECTS"])


def known(name, value, method=""):
    """One of the objects, or now and then what was there: the same for the same value."""
    choices = OBJECTS.get(method + " " + name) or OBJECTS.get(name)
    if not choices:
        return value
    number = int(hashlib.sha256(repr(value).encode()).hexdigest(), 16)
    return value if number % 5 == 0 else choices[number // 5 % len(choices)]


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    if not isinstance(path_parameters, dict):
        return path_parameters
    operation = context.operation

    def method(name):
        # Only what the whole path names is deleted.
        return operation.method.upper() if operation.path.endswith("{" + name + "}") else ""

    return {name: known(name, value, method(name)) for name, value in path_parameters.items()}


@schemathesis.hook
def map_query(context, query):
    if not isinstance(query, dict):
        return query
    return {name: known("?" + name, value) for name, value in query.items()}


@schemathesis.hook
def map_body(context, body):
    if not isinstance(body, dict):
        return body
    return {name: known("=" + name, value) for name, value in body.items()}
