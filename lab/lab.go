// Package lab emulates bare-metal servers at their protocols: each has a BMC
// that speaks Redfish on a loopback address of its own and a machine that
// boots media, runs a ramdisk agent, writes images to a disk file and boots
// from it. It serves tests, the demo and benchmarks, with hundreds of servers
// in one process. It knows nothing of the control plane but Redfish, HTTP and
// the ramdisk protocol, and must import none of its packages.
package lab

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"ferrule/lab/event"
	"ferrule/lab/machine"
	"ferrule/lab/ramdisk"
	"ferrule/lab/redfish"
)

// The defaults of a Config.
const (
	DefaultBMCBase     = "127.0.100.1"
	DefaultMachineBase = "127.0.180.1"
	DefaultDiskSize    = 256 << 20
	DefaultUsername    = "admin"
	DefaultSystemID    = "1"
	// Emulated machines boot at once, before the control plane has noted that
	// it started them: a call that came too early is soon made again.
	DefaultHeartbeatMost = 5 * time.Second
	DefaultEarlyFor      = 30 * time.Second
)

// Config says which servers to emulate. The zero value of each field has a
// meaning.
type Config struct {
	Servers int // how many; 0: as many as Definitions, else one
	// Dir is for disks, media and the password file, one folder a server.
	// Required.
	Dir string
	// BMCBase is the address of the first BMC, later ones count up; "" is
	// DefaultBMCBase. MachineBase is the same for the machines' own addresses.
	BMCBase     string
	MachineBase string
	BMCPort     int  // the same for each BMC; 0: any free one
	PlainHTTP   bool // BMCs without TLS
	Username    string
	Password    string // "": a random one for each server
	DiskSize    int64
	// AllowNoConfigDrive lets a disk boot that has no config drive.
	AllowNoConfigDrive bool
	ActionDelay        time.Duration // from a reset to its effect
	BootTime           time.Duration // from power on to the first sign of a system
	// Timing is the ramdisks'. HeartbeatMost and EarlyFor have defaults of
	// their own here, see DefaultHeartbeatMost; negative is none.
	Timing ramdisk.Timing
	// StepDelay is added to every step of cleaning and deployment.
	StepDelay time.Duration
	Quirks    redfish.Quirks // of every server that Definitions does not name
	// Definitions describe the first servers; the rest are made up.
	Definitions []Definition
	// Hook sees each ramdisk command before it works; see ramdisk.Config.
	Hook func(ctx context.Context, server string, call ramdisk.Call) error
}

// Definition describes one server. Empty fields are made up from its number.
type Definition struct {
	Name         string
	SystemID     string
	OtherSystems []string // more systems behind the same BMC
	Quirks       *redfish.Quirks
	MACs         []string
	Architecture string
	CPUs         int
	MemoryMiB    int64
	Manufacturer string
	Legacy       bool // boots by BIOS, not UEFI
}

func (c Config) orDefaults() (Config, error) {
	if c.Dir == "" {
		return c, errors.New("the lab needs a folder")
	}
	if c.BMCBase == "" {
		c.BMCBase = DefaultBMCBase
	}
	if c.MachineBase == "" {
		c.MachineBase = DefaultMachineBase
	}
	for _, base := range []string{c.BMCBase, c.MachineBase} {
		if a, err := netip.ParseAddr(base); err != nil || !a.Is4() || !a.IsLoopback() {
			return c, fmt.Errorf("the lab's base address %q is no IPv4 loopback address", base)
		}
	}
	if c.Username == "" {
		c.Username = DefaultUsername
	}
	if c.DiskSize == 0 {
		c.DiskSize = DefaultDiskSize
	}
	if c.Timing.HeartbeatMost == 0 {
		c.Timing.HeartbeatMost = DefaultHeartbeatMost
	}
	if c.Timing.EarlyFor == 0 {
		c.Timing.EarlyFor = DefaultEarlyFor
	}
	c.Servers = max(c.Servers, len(c.Definitions), 1)
	return c, nil
}

// Lab is a running set of servers.
type Lab struct {
	servers []*Server
	byName  map[string]*Server
}

// New starts the servers. Close the lab when it is no longer needed.
func New(cfg Config) (*Lab, error) {
	cfg, err := cfg.orDefaults()
	if err != nil {
		return nil, err
	}
	l := &Lab{byName: map[string]*Server{}}
	for i := range cfg.Servers {
		s, err := newServer(cfg, i)
		if err != nil {
			l.Close()
			return nil, err
		}
		if l.byName[s.Name] != nil {
			s.Close()
			l.Close()
			return nil, fmt.Errorf("two servers are called %q", s.Name)
		}
		l.servers = append(l.servers, s)
		l.byName[s.Name] = s
	}
	return l, nil
}

// Close takes the power from every server and stops its BMC.
func (l *Lab) Close() {
	done := make(chan struct{})
	for _, s := range l.servers {
		go func() {
			s.Close()
			done <- struct{}{}
		}()
	}
	for range l.servers {
		<-done
	}
}

// Servers is every server in order.
func (l *Lab) Servers() []*Server { return append([]*Server(nil), l.servers...) }

// Server is the one called name, nil for none.
func (l *Lab) Server(name string) *Server { return l.byName[name] }

// Server is one emulated server.
type Server struct {
	Name     string
	SystemID string
	BMC      *redfish.BMC
	Machine  *machine.Machine
	Events   *event.Log

	others   []*machine.Machine
	username string
	password string
	dir      string
	steps    *stepFaults
}

func newServer(cfg Config, i int) (*Server, error) {
	def := definition(cfg, i)
	s := &Server{
		Name: def.Name, SystemID: def.SystemID, Events: &event.Log{},
		username: cfg.Username, password: cfg.Password,
		dir: filepath.Join(cfg.Dir, def.Name), steps: newStepFaults(cfg.StepDelay),
	}
	if s.password == "" {
		s.password = rand.Text()
	}
	bmcAddress, machineAddress := nth(cfg.BMCBase, i), nth(cfg.MachineBase, i)
	build := func(dir, address string) (*machine.Machine, error) {
		return machine.New(machine.Config{
			Name: def.Name, Dir: dir, Hardware: hardware(def, bmcAddress, address), DiskSize: cfg.DiskSize,
			NeedConfigDrive: !cfg.AllowNoConfigDrive, ActionDelay: cfg.ActionDelay, BootTime: cfg.BootTime, Timing: cfg.Timing,
			Hook: s.hook(cfg.Hook), Log: s.Events,
		})
	}
	var err error
	if s.Machine, err = build(s.dir, machineAddress); err != nil {
		return nil, err
	}
	systems := []redfish.System{}
	for _, id := range def.OtherSystems {
		other, err := build(filepath.Join(s.dir, "system-"+id), machineAddress)
		if err != nil {
			s.closeMachines()
			return nil, err
		}
		s.others = append(s.others, other)
		systems = append(systems, redfish.System{ID: id, Machine: other})
	}
	systems = append(systems, redfish.System{ID: s.SystemID, Machine: s.Machine})
	if err := s.startBMC(cfg, def, bmcAddress, systems); err != nil {
		s.closeMachines()
		return nil, err
	}
	return s, nil
}

func (s *Server) startBMC(cfg Config, def Definition, address string, systems []redfish.System) error {
	media := filepath.Join(s.dir, "media")
	if err := os.MkdirAll(media, 0o700); err != nil {
		return fmt.Errorf("starting the server %s: %w", s.Name, err)
	}
	quirks := cfg.Quirks
	if def.Quirks != nil {
		quirks = *def.Quirks
	}
	var err error
	s.BMC, err = redfish.Start(redfish.Config{
		Name: s.Name, Host: address, Port: cfg.BMCPort, PlainHTTP: cfg.PlainHTTP,
		Username: s.username, Password: s.password, Systems: systems, MediaDir: media,
		Quirks: quirks, Log: s.Events,
	})
	return err
}

func (s *Server) closeMachines() {
	s.Machine.Close()
	for _, m := range s.others {
		m.Close()
	}
}

// Close stops the BMC and takes the power away.
func (s *Server) Close() {
	s.steps.close()
	s.BMC.Close()
	s.closeMachines()
}

// Credentials is the BMC's username and password, as made at the start.
func (s *Server) Credentials() (username, password string) { return s.username, s.password }

// Others is the further systems behind the same BMC.
func (s *Server) Others() []*machine.Machine { return s.others }

// Wait is the first event after number seq that match accepts.
func (s *Server) Wait(ctx context.Context, seq uint64, match func(event.Event) bool) (event.Event, error) {
	e, err := s.Events.Wait(ctx, seq, match)
	if err != nil {
		return e, fmt.Errorf("server %s: %w", s.Name, err)
	}
	return e, nil
}

// definition is the one given for server i, its gaps filled from the number.
func definition(cfg Config, i int) Definition {
	var d Definition
	if i < len(cfg.Definitions) {
		d = cfg.Definitions[i]
	}
	if d.Name == "" {
		d.Name = fmt.Sprintf("server-%d", i+1)
	}
	if d.SystemID == "" {
		d.SystemID = DefaultSystemID
	}
	if d.Manufacturer == "" {
		d.Manufacturer = "Lab"
	}
	if d.Architecture == "" {
		d.Architecture = "x86_64"
	}
	if d.CPUs == 0 {
		d.CPUs = 8
	}
	if d.MemoryMiB == 0 {
		d.MemoryMiB = 16384
	}
	if len(d.MACs) == 0 {
		for n := range 2 {
			d.MACs = append(d.MACs, mac(cfg.BMCBase, i, n))
		}
	}
	return d
}

// mac is a locally administered address that is unique to the BMC's address.
func mac(base string, i, nic int) string {
	a := netip.MustParseAddr(nth(base, i)).As4()
	return fmt.Sprintf("52:54:%02x:%02x:%02x:%02x", a[1], a[2], a[3], nic)
}

// nth is the address i places after base.
func nth(base string, i int) string {
	a := netip.MustParseAddr(base).As4()
	n := binary.BigEndian.Uint32(a[:]) + uint32(i)
	binary.BigEndian.PutUint32(a[:], n)
	return netip.AddrFrom4(a).String()
}

func hardware(d Definition, bmcAddress, address string) ramdisk.Hardware {
	h := ramdisk.Hardware{
		Hostname: d.Name, Manufacturer: d.Manufacturer, Product: "Emulated Server",
		Serial:   uuid.NewSHA1(uuid.NameSpaceURL, []byte("lab:"+bmcAddress)).String(),
		CPUModel: "Lab CPU", CPUMHz: 2600, CPUs: d.CPUs, Architecture: d.Architecture, MemoryMiB: d.MemoryMiB,
		DiskName: "/dev/sda", DiskModel: "Lab SSD", BMCAddress: bmcAddress, UEFI: !d.Legacy, Address: address,
	}
	for n, m := range d.MACs {
		h.NICs = append(h.NICs, ramdisk.NIC{Name: fmt.Sprintf("eth%d", n), MAC: m})
	}
	return h
}

// passwordDigest is how a password shows in what the BMC observed.
func passwordDigest(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}
