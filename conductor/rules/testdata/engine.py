"""Answers what real Ironic's engine of inspection rules does with each question.

Reads a JSON list from standard input, each item with node, ports, inventory,
plugin_data, rules and mask, and writes the list of answers.
"""
import datetime
import json
import logging
import sys
from unittest import mock

from ironic.common import context
from ironic.common import exception
from ironic.common.inspection_rules import engine
from ironic.common.inspection_rules import utils
from ironic.conf import CONF
from ironic import objects

logging.disable(logging.CRITICAL)
CONF([], project='ironic', default_config_files=[])
objects.register_all()


# What every node has that the test on the other side gives it too.
NODE = {
    'id': 7, 'driver': 'fake-hardware', 'provision_state': 'inspecting', 'last_error': None,
    'created_at': datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc),
    'inspection_started_at': datetime.datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=datetime.timezone.utc),
}


class Traits:
    """Stands for objects.Trait, over a list."""

    kept = []

    def __init__(self, _context, node_id, trait):
        self.trait = trait

    def create(self):
        if self.trait not in self.kept:
            self.kept.append(self.trait)

    @classmethod
    def destroy(cls, _context, node_id, trait):
        if trait not in cls.kept:
            raise exception.NodeTraitNotFound(node_id=node_id, trait=trait)
        cls.kept.remove(trait)


def plain(value):
    if isinstance(value, (utils.ShallowMaskDict, dict)):
        raw = getattr(value, '_data', value)
        return {k: plain(v) for k, v in raw.items()}
    if isinstance(value, (utils.ShallowMaskList, list)):
        return [plain(v) for v in getattr(value, '_original', value)]
    return value


def fields(obj, names):
    # del-attribute leaves a field without any value.
    return {name: plain(getattr(obj, name)) if obj.obj_attr_is_set(name) else None for name in names}


def answer(q):
    ctx = context.get_admin_context()
    node = objects.Node(ctx, **NODE, **q['node'])
    ports = [objects.Port(ctx, **p) for p in q['ports']]
    Traits.kept = list(q['traits'])
    task = mock.Mock(node=node, ports=ports, context=ctx)
    CONF.set_override('mask_secrets', q['mask'], 'inspection_rules')
    error = ''
    with mock.patch.object(objects.Node, 'save', lambda self: None), \
            mock.patch.object(objects.Port, 'save', lambda self: None), \
            mock.patch.object(objects, 'Trait', Traits), \
            mock.patch.object(objects.InspectionRule, 'list', lambda **kw: q['rules']):
        try:
            engine.apply_rules(task, q['inventory'], q['plugin_data'], 'main')
        except Exception as e:
            error = str(e)
    return {
        'error': error,
        'node': fields(node, q['node']),
        'ports': [fields(p, f) for p, f in zip(ports, q['ports'])],
        'plugin_data': plain(q['plugin_data']),
        'traits': sorted(Traits.kept),
    }


json.dump([answer(q) for q in json.load(sys.stdin)], sys.stdout)
