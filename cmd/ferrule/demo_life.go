package main

import (
	"context"
	"fmt"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/nodes"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/ports"

	"ferrule/lab"
)

// life is one server's way from enroll to active and back.
type life struct {
	client     *gophercloud.ServiceClient
	lab        *lab.Client
	server     lab.Identity
	credential lab.Credential
	ready      lab.Ready
	image      lab.ServedImage
	foreign    bool // the image is not the lab's: what it must look like is not known
	view       *view

	node     string
	ports    []string
	deployed lab.Snapshot
	times    map[string]time.Duration
}

// phase is one verb of the life and the state it ends in.
type phase struct {
	name   string
	target nodes.TargetProvisionState
	end    nodes.ProvisionState
}

var phases = []phase{
	{"verify", nodes.TargetManage, nodes.Manageable},
	{"inspect", nodes.TargetInspect, nodes.Manageable},
	{"clean", nodes.TargetProvide, nodes.Available},
	{"deploy", nodes.TargetActive, nodes.Active},
	{"delete", nodes.TargetDeleted, nodes.Available},
}

func (l *life) live(ctx context.Context) error {
	l.times = map[string]time.Duration{}
	if err := l.enrol(ctx); err != nil {
		return fmt.Errorf("enrol %s: %w", l.server.Name, err)
	}
	for _, p := range phases {
		began := time.Now()
		if err := l.change(ctx, p); err != nil {
			return fmt.Errorf("%s of %s: %w", p.name, l.server.Name, err)
		}
		l.times[p.name] = time.Since(began)
		if err := l.look(ctx, p); err != nil {
			return fmt.Errorf("look at %s after %s: %w", l.server.Name, p.name, err)
		}
	}
	l.view.finished(l.server.Name)
	return nil
}

func (l *life) enrol(ctx context.Context) error {
	n, err := nodes.Create(ctx, l.client, nodes.CreateOpts{
		Name: l.server.Name, Driver: "redfish", InspectInterface: "agent", DeployInterface: "direct",
		DriverInfo: map[string]any{
			"redfish_address": l.server.RedfishAddress, "redfish_system_id": l.server.SystemID,
			"redfish_username": l.credential.Username, "redfish_password": l.credential.Password,
			"redfish_tls_spki_sha256": l.server.SPKISHA256,
			"deploy_kernel":           l.ready.Kernel, "deploy_ramdisk": l.ready.Ramdisk,
		},
	}).Extract()
	if err != nil {
		return err
	}
	l.node = n.UUID
	return nil
}

func (l *life) change(ctx context.Context, p phase) error {
	opts := nodes.ProvisionStateOpts{Target: p.target}
	if p.target == nodes.TargetActive {
		if err := l.setImage(ctx); err != nil {
			return err
		}
		opts.ConfigDrive = nodes.ConfigDrive{
			MetaData: map[string]any{"hostname": l.server.Name, "uuid": l.node},
			UserData: "#cloud-config\nhostname: " + l.server.Name + "\n",
		}
	}
	if err := nodes.ChangeProvisionState(ctx, l.client, l.node, opts).ExtractErr(); err != nil {
		return err
	}
	return l.await(ctx, p.end)
}

func (l *life) setImage(ctx context.Context) error {
	info := map[string]any{
		"image_source": l.image.URL, "image_disk_format": l.image.DiskFormat,
		"image_os_hash_algo": "sha256", "image_os_hash_value": l.image.SHA256,
	}
	_, err := nodes.Update(ctx, l.client, l.node, nodes.UpdateOpts{
		nodes.UpdateOperation{Op: nodes.AddOp, Path: "/instance_info", Value: info},
	}).Extract()
	return err
}

// await polls as clients do, and shows what it sees.
func (l *life) await(ctx context.Context, end nodes.ProvisionState) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		n, err := nodes.Get(ctx, l.client, l.node).Extract()
		if err != nil {
			return err
		}
		l.view.show(l.server.Name, n.ProvisionState, currentStep(n))
		switch {
		case n.ProvisionState == string(end) && n.TargetProvisionState == "":
			return nil
		case n.LastError != "":
			return fmt.Errorf("the node is %s: %s", n.ProvisionState, n.LastError)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the node is still %s: %w", n.ProvisionState, ctx.Err())
		case <-tick.C:
		}
	}
}

func currentStep(n *nodes.Node) string {
	for _, s := range []map[string]any{n.CleanStep, n.DeployStep} {
		if name, ok := s["step"].(string); ok {
			return name
		}
	}
	return ""
}

// look keeps what the summary tells, and checks that the server is as its node
// says.
func (l *life) look(ctx context.Context, p phase) error {
	switch p.name {
	case "inspect":
		pages, err := ports.ListDetail(l.client, ports.ListOpts{NodeUUID: l.node}).AllPages(ctx)
		if err != nil {
			return err
		}
		found, err := ports.ExtractPorts(pages)
		for _, f := range found {
			l.ports = append(l.ports, f.Address)
		}
		return err
	case "deploy":
		return l.lookAtDisk(ctx)
	}
	return nil
}

// lookAtDisk waits until the machine has started from its disk.
func (l *life) lookAtDisk(ctx context.Context) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		s, err := l.lab.Server(ctx, l.server.Name)
		if err != nil {
			return err
		}
		if s.LastBoot.Booted {
			l.deployed = s
			return l.checkDisk(s)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the machine did not start from its disk: %s", s.LastBoot.Reason)
		case <-tick.C:
		}
	}
}

func (l *life) checkDisk(s lab.Snapshot) error {
	if s.Image == nil {
		return fmt.Errorf("no image is on the disk")
	}
	if !l.foreign && s.Image.SHA256 != l.image.RawSHA256 {
		return fmt.Errorf("the disk holds %s, not the image %s", s.Image.SHA256, l.image.RawSHA256)
	}
	return nil
}
