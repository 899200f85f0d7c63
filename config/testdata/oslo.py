"""Asks the real oslo.config, and Ironic's own options, for a test of ours.

oslo.py options          every option of Ironic, listed or only registered by its running code: section, name, type,
                         default, other names; by tabs
oslo.py ini < cases      a JSON list of files; for each, its assignments or the line of its error
oslo.py values < cases   a JSON list of {conf, ask}; for each, the values of the options asked for
"""
import contextlib
import json
import logging
import os
import sys
import tempfile
import warnings

warnings.simplefilter('ignore')
import oslo_service.backend as backend  # noqa: E402

backend.init_backend(backend.BackendType.THREADING)
from oslo_config import cfg, generator, iniparser, types  # noqa: E402

NAMESPACES = '''
ironic keystonemiddleware.auth_token keystonemiddleware.audit oslo.cache oslo.concurrency oslo.db oslo.log
oslo.messaging oslo.middleware.cors oslo.middleware.healthcheck oslo.middleware.http_proxy_to_wsgi oslo.policy
oslo.service.periodic_task oslo.service.service oslo.service.sslutils oslo.service.wsgi osprofiler
oslo.versionedobjects'''.split()

# The ways to log in whose options Ironic takes in a file but does not list.
LOGINS = '''password v2password v3password v3applicationcredential v3token token none http_basic
admin_token'''.split()


def kind(option):
    t = option.type
    if not isinstance(t, types.ConfigType):
        return 'string'  # a function, as for the delays of [fake]
    choices = [c for c in getattr(t, 'choices', None) or [] if c is not None]

    def bounds():
        if t.min is None and t.max is None:
            return ''
        low, high = ('' if b is None else '%.0f' % b if b == int(b) else str(b) for b in (t.min, t.max))
        return f'({low}..{high})'

    if isinstance(t, types.Boolean):
        name = 'bool'
    elif type(t).__name__ == 'Octal':
        name = 'octal'
    elif isinstance(t, types.Port):
        name = 'port'
    elif isinstance(t, types.Integer):
        name = 'int' + bounds()
    elif isinstance(t, types.Float):
        name = 'float' + bounds()
    elif isinstance(t, types.List):
        choices = getattr(t.item_type, 'choices', None) or []
        name = 'list' + ('(' + '|'.join(choices) + ')' if choices else '')
    elif isinstance(t, types.Dict):
        name = 'dict'
    elif isinstance(t, types.HostAddress):
        name = 'host'
    elif isinstance(t, types.IPAddress):
        name = 'ip'
    elif isinstance(t, types.URI):
        name = 'uri'
    elif choices and not t.ignore_case:
        name = 'string(' + '|'.join(choices) + ')'
    else:
        name = 'string'
    return ('multi-' if option.multi else '') + name


def text(value):
    if value is None:
        return '<unset>'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ','.join(map(str, value))
    if isinstance(value, dict):
        return ','.join(f'{k}:{v}' for k, v in value.items())
    return str(value)


def registered():
    """What the running package has registered once each of its modules is loaded."""
    import importlib
    import pkgutil

    import ironic
    from ironic.conf import CONF
    logging.disable()  # the middleware logs while it is loaded
    for module in pkgutil.walk_packages(ironic.__path__, 'ironic.'):
        if not any(part in module.name for part in ('.tests', '.hacking', '.alembic', '.cmd.')):
            importlib.import_module(module.name)
    yield 'DEFAULT', [o['opt'] for o in CONF._opts.values()]
    for name, group in CONF._groups.items():
        yield name, [o['opt'] for o in group._opts.values()]


def options():
    import keystoneauth1.loading as keystone

    rows, logging_in = {}, set()

    def add(section, option):
        other = set()
        for old in option.deprecated_opts or []:
            key = (old.group or section, (old.name or option.dest).replace('-', '_'))
            if key != (section, option.dest):
                other.add('.'.join(key))
        if (section, option.dest) in rows:
            rows[section, option.dest][2].update(other)
        else:
            rows[section, option.dest] = [kind(option), text(option.default), other]

    for _, groups in generator._list_opts(NAMESPACES):
        for group, found in groups:
            section = getattr(group, 'name', group) or 'DEFAULT'
            for option in found:
                add(section, option)
                if option.dest == 'auth_type' and section != 'redfish':
                    logging_in.add(section)
    for section, found in registered():
        for option in found:
            if (section, option.dest) not in rows:
                add(section, option)
    for section in logging_in:
        more = keystone.get_session_conf_options()
        if section != 'keystone_authtoken':
            more = more + keystone.get_adapter_conf_options()
        for login in LOGINS:
            more = more + keystone.get_auth_plugin_conf_options(keystone.get_plugin_loader(login))
        for option in more:
            add(section, option)
    for (section, name), (type_, default, other) in sorted(rows.items()):
        default = default.replace('\n', '\\n')
        print('\t'.join([section, name, type_, default, ','.join(sorted(other))]))


def in_file(content):
    handle, name = tempfile.mkstemp()
    with open(handle, 'wb') as f:
        f.write(content.encode())
    return name


class Recorder(cfg.ConfigParser):
    """Keeps assignments in the order of the file."""

    def __init__(self, filename):
        super().__init__(filename, {})
        self.found = []

    def assignment(self, key, value):
        super().assignment(key, value)
        self.found.append([cfg._normalize_group_name(self.section), key, '\n'.join(value)])


def ini(cases):
    for case in cases:
        name = in_file(case)
        parser = Recorder(name)
        try:
            parser.parse()
            yield {'found': parser.found}
        except iniparser.ParseError as error:
            yield {'line': error.lineno}
        finally:
            os.unlink(name)


def values(cases):
    from ironic.conf import CONF
    for case in cases:
        name, answers = in_file(case['conf']), []
        with contextlib.redirect_stderr(None):
            CONF.reset()
            CONF([], project='ironic', default_config_files=[name])
        for section, option in case['ask']:
            try:
                group = CONF if section == 'DEFAULT' else CONF[section]
                answers.append({'value': getattr(group, option)})
            except Exception as error:
                answers.append({'error': type(error).__name__})
        os.unlink(name)
        yield answers


what = sys.argv.pop()  # some modules of Ironic read the arguments when they are loaded
if what == 'options':
    options()
else:
    json.dump(list({'ini': ini, 'values': values}[what](json.load(sys.stdin))), sys.stdout)
