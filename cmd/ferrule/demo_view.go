package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// view shows one line a node. On a terminal the lines are redrawn in place;
// elsewhere each change is a line of its own.
type view struct {
	out  io.Writer
	live bool

	mu    sync.Mutex
	began time.Time
	names []string
	lines map[string]viewLine
	drawn int
}

type viewLine struct {
	state, step string
	since       time.Time
	done        bool
}

func newView(out *os.File) *view {
	info, err := out.Stat()
	live := err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
	return &view{out: out, live: live, began: time.Now(), lines: map[string]viewLine{}}
}

func (v *view) add(name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.names = append(v.names, name)
	v.lines[name] = viewLine{state: "enroll", since: time.Now()}
}

func (v *view) show(name, state, step string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	old := v.lines[name]
	if old.state != state {
		v.lines[name] = viewLine{state: state, step: step, since: time.Now()}
	} else {
		old.step = step
		v.lines[name] = old
	}
	if v.live {
		v.redraw()
	} else if old.state != state || old.step != step && step != "" {
		fmt.Fprintln(v.out, v.line(name))
	}
}

func (v *view) finished(name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	l := v.lines[name]
	l.done = true
	v.lines[name] = l
	if v.live {
		v.redraw()
	}
}

func (v *view) line(name string) string {
	l := v.lines[name]
	mark := " "
	if l.done {
		mark = "✓"
	}
	return fmt.Sprintf("%s %-12s %-16s %-26s %6.1f s", mark, name, l.state, l.step, time.Since(v.began).Seconds())
}

func (v *view) redraw() {
	var b strings.Builder
	if v.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", v.drawn)
	}
	for _, name := range v.names {
		fmt.Fprintf(&b, "\x1b[2K%s\n", v.line(name))
	}
	v.drawn = len(v.names)
	_, _ = io.WriteString(v.out, b.String())
}

func (v *view) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.live {
		v.redraw()
	}
}

// summarise tells what came of it.
func summarise(out io.Writer, lives []*life) {
	for _, l := range lives {
		fmt.Fprintf(out, "\n%s (node %s)\n", l.server.Name, l.node)
		fmt.Fprintf(out, "  ports found:   %s\n", strings.Join(l.ports, ", "))
		if l.deployed.Image != nil {
			fmt.Fprintf(out, "  disk image:    sha256 %s, %d partitions\n", l.deployed.Image.SHA256, len(l.deployed.Image.Partitions))
		}
		var files []string
		for name := range l.deployed.ConfigDrive {
			files = append(files, name)
		}
		slices.Sort(files)
		for _, name := range files {
			fmt.Fprintf(out, "  config drive:  %s: %s\n", name, shorten(l.deployed.ConfigDrive[name]))
		}
		fmt.Fprint(out, "  times:        ")
		for _, p := range phases {
			fmt.Fprintf(out, " %s %.1f s", p.name, l.times[p.name].Seconds())
		}
		fmt.Fprintln(out)
	}
}

func shorten(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 100 {
		s = s[:97] + "..."
	}
	return s
}

// byHand prints what has the same done by the standard client. The lines work
// when they are pasted: the demo's own node, whose ports have the server's MAC
// addresses, is deleted first.
func byHand(out io.Writer, p *demoProcesses) {
	s := p.servers[0]
	fmt.Fprintf(out, `
What was done to %[2]s, in the standard client's words:
  export OS_AUTH_TYPE=none OS_ENDPOINT=%[1]s
  password="$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]]["password"])' '%[5]s' %[2]s)"
  openstack baremetal node delete %[2]s
  openstack baremetal node create --name %[2]s --driver redfish --inspect-interface agent --deploy-interface direct \
    --driver-info redfish_address=%[3]s --driver-info redfish_system_id=%[4]s \
    --driver-info redfish_username=%[6]s --driver-info redfish_password="$password" \
    --driver-info redfish_tls_spki_sha256=%[7]s \
    --driver-info deploy_kernel=%[8]s --driver-info deploy_ramdisk=%[9]s
  openstack baremetal node manage %[2]s --wait
  openstack baremetal node inspect %[2]s --wait
  openstack baremetal node provide %[2]s --wait
  openstack baremetal node set %[2]s --instance-info image_source=%[10]s --instance-info image_disk_format=%[11]s \
    --instance-info image_os_hash_algo=sha256 --instance-info image_os_hash_value=%[12]s
  openstack baremetal node deploy %[2]s --wait --config-drive '{"meta_data": {"hostname": "%[2]s"}}'
  openstack baremetal node undeploy %[2]s --wait
`, p.endpoint, s.Name, s.RedfishAddress, s.SystemID, p.ready.CredentialsFile, p.users[s.Name], s.SPKISHA256,
		p.ready.Kernel, p.ready.Ramdisk, p.image.URL, p.image.DiskFormat, p.image.SHA256)
}
