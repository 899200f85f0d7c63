"""Asks the real oslo.policy, and Ironic's own list of policies.

usage: oslo.py defaults | rules | files <questions.json >answers.json
"""
import json
import logging
import sys
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

from oslo_config import cfg
from oslo_policy import policy


def defaults():
    from ironic.common import policy as ironic

    print("# name\tcheck\tscope types\tdeprecated name\tdeprecated check\toperations")
    for rule in ironic.list_policies():
        old = rule.deprecated_rule
        print("\t".join([
            rule.name, rule.check_str, ",".join(rule.scope_types or []),
            old.name if old else "", old.check_str if old else "",
            ",".join(f"{o['method']} {o['path']}" for o in getattr(rule, "operations", [])),
        ]))


def enforcer():
    conf = cfg.ConfigOpts()
    conf([])
    return policy.Enforcer(conf, use_conf=False)


def answer(question):
    e = enforcer()
    rules = policy.Rules.from_dict(question["rules"], default_rule=question["fallback"] or None)
    e.default_rule = question["fallback"] or None
    e.set_rules(rules, use_conf=False)
    read = str(rules.get(question["ask"], ""))
    try:
        return {"read": read, "allowed": bool(e.enforce(question["ask"], question["target"], question["credentials"]))}
    except (Exception, RecursionError) as broken:
        return {"read": read, "broken": repr(broken)[:200]}


def read(text):
    try:
        rules = policy.Rules.load(text)
    except Exception as refused:
        return {"refused": repr(refused)[:200]}
    return {"rules": {str(name): str(check) for name, check in rules.items()}}


if sys.argv[1] == "defaults":
    defaults()
else:
    each = {"rules": answer, "files": read}[sys.argv[1]]
    json.dump([each(q) for q in json.load(sys.stdin)], sys.stdout)
