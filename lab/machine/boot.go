package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"ferrule/lab/event"
	"ferrule/lab/iso"
	"ferrule/lab/ramdisk"
)

// Device is a boot device by its Redfish name.
type Device string

// The boot devices.
const (
	DeviceNone      Device = "None"
	DevicePxe       Device = "Pxe"
	DeviceCd        Device = "Cd"
	DeviceHdd       Device = "Hdd"
	DeviceUefiHTTP  Device = "UefiHttp"
	DeviceBiosSetup Device = "BiosSetup"
)

// Devices is every device that an override may name.
func Devices() []Device {
	return []Device{DeviceNone, DevicePxe, DeviceCd, DeviceHdd, DeviceUefiHTTP, DeviceBiosSetup}
}

// Enabled says for how long an override holds.
type Enabled string

// The durations of an override.
const (
	Disabled   Enabled = "Disabled"
	Once       Enabled = "Once"
	Continuous Enabled = "Continuous"
)

// Mode is how the firmware boots.
type Mode string

// The boot modes.
const (
	UEFI   Mode = "UEFI"
	Legacy Mode = "Legacy"
)

// Boot is the boot override, as the BMC shows it.
type Boot struct {
	Enabled Enabled `json:"enabled"`
	Target  Device  `json:"target"`
	Mode    Mode    `json:"mode"`
	HTTPURI string  `json:"httpUri,omitempty"`
}

func initialBoot(uefi bool) Boot {
	b := Boot{Enabled: Disabled, Target: DeviceNone, Mode: Legacy}
	if uefi {
		b.Mode = UEFI
	}
	return b
}

// Media is the virtual CD.
type Media struct {
	URL  string `json:"url,omitempty"`  // as the BMC was given it
	Path string `json:"path,omitempty"` // of the copy that the BMC fetched
}

// BootResult is what came of the last power on.
type BootResult struct {
	Device     Device `json:"device,omitempty"`
	Booted     bool   `json:"booted"` // the disk's system runs, and the disk holds
	Reason     string `json:"reason,omitempty"`
	KernelLine string `json:"-"`
}

// Boot is the present override.
func (m *Machine) Boot() Boot {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.boot
}

// SetBoot replaces the override.
func (m *Machine) SetBoot(b Boot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b != m.boot {
		m.log.Add(event.BootSet, "target", string(b.Target), "enabled", string(b.Enabled), "mode", string(b.Mode))
	}
	m.boot = b
}

// Insert puts a medium into the virtual drive in place of what was there.
func (m *Machine) Insert(media Media) {
	m.Eject()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.media = media
	m.log.Add(event.MediaInserted)
}

// Eject empties the drive and removes the copy of the medium.
func (m *Machine) Eject() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.media.URL == "" {
		return
	}
	if m.media.Path != "" {
		_ = os.Remove(m.media.Path) // a copy that is gone is as good
	}
	m.media = Media{}
	m.log.Add(event.MediaEjected)
}

// Media is what is in the virtual drive.
func (m *Machine) Media() Media {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.media
}

// nextDevice takes the override's device, which is used up when it was for
// once; a CD drive without a medium is passed over.
func (m *Machine) nextDevice() (Device, Media, Mode) {
	m.mu.Lock()
	defer m.mu.Unlock()
	device := DeviceHdd
	if m.boot.Enabled != Disabled && m.boot.Target != DeviceNone {
		device = m.boot.Target
	}
	if m.boot.Enabled == Once {
		m.boot.Enabled, m.boot.Target = Disabled, DeviceNone
	}
	if device == DeviceCd && m.media.Path == "" {
		device = DeviceHdd
	}
	return device, m.media, m.boot.Mode
}

// start is the firmware after power on: it boots one device and runs what it
// finds until the power goes.
func (m *Machine) start(ctx context.Context) {
	device, media, mode := m.nextDevice()
	m.log.Add(event.BootStarted, "device", string(device))
	m.set(NoSystem, BootResult{Device: device})
	if !m.post(ctx) {
		return
	}
	var err error
	switch device {
	case DeviceCd:
		err = m.bootMedium(ctx, media, mode == UEFI)
	case DeviceHdd:
		err = m.bootDisk()
	case DeviceBiosSetup:
		// The setup screen waits for somebody.
	default:
		err = fmt.Errorf("no answer from the network for %s", device)
	}
	if err != nil && ctx.Err() == nil {
		m.log.Add(event.BootFailed, "device", string(device), "reason", err.Error())
		m.set(NoSystem, BootResult{Device: device, Reason: err.Error()})
	}
}

// post takes the time that the firmware needs, and reports whether the power
// stayed on.
func (m *Machine) post(ctx context.Context) bool {
	if m.cfg.BootTime <= 0 {
		return true
	}
	t := time.NewTimer(m.cfg.BootTime)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (m *Machine) set(s System, r BootResult) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.system, m.result = s, r
}

func (m *Machine) bootDisk() error {
	if err := m.disk.Check(m.cfg.NeedConfigDrive); err != nil {
		return err
	}
	m.set(Instance, BootResult{Device: DeviceHdd, Booted: true})
	m.log.Add(event.Booted)
	return nil
}

// bootMedium runs the ramdisk that the medium holds, until the power goes.
func (m *Machine) bootMedium(ctx context.Context, media Media, uefi bool) error {
	volume, err := iso.Open(media.Path)
	if err != nil {
		return err
	}
	defer volume.Close()
	line, err := volume.KernelLine(uefi)
	if err != nil {
		return err
	}
	m.set(Ramdisk, BootResult{Device: DeviceCd, KernelLine: line})
	m.log.Add(event.RamdiskStarted)
	err = ramdisk.Run(ctx, ramdisk.Config{
		KernelLine: line,
		Medium:     volume,
		Hardware:   m.Hardware(),
		Disk:       m.disk,
		Listen:     m.listen,
		Timing:     m.cfg.Timing,
		Log:        m.log,
		PowerOff:   m.askPowerOff,
		Reboot:     m.askReboot,
		Hook:       m.cfg.Hook,
	})
	reason := "power off"
	if err != nil && !errors.Is(err, context.Canceled) {
		reason = err.Error()
	}
	m.log.Add(event.RamdiskStopped, "reason", reason)
	return nil
}
