package cli_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"ferrule/compat-tests/plane"
	"ferrule/lab"
	"ferrule/lab/image"
	"ferrule/lab/ramdisk"
)

// oneServer is a lab with one server, and an image for it.
func oneServer(t *testing.T) (*lab.Server, *image.Server) {
	t.Helper()
	servers, err := lab.New(lab.Config{
		Dir: t.TempDir(), BMCBase: "127.0.90.1", MachineBase: "127.0.91.1", DiskSize: 128 << 20,
		Timing: ramdisk.Timing{HeartbeatDistance: 100 * time.Millisecond, RetryAfterError: 100 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(servers.Close)
	images, err := image.Serve("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := images.Close(); err != nil {
			t.Error(err)
		}
	})
	return servers.Servers()[0], images
}

func TestTheLifeOfAServer(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program; the client looks only every two seconds")
	}
	t.Parallel()
	server, images := oneServer(t)
	p := plane.Start(t, plane.Options{})
	o := newOpenstack(t, p)
	user, password := server.Credentials()
	identity := server.Identity()

	created := o.one("node", "create", "--name", "rack1-u1", "--driver", "redfish", "--resource-class", "big",
		"--inspect-interface", "agent", "--deploy-interface", "direct",
		"--driver-info", "redfish_address="+identity.RedfishAddress, "--driver-info", "redfish_system_id="+identity.SystemID,
		"--driver-info", "redfish_username="+user, "--driver-info", "redfish_password="+password,
		"--driver-info", "redfish_tls_spki_sha256="+identity.SPKISHA256,
		"--driver-info", "deploy_kernel="+images.URL("kernel"), "--driver-info", "deploy_ramdisk="+images.URL("ramdisk"),
		"--property", "capabilities=boot_mode:uefi", "--extra", "rack=1")
	if created["provision_state"] != "enroll" || created["power_state"] != nil || created["resource_class"] != "big" {
		t.Errorf("created: %v", created)
	}
	if info, _ := created["driver_info"].(object); info["redfish_password"] != "******" || info["redfish_username"] != user {
		t.Errorf("driver_info is %v", created["driver_info"])
	}

	o.do("node", "manage", "rack1-u1", "--wait")
	o.show(object{"provision_state": "manageable", "power_state": "power off", "last_error": nil})

	o.do("node", "inspect", "rack1-u1", "--wait")
	o.checkInspected(identity)

	o.do("node", "provide", "rack1-u1", "--wait", "120")
	o.show(object{"provision_state": "available", "target_provision_state": nil})
	if free := column(o.list("node", "list", "--provision-state", "available"), "name"); !slices.Equal(free, []any{"rack1-u1"}) {
		t.Errorf("available: %v", free)
	}

	o.setImage(images)
	o.do("node", "deploy", "rack1-u1", "--wait", "--config-drive",
		`{"meta_data": {"hostname": "rack1-u1"}, "user_data": "#cloud-config\nhostname: rack1-u1\n"}`)
	node := o.show(object{"provision_state": "active", "power_state": "power on", "last_error": nil})
	checkDeployed(t, server, node["uuid"])

	o.do("node", "undeploy", "rack1-u1", "--wait")
	node = o.show(object{"provision_state": "available", "instance_uuid": nil, "power_state": "power off"})
	if info, _ := node["instance_info"].(object); len(info) != 0 {
		t.Errorf("instance_info is left: %v", info)
	}
	if out := o.do("node", "delete", "rack1-u1"); out != "Deleted node rack1-u1\n" {
		t.Errorf("delete printed %q", out)
	}
	o.refused("Node rack1-u1 could not be found.", "node", "show", "rack1-u1")
	checkPasswordStaysSecret(t, p, password)
}

// show wants these fields of the node, and gives all of it.
func (o *openstack) show(want object) object {
	o.t.Helper()
	node := o.one("node", "show", "rack1-u1")
	for field, value := range want {
		if node[field] != value {
			o.t.Errorf("%s is %v, wanted %v", field, node[field], value)
		}
	}
	return node
}

func (o *openstack) checkInspected(identity lab.Identity) {
	o.t.Helper()
	node := o.show(object{"provision_state": "manageable", "last_error": nil})
	if properties, _ := node["properties"].(object); properties["cpu_arch"] != identity.Architecture {
		o.t.Errorf("properties %v", node["properties"])
	}
	if node["inspection_finished_at"] == nil {
		o.t.Error("no end of the inspection is shown")
	}
	var macs []any
	for _, nic := range identity.NICs {
		macs = append(macs, nic.MAC)
	}
	found := column(o.list("port", "list", "--node", "rack1-u1", "--sort", "address"), "address")
	if len(found) == 0 {
		o.t.Error("no ports were found")
	}
	for _, mac := range found {
		if !slices.Contains(macs, mac) {
			o.t.Errorf("port %v is none of %v", mac, macs)
		}
	}
}

func (o *openstack) setImage(images *image.Server) {
	o.t.Helper()
	raw, err := image.GPT(7)
	if err != nil {
		o.t.Fatal(err)
	}
	content := image.Qcow2(raw)
	url := images.Add("disk.qcow2", content)
	out := o.do("node", "set", "rack1-u1", "--instance-info", "image_source="+url, "--instance-info", "image_disk_format=qcow2",
		"--instance-info", "image_os_hash_algo=sha256", "--instance-info", "image_os_hash_value="+image.SHA256(content))
	if out != "" {
		o.t.Errorf("set printed %q", out)
	}
}

// checkDeployed waits until the machine runs from its disk.
func checkDeployed(t *testing.T, server *lab.Server, uuid any) {
	t.Helper()
	raw, err := image.GPT(7)
	if err != nil {
		t.Fatal(err)
	}
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for late := time.After(time.Minute); !server.Snapshot().LastBoot.Booted; {
		select {
		case <-look.C:
		case <-late:
			t.Fatalf("the machine does not run from its disk: %s", server.Snapshot().LastBoot.Reason)
		}
	}
	s := server.Snapshot()
	if s.Image == nil || s.Image.SHA256 != image.SHA256(raw) || s.Image.NodeUUID != uuid {
		t.Errorf("the disk holds %+v", s.Image)
	}
	drive := s.ConfigDrive["openstack/latest/meta_data.json"] + s.ConfigDrive["openstack/latest/user_data"]
	if strings.Count(drive, "hostname") != 2 || strings.Count(drive, "rack1-u1") < 2 {
		t.Errorf("the config drive holds %q", s.ConfigDrive)
	}
}

// checkPasswordStaysSecret looks for the BMC's password in all that ferrule
// left on its disk.
func checkPasswordStaysSecret(t *testing.T, p *plane.Plane, password string) {
	t.Helper()
	p.Stop()
	for _, root := range []string{p.DataDir, p.Log} {
		found, err := holding(root, password)
		if err != nil || len(found) > 0 {
			t.Errorf("the BMC's password is in %v, %v", found, err)
		}
	}
}

// holding lists the files at or below root that hold text.
func holding(root, text string) ([]string, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		content, err := os.ReadFile(root)
		if strings.Contains(string(content), text) {
			return []string{root}, err
		}
		return nil, err
	}
	var all []string
	for _, entry := range entries {
		found, err := holding(root+"/"+entry.Name(), text)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}
