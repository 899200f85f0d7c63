"""Runs the functional tests of a package, and tells of each on a line of JSON.

The first argument is the package. Lines of standard input name the tests to
run; without any, all are. What tests print goes to standard error.
"""

import importlib
import json
import os
import sys
import types
import unittest

PACKAGE = sys.argv[1]

import osc  # noqa: E402  # it sets sys.argv


class Teller(unittest.TestResult):
    """Writes {"test", "outcome", "output"} when a test has ended."""

    def __init__(self, out):
        super().__init__()
        self.out = out

    def startTest(self, test):
        super().startTest(test)
        self.outcome, self.output = 'pass', []

    def stopTest(self, test):
        super().stopTest(test)
        self.tell(test)

    def tell(self, test):
        print(json.dumps({'test': test.id(), 'outcome': self.outcome,
                          'output': '\n'.join(self.output)}),
              file=self.out, flush=True)

    def end(self, outcome, output):
        self.outcome = outcome
        self.output.append(output)

    def addError(self, test, err):
        self.end('fail', self._exc_info_to_string(err, test))
        if not isinstance(test, unittest.TestCase):  # the set-up of a class
            self.tell(test)

    addFailure = addError

    def addSkip(self, test, reason):
        self.end('skip', reason)

    def addUnexpectedSuccess(self, test):
        self.end('fail', 'it succeeds unexpectedly')


class Fork:
    """What tempest uses of subprocess.Popen, for a call of openstack."""

    def __init__(self, cmd, stdout, stderr):
        program, *self.args = cmd
        if os.path.basename(program) != 'openstack':
            raise NotImplementedError(program)

    def communicate(self):
        ended = osc.fork({'args': self.args, 'env': dict(os.environ)})
        self.returncode = ended['code']
        return ended['out'].encode(), ended['err'].encode()


def prepare_ironicclient():
    """Let the tests call the client without a new interpreter each time.

    They look at the scope of a Keystone login that nothing makes: 5.7.0 brought
    that, and no run of them since can pass without it.
    """
    from ironicclient.tests.functional import base as tests
    from tempest.lib.cli import base as tempest
    osc.warm_up()
    tempest.subprocess = types.SimpleNamespace(PIPE=-1, STDOUT=-2, Popen=Fork)
    tests.FunctionalTestBase.auth_ref = types.SimpleNamespace(
        project_scoped=True)


def cases(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from cases(test)
        else:
            yield test


def main(package):
    out = os.fdopen(os.dup(1), 'w')
    os.dup2(2, 1)
    wanted = set(sys.stdin.read().split())
    if package.startswith('ironicclient.'):
        prepare_ironicclient()
    where = os.path.dirname(importlib.import_module(package).__file__)
    top = where[:-len(package) - 1]
    found = unittest.TestLoader().discover(where, top_level_dir=top)
    unittest.TestSuite(test for test in cases(found)
                       if not wanted or test.id() in wanted).run(Teller(out))


main(PACKAGE)
