"""Is a ramdisk's agent without its ramdisk, one request a line.

The classes are those of ironic-python-agent: the client of the API, the
inspection, the server of commands. The hardware is made up: no hardware manager
of theirs is loaded, and no program is run on this machine.

The only argument is JSON: {"api", "mac", "host", "port"}. A line of standard
input is {"do": NAME, ...}, its answer the line that the function NAME returns,
or {"error", "kind"}.
"""

import json
import os
import sys
import types

from oslo_concurrency import processutils
from oslo_config import cfg
from oslo_log import log

from ironic_python_agent import agent as ipa
from ironic_python_agent import encoding
from ironic_python_agent import hardware
from ironic_python_agent import inspector
from ironic_python_agent import tls_utils
from ironic_python_agent.extensions import base


def refuse(*command, **_):
    raise processutils.ProcessExecutionError(
        'nothing runs here: %s' % ' '.join(command))


processutils.execute = refuse

# The agent logs to standard output, which here is for answers.
output = os.fdopen(os.dup(1), 'w')
os.dup2(2, 1)

machine = json.loads(sys.argv[1])
CONF = cfg.CONF


class MadeUpHardware(hardware.HardwareManager):
    """A server with two NICs and a disk, and two steps of cleaning."""

    HARDWARE_MANAGER_NAME = 'made-up'
    HARDWARE_MANAGER_VERSION = '1'

    def __init__(self):
        self.done = []

    def evaluate_hardware_support(self):
        return hardware.HardwareSupport.MAINLINE

    def wait_for_disks(self):
        pass

    def list_network_interfaces(self):
        return [
            hardware.NetworkInterface(
                'eth0', machine['mac'], ipv4_address='192.0.2.7',
                vendor='0x8086', product='0x1521', pci_address='0000:01:00.0',
                driver='igb', speed_mbps=1000,
                lldp=[(1, '0704a1b2c3d4e5f6'), (2, '0747692f302f31')]),
            hardware.NetworkInterface(
                'eth1', machine['mac'][:-2] + 'ff', has_carrier=False)]

    def get_cpus(self):
        return hardware.CPU('Made Up CPU', 2600.0, 8, 'x86_64',
                            flags=['vmx', 'aes'], socket_count=1)

    def list_block_devices(self, include_partitions=False):
        return [hardware.BlockDevice(
            '/dev/sda', 'Made Up SSD', 480 * 1024 ** 3, False, serial='S1',
            wwn='0x5000c500a0b1c2d3', by_path='/dev/disk/by-path/x',
            hctl='0:0:0:0', logical_sectors=512, physical_sectors=4096,
            tran='sata')]

    def get_memory(self):
        return hardware.Memory(16 * 1024 ** 3, physical_mb=16384)

    def get_bmc_address(self):
        return '0.0.0.0'

    def get_bmc_v6address(self):
        return '::/0'

    def get_bmc_mac(self):
        raise hardware.errors.IncompatibleHardwareMethodError()

    def get_system_vendor_info(self):
        return hardware.SystemVendorInfo(
            'Made Up', 'SN1', 'Nobody',
            hardware.SystemFirmware('Nobody', '1.0', '01/02/2026'))

    def get_boot_info(self):
        return hardware.BootInfo('uefi', pxe_interface=machine['mac'])

    def get_clean_steps(self, node, ports):
        return [self.step('first', 90), self.step('second', 20),
                self.step('never', 0)]

    def step(self, name, priority):
        return {'step': name, 'priority': priority, 'interface': 'deploy',
                'reboot_requested': False, 'abortable': True}

    def get_deploy_steps(self, node, ports):
        return [self.step('write_image', 0)]

    def write_image(self, node, ports, image_info, configdrive=None):
        self.done.append({'step': 'write_image', 'image_info': image_info,
                          'configdrive': configdrive})

    def first(self, node, ports):
        self.done.append({'step': 'first', 'node': node['uuid'],
                          'ports': [p['address'] for p in ports]})

    def second(self, node, ports):
        self.done.append({'step': 'second', 'node': node['uuid'],
                          'ports': [p['address'] for p in ports]})
        return 'as good as new'


class Standby(base.BaseAgentExtension):
    """Stands in for the extension that would stop this machine."""

    @base.sync_command('get_partition_uuids')
    def get_partition_uuids(self):
        return {'root uuid': '0x5a1ec0de', 'partitions': {}}

    @base.async_command('power_off')
    def power_off(self):
        manager.done.append({'step': 'power_off'})

    @base.sync_command('sync')
    def sync(self):
        pass


class Image(base.BaseAgentExtension):
    """Stands in for the extension that would mount disks."""

    @base.async_command('install_bootloader')
    def install_bootloader(self, root_uuid, efi_system_part_uuid=None,
                           prep_boot_part_uuid=None, target_boot_mode='bios',
                           ignore_bootloader_failure=None):
        manager.done.append({'step': 'install_bootloader', 'root': root_uuid,
                             'mode': target_boot_mode})


def lookup(timeout=60, node_uuid=None):
    """What the agent does at its start, up to the reading of the answer."""
    content = agent.api_client.lookup_node(
        hardware_info=hardware.list_hardware_info(use_cache=True),
        timeout=timeout, starting_interval=0.2, node_uuid=node_uuid)
    agent.process_lookup_data(content)
    return {'content': content, 'token': agent.agent_token}


def heartbeat(protocol='https', port=None, token=None):
    client, own = agent.api_client, agent.api_client.agent_token
    client.agent_token = token or own
    try:
        client.heartbeat(
            agent.node['uuid'], ipa.Host(machine['host'], port or machine['port']),
            protocol, agent.generated_cert)
    finally:
        client.agent_token = own
    return {'version': agent.version}


def versions():
    client = agent.api_client
    return {'version': client._get_ironic_api_version(),
            'auto_tls': client.supports_auto_tls()}


def inspect():
    return {'uuid': inspector.inspect()}


def post(data):
    """Sends data that no inspection would collect."""
    failures = ipa.utils.AccumulatedFailures(
        exc_class=inspector.errors.InspectionError)
    if data.pop('failed', False):
        inspector.collect_default(data, failures)
        failures.add('collector %s failed: %s', 'logs', 'no room')
    return inspector.call_inspector(data, failures)


def serve(certificate, key):
    """Serves commands, as it does once it has looked itself up."""
    agent.generated_cert = tls_utils._generate_tls_certificate(
        certificate, key, 'made-up', machine['host'])
    agent.api.start(certificate, key)
    return {}


def commands():
    return {'commands': [c.serialize() for c in agent.list_command_results()],
            'done': manager.done}


def main():
    log.register_options(CONF)
    CONF(args=[])
    CONF.set_override('inspection_callback_url',
                      machine['api'] + '/v1/continue_inspection')
    CONF.set_override('inspection_collectors', 'default')
    CONF.set_override('inspection_dhcp_wait_timeout', 0)
    log.setup(CONF, 'ironic-python-agent')
    answers = {f.__name__: f for f in
               (lookup, heartbeat, versions, inspect, post, serve, commands)}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = answers[request.pop('do')](**request)
        except Exception as error:
            answer = {'error': str(error), 'kind': type(error).__name__}
        print(encoding.RESTJSONEncoder().encode(answer), file=output, flush=True)


manager = MadeUpHardware()
hardware._global_managers = [{
    'name': 'MadeUpHardware', 'manager': manager,
    'support': hardware.HardwareSupport.MAINLINE}]
address = ipa.Host(machine['host'], machine['port'])
agent = ipa.IronicPythonAgent(
    machine['api'], address, address, 1, 1, None, 60, 1, False, None)
# What would touch the machine itself is not to be had.
agent.ext_mgr = {
    'clean': agent.ext_mgr['clean'], 'deploy': agent.ext_mgr['deploy'],
    'standby': types.SimpleNamespace(obj=Standby(agent)),
    'image': types.SimpleNamespace(obj=Image(agent))}
main()
agent.api.stop()
os._exit(0)  # threads of the server would go on
