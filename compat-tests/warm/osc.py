"""Runs the openstack client many times in one interpreter.

All that calls need is imported once, as that takes most of a call's time; each
call is a fork of this process. As a program, it reads a call from each line of
standard input, {"args": [...], "env": {...}}, and answers with the line
{"code", "out", "err"}.
"""

import importlib
import json
import os
import sys
import tempfile
from importlib import metadata

sys.argv = ['openstack']  # the client reads its name when it is imported

from openstackclient import shell  # noqa: E402
from stevedore import extension  # noqa: E402


def warm_up():
    """Import what calls import: the commands, the formatters, logins."""
    for group in metadata.entry_points().groups:
        if group.startswith(('openstack.', 'cliff.formatter.', 'keystoneauth1.')):
            extension.ExtensionManager(
                group, on_load_failure_callback=lambda *_: None)
    for name in ('openstack.connection', 'ironicclient.v1.client'):
        importlib.import_module(name)


def call(args, env):
    """What the program openstack does, and the code that it ends with."""
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ['openstack'] + args
    try:
        return shell.main(args) or 0
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
            return 1
        return end.code or 0


def fork(request):
    """Make one call, {"args", "env"}, and give what came of it."""
    sys.stdout.flush()  # what is in it would be the call's too
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                code = call(request['args'], request['env'])
            finally:  # not even an error leads back into the loop
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        _, status = os.waitpid(child, 0)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode('utf-8', 'replace'))
    return {'code': os.waitstatus_to_exitcode(status),
            'out': texts[0], 'err': texts[1]}


def main():
    warm_up()
    for line in sys.stdin:
        print(json.dumps(fork(json.loads(line))), flush=True)


if __name__ == '__main__':
    main()
